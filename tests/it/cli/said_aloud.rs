//! What used to pass in silence: older copies shown as whole logs, a checkpoint that was published again, a question that must pass,
//! names that are not their bearers', a ledger that was made before the message about it was lost.

use std::path::Path;

use serde_json::{Value, json};

use super::evaluate::{RIGHT, sandbox as asking, system, with};
use super::import::ledger;
use super::office::Office;
use super::sandbox::Sandbox;
use crate::schema;

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        let place = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &place);
        } else {
            std::fs::copy(entry.path(), place).unwrap();
        }
    }
}

fn append(sandbox: &Sandbox, answers: [&str; 2]) {
    let question =
        |id: &str, more: &str| format!("{{\"id\":\"{id}\",\"question\":\"{id}?\",\"expected\":\"yes\"{more}}}\n");
    sandbox.write("q.jsonl", question("a", ",\"must_pass\":true") + &question("b", ""));
    let answer = |reply: &&str| format!("{{\"reply\":\"{reply}\",\"receipt\":{{\"status\":\"answered\"}}}}\n");
    sandbox.write("a.jsonl", answers.iter().map(answer).collect::<String>());
    sandbox.ok(&["append", "--questions", "q.jsonl", "--answers", "a.jsonl"]);
}

#[test]
fn an_older_copy_is_shown_as_a_whole_log_by_nobody() {
    let sandbox = ledger();
    append(&sandbox, ["yes", "yes"]);
    copy(&sandbox.path(".ledger"), &sandbox.path("old"));
    append(&sandbox, ["yes", "no"]);
    let old = |arguments: &[&str]| sandbox.run(&[arguments, &["--ledger", "old"]].concat());
    for arguments in [
        &["completeness"][..],
        &["prove", "#1", "-o", "one.proof"],
        &["dossier", "#1", "--complete", "-o", "one.dossier"],
        &["dossier", "#1", "-o", "one.dossier"],
    ] {
        let run = old(arguments);
        assert_eq!((run.code, run.stdout.as_str()), (3, ""), "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains("hint: nothing was written to the ledger; the evidence is in "), "{}", run.stderr);
        assert!(!sandbox.path("one.proof").exists() && !sandbox.path("one.dossier").exists());
        let mut newer = arguments.to_vec();
        newer.push("--force");
        assert_eq!(sandbox.run(if arguments == ["completeness"] { arguments } else { &newer }).code, 0);
        for made in ["one.proof", "one.dossier"] {
            let _ = std::fs::remove_file(sandbox.path(made));
        }
    }
    // A machine that never saw the log believes what it is shown.
    let mut elsewhere = sandbox;
    let empty = elsewhere.path("elsewhere").display().to_string();
    elsewhere.env("XDG_STATE_HOME", &empty);
    let (code, document) = elsewhere.json(&["completeness", "--ledger", "old"]);
    assert_eq!((code, &document["whole"], &document["size"]), (0, &json!(true), &json!(2)));
}

#[test]
fn a_memory_of_the_log_that_was_emptied_is_an_error() {
    let sandbox = ledger();
    append(&sandbox, ["yes", "yes"]);
    let folder = sandbox.home().join(".local/state/proofmark/seen");
    let seen = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    for content in ["", "garbled\n"] {
        std::fs::write(&seen, content).unwrap();
        for arguments in [
            &["append", "--questions", "q.jsonl", "--answers", "a.jsonl"][..],
            &["completeness"],
            &["prove", "#1"],
            &["dossier", "#1", "--complete", "-o", "one.dossier"],
        ] {
            let run = sandbox.run(arguments);
            assert!(run.code != 0 && run.stdout.is_empty(), "{arguments:?}: {}", run.stdout);
            let name = seen.file_name().unwrap().to_str().unwrap();
            assert!(run.stderr.contains(name), "{arguments:?}: {}", run.stderr);
        }
    }
    std::fs::remove_file(&seen).unwrap();
    sandbox.ok(&["append", "--questions", "q.jsonl", "--answers", "a.jsonl"]);
}

#[test]
fn a_checkpoint_that_was_published_again_is_said() {
    let office = Office::new();
    office.ok("bob", &["signoff", "#1", "--decision", "no-go", "--reason", "x"]);
    let lose = || std::fs::remove_file(office.sandbox.path(".ledger/checkpoint")).unwrap();
    lose();
    let run = office.sandbox.run(&["authorize", "#1"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    let note = "note: the published checkpoint was lost; it was published again from what the last writer committed\n";
    assert!(run.stderr.contains(note), "{}", run.stderr);
    lose();
    let (_, document) = office.sandbox.json(&["authorize", "#1"]);
    schema::check(&document);
    assert_eq!(document["republished"], true);
    let (_, document) = office.sandbox.json(&["authorize", "#1"]);
    schema::check(&document);
    assert_eq!(document["republished"], Value::Null);
}

#[test]
fn a_comparison_in_which_a_question_that_must_pass_fails_says_so_in_log_and_show() {
    let sandbox = ledger();
    for answers in [["yes", "no"], ["no", "yes"], ["yes", "yes"]] {
        append(&sandbox, answers);
    }
    assert_eq!(sandbox.run(&["compare", "#1", "#2", "--record"]).code, 3);
    assert_eq!(sandbox.run(&["compare", "#1", "#3", "--record"]).code, 0);
    let log = sandbox.ok(&["log", "--oneline"]);
    assert!(log.contains("#1 to #2: not regressed; a question that must pass fails\n"), "{log}");
    assert!(log.contains("#1 to #3: not regressed\n"), "{log}");
    for text in [sandbox.ok(&["show", "#4"]), sandbox.ok(&["log"])] {
        assert!(text.contains("Must pass: and fails (1): a\n"), "{text}");
    }
    assert!(!sandbox.ok(&["show", "#5"]).contains("Must pass"));
    for arguments in [&["show", "#4"][..], &["log"]] {
        let (_, document) = sandbox.json(arguments);
        schema::check(&document);
        assert!(document.to_string().contains("\"mustPassFailing\":[\"a\"]"), "{document:#}");
    }
    let (_, document) = sandbox.json(&["show", "#5"]);
    assert_eq!(document["mustPassFailing"], json!([]));
}

#[test]
fn nobody_is_named_like_a_key() {
    let name = format!("SHA256:{}", "A".repeat(43));
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["init", "--person", &name]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    let reason = "it begins with something else than `SHA256:`, by which keys of nobody are named";
    assert!(
        run.stderr.starts_with(&format!("error: `{name}` cannot be a person's name: {reason}\n")),
        "{}",
        run.stderr
    );
    assert!(!sandbox.path(".ledger").exists());
    let office = Office::new();
    office.refused("ann", &["trust", "add", &name, "--key-file", "eve.pub"], &[]);
}

#[test]
fn a_ledger_that_was_made_is_said_to_stand() {
    let sandbox = Sandbox::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = sandbox.command(&["init", "--person", "ci"]).stdout(full).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("error: No space left on device (os error 28)\nhint: the ledger `"), "{said}");
    assert!(said.ends_with(".ledger` was made before that, and stands\n"), "{said}");
    assert_eq!(sandbox.run(&["verify"]).code, 0);
}

#[test]
fn a_rule_that_is_no_limit_says_why() {
    let office = Office::new();
    for (value, message) in [
        ("99999999999", "error: the rule maxLooks is at most 4294967295, not 99999999999\n"),
        ("0", "error: the rule maxLooks is a number from 1, or off, not `0`\n"),
        ("many", "error: the rule maxLooks is a number from 1, or off, not `many`\n"),
    ] {
        let run = office.sandbox.run(&["trust", "rule", "maxLooks", value, "--key", "ann.key"]);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{}", run.stderr);
        assert!(run.stderr.starts_with(message), "{}", run.stderr);
    }
    let run = office.sandbox.run(&["trust", "rule", "maxLooks", "99999999999", "--key", "ann.key"]);
    assert!(run.stderr.ends_with("hint: `proofmark trust rule maxLooks off` sets no limit\n"), "{}", run.stderr);
}

#[test]
fn a_policy_under_a_borrowed_name_decides_nothing() {
    let sandbox = Sandbox::new();
    let (name, text) = proofmark::abstain::BUILT_IN[0];
    let mut policy: Value = serde_json::from_str(text).unwrap();
    sandbox.write("same.json", policy.to_string());
    policy["confidenceFloor"] = json!(0.125);
    sandbox.write("own.json", policy.to_string());
    sandbox.write("r.jsonl", "");
    let run = sandbox.run(&["abstain", "--replies", "r.jsonl", "--policy", "own.json"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{}", run.stderr);
    assert!(run.stderr.starts_with("error: `own.json` cannot be used\n"), "{}", run.stderr);
    assert!(run.stderr.contains(&format!("it calls itself `{name}`, which is built in as ")), "{}", run.stderr);
    assert!(run.stderr.ends_with("another policy\nhint: give it a name of its own\n"), "{}", run.stderr);
    let same = sandbox.run(&["abstain", "--replies", "r.jsonl", "--policy", "same.json"]);
    assert!(!same.stderr.contains("calls itself"), "{}", same.stderr);
}

#[test]
fn a_withdrawal_by_nobody_withdraws_nothing() {
    let office = Office::under(crate::forger::parts(1), |told, gate| {
        told.withdraw(gate, &crate::trust::eve());
    });
    let text = office.sandbox.run(&["verify", "#1"]).stdout;
    assert!(!text.contains("WITHDRAWN"), "{text}");
    assert!(!office.sandbox.ok(&["log"]).contains("WITHDRAWN"));
    let (code, whole) = office.sandbox.json(&["verify"]);
    assert_eq!(code, 3);
    assert!(whole["findings"].to_string().contains("signature-key-unknown"), "{whole:#}");
}

#[test]
fn a_question_that_was_not_asked_is_no_flip() {
    let sandbox = asking(6);
    let body =
        format!("{RIGHT} | sed 's/}}$/,\"receipt\":{{\"status\":\"answered\",\"spend\":{{\"frontier_calls\":1}}}}}}/'");
    system(&sandbox, &body);
    let (code, document) = sandbox.json(&with(&["--repeat", "2", "--max-cost", "8", "--cost-each", "1"]));
    assert_eq!(code, 0, "{document:#}");
    schema::check(&document);
    let refused: u64 = [0, 1].iter().map(|at| document["outcomes"][at]["max-cost"].as_u64().unwrap_or(0)).sum();
    assert_eq!(refused, 4, "{document:#}");
    let flips = &document["flips"];
    assert_eq!((&flips["flipped"], &flips["questions"]), (&json!(0), &json!([])), "{document:#}");
    assert!(flips["n"].as_u64().unwrap() < 6, "only what was asked twice: {document:#}");
}
