//! Making a dossier. Receipts are proven and evidence is hashed on the way out: what would not verify is not written.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use super::archive::ArchiveWriter;
use super::contents::{Contents, History, closure};
use super::manifest::Manifest;
use super::{CHECKPOINT, DossierError, MANIFEST};
use crate::ledger::{Snapshot, read_bundle};
use crate::merkle::TileName;
use crate::object::ObjectId;
use crate::receipt::{Evidence, Receipt, ReceiptRef, Role};
use crate::store::open_object;

const WIDTH: u64 = 256;

/// What a dossier is to be about.
#[derive(Debug, Clone, Default)]
pub struct Wishes {
    /// The receipt, by its index.
    pub subject: u64,
    /// Roles whose evidence is left out.
    pub redacted: Vec<Role>,
    /// Whether to carry all receipts up to the checkpoint, so that the list of rounds is whole.
    pub complete: bool,
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The receipt that it is about.
    pub subject: ReceiptRef,
    /// Bytes of the file.
    pub bytes: u64,
    /// Receipts in it.
    pub receipts: u64,
    /// Objects in it.
    pub objects: u64,
    /// Objects that were left out.
    pub withheld: u64,
}

/// Writes a dossier about a receipt of this snapshot. The same snapshot and wishes give the same bytes.
///
/// # Errors
/// [`DossierError`]; what was written by then is no dossier.
pub fn write(snapshot: &Snapshot<'_>, wishes: &Wishes, out: &mut dyn Write) -> Result<Written, DossierError> {
    let shown = receipts(snapshot, [0, wishes.subject])?;
    let contents = Contents::of(shown.values(), &wishes.redacted);
    if let Some(role) = wishes.redacted.iter().find(|role| !contents.roles.contains(*role)) {
        let known = contents.roles.into_iter().collect();
        return Err(DossierError::NoSuchRole { role: role.clone(), known });
    }
    let subject = ReceiptRef { index: wishes.subject, receipt: snapshot.receipt(wishes.subject)?.id() };
    let mut archive = ArchiveWriter::new(out);
    let manifest = Manifest::new(subject, wishes.complete, &wishes.redacted).encode()?;
    let mut put = |name: &str, bytes: &[u8]| archive.member(name, bytes.len() as u64, &mut &*bytes);
    put(MANIFEST, &manifest)?;
    put(CHECKPOINT, snapshot.note())?;
    let carried = if wishes.complete {
        for bundle in bundles(snapshot.size()) {
            put(&bundle.to_string(), &read_bundle(snapshot.store(), bundle)?)?;
        }
        snapshot.size()
    } else {
        let carried = history(snapshot)?
            .carried(wishes.subject, |index| Ok::<_, DossierError>(Some(snapshot.receipt(index)?)))?;
        for index in &carried {
            put(&proof_name(*index), &snapshot.prove(*index)?.encode())?;
        }
        carried.len() as u64
    };
    let named = naming(&shown);
    for id in contents.objects.keys() {
        if let Some((receipt, evidence)) = named.get(id) {
            put_object(snapshot, receipt, evidence, &mut archive)?;
        }
    }
    Ok(Written {
        subject,
        bytes: archive.finish()?,
        receipts: carried,
        objects: contents.objects.len() as u64,
        withheld: contents.withheld.len() as u64,
    })
}

/// Receipts and what they rest on, each proven to be in the log.
fn receipts(
    snapshot: &Snapshot<'_>,
    roots: impl IntoIterator<Item = u64>,
) -> Result<BTreeMap<u64, Receipt>, DossierError> {
    let mut receipts = BTreeMap::new();
    closure(roots, |index| {
        let receipt = snapshot.receipt(index)?;
        receipts.insert(index, receipt.clone());
        Ok::<_, DossierError>(Some(receipt))
    })?;
    Ok(receipts)
}

/// Trust and decisions up to the checkpoint. Reads the whole log once.
fn history(snapshot: &Snapshot<'_>) -> Result<History, DossierError> {
    let mut history = History::default();
    snapshot.for_each(|index, receipt| {
        history.take(index, &receipt);
        Ok(())
    })?;
    Ok(history)
}

/// The member that holds a receipt with its proof.
pub(super) fn proof_name(index: u64) -> String {
    format!("receipts/{index}.tlog-proof")
}

/// The member that holds an object.
pub(super) fn object_name(id: &ObjectId) -> String {
    let hex = id.to_string();
    format!("objects/{}/{}", &hex[..2], &hex[2..])
}

/// The entry bundles of a log of this size, in order.
pub(super) fn bundles(size: u64) -> impl Iterator<Item = TileName> {
    (0..size.div_ceil(WIDTH)).filter_map(move |index| TileName::in_tree(0, index, size).and_then(TileName::bundle))
}

/// Who named each object first.
fn naming(receipts: &BTreeMap<u64, Receipt>) -> BTreeMap<ObjectId, (&Receipt, &Evidence)> {
    let mut named = BTreeMap::new();
    for receipt in receipts.values() {
        for evidence in receipt.statement().predicate.evidence.iter().filter(|evidence| evidence.held) {
            named.entry(evidence.blake3).or_insert((receipt, evidence));
        }
    }
    named
}

fn put_object(
    snapshot: &Snapshot<'_>,
    receipt: &Receipt,
    evidence: &Evidence,
    archive: &mut ArchiveWriter<'_>,
) -> Result<(), DossierError> {
    let (role, receipt) = (evidence.role.clone(), receipt.id());
    let opened = open_object(snapshot.store(), &evidence.blake3, evidence.size);
    let opened =
        opened.map_err(|source| DossierError::Store { role: role.clone(), receipt, source: Box::new(source) })?;
    let content = opened.ok_or(DossierError::Missing { role, receipt, object: evidence.blake3 })?;
    let mut hashed = Hashed { content, hasher: blake3::Hasher::new(), failed: false };
    let name = object_name(&evidence.blake3);
    let written = archive.member(&name, evidence.size, &mut hashed);
    if hashed.failed {
        return Err(DossierError::Changed { name });
    }
    written?;
    if hashed.hasher.finalize().as_bytes() == evidence.blake3.as_bytes() {
        Ok(())
    } else {
        Err(DossierError::Changed { name })
    }
}

/// Passes bytes on and hashes them.
struct Hashed {
    content: Box<dyn Read + Send>,
    hasher: blake3::Hasher,
    /// It could not be read to its end: a damaged compressed object, most likely.
    failed: bool,
}

impl Read for Hashed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.content.read(buffer);
        self.failed |= read.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::Interrupted);
        let count = read?;
        self.hasher.update(&buffer[..count]);
        Ok(count)
    }
}
