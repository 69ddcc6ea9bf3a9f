//! A file that appears whole or not at all: written beside its place, made durable, and renamed.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::failure::Failure;

/// A file that is written and not yet in its place.
pub struct StagedFile {
    staged: PathBuf,
    place: PathBuf,
}

impl StagedFile {
    /// Writes `bytes` beside `place`, durably. What stands at `place` is left alone until [`StagedFile::publish`], and
    /// must be a plain file or nothing.
    pub fn write(place: &Path, bytes: &[u8]) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| Failure::failed(error).hint(place.display().to_string());
        Self::write_with(place, |out| out.write_all(bytes).map_err(failed)).map(|(staged, ())| staged)
    }

    /// The same where the bytes are made on the way; hands back what `make` does.
    pub fn write_with<T>(
        place: &Path,
        make: impl FnOnce(&mut dyn Write) -> Result<T, Failure>,
    ) -> Result<(Self, T), Failure> {
        let failed = |error: std::io::Error| Failure::failed(error).hint(place.display().to_string());
        match std::fs::metadata(place) {
            Ok(found) if !found.is_file() => {
                return Err(Failure::refused(format!("{} is not a plain file", place.display())));
            }
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        let name = place.file_name().ok_or_else(|| Failure::refused(format!("{} names no file", place.display())))?;
        let mut beside = std::ffi::OsString::from(".");
        beside.push(name);
        beside.push(format!(".{}.part", std::process::id()));
        let staged = Self { staged: place.with_file_name(beside), place: place.to_owned() };
        let mut out = BufWriter::new(File::create_new(&staged.staged).map_err(failed)?);
        let made = make(&mut out)?;
        let file = out.into_inner().map_err(|error| failed(error.into_error()))?;
        file.sync_all().map_err(failed)?;
        Ok((staged, made))
    }

    /// Puts it in its place.
    pub fn publish(self) -> Result<(), Failure> {
        let failed = |error: std::io::Error| Failure::failed(error).hint(self.place.display().to_string());
        std::fs::rename(&self.staged, &self.place).map_err(failed)?;
        let folder = match self.place.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)
    }
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        // Gone already where it was published.
        let _ = std::fs::remove_file(&self.staged);
    }
}
