//! Receipts: signed statements of what was evaluated, what came out, and on which evidence that rests.
//!
//! A receipt is a DSSE v1 envelope in canonical JSON around an in-toto Statement v1, signed once with Ed25519. Its id is
//! the BLAKE3 of its exact bytes. `docs/format.md` is normative.

mod decision;
mod envelope;
mod moment;
mod predicate;
mod statement;
mod text;

pub use decision::{Authorization, Decision, Release, Signoff, Waiver, Withdrawal};
pub use envelope::{MAX_RECEIPT_BYTES, PAYLOAD_TYPE, Receipt, pre_authentication_encoding};
pub use moment::Moment;
pub use predicate::{
    Baseline, Basis, Body, CandidateCounts, Comparison, Evidence, EvidenceError, GateBody, Kind, MAX_EVIDENCE_BYTES,
    Predicate, ReceiptRef, ScorecardBody, Tool, sorted_evidence,
};
pub use statement::{STATEMENT_TYPE, Statement, Subject, SubjectDigest};
pub use text::{LineName, ReasonCode, Role, Text};

use crate::object::{CanonicalError, ReceiptId};
use crate::trust::{KeyId, TrustError};

/// Why bytes are not a receipt, or a receipt cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ReceiptError {
    /// Over [`MAX_RECEIPT_BYTES`].
    #[error(
        "the receipt has {size} bytes, at most {MAX_RECEIPT_BYTES} fit into the log; put large things into evidence"
    )]
    TooLarge {
        /// Bytes of the envelope.
        size: usize,
    },
    /// The envelope is not canonical JSON of the right shape.
    #[error("the envelope is not a canonical DSSE envelope")]
    Envelope(#[source] CanonicalError),
    /// Another payload type than in-toto's.
    #[error("the payload type is `{found}`, not `{PAYLOAD_TYPE}`")]
    PayloadType {
        /// What it says.
        found: String,
    },
    /// Not exactly one signature.
    #[error("the envelope has {found} signatures, where exactly one must be")]
    SignatureCount {
        /// How many there are.
        found: usize,
    },
    /// Payload or signature is not padded standard base64.
    #[error("`{member}` is not padded standard base64")]
    Base64 {
        /// The envelope's member.
        member: &'static str,
    },
    /// Key id or signature are not of the right form.
    #[error("the signature is malformed")]
    Signature(#[source] TrustError),
    /// The statement is not canonical JSON of the right shape.
    #[error("the statement is not canonical")]
    Statement(#[source] CanonicalError),
    /// The statement does not have the members of its kind.
    #[error("the statement is not of the form of its kind")]
    Shape(#[source] serde_json::Error),
    /// A kind of receipt that this version does not know.
    #[error("`{found}` is not a kind of receipt that this version knows")]
    Kind {
        /// The predicate type.
        found: String,
    },
    /// The statement's `_type` is not in-toto Statement v1.
    #[error("`{found}` is not an in-toto Statement v1")]
    StatementType {
        /// What it says.
        found: String,
    },
    /// A statement must name what was evaluated.
    #[error("the statement names no subject")]
    NoSubject,
    /// A text that a receipt cannot hold.
    #[error("{what} must be {rule}: `{found}`")]
    Text {
        /// What it is, as in `a line name`.
        what: &'static str,
        /// The rule.
        rule: &'static str,
        /// What was given, cut to 80 characters.
        found: String,
    },
    /// The evidence list is not sorted by role and digest without repetition.
    #[error("the evidence list is not sorted or names something twice")]
    EvidenceOrder,
    /// The key that the envelope names is not the one it was checked with.
    #[error("receipt {receipt} names the key {named}, not {checked}")]
    OtherKey {
        /// The receipt.
        receipt: ReceiptId,
        /// The key id in the envelope.
        named: KeyId,
        /// The key it was checked with.
        checked: KeyId,
    },
    /// Signing or checking failed.
    #[error("the signature of the receipt is not good")]
    BadSignature(#[source] TrustError),
    /// The signer could not sign.
    #[error("cannot sign the receipt")]
    Sign(#[source] TrustError),
}
