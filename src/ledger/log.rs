//! The log's own identity: the name and key that receipt 0 states, under which every checkpoint is believed.

use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};

use super::{LedgerError, checkpoint_name, receipt_at};
use crate::merkle::{Checkpoint, MAX_NOTE_BYTES, MerkleError, Note, TileName, VerifierKey};
use crate::object::ReceiptId;
use crate::receipt::Body;
use crate::store::{Store, StoreError};
use crate::trust::{PublicKey, Role, Signature, Statement};

/// A note that was found good, and the checkpoint in it.
type Verified = (Vec<u8>, Checkpoint);

/// Who the log is.
#[derive(Debug, Clone)]
pub struct LogIdentity {
    /// Receipt 0's id: what an auditor pins.
    pub genesis: ReceiptId,
    /// The first trust statement.
    pub trust: Statement,
    /// The log's name and key.
    pub key: VerifierKey,
    /// The note that was found good last: one commit looks at the same checkpoint four times.
    verified: Arc<Mutex<Option<Verified>>>,
}

/// Strict Ed25519 for checkpoints.
pub(crate) fn check_signature(raw: &[u8; 32], message: &[u8], signature: &[u8; 64]) -> bool {
    PublicKey::from_raw(raw).is_ok_and(|key| key.verify(message, &Signature(*signature)).is_ok())
}

impl LogIdentity {
    /// Takes the identity from receipt 0, the first entry of the first bundle. Nothing is believed but its own
    /// signature: comparing [`LogIdentity::genesis`] with a pinned digest is the reader's part.
    pub(super) fn read(store: &dyn Store) -> Result<Self, LedgerError> {
        let note = published_note(store)?;
        let checkpoint: Checkpoint = Note::parse(&note)?.text().parse()?;
        let first = first_entry(store, checkpoint.size())?;
        Self::of_genesis(&first)
    }

    /// The identity that these bytes, as receipt 0, state.
    pub fn of_genesis(entry: &[u8]) -> Result<Self, LedgerError> {
        let at_zero = |source| LedgerError::Entry { index: 0, source };
        let receipt = receipt_at(0, entry)?;
        let Body::Trust(trust) = &receipt.statement().predicate.body else { return Err(LedgerError::NoTrust) };
        let signer = trust.record_of(receipt.key()).ok_or(LedgerError::NoTrust)?;
        receipt.verify(&signer.key).map_err(at_zero)?;
        let action = "signing receipt 0";
        trust.may(receipt.key(), Role::Root).map_err(|refusal| LedgerError::NotAllowed { action, refusal })?;
        let key: VerifierKey = trust.log().key.parse()?;
        if key.name() != trust.log().origin {
            let (origin, expected) = (key.name().to_owned(), trust.log().origin.clone());
            return Err(MerkleError::OtherLog { origin, expected }.into());
        }
        Ok(Self { genesis: receipt.id(), trust: trust.clone(), key, verified: Arc::default() })
    }

    /// The log's name.
    pub fn origin(&self) -> &str {
        self.key.name()
    }

    /// Reads a signed checkpoint of this log.
    pub fn checkpoint(&self, note: &[u8]) -> Result<Checkpoint, LedgerError> {
        let mut verified = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, checkpoint)) = verified.as_ref().filter(|(good, _)| good == note) {
            return Ok(checkpoint.clone());
        }
        let checkpoint = Checkpoint::open(note, self.origin(), std::slice::from_ref(&self.key), check_signature)?;
        *verified = Some((note.to_vec(), checkpoint.clone()));
        Ok(checkpoint)
    }

    /// The published checkpoint and its exact bytes.
    pub(super) fn published(&self, store: &dyn Store) -> Result<(Checkpoint, Vec<u8>), LedgerError> {
        let note = published_note(store)?;
        Ok((self.checkpoint(&note)?, note))
    }
}

fn published_note(store: &dyn Store) -> Result<Vec<u8>, LedgerError> {
    let name = checkpoint_name()?;
    store.read(&name, MAX_NOTE_BYTES as u64)?.ok_or(LedgerError::Absent)
}

/// Reads only the first entry of the first bundle: receipt 0 is needed at every start, its 255 neighbours are not.
fn first_entry(store: &dyn Store, size: u64) -> Result<Vec<u8>, LedgerError> {
    let bundle = TileName::in_tree(0, 0, size).and_then(TileName::bundle);
    let bundle = bundle.ok_or(LedgerError::NoTrust)?;
    let (name, mut content) = super::snapshot::present(store, bundle, |name| store.open(name))?;
    let cut = || MerkleError::Bundle { width: bundle.width(), entry: 0, offset: 0, reason: "it ends within an entry" };
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => LedgerError::Log(cut()),
        _ => LedgerError::Store(StoreError::io("read", name, error)),
    };
    let mut length = [0u8; 2];
    content.read_exact(&mut length).map_err(failed)?;
    let mut entry = vec![0u8; usize::from(u16::from_be_bytes(length))];
    content.read_exact(&mut entry).map_err(failed)?;
    Ok(entry)
}
