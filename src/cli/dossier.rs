//! `proofmark dossier`: one file with everything that verifying one receipt takes.

use std::path::PathBuf;

use proofmark::dossier::{DossierError, Wishes, write};
use proofmark::object::ReceiptId;
use proofmark::receipt::{Kind, Role};
use proofmark::store::StoreError;
use serde::Serialize;

use super::context::Context;
use super::failure::{Exit, Failure, one_line};
use super::outfile::{OutFile, StagedFile};
use super::ratcheted;
use super::rounds;

/// What the command takes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The file holds the receipt, what it rests on, their evidence, proofs that they are in the log, the signed checkpoint and the
history of trust: `proofmark verify FILE` checks it anywhere, without the ledger, a network or a home folder. It is a plain
tar archive. The same ledger and options give the same bytes.

Without --complete, what takes the whole log to know (trust at the time, policy, completeness) is NOT CHECKED.

Examples:
  proofmark dossier main -o main.dossier
  proofmark dossier '#12' -o public.dossier --redact answers --redact questions
  proofmark dossier main -o whole.dossier --complete
  proofmark verify main.dossier --replay --pin DIGEST")]
pub struct Arguments {
    /// The receipt that it is about: `@`, `main~1`, `#12`, an id
    #[arg(value_name = "REV")]
    rev: String,
    /// Where it goes
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// Replace the file if it is there; never one of a ledger, a private key, or what is read here
    #[arg(long)]
    force: bool,
    /// Leave out the evidence of this role; it shows as withheld (may be repeated)
    #[arg(long, value_name = "ROLE")]
    redact: Vec<Role>,
    /// Carry all receipts, so that the list of rounds is whole up to the checkpoint
    #[arg(long)]
    complete: bool,
}

/// The answer.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    schema: &'static str,
    output: String,
    bytes: u64,
    genesis: ReceiptId,
    index: u64,
    receipt: ReceiptId,
    kind: &'static str,
    complete: bool,
    size: u64,
    receipts: u64,
    objects: u64,
    redacted: Vec<Role>,
    withheld: u64,
}

/// Makes the file.
pub fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let out = OutFile::at(&arguments.output, arguments.force, &[], context)?;
    let ledger = context.ledger()?;
    let subject = rounds::resolve(&ledger, &arguments.rev)?;
    let snapshot = ratcheted::snapshot(context, &ledger)?;
    let kind: Kind = snapshot.receipt(subject)?.statement().predicate.kind();
    let mut redacted = arguments.redact.clone();
    redacted.sort();
    redacted.dedup();
    let wishes = Wishes { subject, redacted, complete: arguments.complete };
    let (staged, written) = StagedFile::write_with(out, |out| Ok(write(&snapshot, &wishes, out)?))?;
    staged.publish()?;
    let document = Document {
        schema: "dossier-written.v1",
        output: arguments.output.display().to_string(),
        bytes: written.bytes,
        genesis: ledger.log().genesis,
        index: subject,
        receipt: written.subject.receipt,
        kind: kind.as_str(),
        complete: wishes.complete,
        size: snapshot.size(),
        receipts: written.receipts,
        objects: written.objects,
        redacted: wishes.redacted,
        withheld: written.withheld,
    };
    context.answer(&document, || text(&document))?;
    Ok(Exit::Yes)
}

fn text(document: &Document) -> String {
    let Document { output, bytes, genesis, index, receipt, kind, receipts, objects, size, .. } = document;
    let output = one_line(output);
    let withheld = match document.withheld {
        0 => String::new(),
        count => {
            let roles: Vec<_> = document.redacted.iter().map(Role::as_str).collect();
            format!("withheld   {count} objects: {}\n", roles.join(", "))
        }
    };
    format!(
        "{output}: {kind} receipt #{index} {receipt}\n\
         in it      {receipts} of {size} receipts, {objects} objects, {bytes} bytes\n\
         {withheld}check it with: proofmark verify {output} --replay --pin {genesis}\n"
    )
}

impl From<DossierError> for Failure {
    fn from(error: DossierError) -> Self {
        match error {
            DossierError::Ledger(error) => error.into(),
            DossierError::Read(_) | DossierError::Write(_) => Self::failed(error),
            DossierError::Store { ref source, .. } if matches!(**source, StoreError::Io { .. }) => Self::failed(error),
            DossierError::NoSuchRole { ref known, .. } => {
                let known: Vec<_> = known.iter().map(Role::as_str).collect();
                let known = if known.is_empty() { "there is no held evidence".to_owned() } else { known.join(", ") };
                Self::refused(error).hint(format!("roles here: {known}"))
            }
            DossierError::Missing { ref role, .. } => {
                let hint =
                    format!("`proofmark verify` says what else is missing; `--redact {role}` leaves it out openly");
                Self::refused(error).hint(hint)
            }
            DossierError::Store { .. } | DossierError::Changed { .. } => {
                Self::refused(error).hint("`proofmark verify` says what is damaged")
            }
            DossierError::TooLarge { .. } => Self::refused(error).hint("`--redact ROLE` leaves it out openly"),
            DossierError::Malformed { .. }
            | DossierError::Manifest(_)
            | DossierError::Schema { .. }
            | DossierError::Roles
            | DossierError::Log { .. } => {
                Self::refused(error).hint("`proofmark dossier` makes them; get this one again")
            }
        }
    }
}
