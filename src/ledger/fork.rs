//! Evidence that a log shrank or forked, as one portable document.

use std::fmt;

use serde::Serialize;

use super::{LedgerError, LogIdentity};
use crate::object::Sha256;

/// What happened to the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ForkKind {
    /// The log is smaller than it was: an older copy was put back, or receipts were cut off.
    Rollback,
    /// Two signed checkpoints contradict each other.
    Fork,
}

/// Two signed checkpoints of one log, and why they do not go together. Anyone can check it with the log's key alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ForkEvidence {
    /// `fork.v1`.
    pub schema: &'static str,
    /// What happened.
    pub kind: ForkKind,
    /// The log's key, as a C2SP verifier key.
    pub log_key: String,
    /// The signed checkpoint that was seen before.
    pub seen: String,
    /// The signed checkpoint that the ledger has now.
    pub found: String,
    /// For a fork: the root that the found log had at the size that was seen; it is not the root that was seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root_at_seen: Option<Sha256>,
    /// For a fork: the RFC 6962 consistency proof from [`ForkEvidence::root_at_seen`] to the found root. It verifies,
    /// so the checkpoint that was seen cannot be of the same log.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub consistency: Vec<Sha256>,
    /// The same in a sentence.
    pub meaning: &'static str,
}

impl fmt::Display for ForkEvidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ForkKind::Rollback => write!(f, "the log shrank: it has fewer receipts than this machine has seen"),
            ForkKind::Fork => write!(f, "the log forked: it contradicts a checkpoint that this machine has seen"),
        }
    }
}

fn text(note: &[u8]) -> String {
    String::from_utf8_lossy(note).into_owned()
}

/// The log is smaller than `seen`.
pub(super) fn rolled_back(log: &LogIdentity, seen: &[u8], found: &[u8]) -> LedgerError {
    LedgerError::Fork(Box::new(ForkEvidence {
        schema: "fork.v1",
        kind: ForkKind::Rollback,
        log_key: log.key.to_string(),
        seen: text(seen),
        found: text(found),
        root_at_seen: None,
        consistency: Vec::new(),
        meaning: "the log key signed the larger checkpoint; a ledger that presents the smaller one leaves receipts out, \
                  and extending it would fork the log",
    }))
}

/// The log at `found` had another root at the size of `seen`.
pub(super) fn forked(
    log: &LogIdentity,
    seen: &[u8],
    found: &[u8],
    root_at_seen: Sha256,
    consistency: Vec<Sha256>,
) -> LedgerError {
    LedgerError::Fork(Box::new(ForkEvidence {
        schema: "fork.v1",
        kind: ForkKind::Fork,
        log_key: log.key.to_string(),
        seen: text(seen),
        found: text(found),
        root_at_seen: Some(root_at_seen),
        consistency,
        meaning: "the log key signed both checkpoints, and the proof shows that they cannot be of one append-only log",
    }))
}
