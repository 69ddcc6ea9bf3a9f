//! One question of a sealed set, shown without the others: a file that anyone can check.
//!
//! ```text
//! {"leaves":[every leaf],"position":k,"question":"record with its salt","questionSetId":"pm1:…","schema":"reveal.v1","scorer":"…"}
//! ```
//!
//! Canonical JSON (RFC 8785); `position` counts from 1. The record stands as text, because canonical JSON would not keep `1.0` apart from
//! `1`; it has no annotations, which no leaf covers.

use serde::{Deserialize, Serialize};

use super::identity::{QuestionSetId, Scheme, ScorerIdentity};
use super::leaf::{Leaf, Leaves};
use super::record::Question;
use super::set::QuestionSet;
use super::{QuestionError, excerpt};
use crate::object::{Json, MAX_RECORDS, encode, parse, parse_canonical};

/// The schema that such a file names.
const SCHEMA: &str = "reveal.v1";

/// How such a file begins.
const BEGINNING: &[u8] = b"{\"leaves\":[\"";

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Written {
    leaves: Vec<String>,
    position: usize,
    question: String,
    question_set_id: QuestionSetId,
    schema: String,
    scorer: ScorerIdentity,
}

/// A question with its salt and its place, and the leaves of its whole set.
#[derive(Debug, Clone, PartialEq)]
pub struct Reveal {
    leaves: Leaves,
    position: usize,
    question: Question,
    stated: QuestionSetId,
    scorer: ScorerIdentity,
}

fn refused<T>(reason: impl Into<String>) -> Result<T, QuestionError> {
    Err(QuestionError::Reveal { reason: reason.into() })
}

/// The record without its annotations, which are not part of what was sealed.
fn record(question: &Question) -> Json {
    let sealed = |(name, _): &(String, Json)| matches!(name.as_str(), "expected" | "query" | "salt");
    match question.encode() {
        Json::Object(members) => Json::Object(members.into_iter().filter(sealed).collect()),
        other => other,
    }
}

fn text(question: &Question) -> Result<String, QuestionError> {
    serde_json::to_string(&record(question)).or_else(|error| refused(error.to_string()))
}

impl Reveal {
    /// Reveals the question at `position`, from 1, of a set with salts, as it was judged by `scorer`.
    ///
    /// # Errors
    /// [`QuestionError::Reveal`] where the set has no salts, [`QuestionError::NoSuchLeaf`], and where a question has no
    /// leaf.
    pub fn of(set: &QuestionSet, position: usize, scorer: &ScorerIdentity) -> Result<Self, QuestionError> {
        if !set.is_sealed() {
            return refused("the set has no salts, so it cannot have been sealed");
        }
        let question = position.checked_sub(1).and_then(|at| set.questions().get(at));
        let question = question.ok_or(QuestionError::NoSuchLeaf { position, n: set.len() })?;
        let leaves = set.leaves()?;
        let (stated, scorer) = (set.id(Scheme::Pm1, scorer)?, scorer.clone());
        let question = reread(&text(question)?)?;
        Ok(Self { leaves, position, question, stated, scorer })
    }

    /// Reads a file; whether what it says holds is for [`Reveal::verify`].
    ///
    /// # Errors
    /// [`QuestionError::Reveal`], naming what is not as it must be.
    pub fn parse(bytes: &[u8]) -> Result<Self, QuestionError> {
        let written: Written = parse_canonical(bytes).or_else(|error| refused(error.to_string()))?;
        let Written { leaves, position, question, question_set_id: stated, schema, scorer } = written;
        if schema != SCHEMA {
            return refused(format!("its schema is `{}`, not `{SCHEMA}`", excerpt(&schema)));
        }
        if leaves.is_empty() || leaves.len() > MAX_RECORDS {
            return refused(format!("it has {} leaves, and a set has 1 to {MAX_RECORDS}", leaves.len()));
        }
        let leaves: Vec<Leaf> = leaves.iter().map(|leaf| leaf.parse()).collect::<Result<_, _>>()?;
        let read = reread(&question)?;
        if read.salt().is_none() || text(&read)? != question {
            return refused("its question is not a record with a salt, as this format writes it");
        }
        Ok(Self { leaves: Leaves::from_questions(leaves), position, question: read, stated, scorer })
    }

    /// The one spelling of it.
    ///
    /// # Errors
    /// [`QuestionError::Reveal`] where it cannot be written.
    pub fn encode(&self) -> Result<Vec<u8>, QuestionError> {
        let written = Written {
            leaves: self.leaves.as_slice().iter().map(Leaf::to_string).collect(),
            position: self.position,
            question: text(&self.question)?,
            question_set_id: self.stated.clone(),
            schema: SCHEMA.to_owned(),
            scorer: self.scorer.clone(),
        };
        encode(&written).or_else(|error| refused(error.to_string()))
    }

