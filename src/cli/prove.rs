//! `proofmark prove`: proofs that anyone can check with the log's key alone.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use proofmark::ledger::{LedgerError, open_checkpoint};
use proofmark::merkle::{
    Checkpoint, ConsistencyProof, InclusionProof, MAX_ENTRY_BYTES, MAX_NOTE_BYTES, MAX_PROOF_BYTES, MerkleError,
    VerifierKey, leaf_hash,
};
use proofmark::object::{ReceiptId, Sha256};
use proofmark::receipt::Receipt;
use serde::Serialize;

use super::context::Context;
use super::failure::{Exit, Failure, one_line};
use super::intake::RecordFile;
use super::outfile::{OutFile, StagedFile};
use super::ratcheted;
use super::rounds;

/// What the command takes.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = "\
With REV, a C2SP tlog-proof: that the receipt, which is in it, is in the log. With --from, a consistency proof: that the log
has only grown since an older checkpoint (as C2SP witnesses take it). --check holds either against the log's key, which is
the one of the ledger here unless --log-key gives it. The receipt's own signature is for `proofmark verify` to check.

Exit codes: 0 proven, 3 the proof does not hold, 2 it is none.

Examples:
  proofmark prove main -o main.tlog-proof
  proofmark prove --from checkpoint.last-year -o growth.consistency
  proofmark prove main --from checkpoint.last-year -o main.tlog-proof    both; the second in main.tlog-proof.consistency
  proofmark prove --check main.tlog-proof --log-key 'example.org/log+0a1b2c3d+AZ…'
  proofmark prove --check growth.consistency --from checkpoint.last-year")]
pub struct Arguments {
    /// The receipt to prove: `@`, `main~1`, `#12`, an id
    #[arg(value_name = "REV", required_unless_present_any = ["from", "check"], conflicts_with = "check")]
    rev: Option<String>,
    /// An older checkpoint of this log, which someone kept
    #[arg(long, value_name = "CHECKPOINT")]
    from: Option<PathBuf>,
    /// Where the proof goes [default: stdout]
    #[arg(long, short, value_name = "FILE", conflicts_with = "check")]
    output: Option<PathBuf>,
    /// Replace what is there; never a file of a ledger, a private key, or what is read here
    #[arg(long, requires = "output")]
    force: bool,
    /// A proof to check
    #[arg(long, value_name = "FILE")]
    check: Option<PathBuf>,
    /// The log's key, as `proofmark verify` prints it
    #[arg(long, value_name = "KEY", requires = "check")]
    log_key: Option<String>,
    /// The receipt's exact bytes, where the proof does not carry them
    #[arg(long, value_name = "FILE", requires = "check")]
    entry: Option<PathBuf>,
}

/// Makes or checks proofs.
pub fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    match &arguments.check {
        Some(file) => {
            let bytes = RecordFile::read_up_to(file, MAX_PROOF_BYTES as u64)?.bytes;
            check(file, &bytes, Given { arguments, alone: false }, context)
        }
        None => make(arguments, context),
    }
}

/// Checks a proof for which nothing else was given.
pub fn check_alone(file: &Path, context: &Context) -> Result<Exit, Failure> {
    let bytes = RecordFile::read_up_to(file, MAX_PROOF_BYTES as u64)?.bytes;
    check(file, &bytes, Given { arguments: &Arguments::default(), alone: true }, context)
}

/// What a proof is checked with.
#[derive(Clone, Copy)]
struct Given<'a> {
    arguments: &'a Arguments,
    /// Whether another command checks it, which does not have the options that are hinted at.
    alone: bool,
}

impl Given<'_> {
    /// A hint to give an option of this command.
    fn hint(self, file: &Path, hint: &str, option: &str) -> String {
        if self.alone {
            format!("`proofmark prove --check {} {option}` takes it", file.display())
        } else {
            format!("{hint} {option}")
        }
    }

    /// A proof that says one thing is not held against what is for the other.
    fn refuse(self, option: &str, given: bool, what: &str) -> Result<(), Failure> {
        if !given {
            return Ok(());
        }
        Err(Failure::refused(format!("{option} does not apply to {what}"))
            .hint("leave it out, or name the proof that it is for"))
    }
}

/// The answer to making.
#[derive(Serialize)]
struct Made {
    schema: &'static str,
    origin: String,
    size: u64,
    root: Sha256,
    #[serde(skip_serializing_if = "Option::is_none")]
    inclusion: Option<MadeInclusion>,
    #[serde(skip_serializing_if = "Option::is_none")]
    consistency: Option<MadeConsistency>,
}

#[derive(Serialize)]
struct MadeInclusion {
    index: u64,
    receipt: ReceiptId,
    proof: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
}

#[derive(Serialize)]
struct MadeConsistency {
    old: u64,
    proof: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
}

