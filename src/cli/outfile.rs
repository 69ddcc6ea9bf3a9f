//! Files that commands write: which places they may take, and that a file appears whole or not at all, written beside its
//! place, made durable, and moved there.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::context::Context;
use super::failure::Failure;
use super::keyfile::is_inside_ledger;

/// A private key file says what it is within so many bytes.
const KEY_HEAD: u64 = 4096;

/// A place where a command may write a file. The one rule for all of them: never inside a ledger, never over what the
/// command reads, never over a private key, and over another file only with `--force`.
#[derive(Debug, Clone)]
pub struct OutFile {
    place: PathBuf,
    replaces: bool,
    mode: u32,
}

impl OutFile {
    /// The place, if it may be written to. `inputs` is what the command reads; those that are not there do not matter.
    pub fn at(place: &Path, force: bool, inputs: &[&Path], context: &Context) -> Result<Self, Failure> {
        let shown = place.display();
        let is_absent = match std::fs::symlink_metadata(place) {
            Ok(_) => false,
            Err(error) if error.kind() == io::ErrorKind::NotFound => true,
            Err(error) => return Err(failed(place, error)),
        };
        // A link that leads nowhere is a file that is there.
        let found = std::fs::metadata(place).ok();
        if found.as_ref().is_some_and(|found| !found.is_file()) {
            return Err(Failure::refused(format!("{shown} is not a plain file")));
        }
        if is_inside_ledger(place, context)? {
            return Err(Failure::refused(format!("{shown} is inside a ledger, where only the ledger writes"))
                .hint("name a place outside the ledger's folder"));
        }
        let same = |input: &&&Path| {
            let (Some(found), Ok(input)) = (&found, std::fs::metadata(input)) else { return false };
            (found.dev(), found.ino()) == (input.dev(), input.ino())
        };
        if let Some(input) = inputs.iter().find(same) {
            return Err(Failure::refused(format!("this would overwrite {}, which the command reads", input.display()))
                .hint("name another file to write to"));
        }
        if found.is_some() && is_private_key(place) {
            return Err(Failure::refused(format!("{shown} is a private key, and keys are never overwritten"))
                .hint("name another file to write to"));
        }
        if !is_absent && !force {
            return Err(
                Failure::refused(format!("{shown} exists already")).hint("`--force` replaces it; or name another file")
            );
        }
        Ok(Self { place: place.to_owned(), replaces: force, mode: 0o666 })
    }

    /// The same, for its owner's eyes only.
    pub fn private(self) -> Self {
        Self { mode: 0o600, ..self }
    }

    /// Where it is.
    pub fn place(&self) -> &Path {
        &self.place
    }
}

/// Whether a file is a private key, as far as it can be read.
fn is_private_key(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(KEY_HEAD).read_to_end(&mut head));
    let has = |words: &[u8]| head.windows(words.len()).any(|part| part == words);
    read.is_ok() && (has(b"PRIVATE KEY-----") || head.starts_with(b"PRIVATE+KEY+"))
}

fn failed(place: &Path, error: io::Error) -> Failure {
    Failure::failed(error).within(format!("cannot write {}", place.display()))
}

/// A file that is written and not yet in its place.
pub struct StagedFile {
    staged: PathBuf,
    out: OutFile,
}

impl StagedFile {
    /// Writes `bytes` beside the place, durably. What stands there is left alone until [`StagedFile::publish`].
    pub fn write(out: OutFile, bytes: &[u8]) -> Result<Self, Failure> {
        let place = out.place.clone();
        Self::write_with(out, |out| out.write_all(bytes).map_err(|error| failed(&place, error)))
            .map(|(staged, ())| staged)
    }

    /// The same where the bytes are made on the way; hands back what `make` does.
    pub fn write_with<T>(
        out: OutFile,
        make: impl FnOnce(&mut dyn Write) -> Result<T, Failure>,
    ) -> Result<(Self, T), Failure> {
        let place = out.place.clone();
        let failed = |error| failed(&place, error);
        let name = place.file_name().ok_or_else(|| Failure::refused(format!("{} names no file", place.display())))?;
        let mut beside = std::ffi::OsString::from(".");
        beside.push(name);
        beside.push(format!(".{}.part", std::process::id()));
        let staged = place.with_file_name(beside);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(out.mode);
        let mut file = BufWriter::new(options.open(&staged).map_err(failed)?);
        let staged = Self { staged, out };
        let made = make(&mut file)?;
        let file = file.into_inner().map_err(|error| failed(error.into_error()))?;
        file.sync_all().map_err(failed)?;
        Ok((staged, made))
    }

    /// Puts it in its place. What came there meanwhile is replaced only with `--force`.
    pub fn publish(self) -> Result<(), Failure> {
        let place = &self.out.place;
        if self.out.replaces {
            std::fs::rename(&self.staged, place).map_err(|error| failed(place, error))?;
        } else {
            // A hard link, unlike a rename, never replaces what is there.
            match std::fs::hard_link(&self.staged, place) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    return Err(Failure::refused(format!("{} exists already", place.display()))
                        .hint("something else wrote it meanwhile"));
                }
                // There are file systems without hard links.
                Err(_) => std::fs::rename(&self.staged, place).map_err(|error| failed(place, error))?,
            }
        }
        let folder = match place.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| failed(place, error))
    }
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        // Gone already where it was moved to its place.
        let _ = std::fs::remove_file(&self.staged);
    }
}
