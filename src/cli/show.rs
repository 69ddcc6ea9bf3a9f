//! `proofmark show`.

use proofmark::index::{Entry, Index, Rev, Signed};
use proofmark::ledger::Snapshot;
use proofmark::object::{ObjectId, Sha256};
use proofmark::receipt::{Evidence, Role};
use proofmark::store::open_object;
use serde::Serialize;

use super::context::Context;
use super::failure::{Exit, Failure};
use super::heading::{self, Marks, Summary, field, heading};

/// What the command takes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
REV is one of
  @  @~2           the newest receipt; the second before it
  main  main~1     the newest round of a line; the round before it
  main#3           the third round of a line, as rounds are shown
  #12              the receipt at this index of the log
  3fa9c1d2         the beginning of a receipt's id, at least 4 digits
  line:NAME id:HEX where a name could be both (a line wins)

Examples:
  proofmark show @
  proofmark show main~1 --json
  proofmark show '#0' --statement          the canonical statement, exactly as signed
  proofmark show @ --envelope | b3sum      gives the receipt's id")]
pub struct Arguments {
    /// Which receipt
    #[arg(value_name = "REV", default_value = "@")]
    rev: String,
    /// Write the receipt's exact bytes, as they are in the log
    #[arg(long, conflicts_with_all = ["statement", "json"])]
    envelope: bool,
    /// Write the canonical statement inside, exactly as signed
    #[arg(long, conflicts_with = "json")]
    statement: bool,
}

/// The document.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    schema: &'static str,
    #[serde(flatten)]
    summary: Summary<'a>,
    inclusion: Inclusion,
    signature: &'static str,
    evidence: Vec<Shown<'a>>,
    statement: serde_json::Value,
}

/// Under which checkpoint the receipt was proven to be in the log.
#[derive(Serialize)]
struct Inclusion {
    proven: bool,
    size: u64,
    root: Sha256,
}

/// One piece of evidence, and whether its bytes are here.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown<'a> {
    role: &'a Role,
    blake3: ObjectId,
    sha256: Sha256,
    size: u64,
    media_type: &'a str,
    held: bool,
    present: bool,
}

/// Shows one receipt.
pub fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let rev: Rev = arguments.rev.parse()?;
    let ledger = context.ledger()?;
    let mut index = heading::index(context, &ledger)?;
    let entry = index.resolve(&rev)?;
    if arguments.envelope {
        context.print_bytes(entry.receipt.bytes())?;
    } else if arguments.statement {
        context.print_bytes(entry.receipt.payload())?;
    } else {
        let marks = Marks::read(&mut index)?;
        let signed = index.signed(&entry)?;
        let evidence = shown(&index, &entry)?;
        if context.json() {
            context.print_json(&document(index.snapshot(), &entry, &marks, signed, evidence)?)?;
        } else {
            context.print(&text(index.snapshot(), &entry, &marks, signed, &evidence))?;
        }
    }
    Ok(Exit::Yes)
}

fn shown<'a>(index: &Index<'_>, entry: &'a Entry) -> Result<Vec<Shown<'a>>, Failure> {
    let store = index.snapshot().store();
    let look = |item: &'a Evidence| -> Result<Shown<'a>, Failure> {
        let Evidence { role, blake3, sha256, size, media_type, held } = item;
        let present = open_object(store, blake3, *size)?.is_some();
        let (blake3, sha256, size, held) = (*blake3, *sha256, *size, *held);
        Ok(Shown { role, blake3, sha256, size, media_type, held, present })
    };
    entry.receipt.statement().predicate.evidence.iter().map(look).collect()
}

fn signature(signed: Signed) -> (&'static str, &'static str) {
    match signed {
        Signed::Good => ("good", "good, under the key that the trust statement lists"),
        Signed::Bad => ("bad", "BAD: the key named in the receipt did not make it"),
        Signed::UnknownKey => ("unknown key", "NOT CHECKED: the trust statement does not list the key"),
    }
}

fn document<'a>(
    snapshot: &Snapshot<'_>,
    entry: &'a Entry,
    marks: &Marks<'_>,
    signed: Signed,
    evidence: Vec<Shown<'a>>,
) -> Result<Document<'a>, Failure> {
    Ok(Document {
        schema: "show.v1",
        summary: Summary::of(entry, marks),
        inclusion: Inclusion { proven: true, size: snapshot.size(), root: snapshot.checkpoint().root() },
        signature: signature(signed).0,
        evidence,
        statement: serde_json::from_slice(entry.receipt.payload())?,
    })
}

fn text(snapshot: &Snapshot<'_>, entry: &Entry, marks: &Marks<'_>, signed: Signed, evidence: &[Shown<'_>]) -> String {
    let predicate = &entry.receipt.statement().predicate;
    let mut text = heading(entry, &entry.receipt.id().to_string(), marks);
    text.push('\n');
    field(&mut text, "Signature", signature(signed).1);
    let (size, root) = (snapshot.size(), snapshot.checkpoint().root());
    field(&mut text, "Inclusion", &format!("proven in the log of {size} receipts with root {root}"));
    if let Some(trust) = &predicate.trust {
        field(&mut text, "Trust", &format!("#{} {}", trust.index, trust.receipt));
    }
    field(&mut text, "Tool", &format!("{} {}", predicate.tool.name, predicate.tool.version));
    for item in evidence {
        let state = match (item.held, item.present) {
            (true, true) => "held",
            (true, false) => "MISSING",
            (false, true) => "held, though the receipt says digest only",
            (false, false) => "digest only",
        };
        let Shown { role, blake3, size, media_type, .. } = item;
        field(&mut text, "Evidence", &format!("{role} {blake3} {size} bytes {media_type} ({state})"));
    }
    text
}
