//! Public keys, their fingerprints, and strict verification of one signature.
//!
//! The wire form of a key is OpenSSH's (RFC 8709, section 4): the strings `ssh-ed25519` and the 32 bytes of RFC 8032,
//! section 5.1.2, each after its length as a big-endian u32. Its SHA-256 is the fingerprint that `ssh-keygen -l` prints.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use ed25519_dalek::VerifyingKey;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

use super::TrustError;

/// The only kind of key used, as OpenSSH names it.
pub(super) const KIND: &str = "ssh-ed25519";
const BLOB_LENGTH: usize = 4 + KIND.len() + 4 + 32;
/// `SubjectPublicKeyInfo` of an Ed25519 key up to its 32 bytes (RFC 8410, section 4).
const SPKI_PREFIX: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
const FINGERPRINT_PREFIX: &str = "SHA256:";

/// The fingerprint of a key as OpenSSH writes it: `SHA256:` and 43 characters of unpadded base64.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(String);

impl KeyId {
    /// The fingerprint of a key in OpenSSH wire form.
    pub(super) fn of_blob(blob: &[u8]) -> Self {
        Self(format!("{FINGERPRINT_PREFIX}{}", STANDARD_NO_PAD.encode(Sha256::digest(blob))))
    }

    /// The text, `SHA256:…`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyId({})", self.0)
    }
}

impl FromStr for KeyId {
    type Err = TrustError;

    /// # Errors
    /// [`TrustError::KeyIdText`] unless the text is exactly what [`PublicKey::fingerprint`] would print.
    fn from_str(text: &str) -> Result<Self, TrustError> {
        let digest = text.strip_prefix(FINGERPRINT_PREFIX).and_then(|digits| STANDARD_NO_PAD.decode(digits).ok());
        match digest {
            Some(digest) if digest.len() == 32 => Ok(Self(text.to_owned())),
            _ => Err(TrustError::KeyIdText { text: text.chars().take(80).collect() }),
        }
    }
}

impl Serialize for KeyId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for KeyId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::object::from_text(deserializer)
    }
}

/// An Ed25519 signature (RFC 8032, section 5.1.6): 32 bytes of R, 32 bytes of S. Any 64 bytes; verifying decides.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Signature(pub [u8; 64]);

impl Signature {
    /// The 64 bytes.
    pub const fn as_bytes(&self) -> &[u8; 64] {
        &self.0
    }

    /// Padded standard base64, 88 characters.
    pub fn to_base64(&self) -> String {
        STANDARD.encode(self.0)
    }

    /// Reads [`Signature::to_base64`] back.
    ///
    /// # Errors
    /// [`TrustError::SignatureText`] unless the text is the one padded standard base64 form of 64 bytes.
    pub fn from_base64(text: &str) -> Result<Self, TrustError> {
        let bytes = STANDARD.decode(text).map_err(|_| TrustError::SignatureText)?;
        bytes.try_into().map(Self).map_err(|_| TrustError::SignatureText)
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signature({})", self.to_base64())
    }
}

/// An Ed25519 public key: a canonically encoded point that is not of small order.
///
/// In serde it is its OpenSSH text without a comment, `ssh-ed25519 AAAA…`, one text per key.
#[derive(Clone, Copy)]
pub struct PublicKey(VerifyingKey);

impl PublicKey {
    /// The key with these 32 bytes (RFC 8032, section 5.1.2).
    ///
    /// # Errors
    /// [`TrustError::NonCanonicalKey`] for bytes that are not the canonical encoding of a point (section 5.1.3 and
    /// re-encoding to the same bytes), [`TrustError::SmallOrderKey`] for one of the eight points of small order.
    pub fn from_raw(raw: &[u8; 32]) -> Result<Self, TrustError> {
        let key = VerifyingKey::from_bytes(raw).map_err(|_| TrustError::NonCanonicalKey)?;
        if key.to_edwards().compress().as_bytes() != raw {
            return Err(TrustError::NonCanonicalKey);
        }
        if key.is_weak() {
            return Err(TrustError::SmallOrderKey);
        }
        Ok(Self(key))
    }

    /// The public half of a private key. It is never of small order: RFC 8032, section 5.1.5 makes the scalar a multiple
    /// of 8 between 2^254 and 2^255, and no multiple of the group order L there is one of 8.
    pub(super) fn of(signing: &ed25519_dalek::SigningKey) -> Self {
        Self(signing.verifying_key())
    }

