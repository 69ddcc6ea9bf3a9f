//! Signing through ssh-agent, over a stream that somebody else opened.
//!
//! The part of the agent protocol used (draft-miller-ssh-agent, sections 3, 4.4 and 4.5): every message is its length
//! as a big-endian u32, a type byte and a body; strings in it carry their length the same way. Keys of a kind that is
//! not known here are listed, not choked on.

use std::fmt;
use std::io::{self, Read, Write};
use std::sync::Mutex;

use super::key::{KIND, kind_of};
use super::secret::checked;
use super::{KeyId, PublicKey, Signature, Signer, TrustError};

const FAILURE: u8 = 5;
const REQUEST_IDENTITIES: u8 = 11;
const IDENTITIES_ANSWER: u8 = 12;
const SIGN_REQUEST: u8 = 13;
const SIGN_RESPONSE: u8 = 14;
/// What OpenSSH's agent takes and gives at most (256 KiB).
const MOST_BYTES: usize = 256 * 1024;
const MOST_MESSAGE: usize = MOST_BYTES - 1024;

/// A two-way stream to an agent, usually a Unix socket.
pub trait AgentStream: Read + Write + Send {}

impl<S: Read + Write + Send> AgentStream for S {}

/// One key that an agent holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Its fingerprint, as `ssh-add -l` prints it.
    pub id: KeyId,
    /// Its kind as OpenSSH names it, e.g. `ssh-ed25519` or `ssh-rsa`.
    pub kind: String,
    /// Its comment, often a file name; bytes that are not UTF-8 are replaced.
    pub comment: String,
    /// The key, where it is an Ed25519 key that can be used here.
    pub key: Option<PublicKey>,
}

/// Lists every key that the agent holds, in its order; those that can sign here have `key`.
///
/// # Errors
/// [`TrustError::AgentStream`], [`TrustError::AgentAnswer`], [`TrustError::AgentRefusedList`].
pub fn identities(stream: &mut dyn AgentStream) -> Result<Vec<Identity>, TrustError> {
    let answer = exchange(stream, &[REQUEST_IDENTITIES])?;
    let mut body = match answer.split_first() {
        Some((&IDENTITIES_ANSWER, body)) => Body(body),
        Some((&FAILURE, _)) => return Err(TrustError::AgentRefusedList),
        _ => return Err(TrustError::AgentAnswer { reason: "expected a list of keys" }),
    };
    let count = body.u32()?;
    let mut found = Vec::new();
    for _ in 0..count {
        let blob = body.string()?;
        let comment = String::from_utf8_lossy(body.string()?).into_owned();
        let kind = String::from_utf8_lossy(kind_of(blob).unwrap_or_default()).into_owned();
        found.push(Identity { id: KeyId::of_blob(blob), kind, comment, key: PublicKey::from_blob(blob).ok() });
    }
    body.end()?;
    Ok(found)
}

/// A key held by ssh-agent. Requests wait for one another; a stream that failed midway is given up.
pub struct AgentSigner {
    stream: Mutex<Option<Box<dyn AgentStream>>>,
    key: PublicKey,
}

impl AgentSigner {
    /// Signs with this key of the agent at the other end of the stream.
    ///
    /// # Errors
    /// [`TrustError::AgentLacksKey`], and those of [`identities`].
    pub fn new(stream: Box<dyn AgentStream>, key: PublicKey) -> Result<Self, TrustError> {
        Self::by_id(stream, &key.fingerprint())
    }

    /// Signs with the agent's key of this fingerprint.
    ///
    /// # Errors
    /// [`TrustError::AgentLacksKey`], [`TrustError::KeyKind`] where it is a key of another kind, and those of
    /// [`identities`].
    pub fn by_id(mut stream: Box<dyn AgentStream>, id: &KeyId) -> Result<Self, TrustError> {
        let held = identities(&mut stream)?.into_iter().find(|held| held.id == *id);
        match held {
            Some(Identity { key: Some(key), .. }) => Ok(Self { stream: Mutex::new(Some(stream)), key }),
            Some(Identity { kind, .. }) if kind != KIND => Err(TrustError::KeyKind { kind }),
            Some(_) => Err(TrustError::AgentAnswer { reason: "it lists a malformed Ed25519 key" }),
            None => Err(TrustError::AgentLacksKey { key: id.clone() }),
        }
    }

    fn request(&self, stream: &mut dyn AgentStream, message: &[u8]) -> Result<Signature, TrustError> {
        let mut request = vec![SIGN_REQUEST];
        push_string(&mut request, &self.key.blob());
        push_string(&mut request, message);
        request.extend_from_slice(&0u32.to_be_bytes());
        let answer = exchange(stream, &request)?;
        match answer.split_first() {
            Some((&SIGN_RESPONSE, body)) => signature_in(body),
            Some((&FAILURE, _)) => Err(self.refusal(stream)),
            _ => Err(TrustError::AgentAnswer { reason: "expected a signature" }),
        }
    }

