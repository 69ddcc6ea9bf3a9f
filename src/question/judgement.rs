//! Recorded judgements of a judge that does not run here: `{"id"?: …, "correct": bool}`, one a question.

use std::io::BufRead;

use super::QuestionError;
use super::keyed::{Keyed, join, read, refuse_partial_ids};
use super::record::label;
use super::set::QuestionSet;
use crate::object::{FieldError, Fields, Json};

/// What a judge said about one answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    id: Option<String>,
    correct: bool,
}

/// The judgements of one file: at least one; ids on all or none, and unique.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgements {
    file: String,
    judgements: Vec<Judgement>,
}

impl Judgement {
    /// The id of the question, where judgements are joined by id.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Whether the answer was judged right.
    pub fn correct(&self) -> bool {
        self.correct
    }

    /// Reads a record.
    pub fn parse(record: &Json) -> Result<Self, FieldError> {
        let mut fields = Fields::of("", record)?;
        let id = label("id", fields.optional_string("id")?)?;
        let correct = fields.optional_bool("correct")?;
        let correct = correct.ok_or_else(|| FieldError::new("correct", "is missing"))?;
        fields.finish()?;
        Ok(Self { id, correct })
    }
}

impl Keyed for Judgement {
    const NAME: &'static str = "judgement";

    fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }
}

impl Judgements {
    /// Reads recorded judgements; `file` is what messages call them. Every refusal names file, line and field.
    pub fn parse(file: &str, input: impl BufRead) -> Result<Self, QuestionError> {
        let judgements = read(file, input, "judgements", Judgement::parse)?;
        refuse_partial_ids(file, &judgements)?;
        Ok(Self { file: file.to_owned(), judgements })
    }

    /// What a judge said about each question of a set, in order: the form in which judgements become evidence. Ids are
    /// written where every question has one. `None` unless there is exactly one for every question.
    pub fn of(file: &str, questions: &QuestionSet, correct: &[bool]) -> Option<Self> {
        if correct.len() != questions.len() {
            return None;
        }
        let named = questions.iter().all(|question| question.id().is_some());
        let id = |id: Option<&str>| id.filter(|_| named).map(str::to_owned);
        let pairs = questions.iter().zip(correct);
        let judgements = pairs.map(|(question, correct)| Judgement { id: id(question.id()), correct: *correct });
        Some(Self { file: file.to_owned(), judgements: judgements.collect() })
    }

    /// Canonical JSON (RFC 8785), one judgement a line; [`Judgements::parse`] reads it back.
    pub fn encode(&self) -> Vec<u8> {
        let mut text = String::new();
        for judgement in &self.judgements {
            text.push_str(if judgement.correct { "{\"correct\":true" } else { "{\"correct\":false" });
            if let Some(id) = &judgement.id {
                text.push_str(",\"id\":");
                text.push_str(&serde_json::Value::from(id.as_str()).to_string());
            }
            text.push_str("}\n");
        }
        text.into_bytes()
    }

    /// Whether each answer was judged right, in the order of the questions; joined as answers are.
    pub fn join(self, questions: &QuestionSet) -> Result<Vec<bool>, QuestionError> {
        let judgements = join(&self.file, self.judgements, questions)?;
        Ok(judgements.iter().map(Judgement::correct).collect())
    }
}
