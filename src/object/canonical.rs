//! Canonical JSON, RFC 8785 (JCS): one value, one sequence of bytes.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::JsonValue;

/// Integers up to this size are exact as doubles (2^53 - 1, I-JSON, RFC 7493 section 2.2).
pub const MAX_SAFE_INTEGER: i128 = (1 << 53) - 1;

/// Why a value has no canonical encoding, or bytes are not one.
#[derive(Debug, thiserror::Error)]
pub enum CanonicalError {
    /// An integer that a double does not hold exactly would not survive a round trip.
    #[error("the integer {value} is beyond 2^53 - 1 and does not survive canonical JSON")]
    UnsafeInteger {
        /// The integer.
        value: i128,
    },
    /// The value cannot be written as JSON (NaN, infinity).
    #[error("no canonical JSON form")]
    Encode(#[source] serde_json::Error),
    /// The bytes are not JSON of the wanted shape.
    #[error("not of the expected form")]
    Decode(#[source] serde_json::Error),
    /// The bytes say the right thing in other than the canonical way.
    #[error("not in canonical form (RFC 8785): the first difference is at byte {offset}")]
    NotCanonical {
        /// Where the canonical form first differs.
        offset: usize,
    },
}

/// The canonical bytes of any serializable value. Integers beyond 2^53 - 1, NaN and infinities have none.
pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, CanonicalError> {
    super::writer::write(value).map_err(CanonicalError::Encode)
}

/// The canonical bytes of a [`JsonValue`]; integers that a double cannot hold are refused, not rounded.
pub fn encode_json<S: AsRef<str>>(value: &JsonValue<S>) -> Result<Vec<u8>, CanonicalError> {
    refuse_unsafe_integers(value)?;
    encode(value)
}

/// Reads bytes that must be exactly the canonical encoding of what they say.
///
/// Duplicate and reordered keys, white space, other spellings of a number or string and trailing bytes all fail the
/// comparison, so accepted bytes always encode back to themselves.
pub fn parse_canonical<T: Serialize + DeserializeOwned>(bytes: &[u8]) -> Result<T, CanonicalError> {
    let value: T = serde_json::from_slice(bytes).map_err(CanonicalError::Decode)?;
    let canonical = encode(&value)?;
    if canonical == bytes {
        return Ok(value);
    }
    let same = canonical.iter().zip(bytes).take_while(|(left, right)| left == right).count();
    Err(CanonicalError::NotCanonical { offset: same })
}

fn refuse_unsafe_integers<S>(value: &JsonValue<S>) -> Result<(), CanonicalError> {
    match value {
        JsonValue::Integer(value) if value.abs() > MAX_SAFE_INTEGER => {
            Err(CanonicalError::UnsafeInteger { value: *value })
        }
        JsonValue::Array(items) => items.iter().try_for_each(refuse_unsafe_integers),
        JsonValue::Object(members) => members.iter().try_for_each(|(_, value)| refuse_unsafe_integers(value)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::{Json, parse};

    fn canonical(text: &str) -> String {
        String::from_utf8(encode_json(&parse(text.as_bytes()).unwrap()).unwrap()).unwrap()
    }

    #[test]
    fn keys_sort_by_utf16_and_numbers_print_as_ecmascript_does() {
        assert_eq!(
            canonical(r#"{"\ufb33":1,"\ud83d\ude00":2,"b":3.0,"a":-0.0}"#),
            "{\"a\":0,\"b\":3,\"😀\":2,\"\u{fb33}\":1}"
        );
        assert_eq!(canonical("[1e21,1e-7,0.000001,-0]"), "[1e+21,1e-7,0.000001,0]");
    }

    #[test]
    fn integers_that_would_be_rounded_are_refused() {
        assert!(encode_json(&Json::Integer(MAX_SAFE_INTEGER)).is_ok());
        assert!(matches!(
            encode_json(&Json::Array(vec![Json::Integer(MAX_SAFE_INTEGER + 2)])),
            Err(CanonicalError::UnsafeInteger { .. })
        ));
    }

    #[test]
    fn only_canonical_bytes_parse() {
        #[derive(serde::Serialize, serde::Deserialize, Debug)]
        #[serde(deny_unknown_fields)]
        struct Pair {
            a: f64,
            b: String,
        }
        assert!(parse_canonical::<Pair>(br#"{"a":1.5,"b":"x"}"#).is_ok());
        for text in [
            r#"{"b":"x","a":1.5}"#,
            r#"{"a":1.50,"b":"x"}"#,
            r#"{"a":1.5,"b":"\u0078"}"#,
            r#"{"a":1.5,"b":"x"} "#,
            r#"{"a":1.5,"a":1.5,"b":"x"}"#,
            r#"{"a":1.5,"b":"x","c":0}"#,
            r#"{"a":NaN,"b":"x"}"#,
        ] {
            assert!(parse_canonical::<Pair>(text.as_bytes()).is_err(), "{text}");
        }
    }
}
