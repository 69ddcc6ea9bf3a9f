//! The objects that receipts name: each distinct one is hashed once.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read};

use rayon::prelude::*;

use super::VerifyError;
use super::docket::Docket;
use super::finding::{Axis, Code, Finding};
use super::survey::{Survey, object_file, refused};
use crate::object::{ObjectId, ReceiptId, Sha256};
use crate::receipt::{Evidence, Receipt, Role};
use crate::store::{Name, Shelf, Store, StoreError, open_object};

/// Objects of at least this many bytes are hashed one after another, each on all cores.
const LARGE: u64 = 1 << 20;

/// Objects of at most this many bytes are read whole, out of the open folder that they are in.
const SMALL: u64 = 64 << 10;

/// Checking waits for this many objects, so that several of them are in one folder.
const ENOUGH: usize = 4096;

#[derive(Debug, Clone, Copy)]
struct Named {
    sha256: Sha256,
    size: u64,
    checked: bool,
}

/// An object to be checked, and the receipt that named it first.
pub(super) struct Task {
    index: u64,
    receipt: ReceiptId,
    role: Role,
    blake3: ObjectId,
    sha256: Sha256,
    size: u64,
}

/// What came of checking an object: how many bytes were read, and what is wrong.
pub(super) type Checked = Result<(u64, Option<Finding>), VerifyError>;

/// Reads and hashes objects.
#[derive(Clone, Copy)]
pub(super) struct Checker<'a> {
    store: &'a dyn Store,
    survey: &'a Survey,
    sha256_too: bool,
}

/// The objects that were named so far. Grows with their number, by some 100 bytes each.
pub(super) struct Objects<'a> {
    checker: Checker<'a>,
    named: HashMap<ObjectId, Named>,
    /// Objects that were left out on purpose.
    withheld: HashSet<ObjectId>,
    waiting: Vec<Task>,
}

impl<'a> Objects<'a> {
    /// No object yet; `sha256_too` asks for both digests.
    pub(super) fn new(store: &'a dyn Store, survey: &'a Survey, sha256_too: bool) -> Self {
        let checker = Checker { store, survey, sha256_too };
        Self { checker, named: HashMap::new(), withheld: HashSet::new(), waiting: Vec::new() }
    }

    /// These objects were left out on purpose: that they are not there is no finding.
    pub(super) fn expect_withheld(&mut self, objects: impl IntoIterator<Item = ObjectId>) {
        self.withheld.extend(objects);
    }

    /// Takes down what a receipt names.
    pub(super) fn take(&mut self, index: u64, receipt: &Receipt, docket: &mut Docket) {
        for evidence in &receipt.statement().predicate.evidence {
            docket.count(Axis::Evidence, "named", 1);
            docket.count(Axis::Evidence, "notHeld", u64::from(!evidence.held));
            let Evidence { role, blake3, sha256, size, .. } = evidence;
            let fresh = Named { sha256: *sha256, size: *size, checked: false };
            let named = self.named.entry(*blake3).or_insert(fresh);
            if (named.sha256, named.size) != (*sha256, *size) {
                let text = |sha256: &Sha256, size: u64| format!("{size} bytes, SHA-256 {sha256}");
                let expected = text(&named.sha256, named.size);
                let finding = Finding::new(Code::EvidenceContradiction, expected, text(sha256, *size));
                docket.find(finding.at(index, Some(receipt.id())).in_file(object_file(blake3, false)));
            }
            if evidence.held && self.withheld.contains(blake3) {
                docket.count(Axis::Evidence, "withheld", 1);
            } else if evidence.held && !named.checked {
                named.checked = true;
                let (receipt, role) = (receipt.id(), role.clone());
                self.waiting.push(Task { index, receipt, role, blake3: *blake3, sha256: *sha256, size: *size });
            }
        }
    }

