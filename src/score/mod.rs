//! Scorers: judges of one reply against one expected answer, versioned, each with its limits written down.
//!
//! A scorer's identity is part of the identity of every question set it judges, so any change of judgement is a new
//! version: an old one never changes. `docs/scorers.md` says what each does and how to choose.

mod choice;
mod judge;
mod lexical;
mod numeric;
mod pattern;
mod scorer;

pub use crate::question::{Judgement, Judgements};
pub use choice::{Choice, MAX_CHOICE_BYTES};
pub use judge::Judge;
pub use lexical::{Exact, Normalized, Substring};
pub use numeric::{DEFAULT_ABS, DEFAULT_REL, Numeric, Tolerance};
pub use pattern::{MAX_COMPILED_BYTES, MAX_PATTERN_BYTES, Pattern};
pub use scorer::{BUILT_IN, BuiltIn, COMMAND_FORM, CommandJudge, Rule, Scorer};

use crate::object::{FieldError, RecordError};
use crate::question::{QuestionError, ScorerIdentity};

/// Why a scorer is refused, or refuses a question.
#[derive(Debug, thiserror::Error)]
pub enum ScoreError {
    /// Not even a scorer identity.
    #[error("not the name of a scorer")]
    Identity(#[source] QuestionError),
    /// No scorer has this name and version.
    #[error("unknown scorer `{text}`; known: {known}")]
    Unknown {
        /// What was asked for.
        text: String,
        /// The names that are known.
        known: String,
    },
    /// A parameter of a scorer is not as it must be.
    #[error("scorer `{scorer}`: parameter `{parameter}` {reason}")]
    Parameter {
        /// The scorer, without parameters.
        scorer: String,
        /// The parameter.
        parameter: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A command judge whose name, version or digest is not as it must be.
    #[error("not a command judge: `{text}`; it is {COMMAND_FORM}, {reason}")]
    Command {
        /// What was read.
        text: String,
        /// Which rule it breaks.
        reason: &'static str,
    },
    /// A judge that is a user's program does not run here: its judgements are recorded evidence.
    #[error("the judge `{identity}` is a command: give its recorded judgements, it does not run here")]
    NotBuiltIn {
        /// The judge.
        identity: ScorerIdentity,
    },
    /// The scorer cannot judge this expected answer.
    #[error("the scorer `{identity}` refuses the question: {refusal}")]
    Expected {
        /// The scorer.
        identity: ScorerIdentity,
        /// The field `expected` and what is wrong with it.
        refusal: FieldError,
    },
    /// The scorer cannot judge this question of a set; names file, line and field.
    #[error("the scorer `{identity}` refuses the question: {refusal}")]
    Question {
        /// The scorer.
        identity: ScorerIdentity,
        /// File, line, the field `expected` and what is wrong with it.
        refusal: RecordError,
    },
    /// Not one reply a question.
    #[error("{replies} replies for {questions} questions")]
    Count {
        /// How many replies there are.
        replies: usize,
        /// How many questions there are.
        questions: usize,
    },
}
