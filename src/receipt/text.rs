//! The words and texts that receipts hold, each with the one rule that it keeps.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::ReceiptError;

macro_rules! checked_text {
    ($(#[$doc:meta])* $name:ident, $what:literal, $rule:literal, $holds:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = ReceiptError;

            fn from_str(text: &str) -> Result<Self, ReceiptError> {
                let holds: fn(&str) -> bool = $holds;
                if holds(text) {
                    Ok(Self(text.to_owned()))
                } else {
                    Err(ReceiptError::Text { what: $what, rule: $rule, found: text.chars().take(80).collect() })
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::object::from_text(deserializer)
            }
        }
    };
}

pub(super) fn text_error(what: &'static str, rule: &'static str, found: &str) -> ReceiptError {
    ReceiptError::Text { what, rule, found: found.chars().take(80).collect() }
}

fn word(text: &str, longest: usize, also: &[u8]) -> bool {
    let bytes = text.as_bytes();
    let plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.len() <= longest
        && bytes.first().is_some_and(plain)
        && bytes.iter().all(|byte| plain(byte) || also.contains(byte))
}

pub(super) fn printable(text: &str, longest: usize) -> bool {
    !text.is_empty() && text.len() <= longest && text.trim() == text && !text.chars().any(char::is_control)
}

checked_text! {
    /// The name of a line of rounds, such as `main` or `nightly`.
    LineName, "a line name", "1 to 64 of a-z 0-9 . _ -, beginning with a letter or digit", |text| word(text, 64, b"._-")
}

checked_text! {
    /// What a piece of evidence is to its receipt, such as `questions` or `answers`.
    Role, "an evidence role", "1 to 32 of a-z 0-9 -, beginning with a letter or digit", |text| word(text, 32, b"-")
}

checked_text! {
    /// A line of text for people: subject names, notes.
    Text, "a text", "1 to 1,000 bytes without control characters, not beginning or ending with white space",
    |text| printable(text, 1000)
}

checked_text! {
    /// The code of a check or of a reason, such as `comparison-regressed`; it never changes its meaning.
    ReasonCode, "a code", "1 to 64 of a-z 0-9 -, beginning with a letter or digit", |text| word(text, 64, b"-")
}

impl LineName {
    /// `main`, the line that is meant when none is named.
    pub fn main() -> Self {
        Self("main".to_owned())
    }
}
