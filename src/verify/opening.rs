//! What an audit starts from: configuration, the two checkpoints, and receipt 0.

use super::docket::Docket;
use super::finding::{Axis, Code, Finding, NoticeCode, chain};
use super::survey::{Content, Survey, content, refused};
use super::{MAX_BUNDLE_BYTES, VerifyError, WIDTH};
use crate::dossier::Dossier;
use crate::ledger::{Config, LedgerError, TrustChain};
use crate::merkle::{Checkpoint, MAX_NOTE_BYTES, Note, TileName, VerifierKey};
use crate::receipt::{Body, Receipt};
use crate::store::Store;

/// A checkpoint that was read and not yet believed.
pub(super) struct Claimed {
    pub(super) note: Note,
    pub(super) checkpoint: Checkpoint,
}

/// Receipt 0, as far as it can be used. Its signature is checked with all the others.
pub(super) struct Genesis {
    pub(super) receipt: Receipt,
    /// The chain of trust, with nothing taken yet.
    pub(super) chain: TrustChain,
    pub(super) log_key: VerifierKey,
}

/// Everything that is read before the receipts are.
pub(super) struct Opening {
    pub(super) survey: Survey,
    pub(super) published: Option<Claimed>,
    /// What the lock holds, where that is a checkpoint.
    pub(super) cell: Option<Claimed>,
    pub(super) genesis: Option<Genesis>,
    /// How many receipts to look for: what the checkpoint says, else what there is.
    pub(super) size: u64,
}

/// The bytes of both checkpoints: whether they changed tells whether a writer was at work.
#[derive(PartialEq, Eq)]
pub(super) struct Fingerprint {
    published: Option<Vec<u8>>,
    cell: Option<Vec<u8>>,
}

/// The ledger's state now.
pub(super) fn fingerprint(store: &dyn Store) -> Result<Fingerprint, VerifyError> {
    let published = match content(store, "checkpoint", MAX_NOTE_BYTES as u64)? {
        Content::Bytes(bytes) => Some(bytes),
        Content::Absent | Content::Refused(_) => None,
    };
    Ok(Fingerprint { published, cell: cell_bytes(store)? })
}

fn cell_bytes(store: &dyn Store) -> Result<Option<Vec<u8>>, VerifyError> {
    store.cell().or_else(|error| refused(error).map(|_| None))
}

impl Opening {
    pub(super) fn read(store: &dyn Store, docket: &mut Docket) -> Result<Self, VerifyError> {
        let survey = Survey::take(store, docket)?;
        let cell_bytes = cell_bytes(store)?;
        if survey.is_empty() && cell_bytes.is_none() {
            return Err(VerifyError::Absent);
        }
        read_config(store, docket)?;
        let published = read_published(store, docket)?;
        let cell = read_cell(cell_bytes, docket);
        let size = published.as_ref().map_or_else(|| survey.entries(), |claimed| claimed.checkpoint.size());
        let genesis = read_genesis(store, &survey, size, docket)?;
        Ok(Self { survey, published, cell, genesis, size })
    }
}

fn read_config(store: &dyn Store, docket: &mut Docket) -> Result<(), VerifyError> {
    match Config::read(store) {
        Ok(Some(_)) => {}
        Ok(None) => docket.notice(NoticeCode::ConfigAbsent, None, None, "there is no config.toml; format 1 is assumed"),
        Err(LedgerError::Format { found }) => return Err(VerifyError::Format { found }),
        Err(LedgerError::Store(error)) => {
            let found = refused(error)?;
            docket.find(Finding::new(Code::ConfigDamaged, "a configuration", found).in_file("config.toml"));
        }
        Err(other) => {
            docket.find(Finding::new(Code::ConfigDamaged, "a configuration", chain(&other)).in_file("config.toml"));
        }
    }
    Ok(())
}

fn claimed(bytes: &[u8]) -> Result<Claimed, String> {
    let note = Note::parse(bytes).map_err(|error| error.to_string())?;
    let checkpoint = note.text().parse().map_err(|error: crate::merkle::MerkleError| error.to_string())?;
    Ok(Claimed { note, checkpoint })
}

fn read_published(store: &dyn Store, docket: &mut Docket) -> Result<Option<Claimed>, VerifyError> {
    let file = "checkpoint";
    let expected = "a signed checkpoint";
    let bytes = match content(store, file, MAX_NOTE_BYTES as u64)? {
        Content::Bytes(bytes) => bytes,
        Content::Absent => {
            docket.find(Finding::new(Code::CheckpointMissing, expected, "nothing").in_file(file));
            return Ok(None);
        }
        Content::Refused(found) => {
            docket.find(Finding::new(Code::CheckpointMalformed, expected, found).in_file(file));
            return Ok(None);
        }
    };
    match claimed(&bytes) {
        Ok(claimed) => Ok(Some(claimed)),
        Err(found) => {
            docket.find(Finding::new(Code::CheckpointMalformed, expected, found).in_file(file));
            Ok(None)
        }
    }
}

