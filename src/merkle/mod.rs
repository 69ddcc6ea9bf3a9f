//! The append-only Merkle log: RFC 6962 hashing and proofs, C2SP tiles, signed notes and checkpoints.
//!
//! Everything is computed from bytes handed in. Where tiles are read, the caller lends a source, and where tiles are
//! made, a sink; both fail with the caller's own error type, which must be able to hold a [`MerkleError`].
//!
//! Keys are 32 raw bytes here: how Ed25519 is signed and checked is an argument, so that no key crate is named.

mod bundle;
mod checkpoint;
mod frontier;
mod note;
mod proof;
mod proof_file;
mod reader;
mod tile;
mod tree;

pub use bundle::{Bundle, BundleWriter, MAX_ENTRY_BYTES};
pub use checkpoint::Checkpoint;
pub use frontier::Frontier;
pub use note::{MAX_NOTE_BYTES, MAX_NOTE_SIGNATURES, Note, NoteSignature, VerifierKey};
pub use proof::{root_from_inclusion, verify_consistency, verify_inclusion};
pub use proof_file::{ConsistencyProof, InclusionProof, MAX_PROOF_BYTES};
pub use reader::TileReader;
pub use tile::{TILE_WIDTH, TileName, partial_tiles, tiles_between};
pub use tree::{MAX_TREE_SIZE, TreeHead, empty_root, leaf_hash, node_hash, root_of};

use crate::object::Sha256;

/// Why bytes are not what the log's formats ask for, or why a proof does not prove.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MerkleError {
    /// Not the path of a tile or entry bundle.
    #[error("not a tile path: `{text}`: {reason}")]
    TileName {
        /// What was read, cut to 80 characters.
        text: String,
        /// The rule it breaks.
        reason: &'static str,
    },
    /// A tile whose bytes are not `width` hashes.
    #[error("tile {name} has {bytes} bytes instead of {expected}")]
    TileLength {
        /// The tile asked for.
        name: TileName,
        /// How many bytes it has.
        bytes: usize,
        /// How many it must have: 32 times its width.
        expected: usize,
    },
    /// An entry bundle that is cut short, or goes on after its last entry.
    #[error("entry bundle of width {width}: {reason} (entry {entry}, byte {offset})")]
    Bundle {
        /// How many entries it must hold.
        width: u16,
        /// The entry where reading stopped, from 0.
        entry: u16,
        /// Where in the bundle that is, in bytes.
        offset: usize,
        /// The rule it breaks.
        reason: &'static str,
    },
    /// An entry too long for its length prefix of two bytes.
    #[error("an entry has {bytes} bytes, at most {max} fit", max = MAX_ENTRY_BYTES)]
    EntryTooLong {
        /// Its length in bytes.
        bytes: usize,
    },
    /// A tree larger than [`MAX_TREE_SIZE`].
    #[error("a tree of {size} leaves is larger than {max}", max = MAX_TREE_SIZE)]
    TreeTooLarge {
        /// The size asked for, in leaves.
        size: u64,
    },
    /// A leaf that the tree does not have.
    #[error("leaf {index} is not in a tree of size {size}")]
    LeafOutsideTree {
        /// The leaf, from 0.
        index: u64,
        /// How many leaves there are.
        size: u64,
    },
    /// A tree that is larger than the one it is said to be the beginning of.
    #[error("a tree of size {older} cannot be the beginning of a tree of size {newer}")]
    TreeShrank {
        /// The size of the tree that was there first.
        older: u64,
        /// The size of the tree said to contain it.
        newer: u64,
    },
    /// Nothing is proven about the empty tree: every tree begins with it.
    #[error("a consistency proof from the empty tree proves nothing")]
    EmptyTree,
    /// A proof with more or fewer hashes than index and sizes ask for.
    #[error("the proof has {hashes} hashes instead of {expected}")]
    ProofLength {
        /// How many hashes it has.
        hashes: usize,
        /// How many it must have.
        expected: usize,
    },
    /// The proof leads to another root.
    #[error("the proof leads to root {computed} instead of {expected}")]
    RootMismatch {
        /// What the proof's hashes add up to.
        computed: Sha256,
        /// What was to be proven.
        expected: Sha256,
    },
    /// Bytes that are not a proof as a file has it.
    #[error("not a proof file: {reason}")]
    ProofFile {
        /// The rule it breaks.
        reason: &'static str,
    },
    /// A consistency proof from another size than the one that was asked about.
    #[error("the proof starts from {proven} entries and not from {asked}")]
    OtherSize {
        /// The size that it starts from.
        proven: u64,
        /// The size of the older checkpoint at hand.
        asked: u64,
    },
    /// Bytes that are not a signed note.
    #[error("not a signed note: {reason}")]
    Note {
        /// The rule it breaks.
        reason: &'static str,
    },
    /// Text that is not the key of a note's signer.
    #[error("not a verifier key: {reason}")]
    VerifierKey {
        /// The rule it breaks.
        reason: &'static str,
    },
    /// A signature in the name of a known key that this key did not make.
    #[error("bad signature by {name}+{key_hash:08x}")]
    BadSignature {
        /// The key's name.
        name: String,
        /// The key's hash.
        key_hash: u32,
    },
    /// A note that no known key has signed.
    #[error("the note carries no signature of a known key")]
    NoKnownSignature,
    /// A note's text that is not a checkpoint.
    #[error("not a checkpoint: {reason}")]
    Checkpoint {
        /// The rule it breaks.
        reason: &'static str,
    },
    /// A checkpoint of another log.
    #[error("the checkpoint is of log `{origin}` instead of `{expected}`")]
    OtherLog {
        /// The origin that it names.
        origin: String,
        /// The origin asked for.
        expected: String,
    },
}
