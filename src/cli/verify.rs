//! `proofmark verify [REV|FILE|--all]`.

use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use proofmark::dossier::Dossier;
use proofmark::merkle::{ConsistencyProof, InclusionProof};
use proofmark::object::ReceiptId;
use proofmark::question::Reveal;
use proofmark::store::{Directory, StoreError};
use proofmark::verify::{
    About, Axis, AxisReport, Finding, Options, Report, Status, VerifyError, find_receipt, verify, verify_dossier,
};

use super::context::Context;
use super::failure::{Exit, Failure, one_line};
use super::{progress, prove, reveal, rounds};

/// What the command takes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Every axis is reported apart: PASS, FAIL or NOT CHECKED. Exit 0 without findings, 3 with findings; docs/findings.md has
a chapter for every code. Needs no network, no index and no writable folder.

Examples:
  proofmark verify                      files, log, signatures, trust and evidence
  proofmark verify --replay             and derive every number again from its evidence
  proofmark verify --replay --pin DIGEST
                                        and require that receipt 0 is the one you pinned
  proofmark verify '#12' --replay       one receipt with what it rests on
  proofmark verify main.dossier --replay --pin DIGEST
                                        a dossier, without its ledger; a revealed question likewise
  proofmark verify main.tlog-proof      a proof, by the log key of the ledger here; elsewhere see `prove --check`")]
pub struct Arguments {
    /// One receipt with what it rests on: `@`, `main~1`, `#12`, an id; or a file that `dossier`, `prove` or `questions
    /// reveal` made [default: the whole ledger]
    #[arg(value_name = "REV|FILE", conflicts_with = "all")]
    rev: Option<String>,
    /// The whole ledger
    #[arg(long)]
    all: bool,
    /// Derive identities, scores and comparisons again from the evidence
    #[arg(long)]
    replay: bool,
    /// The id that receipt 0 must have
    #[arg(long, value_name = "DIGEST")]
    pin: Option<String>,
}

/// Verifies and reports.
pub fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    match arguments.rev.as_deref().map(KeptFile::open).transpose()?.flatten() {
        Some(file) => verify_file(file, arguments, context),
        None => verify_ledger(arguments, context),
    }
}

/// A file that stands by itself.
enum KeptFile {
    Dossier(Box<Dossier>),
    Proof(PathBuf),
    Reveal(PathBuf),
}

impl KeptFile {
    /// The file that an argument names, if it names one. What begins with `#` or `@` never does; another revision that is
    /// also a file's name is meant as the file.
    fn open(argument: &str) -> Result<Option<Self>, Failure> {
        let path = Path::new(argument);
        let Ok(found) = path.metadata() else { return Ok(None) };
        if argument.starts_with(['#', '@']) {
            return Ok(None);
        }
        if !found.is_file() {
            // A folder may well be called like a line.
            let kind = match found.file_type() {
                kind if kind.is_fifo() => "a FIFO",
                kind if kind.is_socket() => "a socket",
                kind if kind.is_char_device() || kind.is_block_device() => "a device",
                _ => return Ok(None),
            };
            return Err(Failure::refused(format!(
                "`{argument}` is {kind}, and a file that is verified is a plain one"
            ))
            .hint("write what comes out of a pipe into a file first"));
        }
        let unreadable = |error: std::io::Error| Failure::failed(error).within(format!("cannot read `{argument}`"));
        let mut file = File::open(path).map_err(unreadable)?;
        let mut head = Vec::new();
        file.by_ref().take(512).read_to_end(&mut head).map_err(unreadable)?;
        if Dossier::is_begun_by(&head) {
            let dossier = Dossier::read(file).map_err(|error| Failure::from(error).within(format!("`{argument}`")))?;
            return Ok(Some(Self::Dossier(Box::new(dossier))));
        }
        if InclusionProof::is_begun_by(&head) || ConsistencyProof::is_begun_by(&head) {
            return Ok(Some(Self::Proof(path.to_owned())));
        }
        if Reveal::is_begun_by(&head) {
            return Ok(Some(Self::Reveal(path.to_owned())));
        }
        Err(Failure::refused(format!("`{argument}` is neither a dossier nor a proof nor a revealed question"))
            .hint("a line of that name is verified as `LINE~0`"))
    }
}

fn verify_file(file: KeptFile, arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let dossier = match file {
        KeptFile::Dossier(dossier) => dossier,
        KeptFile::Proof(path) => {
            let hint = "a proof is held against the log's key: `proofmark prove --check FILE --log-key KEY`";
            refuse_options(arguments, "a proof", &path, hint)?;
            return prove::check_alone(&path, context);
        }
        KeptFile::Reveal(path) => {
            let hint = "`proofmark questions reveal --check FILE --receipt REV` holds it against a round of the ledger";
            refuse_options(arguments, "a revealed question", &path, hint)?;
            return reveal::check(&path, None, context);
        }
    };
    let bar = progress::bar(context, "verifying", 0);
    let options = Options { only: None, replay: arguments.replay, pin: pin(arguments)? };
    let report = verify_dossier(&dossier, &options, &mut |done, total| {
        bar.set_length(total);
        bar.set_position(done);
    });
    bar.finish_and_clear();
    answer(&report?, "a dossier of ", context)
}

