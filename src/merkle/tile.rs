//! Tiles of 256 hashes and their paths (C2SP tlog-tiles): which tiles a tree of a given size consists of.
//!
//! A tile never changes: the same path always means the same bytes, in every later tree of the same log.

use std::fmt;
use std::str::FromStr;

use super::MerkleError;
use crate::object::Sha256;

/// How many hashes a full tile has, or how many entries a full bundle.
pub const TILE_WIDTH: u16 = 256;

/// The height of a tile: how many levels of the binary tree one tile level spans.
pub(super) const TILE_HEIGHT: u32 = 8;

const HASH_BYTES: usize = 32;
const MAX_LEVEL: u8 = 63;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Shelf {
    Hashes(u8),
    Entries,
}

/// The coordinates of a tile or of an entry bundle, and its path: `tile/<L>/<N>[.p/<W>]` or `tile/entries/<N>[.p/<W>]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TileName {
    shelf: Shelf,
    index: u64,
    width: u16,
}

impl TileName {
    /// The `index`-th tile of hashes at `level` (0 to 63), `width` (1 to 256) hashes wide.
    ///
    /// # Errors
    /// [`MerkleError::TileName`] where level or width are out of range.
    pub fn hashes(level: u8, index: u64, width: u16) -> Result<Self, MerkleError> {
        let name = Self { shelf: Shelf::Hashes(level), index, width };
        if level > MAX_LEVEL {
            return Err(refused(&name.to_string(), "the level is over 63"));
        }
        name.with_width(width)
    }

    /// The `index`-th bundle of entries, `width` (1 to 256) entries long.
    ///
    /// # Errors
    /// [`MerkleError::TileName`] where the width is out of range.
    pub fn entries(index: u64, width: u16) -> Result<Self, MerkleError> {
        Self { shelf: Shelf::Entries, index, width }.with_width(width)
    }

    fn with_width(self, width: u16) -> Result<Self, MerkleError> {
        if (1..=TILE_WIDTH).contains(&width) {
            return Ok(Self { width, ..self });
        }
        Err(refused(&self.to_string(), "the width is not 1 to 256"))
    }

    /// The tile at `level` and `index` in a tree of `size` leaves, as wide as it is there; `None` where it has no hash.
    pub fn in_tree(level: u8, index: u64, size: u64) -> Option<Self> {
        let hashes = size.checked_shr(TILE_HEIGHT * u32::from(level)).unwrap_or(0);
        let before = index.checked_mul(u64::from(TILE_WIDTH))?;
        let width = hashes.saturating_sub(before).min(u64::from(TILE_WIDTH));
        let width = u16::try_from(width).ok().filter(|width| *width > 0)?;
        Some(Self { shelf: Shelf::Hashes(level), index, width })
    }

    /// The entry bundle whose entries this tile of level 0 has the hashes of; `None` for any other tile.
    pub fn bundle(self) -> Option<Self> {
        (self.shelf == Shelf::Hashes(0)).then_some(Self { shelf: Shelf::Entries, ..self })
    }

    /// The full tile or bundle at the same place: what replaces a partial one once it has filled.
    pub fn full(self) -> Self {
        Self { width: TILE_WIDTH, ..self }
    }

    /// The level of a tile of hashes, 0 for the leaves; `None` for an entry bundle.
    pub fn level(self) -> Option<u8> {
        match self.shelf {
            Shelf::Hashes(level) => Some(level),
            Shelf::Entries => None,
        }
    }

    /// Which tile of its level, from 0.
    pub fn index(self) -> u64 {
        self.index
    }

    /// How many hashes or entries, 1 to 256.
    pub fn width(self) -> u16 {
        self.width
    }

    /// Whether it is 256 wide.
    pub fn is_full(self) -> bool {
        self.width == TILE_WIDTH
    }

    /// Asks `source` for this tile of hashes and refuses it unless it is exactly as long as it must be.
    pub(super) fn read<E: From<MerkleError>>(
        self,
        source: &mut impl FnMut(TileName) -> Result<Vec<u8>, E>,
    ) -> Result<Vec<u8>, E> {
        let bytes = source(self)?;
        let expected = HASH_BYTES * usize::from(self.width);
        if bytes.len() != expected {
            return Err(MerkleError::TileLength { name: self, bytes: bytes.len(), expected }.into());
        }
        Ok(bytes)
    }
}

/// The hashes that a tile's bytes hold.
pub(super) fn hashes_in(bytes: &[u8]) -> Vec<Sha256> {
    bytes.as_chunks::<HASH_BYTES>().0.iter().map(|hash| Sha256::from_bytes(*hash)).collect()
}

/// How many tile levels a tree of `size` leaves has: 0 for the empty tree.
pub(super) fn levels(size: u64) -> u8 {
    (0..8).take_while(|level| size >> (TILE_HEIGHT * level) > 0).map(|_| 1).sum()
}

