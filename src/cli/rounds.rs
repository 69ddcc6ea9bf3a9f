//! Which round of its line a receipt is.

use proofmark::ledger::{Appended, History, Ledger};

use super::failure::Failure;

/// The round numbers of scorecards that were just appended, in order.
pub fn numbers(ledger: &Ledger, appended: &[Appended]) -> Result<Vec<u64>, Failure> {
    let history = History::read(&ledger.snapshot()?)?;
    let number = |appended: &Appended| {
        let rounds = history.lines().map(|line| history.rounds(line));
        let mut places = rounds.filter_map(|rounds| rounds.iter().position(|round| round.index == appended.index));
        places.next().map_or(0, |place| place as u64 + 1)
    };
    Ok(appended.iter().map(number).collect())
}
