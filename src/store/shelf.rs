//! One folder of objects, opened once: what is read out of it is looked up from there, without the way to it.

use std::path::Path;

use rustix::fd::OwnedFd;
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use super::Shelf;
use crate::object::ObjectId;

/// `objects/ab` of a folder, neither of which is a symbolic link.
pub(super) struct OpenFolder(OwnedFd);

impl OpenFolder {
    /// Opens the folder that an object is in; `None` where that is not two plain folders.
    pub(super) fn of(root: &Path, id: &ObjectId) -> Option<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let objects = rustix::fs::open(root.join("objects"), flags, Mode::empty()).ok()?;
        let shelf = rustix::fs::openat(objects, id.to_string().get(..2)?, flags, Mode::empty()).ok()?;
        Some(Self(shelf))
    }
}

impl Shelf for OpenFolder {
    fn read(&self, id: &ObjectId, size: usize, bytes: &mut Vec<u8>) -> bool {
        // As for every other read: no symbolic link is followed, and a FIFO does not hang us before we see what it is.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let hex = id.to_string();
        let Some(name) = hex.get(2..) else { return false };
        let Ok(file) = rustix::fs::openat(&self.0, name, flags, Mode::empty()) else { return false };
        let Ok(found) = rustix::fs::fstat(&file) else { return false };
        let is_plain = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
        if !is_plain || u64::try_from(found.st_size).ok() != Some(size as u64) {
            return false;
        }
        // One byte more than there is to be: a file that grew meanwhile shows.
        bytes.resize(size + 1, 0);
        let mut filled = 0;
        while filled < size {
            match rustix::io::read(&file, &mut bytes[filled..]) {
                Ok(0) => return false,
                Ok(count) => filled += count,
                Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
        bytes.truncate(filled);
        filled == size
    }
}
