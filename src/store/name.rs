//! Names inside a store: relative, plain, and unable to leave it.

use std::fmt;
use std::str::FromStr;

use super::StoreError;

/// A path inside a store, such as `tile/0/x001/000.p/5`: segments of letters, digits, `.`, `_` and `-`, joined by `/`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

impl Name {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The folder that holds it, and its last segment.
    pub fn split(&self) -> (&str, &str) {
        self.0.rsplit_once('/').unwrap_or(("", &self.0))
    }
}

fn plain(segment: &str) -> bool {
    let safe = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    !segment.is_empty() && segment != "." && segment != ".." && segment.bytes().all(safe)
}

impl FromStr for Name {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        if text.len() <= 255 && text.split('/').all(plain) {
            Ok(Self(text.to_owned()))
        } else {
            Err(StoreError::BadName { name: text.chars().take(255).collect() })
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_the_store() {
        for good in ["checkpoint", "tile/0/x001/234.p/5", "objects/ab/cd.zst"] {
            assert_eq!(good.parse::<Name>().unwrap().to_string(), good);
        }
        for bad in ["", "/etc/passwd", "..", "a/../b", "a//b", "a/", "./a", "a\\b", "a\0b", "ä", "a b"] {
            assert!(bad.parse::<Name>().is_err(), "{bad:?}");
        }
    }
}
