//! `proofmark append`: what is recorded, and every refusal with its message, its exit code and nothing written.

use serde_json::json;

use super::sandbox::{Run, Sandbox};

const QUESTIONS: &str = "{\"question\":\"2+2?\",\"expected\":\"4\",\"id\":\"a\"}\n{\"question\":\"3+3?\",\"expected\":\"6\",\"id\":\"b\"}\n";
const ANSWERS: &str = "{\"id\":\"b\",\"reply\":\"7\",\"receipt\":{\"status\":\"refused\"}}\n{\"id\":\"a\",\"reply\":\"it is 4\",\"receipt\":{\"status\":\"answered\",\"spend\":{\"frontier_calls\":2}}}\n";

fn ready() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("q.jsonl", QUESTIONS);
    sandbox.write("a.jsonl", ANSWERS);
    sandbox.ok(&["init", "--person", "tester", "--origin", "example.invalid/log"]);
    sandbox
}

/// The run must be refused without a trace; returns what it said.
fn refused(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let before = sandbox.files();
    let Run { code, stdout, stderr } = sandbox.run(arguments);
    assert_eq!((code, stdout.as_str()), (2, ""), "{arguments:?}\n{stderr}");
    assert_eq!(sandbox.files(), before, "{arguments:?} left a trace");
    let (code, document) = sandbox.json(arguments);
    assert_eq!((code, &document["schema"], &document["exit"]), (2, &json!("error.v1"), &json!(2)));
    stderr
}

#[test]
fn recorded_answers_are_scored_and_appended() {
    let sandbox = ready();
    let said = sandbox.ok(&["append", "--questions", "q.jsonl", "--answers", "a.jsonl", "--note", "first"]);
    assert!(said.starts_with("[main "), "{said}");
    assert!(said.contains("quality 0.5000  grounded 0.5000  cost 2  n 2  recomputed by substring/v2\n"), "{said}");
    let (code, document) =
        sandbox.json(&["append", "--questions", "q.jsonl", "--answers", "a.jsonl", "--line", "nightly"]);
    assert_eq!(code, 0);
    let receipt = &document["receipts"][0];
    assert_eq!((&receipt["line"], &receipt["index"]), (&json!("nightly"), &json!(2)));
    assert_eq!(receipt["card"]["quality"], 0.5);
    assert_eq!(document["size"], 3);
}

#[test]
fn a_card_is_asserted_alone_and_checked_with_evidence() {
    let sandbox = ready();
    let id = sandbox.ok(&["questions", "id", "q.jsonl", "--scheme", "mixle"]);
    let card = |quality: f64, id: &str| {
        json!({"quality": quality, "realized_cost": 2.0, "grounded_fraction": 0.5, "n": 2, "question_set_id": id})
            .to_string()
    };
    sandbox.write("card.json", card(0.5, id.trim()));
    let basis = |arguments: &[&str]| {
        let (code, document) = sandbox.json(arguments);
        assert_eq!(code, 0, "{document}");
        document["receipts"][0]["basis"].as_str().unwrap().to_owned()
    };
    assert_eq!(basis(&["append", "--card", "card.json"]), "asserted");
    assert_eq!(basis(&["append", "--card", "card.json", "--questions", "q.jsonl"]), "asserted");
    assert_eq!(
        basis(&["append", "--card", "card.json", "--questions", "q.jsonl", "--answers", "a.jsonl"]),
        "recomputed"
    );

    let evidence = ["append", "--card", "card.json", "--questions", "q.jsonl"];
    sandbox.write("card.json", card(0.5, &"0".repeat(64)));
    let said = refused(&sandbox, &evidence);
    assert!(said.starts_with("error: card.json: field `question_set_id`: says 0000"), "{said}");
    sandbox.write("card.json", card(0.75, id.trim()));
    let said = refused(&sandbox, &["append", "--card", "card.json", "--questions", "q.jsonl", "--answers", "a.jsonl"]);
    assert!(said.starts_with("error: card.json: field `quality`: says 0.75, and the evidence gives 0.5\n"), "{said}");
    sandbox.write("card.json", card(1.5, id.trim()));
    assert!(refused(&sandbox, &evidence).contains("`quality`"));
    sandbox.write("card.json", card(0.5, ""));
    assert!(refused(&sandbox, &evidence).contains("the card is bound to no question set"));
    sandbox.write("card.json", "{\"quality\": NaN}");
    assert!(
        refused(&sandbox, &evidence).contains("card.json: NaN and Infinity are not JSON numbers at line 1 column 13")
    );
    sandbox.write("card.json", card(0.5, id.trim()));
    assert!(refused(&sandbox, &["append", "--card", "card.json", "--scheme", "pm1"]).contains("bound by scheme mixle"));
}

