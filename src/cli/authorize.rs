//! `proofmark authorize`: the one release decision, with every reason against it.

use std::path::{Path, PathBuf};

use proofmark::authorize::{AuthorizeError, Basis, Decided, Document, Request, Time, Wanted, When, judge_bare};
use proofmark::gate::Report;
use proofmark::ledger::LedgerError;
use proofmark::merkle::MAX_NOTE_BYTES;
use proofmark::object::ObjectId;
use proofmark::receipt::{Authorization, Body, Decision, Moment, ReceiptRef, Release, Text};
use proofmark::release::Reason;
use serde::Serialize;

use super::context::{CLOCK, Context};
use super::deciding::{Deciding, indexes};
use super::expiry::Expiry;
use super::failure::{Exit, Failure, one_line};
use super::intake::RecordFile;
use super::signing::{SigningOptions, explained};
use super::{progress, rounds};

/// The largest report that is read: thousands of candidates.
const MAX_REPORT_BYTES: u64 = 1 << 26;

/// What the command takes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Authorized only with a GO verdict, a recommended candidate whose threshold was selected on validation and scored on held-out
test, evidence that is intact and replays, nothing withdrawn or expired, and the sign-offs that the trust asks for. The whole
ledger is audited first: whatever cannot be read, known or proven blocks. docs/findings.md has a chapter for every code.

Without --at, expiries are held against this machine's clock or the newest time in the log, whichever is later; SOURCE_DATE_EPOCH
moves neither. PROOFMARK_CLOCK (seconds since 1970) stands in for the clock in tests and examples, and the answer says so. A report
that no receipt holds is judged and never authorized.

Exit codes: 0 AUTHORIZED, 3 BLOCKED (or an older log than this machine saw), 2 refused, 1 could not run.

Examples:
  proofmark authorize                              the newest gate run
  proofmark authorize '#12' --record               and append the decision as a receipt
  proofmark authorize --report gate.json --json    the gate run that holds this report
  proofmark authorize --checkpoint seen.txt --min-size 40
                                                   refuse a ledger that leaves something out")]
pub struct Arguments {
    /// The gate run [default: the newest]
    #[arg(value_name = "REV", conflicts_with = "report")]
    rev: Option<String>,
    /// A gate report: the gate run that holds it, else the report by itself
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Hold expiries against this moment, as given; not with --record
    #[arg(long, value_name = "TIME")]
    at: Option<Expiry>,
    /// Append the decision as a receipt
    #[arg(long)]
    record: bool,
    /// The fewest receipts that the log must have
    #[arg(long, value_name = "N")]
    min_size: Option<u64>,
    /// A signed checkpoint that the log must extend
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// A word for the reader of the receipt
    #[arg(long, value_name = "TEXT", requires = "record")]
    note: Option<Text>,
    #[command(flatten)]
    signing: SigningOptions,
}

/// The decision, and the receipt that records it.
#[derive(Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    document: &'a Document,
    recorded: Option<ReceiptRef>,
    /// Whether the published checkpoint was lost and was published again before the decision.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    republished: bool,
}

/// Decides, and says so.
pub fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    if arguments.record && arguments.at.is_some() {
        let message = "--record goes by the clock: what was decided for another moment is no decision to record";
        return Err(Failure::refused(message).hint("leave out --at, or --record"));
    }
    // Read once: a recorded decision is dated by the clock that expiries were held against.
    let clock = context.clock()?;
    let document = decide(arguments, context, clock)?;
    let recorded = match arguments.record {
        true => Some(record(arguments, context, clock.now(), &document)?),
        false => None,
    };
    let answer = Answer { document: &document, recorded, republished: context.restored() };
    context.answer(&answer, || text(&document, recorded))?;
    Ok(if document.decision == Release::Authorized { Exit::Yes } else { Exit::No })
}

