//! Files on their way into the ledger: read once, checked as records, and only then stored as evidence.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use proofmark::object::Sha256;
use proofmark::receipt::{Evidence, Role, Subject, Text};
use proofmark::store::{Digests, Store, digest_file, put_file, put_slice};

use super::failure::Failure;

/// Record files are held in memory while they are judged; one of more bytes than this is refused (1 GiB).
const MAX_RECORD_FILE_BYTES: u64 = 1 << 30;

/// A record file, read whole, under the name the user gave it.
pub struct RecordFile {
    /// The name for messages.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl RecordFile {
    /// Reads a plain file.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let unreadable = |error: std::io::Error| Failure::failed(Unreadable { name: name.clone(), source: error });
        let file = open_plain(path).map_err(unreadable)?;
        let mut bytes = Vec::new();
        file.take(MAX_RECORD_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.len() as u64 > MAX_RECORD_FILE_BYTES {
            return Err(Failure::refused(format!("{name}: is larger than {MAX_RECORD_FILE_BYTES} bytes")));
        }
        Ok(Self { name, bytes })
    }
}

#[derive(Debug, thiserror::Error)]
#[error("cannot read `{name}`")]
struct Unreadable {
    name: String,
    #[source]
    source: std::io::Error,
}

/// Opens what the user named, which may be a link or a pipe of theirs, but not a folder.
fn open_plain(path: &Path) -> std::io::Result<File> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(std::io::ErrorKind::IsADirectory.into());
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
}

/// The evidence entry of an object.
pub fn entry(role: Role, digests: &Digests, media_type: &str, held: bool) -> Evidence {
    let Digests { blake3, sha256, size } = *digests;
    Evidence { role, blake3, sha256, size, media_type: media_type.to_owned(), held }
}

impl Piece {
    /// A piece that is not stored yet.
    pub fn new(role: &'static str, bytes: Vec<u8>, media_type: &'static str, held: bool) -> Self {
        Self { role, bytes, media_type, held, named: OnceLock::new() }
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
const RESERVED: [&str; 7] = ["questions", "answers", "question-leaves", "judgements", "judge", "card", "report"];

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
        let path = base.join(&self.path);
        open_plain(&path)
            .map(|_| ())
            .map_err(|source| Failure::failed(Unreadable { name: path.display().to_string(), source }))
    }

    /// Stores the file.
    pub fn store(&self, store: &dyn Store, base: &Path) -> Result<Evidence, Failure> {
        let path = base.join(&self.path);
        let digests = put_file(store, &path)?;
        Ok(entry(self.role.clone(), &digests, media_type(&path.display().to_string()), true))
    }
}
