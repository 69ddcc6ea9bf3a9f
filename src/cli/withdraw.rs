//! `proofmark withdraw`: a receipt stays in the log, marked, and nothing that rests on it can be released.

use proofmark::receipt::Kind;
use proofmark::receipt::{Body, ReceiptRef, Text, Withdrawal};
use proofmark::release::may_be;
use serde::Serialize;

use super::context::Context;
use super::deciding::Deciding;
use super::failure::{Exit, Failure};
use super::signing::SigningOptions;

/// What the command takes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Whoever may append, sign off, or is a root can withdraw a scorecard, comparison, gate run, baseline, waiver, sign-off or
authorization. A NO-GO can be withdrawn only by the person who said it. A withdrawal stands for ever; what was withdrawn is
recorded anew where it still holds. What is withdrawn already is left as it is.

Examples:
  proofmark withdraw main --reason \"the answers were of another model\"
  proofmark withdraw '#12' --reason \"test set leaked into training\"")]
pub struct Arguments {
    /// The receipt
    #[arg(value_name = "REV")]
    rev: String,
    /// Why, for whoever reads it later
    #[arg(long, value_name = "TEXT")]
    reason: Text,
    /// A word for the reader of the receipt
    #[arg(long, value_name = "TEXT")]
    note: Option<Text>,
    #[command(flatten)]
    signing: SigningOptions,
}

/// The document.
#[derive(Serialize)]
struct Document {
    schema: &'static str,
    index: u64,
    receipt: String,
    target: ReceiptRef,
    /// Whether it had been withdrawn before, so that nothing was appended.
    already: bool,
}

/// Withdraws.
pub fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let deciding = Deciding::read(context)?;
    let target = deciding.named(&arguments.rev)?;
    let kind = deciding.kind(target)?;
    let already = deciding.reading.decisions.withdrawn(target.index).filter(|_| may_be(Kind::Withdrawal, kind));
    let (index, receipt) = match already.and_then(|index| deciding.reading.decisions.reference(index)) {
        Some(earlier) => (earlier.index, earlier.receipt),
        None => {
            let body = Body::Withdrawal(Withdrawal { target, reason: arguments.reason.clone() });
            let about = format!("withdrawal of {kind} #{}: {}", target.index, arguments.reason);
            let appended = deciding.append(&arguments.signing, target, arguments.note.clone(), body, &about)?;
            (appended.index, appended.receipt)
        }
    };
    let document =
        Document { schema: "withdraw.v1", index, receipt: receipt.to_string(), target, already: already.is_some() };
    context.answer(&document, || {
        let word = if document.already { "withdrawn already" } else { "withdrawn" };
        format!("receipt {index}  {}  {kind} #{} is {word}\n", &document.receipt[..12], target.index)
    })?;
    Ok(Exit::Yes)
}
