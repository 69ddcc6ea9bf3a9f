//! A ledger: opening it, reading receipts that its checkpoint vouches for, and appending so that a crash leaves the old
//! ledger or the new one.
//!
//! The commit order is `docs/format.md` section "Commit": evidence, staged bundles, compare-and-swap of the
//! authoritative checkpoint, tiles and bundles, the published checkpoint.

mod append;
mod chain;
mod bridging;
mod commit;
mod comparing;
mod completeness;
mod config;
mod evidence;
mod fork;
mod gating;
mod genesis;
mod history;
mod log;
mod proving;
mod ratchet;
mod reader;
mod snapshot;
mod standing;
mod violation;

pub use append::{Appended, Draft, LogSigner, Rehearsal};
pub use bridging::{Bridge, BridgeBase, BridgeFrom, BridgedSide};
pub use chain::{Proposal, TrustChain, is_compromised, roles_for};
pub use comparing::{ComparedRounds, NumberedRound, compare_rounds, fails_what_must_pass, unknown_facts};
pub use completeness::{Completeness, Gap, ListedRound, SystemLooks};
pub use config::{Config, Defaults, FORMAT};
pub use evidence::{MAX_RECORD_BYTES, RoundEvidence, RoundEvidenceError, held_bytes, role, scheme_of};
pub use fork::{ForkEvidence, ForkKind};
pub use gating::{GateEvidenceError, GateRun, compare_gates, gate_profile, replay_gate};
pub use genesis::{Genesis, default_origin};
pub use history::{History, Round};
pub use log::LogIdentity;
pub(crate) use log::check_signature;
pub use proving::open_checkpoint;
pub use ratchet::Ratchet;
pub use reader::Reader;
pub use snapshot::{BUNDLES_AT_ONCE, Snapshot, TileSource};
pub(crate) use snapshot::{read_bundle, read_tile};
pub(crate) use standing::chain_part;
pub(crate) use violation::trust_text;
pub use violation::{SignoffFault, TrustViolation};

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use crate::compare::CompareError;
use crate::merkle::MerkleError;
use crate::object::{ReceiptId, RecordError, Sha256};
use crate::receipt::{EvidenceError, Receipt, ReceiptError};
use crate::store::{Name, Store, StoreError};
use crate::trust::{Refusal, Role, Signer, TrustError};

