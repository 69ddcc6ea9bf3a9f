//! How fast a verdict is: 1,000,000 records (about 140 MB) from a file to the report, beside `wc -l`, DuckDB, polars with
//! scikit-learn and a Python loop on the same file.
//!
//! `cargo bench --bench gate [-- RECORDS]`. Outputs are asserted equal before anything is timed: strict and swift, sorted
//! and shuffled, one file and many, one thread and all; and the peers' numbers are ours. `pip` installs the peers below
//! `target/`; without it this stops and says so.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use proofmark::calibrate::{Predictions, Profile, Reading};
use proofmark::gate::{Report, evaluate};

/// A small generator (Steele, Lea and Flood 2014, splitmix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// Two models on the same subjects, as a program would write them.
fn lines(records: usize) -> Vec<String> {
    let mut dice = Dice(7);
    let mut keys: Vec<u64> = (0..records.div_ceil(2)).map(|_| dice.next()).collect();
    keys.sort_unstable();
    keys.dedup();
    let mut lines = Vec::with_capacity(records);
    for model in ["model-a", "model-b"] {
        for key in &keys {
            let split = match key >> 56 {
                0..205 => "train",
                205..230 => "validation",
                _ => "test",
            };
            let truth = 1 + dice.next() % 7;
            let label = if dice.next().is_multiple_of(10) { 1 + dice.next() % 7 } else { truth };
            let confidence = 1_000 + dice.next() % 9_000;
            let said = match dice.next() % 20 {
                0 => "null".to_owned(),
                _ => format!(r#"{{"bristolType":{label},"confidence":0.{confidence}}}"#),
            };
            lines.push(format!(
                r#"{{"model":"{model}","subjectKey":"{key:016x}","split":"{split}","truth":{{"bristolType":{truth}}},"prediction":{said}}}"#
            ));
        }
    }
    lines
}

fn write(path: &Path, lines: &[String]) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    for line in lines {
        writeln!(file, "{line}").unwrap();
    }
    file.flush().unwrap();
}

fn read(profile: &Profile, paths: &[&Path], strictly: bool) -> Predictions {
    let mut reading = if strictly { Reading::strictly(profile) } else { Reading::new(profile) };
    for path in paths {
        reading = reading.read(&path.display().to_string(), File::open(path).unwrap()).unwrap();
    }
    reading.finish().unwrap()
}

fn report(profile: &Profile, paths: &[&Path], strictly: bool) -> Vec<u8> {
    evaluate(&read(profile, paths, strictly), None).unwrap().encode().unwrap()
}

/// The best of several runs.
fn best(runs: usize, mut run: impl FnMut()) -> Duration {
    let time = |_| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    (0..runs).map(time).min().unwrap()
}

fn print(what: &str, time: Duration, bytes: u64, records: usize) {
    let seconds = time.as_secs_f64();
    let (rate, count) = (bytes as f64 / 1e6 / seconds, records as f64 / 1e6 / seconds);
    println!("{what:<52} {:>8.1} ms {rate:>8.0} MB/s {count:>7.2} M records/s", seconds * 1e3);
}

fn threads(count: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(count).build().unwrap()
}

const REQUIREMENTS: &str = include_str!("gate_requirements.txt");

fn run(command: &mut Command, missing: &str) -> Vec<u8> {
    let output = command.output().unwrap_or_else(|error| panic!("{missing} is missing: {error}"));
    assert!(output.status.success(), "{missing} failed: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// A Python with the pinned peers, made once below `target/`.
fn python() -> PathBuf {
    let venv = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("gate-peers-venv");
    let (python, stamp) = (venv.join("bin").join("python"), venv.join("requirements.txt"));
    if fs::read_to_string(&stamp).ok().as_deref() != Some(REQUIREMENTS) {
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&venv), "python3 with its venv module");
        let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/gate_requirements.txt");
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:", "-r"]);
        run(pip.arg(list), "pip with access to the Python package index (duckdb, polars, scikit-learn)");
        fs::write(&stamp, REQUIREMENTS).unwrap();
    }
    python
}

