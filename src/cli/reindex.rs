//! `proofmark reindex`.

use std::time::Instant;

use proofmark::index::{INDEX_FILE, Index};
use serde::Serialize;

use super::context::Context;
use super::failure::{Exit, Failure};

/// What the command takes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The index is a view of the log and is brought up to date whenever it is read: nothing is lost with it. docs/index.md
documents its tables.

Examples:
  proofmark reindex
  sqlite3 .ledger/index.sqlite 'SELECT line, count(*) FROM receipts WHERE round IS NOT NULL GROUP BY line'")]
pub struct Arguments {}

/// The document.
#[derive(Serialize)]
struct Document {
    schema: &'static str,
    receipts: u64,
    seconds: f64,
    path: String,
}

/// Deletes the index and makes it anew.
pub fn run(_arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let started = Instant::now();
    let ledger = context.ledger()?;
    let folder = context.ledger_folder()?;
    let receipts = Index::rebuild(&ledger, &folder)?;
    let seconds = (started.elapsed().as_secs_f64() * 1000.0).round() / 1000.0;
    let document =
        Document { schema: "reindex.v1", receipts, seconds, path: folder.join(INDEX_FILE).display().to_string() };
    context.answer(&document, || {
        let count = if receipts == 1 { "1 receipt".to_owned() } else { format!("{receipts} receipts") };
        format!("{}: {count} in {seconds:.3} s\n", document.path)
    })?;
    Ok(Exit::Yes)
}
