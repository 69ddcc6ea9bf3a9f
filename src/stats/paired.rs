//! The paired two-by-two table: each question right or wrong in the base round and in the current one.

use super::{Interval, MAX_PAIRS, McNemar, Proportion, StatsError, as_f64, tango};

/// Counts of questions by (base, current): 1 right, 0 wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairedCounts {
    n11: u64,
    n10: u64,
    n01: u64,
    n00: u64,
}

impl PairedCounts {
    /// Right in both, newly failing, newly passing, wrong in both; together at most [`MAX_PAIRS`].
    pub fn new(n11: u64, n10: u64, n01: u64, n00: u64) -> Result<Self, StatsError> {
        let total = n11.saturating_add(n10).saturating_add(n01).saturating_add(n00);
        if total > MAX_PAIRS {
            return Err(StatsError::TooMany { total });
        }
        Ok(Self { n11, n10, n01, n00 })
    }

    /// Counts `(base right, current right)` over questions.
    pub fn count(pairs: impl IntoIterator<Item = (bool, bool)>) -> Result<Self, StatsError> {
        let mut counts = [0u64; 4];
        for (base, current) in pairs {
            counts[usize::from(base) * 2 + usize::from(current)] += 1;
        }
        let [n00, n01, n10, n11] = counts;
        Self::new(n11, n10, n01, n00)
    }

    /// Right in both rounds.
    pub fn n11(self) -> u64 {
        self.n11
    }

    /// Newly failing: right in the base round, wrong now.
    pub fn n10(self) -> u64 {
        self.n10
    }

    /// Newly passing: wrong in the base round, right now.
    pub fn n01(self) -> u64 {
        self.n01
    }

    /// Wrong in both rounds.
    pub fn n00(self) -> u64 {
        self.n00
    }

    /// All questions.
    pub fn total(self) -> u64 {
        self.n11 + self.n10 + self.n01 + self.n00
    }

    /// The share right in the base round.
    pub fn base(self) -> Proportion {
        Proportion::part_of(self.n11 + self.n10, self.n01 + self.n00)
    }

    /// The share right in the current round.
    pub fn current(self) -> Proportion {
        Proportion::part_of(self.n11 + self.n01, self.n10 + self.n00)
    }

    /// `p(current) − p(base)`, in `[-1, 1]`; `None` of nothing.
    pub fn difference(self) -> Option<f64> {
        (self.total() > 0).then(|| (as_f64(self.n01) - as_f64(self.n10)) / as_f64(self.total()))
    }

    /// The standard error of the difference, question by question (Miller 2024): the sample standard deviation, with
    /// n − 1, of the differences −1, 0 and 1, over sqrt(n). `None` for fewer than two questions.
    pub fn standard_error(self) -> Option<f64> {
        let n = self.total();
        if n < 2 {
            return None;
        }
        // Σ(d − d̄)² = (n Σd² − (Σd)²)/n, the numerator an exact integer below 2^49.
        let sum = self.n01.abs_diff(self.n10);
        let squares = n * (self.n10 + self.n01) - sum * sum;
        Some((as_f64(squares) / as_f64(n - 1)).sqrt() / as_f64(n))
    }

    /// The standard error two independent samples of questions would have; `None` for fewer than two questions.
    ///
    /// Kept to show what pairing saves. It is not valid here: the questions are the same.
    pub fn unpaired_standard_error(self) -> Option<f64> {
        let base = self.base().standard_error()?;
        let current = self.current().standard_error()?;
        Some((base * base + current * current).sqrt())
    }

    /// Tango's 95% score interval for the difference; it holds the estimate and stays in `[-1, 1]`. `None` of nothing.
    pub fn tango95(self) -> Option<Interval> {
        (self.total() > 0).then(|| tango::interval95(self.n01, self.n10, self.total()))
    }

    /// McNemar's exact test on the flips.
    pub fn mcnemar(self) -> McNemar {
        McNemar::of(self.n10, self.n01)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_fall_into_their_cells() {
        let pairs =
            [(true, true), (true, false), (true, false), (false, true), (false, false), (true, true), (true, true)];
        let counts = PairedCounts::count(pairs).unwrap();
        assert_eq!((counts.n11(), counts.n10(), counts.n01(), counts.n00()), (3, 2, 1, 1));
        assert_eq!(Ok(counts.base()), Proportion::new(5, 7));
        assert_eq!(Ok(counts.current()), Proportion::new(4, 7));
        assert_eq!(counts.difference(), Some(-1.0 / 7.0));
    }

    #[test]
    fn nothing_gives_nothing() {
        let counts = PairedCounts::count([]).unwrap();
        assert_eq!((counts.difference(), counts.standard_error(), counts.tango95()), (None, None, None));
        assert_eq!(counts.mcnemar().two_sided, 1.0);
    }

    #[test]
    fn more_pairs_than_the_limit_are_refused() {
        assert!(PairedCounts::new(MAX_PAIRS, 0, 0, 0).is_ok());
        assert_eq!(PairedCounts::new(MAX_PAIRS, 1, 0, 0), Err(StatsError::TooMany { total: MAX_PAIRS + 1 }));
        assert_eq!(PairedCounts::new(u64::MAX, 1, 1, 1), Err(StatsError::TooMany { total: u64::MAX }));
    }
}