    /// Checks what was taken down since the last time.
    pub(super) fn check_waiting(&mut self, docket: &mut Docket) -> Result<(), VerifyError> {
        let waiting = std::mem::take(&mut self.waiting);
        self.report(self.checker.check_all(&waiting), docket)
    }

    /// What was taken down since the last time, where it is worth checking by now, and what checks it: for doing so while more
    /// is taken down. [`Objects::report`] has to be told what came of it.
    pub(super) fn due(&mut self) -> (Checker<'a>, Vec<Task>) {
        let due = if self.waiting.len() >= ENOUGH { std::mem::take(&mut self.waiting) } else { Vec::new() };
        (self.checker, due)
    }

    /// Takes down what came of checking.
    pub(super) fn report(&self, outcomes: Vec<Checked>, docket: &mut Docket) -> Result<(), VerifyError> {
        for outcome in outcomes {
            let (bytes, finding) = outcome?;
            docket.count(Axis::Evidence, "objects", 1);
            docket.count(Axis::Evidence, "bytes", bytes);
            docket.find_all(finding);
        }
        Ok(())
    }

    /// Whether an object was named.
    pub(super) fn is_named(&self, id: &ObjectId) -> bool {
        self.named.contains_key(id)
    }

    /// What is known only at the end.
    pub(super) fn finish(&mut self, docket: &mut Docket) -> Result<(), VerifyError> {
        self.check_waiting(docket)?;
        if self.withheld.is_empty() && !self.named.values().any(|named| named.checked) {
            docket.not_checked(Axis::Evidence, "no receipt names evidence that the ledger holds");
        }
        Ok(())
    }
}

