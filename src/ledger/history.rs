//! The rounds of every line, derived from the log alone: there is no pointer to forge.

use std::collections::{BTreeMap, HashMap};

use super::{Ledger, LedgerError, Snapshot};
use crate::receipt::{Body, LineName, ReceiptRef};

/// One scorecard of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round {
    /// Its place and id.
    pub receipt: ReceiptRef,
    /// Its number within the line, from 1.
    pub number: u64,
}

/// All lines of a ledger at one checkpoint.
#[derive(Debug, Clone, Default)]
pub struct History {
    lines: BTreeMap<LineName, Vec<ReceiptRef>>,
    /// Of each line, every baseline and its round, in order.
    baselines: BTreeMap<LineName, Vec<(u64, ReceiptRef)>>,
    /// What was withdrawn, and in which receipt first.
    withdrawn: HashMap<u64, u64>,
    /// For each question set identity the indexes of the rounds that were measured on it.
    looks: HashMap<String, Vec<u64>>,
}

impl History {
    /// Reads the whole log. Memory is about 50 bytes a round.
    ///
    /// A baseline and a withdrawal count only if trust has nothing against who signed them: whoever has the log's key alone
    /// must not choose what a round is compared with. Rounds are held against trust when they are used.
    pub fn read(ledger: &Ledger, snapshot: &Snapshot<'_>) -> Result<Self, LedgerError> {
        let chain = ledger.trust_chain(snapshot)?;
        let mut history = Self::default();
        snapshot.for_each(|index, receipt| {
            let reference = ReceiptRef { index, receipt: receipt.id() };
            match &receipt.statement().predicate.body {
                Body::Scorecard(body) => {
                    history.lines.entry(body.line.clone()).or_default().push(reference);
                    history.looks.entry(body.card.question_set_id().to_owned()).or_default().push(index);
                }
                Body::Baseline(body) if chain.check(index, &receipt).is_ok() => {
                    history.baselines.entry(body.line.clone()).or_default().push((index, body.target));
                }
                Body::Withdrawal(body) if chain.check(index, &receipt).is_ok() => {
                    history.withdrawn.entry(body.target.index).or_insert(index);
                }
                _ => {}
            }
            Ok(())
        })?;
        Ok(history)
    }

    /// The lines, by name.
    pub fn lines(&self) -> impl Iterator<Item = &LineName> {
        self.lines.keys()
    }

    /// A line's rounds in order; empty for a line that is not there.
    pub fn rounds(&self, line: &LineName) -> &[ReceiptRef] {
        self.lines.get(line).map_or(&[], Vec::as_slice)
    }

    /// The round of a line at `back` steps before its newest.
    pub fn round(&self, line: &LineName, back: usize) -> Option<Round> {
        let rounds = self.rounds(line);
        let place = rounds.len().checked_sub(1)?.checked_sub(back)?;
        Some(Round { receipt: *rounds.get(place)?, number: place as u64 + 1 })
    }

    /// The round that a receipt is, if it is one.
    pub fn round_at(&self, index: u64) -> Option<(&LineName, Round)> {
        self.lines.iter().find_map(|(line, rounds)| {
            let place = rounds.binary_search_by_key(&index, |round| round.index).ok()?;
            Some((line, Round { receipt: rounds[place], number: place as u64 + 1 }))
        })
    }

    /// How many rounds were measured on this question set up to this index, itself included.
    pub fn looks(&self, question_set_id: &str, index: u64) -> u64 {
        self.looks.get(question_set_id).map_or(0, |looks| looks.partition_point(|look| *look <= index) as u64)
    }

    /// The baseline that was set last for a line, of those that were not withdrawn and whose round was not.
    pub fn baseline(&self, line: &LineName) -> Option<ReceiptRef> {
        let stands = |(index, target): &&(u64, ReceiptRef)| {
            self.withdrawn(*index).is_none() && self.withdrawn(target.index).is_none()
        };
        self.baselines.get(line)?.iter().rev().find(stands).map(|(_, target)| *target)
    }

    /// The first withdrawal of the receipt at an index.
    pub fn withdrawn(&self, index: u64) -> Option<u64> {
        self.withdrawn.get(&index).copied()
    }
}
