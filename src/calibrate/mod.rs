//! Calibration: prediction records of selective classifiers, read strictly; thresholds chosen on validation; metrics on
//! what is accepted. `docs/gate.md` has every formula with its source.
//!
//! Everything that decides is exact: confidences are decimals as written, counts are compared by cross multiplication,
//! and sums do not depend on the order of the records. Doubles appear in reports only, correctly rounded.

mod candidate;
mod columns;
mod decimal;
mod excerpt;
mod label;
mod lint;
mod literal;
mod metrics;
mod natural;
mod profile;
mod reading;
mod record;
mod swift;
mod terms;
mod threshold;

pub use candidate::{Candidate, SubjectTruth};
pub use columns::MAX_MODELS;
pub use decimal::{Decimal, DecimalError, MAX_PLACES};
pub use label::{ClassPart, Comparator, Gate, Label, Metric, Split, Subject};
pub use lint::Finding;
pub use metrics::{Bin, ClassScore, Metrics, measure};
pub use profile::{BUILT_IN, Profile, ProfileError, lint_profile};
pub use reading::{Input, MAX_PREDICTIONS, Predictions, Reading};
pub use record::{Format, ItemId, MAX_NAME_BYTES, Record, Suggestion};
pub use swift::SwiftFormat;
pub use terms::{ByteRange, MAX_BINS, MAX_LABELS, SplitRule, Terms};
pub use threshold::{NoThreshold, Threshold, select_threshold};

pub(crate) use excerpt::excerpt;
pub(crate) use lint::floor as floor_finding;
pub(crate) use literal::literal;
pub(crate) use terms::canonical_decimal;

use crate::object::RecordError;

/// Why a run is refused: nothing is scored.
#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    /// A record breaks a rule, or a file cannot be read.
    #[error("{0}")]
    Record(RecordError),
    /// There is nothing to score.
    #[error("there are no prediction records")]
    NoRecords,
    /// A candidate without records where it is chosen or measured.
    #[error("the candidate `{}` has no {split} records, so it cannot be scored honestly", excerpt(model))]
    NoSplit {
        /// The candidate.
        model: String,
        /// Where records are missing.
        split: Split,
    },
}

impl From<RecordError> for CalibrateError {
    fn from(error: RecordError) -> Self {
        Self::Record(error)
    }
}
