//! The commit protocol: stage durable bundles, swap the authoritative checkpoint, publish what follows from both.
//!
//! Entry bundles and the checkpoint cell are durable before a commit is acknowledged. Hash tiles and the published
//! checkpoint can always be made again from them, so they need no fsync of their own, except that a tile which will not
//! be written again is settled when it is full.

use std::borrow::Cow;

use super::snapshot::{MAX_BUNDLE_BYTES, is_missing, present, read_bundle, read_tile};
use super::{LedgerError, LogIdentity, checkpoint_name};
use crate::merkle::{Bundle, BundleWriter, Checkpoint, Frontier, Note, TileName, leaf_hash, partial_tiles};
use crate::store::{Exclusive, Name, Store};

const STAGED: &str = "staging/bundle-";
const WIDTH: u64 = 256;

/// The exclusive writer of a ledger, with the state that it extends.
pub(super) struct Writer<'a> {
    store: &'a dyn Store,
    lock: Box<dyn Exclusive + 'a>,
    /// The authoritative checkpoint, exactly as the cell holds it; `None` before receipt 0.
    cell: Option<Vec<u8>>,
    /// The edge that is extended, and the same with what was pushed.
    base: Frontier,
    frontier: Frontier,
    bundles: BundleWriter,
}

/// Where a bundle waits until the checkpoint that covers it is authoritative.
fn staged_name(bundle: TileName) -> Result<Name, LedgerError> {
    Ok(format!("{STAGED}{}-{}", bundle.index(), bundle.width()).parse()?)
}

fn final_name(tile: TileName) -> Result<Name, LedgerError> {
    Ok(tile.to_string().parse()?)
}

impl<'a> Writer<'a> {
    /// Takes the lock of a ledger that has no receipt yet.
    pub(super) fn first(store: &'a dyn Store) -> Result<Self, LedgerError> {
        let lock = store.lock()?;
        if lock.cell()?.is_some() || store.size(&checkpoint_name()?)?.is_some() {
            return Err(LedgerError::Present);
        }
        discard_staged(store)?;
        let (base, frontier, bundles) = Default::default();
        Ok(Self { store, lock, cell: None, base, frontier, bundles })
    }

    /// Takes the lock, finishes or discards what a dead writer left, and loads the edge of the log.
    pub(super) fn next(store: &'a dyn Store, log: &LogIdentity) -> Result<(Self, Checkpoint, Vec<u8>), LedgerError> {
        let mut lock = store.lock()?;
        let (cell, checkpoint) = settle_cell(store, lock.as_mut(), log)?;
        let frontier = match load_edge(store, &checkpoint) {
            // The last bundle may still be staged: a file system may lose its move and keep the tiles.
            Ok(frontier) if last_bundle_is_placed(store, &checkpoint)? => frontier,
            _ => {
                apply(store, &checkpoint, &cell, Frontier::new(), None)?;
                load_edge(store, &checkpoint)?
            }
        };
        // Everything that the checkpoint covers is in its place, so what is staged now belongs to nothing.
        discard_staged(store)?;
        let bundles = BundleWriter::load(checkpoint.size(), |bundle| read_bundle(store, bundle))?;
        let base = frontier.clone();
        Ok((Self { store, lock, cell: Some(cell.clone()), base, frontier, bundles }, checkpoint, cell))
    }

    /// How many entries there are, with those pushed.
    pub(super) fn size(&self) -> u64 {
        self.frontier.size()
    }

    /// Adds an entry to the commit; bundles that it fills are staged at once, so memory does not grow with a batch.
    pub(super) fn push(&mut self, entry: &[u8]) -> Result<(), LedgerError> {
        let store = self.store;
        self.frontier.push::<LedgerError>(leaf_hash(entry), |_, _| Ok(()))?;
        self.bundles.push::<LedgerError>(entry, |bundle, mut bytes| Ok(store.put(&staged_name(bundle)?, &mut bytes)?))
    }

    /// Commits what was pushed: when this returns, it is durable. `sign` makes the checkpoint's note, and `remember` is
    /// given it before the next writer's turn.
    pub(super) fn commit(
        mut self,
        origin: &str,
        sign: impl FnOnce(&Checkpoint) -> Result<Note, LedgerError>,
        remember: impl FnOnce(&[u8]) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        let checkpoint = Checkpoint::new(origin, self.frontier.head())?;
        let note = sign(&checkpoint)?.encode();
        let partial = self.bundles.partial_bundle();
        if let Some((bundle, mut bytes)) = partial {
            self.store.put(&staged_name(bundle)?, &mut bytes)?;
        }
        if !self.lock.swap(self.cell.as_deref(), &note)? {
            discard_staged(self.store)?;
            return Err(LedgerError::Contention);
        }
        apply(self.store, &checkpoint, &note, self.base, partial)?;
        remember(&note)
    }
}