/// The last tile at `level` in a tree of `size` leaves, partial or full; `None` where the level is empty.
pub(super) fn newest_tile(level: u8, size: u64) -> Option<TileName> {
    let hashes = size.checked_shr(TILE_HEIGHT * u32::from(level)).unwrap_or(0);
    TileName::in_tree(level, hashes.checked_sub(1)? / u64::from(TILE_WIDTH), size)
}

/// The tile at `level` that `size` leaves have begun but not filled.
pub(super) fn partial_tile(level: u8, size: u64) -> Option<TileName> {
    newest_tile(level, size).filter(|name| !name.is_full())
}

/// The right edge of a tree of `size` leaves: its partial tiles of hashes, lowest level first.
pub fn partial_tiles(size: u64) -> impl Iterator<Item = TileName> {
    (0..levels(size)).filter_map(move |level| partial_tile(level, size))
}

/// The tiles of hashes that a tree of `new` leaves has and its beginning of `old` leaves has not, level by level:
/// what an append must write. From 0 these are all tiles of the tree; where `new` is not larger there are none.
pub fn tiles_between(old: u64, new: u64) -> impl Iterator<Item = TileName> {
    let width = u64::from(TILE_WIDTH);
    (0..levels(new)).flat_map(move |level| {
        let hashes = |size: u64| size >> (TILE_HEIGHT * u32::from(level));
        let changed = if hashes(old) < hashes(new) { hashes(old) / width } else { u64::MAX };
        (changed..hashes(new).div_ceil(width)).filter_map(move |index| TileName::in_tree(level, index, new))
    })
}

impl fmt::Display for TileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.shelf {
            Shelf::Hashes(level) => write!(f, "tile/{level}/")?,
            Shelf::Entries => f.write_str("tile/entries/")?,
        }
        let mut unit = 1;
        while self.index / unit >= 1000 {
            unit *= 1000;
        }
        while unit > 1 {
            write!(f, "x{:03}/", self.index / unit % 1000)?;
            unit /= 1000;
        }
        write!(f, "{:03}", self.index % 1000)?;
        if self.width != TILE_WIDTH {
            write!(f, ".p/{}", self.width)?;
        }
        Ok(())
    }
}

impl FromStr for TileName {
    type Err = MerkleError;

    fn from_str(text: &str) -> Result<Self, MerkleError> {
        parse(text).map_err(|reason| refused(text, reason))
    }
}

fn refused(text: &str, reason: &'static str) -> MerkleError {
    MerkleError::TileName { text: text.chars().take(80).collect(), reason }
}

fn parse(text: &str) -> Result<TileName, &'static str> {
    let path = text.strip_prefix("tile/").ok_or("it does not begin with tile/")?;
    let (shelf, path) = path.split_once('/').ok_or("it has no index")?;
    let shelf = match shelf {
        "entries" => Shelf::Entries,
        level => Shelf::Hashes(parse_level(level).ok_or("the level is not 0 to 63")?),
    };
    let (index, width) = match path.split_once(".p/") {
        None => (path, TILE_WIDTH),
        Some((index, width)) => {
            (index, parse_number(width, 1, TILE_WIDTH - 1).ok_or("the width of a partial tile is not 1 to 255")?)
        }
    };
    Ok(TileName { shelf, index: parse_index(index)?, width })
}

fn parse_level(text: &str) -> Option<u8> {
    parse_number(text, 0, u16::from(MAX_LEVEL)).and_then(|level| u8::try_from(level).ok())
}

/// A decimal number without leading zeros or sign.
fn parse_number(text: &str, min: u16, max: u16) -> Option<u16> {
    let plain = text.bytes().all(|digit| digit.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|number| plain && (min..=max).contains(number))
}

