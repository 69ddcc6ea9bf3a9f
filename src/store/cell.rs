//! The compare-and-swap cell of a directory: the writer's `lock` file.
//!
//! The file has two slots of 8 KiB that are written in turn, each with its own checksum. A write that is cut short
//! spoils the older slot only, so one in-place write and one fsync are a durable, atomic change.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes of one slot.
const SLOT: usize = 8192;
const MAGIC: &[u8; 8] = b"PMCELL1\n";
const HEADER: usize = MAGIC.len() + 8 + 4;
const CHECKSUM: usize = 32;

/// The most bytes that the cell can hold.
pub(super) const CAPACITY: usize = SLOT - HEADER - CHECKSUM;

/// One slot's content.
struct Slot {
    sequence: u64,
    content: Vec<u8>,
}

fn decode(slot: &[u8]) -> Option<Slot> {
    let sequence = u64::from_be_bytes(slot.get(8..16)?.try_into().ok()?);
    let length = u32::from_be_bytes(slot.get(16..HEADER)?.try_into().ok()?) as usize;
    if slot.get(..8)? != MAGIC || length > CAPACITY {
        return None;
    }
    let end = HEADER + length;
    let sum = blake3::hash(slot.get(..end)?);
    (slot.get(end..end + CHECKSUM)? == sum.as_bytes()).then(|| Slot { sequence, content: slot[HEADER..end].to_vec() })
}

fn encode(sequence: u64, content: &[u8]) -> Vec<u8> {
    let mut slot = Vec::with_capacity(SLOT);
    slot.extend_from_slice(MAGIC);
    slot.extend_from_slice(&sequence.to_be_bytes());
    slot.extend_from_slice(&(content.len() as u32).to_be_bytes());
    slot.extend_from_slice(content);
    let sum = blake3::hash(&slot);
    slot.extend_from_slice(sum.as_bytes());
    slot
}

fn newest(file: &File) -> io::Result<Option<Slot>> {
    let mut bytes = vec![0u8; 2 * SLOT];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], filled as u64)? {
            0 => break,
            count => filled += count,
        }
    }
    let slots = bytes[..filled].chunks(SLOT).filter_map(decode);
    Ok(slots.max_by_key(|slot| slot.sequence))
}

/// What the cell holds; `None` for a new file.
pub(super) fn read(file: &File) -> io::Result<Option<Vec<u8>>> {
    Ok(newest(file)?.map(|slot| slot.content))
}

/// Swaps the cell durably if it holds `expected`. The caller holds the file's lock.
pub(super) fn swap(file: &File, expected: Option<&[u8]>, new: &[u8]) -> io::Result<bool> {
    if new.len() > CAPACITY {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "more than the cell can hold"));
    }
    let old = newest(file)?;
    if old.as_ref().map(|slot| slot.content.as_slice()) != expected {
        return Ok(false);
    }
    let sequence = old.map_or(Some(1), |slot| slot.sequence.checked_add(1));
    // No honest writer counts that far, and a number that starts again would never be the newest.
    let sequence = sequence.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "its sequence has ended"))?;
    let offset = if sequence % 2 == 1 { 0 } else { SLOT as u64 };
    file.write_all_at(&encode(sequence, new), offset)?;
    // In place and already allocated after the first two swaps: the data is all there is to sync.
    file.sync_data()?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_write_leaves_the_old_value() {
        let file = tempfile::tempfile().unwrap();
        assert!(swap(&file, None, b"one").unwrap());
        assert!(!swap(&file, None, b"other").unwrap());
        assert!(swap(&file, Some(b"one"), b"two").unwrap());
        let whole = encode(3, b"three");
        for cut in 0..whole.len() {
            file.write_all_at(&whole[..cut], 0).unwrap();
            assert_eq!(read(&file).unwrap().as_deref(), Some(&b"two"[..]), "cut at {cut}");
        }
        file.write_all_at(&whole, 0).unwrap();
        assert_eq!(read(&file).unwrap().as_deref(), Some(&b"three"[..]));
    }

    #[test]
    fn a_sequence_made_to_overflow_is_refused() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&encode(u64::MAX, b"hostile"), 0).unwrap();
        assert_eq!(read(&file).unwrap().as_deref(), Some(&b"hostile"[..]));
        assert_eq!(swap(&file, Some(b"hostile"), b"two").unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(read(&file).unwrap().as_deref(), Some(&b"hostile"[..]));
    }

    #[test]
    fn slots_with_lengths_that_lie_are_no_slots() {
        let whole = encode(1, b"one");
        for length in [0, 2, 4, CAPACITY as u32 + 1, u32::MAX] {
            let mut lying = whole.clone();
            lying[16..HEADER].copy_from_slice(&length.to_be_bytes());
            assert!(decode(&lying).is_none(), "{length}");
        }
    }
}
