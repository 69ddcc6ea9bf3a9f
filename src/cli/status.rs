//! `proofmark status`: one screen for a release manager.

use std::collections::BTreeSet;

use proofmark::authorize::{Decided, Document, Request, Wanted};
use proofmark::calibrate::Comparator;
use proofmark::receipt::{Kind, ReceiptRef, Release};
use proofmark::release::{Code, Decisions, Reason, Said, WAIVABLE};
use proofmark::trust::{Role, Statement};
use serde::Serialize;

use super::authorize::{decided, judged, subject, voices};
use super::context::Context;
use super::failure::{Exit, Failure, one_line};
use super::rounds;

/// What the command takes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
It asks what `proofmark authorize` asks and decides nothing: the exit code is 0 whatever it says.

Examples:
  proofmark status            the newest gate run
  proofmark status '#12'
  proofmark status --json")]
pub struct Arguments {
    /// The gate run [default: the newest]
    #[arg(value_name = "REV")]
    rev: Option<String>,
}

/// The document.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Status<'a> {
    schema: &'static str,
    release: &'a Document,
    /// None where receipt 0 cannot be used.
    trust_version: Option<u64>,
    signoffs_needed: Option<u32>,
    comparisons: Vec<Compared>,
    withdrawals: Vec<Withdrawn>,
    next: String,
}

/// A comparison that somebody's sign-off rests on, or the newest one.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Compared {
    index: u64,
    base: u64,
    current: u64,
    comparable: bool,
    regressed: bool,
    #[serde(skip)]
    outcome: String,
    /// Whether the release rests on it.
    rests_on: bool,
}

/// A withdrawal of the gate run, of a sign-off on it, or of something that these rest on.
#[derive(Serialize)]
struct Withdrawn {
    index: u64,
    target: u64,
    kind: &'static str,
    who: String,
}

/// Shows.
pub fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let ledger = context.ledger()?;
    let wanted = match &arguments.rev {
        Some(rev) => Wanted::Receipt(rounds::resolve(&ledger, rev)?),
        None => Wanted::Newest,
    };
    let request = Request { wanted, when: context.clock()?, min_size: None, extends: None };
    // A ledger that is damaged is shown as far as it can be read; the document says what is wrong with it.
    let Decided { document, decisions, now } = decided(context, &ledger, &request)?;
    let comparisons = comparisons(&decisions, &document);
    let status = Status {
        schema: "status.v1",
        trust_version: now.as_ref().map(Statement::version),
        signoffs_needed: now.as_ref().map(|now| now.needed(Role::Signoff)),
        withdrawals: withdrawals(&decisions, &document),
        next: next(&document, &comparisons),
        comparisons,
        release: &document,
    };
    context.answer(&status, || text(&status))?;
    Ok(Exit::Yes)
}

/// The comparisons that the release rests on, and the newest one of the ledger where it is none of them: one that was left
/// out may say something else.
fn comparisons(decisions: &Decisions, document: &Document) -> Vec<Compared> {
    let compared = |index: u64, rests_on: bool| match decisions.at(index).map(|noted| &noted.said) {
        Some(Said::Comparison(note)) => Some(Compared {
            index,
            base: note.base.index,
            current: note.current.index,
            comparable: note.comparable,
            regressed: note.regressed,
            outcome: note.outcome.clone(),
            rests_on,
        }),
        _ => None,
    };
    let resting = document.rests_on.iter().filter_map(|one| compared(one.index, true));
    let newest = decisions.iter().filter(|(_, noted)| noted.kind() == Kind::Comparison).last();
    let left_out = newest.filter(|(index, _)| document.rests_on.iter().all(|one| one.index != *index));
    resting.chain(left_out.and_then(|(index, _)| compared(index, false))).collect()
}

fn withdrawals(decisions: &Decisions, document: &Document) -> Vec<Withdrawn> {
    let Some(target) = document.target else { return Vec::new() };
    let signoffs = decisions.signoffs(target.index).map(|(index, _, note)| (index, note.rests_on.as_slice()));
    let mut about: Vec<u64> = vec![target.index];
    for (index, rests_on) in signoffs {
        about.push(index);
        about.extend(rests_on.iter().map(|one: &ReceiptRef| one.index));
    }
    about.sort_unstable();
    about.dedup();
    let withdrawn = |target: &u64| {
        let index = decisions.withdrawn(*target)?;
        let kind = decisions.at(*target)?.kind().as_str();
        Some(Withdrawn { index, target: *target, kind, who: decisions.name_at(index).to_owned() })
    };
    about.iter().filter_map(withdrawn).collect()
}

