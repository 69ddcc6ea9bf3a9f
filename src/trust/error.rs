//! What can go wrong with a key, a signature, an agent or a trust statement.

use super::{KeyId, Refusal, Standing};

/// Why a key, a signature or a trust statement was refused.
///
/// Texts never contain key material other than public keys and fingerprints.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// A key of another kind than Ed25519: RSA, ECDSA, a FIDO key, a certificate.
    #[error(
        "this is a key of kind `{kind}`; only plain Ed25519 keys (`ssh-ed25519`) are used: make one with `ssh-keygen -t ed25519`"
    )]
    KeyKind {
        /// The kind as OpenSSH names it, e.g. `ssh-rsa`.
        kind: String,
    },
    /// Text that is not an OpenSSH public key.
    #[error("not an OpenSSH public key: {reason}")]
    PublicKeyText {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// 32 bytes that name no point of the curve, or name one by another encoding than its only canonical one.
    #[error("not an Ed25519 public key: the 32 bytes are not the canonical encoding of a point")]
    NonCanonicalKey,
    /// One of the eight points of small order: a signature under it can be made to fit any message.
    #[error("not an Ed25519 public key: a point of small order, under which any message can be made to verify")]
    SmallOrderKey,
    /// A fingerprint that is not `SHA256:` and 43 characters of unpadded base64.
    #[error("not a key fingerprint (`SHA256:` and 43 base64 characters): `{text}`")]
    KeyIdText {
        /// What was read, cut to 80 characters.
        text: String,
    },
    /// Text that is not a signature of 64 bytes in padded standard base64.
    #[error("not an Ed25519 signature: 64 bytes in padded standard base64 are expected")]
    SignatureText,
    /// A signature that does not verify under strict RFC 8032 rules.
    #[error("the signature does not verify under key {key}")]
    BadSignature {
        /// The key it was checked against.
        key: KeyId,
    },
    /// A signature just made does not verify under its own public key, so it was not handed out.
    #[error(
        "key {key} produced a signature that does not verify; it was discarded: the machine or the agent is faulty"
    )]
    FaultySignature {
        /// The key that was asked to sign.
        key: KeyId,
    },

    /// Text that is not an OpenSSH private key.
    #[error("not an OpenSSH private key: {reason}")]
    PrivateKeyText {
        /// What was found instead and what to do.
        reason: &'static str,
    },
    /// An OpenSSH private key whose content is cut short or contradicts itself.
    #[error("the private key file is damaged: restore it from a copy, or make a new key")]
    DamagedPrivateKey {
        /// What the reader of the format said, where it was the one to notice.
        #[source]
        source: Option<ssh_key::Error>,
    },
    /// The private key is encrypted and no passphrase was given.
    #[error("the private key is encrypted: give its passphrase, or load it into ssh-agent with `ssh-add`")]
    PassphraseMissing,
    /// The passphrase does not open the private key.
    #[error("wrong passphrase for the private key: try again")]
    PassphraseWrong,
    /// A key cannot be encrypted under an empty passphrase.
    #[error("an empty passphrase encrypts nothing: give a passphrase, or none at all")]
    PassphraseEmpty,
    /// The private key asks for more key derivation rounds than would finish in reasonable time.
    #[error(
        "the private key asks for {rounds} bcrypt rounds, at most {most} are done: lower it with `ssh-keygen -p -a 24`"
    )]
    TooManyRounds {
        /// Rounds asked for by the file.
        rounds: u32,
        /// Rounds this program is willing to do.
        most: u32,
    },
    /// A comment that cannot be written into a key file.
    #[error("a key comment is one line of at most 256 bytes without control characters")]
    KeyComment,

    /// The stream to ssh-agent failed, or ended in the middle of an answer.
    #[error("ssh-agent cannot be talked to: check that it runs and that SSH_AUTH_SOCK names its socket")]
    AgentStream {
        /// What the operating system said.
        #[source]
        source: std::io::Error,
    },
    /// The agent answered with something that is not in its protocol.
    #[error("ssh-agent gave an answer that makes no sense: {reason}")]
    AgentAnswer {
        /// What is wrong with the answer.
        reason: &'static str,
    },
    /// An earlier request on this stream failed midway, so its next answer could belong to another request.
    #[error("the connection to ssh-agent failed earlier: connect again")]
    AgentLost,
    /// The agent does not hold the key.
    #[error("ssh-agent does not hold key {key}: load it with `ssh-add`, or see what it holds with `ssh-add -l`")]
    AgentLacksKey {
        /// The key asked for.
        key: KeyId,
    },
    /// The agent holds the key and would not sign: locked, or the person declined.
    #[error("ssh-agent holds key {key} and refused to sign: unlock it with `ssh-add -X`, or confirm when it asks")]
    AgentRefused {
        /// The key asked to sign.
        key: KeyId,
    },
    /// The agent would not list its keys.
    #[error("ssh-agent refused to list its keys")]
    AgentRefusedList,
    /// The message is longer than an agent takes.
    #[error("ssh-agent takes messages of at most {most} bytes, this one has {length}")]
    AgentMessageTooLong {
        /// Bytes in the message.
        length: usize,
        /// The most that is sent.
        most: usize,
    },

    /// A trust statement that breaks one of its own rules.
    #[error("trust statement refused: {field}: {reason}")]
    Statement {
        /// The member at fault, e.g. `persons[1].name`.
        field: String,
        /// What is wrong with it and what would be right.
        reason: String,
    },
    /// A person that a statement does not list.
    #[error("trust version {version} lists no person `{name}`")]
    NoSuchPerson {
        /// The name.
        name: String,
        /// The version of the statement.
        version: u64,
        /// Who is listed, in the statement's order.
        known: Vec<String>,
    },
    /// A key that a statement does not list.
    #[error("trust version {version} lists no key {key}")]
    NoSuchKey {
        /// The key.
        key: KeyId,
        /// The version of the statement.
        version: u64,
    },
    /// A key that is to be a person's and is another one's.
    #[error("key {key} is listed as that of {owner}, and a key belongs to one person")]
    KeyOfAnother {
        /// The key.
        key: KeyId,
        /// Whose it is.
        owner: String,
    },
    /// A key that was given up, and never comes back.
    #[error("key {key} of {person} is {status}, and never becomes better again: make a new key")]
    KeyPast {
        /// The key.
        key: KeyId,
        /// Whose it is.
        person: String,
        /// Its standing.
        status: Standing,
    },
    /// A person who is new and has no key.
    #[error("{name} is new, and a person is listed with a key")]
    KeyMissing {
        /// The name.
        name: String,
    },
    /// A line of an `allowed_signers` file that cannot be taken over, or a name that cannot be in one.
    #[error("line {line} of the allowed signers: {reason}")]
    AllowedSigners {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// A person whose name cannot be a principal.
    #[error("the name `{name}` cannot be a principal in an allowed signers file: it has one of `,*?!\"\\#`")]
    Principal {
        /// The name.
        name: String,
    },
    /// The trust in force does not allow it.
    #[error(transparent)]
    Refused(#[from] Refusal),
}
