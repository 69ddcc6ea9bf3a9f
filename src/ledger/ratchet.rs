//! What this machine last saw of a log, kept outside the ledger: a log may grow, never shrink or change.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::{LedgerError, LogIdentity, Snapshot, fork};
use crate::object::{ObjectId, Sha256};

/// A folder with one checkpoint per log, named by log key and origin.
#[derive(Debug, Clone)]
pub struct Ratchet {
    folder: PathBuf,
}

impl Ratchet {
    /// The ratchet in `folder` (the user's state folder), which need not exist yet.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    fn path(&self, log: &LogIdentity) -> PathBuf {
        // The verifier key holds origin and key, so logs cannot be confused.
        self.folder.join(format!("{}.checkpoint", ObjectId::of(log.key.to_string().as_bytes())))
    }

    /// What was seen of a log, if anything. Read it before the ledger: a log that grows in between is no rollback.
    pub fn seen(&self, log: &LogIdentity) -> Result<Option<Vec<u8>>, LedgerError> {
        let path = self.path(log);
        match fs::read(&path) {
            // Also an empty one, which is no checkpoint: something went wrong with it, and nobody is told by passing over it.
            Ok(note) => Ok(Some(note)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(LedgerError::Ratchet { action: "read", path, source }),
        }
    }

    /// Refuses a ledger that shrank or forked against what was seen; a log never seen before is believed.
    pub fn check(&self, log: &LogIdentity, seen: Option<&[u8]>, snapshot: &Snapshot<'_>) -> Result<(), LedgerError> {
        let Some(seen_note) = seen else { return Ok(()) };
        let damaged = |_| LedgerError::RatchetDamaged { path: self.path(log) };
        let seen = log.checkpoint(seen_note).map_err(damaged)?;
        if seen.size() > snapshot.size() {
            return Err(fork::rolled_back(log, seen_note, snapshot.note()));
        }
        let mut tiles = snapshot.tiles()?;
        let root =
            if seen.size() == snapshot.size() { snapshot.checkpoint().root() } else { tiles.root_at(seen.size())? };
        if root == seen.root() {
            return Ok(());
        }
        let proof: Vec<Sha256> = if seen.size() == snapshot.size() {
            Vec::new()
        } else {
            tiles.consistency(seen.size(), snapshot.size())?
        };
        Err(fork::forked(log, seen_note, snapshot.note(), root, proof))
    }

    /// Remembers a checkpoint. A crash that loses it only makes the ratchet look back less far.
    pub fn remember(&self, log: &LogIdentity, note: &[u8]) -> Result<(), LedgerError> {
        let path = self.path(log);
        let failed = |action, path: &Path, source| LedgerError::Ratchet { action, path: path.to_owned(), source };
        fs::create_dir_all(&self.folder).map_err(|error| failed("make", &self.folder, error))?;
        let fresh = path.with_extension(format!("tmp-{}", std::process::id()));
        let written = fs::File::create(&fresh).and_then(|mut file| {
            file.write_all(note)?;
            // A file system that lets a new name outrun its content keeps the order where a name is replaced.
            if path.exists() { Ok(()) } else { file.sync_data() }
        });
        written.map_err(|error| failed("write", &fresh, error))?;
        fs::rename(&fresh, &path).map_err(|error| failed("write", &path, error))
    }
}
