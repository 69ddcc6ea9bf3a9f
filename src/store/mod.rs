//! Where a ledger lives: immutable named bytes, and one cell that is only ever compared and swapped.
//!
//! | implementation | durable when | for |
//! |---|---|---|
//! | [`Directory`] | file and directory are fsynced | a `.ledger` folder |
//! | [`Memory`] | at once | tests, dry runs |
//! | [`Faulty`] | as what it wraps, until the chosen operation fails | fault tests |
//!
//! All of them pass the same contract (`tests/it/contract.rs`). The commit protocol on top is `crate::ledger`'s.

mod cell;
mod directory;
mod faulty;
mod memory;
mod name;
mod objects;
mod shelf;
mod spill;

use std::io::{self, Read};

use crate::object::ObjectId;

pub use directory::Directory;
pub use faulty::{Faulty, Schedule};
pub use memory::Memory;
pub use name::Name;
pub use objects::{
    COMPRESS_FROM, Digests, MAX_OBJECT_BYTES, ObjectState, digest_file, digest_slice, object_state, open_object,
    put_file, put_from, put_slice, read_object,
};
pub use spill::Spill;

/// Most tiles and bundles fit into this many bytes.
const FIRST_READ: u64 = 64 << 10;

/// Why a store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The operating system said no.
    #[error("cannot {action} `{name}`")]
    Io {
        /// What was being done, as in `write`.
        action: &'static str,
        /// The name inside the store.
        name: String,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// A name that no store accepts.
    #[error("`{name}` is not a name inside a ledger")]
    BadName {
        /// What was asked for.
        name: String,
    },
    /// Something other than a plain file or folder stands there.
    #[error("`{name}` is {found}, where only {wanted} may be")]
    NotPlain {
        /// The name inside the store.
        name: String,
        /// What it is, as in `a symbolic link`.
        found: &'static str,
        /// What it may be.
        wanted: &'static str,
    },
    /// An immutable name already holds other bytes.
    #[error("`{name}` already holds other bytes")]
    Conflict {
        /// The name inside the store.
        name: String,
    },
    /// More bytes than the reader is willing to take.
    #[error("`{name}` is larger than {limit} bytes")]
    TooLarge {
        /// The name inside the store.
        name: String,
        /// The bound, in bytes.
        limit: u64,
    },
    /// The bytes are not what their name says.
    #[error("`{name}` does not hold the bytes that it is named for")]
    Damaged {
        /// The name inside the store.
        name: String,
    },
    /// A file changed while it was being read into the store.
    #[error("`{name}` changed while it was read")]
    Changed {
        /// The file.
        name: String,
    },
}

impl StoreError {
    pub(crate) fn io(action: &'static str, name: impl ToString, source: io::Error) -> Self {
        Self::Io { action, name: name.to_string(), source }
    }
}

/// What stands somewhere in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// A plain file under a name that a store can have.
    Plain(Name),
    /// A plain file or a folder under another name, as far as it can be shown.
    Unnameable(String),
    /// Something that is neither a plain file nor a folder.
    Special {
        /// Its name.
        name: String,
        /// What it is, as in `a symbolic link`.
        what: &'static str,
    },
}

/// The one exclusive writer: holds the cell until dropped.
///
/// Dropping it, or the death of the process, releases it. Where a store cannot exclude others (object storage), the
/// compare-and-swap alone decides.
pub trait Exclusive {
    /// What the cell holds now.
    fn cell(&self) -> Result<Option<Vec<u8>>, StoreError>;

    /// Puts `new` into the cell, durably, if it holds exactly `expected`; says whether it did.
    fn swap(&mut self, expected: Option<&[u8]>, new: &[u8]) -> Result<bool, StoreError>;
}

/// A folder of objects that is open, for reading many small ones out of it.
pub trait Shelf {
    /// Reads an object that is held raw into `bytes`, which are replaced: says whether a plain file of exactly `size` bytes is
    /// there and was read. Whatever else is the case, [`Store::open`] says what.
    fn read(&self, id: &ObjectId, size: usize, bytes: &mut Vec<u8>) -> bool;
}

