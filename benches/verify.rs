//! Verifying a ledger beside the work that it cannot do without. `cargo bench --bench verify [-- RECEIPTS [ANSWERS]]`, either
//! of which may be 0.
//!
//! **Many receipts with small evidence of their own.** The bare side does on all cores what no audit can leave out: it reads
//! every entry bundle; of every entry it makes leaf hash, BLAKE3 and SHA-256, and verifies the signature strictly under a key
//! that was prepared for it; it opens every evidence file once (open, length, one read, close) and makes its BLAKE3, and for a
//! replay its SHA-256. It parses nothing, trusts the names of files, and builds no tree; signatures and messages are taken out
//! of the receipts before its clock starts.
//!
//! **One receipt over many answers.** The bare sides read the two objects and make both digests, parse them, and judge; and,
//! with everything parsed before the clock starts, judge alone. They use the library's own functions, so the ratio says what an
//! audit does beyond them.
//!
//! Each side is a process of its own, in turn, three times; elapsed time is that of the work, and CPU is user and system time
//! of it, in ticks of 10 ms.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, missing_docs)]

use std::fmt::Write as _;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use proofmark::ledger::{Draft, Genesis, Ledger, LedgerError, LogSigner, Ratchet};
use proofmark::merkle::{Bundle, TileName, leaf_hash};
use proofmark::object::{ObjectId, Sha256};
use proofmark::question::{Answer, Answers, QuestionSet, Scheme};
use proofmark::receipt::{
    Basis, Body, Evidence, Moment, Receipt, ScorecardBody, Subject, Tool, pre_authentication_encoding,
};
use proofmark::score::Scorer;
use proofmark::scorecard::{Scorecard, judge_round};
use proofmark::store::{Digests, Directory, digest_slice, put_slice, read_object};
use proofmark::trust::{PreparedKey, SecretKey, Signature, Signer, settle};
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

/// What of a receipt has to be checked.
struct Bare {
    message: Vec<u8>,
    signature: Signature,
    evidence: Option<Evidence>,
}

/// The bare side of [`make`]'s ledger.
fn bare(folder: &Path, sha256_too: bool) {
    let ledger = Ledger::open(Box::new(Directory::new(folder.join("ledger")))).unwrap();
    let (mut receipts, mut bundles) = (Vec::new(), Vec::new());
    let snapshot = ledger.snapshot().unwrap();
    snapshot
        .for_each(|_, receipt: Receipt| {
            let envelope: serde_json::Value = serde_json::from_slice(receipt.bytes()).unwrap();
            receipts.push(Bare {
                message: pre_authentication_encoding(receipt.payload()),
                signature: Signature::from_base64(envelope["signatures"][0]["sig"].as_str().unwrap()).unwrap(),
                evidence: receipt.statement().predicate.evidence.first().cloned(),
            });
            Ok(())
        })
        .unwrap();
    let size = receipts.len() as u64;
    for index in 0..size.div_ceil(256) {
        let bundle = TileName::in_tree(0, index, size).and_then(TileName::bundle).unwrap();
        bundles.push((folder.join("ledger").join(bundle.to_string()), bundle.width()));
    }
    let key = PreparedKey::new(SecretKey::generate([1; 32]).public());
    // The table of the base point, which is made once.
    key.verify(&receipts[0].message, &receipts[0].signature).unwrap();
    let clock = Clock::start();
    bundles.par_iter().zip(receipts.par_chunks(256)).for_each(|((path, width), receipts)| {
        let bytes = std::fs::read(path).unwrap();
        let bundle = Bundle::parse(&bytes, *width).unwrap();
        let entries: Vec<_> = bundle.entries().collect();
        entries.par_chunks(32).zip(receipts.par_chunks(32)).for_each(|(entries, receipts)| {
            let halves = receipts.iter().map(|bare| key.half(&bare.message, &bare.signature));
            assert!(settle(&halves.collect::<Vec<_>>()).iter().all(Result::is_ok));
            for entry in entries {
                std::hint::black_box((leaf_hash(entry), blake3::hash(entry), Sha256::of(entry)));
            }
        });
        receipts.par_iter().for_each_with(Vec::new(), |buffer, bare| {
            let Some(Evidence { blake3, sha256, .. }) = &bare.evidence else { return };
            let mut file = std::fs::File::open(object_path(folder, blake3)).unwrap();
            buffer.resize(file.metadata().unwrap().len() as usize, 0);
            file.read_exact(buffer).unwrap();
            assert_eq!(ObjectId::of(buffer), *blake3);
            assert!(!sha256_too || Sha256::of(buffer) == *sha256);
        });
    });
    clock.stop();
}

