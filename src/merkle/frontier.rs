//! The right edge of a growing tree: all that is needed to append to a log of any size and to know its root.
//!
//! One mechanism serves writers and auditors. A writer loads the edge of the tree it extends; an auditor starts from
//! the empty tree, pushes every leaf, and compares the tiles that come out with those that are stored.

use super::MerkleError;
use super::tile::{TILE_HEIGHT, TileName, hashes_in, levels, newest_tile, partial_tile};
use super::tree::{MAX_TREE_SIZE, TreeHead, empty_root, join, node_hash, root_of};
use crate::object::Sha256;

/// A tree of `size` leaves by its right edge: the partial tile of every level, and the perfect subtrees it is made of.
///
/// Pushing a leaf costs two hashes on average and at most 53; memory is at most one tile for each of seven levels,
/// however many leaves are pushed. Leaf hashes may be computed elsewhere, in parallel; only pushing has an order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frontier {
    size: u64,
    /// The bytes of the tile begun on each level, lowest first; empty where none is.
    tiles: Vec<Vec<u8>>,
    /// The roots of the perfect subtrees, largest first: one for each bit set in `size`.
    peaks: Vec<Sha256>,
}

impl Frontier {
    /// The empty tree.
    pub fn new() -> Self {
        Self::default()
    }

    /// The edge of a tree of `size` leaves, from its partial tiles: at most one is read for each level.
    ///
    /// Nothing here says that the tiles are genuine: compare [`root`](Self::root) with the checkpoint's.
    ///
    /// # Errors
    /// Whatever `source` fails with; [`MerkleError::TileLength`] and [`MerkleError::TreeTooLarge`].
    pub fn load<E: From<MerkleError>>(
        size: u64,
        mut source: impl FnMut(TileName) -> Result<Vec<u8>, E>,
    ) -> Result<Self, E> {
        if size > MAX_TREE_SIZE {
            return Err(MerkleError::TreeTooLarge { size }.into());
        }
        let tile = |level| partial_tile(level, size).map_or(Ok(Vec::new()), |name| name.read(&mut source));
        let tiles = (0..levels(size)).map(tile).collect::<Result<Vec<_>, E>>()?;
        let peaks = tiles.iter().rev().flat_map(|tile| perfect_subtrees(&hashes_in(tile))).collect();
        Ok(Self { size, tiles, peaks })
    }

    /// Appends a leaf by its hash, handing every tile that it fills to `sink`, lowest level first.
    ///
    /// # Errors
    /// Whatever `sink` fails with, after which the frontier is of no use; [`MerkleError::TreeTooLarge`].
    pub fn push<E: From<MerkleError>>(
        &mut self,
        leaf: Sha256,
        mut sink: impl FnMut(TileName, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.size >= MAX_TREE_SIZE {
            return Err(MerkleError::TreeTooLarge { size: self.size.saturating_add(1) }.into());
        }
        let before = self.size;
        self.size += 1;
        self.shelve(0, leaf, &mut sink)?;
        let (mut hash, mut level) = (leaf, 0);
        for height in 1..=before.trailing_ones() {
            let Some(left) = self.peaks.pop() else { break };
            hash = node_hash(&left, &hash);
            if height % TILE_HEIGHT == 0 {
                level += 1;
                self.shelve(level, hash, &mut sink)?;
            }
        }
        self.peaks.push(hash);
        Ok(())
    }

    /// Appends to the tile begun on `level` the hash of a subtree that has just become perfect.
    fn shelve<E>(
        &mut self,
        level: u8,
        hash: Sha256,
        sink: &mut impl FnMut(TileName, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        if usize::from(level) == self.tiles.len() {
            self.tiles.push(Vec::new());
        }
        let Some(tile) = self.tiles.get_mut(usize::from(level)) else { return Ok(()) };
        tile.extend_from_slice(hash.as_bytes());
        match newest_tile(level, self.size) {
            Some(name) if name.is_full() => {
                sink(name, tile)?;
                tile.clear();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The number of leaves.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The root over all leaves pushed so far, in at most 52 hashes.
    pub fn root(&self) -> Sha256 {
        join(&self.peaks).unwrap_or_else(empty_root)
    }

    /// Size and root together.
    pub fn head(&self) -> TreeHead {
        TreeHead { size: self.size, root: self.root() }
    }

    /// The partial tiles of the tree as it is now, lowest level first, with their bytes.
    ///
    /// Together with the full tiles handed to the sinks, these are [`tiles_between`](super::tiles_between) the size
    /// loaded and the size now, and those of them that the tree had before, unchanged.
    pub fn partial_tiles(&self) -> impl Iterator<Item = (TileName, &[u8])> {
        let named = |(tile, level)| Some((partial_tile(level, self.size)?, Vec::as_slice(tile)));
        self.tiles.iter().zip(0..).filter_map(named)
    }
}

/// The roots of the perfect subtrees over a row of up to 255 hashes, largest first.
fn perfect_subtrees(mut row: &[Sha256]) -> Vec<Sha256> {
    let mut roots = Vec::new();
    while !row.is_empty() {
        let (subtree, rest) = row.split_at(1 << row.len().ilog2());
        roots.push(root_of(subtree));
        row = rest;
    }
    roots
}
