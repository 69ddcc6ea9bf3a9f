//! Keys, times and drafts that are the same in every run. Never trust these keys: their seeds are in this file.

use proofmark::ledger::{Draft, Genesis, Ledger, LedgerError, LogSigner, Ratchet};
use proofmark::object::Sha256;
use proofmark::receipt::{Basis, Body, Moment, ScorecardBody, Subject, Tool};
use proofmark::scorecard::Scorecard;
use proofmark::store::Store;
use proofmark::trust::SecretKey;

/// A person's key.
pub fn person() -> SecretKey {
    SecretKey::generate([1; 32])
}

/// The log's key.
pub fn log() -> SecretKey {
    SecretKey::generate([2; 32])
}

pub const ORIGIN: &str = "proofmark.test/log";

pub fn moment() -> Moment {
    Moment::parse("2026-11-30T12:00:00Z").unwrap()
}

pub fn tool() -> Tool {
    Tool { name: "proofmark".to_owned(), version: "0.0.0-test".to_owned() }
}

/// A new ledger in `store`.
pub fn create(store: Box<dyn Store>) -> Result<Ledger, LedgerError> {
    let (person, log) = (person(), log());
    let signer = LogSigner::new(ORIGIN, &log)?;
    Ledger::create(
        store,
        &Genesis { person: "tester", signer: &person, log: &signer, recorded_at: moment(), tool: tool() },
    )
}

/// What a receipt that says this is about: the receipts that it names, or else `other`.
pub fn subject(ledger: &Ledger, body: &Body, other: &str) -> Vec<Subject> {
    let snapshot = ledger.snapshot().unwrap();
    let named = body.named().into_iter().filter(|(member, _)| *member != "restsOn");
    let receipts =
        named.map(|(_, named)| Some(Subject::of_receipt(snapshot.receipt(named.index).ok()?.bytes()).unwrap()));
    match receipts.collect::<Option<Vec<_>>>() {
        Some(named) if !named.is_empty() => named,
        _ => vec![Subject::new(other.parse().unwrap(), Sha256::of(b"system"))],
    }
}

/// A round of `main` that asserts `quality`.
pub fn round(quality: f64) -> Draft {
    Draft {
        subject: vec![Subject::new("system".parse().unwrap(), Sha256::of(b"system"))],
        evidence: Vec::new(),
        note: None,
        recorded_at: moment(),
        tool: tool(),
        body: Body::Scorecard(ScorecardBody {
            line: "main".parse().unwrap(),
            basis: Basis::Asserted,
            card: Scorecard::new(quality, 1.0, 0.5, 10, "a".repeat(64)).unwrap(),
            scorer: "substring/v2".parse().unwrap(),
            sealed: false,
            unknown: Vec::new(),
        }),
    }
}

/// Appends `count` rounds in one commit.
pub fn append(ledger: &Ledger, count: usize, ratchet: &Ratchet) -> Result<(), LedgerError> {
    let log = log();
    let drafts = (0..count).map(|number| Ok(round(number as f64 / 1e6)));
    ledger.append(drafts, &person(), &LogSigner::new(ORIGIN, &log)?, ratchet).map(|_| ())
}

/// The text of a private key file, for `PROOFMARK_KEY` and `PROOFMARK_LOG_KEY`.
pub fn text(key: &SecretKey, comment: &str) -> String {
    key.to_openssh(comment, None).unwrap().to_string()
}
