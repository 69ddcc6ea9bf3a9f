//! Two rounds side by side: the regression report, the axes, the questions that flipped, what chance explains of it, and,
//! where the rounds cannot be compared, what differs.
//!
//! [`Comparison`] serializes to the `compare.v1` document. `regressed`, `reasons` and `comparable` are exactly what
//! [`detect_regression`] says, unless something that must be known is not: then nothing is compared, or, where only the cost
//! is unknown and that is allowed, all but the cost. Everything else
//! explains it and overrules nothing.

mod difference;
mod flips;
mod significance;

use serde::Serialize;

use crate::scorecard::{Fact, RegressionReport, Scorecard, Tolerance, credited, detect_regression};
use crate::stats::StatsError;

pub use difference::{Difference, LISTED, NameList, QuestionChanges, Questions, Sides, UnknownFact};
pub use flips::{Flips, PairedQuestion};
pub use significance::{OneRound, RoundDifference, Significance};

/// Evidence that does not belong to the scorecards it was handed in with.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// Another number of answered questions than the cards have cases.
    #[error("{questions} answered questions for scorecards of {n} cases")]
    QuestionCount {
        /// How many answered questions there are.
        questions: u64,
        /// How many cases the cards have.
        n: u64,
    },
    /// The answers give another quality than the card says.
    #[error("the answers of the {side} round give quality {answers}, its scorecard says {card}")]
    Quality {
        /// Which round.
        side: Sides,
        /// The quality the answers give.
        answers: f64,
        /// The quality the card claims.
        card: f64,
    },
    /// Too many questions, or counts that describe none.
    #[error("no statistics over these questions")]
    Statistics(#[from] StatsError),
}

/// One of the two rounds: its scorecard and what is known of where it came from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Round {
    /// What the user called it: a revision or a file.
    pub name: String,
    /// The receipt it stands in, if it comes from a ledger.
    pub receipt: Option<String>,
    /// The scorer's identity, as in `substring/v2`, where it is known.
    pub scorer: Option<String>,
    /// The numbers.
    pub scorecard: Scorecard,
}

/// One axis, side by side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Axis {
    /// In the base round.
    pub base: f64,
    /// In the current round.
    pub current: f64,
    /// Current less base.
    pub delta: f64,
    /// Beyond the tolerance in the bad direction; `None` where the rounds cannot be compared, and for a cost that either of them
    /// does not know.
    pub worse: Option<bool>,
}

/// The case counts, side by side. More cases are neither better nor worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CaseCounts {
    /// In the base round.
    pub base: u64,
    /// In the current round.
    pub current: u64,
    /// Current less base.
    pub delta: i64,
}

/// The axes of a scorecard.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Axes {
    /// More is better.
    pub quality: Axis,
    /// More is better.
    pub grounded_fraction: Axis,
    /// Less is better.
    pub realized_cost: Axis,
    /// The case counts.
    pub n: CaseCounts,
}

/// What two rounds have to say about each other: the `compare.v1` document.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    schema: &'static str,
    /// The round compared against.
    pub base: Round,
    /// The round compared.
    pub current: Round,
    /// How much worse an axis may be without counting.
    pub tolerance: Tolerance,
    /// The verdict, its members at the top of the document.
    #[serde(flatten)]
    pub report: RegressionReport,
    /// The axes side by side.
    pub axes: Axes,
    /// What differs, in a fixed order; empty where the rounds are comparable.
    pub differences: Vec<Difference>,
    /// The questions that flipped, where the answers of both rounds are held and the rounds are comparable.
    pub flips: Option<Flips>,
    /// What chance explains of the flips; there whenever they are.
    pub statistics: Option<Significance>,
    /// What one round or both leave unknown; absent where everything is known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<UnknownFact>,
}

/// What a comparison rests on besides the two cards.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// Which question sets are held, and what differs between them.
    pub questions: &'a Questions,
    /// The questions both rounds answered, in the order of the set, where both rounds' answers are held.
    pub answered: Option<&'a [PairedQuestion<'a>]>,
    /// How many rounds, the current one included, have been measured on this question set, where that is known.
    pub looks: Option<u64>,
    /// The credit of answers that were partly right, summed: in the base round, and in the current one.
    pub partial: (f64, f64),
    /// What one round or both leave unknown.
    pub unknown: &'a [UnknownFact],
    /// What other tools were told, where it differs.
    pub conditions: &'a [Difference],
}

impl Evidence<'_> {
    /// Nothing but the cards.
    pub const NONE: Evidence<'static> = Evidence {
        questions: &Questions::NotHeld(Sides::Both),
        answered: None,
        looks: None,
        partial: (0.0, 0.0),
        unknown: &[],
        conditions: &[],
    };
}

