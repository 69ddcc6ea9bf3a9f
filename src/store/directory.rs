//! A ledger in a folder. Every read refuses symbolic links, FIFOs and devices; every write goes through a temporary
//! file in `staging/` and a rename.

use std::collections::{BTreeSet, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

use rayon::prelude::*;

use super::shelf::OpenFolder;
use super::{Exclusive, Found, Name, Shelf, Store, StoreError, cell, read_whole};
use crate::object::ObjectId;

const LOCK: &str = "lock";
/// Where so many temporary files came before, one that cannot be locked is no accident: the file system has no locks.
const MOST_TEMPORARY: u64 = 100;
const STAGING: &str = "staging";
/// Bytes that are read and written at once.
const BLOCK: usize = 64 << 10;
/// What stands in so many folders is held in memory while a store is walked, where there are more than that.
const WALKED_TOGETHER: usize = 16;

/// A folder on a local file system that keeps POSIX rename and fsync semantics.
#[derive(Debug)]
pub struct Directory {
    root: PathBuf,
    written: AtomicU64,
    /// Folders that were found to be plain, with all that they are in.
    plain: RwLock<HashSet<String>>,
}

impl Directory {
    /// The store in `root`, which need not exist yet.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), written: AtomicU64::new(0), plain: RwLock::default() }
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn path(&self, name: &Name) -> PathBuf {
        self.root.join(name.as_str())
    }

    /// Refuses a name one of whose folders is not a plain folder; says whether they are all there. Each is looked at once:
    /// what stands in the store before it is opened cannot lead out of it.
    fn folders_are_plain(&self, folder: &str) -> Result<bool, StoreError> {
        if self.plain.read().unwrap_or_else(PoisonError::into_inner).contains(folder) {
            return Ok(true);
        }
        let mut path = self.root.clone();
        for segment in folder.split('/').filter(|segment| !segment.is_empty()) {
            path.push(segment);
            match fs::symlink_metadata(&path) {
                Ok(found) if found.is_dir() => {}
                Ok(found) => return Err(not_plain(folder, found.file_type(), "a folder")),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
                Err(error) => return Err(StoreError::io("look at", folder, error)),
            }
        }
        self.plain.write().unwrap_or_else(PoisonError::into_inner).insert(folder.to_owned());
        Ok(true)
    }

    fn open_plain(&self, name: &Name) -> Result<Option<File>, StoreError> {
        if !self.folders_are_plain(name.split().0)? {
            return Ok(None);
        }
        let path = self.path(name);
        // O_NOFOLLOW: no symbolic link; O_NONBLOCK: a FIFO must not hang us before we see what it is.
        match OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => plain(opened, &path, name.as_str()).map(Some),
        }
    }

    /// Makes sure that a folder is there, without making it durable.
    fn make_folder(&self, folder: &str) -> Result<(), StoreError> {
        if self.folders_are_plain(folder)? && (!folder.is_empty() || self.root.is_dir()) {
            return Ok(());
        }
        let path = self.root.join(folder);
        fs::create_dir_all(&path).map_err(|error| StoreError::io("make the folder", folder, error))
    }

    /// Makes sure that a folder is there and durable. One that holds something was made durable before that was put in;
    /// one that is empty may have been made by a process that died before it could.
    fn make_durable_folder(&self, folder: &str) -> Result<(), StoreError> {
        self.make_folder(folder)?;
        let path = self.root.join(folder);
        let mut entries = fs::read_dir(&path).map_err(|error| StoreError::io("list", folder, error))?;
        if entries.next().is_some() {
            return Ok(());
        }
        // A folder is an entry of its parent: make those durable, up to the store itself.
        let mut parent = path.parent();
        while let Some(above) = parent.filter(|above| above.starts_with(&self.root)) {
            sync_folder(above).map_err(|error| StoreError::io("sync", above.display(), error))?;
            parent = above.parent();
        }
        Ok(())
    }

    /// A new file in `staging/`, locked by this process so that a later writer can tell a live one from a leftover.
    fn temporary(&self) -> Result<(File, PathBuf), StoreError> {
        self.make_folder(STAGING)?;
        loop {
            let serial = self.written.fetch_add(1, Ordering::Relaxed);
            let path = self.root.join(STAGING).join(format!("tmp-{}-{serial}", std::process::id()));
            let opened = OpenOptions::new().write(true).create_new(true).custom_flags(libc::O_NOFOLLOW).open(&path);
            match opened {
                // Between its making and the lock another writer may take the file for a leftover: then it is being
                // removed, or is gone, and another one is made.
                Ok(file) if file.try_lock().is_ok() && file.metadata().is_ok_and(|found| found.nlink() > 0) => {
                    return Ok((file, path));
                }
                Ok(file) if serial >= MOST_TEMPORARY => {
                    file.try_lock().map_err(|error| StoreError::io("lock", path.display(), error.into()))?;
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(StoreError::io("create", path.display(), error)),
            }
        }
    }

    /// Has `fill` write a temporary file and renames it to `name`; a failure leaves nothing behind.
    fn write(&self, name: &Name, fill: impl FnOnce(&mut File) -> io::Result<()>) -> Result<(), StoreError> {
        let (mut file, path) = self.temporary()?;
        let written = fill(&mut file).and_then(|()| fs::rename(&path, self.path(name)));
        written.map_err(|error| {
            let _ = fs::remove_file(&path);
            StoreError::io("write", name, error)
        })
    }

    fn same_bytes(&self, name: &Name, content: &mut dyn Read) -> Result<bool, StoreError> {
        let Some(mut stored) = self.open_plain(name)? else { return Ok(false) };
        same_stream(&mut stored, content).map_err(|error| StoreError::io("read", name, error))
    }

    /// Removes temporary files whose writer is gone.
    fn sweep(&self) -> Result<(), StoreError> {
        for name in self.list(STAGING)?.into_iter().filter(|name| name.split().1.starts_with("tmp-")) {
            let Some(file) = self.open_plain(&name)? else { continue };
            if file.try_lock().is_ok() {
                self.remove(&name)?;
            }
        }
        Ok(())
    }

    /// Hands what stands in a folder to `visit`, which may end the walk.
    fn walk_into(
        &self,
        folder: &str,
        visit: &mut dyn FnMut(Found, fs::FileType) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let path = self.root.join(folder);
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(StoreError::io("list", folder, error)),
        };
        let mut folders = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| StoreError::io("list", folder, error))?;
            let last = entry.file_name();
            let text = match folder {
                "" => last.to_string_lossy().into_owned(),
                _ => format!("{folder}/{}", last.to_string_lossy()),
            };
            let kind = entry.file_type().map_err(|error| StoreError::io("look at", &text, error))?;
            match text.parse::<Name>() {
                _ if !kind.is_dir() && !kind.is_file() => {
                    visit(Found::Special { name: text, what: described(kind) }, kind)?;
                }
                Err(_) => visit(Found::Unnameable(text), kind)?,
                Ok(_) if kind.is_dir() => folders.push(text),
                Ok(name) => visit(Found::Plain(name), kind)?,
            }
        }
        if folders.len() <= WALKED_TOGETHER {
            return folders.iter().try_for_each(|folder| self.walk_into(folder, visit));
        }
        // The folders of objects: some of them at a time, on all cores.
        for folders in folders.chunks(WALKED_TOGETHER) {
            let walked: Vec<_> = folders.par_iter().map(|folder| self.found_in(folder)).collect();
            for found in walked {
                found?.into_iter().try_for_each(|(found, kind)| visit(found, kind))?;
            }
        }
        Ok(())
    }

    fn found_in(&self, folder: &str) -> Result<Vec<(Found, fs::FileType)>, StoreError> {
        let mut all = Vec::new();
        self.walk_into(folder, &mut |found, kind| {
            all.push((found, kind));
            Ok(())
        })?;
        Ok(all)
    }
}

