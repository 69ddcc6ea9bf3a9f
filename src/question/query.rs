//! What a system is asked: mixle's five members, with the defaults filled in.

use serde::Serialize;

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

/// The canonical form of a query, its members in the order of RFC 8785 section 3.2.3.
#[derive(Serialize)]
struct CanonicalQuery<'a> {
    expected_output: &'a Option<Json>,
    fingerprint: &'a Json,
    scope: &'a str,
    task: &'a str,
    text: &'a str,
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
        let canonical = CanonicalQuery {
            expected_output: &self.expected_output,
            fingerprint: &self.fingerprint,
            scope: &self.scope,
            task: &self.task,
            text: &self.text,
        };
        object::encode(&canonical).map_err(|error| FieldError::new("query", error.to_string()))
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
fn refuse_unsafe_integers(path: &str, value: &Json) -> Result<(), FieldError> {
    match value {
        Json::Integer(value) if value.abs() > MAX_SAFE_INTEGER => Err(FieldError::new(
            path,
            format!("the integer {value} is beyond 2^53 - 1, which pm1 identities do not hold; write it as a string"),
        )),
        Json::Array(items) => (items.iter().enumerate())
            .filter(|(_, item)| may_hold_integers(item))
            .try_for_each(|(step, item)| refuse_unsafe_integers(&format!("{path}[{step}]"), item)),
        Json::Object(members) => (members.iter())
            .filter(|(_, item)| may_hold_integers(item))
            .try_for_each(|(name, item)| refuse_unsafe_integers(&format!("{path}.{name}"), item)),
        _ => Ok(()),
    }
}

/// Whether a path to the value is worth writing down.
fn may_hold_integers(value: &Json) -> bool {
    match value {
        Json::Integer(value) => value.abs() > MAX_SAFE_INTEGER,
        Json::Array(_) | Json::Object(_) => true,
        _ => false,
    }
}