    /// Reads an OpenSSH public key line, as in `id_ed25519.pub`: kind, base64, and perhaps a comment.
    ///
    /// # Errors
    /// [`TrustError::KeyKind`] for another kind of key, [`TrustError::PublicKeyText`] for other text, and those of
    /// [`PublicKey::from_raw`].
    pub fn from_openssh(line: &str) -> Result<Self, TrustError> {
        let line = line.trim();
        if line.contains("PRIVATE KEY-----") {
            let reason = "this is a private key; its public half is in the file ending in `.pub`";
            return Err(TrustError::PublicKeyText { reason });
        }
        if line.contains(['\n', '\r']) {
            return Err(TrustError::PublicKeyText { reason: "more than one line" });
        }
        let mut words = line.split([' ', '\t']).filter(|word| !word.is_empty());
        let kind = words.next().unwrap_or_default();
        let body = words.next().ok_or(TrustError::PublicKeyText { reason: "expected `ssh-ed25519 AAAA…`" })?;
        if kind != KIND {
            return Err(other_kind(kind));
        }
        let reason = "the part after `ssh-ed25519` is not padded standard base64";
        let blob = STANDARD.decode(body).map_err(|_| TrustError::PublicKeyText { reason })?;
        Self::from_blob(&blob)
    }

    /// Reads the OpenSSH wire form.
    pub(super) fn from_blob(blob: &[u8]) -> Result<Self, TrustError> {
        let kind = kind_of(blob).ok_or(TrustError::PublicKeyText { reason: "the base64 part is cut short" })?;
        if kind != KIND.as_bytes() {
            return Err(TrustError::KeyKind { kind: String::from_utf8_lossy(kind).chars().take(64).collect() });
        }
        match blob.split_last_chunk::<32>() {
            Some((_, raw)) if blob_of(raw) == blob => Self::from_raw(raw),
            _ => Err(TrustError::PublicKeyText { reason: "an Ed25519 key has 32 bytes" }),
        }
    }

    /// The 32 bytes (RFC 8032, section 5.1.2).
    pub fn raw(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    /// The OpenSSH wire form, 51 bytes.
    pub(super) fn blob(&self) -> [u8; BLOB_LENGTH] {
        blob_of(self.raw())
    }

    /// The OpenSSH text without comment and line end, `ssh-ed25519 AAAA…`.
    pub fn to_openssh(&self) -> String {
        format!("{KIND} {}", STANDARD.encode(self.blob()))
    }

    /// `SubjectPublicKeyInfo` in PEM (RFC 8410, section 4), as openssl reads it, with a final line end.
    pub fn to_pem(&self) -> String {
        let body = STANDARD.encode([&SPKI_PREFIX[..], self.raw()].concat());
        format!("-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n")
    }

    /// The fingerprint, equal to what `ssh-keygen -l` prints.
    pub fn fingerprint(&self) -> KeyId {
        KeyId::of_blob(&self.blob())
    }

    /// Verifies one signature by the strict rule: RFC 8032, section 5.1.7, cofactorless, S below the group order, R
    /// and key canonical and not of small order. [`super::PreparedKey`] gives the same answers faster for many.
    ///
    /// # Errors
    /// [`TrustError::BadSignature`].
    pub fn verify(&self, message: &[u8], signature: &Signature) -> Result<(), TrustError> {
        let strict = self.0.verify_strict(message, &ed25519_dalek::Signature::from_bytes(&signature.0));
        strict.map_err(|_| TrustError::BadSignature { key: self.fingerprint() })
    }

    /// The point of the curve.
    pub(super) fn point(&self) -> curve25519_dalek::EdwardsPoint {
        self.0.to_edwards()
    }
}

fn blob_of(raw: &[u8; 32]) -> [u8; BLOB_LENGTH] {
    let mut blob = [0u8; BLOB_LENGTH];
    blob[3] = KIND.len() as u8;
    blob[4..15].copy_from_slice(KIND.as_bytes());
    blob[18] = 32;
    blob[19..].copy_from_slice(raw);
    blob
}

/// The name of the kind at the start of a key in OpenSSH wire form.
pub(super) fn kind_of(blob: &[u8]) -> Option<&[u8]> {
    let (length, rest) = blob.split_first_chunk::<4>()?;
    rest.get(..usize::try_from(u32::from_be_bytes(*length)).ok()?)
}

fn other_kind(word: &str) -> TrustError {
    let known = ["ssh-", "ecdsa-", "sk-"].iter().any(|start| word.starts_with(start));
    if known && word.len() <= 64 {
        TrustError::KeyKind { kind: word.to_owned() }
    } else {
        TrustError::PublicKeyText { reason: "expected `ssh-ed25519 AAAA…`" }
    }
}

impl PartialEq for PublicKey {
    fn eq(&self, other: &Self) -> bool {
        self.raw() == other.raw()
    }
}

impl Eq for PublicKey {}

impl PartialOrd for PublicKey {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PublicKey {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.raw().cmp(other.raw())
    }
}

impl std::hash::Hash for PublicKey {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.raw().hash(state);
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.to_openssh())
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}

impl Serialize for PublicKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_openssh())
    }
}

