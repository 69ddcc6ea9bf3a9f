//! Identity scheme `pm1`: one leaf a question, and the identity of a set from its leaves and its scorer.
//!
//! ```text
//! leaf_i = BLAKE3-derive-key("proofmark question v1";     lp(JCS(query)) ‖ lp(JCS(expected)) [‖ lp(salt)])
//! id     = BLAKE3-derive-key("proofmark question set v1"; lp(scorer) ‖ u64 n ‖ leaf_0 ‖ … ‖ leaf_n-1)
//! lp(x)  = u64 length of x ‖ x, integers big-endian
//! ```

use std::fmt;
use std::str::FromStr;

use super::identity::{QuestionSetId, ScorerIdentity};
use super::record::Question;
use super::{QuestionError, excerpt, hex};
use crate::object::{FieldError, MAX_RECORDS, RecordError, encode};

const LEAF_CONTEXT: &str = "proofmark question v1";
const SET_CONTEXT: &str = "proofmark question set v1";
/// 64 digits and a line feed.
const LINE_BYTES: usize = 65;

/// The digest of one question, salted when its set is sealed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Leaf([u8; 32]);

impl Leaf {
    pub(super) fn of(question: &Question, salt: Option<&[u8; 32]>) -> Result<Self, FieldError> {
        let query = question.query().canonical()?;
        let expected = encode(question.expected()).map_err(|error| FieldError::new("expected", error.to_string()))?;
        let mut hasher = blake3::Hasher::new_derive_key(LEAF_CONTEXT);
        prefixed(&mut hasher, &query);
        prefixed(&mut hasher, &expected);
        if let Some(salt) = salt {
            prefixed(&mut hasher, salt);
        }
        Ok(Self(*hasher.finalize().as_bytes()))
    }

    /// The 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(&self.0))
    }
}

impl fmt::Debug for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Leaf({self})")
    }
}

impl FromStr for Leaf {
    type Err = QuestionError;

    fn from_str(text: &str) -> Result<Self, QuestionError> {
        hex::parse(text).map(Self).ok_or_else(|| QuestionError::Leaf { text: excerpt(text) })
    }
}

/// The leaves of a question set, in order, at least one: all that a sealed set shows of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaves(Vec<Leaf>);

impl Leaves {
    /// The leaves of a question set, which is never empty.
    pub(super) fn from_questions(leaves: Vec<Leaf>) -> Self {
        Self(leaves)
    }

    /// Reads the evidence format: for each question 64 lower-case hexadecimal digits and a line feed, nothing else, at
    /// least one and at most [`MAX_RECORDS`]. Refusals name file and line.
    pub fn parse(file: &str, bytes: &[u8]) -> Result<Self, QuestionError> {
        if bytes.is_empty() {
            return Err(RecordError::whole(file, "holds no leaves").into());
        }
        if bytes.len() > MAX_RECORDS * LINE_BYTES {
            return Err(RecordError::whole(file, format!("holds more than {MAX_RECORDS} leaves")).into());
        }
        let lines = bytes.chunks(LINE_BYTES).enumerate();
        let leaves = lines.map(|(at, line)| parse_line(line).ok_or_else(|| refuse_line(file, at + 1)));
        Ok(Self(leaves.collect::<Result<_, _>>()?))
    }

    /// The evidence format; [`Leaves::parse`] reads it back.
    pub fn encode(&self) -> Vec<u8> {
        let mut text = Vec::with_capacity(self.0.len() * LINE_BYTES);
        for leaf in &self.0 {
            text.extend_from_slice(leaf.to_string().as_bytes());
            text.push(b'\n');
        }
        text
    }

    /// The identity of the set under this scorer.
    pub fn id(&self, scorer: &ScorerIdentity) -> QuestionSetId {
        let mut hasher = blake3::Hasher::new_derive_key(SET_CONTEXT);
        prefixed(&mut hasher, scorer.as_str().as_bytes());
        hasher.update(&(self.0.len() as u64).to_be_bytes());
        for leaf in &self.0 {
            hasher.update(leaf.as_bytes());
        }
        QuestionSetId::pm1(hasher.finalize().as_bytes())
    }

    /// The leaves, in order.
    pub fn as_slice(&self) -> &[Leaf] {
        &self.0
    }

    /// Checks that `question`, with the salt it carries, is what was sealed at `position` (from 1): how one question is
    /// shown without the others.
    pub fn verify_reveal(&self, position: usize, question: &Question) -> Result<(), QuestionError> {
        let sealed = position.checked_sub(1).and_then(|at| self.0.get(at));
        let sealed = *sealed.ok_or(QuestionError::NoSuchLeaf { position, n: self.0.len() })?;
        let found = question.leaf().map_err(|error| RecordError {
            line: None,
            ..RecordError::new("the revealed question", position, error)
        })?;
        if found == sealed { Ok(()) } else { Err(QuestionError::NotRevealed { position, found, sealed }) }
    }
}

fn prefixed(hasher: &mut blake3::Hasher, bytes: &[u8]) {
    hasher.update(&(bytes.len() as u64).to_be_bytes());
    hasher.update(bytes);
}

fn parse_line(line: &[u8]) -> Option<Leaf> {
    let digits = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
    hex::parse(digits).map(Leaf)
}

fn refuse_line(file: &str, line: usize) -> RecordError {
    RecordError::new(file, line, FieldError::new("", "must be 64 lower-case hexadecimal digits and a line feed"))
}
