//! in-toto Statement v1, as canonical JSON.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::predicate::is_sorted_evidence;
use super::{Kind, Predicate, ReceiptError, Text};
use crate::object::{CanonicalError, ReceiptId, Sha256, encode};

/// The `_type` of every statement.
pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";

/// What stands around a predicate in the canonical form of every statement.
const BEFORE_PREDICATE: &str = r#"{"_type":"https://in-toto.io/Statement/v1","predicate":"#;
const AFTER_PREDICATE: &str = r#","predicateType":""#;

/// What was evaluated (or, for receipts about receipts, those).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// Its name.
    pub name: Text,
    /// Its digest.
    pub digest: SubjectDigest,
}

/// A subject's digest; only SHA-256, which every in-toto tool knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubjectDigest {
    /// SHA-256 of the subject.
    pub sha256: Sha256,
}

impl Subject {
    /// A subject by name and digest.
    pub fn new(name: Text, sha256: Sha256) -> Self {
        Self { name, digest: SubjectDigest { sha256 } }
    }

    /// Another receipt as the subject: its id as the name, the SHA-256 of its bytes as the digest.
    pub fn of_receipt(envelope: &[u8]) -> Result<Self, ReceiptError> {
        let name = format!("receipt:{}", ReceiptId::of(envelope)).parse()?;
        Ok(Self::new(name, Sha256::of(envelope)))
    }
}

/// What a receipt signs.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// What was evaluated; at least one.
    pub subject: Vec<Subject>,
    /// What is said of it.
    pub predicate: Predicate,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Outgoing<'a> {
    // `rename_all` would take the underscore away.
    #[serde(rename = "_type")]
    _type: &'static str,
    // In the order of the names, so that nothing has to be moved.
    predicate: &'a Predicate,
    predicate_type: String,
    subject: &'a [Subject],
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Incoming<'a> {
    #[serde(rename = "_type")]
    #[serde(borrow)]
    _type: Cow<'a, str>,
    subject: Vec<Subject>,
    #[serde(borrow)]
    predicate_type: Cow<'a, str>,
    #[serde(borrow)]
    predicate: &'a RawValue,
}

impl Statement {
    /// The canonical bytes, which are what is signed (inside DSSE's pre-authentication encoding).
    pub fn encode(&self) -> Result<Vec<u8>, ReceiptError> {
        let predicate_type = self.predicate.kind().predicate_type();
        let outgoing =
            Outgoing { _type: STATEMENT_TYPE, predicate: &self.predicate, predicate_type, subject: &self.subject };
        encode(&outgoing).map_err(ReceiptError::Statement)
    }

    /// Reads bytes that must be exactly the canonical encoding of a statement of a known kind.
    pub fn parse(bytes: &[u8]) -> Result<Self, ReceiptError> {
        // Most bytes are a statement; of others, the long way says what is wrong.
        if let Some(statement) = Self::read(bytes) {
            return Ok(statement);
        }
        let incoming: Incoming<'_> = serde_json::from_slice(bytes).map_err(ReceiptError::Shape)?;
        if incoming._type != STATEMENT_TYPE {
            return Err(ReceiptError::StatementType { found: shortened(&incoming._type) });
        }
        let kind = Kind::of_predicate_type(&incoming.predicate_type)
            .ok_or_else(|| ReceiptError::Kind { found: shortened(&incoming.predicate_type) })?;
        let predicate = Predicate::read(kind, incoming.predicate.get()).map_err(ReceiptError::Shape)?;
        let statement = Self { subject: incoming.subject, predicate };
        statement.hold_together()?;
        statement.must_be(bytes)?;
        Ok(statement)
    }

    /// Takes the members from where they stand in the canonical form, so that nothing is read twice. Whatever is taken, it is
    /// a statement only if it is written as exactly these bytes.
    fn read(bytes: &[u8]) -> Option<Self> {
        let rest = std::str::from_utf8(bytes).ok()?.strip_prefix(BEFORE_PREDICATE)?;
        let (predicate, rest) = rest.rsplit_once(AFTER_PREDICATE)?;
        let (predicate_type, rest) = rest.split_once('"')?;
        let subject = rest.strip_prefix(r#","subject":"#)?.strip_suffix('}')?;
        let predicate = Predicate::read(Kind::of_predicate_type(predicate_type)?, predicate).ok()?;
        let statement = Self { subject: serde_json::from_str(subject).ok()?, predicate };
        statement.hold_together().ok()?;
        statement.must_be(bytes).ok()?;
        Some(statement)
    }

    /// Unknown members, duplicate keys and every other spelling show as a difference to the canonical bytes.
    fn must_be(&self, bytes: &[u8]) -> Result<(), ReceiptError> {
        let canonical = self.encode()?;
        if canonical == bytes {
            return Ok(());
        }
        let offset = canonical.iter().zip(bytes).take_while(|(left, right)| left == right).count();
        Err(ReceiptError::Statement(CanonicalError::NotCanonical { offset }))
    }

    /// The rules that the members' own types do not carry.
    pub(super) fn hold_together(&self) -> Result<(), ReceiptError> {
        if self.subject.is_empty() {
            return Err(ReceiptError::NoSubject);
        }
        self.predicate.hold_together()?;
        if !is_sorted_evidence(&self.predicate.evidence) {
            return Err(ReceiptError::EvidenceOrder);
        }
        Ok(())
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::receipt::{Baseline, Body, LineName, Moment, ReceiptRef, Tool};

    #[test]
    fn members_have_the_names_that_in_toto_gives_them() {
        let target = ReceiptRef { index: 1, receipt: ReceiptId::of(b"") };
        let body = Body::Baseline(Baseline { line: LineName::main(), target });
        let tool = Tool { name: "proofmark".to_owned(), version: "0".to_owned() };
        let recorded_at = Moment::from_unix(0).unwrap();
        let predicate =
            Predicate { index: 1, recorded_at, tool, trust: Some(target), evidence: Vec::new(), note: None, body };
        let subject = vec![Subject::new("system".parse().unwrap(), Sha256::of(b""))];
        let statement = Statement { subject, predicate };
        let bytes = statement.encode().unwrap();
        let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        let names: Vec<_> = json.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(names, ["_type", "predicate", "predicateType", "subject"]);
        assert_eq!(Statement::parse(&bytes).unwrap(), statement);
        assert_eq!(Statement::read(&bytes), Some(statement));
    }
}