/// Seconds of each peer from file to numbers, once these are found to be the report's.
fn peers(file: &Path, report: &Report) -> Vec<(String, f64)> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/gate_peers.py");
    let output = run(Command::new(python()).arg(script).arg(file), "the peers' script");
    let found: serde_json::Value = serde_json::from_slice(&output).unwrap();
    let ways = found.as_object().unwrap();
    assert_eq!(ways.len(), 3);
    let seconds = ways.iter().map(|(name, way)| {
        for candidate in &report.candidates {
            let test = candidate.test.as_ref().unwrap();
            let ours = [
                candidate.threshold.unwrap(),
                test.accepted as f64,
                test.correct as f64,
                test.macro_f1.unwrap(),
                test.ece.unwrap(),
            ];
            let theirs = way["models"][&candidate.model].as_array().unwrap();
            assert_eq!(theirs.len(), ours.len());
            for (ours, theirs) in ours.iter().zip(theirs) {
                assert!(
                    (ours - theirs.as_f64().unwrap()).abs() <= 1e-9,
                    "{name}, {}: {ours} {theirs}",
                    candidate.model
                );
            }
        }
        (name.clone(), way["seconds"].as_f64().unwrap())
    });
    seconds.collect()
}

/// Runs in a process of its own, so that nothing but the gate takes memory: prints the peak in kB.
fn print_peak(file: &Path) {
    report(&Profile::built_in("bristol/v1").unwrap(), &[file], false);
    let status = fs::read_to_string("/proc/self/status").expect("peak memory is read from /proc, which is missing");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("VmHWM is missing");
    println!("{}", peak.trim());
}

fn peak(file: &Path) -> String {
    let bench = std::env::current_exe().unwrap();
    let output = run(Command::new(bench).arg("--peak").arg(file), "this bench again");
    String::from_utf8_lossy(&output).trim().to_owned()
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    if let Some(at) = words.iter().position(|word| word == "--peak") {
        return print_peak(Path::new(&words[at + 1]));
    }
    let wanted = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(1_000_000);
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (sorted, shuffled, halves) = (path("sorted.jsonl"), path("shuffled.jsonl"), [path("1.jsonl"), path("2.jsonl")]);
    let mut lines = lines(wanted);
    let records = lines.len();
    write(&sorted, &lines);
    let mut dice = Dice(11);
    for at in (1..records).rev() {
        lines.swap(at, (dice.next() % (at as u64 + 1)) as usize);
    }
    write(&shuffled, &lines);
    write(&halves[0], &lines[..records / 3]);
    write(&halves[1], &lines[records / 3..]);
    drop(lines);
    let bytes = fs::metadata(&sorted).unwrap().len();
    let profile = Profile::built_in("bristol/v1").unwrap();

    let expected = report(&profile, &[&sorted], false);
    assert_eq!(report(&profile, &[&shuffled], false), expected);
    assert_eq!(report(&profile, &[&halves[1], &halves[0]], false), expected);
    assert_eq!(report(&profile, &[&sorted], true), expected);
    assert_eq!(threads(1).install(|| report(&profile, &[&shuffled], false)), expected);

    println!(
        "{records} records, {:.1} MB, {} threads; best of several",
        bytes as f64 / 1e6,
        rayon::current_num_threads()
    );
    let count = || {
        let output = Command::new("wc").arg("-l").arg(&sorted).output().expect("wc is missing");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.trim_start().starts_with(&records.to_string()), "{said}");
    };
    let wc = best(9, count);
    print("wc -l", wc, bytes, records);
    for (name, file) in [("sorted", sorted.as_path()), ("shuffled", shuffled.as_path())] {
        let whole = best(9, || assert_eq!(report(&profile, &[file], false), expected));
        print(&format!("file to report, {name} keys"), whole, bytes, records);
        println!("{:<52} {:>8.1} x wc -l", "", whole.as_secs_f64() / wc.as_secs_f64());
        let predictions = read(&profile, &[file], false);
        let judged = best(5, || drop(evaluate(&predictions, None).unwrap()));
        print(&format!("  of that the verdict, {name} keys"), judged, bytes, records);
        let one = threads(1).install(|| best(5, || assert_eq!(report(&profile, &[file], false), expected)));
        print(&format!("file to report, {name} keys, one thread"), one, bytes, records);
    }
    let text = fs::read(&sorted).unwrap();
    let one = threads(1).install(|| best(5, || drop(Reading::new(&profile).read("memory", text.as_slice()).unwrap())));
    print("read from memory with BLAKE3, one thread", one, bytes, records);
    println!("{:<52} {:>8} (file to report, peak memory)", "", peak(&sorted));
    let strict = best(2, || assert_eq!(report(&profile, &[&sorted], true), expected));
    print("file to report, strict reader only", strict, bytes, records);
    let whole = best(5, || assert_eq!(report(&profile, &[sorted.as_path()], false), expected));
    for (name, seconds) in peers(&sorted, &Report::parse(&expected).unwrap()) {
        print(&name, Duration::from_secs_f64(seconds), bytes, records);
        println!("{:<52} {:>8.1} x slower than file to report", "", seconds / whole.as_secs_f64());
    }
}
