//! Evidence: whole files under the BLAKE3 of their raw bytes, raw or compressed with Zstandard (`.zst`).
//!
//! What is stored is hashed again while it is written, so an object can never hold other bytes than its name says, even
//! if the source file changes under our hands.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Name, Store, StoreError};
use crate::object::{ObjectId, Sha256};

/// The largest object, in bytes (1 TiB).
pub const MAX_OBJECT_BYTES: u64 = 1 << 40;

/// Objects of at least this many bytes are compressed where that makes them smaller; below it the bytes stay as they
/// are, so that small ledgers are the same on every machine and with every version of the compressor.
pub const COMPRESS_FROM: u64 = 64 << 10;

/// Files of at least this many bytes are mapped and hashed on all cores.
pub(super) const MAP_FROM: u64 = 1 << 20;

/// How much of a file is read before it is hashed.
const READ_AT_ONCE: usize = 4 << 20;

/// Compression is tried on this much of a file before all of it.
const SAMPLE: usize = 128 << 10;

/// Zstandard's fastest regular level: evidence is written once and read rarely.
const LEVEL: i32 = 1;

/// Objects of at least this many bytes are worth threads beside the one that reads, checks and writes. Whether those
/// compress depends on the size alone, and their number changes no byte of what they make.
const THREADS_FROM: u64 = 8 << 20;

/// The most of them; each takes some 3 MiB.
const MOST_THREADS: usize = 8;

/// A compressed object may ask its reader for a window of at most 2^23 bytes (8 MiB), as RFC 8878 section 3.1.1.1.2
/// recommends; level 1 asks for less.
const MAX_WINDOW_LOG: u32 = 23;

/// What a receipt says of a file: both digests and the length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digests {
    /// The object id.
    pub blake3: ObjectId,
    /// For tools that know no BLAKE3.
    pub sha256: Sha256,
    /// In bytes.
    pub size: u64,
}

/// How an object is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectState {
    /// Not in the store.
    Absent,
    /// There, and its bytes are what its name says.
    Intact,
    /// There, with other bytes (or more, or not decompressible).
    Damaged,
}

fn raw_name(id: &ObjectId) -> Result<Name, StoreError> {
    let hex = id.to_string();
    format!("objects/{}/{}", &hex[..2], &hex[2..]).parse()
}

fn compressed_name(id: &ObjectId) -> Result<Name, StoreError> {
    format!("{}.zst", raw_name(id)?).parse()
}

/// Both digests of bytes in memory.
pub fn digest_slice(bytes: &[u8]) -> Digests {
    let (blake3, sha256) = rayon_join(bytes);
    Digests { blake3, sha256, size: bytes.len() as u64 }
}

fn rayon_join(bytes: &[u8]) -> (ObjectId, Sha256) {
    if (bytes.len() as u64) < MAP_FROM {
        return (ObjectId::of(bytes), Sha256::of(bytes));
    }
    let mut hasher = blake3::Hasher::new();
    let (blake3, sha256) = rayon::join(|| *hasher.update_rayon(bytes).finalize().as_bytes(), || Sha256::of(bytes));
    (ObjectId::from_bytes(blake3), sha256)
}

/// Both digests of a file outside the store, in one pass and bounded memory.
pub fn digest_file(path: &Path) -> Result<Digests, StoreError> {
    let mut hashing = Hashing::default();
    each_part(path, |part, next| hashing.update(part, next))?;
    Ok(hashing.finish())
}

/// Reads the next part of a file, and says how many bytes that are; 0 at its end.
type ReadNext<'a> = &'a mut (dyn FnMut() -> io::Result<usize> + Send);