/// Makes cell and published checkpoint agree, whichever a crash, a copy or a `git pull` left behind.
fn settle_cell(
    store: &dyn Store,
    lock: &mut dyn Exclusive,
    log: &LogIdentity,
) -> Result<(Vec<u8>, Checkpoint), LedgerError> {
    let (published, published_note) = log.published(store)?;
    let Some(cell) = lock.cell()? else {
        lock.swap(None, &published_note)?;
        return Ok((published_note, published));
    };
    if cell == published_note {
        return Ok((cell, published));
    }
    let authoritative = log.checkpoint(&cell)?;
    if published.size() < authoritative.size() {
        // A writer died between the swap and publishing; its bundles are durable.
        let edge = load_edge(store, &published).unwrap_or_default();
        apply(store, &authoritative, &cell, edge, None).map_err(|error| lost(error, &cell, &published_note, log))?;
        return Ok((cell, authoritative));
    }
    // The folder was brought forward from elsewhere: only an extension of what was authoritative here is believed.
    let mut tiles = crate::merkle::TileReader::new(published.size(), |tile| read_tile(store, tile))?;
    if tiles.root_at(authoritative.size())? != authoritative.root() {
        let proof = tiles.consistency(authoritative.size(), published.size())?;
        let root = tiles.root_at(authoritative.size())?;
        return Err(super::fork::forked(log, &cell, &published_note, root, proof));
    }
    lock.swap(Some(&cell), &published_note)?;
    Ok((published_note, published))
}

/// Entries that the authoritative checkpoint covers are gone: the folder was put back to an older state.
fn lost(error: LedgerError, cell: &[u8], published: &[u8], log: &LogIdentity) -> LedgerError {
    if is_missing(&error) { super::fork::rolled_back(log, cell, published) } else { error }
}

/// Whether the bundle at the right edge is where readers look for it.
fn last_bundle_is_placed(store: &dyn Store, checkpoint: &Checkpoint) -> Result<bool, LedgerError> {
    let last = checkpoint.size().saturating_sub(1) / WIDTH;
    match TileName::in_tree(0, last, checkpoint.size()).and_then(TileName::bundle) {
        Some(bundle) => Ok(present(store, bundle, |name| store.size(name)).is_ok()),
        None => Ok(true),
    }
}

/// The edge of the log at `checkpoint`, whose tiles must add up to its root.
fn load_edge(store: &dyn Store, checkpoint: &Checkpoint) -> Result<Frontier, LedgerError> {
    let frontier = Frontier::load(checkpoint.size(), |tile| read_tile(store, tile))?;
    if frontier.root() == checkpoint.root() { Ok(frontier) } else { Err(LedgerError::Root { size: checkpoint.size() }) }
}

/// Publishes everything that an authoritative checkpoint implies: tiles from the bundles, the bundles at their places,
/// and the checkpoint last. `edge` is where to begin; the empty edge makes every tile again. `staged` is the last bundle, where
/// it was staged just now.
fn apply(
    store: &dyn Store,
    checkpoint: &Checkpoint,
    note: &[u8],
    mut edge: Frontier,
    staged: Option<(TileName, &[u8])>,
) -> Result<(), LedgerError> {
    let old = edge.size();
    if old == 0 {
        refuse_other_entries(store, checkpoint)?;
    }
    let mut finished = Vec::new();
    for index in old / WIDTH..checkpoint.size().div_ceil(WIDTH) {
        let Some(bundle) = bundle_at(checkpoint, index) else { break };
        let (staged, bytes) = match staged.filter(|(at_hand, _)| *at_hand == bundle) {
            Some((_, bytes)) => (Some(staged_name(bundle)?), Cow::Borrowed(bytes)),
            None => staged_or_published(store, bundle).map(|(staged, bytes)| (staged, Cow::Owned(bytes)))?,
        };
        let fresh = old.saturating_sub(index * WIDTH) as usize;
        for entry in Bundle::parse(&bytes, bundle.width())?.entries().skip(fresh) {
            edge.push::<LedgerError>(leaf_hash(entry), |tile, bytes| {
                let name = final_name(tile)?;
                store.publish(&name, bytes)?;
                finished.push(name);
                Ok(())
            })?;
        }
        if let Some(staged) = staged {
            let name = final_name(bundle)?;
            store.promote(&staged, &name)?;
            if bundle.is_full() {
                finished.push(name);
            }
        }
    }
    if edge.head() != checkpoint.head() {
        return Err(LedgerError::Root { size: checkpoint.size() });
    }
    for (tile, bytes) in edge.partial_tiles() {
        let name = final_name(tile)?;
        // The edge was read from the tiles of the size before: one that did not grow is there as it must be.
        if !partial_tiles(old).any(|older| older == tile) || store.size(&name)? != Some(bytes.len() as u64) {
            store.publish(&name, bytes)?;
        }
    }
    store.settle(&finished)?;
    store.publish(&checkpoint_name()?, note)?;
    prune(store, old, checkpoint.size())
}

