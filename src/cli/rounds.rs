//! Rounds of lines, found in the log itself: what decides a comparison is never taken from the index file.

use proofmark::index::{Index, Rev};
use proofmark::ledger::{History, Ledger, NumberedRound, Snapshot};
use proofmark::receipt::LineName;

use super::failure::Failure;

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
