//! One question as a record of a file: the long and the short form, and its annotations.

use super::blank::is_blank;
use super::hex;
use super::leaf::Leaf;
use super::query::Query;
use crate::object::{FieldError, Fields, Json};

/// The longest `id` or `cluster`, in bytes.
pub const MAX_LABEL_BYTES: usize = 512;

/// A question: what is asked, what is expected, and annotations.
///
/// Identity comes from the query, the expected answer and the salt. The annotations `id`, `cluster` and `must_pass` are
/// not in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    query: Query,
    expected: String,
    id: Option<String>,
    cluster: Option<String>,
    must_pass: bool,
    salt: Option<[u8; 32]>,
}

impl Question {
    /// What the system is asked.
    pub fn query(&self) -> &Query {
        &self.query
    }

    /// The expected answer; never blank.
    pub fn expected(&self) -> &str {
        &self.expected
    }

    /// The name of the question, unique in its set.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The name shared by questions that are not independent of each other.
    pub fn cluster(&self) -> Option<&str> {
        self.cluster.as_deref()
    }

    /// Whether a release gate may demand this question by itself.
    pub fn must_pass(&self) -> bool {
        self.must_pass
    }

    /// 32 random bytes that keep the question from being guessed from its leaf; there when the set is sealed.
    pub fn salt(&self) -> Option<&[u8; 32]> {
        self.salt.as_ref()
    }

    /// The same question under this salt.
    pub(super) fn salted(self, salt: [u8; 32]) -> Self {
        Self { salt: Some(salt), ..self }
    }

    /// Reads a record: `{"query": {"text", …}, "expected", …}`, or short `{"question": "…", "expected", …}`.
    ///
    /// Refused, naming the field: both forms in one record, unknown members, members of the wrong kind, a blank
    /// `expected`, `id` or `cluster`, control characters in `id` or `cluster`, a `salt` that is not 64 lower-case
    /// hexadecimal digits.
    pub fn parse(record: &Json) -> Result<Self, FieldError> {
        let mut fields = Fields::of("", record)?;
        let query = match (fields.optional("query"), fields.optional_string("question")?) {
            (Some(_), Some(_)) => {
                return Err(FieldError::new("question", "stands beside `query`; a record has one of them"));
            }
            (Some(query), None) => Query::parse(query)?,
            (None, Some(text)) => Query::from_text(text),
            (None, None) => return Err(FieldError::new("query", "is missing (or `question`, in the short form)")),
        };
        let expected = fields.string("expected")?.to_owned();
        if is_blank(&expected) {
            return Err(FieldError::new("expected", "is blank; a blank answer cannot discriminate"));
        }
        let id = label("id", fields.optional_string("id")?)?;
        let cluster = label("cluster", fields.optional_string("cluster")?)?;
        let must_pass = fields.optional_bool("must_pass")?.unwrap_or(false);
        let salt = fields.optional_string("salt")?.map(parse_salt).transpose()?;
        fields.finish()?;
        Ok(Self { query, expected, id, cluster, must_pass, salt })
    }

    /// The record in the long form, members in canonical order, those that hold their default left out.
    ///
    /// Unlike RFC 8785 it keeps decimals apart from integers (`1.0` from `1`) and integers to 64 bits, on which
    /// mixle's identity depends: what is read back has the same identity under both schemes.
    pub fn encode(&self) -> Json {
        let text = |text: &str| Json::String(text.to_owned());
        let mut members = Vec::new();
        if let Some(cluster) = &self.cluster {
            members.push(("cluster".to_owned(), text(cluster)));
        }
        members.push(("expected".to_owned(), text(&self.expected)));
        if let Some(id) = &self.id {
            members.push(("id".to_owned(), text(id)));
        }
        if self.must_pass {
            members.push(("must_pass".to_owned(), Json::Bool(true)));
        }
        members.push(("query".to_owned(), self.query.encode()));
        if let Some(salt) = &self.salt {
            members.push(("salt".to_owned(), Json::String(hex::encode(salt))));
        }
        Json::Object(members)
    }

    /// The leaf of this question in its set's identity (scheme pm1); refuses integers beyond 2^53 - 1 by their place.
    pub fn leaf(&self) -> Result<Leaf, FieldError> {
        Leaf::of(self, self.salt.as_ref())
    }

    /// What the question says, apart from its salt, as a leaf.
    pub(super) fn unsalted_leaf(&self) -> Result<Leaf, FieldError> {
        Leaf::of(self, None)
    }
}

/// An `id` or `cluster`: something that can be printed and searched for.
pub(super) fn label(field: &str, text: Option<&str>) -> Result<Option<String>, FieldError> {
    let Some(text) = text else { return Ok(None) };
    let refuse = |reason: &str| Err(FieldError::new(field, reason));
    if is_blank(text) {
        return refuse("is blank");
    }
    if text.len() > MAX_LABEL_BYTES {
        return refuse("is longer than 512 bytes");
    }
    if text.chars().any(char::is_control) {
        return refuse("holds a control character");
    }
    Ok(Some(text.to_owned()))
}

fn parse_salt(text: &str) -> Result<[u8; 32], FieldError> {
    hex::parse(text).ok_or_else(|| FieldError::new("salt", "must be 64 lower-case hexadecimal digits"))
}
