//! What a chat endpoint is sent for a question: messages with places for the query, and settings.

use super::EvaluateError;
use super::protocol::object;
use crate::object::{FieldError, Fields, Json, encode_json, parse};
use crate::question::Query;

/// Places in a message, and what stands there.
const PLACES: [&str; 5] = ["text", "task", "scope", "fingerprint", "expected_output"];

/// Members of a request that are not settings.
const NOT_SETTINGS: [&str; 4] = ["messages", "model", "n", "stream"];

/// The messages of a request; in their text `{{text}}`, `{{task}}`, `{{scope}}`, `{{fingerprint}}` and
/// `{{expected_output}}` stand for members of the query, the last two as JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct Template(Vec<Message>);

#[derive(Debug, Clone, PartialEq)]
struct Message {
    role: String,
    content: String,
}

impl Default for Template {
    /// The question's text as the user's only message.
    fn default() -> Self {
        Self(vec![Message { role: "user".to_owned(), content: "{{text}}".to_owned() }])
    }
}

impl Template {
    /// Reads `[{"role": "…", "content": "…"}, …]`. A place that is none, and a template without `{{text}}`, are refused.
    pub fn parse(text: &[u8]) -> Result<Self, EvaluateError> {
        let refused = |reason: String| EvaluateError::Template { reason };
        let json = parse(text).map_err(|error| refused(error.to_string()))?;
        let Json::Array(items) = &json else {
            return Err(refused(format!("must be an array of messages, not {}", json.kind())));
        };
        let messages = items.iter().enumerate().map(|(at, item)| message(&format!("[{at}]"), item));
        let template = Self(messages.collect::<Result<_, _>>().map_err(|error| refused(error.to_string()))?);
        if !template.0.iter().any(|message| message.content.contains("{{text}}")) {
            return Err(refused("asks nothing: `{{text}}` stands in no message".to_owned()));
        }
        Ok(template)
    }

    /// The template as it was written.
    pub fn encode(&self) -> Json {
        self.messages(str::to_owned)
    }

    /// The messages that ask this query. What stands in the query is not looked at for places.
    pub(super) fn fill(&self, query: &Query) -> Json {
        self.messages(|content| {
            let mut filled = String::new();
            let mut rest = content;
            while let Some((before, after)) = rest.split_once("{{") {
                filled.push_str(before);
                let (place, after) = after.split_once("}}").unwrap_or((after, ""));
                filled.push_str(&value(query, place));
                rest = after;
            }
            filled + rest
        })
    }

    fn messages(&self, content: impl Fn(&str) -> String) -> Json {
        let one = |message: &Message| {
            let text = Json::String(content(&message.content));
            object(vec![("role", Json::String(message.role.clone())), ("content", text)])
        };
        Json::Array(self.0.iter().map(one).collect())
    }
}

fn message(path: &str, item: &Json) -> Result<Message, FieldError> {
    let mut fields = Fields::of(path, item)?;
    let (role, content) = (fields.string("role")?.to_owned(), fields.string("content")?.to_owned());
    fields.finish()?;
    let mut rest = content.as_str();
    while let Some((_, after)) = rest.split_once("{{") {
        let place = after.split_once("}}").filter(|(place, _)| PLACES.contains(place));
        let Some((_, after)) = place else {
            let known = PLACES.map(|place| format!("{{{{{place}}}}}")).join(", ");
            return Err(FieldError::new(
                format!("{path}.content"),
                format!("`{{{{` begins no place; there are {known}"),
            ));
        };
        rest = after;
    }
    Ok(Message { role, content })
}

fn value(query: &Query, place: &str) -> String {
    let json = |value: &Json| String::from_utf8(encode_json(value).unwrap_or_default()).unwrap_or_default();
    match place {
        "text" => query.text().to_owned(),
        "task" => query.task().to_owned(),
        "scope" => query.scope().to_owned(),
        "fingerprint" => json(query.fingerprint()),
        _ => query.expected_output().map_or_else(|| "null".to_owned(), json),
    }
}