/// What was opened without following links, if it is a plain file; if it is not, or could not be opened for that, what it
/// is instead.
fn plain(opened: io::Result<File>, path: &Path, name: &str) -> Result<File, StoreError> {
    let (found, opened) = match opened {
        Ok(file) => (file.metadata(), Ok(file)),
        Err(error) => (fs::symlink_metadata(path), Err(error)),
    };
    match (opened, found) {
        (_, Ok(found)) if !found.is_file() => Err(not_plain(name, found.file_type(), "a plain file")),
        (Ok(file), Ok(_)) => Ok(file),
        (Err(error), _) => Err(StoreError::io("open", name, error)),
        (_, Err(error)) => Err(StoreError::io("look at", name, error)),
    }
}

fn not_plain(name: &str, kind: fs::FileType, wanted: &'static str) -> StoreError {
    StoreError::NotPlain { name: name.to_owned(), found: described(kind), wanted }
}

fn described(kind: fs::FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    match kind {
        kind if kind.is_symlink() => "a symbolic link",
        kind if kind.is_dir() => "a folder",
        kind if kind.is_fifo() => "a FIFO",
        kind if kind.is_socket() => "a socket",
        kind if kind.is_block_device() || kind.is_char_device() => "a device",
        _ => "a plain file",
    }
}

fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Copies in blocks that are larger than those of `io::copy`.
fn copy(content: &mut dyn Read, file: &mut File) -> io::Result<()> {
    let mut block = vec![0u8; BLOCK];
    loop {
        let filled = fill(content, &mut block)?;
        file.write_all(&block[..filled])?;
        if filled < block.len() {
            return Ok(());
        }
    }
}

pub(super) fn same_stream(left: &mut dyn Read, right: &mut dyn Read) -> io::Result<bool> {
    let (mut one, mut two) = (vec![0u8; BLOCK], vec![0u8; BLOCK]);
    loop {
        let filled = fill(left, &mut one)?;
        if filled != fill(right, &mut two)? || one[..filled] != two[..filled] {
            return Ok(false);
        }
        if filled < one.len() {
            return Ok(true);
        }
    }
}

fn fill(input: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match input.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

impl Store for Directory {
    fn put(&self, name: &Name, content: &mut dyn Read) -> Result<(), StoreError> {
        if self.open_plain(name)?.is_some() {
            if !self.same_bytes(name, content)? {
                return Err(StoreError::Conflict { name: name.to_string() });
            }
            // Whoever wrote it may have died before it was durable.
            return self.settle(std::slice::from_ref(name));
        }
        let folder = name.split().0;
        if folder == STAGING {
            self.make_folder(folder)?
        } else {
            self.make_durable_folder(folder)?
        }
        self.write(name, |file| {
            copy(content, file)?;
            file.sync_all()
        })?;
        let folder = self.root.join(folder);
        sync_folder(&folder).map_err(|error| StoreError::io("sync the folder of", name, error))
    }

    fn promote(&self, from: &Name, to: &Name) -> Result<(), StoreError> {
        self.make_folder(to.split().0)?;
        fs::rename(self.path(from), self.path(to)).map_err(|error| StoreError::io("move", from, error))
    }

    fn publish(&self, name: &Name, content: &[u8]) -> Result<(), StoreError> {
        self.make_folder(name.split().0)?;
        self.write(name, |file| file.write_all(content))
    }

    fn settle(&self, names: &[Name]) -> Result<(), StoreError> {
        for name in names {
            let Some(file) = self.open_plain(name)? else {
                return Err(StoreError::io("sync", name, io::ErrorKind::NotFound.into()));
            };
            file.sync_all().map_err(|error| StoreError::io("sync", name, error))?;
        }
        let folders: BTreeSet<_> = names.iter().map(|name| name.split().0).collect();
        for folder in folders {
            sync_folder(&self.root.join(folder)).map_err(|error| StoreError::io("sync", folder, error))?;
        }
        Ok(())
    }

    fn open(&self, name: &Name) -> Result<Option<Box<dyn Read + Send>>, StoreError> {
        Ok(self.open_plain(name)?.map(|file| Box::new(file) as _))
    }

    fn read(&self, name: &Name, limit: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(file) = self.open_plain(name)? else { return Ok(None) };
        let size = file.metadata().map_err(|error| StoreError::io("look at", name, error))?.len();
        // One read for all of it, and one that finds the end; room for an entry more, since adding one to a bundle that was
        // read would copy all of it.
        read_whole(name, file, size.saturating_add(size / 8 + 1), limit).map(Some)
    }

    fn size(&self, name: &Name) -> Result<Option<u64>, StoreError> {
        let Some(file) = self.open_plain(name)? else { return Ok(None) };
        let found = file.metadata().map_err(|error| StoreError::io("look at", name, error))?;
        Ok(Some(found.len()))
    }

    fn list(&self, folder: &str) -> Result<Vec<Name>, StoreError> {
        let mut found = Vec::new();
        if self.folders_are_plain(folder)? {
            self.walk_into(folder, &mut |entry, kind| match entry {
                Found::Plain(name) => {
                    found.push(name);
                    Ok(())
                }
                Found::Unnameable(text) => text.parse::<Name>().map(|_| ()),
                Found::Special { name, .. } => Err(not_plain(&name, kind, "a plain file or folder")),
            })?;
        }
        found.sort();
        Ok(found)
    }

    fn walk(&self, folder: &str, visit: &mut dyn FnMut(Found)) -> Result<(), StoreError> {
        if !self.folders_are_plain(folder)? {
            return Ok(());
        }
        self.walk_into(folder, &mut |entry, _| {
            visit(entry);
            Ok(())
        })
    }

    fn remove(&self, name: &Name) -> Result<(), StoreError> {
        match fs::remove_file(self.path(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StoreError::io("remove", name, error)),
            _ => Ok(()),
        }
    }

    fn lock(&self) -> Result<Box<dyn Exclusive + '_>, StoreError> {
        self.make_folder("")?;
        let path = self.root.join(LOCK);
        let fresh = fs::symlink_metadata(&path).is_err();
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
        let file = plain(options.open(&path), &path, LOCK)?;
        file.lock().map_err(|error| StoreError::io("lock", LOCK, error))?;
        let new = cell::read(&file).map_err(|error| StoreError::io("read", LOCK, error))?.is_none();
        if fresh || new {
            // The lock and the staging folder are in every commit's way to durability.
            self.make_folder(STAGING)?;
            sync_folder(&self.root).map_err(|error| StoreError::io("sync", LOCK, error))?;
        }
        self.sweep()?;
        Ok(Box::new(Held { file }))
    }

    fn cell(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let name: Name = LOCK.parse()?;
        let Some(file) = self.open_plain(&name)? else { return Ok(None) };
        cell::read(&file).map_err(|error| StoreError::io("read", LOCK, error))
    }

    fn shelf(&self, of: &ObjectId) -> Option<Box<dyn Shelf + '_>> {
        Some(Box::new(OpenFolder::of(&self.root, of)?))
    }

    fn hash(&self, name: &Name) -> Result<Option<(blake3::Hash, u64)>, StoreError> {
        let Some(file) = self.open_plain(name)? else { return Ok(None) };
        let size = file.metadata().map_err(|error| StoreError::io("look at", name, error))?.len();
        let mut hasher = blake3::Hasher::new();
        if size < super::objects::MAP_FROM {
            io::copy(&mut { file }, &mut hasher).map_err(|error| StoreError::io("read", name, error))?;
        } else {
            hasher.update_mmap_rayon(self.path(name)).map_err(|error| StoreError::io("read", name, error))?;
        }
        Ok(Some((hasher.finalize(), hasher.count())))
    }
}

/// The lock file, locked. The system unlocks it when it is closed, however the process ends.
struct Held {
    file: File,
}

impl Exclusive for Held {
    fn cell(&self) -> Result<Option<Vec<u8>>, StoreError> {
        cell::read(&self.file).map_err(|error| StoreError::io("read", LOCK, error))
    }

    fn swap(&mut self, expected: Option<&[u8]>, new: &[u8]) -> Result<bool, StoreError> {
        cell::swap(&self.file, expected, new).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidInput => StoreError::TooLarge { name: LOCK.to_owned(), limit: cell::CAPACITY as u64 },
            io::ErrorKind::InvalidData => StoreError::Damaged { name: LOCK.to_owned() },
            _ => StoreError::io("write", LOCK, error),
        })
    }
}
