//! Signed notes (C2SP signed-note): a text, a blank line, and one line for each signature.
//!
//! How Ed25519 is signed and checked is an argument: 32 bytes are a public key, 64 a signature.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::MerkleError;
use crate::object::Sha256;

/// The longest note that is read, in bytes (1 MB).
pub const MAX_NOTE_BYTES: usize = 1_000_000;

/// The most signatures that a note may carry.
pub const MAX_NOTE_SIGNATURES: usize = 100;

/// What a line of a signature begins with: an em dash (U+2014) and a space.
const SIGNATURE_MARK: &str = "\u{2014} ";

/// The signature type of plain Ed25519 in a key's encoding.
const ED25519: u8 = 1;

/// The public key of a note's signer: a name and 32 bytes, written `name+hash+base64`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifierKey {
    name: String,
    key_hash: u32,
    raw: [u8; 32],
}

impl VerifierKey {
    /// The key with this name and these 32 bytes.
    ///
    /// # Errors
    /// [`MerkleError::VerifierKey`] where the name is empty or has a space, a plus or a control character in it.
    pub fn new(name: impl Into<String>, raw: [u8; 32]) -> Result<Self, MerkleError> {
        let name = name.into();
        if !is_key_name(&name) {
            return Err(MerkleError::VerifierKey { reason: "the name is empty or has a space or a plus in it" });
        }
        let key_hash = key_hash(&name, &raw);
        Ok(Self { name, key_hash, raw })
    }

    /// The name, by convention a URL without its scheme.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The first four bytes of SHA-256(name ‖ 0x0A ‖ 0x01 ‖ key), big-endian.
    pub fn key_hash(&self) -> u32 {
        self.key_hash
    }

    /// The public key as RFC 8032 encodes it.
    pub fn raw(&self) -> &[u8; 32] {
        &self.raw
    }

    fn made(&self, signature: &NoteSignature) -> bool {
        self.key_hash == signature.key_hash && self.name == signature.name
    }
}

fn is_key_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c < ' ' || c == '+')
}

fn encoded_key(raw: &[u8; 32]) -> [u8; 33] {
    let mut bytes = [ED25519; 33];
    bytes[1..].copy_from_slice(raw);
    bytes
}

fn key_hash(name: &str, raw: &[u8; 32]) -> u32 {
    let digest = Sha256::of(&[name.as_bytes(), b"\n", &encoded_key(raw)].concat());
    let [a, b, c, d, ..] = *digest.as_bytes();
    u32::from_be_bytes([a, b, c, d])
}

impl fmt::Display for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{:08x}+{}", self.name, self.key_hash, STANDARD.encode(encoded_key(&self.raw)))
    }
}

impl FromStr for VerifierKey {
    type Err = MerkleError;

    fn from_str(text: &str) -> Result<Self, MerkleError> {
        let refused = |reason| MerkleError::VerifierKey { reason };
        let (name, rest) = text.split_once('+').ok_or(refused("it is not name+hash+key"))?;
        let (_, key) = rest.split_once('+').ok_or(refused("it is not name+hash+key"))?;
        let key = STANDARD.decode(key).map_err(|_| refused("the key is not standard base64"))?;
        let Some((&ED25519, raw)) = key.split_first() else { return Err(refused("the key is not of type Ed25519")) };
        let raw = raw.try_into().map_err(|_| refused("an Ed25519 key has 32 bytes"))?;
        let key = Self::new(name, raw)?;
        if key.to_string() != text {
            return Err(refused("the hash is not the one of name and key"));
        }
        Ok(key)
    }
}

/// One line of a note's signatures, as it stands: whether it is good is for [`Note::verify`] to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteSignature {
    name: String,
    key_hash: u32,
    bytes: Vec<u8>,
}

impl NoteSignature {
    /// The name of the key said to have made it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The hash of that key.
    pub fn key_hash(&self) -> u32 {
        self.key_hash
    }

    /// The signature proper: 64 bytes for Ed25519, anything from one byte for key types unknown here.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn parse(line: &str) -> Result<Self, MerkleError> {
        let refused = |reason| MerkleError::Note { reason };
        let line = line.strip_prefix(SIGNATURE_MARK).ok_or(refused("a signature line begins with an em dash"))?;
        let (name, encoded) = line.split_once(' ').ok_or(refused("a signature line has a name and a signature"))?;
        if !is_key_name(name) {
            return Err(refused("a signer's name is empty or has a space or a plus in it"));
        }
        let bytes = STANDARD.decode(encoded).map_err(|_| refused("a signature is not standard base64"))?;
        match bytes.split_first_chunk() {
            Some((hash, bytes)) if !bytes.is_empty() => {
                Ok(Self { name: name.to_owned(), key_hash: u32::from_be_bytes(*hash), bytes: bytes.to_vec() })
            }
            _ => Err(refused("a signature is shorter than five bytes")),
        }
    }
}

impl fmt::Display for NoteSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = [&self.key_hash.to_be_bytes(), self.bytes.as_slice()].concat();
        write!(f, "{SIGNATURE_MARK}{} {}", self.name, STANDARD.encode(bytes))
    }
}

