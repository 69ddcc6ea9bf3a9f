//! What a round that another tool measured may leave unknown. An unknown is said, never taken for a value.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Something that two rounds must share, or have, to be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fact {
    /// The judge's settings: thresholds, patterns, what it takes out of a reply.
    Configuration,
    /// What the run cost.
    Cost,
    /// Temperature, stop words, few-shot settings, and whatever else shapes a reply.
    Generation,
    /// The model that answered.
    Model,
    /// The text that was sent.
    Prompts,
    /// The answers that were expected.
    References,
    /// How often each question was asked.
    Repeats,
    /// The judge's name.
    Scorer,
}

/// Text that names no [`Fact`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is nothing that can be unknown; known are {}", Fact::ALL.map(Fact::as_str).join(", "))]
pub struct FactError {
    /// What was read, cut to 80 characters.
    pub text: String,
}

impl Fact {
    /// All of them, in order.
    pub const ALL: [Self; 8] = [
        Self::Configuration,
        Self::Cost,
        Self::Generation,
        Self::Model,
        Self::Prompts,
        Self::References,
        Self::Repeats,
        Self::Scorer,
    ];

    /// Its name, as in `generation`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Configuration => "configuration",
            Self::Cost => "cost",
            Self::Generation => "generation",
            Self::Model => "model",
            Self::Prompts => "prompts",
            Self::References => "references",
            Self::Repeats => "repeats",
            Self::Scorer => "scorer",
        }
    }

    /// What it is, for people.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Configuration => "the scorer's configuration",
            Self::Cost => "the cost",
            Self::Generation => "the generation settings",
            Self::Model => "the model that answered",
            Self::Prompts => "the text of the questions",
            Self::References => "the expected answers",
            Self::Repeats => "the number of repeats",
            Self::Scorer => "the scorer",
        }
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Fact {
    type Err = FactError;

    fn from_str(text: &str) -> Result<Self, FactError> {
        let found = Self::ALL.into_iter().find(|fact| fact.as_str() == text);
        found.ok_or_else(|| FactError { text: text.chars().take(80).collect() })
    }
}

/// A fact that a round leaves unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unknown {
    /// What is not known.
    pub field: Fact,
    /// Whether whoever recorded the round allowed comparisons all the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allowed: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_is_read_as_it_is_written() {
        for fact in Fact::ALL {
            assert_eq!(fact.to_string().parse(), Ok(fact));
            assert_eq!(serde_json::to_string(&fact).unwrap(), format!("\"{fact}\""));
        }
        let mut sorted = Fact::ALL;
        sorted.sort();
        assert_eq!(sorted, Fact::ALL);
        assert!("seed".parse::<Fact>().unwrap_err().to_string().starts_with("`seed` is nothing that can be unknown"));
    }
}
