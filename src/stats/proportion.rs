//! One proportion: its standard error and its Wilson interval.

use super::{Interval, MAX_PAIRS, StatsError, Z95, as_f64};

/// So many right of so many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proportion {
    successes: u64,
    total: u64,
}

impl Proportion {
    /// `successes` right of `total`, which is at most [`MAX_PAIRS`].
    pub fn new(successes: u64, total: u64) -> Result<Self, StatsError> {
        if total > MAX_PAIRS {
            return Err(StatsError::TooMany { total });
        }
        if successes > total {
            return Err(StatsError::MoreThanAll { successes, total });
        }
        Ok(Self { successes, total })
    }

    /// `right` beside `wrong`, together at most [`MAX_PAIRS`].
    pub(super) fn part_of(right: u64, wrong: u64) -> Self {
        Self { successes: right, total: right + wrong }
    }

    /// How many were right.
    pub fn successes(self) -> u64 {
        self.successes
    }

    /// Of how many.
    pub fn total(self) -> u64 {
        self.total
    }

    /// The share that was right, in `[0, 1]`; `None` of nothing.
    pub fn estimate(self) -> Option<f64> {
        (self.total > 0).then(|| as_f64(self.successes) / as_f64(self.total))
    }

    /// The standard error of the mean, from the sample variance with n − 1 (Miller 2024): sqrt(p(1−p)/(n−1)).
    ///
    /// `None` for fewer than two questions.
    pub fn standard_error(self) -> Option<f64> {
        if self.total < 2 {
            return None;
        }
        // p(1-p) = k(n-k)/n², both factors exact integers.
        let wrong = self.total - self.successes;
        let n = as_f64(self.total);
        Some((as_f64(self.successes * wrong) / as_f64(self.total - 1)).sqrt() / n)
    }

    /// The 95% score interval of Wilson (1927); it holds the estimate and stays in `[0, 1]`. `None` of nothing.
    pub fn wilson95(self) -> Option<Interval> {
        let estimate = self.estimate()?;
        let n = as_f64(self.total);
        let z2 = Z95 * Z95;
        let centre = estimate + z2 / (2.0 * n);
        let reach = Z95 * (estimate * (1.0 - estimate) / n + z2 / (4.0 * n * n)).sqrt();
        let shrink = 1.0 + z2 / n;
        let lower = if self.successes == 0 { 0.0 } else { ((centre - reach) / shrink).max(0.0) };
        let upper = if self.successes == self.total { 1.0 } else { ((centre + reach) / shrink).min(1.0) };
        Some(Interval { lower: lower.min(estimate), upper: upper.max(estimate) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_has_no_share_and_one_has_no_spread() {
        let none = Proportion::new(0, 0).unwrap();
        assert_eq!((none.estimate(), none.standard_error(), none.wilson95()), (None, None, None));
        assert_eq!(Proportion::new(1, 1).unwrap().standard_error(), None);
        assert_eq!(Proportion::new(2, 2).unwrap().standard_error(), Some(0.0));
    }

    #[test]
    fn the_ends_of_the_scale_are_exact() {
        let none_right = Proportion::new(0, 10).unwrap().wilson95().unwrap();
        let all_right = Proportion::new(10, 10).unwrap().wilson95().unwrap();
        assert_eq!((none_right.lower, all_right.upper), (0.0, 1.0));
        // z²/(n + z²), Wilson's upper end for no success.
        let z2 = Z95 * Z95;
        assert!((none_right.upper - z2 / (10.0 + z2)).abs() < 1e-15);
        assert!((all_right.lower - 10.0 / (10.0 + z2)).abs() < 1e-15);
    }

    #[test]
    fn impossible_counts_are_refused() {
        assert_eq!(Proportion::new(3, 2), Err(StatsError::MoreThanAll { successes: 3, total: 2 }));
        assert_eq!(Proportion::new(0, MAX_PAIRS + 1), Err(StatsError::TooMany { total: MAX_PAIRS + 1 }));
    }
}