/// Reads a file in parts. What is handed to `visit` with each part reads the next one: it is to be called meanwhile, and
/// what it answers handed back.
fn each_part(path: &Path, mut visit: impl FnMut(&[u8], ReadNext<'_>) -> io::Result<usize>) -> Result<(), StoreError> {
    let failed = |error| StoreError::io("read", path.display(), error);
    let mut file = plain_file(path)?;
    let (mut part, mut next) = (vec![0u8; READ_AT_ONCE], vec![0u8; READ_AT_ONCE]);
    let mut filled = file.read(&mut part).map_err(failed)?;
    while filled > 0 {
        filled = visit(&part[..filled], &mut || file.read(&mut next)).map_err(failed)?;
        std::mem::swap(&mut part, &mut next);
    }
    Ok(())
}

fn plain_file(path: &Path) -> Result<File, StoreError> {
    // O_NONBLOCK: a FIFO must not hang us before we see what it is.
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path);
    let file = opened.map_err(|error| StoreError::io("open", path.display(), error))?;
    let found = file.metadata().map_err(|error| StoreError::io("look at", path.display(), error))?;
    if found.is_dir() {
        return Err(StoreError::io("read", path.display(), io::ErrorKind::IsADirectory.into()));
    }
    if !found.is_file() {
        let found = if found.file_type().is_fifo() { "a FIFO" } else { "a device" };
        return Err(StoreError::NotPlain { name: path.display().to_string(), found, wanted: "a plain file" });
    }
    if found.len() > MAX_OBJECT_BYTES {
        return Err(StoreError::TooLarge { name: path.display().to_string(), limit: MAX_OBJECT_BYTES });
    }
    Ok(file)
}

#[derive(Default)]
struct Hashing {
    blake3: blake3::Hasher,
    sha256: sha2::Sha256,
    size: u64,
}

impl Hashing {
    /// Takes the next bytes; on another core, where they are many, does something else meanwhile.
    fn update<T: Send>(&mut self, bytes: &[u8], meanwhile: impl FnOnce() -> T + Send) -> T {
        use sha2::Digest;
        let Self { blake3, sha256, size } = self;
        *size += bytes.len() as u64;
        if bytes.len() < MAP_FROM as usize {
            blake3.update(bytes);
            sha256.update(bytes);
            return meanwhile();
        }
        // SHA-256 has one long thread of work, and takes the most time.
        let beside = || {
            blake3.update_rayon(bytes);
            meanwhile()
        };
        rayon::join(|| sha256.update(bytes), beside).1
    }

    fn finish(self) -> Digests {
        use sha2::Digest;
        Digests {
            blake3: ObjectId::from_bytes(*self.blake3.finalize().as_bytes()),
            sha256: Sha256::from_bytes(self.sha256.finalize().into()),
            size: self.size,
        }
    }
}

/// Stores bytes in memory as an object; storing them again changes nothing, and heals a damaged copy.
pub fn put_slice(store: &dyn Store, bytes: &[u8]) -> Result<Digests, StoreError> {
    let digests = digest_slice(bytes);
    put_checked(store, digests.into(), &mut || Ok(Box::new(bytes)), "object")?;
    Ok(digests)
}

/// Stores a file as an object; the file is read twice, and refused if it changed in between.
pub fn put_file(store: &dyn Store, path: &Path) -> Result<Digests, StoreError> {
    let source = path.display().to_string();
    let size = plain_file(path)?.metadata().map_err(|error| StoreError::io("look at", &source, error))?.len();
    if size >= THREADS_FROM {
        return put_large(store, path, &source);
    }
    let digests = digest_file(path)?;
    put_checked(store, digests.into(), &mut || Ok(Box::new(plain_file(path)?)), &source)?;
    Ok(digests)
}

