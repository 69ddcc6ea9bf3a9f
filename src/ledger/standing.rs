//! The trust in force at the end of a ledger: what a writer asks before it signs, without reading the whole log.

use std::sync::{Arc, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{Ledger, LedgerError, Reader, Snapshot, TrustChain, TrustViolation, receipt_at};
use crate::receipt::{Body, Receipt, ReceiptRef};
use crate::trust::KeyId;

/// What a predicate type stands behind in a statement, whose strings escape quotes.
const TYPE: &str = r#""predicateType":"urn:x-proofmark:"#;
/// The two predicate types of which the chain is made.
const PARTS: [&str; 2] = [r#"trust:v1""#, r#"signoff:v1""#];
const PAYLOAD: &[u8] = br#"{"payload":""#;

/// The receipt in an entry, if it may be part of the chain of trust; most entries are passed over unparsed.
///
/// # Errors
/// As [`receipt_at`]; a receipt that stands elsewhere than it says is none of the chain's.
pub(crate) fn chain_part(index: u64, entry: &[u8]) -> Result<Option<Receipt>, LedgerError> {
    if index > 0 && !may_be(entry, &PARTS) {
        return Ok(None);
    }
    receipt_at(index, entry).map(Some)
}

/// Whether an entry says that it is of one of these predicate types.
fn may_be(entry: &[u8], types: &[&str]) -> bool {
    let payload = entry.strip_prefix(PAYLOAD).and_then(|rest| rest.split(|byte| *byte == b'"').next());
    let statement = payload.and_then(|payload| STANDARD.decode(payload).ok());
    let Some(statement) = statement.and_then(|bytes| String::from_utf8(bytes).ok()) else {
        // Not an envelope in its one form: parsing says what it is.
        return true;
    };
    // The predicate type stands near the end, before the subjects: canonical JSON sorts members.
    statement.rmatch_indices(TYPE).any(|(at, _)| {
        let named = &statement[at + TYPE.len()..];
        types.iter().any(|part| named.starts_with(part))
    })
}

impl Ledger {
    /// The chain of trust over the whole log: reads every entry, and parses those that are part of it.
    pub fn trust_chain(&self, snapshot: &Snapshot<'_>) -> Result<Arc<TrustChain>, LedgerError> {
        let root = snapshot.checkpoint().root();
        let mut folded = self.folded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, chain)) = folded.as_ref().filter(|(known, _)| *known == root) {
            return Ok(Arc::clone(chain));
        }
        let chain = Arc::new(self.fold(snapshot)?);
        *folded = Some((root, Arc::clone(&chain)));
        Ok(chain)
    }

    /// The chain as far as the newest receipts tell it, without reading the log: the statement in force, and perhaps not
    /// what waits. Good enough to say who somebody is, not to decide anything.
    pub fn trust_now(&self, snapshot: &Snapshot<'_>) -> Result<Arc<TrustChain>, LedgerError> {
        self.chain_for(snapshot, None)
    }

    fn fold(&self, snapshot: &Snapshot<'_>) -> Result<TrustChain, LedgerError> {
        let mut chain = self.first_trust();
        snapshot.map_from::<_, LedgerError>(0, chain_part, |index, receipt| {
            receipt.iter().for_each(|receipt| _ = chain.take(index, receipt));
            Ok(())
        })?;
        Ok(chain)
    }

    fn first_trust(&self) -> TrustChain {
        let genesis = ReceiptRef { index: 0, receipt: self.log.genesis };
        TrustChain::at(genesis, Arc::new(self.log.trust.clone()))
    }

    /// The chain as far as the next receipt's judgement needs it: the statement in force and, where what is to be said is
    /// itself part of the chain, everything.
    ///
    /// The newest receipt names the trust in force at its index, and only a trust statement or a sign-off on one can
    /// change that; so the log is read to its beginning only where the newest receipt is not as it must be. What a forger
    /// with the log's key says there is believed by a writer and found by every verification.
    pub(super) fn chain_for(
        &self,
        snapshot: &Snapshot<'_>,
        body: Option<&Body>,
    ) -> Result<Arc<TrustChain>, LedgerError> {
        if let Some(body) = body
            && concerns_chain(snapshot, body)?
        {
            return self.trust_chain(snapshot);
        }
        // A writer asks once before it takes the lock, and once under it.
        let root = snapshot.checkpoint().root();
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, chain)) = told.as_ref().filter(|(known, _)| *known == root) {
            return Ok(Arc::clone(chain));
        }
        match self.quick_chain(snapshot)? {
            Some(chain) => Ok(Arc::clone(&told.insert((root, Arc::new(chain))).1)),
            None => self.trust_chain(snapshot),
        }
    }

    fn quick_chain(&self, snapshot: &Snapshot<'_>) -> Result<Option<TrustChain>, LedgerError> {
        let last = snapshot.size().saturating_sub(1);
        if last == 0 {
            // Nobody reads the bundle of a ledger that holds receipt 0 alone, and it has to be whole to be extended.
            snapshot.newest_bundle_is_whole()?;
            return Ok(Some(self.first_trust()));
        }
        let newest = snapshot.receipt(last)?;
        let predicate = &newest.statement().predicate;
        let Some(named) = predicate.trust.filter(|named| named.index < last) else { return Ok(None) };
        let Some(mut chain) = self.chain_at(snapshot, named)? else { return Ok(None) };
        if let Body::Signoff(signoff) = &predicate.body
            && signoff.target.index > named.index
            && is_trust(snapshot, signoff.target)?
        {
            let mut reader = Reader::new(snapshot.clone());
            for index in signoff.target.index..last {
                chain.take(index, &reader.receipt(index)?);
            }
        }
        let signed = chain.key(newest.key()).is_some_and(|key| newest.verify(key).is_ok());
        Ok((chain.take(last, &newest).is_empty() && signed).then_some(chain))
    }

    /// The chain as it stands when the named trust receipt has come into force.
    fn chain_at(&self, snapshot: &Snapshot<'_>, named: ReceiptRef) -> Result<Option<TrustChain>, LedgerError> {
        let first = self.first_trust();
        if first.in_force().1 == named {
            return Ok(Some(first));
        }
        if named.index == 0 {
            return Ok(None);
        }
        let receipt = snapshot.receipt(named.index)?;
        let Body::Trust(statement) = &receipt.statement().predicate.body else { return Ok(None) };
        Ok((receipt.id() == named.receipt).then(|| TrustChain::at(named, Arc::new(statement.clone()))))
    }
}

