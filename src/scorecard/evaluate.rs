//! From judged answers to the numbers of a scorecard.

use super::{Scorecard, ScorecardError};

/// One question after its reply was judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    /// The scorer found the reply right.
    pub correct: bool,
    /// The system answered (status `answered`) and in no degraded mode.
    pub grounded: bool,
    /// Spend units of this question: frontier calls plus oracle calls, added as doubles.
    pub cost: f64,
}

/// What was measured over a question set, before it is bound to the set's identity.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Measured {
    /// How many were right.
    pub correct: u64,
    /// The credit of those that were partly right, each above 0 and below 1, summed in question order from 0.
    pub partial: f64,
    /// How many were grounded.
    pub grounded: u64,
    /// How many there were.
    pub n: u64,
    /// Spend units, summed in question order from 0.
    pub cost: f64,
}

/// Counts judged answers in question order. The order decides the last bits of the cost, and with them of a replay.
pub fn evaluate(judged: impl IntoIterator<Item = Judged>) -> Measured {
    let mut measured = Measured::default();
    for one in judged {
        measured.correct += u64::from(one.correct);
        measured.grounded += u64::from(one.grounded);
        measured.n += 1;
        measured.cost += one.cost;
    }
    measured
}

impl Measured {
    /// The scorecard, bound to a question set. Of no question every number is 0.
    pub fn bind(self, question_set_id: impl Into<String>) -> Result<Scorecard, ScorecardError> {
        Scorecard::new(
            credited(self.correct, self.partial, self.n),
            self.cost,
            share(self.grounded, self.n),
            self.n,
            question_set_id,
        )
    }
}

/// The quality of `n` questions of which so many were right and the others have this credit together: one division of
/// doubles, and without partial credit that of the two counts.
#[allow(clippy::cast_precision_loss)] // a scorecard has at most 2^53 - 1 cases
pub fn credited(correct: u64, partial: f64, n: u64) -> f64 {
    if n == 0 { 0.0 } else { (correct as f64 + partial) / n as f64 }
}

#[allow(clippy::cast_precision_loss)] // a scorecard has at most 2^53 - 1 cases
fn share(part: u64, n: u64) -> f64 {
    if n == 0 { 0.0 } else { part as f64 / n as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_measures_nothing() {
        assert_eq!(evaluate([]).bind("id"), Scorecard::new(0.0, 0.0, 0.0, 0, "id"));
    }

    #[test]
    fn cost_is_summed_in_question_order() {
        let judged = |cost| Judged { correct: true, grounded: false, cost };
        let measured = evaluate([0.1, 0.2, 0.3].map(judged));
        assert_eq!(measured.cost, 0.1 + 0.2 + 0.3);
        assert_ne!(measured.cost, 0.3 + 0.2 + 0.1);
        assert_eq!(measured.bind(""), Scorecard::new(1.0, measured.cost, 0.0, 3, ""));
    }

    #[test]
    fn a_cost_that_is_no_number_gives_no_card() {
        let judged = |cost| Judged { correct: true, grounded: true, cost };
        for costs in [[f64::NAN, 1.0], [f64::MAX, f64::MAX], [1.0, -2.0]] {
            assert!(matches!(
                evaluate(costs.map(judged)).bind(""),
                Err(ScorecardError::Metric { field: "realized_cost", .. })
            ));
        }
    }
}
