//! What a system is asked: mixle's five members, with the defaults filled in.

use super::mixle::Canonical;
use crate::object::{self, FieldError, Fields, Json, MAX_SAFE_INTEGER};

/// The scope of a query that names none.
pub const DEFAULT_SCOPE: &str = "local";

/// What a system is asked. Two queries are the same when all five members are, absent ones holding their defaults.
///
/// Member order inside `fingerprint` and `expected_output` carries no meaning and is not kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    text: String,
    task: String,
    fingerprint: Json,
    expected_output: Option<Json>,
    scope: String,
}

impl Query {
    /// The question itself; may be blank, as in mixle.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The kind of task; empty by default.
    pub fn task(&self) -> &str {
        &self.task
    }

    /// Any JSON value that tells this query apart; `null` by default. Members are sorted by name.
    pub fn fingerprint(&self) -> &Json {
        &self.fingerprint
    }

    /// The schema that the reply must follow: an object, its members sorted by name, or nothing (the default).
    pub fn expected_output(&self) -> Option<&Json> {
        self.expected_output.as_ref()
    }

    /// The routing boundary; `local` by default.
    pub fn scope(&self) -> &str {
        &self.scope
    }

    /// A query that has a text and defaults: what the short form says.
    pub(super) fn from_text(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            task: String::new(),
            fingerprint: Json::Null,
            expected_output: None,
            scope: DEFAULT_SCOPE.to_owned(),
        }
    }

    /// Reads the member `query` of a record in the long form.
    pub(super) fn parse(value: &Json) -> Result<Self, FieldError> {
        let mut fields = Fields::of("query", value)?;
        let mut query = Self::from_text(fields.string("text")?);
        if let Some(task) = fields.optional_string("task")? {
            task.clone_into(&mut query.task);
        }
        if let Some(scope) = fields.optional_string("scope")? {
            scope.clone_into(&mut query.scope);
        }
        if let Some(fingerprint) = fields.optional("fingerprint") {
            query.fingerprint = sorted(fingerprint);
        }
        query.expected_output = match fields.optional("expected_output") {
            None | Some(Json::Null) => None,
            Some(object @ Json::Object(_)) => Some(sorted(object)),
            Some(other) => return Err(fields.wrong("expected_output", "an object or null", other)),
        };
        fields.finish()?;
        Ok(query)
    }

    /// As a record writes it: members that hold their default are left out.
    pub(super) fn encode(&self) -> Json {
        let mut members = Vec::new();
        if let Some(schema) = &self.expected_output {
            members.push(("expected_output".to_owned(), schema.clone()));
        }
        if self.fingerprint != Json::Null {
            members.push(("fingerprint".to_owned(), self.fingerprint.clone()));
        }
        if self.scope != DEFAULT_SCOPE {
            members.push(("scope".to_owned(), Json::String(self.scope.clone())));
        }
        if !self.task.is_empty() {
            members.push(("task".to_owned(), Json::String(self.task.clone())));
        }
        members.push(("text".to_owned(), Json::String(self.text.clone())));
        Json::Object(members)
    }

    /// Canonical JSON with all five members, defaults filled in; an integer that a double does not hold is refused,
    /// naming the place.
    pub(super) fn canonical(&self) -> Result<Vec<u8>, FieldError> {
        refuse_unsafe_integers("query.fingerprint", &self.fingerprint)?;
        if let Some(schema) = &self.expected_output {
            refuse_unsafe_integers("query.expected_output", schema)?;
        }
        // The members in the order of RFC 8785 section 3.2.3.
        let mut out = Vec::with_capacity(96 + self.text.len());
        out.extend_from_slice(b"{\"expected_output\":");
        canonical_value("query.expected_output", self.expected_output.as_ref().unwrap_or(&Json::Null), &mut out)?;
        out.extend_from_slice(b",\"fingerprint\":");
        canonical_value("query.fingerprint", &self.fingerprint, &mut out)?;
        for (name, text) in [("scope", &self.scope), ("task", &self.task), ("text", &self.text)] {
            out.extend_from_slice(format!(",\"{name}\":").as_bytes());
            object::encode_string(text, &mut out);
        }
        out.push(b'}');
        Ok(out)
    }

    /// The bytes that mixle digests for this query, a dataclass of five fields in the order of their declaration.
    pub(super) fn encode_mixle(&self, out: &mut Canonical) {
        out.dataclass("mixle.system.core.Query", 5);
        out.string("text");
        out.string(&self.text);
        out.string("task");
        out.string(&self.task);
        out.string("fingerprint");
        out.json(&self.fingerprint);
        out.string("expected_output");
        out.json(self.expected_output.as_ref().unwrap_or(&Json::Null));
        out.string("scope");
        out.string(&self.scope);
    }
}

/// Appends the canonical form of any value, by the general encoder.
fn canonical_value(field: &str, value: &Json, out: &mut Vec<u8>) -> Result<(), FieldError> {
    match value {
        Json::Null => out.extend_from_slice(b"null"),
        value => out.extend(object::encode(value).map_err(|error| FieldError::new(field, error.to_string()))?),
    }
    Ok(())
}

/// The value with the members of every object in the order of RFC 8785 (UTF-16 code units).
fn sorted(value: &Json) -> Json {
    match value {
        Json::Array(items) => Json::Array(items.iter().map(sorted).collect()),
        Json::Object(members) => {
            let mut members: Vec<_> = members.iter().map(|(name, value)| (name.clone(), sorted(value))).collect();
            members.sort_by(|(left, _), (right, _)| left.encode_utf16().cmp(right.encode_utf16()));
            Json::Object(members)
        }
        other => other.clone(),
    }
}

/// Refuses integers beyond 2^53 - 1 (RFC 7493 section 2.2) by the place where they stand.
fn refuse_unsafe_integers(field: &str, value: &Json) -> Result<(), FieldError> {
    let Some((integer, place)) = unsafe_integer(value) else { return Ok(()) };
    let reason =
        format!("the integer {integer} is beyond 2^53 - 1, which pm1 identities do not hold; write it as a string");
    Err(FieldError::new(format!("{field}{place}"), reason))
}

/// The first integer beyond 2^53 - 1 and the place below `value` where it stands, put together from the inside out. Names
/// are cut to 64 characters: a hostile one must not make a message as long as itself.
fn unsafe_integer(value: &Json) -> Option<(i128, String)> {
    match value {
        Json::Integer(value) => (value.abs() > MAX_SAFE_INTEGER).then(|| (*value, String::new())),
        Json::Array(items) => items.iter().enumerate().find_map(|(step, item)| {
            let (integer, place) = unsafe_integer(item)?;
            Some((integer, format!("[{step}]{place}")))
        }),
        Json::Object(members) => members.iter().find_map(|(name, item)| {
            let (integer, place) = unsafe_integer(item)?;
            Some((integer, format!(".{}{place}", name.chars().take(64).collect::<String>())))
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_query_is_written_as_the_general_encoder_writes_it(
            texts in any::<[String; 3]>(),
            name in any::<String>(),
            number in -1e20..1e20f64,
        ) {
            let [text, task, scope] = texts.map(Json::String);
            let object = Json::Object(vec![(name, Json::Array(vec![Json::Float(number), text.clone()]))]);
            let members = [
                ("text", text), ("task", task), ("scope", scope), ("fingerprint", object.clone()), ("expected_output", object),
            ];
            let full = Json::Object(members.map(|(name, value)| (name.to_owned(), value)).to_vec());
            prop_assert_eq!(Query::parse(&full).unwrap().canonical().unwrap(), object::encode_json(&full).unwrap());
        }
    }
}
