//! `proofmark baseline`: which round later ones of a line are compared with.

use clap::Subcommand;
use proofmark::ledger::{Draft, History};
use proofmark::receipt::{Baseline, Body, Kind, LineName, Subject, Text};
use proofmark::trust::Role;
use serde::Serialize;

use super::context::Context;
use super::failure::{Exit, Failure};
use super::rounds;
use super::signing::{Hands, SigningOptions};

/// What the command takes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  proofmark baseline set main~2 --note \"the round that was released\"
  proofmark baseline show")]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make a round the baseline of its line
    Set {
        /// The round
        revision: String,
        /// A word for the reader of the receipt
        #[arg(long, value_name = "TEXT")]
        note: Option<Text>,
        #[command(flatten)]
        keys: Box<SigningOptions>,
    },
    /// Show the baseline of a line, or of all lines
    Show {
        /// The line
        #[arg(long)]
        line: Option<LineName>,
    },
}

#[derive(Serialize)]
struct BaselineDocument {
    schema: &'static str,
    baselines: Vec<LineBaseline>,
}

#[derive(Serialize)]
struct LineBaseline {
    line: LineName,
    round: u64,
    index: u64,
    receipt: String,
}

/// Runs the command.
pub fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    match &arguments.action {
        Action::Set { revision, note, keys } => set(revision, note.as_ref(), keys, context),
        Action::Show { line } => show(line.as_ref(), context),
    }
}

fn set(revision: &str, note: Option<&Text>, keys: &SigningOptions, context: &Context) -> Result<Exit, Failure> {
    let ledger = context.ledger()?;
    let snapshot = ledger.snapshot()?;
    let history = History::read(&ledger, &snapshot)?;
    let round = rounds::at(&ledger, &snapshot, &history, rounds::resolve(&ledger, revision)?)?;
    if let Some(index) = history.withdrawn(round.reference.index) {
        return Err(Failure::refused(format!("{} was withdrawn, in #{index}", round.name()))
            .hint("a baseline is a round that stands; `proofmark log` marks those that do not"));
    }
    let line = round.body().line.clone();
    if history.baseline(&line) == Some(round.reference) {
        context.note(&format!("{} is the baseline of {line} already", round.name()));
        return answer(context, vec![(line, round.reference)], &history);
    }
    let hands = Hands::ready(keys, context, &ledger, &[Role::Append])?;
    let about = format!("{} is what {line} is compared with", round.name());
    let pen = hands.agree(context, &ledger, Kind::Baseline, &about)?;
    let draft = Draft {
        subject: vec![Subject::of_receipt(round.receipt().bytes())?],
        evidence: Vec::new(),
        note: note.cloned(),
        recorded_at: context.recorded_at()?,
        tool: context.tool(),
        body: Body::Baseline(Baseline { line: line.clone(), target: round.reference }),
    };
    pen.append(context, &ledger, [Ok(draft)])?;
    answer(context, vec![(line, round.reference)], &history)
}

fn show(line: Option<&LineName>, context: &Context) -> Result<Exit, Failure> {
    let ledger = context.ledger()?;
    let history = History::read(&ledger, &ledger.snapshot()?)?;
    if let Some(line) = line.filter(|line| history.rounds(line).is_empty()) {
        return Err(Failure::refused(format!("there is no line `{line}`")).hint("`proofmark log` lists lines"));
    }
    let lines = history.lines().filter(|name| line.is_none_or(|line| line == *name));
    let found = lines.filter_map(|line| Some((line.clone(), history.baseline(line)?))).collect();
    answer(context, found, &history)
}

fn answer(
    context: &Context,
    found: Vec<(LineName, proofmark::receipt::ReceiptRef)>,
    history: &History,
) -> Result<Exit, Failure> {
    let baselines = found.into_iter().map(|(line, target)| LineBaseline {
        line,
        round: history.round_at(target.index).map_or(0, |(_, round)| round.number),
        index: target.index,
        receipt: target.receipt.to_string(),
    });
    let document = BaselineDocument { schema: "baseline.v1", baselines: baselines.collect() };
    context.answer(&document, || {
        if document.baselines.is_empty() {
            return "no baseline is set; rounds are compared with the one before\n".to_owned();
        }
        let line = |baseline: &LineBaseline| {
            let LineBaseline { line, round, index, receipt } = baseline;
            format!("{line}: {line}#{round}  {}  receipt {index}\n", &receipt[..12])
        };
        document.baselines.iter().map(line).collect()
    })?;
    Ok(Exit::Yes)
}
