//! Proofs and roots out of stored tiles: reads only the tiles that an answer needs, each once.

use std::collections::BTreeMap;

use super::MerkleError;
use super::proof::climb;
use super::tile::{TILE_HEIGHT, TILE_WIDTH, TileName, hashes_in};
use super::tree::{MAX_TREE_SIZE, join, root_of};
use crate::object::Sha256;

/// How many tiles are kept at hand (8 KiB each); one proof needs at most two for each of seven levels.
const MAX_HELD_TILES: usize = 64;

/// A tree of `size` leaves that is read tile by tile from a source.
///
/// Answers about any smaller tree are given from the tiles of this one, so partial tiles of older sizes need not be
/// kept. What is read is not checked against a root: an answer from tampered tiles is a root or proof that does not
/// verify.
#[derive(Debug)]
pub struct TileReader<F> {
    size: u64,
    source: F,
    held: BTreeMap<TileName, Vec<Sha256>>,
}

impl<F> TileReader<F> {
    /// Reads the tiles of a tree of `size` leaves, each as wide as it is in that tree, from `source`.
    ///
    /// # Errors
    /// [`MerkleError::TreeTooLarge`].
    pub fn new(size: u64, source: F) -> Result<Self, MerkleError> {
        if size > MAX_TREE_SIZE {
            return Err(MerkleError::TreeTooLarge { size });
        }
        Ok(Self { size, source, held: BTreeMap::new() })
    }

    /// The number of leaves of the tree whose tiles are read.
    pub fn size(&self) -> u64 {
        self.size
    }
}

impl<F, E> TileReader<F>
where
    F: FnMut(TileName) -> Result<Vec<u8>, E>,
    E: From<MerkleError>,
{
    /// The hash of leaf `index`, from 0.
    ///
    /// # Errors
    /// Whatever the source fails with; [`MerkleError::LeafOutsideTree`] and [`MerkleError::TileLength`].
    pub fn leaf(&mut self, index: u64) -> Result<Sha256, E> {
        self.subtree(0, index)
    }

    /// The root that the tree had when it was `size` leaves large.
    ///
    /// # Errors
    /// Whatever the source fails with; [`MerkleError::TreeShrank`] where the tree is not that large,
    /// [`MerkleError::TileLength`].
    pub fn root_at(&mut self, size: u64) -> Result<Sha256, E> {
        self.expect_within(size)?;
        self.range(0, size)
    }

    /// The proof that leaf `index` is in the tree of `size` leaves, nearest sibling first: PATH of RFC 6962
    /// section 2.1.1.
    ///
    /// # Errors
    /// Whatever the source fails with; [`MerkleError::LeafOutsideTree`], [`MerkleError::TreeShrank`] where the tree is
    /// not `size` leaves large, [`MerkleError::TileLength`].
    pub fn inclusion(&mut self, index: u64, size: u64) -> Result<Vec<Sha256>, E> {
        self.expect_within(size)?;
        if index >= size {
            return Err(MerkleError::LeafOutsideTree { index, size }.into());
        }
        self.siblings(index, size, 0)
    }

    /// The proof that the tree of `newer` leaves begins with the tree of `older` leaves: PROOF of RFC 6962
    /// section 2.1.2. Empty where both are the same.
    ///
    /// # Errors
    /// Whatever the source fails with; [`MerkleError::EmptyTree`] where `older` is 0, [`MerkleError::TreeShrank`] where
    /// `older` is over `newer` or the tree is not that large, [`MerkleError::TileLength`].
    pub fn consistency(&mut self, older: u64, newer: u64) -> Result<Vec<Sha256>, E> {
        self.expect_within(newer)?;
        if older > newer {
            return Err(MerkleError::TreeShrank { older, newer }.into());
        }
        if older == 0 {
            return Err(MerkleError::EmptyTree.into());
        }
        if older == newer {
            return Ok(Vec::new());
        }
        // The largest perfect subtree that ends where the older tree ends; a whole older tree is known by its root.
        let height = older.trailing_zeros();
        let mut proof = Vec::new();
        if !older.is_power_of_two() {
            proof.push(self.subtree(height, (older - 1) >> height)?);
        }
        proof.extend(self.siblings(older - 1, newer, height)?);
        Ok(proof)
    }

    fn expect_within(&self, size: u64) -> Result<(), MerkleError> {
        if size <= self.size { Ok(()) } else { Err(MerkleError::TreeShrank { older: size, newer: self.size }) }
    }

    fn siblings(&mut self, index: u64, size: u64, height: u32) -> Result<Vec<Sha256>, E> {
        climb(index, size, height)
            .map(|step| {
                let start = step.sibling << step.height;
                self.range(start, size.min(start + (1 << step.height)))
            })
            .collect()
    }

    /// The root over the leaves from `start` up to `end`, where `start` is a multiple of every subtree below it.
    fn range(&mut self, start: u64, end: u64) -> Result<Sha256, E> {
        let mut peaks = Vec::new();
        let mut at = start;
        while at < end {
            let height = (end - at).ilog2();
            peaks.push(self.subtree(height, at >> height)?);
            at += 1 << height;
        }
        Ok(join(&peaks).unwrap_or_else(super::empty_root))
    }

    /// The root of the `index`-th perfect subtree of this height.
    fn subtree(&mut self, height: u32, index: u64) -> Result<Sha256, E> {
        let (level, above) = (height / TILE_HEIGHT, height % TILE_HEIGHT);
        let first = index << above;
        let outside = MerkleError::LeafOutsideTree { index: first << (level * TILE_HEIGHT), size: self.size };
        let place = first / u64::from(TILE_WIDTH);
        let name = u8::try_from(level).ok().and_then(|level| TileName::in_tree(level, place, self.size));
        let Some(name) = name else { return Err(outside.into()) };
        let offset = (first % u64::from(TILE_WIDTH)) as usize;
        let row = self.tile(name)?.get(offset..offset + (1 << above)).map(root_of);
        row.ok_or_else(|| outside.into())
    }

    fn tile(&mut self, name: TileName) -> Result<&[Sha256], E> {
        if self.held.len() >= MAX_HELD_TILES && !self.held.contains_key(&name) {
            self.held.clear();
        }
        match self.held.entry(name) {
            std::collections::btree_map::Entry::Occupied(held) => Ok(held.into_mut()),
            std::collections::btree_map::Entry::Vacant(place) => {
                let bytes = name.read(&mut self.source)?;
                Ok(place.insert(hashes_in(&bytes)))
            }
        }
    }
}