/// Stores a large file. Compressing and writing take about as long as SHA-256, so both are done at once, and only what names
/// the object is needed before. The file is read three times, and every time it must be the same.
fn put_large(store: &dyn Store, path: &Path, source: &str) -> Result<Digests, StoreError> {
    let address = address_of(path)?;
    let given_up = AtomicBool::new(false);
    let digest = || {
        let mut hashing = Hashing::default();
        let part = |part: &[u8], next: ReadNext<'_>| match given_up.load(Ordering::Relaxed) {
            true => Ok(0),
            false => hashing.update(part, next),
        };
        each_part(path, part).map(|()| hashing.finish())
    };
    let digests = std::thread::scope(|scope| {
        let digesting = std::thread::Builder::new().spawn_scoped(scope, digest);
        let digesting = digesting.map_err(|error| StoreError::io("start a thread to read", source, error))?;
        let put = put_checked(store, address, &mut || Ok(Box::new(plain_file(path)?)), source);
        put.inspect_err(|_| given_up.store(true, Ordering::Relaxed))?;
        digesting.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    if Address::from(digests) == address { Ok(digests) } else { Err(changed(source)) }
}

/// Stores bytes whose digests are known, read from the start as often as asked; refused if they are others.
pub fn put_from<'a>(
    store: &dyn Store,
    digests: &Digests,
    mut open: impl FnMut() -> Box<dyn Read + 'a>,
    source: &str,
) -> Result<(), StoreError> {
    put_checked(store, (*digests).into(), &mut || Ok(open()), source)
}

/// What an object is named by, and its length.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Address {
    blake3: ObjectId,
    size: u64,
}

impl From<Digests> for Address {
    fn from(Digests { blake3, size, .. }: Digests) -> Self {
        Self { blake3, size }
    }
}

/// The address of a file outside the store, on all cores and in bounded memory.
fn address_of(path: &Path) -> Result<Address, StoreError> {
    let mut hasher = blake3::Hasher::new();
    each_part(path, |part, next| rayon::join(|| _ = hasher.update_rayon(part), next).1)?;
    Ok(Address { blake3: ObjectId::from_bytes(*hasher.finalize().as_bytes()), size: hasher.count() })
}

fn changed(source: &str) -> StoreError {
    StoreError::Changed { name: source.to_owned() }
}

/// Opens the source once more from its start.
type Reopen<'a> = &'a mut dyn FnMut() -> Result<Box<dyn Read + 'a>, StoreError>;

fn put_checked(store: &dyn Store, address: Address, reopen: Reopen<'_>, source: &str) -> Result<(), StoreError> {
    let (raw, compressed) = (raw_name(&address.blake3)?, compressed_name(&address.blake3)?);
    match object_state(store, &address.blake3, address.size)? {
        ObjectState::Intact => {
            let held = if store.size(&raw)?.is_some() { raw } else { compressed };
            // Whoever wrote it may have died before it was durable.
            return store.settle(&[held]);
        }
        ObjectState::Damaged => {
            store.remove(&raw)?;
            store.remove(&compressed)?;
        }
        ObjectState::Absent => {}
    }
    let shrink = address.size >= COMPRESS_FROM && compresses(reopen()?, source)?;
    let mut checked = Checked { inner: reopen()?, hasher: blake3::Hasher::new(), address };
    let outcome = if shrink {
        encoder(checked)
            .map_err(|error| StoreError::io("compress", source, error))
            .and_then(|mut encoder| store.put(&compressed, &mut encoder))
    } else {
        store.put(&raw, &mut checked)
    };
    outcome.map_err(|error| match error {
        StoreError::Io { source: cause, .. } if cause.kind() == io::ErrorKind::InvalidData => changed(source),
        other => other,
    })
}

fn encoder(checked: Checked<'_>) -> io::Result<impl Read> {
    let size = checked.address.size;
    let mut encoder = zstd::stream::read::Encoder::new(checked, LEVEL)?;
    if size >= THREADS_FROM {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        encoder.multithread(cores.min(MOST_THREADS) as u32)?;
    }
    Ok(encoder)
}

/// Whether the first bytes shrink by a tenth or more.
fn compresses(source: Box<dyn Read + '_>, name: &str) -> Result<bool, StoreError> {
    let failed = |error| StoreError::io("read", name, error);
    let mut sample = Vec::with_capacity(SAMPLE);
    source.take(SAMPLE as u64).read_to_end(&mut sample).map_err(failed)?;
    let smaller = zstd::bulk::compress(&sample, LEVEL).map_err(failed)?;
    Ok(smaller.len() < sample.len() / 10 * 9)
}

