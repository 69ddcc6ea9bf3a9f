//! The built program against `fixtures/hostile/`: every file has one fault, and each must be refused by name with nothing
//! written. What each must say is in the manifest, which `fixtures/hostile/make.py` writes.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use proofmark::ledger::{Ledger, LogSigner, Ratchet};
use proofmark::merkle::{BundleWriter, Checkpoint, Frontier, MerkleError, Note, TileName, VerifierKey, leaf_hash};
use proofmark::object::encode;
use proofmark::receipt::{Basis, Body, Evidence, ScorecardBody};
use proofmark::scorecard::Scorecard;
use proofmark::store::{Directory, Store, put_slice};
use proofmark::trust::Signer;
use rayon::prelude::*;

use crate::cli::sandbox::{Run, Sandbox};
use crate::keys;

const QUESTIONS: &str = "{\"query\":{\"text\":\"q\"},\"expected\":\"a\"}\n";
const ANSWERS: &str = "{\"reply\":\"a\",\"receipt\":{\"status\":\"answered\"}}\n";

#[derive(serde::Deserialize)]
struct Case {
    file: String,
    kind: String,
    exit: i32,
    says: Vec<String>,
    #[serde(default)]
    only: Vec<String>,
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/hostile")
}

/// The files of a ledger of receipt 0 and two asserted rounds.
static LEDGER: LazyLock<Vec<(PathBuf, Vec<u8>)>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let ledger = keys::create(Box::new(Directory::new(folder.path().join(".ledger")))).unwrap();
    keys::append(&ledger, 2, &Ratchet::new(folder.path().join("seen"))).unwrap();
    let files = snapshot(&folder.path().join(".ledger")).into_iter();
    files.map(|(path, (_, bytes))| (path.strip_prefix(folder.path()).unwrap().to_owned(), bytes)).collect()
});

/// A sandbox with a ledger of receipt 0 and two asserted rounds, the keys to append to it, and good records.
pub fn sandbox() -> Sandbox {
    let mut sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.path(".ledger/staging")).unwrap();
    for (name, bytes) in LEDGER.iter() {
        sandbox.write(name.to_str().unwrap(), bytes);
    }
    sandbox.env("PROOFMARK_KEY", &keys::text(&keys::person(), "person"));
    sandbox.env("PROOFMARK_LOG_KEY", &keys::text(&keys::log(), "log"));
    sandbox.write("good-q.jsonl", QUESTIONS);
    sandbox.write("good-a.jsonl", ANSWERS);
    sandbox
}

/// Everything below a folder that is not a folder: what it is, and its bytes where it is a small file.
pub fn snapshot(folder: &Path) -> BTreeMap<PathBuf, (String, Vec<u8>)> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let seen = std::fs::symlink_metadata(&path).unwrap();
        if seen.is_dir() {
            found.extend(snapshot(&path));
            continue;
        }
        let bytes = if seen.is_file() && seen.len() < 1 << 20 { std::fs::read(&path).unwrap() } else { Vec::new() };
        found.insert(path, (format!("{:?} {}", seen.file_type(), seen.len()), bytes));
    }
    found
}

/// What is wrong with how a run ended, if anything: exit code, streams, and files that changed.
pub fn complaints(sandbox: &Sandbox, arguments: &[&str], exit: i32, says: &[&str]) -> Vec<String> {
    let before = (snapshot(&sandbox.work()), snapshot(&sandbox.home()));
    // Every other command, by its length, is asked for JSON.
    let json = arguments.concat().len() % 2 == 0;
    let run = if json { sandbox.run(&[arguments, &["--json"]].concat()) } else { sandbox.run(arguments) };
    let mut wrong = judged(&run, exit, says);
    match json {
        true => wrong.extend(judged_json(&run, exit)),
        false if !run.stdout.is_empty() => wrong.push("stdout is not empty".to_owned()),
        false => {}
    }
    if (snapshot(&sandbox.work()), snapshot(&sandbox.home())) != before {
        wrong.push("something was written".to_owned());
    }
    let context = format!("{arguments:?}: exit {}\n{}{}", run.code, run.stdout, run.stderr);
    wrong.into_iter().map(|wrong| format!("{wrong}\n  {context}")).collect()
}