/// Generation settings that go into every request as they are, as in `temperature`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Generation(Vec<(String, Json)>);

impl Generation {
    /// Reads settings `NAME=JSON`; each name once, and none that is not a setting.
    pub fn parse(settings: &[String]) -> Result<Self, EvaluateError> {
        let mut read = Self::default();
        for setting in settings {
            let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
            let refused = |reason: String| EvaluateError::Setting { name: name.to_owned(), reason };
            if name.is_empty() || NOT_SETTINGS.contains(&name) {
                return Err(refused("is not one that can be set".to_owned()));
            }
            if read.0.iter().any(|(known, _)| known == name) {
                return Err(refused("is set twice".to_owned()));
            }
            let value = parse(value.as_bytes())
                .map_err(|error| refused(format!("must be JSON, as in {name}=0 or {name}='\"text\"': {error}")))?;
            encode_json(&value).map_err(|error| refused(format!("cannot be recorded: {error}")))?;
            read.0.push((name.to_owned(), value));
        }
        read.0.sort_by(|(left, _), (right, _)| left.cmp(right));
        Ok(read)
    }

    /// The settings, by name.
    pub fn members(&self) -> &[(String, Json)] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::QuestionSet;

    fn refusal(text: &str) -> String {
        Template::parse(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn places_are_filled_once_and_only_those_that_are() {
        let text = r#"[{"role":"system","content":"Be brief."},{"role":"user","content":"{{task}}: {{text}} {{expected_output}}{{fingerprint}}{{scope}}}}"}]"#;
        let template = Template::parse(text.as_bytes()).unwrap();
        assert_eq!(Template::parse(&encode_json(&template.encode()).unwrap()).unwrap(), template);
        let record = r#"{"query":{"text":"what is {{task}}?","task":"qa","expected_output":{"a":1}},"expected":"x"}"#;
        let set = QuestionSet::parse("q", record.as_bytes()).unwrap();
        let filled = String::from_utf8(encode_json(&template.fill(set.questions()[0].query())).unwrap()).unwrap();
        assert!(filled.contains(r#""content":"qa: what is {{task}}? {\"a\":1}nulllocal}}""#), "{filled}");
        assert!(filled.contains("Be brief."));
    }

    #[test]
    fn a_template_that_asks_nothing_or_anything_else_is_refused() {
        for (text, reason) in [
            ("{}", "the template: must be an array of messages, not an object"),
            ("[]", "the template: asks nothing: `{{text}}` stands in no message"),
            (r#"[{"role":"user","content":"hi"}]"#, "the template: asks nothing"),
            (r#"[{"role":"user"}]"#, "the template: field `[0].content`: is missing"),
            (r#"[{"role":"user","content":"{{text}} {{expected}}"}]"#, "`{{` begins no place; there are {{text}}"),
            (r#"[{"role":"user","content":"{{text"}]"#, "`{{` begins no place"),
            (r#"[{"role":"user","content":"{{text}}","x":1}]"#, "field `[0].x`: is not a known field"),
        ] {
            assert!(refusal(text).contains(reason), "{text}: {}", refusal(text));
        }
    }

    #[test]
    fn settings_are_json_and_leave_the_request_alone() {
        let parse = |settings: &[&str]| {
            Generation::parse(&settings.iter().map(|setting| (*setting).to_owned()).collect::<Vec<_>>())
        };
        let read = parse(&["temperature=0.5", "stop=[\"x\"]", "max_tokens=10"]).unwrap();
        assert_eq!(
            read.members().iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
            ["max_tokens", "stop", "temperature"]
        );
        for (settings, reason) in [
            (&["model=\"x\""][..], "the setting `model` is not one that can be set"),
            (&["=1"], "the setting `` is not one that can be set"),
            (&["a=1", "a=2"], "the setting `a` is set twice"),
            (&["a=x"], "the setting `a` must be JSON"),
            (&["a"], "the setting `a` must be JSON"),
        ] {
            assert!(parse(settings).unwrap_err().to_string().starts_with(reason), "{settings:?}");
        }
    }
}
