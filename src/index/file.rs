//! The index's file: opened only where it is a plain file, never written where it is not ours, replaced as a whole.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::IndexError;
use super::catch_up::{self, Progress};
use crate::ledger::{Ledger, Snapshot};

/// The file's name in the ledger's folder.
pub const INDEX_FILE: &str = "index.sqlite";

/// A new index grows here, until it is whole.
const NEW_FILE: &str = "index.sqlite.new";

/// What SQLite may put beside a database.
const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];

/// How long a reader waits for another process's catch-up.
const PATIENCE: Duration = Duration::from_secs(20);

/// How often a newer log, or a replaced index, is looked at again.
const ATTEMPTS: usize = 5;

/// What is wrong with the file of an index.
enum Fault {
    /// It is not an index of this ledger, or is damaged: it can be made anew.
    Worthless,
    /// Something else is wrong.
    Error(IndexError),
}

impl From<IndexError> for Fault {
    fn from(error: IndexError) -> Self {
        if error.blames_content() { Self::Worthless } else { Self::Error(error) }
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        IndexError::from(error).into()
    }
}

/// Whether SQLite's error says that the content is not what it must be; all others say that it could not be reached.
pub(super) fn blames_content(error: &rusqlite::Error) -> bool {
    use ErrorCode as C;
    match error.sqlite_error_code() {
        None => true,
        Some(code) => !matches!(
            code,
            C::CannotOpen
                | C::ReadOnly
                | C::SystemIoFailure
                | C::DatabaseBusy
                | C::DatabaseLocked
                | C::DiskFull
                | C::PermissionDenied
                | C::OutOfMemory
                | C::FileLockingProtocolFailed
                | C::OperationInterrupted
        ),
    }
}

/// An open index.
///
/// SQLite knows a database's companions by name only. So that nobody takes those of a new index for those of the one that
/// it replaces, the folder is locked: shared while an index is opened and while it is closed, alone while it is replaced.
pub(super) struct Handle {
    connection: Option<Connection>,
    /// The ledger's folder; `None` for an index in memory.
    folder: Option<PathBuf>,
}

impl Handle {
    /// The connection, which is there until the handle is dropped.
    pub(super) fn connection(&self) -> Result<&Connection, IndexError> {
        self.connection.as_ref().ok_or(IndexError::Unsettled)
    }

    /// Lets go of the file.
    pub(super) fn close(&mut self) {
        // Where the lock cannot be had, closing without it is still right unless a replacement is under way.
        let _lock = self.folder.take().map(|folder| lock(&folder, File::lock_shared));
        self.connection = None;
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.close();
    }
}

/// Locks the ledger's folder itself, which no writer of the ledger waits for.
fn lock(folder: &Path, how: impl FnOnce(&File) -> io::Result<()>) -> Result<File, IndexError> {
    let lock = File::open(folder).map_err(|source| failed("open", folder, source))?;
    how(&lock).map_err(|source| failed("lock", folder, source))?;
    Ok(lock)
}

/// Opens the index in `folder`, made anew where it must be, and brought up to the log.
pub(super) fn open<'a>(ledger: &'a Ledger, folder: &Path) -> Result<(Handle, Snapshot<'a>), IndexError> {
    let folder = fs::canonicalize(folder).map_err(|source| failed("find", folder, source))?;
    for attempt in 0..ATTEMPTS {
        let snapshot = ledger.snapshot()?;
        let shared = lock(&folder, File::lock_shared)?;
        let opened = current(ledger, &snapshot, &folder)
            .map(|(connection, progress)| (Some(connection).filter(|_| progress == Progress::Current), progress));
        drop(shared);
        match opened {
            Ok((Some(connection), _)) => {
                return Ok((Handle { connection: Some(connection), folder: Some(folder) }, snapshot));
            }
            // The log may have grown since the snapshot; but it may also have been put back to an older state.
            Ok((_, Progress::Ahead)) if attempt == 0 => {}
            Ok(_) | Err(Fault::Worthless) => replace(ledger, &folder, false)?,
            Err(Fault::Error(error)) => return Err(error),
        }
    }
    Err(IndexError::Unsettled)
}