/// A text with one to a hundred signatures. What the text says counts only once [`verify`](Note::verify) has agreed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    text: String,
    signatures: Vec<NoteSignature>,
}

impl Note {
    /// Reads a note. Its encoding is unique: [`encode`](Note::encode) gives back the same bytes.
    ///
    /// # Errors
    /// [`MerkleError::Note`].
    pub fn parse(bytes: &[u8]) -> Result<Self, MerkleError> {
        let refused = |reason| MerkleError::Note { reason };
        if bytes.len() > MAX_NOTE_BYTES {
            return Err(refused("it is longer than a megabyte"));
        }
        let note = std::str::from_utf8(bytes).map_err(|_| refused("it is not UTF-8"))?;
        let end = note.rfind("\n\n").ok_or(refused("no blank line sets the signatures apart"))?;
        let (text, lines) = (&note[..=end], &note[end + 2..]);
        expect_text(text)?;
        let lines = lines.strip_suffix('\n').ok_or(refused("it does not end with a signature line"))?;
        if lines.split('\n').nth(MAX_NOTE_SIGNATURES).is_some() {
            return Err(refused("it has over a hundred signatures"));
        }
        let signatures = lines.split('\n').map(NoteSignature::parse).collect::<Result<_, _>>()?;
        Ok(Self { text: text.to_owned(), signatures })
    }

    /// Signs a text, which must end with a line feed, with the secret half of `key`.
    ///
    /// # Errors
    /// [`MerkleError::Note`] where a note cannot carry the text; whatever `sign` fails with.
    pub fn sign<E: From<MerkleError>>(
        text: impl Into<String>,
        key: &VerifierKey,
        sign: impl FnOnce(&[u8]) -> Result<[u8; 64], E>,
    ) -> Result<Self, E> {
        let text = text.into();
        expect_text(&text)?;
        Self { text, signatures: Vec::new() }.cosign(key, sign)
    }

    /// Adds a signature by another key, or replaces the one that `key` has made before.
    ///
    /// # Errors
    /// [`MerkleError::Note`] where there are a hundred already or the note would be too long; whatever `sign` fails with.
    pub fn cosign<E: From<MerkleError>>(
        mut self,
        key: &VerifierKey,
        sign: impl FnOnce(&[u8]) -> Result<[u8; 64], E>,
    ) -> Result<Self, E> {
        self.signatures.retain(|signature| !key.made(signature));
        if self.signatures.len() >= MAX_NOTE_SIGNATURES {
            return Err(MerkleError::Note { reason: "it has over a hundred signatures" }.into());
        }
        let bytes = sign(self.text.as_bytes())?.to_vec();
        self.signatures.push(NoteSignature { name: key.name.clone(), key_hash: key.key_hash, bytes });
        if self.encode().len() > MAX_NOTE_BYTES {
            return Err(MerkleError::Note { reason: "it is longer than a megabyte" }.into());
        }
        Ok(self)
    }

    /// The bytes of the note.
    pub fn encode(&self) -> Vec<u8> {
        let lines = self.signatures.iter().map(|signature| format!("{signature}\n"));
        [self.text.clone(), "\n".to_owned()].into_iter().chain(lines).collect::<String>().into_bytes()
    }

    /// What is signed, with its last line feed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The signatures in their order, good or not.
    pub fn signatures(&self) -> &[NoteSignature] {
        &self.signatures
    }

    /// Which of `keys` have signed, in the order of `keys`: at least one.
    ///
    /// Signatures of other keys say nothing and are passed over. `check` is given the raw key, the text and the
    /// signature, and must follow the strict rule of RFC 8032.
    ///
    /// # Errors
    /// [`MerkleError::BadSignature`] for the first bad signature in the name of one of `keys`;
    /// [`MerkleError::NoKnownSignature`] where none of them has signed.
    pub fn verify<'k>(
        &self,
        keys: &'k [VerifierKey],
        check: impl Fn(&[u8; 32], &[u8], &[u8; 64]) -> bool,
    ) -> Result<Vec<&'k VerifierKey>, MerkleError> {
        let mut signers = Vec::new();
        for key in keys {
            let mut signed = false;
            for signature in self.signatures.iter().filter(|signature| key.made(signature)) {
                let good = <&[u8; 64]>::try_from(signature.bytes.as_slice())
                    .is_ok_and(|bytes| check(&key.raw, self.text.as_bytes(), bytes));
                if !good {
                    return Err(MerkleError::BadSignature { name: key.name.clone(), key_hash: key.key_hash });
                }
                signed = true;
            }
            if signed {
                signers.push(key);
            }
        }
        if signers.is_empty() { Err(MerkleError::NoKnownSignature) } else { Ok(signers) }
    }
}

/// The rules for a note's text, which hold for the whole note too: its other lines cannot break them.
fn expect_text(text: &str) -> Result<(), MerkleError> {
    if text.contains(|c: char| c < ' ' && c != '\n') {
        return Err(MerkleError::Note { reason: "a control character other than a line feed" });
    }
    if !text.ends_with('\n') {
        return Err(MerkleError::Note { reason: "the text does not end with a line feed" });
    }
    Ok(())
}
