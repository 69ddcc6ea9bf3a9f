//! The rounds of every line, derived from the log alone: there is no pointer to forge.

use std::collections::BTreeMap;

use super::{LedgerError, Snapshot};
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
    baselines: BTreeMap<LineName, ReceiptRef>,
}

impl History {
    /// Reads the whole log. Memory is 40 bytes a round.
    pub fn read(snapshot: &Snapshot<'_>) -> Result<Self, LedgerError> {
        let mut history = Self::default();
        snapshot.for_each(|index, receipt| {
            let reference = ReceiptRef { index, receipt: receipt.id() };
            match &receipt.statement().predicate.body {
                Body::Scorecard(body) => history.lines.entry(body.line.clone()).or_default().push(reference),
                Body::Baseline(body) => {
                    history.baselines.insert(body.line.clone(), body.target);
                }
                Body::Trust(_) | Body::Comparison(_) => {}
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
        let place = rounds.len().checked_sub(back + 1)?;
        Some(Round { receipt: *rounds.get(place)?, number: place as u64 + 1 })
    }

    /// The baseline that was set last for a line.
    pub fn baseline(&self, line: &LineName) -> Option<ReceiptRef> {
        self.baselines.get(line).copied()
    }
}
