//! The tree over the entries, computed again and held against every stored tile and every checkpoint.

use super::VerifyError;
use super::docket::Docket;
use super::finding::{Axis, Code, Finding};
use super::survey::{Content, Survey, content};
use crate::ledger;
use crate::merkle::{Frontier, TileName};
use crate::object::Sha256;
use crate::store::Store;

/// No tile is larger.
const MAX_TILE_BYTES: u64 = 256 * 32;

/// The tree as it grows while entries are read in order.
pub(super) struct Tree<'a> {
    store: &'a dyn Store,
    survey: &'a Survey,
    frontier: Frontier,
    /// Entries are missing, so nothing after them can be computed.
    broken: bool,
    /// A size at which the root is asked for, and the root there.
    watched: (u64, Option<Sha256>),
    /// Whether tiles of hashes are to be there; a dossier leaves them out, for they follow from the entries.
    stored: bool,
}

impl<'a> Tree<'a> {
    /// The empty tree. `watched` is a size at which the root will be asked for.
    pub(super) fn new(store: &'a dyn Store, survey: &'a Survey, watched: u64) -> Self {
        Self { store, survey, frontier: Frontier::new(), broken: false, watched: (watched, None), stored: true }
    }

    /// The same where no tiles of hashes are kept.
    pub(super) fn without_tiles(self) -> Self {
        Self { stored: false, ..self }
    }

    /// Entries are missing here.
    pub(super) fn interrupt(&mut self) {
        self.broken = true;
    }

    /// The next entry's leaf.
    pub(super) fn push(&mut self, leaf: Sha256, docket: &mut Docket) -> Result<(), VerifyError> {
        if self.broken {
            return Ok(());
        }
        let (store, survey, stored) = (self.store, self.survey, self.stored);
        let compare = |tile, bytes: &[u8]| if stored { compare(store, survey, tile, bytes, docket) } else { Ok(()) };
        self.frontier.push(leaf, compare)?;
        if self.frontier.size() == self.watched.0 {
            self.watched.1 = Some(self.frontier.root());
        }
        Ok(())
    }

    /// Compares the partial tiles, once all entries are there.
    pub(super) fn finish(&self, docket: &mut Docket) -> Result<(), VerifyError> {
        if self.broken {
            let reason = format!("entries are missing after the first {}, so the root cannot be computed", self.size());
            docket.not_checked(Axis::Log, reason);
            return Ok(());
        }
        for (tile, bytes) in self.frontier.partial_tiles().filter(|_| self.stored) {
            compare(self.store, self.survey, tile, bytes, docket)?;
        }
        Ok(())
    }

    /// How many leaves there are in it.
    pub(super) fn size(&self) -> u64 {
        self.frontier.size()
    }

    /// The tree, if no entry was missing.
    pub(super) fn whole(&self) -> Option<&Frontier> {
        (!self.broken).then_some(&self.frontier)
    }

    /// The root at the watched size, if the tree got there.
    pub(super) fn watched(&self) -> Option<Sha256> {
        self.watched.1
    }
}

/// Holds a stored tile, and its older versions, against what they must be.
fn compare(
    store: &dyn Store,
    survey: &Survey,
    tile: TileName,
    bytes: &[u8],
    docket: &mut Docket,
) -> Result<(), VerifyError> {
    docket.count(Axis::Structure, "tiles", 1);
    for version in survey.narrower(tile).into_iter().chain([tile]) {
        let file = version.to_string();
        let expected = bytes.get(..32 * usize::from(version.width())).unwrap_or(bytes);
        match content(store, &file, MAX_TILE_BYTES)? {
            Content::Bytes(found) if found == expected => {}
            Content::Bytes(found) => docket.find(tile_differs(expected, &found).in_file(file)),
            Content::Refused(found) => {
                docket.find(Finding::new(Code::TileDiffers, described(expected), found).in_file(file));
            }
            // A writer may have moved on since the checkpoint was read: the beginning of a wider version says the same.
            Content::Absent
                if version == tile && ledger::read_tile(store, tile).is_ok_and(|found| found == expected) => {}
            Content::Absent if version == tile => {
                docket.find(Finding::new(Code::TileMissing, described(expected), "nothing").in_file(file));
            }
            Content::Absent => {}
        }
    }
    Ok(())
}

fn described(tile: &[u8]) -> String {
    format!("{} hashes, SHA-256 {}", tile.len() / 32, Sha256::of(tile))
}

fn tile_differs(expected: &[u8], found: &[u8]) -> Finding {
    let hashes = expected.chunks(32).zip(found.chunks(32));
    match hashes.enumerate().find(|(_, (one, two))| one != two) {
        Some((at, (one, two))) if expected.len() == found.len() => {
            let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
            Finding::new(Code::TileDiffers, format!("hash {at} is {}", hex(one)), format!("hash {at} is {}", hex(two)))
        }
        _ => Finding::new(Code::TileDiffers, format!("{} bytes", expected.len()), format!("{} bytes", found.len())),
    }
}