impl<'de> Deserialize<'de> for PublicKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let key = Self::from_openssh(&text).map_err(serde::de::Error::custom)?;
        if key.to_openssh() != text {
            return Err(serde::de::Error::custom("expected `ssh-ed25519 AAAA…` without a comment"));
        }
        Ok(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // RFC 8032, section 7.1, test 1.
    const RAW: &str = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
    const SIGNATURE: &str = "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b";

    fn bytes<const N: usize>(hex: &str) -> [u8; N] {
        std::array::from_fn(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap())
    }

    fn key() -> PublicKey {
        PublicKey::from_raw(&bytes(RAW)).unwrap()
    }

    #[test]
    fn the_rfc_8032_signature_verifies_and_one_bit_less_does_not() {
        let signature = Signature(bytes(SIGNATURE));
        key().verify(b"", &signature).unwrap();
        assert!(matches!(key().verify(b" ", &signature), Err(TrustError::BadSignature { .. })));
        assert_eq!(Signature::from_base64(&signature.to_base64()).unwrap(), signature);
    }

    #[test]
    fn openssh_text_reads_back_with_and_without_a_comment() {
        let text = key().to_openssh();
        assert!(text.starts_with("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI"), "{text}");
        for line in [text.clone(), format!("{text} ann@example.org of CI\n"), format!(" {text}\r\n")] {
            assert_eq!(PublicKey::from_openssh(&line).unwrap(), key());
        }
    }

    #[test]
    fn serde_takes_one_text_per_key() {
        let text = serde_json::to_string(&key()).unwrap();
        assert_eq!(serde_json::from_str::<PublicKey>(&text).unwrap(), key());
        for other in [
            text.replace("ssh-ed25519 ", "ssh-ed25519  "),
            text.replacen('"', "\" ", 1),
            format!("{} ann\"", &text[..text.len() - 1]),
        ] {
            assert!(serde_json::from_str::<PublicKey>(&other).is_err(), "{other}");
        }
    }

    #[test]
    fn pem_is_that_of_rfc_8410() {
        // RFC 8410, section 10.1.
        let body = "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=";
        let raw = STANDARD.decode(body).unwrap()[12..].try_into().unwrap();
        let pem = PublicKey::from_raw(&raw).unwrap().to_pem();
        assert_eq!(pem, format!("-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n"));
    }

    #[test]
    fn weak_and_non_canonical_keys_are_refused() {
        let mut identity = [0u8; 32];
        identity[0] = 1;
        assert!(matches!(PublicKey::from_raw(&identity), Err(TrustError::SmallOrderKey)));
        identity[31] = 0x80;
        assert!(matches!(PublicKey::from_raw(&identity), Err(TrustError::NonCanonicalKey)));
        // y = p + 3, a point of large order by an encoding that is not the canonical one of y = 3.
        let mut above = [0xff; 32];
        (above[0], above[31]) = (0xf0, 0x7f);
        let mut three = [0u8; 32];
        three[0] = 3;
        assert!(PublicKey::from_raw(&three).is_ok(), "y = 3 is a point");
        assert!(matches!(PublicKey::from_raw(&above), Err(TrustError::NonCanonicalKey)));
        // y = 2 is on no point of the curve.
        three[0] = 2;
        assert!(matches!(PublicKey::from_raw(&three), Err(TrustError::NonCanonicalKey)));
    }

    #[test]
    fn other_kinds_are_refused_by_name() {
        let blob =
            |kind: &str| STANDARD.encode([&(kind.len() as u32).to_be_bytes(), kind.as_bytes(), &[0; 40]].concat());
        for kind in [
            "ssh-rsa",
            "ecdsa-sha2-nistp256",
            "sk-ssh-ed25519@openssh.com",
            "ssh-ed25519-cert-v01@openssh.com",
            "ssh-dss",
        ] {
            for line in [format!("{kind} {}", blob(kind)), format!("ssh-ed25519 {}", blob(kind))] {
                match PublicKey::from_openssh(&line) {
                    Err(TrustError::KeyKind { kind: found }) => assert_eq!(found, kind),
                    other => panic!("{line}: {other:?}"),
                }
            }
        }
    }

    #[test]
    fn other_text_is_refused_with_its_reason() {
        let good = key().to_openssh();
        for line in [
            "",
            "hello",
            "hello world",
            "ssh-ed25519",
            "ssh-ed25519 AAAA",
            "ssh-ed25519 !",
            "-----BEGIN OPENSSH PRIVATE KEY-----",
            &good[..good.len() - 4],
            &format!("{good}AAAA"),
            &format!("{good}\n{good}"),
            "no-pty ssh-ed25519",
        ] {
            assert!(matches!(PublicKey::from_openssh(line), Err(TrustError::PublicKeyText { .. })), "{line:?}");
        }
    }

    #[test]
    fn fingerprints_have_one_form() {
        let id = key().fingerprint();
        assert_eq!(id.as_str().len(), 50);
        assert_eq!(id.to_string().parse::<KeyId>().unwrap(), id);
        let digits = id.as_str().strip_prefix("SHA256:").unwrap();
        let mut loose = digits.to_owned();
        loose.replace_range(42.., if digits.ends_with('B') { "C" } else { "B" });
        for text in
            [digits.to_owned(), format!("{id}="), format!("SHA256:{loose}"), format!("MD5:{digits}"), format!("{id} ")]
        {
            assert!(text.parse::<KeyId>().is_err(), "{text}");
        }
        assert!(serde_json::from_str::<KeyId>("\"SHA256:\"").is_err());
    }
}
