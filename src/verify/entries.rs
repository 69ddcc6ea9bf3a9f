//! Reading entry bundles that may be damaged: parsing, hashing and checking signatures, on all cores.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::finding::{Code, Finding};
use super::survey::{Content, Survey, content};
use super::{MAX_BUNDLE_BYTES, VerifyError, WIDTH};
use crate::ledger;
use crate::merkle::{TileName, leaf_hash};
use crate::object::{ReceiptId, Sha256};
use crate::receipt::{Receipt, ReceiptError};
use crate::store::Store;
use crate::trust::{KeyId, PreparedKey, PublicKey, settle};

/// Receipts from which on preparing a key for many signatures pays.
const WORTH_PREPARING: u64 = 64;

/// Neighbours whose signatures share one inversion: enough for its part in each to be small, few enough to go around.
const CHECKED_TOGETHER: usize = 32;

/// The most keys that are prepared, 640 KiB each.
const MOST_PREPARED: usize = 32;

/// The keys that receipts may be signed with.
#[derive(Default)]
pub(super) struct Keyring {
    keys: BTreeMap<KeyId, Key>,
}

enum Key {
    Plain(PublicKey),
    Prepared(Box<PreparedKey>),
}

impl Keyring {
    /// Takes the keys that it does not have yet, made ready for so many receipts. `keys` only ever grows at its end.
    pub(super) fn learn(&mut self, keys: &[PublicKey], receipts: u64) {
        let fresh = keys.get(self.keys.len()..).unwrap_or_default();
        let prepare = receipts >= WORTH_PREPARING && keys.len() <= MOST_PREPARED;
        let ready = |key: &PublicKey| {
            let ready = if prepare { Key::Prepared(Box::new(PreparedKey::new(key))) } else { Key::Plain(*key) };
            (key.fingerprint(), ready)
        };
        self.keys.par_extend(fresh.par_iter().map(ready));
    }

    /// Checks the signatures of entries together, where they are receipts and their keys are known.
    fn check(&self, entries: &mut [Entry]) {
        let (mut open, mut halves) = (Vec::new(), Vec::new());
        for Entry { receipt, signature, .. } in entries {
            let Ok(receipt) = receipt else { continue };
            match self.keys.get(receipt.key()) {
                None => {}
                Some(Key::Plain(key)) => *signature = Some(receipt.verify(key)),
                Some(Key::Prepared(key)) => match receipt.half_verify(receipt.key(), key) {
                    Ok(half) => {
                        open.push(signature);
                        halves.push(half);
                    }
                    Err(error) => *signature = Some(Err(error)),
                },
            }
        }
        for (signature, answer) in open.into_iter().zip(settle(&halves)) {
            *signature = Some(answer.map_err(ReceiptError::BadSignature));
        }
    }
}

/// One entry of the log.
pub(super) struct Entry {
    pub(super) index: u64,
    pub(super) leaf: Sha256,
    pub(super) id: ReceiptId,
    /// Of the same bytes: what the subject of a later receipt says.
    pub(super) sha256: Sha256,
    pub(super) receipt: Result<Receipt, ReceiptError>,
    /// Whether it is good; `None` where the key is not known, or the entry is no receipt.
    pub(super) signature: Option<Result<(), ReceiptError>>,
}

impl Entry {
    /// Reads an entry; its signature is not looked at.
    pub(super) fn read(index: u64, bytes: &[u8]) -> Self {
        let receipt = Receipt::parse(bytes);
        let id = receipt.as_ref().map_or_else(|_| ReceiptId::of(bytes), Receipt::id);
        Self { index, leaf: leaf_hash(bytes), id, sha256: Sha256::of(bytes), receipt, signature: None }
    }
}

/// A bundle as it was found.
pub(super) struct ReadBundle {
    pub(super) bundle: TileName,
    /// The entries up to the first that is cut short.
    pub(super) entries: Vec<Entry>,
    /// Whether they are exactly those that the bundle must hold.
    pub(super) whole: bool,
    pub(super) findings: Vec<Finding>,
}

