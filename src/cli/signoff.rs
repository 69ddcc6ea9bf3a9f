//! `proofmark signoff`: a person's signed GO or NO-GO on a receipt, over everything that it rests on.

use clap::ValueEnum;
use proofmark::receipt::{Body, Decision, Moment, ReceiptRef, Signoff, Text};
use proofmark::release::{Reason, Said as Noted, judge};
use proofmark::trust::{Role, Statement};
use serde::Serialize;

use super::context::Context;
use super::deciding::{Deciding, indexes};
use super::expiry::Expiry;
use super::failure::{Exit, Failure, one_line};
use super::signing::SigningOptions;

/// What the command takes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A sign-off rests on its receipt, on everything that receipt names, on what --with adds (and what that names), and on every
waiver about any of these; all of it is listed in the receipt. One standing NO-GO blocks a release, whatever others say. A
person's later sign-off takes the place of the earlier one.

On a trust receipt it is a root's agreement to a new trust version.

Examples:
  proofmark signoff '#12' --decision go --reason \"read the report, watched the canary\" --expires 90d
  proofmark signoff '#12' --decision go --with '#9' --reason \"the comparison with the baseline too\"
  proofmark signoff '#12' --decision no-go --reason \"label noise in the test set\"")]
pub struct Arguments {
    /// A gate run, comparison, scorecard or trust receipt
    #[arg(value_name = "REV")]
    rev: String,
    /// The decision
    #[arg(long, value_name = "go|no-go")]
    decision: Said,
    /// Why, for whoever reads it later
    #[arg(long, value_name = "TEXT")]
    reason: Text,
    /// When a GO no longer counts: days, a day, or a moment
    #[arg(long, value_name = "90d|DATE")]
    expires: Option<Expiry>,
    /// A receipt that the decision also rests on, such as the comparison with the baseline (repeatable)
    #[arg(long, value_name = "REV", num_args = 1..)]
    with: Vec<String>,
    /// A word for the reader of the receipt
    #[arg(long, value_name = "TEXT")]
    note: Option<Text>,
    #[command(flatten)]
    signing: SigningOptions,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Said {
    /// It may go
    Go,
    /// It must not go
    NoGo,
}

/// The document.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    schema: &'static str,
    index: u64,
    receipt: String,
    decision: Decision,
    target: ReceiptRef,
    reason: &'a Text,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<Moment>,
    rests_on: &'a [ReceiptRef],
    /// For a gate run: what still stands against its release, as far as the log says.
    missing: &'a [Reason],
    /// For a trust receipt: what came of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    trust: Option<Outcome>,
}

/// What a sign-off on a trust statement came to.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Outcome {
    version: u64,
    in_force: bool,
    /// The roots who agree, where it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    waits: Option<Waits>,
}

/// Who agrees, and who could.
#[derive(Serialize)]
struct Waits {
    needed: u32,
    agreed: Vec<String>,
    asked: Vec<String>,
}

/// Signs.
pub fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let deciding = Deciding::read(context)?;
    let target = deciding.named(&arguments.rev)?;
    let with: Vec<_> = arguments.with.iter().map(|rev| deciding.named(rev)).collect::<Result<_, _>>()?;
    let body = signoff(arguments, &deciding, target, &with)?;
    if body.decision == Decision::Go {
        deciding.hold(body.rests_on.iter().copied().chain([target]))?;
    }
    let about = about(&deciding, &body)?;
    let appended =
        deciding.append(&arguments.signing, target, arguments.note.clone(), Body::Signoff(body.clone()), &about)?;
    let (missing, trust) =
        match (deciding.reading.decisions.gate(target.index), deciding.reading.chain.is_trust(target)) {
            (Some(_), _) => (missing(&Deciding::read(context)?, target), None),
            (None, true) => (Vec::new(), Some(outcome(&Deciding::read(context)?, target)?)),
            (None, false) => (Vec::new(), None),
        };
    let document = Document {
        schema: "signoff.v1",
        index: appended.index,
        receipt: appended.receipt.to_string(),
        decision: body.decision,
        target,
        reason: &body.reason,
        expires: body.expires,
        rests_on: &body.rests_on,
        missing: &missing,
        trust,
    };
    context.answer(&document, || text(&document))?;
    Ok(Exit::Yes)
}

fn signoff(
    arguments: &Arguments,
    deciding: &Deciding<'_>,
    target: ReceiptRef,
    with: &[ReceiptRef],
) -> Result<Signoff, Failure> {
    let decision = if arguments.decision == Said::Go { Decision::Go } else { Decision::NoGo };
    let expires = match (arguments.expires, decision) {
        (Some(_), Decision::NoGo) => {
            return Err(Failure::refused("a NO-GO has no expiry: it stands until its signer says GO or withdraws it")
                .hint("leave out --expires"));
        }
        (Some(expiry), Decision::Go) => {
            Some(expiry.after(deciding.now).ok_or_else(|| Failure::refused("the expiry is beyond the year 9999"))?)
        }
        (None, _) => None,
    };
    let of_trust = deciding.reading.chain.is_trust(target);
    let rests_on =
        if of_trust && with.is_empty() { Vec::new() } else { deciding.reading.decisions.complete(target, with) };
    Ok(Signoff { target, decision, reason: arguments.reason.clone(), expires, rests_on })
}

