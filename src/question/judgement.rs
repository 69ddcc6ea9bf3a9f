//! Recorded judgements of a judge that does not run here: `{"id"?: …, "correct": bool, "credit"?: number}`, one a question.

use std::io::BufRead;

use super::QuestionError;
use super::keyed::{Keyed, Order, join, read, refuse_partial_ids};
use super::record::label;
use super::set::QuestionSet;
use crate::object::{FieldError, Fields, Json};

/// What a judge said about one answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    id: Option<String>,
    correct: bool,
    credit: f64,
}

/// The judgements of one file: at least one; ids on all or none, and unique.
#[derive(Debug, Clone, PartialEq)]
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

    /// What an answer that is not right is worth all the same: 0, or above 0 and below 1.
    pub fn credit(&self) -> f64 {
        self.credit
    }

    /// Reads a record.
    pub fn parse(record: &Json) -> Result<Self, FieldError> {
        let mut fields = Fields::of("", record)?;
        let id = label("id", fields.optional_string("id")?)?;
        let correct = fields.optional_bool("correct")?;
        let correct = correct.ok_or_else(|| FieldError::new("correct", "is missing"))?;
        let credit = if fields.has("credit") { partial(&mut fields, correct)? } else { 0.0 };
        fields.finish()?;
        Ok(Self { id, correct, credit })
    }
}

/// Credit stands beside a judgement only where it says something: of an answer that is neither right nor worth nothing.
fn partial(fields: &mut Fields<'_>, correct: bool) -> Result<f64, FieldError> {
    let credit = fields.number("credit")?;
    if correct {
        return Err(FieldError::new("credit", "stands beside an answer that is right"));
    }
    if credit > 0.0 && credit < 1.0 {
        return Ok(credit);
    }
    Err(FieldError::new("credit", "must be above 0 and below 1"))
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
        let judgements =
            pairs.map(|(question, correct)| Judgement { id: id(question.id()), correct: *correct, credit: 0.0 });
        Some(Self { file: file.to_owned(), judgements: judgements.collect() })
    }

    /// Canonical JSON (RFC 8785), one judgement a line; [`Judgements::parse`] reads it back. Judgements that were made here
    /// have no partial credit.
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

    /// The judgements, in the order in which they stand.
    pub fn as_slice(&self) -> &[Judgement] {
        &self.judgements
    }

    pub(super) fn order(&self) -> Order<'_> {
        Order { file: &self.file, ids: self.judgements.iter().map(Judgement::id).collect() }
    }

    /// The judgements in the order of the questions; joined as answers are.
    pub fn join(self, questions: &QuestionSet) -> Result<Vec<Judgement>, QuestionError> {
        Ok(join(&self.file, self.judgements, &questions.into())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn questions(ids: &[&str]) -> QuestionSet {
        let line = |id: &&str| format!("{{\"question\":\"q\",\"expected\":\"a\",\"id\":{}}}\n", serde_json::json!(id));
        QuestionSet::parse("q.jsonl", ids.iter().map(line).collect::<String>().as_bytes()).unwrap()
    }

    #[test]
    fn judgements_are_written_and_read_back() {
        let named = questions(&["é\"", "y"]);
        let judgements = Judgements::of("j.jsonl", &named, &[true, false]).unwrap();
        let text = judgements.encode();
        assert_eq!(
            String::from_utf8_lossy(&text),
            "{\"correct\":true,\"id\":\"é\\\"\"}\n{\"correct\":false,\"id\":\"y\"}\n"
        );
        let again = Judgements::parse("j.jsonl", text.as_slice()).unwrap();
        assert_eq!(again, judgements);
        let correct = |judgements: Vec<Judgement>| judgements.iter().map(Judgement::correct).collect::<Vec<_>>();
        assert_eq!(correct(again.join(&named).unwrap()), [true, false]);
        assert!(Judgements::of("j.jsonl", &named, &[true]).is_none());

        let unnamed = QuestionSet::parse("q.jsonl", &b"{\"question\":\"q\",\"expected\":\"a\"}\n"[..]).unwrap();
        assert_eq!(Judgements::of("j.jsonl", &unnamed, &[true]).unwrap().encode(), b"{\"correct\":true}\n");
    }

    #[test]
    fn judgements_join_as_answers_do() {
        let judge = |text: &str| {
            let judgements = Judgements::parse("j.jsonl", text.as_bytes());
            judgements
                .and_then(|judgements| judgements.join(&questions(&["x", "y"])))
                .map(|judgements| judgements.iter().map(Judgement::correct).collect::<Vec<_>>())
                .map_err(|error| error.to_string())
        };
        assert_eq!(judge("{\"id\":\"y\",\"correct\":true}\n{\"correct\":false,\"id\":\"x\"}"), Ok(vec![false, true]));
        assert_eq!(judge("{\"correct\":true}\n{\"correct\":false}"), Ok(vec![true, false]));
        assert_eq!(judge("{\"id\":\"y\",\"correct\":true}").unwrap_err(), "j.jsonl: has no judgement for `x`");
        assert_eq!(
            judge("{\"correct\":1}").unwrap_err(),
            "j.jsonl:1: field `correct`: must be a boolean, not an integer"
        );
        assert_eq!(judge("{}").unwrap_err(), "j.jsonl:1: field `correct`: is missing");
        assert_eq!(
            judge("{\"correct\":true,\"why\":\"\"}").unwrap_err(),
            "j.jsonl:1: field `why`: is not a known field"
        );
        assert_eq!(judge("").unwrap_err(), "j.jsonl: holds no judgements");
    }

    #[test]
    fn credit_is_for_answers_in_between() {
        let read = |text: &str| {
            let judgements = Judgements::parse("j.jsonl", text.as_bytes()).map_err(|error| error.to_string());
            judgements.map(|judgements| judgements.as_slice()[0].credit())
        };
        assert_eq!(read("{\"correct\":false,\"credit\":0.25}"), Ok(0.25));
        assert_eq!(read("{\"correct\":false}"), Ok(0.0));
        for credit in ["0", "1", "1.5", "-0.5"] {
            let text = format!("{{\"correct\":false,\"credit\":{credit}}}");
            assert_eq!(read(&text).unwrap_err(), "j.jsonl:1: field `credit`: must be above 0 and below 1");
        }
        let refusal = read("{\"correct\":true,\"credit\":0.5}").unwrap_err();
        assert_eq!(refusal, "j.jsonl:1: field `credit`: stands beside an answer that is right");
    }
}
