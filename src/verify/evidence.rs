//! The objects that receipts name: each distinct one is hashed once.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read};

use rayon::prelude::*;

use super::VerifyError;
use super::docket::Docket;
use super::finding::{Axis, Code, Finding};
use super::survey::{Survey, object_file, refused};
use crate::object::{ObjectId, ReceiptId, Sha256};
use crate::receipt::{Evidence, Receipt};
use crate::store::{Name, Store, StoreError, open_object};

/// Objects of at least this many bytes are hashed one after another, each on all cores.
const LARGE: u64 = 1 << 20;

#[derive(Debug, Clone, Copy)]
struct Named {
    sha256: Sha256,
    size: u64,
    checked: bool,
}

/// An object to be checked, and the receipt that named it first.
struct Task {
    index: u64,
    receipt: ReceiptId,
    evidence: Evidence,
}

/// The objects that were named so far. Grows with their number, by some 100 bytes each.
pub(super) struct Objects<'a> {
    store: &'a dyn Store,
    survey: &'a Survey,
    sha256_too: bool,
    named: HashMap<ObjectId, Named>,
    /// Objects that were left out on purpose.
    withheld: HashSet<ObjectId>,
    waiting: Vec<Task>,
}

impl<'a> Objects<'a> {
    /// No object yet; `sha256_too` asks for both digests.
    pub(super) fn new(store: &'a dyn Store, survey: &'a Survey, sha256_too: bool) -> Self {
        Self { store, survey, sha256_too, named: HashMap::new(), withheld: HashSet::new(), waiting: Vec::new() }
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
            let Evidence { blake3, sha256, size, .. } = evidence;
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
                self.waiting.push(Task { index, receipt: receipt.id(), evidence: evidence.clone() });
            }
        }
    }

    /// Checks what was taken down since the last time.
    pub(super) fn check_waiting(&mut self, docket: &mut Docket) -> Result<(), VerifyError> {
        let waiting = std::mem::take(&mut self.waiting);
        let (large, small): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|task| task.evidence.size >= LARGE);
        let small: Vec<_> = small.par_iter().map(|task| self.check(task)).collect();
        let large: Vec<_> = large.iter().map(|task| self.check(task)).collect();
        for outcome in small.into_iter().chain(large) {
            let (bytes, finding) = outcome?;
            docket.count(Axis::Evidence, "objects", 1);
            docket.count(Axis::Evidence, "bytes", bytes);
            docket.find_all(finding);
        }
        Ok(())
    }

    fn check(&self, task: &Task) -> Result<(u64, Option<Finding>), VerifyError> {
        let Evidence { blake3, sha256, size, role, .. } = &task.evidence;
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
        let digests = match self.digests(&file, &task.evidence, compressed) {
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

    fn digests(&self, file: &str, evidence: &Evidence, compressed: bool) -> Result<Option<Digests>, StoreError> {
        if !compressed && !self.sha256_too {
            let name: Name = file.parse()?;
            let hashed = self.store.hash(&name)?;
            return Ok(hashed.map(|(blake3, size)| Digests { blake3, size, sha256: None }));
        }
        let Some(mut content) = open_object(self.store, &evidence.blake3, evidence.size)? else { return Ok(None) };
        let digests = digest(content.as_mut(), evidence.size, self.sha256_too);
        digests.map(Some).map_err(|source| match compressed {
            // What cannot be decompressed is damage to report, not an accident of this run.
            true => StoreError::Damaged { name: file.to_owned() },
            false => StoreError::Io { action: "read", name: file.to_owned(), source },
        })
    }

    /// Whether an object was named.
    pub(super) fn is_named(&self, id: &ObjectId) -> bool {
        self.named.contains_key(id)
    }

    /// What is known only at the end.
    pub(super) fn finish(&self, docket: &mut Docket) {
        if self.withheld.is_empty() && !self.named.values().any(|named| named.checked) {
            docket.not_checked(Axis::Evidence, "no receipt names evidence that the ledger holds");
        }
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
