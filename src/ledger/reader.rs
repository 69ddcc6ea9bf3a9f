//! Reading many receipts one by one: neighbours are proven together.

use super::snapshot::read_bundle;
use super::{LedgerError, Snapshot, receipt_at};
use crate::merkle::{Bundle, TILE_WIDTH, leaf_hash, verify_inclusion};
use crate::object::Sha256;
use crate::receipt::Receipt;

const WIDTH: u64 = TILE_WIDTH as u64;

/// Reads entries of a snapshot, each proven to be in the log, and keeps the last bundle at hand: 16 MiB at most.
pub struct Reader<'a> {
    snapshot: Snapshot<'a>,
    held: Option<Held>,
}

/// One bundle, and the leaf hashes that its tile has under the checkpoint's root.
struct Held {
    bundle: u64,
    bytes: Vec<u8>,
    width: u16,
    leaves: Vec<Sha256>,
}

impl<'a> Reader<'a> {
    /// Reads this snapshot.
    pub fn new(snapshot: Snapshot<'a>) -> Self {
        Self { snapshot, held: None }
    }

    /// What is read.
    pub fn snapshot(&self) -> &Snapshot<'a> {
        &self.snapshot
    }

    /// The exact bytes of one entry, proven to be in the log.
    pub fn entry(&mut self, index: u64) -> Result<Vec<u8>, LedgerError> {
        let (bundle, offset) = (index / WIDTH, (index % WIDTH) as usize);
        let held = match self.held.take().filter(|held| held.bundle == bundle) {
            Some(held) => held,
            None => self.load(bundle)?,
        };
        let held = self.held.insert(held);
        let missing = || LedgerError::Missing { name: format!("entry {index}") };
        let entry = Bundle::parse(&held.bytes, held.width)?.entries().nth(offset).ok_or_else(missing)?;
        if held.leaves.get(offset) != Some(&leaf_hash(entry)) {
            return Err(LedgerError::Root { size: self.snapshot.size() });
        }
        Ok(entry.to_vec())
    }

    /// One receipt, proven to be in the log. Its signature is not checked here.
    pub fn receipt(&mut self, index: u64) -> Result<Receipt, LedgerError> {
        receipt_at(index, &self.entry(index)?)
    }

    /// Reads a bundle and its tile. The proof of one leaf is made of all the other leaves of the same tile, so that it
    /// leads to the root says that all of them are right.
    fn load(&self, bundle: u64) -> Result<Held, LedgerError> {
        let name = self.snapshot.bundle_name(bundle)?;
        let bytes = read_bundle(self.snapshot.store(), name)?;
        // A reader of tiles of its own: it holds more tiles than one proof asks for, so none is read twice.
        let mut tiles = self.snapshot.tiles()?;
        let first = bundle * WIDTH;
        let leaves = (first..first + u64::from(name.width())).map(|index| tiles.leaf(index));
        let leaves: Vec<Sha256> = leaves.collect::<Result<_, LedgerError>>()?;
        let proof = tiles.inclusion(first, self.snapshot.size())?;
        let leaf = leaves.first().ok_or_else(|| LedgerError::Missing { name: format!("entry {first}") })?;
        verify_inclusion(leaf, first, &proof, &self.snapshot.checkpoint().head())?;
        Ok(Held { bundle, bytes, width: name.width(), leaves })
    }
}