    /// The protocol has one answer for a key that is not there and for a request that was declined: look which.
    fn refusal(&self, stream: &mut dyn AgentStream) -> TrustError {
        let key = self.key.fingerprint();
        match identities(stream) {
            Ok(held) if held.iter().any(|held| held.id == key) => TrustError::AgentRefused { key },
            Ok(_) => TrustError::AgentLacksKey { key },
            Err(error) => error,
        }
    }
}

impl Signer for AgentSigner {
    fn public(&self) -> &PublicKey {
        &self.key
    }

    /// # Errors
    /// [`TrustError::AgentRefused`], [`TrustError::AgentLacksKey`], [`TrustError::FaultySignature`],
    /// [`TrustError::AgentStream`], [`TrustError::AgentAnswer`], and [`TrustError::AgentLost`] after one of the last two.
    fn sign(&self, message: &[u8]) -> Result<Signature, TrustError> {
        if message.len() > MOST_MESSAGE {
            return Err(TrustError::AgentMessageTooLong { length: message.len(), most: MOST_MESSAGE });
        }
        let mut slot = self.stream.lock().map_err(|_| TrustError::AgentLost)?;
        let mut stream = slot.take().ok_or(TrustError::AgentLost)?;
        let answer = self.request(&mut stream, message);
        if !matches!(answer, Err(TrustError::AgentStream { .. } | TrustError::AgentAnswer { .. })) {
            *slot = Some(stream);
        }
        checked(&self.key, message, answer?)
    }
}

impl fmt::Debug for AgentSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AgentSigner({})", self.key)
    }
}

fn exchange(stream: &mut dyn AgentStream, message: &[u8]) -> Result<Vec<u8>, TrustError> {
    let mut request = Vec::with_capacity(4 + message.len());
    push_string(&mut request, message);
    stream.write_all(&request).and_then(|()| stream.flush()).map_err(lost)?;
    let mut length = [0u8; 4];
    stream.read_exact(&mut length).map_err(lost)?;
    let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
    if length == 0 || length > MOST_BYTES {
        return Err(TrustError::AgentAnswer { reason: "its length is zero or more than 256 KiB" });
    }
    let mut answer = vec![0u8; length];
    stream.read_exact(&mut answer).map_err(lost)?;
    Ok(answer)
}

fn lost(source: io::Error) -> TrustError {
    TrustError::AgentStream { source }
}

/// Appends bytes after their length. Callers keep them below 256 KiB.
fn push_string(message: &mut Vec<u8>, bytes: &[u8]) {
    message.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
    message.extend_from_slice(bytes);
}

/// RFC 8709, section 6: the name of the kind and the 64 bytes, as one string.
fn signature_in(body: &[u8]) -> Result<Signature, TrustError> {
    let mut outer = Body(body);
    let mut inner = Body(outer.string()?);
    outer.end()?;
    if inner.string()? != KIND.as_bytes() {
        return Err(TrustError::AgentAnswer { reason: "a signature of another kind than Ed25519" });
    }
    let bytes = inner.string()?.try_into();
    inner.end()?;
    bytes.map(Signature).map_err(|_| TrustError::AgentAnswer { reason: "a signature that has not 64 bytes" })
}

/// What is left to read of an answer.
struct Body<'a>(&'a [u8]);

impl<'a> Body<'a> {
    const SHORT: TrustError = TrustError::AgentAnswer { reason: "it is cut short" };

    fn u32(&mut self) -> Result<u32, TrustError> {
        let (head, rest) = self.0.split_first_chunk::<4>().ok_or(Self::SHORT)?;
        self.0 = rest;
        Ok(u32::from_be_bytes(*head))
    }

