//! Reading a dossier: its layout is checked whole, its content not at all; that is for `crate::verify`.
//!
//! A dossier is also a [`Store`] that nothing can be written to, with the names that a ledger has for checkpoint, entry
//! bundles and objects. A complete one can be opened as a ledger.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};

use super::archive::{ArchiveReader, Member, Source, is_begun_by};
use super::manifest::Manifest;
use super::write::{bundles, object_name, proof_name};
use super::{CHECKPOINT, DossierError, MANIFEST, MAX_MANIFEST_BYTES};
use crate::merkle::{Bundle, Checkpoint, InclusionProof, MAX_NOTE_BYTES, MAX_PROOF_BYTES, MerkleError, Note, TileName};
use crate::object::ObjectId;
use crate::store::{Exclusive, Name, Store, StoreError};

/// No bundle is larger: 256 entries of 65,535 bytes with their lengths.
const MAX_BUNDLE_BYTES: u64 = WIDTH * (2 + 65_535);

const WIDTH: u64 = 256;

/// A dossier. Where its members stand is in memory; receipts, proofs, entry bundles and evidence are read when they are
/// asked for.
#[derive(Debug)]
pub struct Dossier {
    source: Source,
    manifest: Manifest,
    note: Note,
    checkpoint: Checkpoint,
    proofs: BTreeMap<u64, Member>,
    /// What it has of a ledger's files.
    files: BTreeMap<Name, Member>,
}

impl Dossier {
    /// Reads a dossier out of an opened plain file.
    ///
    /// # Errors
    /// [`DossierError`] where it is not laid out as one, or cannot be read.
    pub fn read(file: File) -> Result<Self, DossierError> {
        Self::of_source(Source::of_file(file).map_err(DossierError::Read)?)
    }

    /// Reads a dossier in memory.
    ///
    /// # Errors
    /// As for [`Dossier::read`].
    pub fn parse(bytes: Vec<u8>) -> Result<Self, DossierError> {
        Self::of_source(Source::of_bytes(bytes))
    }

    /// Whether bytes begin as a dossier does.
    pub fn is_begun_by(bytes: &[u8]) -> bool {
        is_begun_by(bytes, MANIFEST)
    }