/// A place where a ledger can live.
pub trait Store: Send + Sync {
    /// Stores `content` under a name that never changes its bytes. When this returns, they are durable.
    ///
    /// Names that already hold the same bytes are left alone and made durable; other bytes are [`StoreError::Conflict`].
    fn put(&self, name: &Name, content: &mut dyn Read) -> Result<(), StoreError>;

    /// Moves a stored name to another, atomically, replacing what is there; durable only after [`Store::settle`].
    fn promote(&self, from: &Name, to: &Name) -> Result<(), StoreError>;

    /// Replaces a name, atomically; durable only after [`Store::settle`]. For what can be made again.
    fn publish(&self, name: &Name, content: &[u8]) -> Result<(), StoreError>;

    /// Makes these promoted or published names durable.
    fn settle(&self, names: &[Name]) -> Result<(), StoreError>;

    /// Opens a name for reading, or `None` where there is nothing.
    fn open(&self, name: &Name) -> Result<Option<Box<dyn Read + Send>>, StoreError>;

    /// How many bytes a name holds, or `None` where there is nothing.
    fn size(&self, name: &Name) -> Result<Option<u64>, StoreError>;

    /// All names below a folder (`objects/ab`, or the whole store for ``), sorted.
    fn list(&self, folder: &str) -> Result<Vec<Name>, StoreError>;

    /// Hands everything below a folder to `visit`, in no order, also what [`Store::list`] refuses: for audits, which
    /// report such things instead of stopping at them.
    fn walk(&self, folder: &str, visit: &mut dyn FnMut(Found)) -> Result<(), StoreError> {
        self.list(folder)?.into_iter().for_each(|name| visit(Found::Plain(name)));
        Ok(())
    }

    /// Removes a name; that there is nothing is fine.
    fn remove(&self, name: &Name) -> Result<(), StoreError>;

    /// Waits for the exclusive right to write.
    fn lock(&self) -> Result<Box<dyn Exclusive + '_>, StoreError>;

    /// What the cell holds, without waiting for a writer.
    fn cell(&self) -> Result<Option<Vec<u8>>, StoreError>;

    /// Opens the folder that an object is in, where that makes reading several objects out of it quicker; `None` too where
    /// the folder cannot be opened, which [`Store::open`] explains.
    fn shelf(&self, _of: &ObjectId) -> Option<Box<dyn Shelf + '_>> {
        None
    }

    /// BLAKE3 and length of a name's raw bytes; stores that can map files do it on all cores.
    fn hash(&self, name: &Name) -> Result<Option<(blake3::Hash, u64)>, StoreError> {
        let Some(mut content) = self.open(name)? else { return Ok(None) };
        let mut hasher = blake3::Hasher::new();
        let size = io::copy(&mut content, &mut hasher).map_err(|error| StoreError::io("read", name, error))?;
        Ok(Some((hasher.finalize(), size)))
    }

    /// Reads a whole name of at most `limit` bytes, or `None` where there is nothing.
    fn read(&self, name: &Name, limit: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(content) = self.open(name)? else { return Ok(None) };
        // Reading into a vector that is empty would begin with reads of 32 bytes.
        read_whole(name, content, FIRST_READ, limit).map(Some)
    }
}

/// Reads `content` to its end, into memory for `expected` bytes at first, and refuses more than `limit`.
fn read_whole(name: &Name, content: impl Read, expected: u64, limit: u64) -> Result<Vec<u8>, StoreError> {
    let mut bytes = Vec::with_capacity(expected.min(limit.saturating_add(1)) as usize);
    let taken = content.take(limit.saturating_add(1)).read_to_end(&mut bytes);
    taken.map_err(|error| StoreError::io("read", name, error))?;
    if bytes.len() as u64 > limit {
        return Err(StoreError::TooLarge { name: name.to_string(), limit });
    }
    Ok(bytes)
}
