//! Task profiles and abstention policies, found by name, by file, or by digest in the ledger.

use std::io::Read;
use std::path::Path;

use proofmark::abstain::{self, Policy};
use proofmark::calibrate::{self, Profile};
use proofmark::object::ObjectId;
use proofmark::store::{StoreError, open_object};

use super::context::Context;
use super::failure::Failure;
use super::intake::RecordFile;

/// The largest profile or policy (64 MiB: a manifest names every subject).
const MAX_RULES_BYTES: u64 = 64 << 20;

/// Finds a profile.
pub fn profile(name: &str, context: &Context) -> Result<Profile, Failure> {
    if calibrate::BUILT_IN.iter().any(|(known, _)| *known == name) {
        return Ok(Profile::built_in(name)?);
    }
    let known = calibrate::BUILT_IN.map(|(name, _)| name).join(", ");
    let found = found(name, "profile", &known, context)?;
    Profile::parse(&found.bytes).map_err(|error| in_file(&found.name, error))
}

/// Finds a policy.
pub fn policy(name: &str, context: &Context) -> Result<Policy, Failure> {
    if abstain::BUILT_IN.iter().any(|(known, _)| *known == name) {
        return Ok(Policy::built_in(name)?);
    }
    let known = abstain::BUILT_IN.map(|(name, _)| name).join(", ");
    let found = found(name, "policy", &known, context)?;
    Policy::parse(&found.bytes).map_err(|error| in_file(&found.name, error))
}

/// As [`hold_name`], of a policy: replies are told by its name.
pub fn hold_policy_name(policy: &Policy, file: &str) -> Result<(), Failure> {
    let name = policy.terms().name.trim();
    match abstain::BUILT_IN.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
        Some((known, _)) => borrowed(file, known, "policy", policy.digest(), Policy::built_in(known)?.digest()),
        None => Ok(()),
    }
}

/// Refuses rules under a built-in name that are not the built-in ones.
fn borrowed(file: &str, known: &str, what: &str, own: ObjectId, built_in: ObjectId) -> Result<(), Failure> {
    if own == built_in {
        return Ok(());
    }
    let (own, built_in) = (own.short(), built_in.short());
    let reason = format!("it calls itself `{known}`, which is built in as {built_in}, and it is {own}, another {what}");
    Err(in_file(file, reason).hint("give it a name of its own"))
}

/// A refusal that names its file.
pub fn in_file(name: &str, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Failure {
    Failure::refused(RulesRefused { name: name.to_owned(), source: error.into() })
}

#[derive(Debug, thiserror::Error)]
#[error("`{name}` cannot be used")]
struct RulesRefused {
    name: String,
    #[source]
    source: Box<dyn std::error::Error + Send + Sync>,
}

/// Refuses rules that go by the name of built-in ones and are others: a verdict is told by the name, and would pass for one
/// under rules that everybody knows.
pub fn hold_name(profile: &Profile, file: &str) -> Result<(), Failure> {
    let name = profile.terms().name.trim();
    match calibrate::BUILT_IN.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
        Some((known, _)) => borrowed(file, known, "profile", profile.digest(), Profile::built_in(known)?.digest()),
        None => Ok(()),
    }
}

/// Reads a file of rules.
pub fn read(path: &Path) -> Result<RecordFile, Failure> {
    RecordFile::read_up_to(path, MAX_RULES_BYTES)
}

fn found(name: &str, what: &str, known: &str, context: &Context) -> Result<RecordFile, Failure> {
    let path = Path::new(name);
    if path.exists() {
        return read(path);
    }
    let unknown = || {
        Failure::refused(format!("there is no {what} `{name}`"))
            .hint(format!("built in: {known}; a file, or the digest of one that the ledger holds, will do"))
    };
    let id: ObjectId = name.parse().map_err(|_| unknown())?;
    let ledger = context.ledger()?;
    // Its size is not known, so the digest is checked here.
    let Some(content) = open_object(ledger.store(), &id, MAX_RULES_BYTES)? else { return Err(unknown()) };
    let mut bytes = Vec::new();
    content.take(MAX_RULES_BYTES).read_to_end(&mut bytes)?;
    if ObjectId::of(&bytes) != id {
        return Err(StoreError::Damaged { name: id.to_string() }.into());
    }
    Ok(RecordFile { name: name.to_owned(), bytes })
}