#[test]
fn bad_records_are_refused_by_file_line_and_field() {
    let sandbox = ready();
    let append = ["append", "--questions", "q.jsonl", "--answers", "a.jsonl"];
    for (file, text, message) in [
        ("q.jsonl", "{\"question\":\"x\",\"expected\":\" \"}\n", "q.jsonl:1: field `expected`: is blank"),
        (
            "q.jsonl",
            "{\"question\":\"x\",\"expected\":\"1\",\"expcted\":1}\n",
            "q.jsonl:1: field `expcted`: is not a known field",
        ),
        ("q.jsonl", "{\"question\":\"x\",\"expected\":\"1\"}\r\n", "q.jsonl:1: the line ends in CR LF"),
        ("q.jsonl", "", "q.jsonl: holds no questions"),
        ("a.jsonl", "{\"reply\":\"4\"}\n", "a.jsonl:1: field `receipt`: is missing"),
        (
            "a.jsonl",
            "{\"reply\":\"4\",\"receipt\":{\"status\":\"answered\"},\"id\":\"a\"}\n",
            "a.jsonl: has no answer for `b`",
        ),
        (
            "a.jsonl",
            "{\"reply\":4,\"receipt\":{\"status\":\"answered\"}}\n",
            "a.jsonl:1: field `reply`: must be a string or null",
        ),
    ] {
        sandbox.write("q.jsonl", QUESTIONS);
        sandbox.write("a.jsonl", ANSWERS);
        sandbox.write(file, text);
        let said = refused(&sandbox, &append);
        assert!(said.starts_with(&format!("error: {message}")), "{said}");
    }
}

#[test]
fn wrong_usage_says_what_is_missing() {
    let sandbox = ready();
    for (arguments, message) in [
        (vec!["append"], "--questions <FILE>"),
        (vec!["append", "--questions", "q.jsonl"], "--answers <FILE>"),
        (vec!["append", "--questions", "q.jsonl", "--answers", "a.jsonl", "--line", "Main"], "a line name must be"),
        (
            vec!["append", "--questions", "q.jsonl", "--answers", "a.jsonl", "--subject", "model"],
            "NAME=FILE or NAME=sha256:HEX",
        ),
        (
            vec!["append", "--questions", "q.jsonl", "--answers", "a.jsonl", "--evidence", "answers=q.jsonl"],
            "is given by the command itself",
        ),
    ] {
        let run = sandbox.run(&arguments);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(run.stderr.contains(message), "{arguments:?}: {}", run.stderr);
    }
    let scorer = ["append", "--questions", "q.jsonl", "--answers", "a.jsonl", "--scorer", "substring/v9"];
    assert!(refused(&sandbox, &scorer).contains("substring/v2"), "the known scorers are listed");
    let judge = ["append", "--questions", "q.jsonl", "--answers", "a.jsonl", "--scorer", "command/x/1"];
    assert!(refused(&sandbox, &judge).contains("add --judge FILE"));
    let missing = sandbox.run(&["append", "--questions", "none.jsonl", "--answers", "a.jsonl"]);
    assert_eq!(missing.code, 1);
    assert!(
        missing.stderr.starts_with("error: cannot read `none.jsonl`\ncaused by: No such file"),
        "{}",
        missing.stderr
    );
}

#[test]
fn without_a_ledger_the_way_to_one_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("q.jsonl", QUESTIONS);
    sandbox.write("a.jsonl", ANSWERS);
    let said = refused(&sandbox, &["append", "--questions", "q.jsonl", "--answers", "a.jsonl"]);
    assert!(said.contains("hint: `proofmark init` makes one"), "{said}");
}

#[test]
fn subjects_evidence_and_notes_are_bound() {
    let sandbox = ready();
    sandbox.write("model.bin", "weights");
    sandbox.write("policy.txt", "policy");
    let digest = "a".repeat(64);
    sandbox.ok(&[
        "append",
        "--questions",
        "q.jsonl",
        "--answers",
        "a.jsonl",
        "--subject",
        "model=model.bin",
        "--subject",
        &format!("data=sha256:{digest}"),
        "--evidence",
        "policy=policy.txt",
    ]);
    let held = std::fs::read_dir(sandbox.path(".ledger/objects")).unwrap().count();
    assert_eq!(held, 3, "questions, answers, policy");
}

