//! Entry bundles (C2SP tlog-tiles): up to 256 entries, each behind its length in two bytes, big-endian.

use super::MerkleError;
use super::tile::{TILE_WIDTH, TileName, partial_tile};
use super::tree::MAX_TREE_SIZE;

/// The longest entry, in bytes.
pub const MAX_ENTRY_BYTES: usize = u16::MAX as usize;

const LENGTH_BYTES: usize = 2;

/// A bundle whose every entry is known to be whole, borrowed from the bytes it was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bundle<'a> {
    bytes: &'a [u8],
    width: u16,
}

impl<'a> Bundle<'a> {
    /// Reads a bundle of exactly `width` entries, looking at their lengths only.
    ///
    /// # Errors
    /// [`MerkleError::Bundle`] where an entry is cut short or bytes are left over.
    pub fn parse(bytes: &'a [u8], width: u16) -> Result<Self, MerkleError> {
        let mut rest = bytes;
        let refused =
            |entry, rest: &[u8], reason| MerkleError::Bundle { width, entry, offset: bytes.len() - rest.len(), reason };
        for entry in 0..width {
            (_, rest) = split_entry(rest).ok_or_else(|| refused(entry, rest, "it ends within an entry"))?;
        }
        if !rest.is_empty() {
            return Err(refused(width, rest, "bytes are left over after the last entry"));
        }
        Ok(Self { bytes, width })
    }

    /// How many entries there are.
    pub fn width(&self) -> u16 {
        self.width
    }

    /// The entries in order, not copied.
    pub fn entries(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut rest = self.bytes;
        std::iter::from_fn(move || {
            let (entry, after) = split_entry(rest)?;
            rest = after;
            Some(entry)
        })
    }
}

fn split_entry(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<LENGTH_BYTES>()?;
    rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))
}

/// The bundle at the right edge of a growing log: appends entries, and hands over every bundle that it fills.
///
/// Memory is at most one bundle, however many entries are pushed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BundleWriter {
    size: u64,
    bytes: Vec<u8>,
}

impl BundleWriter {
    /// For an empty log.
    pub fn new() -> Self {
        Self::default()
    }

    /// For a log of `size` entries, whose partial bundle, where there is one, is read from `source`.
    ///
    /// # Errors
    /// Whatever `source` fails with; [`MerkleError::Bundle`] and [`MerkleError::TreeTooLarge`].
    pub fn load<E: From<MerkleError>>(
        size: u64,
        mut source: impl FnMut(TileName) -> Result<Vec<u8>, E>,
    ) -> Result<Self, E> {
        if size > MAX_TREE_SIZE {
            return Err(MerkleError::TreeTooLarge { size }.into());
        }
        let mut bytes = Vec::new();
        if let Some(name) = partial_tile(0, size).and_then(TileName::bundle) {
            bytes = source(name)?;
            Bundle::parse(&bytes, name.width())?;
        }
        Ok(Self { size, bytes })
    }

    /// Appends an entry; where that fills the bundle, hands it to `sink`.
    ///
    /// # Errors
    /// [`MerkleError::EntryTooLong`] and [`MerkleError::TreeTooLarge`], with nothing appended; whatever `sink` fails
    /// with, after which the writer is of no use.
    pub fn push<E: From<MerkleError>>(
        &mut self,
        entry: &[u8],
        mut sink: impl FnMut(TileName, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let length = u16::try_from(entry.len()).map_err(|_| MerkleError::EntryTooLong { bytes: entry.len() })?;
        if self.size >= MAX_TREE_SIZE {
            return Err(MerkleError::TreeTooLarge { size: self.size.saturating_add(1) }.into());
        }
        self.bytes.extend_from_slice(&length.to_be_bytes());
        self.bytes.extend_from_slice(entry);
        self.size += 1;
        if self.size.is_multiple_of(u64::from(TILE_WIDTH)) {
            sink(TileName::entries(self.size / u64::from(TILE_WIDTH) - 1, TILE_WIDTH)?, &self.bytes)?;
            self.bytes.clear();
        }
        Ok(())
    }

    /// The number of entries in the whole log.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The bundle begun but not filled, with its bytes; `None` where the log ends on a full one.
    pub fn partial_bundle(&self) -> Option<(TileName, &[u8])> {
        Some((partial_tile(0, self.size)?.bundle()?, &self.bytes))
    }
}
