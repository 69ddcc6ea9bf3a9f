//! Every round of a ledger from the first to the last, and who looked at which question set how often.
//!
//! The list is whole because the log is: all entries are read, and add up to the signed root. An entry that cannot be read
//! as a receipt may have been a round, so it is a gap.

use std::collections::{BTreeMap, HashMap};

use super::{LedgerError, Snapshot, receipt_at};
use crate::object::ReceiptId;
use crate::question::ScorerIdentity;
use crate::receipt::{Basis, Body, LineName, Moment, Receipt, ReceiptRef, ScorecardBody, Text};

/// One round of a line.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedRound {
    /// Its number within the line, from 1; withdrawn rounds keep theirs.
    pub number: u64,
    /// Its place and id.
    pub receipt: ReceiptRef,
    /// When, by the recorder's own clock.
    pub recorded_at: Moment,
    /// What was evaluated, by name.
    pub systems: Vec<Text>,
    /// How the numbers came about.
    pub basis: Basis,
    /// The judge.
    pub scorer: ScorerIdentity,
    /// What it was measured on.
    pub question_set_id: String,
    /// Fraction right, 0 to 1.
    pub quality: f64,
    /// Cases.
    pub n: u64,
    /// The receipt by which it was withdrawn, and why.
    pub withdrawn: Option<(ReceiptRef, Text)>,
}

/// An entry that may have been a round and cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// Its index.
    pub index: u64,
    /// The id that it would have.
    pub receipt: ReceiptId,
    /// Why it cannot be read.
    pub reason: String,
}

/// The rounds that one system was given on one question set, over all lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemLooks {
    /// The system's name.
    pub system: Text,
    /// How many rounds; withdrawn ones count, since they looked.
    pub looks: u64,
    /// Of the first.
    pub first: u64,
    /// Of the last.
    pub last: u64,
}

/// Every round and every look up to a checkpoint.
#[derive(Debug, Clone, Default)]
pub struct Completeness {
    lines: BTreeMap<LineName, Vec<ListedRound>>,
    gaps: Vec<Gap>,
    looks: BTreeMap<String, BTreeMap<Text, SystemLooks>>,
}

/// The first withdrawal of each receipt, by what it withdraws. A withdrawal cannot be withdrawn: what speaks against a round is
/// never forgotten (`docs/format.md`, section 18).
type Withdrawals = HashMap<ReceiptRef, (ReceiptRef, Text)>;

impl Completeness {
    /// Reads the whole log. Memory is some 300 bytes a round.
    ///
    /// # Errors
    /// Where the log's files cannot be read or do not add up to the signed root. What cannot be read as a receipt is no
    /// error but a [`Gap`].
    pub fn read(snapshot: &Snapshot<'_>) -> Result<Self, LedgerError> {
        let (mut found, mut withdrawals) = (Self::default(), Withdrawals::default());
        let read = |index, entry: &[u8]| Ok((ReceiptId::of(entry), receipt_at(index, entry)));
        snapshot.map_from(0, read, |index, (id, receipt)| {
            match receipt {
                Ok(receipt) => found.take(index, &receipt, &mut withdrawals),
                Err(error) => found.gaps.push(Gap { index, receipt: id, reason: error.to_string() }),
            }
            Ok::<_, LedgerError>(())
        })?;
        for round in found.lines.values_mut().flatten() {
            round.withdrawn = withdrawals.remove(&round.receipt);
        }
        Ok(found)
    }

    fn take(&mut self, index: u64, receipt: &Receipt, withdrawals: &mut Withdrawals) {
        let reference = ReceiptRef { index, receipt: receipt.id() };
        match &receipt.statement().predicate.body {
            Body::Scorecard(body) => self.round(reference, receipt, body),
            Body::Withdrawal(body) => {
                withdrawals.entry(body.target).or_insert_with(|| (reference, body.reason.clone()));
            }
            _ => {}
        }
    }

    fn round(&mut self, receipt: ReceiptRef, read: &Receipt, body: &ScorecardBody) {
        let statement = read.statement();
        let mut systems: Vec<Text> = statement.subject.iter().map(|subject| subject.name.clone()).collect();
        systems.dedup();
        let id = body.card.question_set_id();
        let looks = self.looks.entry(id.to_owned()).or_default();
        for system in &systems {
            let fresh = SystemLooks { system: system.clone(), looks: 0, first: receipt.index, last: receipt.index };
            let seen = looks.entry(system.clone()).or_insert(fresh);
            (seen.looks, seen.last) = (seen.looks + 1, receipt.index);
        }
        let rounds = self.lines.entry(body.line.clone()).or_default();
        rounds.push(ListedRound {
            number: rounds.len() as u64 + 1,
            receipt,
            recorded_at: statement.predicate.recorded_at,
            systems,
            basis: body.basis,
            scorer: body.scorer.clone(),
            question_set_id: id.to_owned(),
            quality: body.card.quality(),
            n: body.card.n(),
            withdrawn: None,
        });
    }

    /// The lines with their rounds, by name.
    pub fn lines(&self) -> &BTreeMap<LineName, Vec<ListedRound>> {
        &self.lines
    }

    /// Entries that may have been rounds, in the log's order.
    pub fn gaps(&self) -> &[Gap] {
        &self.gaps
    }

    /// The identities of all question sets, sorted.
    pub fn question_sets(&self) -> impl Iterator<Item = &str> {
        self.looks.keys().map(String::as_str)
    }

    /// Who looked at a question set, by name.
    pub fn looks(&self, question_set_id: &str) -> impl Iterator<Item = &SystemLooks> {
        self.looks.get(question_set_id).into_iter().flat_map(BTreeMap::values)
    }
}
