//! Key files: read with care; made whole or not at all, readable by their owner only, and never over another file.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

use proofmark::trust::Zeroizing;

use super::context::{Context, LEDGER};
use super::failure::Failure;
use super::keys::KeyError;

/// Several times the largest RSA key, so that a key of another kind can still be named.
const MOST_BYTES: u64 = 64 << 10;
/// Others may do nothing with a private key.
const OTHERS: u32 = 0o077;

/// What a key file holds.
pub struct KeyFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its text.
    pub text: Zeroizing<String>,
    mode: u32,
}

impl KeyFile {
    /// Reads a file of at most 64 KiB. A folder, a FIFO or a device is refused without waiting for it.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let unreadable = |source| Failure::failed(KeyError::Io { action: "read", path: path.to_owned(), source });
        // O_NONBLOCK: opening a FIFO would wait for its writer.
        let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path);
        let file = opened.map_err(unreadable)?;
        let found = file.metadata().map_err(unreadable)?;
        if !found.is_file() {
            let kind = if found.is_dir() { "a folder" } else { "not a regular file" };
            return Err(Failure::refused(format!("`{}` is {kind}, and a key file is wanted", path.display()))
                .hint("name the key file itself; `PROOFMARK_KEY` takes a key's text from the environment"));
        }
        // Room for all that is read: growing would leave a copy behind that nobody wipes.
        let most = found.len().min(MOST_BYTES) + 1;
        let mut bytes = Zeroizing::new(Vec::with_capacity(most as usize));
        file.take(most).read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(Failure::refused(format!("`{}` is longer than any key (64 KiB)", path.display())));
        }
        let text = std::str::from_utf8(&bytes)
            .map_err(|_| Failure::refused(format!("`{}` is not a key file: it is not text", path.display())))?;
        Ok(Self { path: path.to_owned(), text: Zeroizing::new(text.to_owned()), mode: found.mode() & 0o7777 })
    }

    /// Refuses a private key that others than its owner can reach, as ssh does.
    pub fn refuse_exposed(&self) -> Result<(), Failure> {
        if self.mode & OTHERS == 0 {
            return Ok(());
        }
        let path = self.path.display();
        Err(Failure::refused(format!(
            "the private key `{path}` is open to others than its owner (mode {:04o})",
            self.mode
        ))
        .hint(format!("`chmod 600 {path}` closes it; if others may have read it, make a new key instead")))
    }
}

/// Refuses a place inside a ledger: private keys never live there, since ledgers are copied and published.
pub fn refuse_inside_ledger(path: &Path, context: &Context) -> Result<(), Failure> {
    if !is_inside_ledger(path, context)? {
        return Ok(());
    }
    Err(Failure::refused(format!("`{}` is inside a ledger, and private keys never are", path.display()))
        .hint("move the key out of the ledger's folder, and take it for known to all who have the ledger"))
}

/// Whether a place is inside a ledger: the one at hand, one by the usual name, or a folder that looks like one.
pub fn is_inside_ledger(path: &Path, context: &Context) -> Result<bool, Failure> {
    let place = resolved(path)?;
    let named = context.ledger_folder().ok().and_then(|folder| resolved(&folder).ok());
    let looks_like_one = |folder: &Path| folder.join("config.toml").is_file() && folder.join("tile").is_dir();
    Ok(named.is_some_and(|ledger| place.starts_with(ledger))
        || place.components().any(|part| part == Component::Normal(LEDGER.as_ref()))
        || place.ancestors().skip(1).any(looks_like_one))
}

/// The path without symbolic links, as far as it exists.
pub fn resolved(path: &Path) -> Result<PathBuf, Failure> {
    let whole = std::path::absolute(path)?;
    for known in whole.ancestors() {
        if let Ok(real) = known.canonicalize() {
            let rest = whole.strip_prefix(known).unwrap_or(Path::new(""));
            return Ok(if rest.as_os_str().is_empty() { real } else { real.join(rest) });
        }
    }
    Ok(whole)
}

/// The file of the public half: the same name and `.pub`.
pub fn public_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".pub");
    PathBuf::from(name)
}

/// Writes a private key and its public line beside it, both new: when this returns, they are durable. A private key
/// is whole or not there, whatever happens.
pub fn create_pair(path: &Path, private: &str, public_line: &str) -> Result<(), Failure> {
    refuse_taken(path)?;
    create(path, private, 0o600)?;
    create(&public_path(path), public_line, 0o644)
}

/// As [`create_pair`], without a public line.
pub fn create_private(path: &Path, private: &str) -> Result<(), Failure> {
    create(path, private, 0o600)
}

/// Whether there is nothing at all at a place.
pub fn is_absent(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Refuses a place where either half of a key is already.
pub fn refuse_taken(path: &Path) -> Result<(), Failure> {
    for taken in [path.to_owned(), public_path(path)] {
        if !is_absent(&taken) {
            return Err(Failure::refused(format!("`{}` exists, and keys are never overwritten", taken.display()))
                .hint("choose another place, or move the file away"));
        }
    }
    Ok(())
}

/// Writes a new file of this mode. Folders above it are made for its owner only.
fn create(path: &Path, text: &str, mode: u32) -> Result<(), Failure> {
    let failed = |source| Failure::failed(KeyError::Io { action: "write", path: path.to_owned(), source });
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    let name = path.file_name().ok_or_else(|| failed(io::ErrorKind::InvalidFilename.into()))?;
    let fresh = folder.join(format!(".{}.tmp-{}", name.to_string_lossy(), std::process::id()));
    let written = write_new(&fresh, text, mode).and_then(|()| {
        // A hard link, unlike a rename, never replaces what is there.
        fs::hard_link(&fresh, path)
    });
    let removed = fs::remove_file(&fresh);
    written.and(removed).and_then(|()| File::open(folder)?.sync_all()).map_err(failed)
}

fn write_new(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
