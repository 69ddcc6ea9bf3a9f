//! What a receipt rests on: everything that it names, and what those name, and the waivers about any of them.

use std::collections::{BTreeMap, BTreeSet};

use super::fold::Decisions;
use crate::object::ReceiptId;
use crate::receipt::{Kind, ReceiptRef};

/// The kinds that a sign-off can rest on.
pub(super) const RESTABLE: [Kind; 5] = [Kind::Scorecard, Kind::Comparison, Kind::Baseline, Kind::Gate, Kind::Waiver];

/// Gaps of one list that are told; it bounds what one hostile receipt costs.
const MOST_TOLD: usize = 8;

/// What keeps a list of receipts from being complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gap {
    /// A receipt that one of them, or the target, names is not listed.
    Named {
        /// What is missing.
        missing: ReceiptRef,
        /// The index of the receipt that names it.
        by: u64,
    },
    /// A waiver about one of them, or about the target, is not listed.
    Waiver {
        /// What is missing.
        missing: ReceiptRef,
        /// The index of the receipt that it is about.
        about: u64,
    },
    /// A receipt that is listed is of a kind that no decision rests on.
    Kind {
        /// What is listed.
        listed: ReceiptRef,
        /// Its kind.
        kind: Kind,
    },
}

impl Decisions {
    /// Everything that a decision about `target`, made now, rests on beside it, if it also rests on `with`: what they
    /// name, and so on, and every waiver about any of these that is not withdrawn. Sorted by index, without `target`.
    pub fn complete(&self, target: ReceiptRef, with: &[ReceiptRef]) -> Vec<ReceiptRef> {
        let mut found: BTreeMap<u64, ReceiptId> = BTreeMap::new();
        let mut waiting: Vec<ReceiptRef> = with.iter().copied().chain([target]).collect();
        while let Some(next) = waiting.pop() {
            if found.insert(next.index, next.receipt).is_some() {
                continue;
            }
            waiting.extend(self.noted(next).into_iter().flat_map(|noted| noted.named()));
            waiting.extend(self.open_waivers(next.index));
        }
        found.remove(&target.index);
        found.into_iter().map(|(index, receipt)| ReceiptRef { index, receipt }).collect()
    }

    /// What keeps `listed` from being everything that a decision about `target`, made now, rests on; the first few of it.
    pub fn gaps(&self, target: ReceiptRef, listed: &[ReceiptRef]) -> Vec<Gap> {
        let known: BTreeSet<(u64, ReceiptId)> =
            listed.iter().chain([&target]).map(|one| (one.index, one.receipt)).collect();
        let has = |one: &ReceiptRef| known.contains(&(one.index, one.receipt));
        let mut gaps = Vec::new();
        for one in listed.iter().chain([&target]) {
            if gaps.len() >= MOST_TOLD {
                break;
            }
            // What is not there at all is a broken reference.
            let Some(noted) = self.noted(*one) else { continue };
            if one != &target && !RESTABLE.contains(&noted.kind()) {
                gaps.push(Gap::Kind { listed: *one, kind: noted.kind() });
            }
            let named = noted.named().into_iter().filter(|named| !has(named));
            gaps.extend(named.map(|missing| Gap::Named { missing, by: one.index }).take(MOST_TOLD));
            let waivers = self.open_waivers(one.index).filter(|waiver| !has(waiver));
            gaps.extend(waivers.map(|missing| Gap::Waiver { missing, about: one.index }).take(MOST_TOLD));
        }
        gaps
    }
}
