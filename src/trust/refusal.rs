//! Why the trust in force does not allow something: who, which rule, and what would satisfy it.

use super::{KeyId, Role};

/// A refusal under one trust statement. `Display` says who and which rule; [`Refusal::remedy`] says what would satisfy it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The key belongs to no person of the statement.
    #[error("key {key} may not act as {role}: trust version {version} lists no such key")]
    UnknownKey {
        /// The key.
        key: KeyId,
        /// What it was to act as.
        role: Role,
        /// The version of the trust statement.
        version: u64,
        /// Who holds the role, in the statement's order.
        holders: Vec<String>,
    },
    /// The key was retired: what it signed before stays good, what it signs now does not.
    #[error("key {key} of {person} may not act as {role}: trust version {version} has it as retired")]
    Retired {
        /// The person whose key it is.
        person: String,
        /// The key.
        key: KeyId,
        /// What it was to act as.
        role: Role,
        /// The version of the trust statement.
        version: u64,
    },
    /// The key is known to be in wrong hands.
    #[error("key {key} of {person} may not act as {role}: trust version {version} has it as compromised")]
    Compromised {
        /// The person whose key it is.
        person: String,
        /// The key.
        key: KeyId,
        /// What it was to act as.
        role: Role,
        /// The version of the trust statement.
        version: u64,
    },
    /// The person does not hold the role.
    #[error("{person} (key {key}) may not act as {role}: trust version {version} does not give them that role")]
    LacksRole {
        /// The person.
        person: String,
        /// The key.
        key: KeyId,
        /// What it was to act as.
        role: Role,
        /// The version of the trust statement.
        version: u64,
        /// Who holds the role, in the statement's order.
        holders: Vec<String>,
    },
    /// Fewer persons than the threshold. Two keys of one person count once.
    #[error("{} of {needed} persons needed as {role} by trust version {version}", persons.len())]
    BelowThreshold {
        /// The role counted.
        role: Role,
        /// The version of the trust statement.
        version: u64,
        /// The threshold.
        needed: u32,
        /// The persons counted, in the statement's order.
        persons: Vec<String>,
        /// Who else holds the role, in the statement's order.
        missing: Vec<String>,
    },
}

impl Refusal {
    /// The role that was wanted.
    pub fn role(&self) -> Role {
        match self {
            Self::UnknownKey { role, .. }
            | Self::Retired { role, .. }
            | Self::Compromised { role, .. }
            | Self::LacksRole { role, .. }
            | Self::BelowThreshold { role, .. } => *role,
        }
    }

    /// What would satisfy the rule, for a hint.
    pub fn remedy(&self) -> String {
        match self {
            Self::UnknownKey { role, holders, .. } | Self::LacksRole { role, holders, .. } => {
                format!("{} can do it, or a new trust version can give the role {role}", listed(holders))
            }
            Self::Retired { person, .. } | Self::Compromised { person, .. } => {
                format!("sign with an active key of {person}, or list a new one in a new trust version")
            }
            Self::BelowThreshold { needed, persons, missing, .. } => {
                let more = usize::try_from(*needed).unwrap_or(usize::MAX).saturating_sub(persons.len());
                format!("{more} more of: {}", listed(missing))
            }
        }
    }
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "nobody".to_owned() } else { names.join(", ") }
}
