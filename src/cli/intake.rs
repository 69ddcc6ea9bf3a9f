//! Files on their way into the ledger: read once, checked as records, and only then stored as evidence.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use proofmark::ledger::MAX_RECORD_BYTES;
use proofmark::object::{FieldError, MAX_LINE_BYTES, MAX_RECORDS, ObjectId, RecordError, Sha256};
use proofmark::receipt::{Evidence, Role, Subject, Text};
use proofmark::store::{Digests, Store, digest_file, put_file, put_slice};

use super::failure::Failure;

/// A document of a few members, such as a scorecard, has at most this many bytes (1 MiB).
const MAX_DOCUMENT_BYTES: u64 = 1 << 20;

/// Bytes that are read at a time, fewer than a line may have.
const BLOCK: usize = 1 << 20;

/// A file of records or one document, read whole, under the name the user gave it.
pub struct RecordFile {
    /// The name for messages.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl RecordFile {
    /// Reads records, one a line. A line or a file that no reader of records would take is refused as soon as it shows, not
    /// once it is in memory.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let mut file = open_plain(path).map_err(|source| unreadable(&name, source))?;
        let mut bytes = Vec::new();
        let (mut lines, mut line_start) = (0, 0);
        loop {
            let known = bytes.len();
            let taken = file.by_ref().take(BLOCK as u64).read_to_end(&mut bytes);
            let taken = taken.map_err(|source| unreadable(&name, source))?;
            let block = &bytes[known..];
            let refused = |line: usize, reason| RecordError::new(&name, line, FieldError::new("", reason)).into();
            // A line that begins and ends within a block is short enough.
            let first_end = block.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| known + at);
            if first_end - line_start > MAX_LINE_BYTES {
                return Err(refused(lines + 1, format!("the line is longer than {MAX_LINE_BYTES} bytes")));
            }
            if let Some(last_end) = block.iter().rposition(|byte| *byte == b'\n') {
                line_start = known + last_end + 1;
                lines += block.iter().filter(|byte| **byte == b'\n').count();
            }
            if lines > MAX_RECORDS || (lines == MAX_RECORDS && line_start < bytes.len()) {
                return Err(refused(MAX_RECORDS + 1, format!("the file holds more than {MAX_RECORDS} records")));
            }
            if bytes.len() as u64 > MAX_RECORD_BYTES {
                return Err(RecordError::whole(&name, format!("is larger than {MAX_RECORD_BYTES} bytes")).into());
            }
            if taken == 0 {
                return Ok(Self { name, bytes });
            }
        }
    }

    /// Reads a document of at most [`MAX_DOCUMENT_BYTES`].
    pub fn read_document(path: &Path) -> Result<Self, Failure> {
        Self::read_up_to(path, MAX_DOCUMENT_BYTES)
    }

    /// Reads a document of at most `limit` bytes.
    pub fn read_up_to(path: &Path, limit: u64) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let mut bytes = Vec::new();
        let read = open_plain(path).and_then(|file| file.take(limit + 1).read_to_end(&mut bytes));
        read.map_err(|source| unreadable(&name, source))?;
        if bytes.len() as u64 > limit {
            return Err(RecordError::whole(&name, format!("is larger than {limit} bytes")).into());
        }
        Ok(Self { name, bytes })
    }
}

/// A file that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read `{name}`")]
pub struct Unreadable {
    /// What the user called it.
    pub name: String,
    /// The system's reason.
    #[source]
    pub source: io::Error,
}

fn unreadable(name: &str, source: io::Error) -> Failure {
    Failure::failed(Unreadable { name: name.to_owned(), source })
}

/// Opens what the user named, which may be a link or a pipe of theirs, but not a folder.
pub fn open_plain(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    Ok(file)
}

/// Opens what will be read twice: a regular file, or a link to one. A pipe or a device is refused without waiting for it.
pub fn open_regular(path: &Path) -> Result<File, Failure> {
    let name = path.display().to_string();
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path);
    let file = opened.map_err(|source| unreadable(&name, source))?;
    let found = file.metadata().map_err(|source| unreadable(&name, source))?;
    if found.is_dir() {
        return Err(unreadable(&name, io::ErrorKind::IsADirectory.into()));
    }
    if !found.is_file() {
        return Err(Failure::refused(format!("`{name}` is not a regular file, and it is read twice"))
            .hint("write what comes out of a pipe into a file first"));
    }
    Ok(file)
}

/// The media type that a file's name suggests.
pub fn media_type(name: &str) -> &'static str {
    let ending = Path::new(name).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    match ending.to_ascii_lowercase().as_str() {
        "jsonl" | "ndjson" => "application/jsonl",
        "json" => "application/json",
        "txt" | "md" | "log" => "text/plain",
        "csv" => "text/csv",
        "html" | "htm" => "text/html",
        "toml" => "application/toml",
        "yaml" | "yml" => "application/yaml",
        "xml" => "application/xml",
        "pdf" => "application/pdf",
        "zip" => "application/zip",
        _ => "application/octet-stream",
    }
}

/// One piece of evidence that is ready to be stored, or only to be named.
pub struct Piece {
    /// What it is to the receipt.
    pub role: &'static str,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Its media type.
    pub media_type: &'static str,
    /// Whether the ledger will hold it.
    pub held: bool,
    /// How receipts name it, once it is stored: a batch stores what its rounds share once.
    named: OnceLock<Evidence>,
    /// How they will name it.
    ahead: OnceLock<Evidence>,
}

