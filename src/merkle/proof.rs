//! Checking proofs (RFC 9162 sections 2.1.3.2 and 2.1.4.2; the same proofs as RFC 6962 section 2.1).
//!
//! A proof must have exactly the hashes that index and sizes ask for. Its length is looked at before anything is hashed.

use super::MerkleError;
use super::tree::{TreeHead, node_hash};
use crate::object::Sha256;

/// Checks that `leaf` is the `index`-th leaf hash (from 0) of the tree with this head.
///
/// # Errors
/// [`MerkleError::LeafOutsideTree`], [`MerkleError::ProofLength`] or [`MerkleError::RootMismatch`].
pub fn verify_inclusion(leaf: &Sha256, index: u64, proof: &[Sha256], head: &TreeHead) -> Result<(), MerkleError> {
    matches(root_from_inclusion(leaf, index, proof, head.size)?, head.root)
}

/// The root that a tree of `size` leaves has if `leaf` is its `index`-th leaf hash and `proof` is genuine.
///
/// # Errors
/// [`MerkleError::LeafOutsideTree`] or [`MerkleError::ProofLength`].
pub fn root_from_inclusion(leaf: &Sha256, index: u64, proof: &[Sha256], size: u64) -> Result<Sha256, MerkleError> {
    if index >= size {
        return Err(MerkleError::LeafOutsideTree { index, size });
    }
    expect_length(proof.len(), climb(index, size, 0).count())?;
    Ok(up_to_root(*leaf, climb(index, size, 0).zip(proof)))
}

/// Checks that the tree with head `newer` begins with all leaves of the tree with head `older`.
///
/// # Errors
/// [`MerkleError::TreeShrank`], [`MerkleError::EmptyTree`] (from no leaves there is nothing to prove),
/// [`MerkleError::ProofLength`] or [`MerkleError::RootMismatch`].
pub fn verify_consistency(older: &TreeHead, newer: &TreeHead, proof: &[Sha256]) -> Result<(), MerkleError> {
    if older.size > newer.size {
        return Err(MerkleError::TreeShrank { older: older.size, newer: newer.size });
    }
    if older.size == 0 {
        return Err(MerkleError::EmptyTree);
    }
    if older.size == newer.size {
        expect_length(proof.len(), 0)?;
        return matches(older.root, newer.root);
    }
    let height = older.size.trailing_zeros();
    let path = || climb(older.size - 1, newer.size, height);
    let (seed, hashes) = match proof.split_first() {
        _ if older.size.is_power_of_two() => (older.root, proof),
        Some((seed, hashes)) => (*seed, hashes),
        None => return Err(MerkleError::ProofLength { hashes: 0, expected: path().count() + 1 }),
    };
    expect_length(proof.len(), path().count() + proof.len() - hashes.len())?;
    // What lies to the right of the older tree's last leaf is what was appended since.
    let older_only = path().zip(hashes).filter(|(step, _)| step.sibling_is_left());
    matches(up_to_root(seed, older_only), older.root)?;
    matches(up_to_root(seed, path().zip(hashes)), newer.root)
}

/// One step from a node towards the root, past the sibling that it is hashed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    /// The height of both nodes above the leaves.
    pub(super) height: u32,
    /// The sibling's place in the row of nodes of that height, from 0.
    pub(super) sibling: u64,
}

impl Step {
    fn sibling_is_left(self) -> bool {
        self.sibling.is_multiple_of(2)
    }
}

/// The way from leaf `index`'s ancestor at `height` to the root of a tree of `size` leaves. Where a node has no sibling
/// it is itself the parent, without a step.
pub(super) fn climb(index: u64, size: u64, height: u32) -> impl Iterator<Item = Step> {
    let last = size.saturating_sub(1);
    (height..u64::BITS).take_while(move |height| last >> height > 0).filter_map(move |height| {
        let sibling = index >> height ^ 1;
        (sibling <= last >> height).then_some(Step { height, sibling })
    })
}

fn up_to_root<'a>(seed: Sha256, steps: impl Iterator<Item = (Step, &'a Sha256)>) -> Sha256 {
    steps.fold(
        seed,
        |hash, (step, sibling)| {
            if step.sibling_is_left() { node_hash(sibling, &hash) } else { node_hash(&hash, sibling) }
        },
    )
}

fn expect_length(hashes: usize, expected: usize) -> Result<(), MerkleError> {
    if hashes == expected { Ok(()) } else { Err(MerkleError::ProofLength { hashes, expected }) }
}

fn matches(computed: Sha256, expected: Sha256) -> Result<(), MerkleError> {
    if computed == expected { Ok(()) } else { Err(MerkleError::RootMismatch { computed, expected }) }
}
