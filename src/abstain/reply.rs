//! Replies held against a policy: a suggestion, or an abstention with its reason.

use std::collections::BTreeMap;
use std::io::BufRead;

use serde::{Deserialize, Serialize};

use super::Policy;
use crate::calibrate::{Decimal, Label, literal};
use crate::object::{FieldError, Fields, Json, Line, LineReader, MAX_SAFE_INTEGER, RecordError, parse_line};

/// Why there is no suggestion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The reply cannot be read.
    Malformed,
    /// The policy calls its quality poor.
    PoorQuality,
    /// Its quality is absent or a level the policy does not know.
    QualityUnknown,
    /// It has no label.
    NoSuggestion,
    /// Its confidence is below the policy's floor.
    LowConfidence,
}

impl Reason {
    /// Every reason, in the order in which they are looked for: the first that applies is given.
    pub const ALL: [Self; 5] =
        [Self::Malformed, Self::PoorQuality, Self::QualityUnknown, Self::NoSuggestion, Self::LowConfidence];

    /// As in policies and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::PoorQuality => "poor-quality",
            Self::QualityUnknown => "quality-unknown",
            Self::NoSuggestion => "no-suggestion",
            Self::LowConfidence => "low-confidence",
        }
    }
}

/// What becomes of a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
pub enum Decision {
    /// It may be shown.
    Suggestion {
        /// What is suggested.
        label: Label,
        /// As written, at least the floor; a double in JSON.
        confidence: Decimal,
    },
    /// Nothing is suggested.
    Abstention {
        /// Why.
        reason: Reason,
        /// The policy's words for it.
        copy: String,
        /// What is wrong with a malformed reply, for whoever sent it; not for show.
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
}

/// How often each outcome came.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Replies that may be shown.
    pub suggestions: u64,
    /// Abstentions by reason; no zeros.
    pub abstentions: BTreeMap<Reason, u64>,
}

impl Summary {
    /// Counts a decision.
    pub fn count(&mut self, decision: &Decision) {
        match decision {
            Decision::Suggestion { .. } => self.suggestions += 1,
            Decision::Abstention { reason, .. } => *self.abstentions.entry(*reason).or_default() += 1,
        }
    }
}

/// A reply that can be read.
struct Reply {
    label: Option<Label>,
    confidence: Option<Decimal>,
    quality: Option<String>,
}

/// Decides one reply: a JSON object with `label` (integer or string), `confidence` (0 to 1) and `quality` (string), each
/// of which may be absent or `null`. Other members are the sender's own.
pub fn decide(policy: &Policy, reply: &[u8]) -> Decision {
    let line = Line { number: 1, bytes: reply };
    let outcome = parse_line("", line).and_then(|json| {
        let text = String::from_utf8_lossy(reply);
        read(&json, &text).map_err(|error| RecordError::new("", 1, error))
    });
    match outcome {
        Err(error) => {
            let at = if error.field.is_empty() { String::new() } else { format!("field `{}`: ", error.field) };
            abstain(policy, Reason::Malformed, Some(format!("{at}{}", error.reason)))
        }
        Ok(reply) => judge(policy, reply),
    }
}

/// Decides every line of a file, which messages call `name`, and hands each decision to `each` with the number of its
/// line. Only what cannot be cut into lines (I/O errors, blank or endless lines, CR LF) refuses the run.
pub fn decide_all<E: From<RecordError>>(
    policy: &Policy,
    name: &str,
    input: impl BufRead,
    mut each: impl FnMut(usize, &Decision) -> Result<(), E>,
) -> Result<Summary, E> {
    let mut summary = Summary::default();
    let mut reader = LineReader::new(name, input);
    while let Some(line) = reader.next_line()? {
        let decision = decide(policy, line.bytes);
        summary.count(&decision);
        each(line.number, &decision)?;
    }
    Ok(summary)
}

