//! Identity scheme `mixle`: the digest that `mixle.system.scorecard.question_set_identity` of mixle 0.8 computes.
//!
//! ```text
//! id      = SHA-256(scorer ‖ 0x00 ‖ hex(records))
//! records = SHA-256(record_0 ‖ … ‖ record_n-1 ‖ "#" ‖ decimal n)
//! record  = "t" ‖ u64 2 ‖ query ‖ expected
//! query   = "D" ‖ lp("mixle.system.core.Query") ‖ u64 5 ‖ name and value of text, task, fingerprint, expected_output, scope
//! ```
//!
//! Values are tagged: `N` null, `b0`/`b1` booleans, `i` ‖ lp(decimal) integers, `f` ‖ eight little-endian bytes decimals,
//! `s` ‖ lp(UTF-8) strings, `l` ‖ u64 n ‖ items, `d` ‖ u64 n ‖ keys and values, sorted by the encoded key. lp(x) is the
//! length as u64 and x; integers are big-endian. Checked against `fixtures/vectors/mixle_identity.json`.

use sha2::{Digest, Sha256};

use super::hex;
use super::identity::{QuestionSetId, Scheme, ScorerIdentity};
use super::record::Question;
use crate::object::Json;

/// Computes an identity of the scheme `mixle` question by question, in constant memory. No question at all has an
/// identity as well, as in mixle.
pub struct MixleIdentity {
    scorer: ScorerIdentity,
    records: Sha256,
    buffer: Canonical,
    n: u64,
}

impl MixleIdentity {
    /// The identity of no questions under this scorer.
    pub fn new(scorer: &ScorerIdentity) -> Self {
        Self { scorer: scorer.clone(), records: Sha256::new(), buffer: Canonical(Vec::new()), n: 0 }
    }

    /// Adds the next question.
    pub fn add(&mut self, question: &Question) {
        self.buffer.record(question);
        self.records.update(&self.buffer.0);
        self.n += 1;
    }

    /// The identity of the questions added.
    pub fn finish(mut self) -> QuestionSetId {
        self.records.update(format!("#{}", self.n));
        let records: [u8; 32] = self.records.finalize().into();
        let mut identity = Sha256::new();
        identity.update(self.scorer.under(Scheme::Mixle));
        identity.update([0]);
        identity.update(hex::encode(&records));
        QuestionSetId::mixle(&identity.finalize().into())
    }
}

/// Bytes in mixle's tagged encoding.
pub(super) struct Canonical(Vec<u8>);

impl Canonical {
    /// Starts over with one question.
    fn record(&mut self, question: &Question) {
        self.0.clear();
        self.counted(b't', 2);
        question.query().encode_mixle(self);
        self.string(question.expected());
    }

    /// What the question says as mixle sees it, digested.
    pub(super) fn digest(question: &Question) -> [u8; 32] {
        let mut bytes = Self(Vec::new());
        bytes.record(question);
        Sha256::digest(&bytes.0).into()
    }

    /// The head of a dataclass instance: its qualified type and how many fields follow.
    pub(super) fn dataclass(&mut self, name: &str, fields: u64) {
        self.0.push(b'D');
        self.prefixed(name);
        self.0.extend_from_slice(&fields.to_be_bytes());
    }

    /// A string.
    pub(super) fn string(&mut self, text: &str) {
        self.0.push(b's');
        self.prefixed(text);
    }

    /// Any JSON value, as Python's `json.loads` gives it.
    pub(super) fn json(&mut self, value: &Json) {
        match value {
            Json::Null => self.0.push(b'N'),
            Json::Bool(value) => self.0.extend_from_slice(if *value { b"b1" } else { b"b0" }),
            Json::Integer(value) => {
                self.0.push(b'i');
                self.prefixed(&value.to_string());
            }
            Json::Float(value) => {
                self.0.push(b'f');
                self.0.extend_from_slice(&value.to_le_bytes());
            }
            Json::String(text) => self.string(text),
            Json::Array(items) => {
                self.counted(b'l', items.len());
                items.iter().for_each(|item| self.json(item));
            }
            Json::Object(members) => {
                // A key is encoded with its length in front, so shorter keys come first.
                let mut members: Vec<_> = members.iter().collect();
                members.sort_by_key(|(name, _)| (name.len(), name.as_bytes()));
                self.counted(b'd', members.len());
                for (name, value) in members {
                    self.string(name);
                    self.json(value);
                }
            }
        }
    }

    fn counted(&mut self, tag: u8, count: usize) {
        self.0.push(tag);
        self.0.extend_from_slice(&(count as u64).to_be_bytes());
    }

    fn prefixed(&mut self, text: &str) {
        self.0.extend_from_slice(&(text.len() as u64).to_be_bytes());
        self.0.extend_from_slice(text.as_bytes());
    }
}