fn audit(folder: &Path, replay: bool) {
    let clock = Clock::start();
    let store = Directory::new(folder.join("ledger"));
    let report = verify(&store, &Options { replay, ..Options::default() }, &mut |_, _| {}).unwrap();
    clock.stop();
    assert!(report.is_clean(), "{:?}", report.findings);
}

const SCORER: &str = "substring/v2";

/// A ledger with one recomputed round of so many answers.
fn make_round(folder: &Path, answers: u32) {
    let (person, log) = (SecretKey::generate([1; 32]), SecretKey::generate([2; 32]));
    let signer = LogSigner::new(ORIGIN, &log).unwrap();
    let genesis = Genesis { person: "bench", signer: &person, log: &signer, recorded_at: moment(), tool: tool() };
    let store = Directory::new(folder.join("ledger"));
    let ledger = Ledger::create(Box::new(Directory::new(folder.join("ledger"))), &genesis).unwrap();
    let (mut questions, mut replies) = (String::new(), String::new());
    for at in 0..answers {
        writeln!(questions, "{{\"question\":\"what is the answer to {at}?\",\"expected\":\"answer {at}\"}}").unwrap();
        let reply = if at % 7 == 0 { at + 1 } else { at };
        let receipt = "{\"status\":\"answered\",\"spend\":{\"frontier_calls\":1}}";
        writeln!(replies, "{{\"reply\":\"I think it is Answer {reply}.\",\"receipt\":{receipt}}}").unwrap();
    }
    let set = QuestionSet::parse("questions", questions.as_bytes()).unwrap();
    let given = Answers::parse("answers", replies.as_bytes()).unwrap();
    let scorer = Scorer::parse(SCORER).unwrap();
    let card = judge_round(&set, given, &scorer, Scheme::Pm1).unwrap().card;
    let evidence = [("answers", replies), ("questions", questions)].map(|(role, text)| {
        let Digests { blake3, sha256, size } = put_slice(&store, text.as_bytes()).unwrap();
        let (role, media_type) = (role.parse().unwrap(), "application/jsonl".to_owned());
        Evidence { role, blake3, sha256, size, media_type, held: true }
    });
    let mut draft = round(0).unwrap();
    draft.evidence = evidence.to_vec();
    let Body::Scorecard(body) = &mut draft.body else { unreachable!() };
    (body.basis, body.card) = (Basis::Recomputed, card);
    ledger.append([Ok(draft)], &person, &signer, &Ratchet::new(folder.join("seen"))).unwrap();
}

/// The bare sides of [`make_round`]'s ledger; `alone`: only judging is measured.
fn bare_round(folder: &Path, alone: bool) {
    let store = Directory::new(folder.join("ledger"));
    let ledger = Ledger::open(Box::new(Directory::new(folder.join("ledger")))).unwrap();
    let receipt = ledger.snapshot().unwrap().receipt(1).unwrap();
    let predicate = &receipt.statement().predicate;
    let Body::Scorecard(body) = &predicate.body else { unreachable!() };
    let scorer = Scorer::parse(SCORER).unwrap();
    let clock = Clock::start();
    let read = |role: &str| {
        let Evidence { blake3, sha256, size, .. } = predicate.evidence_of(role).next().unwrap();
        let bytes = read_object(&store, blake3, *size).unwrap().unwrap();
        assert_eq!(Sha256::of(&bytes), *sha256);
        bytes
    };
    let (questions, answers) = rayon::join(
        || QuestionSet::parse("questions", read("questions").as_slice()).unwrap(),
        || Answers::parse("answers", read("answers").as_slice()).unwrap(),
    );
    if alone {
        let answers = answers.join(&questions).unwrap();
        let clock = Clock::start();
        let correct = scorer.judge_all(&questions, answers.iter().map(Answer::reply)).unwrap();
        clock.stop();
        assert_eq!(correct.len(), questions.len());
        return;
    }
    let card = judge_round(&questions, answers, &scorer, Scheme::Pm1).unwrap().card;
    clock.stop();
    assert_eq!(card, body.card);
}

