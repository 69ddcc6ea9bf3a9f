//! Whether a round is worse than the one before it, and exactly why.

use serde::{Deserialize, Serialize};

use super::{Scorecard, ScorecardError};

/// The tolerance used where none is given.
pub const DEFAULT_TOLERANCE: Tolerance = Tolerance(1e-9);

/// How much worse an axis may be without counting: finite and not negative, in the axis' own unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Tolerance(f64);

impl Tolerance {
    /// A NaN would make every comparison false and pass everything, so it is refused, as is anything below 0.
    pub fn new(tolerance: f64) -> Result<Self, ScorecardError> {
        if tolerance.is_finite() && tolerance >= 0.0 {
            // Adding 0 turns -0.0 into 0.0.
            return Ok(Self(tolerance + 0.0));
        }
        Err(ScorecardError::Tolerance { tolerance })
    }

    /// The number.
    pub fn as_f64(self) -> f64 {
        self.0
    }

    /// Whether an axis where more is better fell too far.
    pub(crate) fn fell(self, baseline: f64, current: f64) -> bool {
        current < baseline - self.0
    }

    /// Whether an axis where less is better rose too far.
    pub(crate) fn rose(self, baseline: f64, current: f64) -> bool {
        current > baseline + self.0
    }
}

impl Default for Tolerance {
    fn default() -> Self {
        DEFAULT_TOLERANCE
    }
}

/// What comparing two scorecards found. A comparison that could not be made is not a passed one: incomparable cards are
/// reported as regressed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegressionReport {
    /// Whether the current round is worse, or cannot be compared.
    pub regressed: bool,
    /// Each axis that got worse, or each thing that forbids the comparison.
    pub reasons: Vec<String>,
    /// Whether both cards are about the same questions and scorer.
    pub comparable: bool,
}

impl RegressionReport {
    /// All that it says, in a line.
    pub fn sentence(&self) -> String {
        let Self { regressed, comparable, reasons } = self;
        format!("regressed {regressed}, comparable {comparable}, reasons {reasons:?}")
    }
}

/// Compares two rounds on the same question set. Reasons are those of mixle's `detect_regression`, word for word.
pub fn detect_regression(baseline: &Scorecard, current: &Scorecard, tolerance: Tolerance) -> RegressionReport {
    let obstacles = obstacles(baseline, current);
    if !obstacles.is_empty() {
        return RegressionReport { regressed: true, reasons: obstacles, comparable: false };
    }
    let reasons = worsenings(baseline, current, tolerance);
    RegressionReport { regressed: !reasons.is_empty(), reasons, comparable: true }
}

fn obstacles(baseline: &Scorecard, current: &Scorecard) -> Vec<String> {
    let mut found = Vec::new();
    if baseline.question_set_id.is_empty() || current.question_set_id.is_empty() {
        found.push("scorecards are not bound to a held-out question set identity".to_owned());
    } else if baseline.question_set_id != current.question_set_id {
        let (old, new) = (beginning(&baseline.question_set_id), beginning(&current.question_set_id));
        found.push(format!("scorecards cover different held-out sets: {old} != {new}"));
    }
    if baseline.n != current.n {
        found.push(format!("scorecards cover different case counts: {} != {}", baseline.n, current.n));
    }
    found
}

fn worsenings(baseline: &Scorecard, current: &Scorecard, tolerance: Tolerance) -> Vec<String> {
    // Three decimals, the exact binary value rounded half to even: what Python's `:.3f` prints.
    let mut found = Vec::new();
    if tolerance.fell(baseline.quality, current.quality) {
        found.push(format!("quality regressed: {:.3} -> {:.3}", baseline.quality, current.quality));
    }
    if tolerance.fell(baseline.grounded_fraction, current.grounded_fraction) {
        found.push(format!(
            "grounded_fraction regressed: {:.3} -> {:.3}",
            baseline.grounded_fraction, current.grounded_fraction
        ));
    }
    if tolerance.rose(baseline.realized_cost, current.realized_cost) {
        found.push(format!("realized_cost increased: {:.3} -> {:.3}", baseline.realized_cost, current.realized_cost));
    }
    found
}

/// The first twelve characters (code points, not bytes).
fn beginning(id: &str) -> String {
    id.chars().take(12).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(quality: f64, cost: f64, n: u64, id: &str) -> Scorecard {
        Scorecard::new(quality, cost, 1.0, n, id).unwrap()
    }

    #[test]
    fn a_tolerance_that_decides_nothing_is_refused() {
        for tolerance in [f64::NAN, f64::INFINITY, -1e-9, f64::NEG_INFINITY] {
            assert!(matches!(Tolerance::new(tolerance), Err(ScorecardError::Tolerance { .. })));
        }
        assert!(Tolerance::new(-0.0).unwrap().as_f64().is_sign_positive());
        assert_eq!(Tolerance::default().as_f64(), 1e-9);
    }

    #[test]
    fn an_identity_is_cut_by_characters() {
        let report =
            detect_regression(&card(1.0, 0.0, 1, "ééééééééééééé"), &card(1.0, 0.0, 1, "名前"), DEFAULT_TOLERANCE);
        assert_eq!(report.reasons, ["scorecards cover different held-out sets: éééééééééééé != 名前"]);
    }

    #[test]
    fn cards_bound_to_nothing_cannot_be_compared_even_if_both_are() {
        let report = detect_regression(&card(1.0, 0.0, 1, ""), &card(1.0, 0.0, 2, ""), DEFAULT_TOLERANCE);
        assert_eq!((report.regressed, report.comparable, report.reasons.len()), (true, false, 2));
    }

    #[test]
    fn just_beyond_the_tolerance_counts_and_on_it_does_not() {
        let tolerance = Tolerance::new(0.25).unwrap();
        let against =
            |quality, cost| detect_regression(&card(0.75, 4.0, 1, "a"), &card(quality, cost, 1, "a"), tolerance);
        assert!(!against(0.5, 4.25).regressed);
        assert_eq!(against(0.499_999, 4.0).reasons, ["quality regressed: 0.750 -> 0.500"]);
        assert_eq!(against(0.75, 4.5).reasons, ["realized_cost increased: 4.000 -> 4.500"]);
    }
}