/// Why a ledger cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// There is no ledger here.
    #[error("there is no ledger here")]
    Absent,
    /// There is one already.
    #[error("there is a ledger already")]
    Present,
    /// A ledger of a later format.
    #[error("config.toml says format {found}, and this version reads format {FORMAT}")]
    Format {
        /// What it says.
        found: i64,
    },
    /// The configuration cannot be read.
    #[error("config.toml is not as it must be: {reason}")]
    Config {
        /// What is wrong, with its line.
        reason: String,
    },
    /// The place where the ledger lives failed.
    #[error("the ledger's files cannot be used")]
    Store(#[from] StoreError),
    /// Tiles, bundles or checkpoint are not what they must be.
    #[error("the log is damaged")]
    Log(#[from] MerkleError),
    /// A file of the log is missing.
    #[error("`{name}` is missing")]
    Missing {
        /// The name inside the ledger.
        name: String,
    },
    /// The files of the log do not add up to the signed root.
    #[error("the log's files do not add up to the signed root at size {size}")]
    Root {
        /// The checkpoint's size.
        size: u64,
    },
    /// An entry of the log is not a receipt.
    #[error("entry {index} of the log is not a receipt")]
    Entry {
        /// Its index.
        index: u64,
        /// Why.
        #[source]
        source: ReceiptError,
    },
    /// A receipt that belongs elsewhere: a copy, or moved.
    #[error("entry {index} of the log is a receipt for index {stated}")]
    Misplaced {
        /// Where it is.
        index: u64,
        /// Where it says that it is.
        stated: u64,
    },
    /// Receipt 0 must be the first trust statement.
    #[error("receipt 0 is not a trust statement")]
    NoTrust,
    /// A receipt that another one names is not there.
    #[error("there is no receipt {receipt} at index {index}")]
    NoSuchReceipt {
        /// Where it should be.
        index: u64,
        /// Its id.
        receipt: ReceiptId,
    },
    /// Making a receipt failed.
    #[error("cannot make the receipt")]
    Receipt(#[from] ReceiptError),
    /// The evidence list of a receipt is not one.
    #[error("cannot list the evidence")]
    Evidence(#[from] EvidenceError),
    /// The trust statement cannot be made.
    #[error("cannot state who is trusted")]
    Trust(#[from] TrustError),
    /// The signer may not do this.
    #[error("{action} is not allowed")]
    NotAllowed {
        /// What was to be done, as in `appending to this ledger`.
        action: &'static str,
        /// Who, which rule, and what would satisfy it.
        #[source]
        refusal: Refusal,
    },
    /// The trust in force does not let this receipt be.
    #[error("the trust in force does not allow this receipt")]
    AgainstTrust(#[source] Box<TrustViolation>),
    /// What changes trust must be a commit of its own.
    #[error("a trust statement, or a sign-off on one, is appended alone: what follows it is judged by other trust")]
    NotAlone,
    /// The log key at hand is another one than the ledger's.
    #[error("the log key at hand is {found}, and this ledger's log is signed with {wanted}")]
    OtherLogKey {
        /// The key at hand, as a C2SP verifier key.
        found: String,
        /// The ledger's.
        wanted: String,
    },
    /// The log shrank or forked against what this machine saw.
    #[error("{0}")]
    Fork(Box<ForkEvidence>),
    /// What this machine saw cannot be read or written.
    #[error("cannot {action} `{path}`")]
    Ratchet {
        /// What was being done.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: std::io::Error,
    },
    /// A file that remembers what this machine saw is not one.
    #[error("`{path}` does not hold a checkpoint of this log")]
    RatchetDamaged {
        /// The file.
        path: PathBuf,
    },
    /// Another writer was faster, again and again.
    #[error("another writer keeps changing the ledger")]
    Contention,
    /// The log changed between reading it and writing what rests on it.
    #[error("the log changed while this was decided: it had {read} receipts then, and has {found}")]
    Moved {
        /// How many it had when it was read.
        read: u64,
        /// How many it has.
        found: u64,
    },
    /// Nothing to append.
    #[error("there is nothing to append")]
    Nothing,
    /// The evidence of a round cannot be used.
    #[error(transparent)]
    RoundEvidence(Box<RoundEvidenceError>),
    /// The evidence of a round does not give the card that its receipt states, or is no longer all there.
    #[error("the evidence of {round} does not give the card that receipt {receipt} states")]
    Card {
        /// The round, as in `main#3`.
        round: String,
        /// Its receipt.
        receipt: ReceiptId,
    },
    /// The evidence of a gate run cannot be used.
    #[error("the evidence of gate receipt {index} cannot be used")]
    GateEvidence {
        /// The receipt's index.
        index: u64,
        /// Why.
        #[source]
        source: Box<GateEvidenceError>,
    },
    /// Two rounds and their evidence do not go together.
    #[error("the rounds cannot be put side by side")]
    Compare(#[from] CompareError),
    /// A record of a batch is refused.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// An open ledger.
pub struct Ledger {
    store: Box<dyn Store>,
    log: LogIdentity,
    config: Config,
    /// The chain of trust at the root that it was last folded for, and as far as the newest receipt last told it.
    folded: Mutex<Option<(Sha256, Arc<TrustChain>)>>,
    told: Mutex<Option<(Sha256, Arc<TrustChain>)>>,
    /// Whether opening it published again what was lost.
    restored: bool,
}

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ledger").field("log", &self.log).field("config", &self.config).finish_non_exhaustive()
    }
}

impl Ledger {
    /// Opens what is there. Reads the checkpoint and receipt 0; finishes or discards what a dead writer left behind
    /// only where reading needs it.
    pub fn open(store: Box<dyn Store>) -> Result<Self, LedgerError> {
        let config = Config::read(store.as_ref())?;
        let (log, restored) = match LogIdentity::read(store.as_ref()) {
            Ok(log) => (log, false),
            Err(first) => {
                commit::finish_interrupted(store.as_ref(), first)?;
                (LogIdentity::read(store.as_ref())?, true)
            }
        };
        let (folded, told) = (Mutex::default(), Mutex::default());
        Ok(Self { store, log, config: config.unwrap_or_default(), folded, told, restored })
    }

    /// Whether the published checkpoint, or what it needs, was lost and was published again from what the writer keeps when the
    /// ledger was opened.
    pub fn was_restored(&self) -> bool {
        self.restored
    }

    /// Refuses a signer who may not sign receipts of a kind, a log that shrank or forked, a cell that the log never signed, and a log
    /// whose newest bundle cannot be read, before anything is written.
    ///
    /// What a writer mends is let pass: a published checkpoint behind the cell, and lost tiles. It is judged again then.
    ///
    /// `roles` are those of which the signer needs one ([`roles_for`]). Hands back the person that the signer acts for.
    pub fn may_append(&self, signer: &dyn Signer, roles: &[Role], ratchet: &Ratchet) -> Result<String, LedgerError> {
        let mut snapshot = self.snapshot()?;
        let chain = match self.chain_for(&snapshot, None) {
            // What is lost may be what a writer makes again: then it is made before the signer is judged.
            Err(LedgerError::Missing { .. } | LedgerError::Log(_)) => {
                drop(commit::Writer::next(self.store.as_ref(), &self.log)?);
                snapshot = self.snapshot()?;
                self.chain_for(&snapshot, None)?
            }
            chain => chain?,
        };
        let action = match roles {
            [Role::Signoff] => "signing off or waiving in this ledger",
            [Role::Root] => "changing trust in this ledger",
            [Role::Append] => "appending to this ledger",
            _ => "withdrawing in this ledger",
        };
        let person = chain.holder(&signer.public().fingerprint(), roles);
        let person = person.map_err(|refusal| LedgerError::NotAllowed { action, refusal })?.to_owned();
        let seen = ratchet.seen(&self.log)?;
        if let Some(cell) = self.store.cell()?
            && self.log.checkpoint(&cell)?.size() > snapshot.size()
        {
            return Ok(person);
        }
        match ratchet.check(&self.log, seen.as_deref(), &snapshot) {
            Ok(()) | Err(LedgerError::Missing { .. } | LedgerError::Log(_)) => Ok(person),
            Err(error) => Err(error),
        }
    }

    /// Where it lives.
    pub fn store(&self) -> &dyn Store {
        self.store.as_ref()
    }

    /// Its configuration, which decides nothing.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The log's name and key, as receipt 0 states them.
    pub fn log(&self) -> &LogIdentity {
        &self.log
    }

    /// One receipt, proven to be in the log, that trust has nothing against: signed by a key that might do so under the
    /// trust in force at its index, which it names, and that is not compromised under the trust in force now.
    pub fn checked_receipt(&self, snapshot: &Snapshot<'_>, index: u64) -> Result<Receipt, LedgerError> {
        let receipt = snapshot.receipt(index)?;
        let chain = self.trust_chain(snapshot)?;
        chain.check(index, &receipt)?;
        Ok(receipt)
    }

    /// The ledger as its published checkpoint has it.
    pub fn snapshot(&self) -> Result<Snapshot<'_>, LedgerError> {
        let (checkpoint, note) = self.log.published(self.store.as_ref())?;
        Ok(Snapshot::new(self.store.as_ref(), checkpoint, note))
    }
}

/// The receipt in an entry, which must be where it says that it is.
pub fn receipt_at(index: u64, entry: &[u8]) -> Result<Receipt, LedgerError> {
    let receipt = Receipt::parse(entry).map_err(|source| LedgerError::Entry { index, source })?;
    let stated = receipt.statement().predicate.index;
    if stated == index { Ok(receipt) } else { Err(LedgerError::Misplaced { index, stated }) }
}

/// The published checkpoint's name.
pub(crate) fn checkpoint_name() -> Result<Name, StoreError> {
    "checkpoint".parse()
}