/// Elapsed time and CPU of this process.
struct Clock {
    start: Instant,
    cpu: f64,
}

impl Clock {
    fn start() -> Self {
        Self { start: Instant::now(), cpu: cpu() }
    }

    /// Prints both, and the peak of memory.
    fn stop(&self) {
        println!("{:.4} {:.2} {}", self.start.elapsed().as_secs_f64(), cpu() - self.cpu, peak());
    }
}

/// User and system time of this process, in seconds; 0 where the system does not say.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    let ticks = after_name.split(' ').skip(11).take(2).filter_map(|field| field.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

/// Peak resident memory of this process, in MiB; 0 where the system does not say.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.unwrap_or_default() / 1024
}

/// What a side printed: seconds, CPU seconds, MiB.
type Figures = [f64; 3];

fn run(side: &str, folder: &Path) -> Figures {
    let output = Command::new(std::env::current_exe().unwrap()).arg(side).arg(folder).output().unwrap();
    assert!(output.status.success(), "{side}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let figures: Vec<f64> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
    figures.try_into().unwrap()
}

/// Runs sides in turn, prints the median of each and how the last compares with the others.
fn compare(folder: &Path, sides: &[&str]) {
    let mut figures: Vec<Vec<Figures>> = sides.iter().map(|_| Vec::new()).collect();
    for _ in 0..ROUNDS {
        for (side, figures) in sides.iter().zip(&mut figures) {
            figures.push(run(side, folder));
        }
    }
    let median = |figures: &Vec<Figures>, which: usize| {
        let mut sorted: Vec<f64> = figures.iter().map(|figures| figures[which]).collect();
        sorted.sort_by(f64::total_cmp);
        sorted[ROUNDS / 2]
    };
    let medians: Vec<[f64; 3]> = figures.iter().map(|side| [0, 1, 2].map(|which| median(side, which))).collect();
    for (side, [elapsed, cpu, peak]) in sides.iter().zip(&medians) {
        println!("  {side:<14} {elapsed:>8.3} s   CPU {cpu:>6.2} s   peak {peak:>4} MiB");
    }
    let (last, others) = medians.split_last().unwrap();
    for (side, other) in sides.iter().zip(others) {
        println!(
            "  {} / {side}: {:.2} x elapsed, {:.2} x CPU",
            sides[others.len()],
            last[0] / other[0],
            last[1] / other[1]
        );
    }
}

const ROUNDS: usize = 3;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if let [side, folder] = arguments.as_slice()
        && side.parse::<u32>().is_err()
    {
        let folder = Path::new(folder);
        return match side.as_str() {
            "bare" => bare(folder, false),
            "bare-both" => bare(folder, true),
            "verify" => audit(folder, false),
            "verify-replay" => audit(folder, true),
            "score" => bare_round(folder, true),
            "read+score" => bare_round(folder, false),
            other => panic!("{other}"),
        };
    }
    let count = |place: usize, default| arguments.get(place).map_or(default, |count: &String| count.parse().unwrap());
    let (receipts, answers) = (count(0, 20_000), count(1, 1_000_000));
    if receipts > 0 {
        let folder = tempfile::tempdir().unwrap();
        make(folder.path(), receipts);
        println!("{receipts} receipts with small evidence, {} threads", rayon::current_num_threads());
        compare(folder.path(), &["bare", "verify"]);
        compare(folder.path(), &["bare-both", "verify-replay"]);
    }
    if answers > 0 {
        let folder = tempfile::tempdir().unwrap();
        make_round(folder.path(), answers);
        println!("one receipt over {answers} answers");
        compare(folder.path(), &["score", "read+score", "verify-replay"]);
    }
}