fn judged(run: &Run, exit: i32, says: &[&str]) -> Vec<String> {
    let mut wrong = Vec::new();
    if run.code != exit {
        wrong.push(format!("exit {} is not {exit}", run.code));
    }
    // What was about to be signed may stand before it.
    let error = run.stderr.lines().find(|line| !line.starts_with("signing ") && !line.starts_with("  as "));
    if !error.is_some_and(|line| line.starts_with("error: ")) || run.stderr.contains("panicked") {
        wrong.push("stderr is no error message".to_owned());
    }
    if run.stderr.chars().any(|c| c.is_control() && c != '\n') || run.stderr.contains('\u{202e}') {
        wrong.push("stderr has control characters in it".to_owned());
    }
    if run.stderr.len() > 64 << 10 {
        wrong.push(format!("stderr has {} bytes", run.stderr.len()));
    }
    wrong.extend(says.iter().filter(|word| !run.stderr.contains(**word)).map(|word| format!("does not say `{word}`")));
    wrong
}

fn judged_json(run: &Run, exit: i32) -> Vec<String> {
    let document: serde_json::Value = match serde_json::from_str(&run.stdout) {
        Ok(document) => document,
        Err(error) => return vec![format!("--json: {error}: {}", run.stdout)],
    };
    let told = (document["schema"].as_str(), document["exit"].as_i64(), run.code);
    if told == (Some("error.v1"), Some(exit.into()), exit) { Vec::new() } else { vec![format!("--json: {document}")] }
}

/// Runs the cases of some kinds, each command of each in a sandbox that `prepare` has put the file into.
fn run(kinds: &[&str], prepare: impl Fn(&Case, &[u8], &Sandbox) -> Vec<Vec<String>> + Sync) {
    let cases: Vec<Case> = serde_json::from_slice(&std::fs::read(corpus().join("manifest.json")).unwrap()).unwrap();
    let cases: Vec<_> = cases.into_iter().filter(|case| kinds.contains(&case.kind.as_str())).collect();
    assert!(!cases.is_empty());
    let results: Vec<(usize, Vec<String>)> = cases
        .par_iter()
        .map(|case| {
            let bytes = std::fs::read(corpus().join(&case.file)).unwrap();
            let sandbox = sandbox();
            let mut says: Vec<&str> = case.says.iter().map(String::as_str).collect();
            if ["questions", "answers", "card", "batch"].contains(&case.kind.as_str()) {
                says.push(case.file.rsplit('/').next().unwrap());
            }
            let mut commands = prepare(case, &bytes, &sandbox);
            // What is wrong with the lock or with a default for the command line is nothing that an audit looks at.
            let audits = ["bundle", "checkpoint", "config", "envelope", "leaves"].contains(&case.kind.as_str());
            let audited = (case.kind == "tile" || (audits && case.only.is_empty())).then(|| audit(&sandbox)).flatten();
            commands.retain(|command| case.only.is_empty() || case.only.contains(&command[0]));
            assert!(!commands.is_empty(), "{}", case.file);
            let wrong = commands.iter().flat_map(|command| {
                let command: Vec<&str> = command.iter().map(String::as_str).collect();
                complaints(&sandbox, &command, case.exit, &says)
            });
            let wrong = wrong.chain(audited);
            (commands.len(), wrong.map(|wrong| format!("{}: {wrong}", case.file)).collect())
        })
        .collect();
    let runs: usize = results.iter().map(|(count, _)| count).sum();
    let wrong: Vec<_> = results.into_iter().flat_map(|(_, wrong)| wrong).collect();
    println!("hostile {}: {} files, {runs} runs", kinds.join(", "), cases.len());
    assert!(wrong.is_empty(), "{} complaints:\n{}", wrong.len(), wrong.join("\n"));
}

/// What is wrong with how `verify` takes a ledger that has one fault, if anything: it has findings, or says why there is
/// nothing to verify, and writes nothing.
fn audit(sandbox: &Sandbox) -> Option<String> {
    let before = (snapshot(&sandbox.work()), snapshot(&sandbox.home()));
    let run = sandbox.run(&["verify", "--replay", "--json"]);
    let document = serde_json::from_str::<serde_json::Value>(&run.stdout).unwrap_or_default();
    let schema = document["schema"].as_str().unwrap_or_default();
    let told = matches!((run.code, schema), (3, "verify.v1") | (2, "error.v1"));
    let same = (snapshot(&sandbox.work()), snapshot(&sandbox.home())) == before;
    let fine = told && same && !run.stderr.contains("panicked") && run.stdout.len() < 1 << 20;
    (!fine).then(|| format!("verify: exit {}, written: {}\n{}{}", run.code, !same, run.stdout, run.stderr))
}

