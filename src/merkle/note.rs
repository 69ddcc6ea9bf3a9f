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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A toy signature that depends on key and text, so that these tests need no key crate.
    fn toy(raw: &[u8; 32], text: &[u8]) -> [u8; 64] {
        let half = Sha256::of(&[raw.as_slice(), text].concat());
        [*half.as_bytes(), *raw].concat().try_into().unwrap()
    }

    fn check(raw: &[u8; 32], text: &[u8], signature: &[u8; 64]) -> bool {
        toy(raw, text) == *signature
    }

    fn key(name: &str, byte: u8) -> VerifierKey {
        VerifierKey::new(name, [byte; 32]).unwrap()
    }

    fn signed(text: &str, keys: &[&VerifierKey]) -> Note {
        let sign = |key: &VerifierKey| {
            let raw = *key.raw();
            move |text: &[u8]| Ok::<_, MerkleError>(toy(&raw, text))
        };
        let first = Note::sign(text, keys[0], sign(keys[0])).unwrap();
        keys[1..].iter().fold(first, |note, key| note.cosign(key, sign(key)).unwrap())
    }

    #[test]
    fn a_note_is_text_blank_line_and_signature_lines() {
        let (log, witness) = (key("example.com/log", 1), key("witness", 2));
        let text = "a text\n\nwith a blank line\n\n";
        let note = signed(text, &[&log, &witness]);
        let bytes = note.encode();
        let encoded = String::from_utf8(bytes.clone()).unwrap();
        assert!(encoded.starts_with(&format!("{text}\n\u{2014} example.com/log ")), "{encoded}");
        assert_eq!(Note::parse(&bytes), Ok(note.clone()));
        assert_eq!(note.text(), text);
        let names: Vec<_> =
            note.signatures().iter().map(|line| (line.name(), line.key_hash(), line.bytes().len())).collect();
        assert_eq!(names, [("example.com/log", log.key_hash(), 64), ("witness", witness.key_hash(), 64)]);
    }

    #[test]
    fn known_keys_are_checked_and_unknown_ones_passed_over() {
        let (log, witness, stranger) = (key("log", 1), key("witness", 2), key("stranger", 3));
        let note = signed("text\n", &[&stranger, &witness, &log]);
        let keys = [log.clone(), witness.clone(), key("absent", 4)];
        assert_eq!(note.verify(&keys, check), Ok(vec![&log, &witness]));
        assert_eq!(note.verify(&keys[2..], check), Err(MerkleError::NoKnownSignature));
        assert_eq!(note.verify(&[], check), Err(MerkleError::NoKnownSignature));
        // Name or hash alone do not make a key known.
        assert_eq!(note.verify(&[key("log", 9)], check), Err(MerkleError::NoKnownSignature));
    }

    #[test]
    fn one_bad_signature_of_a_known_key_refuses_the_note() {
        let (log, witness) = (key("log", 1), key("witness", 2));
        let mut note = signed("text\n", &[&log, &witness]);
        note.signatures[1].bytes[0] ^= 1;
        let keys = [log.clone(), witness.clone()];
        let refused = MerkleError::BadSignature { name: "witness".into(), key_hash: witness.key_hash() };
        assert_eq!(note.verify(&keys, check), Err(refused.clone()));
        assert_eq!(note.verify(&keys[..1], check), Ok(vec![&log]));
        // A good signature before it by the same key does not make up for it, nor does another length.
        let good = signed("text\n", &[&witness]).signatures[0].clone();
        note.signatures.insert(0, good);
        assert_eq!(note.verify(&keys, check), Err(refused.clone()));
        note.signatures[2].bytes.truncate(63);
        assert_eq!(note.verify(&keys, check), Err(refused));
    }

    #[test]
    fn signing_again_replaces_the_signature() {
        let (log, witness) = (key("log", 1), key("witness", 2));
        let note = signed("text\n", &[&log, &witness, &log]);
        let names: Vec<_> = note.signatures().iter().map(NoteSignature::name).collect();
        assert_eq!(names, ["witness", "log"]);
        let failed = note.cosign(&log, |_| Err(MerkleError::EmptyTree));
        assert_eq!(failed, Err(MerkleError::EmptyTree), "the signer's own error");
    }

    #[test]
    fn a_note_takes_a_hundred_signatures_and_no_more() {
        let keys: Vec<_> = (0..=100u8).map(|byte| key("witness", byte)).collect();
        let full = signed("text\n", &keys[..100].iter().collect::<Vec<_>>());
        assert_eq!(Note::parse(&full.encode()), Ok(full.clone()));
        assert_eq!(full.verify(&keys, check).map(|signers| signers.len()), Ok(100));
        let refused = full.cosign(&keys[100], |_| Ok::<_, MerkleError>([0; 64]));
        assert_eq!(refused, Err(MerkleError::Note { reason: "it has over a hundred signatures" }));
    }

    #[test]
    fn texts_that_a_note_cannot_carry_are_not_signed() {
        for text in
            ["", "no line feed", "a\ttab\n", "a\rreturn\n", "\0\n", &format!("{}\n", "x".repeat(MAX_NOTE_BYTES))]
        {
            let refused = Note::sign(text, &key("log", 1), |_| Ok::<_, MerkleError>([0; 64]));
            assert!(matches!(refused, Err(MerkleError::Note { .. })), "{:?}", &text[..text.len().min(20)]);
        }
    }

    #[test]
    fn hostile_notes_are_refused() {
        let line = "\u{2014} log AAAAAQI=\n";
        let good = format!("text\n\n{line}");
        assert!(Note::parse(good.as_bytes()).is_ok());
        let apart = "no blank line sets the signatures apart";
        let end = "it does not end with a signature line";
        let dash = "a signature line begins with an em dash";
        let parts = "a signature line has a name and a signature";
        let name = "a signer's name is empty or has a space or a plus in it";
        let base64 = "a signature is not standard base64";
        let control = "a control character other than a line feed";
        for (note, rule) in [
            (String::new(), apart),
            ("text\n".to_owned(), apart),
            (format!("text\n{line}"), apart),
            (format!("text\r\n\r\n{line}"), apart),
            ("text\n\n".to_owned(), end),
            (format!("text\n\n{}", line.trim_end()), end),
            (format!("{good}\n"), end),
            (format!("{good}trailing\n"), dash),
            ("text\n\n- log AAAAAQI=\n".to_owned(), dash),
            ("text\n\n\u{2014}log AAAAAQI=\n".to_owned(), dash),
            ("text\n\n\u{2013} log AAAAAQI=\n".to_owned(), dash),
            (format!("text\n\n {line}"), dash),
            ("text\n\n\u{2014} AAAAAQI=\n".to_owned(), parts),
            ("text\n\n\u{2014}  AAAAAQI=\n".to_owned(), name),
            ("text\n\n\u{2014} a+b AAAAAQI=\n".to_owned(), name),
            ("text\n\n\u{2014} a\u{a0}b AAAAAQI=\n".to_owned(), name),
            ("text\n\n\u{2014} a\tb AAAAAQI=\n".to_owned(), name),
            ("text\n\n\u{2014} log \n".to_owned(), "a signature is shorter than five bytes"),
            ("text\n\n\u{2014} log AAAAAQ==\n".to_owned(), "a signature is shorter than five bytes"),
            ("text\n\n\u{2014} log  AAAAAQI=\n".to_owned(), base64),
            ("text\n\n\u{2014} log AAAAAQI\n".to_owned(), base64),
            ("text\n\n\u{2014} log AAAAAQJ=\n".to_owned(), base64),
            ("text\n\n\u{2014} log AAAA-_I=\n".to_owned(), base64),
            ("text\n\n\u{2014} log AAAAAQI= \n".to_owned(), base64),
            ("text\n\n\u{2014} log AAAAAQI=\r\n".to_owned(), base64),
            (format!("te\txt\n\n{line}"), control),
            (format!("te\0xt\n\n{line}"), control),
            (format!("text\r\n\n{line}"), control),
            (format!("text\n\n{}", line.repeat(101)), "it has over a hundred signatures"),
            (format!("{}\n\n{line}", "x".repeat(MAX_NOTE_BYTES)), "it is longer than a megabyte"),
        ] {
            assert_eq!(Note::parse(note.as_bytes()), Err(MerkleError::Note { reason: rule }), "{:.80?}", note);
        }
        let delete = Note::parse(format!("te\u{7f}xt\n\n{line}").as_bytes());
        assert!(delete.is_ok(), "the specification forbids only what is below U+0020");
        let invalid = [b"te\xffxt\n\n", line.as_bytes()].concat();
        assert_eq!(Note::parse(&invalid), Err(MerkleError::Note { reason: "it is not UTF-8" }));
        assert!(Note::parse(format!("text\n\n{}", line.repeat(100)).as_bytes()).is_ok(), "a hundred are read");
    }

    #[test]
    fn hostile_verifier_keys_are_refused() {
        let good = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k";
        assert!(good.parse::<VerifierKey>().is_ok());
        let shape = "it is not name+hash+key";
        let hash = "the hash is not the one of name and key";
        let base64 = "the key is not standard base64";
        let kind = "the key is not of type Ed25519";
        let name = "the name is empty or has a space or a plus in it";
        for (text, rule) in [
            (String::new(), shape),
            ("example.com/foo".to_owned(), shape),
            ("example.com/foo+530d903a".to_owned(), shape),
            (good.replace("530d903a", "530d903b"), hash),
            (good.replace("530d903a", "530D903A"), hash),
            (good.replace("530d903a", "0530d903a"), hash),
            (good.replace("530d903a", ""), hash),
            (good.replace("foo", "bar"), hash),
            (good.replace("example.com/foo", ""), name),
            (good.replace("foo", "f o"), name),
            (good.replace("foo", "f\u{2003}o"), name),
            (good.replace("foo", "f\u{1}o"), name),
            (format!("{good}\n"), base64),
            (format!("{good}="), base64),
            (good.replace("3U2k", ""), "an Ed25519 key has 32 bytes"),
            (good.replace("3U2k", "3U2kAA=="), "an Ed25519 key has 32 bytes"),
            (good.replace("Aeky", "Auky"), kind),
            ("example.com/foo+530d903a+".to_owned(), kind),
        ] {
            assert_eq!(text.parse::<VerifierKey>(), Err(MerkleError::VerifierKey { reason: rule }), "{text}");
        }
        for name in ["", " ", "a b", "a+b", "a\nb", "\u{85}", "\0"] {
            assert!(VerifierKey::new(name, [0; 32]).is_err(), "{name:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_read_is_written_the_same(text in "[a-\u{2014} \n]{0,12}\n\n(\u{2014} [a+ ]{1,3} [A-D/]{7}[A-D=]\n?){1,3}") {
            if let Ok(note) = Note::parse(text.as_bytes()) {
                prop_assert_eq!(note.encode(), text.as_bytes());
            }
        }

        #[test]
        fn any_key_is_read_back(name in "[^ +\\s\\x00-\\x1f]{1,20}", raw: [u8; 32]) {
            let key = VerifierKey::new(name, raw).unwrap();
            prop_assert_eq!(key.to_string().parse(), Ok(key));
        }
    }
}
