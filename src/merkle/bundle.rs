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

#[cfg(test)]
mod tests {
    use super::*;

    fn none_full(name: TileName, _: &[u8]) -> Result<(), MerkleError> {
        panic!("{name} is not full")
    }

    #[test]
    fn entries_stand_behind_their_lengths() {
        let mut writer = BundleWriter::new();
        let long = vec![7; MAX_ENTRY_BYTES];
        for entry in [b"one".as_slice(), b"", &long] {
            writer.push(entry, none_full).unwrap();
        }
        let (name, bytes) = writer.partial_bundle().unwrap();
        assert_eq!(name.to_string(), "tile/entries/000.p/3");
        assert_eq!(bytes[..9], *b"\x00\x03one\x00\x00\xff\xff");
        let bundle = Bundle::parse(bytes, 3).unwrap();
        assert_eq!(bundle.width(), 3);
        assert_eq!(bundle.entries().collect::<Vec<_>>(), [b"one".as_slice(), b"", &long]);
    }

    #[test]
    fn an_entry_too_long_is_refused_and_nothing_appended() {
        let mut writer = BundleWriter::new();
        let long = vec![0; MAX_ENTRY_BYTES + 1];
        assert_eq!(writer.push(&long, none_full), Err(MerkleError::EntryTooLong { bytes: 65_536 }));
        assert_eq!(writer, BundleWriter::new());
        assert_eq!(writer.partial_bundle(), None);
    }

    #[test]
    fn the_256th_entry_fills_the_bundle() {
        let mut filled = Vec::new();
        let mut writer = BundleWriter::new();
        for entry in 0..=255u8 {
            let sink = |name: TileName, bytes: &[u8]| {
                filled.push((name.to_string(), bytes.len()));
                Ok::<_, MerkleError>(())
            };
            writer.push(&[entry], sink).unwrap();
        }
        assert_eq!(filled, [("tile/entries/000".to_owned(), 256 * 3)]);
        assert_eq!((writer.size(), writer.partial_bundle()), (256, None));
        writer.push(b"more", none_full).unwrap();
        assert_eq!(
            writer.partial_bundle(),
            Some(("tile/entries/001.p/1".parse().unwrap(), b"\x00\x04more".as_slice()))
        );
    }

    #[test]
    fn cut_and_overlong_bundles_are_refused() {
        let cut = "it ends within an entry";
        let over = "bytes are left over after the last entry";
        let whole = b"\x00\x03one\x00\x00\x00\x02no";
        assert!(Bundle::parse(whole, 3).is_ok());
        for length in 0..whole.len() {
            let refused = Bundle::parse(&whole[..length], 3).unwrap_err();
            assert!(matches!(refused, MerkleError::Bundle { width: 3, reason, .. } if reason == cut), "{refused}");
        }
        for (bytes, width, entry, offset, reason) in [
            (whole.as_slice(), 2, 2, 7, over),
            (whole, 0, 0, 0, over),
            (whole, 4, 3, 11, cut),
            (b"\x00", 1, 0, 0, cut),
            (b"\xff\xffx", 1, 0, 0, cut),
            (b"\x00\x00\x00", 1, 1, 2, over),
        ] {
            assert_eq!(Bundle::parse(bytes, width), Err(MerkleError::Bundle { width, entry, offset, reason }));
        }
        let stored = |_| Ok::<_, MerkleError>(whole.to_vec());
        assert_eq!(BundleWriter::load(3, stored).unwrap().size(), 3);
        assert!(BundleWriter::load(2, stored).is_err());
        assert!(BundleWriter::load(4, stored).is_err());
    }
}
