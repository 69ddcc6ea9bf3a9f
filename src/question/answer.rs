//! Recorded replies of a system: what it said and the receipt it gave, one a question.

use std::io::BufRead;

use super::QuestionError;
use super::judgement::Judgements;
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
        Ok(join(&self.file, self.answers, &questions.into())?)
    }

    /// The answers in the order of judgements, which stand in the order of the questions: for sets whose questions are
    /// withheld. Joined as to questions.
    pub fn join_judged(self, judgements: &Judgements) -> Result<Vec<Answer>, QuestionError> {
        Ok(join(&self.file, self.answers, &judgements.order())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWERED: &str = r#""receipt":{"status":"answered"}"#;

    fn questions(ids: &[&str]) -> QuestionSet {
        let line = |id: &&str| match *id {
            "" => "{\"question\":\"q\",\"expected\":\"a\"}\n".to_owned(),
            id => format!("{{\"question\":\"q\",\"expected\":\"a\",\"id\":\"{id}\"}}\n"),
        };
        QuestionSet::parse("q.jsonl", ids.iter().map(line).collect::<String>().as_bytes()).unwrap()
    }

    fn answers(ids: &[&str]) -> Result<Answers, QuestionError> {
        let lines = ids.iter().enumerate().map(|(at, id)| match *id {
            "" => format!("{{\"reply\":\"{at}\",{ANSWERED}}}\n"),
            id => format!("{{\"reply\":\"{at}\",{ANSWERED},\"id\":\"{id}\"}}\n"),
        });
        Answers::parse("a.jsonl", lines.collect::<String>().as_bytes())
    }

    fn replies(answer_ids: &[&str], question_ids: &[&str]) -> Result<String, String> {
        let joined = answers(answer_ids).and_then(|answers| answers.join(&questions(question_ids)));
        let joined = joined.map_err(|error| error.to_string())?;
        Ok(joined.iter().map(|answer| answer.reply().unwrap_or("-")).collect())
    }

    fn receipt(receipt: &str) -> Result<AnswerReceipt, String> {
        let text = format!("{{\"reply\":null,\"receipt\":{receipt}}}");
        let answers = Answers::parse("a.jsonl", text.as_bytes()).map_err(|error| error.to_string())?;
        Ok(answers.answers[0].receipt.clone())
    }

    #[test]
    fn answers_join_in_order_or_by_id() {
        assert_eq!(replies(&["", ""], &["", ""]), Ok("01".to_owned()));
        assert_eq!(replies(&["", ""], &["x", ""]), Ok("01".to_owned()));
        assert_eq!(replies(&["z", "x", "y"], &["x", "y", "z"]), Ok("120".to_owned()));
    }

    #[test]
    fn what_does_not_join_is_named() {
        let cases: [(&[&str], &[&str], &str); 8] = [
            (&[""], &["", ""], "a.jsonl: holds 1 answers without ids for the 2 questions of q.jsonl"),
            (&["", "", ""], &["", ""], "a.jsonl: holds 3 answers without ids for the 2 questions of q.jsonl"),
            (&["x"], &["x", "y", "z"], "a.jsonl: has no answer for `y`, `z`"),
            (&["x", "w"], &["x"], "a.jsonl:2: field `id`: no question has the id `w`"),
            (&["x", "x"], &["x", "y"], "a.jsonl:2: field `id`: `x` is already the id of line 1"),
            (&["x", ""], &["x", "y"], "a.jsonl:2: field `id`: is missing; line 1 has one, so all must"),
            (&["", "x"], &["x", "y"], "a.jsonl:2: field `id`: line 1 has none, so none may"),
            (
                &["x", "y"],
                &["x", ""],
                "q.jsonl:2: field `id`: the answers of a.jsonl are joined by id, so every question needs one",
            ),
        ];
        for (answer_ids, question_ids, message) in cases {
            assert_eq!(replies(answer_ids, question_ids), Err(message.to_owned()));
        }
    }

    #[test]
    fn receipts_are_read_as_mixle_reads_them() {
        let cases = [
            (r#"{"status":"answered"}"#, true, 0.0),
            (r#"{"status":"answered","degraded_mode":null,"spend":null}"#, true, 0.0),
            (r#"{"status":"answered","degraded_mode":"teacher_down","spend":{}}"#, false, 0.0),
            (r#"{"status":"answered","degraded_mode":""}"#, false, 0.0),
            (r#"{"status":"failed","spend":{"frontier_calls":2,"oracle_calls":0.5,"cpu":"much"}}"#, false, 2.5),
            (r#"{"status":"Answered","trace":[],"spend":{"oracle_calls":-0.0}}"#, false, 0.0),
        ];
        for (text, grounded, cost) in cases {
            let receipt = receipt(text).unwrap();
            assert_eq!((receipt.grounded(), receipt.spend().cost()), (grounded, cost), "{text}");
            assert!(receipt.spend().cost().is_sign_positive(), "{text}");
        }
    }

    #[test]
    fn receipts_that_are_not_are_refused() {
        let cases = [
            ("null", "a.jsonl:1: field `receipt`: must be an object, not null"),
            ("{}", "a.jsonl:1: field `receipt.status`: is missing"),
            (r#"{"status":null}"#, "a.jsonl:1: field `receipt.status`: must be a string, not null"),
            (
                r#"{"status":"a","degraded_mode":false}"#,
                "a.jsonl:1: field `receipt.degraded_mode`: must be a string or null, not a boolean",
            ),
            (r#"{"status":"a","spend":[]}"#, "a.jsonl:1: field `receipt.spend`: must be an object, not an array"),
            (
                r#"{"status":"a","spend":{"frontier_calls":-1}}"#,
                "a.jsonl:1: field `receipt.spend.frontier_calls`: must not be negative",
            ),
            (
                r#"{"status":"a","spend":{"oracle_calls":true}}"#,
                "a.jsonl:1: field `receipt.spend.oracle_calls`: must be a number, not a boolean",
            ),
            (
                r#"{"status":"a","spend":{"oracle_calls":null}}"#,
                "a.jsonl:1: field `receipt.spend.oracle_calls`: must be a number, not null",
            ),
        ];
        for (text, message) in cases {
            assert_eq!(receipt(text).unwrap_err(), message, "{text}");
        }
        let refusal = |text: &str| Answers::parse("a.jsonl", text.as_bytes()).unwrap_err().to_string();
        assert_eq!(refusal(""), "a.jsonl: holds no answers");
        assert_eq!(refusal(r#"{"reply":"x"}"#), "a.jsonl:1: field `receipt`: is missing");
        assert_eq!(refusal(&format!("{{{ANSWERED}}}")), "a.jsonl:1: field `reply`: is missing");
        assert_eq!(
            refusal(&format!("{{\"reply\":1,{ANSWERED}}}")),
            "a.jsonl:1: field `reply`: must be a string or null, not an integer"
        );
        assert_eq!(
            refusal(&format!("{{\"reply\":\"\",\"x\":1,{ANSWERED}}}")),
            "a.jsonl:1: field `x`: is not a known field"
        );
    }
}
