//! `proofmark completeness`: every round from the first to the last, and every look at a question set.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use proofmark::dossier::Dossier;
use proofmark::ledger::{Completeness, Ledger, ListedRound};
use proofmark::object::{ReceiptId, Sha256};
use proofmark::receipt::LineName;
use serde::Serialize;

use super::context::Context;
use super::failure::{Exit, Failure, one_line};
use super::intake::open_plain;
use super::ratcheted;

/// What the command takes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The list is whole up to the signed checkpoint, because all entries of the log are read and add up to its root. An entry that
cannot be read as a receipt may have been a round: it is a gap, and the answer is no (exit 3). Withdrawn rounds are shown, and
count as looks. Looks are counted over all lines. What was never appended is not seen.

Examples:
  proofmark completeness
  proofmark completeness --line main
  proofmark completeness --questions pm1:64312eec
  proofmark completeness --dossier whole.dossier --json")]
pub struct Arguments {
    /// Only the rounds of this line
    #[arg(long, value_name = "LINE")]
    line: Option<LineName>,
    /// Only the rounds that were measured on this question set: its identity, or the beginning of it
    #[arg(long, value_name = "ID")]
    questions: Option<String>,
    /// A complete dossier instead of a ledger
    #[arg(long, value_name = "FILE")]
    dossier: Option<PathBuf>,
}

/// The document.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    schema: &'static str,
    genesis: ReceiptId,
    origin: String,
    size: u64,
    root: Sha256,
    whole: bool,
    lines: Vec<Line<'a>>,
    gaps: Vec<GapShown<'a>>,
    looks: Vec<Looks<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    line: &'a LineName,
    /// How many the line has, shown or not.
    rounds: u64,
    listed: Vec<Round<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Round<'a> {
    round: u64,
    index: u64,
    receipt: ReceiptId,
    recorded_at: String,
    systems: Vec<&'a str>,
    basis: String,
    quality: f64,
    n: u64,
    scorer: &'a str,
    question_set_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    withdrawn: Option<Withdrawn<'a>>,
}

#[derive(Serialize)]
struct Withdrawn<'a> {
    index: u64,
    receipt: ReceiptId,
    reason: &'a str,
}

#[derive(Serialize)]
struct GapShown<'a> {
    index: u64,
    receipt: ReceiptId,
    reason: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Looks<'a> {
    question_set_id: &'a str,
    systems: Vec<System<'a>>,
}

#[derive(Serialize)]
struct System<'a> {
    system: &'a str,
    looks: u64,
    first: u64,
    last: u64,
}

/// Lists the rounds.
pub fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let ledger = match &arguments.dossier {
        Some(file) => of_dossier(file)?,
        None => context.ledger()?,
    };
    let snapshot = match &arguments.dossier {
        Some(_) => ledger.snapshot()?,
        None => ratcheted::snapshot(context, &ledger)?,
    };
    let found = Completeness::read(&snapshot)?;
    let questions = arguments.questions.as_deref().map(|prefix| question_set(&found, prefix)).transpose()?;
    let lines = lines(&found, arguments.line.as_ref(), questions)?;
    let sets: BTreeSet<&str> = lines.iter().flat_map(|line| &line.listed).map(|round| round.question_set_id).collect();
    let document = Document {
        schema: "completeness.v1",
        genesis: ledger.log().genesis,
        origin: ledger.log().origin().to_owned(),
        size: snapshot.size(),
        root: snapshot.checkpoint().root(),
        whole: found.gaps().is_empty(),
        lines,
        gaps: found
            .gaps()
            .iter()
            .map(|gap| GapShown { index: gap.index, receipt: gap.receipt, reason: &gap.reason })
            .collect(),
        looks: sets.into_iter().map(|id| looks(&found, id)).collect(),
    };
    context.answer(&document, || text(&document))?;
    Ok(if document.whole { Exit::Yes } else { Exit::No })
}

fn of_dossier(file: &Path) -> Result<Ledger, Failure> {
    let within = |failure: Failure| failure.within(format!("`{}`", file.display()));
    let opened = open_plain(file).map_err(|error| within(error.into()))?;
    let dossier = Dossier::read(opened).map_err(|error| within(error.into()))?;
    if !dossier.manifest().complete {
        let error = format!("`{}` does not carry the whole list of rounds", file.display());
        return Err(Failure::refused(error).hint("`proofmark dossier REV --complete` writes one that does"));
    }
    Ok(Ledger::open(Box::new(dossier))?)
}

