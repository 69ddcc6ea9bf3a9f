//! What trust can have against a receipt: which rule, and what would satisfy it.

use crate::receipt::ReceiptRef;
use crate::trust::{Breach, Refusal};

/// Why a sign-off cannot count for the trust receipt that it is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignoffFault {
    /// The statement is in force already.
    InForce,
    /// The statement is not a proposal that waits: it never was a good one, another one took its place, or it is past.
    Void,
    /// It has an expiry, and trust has none.
    Expires,
    /// It says that it rests on other receipts, and trust rests on none.
    RestsOnMore,
}

impl std::fmt::Display for SignoffFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::InForce => "that trust statement is in force already",
            Self::Void => "that trust statement is no proposal that waits for sign-off",
            Self::Expires => "it has an expiry, and agreement to a trust statement has none",
            Self::RestsOnMore => "it rests on other receipts, and agreement to a trust statement rests on none",
        })
    }
}

/// One thing that trust has against a receipt. `Display` says what is wrong; [`TrustViolation::remedy`] what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TrustViolation {
    /// Receipt 0 is signed by a key that is no root of the statement in it.
    #[error("{0}")]
    GenesisNotRoot(Refusal),
    /// Receipt 0 states another version than 1.
    #[error("receipt 0 states trust version {found}")]
    GenesisVersion {
        /// The version.
        found: u64,
    },
    /// The key may not sign such a receipt at this index.
    #[error("{0}")]
    NotAllowed(Refusal),
    /// The receipt names another trust receipt than the one in force at its index.
    #[error("it names {}, and {} is in force", trust_text(*found), trust_text(*expected))]
    Reference {
        /// The one in force; none for receipt 0.
        expected: Option<ReceiptRef>,
        /// The one named.
        found: Option<ReceiptRef>,
    },
    /// The statement may not follow the one in force.
    #[error("{0}")]
    Succession(Breach),
    /// The sign-off cannot count for the trust receipt that it is on.
    #[error("a sign-off on trust receipt {}: {fault}", target.index)]
    Signoff {
        /// The trust receipt.
        target: ReceiptRef,
        /// Why not.
        fault: SignoffFault,
    },
    /// Trust receipts, and sign-offs on them, cannot be withdrawn.
    #[error("a withdrawal of receipt {}, which is part of the chain of trust", target.index)]
    Withdrawn {
        /// What was to be withdrawn.
        target: ReceiptRef,
    },
}

impl TrustViolation {
    /// What would satisfy the rule.
    pub fn remedy(&self) -> String {
        match self {
            Self::GenesisNotRoot(refusal) | Self::NotAllowed(refusal) => refusal.remedy(),
            Self::GenesisVersion { .. } => "versions count from 1".to_owned(),
            Self::Reference { expected, .. } => format!("name {}", trust_text(*expected)),
            Self::Succession(breach) => breach.remedy(),
            Self::Signoff { fault: SignoffFault::InForce | SignoffFault::Void, .. } => {
                "sign off a proposal that waits: `proofmark trust show` lists them".to_owned()
            }
            Self::Signoff { fault: SignoffFault::Expires, .. } => "sign off without an expiry".to_owned(),
            Self::Signoff { fault: SignoffFault::RestsOnMore, .. } => "sign off the trust receipt alone".to_owned(),
            Self::Withdrawn { .. } => "a root takes an agreement back with a NO-GO while the proposal waits; \
                                       what is in force is changed by a new trust version"
                .to_owned(),
        }
    }
}

/// A trust receipt for people.
pub(crate) fn trust_text(reference: Option<ReceiptRef>) -> String {
    match reference {
        Some(ReceiptRef { index, receipt }) => format!("trust receipt {receipt} at index {index}"),
        None => "no trust receipt".to_owned(),
    }
}
