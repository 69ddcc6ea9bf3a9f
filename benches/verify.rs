//! Verifying a ledger of many receipts beside the bare cryptography and hashing that it cannot do without.
//! `cargo bench --bench verify [-- RECEIPTS]`; the audit runs in a process of its own, so that its memory shows.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, missing_docs)]

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use proofmark::ledger::{Draft, Genesis, Ledger, LedgerError, LogSigner, Ratchet};
use proofmark::merkle::leaf_hash;
use proofmark::object::Sha256;
use proofmark::receipt::{Basis, Body, Moment, Receipt, ScorecardBody, Subject, Tool, pre_authentication_encoding};
use proofmark::scorecard::Scorecard;
use proofmark::store::Directory;
use proofmark::trust::{PreparedKey, SecretKey, Signature, Signer};
use proofmark::verify::{Options, verify};
use rayon::prelude::*;

const ORIGIN: &str = "bench.test/log";

fn moment() -> Moment {
    Moment::parse("2026-11-30T12:00:00Z").unwrap()
}

fn tool() -> Tool {
    Tool { name: "proofmark".to_owned(), version: "0.0.0-bench".to_owned() }
}

fn round(number: u32) -> Result<Draft, LedgerError> {
    let card = Scorecard::new(f64::from(number) / 1e9, 1.0, 0.5, 10, "a".repeat(64)).unwrap();
    Ok(Draft {
        subject: vec![Subject::new("system".parse().unwrap(), Sha256::of(b"system"))],
        evidence: Vec::new(),
        note: None,
        recorded_at: moment(),
        tool: tool(),
        body: Body::Scorecard(ScorecardBody {
            line: "main".parse().unwrap(),
            basis: Basis::Asserted,
            card,
            scorer: "substring/v2".parse().unwrap(),
            sealed: false,
        }),
    })
}

fn make(folder: &Path, receipts: u32) {
    let (person, log) = (SecretKey::generate([1; 32]), SecretKey::generate([2; 32]));
    let signer = LogSigner::new(ORIGIN, &log).unwrap();
    let genesis = Genesis { person: "bench", signer: &person, log: &signer, recorded_at: moment(), tool: tool() };
    let ledger = Ledger::create(Box::new(Directory::new(folder.join("ledger"))), &genesis).unwrap();
    ledger.append((1..receipts).map(round), &person, &signer, &Ratchet::new(folder.join("seen"))).unwrap();
}

/// Signatures and leaf hashes of the same receipts, on all cores, from memory.
fn bare(folder: &Path) -> f64 {
    let ledger = Ledger::open(Box::new(Directory::new(folder.join("ledger")))).unwrap();
    let mut receipts: Vec<(Vec<u8>, Vec<u8>, Signature)> = Vec::new();
    ledger
        .snapshot()
        .unwrap()
        .for_each(|_, receipt: Receipt| {
            let envelope: serde_json::Value = serde_json::from_slice(receipt.bytes()).unwrap();
            let signature = Signature::from_base64(envelope["signatures"][0]["sig"].as_str().unwrap()).unwrap();
            receipts.push((receipt.bytes().to_vec(), pre_authentication_encoding(receipt.payload()), signature));
            Ok(())
        })
        .unwrap();
    let start = Instant::now();
    let key = PreparedKey::new(SecretKey::generate([1; 32]).public());
    receipts.par_iter().for_each(|(entry, message, signature)| {
        key.verify(message, signature).unwrap();
        std::hint::black_box((leaf_hash(entry), blake3::hash(entry)));
    });
    start.elapsed().as_secs_f64()
}

/// Peak resident memory of this process, in MiB, where the system says.
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.map_or_else(|| "unknown".to_owned(), |kib| format!("{} MiB", kib / 1024))
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if let [word, folder] = arguments.as_slice()
        && word == "audit"
    {
        let start = Instant::now();
        let store = Directory::new(Path::new(folder).join("ledger"));
        let report = verify(&store, &Options::default(), &mut |_, _| {}).unwrap();
        assert!(report.is_clean(), "{:?}", report.findings);
        println!("verify  {:.3} s, peak memory {}", start.elapsed().as_secs_f64(), peak());
        return;
    }
    let receipts = arguments.first().map_or(20_000, |count| count.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    make(folder.path(), receipts);
    println!("{receipts} receipts, {} threads", rayon::current_num_threads());
    println!("bare    {:.3} s: signatures, leaf hashes and ids from memory", bare(folder.path()));
    for _ in 0..3 {
        let program = std::env::current_exe().unwrap();
        assert!(Command::new(program).arg("audit").arg(folder.path()).status().unwrap().success());
    }
}
