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
use crate::object::{FieldError, MAX_RECORDS, RecordError, encode_string};

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
        let mut expected = Vec::with_capacity(2 + question.expected().len());
        encode_string(question.expected(), &mut expected);
        let mut hasher = blake3::Hasher::new_derive_key(LEAF_CONTEXT);
        prefixed(&mut hasher, &query);
        prefixed(&mut hasher, &expected);
        if let Some(salt) = salt {
            prefixed(&mut hasher, salt);
        }
        Ok(Self(*hasher.finalize().as_bytes()))
    }

    /// The leaf of a question without a salt whose query and expected answer are canonical JSON already, the query in
    /// pieces: all five members, as [`Question`] fills them in.
    pub fn of_canonical(query: &[&[u8]], expected: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key(LEAF_CONTEXT);
        hasher.update(&query.iter().map(|piece| piece.len() as u64).sum::<u64>().to_be_bytes());
        query.iter().for_each(|piece| {
            hasher.update(piece);
        });
        prefixed(&mut hasher, expected);
        Self(*hasher.finalize().as_bytes())
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

    /// The leaves of imported questions; refused where there are none.
    pub fn from_leaves(leaves: Vec<Leaf>) -> Result<Self, QuestionError> {
        if leaves.is_empty() {
            return Err(RecordError::whole("the questions", "hold no leaves").into());
        }
        Ok(Self(leaves))
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

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n";

    #[test]
    fn a_list_of_leaves_has_one_spelling() {
        let leaves = Leaves::parse("leaves", LINE.repeat(3).as_bytes()).unwrap();
        assert_eq!(leaves.as_slice().len(), 3);
        assert_eq!(leaves.encode(), LINE.repeat(3).as_bytes());
        let form = "must be 64 lower-case hexadecimal digits and a line feed";
        for (text, message) in [
            (String::new(), "leaves: holds no leaves".to_owned()),
            (LINE.trim_end().to_owned(), format!("leaves:1: {form}")),
            (format!("{LINE}\n"), format!("leaves:2: {form}")),
            (LINE.to_uppercase(), format!("leaves:1: {form}")),
            (LINE.replace('\n', "\r\n"), format!("leaves:1: {form}")),
            (format!("{LINE}{}", LINE.replace('0', " ")), format!("leaves:2: {form}")),
            (format!("{LINE}{}", LINE.replace('\n', "0")), format!("leaves:2: {form}")),
            (format!("{}é\n", &LINE[..62]), format!("leaves:1: {form}")),
        ] {
            assert_eq!(Leaves::parse("leaves", text.as_bytes()).unwrap_err().to_string(), message, "{text:?}");
        }
        assert_eq!(
            "x".parse::<Leaf>().unwrap_err().to_string(),
            "not a question's leaf: `x`; it is 64 lower-case hexadecimal digits"
        );
    }

    #[test]
    fn an_identity_needs_the_leaves_and_the_scorer_only() {
        let leaves = Leaves::parse("leaves", LINE.repeat(2).as_bytes()).unwrap();
        let id = |leaves: &Leaves, scorer: &str| leaves.id(&scorer.parse().unwrap());
        assert_eq!(id(&leaves, "exact/v1"), id(&leaves, "exact/v1"));
        assert_ne!(id(&leaves, "exact/v1"), id(&leaves, "regex/v1"));
        assert_ne!(id(&leaves, "exact/v1"), id(&Leaves::parse("leaves", LINE.as_bytes()).unwrap(), "exact/v1"));
    }

    #[test]
    fn a_reveal_that_does_not_fit_says_why() {
        let leaves = Leaves::parse("leaves", LINE.as_bytes()).unwrap();
        let reveal = |position, record: &str| {
            let question = Question::parse(&crate::object::parse(record.as_bytes()).unwrap()).unwrap();
            leaves.verify_reveal(position, &question).unwrap_err().to_string()
        };
        let record = r#"{"question":"q","expected":"a"}"#;
        assert_eq!(reveal(2, record), "there is no question #2: the list has 1 leaves");
        assert_eq!(reveal(0, record), "there is no question #0: the list has 1 leaves");
        assert!(reveal(1, record).starts_with("the revealed question is not the sealed question #1: its leaf is "));
        assert_eq!(
            reveal(1, r#"{"query":{"text":"q","fingerprint":9007199254740992},"expected":"a"}"#),
            "the revealed question: field `query.fingerprint`: the integer 9007199254740992 is beyond 2^53 - 1, which pm1 \
             identities do not hold; write it as a string"
        );
    }
}