/// Three digits for each path element, an `x` before all but the last: 1234067 is `x001/x234/067`.
fn parse_index(text: &str) -> Result<u64, &'static str> {
    let mut index: u64 = 0;
    let mut elements = text.split('/').peekable();
    let mut first = true;
    while let Some(element) = elements.next() {
        let last = elements.peek().is_none();
        let digits = if last { Some(element) } else { element.strip_prefix('x') };
        let digits = digits.filter(|digits| digits.len() == 3 && digits.bytes().all(|digit| digit.is_ascii_digit()));
        let group: u64 = digits.and_then(|digits| digits.parse().ok()).ok_or("the index is not in groups of three")?;
        if first && !last && group == 0 {
            return Err("the index has leading zeros");
        }
        first = false;
        let next = index.checked_mul(1000).and_then(|index| index.checked_add(group));
        index = next.ok_or("the index is over 64 bits")?;
    }
    Ok(index)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn paths_are_written_as_the_specification_writes_them() {
        for (name, path) in [
            (TileName::hashes(0, 0, 256), "tile/0/000"),
            (TileName::hashes(0, 5, 1), "tile/0/005.p/1"),
            (TileName::hashes(63, 999, 255), "tile/63/999.p/255"),
            (TileName::entries(1000, 256), "tile/entries/x001/000"),
            (TileName::entries(1_234_067, 17), "tile/entries/x001/x234/067.p/17"),
            (TileName::hashes(2, u64::MAX, 256), "tile/2/x018/x446/x744/x073/x709/x551/615"),
        ] {
            let name = name.unwrap();
            assert_eq!(name.to_string(), path);
            assert_eq!(path.parse(), Ok(name));
        }
    }

    #[test]
    fn hostile_paths_are_refused() {
        let shelf = "the level is not 0 to 63";
        let width = "the width of a partial tile is not 1 to 255";
        let index = "the index is not in groups of three";
        for (path, rule) in [
            ("", "it does not begin with tile/"),
            ("/tile/0/000", "it does not begin with tile/"),
            ("tiles/0/000", "it does not begin with tile/"),
            ("tile/0", "it has no index"),
            ("tile/64/000", shelf),
            ("tile/00/000", shelf),
            ("tile/01/000", shelf),
            ("tile/+1/000", shelf),
            ("tile/-1/000", shelf),
            ("tile//000", shelf),
            ("tile/data/000", shelf),
            ("tile/Entries/000", shelf),
            ("tile/99999999999999999999/000", shelf),
            ("tile/0/000.p/0", width),
            ("tile/0/000.p/256", width),
            ("tile/0/000.p/01", width),
            ("tile/0/000.p/+1", width),
            ("tile/0/000.p/", width),
            ("tile/0/000.p/1/", width),
            ("tile/0/000.p/1.p/1", width),
            ("tile/0/", index),
            ("tile/0/0", index),
            ("tile/0/0000", index),
            ("tile/0/x000", index),
            ("tile/0/001/000", index),
            ("tile/0/x001/", index),
            ("tile/0/x001/x000", index),
            ("tile/0/X001/000", index),
            ("tile/0/x001//000", index),
            ("tile/0/+01", index),
            ("tile/0/\u{0661}0", index),
            ("tile/0/000.q/1", index),
            ("tile/0/000 ", index),
            ("tile/0/../000", index),
            ("tile/0/x000/001", "the index has leading zeros"),
            ("tile/0/x000/x000/000", "the index has leading zeros"),
            ("tile/0/x018/x446/x744/x073/x709/x551/616", "the index is over 64 bits"),
            ("tile/0/x999/x999/x999/x999/x999/x999/x999/999", "the index is over 64 bits"),
        ] {
            let text = path.to_owned();
            assert_eq!(path.parse::<TileName>(), Err(MerkleError::TileName { text, reason: rule }), "{path}");
        }
        let long = format!("tile/{}", "9".repeat(10_000)).parse::<TileName>().unwrap_err();
        assert!(long.to_string().len() < 200, "{long}");
    }

    #[test]
    fn coordinates_out_of_range_make_no_name() {
        for (level, width) in [(64, 1), (0, 0), (0, 257)] {
            assert!(TileName::hashes(level, 0, width).is_err(), "level {level} width {width}");
        }
        assert!(TileName::entries(0, 0).is_err());
        assert!(TileName::entries(0, 257).is_err());
        assert_eq!(TileName::in_tree(0, 1, 256), None);
        assert_eq!(TileName::in_tree(9, 0, u64::MAX), None);
        assert_eq!(TileName::in_tree(0, u64::MAX, u64::MAX), None);
        assert_eq!(TileName::in_tree(1, 0, 300), TileName::hashes(1, 0, 1).ok());
    }

    #[test]
    fn a_tile_of_leaves_has_a_bundle_and_a_partial_one_a_full_one() {
        let tile = TileName::hashes(0, 7, 3).unwrap();
        assert_eq!(tile.bundle(), TileName::entries(7, 3).ok());
        assert_eq!(tile.full(), TileName::hashes(0, 7, 256).unwrap());
        assert_eq!(TileName::hashes(1, 7, 3).unwrap().bundle(), None);
        assert_eq!(tile.bundle().and_then(TileName::bundle), None);
        assert_eq!((tile.level(), tile.index(), tile.width(), tile.is_full()), (Some(0), 7, 3, false));
    }

    #[test]
    fn a_tree_that_did_not_grow_has_no_new_tiles() {
        for (old, new) in [(0, 0), (5, 5), (256, 256), (300, 20), (u64::MAX, 1), (u64::MAX, u64::MAX)] {
            assert_eq!(tiles_between(old, new).next(), None, "{old} to {new}");
        }
        assert_eq!(partial_tiles(0).next(), None);
    }

    proptest! {
        #[test]
        fn every_name_is_read_back(level in 0u8..64, index: u64, shift in 0u32..64, width in 1u16..=256) {
            let index = index >> shift;
            for name in [TileName::hashes(level, index, width), TileName::entries(index, width)] {
                let name = name.unwrap();
                prop_assert_eq!(name.to_string().parse(), Ok(name));
            }
        }

        #[test]
        fn whatever_is_read_is_written_the_same(path in "tile/(entries|[0-9]{1,2})/(x[0-9]{3}/){0,2}[0-9]{3}(\\.p/[0-9]{1,3})?") {
            if let Ok(name) = path.parse::<TileName>() {
                prop_assert_eq!(name.to_string(), path);
            }
        }
    }
}