/// The one question set whose identity begins so.
fn question_set<'a>(found: &'a Completeness, prefix: &str) -> Result<&'a str, Failure> {
    let matches: Vec<&str> = found.question_sets().filter(|id| id.starts_with(prefix)).collect();
    match matches.as_slice() {
        [one] => Ok(one),
        [] => {
            let known = found.question_sets().collect::<Vec<_>>().join("\n  ");
            let hint =
                if known.is_empty() { "there are no rounds yet".to_owned() } else { format!("there are:\n  {known}") };
            Err(Failure::refused(format!("no round was measured on `{}`", one_line(prefix))).hint(hint))
        }
        many => Err(Failure::refused(format!("`{}` is the beginning of {} identities", one_line(prefix), many.len()))
            .hint(format!("one of these, by more digits:\n  {}", many.join("\n  ")))),
    }
}

fn lines<'a>(
    found: &'a Completeness,
    only: Option<&LineName>,
    questions: Option<&str>,
) -> Result<Vec<Line<'a>>, Failure> {
    if let Some(line) = only.filter(|line| !found.lines().contains_key(*line)) {
        let known: Vec<_> = found.lines().keys().map(LineName::as_str).collect();
        let known = if known.is_empty() { "none yet".to_owned() } else { known.join(", ") };
        return Err(Failure::refused(format!("there is no line `{line}`")).hint(format!("lines: {known}")));
    }
    let wanted = found.lines().iter().filter(|(line, _)| only.is_none_or(|only| only == *line));
    let lines = wanted.map(|(line, rounds)| {
        let listed = rounds.iter().filter(|round| questions.is_none_or(|id| round.question_set_id == id));
        Line { line, rounds: rounds.len() as u64, listed: listed.map(shown).collect() }
    });
    Ok(lines.filter(|line| !line.listed.is_empty()).collect())
}

fn shown(round: &ListedRound) -> Round<'_> {
    Round {
        round: round.number,
        index: round.receipt.index,
        receipt: round.receipt.receipt,
        recorded_at: round.recorded_at.to_string(),
        systems: round.systems.iter().map(|system| system.as_str()).collect(),
        basis: round.basis.to_string(),
        quality: round.quality,
        n: round.n,
        scorer: round.scorer.as_str(),
        question_set_id: &round.question_set_id,
        withdrawn: round.withdrawn.as_ref().map(|(receipt, reason)| Withdrawn {
            index: receipt.index,
            receipt: receipt.receipt,
            reason: reason.as_str(),
        }),
    }
}

fn looks<'a>(found: &'a Completeness, question_set_id: &'a str) -> Looks<'a> {
    let systems = found.looks(question_set_id);
    let shown = systems.map(|seen| System {
        system: seen.system.as_str(),
        looks: seen.looks,
        first: seen.first,
        last: seen.last,
    });
    Looks { question_set_id, systems: shown.collect() }
}

fn text(document: &Document<'_>) -> String {
    let mut text = String::new();
    // Writing into a String cannot fail.
    let _ = write_text(&mut text, document);
    text
}

fn write_text(text: &mut String, document: &Document<'_>) -> std::fmt::Result {
    writeln!(text, "genesis    {}", document.genesis)?;
    writeln!(text, "log        {}", one_line(&document.origin))?;
    writeln!(text, "up to      {} receipts, root {}", document.size, document.root)?;
    for line in &document.lines {
        let listed = line.listed.len() as u64;
        let some = if listed < line.rounds { format!(", {listed} of them listed") } else { String::new() };
        writeln!(text, "\n{}: {} rounds{some}", line.line, line.rounds)?;
        for round in &line.listed {
            write_round(text, line.line, round)?;
        }
    }
    if document.lines.is_empty() {
        writeln!(text, "\nno rounds")?;
    }
    for set in &document.looks {
        writeln!(text, "\nlooks at {}", set.question_set_id)?;
        for system in &set.systems {
            let System { system, looks, first, last } = system;
            writeln!(text, "  {}: {looks}, from #{first} to #{last}", one_line(system))?;
        }
    }
    for gap in &document.gaps {
        writeln!(text, "\ngap at #{}: {}", gap.index, one_line(gap.reason))?;
    }
    match document.gaps.len() {
        0 => writeln!(text, "\nno gaps: the list is whole up to that root"),
        count => writeln!(text, "\n{count} gaps: the list is not known to be whole; `proofmark verify` says more"),
    }
}

fn write_round(text: &mut String, line: &LineName, round: &Round<'_>) -> std::fmt::Result {
    let Round { round: number, index, recorded_at, basis, quality, n, .. } = round;
    let systems: Vec<_> = round.systems.iter().map(|system| one_line(system)).collect();
    let (id, set) = (round.receipt.short(), &round.question_set_id[..12.min(round.question_set_id.len())]);
    writeln!(
        text,
        "  {line}#{number}  #{index} {id}  {recorded_at}  quality {quality} of {n} on {set}…  {} ({basis})",
        systems.join(", ")
    )?;
    match &round.withdrawn {
        Some(Withdrawn { index, reason, .. }) => writeln!(text, "    withdrawn by #{index}: {}", one_line(reason)),
        None => Ok(()),
    }
}
