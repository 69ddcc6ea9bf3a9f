//! What a gate run found: one document, `gate.v1`, with one sequence of bytes for one set of records.
//!
//! It says nothing about the files the records came from, so that it depends on neither their order nor how they were
//! split over files; the receipt names the files.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use crate::calibrate::{Comparator, Label, Metric};
use crate::object::{CanonicalError, ObjectId, encode, parse_canonical};

/// The `schema` member of every report.
pub const SCHEMA: &str = "gate.v1";

/// The answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// At least one candidate keeps every gate.
    #[serde(rename = "GO")]
    Go,
    /// None does.
    #[serde(rename = "BLOCKED")]
    Blocked,
}

impl Verdict {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Go => "GO",
            Self::Blocked => "BLOCKED",
        }
    }
}

/// A gate run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Report {
    /// [`SCHEMA`].
    #[serde(deserialize_with = "schema")]
    pub schema: String,
    /// GO or BLOCKED.
    pub verdict: Verdict,
    /// Of the candidates that pass, the one with the highest macro-F1, then precision, then the first by name.
    #[serde(deserialize_with = "present")]
    pub recommended: Option<String>,
    /// The coverage floor that thresholds had to clear, 0 to 1.
    pub min_coverage: f64,
    /// The task profile.
    pub profile: ProfileName,
    /// In the order of their names.
    pub candidates: Vec<CandidateReport>,
}

/// A profile by name and digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProfileName {
    /// As the profile calls itself.
    pub name: String,
    /// The BLAKE3 of its canonical bytes.
    pub blake3: ObjectId,
}

/// One candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CandidateReport {
    /// The model's name.
    pub model: String,
    /// The digest of what it was asked on validation and test, with the truths: `Candidate::subjects_digest`.
    pub subjects: ObjectId,
    /// The least confidence that is accepted, as the nearest double; `None` where no cut clears the coverage floor.
    #[serde(deserialize_with = "present")]
    pub threshold: Option<f64>,
    /// The same exactly, in decimal.
    #[serde(deserialize_with = "present")]
    pub threshold_as_written: Option<String>,
    /// On validation, where the threshold was chosen; `None` without one.
    #[serde(deserialize_with = "present")]
    pub validation: Option<Scores>,
    /// On test, where the candidate is judged; `None` without a threshold.
    #[serde(deserialize_with = "present")]
    pub test: Option<TestScores>,
    /// Every gate of the profile, in its order.
    pub gates: Vec<GateReport>,
    /// Whether every gate holds.
    pub passed: bool,
    /// Why it did not pass: one sentence each; empty where it passed.
    pub reasons: Vec<String>,
}

/// What is measured on accepted records. An undefined value is `None`, never a zero.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scores {
    /// All records.
    pub records: u64,
    /// Suggestions at or above the threshold.
    pub accepted: u64,
    /// Accepted ones that are right.
    pub correct: u64,
    /// Accepted / records.
    #[serde(deserialize_with = "present")]
    pub coverage: Option<f64>,
    /// Correct / accepted.
    #[serde(deserialize_with = "present")]
    pub precision_at_coverage: Option<f64>,
    /// Mean F1 over the classes in accepted truth.
    #[serde(rename = "macroF1", deserialize_with = "present")]
    pub macro_f1: Option<f64>,
    /// Expected calibration error.
    #[serde(deserialize_with = "present")]
    pub ece: Option<f64>,
}

/// [`Scores`] and what they are made of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TestScores {
    /// All records.
    pub records: u64,
    /// Suggestions at or above the threshold.
    pub accepted: u64,
    /// Accepted ones that are right.
    pub correct: u64,
    /// Accepted / records.
    #[serde(deserialize_with = "present")]
    pub coverage: Option<f64>,
    /// Correct / accepted.
    #[serde(deserialize_with = "present")]
    pub precision_at_coverage: Option<f64>,
    /// Mean F1 over the classes in accepted truth.
    #[serde(rename = "macroF1", deserialize_with = "present")]
    pub macro_f1: Option<f64>,
    /// Expected calibration error.
    #[serde(deserialize_with = "present")]
    pub ece: Option<f64>,
    /// By label.
    pub per_class: BTreeMap<String, ClassReport>,
    /// Accepted records by `truth->predicted`; no zeros.
    pub confusion: BTreeMap<String, u64>,
    /// Of confidence, in order.
    pub bins: Vec<BinReport>,
    /// Labels that no accepted truth has, in the profile's order.
    pub excluded_classes: Vec<Label>,
    /// Records that are not accepted.
    pub abstentions: Abstentions,
}

/// One class among the accepted records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassReport {
    /// Right among predicted; `None` where nothing is predicted.
    #[serde(deserialize_with = "present")]
    pub precision: Option<f64>,
    /// Right among those of the class; `None` where there are none.
    #[serde(deserialize_with = "present")]
    pub recall: Option<f64>,
    /// The harmonic mean of both; `None` where the class is neither predicted nor there.
    #[serde(deserialize_with = "present")]
    pub f1: Option<f64>,
    /// Accepted records of the class.
    pub support: u64,
    /// Accepted records predicted to be of the class.
    pub predicted: u64,
}

/// One bin of confidence: `[lower, upper)`, the last one closed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BinReport {
    /// Where it begins.
    pub lower: f64,
    /// Where it ends.
    pub upper: f64,
    /// Accepted records in it.
    pub count: u64,
    /// How many of these are right.
    pub correct: u64,
    /// Correct / count.
    #[serde(deserialize_with = "present")]
    pub accuracy: Option<f64>,
    /// Mean confidence.
    #[serde(deserialize_with = "present")]
    pub mean_confidence: Option<f64>,
}

/// Abstentions by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Abstentions {
    /// The prediction is `null`.
    pub no_suggestion: u64,
    /// The confidence is below the threshold.
    pub low_confidence: u64,
}

/// One gate, held against a candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateReport {
    /// What is measured.
    pub metric: Metric,
    /// Which side passes.
    pub comparator: Comparator,
    /// The limit; it passes.
    pub limit: f64,
    /// On test; `None` where it is undefined.
    #[serde(deserialize_with = "present")]
    pub value: Option<f64>,
    /// Compared exactly, before any rounding of the value.
    pub passed: bool,
}

impl Report {
    /// The one sequence of bytes for this report (RFC 8785).
    pub fn encode(&self) -> Result<Vec<u8>, CanonicalError> {
        encode(self)
    }

    /// Reads exactly what [`Report::encode`] writes.
    pub fn parse(bytes: &[u8]) -> Result<Self, CanonicalError> {
        parse_canonical(bytes)
    }

    /// The candidate of this name.
    pub fn candidate(&self, model: &str) -> Option<&CandidateReport> {
        self.candidates.iter().find(|candidate| candidate.model == model)
    }
}

/// An option that must be written out, if only as `null`.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(deserializer)
}

fn schema<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let schema = String::deserialize(deserializer)?;
    if schema == SCHEMA { Ok(schema) } else { Err(serde::de::Error::custom(format!("`schema` is not `{SCHEMA}`"))) }
}