fn judge(policy: &Policy, reply: Reply) -> Decision {
    let terms = policy.terms();
    let listed = |levels: &[String]| reply.quality.as_ref().is_some_and(|quality| levels.contains(quality));
    if listed(&terms.poor_quality) {
        return abstain(policy, Reason::PoorQuality, None);
    }
    if terms.accepted_quality.as_deref().is_some_and(|accepted| !listed(accepted)) {
        return abstain(policy, Reason::QualityUnknown, None);
    }
    let Some(label) = reply.label else { return abstain(policy, Reason::NoSuggestion, None) };
    match reply.confidence {
        None => abstain(policy, Reason::Malformed, Some("field `confidence`: a label needs one".to_owned())),
        Some(confidence) if confidence < terms.confidence_floor => abstain(policy, Reason::LowConfidence, None),
        Some(confidence) => Decision::Suggestion { label, confidence },
    }
}

fn abstain(policy: &Policy, reason: Reason, detail: Option<String>) -> Decision {
    let copy = policy.terms().copy.get(&reason).cloned().unwrap_or_default();
    Decision::Abstention { reason, copy, detail }
}

fn read(json: &Json, text: &str) -> Result<Reply, FieldError> {
    let mut fields = Fields::of("", json)?;
    let label = match fields.optional("label") {
        None | Some(Json::Null) => None,
        Some(Json::String(label)) if label.trim().is_empty() => {
            return Err(FieldError::new("label", "must not be blank"));
        }
        Some(Json::String(label)) => Some(Label::Text(label.clone())),
        Some(Json::Integer(label)) if label.abs() <= MAX_SAFE_INTEGER => i64::try_from(*label).ok().map(Label::Integer),
        Some(Json::Integer(_)) => return Err(FieldError::new("label", "the integer is beyond 2^53 - 1")),
        Some(other) => return Err(fields.wrong("label", "an integer or a string", other)),
    };
    let confidence = match fields.optional("confidence") {
        None | Some(Json::Null) => None,
        Some(Json::Integer(_) | Json::Float(_)) => {
            let written = literal(text, &["confidence"]).unwrap_or_default();
            Some(written.parse().map_err(|error| FieldError::new("confidence", format!("{error}")))?)
        }
        Some(other) => return Err(fields.wrong("confidence", "a number", other)),
    };
    let quality = match fields.optional("quality") {
        None | Some(Json::Null) => None,
        Some(Json::String(quality)) => Some(quality.clone()),
        Some(other) => return Err(fields.wrong("quality", "a string", other)),
    };
    Ok(Reply { label, confidence, quality })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abstain::BUILT_IN;

    fn policy(changes: &[(&str, &str)]) -> Policy {
        let mut text = BUILT_IN[0].1.to_owned();
        for (from, to) in changes {
            assert!(text.contains(from), "{from}");
            text = text.replacen(from, to, 1);
        }
        Policy::parse(text.as_bytes()).unwrap()
    }

    fn outcome(policy: &Policy, reply: &str) -> String {
        match decide(policy, reply.as_bytes()) {
            Decision::Suggestion { label, confidence } => format!("{label} at {confidence}"),
            Decision::Abstention { reason, copy, detail } => {
                assert_eq!(Some(&copy), policy.terms().copy.get(&reason));
                assert_eq!(detail.is_some(), reason == Reason::Malformed, "{detail:?}");
                reason.name().to_owned()
            }
        }
    }

    #[test]
    fn the_first_reason_that_applies_is_given() {
        let policy = policy(&[]);
        for (reply, wanted) in [
            (r#"{"label":4,"confidence":0.7,"quality":"good"}"#, "4 at 0.7"),
            (r#"{"label":"soft","confidence":1,"quality":"fair","model":"m","ms":12.5}"#, "soft at 1"),
            (r#"{"label":4,"confidence":0.69999999999999999999,"quality":"good"}"#, "low-confidence"),
            (r#"{"label":4,"confidence":1.0,"quality":"poor"}"#, "poor-quality"),
            (r#"{"quality":"poor"}"#, "poor-quality"),
            (r#"{"label":4,"confidence":0.9}"#, "quality-unknown"),
            (r#"{"label":4,"confidence":0.9,"quality":null}"#, "quality-unknown"),
            (r#"{"label":4,"confidence":0.9,"quality":"Good"}"#, "quality-unknown"),
            (r#"{"confidence":0.9,"quality":"good"}"#, "no-suggestion"),
            (r#"{"label":null,"quality":"good"}"#, "no-suggestion"),
            (r#"{"label":4,"quality":"good"}"#, "malformed"),
            (r#"{"label":4.0,"confidence":0.9,"quality":"good"}"#, "malformed"),
            (r#"{"label":true,"confidence":0.9,"quality":"good"}"#, "malformed"),
            (r#"{"label":4,"confidence":"0.9","quality":"good"}"#, "malformed"),
            (r#"{"label":4,"confidence":1.0001,"quality":"good"}"#, "malformed"),
            (r#"{"label":4,"confidence":NaN,"quality":"good"}"#, "malformed"),
            (r#"{"label":4,"confidence":0.9,"quality":"poor","quality":"good"}"#, "malformed"),
            (r#"{"label":4,"confidence":0.9,"quality":3}"#, "malformed"),
            (r#"{"label":"","confidence":0.9,"quality":"good"}"#, "malformed"),
            (r#"[4]"#, "malformed"),
            (r#"{"label":4"#, "malformed"),
        ] {
            assert_eq!(outcome(&policy, reply), wanted, "{reply}");
        }
    }

    /// Were a limit, a level or a word written in the code, one of these changes would change nothing.
    #[test]
    fn every_limit_and_word_comes_from_the_policy() {
        let reply = r#"{"label":4,"confidence":0.65,"quality":"fair"}"#;
        assert_eq!(outcome(&policy(&[]), reply), "low-confidence");
        assert_eq!(outcome(&policy(&[("0.7", "0.65")]), reply), "4 at 0.65");
        assert_eq!(outcome(&policy(&[("0.7", "0.6"), ("\"fair\"", "\"fine\"")]), reply), "quality-unknown");
        assert_eq!(
            outcome(&policy(&[("\"good\", \"fair\"", "\"good\""), ("\"poor\"]", "\"fair\"]")]), reply),
            "poor-quality"
        );
        let poor = r#"{"label":4,"confidence":0.99,"quality":"poor"}"#;
        assert_eq!(outcome(&policy(&[("\"poor\"]", "\"bad\"]")]), poor), "quality-unknown");
        assert_eq!(
            outcome(&policy(&[("\"fair\"", "\"poor\""), ("\"poor\"],\n  \"copy\"", "\"bad\"],\n  \"copy\"")]), poor),
            "4 at 0.99"
        );
        let own = policy(&[("The input is too poor to judge.", "Zu unscharf.")]);
        let Decision::Abstention { copy, .. } = decide(&own, poor.as_bytes()) else { panic!("poor quality abstains") };
        assert!(copy.starts_with("Zu unscharf."), "{copy}");
    }

    #[test]
    fn a_task_without_quality_levels_needs_none() {
        let policy = policy(&[("  \"acceptedQuality\": [\"good\", \"fair\"],\n", "")]);
        assert_eq!(outcome(&policy, r#"{"label":"spam","confidence":0.9}"#), "spam at 0.9");
        assert_eq!(outcome(&policy, r#"{"label":"spam","confidence":0.9,"quality":"poor"}"#), "poor-quality");
    }

    #[test]
    fn a_file_is_decided_line_by_line() {
        let text = "{\"label\":1,\"confidence\":0.8,\"quality\":\"good\"}\nnot json\n{\"quality\":\"good\"}\n";
        let mut seen = Vec::new();
        let summary = decide_all::<RecordError>(&policy(&[]), "r.jsonl", text.as_bytes(), |line, decision| {
            seen.push((line, serde_json::to_string(decision).unwrap()));
            Ok(())
        });
        let summary = summary.unwrap();
        assert_eq!((summary.suggestions, summary.abstentions.values().sum::<u64>()), (1, 2));
        assert_eq!(seen[0], (1, r#"{"outcome":"suggestion","label":1,"confidence":0.8}"#.to_owned()));
        assert!(
            seen[1].1.starts_with(r#"{"outcome":"abstention","reason":"malformed","copy":"The sugg"#),
            "{}",
            seen[1].1
        );
        let blank = decide_all::<RecordError>(&policy(&[]), "r.jsonl", &b"{}\n\n"[..], |_, _| Ok(()));
        assert_eq!(blank.unwrap_err().to_string(), "r.jsonl:2: the line is blank");
    }
}
