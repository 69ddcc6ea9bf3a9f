//! `proofmark abstain`: replies become suggestions, or abstentions with their reason and the policy's words for it.

use std::path::PathBuf;

use proofmark::abstain::{Decision, Policy, Summary, decide_all};
use serde::Serialize;

use super::context::Context;
use super::failure::{Exit, Failure, one_line};
use super::intake::RecordFile;
use super::{gates, rules};

/// What the command takes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Replies (JSONL), each member of which may be absent or null; other members are yours:
  {\"label\": 4 or \"text\", \"confidence\": 0 to 1, \"quality\": \"good\"}

One decision a line, in the order of the replies:
  {\"line\": 1, \"outcome\": \"suggestion\", \"label\": 4, \"confidence\": 0.93}
  {\"line\": 2, \"outcome\": \"abstention\", \"reason\": \"low-confidence\", \"copy\": \"…\"}

Examples:
  proofmark abstain --replies replies.jsonl
  proofmark abstain --policy mine.json --replies replies.jsonl --floor-from '#7'
  proofmark abstain --replies replies.jsonl --floor-from '#7:resnet-a' --json")]
pub struct Arguments {
    /// The policy: a built-in one, a file, or a digest in the ledger
    #[arg(long, value_name = "NAME|FILE", default_value = "default/v1")]
    policy: String,
    /// The replies
    #[arg(long, value_name = "FILE")]
    replies: PathBuf,
    /// Take the confidence floor from a gate receipt: the threshold of MODEL or, without it, of the recommended one
    #[arg(long, value_name = "REV[:MODEL]")]
    floor_from: Option<String>,
}

#[derive(Serialize)]
struct NumberedDecision<'a> {
    line: usize,
    #[serde(flatten)]
    decision: &'a Decision,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AbstainDocument {
    schema: &'static str,
    policy: PolicyName,
    #[serde(flatten)]
    summary: Summary,
    decisions: Vec<serde_json::Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PolicyName {
    name: String,
    blake3: String,
    confidence_floor: f64,
}

/// Runs the command.
pub fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let policy = rules::policy(&arguments.policy, context)?;
    rules::hold_policy_name(&policy, &arguments.policy)?;
    let policy = match &arguments.floor_from {
        Some(source) => policy.with_floor(floor(source, context)?)?,
        None => policy,
    };
    for finding in policy.findings() {
        context.note(&format!("policy: {} ({}, {})", finding.sentence, finding.code, finding.field));
    }
    let file = RecordFile::read(&arguments.replies)?;
    // Nothing is answered before everything is read: a refused file gives no decisions.
    if context.json() {
        let mut decisions = Vec::new();
        let summary = decide(&policy, &file, |decision| {
            decisions.push(serde_json::to_value(decision)?);
            Ok(())
        })?;
        context.print_json(&AbstainDocument {
            schema: "abstain.v1",
            policy: PolicyName {
                name: policy.terms().name.clone(),
                blake3: policy.digest().to_string(),
                confidence_floor: policy.terms().confidence_floor.to_f64(),
            },
            summary,
            decisions,
        })?;
        return Ok(Exit::Yes);
    }
    let mut lines = Vec::new();
    let summary = decide(&policy, &file, |decision| {
        serde_json::to_writer(&mut lines, decision)?;
        lines.push(b'\n');
        Ok(())
    })?;
    context.print_bytes(&lines)?;
    // The decisions come before what is said about them.
    context.flush()?;
    context.note(&summary_text(&policy, &summary));
    Ok(Exit::Yes)
}

fn decide(
    policy: &Policy,
    file: &RecordFile,
    mut each: impl FnMut(&NumberedDecision<'_>) -> Result<(), serde_json::Error>,
) -> Result<Summary, Failure> {
    decide_all(policy, &file.name, file.bytes.as_slice(), |line, decision| {
        each(&NumberedDecision { line, decision }).map_err(Failure::from)
    })
}

/// The threshold that a gate run chose for a candidate that keeps every gate.
fn floor(source: &str, context: &Context) -> Result<proofmark::calibrate::Decimal, Failure> {
    let (revision, model) = match source.split_once(':') {
        Some((revision, model)) => (revision, Some(model)),
        None => (source, None),
    };
    let ledger = context.ledger()?;
    let snapshot = ledger.snapshot()?;
    let run = gates::run(revision, &ledger, &snapshot)?
        .ok_or_else(|| Failure::refused(format!("`{revision}` is no gate receipt")))?;
    let report = run.report();
    let model = model.or(report.recommended.as_deref()).ok_or_else(|| {
        Failure::refused(format!(
            "the gate run `{revision}` is BLOCKED, so it recommends no candidate to take a floor from"
        ))
    })?;
    let candidate = report
        .candidate(model)
        .ok_or_else(|| Failure::refused(format!("the gate run `{revision}` has no candidate `{}`", one_line(model))))?;
    match &candidate.threshold_as_written {
        Some(threshold) if candidate.passed => Ok(threshold.parse().map_err(Failure::refused)?),
        _ => Err(Failure::refused(format!(
            "the candidate `{}` is blocked, so its threshold is no floor",
            one_line(model)
        ))
        .hint(one_line(&candidate.reasons.join("; ")))),
    }
}

fn summary_text(policy: &Policy, summary: &Summary) -> String {
    let abstentions: u64 = summary.abstentions.values().sum();
    let total = summary.suggestions + abstentions;
    let (name, floor) = (one_line(&policy.terms().name), &policy.terms().confidence_floor);
    let mut text = format!("{total} replies under {name} (floor {floor}): {} suggestions", summary.suggestions);
    for (reason, count) in &summary.abstentions {
        text.push_str(&format!(", {count} {}", reason.name()));
    }
    text
}