/// Reads bundles in parallel and checks their older versions against them.
pub(super) fn read_bundles(
    store: &dyn Store,
    survey: &Survey,
    keys: &Keyring,
    bundles: &[TileName],
) -> Result<Vec<ReadBundle>, VerifyError> {
    bundles.par_iter().map(|bundle| read_bundle(store, survey, keys, *bundle)).collect()
}

fn read_bundle(
    store: &dyn Store,
    survey: &Survey,
    keys: &Keyring,
    bundle: TileName,
) -> Result<ReadBundle, VerifyError> {
    let file = bundle.to_string();
    let expected = format!("{} entries", bundle.width());
    let mut read = ReadBundle { bundle, entries: Vec::new(), whole: false, findings: Vec::new() };
    let bytes = match content(store, &file, MAX_BUNDLE_BYTES)? {
        Content::Bytes(bytes) => bytes,
        // A writer may have moved on since the checkpoint was read: the beginning of a wider version says the same.
        Content::Absent => match ledger::read_bundle(store, bundle) {
            Ok(bytes) => bytes,
            Err(_) => {
                read.findings.push(Finding::new(Code::BundleMissing, expected, "nothing").in_file(file));
                return Ok(read);
            }
        },
        Content::Refused(found) => {
            read.findings.push(Finding::new(Code::BundleDamaged, expected, found).in_file(file));
            return Ok(read);
        }
    };
    let (entries, rest) = split(&bytes, bundle.width());
    read.whole = entries.len() == usize::from(bundle.width()) && rest.is_empty();
    if !read.whole {
        let found = format!("{} whole entries and {} bytes left over", entries.len(), rest.len());
        read.findings.push(Finding::new(Code::BundleDamaged, expected, found).in_file(&file));
    }
    let first = bundle.index() * WIDTH;
    // Small bundles come alone, and then this is where the cores are used.
    let indexed = entries.par_iter().enumerate();
    indexed.map(|(at, entry)| Entry::read(first + at as u64, entry)).collect_into_vec(&mut read.entries);
    read.entries.par_chunks_mut(CHECKED_TOGETHER).for_each(|neighbours| keys.check(neighbours));
    for older in survey.narrower(bundle) {
        read.findings.extend(older_bundle(store, older, &bytes, &entries)?);
    }
    Ok(read)
}

/// The whole entries, at most `width`, and what follows them.
fn split(bytes: &[u8], width: u16) -> (Vec<&[u8]>, &[u8]) {
    let (mut entries, mut rest) = (Vec::with_capacity(usize::from(width)), bytes);
    while entries.len() < usize::from(width) {
        let Some((length, after)) = rest.split_first_chunk::<2>() else { break };
        let Some((entry, after)) = after.split_at_checked(usize::from(u16::from_be_bytes(*length))) else { break };
        entries.push(entry);
        rest = after;
    }
    (entries, rest)
}

/// A superseded version of a bundle must be its beginning.
fn older_bundle(
    store: &dyn Store,
    older: TileName,
    newer: &[u8],
    entries: &[&[u8]],
) -> Result<Option<Finding>, VerifyError> {
    let length: usize = entries.iter().take(usize::from(older.width())).map(|entry| 2 + entry.len()).sum();
    let expected = format!("the first {} entries of the newer version", older.width());
    let found = match content(store, &older.to_string(), MAX_BUNDLE_BYTES)? {
        Content::Bytes(bytes) if newer.get(..length) == Some(bytes.as_slice()) => return Ok(None),
        Content::Bytes(bytes) => format!("{} other bytes", bytes.len()),
        Content::Absent => return Ok(None),
        Content::Refused(found) => found,
    };
    Ok(Some(Finding::new(Code::BundleDiffers, expected, found).in_file(older)))
}