    /// Whether bytes begin as such a file does.
    pub fn is_begun_by(bytes: &[u8]) -> bool {
        bytes.starts_with(BEGINNING)
    }

    /// Checks that the question is the one with that leaf, and that the leaves give the identity under the scorer.
    ///
    /// # Errors
    /// [`QuestionError::NoSuchLeaf`], [`QuestionError::NotRevealed`], [`QuestionError::OtherSet`].
    pub fn verify(&self) -> Result<(), QuestionError> {
        self.leaves.verify_reveal(self.position, &self.question)?;
        let found = self.leaves.id(&self.scorer);
        if found == self.stated { Ok(()) } else { Err(QuestionError::OtherSet { found, stated: self.stated.clone() }) }
    }

    /// The question's place in its set, from 1.
    pub fn position(&self) -> usize {
        self.position
    }

    /// The question, without annotations.
    pub fn question(&self) -> &Question {
        &self.question
    }

    /// The identity that the file states for the set.
    pub fn question_set_id(&self) -> &QuestionSetId {
        &self.stated
    }

    /// The scorer in that identity.
    pub fn scorer(&self) -> &ScorerIdentity {
        &self.scorer
    }

    /// How many questions the set has.
    pub fn n(&self) -> usize {
        self.leaves.as_slice().len()
    }
}

fn reread(record: &str) -> Result<Question, QuestionError> {
    let json = parse(record.as_bytes()).or_else(|error| refused(format!("its question: {error}")))?;
    Question::parse(&json).or_else(|error| refused(format!("its question: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed() -> QuestionSet {
        let text = "{\"question\":\"a?\",\"expected\":\"1\",\"id\":\"x\"}\n{\"query\":{\"text\":\"b?\",\"fingerprint\":1.0},\"expected\":\"2\"}\n";
        let set = QuestionSet::parse("q", text.as_bytes()).unwrap();
        let mut next = 0;
        set.seal(|| {
            next += 1;
            Ok::<_, QuestionError>([next; 32])
        })
        .unwrap()
    }

    #[test]
    fn a_question_is_revealed_without_the_others_and_without_annotations() {
        let (set, scorer) = (sealed(), "substring/v2".parse().unwrap());
        for position in [1, 2] {
            let reveal = Reveal::of(&set, position, &scorer).unwrap();
            let bytes = reveal.encode().unwrap();
            assert!(Reveal::is_begun_by(&bytes));
            assert_eq!(Reveal::parse(&bytes).unwrap(), reveal);
            reveal.verify().unwrap();
            let text = String::from_utf8(bytes).unwrap();
            assert!(!text.contains("\\\"id\\\"") && text.contains("salt"), "{text}");
            assert!(text.contains(["a?", "b?"][position - 1]) && !text.contains(["b?", "a?"][position - 1]), "{text}");
        }
        assert!(matches!(Reveal::of(&set, 3, &scorer), Err(QuestionError::NoSuchLeaf { position: 3, n: 2 })));
        let open = QuestionSet::parse("q", &b"{\"question\":\"a?\",\"expected\":\"1\"}\n"[..]).unwrap();
        let error = Reveal::of(&open, 1, &scorer).unwrap_err().to_string();
        assert_eq!(error, "not a revealed question: the set has no salts, so it cannot have been sealed");
    }

    #[test]
    fn what_does_not_hold_is_told_from_what_is_malformed() {
        let scorer = "substring/v2".parse().unwrap();
        let good = String::from_utf8(Reveal::of(&sealed(), 1, &scorer).unwrap().encode().unwrap()).unwrap();
        let verified = |text: &str| Reveal::parse(text.as_bytes()).unwrap().verify().unwrap_err();
        assert!(matches!(
            verified(&good.replace("\"position\":1", "\"position\":2")),
            QuestionError::NotRevealed { .. }
        ));
        assert!(matches!(
            verified(&good.replace("\"position\":1", "\"position\":3")),
            QuestionError::NoSuchLeaf { .. }
        ));
        assert!(matches!(verified(&good.replace("a?", "c?")), QuestionError::NotRevealed { .. }));
        assert!(matches!(verified(&good.replace("substring/v2", "exact/v1")), QuestionError::OtherSet { .. }));
        for bad in [
            good.replace("reveal.v1", "reveal.v2"),
            good.replace("\\\"expected\\\"", "\\\"id\\\":\\\"x\\\",\\\"expected\\\""),
            good.replace("{\\\"expected\\\":\\\"1\\\",", "{"),
            good.replace("\"position\":1", "\"position\":-1"),
            good.replace("{\"leaves\":[\"", "{\"leaves\":[\"x"),
            format!("{good}\n"),
            "{\"leaves\":[]}".to_owned(),
        ] {
            assert!(Reveal::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