impl Checker<'_> {
    /// Checks objects on all cores, those of one folder together; the outcomes are in the order of the tasks.
    pub(super) fn check_all(&self, tasks: &[Task]) -> Vec<Checked> {
        let mut places: Vec<_> = (0..tasks.len()).collect();
        places.sort_unstable_by_key(|place| tasks[*place].blake3);
        let (large, small): (Vec<_>, Vec<_>) = places.into_iter().partition(|place| tasks[*place].size >= LARGE);
        let shelf = |place: &usize| tasks[*place].blake3.as_bytes()[0];
        let shelves: Vec<_> = small.chunk_by(|one, next| shelf(one) == shelf(next)).collect();
        let small = shelves.into_par_iter().flat_map_iter(|places| {
            let shelf = tasks.get(places[0]).and_then(|first| self.store.shelf(&first.blake3));
            let mut bytes = Vec::new();
            let check = |place: &usize| {
                let task = &tasks[*place];
                let intact = shelf.as_deref().is_some_and(|shelf| self.is_intact(task, shelf, &mut bytes));
                (*place, if intact { Ok((task.size, None)) } else { self.check(task) })
            };
            places.iter().map(check).collect::<Vec<_>>()
        });
        let mut outcomes: Vec<_> = small.collect();
        outcomes.extend(large.into_iter().map(|place| (place, self.check(&tasks[place]))));
        outcomes.sort_unstable_by_key(|(place, _)| *place);
        outcomes.into_iter().map(|(_, outcome)| outcome).collect()
    }

    /// Whether a small object is there, raw, as the receipt says. If not, [`Checker::check`] says what is wrong.
    fn is_intact(&self, task: &Task, shelf: &dyn Shelf, bytes: &mut Vec<u8>) -> bool {
        let Some(size) = usize::try_from(task.size).ok().filter(|size| *size as u64 <= SMALL) else { return false };
        self.survey.object(&task.blake3).raw
            && shelf.read(&task.blake3, size, bytes)
            && ObjectId::of(bytes) == task.blake3
            && (!self.sha256_too || Sha256::of(bytes) == task.sha256)
    }

    fn check(&self, task: &Task) -> Checked {
        let Task { blake3, sha256, size, role, .. } = task;
        let forms = self.survey.object(blake3);
        let compressed = !forms.raw && forms.compressed;
        let file = object_file(blake3, compressed);
        let finding = |code, expected: String, found: String| {
            let finding = Finding::new(code, format!("`{role}`: {expected}"), found);
            Some(finding.at(task.index, Some(task.receipt)).in_file(&file))
        };
        let promised = format!("{size} bytes, BLAKE3 {blake3}");
        if !forms.raw && !forms.compressed {
            return Ok((0, finding(Code::EvidenceMissing, promised, "nothing".to_owned())));
        }
        // A sparse file costs its maker nothing and an audit hours: what has another length is hashed only where that is quick.
        let length =
            if compressed { None } else { self.store.size(&file.parse().map_err(VerifyError::Store)?).ok().flatten() };
        if let Some(length) = length.filter(|length| length != size && *length >= LARGE) {
            return Ok((0, finding(Code::EvidenceDamaged, promised, format!("{length} bytes"))));
        }
        let digests = match self.digests(&file, task, compressed) {
            Ok(Some(digests)) => digests,
            Ok(None) => return Ok((0, finding(Code::EvidenceMissing, promised, "nothing".to_owned()))),
            Err(error) => return Ok((0, finding(Code::EvidenceDamaged, promised, refused(error)?))),
        };
        let (found, length) = (ObjectId::from_bytes(*digests.blake3.as_bytes()), digests.size);
        if (found, length) != (*blake3, *size) {
            let at_least = if (compressed || self.sha256_too) && length > *size { "at least " } else { "" };
            let found = format!("{at_least}{length} bytes, BLAKE3 {found}");
            return Ok((length, finding(Code::EvidenceDamaged, promised, found)));
        }
        match digests.sha256.filter(|found| found != sha256) {
            Some(found) => {
                let expected = format!("SHA-256 {sha256}");
                Ok((length, finding(Code::EvidenceSha256, expected, format!("SHA-256 {found}"))))
            }
            None => Ok((length, None)),
        }
    }

    fn digests(&self, file: &str, task: &Task, compressed: bool) -> Result<Option<Digests>, StoreError> {
        if !compressed && !self.sha256_too {
            let name: Name = file.parse()?;
            let hashed = self.store.hash(&name)?;
            return Ok(hashed.map(|(blake3, size)| Digests { blake3, size, sha256: None }));
        }
        let Some(mut content) = open_object(self.store, &task.blake3, task.size)? else { return Ok(None) };
        let digests = digest(content.as_mut(), task.size, self.sha256_too);
        digests.map(Some).map_err(|source| match compressed {
            // What cannot be decompressed is damage to report, not an accident of this run.
            true => StoreError::Damaged { name: file.to_owned() },
            false => StoreError::Io { action: "read", name: file.to_owned(), source },
        })
    }
}

struct Digests {
    blake3: blake3::Hash,
    size: u64,
    sha256: Option<Sha256>,
}

/// Both digests in one pass, side by side for large objects.
fn digest(content: &mut dyn Read, expected: u64, sha256_too: bool) -> io::Result<Digests> {
    use sha2::Digest;
    let (mut blake3, mut sha256) = (blake3::Hasher::new(), sha2::Sha256::new());
    let window = expected.clamp(4 << 10, 1 << 20) as usize;
    let mut buffer = vec![0u8; window];
    loop {
        let filled = fill(content, &mut buffer)?;
        let bytes = buffer.get(..filled).unwrap_or_default();
        if sha256_too && filled >= (1 << 17) {
            rayon::join(|| blake3.update_rayon(bytes), || sha256.update(bytes));
        } else {
            blake3.update(bytes);
            if sha256_too {
                sha256.update(bytes);
            }
        }
        if filled < window {
            break;
        }
    }
    let size = blake3.count();
    let sha256 = sha256_too.then(|| Sha256::from_bytes(sha256.finalize().into()));
    Ok(Digests { blake3: blake3.finalize(), size, sha256 })
}

fn fill(content: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match content.read(rest) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
