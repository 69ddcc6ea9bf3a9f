//! The forger suite: decisions that were forged into a log past everything that the commands refuse. Each is found by
//! `verify` with its own codes and blocks `authorize` with its own reasons.

mod property;
mod suite;
mod told;

use std::collections::BTreeSet;

use proofmark::authorize::{Document, Request, Wanted, When, authorize};
use proofmark::ledger::{Ledger, Ratchet};
use proofmark::receipt::{Moment, Release};
use proofmark::store::Memory;
use proofmark::verify::Code;

use crate::keys::moment;

pub use told::{Told, cases, parts, whole_story};

/// A forged log, what the audit finds in it, and what is said against the release of its newest gate run.
pub struct Case {
    pub what: &'static str,
    pub store: Memory,
    pub found: Vec<Code>,
    pub reasons: Vec<&'static str>,
}

/// So many days after everything in these logs.
pub fn days(days: i64) -> Moment {
    Moment::from_unix(moment().unix() + days * 86_400).unwrap()
}

pub fn ask(wanted: Wanted, when: When) -> Request {
    Request { wanted, when, min_size: None, extends: None }
}

pub fn decide(store: &Memory, request: &Request) -> Document {
    let seen = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(Box::new(store.clone())).unwrap();
    authorize(&ledger, &Ratchet::new(seen.path()), request, &mut |_, _| {}).unwrap()
}

pub fn codes(document: &Document) -> Vec<&'static str> {
    let codes: BTreeSet<_> = document.reasons.iter().map(|reason| reason.code).collect();
    codes.into_iter().collect()
}

#[test]
fn every_forged_decision_blocks_with_its_own_reasons() {
    for Case { what, store, mut reasons, .. } in cases() {
        reasons.sort_unstable();
        let document = decide(&store, &ask(Wanted::Newest, When::Clock(days(1))));
        assert_eq!(codes(&document), reasons, "{what}: {:#?}", document.reasons);
        assert_eq!(document.decision == Release::Authorized, reasons.is_empty(), "{what}");
        for reason in &document.reasons {
            let said = [&reason.found, &reason.rule, &reason.remedy];
            assert!(said.iter().all(|text| !text.is_empty()), "{what}: {reason:?}");
        }
    }
}