fn read_cell(bytes: Option<Vec<u8>>, docket: &mut Docket) -> Option<Claimed> {
    match claimed(&bytes?) {
        Ok(claimed) => Some(claimed),
        Err(found) => {
            docket.find(Finding::new(Code::LockContradicts, "a signed checkpoint", found).in_file("lock"));
            None
        }
    }
}

/// Receipt 0 out of the first bundle, whatever else is wrong with that bundle.
fn read_genesis(
    store: &dyn Store,
    survey: &Survey,
    size: u64,
    docket: &mut Docket,
) -> Result<Option<Genesis>, VerifyError> {
    let exact = TileName::in_tree(0, 0, size.min(WIDTH)).and_then(TileName::bundle);
    let all = exact.and(TileName::entries(0, WIDTH as u16).ok());
    let all = all.into_iter().flat_map(|full| survey.narrower(full).into_iter().chain([full]));
    let (wider, fitting): (Vec<_>, Vec<_>) = all.partition(|bundle| Some(bundle.width()) > exact.map(TileName::width));
    // The widest that the checkpoint knows first. Where a writer removed them, a wider one begins alike.
    let versions = fitting.into_iter().rev().chain(wider);
    let mut found = "no first bundle".to_owned();
    for bundle in versions {
        match content(store, &bundle.to_string(), MAX_BUNDLE_BYTES)? {
            Content::Bytes(bytes) => match genesis(&bytes) {
                Ok(genesis) => return Ok(Some(genesis)),
                Err(reason) => found = reason,
            },
            Content::Absent => {}
            Content::Refused(reason) => found = reason,
        }
    }
    docket.find(Finding::new(Code::GenesisUnusable, "a trust statement as receipt 0", found).at(0, None));
    Ok(None)
}

fn genesis(bundle: &[u8]) -> Result<Genesis, String> {
    let (length, rest) = bundle.split_first_chunk::<2>().ok_or("the first bundle is empty")?;
    let entry = rest.get(..usize::from(u16::from_be_bytes(*length))).ok_or("the first entry is cut short")?;
    genesis_of(entry)
}

fn genesis_of(entry: &[u8]) -> Result<Genesis, String> {
    let receipt = Receipt::parse(entry).map_err(|error| chain(&error))?;
    let Body::Trust(trust) = &receipt.statement().predicate.body else {
        return Err(format!("a {} receipt", receipt.statement().predicate.kind()));
    };
    let chain = TrustChain::begin(&receipt).map_err(|error| error.to_string())?;
    let log_key: VerifierKey =
        trust.log().key.parse().map_err(|error: crate::merkle::MerkleError| error.to_string())?;
    if log_key.name() != trust.log().origin {
        return Err(format!("a log key named `{}` for the log `{}`", log_key.name(), trust.log().origin));
    }
    Ok(Genesis { receipt, chain, log_key })
}

impl Opening {
    /// The same of a dossier, which has neither configuration nor lock.
    pub(super) fn of_dossier(dossier: &Dossier, docket: &mut Docket) -> Result<Self, VerifyError> {
        let survey = Survey::take(dossier, docket)?;
        let (note, checkpoint) = (dossier.note().clone(), dossier.checkpoint().clone());
        let size = checkpoint.size();
        let entry = dossier.entry(0).map_err(VerifyError::Store)?;
        let genesis = entry.ok_or_else(|| "nothing".to_owned()).and_then(|entry| genesis_of(&entry));
        let genesis = genesis.map_err(|found| {
            docket.find(Finding::new(Code::GenesisUnusable, "a trust statement as receipt 0", found).at(0, None));
        });
        let published = Some(Claimed { note, checkpoint });
        Ok(Self { survey, published, cell: None, genesis: genesis.ok(), size })
    }

    /// Says which axes cannot be checked without receipt 0.
    pub(super) fn excuse(&self, docket: &mut Docket) {
        if self.genesis.is_none() {
            let reason = "receipt 0, which states the keys, cannot be used";
            for axis in [Axis::Log, Axis::Signatures, Axis::TrustThen, Axis::TrustNow, Axis::Policy, Axis::Pin] {
                docket.not_checked(axis, reason);
            }
        } else if self.published.is_none() {
            docket.not_checked(Axis::Log, "there is no checkpoint to check");
        }
    }
}
