//! Proofs that leave the ledger: one receipt is in the log, and the log has only grown since an older checkpoint.

use super::{LedgerError, Snapshot, check_signature};
use crate::merkle::{Checkpoint, ConsistencyProof, InclusionProof, MerkleError, Note, VerifierKey};

impl Snapshot<'_> {
    /// The proof that receipt `index` is in the log, with the receipt in it. It is checked before it is handed out.
    pub fn prove(&self, index: u64) -> Result<InclusionProof, LedgerError> {
        let entry = self.entry(index)?;
        let hashes = self.tiles()?.inclusion(index, self.size())?;
        Ok(InclusionProof::new(Some(entry), index, hashes, Note::parse(self.note())?)?)
    }

    /// The proof that the log begins with everything under an older checkpoint, of this log. It is checked before it is
    /// handed out, so a log that was rolled back or forked gives [`MerkleError::TreeShrank`] or
    /// [`MerkleError::RootMismatch`].
    pub fn prove_growth(&self, older: &Checkpoint) -> Result<ConsistencyProof, LedgerError> {
        if older.size() > self.size() {
            return Err(MerkleError::TreeShrank { older: older.size(), newer: self.size() }.into());
        }
        let hashes = self.tiles()?.consistency(older.size(), self.size())?;
        let proof = ConsistencyProof::new(older.size(), hashes, Note::parse(self.note())?)?;
        proof.verify(&older.head())?;
        Ok(proof)
    }
}

/// Reads a signed checkpoint where only the log's key is known, and no ledger.
///
/// # Errors
/// Those of [`Checkpoint::open`].
pub fn open_checkpoint(note: &[u8], key: &VerifierKey) -> Result<Checkpoint, MerkleError> {
    Checkpoint::open(note, key.name(), std::slice::from_ref(key), check_signature)
}
