//! Scorecards: what one round measured, validated on construction, and whether a later one is worse.
//!
//! The contract is that of `mixle.system.scorecard` (mixle 0.8): the same members, the same refusals, the same reasons word
//! for word. There is no calibration member: nothing is reported that was not measured.

mod evaluate;
mod fact;
mod regression;
mod round;

use serde::{Deserialize, Serialize};

use crate::object::{FieldError, Fields, Json, MAX_SAFE_INTEGER};

pub use evaluate::{Judged, Measured, credited, evaluate};
pub use fact::{Fact, FactError, Unknown};
pub use regression::{DEFAULT_TOLERANCE, RegressionReport, Tolerance, detect_regression};
pub use round::{JudgedRound, RoundError, count_round, count_withheld, judge_round};

/// Why there is no scorecard, or no comparison of two.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ScorecardError {
    /// A number that measures nothing: not finite, or outside its range.
    #[error("`{field}` must be finite and {range}, not {value:?}")]
    Metric {
        /// The member, as in `quality`.
        field: &'static str,
        /// The range it must lie in, in words.
        range: &'static str,
        /// What it was.
        value: f64,
    },
    /// More cases than an integer that survives canonical JSON, 2^53 - 1.
    #[error("`n` must be at most 2^53 - 1, not {n}")]
    CaseCount {
        /// What it was.
        n: u64,
    },
    /// A tolerance that would decide nothing.
    #[error("the tolerance must be finite and not negative, not {tolerance:?}")]
    Tolerance {
        /// What it was.
        tolerance: f64,
    },
}

impl From<ScorecardError> for FieldError {
    fn from(error: ScorecardError) -> Self {
        match error {
            ScorecardError::Metric { field, range, value } => {
                Self::new(field, format!("must be finite and {range}, not {value:?}"))
            }
            ScorecardError::CaseCount { n } => Self::new("n", format!("must be at most 2^53 - 1, not {n}")),
            ScorecardError::Tolerance { tolerance } => {
                Self::new("tolerance", format!("must be finite and not negative, not {tolerance:?}"))
            }
        }
    }
}

/// One evaluation of a system against one question set. In JSON its members have mixle's names; all five must be there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Members")]
pub struct Scorecard {
    quality: f64,
    realized_cost: f64,
    grounded_fraction: f64,
    n: u64,
    question_set_id: String,
}

/// The members as read, before they are a scorecard.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Members {
    quality: f64,
    realized_cost: f64,
    grounded_fraction: f64,
    n: u64,
    question_set_id: String,
}

impl TryFrom<Members> for Scorecard {
    type Error = ScorecardError;

    fn try_from(members: Members) -> Result<Self, ScorecardError> {
        Self::new(members.quality, members.realized_cost, members.grounded_fraction, members.n, members.question_set_id)
    }
}

impl Scorecard {
    /// A scorecard of `n` cases. `quality` and `grounded_fraction` are fractions in `[0, 1]`, `realized_cost` is in spend
    /// units and not negative; an empty `question_set_id` binds the card to no question set, so it can never be compared.
    ///
    /// `-0.0` becomes `0.0`, since canonical JSON has no negative zero.
    pub fn new(
        quality: f64,
        realized_cost: f64,
        grounded_fraction: f64,
        n: u64,
        question_set_id: impl Into<String>,
    ) -> Result<Self, ScorecardError> {
        if i128::from(n) > MAX_SAFE_INTEGER {
            return Err(ScorecardError::CaseCount { n });
        }
        Ok(Self {
            quality: fraction("quality", quality)?,
            realized_cost: cost("realized_cost", realized_cost)?,
            grounded_fraction: fraction("grounded_fraction", grounded_fraction)?,
            n,
            question_set_id: question_set_id.into(),
        })
    }

    /// Reads what mixle's `SystemScorecard.to_dict()` writes: exactly the five members. Metrics may be written as integers
    /// or decimals, `n` only as an integer.
    pub fn from_json(value: &Json) -> Result<Self, FieldError> {
        let mut fields = Fields::of("", value)?;
        let question_set_id = fields.string("question_set_id")?.to_owned();
        Self::from_fields(fields, question_set_id)
    }

    /// As [`Scorecard::from_json`], but an absent `question_set_id` is the empty one, as in mixle's own constructor.
    ///
    /// For `compare --cards`, where such a card is shown beside another and reported as not comparable. A card that is to
    /// be appended must say what it was measured on, if only with `""`.
    pub fn from_json_or_unbound(value: &Json) -> Result<Self, FieldError> {
        let mut fields = Fields::of("", value)?;
        let question_set_id = fields.optional_string("question_set_id")?.unwrap_or_default().to_owned();
        Self::from_fields(fields, question_set_id)
    }

    fn from_fields(mut fields: Fields<'_>, question_set_id: String) -> Result<Self, FieldError> {
        let quality = fields.number("quality")?;
        let realized_cost = fields.number("realized_cost")?;
        let grounded_fraction = fields.number("grounded_fraction")?;
        let n = case_count(&mut fields)?;
        fields.finish()?;
        Ok(Self::new(quality, realized_cost, grounded_fraction, n, question_set_id)?)
    }

    /// The fraction of cases judged right, in `[0, 1]`.
    pub fn quality(&self) -> f64 {
        self.quality
    }

    /// Spend units over all cases, not negative.
    pub fn realized_cost(&self) -> f64 {
        self.realized_cost
    }

