//! Who may do what: Ed25519 keys, signatures under one strict rule, signers, and the trust statement.
//!
//! Every key is an Ed25519 key in OpenSSH's forms, every signature is verified by the strict rule (RFC 8032, cofactorless,
//! canonical encodings, no small-order points), whether one at a time ([`PublicKey::verify`]) or by the thousand
//! ([`PreparedKey`]). Why: `docs/decisions/0005-ed25519.md`.
//!
//! Nothing here touches a file, a clock, the environment, the network or a source of randomness: seeds and salts are
//! arguments, and an agent is a stream handed in.

mod agent;
mod amendment;
mod error;
mod key;
mod prepared;
mod refusal;
mod secret;
mod signers;
mod statement;
mod succession;

pub use agent::{AgentSigner, AgentStream, Identity, identities};
pub use amendment::Amendment;
pub use error::TrustError;
pub use key::{KeyId, PublicKey, Signature};
pub use prepared::{HalfVerified, PreparedKey, settle};
pub use refusal::Refusal;
pub use secret::{Encryption, SecretKey, Signer};
pub use signers::{AllowedSigner, format_allowed_signers, parse_allowed_signers};
pub use statement::{KeyRecord, LogKey, Person, Role, Rules, Standing, Statement, Thresholds};
pub use succession::Breach;
pub use zeroize::Zeroizing;
