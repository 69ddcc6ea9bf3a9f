//! Paired statistics over right-or-wrong answers: how much of a difference between two rounds chance alone explains.
//!
//! `docs/statistics.md` has every formula with its source and when not to use it. Three rules hold throughout:
//!
//! - Counts stay integers until the last step, so the order of questions changes no bit of an answer.
//! - Only `+ - * /` and the square root are used on floats. IEEE 754 defines those to the last bit, while logarithms and
//!   exponentials differ between platforms; a replay elsewhere must give the same bits.
//! - What is not defined (an interval over no questions, a standard error of one) is `None`, never 0 or NaN.

mod binomial;
mod clustered;
mod mcnemar;
mod paired;
mod proportion;
mod tango;

use serde::Serialize;

pub use clustered::{ClusterError, Clustered, ClusteredPair};
pub use mcnemar::McNemar;
pub use paired::PairedCounts;
pub use proportion::Proportion;

/// The 97.5% point of the standard normal distribution, used for every two-sided 95% interval here.
pub const Z95: f64 = 1.959_963_984_540_054;

/// The most questions one comparison may pair (2^24); bounds the time of the exact test and keeps sums in 128 bits.
pub const MAX_PAIRS: u64 = 1 << 24;

/// Counts that describe no sample.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StatsError {
    /// More of them right than there are.
    #[error("{successes} of {total} cannot be right")]
    MoreThanAll {
        /// How many were said to be right.
        successes: u64,
        /// Of how many.
        total: u64,
    },
    /// More than [`MAX_PAIRS`].
    #[error("at most {MAX_PAIRS} questions can be compared, not {total}")]
    TooMany {
        /// How many there are.
        total: u64,
    },
}

/// A two-sided interval, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// The lower end.
    pub lower: f64,
    /// The upper end, never below the lower one.
    pub upper: f64,
}

impl Interval {
    /// `estimate` ± [`Z95`] standard errors (Wald), cut to `[-1, 1]`, where differences of proportions live.
    pub(crate) fn around(estimate: f64, standard_error: f64) -> Self {
        let reach = Z95 * standard_error;
        Self { lower: (estimate - reach).max(-1.0), upper: (estimate + reach).min(1.0) }
    }
}

/// A p-value after `looks` looks at the same held-out set: `min(1, p × looks)` (Bonferroni; Dunn 1961).
///
/// No look counts as one.
pub fn bonferroni(p: f64, looks: u64) -> f64 {
    (p * as_f64(looks.max(1))).min(1.0)
}

/// A count as a double; exact up to 2^53.
#[allow(clippy::cast_precision_loss)] // counts here are at most 2^24, looks are far below 2^53
pub(crate) fn as_f64(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_multiply_a_p_value_up_to_one() {
        assert_eq!(bonferroni(0.01, 0), 0.01);
        assert_eq!(bonferroni(0.01, 1), 0.01);
        assert_eq!(bonferroni(0.25, 3), 0.75);
        assert_eq!(bonferroni(0.25, u64::MAX), 1.0);
    }

    #[test]
    fn a_wald_interval_never_leaves_the_range_of_a_difference() {
        assert_eq!(Interval::around(-0.9, 1.0), Interval { lower: -1.0, upper: 1.0 });
        assert_eq!(Interval::around(0.5, 0.0), Interval { lower: 0.5, upper: 0.5 });
    }
}
