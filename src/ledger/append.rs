//! Appending receipts: one, or many in one atomic commit.

use std::sync::Arc;

use rayon::prelude::*;

use super::commit::Writer;
use super::standing::refuse_violations;
use super::{Ledger, LedgerError, Ratchet, Snapshot, TrustChain};
use crate::merkle::{Checkpoint, MAX_TREE_SIZE, Note, VerifierKey};
use crate::object::ReceiptId;
use crate::receipt::{
    Body, Evidence, Moment, Predicate, Receipt, ReceiptRef, Statement, Subject, Text, Tool, sorted_evidence,
};
use crate::trust::{KeyId, Signer};

/// Receipts that are signed together, on all cores.
const SIGNED_AT_ONCE: usize = 512;

/// What is to be signed and appended.
#[derive(Debug, Clone)]
pub struct Draft {
    /// What was evaluated.
    pub subject: Vec<Subject>,
    /// What it rests on, in any order; the objects are already durable in the ledger's store where held.
    pub evidence: Vec<Evidence>,
    /// A word from the recorder.
    pub note: Option<Text>,
    /// When.
    pub recorded_at: Moment,
    /// The program.
    pub tool: Tool,
    /// What is said.
    pub body: Body,
}

/// A receipt that is durable in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// Its index.
    pub index: u64,
    /// Its id.
    pub receipt: ReceiptId,
}

/// The log's key, with its name.
pub struct LogSigner<'a> {
    key: VerifierKey,
    secret: &'a dyn Signer,
}

impl<'a> LogSigner<'a> {
    /// The signer of the log `origin`.
    pub fn new(origin: &str, secret: &'a dyn Signer) -> Result<Self, LedgerError> {
        Ok(Self { key: VerifierKey::new(origin, *secret.public().raw())?, secret })
    }

    /// The public half.
    pub fn key(&self) -> &VerifierKey {
        &self.key
    }

    pub(super) fn sign(&self, checkpoint: &Checkpoint) -> Result<Note, LedgerError> {
        let sign = |message: &[u8]| -> Result<[u8; 64], LedgerError> { Ok(self.secret.sign(message)?.0) };
        checkpoint.sign(&self.key, sign)
    }
}

/// What an append by a key would refuse, asked before evidence is stored that nothing would name.
pub struct Rehearsal {
    chain: Arc<TrustChain>,
    key: KeyId,
}

impl Rehearsal {
    /// Refuses a draft that could not be signed or that trust forbids. Its evidence may have other digests than it will have,
    /// if they are as many and as different.
    pub fn hold(&self, draft: Draft) -> Result<(), LedgerError> {
        let trust = self.chain.in_force().1;
        refuse_violations(&self.chain, trust, &self.key, &draft.body)?;
        // Whatever its index will be, it takes no more room than this one.
        let statement = draft.placed(MAX_TREE_SIZE - 1, trust)?;
        Ok(statement.refuse_unsignable(&self.key)?)
    }
}

impl Draft {
    fn placed(self, index: u64, trust: ReceiptRef) -> Result<Statement, LedgerError> {
        let Self { subject, evidence, note, recorded_at, tool, body } = self;
        let evidence = sorted_evidence(evidence)?;
        let predicate = Predicate { index, recorded_at, tool, trust: Some(trust), evidence, note, body };
        Ok(Statement { subject, predicate })
    }
}

impl Ledger {
    /// What an append of scorecards, comparisons or verdicts by this key would refuse.
    pub fn rehearsal(&self, key: KeyId) -> Result<Rehearsal, LedgerError> {
        Ok(Rehearsal { chain: self.chain_for(&self.snapshot()?, None)?, key })
    }

    /// Signs and appends drafts in one atomic commit; when this returns, all of them are durable, and before that
    /// none of them is in the log. An error of any draft leaves the ledger as it was.
    pub fn append(
        &self,
        drafts: impl IntoIterator<Item = Result<Draft, LedgerError>>,
        signer: &(dyn Signer + Sync),
        log: &LogSigner<'_>,
        ratchet: &Ratchet,
    ) -> Result<Vec<Appended>, LedgerError> {
        if log.key != self.log.key {
            let (found, wanted) = (log.key.to_string(), self.log.key.to_string());
            return Err(LedgerError::OtherLogKey { found, wanted });
        }
        let (mut writer, checkpoint, note) = Writer::next(self.store.as_ref(), &self.log)?;
        let snapshot = Snapshot::new(self.store.as_ref(), checkpoint, note);
        ratchet.check(&self.log, ratchet.seen(&self.log)?.as_deref(), &snapshot)?;
        let key = signer.public().fingerprint();
        let mut appended = Vec::new();
        let mut drafts = drafts.into_iter();
        let mut chain = None;
        loop {
            let chunk: Vec<_> = drafts.by_ref().take(SIGNED_AT_ONCE).collect::<Result<_, _>>()?;
            let Some(first) = chunk.first() else { break };
            let chain = match &mut chain {
                Some(chain) => chain,
                // The first draft decides how much of the chain is needed: what concerns it is appended alone.
                none => none.insert(self.chain_for(&snapshot, Some(&first.body))?),
            };
            let trust = chain.in_force().1;
            for draft in &chunk {
                if chain.is_part(writer.size(), &draft.body) && (chunk.len() > 1 || !appended.is_empty()) {
                    return Err(LedgerError::NotAlone);
                }
                refuse_violations(chain, trust, &key, &draft.body)?;
            }
            for receipt in sign_all(chunk, writer.size(), trust, signer)? {
                appended.push(Appended { index: writer.size(), receipt: receipt.id() });
                writer.push(receipt.bytes())?;
            }
        }
        if appended.is_empty() {
            return Err(LedgerError::Nothing);
        }
        writer.commit(
            self.log.origin(),
            |checkpoint| log.sign(checkpoint),
            |note| ratchet.remember(&self.log, note),
        )?;
        Ok(appended)
    }
}

fn sign_all(
    drafts: Vec<Draft>,
    first: u64,
    trust: ReceiptRef,
    signer: &(dyn Signer + Sync),
) -> Result<Vec<Receipt>, LedgerError> {
    let sign = |(draft, index): (Draft, u64)| -> Result<Receipt, LedgerError> {
        Ok(Receipt::sign(draft.placed(index, trust)?, signer)?)
    };
    if drafts.len() == 1 {
        return drafts.into_iter().zip(first..).map(sign).collect();
    }
    let placed: Vec<_> = drafts.into_iter().zip(first..).collect();
    placed.into_par_iter().map(sign).collect()
}
