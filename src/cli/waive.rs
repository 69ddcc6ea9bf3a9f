//! `proofmark waive`: one check of one receipt is not to block a release, for a while, and always shown.

use proofmark::receipt::{Body, Moment, ReasonCode, ReceiptRef, Text, Waiver};
use serde::Serialize;

use super::context::Context;
use super::deciding::Deciding;
use super::expiry::Expiry;
use super::failure::{Exit, Failure};
use super::signing::SigningOptions;

/// What the command takes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Checks that can be waived: comparison-regressed, comparison-incomparable, comparison-lenient and must-pass-unknown of a comparison;
must-pass-unknown, asserted-card and looks-exceeded of a scorecard. Nothing about signatures, integrity, replay, a gate's verdict, sign-offs, withdrawals or expiry ever.

A waiver counts only for sign-offs made after it, which list it.

Examples:
  proofmark waive '#9' --check comparison-regressed --expires 30d --reason \"cost rose with the longer prompt\"")]
pub struct Arguments {
    /// The comparison or scorecard
    #[arg(value_name = "REV")]
    rev: String,
    /// The check, by its code
    #[arg(long, value_name = "CODE")]
    check: ReasonCode,
    /// Why, for whoever reads it later
    #[arg(long, value_name = "TEXT")]
    reason: Text,
    /// When it no longer counts: days, a day, or a moment
    #[arg(long, value_name = "90d|DATE")]
    expires: Expiry,
    /// A word for the reader of the receipt
    #[arg(long, value_name = "TEXT")]
    note: Option<Text>,
    #[command(flatten)]
    signing: SigningOptions,
}

/// The document.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    index: u64,
    receipt: String,
    target: ReceiptRef,
    check: &'a ReasonCode,
    reason: &'a Text,
    expires: Moment,
}

/// Waives.
pub fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let deciding = Deciding::read(context)?;
    let target = deciding.named(&arguments.rev)?;
    let kind = deciding.kind(target)?;
    deciding.hold([target])?;
    let expires = arguments.expires.after(deciding.now);
    let expires = expires.ok_or_else(|| Failure::refused("the expiry is beyond the year 9999"))?;
    let (check, reason) = (arguments.check.clone(), arguments.reason.clone());
    let body = Body::Waiver(Waiver { target, check: check.clone(), reason: reason.clone(), expires });
    let about = format!("waiver of {check} on {kind} #{}, until {expires}: {reason}", target.index);
    let appended = deciding.append(&arguments.signing, target, arguments.note.clone(), body, &about)?;
    let document = Document {
        schema: "waive.v1",
        index: appended.index,
        receipt: appended.receipt.to_string(),
        target,
        check: &check,
        reason: &reason,
        expires,
    };
    context.answer(&document, || {
        let Document { index, receipt, .. } = &document;
        format!(
            "receipt {index}  {}  {check} of #{} is waived until {expires}\nit counts for sign-offs that are made from now on\n",
            &receipt[..12],
            target.index
        )
    })?;
    Ok(Exit::Yes)
}
