//! An ordered set of questions, read from JSONL.

use std::io::BufRead;

use rayon::prelude::*;

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
        // Collected before it is looked at, so that of several refusals the first one is told.
        let leaves: Vec<_> = self.questions.par_iter().with_min_len(1024).map(Question::leaf).collect();
        let leaves = leaves.into_iter().enumerate();
        let leaves = leaves.map(|(at, leaf)| leaf.map_err(|error| self.refuse(at, error)));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: impl AsRef<[u8]>) -> String {
        QuestionSet::parse("q.jsonl", text.as_ref()).unwrap_err().to_string()
    }

    fn questions(text: &str) -> QuestionSet {
        QuestionSet::parse("q.jsonl", text.as_bytes()).unwrap()
    }

    #[test]
    fn hostile_records_are_refused_by_file_line_and_field() {
        let long_id = format!(r#"{{"question":"q","expected":"a","id":"{}"}}"#, "x".repeat(513));
        let cases: [(&[u8], &str); 34] = [
            (b"", "q.jsonl: holds no questions"),
            (b"[]", "q.jsonl:1: must be an object, not an array"),
            (b"{}", "q.jsonl:1: field `query`: is missing (or `question`, in the short form)"),
            (br#"{"question":"q"}"#, "q.jsonl:1: field `expected`: is missing"),
            (
                br#"{"question":"q","expected":NaN}"#,
                "q.jsonl:1: field `expected`: NaN and Infinity are not JSON numbers at column 28",
            ),
            (
                br#"{"query":{"text":"q","fingerprint":{"x":[0,-Infinity]}},"expected":"a"}"#,
                "q.jsonl:1: field `query.fingerprint.x[1]`: NaN and Infinity are not JSON numbers at column 45",
            ),
            (br#"{"question":"q","expected":"a","expected":"b"}"#, "q.jsonl:1: the key `expected` occurs twice"),
            (
                br#"{"query":{"text":"q","text":"r"},"expected":"a"}"#,
                "q.jsonl:1: field `query`: the key `text` occurs twice",
            ),
            (
                br#"{"question":"q","expected":"a","mustpass":true}"#,
                "q.jsonl:1: field `mustpass`: is not a known field",
            ),
            (
                br#"{"query":{"text":"q","texxt":"r"},"expected":"a"}"#,
                "q.jsonl:1: field `query.texxt`: is not a known field",
            ),
            (br#"{"question":"q","task":"qa","expected":"a"}"#, "q.jsonl:1: field `task`: is not a known field"),
            (
                br#"{"question":"q","query":{"text":"q"},"expected":"a"}"#,
                "q.jsonl:1: field `question`: stands beside `query`; a record has one of them",
            ),
            (br#"{"query":"q","expected":"a"}"#, "q.jsonl:1: field `query`: must be an object, not a string"),
            (br#"{"query":{},"expected":"a"}"#, "q.jsonl:1: field `query.text`: is missing"),
            (br#"{"query":{"text":null},"expected":"a"}"#, "q.jsonl:1: field `query.text`: must be a string, not null"),
            (br#"{"question":1,"expected":"a"}"#, "q.jsonl:1: field `question`: must be a string, not an integer"),
            (
                br#"{"query":{"text":"q","scope":null},"expected":"a"}"#,
                "q.jsonl:1: field `query.scope`: must be a string, not null",
            ),
            (
                br#"{"query":{"text":"q","expected_output":[]},"expected":"a"}"#,
                "q.jsonl:1: field `query.expected_output`: must be an object or null, not an array",
            ),
            (br#"{"question":"q","expected":4}"#, "q.jsonl:1: field `expected`: must be a string, not an integer"),
            (
                br#"{"question":"q","expected":""}"#,
                "q.jsonl:1: field `expected`: is blank; a blank answer cannot discriminate",
            ),
            (
                b"{\"question\":\"q\",\"expected\":\" \\u001c\\u0085\\u2003\"}",
                "q.jsonl:1: field `expected`: is blank; a blank answer cannot discriminate",
            ),
            (br#"{"question":"q","expected":"a","id":"\t"}"#, "q.jsonl:1: field `id`: is blank"),
            (br#"{"question":"q","expected":"a","id":null}"#, "q.jsonl:1: field `id`: must be a string, not null"),
            (
                br#"{"question":"q","expected":"a","id":"a\u001b[31m"}"#,
                "q.jsonl:1: field `id`: holds a control character",
            ),
            (long_id.as_bytes(), "q.jsonl:1: field `id`: is longer than 512 bytes"),
            (br#"{"question":"q","expected":"a","cluster":" "}"#, "q.jsonl:1: field `cluster`: is blank"),
            (
                br#"{"question":"q","expected":"a","must_pass":1}"#,
                "q.jsonl:1: field `must_pass`: must be a boolean, not an integer",
            ),
            (
                br#"{"question":"q","expected":"a","salt":"00"}"#,
                "q.jsonl:1: field `salt`: must be 64 lower-case hexadecimal digits",
            ),
            (
                b"\xef\xbb\xbf{\"question\":\"q\",\"expected\":\"a\"}",
                "q.jsonl:1: starts with a byte order mark (U+FEFF); save the file as UTF-8 without it",
            ),
            (
                b"{\"question\":\"q\",\"expected\":\"a\"}\r\n",
                "q.jsonl:1: the line ends in CR LF; save the file with LF line ends",
            ),
            (b"{\"question\":\"q\",\"expected\":\"a\"}\n\n", "q.jsonl:2: the line is blank"),
            (b"{\"question\":\"\xff\",\"expected\":\"a\"}", "q.jsonl:1: not valid UTF-8 at column 14"),
            (
                br#"{"query":{"text":"q","fingerprint":18446744073709551616},"expected":"a"}"#,
                "q.jsonl:1: field `query.fingerprint`: the integer is beyond 64 bits at column 36",
            ),
            (br#"{"question":"q","expected":"a"} {}"#, "q.jsonl:1: something follows the value at column 33"),
        ];
        for (text, message) in cases {
            assert_eq!(refusal(text), message, "{}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn ids_are_unique_and_salts_on_all_or_none() {
        let line = |rest: &str| format!("{{\"question\":\"q\",\"expected\":\"a\"{rest}}}\n");
        let salt = format!(r#","salt":"{}""#, "0f".repeat(32));
        let twice = [line(r#","id":"x""#), line(""), line(r#","id":"x""#)].concat();
        assert_eq!(refusal(twice), "q.jsonl:3: field `id`: `x` is already the id of line 1");
        let partial = [line(&salt), line("")].concat();
        assert_eq!(refusal(partial), "q.jsonl:2: field `salt`: is missing; line 1 has one, so all must");
        let partial = [line(""), line(&salt)].concat();
        assert_eq!(refusal(partial), "q.jsonl:2: field `salt`: line 1 has none, so none may");
        let sealed = questions(&line(&salt));
        assert!(sealed.is_sealed());
        let kept = sealed.clone().seal(|| Err("a salt is drawn"));
        assert_eq!(kept.unwrap().questions(), sealed.questions());
        assert_eq!(questions(&line("")).seal(|| Err("no randomness")).unwrap_err(), "no randomness");
    }

    #[test]
    fn integers_beyond_a_double_have_a_mixle_identity_only() {
        let scorer: ScorerIdentity = "exact/v1".parse().unwrap();
        let set = |fingerprint: &str| {
            questions(&format!(r#"{{"query":{{"text":"q","fingerprint":{fingerprint}}},"expected":"a"}}"#))
        };
        let reason =
            "the integer 9007199254740993 is beyond 2^53 - 1, which pm1 identities do not hold; write it as a string";
        let long = "n".repeat(65);
        for (fingerprint, field) in [
            (
                format!(r#"{{"{long}":9007199254740993}}"#).as_str(),
                format!("query.fingerprint.{}", &long[1..]).as_str(),
            ),
            ("9007199254740993", "query.fingerprint"),
            (r#"{"b":1,"a":[true,{"x y":9007199254740993}]}"#, "query.fingerprint.a[1].x y"),
        ] {
            let set = set(fingerprint);
            assert_eq!(
                set.id(Scheme::Pm1, &scorer).unwrap_err().to_string(),
                format!("q.jsonl:1: field `{field}`: {reason}")
            );
            assert!(set.id(Scheme::Mixle, &scorer).is_ok());
        }
        assert!(set("[9007199254740991,-9007199254740991]").id(Scheme::Pm1, &scorer).is_ok());
        assert!(set("-9007199254740992").leaves().is_err());
    }

    #[test]
    fn what_is_written_is_the_long_form_without_defaults() {
        let text = concat!(
            r#"{"must_pass":false,"question":"a\u002f","expected":" x "}"#,
            "\n",
            r#"{"query":{"text":"","task":"qa","scope":"local","fingerprint":{"b":1.0,"a":-0.0,"c":18446744073709551615}},"#,
            r#""expected":"é","id":"q","cluster":"c","must_pass":true}"#,
        );
        let written = concat!(
            r#"{"expected":" x ","query":{"text":"a/"}}"#,
            "\n",
            r#"{"cluster":"c","expected":"é","id":"q","must_pass":true,"#,
            r#""query":{"fingerprint":{"a":-0.0,"b":1.0,"c":18446744073709551615},"task":"qa","text":""}}"#,
            "\n",
        );
        assert_eq!(String::from_utf8(questions(text).encode().unwrap()).unwrap(), written);
    }
}