fn about(deciding: &Deciding<'_>, body: &Signoff) -> Result<String, Failure> {
    let kind = deciding.kind(body.target)?;
    if deciding.reading.chain.is_trust(body.target) {
        let proposed = statement(deciding, body.target)?;
        let changes = proposed.changes_from(deciding.reading.chain.now());
        let changes = if changes.is_empty() { "no change".to_owned() } else { changes.join("; ") };
        let (decision, index) = (body.decision, body.target.index);
        return Ok(format!("{decision} on trust #{index}, version {}: {changes}", proposed.version()));
    }
    let expires = body.expires.map(|expires| format!(", until {expires}")).unwrap_or_default();
    let says = deciding.reading.decisions.noted(body.target).map(|noted| says(&noted.said)).unwrap_or_default();
    let (decision, index, rests_on) = (body.decision, body.target.index, indexes(&body.rests_on));
    Ok(format!("{decision} on {kind} #{index}{says}{expires}, resting on {rests_on}: {}", body.reason))
}

/// What a receipt says, in a few words: whoever signs it off should see it.
fn says(said: &Noted) -> String {
    match said {
        Noted::Gate(gate) => match &gate.recommended {
            Some(model) if gate.go => format!(" (GO, {model} recommended)"),
            _ => " (BLOCKED)".to_owned(),
        },
        Noted::Comparison(note) => {
            format!(" (#{} against #{}, {})", note.current.index, note.base.index, note.outcome)
        }
        _ => String::new(),
    }
}

/// What still stands against the release of a gate run once this is in the log.
fn missing(after: &Deciding<'_>, target: ReceiptRef) -> Vec<Reason> {
    let decisions = &after.reading.decisions;
    let at = decisions.newest().map_or(after.now, |newest| newest.max(after.now));
    judge(decisions, after.reading.chain.now(), target, at).reasons
}

/// Whether a trust statement is in force once this is in the log, and if not, for whom it waits.
fn outcome(after: &Deciding<'_>, target: ReceiptRef) -> Result<Outcome, Failure> {
    let chain = &after.reading.chain;
    let version = statement(after, target)?.version();
    let waits = chain.pending().iter().find(|proposal| proposal.receipt == target).map(|proposal| Waits {
        needed: chain.now().needed(Role::Root),
        agreed: proposal.agreed.iter().cloned().collect(),
        asked: chain.asked(proposal).into_iter().map(str::to_owned).collect(),
    });
    Ok(Outcome { version, in_force: chain.in_force().1 == target, waits })
}

/// What a trust receipt states.
fn statement(deciding: &Deciding<'_>, target: ReceiptRef) -> Result<Statement, Failure> {
    let receipt = deciding.ledger.snapshot()?.receipt(target.index)?;
    match &receipt.statement().predicate.body {
        Body::Trust(statement) => Ok(statement.clone()),
        _ => Err(Failure::refused(format!("#{} is no trust receipt", target.index))),
    }
}

fn text(document: &Document<'_>) -> String {
    let Document { index, receipt, decision, target, missing, .. } = document;
    let expires = document.expires.map(|expires| format!(", until {expires}")).unwrap_or_default();
    let mut text = format!("receipt {index}  {}  {decision} on #{}{expires}\n", &receipt[..12], target.index);
    match &document.trust {
        Some(trust) => text.push_str(&trust_text(trust)),
        None => text.push_str(&format!("rests on {}\n", indexes(document.rests_on))),
    }
    for reason in *missing {
        text.push_str(&format!(
            "still missing: {}: {}\n  {}\n",
            reason.code,
            one_line(&reason.found),
            one_line(&reason.remedy)
        ));
    }
    text
}

fn trust_text(trust: &Outcome) -> String {
    let names = |names: &[String]| match names {
        [] => "nobody".to_owned(),
        names => names.iter().map(|name| one_line(name)).collect::<Vec<_>>().join(", "),
    };
    match (trust.in_force, &trust.waits) {
        (true, _) => format!("trust version {} is in force\n", trust.version),
        (false, Some(Waits { needed, agreed, asked })) => format!(
            "trust version {} waits: {} of {needed} roots agree ({}); asked: {}\n",
            trust.version,
            agreed.len(),
            names(agreed),
            names(asked)
        ),
        (false, None) => format!("trust version {} is not in force\n", trust.version),
    }
}
