//! Whoever can sign: the `Signer` trait, and the private key held in memory.

use std::fmt;

use ed25519_dalek::{Signer as _, SigningKey};
use ssh_key::private::{Ed25519Keypair, Ed25519PrivateKey, KeypairData};
use ssh_key::public::Ed25519PublicKey;
use ssh_key::{Cipher, Kdf, LineEnding, PrivateKey};
use zeroize::{Zeroize, Zeroizing};

use super::{PublicKey, Signature, TrustError};

/// bcrypt rounds of a key encrypted here: what `ssh-keygen` does by default since OpenSSH 9.4.
const ROUNDS: u32 = 24;
/// The most bcrypt rounds done to open a key: about half a minute.
const MOST_ROUNDS: u32 = 4_096;
/// The longest private key text read, in bytes: several times the largest RSA key, so that its kind can still be named.
const MOST_TEXT: usize = 65_536;
const MOST_COMMENT: usize = 256;

/// A holder of one private key: a file in memory, or an agent that never shows it.
pub trait Signer {
    /// The public half.
    fn public(&self) -> &PublicKey;

    /// Signs the message (pure Ed25519, RFC 8032, section 5.1.6). What is returned has been verified.
    ///
    /// # Errors
    /// [`TrustError::FaultySignature`] when what was made does not verify; for an agent also its own refusals.
    fn sign(&self, message: &[u8]) -> Result<Signature, TrustError>;
}

/// How to encrypt a private key file. The salt is 16 bytes of fresh randomness, never used before.
#[derive(Clone, Copy)]
pub struct Encryption<'a> {
    /// The passphrase, not empty.
    pub passphrase: &'a str,
    /// Salt of the key derivation.
    pub salt: [u8; 16],
}

/// An Ed25519 private key in memory, wiped when dropped and never shown by `Debug`.
pub struct SecretKey {
    signing: SigningKey,
    public: PublicKey,
}

impl SecretKey {
    /// The key with this seed (RFC 8032, section 5.1.5): 32 bytes of fresh randomness, or of a test.
    pub fn generate(mut seed: [u8; 32]) -> Self {
        let signing = SigningKey::from_bytes(&seed);
        seed.zeroize();
        Self { public: PublicKey::of(&signing), signing }
    }

    /// Whether [`SecretKey::from_openssh`] needs a passphrase for this text.
    ///
    /// # Errors
    /// As [`SecretKey::from_openssh`] for text that no passphrase would make readable.
    pub fn needs_passphrase(text: &str) -> Result<bool, TrustError> {
        Ok(read(text)?.is_encrypted())
    }

    /// The public half that an OpenSSH private key file's text states, encrypted or not. An encrypted half that does not
    /// fit is found only when the file is opened.
    ///
    /// # Errors
    /// As [`SecretKey::needs_passphrase`], and those of [`PublicKey::from_raw`].
    pub fn public_half(text: &str) -> Result<PublicKey, TrustError> {
        match read(text)?.public_key().key_data().ed25519() {
            Some(key) => PublicKey::from_raw(&key.0),
            None => Err(TrustError::DamagedPrivateKey { source: None }),
        }
    }

    /// Reads an OpenSSH private key file's text. The passphrase is ignored for a key that is not encrypted.
    ///
    /// # Errors
    /// [`TrustError::PrivateKeyText`] for other text, [`TrustError::KeyKind`] for another kind of key,
    /// [`TrustError::PassphraseMissing`], [`TrustError::PassphraseWrong`], [`TrustError::TooManyRounds`], and
    /// [`TrustError::DamagedPrivateKey`] where the content is cut short or contradicts itself.
    pub fn from_openssh(text: &str, passphrase: Option<&str>) -> Result<Self, TrustError> {
        let mut key = read(text)?;
        if key.is_encrypted() {
            key = open(&key, passphrase.ok_or(TrustError::PassphraseMissing)?)?;
        }
        let pair = key.key_data().ed25519().ok_or(TrustError::DamagedPrivateKey { source: None })?;
        let secret = Self::generate(pair.private.to_bytes());
        if secret.public.raw() != &pair.public.0 {
            return Err(TrustError::DamagedPrivateKey { source: None });
        }
        Ok(secret)
    }

