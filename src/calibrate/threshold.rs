//! Choosing a threshold, on validation only.
//!
//! The cuts to choose from are the distinct confidences on validation. Among those that accept at least the floor's share
//! of the records the one with the highest precision wins, and of equals the one that accepts more. Counts are compared
//! by cross multiplication: a tie is a tie.

use std::cmp::Ordering;

use rayon::slice::ParallelSliceMut;

use super::candidate::Candidate;
use super::natural::Ratio;
use super::{Decimal, Split};

/// A confidence from which on suggestions are accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Threshold {
    /// The least confidence that is accepted, as written.
    pub cut: Decimal,
    /// Validation records it accepts.
    pub accepted: u64,
    /// How many of these are right.
    pub correct: u64,
}

/// Why there is no threshold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoThreshold {
    /// The model suggests nothing.
    #[error("there is no suggestion among the {records} validation records")]
    NoSuggestion {
        /// All validation records.
        records: u64,
    },
    /// Even accepting everything is not enough.
    #[error("no threshold clears the coverage floor {floor} on validation: the widest accepts {widest} of {records}")]
    Floor {
        /// The floor.
        floor: Decimal,
        /// All suggestions.
        widest: u64,
        /// All validation records.
        records: u64,
    },
}

/// The threshold of a candidate under a coverage floor.
pub fn select_threshold(candidate: &Candidate<'_>, floor: &Decimal) -> Result<Threshold, NoThreshold> {
    let confidences = candidate.confidences();
    let sample = candidate.sample(Split::Validation).cloned().unwrap_or_default();
    let mut suggestions = sample.suggestions;
    suggestions.par_sort_unstable_by(|left, right| confidences.order(right.confidence, left.confidence));
    let needed = least_accepted(floor, sample.records);
    let (mut accepted, mut correct) = (0u64, 0u64);
    let mut best: Option<(usize, u64, u64)> = None;
    let equal = |at: usize, other: usize| {
        confidences.order(suggestions[at].confidence, suggestions[other].confidence) == Ordering::Equal
    };
    for at in 0..suggestions.len() {
        accepted += 1;
        correct += u64::from(suggestions[at].correct());
        let more_of_the_same = at + 1 < suggestions.len() && equal(at, at + 1);
        if more_of_the_same || accepted < needed {
            continue;
        }
        // Cuts come from the highest down, so each accepts more than the one before and wins a tie.
        if best.is_none_or(|(_, all, right)| at_least(correct, accepted, right, all)) {
            best = Some((at, accepted, correct));
        }
    }
    match best {
        Some((at, accepted, correct)) => {
            Ok(Threshold { cut: confidences.decimal(suggestions[at].confidence), accepted, correct })
        }
        None if suggestions.is_empty() => Err(NoThreshold::NoSuggestion { records: sample.records }),
        None => Err(NoThreshold::Floor { floor: floor.clone(), widest: accepted, records: sample.records }),
    }
}

/// Whether `right / all >= other_right / other_all`.
fn at_least(right: u64, all: u64, other_right: u64, other_all: u64) -> bool {
    u128::from(right) * u128::from(other_all) >= u128::from(other_right) * u128::from(all)
}

/// The smallest count that is at least `floor` of `records`.
fn least_accepted(floor: &Decimal, records: u64) -> u64 {
    let floor = floor.ratio();
    let (mut low, mut high) = (0, records);
    while low < high {
        let middle = low + (high - low) / 2;
        if Ratio::of(middle, records).is_some_and(|share| share >= floor) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_floor_is_compared_exactly() {
        for (floor, records, least) in [
            ("0.5", 10, 5),
            ("0.5", 11, 6),
            ("0.3", 10, 3),
            ("0.29999999999999999", 10, 3),
            ("0.30000000000000000000000000001", 10, 4),
            ("0.7", 10, 7),
            ("0.1", 3_000_000_000, 300_000_000),
            ("0", 10, 0),
            ("1", 10, 10),
        ] {
            assert_eq!(least_accepted(&floor.parse().unwrap(), records), least, "{floor} of {records}");
        }
    }

    #[test]
    fn shares_that_doubles_confuse_are_told_apart() {
        let large = 1 << 60;
        assert!(!at_least(large - 2, large - 1, large - 1, large));
        assert!(at_least(large - 1, large, large - 2, large - 1));
        assert!(at_least(1, 3, 2, 6));
    }
}
