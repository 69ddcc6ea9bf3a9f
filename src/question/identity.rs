//! The names of identities: the scheme, the identity of a question set, the identity of a scorer.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{QuestionError, excerpt, hex};

/// The longest scorer identity, in bytes.
pub const MAX_SCORER_IDENTITY_BYTES: usize = 200;

/// What mixle calls its default scorer (mixle 0.8.2, `_scorer_identity`).
const MIXLE_DEFAULT_SCORER: &str = "mixle.system.scorecard._default_scorer@substring/v2";

/// How the identity of a question set is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Scheme {
    /// The native scheme, by leaves ([`super::Leaves`]).
    #[default]
    Pm1,
    /// `mixle.system.scorecard.question_set_identity` of mixle 0.8, byte for byte ([`super::MixleIdentity`]).
    Mixle,
}

impl Scheme {
    /// `pm1` or `mixle`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pm1 => "pm1",
            Self::Mixle => "mixle",
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Scheme {
    type Err = QuestionError;

    fn from_str(text: &str) -> Result<Self, QuestionError> {
        match text {
            "pm1" => Ok(Self::Pm1),
            "mixle" => Ok(Self::Mixle),
            _ => Err(QuestionError::Scheme { text: excerpt(text) }),
        }
    }
}

macro_rules! text_id {
    ($name:ident) => {
        impl $name {
            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
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
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

/// The identity of a question set under a scorer: `pm1:` and 64 hexadecimal digits, or 64 of them (mixle).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QuestionSetId(String);

text_id!(QuestionSetId);

impl QuestionSetId {
    pub(super) fn pm1(digest: &[u8; 32]) -> Self {
        Self(format!("pm1:{}", hex::encode(digest)))
    }

    pub(super) fn mixle(digest: &[u8; 32]) -> Self {
        Self(hex::encode(digest))
    }

    /// The scheme it was computed by.
    pub fn scheme(&self) -> Scheme {
        if self.0.starts_with("pm1:") { Scheme::Pm1 } else { Scheme::Mixle }
    }
}

impl FromStr for QuestionSetId {
    type Err = QuestionError;

    fn from_str(text: &str) -> Result<Self, QuestionError> {
        let digits = text.strip_prefix("pm1:").unwrap_or(text);
        if hex::parse(digits).is_none() {
            return Err(QuestionError::SetId { text: excerpt(text) });
        }
        Ok(Self(text.to_owned()))
    }
}

/// The name of a judge as identities hold it: `substring/v2`, `numeric/v1?abs=0.001&rel=0`,
/// `command/NAME/VERSION?blake3=HEX`, or a foreign judge's name.
///
/// 1 to [`MAX_SCORER_IDENTITY_BYTES`] printable ASCII characters without spaces. Whether proofmark knows the judge is
/// for `score::Scorer` to say.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScorerIdentity(String);

text_id!(ScorerIdentity);

impl ScorerIdentity {
    /// What the scheme digests: the identity itself, but for `substring/v2` under mixle, which has its own name for it.
    pub fn under(&self, scheme: Scheme) -> &str {
        match scheme {
            Scheme::Mixle if self.0 == "substring/v2" => MIXLE_DEFAULT_SCORER,
            _ => &self.0,
        }
    }
}

impl FromStr for ScorerIdentity {
    type Err = QuestionError;

    fn from_str(text: &str) -> Result<Self, QuestionError> {
        let fits = (1..=MAX_SCORER_IDENTITY_BYTES).contains(&text.len());
        if !fits || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(QuestionError::ScorerIdentity { text: excerpt(text) });
        }
        Ok(Self(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_have_one_spelling() {
        let digits = "0123456789abcdef".repeat(4);
        for (text, scheme) in [(format!("pm1:{digits}"), Scheme::Pm1), (digits.clone(), Scheme::Mixle)] {
            let id: QuestionSetId = text.parse().unwrap();
            assert_eq!((id.as_str(), id.scheme()), (text.as_str(), scheme));
            assert_eq!(serde_json::from_str::<QuestionSetId>(&serde_json::to_string(&id).unwrap()).unwrap(), id);
        }
        for text in ["", "pm1:", "pm2:00", &digits.to_uppercase(), &format!("pm1:pm1:{digits}"), &digits[1..]] {
            assert!(text.parse::<QuestionSetId>().is_err(), "{text:?}");
            assert!(serde_json::from_value::<QuestionSetId>(text.into()).is_err(), "{text:?}");
        }
        assert_eq!("pm1".parse::<Scheme>().unwrap(), Scheme::default());
        assert_eq!(
            "PM1".parse::<Scheme>().unwrap_err().to_string(),
            "unknown identity scheme `PM1`; known: pm1, mixle"
        );
    }

    #[test]
    fn scorer_identities_are_printable_and_short() {
        for text in ["a", "acme.judges.<lambda>", &"x".repeat(200)] {
            assert!(text.parse::<ScorerIdentity>().is_ok(), "{text:?}");
        }
        for text in ["", "a b", "a\n", "é", "a\u{7f}", &"x".repeat(201)] {
            assert!(text.parse::<ScorerIdentity>().is_err(), "{text:?}");
        }
    }
}
