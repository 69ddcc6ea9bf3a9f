//! The lines that a system process reads and writes: one JSON object a line, `docs/evaluate.md`.

use super::outcome::{Fault, Outcome};
use crate::object::{Fields, Json, parse};
use crate::question::Question;

/// The longest answer line, in bytes without its line feed (1 MiB).
pub(super) const MAX_ANSWER_BYTES: usize = 1 << 20;

/// The most JSON values that one answer may hold.
const MAX_ANSWER_VALUES: usize = 1000;

/// What the system is asked: the query and an id, and that this is read-only; never what is expected.
pub(super) fn question_line(id: &str, question: &Question, max_cost: Option<f64>) -> Vec<u8> {
    let query = question.query();
    let text = |text: &str| Json::String(text.to_owned());
    let mut members = vec![
        ("id", text(id)),
        (
            "query",
            object(vec![
                ("expected_output", query.expected_output().cloned().unwrap_or(Json::Null)),
                ("fingerprint", query.fingerprint().clone()),
                ("scope", text(query.scope())),
                ("task", text(query.task())),
                ("text", text(query.text())),
            ]),
        ),
        ("read_only", Json::Bool(true)),
    ];
    members.extend(max_cost.map(|units| ("max_cost", Json::Float(units))));
    // The values were read from JSON, so they can be written as such.
    let mut line = serde_json::to_vec(&object(members)).unwrap_or_default();
    line.push(b'\n');
    line
}

/// Reads an answer `{"id", "reply", "receipt"?}` to the question of this id. Without a receipt a reply is an answer, and
/// `null` is none.
pub(super) fn parse_answer(line: &[u8], id: &str) -> Result<Outcome, (Fault, String)> {
    let malformed = |reason: String| (Fault::Malformed, format!("the line is no answer: {reason}"));
    let json = parse(line).map_err(|error| malformed(error.to_string()))?;
    if json.count() > MAX_ANSWER_VALUES {
        return Err(malformed(format!("it holds more than {MAX_ANSWER_VALUES} values")));
    }
    let (answers, reply, receipt) = members(&json).map_err(|error| malformed(error.to_string()))?;
    if answers != id {
        return Err((Fault::OutOfOrder, "the line answers another question than the one that was asked".to_owned()));
    }
    let receipt = receipt.unwrap_or_else(|| {
        let status = if reply.is_some() { "answered" } else { "failed" };
        object(vec![("status", Json::String(status.to_owned()))])
    });
    Outcome::answered(reply, receipt).map_err(|error| malformed(error.to_string()))
}

type Members<'a> = (&'a str, Option<String>, Option<Json>);

fn members(json: &Json) -> Result<Members<'_>, crate::object::FieldError> {
    let mut fields = Fields::of("", json)?;
    let id = fields.string("id")?;
    let reply = match fields.required("reply")? {
        Json::Null => None,
        Json::String(text) => Some(text.clone()),
        other => return Err(fields.wrong("reply", "a string or null", other)),
    };
    let receipt = fields.optional("receipt").cloned();
    fields.finish()?;
    Ok((id, reply, receipt))
}

/// An object of these members.
pub(super) fn object(members: Vec<(&str, Json)>) -> Json {
    Json::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::{Answer, QuestionSet};

    #[test]
    fn a_question_shows_the_query_and_nothing_of_the_key() {
        let record = br#"{"query":{"text":"2+2?","task":"sum","fingerprint":[1,1.0]},"expected":"CANARY","id":"CANARY","cluster":"CANARY","must_pass":true}"#;
        let set = QuestionSet::parse("q", record.as_slice()).unwrap();
        let line = String::from_utf8(question_line("ab", &set.questions()[0], None)).unwrap();
        let query = r#"{"expected_output":null,"fingerprint":[1,1.0],"scope":"local","task":"sum","text":"2+2?"}"#;
        assert_eq!(line, format!("{{\"id\":\"ab\",\"query\":{query},\"read_only\":true}}\n"));
        let line = String::from_utf8(question_line("ab", &set.questions()[0], Some(0.5))).unwrap();
        assert!(line.ends_with("\"read_only\":true,\"max_cost\":0.5}\n"), "{line}");
    }

    #[test]
    fn answers_are_read_and_everything_else_is_a_named_failure() {
        let read = |line: &str| parse_answer(line.as_bytes(), "ab");
        let grounded = |line: &str| {
            let record = read(line).unwrap().record(None);
            Answer::parse(&record).unwrap().receipt().grounded()
        };
        assert!(grounded(r#"{"id":"ab","reply":"4"}"#));
        assert!(!grounded(r#"{"id":"ab","reply":null}"#));
        assert!(grounded(r#"{"id":"ab","reply":"4","receipt":{"status":"answered","trace":[1]}}"#));
        assert!(!grounded(r#"{"id":"ab","reply":"4","receipt":{"status":"answered","degraded_mode":"x"}}"#));
        let many = format!(
            "{{\"id\":\"ab\",\"reply\":\"4\",\"receipt\":{{\"status\":\"answered\",\"x\":[{}1]}}}}",
            "1,".repeat(1000)
        );
        for (line, fault, reason) in [
            ("", Fault::Malformed, "no answer"),
            ("nonsense", Fault::Malformed, "no answer"),
            ("[]", Fault::Malformed, "must be an object"),
            (r#"{"reply":"4"}"#, Fault::Malformed, "`id`: is missing"),
            (r#"{"id":"ab"}"#, Fault::Malformed, "`reply`: is missing"),
            (r#"{"id":"ab","reply":4}"#, Fault::Malformed, "must be a string or null"),
            (r#"{"id":"ab","reply":"4","x":1}"#, Fault::Malformed, "`x`: is not a known field"),
            (r#"{"id":"ab","reply":"4","receipt":{}}"#, Fault::Malformed, "`receipt.status`: is missing"),
            (r#"{"id":"ab","reply":"4","reply":"5"}"#, Fault::Malformed, "occurs twice"),
            (many.as_str(), Fault::Malformed, "more than 1000 values"),
            (r#"{"id":"ac","reply":"4"}"#, Fault::OutOfOrder, "another question"),
        ] {
            let (found, text) = read(line).unwrap_err();
            assert!(found == fault && text.contains(reason), "{line}: {found} {text}");
        }
    }
}