/// The evidence entry of an object.
pub fn entry(role: Role, digests: &Digests, media_type: &str, held: bool) -> Evidence {
    let Digests { blake3, sha256, size } = *digests;
    Evidence { role, blake3, sha256, size, media_type: media_type.to_owned(), held }
}

impl Piece {
    /// A piece that is not stored yet.
    pub fn new(role: &'static str, bytes: Vec<u8>, media_type: &'static str, held: bool) -> Self {
        Self { role, bytes, media_type, held, named: OnceLock::new(), ahead: OnceLock::new() }
    }

    /// How a receipt will name it, before it is stored.
    pub fn ahead(&self) -> Result<Evidence, Failure> {
        if let Some(named) = self.named.get().or_else(|| self.ahead.get()) {
            return Ok(named.clone());
        }
        let digests = proofmark::store::digest_slice(&self.bytes);
        let named = entry(self.role.parse()?, &digests, self.media_type, self.held);
        Ok(self.ahead.get_or_init(|| named).clone())
    }

    /// Stores it (if it is to be held) and says how a receipt names it.
    pub fn store(&self, store: &dyn Store) -> Result<Evidence, Failure> {
        if let Some(named) = self.named.get() {
            return Ok(named.clone());
        }
        let digests =
            if self.held { put_slice(store, &self.bytes)? } else { proofmark::store::digest_slice(&self.bytes) };
        let named = entry(self.role.parse()?, &digests, self.media_type, self.held);
        Ok(self.named.get_or_init(|| named).clone())
    }
}

/// As much as a receipt will say of a file whose digests are not known yet: its size, and digests that are those of no other file.
pub fn entry_ahead(role: Role, path: &Path) -> Result<Evidence, Failure> {
    let name = path.display().to_string();
    let size = std::fs::metadata(path).map_err(|source| unreadable(&name, source))?.len();
    let digests = Digests { blake3: ObjectId::of(name.as_bytes()), sha256: Sha256::of(b""), size };
    Ok(entry(role, &digests, media_type(&name), true))
}

/// `NAME=FILE` or `NAME=sha256:HEX`.
#[derive(Debug, Clone)]
pub struct SubjectArgument {
    name: Text,
    target: SubjectTarget,
}

#[derive(Debug, Clone)]
enum SubjectTarget {
    File(PathBuf),
    Digest(Sha256),
}

impl std::str::FromStr for SubjectArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, target) = text.split_once('=').ok_or("write NAME=FILE or NAME=sha256:HEX")?;
        let name = name.parse().map_err(|error: proofmark::receipt::ReceiptError| error.to_string())?;
        let target = match target.strip_prefix("sha256:") {
            Some(digest) => SubjectTarget::Digest(digest.parse().map_err(|error| format!("{error}"))?),
            None if target.is_empty() => return Err("write NAME=FILE or NAME=sha256:HEX".to_owned()),
            None => SubjectTarget::File(target.into()),
        };
        Ok(Self { name, target })
    }
}

impl SubjectArgument {
    /// The file, where one was named.
    pub fn file(&self) -> Option<&Path> {
        match &self.target {
            SubjectTarget::File(path) => Some(path),
            SubjectTarget::Digest(_) => None,
        }
    }

    /// The subject, with the digest of its file where one was named (relative to `base`).
    pub fn resolve(&self, base: &Path) -> Result<Subject, Failure> {
        let sha256 = match &self.target {
            SubjectTarget::Digest(digest) => *digest,
            SubjectTarget::File(path) => digest_file(&base.join(path))?.sha256,
        };
        Ok(Subject::new(self.name.clone(), sha256))
    }
}

/// `ROLE=FILE`.
#[derive(Debug, Clone)]
pub struct EvidenceArgument {
    role: Role,
    path: PathBuf,
}

/// Roles that the command gives itself.
const RESERVED: [&str; 13] = [
    "questions",
    "answers",
    "question-leaves",
    "judgements",
    "judge",
    "card",
    "report",
    "original",
    "import",
    "projection",
    "predictions",
    "profile",
    "run",
];

impl std::str::FromStr for EvidenceArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (role, path) = text.split_once('=').ok_or("write ROLE=FILE")?;
        if RESERVED.contains(&role) {
            return Err(format!("the role `{role}` is given by the command itself; choose another name"));
        }
        let role = role.parse().map_err(|error: proofmark::receipt::ReceiptError| error.to_string())?;
        if path.is_empty() {
            return Err("write ROLE=FILE".to_owned());
        }
        Ok(Self { role, path: path.into() })
    }
}

impl EvidenceArgument {
    /// Whether the file can be read: asked before anything is stored.
    pub fn check(&self, base: &Path) -> Result<(), Failure> {
        open_regular(&base.join(&self.path)).map(|_| ())
    }

    /// How a receipt will name the file. Where another one has its role the digests are the real ones: the same bytes in one role
    /// are named once.
    pub fn ahead(&self, base: &Path, others: &[Self]) -> Result<Evidence, Failure> {
        let path = base.join(&self.path);
        if others.iter().filter(|other| other.role == self.role).count() < 2 {
            return entry_ahead(self.role.clone(), &path);
        }
        Ok(entry(self.role.clone(), &digest_file(&path)?, media_type(&path.display().to_string()), true))
    }

    /// Stores the file.
    pub fn store(&self, store: &dyn Store, base: &Path) -> Result<Evidence, Failure> {
        let path = base.join(&self.path);
        let digests = put_file(store, &path)?;
        Ok(entry(self.role.clone(), &digests, media_type(&path.display().to_string()), true))
    }
}