/// Deletes the index in `folder` and makes it anew.
pub(super) fn rebuild(ledger: &Ledger, folder: &Path) -> Result<(), IndexError> {
    let folder = fs::canonicalize(folder).map_err(|source| failed("find", folder, source))?;
    replace(ledger, &folder, true)
}

fn failed(action: &'static str, path: &Path, source: io::Error) -> IndexError {
    IndexError::File { action, path: path.to_owned(), source }
}

/// Opens what is there and brings it up to the snapshot.
fn current(ledger: &Ledger, snapshot: &Snapshot<'_>, folder: &Path) -> Result<(Connection, Progress), Fault> {
    let path = folder.join(INDEX_FILE);
    if !plain(&path)? {
        return Err(Fault::Worthless);
    }
    for ending in BESIDE {
        // A database in WAL mode has no journal; somebody else's may name other files, and would be played back.
        if plain(&beside(&path, ending))? && ending == "-journal" {
            return Err(Fault::Worthless);
        }
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(&path, flags)?;
    harden(&connection)?;
    let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    if mode != "wal" {
        return Err(Fault::Worthless);
    }
    let progress = catch_up::bring(&connection, ledger.log(), snapshot)?;
    Ok((connection, progress))
}

/// Nothing in the file is trusted: its triggers and views do not run, and damage is looked for.
fn harden(connection: &Connection) -> Result<(), rusqlite::Error> {
    connection.busy_timeout(PATIENCE)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    connection.execute_batch("PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY")
}

/// Whether there is a plain file; anything else but nothing is refused.
fn plain(path: &Path) -> Result<bool, IndexError> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => Ok(true),
        Ok(_) => Err(IndexError::NotPlain { path: path.to_owned() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(source) => Err(failed("look at", path, source)),
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Makes the index anew, one process at a time.
///
/// Unless `always`, an index that another process made good in the meantime stays.
fn replace(ledger: &Ledger, folder: &Path, always: bool) -> Result<(), IndexError> {
    let _alone = lock(folder, File::lock)?;
    let snapshot = ledger.snapshot()?;
    if !always {
        match current(ledger, &snapshot, folder) {
            Ok((_, Progress::Current)) => return Ok(()),
            Ok(_) | Err(Fault::Worthless) => {}
            Err(Fault::Error(error)) => return Err(error),
        }
    }
    let (path, new) = (folder.join(INDEX_FILE), folder.join(NEW_FILE));
    for stale in [&path, &new] {
        remove(stale)?;
        BESIDE.iter().try_for_each(|ending| remove(&beside(stale, ending)))?;
    }
    let built = build(ledger, &snapshot, &new);
    let moved = built.and_then(|()| fs::rename(&new, &path).map_err(|source| failed("write", &path, source)));
    moved.inspect_err(|_| {
        let _ = fs::remove_file(&new);
    })
}

fn remove(path: &Path) -> Result<(), IndexError> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(failed("remove", path, source)),
        _ => Ok(()),
    }
}

fn build(ledger: &Ledger, snapshot: &Snapshot<'_>, path: &Path) -> Result<(), IndexError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(path, flags)?;
    harden(&connection)?;
    // Until it has its name nobody sees it, and a crash leaves nothing worth keeping.
    connection
        .execute_batch("PRAGMA journal_mode = OFF; PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -65536")?;
    catch_up::build(&connection, ledger.log(), snapshot)?;
    connection.execute_batch("PRAGMA locking_mode = NORMAL; PRAGMA journal_mode = WAL")?;
    connection.close().map_err(|(_, error)| error.into())
}

/// An index in memory, of the log as it is now.
pub(super) fn in_memory(ledger: &Ledger) -> Result<(Handle, Snapshot<'_>), IndexError> {
    let snapshot = ledger.snapshot()?;
    let connection = Connection::open_in_memory()?;
    harden(&connection)?;
    catch_up::build(&connection, ledger.log(), &snapshot)?;
    Ok((Handle { connection: Some(connection), folder: None }, snapshot))
}
