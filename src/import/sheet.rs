//! A piece of evidence while it is written, in order and once: digested as it comes, and kept outside of memory where it will
//! be stored.

use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;

use sha2::Digest;

use super::ImportError;
use crate::object::{ObjectId, Sha256};
use crate::store::{Digests, Spill, Store, StoreError, put_from};

/// Pieces of at least this many bytes are digested on all cores.
const LARGE: usize = 1 << 20;

/// What becomes of the texts that an import writes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Texts {
    /// They are kept, beyond a window in a temporary file of the system.
    #[default]
    Kept,
    /// They are kept, beyond a window in a temporary file in this folder.
    KeptIn(PathBuf),
    /// Only their digests are wanted.
    Digested,
}

impl Texts {
    /// An empty temporary file where they go.
    pub(super) fn spill(&self) -> Spill {
        match self {
            Self::KeptIn(folder) => Spill::new(Some(folder)),
            Self::Kept | Self::Digested => Spill::new(None),
        }
    }
}

/// A piece of evidence that was written.
#[derive(Debug, Clone)]
pub struct Sheet(Arc<Written>);

#[derive(Debug)]
struct Written {
    blake3: ObjectId,
    kept: Option<(Sha256, Spill)>,
    size: u64,
}

impl PartialEq for Sheet {
    fn eq(&self, other: &Self) -> bool {
        self.0.blake3 == other.0.blake3
    }
}

impl Sheet {
    /// Its object id.
    pub fn blake3(&self) -> ObjectId {
        self.0.blake3
    }

    /// Its bytes, from the start; refused where its text was not kept.
    pub fn reader(&self) -> Result<impl Read + Send + '_, StoreError> {
        Ok(self.kept()?.1.reader())
    }

    /// All of its bytes.
    pub fn bytes(&self) -> Result<Vec<u8>, StoreError> {
        let mut bytes = Vec::new();
        let read = self.reader()?.read_to_end(&mut bytes);
        read.map(|_| bytes).map_err(|source| StoreError::io("read", "what was imported", source))
    }

    /// Stores it.
    pub fn put(&self, store: &dyn Store) -> Result<Digests, StoreError> {
        let (sha256, text) = self.kept()?;
        let digests = Digests { blake3: self.0.blake3, sha256: *sha256, size: self.0.size };
        put_from(store, &digests, || Box::new(text.reader()), "what was imported")?;
        Ok(digests)
    }

    fn kept(&self) -> Result<&(Sha256, Spill), StoreError> {
        let missing = || StoreError::io("read", "a text that was only digested", io::ErrorKind::NotFound.into());
        self.0.kept.as_ref().ok_or_else(missing)
    }
}

/// A sheet that grows.
pub(super) struct SheetWriter {
    blake3: blake3::Hasher,
    kept: Option<(sha2::Sha256, Spill)>,
    size: u64,
}

impl SheetWriter {
    pub(super) fn new(texts: &Texts) -> Self {
        let kept = (*texts != Texts::Digested).then(|| (sha2::Sha256::new(), texts.spill()));
        Self { blake3: blake3::Hasher::new(), kept, size: 0 }
    }

    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), ImportError> {
        let Self { blake3, kept, size } = self;
        *size += bytes.len() as u64;
        if bytes.len() < LARGE {
            blake3.update(bytes);
        } else {
            blake3.update_rayon(bytes);
        }
        if let Some((sha256, text)) = kept {
            sha256.update(bytes);
            text.append(bytes)?;
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Sheet {
        let kept = self.kept.map(|(sha256, text)| (Sha256::from_bytes(sha256.finalize().into()), text));
        let blake3 = ObjectId::from_bytes(*self.blake3.finalize().as_bytes());
        Sheet(Arc::new(Written { blake3, kept, size: self.size }))
    }
}
