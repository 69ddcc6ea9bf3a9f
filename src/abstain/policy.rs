//! The abstention policy: one object, content-addressed by its canonical JSON, that everything reads.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Reason;
use super::lint;
use crate::calibrate::{Decimal, Finding, canonical_decimal, excerpt, literal};
use crate::object::{CanonicalError, FieldError, Fields, Json, JsonError, ObjectId, encode, parse};

/// The `schema` member of every policy.
pub const SCHEMA: &str = "policy.v1";

/// The policies that come with proofmark: name and text.
pub const BUILT_IN: [(&str, &str); 1] = [("default/v1", include_str!("default_v1.json"))];

/// Why a policy is refused.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// Not JSON.
    #[error("the policy is not JSON")]
    Json(#[source] JsonError),
    /// A field is not as it must be.
    #[error("the policy is not of the form {SCHEMA}")]
    Field(#[source] FieldError),
    /// A rule that makes no sense.
    #[error("field `{}`: {} ({})", .0.field, .0.sentence, .0.code)]
    Rule(Finding),
    /// No canonical form.
    #[error("the policy has no canonical form")]
    Canonical(#[source] CanonicalError),
    /// There is no built-in policy of this name.
    #[error("there is no built-in policy `{name}`; there is {}", BUILT_IN.map(|(name, _)| name).join(", "))]
    Unknown {
        /// The name asked for.
        name: String,
    },
    /// A floor that canonical JSON cannot hold exactly.
    #[error("the confidence floor {floor} does not survive canonical JSON (RFC 8785)")]
    Floor {
        /// The floor.
        floor: Decimal,
    },
}

/// What a policy says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyTerms {
    schema: &'static str,
    /// For people.
    pub name: String,
    /// The least confidence that is suggested, 0 to 1; it is enough itself.
    pub confidence_floor: Decimal,
    /// Quality levels that are good enough. `None` (the member is absent) where the task knows no quality: then only
    /// what is called poor abstains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_quality: Option<Vec<String>>,
    /// Quality levels that abstain however confident the reply.
    pub poor_quality: Vec<String>,
    /// What is said instead of a suggestion, for every reason.
    pub copy: BTreeMap<Reason, String>,
    /// The floor where it is not between 0 and 1: no policy has one, a text that is being looked over may.
    #[serde(skip)]
    pub(crate) floor_out_of_range: bool,
}

/// A policy that replies can be held against: its terms, their canonical bytes and the digest of these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    terms: PolicyTerms,
    canonical: Vec<u8>,
    digest: ObjectId,
}

impl Policy {
    /// Reads a policy; white space and the order of members are free, everything else is strict.
    pub fn parse(bytes: &[u8]) -> Result<Self, PolicyError> {
        Self::of(PolicyTerms::read(bytes)?)
    }

    fn of(terms: PolicyTerms) -> Result<Self, PolicyError> {
        if let Some(finding) = lint::findings(&terms).into_iter().find(|finding| finding.refused) {
            return Err(PolicyError::Rule(finding));
        }
        let canonical = encode(&terms).map_err(PolicyError::Canonical)?;
        let digest = ObjectId::of(&canonical);
        Ok(Self { terms, canonical, digest })
    }

    /// The built-in policy of this name.
    pub fn built_in(name: &str) -> Result<Self, PolicyError> {
        let found = BUILT_IN.iter().find(|(known, _)| *known == name);
        let (_, text) = found.ok_or_else(|| PolicyError::Unknown { name: name.to_owned() })?;
        Self::parse(text.as_bytes())
    }

    /// The same policy with another confidence floor, as when a gate chose the threshold: another object, with another
    /// digest.
    pub fn with_floor(&self, floor: Decimal) -> Result<Self, PolicyError> {
        if !floor.survives_json() {
            return Err(PolicyError::Floor { floor });
        }
        Self::of(PolicyTerms { confidence_floor: floor, ..self.terms.clone() })
    }

    /// What it says.
    pub fn terms(&self) -> &PolicyTerms {
        &self.terms
    }

    /// Its canonical JSON (RFC 8785): what the ledger keeps.
    pub fn canonical(&self) -> &[u8] {
        &self.canonical
    }

    /// The BLAKE3 of the canonical bytes.
    pub fn digest(&self) -> ObjectId {
        self.digest
    }

    /// Rules that can never fail or hardly pass.
    pub fn findings(&self) -> Vec<Finding> {
        lint::findings(&self.terms)
    }
}