fn make(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let ledger = context.ledger()?;
    let both = arguments.rev.is_some() && arguments.from.is_some();
    if both && arguments.output.is_none() && !context.json() {
        return Err(Failure::refused("two proofs do not go to stdout").hint("name a file for them with -o"));
    }
    let beside = arguments.output.as_deref().filter(|_| both).map(|path| {
        let mut name = path.as_os_str().to_owned();
        name.push(".consistency");
        PathBuf::from(name)
    });
    let second = beside.as_deref().or(arguments.output.as_deref());
    let inputs: Vec<_> = arguments.from.as_deref().into_iter().collect();
    let out = |path: Option<&Path>| path.map(|path| OutFile::at(path, arguments.force, &inputs, context)).transpose();
    let (first_out, second_out) = (out(arguments.output.as_deref())?, out(second)?);
    let older = arguments.from.as_deref().map(|file| older_checkpoint(file, |note| ledger.log().checkpoint(note)));
    let older = older.transpose()?;
    let index = arguments.rev.as_deref().map(|rev| rounds::resolve(&ledger, rev)).transpose()?;
    let snapshot = ratcheted::snapshot(context, &ledger)?;
    let inclusion = index.map(|index| snapshot.prove(index)).transpose()?;
    let consistency = older.map(|older| snapshot.prove_growth(&older)).transpose().map_err(not_grown)?;
    let mut staged = Vec::new();
    if let (Some(proof), Some(out)) = (&inclusion, first_out) {
        staged.push(StagedFile::write(out, &proof.encode())?);
    }
    if let (Some(proof), Some(out)) = (&consistency, second_out) {
        staged.push(StagedFile::write(out, &proof.encode())?);
    }
    staged.into_iter().try_for_each(StagedFile::publish)?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let shown = |path: Option<&Path>| path.map(|path| path.display().to_string());
    let document = Made {
        schema: "prove.v1",
        origin: ledger.log().origin().to_owned(),
        size: snapshot.size(),
        root: snapshot.checkpoint().root(),
        inclusion: inclusion.map(|proof| MadeInclusion {
            index: proof.index(),
            receipt: ReceiptId::of(proof.extra().unwrap_or_default()),
            proof: text(proof.encode()),
            output: shown(arguments.output.as_deref()),
        }),
        consistency: consistency.map(|proof| MadeConsistency {
            old: proof.old(),
            proof: text(proof.encode()),
            output: shown(second),
        }),
    };
    context.answer(&document, || made_text(&document, &ledger.log().key.to_string()))?;
    Ok(Exit::Yes)
}

fn made_text(document: &Made, log_key: &str) -> String {
    let mut text = String::new();
    let check = |file: &str| format!("check it with: proofmark prove --check {} --log-key {log_key}", one_line(file));
    // Writing into a String cannot fail.
    match &document.inclusion {
        Some(MadeInclusion { output: None, proof, .. }) => text.push_str(proof),
        Some(MadeInclusion { output: Some(file), index, receipt, .. }) => {
            let _ = writeln!(text, "{}: receipt #{index} {receipt} is in the log of {}", one_line(file), document.size);
            let _ = writeln!(text, "{}", check(file));
        }
        None => {}
    }
    match &document.consistency {
        Some(MadeConsistency { output: None, proof, .. }) => text.push_str(proof),
        Some(MadeConsistency { output: Some(file), old, .. }) => {
            let _ = writeln!(text, "{}: the log of {} begins with those {old}", one_line(file), document.size);
            let _ = writeln!(text, "{} --from CHECKPOINT", check(file));
        }
        None => {}
    }
    text
}

/// The log shrank or forked: that is an answer, and evidence.
fn not_grown(error: LedgerError) -> Failure {
    let no = matches!(&error, LedgerError::Log(MerkleError::TreeShrank { .. } | MerkleError::RootMismatch { .. }));
    if !no {
        return error.into();
    }
    Failure::new(Exit::No, error)
        .hint("this ledger does not continue that checkpoint: keep both, they are signed by the same key")
}

fn older_checkpoint(
    file: &Path,
    open: impl FnOnce(&[u8]) -> Result<Checkpoint, LedgerError>,
) -> Result<Checkpoint, Failure> {
    let note = RecordFile::read_up_to(file, MAX_NOTE_BYTES as u64)?.bytes;
    open(&note).map_err(|error| {
        Failure::refused(error)
            .within(format!("`{}` is not a checkpoint of this log", file.display()))
            .hint("an older copy of the ledger's file `checkpoint` is one")
    })
}

/// The answer to checking.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Checked {
    schema: &'static str,
    kind: &'static str,
    holds: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    origin: String,
    log_key: String,
    size: u64,
    root: Sha256,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    receipt: Option<ReceiptId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<u64>,
}