    /// The card as if it had cost nothing, for what says nothing of a cost that is not known.
    pub fn without_cost(&self) -> Self {
        Self { realized_cost: 0.0, ..self.clone() }
    }

    /// The fraction of cases answered without a degraded mode, in `[0, 1]`.
    pub fn grounded_fraction(&self) -> f64 {
        self.grounded_fraction
    }

    /// How many cases there were.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// The identity of the question set and scorer; empty if the card is bound to none.
    pub fn question_set_id(&self) -> &str {
        &self.question_set_id
    }
}

fn case_count(fields: &mut Fields<'_>) -> Result<u64, FieldError> {
    match fields.required("n")? {
        Json::Integer(value) => {
            u64::try_from(*value).map_err(|_| FieldError::new("n", format!("must not be negative, not {value}")))
        }
        other => Err(fields.wrong("n", "an integer", other)),
    }
}

fn fraction(field: &'static str, value: f64) -> Result<f64, ScorecardError> {
    if (0.0..=1.0).contains(&value) {
        return Ok(unsigned_zero(value));
    }
    Err(ScorecardError::Metric { field, range: "between 0 and 1", value })
}

fn cost(field: &'static str, value: f64) -> Result<f64, ScorecardError> {
    if value.is_finite() && value >= 0.0 {
        return Ok(unsigned_zero(value));
    }
    Err(ScorecardError::Metric { field, range: "not negative", value })
}

fn unsigned_zero(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::{encode, parse};

    fn read(text: &str) -> Result<Scorecard, String> {
        Scorecard::from_json(&parse(text.as_bytes()).unwrap()).map_err(|error| error.to_string())
    }

    const CARD: &str = r#"{"quality":0.75,"realized_cost":3,"grounded_fraction":1,"n":24,"question_set_id":"ab"}"#;

    #[test]
    fn a_card_reads_the_same_by_either_way_and_writes_mixles_names() {
        let card = read(CARD).unwrap();
        assert_eq!(card, Scorecard::new(0.75, 3.0, 1.0, 24, "ab").unwrap());
        assert_eq!(serde_json::from_str::<Scorecard>(CARD).unwrap(), card);
        let canonical = r#"{"grounded_fraction":1,"n":24,"quality":0.75,"question_set_id":"ab","realized_cost":3}"#;
        assert_eq!(String::from_utf8(encode(&card).unwrap()).unwrap(), canonical);
    }

    #[test]
    fn what_is_no_measurement_is_refused_by_field() {
        for (from, to, message) in [
            (":0.75", ":1.0001", "field `quality`: must be finite and between 0 and 1, not 1.0001"),
            (":0.75", ":-1e-300", "field `quality`: must be finite and between 0 and 1, not -1e-300"),
            (":0.75", ":true", "field `quality`: must be a number, not a boolean"),
            (":0.75", ":\"0.75\"", "field `quality`: must be a number, not a string"),
            (":0.75", ":null", "field `quality`: must be a number, not null"),
            (":1,", ":2,", "field `grounded_fraction`: must be finite and between 0 and 1, not 2.0"),
            (":3", ":-3", "field `realized_cost`: must be finite and not negative, not -3.0"),
            (":24", ":24.0", "field `n`: must be an integer, not a decimal number"),
            (":24", ":true", "field `n`: must be an integer, not a boolean"),
            (":24", ":-1", "field `n`: must not be negative, not -1"),
            (":24", ":9007199254740992", "field `n`: must be at most 2^53 - 1, not 9007199254740992"),
            (":\"ab\"", ":null", "field `question_set_id`: must be a string, not null"),
            ("\"n\"", "\"calibration\"", "field `n`: is missing"),
            ("\"n\"", "\"calibration\":1,\"n\"", "field `calibration`: is not a known field"),
            (",\"question_set_id\":\"ab\"", "", "field `question_set_id`: is missing"),
        ] {
            assert!(CARD.contains(from));
            let text = CARD.replacen(from, to, 1);
            let refusal = read(&text).unwrap_err();
            assert!(refusal.starts_with(message), "{text}: {refusal}");
            assert!(serde_json::from_str::<Scorecard>(&text).is_err(), "{text}");
        }
        assert!(serde_json::from_str::<Scorecard>(&CARD.replacen('}', ",\"n\":24}", 1)).is_err());
    }

    #[test]
    fn numbers_that_json_cannot_write_are_refused_too() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(Scorecard::new(value, 0.0, 0.0, 1, "").is_err());
            assert!(Scorecard::new(0.0, value, 0.0, 1, "").is_err());
            assert!(Scorecard::new(0.0, 0.0, value, 1, "").is_err());
        }
    }

    #[test]
    fn a_card_without_identity_is_read_only_where_it_may_be() {
        let value = parse(br#"{"quality":1,"realized_cost":0,"grounded_fraction":1,"n":1}"#).unwrap();
        assert!(Scorecard::from_json(&value).is_err());
        assert_eq!(Scorecard::from_json_or_unbound(&value).unwrap().question_set_id(), "");
    }

    #[test]
    fn negative_zero_becomes_zero() {
        let card = Scorecard::new(-0.0, -0.0, -0.0, 0, "").unwrap();
        assert!(card.quality().is_sign_positive());
        assert!(card.realized_cost().is_sign_positive());
        assert!(card.grounded_fraction().is_sign_positive());
    }
}