fn decide(arguments: &Arguments, context: &Context, clock: When) -> Result<Document, Failure> {
    let when = match arguments.at {
        None => clock,
        Some(at) => When::Given(at.after(clock.now()).ok_or_else(|| Failure::refused("--at is beyond the year 9999"))?),
    };
    let report = arguments.report.as_deref().map(read_report).transpose()?;
    if let (Some((report, _)), None, Err(_)) = (&report, context.named_ledger(), context.ledger_folder()) {
        if arguments.record || arguments.min_size.is_some() || arguments.checkpoint.is_some() {
            return Err(Failure::refused("there is no ledger here to hold the report against")
                .hint("`--ledger DIR` names one elsewhere"));
        }
        return Ok(judge_bare(report, when));
    }
    let ledger = context.ledger()?;
    let wanted = match (&arguments.rev, report) {
        (Some(rev), _) => Wanted::Receipt(rounds::resolve(&ledger, rev)?),
        (None, Some((report, digest))) => Wanted::Report { report: Box::new(report), digest },
        (None, None) => Wanted::Newest,
    };
    let extends = arguments.checkpoint.as_deref().map(read_checkpoint).transpose()?;
    let request = Request { wanted, when, min_size: arguments.min_size, extends };
    Ok(decided(context, &ledger, &request)?.document)
}

/// Decides, with progress; a fork is told with its evidence.
pub fn decided(context: &Context, ledger: &proofmark::ledger::Ledger, request: &Request) -> Result<Decided, Failure> {
    let bar = progress::bar(context, "auditing", 0);
    let decided = proofmark::authorize::decide(ledger, &context.ratchet()?, request, &mut |done, total| {
        bar.set_length(total);
        bar.set_position(done);
    });
    bar.finish_and_clear();
    decided.map_err(|error| match error {
        AuthorizeError::Ledger(error @ LedgerError::Fork(_)) => explained(context, error),
        AuthorizeError::Ledger(error) => error.into(),
        AuthorizeError::Verify(error) => error.into(),
        error => Failure::refused(error).hint("`proofmark log --kind gate` lists the gate runs"),
    })
}

fn read_report(path: &Path) -> Result<(Report, ObjectId), Failure> {
    let file = RecordFile::read_up_to(path, MAX_REPORT_BYTES)?;
    let report = Report::parse(&file.bytes).map_err(|error| {
        Failure::refused(error)
            .within(format!("{} is no gate report", file.name))
            .hint("a report is what `proofmark gate --report FILE` writes, byte for byte")
    })?;
    Ok((report, ObjectId::of(&file.bytes)))
}

fn read_checkpoint(path: &Path) -> Result<(String, Vec<u8>), Failure> {
    let file = RecordFile::read_up_to(path, MAX_NOTE_BYTES as u64)?;
    Ok((file.name, file.bytes))
}

/// Appends the decision to exactly the log that was judged.
fn record(arguments: &Arguments, context: &Context, now: Moment, document: &Document) -> Result<ReceiptRef, Failure> {
    let (Some(target), Some(ledger)) = (document.target, &document.ledger) else {
        return Err(Failure::refused("there is no gate receipt, so there is no decision to record")
            .hint("`proofmark gate --predictions FILE --record` makes one"));
    };
    let deciding = Deciding::read_at(context, now)?;
    if (deciding.reading.size, deciding.reading.root) != (ledger.size, ledger.root) {
        return Err(LedgerError::Moved { read: ledger.size, found: deciding.reading.size }.into());
    }
    let mut codes: Vec<_> = document.reasons.iter().map(|reason| reason.code).collect();
    codes.sort_unstable();
    codes.dedup();
    let body = Authorization {
        target,
        decision: document.decision,
        at: document.at,
        size: ledger.size,
        root: ledger.root,
        reasons: codes.into_iter().map(str::parse).collect::<Result<_, _>>()?,
        rests_on: document.rests_on.clone(),
    };
    let about = format!("{} for gate #{}, resting on {}", body.decision, target.index, indexes(&body.rests_on));
    let note = arguments.note.clone();
    let appended = deciding.append(&arguments.signing, target, note, Body::Authorization(body), &about)?;
    Ok(ReceiptRef { index: appended.index, receipt: appended.receipt })
}