#[test]
fn a_batch_is_all_or_nothing() {
    let sandbox = ready();
    sandbox.write("rounds/q.jsonl", QUESTIONS);
    sandbox.write("rounds/a.jsonl", ANSWERS);
    let card = json!({"quality": 1.0, "realized_cost": 0.0, "grounded_fraction": 1.0, "n": 2, "question_set_id": "b".repeat(64)});
    let good = json!({"questions": "q.jsonl", "answers": "a.jsonl"});
    let inline = json!({"card": card, "line": "cards", "subject": {"model": format!("sha256:{}", "c".repeat(64))}});
    sandbox.write("rounds/good.jsonl", format!("{good}\n{inline}\n{good}\n"));
    let (code, document) = sandbox.json(&["append", "--batch", "rounds/good.jsonl"]);
    assert_eq!(code, 0, "{document}");
    let rounds: Vec<_> =
        document["receipts"].as_array().unwrap().iter().map(|receipt| receipt["line"].as_str().unwrap()).collect();
    assert_eq!(rounds, ["main", "cards", "main"]);

    sandbox.write(
        "rounds/bad.jsonl",
        format!("{good}\n{}\n", json!({"questions": "q.jsonl", "answers": "a.jsonl", "lin": "x"})),
    );
    let said = refused(&sandbox, &["append", "--batch", "rounds/bad.jsonl"]);
    assert!(said.starts_with("error: rounds/bad.jsonl:2: field `lin`: is not a known field"), "{said}");
    sandbox.write("rounds/bad.jsonl", "");
    assert!(refused(&sandbox, &["append", "--batch", "rounds/bad.jsonl"]).contains("holds no rounds"));
}

#[test]
fn a_sealed_set_keeps_its_text_out_of_the_ledger() {
    let sandbox = ready();
    let sealed = ["append", "--questions", "q.sealed.jsonl", "--answers", "a.jsonl", "--sealed"];
    let unsalted = ["append", "--questions", "q.jsonl", "--answers", "a.jsonl", "--sealed"];
    assert!(refused(&sandbox, &unsalted).contains("carry no salts, so they could be guessed"));
    sandbox.ok(&["questions", "seal", "q.jsonl", "-o", "q.sealed.jsonl"]);
    let open = ["append", "--questions", "q.sealed.jsonl", "--answers", "a.jsonl"];
    assert!(refused(&sandbox, &open).contains("add --sealed to keep their text out of the ledger"));
    sandbox.ok(&sealed);
    sandbox.ok(&sealed);
    for (path, bytes) in sandbox.files() {
        if path.starts_with(sandbox.path(".ledger")) {
            assert!(!bytes.windows(4).any(|window| window == b"2+2?"), "{}", path.display());
        }
    }
    let (code, report) = sandbox.json(&["compare"]);
    assert_eq!((code, &report["comparable"]), (0, &json!(true)));
}

#[test]
fn a_users_own_judge_is_run_and_its_word_is_kept() {
    let sandbox = ready();
    let script = "#!/bin/sh\nwhile read -r line; do case \"$line\" in *'\"reply\":\"7\"'*) echo '{\"correct\":true}';; *) echo '{\"correct\":false}';; esac; done\n";
    let judge = |text: &str| {
        let path = sandbox.write("judge.sh", text);
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    };
    judge(script);
    let append = [
        "append",
        "--questions",
        "q.jsonl",
        "--answers",
        "a.jsonl",
        "--scorer",
        "command/seven/1",
        "--judge",
        "judge.sh",
    ];
    let (code, document) = sandbox.json(&append);
    assert_eq!(code, 0, "{document}");
    assert_eq!(document["receipts"][0]["card"]["quality"], 0.5);
    let scorer = document["receipts"][0]["scorer"].as_str().unwrap();
    assert!(scorer.starts_with("command/seven/1?blake3="), "{scorer}");
    for (text, message) in [
        ("#!/bin/sh\ncat >/dev/null\n", "gave 0 judgements for 2 answers"),
        ("#!/bin/sh\ncat >/dev/null; exit 4\n", "ended with exit status: 4"),
        ("#!/bin/sh\ncat >/dev/null; echo yes\n", "the judge's output:1: "),
        ("#!/bin/sh\nwhile true; do echo '{\"correct\":true}'; done\n", "there are only 2 answers to judge"),
    ] {
        judge(text);
        let said = refused(&sandbox, &append);
        assert!(said.contains(message), "{said}");
    }
}
