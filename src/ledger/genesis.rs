//! Receipt 0: a new ledger states who is trusted and which key signs its log.

use super::append::LogSigner;
use super::commit::Writer;
use super::config::Config;
use super::{Ledger, LedgerError};
use crate::merkle::VerifierKey;
use crate::object::Sha256;
use crate::receipt::{Body, Moment, Predicate, Receipt, Statement, Subject, Tool};
use crate::store::Store;
use crate::trust::{self, Signer};

/// Everything that a new ledger states.
pub struct Genesis<'a> {
    /// The person who holds every role.
    pub person: &'a str,
    /// That person's key.
    pub signer: &'a dyn Signer,
    /// The log's name and key.
    pub log: &'a LogSigner<'a>,
    /// When.
    pub recorded_at: Moment,
    /// The program.
    pub tool: Tool,
}

/// The name of a log that was given none: `proofmark.local/` and the first eight hexadecimal digits of its key.
pub fn default_origin(raw: &[u8; 32]) -> String {
    let digits: String = raw[..4].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("proofmark.local/{digits}")
}

impl Ledger {
    /// Makes a ledger with receipt 0.
    pub fn create(store: Box<dyn Store>, genesis: &Genesis<'_>) -> Result<Self, LedgerError> {
        let writer = Writer::first(store.as_ref())?;
        Config::write(store.as_ref(), genesis.log.key().name())?;
        let receipt = first_receipt(genesis)?;
        commit_first(writer, receipt.bytes(), genesis.log)?;
        Self::open(store)
    }
}

fn first_receipt(genesis: &Genesis<'_>) -> Result<Receipt, LedgerError> {
    let key: &VerifierKey = genesis.log.key();
    let log = trust::LogKey { origin: key.name().to_owned(), key: key.to_string() };
    let statement = trust::Statement::first(genesis.person, *genesis.signer.public(), log)?;
    // What is vouched for is the log: its name, and the SHA-256 of its verifier key's text.
    let subject = Subject::new(key.name().parse()?, Sha256::of(key.to_string().as_bytes()));
    let predicate = Predicate {
        index: 0,
        recorded_at: genesis.recorded_at,
        tool: genesis.tool.clone(),
        trust: None,
        evidence: Vec::new(),
        note: None,
        body: Body::Trust(statement),
    };
    Ok(Receipt::sign(Statement { subject: vec![subject], predicate }, genesis.signer)?)
}

fn commit_first(mut writer: Writer<'_>, entry: &[u8], log: &LogSigner<'_>) -> Result<(), LedgerError> {
    writer.push(entry)?;
    writer.commit(log.key().name(), |checkpoint| log.sign(checkpoint), |_| Ok(()))
}