/// Whether a receipt that says this would be part of the chain of trust, or is about a part of it.
fn concerns_chain(snapshot: &Snapshot<'_>, body: &Body) -> Result<bool, LedgerError> {
    match body {
        Body::Trust(_) => Ok(true),
        Body::Signoff(signoff) => is_trust(snapshot, signoff.target),
        Body::Withdrawal(withdrawal) => match target(snapshot, withdrawal.target)? {
            Some(Body::Signoff(signoff)) => is_trust(snapshot, signoff.target),
            target => Ok(matches!(target, Some(Body::Trust(_)))),
        },
        _ => Ok(false),
    }
}

fn is_trust(snapshot: &Snapshot<'_>, reference: ReceiptRef) -> Result<bool, LedgerError> {
    Ok(matches!(target(snapshot, reference)?, Some(Body::Trust(_))))
}

/// What a receipt says that another one refers to, if it is there.
fn target(snapshot: &Snapshot<'_>, reference: ReceiptRef) -> Result<Option<Body>, LedgerError> {
    if reference.index >= snapshot.size() {
        return Ok(None);
    }
    let receipt = snapshot.receipt(reference.index)?;
    Ok((receipt.id() == reference.receipt).then(|| receipt.statement().predicate.body.clone()))
}

impl TrustChain {
    /// Refuses what trust does not allow this key to append next. A writer asks again, under its lock.
    ///
    /// # Errors
    /// [`LedgerError::NotAllowed`] and [`LedgerError::AgainstTrust`].
    pub fn permit(&self, key: &KeyId, body: &Body) -> Result<(), LedgerError> {
        refuse_violations(self, self.in_force().1, key, body)
    }
}

/// Refuses what trust does not allow to be appended next.
pub(super) fn refuse_violations(
    chain: &TrustChain,
    trust: ReceiptRef,
    key: &KeyId,
    body: &Body,
) -> Result<(), LedgerError> {
    match chain.judge(Some(trust), key, body).into_iter().next() {
        None => Ok(()),
        Some(TrustViolation::NotAllowed(refusal)) => Err(LedgerError::NotAllowed { action: action(body), refusal }),
        Some(violation) => Err(LedgerError::AgainstTrust(Box::new(violation))),
    }
}

fn action(body: &Body) -> &'static str {
    match body {
        Body::Trust(_) => "proposing a trust statement",
        Body::Signoff(_) => "signing this off",
        Body::Withdrawal(_) => "withdrawing this receipt",
        Body::Waiver(_) => "waiving this check",
        _ => "appending to this ledger",
    }
}
