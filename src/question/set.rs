//! An ordered set of questions, read from JSONL.

use std::io::BufRead;

use super::QuestionError;
use super::identity::{QuestionSetId, Scheme, ScorerIdentity};
use super::keyed::{read, refuse_duplicate_ids};
use super::leaf::Leaves;
use super::mixle::MixleIdentity;
use super::record::Question;
use crate::object::{FieldError, RecordError};

/// An ordered list of questions: 1 to [`MAX_RECORDS`](crate::object::MAX_RECORDS), ids unique, salted all or none.
///
/// Every line is a record, so the question at index `i` stands in line `i + 1` and is called `#i+1` where it has no id.
#[derive(Debug, Clone)]
pub struct QuestionSet {
    file: String,
    questions: Vec<Question>,
}

impl QuestionSet {
    /// Reads a question set; `file` is what messages call it. Every refusal names file, line and field.
    pub fn parse(file: &str, input: impl BufRead) -> Result<Self, QuestionError> {
        let questions = read(file, input, "questions", Question::parse)?;
        refuse_duplicate_ids(file, questions.iter().map(Question::id))?;
        refuse_partial_salts(file, &questions)?;
        Ok(Self { file: file.to_owned(), questions })
    }

    /// The set as JSONL, one [`Question::encode`] a line: what is read back has the same identities and annotations.
    pub fn encode(&self) -> Result<Vec<u8>, QuestionError> {
        let mut text = Vec::new();
        for (at, question) in self.questions.iter().enumerate() {
            serde_json::to_writer(&mut text, &question.encode())
                .map_err(|error| self.refuse(at, FieldError::new("", error.to_string())))?;
            text.push(b'\n');
        }
        Ok(text)
    }

    /// What messages call the set.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The questions, in order.
    pub fn questions(&self) -> &[Question] {
        &self.questions
    }

    /// The questions, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Question> {
        self.questions.iter()
    }

    /// How many questions there are; never zero.
    #[allow(clippy::len_without_is_empty)] // a set is never empty
    pub fn len(&self) -> usize {
        self.questions.len()
    }

    /// Whether the questions are salted.
    pub fn is_sealed(&self) -> bool {
        self.questions.first().is_some_and(|question| question.salt().is_some())
    }

    /// The set with a salt on every question, drawn in order; a set that has salts keeps them. Salts must be secret and
    /// random: they are what keeps a short question from being guessed.
    pub fn seal<E>(self, mut draw: impl FnMut() -> Result<[u8; 32], E>) -> Result<Self, E> {
        if self.is_sealed() {
            return Ok(self);
        }
        let questions = self.questions.into_iter().map(|question| Ok(question.salted(draw()?)));
        Ok(Self { file: self.file, questions: questions.collect::<Result<_, E>>()? })
    }

    /// The leaves of the questions, salted where the set is sealed. Refuses integers beyond 2^53 - 1, naming file, line
    /// and field.
    pub fn leaves(&self) -> Result<Leaves, QuestionError> {
        let leaves = self.questions.iter().enumerate();
        let leaves = leaves.map(|(at, question)| question.leaf().map_err(|error| self.refuse(at, error)));
        Ok(Leaves::from_questions(leaves.collect::<Result<_, _>>()?))
    }

    /// The identity of the set under a scheme and a scorer. `pm1` refuses what [`QuestionSet::leaves`] refuses; `mixle`
    /// refuses nothing and does not see salts.
    pub fn id(&self, scheme: Scheme, scorer: &ScorerIdentity) -> Result<QuestionSetId, QuestionError> {
        match scheme {
            Scheme::Pm1 => Ok(self.leaves()?.id(scorer)),
            Scheme::Mixle => {
                let mut identity = MixleIdentity::new(scorer);
                self.questions.iter().for_each(|question| identity.add(question));
                Ok(identity.finish())
            }
        }
    }

    /// A refusal of the question at this index, naming file and line.
    pub fn refuse(&self, index: usize, error: FieldError) -> RecordError {
        RecordError::new(&self.file, index + 1, error)
    }
}

impl<'a> IntoIterator for &'a QuestionSet {
    type Item = &'a Question;
    type IntoIter = std::slice::Iter<'a, Question>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

fn refuse_partial_salts(file: &str, questions: &[Question]) -> Result<(), RecordError> {
    let sealed = questions.first().is_some_and(|question| question.salt().is_some());
    let Some(at) = questions.iter().position(|question| question.salt().is_some() != sealed) else { return Ok(()) };
    let reason = if sealed { "is missing; line 1 has one, so all must" } else { "line 1 has none, so none may" };
    Err(RecordError::new(file, at + 1, FieldError::new("salt", reason)))
}
