//! What persons decide about receipts: sign-offs, withdrawals, waivers, and the recorded release decision.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::text::text_error;
use super::{Moment, ReasonCode, ReceiptError, ReceiptRef, Text};
use crate::object::Sha256;

/// What a person says to a receipt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// It may go.
    Go,
    /// It must not go.
    NoGo,
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Go => "GO",
            Self::NoGo => "NO-GO",
        })
    }
}

/// A person's decision on a receipt. The signer is the person who decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Signoff {
    /// What is decided on.
    pub target: ReceiptRef,
    /// GO or NO-GO.
    pub decision: Decision,
    /// Why.
    pub reason: Text,
    /// The first moment at which it no longer counts; only a GO may have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Moment>,
    /// Everything that the decision rests on beside its target, sorted by index: all that the target names, what those
    /// name, the waivers that count for them, and what the signer added.
    pub rests_on: Vec<ReceiptRef>,
}

/// A receipt that no longer counts. It stays in the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Withdrawal {
    /// The receipt.
    pub target: ReceiptRef,
    /// Why.
    pub reason: Text,
}

/// One check of one receipt that is not to block a release, for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Waiver {
    /// The receipt.
    pub target: ReceiptRef,
    /// The check.
    pub check: ReasonCode,
    /// Why.
    pub reason: Text,
    /// The first moment at which it no longer counts.
    pub expires: Moment,
}

/// What the one release decision came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Release {
    /// The recommended candidate may be released.
    Authorized,
    /// It must not.
    Blocked,
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Authorized => "AUTHORIZED",
            Self::Blocked => "BLOCKED",
        })
    }
}

/// A release decision as it was computed and recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Authorization {
    /// The gate receipt that was judged.
    pub target: ReceiptRef,
    /// What it came to.
    pub decision: Release,
    /// The moment that expiries were held against.
    pub at: Moment,
    /// Size of the checkpoint that was judged.
    pub size: u64,
    /// Root of the checkpoint that was judged.
    pub root: Sha256,
    /// Every reason against it, sorted, each once; empty if and only if authorized.
    pub reasons: Vec<ReasonCode>,
    /// Everything that the decision rests on beside its target, sorted by index: what the target rests on, the sign-offs
    /// that counted and the waivers that counted.
    pub rests_on: Vec<ReceiptRef>,
}

impl Signoff {
    pub(super) fn hold_together(&self) -> Result<(), ReceiptError> {
        if self.decision == Decision::NoGo && self.expires.is_some() {
            return Err(text_error("a NO-GO", "without expiry: it stands until its signer says GO", "expires"));
        }
        ordered(&self.rests_on, self.target)
    }
}

impl Authorization {
    pub(super) fn hold_together(&self) -> Result<(), ReceiptError> {
        let authorized = self.decision == Release::Authorized;
        if authorized != self.reasons.is_empty() || !self.reasons.is_sorted_by(|one, next| one < next) {
            let rule = "with sorted reasons, each once, if and only if it is BLOCKED";
            return Err(text_error("a release decision", rule, &self.decision.to_string()));
        }
        if self.target.index >= self.size || self.rests_on.last().is_some_and(|last| last.index >= self.size) {
            return Err(text_error("a release decision", "about receipts of its checkpoint", &self.size.to_string()));
        }
        ordered(&self.rests_on, self.target)
    }
}

/// By index, each once, without the target itself.
fn ordered(rests_on: &[ReceiptRef], target: ReceiptRef) -> Result<(), ReceiptError> {
    let sorted = rests_on.is_sorted_by(|one, next| one.index < next.index);
    if sorted && rests_on.iter().all(|one| one.index != target.index) {
        return Ok(());
    }
    let found = rests_on.iter().map(|one| one.index.to_string()).collect::<Vec<_>>().join(" ");
    Err(text_error("the list `restsOn`", "sorted by index, each once, without the target", &found))
}
