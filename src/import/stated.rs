//! What a file says of itself: counts and means that must be what its rows give. A file that contradicts itself was cut off or
//! changed, and nobody can know which of its two numbers is the right one.

use super::ImportError;
use super::member::{at, is_no_score, spelled};
use super::original::Original;
use crate::object::Json;

/// How far two ways to add up one mean may lie apart.
const NEAR: f64 = 1e-9;

/// The count at the end of a path; `None` where there is none, refused where something else stands there.
pub(super) fn count(original: &Original<'_>, document: &Json, path: &[&str]) -> Result<Option<u64>, ImportError> {
    match at(document, path) {
        None => Ok(None),
        Some(Json::Integer(count)) if u64::try_from(*count).is_ok() => Ok(u64::try_from(*count).ok()),
        Some(other) => {
            let reason = format!("must be a count, not {}", spelled(other));
            Err(original.refuse_field(&path.join("."), reason))
        }
    }
}

/// Refuses a count that is not what the rows give; `rows` is what they are called.
pub(super) fn hold_count(
    original: &Original<'_>,
    document: &Json,
    path: &[&str],
    found: usize,
    rows: &str,
) -> Result<(), ImportError> {
    match count(original, document, path)? {
        Some(stated) if stated != found as u64 => Err(differs(original, &path.join("."), stated, found, rows)),
        _ => Ok(()),
    }
}

/// Refuses a number that is none of those that the rows give.
pub(super) fn hold_number(
    original: &Original<'_>,
    document: &Json,
    path: &[&str],
    found: &[f64],
    rows: &str,
) -> Result<(), ImportError> {
    let stated = match at(document, path) {
        Some(Json::Float(stated)) => *stated,
        #[allow(clippy::cast_precision_loss)] // a mean of scores
        Some(Json::Integer(stated)) => *stated as f64,
        None => return Ok(()),
        Some(Json::String(word)) if is_no_score(word) => return Ok(()),
        Some(other) => {
            let reason = format!("must be a number, not {}", spelled(other));
            return Err(original.refuse_field(&path.join("."), reason));
        }
    };
    match found {
        [first, ..] if !found.iter().any(|found| near(*found, stated)) => {
            Err(differs(original, &path.join("."), stated, first, rows))
        }
        _ => Ok(()),
    }
}

/// Whether two numbers are one mean; what is not a number is near to none.
pub(super) fn near(one: f64, other: f64) -> bool {
    (one - other).abs() <= NEAR
}

/// The refusal of a number, with both.
pub(super) fn differs(
    original: &Original<'_>,
    field: &str,
    stated: impl std::fmt::Display,
    found: impl std::fmt::Display,
    rows: &str,
) -> ImportError {
    original.refuse_field(field, format!("says {stated}, and the {rows} give {found}"))
}

/// The mean of scores, unless there are none.
#[allow(clippy::cast_precision_loss)] // as many scores as a file has rows
pub(super) fn mean(scores: impl ExactSizeIterator<Item = f64>) -> Option<f64> {
    let n = scores.len();
    (n > 0).then(|| scores.sum::<f64>() / n as f64)
}
