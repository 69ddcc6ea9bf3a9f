//! Verifying a ledger of many receipts, each with small evidence of its own, beside the bare cryptography and hashing that
//! it cannot do without. `cargo bench --bench verify [-- RECEIPTS]`; the audit runs in a process of its own, so that its
//! memory shows, and so does the bare work on the same files.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, missing_docs)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use proofmark::ledger::{Draft, Genesis, Ledger, LedgerError, LogSigner, Ratchet};
use proofmark::merkle::leaf_hash;
use proofmark::object::{ObjectId, Sha256};
use proofmark::receipt::{
    Basis, Body, Evidence, Moment, Receipt, ScorecardBody, Subject, Tool, pre_authentication_encoding,
};
use proofmark::scorecard::Scorecard;
use proofmark::store::{Digests, Directory, digest_slice};
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

/// The evidence of a round: some 300 bytes that no other round has.
fn answers(number: u32) -> String {
    (0..4)
        .map(|at| format!("{{\"reply\":\"answer {at} of round {number}\",\"receipt\":{{\"status\":\"answered\"}}}}\n"))
        .collect()
}

fn object_path(folder: &Path, id: &ObjectId) -> PathBuf {
    let hex = id.to_string();
    folder.join("ledger/objects").join(&hex[..2]).join(&hex[2..])
}

fn evidence(number: u32) -> Evidence {
    let Digests { blake3, sha256, size } = digest_slice(answers(number).as_bytes());
    let (role, media_type) = ("answers".parse().unwrap(), "application/jsonl".to_owned());
    Evidence { role, blake3, sha256, size, media_type, held: true }
}

fn round(number: u32) -> Result<Draft, LedgerError> {
    let card = Scorecard::new(f64::from(number) / 1e9, 1.0, 0.5, 10, "a".repeat(64)).unwrap();
    Ok(Draft {
        subject: vec![Subject::new("system".parse().unwrap(), Sha256::of(b"system"))],
        evidence: vec![evidence(number)],
        note: None,
        recorded_at: moment(),
        tool: tool(),
        body: Body::Scorecard(ScorecardBody {
            line: "main".parse().unwrap(),
            basis: Basis::Asserted,
            card,
            scorer: "substring/v2".parse().unwrap(),
            sealed: false,
            unknown: Vec::new(),
        }),
    })
}

fn make(folder: &Path, receipts: u32) {
    let (person, log) = (SecretKey::generate([1; 32]), SecretKey::generate([2; 32]));
    let signer = LogSigner::new(ORIGIN, &log).unwrap();
    let genesis = Genesis { person: "bench", signer: &person, log: &signer, recorded_at: moment(), tool: tool() };
    let ledger = Ledger::create(Box::new(Directory::new(folder.join("ledger"))), &genesis).unwrap();
    // Written without the syncs that a commit makes, which are not what is measured.
    (1..receipts).into_par_iter().for_each(|number| {
        let path = object_path(folder, &evidence(number).blake3);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, answers(number)).unwrap();
    });
    ledger.append((1..receipts).map(round), &person, &signer, &Ratchet::new(folder.join("seen"))).unwrap();
}

/// What of a receipt has to be checked, in memory.
struct Bare {
    entry: Vec<u8>,
    message: Vec<u8>,
    signature: Signature,
    evidence: Option<ObjectId>,
}

/// Signatures, leaf hashes and ids of the same receipts, and the digests of their evidence, on all cores: from memory, and
/// with the evidence read from its files.
fn bare(folder: &Path) -> (f64, f64) {
    let ledger = Ledger::open(Box::new(Directory::new(folder.join("ledger")))).unwrap();
    let mut receipts = Vec::new();
    ledger
        .snapshot()
        .unwrap()
        .for_each(|_, receipt: Receipt| {
            let envelope: serde_json::Value = serde_json::from_slice(receipt.bytes()).unwrap();
            let signature = Signature::from_base64(envelope["signatures"][0]["sig"].as_str().unwrap()).unwrap();
            receipts.push(Bare {
                entry: receipt.bytes().to_vec(),
                message: pre_authentication_encoding(receipt.payload()),
                signature,
                evidence: receipt.statement().predicate.evidence.first().map(|evidence| evidence.blake3),
            });
            Ok(())
        })
        .unwrap();
    let paths: Vec<_> = receipts.iter().map(|bare| bare.evidence.map(|id| object_path(folder, &id))).collect();
    let held: Vec<_> = paths.par_iter().map(|path| path.as_ref().map(|path| std::fs::read(path).unwrap())).collect();
    let key = PreparedKey::new(SecretKey::generate([1; 32]).public());
    let check = |bare: &Bare, evidence: Option<&[u8]>| {
        key.verify(&bare.message, &bare.signature).unwrap();
        std::hint::black_box((leaf_hash(&bare.entry), blake3::hash(&bare.entry)));
        assert_eq!(evidence.map(ObjectId::of), bare.evidence);
    };
    let start = Instant::now();
    receipts.par_iter().zip(&held).for_each(|(bare, evidence)| check(bare, evidence.as_deref()));
    let from_memory = start.elapsed().as_secs_f64();
    let start = Instant::now();
    receipts.par_iter().zip(&paths).for_each(|(bare, path)| {
        let evidence = path.as_ref().map(|path| std::fs::read(path).unwrap());
        check(bare, evidence.as_deref());
    });
    (from_memory, start.elapsed().as_secs_f64())
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
    for _ in 0..3 {
        let (memory, files) = bare(folder.path());
        println!(
            "bare    {memory:.3} s from memory, {files:.3} s with the evidence from its files: signatures and digests"
        );
        let program = std::env::current_exe().unwrap();
        assert!(Command::new(program).arg("audit").arg(folder.path()).status().unwrap().success());
    }
}