fn check(file: &Path, bytes: &[u8], given: Given<'_>, context: &Context) -> Result<Exit, Failure> {
    let refuse = |error: MerkleError| Failure::refused(error).within(format!("`{}` is no proof", file.display()));
    let grows = ConsistencyProof::is_begun_by(bytes);
    if grows {
        given.refuse("--entry", given.arguments.entry.is_some(), "a proof that the log has only grown")?;
        if given.arguments.from.is_none() {
            return Err(Failure::refused("a consistency proof is checked against the older checkpoint")
                .hint(given.hint(file, "give the one that you kept with", "--from CHECKPOINT")));
        }
    } else {
        given.refuse("--from", given.arguments.from.is_some(), "a proof that a receipt is in the log")?;
    }
    let key = match &given.arguments.log_key {
        Some(text) => text.parse().map_err(|error: MerkleError| {
            Failure::refused(error).hint("`proofmark verify` prints the log key of a ledger")
        })?,
        None => {
            let hint = |failure: Failure| match given.alone {
                true => failure.hint(given.hint(file, "", "--log-key KEY")),
                false => failure.hint("or give the log's key with --log-key"),
            };
            context.ledger().map_err(hint)?.log().key.clone()
        }
    };
    let document = if grows {
        check_consistency(&ConsistencyProof::parse(bytes).map_err(refuse)?, key, given.arguments)?
    } else {
        let proof = InclusionProof::parse(bytes)
            .map_err(|error| refuse(error).hint("it begins with `c2sp.org/tlog-proof@v1`, or with `old` and a size"))?;
        check_inclusion(file, &proof, key, given)?
    };
    context.answer(&document, || checked_text(&document))?;
    Ok(if document.holds { Exit::Yes } else { Exit::No })
}

fn check_inclusion(
    file: &Path,
    proof: &InclusionProof,
    key: VerifierKey,
    given: Given<'_>,
) -> Result<Checked, Failure> {
    let entry = given.arguments.entry.as_deref().map(|file| RecordFile::read_up_to(file, MAX_ENTRY_BYTES as u64));
    let entry = entry.transpose()?.map(|file| file.bytes);
    let entry = entry.as_deref().or(proof.extra()).ok_or_else(|| {
        let hint = given.hint(file, "give its exact bytes with", "--entry FILE");
        Failure::refused("the proof carries no receipt").hint(hint)
    })?;
    let receipt = Receipt::parse(entry)?;
    let held = open_checkpoint(&proof.note().encode(), &key).and_then(|_| proof.verify(&leaf_hash(entry)));
    let stated = receipt.statement().predicate.index;
    let reason = match held {
        Err(error) => Some(error.to_string()),
        Ok(()) if stated != proof.index() => {
            Some(format!("the receipt states the index {stated}, and stands at {}", proof.index()))
        }
        Ok(()) => None,
    };
    let told = Told { index: Some(proof.index()), receipt: Some(receipt.id()), old: None };
    Ok(checked("inclusion", proof.checkpoint(), key, reason, told))
}

fn check_consistency(proof: &ConsistencyProof, key: VerifierKey, arguments: &Arguments) -> Result<Checked, Failure> {
    let from = arguments
        .from
        .as_deref()
        .ok_or_else(|| Failure::refused("a consistency proof is checked against the older checkpoint"))?;
    let older = older_checkpoint(from, |note| Ok(open_checkpoint(note, &key)?))?;
    let held = open_checkpoint(&proof.note().encode(), &key).and_then(|_| proof.verify(&older.head()));
    let told = Told { index: None, receipt: None, old: Some(proof.old()) };
    Ok(checked("consistency", proof.checkpoint(), key, held.err().map(|error| error.to_string()), told))
}

/// What a proof is about.
struct Told {
    index: Option<u64>,
    receipt: Option<ReceiptId>,
    old: Option<u64>,
}

fn checked(kind: &'static str, newer: &Checkpoint, key: VerifierKey, reason: Option<String>, told: Told) -> Checked {
    let Told { index, receipt, old } = told;
    Checked {
        schema: "prove-check.v1",
        kind,
        holds: reason.is_none(),
        reason,
        origin: newer.origin().to_owned(),
        log_key: key.to_string(),
        size: newer.size(),
        root: newer.root(),
        index,
        receipt,
        old,
    }
}

fn checked_text(document: &Checked) -> String {
    let Checked { kind, size, root, .. } = document;
    let claim = match (document.index, document.receipt, document.old) {
        (Some(index), Some(receipt), _) => format!("receipt #{index} {receipt} is in the log"),
        (_, _, old) => format!("the log begins with the {} receipts of the older checkpoint", old.unwrap_or_default()),
    };
    let head = format!(
        "log        {}\nlog key    {}\nsize       {size} receipts, root {root}\n",
        one_line(&document.origin),
        one_line(&document.log_key)
    );
    match &document.reason {
        None => format!("{head}proven     {claim}\n"),
        Some(reason) => format!("{head}NOT proven: {claim}\nthe {kind} proof does not hold: {}\n", one_line(reason)),
    }
}