/// Nobody may take a check for made that this kind of file cannot have.
fn refuse_options(arguments: &Arguments, what: &str, path: &Path, hint: &str) -> Result<(), Failure> {
    let given = [("--pin", arguments.pin.is_some()), ("--replay", arguments.replay)];
    let Some((option, _)) = given.into_iter().find(|(_, given)| *given) else { return Ok(()) };
    Err(Failure::refused(format!("{option} does not apply to {what}, which `{}` is", path.display())).hint(hint))
}

fn answer(report: &Report, what: &str, context: &Context) -> Result<Exit, Failure> {
    context.answer(report, || text(report, what))?;
    Ok(if report.is_clean() { Exit::Yes } else { Exit::No })
}

fn pin(arguments: &Arguments) -> Result<Option<ReceiptId>, Failure> {
    arguments.pin.as_deref().map(digest).transpose()
}

fn verify_ledger(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let folder = context.ledger_folder()?;
    let pin = pin(arguments)?;
    let store = Directory::new(folder);
    let only = arguments.rev.as_deref().map(|rev| index_of(context, &store, rev)).transpose()?;
    let bar = progress::bar(context, "verifying", 0);
    let options = Options { only, replay: arguments.replay, pin };
    let report = verify(&store, &options, &mut |done, total| {
        bar.set_length(total);
        bar.set_position(done);
    });
    bar.finish_and_clear();
    answer(&report?, "", context)
}

fn digest(text: &str) -> Result<ReceiptId, Failure> {
    text.parse().map_err(|error| {
        Failure::refused(error).hint("the digest to pin is the id of receipt 0, which `proofmark verify` prints first")
    })
}

/// The receipt that was asked for. By index or whole id it is found in a damaged ledger too; any other name needs the log
/// read in order, which is then all that the name rests on.
fn index_of(context: &Context, store: &Directory, rev: &str) -> Result<u64, Failure> {
    if let Some(index) = rev.strip_prefix('#').and_then(|digits| digits.parse().ok()) {
        return Ok(index);
    }
    if let Ok(id) = rev.parse() {
        let unknown = || Failure::refused(format!("there is no receipt {id} here"));
        return find_receipt(store, id)?.ok_or_else(unknown);
    }
    rounds::resolve(&context.ledger()?, rev)
}

impl From<VerifyError> for Failure {
    fn from(error: VerifyError) -> Self {
        match &error {
            VerifyError::Absent => {
                Self::refused(error).hint("`proofmark init` makes one; `--ledger DIR` names one elsewhere")
            }
            VerifyError::Format { .. } => Self::refused(error).hint("use a newer proofmark"),
            VerifyError::Store(StoreError::Io { .. }) => Self::failed(error),
            _ => Self::refused(error),
        }
    }
}

/// For people; `what` comes before the receipt that a file is about.
fn text(report: &Report, what: &str) -> String {
    let mut text = String::new();
    // Writing into a String cannot fail.
    let _ = write_head(&mut text, report, what).and_then(|()| write_axes(&mut text, report));
    let _ = write_findings(&mut text, report).and_then(|()| write_end(&mut text, report));
    text
}

fn write_head(text: &mut String, report: &Report, what: &str) -> std::fmt::Result {
    let ledger = &report.ledger;
    let shown = |value: Option<String>| value.map_or_else(|| "unknown".to_owned(), |value| one_line(&value));
    writeln!(text, "genesis    {}", shown(ledger.genesis.map(|id| id.to_string())))?;
    writeln!(text, "log        {}", shown(ledger.origin.clone()))?;
    writeln!(text, "log key    {}", shown(ledger.log_key.clone()))?;
    let size = ledger.size.map(|size| format!("{size} receipts"));
    let root = ledger.root.map(|root| format!(", root {root}")).unwrap_or_default();
    writeln!(text, "size       {}{root}", shown(size))?;
    if let Some(about) = &report.about {
        writeln!(text, "looked at  {what}receipt #{} and what it rests on", about.index)?;
        return write_about(text, about);
    }
    match report.only {
        Some(index) => writeln!(text, "looked at  receipt #{index} and what it rests on\n"),
        None => writeln!(text, "looked at  the whole ledger\n"),
    }
}

