//! Rounds of lines, found in the log itself: what decides a comparison is never taken from the index file.

use std::collections::HashMap;

use proofmark::index::{Index, Rev};
use proofmark::ledger::{Appended, History, Ledger, NumberedRound, Snapshot};
use proofmark::receipt::{LineName, ScorecardBody};

use super::context::Context;
use super::failure::Failure;
use super::heading;

/// The round numbers of scorecards that were just appended in one commit, in order. They are told, not decided by: where
/// the index cannot say, nothing is said, for the receipts are durable all the same.
pub fn numbers(
    context: &Context,
    ledger: &Ledger,
    appended: &[Appended],
    bodies: &[ScorecardBody],
) -> Vec<Option<u64>> {
    let mut index = heading::index(context, ledger).ok();
    let mut newest: HashMap<&LineName, u64> = HashMap::new();
    let mut number = |appended: &Appended, line| {
        // The first of a line is looked up; those after it in the same commit are counted on.
        let round = match newest.get(line) {
            Some(round) => round + 1,
            None => index.as_mut()?.entry(appended.index).ok()?.round?,
        };
        newest.insert(line, round);
        Some(round)
    };
    appended.iter().zip(bodies).map(|(appended, body)| number(appended, &body.line)).collect()
}

/// The index of the receipt that a revision names, by the log alone: an index file could lie.
pub fn resolve(ledger: &Ledger, revision: &str) -> Result<u64, Failure> {
    let revision: Rev = revision.parse()?;
    Ok(Index::open(ledger, None)?.resolve(&revision)?.index)
}

/// The round at an index, its receipt checked.
pub fn at(ledger: &Ledger, snapshot: &Snapshot<'_>, history: &History, index: u64) -> Result<NumberedRound, Failure> {
    let receipt = ledger.checked_receipt(snapshot, index)?;
    let kind = receipt.statement().predicate.kind();
    let round = history.round_at(index).and_then(|(_, round)| NumberedRound::new(round.receipt, round.number, receipt));
    round.ok_or_else(|| {
        Failure::refused(format!("receipt {index} is a {kind}, not a round"))
            .hint("`proofmark log` lists the rounds; name one as LINE~N or #INDEX")
    })
}

/// A line's newest round, `back` steps before it.
pub fn of_line(
    ledger: &Ledger,
    snapshot: &Snapshot<'_>,
    history: &History,
    line: &LineName,
    back: usize,
) -> Result<NumberedRound, Failure> {
    let count = history.rounds(line).len();
    let round = history.round(line, back).ok_or_else(|| {
        let lines: Vec<_> = history.lines().map(|line| line.as_str()).collect();
        let known = if lines.is_empty() { "none yet".to_owned() } else { lines.join(", ") };
        Failure::refused(format!(
            "the line `{line}` has {count} rounds, and round {} before the newest was asked for",
            back
        ))
        .hint(format!("lines: {known}"))
    })?;
    at(ledger, snapshot, history, round.receipt.index)
}
