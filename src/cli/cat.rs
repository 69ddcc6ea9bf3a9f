//! `proofmark cat`.

use std::io::{self, Read};

use proofmark::index::{Claim, Entry, Index, Rev};
use proofmark::object::ObjectId;
use proofmark::receipt::Evidence;
use proofmark::store::{ObjectState, Store, StoreError, object_state, open_object, read_object};

use super::context::Context;
use super::failure::{Exit, Failure, one_line};
use super::heading;

/// Objects of at most this many bytes are held in memory from the check to the writing.
const IN_MEMORY: u64 = 64 << 20;

/// Larger ones are read in pieces of this many bytes.
const PIECE: usize = 1 << 20;

/// What the command takes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Nothing is written before all of the object's bytes were found to be those that its id promises.

Examples:
  proofmark cat main:answers               the answers of the newest round
  proofmark cat main~1:questions
  proofmark cat 3fa9c1d2 | b3sum           an object by the beginning of its id; b3sum prints the id")]
pub struct Arguments {
    /// The object: REV:ROLE, or the beginning of its id (at least 4 digits)
    #[arg(value_name = "OBJECT")]
    object: String,
}

/// Writes an object's bytes to stdout.
pub fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    if context.json() {
        return Err(Failure::refused("`cat` writes an object's bytes and has no `--json` form")
            .hint("`proofmark show REV --json` describes the evidence of a receipt"));
    }
    let ledger = context.ledger()?;
    let mut index = heading::index(context, &ledger)?;
    let claims = match arguments.object.rsplit_once(':') {
        Some((rev, role)) => vec![by_role(&mut index, rev, role)?],
        None => by_id(&mut index, &arguments.object)?,
    };
    let store = ledger.store();
    // Where receipts disagree about an object's size, the right one is what its bytes agree with.
    let (last, others) = claims.split_last().ok_or_else(|| Failure::failed("no receipt names the object"))?;
    for claim in others {
        if object_state(store, &claim.evidence.blake3, claim.evidence.size)? == ObjectState::Intact {
            return write(store, &claim.evidence, context);
        }
    }
    write(store, &last.evidence, context)
}

fn by_id(index: &mut Index<'_>, prefix: &str) -> Result<Vec<Claim>, Failure> {
    let digits = prefix.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if !digits || !(4..=64).contains(&prefix.len()) {
        let shown: String = prefix.chars().take(80).collect();
        return Err(Failure::refused(format!("`{}` is not an object", one_line(&shown))).hint(
            "write REV:ROLE, as in `main:answers`, or the first 4 to 64 digits of an object's id, of 0-9 and a-f",
        ));
    }
    Ok(index.object(prefix)?)
}

fn by_role(index: &mut Index<'_>, rev: &str, role: &str) -> Result<Claim, Failure> {
    let entry = index.resolve(&rev.parse::<Rev>()?)?;
    let found: Vec<_> = entry.receipt.statement().predicate.evidence_of(role).collect();
    match found.as_slice() {
        [only] => Ok(Claim { receipt: entry.index, evidence: (*only).clone() }),
        [] => Err(no_role(&entry, role)),
        several => {
            let ids = several.iter().map(|item| format!("\n  {}", item.blake3)).collect::<String>();
            Err(Failure::refused(format!("receipt #{} has {} objects of that role", entry.index, several.len()))
                .hint(format!("name one by its id:{ids}")))
        }
    }
}

fn no_role(entry: &Entry, role: &str) -> Failure {
    let mut roles: Vec<_> =
        entry.receipt.statement().predicate.evidence.iter().map(|item| item.role.as_str()).collect();
    roles.dedup();
    let roles = if roles.is_empty() { "none".to_owned() } else { roles.join(", ") };
    let role: String = role.chars().take(80).collect();
    Failure::refused(format!("receipt #{} has no evidence of role `{}`", entry.index, one_line(&role)))
        .hint(format!("its roles are: {roles}"))
}

fn write(store: &dyn Store, evidence: &Evidence, context: &Context) -> Result<Exit, Failure> {
    if evidence.size <= IN_MEMORY {
        let bytes = read_object(store, &evidence.blake3, evidence.size)?.ok_or_else(|| not_held(evidence))?;
        context.print_bytes(&bytes)?;
        return Ok(Exit::Yes);
    }
    match object_state(store, &evidence.blake3, evidence.size)? {
        ObjectState::Absent => Err(not_held(evidence)),
        ObjectState::Damaged => Err(damaged(&evidence.blake3)),
        ObjectState::Intact => write_in_pieces(store, evidence, context),
    }
}

/// Writes an object that was verified, and notices if it changes meanwhile.
fn write_in_pieces(store: &dyn Store, evidence: &Evidence, context: &Context) -> Result<Exit, Failure> {
    let mut content = open_object(store, &evidence.blake3, evidence.size)?.ok_or_else(|| not_held(evidence))?;
    let mut hasher = blake3::Hasher::new();
    let mut piece = vec![0; PIECE];
    loop {
        let count = match content.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
        hasher.update(&piece[..count]);
        context.print_bytes(&piece[..count])?;
    }
    if hasher.finalize().as_bytes() == evidence.blake3.as_bytes() {
        return Ok(Exit::Yes);
    }
    Err(Failure::refused(StoreError::Changed { name: evidence.blake3.to_string() }))
}

fn not_held(evidence: &Evidence) -> Failure {
    let Evidence { role, blake3, held, .. } = evidence;
    let hint = match held {
        true => "its receipt says that the ledger holds it: bring the file back, or store the same bytes again",
        false => "its receipt states digests only; whoever has the file can check it with b3sum or sha256sum",
    };
    Failure::refused(format!("the {role} object {blake3} is not held in this ledger")).hint(hint)
}

fn damaged(id: &ObjectId) -> Failure {
    StoreError::Damaged { name: id.to_string() }.into()
}
