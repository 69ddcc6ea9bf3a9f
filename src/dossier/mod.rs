//! Dossiers: one file with everything that verifying one receipt takes, for someone who has neither the ledger nor a
//! network. `docs/dossier.md` is normative.
//!
//! A dossier is an archive (tar) of `dossier.json`, the signed checkpoint, the receipts with their proofs (or, where
//! it is complete, all entry bundles), and the evidence. The same ledger and the same wishes give the same bytes. Reading one believes
//! nothing: `crate::verify` audits it by the same rules as a ledger.

mod archive;
mod contents;
mod manifest;
mod read;
mod write;

pub use archive::{MAX_MEMBER_BYTES, MAX_MEMBERS};
pub use contents::{Contents, History, closure, is_decision};
pub use manifest::Manifest;
pub use read::Dossier;
pub use write::{Wishes, Written, write};

use std::io;

use crate::ledger::LedgerError;
use crate::merkle::MerkleError;
use crate::object::{CanonicalError, ObjectId, ReceiptId};
use crate::receipt::Role;
use crate::store::StoreError;

/// The first member.
const MANIFEST: &str = "dossier.json";

/// The second member.
const CHECKPOINT: &str = "checkpoint";

/// The most bytes of the manifest.
const MAX_MANIFEST_BYTES: u64 = 1 << 16;

/// Why a dossier cannot be made or read.
#[derive(Debug, thiserror::Error)]
pub enum DossierError {
    /// The file is not laid out as a dossier.
    #[error("not a dossier: {reason} (byte {offset})")]
    Malformed {
        /// The rule it breaks.
        reason: &'static str,
        /// Where, in bytes.
        offset: u64,
    },
    /// The manifest is not canonical JSON of the right shape.
    #[error("not a dossier: `dossier.json` is not as it must be")]
    Manifest(#[source] CanonicalError),
    /// A manifest of another schema.
    #[error("not a dossier that this version reads: its schema is `{found}`")]
    Schema {
        /// What it names.
        found: String,
    },
    /// The redacted roles are not sorted, or one is there twice.
    #[error("not a dossier: the redacted roles are not sorted, each once")]
    Roles,
    /// The checkpoint or a proof in it is none.
    #[error("not a dossier: `{member}` is not as it must be")]
    Log {
        /// The member.
        member: String,
        /// Why.
        #[source]
        source: MerkleError,
    },
    /// It cannot be read.
    #[error("the dossier cannot be read")]
    Read(#[source] io::Error),
    /// It cannot be written.
    #[error("the dossier cannot be written")]
    Write(#[source] io::Error),
    /// The ledger that it is made from cannot be read.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// Evidence cannot be read.
    #[error("the evidence `{role}` of receipt {receipt} cannot be read")]
    Store {
        /// Its role.
        role: Role,
        /// The receipt that names it.
        receipt: ReceiptId,
        /// Why.
        #[source]
        source: Box<StoreError>,
    },
    /// Evidence that the ledger should hold is not there.
    #[error("the evidence `{role}` of receipt {receipt} is missing: object {object}")]
    Missing {
        /// Its role.
        role: Role,
        /// The receipt that names it.
        receipt: ReceiptId,
        /// The object.
        object: ObjectId,
    },
    /// A member that is larger than an archive can say, or has too long a name.
    #[error("`{name}` does not fit into a dossier: at most {MAX_MEMBER_BYTES} bytes do")]
    TooLarge {
        /// The member.
        name: String,
    },
    /// A member that has other bytes than it should.
    #[error("`{name}` does not hold the bytes that it is named for")]
    Changed {
        /// The member.
        name: String,
    },
    /// A role to leave out that nothing has: most likely a slip, which would show what should not be shown.
    #[error("no evidence here has the role `{role}`")]
    NoSuchRole {
        /// The role.
        role: Role,
        /// The roles that there are.
        known: Vec<Role>,
    },
}
