//! `proofmark policy`: when to stay silent, and which rules of policies and profiles are none.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use proofmark::abstain::{Policy, lint_policy};
use proofmark::calibrate::{Finding, Profile, lint_profile};
use proofmark::object::{Json, JsonFault, parse};
use serde::Serialize;

use super::context::Context;
use super::failure::{Exit, Failure, one_line};
use super::intake::RecordFile;
use super::rules;

/// What the command takes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes of lint: 0 nothing to say, 3 findings, 2 neither a profile nor a policy. docs/gate.md lists the findings.

Examples:
  proofmark policy show
  proofmark policy show --json > mine.json                a policy to start from
  proofmark policy lint mine.json")]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show an abstention policy and its digest; --json prints the policy itself
    Show {
        /// A built-in policy, a file, or the digest of one that the ledger holds
        #[arg(value_name = "NAME|FILE|DIGEST", default_value = "default/v1")]
        policy: String,
    },
    /// Look a profile or a policy over for rules that can never fail or never pass
    Lint {
        /// The profile or policy
        file: PathBuf,
    },
}

/// Runs the command.
pub fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    match &arguments.action {
        Action::Show { policy } => {
            let policy = rules::policy(policy, context)?;
            let document = parse(policy.canonical()).map_err(Failure::failed)?;
            context.answer(&document, || text(&policy))?;
            Ok(Exit::Yes)
        }
        Action::Lint { file } => lint(file, None, context),
    }
}

fn text(policy: &Policy) -> String {
    let terms = policy.terms();
    let levels = |levels: &[String]| levels.iter().map(|level| one_line(level)).collect::<Vec<_>>().join(", ");
    let accepted = terms.accepted_quality.as_deref().map_or_else(|| "any that is not poor".to_owned(), levels);
    let mut text = format!("policy            {}\ndigest            {}\n", one_line(&terms.name), policy.digest());
    text.push_str(&format!("confidence floor  {}\n", terms.confidence_floor));
    text.push_str(&format!("accepted quality  {accepted}\npoor quality      {}\n", levels(&terms.poor_quality)));
    for (reason, copy) in &terms.copy {
        text.push_str(&format!("{:18}{}\n", reason.name(), one_line(copy)));
    }
    text
}

/// What a file of rules is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleKind {
    /// A task profile.
    Profile,
    /// An abstention policy.
    Policy,
}

#[derive(Serialize)]
struct LintDocument {
    schema: &'static str,
    kind: RuleKind,
    /// `None` where the rules cannot be used.
    name: Option<String>,
    blake3: Option<String>,
    usable: bool,
    findings: Vec<Finding>,
}

/// Looks a file over, which must be of the `wanted` kind where one is.
pub fn lint(path: &Path, wanted: Option<RuleKind>, context: &Context) -> Result<Exit, Failure> {
    let file = rules::read(path)?;
    let kind = kind(&file).or(wanted).ok_or_else(|| {
        Failure::refused(format!("{}: field `schema`: must be `profile.v1` or `policy.v1`", file.name))
    })?;
    let kind = wanted.unwrap_or(kind);
    let (findings, usable) = match kind {
        RuleKind::Profile => (
            lint_profile(&file.bytes).map_err(|error| rules::in_file(&file.name, error))?,
            match Profile::parse(&file.bytes) {
                Ok(profile) => {
                    rules::hold_name(&profile, &file.name)?;
                    Some((profile.terms().name.clone(), profile.digest()))
                }
                Err(_) => None,
            },
        ),
        RuleKind::Policy => (
            lint_policy(&file.bytes).map_err(|error| rules::in_file(&file.name, error))?,
            Policy::parse(&file.bytes).ok().map(|policy| (policy.terms().name.clone(), policy.digest())),
        ),
    };
    let document = LintDocument {
        schema: "policy-lint.v1",
        kind,
        usable: usable.is_some(),
        name: usable.as_ref().map(|(name, _)| name.clone()),
        blake3: usable.map(|(_, digest)| digest.to_string()),
        findings,
    };
    context.answer(&document, || lint_text(&document))?;
    Ok(if document.findings.is_empty() { Exit::Yes } else { Exit::No })
}

/// What the file says it is. A NaN keeps it from being read, and is itself a finding: then the first name of a schema in
/// its text counts.
fn kind(file: &RecordFile) -> Option<RuleKind> {
    let of = |schema: &str| match schema {
        "profile.v1" => Some(RuleKind::Profile),
        "policy.v1" => Some(RuleKind::Policy),
        _ => None,
    };
    match parse(&file.bytes) {
        Ok(Json::Object(members)) => members.iter().find_map(|(name, value)| match value {
            Json::String(schema) if name == "schema" => of(schema),
            _ => None,
        }),
        Err(error) if error.fault == JsonFault::NotANumber => {
            let text = String::from_utf8_lossy(&file.bytes);
            text.split('"').find_map(of)
        }
        _ => None,
    }
}

fn lint_text(document: &LintDocument) -> String {
    let mut text = String::new();
    let what = if document.kind == RuleKind::Profile { "profile" } else { "policy" };
    match (&document.name, &document.blake3) {
        (Some(name), Some(digest)) => text.push_str(&format!("{what} {}\ndigest {digest}\n", one_line(name))),
        _ => text.push_str(&format!("{what}: it cannot be used\n")),
    }
    for finding in &document.findings {
        let weight = if finding.refused { "refused" } else { "doubtful" };
        let (field, sentence) = (one_line(&finding.field), one_line(&finding.sentence));
        text.push_str(&format!("{weight:9} {}  {field}: {sentence}\n", finding.code));
    }
    if document.findings.is_empty() {
        text.push_str("no findings\n");
    }
    text
}