fn words(command: &[&str]) -> Vec<String> {
    command.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn the_corpus_and_its_manifest_name_the_same_files() {
    let cases: Vec<Case> = serde_json::from_slice(&std::fs::read(corpus().join("manifest.json")).unwrap()).unwrap();
    let mut named: Vec<_> = cases.iter().map(|case| corpus().join(&case.file)).collect();
    named.sort();
    named.dedup();
    let held: Vec<_> = snapshot(&corpus()).into_keys().filter(|path| path.parent() != Some(&corpus())).collect();
    assert_eq!(named, held);
}

#[test]
fn hostile_records_are_refused() {
    run(&["questions", "answers", "card", "batch", "judgements"], |case, _, sandbox| {
        let file = corpus().join(&case.file).display().to_string();
        match case.kind.as_str() {
            "questions" => {
                let looks = [
                    words(&["questions", "id", &file]),
                    words(&["questions", "show", &file]),
                    words(&["questions", "diff", "good-q.jsonl", &file]),
                ];
                let look = looks[case.file.len() % looks.len()].clone();
                vec![look, words(&["append", "--questions", &file, "--answers", "good-a.jsonl"])]
            }
            "answers" => vec![words(&["append", "--questions", "good-q.jsonl", "--answers", &file])],
            "card" => vec![words(&["append", "--card", &file]), words(&["compare", "--cards", &file, &file])],
            "batch" => vec![words(&["append", "--batch", &file])],
            _ => {
                let judge = sandbox.write("judge.sh", format!("#!/bin/sh\ncat > /dev/null\ncat '{file}'\n"));
                std::fs::set_permissions(&judge, std::fs::Permissions::from_mode(0o755)).unwrap();
                let scorer = ["--scorer", "command/cat/1", "--judge", "judge.sh"];
                let round = ["append", "--questions", "good-q.jsonl", "--answers", "good-a.jsonl"];
                vec![words(&[&round[..], &scorer[..]].concat())]
            }
        }
    });
}

#[test]
fn hostile_files_of_a_ledger_are_refused() {
    let readers = || vec![words(&["compare"]), words(&["baseline", "show"])];
    let append = || words(&["append", "--questions", "good-q.jsonl", "--answers", "good-a.jsonl"]);
    run(&["config", "checkpoint", "bundle", "tile", "lock"], |case, bytes, sandbox| {
        let name = match case.kind.as_str() {
            "config" => "config.toml",
            "bundle" => "tile/entries/000.p/3",
            "tile" => "tile/0/000.p/3",
            other => other,
        };
        // As in a fresh clone: the lock does not travel, and with it what would mend the ledger.
        std::fs::remove_file(sandbox.path(".ledger/lock")).unwrap();
        let content = if name == "lock" { cell(1, bytes) } else { bytes.to_vec() };
        sandbox.write(&format!(".ledger/{name}"), content);
        let mut commands = readers();
        commands.push(append());
        if name == "tile/0/000.p/3" {
            commands.truncate(1);
        }
        commands
    });
}

/// One slot of the lock's cell, as `src/store/cell.rs` writes it.
pub fn cell(sequence: u64, content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).unwrap();
    let mut slot = [b"PMCELL1\n".as_slice(), &sequence.to_be_bytes(), &length.to_be_bytes(), content].concat();
    slot.extend_from_slice(blake3::hash(&slot).as_bytes());
    slot
}

#[test]
fn entries_that_are_no_receipts_are_refused() {
    run(&["envelope"], |_, bytes, sandbox| {
        let folder = sandbox.path(".ledger");
        let mut entries = Vec::new();
        let ledger = Ledger::open(Box::new(Directory::new(&folder))).unwrap();
        for index in 0..3 {
            entries.push(ledger.snapshot().unwrap().entry(index).unwrap());
        }
        entries.push(bytes.to_vec());
        write_log(&folder, &entries);
        vec![words(&["compare"]), words(&["baseline", "show"])]
    });
}