/// What one receipt or a dossier is about. What speaks against its subject comes before anything else is said of it.
fn write_about(text: &mut String, about: &About) -> std::fmt::Result {
    let withdrawn = if about.withdrawn.iter().any(|one| one.index == about.index) { ", WITHDRAWN" } else { "" };
    let (kind, id, says) = (about.kind.unwrap_or("receipt"), about.receipt.short(), one_line(&about.says));
    writeln!(text, "about      {kind} {id}: {says}{withdrawn}")?;
    for one in &about.withdrawn {
        let what = if one.index == about.index { "WITHDRAWN" } else { "it rests on what was WITHDRAWN:" };
        writeln!(text, "           {what} #{}, by {}, in #{}", one.index, one_line(&one.who), one.by)?;
    }
    for (place, one) in about.decisions.iter().enumerate() {
        let title = if place == 0 { "decided" } else { "" };
        let expires = one.expires.map(|expires| format!(", until {expires}")).unwrap_or_default();
        let reason = one.reason.as_deref().map(|reason| format!(": {}", one_line(reason))).unwrap_or_default();
        let (says, who) = (one_line(&one.says), one_line(&one.who));
        writeln!(text, "{title:<10} #{} on #{}: {says} by {who}{expires}{reason}", one.index, one.target)?;
        for doubt in &one.doubts {
            writeln!(text, "           does not count: {}", one_line(doubt))?;
        }
    }
    write_unlisted(text, about.decision_count - about.decisions.len() as u64)?;
    match (about.decisions.is_empty(), about.whole) {
        (true, true) => writeln!(text, "decided    nothing, up to the checkpoint\n"),
        (false, true) => writeln!(text, "unknown    nothing up to the checkpoint; what came after it\n"),
        (empty, false) => {
            let nothing = if empty { "decided    nothing that is in this file\n" } else { "" };
            writeln!(
                text,
                "{nothing}unknown    what is not in this file: a withdrawal, a NO-GO, a later trust statement\n"
            )
        }
    }
}

fn write_axes(text: &mut String, report: &Report) -> std::fmt::Result {
    for axis in &report.axes {
        let row = format!("{:<18} {:<12} {}", axis.axis.title(), axis.status.as_str(), details(axis));
        writeln!(text, "{}", row.trim_end())?;
    }
    // Where only some receipts were looked at, their number says nothing about a line.
    let whole = report.axis(Axis::Completeness).is_some_and(|axis| axis.status == Status::Pass);
    if (whole || report.only.is_none()) && !report.lines.is_empty() {
        let lines: Vec<_> = report.lines.iter().map(|line| format!("{} {}", line.line, line.rounds)).collect();
        writeln!(text, "\nrounds by line: {}", lines.join(", "))?;
    }
    Ok(())
}

/// What was counted, and what was not checked.
fn details(axis: &AxisReport) -> String {
    let mut parts: Vec<_> = axis.counts.iter().map(|(what, count)| format!("{} {count}", words(what))).collect();
    if axis.findings > 0 {
        parts.insert(0, format!("findings {}", axis.findings));
    }
    let counts = parts.join(", ");
    match &axis.reason {
        Some(reason) if counts.is_empty() => one_line(reason),
        Some(reason) => format!("{counts}; {}", one_line(reason)),
        None => counts,
    }
}

/// `notHeld` as `not held`.
fn words(name: &str) -> String {
    name.chars().fold(String::new(), |mut words, c| {
        if c.is_ascii_uppercase() {
            words.push(' ');
        }
        words.push(c.to_ascii_lowercase());
        words
    })
}

fn write_findings(text: &mut String, report: &Report) -> std::fmt::Result {
    if !report.findings.is_empty() {
        writeln!(text, "\nfindings: {}", report.finding_count)?;
    }
    for finding in &report.findings {
        writeln!(text, "  {}{}", finding.code, place(finding))?;
        writeln!(text, "    expected  {}", one_line(&finding.expected))?;
        writeln!(text, "    found     {}", one_line(&finding.found))?;
        writeln!(text, "    next      {}", finding.next)?;
    }
    write_unlisted(text, report.finding_count - report.findings.len() as u64)?;
    if !report.notices.is_empty() {
        writeln!(text, "\nnotices: {}", report.notice_count)?;
    }
    for notice in &report.notices {
        let index = notice.index.map(|index| format!(" #{index}")).unwrap_or_default();
        let file = notice.file.as_deref().map(|file| format!(" {}", one_line(file))).unwrap_or_default();
        writeln!(text, "  {}{index}{file}: {}", notice.code, one_line(&notice.text))?;
    }
    write_unlisted(text, report.notice_count - report.notices.len() as u64)
}

fn write_unlisted(text: &mut String, unlisted: u64) -> std::fmt::Result {
    if unlisted > 0 { writeln!(text, "  and {unlisted} more, not listed") } else { Ok(()) }
}

fn place(finding: &Finding) -> String {
    let mut place = String::new();
    if let Some(index) = finding.index {
        let _ = write!(place, "  receipt #{index}");
    }
    if let Some(receipt) = finding.receipt {
        let _ = write!(place, " {}", receipt.short());
    }
    if let Some(file) = &finding.file {
        let _ = write!(place, "  {}", one_line(file));
    }
    place
}

fn write_end(text: &mut String, report: &Report) -> std::fmt::Result {
    writeln!(text, "\nnot proven, here or by any verification of a ledger:")?;
    for line in report.not_proven {
        writeln!(text, "  - {line}")?;
    }
    let outcome = match report.finding_count {
        0 => "no findings".to_owned(),
        1 => "1 finding; docs/findings.md explains its code".to_owned(),
        count => format!("{count} findings; docs/findings.md explains their codes"),
    };
    writeln!(text, "\n{outcome}")?;
    match report.ledger.genesis {
        Some(genesis) if report.is_clean() => writeln!(text, "to pin this ledger: proofmark verify --pin {genesis}"),
        _ => Ok(()),
    }
}
