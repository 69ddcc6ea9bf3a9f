//! Archives (zip, with Zstandard, deflate or stored): entries by name, never more bytes than the limits allow.

use std::io::{Cursor, Read};

use zip::ZipArchive;
use zip::result::ZipError;

use super::member::short;
use super::original::Original;
use super::{ImportError, Limits};
use crate::object::MAX_RECORDS;

/// The entries whose names are wanted, in the order of their names. What an archive says of their sizes is not believed.
pub(super) fn entries(
    original: &Original<'_>,
    limits: &Limits,
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<(String, Vec<u8>)>, ImportError> {
    let bytes = original.bytes(limits)?;
    let refuse = |error: ZipError| original.refuse(format!("is not a whole zip archive: {error}"));
    let mut archive = ZipArchive::new(Cursor::new(bytes.as_slice())).map_err(refuse)?;
    if listed(&bytes, archive.central_directory_start()) != archive.len() {
        return Err(original.refuse("lists an entry twice, or entries that cannot be read"));
    }
    let mut places: Vec<(String, usize)> = Vec::new();
    for place in 0..archive.len() {
        if let Some(name) = archive.name_for_index(place).filter(|name| wanted(name)) {
            places.push((name.to_owned(), place));
        }
    }
    if places.len() > MAX_RECORDS {
        return Err(original.refuse(format!("holds more than {MAX_RECORDS} entries")));
    }
    places.sort();
    if let Some(pair) = places.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(original.refuse(format!("holds the entry `{}` twice", pair[0].0)));
    }
    let mut left = limits.document;
    let mut found = Vec::with_capacity(places.len());
    for (name, place) in places {
        let entry = archive.by_index(place).map_err(refuse)?;
        let limit = limits.sample.min(left);
        let mut content = Vec::new();
        let read = entry.take(limit.saturating_add(1)).read_to_end(&mut content);
        read.map_err(|error| original.refuse(format!("the entry `{name}` cannot be read: {error}")))?;
        if content.len() as u64 > limit {
            let file = format!("{}: {}", original.name(), short(&name));
            let (what, limit) = if limit == left { ("archive", limits.document) } else { ("sample", limits.sample) };
            return Err(ImportError::TooLarge { file, what, limit });
        }
        left -= content.len() as u64;
        found.push((name, content));
    }
    Ok(found)
}

/// How many entries the directory of an archive lists. The reader keeps one of several that share a name, and which one that
/// is must not decide what a log says.
fn listed(bytes: &[u8], start: u64) -> usize {
    const SIGNATURE: &[u8] = b"PK\x01\x02";
    const FIXED: usize = 46;
    let mut rest = usize::try_from(start).ok().and_then(|start| bytes.get(start..)).unwrap_or_default();
    let mut count = 0;
    while rest.starts_with(SIGNATURE) && rest.len() >= FIXED {
        let length = |at: usize| usize::from(u16::from_le_bytes([rest[at], rest[at + 1]]));
        // The lengths of the name, of what is added to it, and of the comment.
        let size = FIXED + length(28) + length(30) + length(32);
        rest = rest.get(size..).unwrap_or_default();
        count += 1;
    }
    count
}
