//! `proofmark log`.

use proofmark::index::{Entry, Filter, Index};
use proofmark::receipt::{Kind, LineName};
use serde::Serialize;

use super::context::Context;
use super::failure::{Exit, Failure};
use super::heading::{self, Marks, Summary};

/// Receipts that are read together; memory is bounded by them.
const AT_ONCE: usize = 256;

/// What the command takes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Every receipt shown was read from the log and proven to be in it; `proofmark verify` checks signatures and evidence.

Examples:
  proofmark log -n 5                       the five newest receipts
  proofmark log --line nightly --oneline   the rounds of a line, one line each
  proofmark log --questions pm1:3fa9       the rounds on one question set
  proofmark log --kind comparison --json   for programs")]
pub struct Arguments {
    /// Only rounds of this line, and its baselines
    #[arg(long, value_name = "LINE")]
    line: Option<LineName>,
    /// Only rounds on this question set; the beginning of its id is enough
    #[arg(long, value_name = "ID")]
    questions: Option<String>,
    /// Only receipts of this kind
    #[arg(long, value_name = "KIND", value_parser = kinds())]
    kind: Option<Kind>,
    /// At most so many
    #[arg(short, value_name = "N")]
    n: Option<usize>,
    /// One line each
    #[arg(long)]
    oneline: bool,
}

fn kinds() -> impl clap::builder::TypedValueParser<Value = Kind> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    let named = |name: String| Kind::ALL.into_iter().find(|kind| kind.as_str() == name);
    PossibleValuesParser::new(Kind::ALL.map(Kind::as_str)).try_map(move |name| named(name).ok_or("not a kind"))
}

/// The document.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    receipts: Vec<Summary<'a>>,
}

/// Lists receipts, newest first.
pub fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let ledger = context.ledger()?;
    let mut index = heading::index(context, &ledger)?;
    let filter = filter(arguments, &mut index)?;
    let marks = Marks::read(&mut index)?;
    let (mut collected, mut first) = (Vec::new(), true);
    each(&mut index, &filter, arguments.n.unwrap_or(usize::MAX), |entry| {
        if context.json() {
            collected.push(entry);
            return Ok(());
        }
        let text = if arguments.oneline {
            heading::in_a_line(&entry, &marks)
        } else {
            let gap = if first { "" } else { "\n" };
            format!("{gap}{}", heading::heading(&entry, &entry.receipt.id().short(), &marks))
        };
        first = false;
        context.print(&text)
    })?;
    if context.json() {
        let receipts = collected.iter().map(|entry| Summary::of(entry, &marks)).collect();
        context.print_json(&Document { schema: "log.v1", receipts })?;
    }
    Ok(Exit::Yes)
}

fn filter(arguments: &Arguments, index: &mut Index<'_>) -> Result<Filter, Failure> {
    let line = arguments.line.clone();
    if let Some(line) = &line {
        index.expect_line(line)?;
    }
    let questions = arguments.questions.as_deref().map(|prefix| index.question_set(prefix)).transpose()?;
    Ok(Filter { line, questions, kind: arguments.kind })
}

/// Visits up to `limit` receipts, page by page.
fn each(
    index: &mut Index<'_>,
    filter: &Filter,
    limit: usize,
    mut visit: impl FnMut(Entry) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let (mut before, mut left) = (u64::MAX, limit);
    while left > 0 {
        let page = index.newest(filter, before, left.min(AT_ONCE))?;
        let Some(last) = page.last() else { break };
        (before, left) = (last.index, left - page.len());
        page.into_iter().try_for_each(&mut visit)?;
    }
    Ok(())
}
