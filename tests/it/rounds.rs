//! A small ledger with something of everything, made through the library.

use std::path::Path;

use proofmark::ledger::{Appended, Draft, Ledger, LogSigner, Ratchet};
use proofmark::object::Sha256;
use proofmark::receipt::{
    Baseline, Basis, Body, Comparison, Evidence, ReceiptRef, ScorecardBody, Subject, sorted_evidence,
};
use proofmark::scorecard::{Scorecard, Tolerance, detect_regression};
use proofmark::store::{Directory, Store, digest_slice, put_slice};

use crate::keys;

pub const ANSWERS: &[u8] = b"{\"reply\":\"Paris\"}\n";

/// Evidence of these bytes; stored where `held`.
pub fn evidence(store: &dyn Store, role: &str, bytes: &[u8], held: bool) -> Evidence {
    let digests = if held { put_slice(store, bytes).unwrap() } else { digest_slice(bytes) };
    Evidence {
        role: role.parse().unwrap(),
        blake3: digests.blake3,
        sha256: digests.sha256,
        size: digests.size,
        media_type: "application/jsonl".to_owned(),
        held,
    }
}

pub fn card(quality: f64, questions: &str) -> Scorecard {
    Scorecard::new(quality, 1.5, 0.5, 10, questions).unwrap()
}

pub fn questions(digit: char) -> String {
    format!("pm1:{}", digit.to_string().repeat(64))
}

pub fn draft(body: Body) -> Draft {
    Draft {
        subject: vec![Subject::new("system".parse().unwrap(), Sha256::of(b"system"))],
        evidence: Vec::new(),
        note: None,
        recorded_at: keys::moment(),
        tool: keys::tool(),
        body,
    }
}

pub fn round(line: &str, card: Scorecard) -> Draft {
    draft(Body::Scorecard(ScorecardBody {
        line: line.parse().unwrap(),
        basis: Basis::Recomputed,
        card,
        scorer: "substring/v2".parse().unwrap(),
        sealed: false,
        unknown: Vec::new(),
    }))
}

pub fn comparison(base: ReceiptRef, current: ReceiptRef, from: &Scorecard, to: &Scorecard) -> Draft {
    let report = detect_regression(from, to, Tolerance::default());
    draft(Body::Comparison(Comparison {
        base,
        current,
        tolerance: Tolerance::default().as_f64(),
        report,
        allow_unknown: Vec::new(),
    }))
}

pub fn baseline(line: &str, target: ReceiptRef) -> Draft {
    draft(Body::Baseline(Baseline { line: line.parse().unwrap(), target }))
}

/// Appends drafts in one commit, with a ratchet beside the ledger.
pub fn push(ledger: &Ledger, drafts: Vec<Draft>, ratchet: &Ratchet) -> Vec<ReceiptRef> {
    let log = keys::log();
    let signer = LogSigner::new(keys::ORIGIN, &log).unwrap();
    let appended = ledger.append(drafts.into_iter().map(Ok), &keys::person(), &signer, ratchet).unwrap();
    appended.into_iter().map(|Appended { index, receipt }| ReceiptRef { index, receipt }).collect()
}

/// Receipts: 0 trust, 1 main#1, 2 main#2, 3 nightly#1, 4 comparison of 1 and 2, 5 baseline of main, 6 main#3.
pub fn story(folder: &Path) -> Ledger {
    let seen = tempfile::tempdir().unwrap();
    let ratchet = Ratchet::new(seen.path());
    let ledger = keys::create(Box::new(Directory::new(folder))).unwrap();
    let store = ledger.store();
    let asked = evidence(store, "questions", b"{\"question\":\"?\",\"expected\":\"Paris\"}\n", true);
    let answered = evidence(store, "answers", ANSWERS, true);
    let (good, bad) = (card(0.9, &questions('a')), card(0.8, &questions('a')));
    let mut first = round("main", good.clone());
    first.evidence = sorted_evidence(vec![asked.clone(), answered]).unwrap();
    first.note = Some("the first of them".parse().unwrap());
    let mut second = round("main", bad.clone());
    second.evidence = vec![asked];
    let mut third = round("nightly", card(0.7, &questions('b')));
    third.evidence = vec![evidence(store, "answers", b"kept elsewhere", false)];
    let rounds = push(&ledger, vec![first, second, third], &ratchet);
    let compared = comparison(rounds[0], rounds[1], &good, &bad);
    push(&ledger, vec![compared, baseline("main", rounds[0])], &ratchet);
    let mut last = round("main", card(0.85, &questions('a')));
    if let Body::Scorecard(body) = &mut last.body {
        body.basis = Basis::Asserted;
    }
    push(&ledger, vec![last], &ratchet);
    ledger
}
