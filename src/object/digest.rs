//! Digests as newtypes: what an id names can never be mixed up with what another one names.

use std::fmt;
use std::str::FromStr;

use serde::de::Visitor;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A digest that is not 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a 256-bit digest in lower-case hexadecimal: `{text}`")]
pub struct DigestError {
    /// What was read, cut to 80 characters.
    pub text: String,
}

fn decode(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let mut bytes = [0u8; 32];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = (nibble(pair[0])? << 4) | nibble(pair[1])?;
    }
    Some(bytes)
}

fn encode(bytes: &[u8; 32]) -> [u8; 64] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [0u8; 64];
    for (pair, byte) in text.chunks_exact_mut(2).zip(bytes) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    text
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

/// Reads a string as what its text says, without a copy of the text.
pub(crate) fn from_text<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: FromStr<Err: fmt::Display>,
    D: Deserializer<'de>,
{
    struct Text<T>(std::marker::PhantomData<T>);

    impl<T: FromStr<Err: fmt::Display>> Visitor<'_> for Text<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string")
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
            text.parse().map_err(E::custom)
        }
    }

    deserializer.deserialize_str(Text(std::marker::PhantomData))
}

macro_rules! digest {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; 32]);

        impl $name {
            /// The digest with these 32 bytes.
            pub const fn from_bytes(bytes: [u8; 32]) -> Self {
                Self(bytes)
            }

            /// The 32 bytes.
            pub const fn as_bytes(&self) -> &[u8; 32] {
                &self.0
            }

            /// The first twelve hexadecimal digits, for people.
            pub fn short(&self) -> String {
                self.to_string()[..12].to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(std::str::from_utf8(&encode(&self.0)).map_err(|_| fmt::Error)?)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        impl FromStr for $name {
            type Err = DigestError;

            fn from_str(text: &str) -> Result<Self, DigestError> {
                decode(text).map(Self).ok_or_else(|| DigestError { text: text.chars().take(80).collect() })
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(std::str::from_utf8(&encode(&self.0)).map_err(S::Error::custom)?)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                from_text(deserializer)
            }
        }
    };
}

digest! {
    /// BLAKE3-256 of an object's raw bytes; `b3sum FILE` prints the same.
    ObjectId
}

digest! {
    /// BLAKE3-256 of a receipt's exact envelope bytes.
    ReceiptId
}

digest! {
    /// A SHA-256 digest: an in-toto subject digest, or a node of the RFC 6962 tree.
    Sha256
}

impl ObjectId {
    /// The id of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }
}

impl ReceiptId {
    /// The id of this envelope.
    pub fn of(envelope: &[u8]) -> Self {
        Self(*blake3::hash(envelope).as_bytes())
    }
}

impl Sha256 {
    /// SHA-256 of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        use sha2::Digest;
        Self(sha2::Sha256::digest(bytes).into())
    }

    /// SHA-256 of everything that a reader gives.
    pub fn of_reader(reader: &mut impl std::io::Read) -> std::io::Result<Self> {
        use sha2::Digest;
        let mut hasher = sha2::Sha256::new();
        let mut block = [0; 1 << 16];
        loop {
            match reader.read(&mut block) {
                Ok(0) => return Ok(Self(hasher.finalize().into())),
                Ok(read) => hasher.update(&block[..read]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_id_is_what_b3sum_prints() {
        let id = ObjectId::of(b"");
        assert_eq!(id.to_string(), "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262");
        assert_eq!(id.to_string().parse(), Ok(id));
    }

    #[test]
    fn upper_case_short_and_padded_digests_are_refused() {
        for text in ["", "AF1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262", "af13", " af"] {
            assert!(text.parse::<ObjectId>().is_err(), "{text:?}");
        }
    }
}