/// Passes bytes on and fails at the end if they are not those that were promised.
struct Checked<'a> {
    inner: Box<dyn Read + 'a>,
    hasher: blake3::Hasher,
    address: Address,
}

impl Read for Checked<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.hasher.update(&buffer[..count]);
        if count == 0 && self.hasher.finalize().as_bytes() != self.address.blake3.as_bytes() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the bytes changed"));
        }
        Ok(count)
    }
}

/// Opens an object's raw bytes; at most `size` and one more are ever produced, whatever a compressed file claims.
pub fn open_object(store: &dyn Store, id: &ObjectId, size: u64) -> Result<Option<Box<dyn Read + Send>>, StoreError> {
    if let Some(raw) = store.open(&raw_name(id)?)? {
        return Ok(Some(Box::new(raw.take(size.saturating_add(1)))));
    }
    let name = compressed_name(id)?;
    let Some(compressed) = store.open(&name)? else { return Ok(None) };
    let decoder = zstd::stream::read::Decoder::new(compressed);
    let decoder = decoder.and_then(|mut decoder| decoder.window_log_max(MAX_WINDOW_LOG).map(|()| decoder));
    let decoder = decoder.map_err(|error| StoreError::io("decompress", &name, error))?;
    Ok(Some(Box::new(decoder.take(size.saturating_add(1)))))
}

/// Whether an object of this size is held, and intact.
pub fn object_state(store: &dyn Store, id: &ObjectId, size: u64) -> Result<ObjectState, StoreError> {
    let judged = |same: bool| if same { ObjectState::Intact } else { ObjectState::Damaged };
    let raw = raw_name(id)?;
    if let Some(found) = store.size(&raw)? {
        // A sparse file costs its maker nothing and a reader hours: only what has the right length is hashed.
        let hash = if found == size { store.hash(&raw)? } else { None };
        return Ok(judged(hash.is_some_and(|(hash, found)| found == size && hash.as_bytes() == id.as_bytes())));
    }
    let Some(mut content) = open_object(store, id, size)? else { return Ok(ObjectState::Absent) };
    let mut hasher = blake3::Hasher::new();
    match io::copy(&mut content, &mut hasher) {
        Ok(found) => Ok(judged(found == size && hasher.finalize().as_bytes() == id.as_bytes())),
        // A compressed file that cannot be decompressed is damage to report, not an accident of this run.
        Err(_) => Ok(ObjectState::Damaged),
    }
}

/// Reads a whole object, checked against its id; `None` where it is not held.
pub fn read_object(store: &dyn Store, id: &ObjectId, size: u64) -> Result<Option<Vec<u8>>, StoreError> {
    let damaged = || StoreError::Damaged { name: id.to_string() };
    if size < COMPRESS_FROM
        && let Some(shelf) = store.shelf(id)
    {
        let mut bytes = Vec::new();
        if shelf.read(id, size as usize, &mut bytes) && ObjectId::of(&bytes) == *id {
            return Ok(Some(bytes));
        }
    }
    if store.size(&raw_name(id)?)?.is_some_and(|found| found != size) {
        return Err(damaged());
    }
    let Some(mut content) = open_object(store, id, size)? else { return Ok(None) };
    let mut bytes = Vec::new();
    content.read_to_end(&mut bytes).map_err(|_| damaged())?;
    let mut hasher = blake3::Hasher::new();
    let hash =
        if bytes.len() as u64 >= MAP_FROM { hasher.update_rayon(&bytes) } else { hasher.update(&bytes) }.finalize();
    if bytes.len() as u64 != size || hash.as_bytes() != id.as_bytes() {
        return Err(damaged());
    }
    Ok(Some(bytes))
}
