//! Reading: the ledger as one checkpoint has it. What is handed out was checked against that checkpoint's root.

use std::sync::mpsc;

use rayon::prelude::*;

use super::{LedgerError, receipt_at};
use crate::merkle::{Bundle, Checkpoint, Frontier, MerkleError, TileName, TileReader, leaf_hash, verify_inclusion};
use crate::object::Sha256;
use crate::receipt::Receipt;
use crate::store::{Name, Store, StoreError};

/// Entry bundles that are read and parsed together when the whole log is read: memory is bounded by them.
pub const BUNDLES_AT_ONCE: u64 = 16;

const WIDTH: u64 = 256;

/// No tile or bundle is larger: 256 entries of 65,535 bytes with their lengths.
pub(super) const MAX_BUNDLE_BYTES: u64 = WIDTH * (2 + 65_535);

/// How often a tile is looked for before it counts as missing.
const LOOKS: usize = 8;

/// Reads a tile of hashes by its name.
pub type TileSource<'a> = Box<dyn FnMut(TileName) -> Result<Vec<u8>, LedgerError> + 'a>;

/// An entry's index and leaf hash, and what was read from it.
type Mapped<T> = (u64, Sha256, T);

/// One checkpoint's view of a ledger.
#[derive(Clone)]
pub struct Snapshot<'a> {
    store: &'a dyn Store,
    checkpoint: Checkpoint,
    note: Vec<u8>,
}

/// A tile as `look` finds it under its name, or under that of a wider version of it: a writer may have pruned the partial
/// tile that the checkpoint names, and the first hashes (or entries) of a wider one are the same.
pub(super) fn present<T>(
    store: &dyn Store,
    tile: TileName,
    look: impl Fn(&Name) -> Result<Option<T>, StoreError>,
) -> Result<(TileName, T), LedgerError> {
    until_present(|| {
        let exact: Name = tile.to_string().parse()?;
        if let Some(found) = look(&exact)? {
            return Ok((tile, found));
        }
        let full: Name = tile.full().to_string().parse()?;
        if let Some(found) = look(&full)? {
            return Ok((tile.full(), found));
        }
        let partial = store.list(&format!("{full}.p"))?.into_iter().filter_map(|name| name.as_str().parse().ok());
        let wider = partial.filter(|there: &TileName| there.width() > tile.width()).min_by_key(|there| there.width());
        let missing = || LedgerError::Missing { name: exact.to_string() };
        let wider = wider.ok_or_else(missing)?;
        Ok((wider, look(&wider.to_string().parse()?)?.ok_or_else(missing)?))
    })
}

/// Looks for something until it is there: between finding a partial tile and reading it, a writer may have put a wider
/// one in its place.
fn until_present<T>(mut look: impl FnMut() -> Result<T, LedgerError>) -> Result<T, LedgerError> {
    for _ in 1..LOOKS {
        match look() {
            Err(LedgerError::Missing { .. }) => {}
            found => return found,
        }
    }
    look()
}

fn read_present(store: &dyn Store, tile: TileName) -> Result<(TileName, Vec<u8>), LedgerError> {
    present(store, tile, |name| store.read(name, MAX_BUNDLE_BYTES))
}

/// A tile of hashes, cut to the width asked for.
pub(crate) fn read_tile(store: &dyn Store, tile: TileName) -> Result<Vec<u8>, LedgerError> {
    let (found, mut bytes) = read_present(store, tile)?;
    if found.width() > tile.width() {
        bytes.truncate(32 * usize::from(tile.width()));
    }
    Ok(bytes)
}

/// An entry bundle, cut to the width asked for.
pub(crate) fn read_bundle(store: &dyn Store, tile: TileName) -> Result<Vec<u8>, LedgerError> {
    let (found, mut bytes) = read_present(store, tile)?;
    if found.width() > tile.width() {
        let kept = Bundle::parse(&bytes, found.width())?.entries().take(usize::from(tile.width()));
        let length = kept.map(|entry| 2 + entry.len()).sum();
        bytes.truncate(length);
    }
    Ok(bytes)
}

impl<'a> Snapshot<'a> {
    pub(crate) fn new(store: &'a dyn Store, checkpoint: Checkpoint, note: Vec<u8>) -> Self {
        Self { store, checkpoint, note }
    }

    /// The checkpoint.
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// The signed note that it was read from.
    pub fn note(&self) -> &[u8] {
        &self.note
    }

    /// How many receipts there are.
    pub fn size(&self) -> u64 {
        self.checkpoint.size()
    }