fn bundle_at(checkpoint: &Checkpoint, index: u64) -> Option<TileName> {
    TileName::in_tree(0, index, checkpoint.size()).and_then(TileName::bundle)
}

/// A bundle's bytes, and its name in staging where it still waits there.
fn staged_or_published(store: &dyn Store, bundle: TileName) -> Result<(Option<Name>, Vec<u8>), LedgerError> {
    let staged = staged_name(bundle)?;
    match store.read(&staged, MAX_BUNDLE_BYTES)? {
        Some(bytes) => Ok((Some(staged), bytes)),
        None => Ok((None, read_bundle(store, bundle)?)),
    }
}

/// Refuses entries that do not add up to the checkpoint. Where every tile is made again, this comes first: tiles that are
/// still good must not give way to those of damaged entries.
fn refuse_other_entries(store: &dyn Store, checkpoint: &Checkpoint) -> Result<(), LedgerError> {
    let mut edge = Frontier::new();
    for index in 0..checkpoint.size().div_ceil(WIDTH) {
        let Some(bundle) = bundle_at(checkpoint, index) else { break };
        let (_, bytes) = staged_or_published(store, bundle)?;
        for entry in Bundle::parse(&bytes, bundle.width())?.entries() {
            edge.push::<LedgerError>(leaf_hash(entry), |_, _| Ok(()))?;
        }
    }
    if edge.head() == checkpoint.head() { Ok(()) } else { Err(LedgerError::Root { size: checkpoint.size() }) }
}

/// Removes superseded partial tiles. Those of this checkpoint and of the one before it stay; where the tile is full by
/// now, it serves in the place of all its partial versions.
fn prune(store: &dyn Store, previous: u64, size: u64) -> Result<(), LedgerError> {
    for tile in partial_tiles(previous) {
        let now = partial_tiles(size).find(|newer| newer.full() == tile.full());
        if now == Some(tile) {
            continue;
        }
        let kept = now.map(|newer| [tile.width(), newer.width()]);
        for shelf in [Some(tile), tile.bundle()].into_iter().flatten() {
            for name in store.list(&format!("{}.p", shelf.full()))? {
                let width = name.as_str().parse::<TileName>().map(TileName::width);
                if width.is_ok_and(|width| !kept.is_some_and(|kept| kept.contains(&width))) {
                    store.remove(&name)?;
                }
            }
        }
    }
    Ok(())
}

/// Removes staged bundles that no checkpoint covers.
fn discard_staged(store: &dyn Store) -> Result<(), LedgerError> {
    for name in store.list("staging")?.into_iter().filter(|name| name.as_str().starts_with(STAGED)) {
        store.remove(&name)?;
    }
    Ok(())
}

/// A reader found no usable published ledger: if a writer died, finish its commit, else say what the reader found.
pub(super) fn finish_interrupted(store: &dyn Store, found: LedgerError) -> Result<(), LedgerError> {
    if store.cell()?.is_none() {
        return Err(found);
    }
    let lock = store.lock()?;
    let Some(cell) = lock.cell()? else { return Err(found) };
    let checkpoint: Checkpoint = Note::parse(&cell)?.text().parse()?;
    let first = bundle_at(&checkpoint, 0).ok_or(LedgerError::NoTrust)?;
    let (_, bytes) = staged_or_published(store, first)?;
    let entries = Bundle::parse(&bytes, first.width())?;
    let log = LogIdentity::of_genesis(entries.entries().next().ok_or(LedgerError::NoTrust)?)?;
    let checkpoint = log.checkpoint(&cell)?;
    apply(store, &checkpoint, &cell, Frontier::new(), None)
}