fn text(document: &Document, recorded: Option<ReceiptRef>) -> String {
    let mut text = format!("{}\n", document.decision);
    text.push_str(&subject(document));
    text.push_str(&voices(document));
    text.push_str(&judged(document));
    if !document.reasons.is_empty() {
        text.push_str(&format!("\nreasons: {}\n", document.reasons.len()));
    }
    document.reasons.iter().for_each(|reason| text.push_str(&told(reason)));
    for caution in &document.cautions {
        text.push_str(&format!("caution: {}\n", one_line(caution)));
    }
    if let Some(ReceiptRef { index, receipt }) = recorded {
        text.push_str(&format!("recorded: receipt {index} {}\n", receipt.short()));
    }
    text
}

/// What is to be released.
pub fn subject(document: &Document) -> String {
    let mut text = match (document.target, document.basis) {
        (Some(target), _) => {
            let signer = document.signer.as_deref().unwrap_or("nobody");
            format!("gate       #{} {} by {}\n", target.index, target.receipt.short(), one_line(signer))
        }
        (None, Basis::BareReport) => {
            "gate       a bare report: nobody signed it, nothing was replayed, nobody signed it off\n".to_owned()
        }
        (None, _) => "gate       none\n".to_owned(),
    };
    if let Some(candidate) = &document.candidate {
        let threshold = candidate.threshold.as_deref().unwrap_or("none");
        text.push_str(&format!("candidate  {} at threshold {threshold}\n", one_line(&candidate.model)));
        let (profile, floor) = (&candidate.profile, candidate.min_coverage);
        let name = one_line(&profile.name);
        text.push_str(&format!("profile    {name} {}, coverage floor {floor}\n", profile.blake3.short()));
    }
    text
}

/// Who said what, and what was waived.
pub fn voices(document: &Document) -> String {
    let mut text = String::new();
    for voice in &document.signoffs {
        let counts = match (voice.counts, voice.decision) {
            (true, Decision::NoGo) => "stands".to_owned(),
            (false, Decision::NoGo) => "taken back".to_owned(),
            (true, Decision::Go) => "counts".to_owned(),
            (false, Decision::Go) => {
                format!("does not count ({})", one_line(voice.doubt.as_deref().unwrap_or("a NO-GO stands")))
            }
        };
        let expires = voice.expires.map(|expires| format!(", until {expires}")).unwrap_or_default();
        let (who, reason) = (one_line(&voice.who), one_line(&voice.reason));
        text.push_str(&format!(
            "sign-off   #{} {} by {who}{expires}, {counts}: {reason}\n",
            voice.index, voice.decision
        ));
    }
    for waiver in &document.waivers {
        let counts =
            waiver.doubt.as_ref().map_or_else(|| "counts".to_owned(), |doubt| format!("does not count: {doubt}"));
        let (who, reason, counts) = (one_line(&waiver.who), one_line(&waiver.reason), one_line(&counts));
        text.push_str(&format!(
            "waiver     #{} of {} on #{} by {who}, until {}, {counts}: {reason}\n",
            waiver.index, waiver.check, waiver.about.index, waiver.expires
        ));
    }
    text
}

/// Under which checkpoint, at which moment.
pub fn judged(document: &Document) -> String {
    let time = match document.time {
        Time::Clock => "this machine's clock",
        Time::Variable => CLOCK,
        Time::Log => "the newest time in the log, which is later than the clock",
        Time::Given => "as given with --at",
    };
    let at: Moment = document.at;
    let ledger = document.ledger.as_ref().map_or_else(String::new, |ledger| {
        let origin = one_line(&ledger.origin);
        let receipts = if ledger.size == 1 { "receipt" } else { "receipts" };
        format!("judged     {} {receipts} of {origin}, root {}\n", ledger.size, ledger.root)
    });
    format!("{ledger}time       {at}, {time}\n")
}

/// One reason for people.
pub fn told(reason: &Reason) -> String {
    let index = reason.index.map(|index| format!("  receipt #{index}")).unwrap_or_default();
    let who = reason.who.as_deref().map(|who| format!("  {}", one_line(who))).unwrap_or_default();
    format!(
        "  {}{index}{who}\n    found   {}\n    rule    {}\n    remedy  {}\n",
        reason.code,
        one_line(&reason.found),
        one_line(&reason.rule),
        one_line(&reason.remedy)
    )
}
