//! Reading the decisions of a whole log.

use super::fold::Decisions;
use crate::ledger::{LedgerError, Snapshot, TrustChain};
use crate::object::Sha256;
use crate::receipt::ReceiptRef;

/// The decisions of a log at one checkpoint, and its chain of trust.
#[derive(Debug, Clone)]
pub struct Reading {
    /// How many receipts there are.
    pub size: u64,
    /// The checkpoint's root, to which they add up.
    pub root: Sha256,
    /// What persons decided.
    pub decisions: Decisions,
    /// Who may do what.
    pub chain: TrustChain,
}

impl Reading {
    /// Reads every receipt. Signatures are checked only of what makes the chain of trust: the audit checks all.
    ///
    /// # Errors
    /// [`LedgerError`] where the log cannot be read to its end, or does not begin with a trust statement.
    pub fn of(snapshot: &Snapshot<'_>) -> Result<Self, LedgerError> {
        let mut chain: Option<TrustChain> = None;
        let mut decisions = Decisions::default();
        snapshot.for_each(|index, receipt| {
            let chain = match &mut chain {
                Some(chain) => chain,
                none => none.insert(TrustChain::begin(&receipt)?),
            };
            chain.take(index, &receipt);
            decisions.take(index, &receipt, chain.in_force_at(index).0);
            Ok(())
        })?;
        let chain = chain.ok_or(LedgerError::NoTrust)?;
        Ok(Self { size: snapshot.size(), root: snapshot.checkpoint().root(), decisions, chain })
    }

    /// The receipt at an index.
    ///
    /// # Errors
    /// [`LedgerError::Missing`] beyond the end.
    pub fn reference(&self, index: u64) -> Result<ReceiptRef, LedgerError> {
        self.decisions.reference(index).ok_or_else(|| LedgerError::Missing { name: format!("entry {index}") })
    }
}