    /// The OpenSSH private key file's text with line feeds, encrypted (bcrypt, AES-256-CTR) where asked.
    ///
    /// # Errors
    /// [`TrustError::KeyComment`], [`TrustError::PassphraseEmpty`].
    pub fn to_openssh(
        &self,
        comment: &str,
        encryption: Option<Encryption<'_>>,
    ) -> Result<Zeroizing<String>, TrustError> {
        if comment.len() > MOST_COMMENT || comment.chars().any(char::is_control) {
            return Err(TrustError::KeyComment);
        }
        let private = Ed25519PrivateKey::from_bytes(self.signing.as_bytes());
        let pair = Ed25519Keypair { public: Ed25519PublicKey(*self.public.raw()), private };
        let mut key = PrivateKey::new(KeypairData::Ed25519(pair), comment).map_err(damaged)?;
        if let Some(Encryption { passphrase, salt }) = encryption {
            if passphrase.is_empty() {
                return Err(TrustError::PassphraseEmpty);
            }
            // Compared with itself after decryption; like the salt it needs no secrecy.
            let check = u32::from_be_bytes([salt[0], salt[1], salt[2], salt[3]]);
            let kdf = Kdf::Bcrypt { salt: salt.to_vec(), rounds: ROUNDS };
            key = key.encrypt_with(Cipher::Aes256Ctr, kdf, check, passphrase).map_err(damaged)?;
        }
        key.to_openssh(LineEnding::LF).map_err(damaged)
    }
}

impl Signer for SecretKey {
    fn public(&self) -> &PublicKey {
        &self.public
    }

    fn sign(&self, message: &[u8]) -> Result<Signature, TrustError> {
        checked(&self.public, message, Signature(self.signing.sign(message).to_bytes()))
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey(of {})", self.public)
    }
}

/// Hands out a signature only if it verifies: a bit flipped while signing can give the private key away.
pub(super) fn checked(key: &PublicKey, message: &[u8], signature: Signature) -> Result<Signature, TrustError> {
    match key.verify(message, &signature) {
        Ok(()) => Ok(signature),
        Err(_) => Err(TrustError::FaultySignature { key: key.fingerprint() }),
    }
}

fn damaged(error: ssh_key::Error) -> TrustError {
    TrustError::DamagedPrivateKey { source: Some(error) }
}

fn read(text: &str) -> Result<PrivateKey, TrustError> {
    let refused = |reason| Err(TrustError::PrivateKeyText { reason });
    let text = text.trim();
    if text.len() > MOST_TEXT {
        return refused("longer than any key");
    }
    if text.starts_with("ssh-") || text.starts_with("ecdsa-") || text.starts_with("sk-") {
        return refused("this is a public key; the private one is in the file without `.pub`");
    }
    if !text.starts_with("-----BEGIN OPENSSH PRIVATE KEY-----") {
        return match text.starts_with("-----BEGIN ") && text.contains("PRIVATE KEY-----") {
            true => refused("a private key in another format; make an OpenSSH one with `ssh-keygen -t ed25519`"),
            false => refused("it begins with `-----BEGIN OPENSSH PRIVATE KEY-----`"),
        };
    }
    let key = PrivateKey::from_openssh(text.replace("\r\n", "\n")).map_err(damaged)?;
    match key.algorithm() {
        ssh_key::Algorithm::Ed25519 => Ok(key),
        other => Err(TrustError::KeyKind { kind: other.as_str().to_owned() }),
    }
}

