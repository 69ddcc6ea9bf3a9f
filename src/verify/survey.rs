//! What stands in the ledger's folder: every file is placed, and what has no place there is reported.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::docket::Docket;
use super::finding::{Axis, Code, Finding, NoticeCode};
use super::{VerifyError, WIDTH};
use crate::merkle::TileName;
use crate::object::ObjectId;
use crate::store::{Found, Name, Store};

/// In which forms an object is there.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Forms {
    pub(super) raw: bool,
    pub(super) compressed: bool,
}

/// A tile's or bundle's place, without its width.
pub(super) type Place = (Option<u8>, u64);

/// Where a tile or bundle belongs.
pub(super) fn place_of(tile: TileName) -> Place {
    (tile.level(), tile.index())
}

/// The files of a ledger by what they are. Grows with the number of tiles and objects, by some 50 bytes each.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// The widths in which each tile and bundle is there.
    shelves: BTreeMap<Place, BTreeSet<u16>>,
    objects: HashMap<ObjectId, Forms>,
    files: u64,
    /// Files of a ledger beside tiles and objects: `config.toml`, `checkpoint`.
    marks: u64,
}

enum Kind {
    /// Makes a folder a ledger.
    Mark,
    /// Belongs to a ledger and decides nothing.
    Aside,
    Tile(TileName),
    Object(ObjectId, bool),
    Unexpected,
}

fn kind_of(name: &str) -> Kind {
    match name {
        "config.toml" | "checkpoint" => Kind::Mark,
        ".gitignore" | "lock" => Kind::Aside,
        _ if name.starts_with("index.sqlite") && !name.contains('/') => Kind::Aside,
        _ if name.starts_with("staging/bundle-") || name.starts_with("staging/tmp-") => Kind::Aside,
        _ if name.starts_with("tile/") => name.parse().map_or(Kind::Unexpected, Kind::Tile),
        _ => object_of(name).unwrap_or(Kind::Unexpected),
    }
}

fn object_of(name: &str) -> Option<Kind> {
    let digits = name.strip_prefix("objects/")?;
    let compressed = digits.ends_with(".zst");
    let (shelf, rest) = digits.strip_suffix(".zst").unwrap_or(digits).split_once('/')?;
    let id = (shelf.len() == 2).then(|| format!("{shelf}{rest}").parse().ok())??;
    Some(Kind::Object(id, compressed))
}

impl Survey {
    /// Walks the whole folder.
    pub(super) fn take(store: &dyn Store, docket: &mut Docket) -> Result<Self, VerifyError> {
        let mut survey = Self::default();
        store.walk("", &mut |found| survey.place(found, docket)).map_err(VerifyError::Store)?;
        docket.count(Axis::Structure, "files", survey.files);
        for (id, _) in survey.objects.iter().filter(|(_, forms)| forms.raw && forms.compressed) {
            let file = object_file(id, true);
            docket.notice(NoticeCode::UnexpectedFile, None, Some(file), "stands beside the raw object, which is used");
        }
        Ok(survey)
    }

    fn place(&mut self, found: Found, docket: &mut Docket) {
        let decides_nothing = "no part of a ledger; it decides nothing";
        match found {
            Found::Special { name, what } => {
                docket.find(Finding::new(Code::NotPlain, "a plain file or folder", what).in_file(name));
            }
            Found::Unnameable(name) => {
                docket.notice(NoticeCode::UnexpectedFile, None, Some(name), decides_nothing);
            }
            Found::Plain(name) => {
                self.files += 1;
                match kind_of(name.as_str()) {
                    Kind::Mark => self.marks += 1,
                    Kind::Aside => {}
                    Kind::Tile(tile) => {
                        self.shelves.entry(place_of(tile)).or_default().insert(tile.width());
                    }
                    Kind::Object(id, compressed) => {
                        let forms = self.objects.entry(id).or_default();
                        if compressed { forms.compressed = true } else { forms.raw = true }
                    }
                    Kind::Unexpected => {
                        let file = Some(name.to_string());
                        docket.notice(NoticeCode::UnexpectedFile, None, file, decides_nothing);
                    }
                }
            }
        }
    }

    /// Whether nothing here makes the folder a ledger.
    pub(super) fn is_empty(&self) -> bool {
        self.marks == 0 && self.shelves.is_empty() && self.objects.is_empty()
    }