/// The one command that leads on.
fn next(document: &Document, comparisons: &[Compared]) -> String {
    let gate = || "proofmark gate --predictions FILE --record".to_owned();
    let Some(target) = document.target else { return gate() };
    if document.decision == Release::Authorized {
        return format!("proofmark authorize '#{}' --record", target.index);
    }
    let of =
        |codes: &[Code]| document.reasons.iter().find(|reason| codes.iter().any(|code| code.as_str() == reason.code));
    let at = |reason: &Reason| reason.index.unwrap_or(target.index);
    // What no code of a decision has is a finding of the audit.
    let audited = |reason: &&Reason| Code::ALL.iter().all(|code| code.as_str() != reason.code);
    if document.reasons.iter().any(|reason| audited(&reason)) || of(&[Code::LedgerUnsound, Code::NotReplayed]).is_some()
    {
        return "proofmark verify --replay".to_owned();
    }
    if of(&OVER).is_some() {
        return gate();
    }
    if let Some(no_go) = of(&[Code::NoGo]) {
        return format!("proofmark show '#{}'", at(no_go));
    }
    if let Some(faulty) = of(&[Code::WaiverFaulty]) {
        return format!("proofmark withdraw '#{}' --reason TEXT", at(faulty));
    }
    if of(&[Code::MustPassFailing, Code::NamesOnly]).is_some() {
        return "proofmark append --questions FILE --answers FILE".to_owned();
    }
    let waived = |reason: &Reason| {
        let mut waivers = document.waivers.iter().filter(|waiver| waiver.check == reason.code);
        waivers.any(|waiver| waiver.unlisted && Some(waiver.about.index) == reason.index)
    };
    let mut failing = document.reasons.iter().filter(|reason| WAIVABLE.iter().any(|code| code.as_str() == reason.code));
    if let Some(reason) = failing.find(|reason| !waived(reason)) {
        return format!("proofmark waive '#{}' --check {} --expires 30d --reason TEXT", at(reason), reason.code);
    }
    if of(&[Code::SignoffMissing, Code::OnlyAppender]).is_some()
        || document.waivers.iter().any(|waiver| waiver.unlisted)
    {
        let about = document.waivers.iter().filter(|waiver| waiver.unlisted).map(|waiver| waiver.about.index);
        let resting = comparisons.iter().filter(|compared| compared.rests_on).map(|compared| compared.index);
        let with: BTreeSet<_> = about.chain(resting).filter(|about| *about != target.index).collect();
        let with: String = with.into_iter().map(|about| format!(" --with '#{about}'")).collect();
        return format!("proofmark signoff '#{}' --decision go{with} --reason TEXT", target.index);
    }
    format!("proofmark authorize '#{}'", target.index)
}

/// Reasons after which this gate run is over.
const OVER: [Code; 7] = [
    Code::GateBlocked,
    Code::CandidateNotPassed,
    Code::ThresholdNotSelected,
    Code::NotScoredOnTest,
    Code::Withdrawn,
    Code::SignerCompromised,
    Code::GateLooksExceeded,
];

fn text(status: &Status<'_>) -> String {
    let document = status.release;
    let mut text = format!("{}\n{}", document.decision, subject(document));
    for gate in document.candidate.iter().flat_map(|candidate| &candidate.gates) {
        let value = gate.value.map_or_else(|| "none".to_owned(), |value| format!("{value:.4}"));
        let sign = if gate.comparator == Comparator::AtLeast { ">=" } else { "<=" };
        let word = if gate.passed { "holds" } else { "fails" };
        let metric = one_line(&gate.metric.to_string());
        text.push_str(&format!("  {metric:24}{value:>10} {sign} {:<8}{word}\n", gate.limit));
    }
    for compared in &status.comparisons {
        let rests = if compared.rests_on { "" } else { ", and no sign-off rests on it (`signoff --with`)" };
        text.push_str(&format!(
            "compared   #{}: #{} against #{}, {}{rests}\n",
            compared.index, compared.current, compared.base, compared.outcome
        ));
    }
    if status.comparisons.is_empty() {
        text.push_str("compared   nothing: `proofmark compare --record`, then `signoff --with` the receipt\n");
    }
    let counting =
        document.signoffs.iter().filter(|voice| voice.counts && voice.decision == proofmark::receipt::Decision::Go);
    match (status.signoffs_needed, status.trust_version) {
        (Some(needed), Some(version)) => {
            let counting = counting.count();
            text.push_str(&format!("signed     {counting} of {needed} GOs needed by trust version {version}\n"));
        }
        _ => text.push_str("signed     nobody can tell: receipt 0 says nothing of who may sign\n"),
    }
    text.push_str(&voices(document));
    for withdrawn in &status.withdrawals {
        let who = one_line(&withdrawn.who);
        text.push_str(&format!(
            "withdrawn  {} #{} by {who}, in #{}\n",
            withdrawn.kind, withdrawn.target, withdrawn.index
        ));
    }
    text.push_str(&judged(document));
    for reason in &document.reasons {
        text.push_str(&format!("missing    {}: {}\n", reason.code, one_line(&reason.found)));
        text.push_str(&format!("           {}\n", one_line(&reason.remedy)));
    }
    for caution in &document.cautions {
        text.push_str(&format!("caution    {}\n", one_line(caution)));
    }
    text.push_str(&format!("next       {}\n", status.next));
    text
}
