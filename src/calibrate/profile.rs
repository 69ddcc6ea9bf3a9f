//! The task profile: what a record looks like, how subjects are split, and what a release must reach. One policy
//! object, content-addressed by its canonical JSON.

use super::lint::{self, Finding};
use super::terms::{SCHEMA, Terms};
use crate::object::{CanonicalError, FieldError, JsonError, JsonFault, ObjectId, encode};

/// The profiles that come with proofmark: name and text.
pub const BUILT_IN: [(&str, &str); 1] = [("bristol/v1", include_str!("bristol_v1.json"))];

/// Why a profile is refused.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// Not JSON.
    #[error("the profile is not JSON")]
    Json(#[source] JsonError),
    /// A field is not as it must be.
    #[error("the profile is not of the form {SCHEMA}")]
    Field(#[source] FieldError),
    /// A rule no run can be held to.
    #[error("field `{}`: {} ({})", .0.field, .0.sentence, .0.code)]
    Rule(Finding),
    /// No canonical form.
    #[error("the profile has no canonical form")]
    Canonical(#[source] CanonicalError),
    /// There is no built-in profile of this name.
    #[error("there is no built-in profile `{name}`; there is {}", BUILT_IN.map(|(name, _)| name).join(", "))]
    Unknown {
        /// The name asked for.
        name: String,
    },
}

/// A profile that a run can be held to: its terms, their canonical bytes and the digest of these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    terms: Terms,
    canonical: Vec<u8>,
    digest: ObjectId,
}

impl Profile {
    /// Reads a profile; white space and the order of members are free, everything else is strict.
    pub fn parse(bytes: &[u8]) -> Result<Self, ProfileError> {
        let terms = Terms::read(bytes)?;
        if let Some(finding) = lint::findings(&terms).into_iter().find(|finding| finding.refused) {
            return Err(ProfileError::Rule(finding));
        }
        let canonical = encode(&terms).map_err(ProfileError::Canonical)?;
        let digest = ObjectId::of(&canonical);
        Ok(Self { terms, canonical, digest })
    }

    /// The built-in profile of this name.
    pub fn built_in(name: &str) -> Result<Self, ProfileError> {
        let found = BUILT_IN.iter().find(|(known, _)| *known == name);
        let (_, text) = found.ok_or_else(|| ProfileError::Unknown { name: name.to_owned() })?;
        Self::parse(text.as_bytes())
    }

    /// What it says.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// Its canonical JSON (RFC 8785): what the ledger keeps.
    pub fn canonical(&self) -> &[u8] {
        &self.canonical
    }

    /// The BLAKE3 of the canonical bytes: what reports and receipts name it by.
    pub fn digest(&self) -> ObjectId {
        self.digest
    }

    /// Rules that can never fail or hardly pass, though a run can be held to them.
    pub fn findings(&self) -> Vec<Finding> {
        lint::findings(&self.terms)
    }
}

/// Everything that is wrong or doubtful about the rules in a profile, including what [`Profile::parse`] would refuse.
pub fn lint_profile(bytes: &[u8]) -> Result<Vec<Finding>, ProfileError> {
    match Terms::read(bytes) {
        Ok(terms) => Ok(lint::findings(&terms)),
        Err(ProfileError::Json(error)) if error.fault == JsonFault::NotANumber => {
            Ok(vec![Finding::not_a_number(&error.path)])
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::{Split, Subject};

    fn bristol() -> Profile {
        Profile::built_in("bristol/v1").unwrap()
    }

    /// The built-in profile with one piece of its text replaced.
    fn changed(from: &str, to: &str) -> Vec<u8> {
        let text = BUILT_IN[0].1;
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1).into_bytes()
    }

    fn refusal(from: &str, to: &str) -> String {
        use std::error::Error;
        let error = Profile::parse(&changed(from, to)).unwrap_err();
        error.source().map_or(error.to_string(), ToString::to_string)
    }

    #[test]
    fn the_built_in_profile_is_named_by_the_digest_of_its_canonical_bytes() {
        let profile = bristol();
        assert_eq!(Profile::parse(profile.canonical()).unwrap(), profile);
        assert_eq!(profile.digest(), ObjectId::of(profile.canonical()));
        assert!(profile.canonical().starts_with(br#"{"bins":10,"gates":[{"comparator":">=","limit":0.8,"metric":"#));
        assert_eq!(profile.findings(), []);
        assert!(matches!(Profile::built_in("bristol/v2"), Err(ProfileError::Unknown { .. })));
    }

    #[test]
    fn the_split_follows_from_the_first_byte() {
        let profile = bristol();
        let split = |byte: u64| profile.terms().split.split_of(Subject(byte << 56));
        for (byte, wanted) in [
            (0, Split::Train),
            (204, Split::Train),
            (205, Split::Validation),
            (229, Split::Validation),
            (230, Split::Test),
            (255, Split::Test),
        ] {
            assert_eq!(split(byte), Some(wanted), "{byte}");
        }
    }

    #[test]
    fn a_manifest_names_the_split_of_each_subject() {
        let text = String::from_utf8(bristol().canonical().to_vec()).unwrap();
        let at = text.find(r#""split":{"#).unwrap();
        let manifest =
            r#""split":{"rule":"manifest","subjects":{"00000000000000aa":"test","00000000000000ab":"validation"}}}"#;
        let text = format!("{}{manifest}", &text[..at]);
        let profile = Profile::parse(text.as_bytes()).unwrap();
        assert_eq!(profile.terms().split.split_of(Subject(0xaa)), Some(Split::Test));
        assert_eq!(profile.terms().split.split_of(Subject(0xac)), None);
        assert_eq!(profile.canonical(), text.as_bytes());
    }

    #[test]
    fn a_refusal_names_the_field() {
        for (from, to, wanted) in [
            ("\"profile.v1\"", "\"profile.v2\"", "field `schema`: must be `profile.v1`, not `profile.v2`"),
            ("\"bristol/v1\"", "\" \"", "field `name`: must not be blank"),
            ("\"bristolType\"", "\"confidence\"", "field `labelField`: `confidence` is taken by another member"),
            ("1, 2,", "1, 2.0,", "field `labels[1]`: must be an integer or a string, not a decimal number"),
            ("1, 2,", "9007199254740993, 2,", "field `labels[0]`: the integer is beyond 2^53 - 1"),
            ("first-byte", "last-byte", "field `split.rule`: must be `first-byte` or `manifest`, not `last-byte`"),
            ("\"from\": 230", "\"from\": 257", "field `split.ranges[2].from`: must be an integer from 0 to 256"),
            ("macroF1", "accuracy", "field `gates[0].metric`: is no metric"),
            (">=", ">", "field `gates[0].comparator`: must be `>=` or `<=`, not `>`"),
            ("0.8", "\"0.8\"", "field `gates[0].limit`: must be a number, not a string"),
            ("0.8", "0.80000000000000001", "field `gates[0].limit`: does not survive canonical JSON"),
            ("0.8}", "0.8, \"x\": 1}", "field `gates[0].x`: is not a known field"),
            ("\"bins\": 10", "\"bins\": 10.0", "field `bins`: must be an integer from 0 to 1000"),
            ("\"bins\": 10", "\"bins\": 10, \"itemField\": \"truth\"", "field `itemField`: `truth` is taken"),
            ("\"minCoverage\": 0.5,", "", "field `minCoverage`: is missing"),
            ("\"bins\": 10", "\"bins\": 10, \"bins\": 10", "the key `bins` occurs twice"),
        ] {
            let refusal = refusal(from, to);
            assert!(refusal.starts_with(wanted), "{to}: {refusal}");
        }
    }
}
