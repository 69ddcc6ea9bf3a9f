//! Recorded replies of a system: what it said and the receipt it gave, one a question.

use std::io::BufRead;

use super::QuestionError;
use super::keyed::{Keyed, join, read, refuse_partial_ids};
use super::record::label;
use super::set::QuestionSet;
use crate::object::{FieldError, Fields, Json};

/// One recorded reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    id: Option<String>,
    reply: Option<String>,
    receipt: AnswerReceipt,
}

/// What the system said about how it answered.
///
/// Members other than `status`, `degraded_mode` and `spend` are allowed and ignored, as in mixle, which puts more into
/// its receipts than its scorecard reads. Nowhere else in a record is an unknown member let pass.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerReceipt {
    status: String,
    degraded_mode: Option<String>,
    spend: Spend,
}

/// What an answer cost, in calls: finite numbers, zero or more, zero where nothing was said. Other members of `spend`
/// are allowed and do not count.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spend {
    frontier_calls: f64,
    oracle_calls: f64,
}

/// The recorded answers of one file, not yet joined to questions: at least one; ids on all or none, and unique.
#[derive(Debug, Clone)]
pub struct Answers {
    file: String,
    answers: Vec<Answer>,
}

impl Answer {
    /// The id of the question it answers, where answers are joined by id.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// What the system replied; `None` when it gave no reply.
    pub fn reply(&self) -> Option<&str> {
        self.reply.as_deref()
    }

    /// How the system says it answered.
    pub fn receipt(&self) -> &AnswerReceipt {
        &self.receipt
    }

    /// Reads a record `{"reply": string or null, "receipt": {"status", "degraded_mode"?, "spend"?}, "id"?}`.
    pub fn parse(record: &Json) -> Result<Self, FieldError> {
        let mut fields = Fields::of("", record)?;
        let reply = match fields.required("reply")? {
            Json::Null => None,
            Json::String(text) => Some(text.clone()),
            other => return Err(fields.wrong("reply", "a string or null", other)),
        };
        let receipt = AnswerReceipt::parse(fields.required("receipt")?)?;
        let id = label("id", fields.optional_string("id")?)?;
        fields.finish()?;
        Ok(Self { id, reply, receipt })
    }
}

impl AnswerReceipt {
    /// How it ended: `answered`, or anything else.
    pub fn status(&self) -> &str {
        &self.status
    }

    /// The fallback that was taken, if any.
    pub fn degraded_mode(&self) -> Option<&str> {
        self.degraded_mode.as_deref()
    }

    /// What it cost.
    pub fn spend(&self) -> Spend {
        self.spend
    }

    /// Whether the answer came from a real answer path: answered, in no degraded mode (mixle's rule).
    pub fn grounded(&self) -> bool {
        self.status == "answered" && self.degraded_mode.is_none()
    }

    fn parse(value: &Json) -> Result<Self, FieldError> {
        let mut fields = Fields::of("receipt", value)?;
        let status = fields.string("status")?.to_owned();
        let degraded_mode = match fields.optional("degraded_mode") {
            None | Some(Json::Null) => None,
            Some(Json::String(text)) => Some(text.clone()),
            Some(other) => return Err(fields.wrong("degraded_mode", "a string or null", other)),
        };
        let spend = match fields.optional("spend") {
            None | Some(Json::Null) => Spend::default(),
            Some(spend) => Spend::parse(spend)?,
        };
        Ok(Self { status, degraded_mode, spend })
    }
}

impl Spend {
    /// Calls of a frontier model.
    pub fn frontier_calls(self) -> f64 {
        self.frontier_calls
    }

    /// Calls of an oracle.
    pub fn oracle_calls(self) -> f64 {
        self.oracle_calls
    }

    /// What counts as cost: both kinds of call (mixle's rule). May be infinite when both are huge.
    pub fn cost(self) -> f64 {
        self.frontier_calls + self.oracle_calls
    }

    fn parse(value: &Json) -> Result<Self, FieldError> {
        let mut fields = Fields::of("receipt.spend", value)?;
        let mut calls = |name: &str| {
            if !fields.has(name) {
                return Ok(0.0);
            }
            let calls = fields.number(name)?;
            // -0.0 is no less than zero; adding zero gives it the sign of nothing.
            if calls < 0.0 {
                Err(FieldError::new(fields.name_of(name), "must not be negative"))
            } else {
                Ok(calls + 0.0)
            }
        };
        Ok(Self { frontier_calls: calls("frontier_calls")?, oracle_calls: calls("oracle_calls")? })
    }
}

impl Keyed for Answer {
    const NAME: &'static str = "answer";

    fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }
}

impl Answers {
    /// Reads recorded answers; `file` is what messages call them. Every refusal names file, line and field.
    pub fn parse(file: &str, input: impl BufRead) -> Result<Self, QuestionError> {
        let answers = read(file, input, "answers", Answer::parse)?;
        refuse_partial_ids(file, &answers)?;
        Ok(Self { file: file.to_owned(), answers })
    }

    /// How many answers there are; never zero.
    #[allow(clippy::len_without_is_empty)] // never empty
    pub fn len(&self) -> usize {
        self.answers.len()
    }

    /// The answers in the order of the questions: as they stand, or by id where they have ids. A question without an
    /// answer, an answer without a question and a wrong count are refused by name.
    pub fn join(self, questions: &QuestionSet) -> Result<Vec<Answer>, QuestionError> {
        Ok(join(&self.file, self.answers, questions)?)
    }
}
