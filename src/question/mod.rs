//! Question sets, what identifies them, and the recorded answers to them.
//!
//! A question is a `(query, expected)` pair; a set is an ordered list of them. Its identity is a digest of the pairs by
//! content **and** of the scorer (`docs/format.md`, `docs/decisions/0004-question-identity.md`). Everything here is read
//! from JSONL and constructed only by parsing, so a value that exists is a value that holds.

mod answer;
mod blank;
mod diff;
mod hex;
mod identity;
mod judgement;
mod keyed;
mod leaf;
mod mixle;
mod query;
mod record;
mod reveal;
mod set;

pub use answer::{Answer, AnswerReceipt, Answers, Spend};
pub use blank::{is_blank, is_python_space, python_strip};
pub use diff::{Annotation, Moved, QuestionName, Reannotated, SetDiff, diff_leaves, diff_sets};
pub use identity::{MAX_SCORER_IDENTITY_BYTES, QuestionSetId, Scheme, ScorerIdentity};
pub use judgement::{Judgement, Judgements};
pub use leaf::{Leaf, Leaves};
pub use mixle::MixleIdentity;
pub use query::{DEFAULT_SCOPE, Query};
pub use record::{MAX_LABEL_BYTES, Question};
pub use reveal::Reveal;
pub use set::QuestionSet;

use crate::object::RecordError;

/// Why question sets, identities, answers or judgements are refused.
#[derive(Debug, thiserror::Error)]
pub enum QuestionError {
    /// A record of a file is not as it must be; names file, line and field.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A scorer identity that breaks the grammar of [`ScorerIdentity`].
    #[error(
        "not a scorer identity: `{text}`; it is 1 to {MAX_SCORER_IDENTITY_BYTES} printable ASCII characters without spaces"
    )]
    ScorerIdentity {
        /// What was read, cut to 80 characters.
        text: String,
    },
    /// Text that is not a [`QuestionSetId`].
    #[error(
        "not a question set identity: `{text}`; it is `pm1:` and 64 lower-case hexadecimal digits, or 64 of them (mixle)"
    )]
    SetId {
        /// What was read, cut to 80 characters.
        text: String,
    },
    /// Text that is not a [`Scheme`].
    #[error("unknown identity scheme `{text}`; known: pm1, mixle")]
    Scheme {
        /// What was read, cut to 80 characters.
        text: String,
    },
    /// Text that is not a [`Leaf`].
    #[error("not a question's leaf: `{text}`; it is 64 lower-case hexadecimal digits")]
    Leaf {
        /// What was read, cut to 80 characters.
        text: String,
    },
    /// There is no leaf at that position.
    #[error("there is no question #{position}: the list has {n} leaves")]
    NoSuchLeaf {
        /// The position asked for, from 1.
        position: usize,
        /// How many leaves there are.
        n: usize,
    },
    /// A file that is no revealed question.
    #[error("not a revealed question: {reason}")]
    Reveal {
        /// What is not as it must be.
        reason: String,
    },
    /// The leaves give another identity than the one stated.
    #[error("the leaves give the identity {found}, and {stated} is stated")]
    OtherSet {
        /// What the leaves give under the scorer.
        found: QuestionSetId,
        /// What is stated.
        stated: QuestionSetId,
    },
    /// The revealed question is not the one that was sealed there.
    #[error("the revealed question is not the sealed question #{position}: its leaf is {found}, the list has {sealed}")]
    NotRevealed {
        /// The position, from 1.
        position: usize,
        /// The leaf of the revealed question.
        found: Leaf,
        /// The leaf in the list.
        sealed: Leaf,
    },
}

/// At most 80 characters of a text, for messages.
fn excerpt(text: &str) -> String {
    text.chars().take(80).collect()
}