impl Comparison {
    /// Compares two rounds. Answers are looked at only where the cards are comparable, and must then give them.
    pub fn of(base: Round, current: Round, tolerance: Tolerance, evidence: Evidence<'_>) -> Result<Self, CompareError> {
        let cost_known = !evidence.unknown.iter().any(|fact| fact.field == Fact::Cost);
        let judged = detect_known(&base.scorecard, &current.scorecard, tolerance, cost_known);
        let forbidding: Vec<UnknownFact> = evidence.unknown.iter().copied().filter(|fact| fact.forbids()).collect();
        let mut differences = evidence.conditions.to_vec();
        if !judged.comparable {
            differences.extend(difference::between(&base, &current, evidence.questions));
        }
        differences.extend(forbidding.iter().copied().map(Difference::Unknown));
        let report = known_only(judged, &forbidding);
        let mut axes = axes(&base.scorecard, &current.scorecard, tolerance, report.comparable);
        axes.realized_cost.worse = axes.realized_cost.worse.filter(|_| cost_known);
        let answered = evidence.answered.filter(|_| report.comparable);
        if let Some(answered) = answered {
            belongs(answered, evidence.partial, &base.scorecard, &current.scorecard)?;
        }
        let flips = answered.map(Flips::of);
        let statistics = answered.map(|answered| Significance::of(answered, evidence.looks)).transpose()?;
        let unknown = evidence.unknown.to_vec();
        Ok(Self {
            schema: "compare.v1",
            base,
            current,
            tolerance,
            report,
            axes,
            differences,
            flips,
            statistics,
            unknown,
        })
    }

    /// Whether the cost of the base round, and of the current one, is known. One that is not stands in its card as 0.
    pub fn costs_known(&self) -> (bool, bool) {
        let side = self.unknown.iter().find(|fact| fact.field == Fact::Cost).map(|fact| fact.side);
        (!matches!(side, Some(Sides::Base | Sides::Both)), !matches!(side, Some(Sides::Current | Sides::Both)))
    }

    /// Whether a question that must pass fails in the current round. mixle's verdict does not know such questions.
    pub fn must_pass_failing(&self) -> bool {
        self.flips.as_ref().is_some_and(|flips| !flips.must_pass_failing.is_empty())
    }
}

/// What [`detect_regression`] says of what is known. What a round cost that does not say so stands in its card as 0, which is
/// neither better nor worse than anything.
pub fn detect_known(base: &Scorecard, current: &Scorecard, tolerance: Tolerance, cost_known: bool) -> RegressionReport {
    if cost_known {
        return detect_regression(base, current, tolerance);
    }
    detect_regression(&base.without_cost(), &current.without_cost(), tolerance)
}

/// A verdict that rests on something unknown is none.
fn known_only(report: RegressionReport, forbidding: &[UnknownFact]) -> RegressionReport {
    if forbidding.is_empty() {
        return report;
    }
    let mut reasons = if report.comparable { Vec::new() } else { report.reasons };
    reasons.extend(forbidding.iter().map(|fact| format!("not comparable: {fact}")));
    RegressionReport { regressed: true, comparable: false, reasons }
}

fn axes(base: &Scorecard, current: &Scorecard, tolerance: Tolerance, comparable: bool) -> Axes {
    let axis = |value: fn(&Scorecard) -> f64, worse: fn(Tolerance, f64, f64) -> bool| {
        let (base, current) = (value(base), value(current));
        Axis { base, current, delta: current - base, worse: comparable.then(|| worse(tolerance, base, current)) }
    };
    Axes {
        quality: axis(Scorecard::quality, Tolerance::fell),
        grounded_fraction: axis(Scorecard::grounded_fraction, Tolerance::fell),
        realized_cost: axis(Scorecard::realized_cost, Tolerance::rose),
        n: CaseCounts {
            base: base.n(),
            current: current.n(),
            delta: current.n().cast_signed() - base.n().cast_signed(),
        },
    }
}

/// Refuses answers that do not give the quality of the cards: statistics over them would be about something else.
fn belongs(
    answered: &[PairedQuestion<'_>],
    partial: (f64, f64),
    base: &Scorecard,
    current: &Scorecard,
) -> Result<(), CompareError> {
    let questions = answered.len() as u64;
    if questions != current.n() {
        return Err(CompareError::QuestionCount { questions, n: current.n() });
    }
    gives(Sides::Base, answered, |question| question.base, partial.0, base)?;
    gives(Sides::Current, answered, |question| question.current, partial.1, current)
}

fn gives(
    side: Sides,
    answered: &[PairedQuestion<'_>],
    correct: impl Fn(&PairedQuestion<'_>) -> bool,
    partial: f64,
    card: &Scorecard,
) -> Result<(), CompareError> {
    let right = answered.iter().filter(|question| correct(question)).count();
    let answers = credited(right as u64, partial, answered.len() as u64);
    // Both are the same division of the same counts, so they are the same double or not the same evidence.
    if answers.to_bits() == card.quality().to_bits() {
        return Ok(());
    }
    Err(CompareError::Quality { side, answers, card: card.quality() })
}

#[cfg(test)]
mod tests;
