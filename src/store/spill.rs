//! Bytes that are written once and read back soon: in memory while they are few, then in a file without a name.
//!
//! The file loses its name as soon as it is open, so that nothing is left of it however the process ends.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::StoreError;

/// Up to this many bytes stay in memory.
const HELD: usize = 1 << 20;

/// So many names are tried where others stand already.
const TRIES: u64 = 1000;

/// What messages call the file.
const NAME: &str = "a temporary file";

/// Bytes on their way.
#[derive(Debug)]
pub struct Spill {
    folder: Option<PathBuf>,
    held: Vec<u8>,
    file: Option<File>,
    size: u64,
}

impl Spill {
    /// Nothing yet. Its file, if it comes to need one, is in this folder, which must be there and no link, or in the system's
    /// for temporary files.
    pub fn new(folder: Option<&Path>) -> Self {
        Self { folder: folder.map(Path::to_path_buf), held: Vec::new(), file: None, size: 0 }
    }

    /// How many bytes there are.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Writes at the end.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.size += bytes.len() as u64;
        if self.file.is_none() && self.held.len() + bytes.len() <= HELD {
            self.held.extend_from_slice(bytes);
            return Ok(());
        }
        let folder = self.folder.clone().unwrap_or_else(std::env::temp_dir);
        let failed = |source| StoreError::io("write", format!("{NAME} in {}", folder.display()), source);
        let mut file = match self.file.take() {
            Some(file) => file,
            None => {
                if self.folder.is_some() && !fs::symlink_metadata(&folder).map_err(failed)?.is_dir() {
                    return Err(failed(io::ErrorKind::NotADirectory.into()));
                }
                let mut file = nameless(&folder).map_err(failed)?;
                file.write_all(&self.held).map_err(failed)?;
                self.held = Vec::new();
                file
            }
        };
        file.write_all(bytes).map_err(failed)?;
        self.file = Some(file);
        Ok(())
    }

    /// Fills the buffer with what stands at an offset.
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), StoreError> {
        let read = match &self.file {
            Some(file) => file.read_exact_at(buffer, offset),
            None => usize::try_from(offset)
                .ok()
                .and_then(|start| self.held.get(start..)?.get(..buffer.len()))
                .map(|found| buffer.copy_from_slice(found))
                .ok_or_else(|| io::ErrorKind::UnexpectedEof.into()),
        };
        read.map_err(|source| StoreError::io("read", NAME, source))
    }

    /// Reads it from the start.
    pub fn reader(&self) -> impl Read + Send + '_ {
        Reader { spill: self, at: 0 }
    }
}

/// A file that only this process has.
fn nameless(folder: &Path) -> io::Result<File> {
    static SERIAL: AtomicU64 = AtomicU64::new(0);
    for _ in 0..TRIES {
        // A writer that finds one in `staging/`, left by a process that died just here or not, removes it.
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("tmp-{}-spill-{serial}", std::process::id()));
        match OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => return Ok(file),
            },
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

struct Reader<'a> {
    spill: &'a Spill,
    at: u64,
}

impl Read for Reader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match &self.spill.file {
            Some(file) => file.read_at(buffer, self.at)?,
            None => {
                let mut rest = self.spill.held.get(self.at as usize..).unwrap_or_default();
                rest.read(buffer)?
            }
        };
        self.at += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_whether_in_memory_or_in_a_file_that_nobody_sees() {
        let folder = std::env::temp_dir().join(format!("proofmark-spill-test-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        for pieces in [1, 3, 400] {
            let mut spill = Spill::new(Some(&folder));
            let mut all = Vec::new();
            for at in 0..pieces {
                let piece = vec![at as u8; 10_000];
                spill.append(&piece).unwrap();
                all.extend(piece);
            }
            assert_eq!(spill.file.is_some(), all.len() > HELD);
            assert_eq!(spill.size(), all.len() as u64);
            let mut read = Vec::new();
            spill.reader().read_to_end(&mut read).unwrap();
            assert!(read == all);
            let mut middle = [9; 3];
            spill.read_at(9_999, &mut middle).ok();
            assert_eq!(middle[0], if pieces == 1 { 9 } else { 0 });
            assert!(spill.read_at(all.len() as u64 - 1, &mut middle).is_err());
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        }
        let link = folder.join("link");
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        let error = Spill::new(Some(&link)).append(&vec![0; HELD + 1]).unwrap_err().to_string();
        assert!(error.starts_with("cannot write `a temporary file in "), "{error}");
        fs::remove_dir_all(&folder).unwrap();
    }
}
