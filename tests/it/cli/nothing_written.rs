//! Whatever can refuse a round refuses it before anything is stored: no object is left behind that nothing names.

use serde_json::json;

use super::import::{fixture, ledger};
use super::sandbox::Sandbox;

const QUESTIONS: &str = "{\"question\":\"a\",\"expected\":\"1\"}\n";
const ANSWERS: &str = "{\"reply\":\"1\",\"receipt\":{\"status\":\"answered\"}}\n";

/// What is said, and how it ends; nothing may be written.
fn refused<S: AsRef<std::ffi::OsStr>>(sandbox: &Sandbox, arguments: &[S]) -> (i32, String) {
    let before = sandbox.files();
    let run = sandbox.run(arguments);
    assert_eq!(run.stdout, "", "{}", run.stderr);
    assert!(sandbox.files() == before, "nothing is written: {}", run.stderr);
    (run.code, run.stderr)
}

fn prepared() -> Sandbox {
    let sandbox = ledger();
    sandbox.write("q.jsonl", QUESTIONS);
    sandbox.write("a.jsonl", ANSWERS);
    sandbox.write("log.txt", "same\n");
    sandbox.write("copy.txt", "same\n");
    sandbox
}

/// More subjects than a receipt has room for.
fn many() -> Vec<String> {
    let one = |at: usize| ["--subject".to_owned(), format!("{}{at}=sha256:{}", "n".repeat(900), "0".repeat(64))];
    (0..60).flat_map(one).collect()
}

#[test]
fn a_subject_that_is_not_there() {
    let sandbox = prepared();
    let rounds = [vec!["import", "csv", "t.csv"], vec!["append", "--questions", "q.jsonl", "--answers", "a.jsonl"]];
    sandbox.write("t.csv", "id,correct\nq1,yes\n");
    for round in &rounds {
        let (code, said) = refused(&sandbox, &[&round[..], &["--subject", "model=missing.bin"]].concat());
        assert_eq!(code, 1, "{said}");
        assert!(said.starts_with("error: cannot open `missing.bin`\ncaused by: No such file"), "{said}");
    }
    let (code, said) = refused(&sandbox, &["import", "csv", "t.csv", "--subject", "model=missing.bin", "--dry-run"]);
    assert_eq!(code, 1, "{said}");
}

#[test]
fn a_receipt_that_would_be_too_large() {
    let sandbox = prepared();
    sandbox.write("t.csv", "id,correct\nq1,yes\n");
    let many = many();
    for round in [&["import", "csv", "t.csv"][..], &["append", "--questions", "q.jsonl", "--answers", "a.jsonl"]] {
        let arguments: Vec<&str> = round.iter().copied().chain(many.iter().map(String::as_str)).collect();
        let (code, said) = refused(&sandbox, &arguments);
        assert_eq!(code, 2, "{said}");
        assert!(said.contains("at most 65535"), "{said}");
    }
    let subjects = |word: &String| word.split_once('=').map(|(name, digest)| (name.to_owned(), json!(digest)));
    let subjects: serde_json::Map<_, _> = many.iter().filter_map(subjects).collect();
    let round = json!({"questions": "q.jsonl", "answers": "a.jsonl", "subject": subjects});
    sandbox.write("b.jsonl", format!("{}\n{round}\n", json!({"questions": "q.jsonl", "answers": "a.jsonl"})));
    let (code, said) = refused(&sandbox, &["append", "--batch", "b.jsonl"]);
    assert_eq!(code, 2, "{said}");
    assert!(said.starts_with("error: b.jsonl:2: the round is refused\n") && said.contains("at most 65535"), "{said}");
}

#[test]
fn evidence_that_is_the_same_twice() {
    let sandbox = prepared();
    let round = ["append", "--questions", "q.jsonl", "--answers", "a.jsonl", "--evidence", "log=log.txt"];
    let (code, said) = refused(&sandbox, &[&round[..], &["--evidence", "log=copy.txt"]].concat());
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("`log`") || said.contains("log"), "{said}");
    sandbox.write("copy.txt", "another\n");
    sandbox.ok(&[&round[..], &["--evidence", "log=copy.txt"]].concat());
    assert_eq!(sandbox.run(&["verify", "--replay"]).code, 0);
}

#[test]
fn a_time_that_is_none() {
    let mut sandbox = prepared();
    sandbox.write("t.csv", "id,correct\nq1,yes\n");
    sandbox.env("SOURCE_DATE_EPOCH", "yesterday");
    let lm_eval = fixture("lm_eval/round1");
    for round in [
        &["import", "csv", "t.csv"][..],
        &["import", "lm-eval", &lm_eval],
        &["append", "--questions", "q.jsonl", "--answers", "a.jsonl"],
    ] {
        let (code, said) = refused(&sandbox, round);
        assert_eq!(code, 2, "{said}");
        assert!(said.contains("SOURCE_DATE_EPOCH"), "{said}");
    }
}

#[test]
fn two_originals_of_the_same_bytes_are_one_object() {
    let sandbox = ledger();
    for name in ["a", "b"] {
        sandbox.write(&format!("in/{name}.xml"), "<testsuite name=\"s\"><testcase name=\"a\"/></testsuite>");
    }
    let (code, said) = refused(&sandbox, &["import", "junit", "in"]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("the task `s` was measured more than once"), "{said}");
}