    fn of_source(source: Source) -> Result<Self, DossierError> {
        let mut archive = ArchiveReader::new(source.clone());
        let mut head = |wanted: &'static str, most: u64, reason| match archive.next()? {
            Some((name, member)) if name.as_str() == wanted && member.size <= most => {
                Ok((name, member, source.read(member).map_err(DossierError::Read)?))
            }
            _ => Err(archive.refused(reason)),
        };
        let (_, _, manifest) = head(MANIFEST, MAX_MANIFEST_BYTES, "its first member is not a `dossier.json`")?;
        let (name, member, note) = head(CHECKPOINT, MAX_NOTE_BYTES as u64, "its second member is not a `checkpoint`")?;
        let log = |source| DossierError::Log { member: CHECKPOINT.to_owned(), source };
        let note = Note::parse(&note).map_err(log)?;
        let checkpoint = note.text().parse().map_err(log)?;
        let mut dossier = Self {
            source,
            manifest: Manifest::parse(&manifest)?,
            note,
            checkpoint,
            proofs: BTreeMap::new(),
            files: BTreeMap::from([(name, member)]),
        };
        let next = if dossier.manifest.complete {
            dossier.read_bundles(&mut archive)?
        } else {
            dossier.read_proofs(&mut archive)?
        };
        dossier.read_objects(next, &mut archive)?;
        Ok(dossier)
    }

    /// All entry bundles of the checkpoint's log; hands back the member after them.
    fn read_bundles(&mut self, archive: &mut ArchiveReader) -> Result<Option<(Name, Member)>, DossierError> {
        for bundle in bundles(self.checkpoint.size()) {
            match archive.next()? {
                Some((name, member)) if name.as_str() == bundle.to_string() && member.size <= MAX_BUNDLE_BYTES => {
                    self.files.insert(name, member);
                }
                _ => return Err(archive.refused("it is complete and an entry bundle is not where it must be")),
            }
        }
        archive.next()
    }

    /// Receipts with their proofs, in the log's order; hands back the member after them.
    fn read_proofs(&mut self, archive: &mut ArchiveReader) -> Result<Option<(Name, Member)>, DossierError> {
        loop {
            let next = archive.next()?;
            let Some((name, member)) = next.clone() else { return Ok(next) };
            let Some(index) = name.as_str().strip_prefix("receipts/") else { return Ok(next) };
            let index = index.strip_suffix(".tlog-proof").and_then(|index| index.parse().ok());
            let index = index.filter(|index| proof_name(*index) == name.as_str());
            let index = index.filter(|index| self.proofs.last_key_value().is_none_or(|(last, _)| last < index));
            let Some(index) = index else { return Err(archive.refused("its receipts are not in their order")) };
            if member.size > MAX_PROOF_BYTES as u64 {
                return Err(archive.refused("a receipt with its proof is too long"));
            }
            let bytes = self.source.read(member).map_err(DossierError::Read)?;
            let proof = InclusionProof::parse(&bytes);
            let proof = proof.map_err(|source| DossierError::Log { member: name.to_string(), source })?;
            if proof.index() != index || proof.note() != &self.note || proof.extra().is_none() {
                return Err(
                    archive.refused("a proof is of another receipt, under another checkpoint, or has no receipt")
                );
            }
            self.proofs.insert(index, member);
        }
    }

    /// Evidence, in the order of its ids, up to the end.
    fn read_objects(
        &mut self,
        mut next: Option<(Name, Member)>,
        archive: &mut ArchiveReader,
    ) -> Result<(), DossierError> {
        let mut last: Option<ObjectId> = None;
        while let Some((name, member)) = next {
            let hex = name.as_str().strip_prefix("objects/").map(|hex| hex.replacen('/', "", 1));
            let id = hex.and_then(|hex| hex.parse().ok()).filter(|id| object_name(id) == name.as_str());
            let id = id.filter(|id| last.is_none_or(|last| last < *id));
            last = Some(id.ok_or_else(|| archive.refused("a member is no object, or not in its order"))?);
            self.files.insert(name, member);
            next = archive.next()?;
        }
        Ok(())
    }

    /// What it says of itself.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The signed checkpoint, not yet believed.
    pub fn note(&self) -> &Note {
        &self.note
    }

    /// What that note says.
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// The receipts that it has with their proofs; none where it is complete.
    pub fn proven(&self) -> impl Iterator<Item = u64> + '_ {
        self.proofs.keys().copied()
    }

    /// A receipt with its proof, not yet believed; `None` where it is not here, or it is complete.
    ///
    /// # Errors
    /// [`StoreError::Io`] where the file cannot be read or has changed.
    pub fn proof(&self, index: u64) -> Result<Option<InclusionProof>, StoreError> {
        let Some(member) = self.proofs.get(&index) else { return Ok(None) };
        let name = || proof_name(index);
        let bytes = self.source.read(*member).map_err(|error| StoreError::io("read", name(), error))?;
        let changed = |_| StoreError::io("read", name(), io::ErrorKind::InvalidData.into());
        InclusionProof::parse(&bytes).map(Some).map_err(changed)
    }

    /// The member that a receipt is in, or would be.
    pub fn file_of(&self, index: u64) -> String {
        let bundle = TileName::in_tree(0, index / WIDTH, self.checkpoint.size()).and_then(TileName::bundle);
        let bundle = bundle.filter(|_| self.manifest.complete);
        bundle.map_or_else(|| proof_name(index), |bundle| bundle.to_string())
    }

    /// The bytes of one entry, not yet proven to be in the log; `None` where it is not here, or its bundle is damaged.
    ///
    /// # Errors
    /// [`StoreError::Io`] where the file cannot be read.
    pub fn entry(&self, index: u64) -> Result<Option<Vec<u8>>, StoreError> {
        if let Some(proof) = self.proof(index)? {
            return Ok(proof.extra().map(<[u8]>::to_vec));
        }
        let bundle = TileName::in_tree(0, index / WIDTH, self.checkpoint.size()).and_then(TileName::bundle);
        let Some(bundle) = bundle.filter(|_| self.manifest.complete) else { return Ok(None) };
        let Some(bytes) = Store::read(self, &bundle.to_string().parse()?, MAX_BUNDLE_BYTES)? else { return Ok(None) };
        let entry = |bundle: Bundle<'_>| bundle.entries().nth((index % WIDTH) as usize).map(<[u8]>::to_vec);
        Ok(Bundle::parse(&bytes, bundle.width()).ok().and_then(entry))
    }
}

/// Nothing is ever written into a dossier.
fn read_only<T>(action: &'static str, name: &dyn std::fmt::Display) -> Result<T, StoreError> {
    Err(StoreError::io(action, name, io::ErrorKind::ReadOnlyFilesystem.into()))
}

impl Store for Dossier {
    fn put(&self, name: &Name, _: &mut dyn Read) -> Result<(), StoreError> {
        read_only("write", name)
    }

    fn promote(&self, from: &Name, _: &Name) -> Result<(), StoreError> {
        read_only("move", from)
    }

    fn publish(&self, name: &Name, _: &[u8]) -> Result<(), StoreError> {
        read_only("write", name)
    }

    fn settle(&self, names: &[Name]) -> Result<(), StoreError> {
        names.first().map_or(Ok(()), |name| read_only("sync", name))
    }

    fn open(&self, name: &Name) -> Result<Option<Box<dyn Read + Send>>, StoreError> {
        Ok(self.files.get(name).map(|member| Box::new(self.source.open(*member)) as _))
    }

    fn size(&self, name: &Name) -> Result<Option<u64>, StoreError> {
        Ok(self.files.get(name).map(|member| member.size))
    }

    fn list(&self, folder: &str) -> Result<Vec<Name>, StoreError> {
        let below = |name: &&Name| {
            let rest = name.as_str().strip_prefix(folder);
            folder.is_empty() || rest.is_some_and(|rest| rest.starts_with('/'))
        };
        Ok(self.files.keys().filter(below).cloned().collect())
    }

    fn remove(&self, name: &Name) -> Result<(), StoreError> {
        read_only("remove", name)
    }

    fn lock(&self) -> Result<Box<dyn Exclusive + '_>, StoreError> {
        read_only("lock", &CHECKPOINT)
    }

    fn cell(&self) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(None)
    }
}

impl From<MerkleError> for DossierError {
    fn from(source: MerkleError) -> Self {
        Self::Ledger(source.into())
    }
}