    fn string(&mut self) -> Result<&'a [u8], TrustError> {
        let length = usize::try_from(self.u32()?).map_err(|_| Self::SHORT)?;
        let (head, rest) = self.0.split_at_checked(length).ok_or(Self::SHORT)?;
        self.0 = rest;
        Ok(head)
    }

    fn end(&self) -> Result<(), TrustError> {
        if self.0.is_empty() { Ok(()) } else { Err(TrustError::AgentAnswer { reason: "it has bytes left over" }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::SecretKey;
    use std::io::Cursor;

    /// Gives the answers it was made with, whatever it is asked.
    struct Script(Cursor<Vec<u8>>);

    impl Script {
        fn of(answers: &[Vec<u8>]) -> Box<Self> {
            let mut bytes = Vec::new();
            answers.iter().for_each(|answer| push_string(&mut bytes, answer));
            Box::new(Self(Cursor::new(bytes)))
        }
    }

    impl Read for Script {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0.read(buffer)
        }
    }

    impl Write for Script {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn secret() -> SecretKey {
        SecretKey::generate([5; 32])
    }

    fn rsa_blob() -> Vec<u8> {
        let mut blob = Vec::new();
        push_string(&mut blob, b"ssh-rsa");
        push_string(&mut blob, &[1, 0, 1]);
        blob
    }

    fn list(blobs: &[&[u8]]) -> Vec<u8> {
        let mut answer = vec![IDENTITIES_ANSWER];
        answer.extend_from_slice(&(blobs.len() as u32).to_be_bytes());
        for blob in blobs {
            push_string(&mut answer, blob);
            push_string(&mut answer, b"a comment \xff");
        }
        answer
    }

    fn signed(kind: &[u8], signature: &[u8]) -> Vec<u8> {
        let (mut inner, mut answer) = (Vec::new(), vec![SIGN_RESPONSE]);
        push_string(&mut inner, kind);
        push_string(&mut inner, signature);
        push_string(&mut answer, &inner);
        answer
    }

    fn held() -> Vec<u8> {
        list(&[&rsa_blob(), &secret().public().blob()])
    }

    fn signer(answer: Vec<u8>) -> AgentSigner {
        AgentSigner::new(Script::of(&[held(), answer]), *secret().public()).unwrap()
    }

    #[test]
    fn every_key_is_listed_and_only_ed25519_can_sign() {
        let found = identities(&mut *Script::of(&[held()])).unwrap();
        assert_eq!((found[0].kind.as_str(), found[0].key), ("ssh-rsa", None));
        assert_eq!((found[1].kind.as_str(), found[1].key), (KIND, Some(*secret().public())));
        assert_eq!(found[1].comment, "a comment \u{fffd}");
        let rsa = AgentSigner::by_id(Script::of(&[held()]), &KeyId::of_blob(&rsa_blob()));
        assert!(matches!(rsa, Err(TrustError::KeyKind { kind }) if kind == "ssh-rsa"));
        let absent = AgentSigner::new(Script::of(&[list(&[])]), *secret().public());
        assert!(matches!(absent, Err(TrustError::AgentLacksKey { .. })));
        assert!(matches!(identities(&mut *Script::of(&[vec![FAILURE]])), Err(TrustError::AgentRefusedList)));
    }

    #[test]
    fn a_good_signature_is_handed_out_and_a_bad_one_is_not() {
        let good = secret().sign(b"message").unwrap();
        assert_eq!(signer(signed(b"ssh-ed25519", &good.0)).sign(b"message").unwrap(), good);
        let faulty = signer(signed(b"ssh-ed25519", &good.0)).sign(b"another");
        assert!(matches!(faulty, Err(TrustError::FaultySignature { .. })), "{faulty:?}");
    }

    #[test]
    fn refusing_and_having_lost_the_key_are_told_apart() {
        let stream = |after| Script::of(&[held(), vec![FAILURE], after]);
        let refused = AgentSigner::new(stream(held()), *secret().public()).unwrap().sign(b"message");
        assert!(matches!(refused, Err(TrustError::AgentRefused { .. })), "{refused:?}");
        let gone = AgentSigner::new(stream(list(&[&rsa_blob()])), *secret().public()).unwrap().sign(b"message");
        assert!(matches!(gone, Err(TrustError::AgentLacksKey { .. })), "{gone:?}");
    }

    #[test]
    fn nonsense_gives_the_stream_up() {
        let good = secret().sign(b"message").unwrap();
        let cut = signed(b"ssh-ed25519", &good.0);
        let mut longer = cut.clone();
        longer.push(0);
        for answer in [
            vec![99],
            held(),
            signed(b"rsa-sha2-512", &good.0),
            signed(b"ssh-ed25519", &good.0[1..]),
            cut[..40].to_vec(),
            longer,
        ] {
            let signer = signer(answer);
            let error = signer.sign(b"message").unwrap_err();
            assert!(matches!(error, TrustError::AgentAnswer { .. }), "{error:?}");
            assert!(matches!(signer.sign(b"message"), Err(TrustError::AgentLost)));
        }
        let silent = AgentSigner::new(Script::of(&[held()]), *secret().public()).unwrap();
        assert!(matches!(silent.sign(b"message"), Err(TrustError::AgentStream { .. })));
        assert!(matches!(silent.sign(b"message"), Err(TrustError::AgentLost)));
    }

    #[test]
    fn lengths_are_not_believed() {
        for bytes in [vec![0xff; 4], vec![0; 4], vec![0, 4, 0, 1]] {
            let error = identities(&mut Script(Cursor::new(bytes))).unwrap_err();
            assert!(matches!(error, TrustError::AgentAnswer { .. }), "{error:?}");
        }
        let mut many = vec![IDENTITIES_ANSWER];
        many.extend_from_slice(&u32::MAX.to_be_bytes());
        assert!(matches!(identities(&mut *Script::of(&[many])), Err(TrustError::AgentAnswer { .. })));
        let long = signer(vec![]).sign(&vec![0; MOST_MESSAGE + 1]);
        assert!(matches!(long, Err(TrustError::AgentMessageTooLong { .. })));
    }
}
