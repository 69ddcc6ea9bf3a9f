//! One receipt with what it rests on: proven to be in the log, and checked like all others, without reading the rest.

use std::collections::{BTreeMap, BTreeSet};

use super::about::About;
use super::docket::Docket;
use super::entries::Entry;
use super::finding::{Axis, Code, Finding, NoticeCode, chain};
use super::standing::{Judged, Standings};
use super::survey::{Content, content};
use super::{Audit, MAX_BUNDLE_BYTES, VerifyError, WIDTH};
use crate::dossier::{closure, is_decision};
use crate::ledger::{LedgerError, Snapshot, chain_part};
use crate::merkle::TileName;
use crate::object::ReceiptId;
use crate::receipt::{Kind, Receipt, ReceiptRef};
use crate::release::Decisions;
use crate::store::{Store, StoreError};

/// Checks receipt `index`, receipt 0, and every receipt that they name.
pub(super) fn examine(audit: &mut Audit<'_>, index: u64, docket: &mut Docket) -> Result<(), VerifyError> {
    let (opening, size) = (audit.opening, audit.opening.size);
    if index >= size {
        return Err(VerifyError::NoSuchReceipt { index, size });
    }
    let Some(published) = &opening.published else { return Ok(()) };
    let snapshot = Snapshot::new(audit.store, published.checkpoint.clone(), published.note.encode());
    let mut bytes = BTreeMap::new();
    closure([0, index], |next| {
        let entry = proven(&snapshot, next, docket)?;
        let receipt = entry.as_deref().and_then(|entry| Receipt::parse(entry).ok());
        bytes.insert(next, entry);
        Ok::<_, VerifyError>(receipt)
    })?;
    let mut entries = BTreeMap::new();
    for (index, entry) in bytes {
        let (Some(entry), Some(bundle)) = (entry, bundle_of(index, size)) else { continue };
        docket.count(Axis::Log, "receipts", 1);
        entries.insert(index, (bundle.to_string(), Entry::read(index, &entry)));
    }
    let mut judged = judge(audit, index, &snapshot, &entries, docket);
    let mut kept = Vec::new();
    for (index, (bundle, entry)) in entries {
        kept.extend(audit.receipts.admit(&bundle, entry, judged.remove(&index), docket));
    }
    docket.not_checked(
        Axis::Policy,
        "decisions are judged by the whole log: by `proofmark verify` without a receipt, `status` and `authorize`",
    );
    docket.notice(
        NoticeCode::OneReceipt,
        Some(index),
        None,
        "only this receipt and what it rests on were looked at; run `proofmark verify` for the whole ledger",
    );
    audit.rest_of(&kept, docket)
}

/// Judges these receipts by trust, which takes the whole log: what is part of the chain of trust may stand anywhere, and so may
/// what was decided about them.
fn judge(
    audit: &mut Audit<'_>,
    index: u64,
    snapshot: &Snapshot<'_>,
    entries: &BTreeMap<u64, (String, Entry)>,
    docket: &mut Docket,
) -> BTreeMap<u64, Judged> {
    let (Some(genesis), Some(trust)) = (&audit.opening.genesis, audit.receipts.trust()) else { return BTreeMap::new() };
    let mut standings = Standings::begin(genesis);
    let mut judged = BTreeMap::new();
    let mut decisions = Decisions::default();
    // What is part of the chain of trust must be read; of the others, what was decided is all that is told.
    let parsed = |index: u64, entry: &[u8]| -> Result<(bool, Option<Receipt>), LedgerError> {
        Ok(match chain_part(index, entry)? {
            Some(part) => (true, Some(part)),
            None => (false, Receipt::parse(entry).ok().filter(|one| one.statement().predicate.index == index)),
        })
    };
    let read = snapshot.map_from::<_, LedgerError>(0, parsed, |index, (part, receipt)| {
        let Some(receipt) = receipt else { return Ok(()) };
        let shown = entries.contains_key(&index);
        let decides = is_decision(receipt.statement().predicate.kind());
        let mut good = true;
        if part || shown || decides {
            let found = standings.judge(index, &receipt, None);
            // Whoever may not withdraw a receipt did not; a sign-off without the role is told with what is wrong with it.
            let may = found.against.is_empty() || receipt.statement().predicate.kind() != Kind::Withdrawal;
            good = may && matches!(found.signature, Some(Ok(())));
            if shown {
                judged.insert(index, found);
            }
        }
        // A decision that nobody made decides nothing.
        if good || !decides {
            decisions.take(index, &receipt, standings.in_force_at(index));
        }
        Ok(())
    });
    match read {
        Ok(()) => {
            // Receipt 0 is always looked at, and what was decided about it is about trust.
            let shown: BTreeSet<u64> = entries.keys().copied().filter(|shown| *shown == index || *shown > 0).collect();
            for target in &shown {
                if let Some(by) = decisions.withdrawn(*target) {
                    let text = format!("receipt #{target} is WITHDRAWN, by #{by}");
                    docket.notice(NoticeCode::ReceiptWithdrawn, Some(*target), None, text);
                }
            }
            if let Some((_, entry)) = entries.get(&index) {
                let subject = ReceiptRef { index, receipt: entry.id };
                audit.about = Some(About::of(subject, &shown, &decisions, Some(standings.now()), true));
            }
            *trust = standings;
        }
        Err(error) => {
            judged.clear();
            docket.find(Finding::new(Code::TrustUnreadable, "a log that can be read to its end", chain(&error)));
            let reason = "the log cannot be read to its end, so the trust in force is not known";
            for axis in [Axis::Signatures, Axis::TrustThen, Axis::TrustNow, Axis::Policy] {
                docket.not_checked(axis, reason);
            }
        }
    }
    judged
}

fn bundle_of(index: u64, size: u64) -> Option<TileName> {
    TileName::in_tree(0, index / WIDTH, size).and_then(TileName::bundle)
}

/// An entry with its proof of inclusion; what is wrong with it is a finding.
fn proven(snapshot: &Snapshot<'_>, index: u64, docket: &mut Docket) -> Result<Option<Vec<u8>>, VerifyError> {
    let expected = format!("receipt #{index}, proven by the tiles");
    match snapshot.entry(index) {
        Ok(entry) => Ok(Some(entry)),
        Err(LedgerError::Store(error @ StoreError::Io { .. })) => Err(VerifyError::Store(error)),
        Err(error) => {
            docket.find(Finding::new(Code::InclusionFails, expected, chain(&error)).at(index, None));
            Ok(None)
        }
    }
}

/// The index of the receipt with this id: a scan of all bundles, which believes nothing but the bytes.
pub fn find_receipt(store: &dyn Store, id: ReceiptId) -> Result<Option<u64>, VerifyError> {
    let mut docket = Docket::default();
    let opening = super::Opening::read(store, &mut docket)?;
    for index in opening.survey.bundles() {
        let Some(bundle) = bundle_of(index * WIDTH, opening.size) else { break };
        let Content::Bytes(bytes) = content(store, &bundle.to_string(), MAX_BUNDLE_BYTES)? else { continue };
        let Ok(entries) = crate::merkle::Bundle::parse(&bytes, bundle.width()) else { continue };
        if let Some((index, _)) = (index * WIDTH..).zip(entries.entries()).find(|(_, entry)| ReceiptId::of(entry) == id)
        {
            return Ok(Some(index));
        }
    }
    Ok(None)
}