/// Writes a log of any entries, signed by the log's key, over what is in a ledger's folder.
pub fn write_log(folder: &Path, entries: &[Vec<u8>]) {
    let (mut frontier, mut bundles) = (Frontier::new(), BundleWriter::new());
    let mut files: Vec<(TileName, Vec<u8>)> = Vec::new();
    for entry in entries {
        let mut keep = |name: TileName, bytes: &[u8]| {
            files.push((name, bytes.to_vec()));
            Ok::<_, MerkleError>(())
        };
        frontier.push(leaf_hash(entry), &mut keep).unwrap();
        bundles.push(entry, &mut keep).unwrap();
    }
    let partial = frontier.partial_tiles().chain(bundles.partial_bundle());
    files.extend(partial.map(|(name, bytes)| (name, bytes.to_vec())));
    for (name, bytes) in files {
        let path = folder.join(name.to_string());
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    let checkpoint = Checkpoint::new(keys::ORIGIN, frontier.head()).unwrap();
    std::fs::write(folder.join("checkpoint"), signed(&checkpoint)).unwrap();
    let _ = std::fs::remove_file(folder.join("lock"));
}

/// A checkpoint signed by the log's key.
pub fn signed(checkpoint: &Checkpoint) -> Vec<u8> {
    let key = VerifierKey::new(keys::ORIGIN, *keys::log().public().raw()).unwrap();
    let note: Note = checkpoint.sign::<MerkleError>(&key, |text| Ok(keys::log().sign(text).unwrap().0)).unwrap();
    note.encode()
}

/// A receipt's evidence entry for bytes that may not be there.
pub fn evidence(role: &str, bytes: &[u8], size: u64) -> Evidence {
    let digests = proofmark::store::digest_slice(bytes);
    Evidence {
        role: role.parse().unwrap(),
        blake3: digests.blake3,
        sha256: digests.sha256,
        size,
        media_type: "text/plain".to_owned(),
        held: true,
    }
}

/// Appends two rounds that rest on this evidence, the second one a copy of the first.
pub fn append_rounds(sandbox: &Sandbox, evidence: &[Evidence], sealed: bool) {
    let ledger = Ledger::open(Box::new(Directory::new(sandbox.path(".ledger")))).unwrap();
    let log = keys::log();
    let signer = LogSigner::new(keys::ORIGIN, &log).unwrap();
    let ratchet = Ratchet::new(sandbox.home().join("seen"));
    let draft = || {
        let mut draft = keys::round(1.0);
        draft.evidence = evidence.to_vec();
        draft.body = Body::Scorecard(ScorecardBody {
            line: "main".parse().unwrap(),
            basis: Basis::Recomputed,
            card: Scorecard::new(1.0, 0.0, 1.0, 1, format!("pm1:{}", "a".repeat(64))).unwrap(),
            scorer: "substring/v2".parse().unwrap(),
            sealed,
            unknown: Vec::new(),
        });
        Ok(draft)
    };
    ledger.append([draft(), draft()], &keys::person(), &signer, &ratchet).unwrap();
}

#[test]
fn hostile_evidence_of_a_sealed_round_is_refused() {
    run(&["leaves"], |_, bytes, sandbox| {
        let store = Directory::new(sandbox.path(".ledger"));
        let answers = br#"{"reply":"a","receipt":{"status":"answered"}}"#.as_slice();
        let judgements = br#"{"correct":true}"#.as_slice();
        let held = [("question-leaves", bytes), ("answers", answers), ("judgements", judgements)];
        let evidence: Vec<_> = held
            .iter()
            .map(|(role, bytes)| {
                put_slice(&store as &dyn Store, bytes).unwrap();
                evidence(role, bytes, bytes.len() as u64)
            })
            .collect();
        append_rounds(sandbox, &evidence, true);
        vec![words(&["compare"])]
    });
}

#[test]
fn numbers_of_receipts_survive_their_own_reader() {
    // Every quality k/n up to 120 questions: reading a double must be exact, or a receipt could not be read back.
    let mut count = 0;
    for n in 1..=120_u32 {
        for k in 0..=n {
            let card = Scorecard::new(f64::from(k) / f64::from(n), f64::from(k) / 7.0, 1.0, n.into(), "").unwrap();
            let bytes = encode(&card).unwrap();
            assert_eq!(proofmark::object::parse_canonical::<Scorecard>(&bytes).unwrap(), card);
            count += 1;
        }
    }
    println!("{count} cards read back");
}