    /// How many entries the bundles hold from the first on without a gap, by their names.
    pub(super) fn entries(&self) -> u64 {
        let mut entries = 0;
        for (place, widths) in self.shelves.range((None, 0)..=(None, u64::MAX)) {
            let width = widths.last().copied().map_or(0, u64::from);
            if place.1 * WIDTH != entries {
                break;
            }
            entries += width;
            if width < WIDTH {
                break;
            }
        }
        entries
    }

    /// The indexes of the bundles that are there, in any width, in order.
    pub(super) fn bundles(&self) -> impl Iterator<Item = u64> + '_ {
        self.shelves.range((None, 0)..=(None, u64::MAX)).map(|(place, _)| place.1)
    }

    /// The versions of a tile or bundle that are narrower than this one.
    pub(super) fn narrower(&self, tile: TileName) -> Vec<TileName> {
        let widths = self.shelves.get(&place_of(tile)).into_iter().flatten();
        widths.filter(|width| **width < tile.width()).filter_map(|width| with_width(tile, *width)).collect()
    }

    /// Reports tiles and bundles that neither a tree of `size` leaves has, nor one of `pending`.
    pub(super) fn report_beyond(&self, size: u64, pending: u64, docket: &mut Docket) {
        for (place, widths) in &self.shelves {
            let in_tree = |size| TileName::in_tree(place.0.unwrap_or(0), place.1, size).map_or(0, TileName::width);
            let most = in_tree(size).max(in_tree(pending));
            for width in widths.iter().filter(|width| **width > most) {
                let file = named(*place, *width).map_or_else(String::new, |name| name.to_string());
                let expected = format!("nothing beyond the {size} receipts of the checkpoint");
                docket.find(Finding::new(Code::BeyondCheckpoint, expected, format!("{width} wide")).in_file(file));
            }
        }
    }

    /// In which forms an object is there.
    pub(super) fn object(&self, id: &ObjectId) -> Forms {
        self.objects.get(id).copied().unwrap_or_default()
    }

    /// The files of the objects that are not among these, sorted.
    pub(super) fn objects_but(&self, named: impl Fn(&ObjectId) -> bool) -> Vec<String> {
        let mut others: Vec<_> = self.objects.iter().filter(|(id, _)| !named(id)).collect();
        others.sort_by_key(|(id, _)| **id);
        others.into_iter().map(|(id, forms)| object_file(id, !forms.raw)).collect()
    }

    /// Notices of the objects that no receipt names.
    pub(super) fn report_unnamed(&self, named: impl Fn(&ObjectId) -> bool, docket: &mut Docket) {
        for file in self.objects_but(named) {
            docket.notice(NoticeCode::ObjectUnnamed, None, Some(file), "no receipt names this object");
        }
    }
}

fn named(place: Place, width: u16) -> Option<TileName> {
    match place.0 {
        Some(level) => TileName::hashes(level, place.1, width).ok(),
        None => TileName::entries(place.1, width).ok(),
    }
}

fn with_width(tile: TileName, width: u16) -> Option<TileName> {
    named(place_of(tile), width)
}

/// The name of an object's file.
pub(super) fn object_file(id: &ObjectId, compressed: bool) -> String {
    let hex = id.to_string();
    let ending = if compressed { ".zst" } else { "" };
    format!("objects/{}/{}{ending}", &hex[..2], &hex[2..])
}

/// What a name holds, where a ledger may be damaged.
pub(super) enum Content {
    Bytes(Vec<u8>),
    Absent,
    /// Something is there that cannot be its content.
    Refused(String),
}

/// Reads a name of at most `limit` bytes. Only a failure of this machine is an error.
pub(super) fn content(store: &dyn Store, name: &str, limit: u64) -> Result<Content, VerifyError> {
    let name: Name = name.parse().map_err(VerifyError::Store)?;
    match store.read(&name, limit) {
        Ok(Some(bytes)) => Ok(Content::Bytes(bytes)),
        // What is no plain file is a finding of its own, and counts as missing.
        Ok(None) | Err(crate::store::StoreError::NotPlain { .. }) => Ok(Content::Absent),
        Err(error) => refused(error).map(Content::Refused),
    }
}

/// What a store refused, in words, unless it is this machine that failed.
pub(super) fn refused(error: crate::store::StoreError) -> Result<String, VerifyError> {
    match error {
        error @ crate::store::StoreError::Io { .. } => Err(VerifyError::Store(error)),
        other => Ok(other.to_string()),
    }
}