fn open(key: &PrivateKey, passphrase: &str) -> Result<PrivateKey, TrustError> {
    match key.kdf() {
        Kdf::Bcrypt { rounds, .. } if *rounds > MOST_ROUNDS => {
            return Err(TrustError::TooManyRounds { rounds: *rounds, most: MOST_ROUNDS });
        }
        Kdf::Bcrypt { .. } => {}
        _ => return Err(TrustError::DamagedPrivateKey { source: None }),
    }
    if passphrase.is_empty() {
        return Err(TrustError::PassphraseWrong);
    }
    key.decrypt(passphrase).map_err(|error| match error {
        ssh_key::Error::Crypto => TrustError::PassphraseWrong,
        other => damaged(other),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> SecretKey {
        SecretKey::generate([7; 32])
    }

    fn locked() -> Zeroizing<String> {
        key().to_openssh("ann", Some(Encryption { passphrase: "open sesame", salt: [9; 16] })).unwrap()
    }

    #[test]
    fn plain_text_reads_back_and_is_the_same_each_time() {
        let text = key().to_openssh("ann@example.org", None).unwrap();
        assert_eq!(text, key().to_openssh("ann@example.org", None).unwrap());
        assert!(!SecretKey::needs_passphrase(&text).unwrap());
        for form in [text.to_string(), text.replace('\n', "\r\n"), format!("\n{}\n\n", *text)] {
            let read = SecretKey::from_openssh(&form, None).unwrap();
            assert_eq!(read.public(), key().public());
            assert_eq!(read.sign(b"message").unwrap(), key().sign(b"message").unwrap());
        }
    }

    #[test]
    fn a_passphrase_is_needed_and_has_to_be_the_right_one() {
        let text = locked();
        assert!(SecretKey::needs_passphrase(&text).unwrap());
        assert_eq!(SecretKey::from_openssh(&text, Some("open sesame")).unwrap().public(), key().public());
        assert!(matches!(SecretKey::from_openssh(&text, None), Err(TrustError::PassphraseMissing)));
        assert!(matches!(SecretKey::from_openssh(&text, Some("open")), Err(TrustError::PassphraseWrong)));
        assert!(matches!(SecretKey::from_openssh(&text, Some("")), Err(TrustError::PassphraseWrong)));
        let empty = Encryption { passphrase: "", salt: [0; 16] };
        assert!(matches!(key().to_openssh("", Some(empty)), Err(TrustError::PassphraseEmpty)));
    }

    #[test]
    fn every_flipped_byte_of_a_plain_file_is_refused_or_changes_no_key() {
        let text = key().to_openssh("", None).unwrap();
        for place in 0..text.len() {
            let mut bytes = text.as_bytes().to_vec();
            bytes[place] = if bytes[place] == b'A' { b'B' } else { b'A' };
            let text = String::from_utf8(bytes).unwrap();
            match SecretKey::from_openssh(&text, None) {
                Ok(read) => assert_eq!(read.public(), key().public(), "byte {place}"),
                Err(
                    TrustError::DamagedPrivateKey { .. }
                    | TrustError::PrivateKeyText { .. }
                    | TrustError::KeyKind { .. },
                ) => {}
                Err(other) => panic!("byte {place}: {other}"),
            }
        }
    }

    #[test]
    fn rounds_that_would_take_hours_are_refused() {
        let text = locked();
        let mut blob = PrivateKey::from_openssh(text.as_bytes()).unwrap().to_bytes().unwrap().to_vec();
        let at = blob.windows(16).position(|bytes| bytes == [9; 16]).unwrap() + 16;
        assert_eq!(blob[at..at + 4], ROUNDS.to_be_bytes());
        blob[at..at + 4].copy_from_slice(&u32::MAX.to_be_bytes());
        let text = PrivateKey::from_bytes(&blob).unwrap().to_openssh(LineEnding::LF).unwrap();
        let refused = SecretKey::from_openssh(&text, Some("open sesame"));
        assert!(matches!(refused, Err(TrustError::TooManyRounds { rounds: u32::MAX, .. })), "{refused:?}");
    }

    #[test]
    fn the_public_half_is_read_without_the_passphrase() {
        for text in [locked(), key().to_openssh("", None).unwrap()] {
            assert_eq!(SecretKey::public_half(&text).unwrap(), *key().public());
        }
        assert!(matches!(SecretKey::public_half("hello"), Err(TrustError::PrivateKeyText { .. })));
    }

    #[test]
    fn text_of_something_else_is_refused_with_what_it_is() {
        for (text, word) in [
            (key().public().to_openssh(), "public key"),
            ("-----BEGIN RSA PRIVATE KEY-----\n".to_owned(), "another format"),
            ("hello".to_owned(), "begins with"),
            ("x".repeat(MOST_TEXT + 1), "longer"),
        ] {
            let message = SecretKey::from_openssh(&text, None).unwrap_err().to_string();
            assert!(message.contains(word), "{message}");
        }
    }

    #[test]
    fn comments_are_one_line() {
        assert!(matches!(key().to_openssh("a\nb", None), Err(TrustError::KeyComment)));
        assert!(matches!(key().to_openssh(&"x".repeat(257), None), Err(TrustError::KeyComment)));
    }

    #[test]
    fn a_faulty_signature_is_not_handed_out_and_debug_shows_no_secret() {
        let mut signature = key().sign(b"message").unwrap();
        signature.0[40] ^= 1;
        assert!(matches!(checked(key().public(), b"message", signature), Err(TrustError::FaultySignature { .. })));
        assert_eq!(format!("{:?}", key()), format!("SecretKey(of {})", key().public()));
    }
}