impl PolicyTerms {
    /// The terms in a text, before any rule about what makes sense.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, PolicyError> {
        let json = parse(bytes).map_err(PolicyError::Json)?;
        // `parse` accepts UTF-8 only, so nothing is lost.
        let text = String::from_utf8_lossy(bytes);
        read(&json, &text).map_err(PolicyError::Field)
    }
}

fn read(json: &Json, text: &str) -> Result<PolicyTerms, FieldError> {
    let mut fields = Fields::of("", json)?;
    let schema = fields.string("schema")?;
    if schema != SCHEMA {
        return Err(FieldError::new("schema", format!("must be `{SCHEMA}`, not `{}`", excerpt(schema))));
    }
    let name = fields.string("name")?.to_owned();
    if name.trim().is_empty() {
        return Err(FieldError::new("name", "must not be blank"));
    }
    let floor = fields.required("confidenceFloor")?;
    let floor = canonical_decimal("confidenceFloor", floor, literal(text, &["confidenceFloor"]))?;
    let floor_out_of_range = floor == Err(crate::calibrate::DecimalError::Range);
    let confidence_floor = match floor {
        Err(error) if !floor_out_of_range => return Err(FieldError::new("confidenceFloor", error.to_string())),
        floor => floor.unwrap_or_else(|_| Decimal::zero()),
    };
    let accepted = fields.optional("acceptedQuality");
    let accepted_quality = accepted.map(|levels| self::levels("acceptedQuality", levels)).transpose()?;
    let poor_quality = levels("poorQuality", fields.required("poorQuality")?)?;
    let mut words = Fields::of("copy", fields.required("copy")?)?;
    let mut copy = BTreeMap::new();
    for reason in Reason::ALL {
        copy.insert(reason, words.string(reason.name())?.to_owned());
    }
    words.finish()?;
    fields.finish()?;
    Ok(PolicyTerms { schema: SCHEMA, name, confidence_floor, accepted_quality, poor_quality, copy, floor_out_of_range })
}

fn levels(field: &str, value: &Json) -> Result<Vec<String>, FieldError> {
    let Json::Array(items) = value else {
        return Err(FieldError::new(field, format!("must be an array, not {}", value.kind())));
    };
    let level = |(at, item): (usize, &Json)| match item {
        Json::String(level) => Ok(level.clone()),
        other => Err(FieldError::new(format!("{field}[{at}]"), format!("must be a string, not {}", other.kind()))),
    };
    items.iter().enumerate().map(level).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error;

    fn default_policy() -> Policy {
        Policy::built_in("default/v1").unwrap()
    }

    #[test]
    fn the_built_in_policy_is_named_by_the_digest_of_its_canonical_bytes() {
        let policy = default_policy();
        assert_eq!(Policy::parse(policy.canonical()).unwrap(), policy);
        assert_eq!(policy.digest(), ObjectId::of(policy.canonical()));
        assert_eq!(policy.findings(), []);
        assert!(matches!(Policy::built_in("strict/v1"), Err(PolicyError::Unknown { .. })));
    }

    #[test]
    fn another_floor_is_another_policy() {
        let policy = default_policy();
        let other = policy.with_floor("0.62".parse().unwrap()).unwrap();
        assert_ne!(other.digest(), policy.digest());
        assert_eq!(other.terms().copy, policy.terms().copy);
        let long = "0.30000000000000001".parse().unwrap();
        assert!(matches!(policy.with_floor(long), Err(PolicyError::Floor { .. })));
    }

    #[test]
    fn a_refusal_names_the_field() {
        let text = BUILT_IN[0].1;
        for (from, to, wanted) in [
            ("policy.v1", "policy.v2", "field `schema`: must be `policy.v1`"),
            ("default/v1", "", "field `name`: must not be blank"),
            ("0.7", "\"0.7\"", "field `confidenceFloor`: must be a number, not a string"),
            ("0.7", "0.70000000000000001", "field `confidenceFloor`: does not survive canonical JSON"),
            ("\"fair\"]", "1]", "field `acceptedQuality[1]`: must be a string, not an integer"),
            ("\"poorQuality\": [\"poor\"],", "", "field `poorQuality`: is missing"),
            ("\"malformed\"", "\"broken\"", "field `copy.malformed`: is missing"),
            ("\"copy\"", "\"limit\": 1, \"copy\"", "field `limit`: is not a known field"),
        ] {
            assert!(text.contains(from), "{from}");
            let error = Policy::parse(text.replacen(from, to, 1).as_bytes()).unwrap_err();
            let source = error.source().unwrap().to_string();
            assert!(source.starts_with(wanted), "{source}");
        }
    }
}
