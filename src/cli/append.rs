//! `proofmark append`: a round, scored from recorded answers or handed in as a card, becomes a receipt.

use std::io::BufReader;
use std::path::{Path, PathBuf};

use proofmark::ledger::{Appended, Ledger, LedgerError};
use proofmark::object::{LineReader, RecordError, parse_line};
use proofmark::question::ScorerIdentity;
use proofmark::receipt::{Basis, Kind, LineName, ScorecardBody};
use proofmark::scorecard::{Scorecard, Unknown};
use proofmark::trust::Role;
use serde::Serialize;

use super::context::Context;
use super::failure::{Exit, Failure};
use super::heading::cost;
use super::intake;
use super::progress;
use super::round::{RoundArguments, RoundReader};
use super::signing::{Hands, SigningOptions};

/// What the command takes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Question records (JSONL):
  {\"query\": {\"text\": \"…\", \"task\"?, \"fingerprint\"?, \"expected_output\"?, \"scope\"?}, \"expected\": \"…\", \"id\"?, \"cluster\"?, \"must_pass\"?}
  {\"question\": \"…\", \"expected\": \"…\", \"id\"?, \"cluster\"?, \"must_pass\"?}
Answer records (JSONL), in the order of the questions or joined by `id`:
  {\"reply\": \"…\" or null, \"receipt\": {\"status\": \"answered\", \"degraded_mode\"?, \"spend\"?}, \"id\"?}

Examples:
  proofmark append --questions q.jsonl --answers a.jsonl
  proofmark append --questions q.jsonl --answers a.jsonl --scorer numeric/v1?abs=0.01 --line nightly --subject model=model.bin
  proofmark append --questions q.jsonl --answers a.jsonl --scorer command/my-judge/1.0 --judge ./judge.py
  proofmark append --card card.json --questions q.jsonl
  proofmark append --batch rounds.jsonl")]
pub struct Arguments {
    #[command(flatten)]
    round: RoundArguments,
    /// Append one round for each line of FILE, in one atomic commit: a JSON object whose members are the options above
    /// (`questions`, `answers`, `scorer`, `judge`, `card` as a path or an object, `scheme`, `line`, `subject`, `evidence`,
    /// `note`, `sealed`); paths are relative to FILE
    #[arg(long, value_name = "FILE", conflicts_with_all = ["questions", "answers", "card", "judge", "subject", "evidence", "note", "sealed"])]
    batch: Option<PathBuf>,
    #[command(flatten)]
    keys: SigningOptions,
}

/// Runs the command.
pub fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let ledger = context.ledger()?;
    match &arguments.batch {
        None => append_one(arguments, context, &ledger),
        Some(file) => append_batch(file, arguments, context, &ledger),
    }
}

fn append_one(arguments: &Arguments, context: &Context, ledger: &Ledger) -> Result<Exit, Failure> {
    let checked = RoundReader::new(ledger).check(&arguments.round, Path::new(""))?;
    let hands = Hands::ready(&arguments.keys, context, ledger, &[Role::Append])?;
    hands.rehearsal(ledger)?.hold(checked.ahead(context)?)?;
    let body = checked.body().clone();
    let pen = hands.agree(context, ledger, Kind::Scorecard, &summary(&body))?;
    let draft = checked.store(context, ledger)?;
    let appended = pen.append(context, ledger, [Ok(draft)])?;
    report(context, &appended, &[body])
}

/// What a round says, in a few words.
pub fn summary(body: &ScorecardBody) -> String {
    let (line, card, basis, scorer) = (&body.line, &body.card, body.basis, &body.scorer);
    let unknown: Vec<_> = body
        .unknown
        .iter()
        .map(|unknown| format!("{}{}", unknown.field, if unknown.allowed { " (allowed)" } else { "" }))
        .collect();
    let unknown = if unknown.is_empty() { String::new() } else { format!("; unknown: {}", unknown.join(", ")) };
    format!("{line}, quality {:.4}, n {}, {basis} by {scorer}{unknown}", card.quality(), card.n())
}

fn append_batch(file: &Path, arguments: &Arguments, context: &Context, ledger: &Ledger) -> Result<Exit, Failure> {
    let hands = Hands::ready(&arguments.keys, context, ledger, &[Role::Append])?;
    let base = file.parent().unwrap_or(Path::new("")).to_owned();
    // The first pass refuses the whole batch before anything is stored; the second stores and signs as it reads.
    let mut reader = RoundReader::new(ledger);
    let rehearsal = hands.rehearsal(ledger)?;
    let mut count = 0;
    each_round(file, arguments, |round| {
        count += 1;
        let checked = reader.check(&round, &base);
        let refused = |failure: Failure| failure.within(format!("{}:{count}: the round is refused", file.display()));
        let held = checked.and_then(|checked| Ok(rehearsal.hold(checked.ahead(context)?)?));
        held.map_err(refused)
    })?;
    let pen = hands.agree(context, ledger, Kind::Scorecard, &format!("{count} rounds, those of {}", file.display()))?;
    let bar = progress::bar(context, "appending", count);
    let mut lines = LineReader::new(file.display().to_string(), BufReader::new(intake::open_regular(file)?));
    let mut bodies = Vec::new();
    let mut failure = None;
    let drafts = std::iter::from_fn(|| {
        let next = next_round(&mut lines, arguments).and_then(|round| {
            let Some(round) = round else { return Ok(None) };
            let checked = reader.check(&round, &base)?;
            bodies.push(checked.body().clone());
            bar.inc(1);
            checked.store(context, ledger).map(Some)
        });
        next.map_err(|error| failure = Some(error)).map_or(Some(Err(LedgerError::Nothing)), |draft| draft.map(Ok))
    });
    let outcome = pen.append(context, ledger, drafts);
    bar.finish_and_clear();
    if let Some(failure) = failure {
        return Err(failure);
    }
    report(context, &outcome?, &bodies)
}

/// Reads a batch, one round a line.
fn each_round(
    file: &Path,
    arguments: &Arguments,
    mut visit: impl FnMut(RoundArguments) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut lines = LineReader::new(file.display().to_string(), BufReader::new(intake::open_regular(file)?));
    let mut any = false;
    while let Some(round) = next_round(&mut lines, arguments)? {
        any = true;
        visit(round)?;
    }
    if any { Ok(()) } else { Err(RecordError::whole(&file.display().to_string(), "holds no rounds").into()) }
}

fn next_round<R: std::io::BufRead>(
    lines: &mut LineReader<R>,
    arguments: &Arguments,
) -> Result<Option<RoundArguments>, Failure> {
    let file = lines.file().to_owned();
    let Some(line) = lines.next_line()? else { return Ok(None) };
    let number = line.number;
    let record = parse_line(&file, line)?;
    let round = RoundArguments::from_record(&record, &arguments.round);
    round.map(Some).map_err(|error| RecordError::new(&file, number, error).into())
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AppendDocument<'a> {
    schema: &'static str,
    size: u64,
    receipts: Vec<AppendedRound<'a>>,
}

/// A round that was appended, in documents.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AppendedRound<'a> {
    index: u64,
    receipt: String,
    line: &'a LineName,
    basis: Basis,
    scorer: &'a ScorerIdentity,
    card: &'a Scorecard,
    #[serde(skip_serializing_if = "<[Unknown]>::is_empty")]
    unknown: &'a [Unknown],
    #[serde(skip)]
    cost: String,
}

fn report(context: &Context, appended: &[Appended], bodies: &[ScorecardBody]) -> Result<Exit, Failure> {
    let receipts = described(appended, bodies);
    let size = appended.last().map_or(0, |last| last.index + 1);
    let document = AppendDocument { schema: "append.v1", size, receipts };
    context.answer(&document, || text(&document.receipts))?;
    Ok(Exit::Yes)
}

/// What documents say of rounds that were appended. They are not numbered here: that would take the whole log, or the
/// index, which is never on the way of a write.
pub fn described<'a>(appended: &[Appended], bodies: &'a [ScorecardBody]) -> Vec<AppendedRound<'a>> {
    appended
        .iter()
        .zip(bodies)
        .map(|(appended, body)| AppendedRound {
            index: appended.index,
            receipt: appended.receipt.to_string(),
            line: &body.line,
            basis: body.basis,
            scorer: &body.scorer,
            card: &body.card,
            unknown: &body.unknown,
            cost: cost(body),
        })
        .collect()
}

/// A batch of more rounds than this is summed up for people.
const SHOWN: usize = 20;

/// The same for people.
pub fn text(receipts: &[AppendedRound<'_>]) -> String {
    let mut text = String::new();
    for round in receipts.iter().take(SHOWN) {
        let card = round.card;
        text.push_str(&format!(
            "[{} {}] receipt {}\n  quality {:.4}  grounded {:.4}  cost {}  n {}  {} by {}\n  questions {}\n",
            round.line,
            &round.receipt[..12],
            round.index,
            card.quality(),
            card.grounded_fraction(),
            round.cost,
            card.n(),
            round.basis,
            round.scorer,
            card.question_set_id(),
        ));
    }
    if receipts.len() > SHOWN {
        text.push_str(&format!("and {} more\n", receipts.len() - SHOWN));
    }
    text
}
