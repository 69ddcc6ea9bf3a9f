//! What `signoff`, `withdraw`, `waive` and `authorize --record` share: the log read once, the rules asked, and one receipt
//! appended to exactly that log.

use std::fmt;

use proofmark::ledger::{Appended, Draft, Ledger, LedgerError, roles_for};
use proofmark::object::Sha256;
use proofmark::receipt::{Body, Kind, Moment, Predicate, Receipt, ReceiptRef, Subject, Text};
use proofmark::release::{Objection, Reading};

use super::context::Context;
use super::failure::{Failure, one_line};
use super::rounds;
use super::signing::{Hands, SigningOptions};

/// A ledger whose decisions were read, and the moment at which something is decided.
pub struct Deciding<'a> {
    context: &'a Context,
    /// The ledger.
    pub ledger: Ledger,
    /// Its decisions at one checkpoint.
    pub reading: Reading,
    /// Now, by the clock: when a decision is made, and what its expiry is counted from.
    pub now: Moment,
}

/// What the rules say against a decision.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Against(Said);

#[derive(Debug)]
struct Said(Vec<Objection>);

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the rules speak against this decision:")?;
        self.0.iter().try_for_each(|objection| {
            let (found, expected) = (one_line(&objection.found), one_line(&objection.expected));
            write!(f, "\n  {found}; the rule asks for {expected}")
        })
    }
}

impl<'a> Deciding<'a> {
    /// Reads the log.
    pub fn read(context: &'a Context) -> Result<Self, Failure> {
        Self::read_at(context, context.clock()?.now())
    }

    /// Reads the log, for a decision at a moment that the clock gave before.
    pub fn read_at(context: &'a Context, now: Moment) -> Result<Self, Failure> {
        let ledger = context.ledger()?;
        let reading = Reading::of(&ledger.snapshot()?)?;
        Ok(Self { context, ledger, reading, now })
    }

    /// The receipt that a revision names, as far as the log was read.
    pub fn named(&self, revision: &str) -> Result<ReceiptRef, Failure> {
        Ok(self.reading.reference(rounds::resolve(&self.ledger, revision)?)?)
    }

    /// The kind of a receipt that was read.
    pub fn kind(&self, reference: ReceiptRef) -> Result<Kind, Failure> {
        let noted = self.reading.decisions.noted(reference);
        Ok(noted
            .map(proofmark::release::Noted::kind)
            .ok_or(LedgerError::NoSuchReceipt { index: reference.index, receipt: reference.receipt })?)
    }

    /// Refuses receipts that trust, or a signature, speaks against: nothing may speak for a release that rests on them.
    pub fn hold(&self, receipts: impl IntoIterator<Item = ReceiptRef>) -> Result<(), Failure> {
        let snapshot = self.ledger.snapshot()?;
        for one in receipts {
            let receipt = self.ledger.checked_receipt(&snapshot, one.index)?;
            if receipt.id() != one.receipt {
                return Err(LedgerError::NoSuchReceipt { index: one.index, receipt: one.receipt }.into());
            }
        }
        Ok(())
    }

    /// Signs and appends one decision about `target`; refused if a rule speaks against it, if the signer may not make it, or
    /// if the log changed since it was read.
    pub fn append(
        &self,
        options: &SigningOptions,
        target: ReceiptRef,
        note: Option<Text>,
        body: Body,
        about: &str,
    ) -> Result<Appended, Failure> {
        let of_trust = self.reading.chain.is_trust(target);
        let hands = Hands::ready(options, self.context, &self.ledger, roles_for(&body, of_trust))?;
        let subject = vec![self.subject(target)?];
        let (recorded_at, tool, index) = (self.now, self.context.tool(), self.reading.size);
        let trust = Some(self.reading.chain.in_force().1);
        let predicate = Predicate { index, recorded_at, tool, trust, evidence: Vec::new(), note, body };
        self.refuse(&predicate, &hands)?;
        self.reading.chain.permit(&hands.key(), &predicate.body)?;
        let kind = predicate.kind();
        let Predicate { recorded_at, tool, note, body, .. } = predicate;
        let draft = Draft { subject, evidence: Vec::new(), note, recorded_at, tool, body };
        let pen = hands.agree(self.context, &self.ledger, kind, about)?;
        // Drafts are asked for under the writer's lock: what was read must still be the whole log.
        let drafts = std::iter::once_with(|| self.unchanged().map(|()| draft));
        let appended = pen.append(self.context, &self.ledger, drafts)?;
        appended.into_iter().next().ok_or_else(|| LedgerError::Nothing.into())
    }

    fn refuse(&self, predicate: &Predicate, hands: &Hands) -> Result<(), Failure> {
        let (chain, key) = (&self.reading.chain, hands.key());
        let against = self.reading.decisions.objections(self.reading.size, predicate, &key, chain.now());
        if against.is_empty() {
            return Ok(());
        }
        Err(Failure::refused(Against(Said(against))).hint("nothing was written; `proofmark status` says what stands"))
    }

    /// Whether the log is still what was read. A decision says what it rests on, so nothing may slip in between.
    fn unchanged(&self) -> Result<(), LedgerError> {
        let snapshot = self.ledger.snapshot()?;
        let root: Sha256 = snapshot.checkpoint().root();
        if (snapshot.size(), root) == (self.reading.size, self.reading.root) {
            return Ok(());
        }
        Err(LedgerError::Moved { read: self.reading.size, found: snapshot.size() })
    }

    fn subject(&self, target: ReceiptRef) -> Result<Subject, Failure> {
        let receipt: Receipt = self.ledger.snapshot()?.receipt(target.index)?;
        Ok(Subject::of_receipt(receipt.bytes())?)
    }
}

/// Receipts for people, as in `#3 #5`.
pub fn indexes(references: &[ReceiptRef]) -> String {
    if references.is_empty() {
        return "nothing else".to_owned();
    }
    references.iter().map(|one| format!("#{}", one.index)).collect::<Vec<_>>().join(" ")
}