    /// Where the ledger lives.
    pub fn store(&self) -> &'a dyn Store {
        self.store
    }

    /// Proofs out of this checkpoint's tiles.
    pub fn tiles(&self) -> Result<TileReader<TileSource<'a>>, LedgerError> {
        let store = self.store;
        let source: TileSource<'a> = Box::new(move |tile| read_tile(store, tile));
        Ok(TileReader::new(self.size(), source)?)
    }

    /// The bundle that holds entry `index`.
    pub(super) fn bundle_name(&self, bundle: u64) -> Result<TileName, LedgerError> {
        let name = TileName::in_tree(0, bundle, self.size()).and_then(TileName::bundle);
        name.ok_or_else(|| LedgerError::Missing { name: format!("entry bundle {bundle}") })
    }

    /// The exact bytes of one entry, proven to be in the log.
    pub fn entry(&self, index: u64) -> Result<Vec<u8>, LedgerError> {
        let bundle = self.bundle_name(index / WIDTH)?;
        let bytes = read_bundle(self.store, bundle)?;
        let parsed = Bundle::parse(&bytes, bundle.width())?;
        let missing = || LedgerError::Missing { name: format!("entry {index}") };
        let entry = parsed.entries().nth((index % WIDTH) as usize).ok_or_else(missing)?;
        let proof = self.tiles()?.inclusion(index, self.size())?;
        verify_inclusion(&leaf_hash(entry), index, &proof, &self.checkpoint.head())?;
        Ok(entry.to_vec())
    }

    /// Refuses a log whose newest entry bundle cannot be read, and so cannot be extended.
    pub(super) fn newest_bundle_is_whole(&self) -> Result<(), LedgerError> {
        let bundle = self.bundle_name(self.size().saturating_sub(1) / WIDTH)?;
        let bytes = read_bundle(self.store, bundle)?;
        Ok(Bundle::parse(&bytes, bundle.width()).map(|_| ())?)
    }

    /// One receipt, proven to be in the log. Its signature is not checked here.
    pub fn receipt(&self, index: u64) -> Result<Receipt, LedgerError> {
        receipt_at(index, &self.entry(index)?)
    }

    /// Reads every receipt in order and hands each to `visit`; at the end the entries are known to add up to the
    /// checkpoint's root, and an error says if they do not. An entry that is not a receipt ends the reading.
    pub fn for_each(&self, visit: impl FnMut(u64, Receipt) -> Result<(), LedgerError>) -> Result<(), LedgerError> {
        self.map_from(0, receipt_at, visit)
    }

    /// Reads the entries from `start` on: `read` makes something of each, on all cores and in any order, and `visit`
    /// takes it in the log's order on the calling thread, while the next ones are being read.
    ///
    /// The tree of the first `start` entries is taken from the tiles. At the end it and the entries are known to add
    /// up to the checkpoint's root, and an error says if they do not.
    pub fn map_from<T: Send, E: From<LedgerError>>(
        &self,
        start: u64,
        read: impl Fn(u64, &[u8]) -> Result<T, LedgerError> + Sync,
        mut visit: impl FnMut(u64, T) -> Result<(), E>,
    ) -> Result<(), E> {
        if start > self.size() {
            return Err(LedgerError::from(MerkleError::TreeShrank { older: start, newer: self.size() }).into());
        }
        let mut frontier = Frontier::load::<LedgerError>(start, |tile| read_tile(self.store, tile))?;
        let mut take = |mapped: Vec<Vec<Mapped<T>>>| -> Result<(), E> {
            for (index, leaf, made) in mapped.into_iter().flatten() {
                frontier.push::<LedgerError>(leaf, |_, _| Ok(()))?;
                visit(index, made)?;
            }
            Ok(())
        };
        let (first, end) = (start / WIDTH, self.size().div_ceil(WIDTH));
        if end - first <= 1 {
            // Most often the newest receipts only: no need of other threads.
            let mapped: Result<_, LedgerError> =
                (first..end).map(|bundle| self.mapped_bundle(bundle, start, &read)).collect();
            take(mapped?)?;
        } else {
            self.map_ahead(first..end, start, &read, take)?;
        }
        if frontier.root() == self.checkpoint.root() {
            return Ok(());
        }
        Err(LedgerError::Root { size: self.size() }.into())
    }

    /// Maps groups of bundles on a thread of their own, one group ahead of `take`.
    fn map_ahead<T: Send, E: From<LedgerError>>(
        &self,
        bundles: std::ops::Range<u64>,
        start: u64,
        read: &(impl Fn(u64, &[u8]) -> Result<T, LedgerError> + Sync),
        mut take: impl FnMut(Vec<Vec<Mapped<T>>>) -> Result<(), E>,
    ) -> Result<(), E> {
        std::thread::scope(|scope| {
            let (sender, receiver) = mpsc::sync_channel(0);
            scope.spawn(move || {
                for first in bundles.clone().step_by(BUNDLES_AT_ONCE as usize) {
                    let group = first..(first + BUNDLES_AT_ONCE).min(bundles.end);
                    let bundle = |bundle| self.mapped_bundle(bundle, start, read);
                    let mapped: Result<Vec<_>, LedgerError> = group.into_par_iter().map(bundle).collect();
                    let failed = mapped.is_err();
                    // Nobody listens any more where `take` failed.
                    if sender.send(mapped).is_err() || failed {
                        break;
                    }
                }
            });
            for mapped in receiver {
                take(mapped?)?;
            }
            Ok(())
        })
    }

    fn mapped_bundle<T>(
        &self,
        bundle: u64,
        start: u64,
        read: impl Fn(u64, &[u8]) -> Result<T, LedgerError>,
    ) -> Result<Vec<Mapped<T>>, LedgerError> {
        let name = self.bundle_name(bundle)?;
        let bytes = read_bundle(self.store, name)?;
        let entries = Bundle::parse(&bytes, name.width())?;
        let indexed = (bundle * WIDTH..).zip(entries.entries()).filter(|(index, _)| *index >= start);
        indexed.map(|(index, entry)| Ok((index, leaf_hash(entry), read(index, entry)?))).collect()
    }
}

/// A name for what `error` says is not there, if that is what it says.
pub(super) fn is_missing(error: &LedgerError) -> bool {
    matches!(error, LedgerError::Missing { .. } | LedgerError::Store(StoreError::Io { .. }))
}
