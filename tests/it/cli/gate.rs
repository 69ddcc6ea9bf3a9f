//! `proofmark gate`, and `proofmark compare` on what it records: verdicts, refusals, files, receipts, replay.

use proofmark::ledger::{Ledger, replay_gate};
use proofmark::object::ObjectId;
use proofmark::receipt::{Body, GateBody};
use proofmark::store::{Directory, read_object};
use serde_json::json;

use super::sandbox::Sandbox;
use crate::schema;

const GO: &str = include_str!("../../../fixtures/gate/go.jsonl");
const BLOCKED: &str = include_str!("../../../fixtures/gate/blocked.jsonl");
const LEAKED: &str = include_str!("../../../fixtures/gate/leaked.jsonl");

/// One record of the split that the key puts it in.
fn record(key: &str, truth: u8, said: u8, confidence: &str) -> String {
    let split = if key.starts_with("cd") { "validation" } else { "test" };
    format!(
        "{{\"model\":\"m\",\"subjectKey\":\"{key}\",\"split\":\"{split}\",\"truth\":{{\"bristolType\":{truth}}},\"prediction\":{{\"bristolType\":{said},\"confidence\":{confidence}}}}}\n"
    )
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    for (name, text) in [("go.jsonl", GO), ("blocked.jsonl", BLOCKED), ("leaked.jsonl", LEAKED)] {
        sandbox.write(name, text);
    }
    sandbox
}

fn with_ledger() -> Sandbox {
    let sandbox = sandbox();
    sandbox.ok(&["init", "--person", "tester"]);
    sandbox
}

#[test]
fn the_exit_code_is_the_verdict() {
    let sandbox = sandbox();
    for (file, code, first) in [("go.jsonl", 0, "GO\n"), ("blocked.jsonl", 3, "BLOCKED\n"), ("leaked.jsonl", 2, "")] {
        let run = sandbox.run(&["gate", "--predictions", file, "--min-coverage", "0.5"]);
        assert_eq!(run.code, code, "{}{}", run.stdout, run.stderr);
        assert!(run.stdout.starts_with(first) && run.stdout.is_empty() == first.is_empty(), "{}", run.stdout);
        assert_eq!(run.stderr.is_empty(), code != 2, "{}", run.stderr);
    }
    let text = sandbox.ok(&["gate", "--predictions", "go.jsonl"]);
    for part in [
        "recommended     synthetic-calibrated\n",
        "profile         bristol/v1 (faab431de0ca)\n",
        "coverage floor  0.5\n",
        "candidate synthetic-overconfident: blocked\n  because macroF1 is 0.71",
        "  gates on test\n    passed  macroF1",
        "  confusion (truth->predicted)\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn the_document_is_the_same_on_stdout_and_in_a_file_whatever_the_order() {
    let sandbox = sandbox();
    let (code, document) = sandbox.json(&["gate", "--predictions", "go.jsonl"]);
    assert_eq!((code, &document["verdict"]), (0, &json!("GO")));
    schema::check(&document);
    // The flag before the command, with a path of `-`, and with a path: one answer.
    for arguments in [
        &["--json", "gate", "--predictions", "go.jsonl"][..],
        &["gate", "--predictions", "go.jsonl", "--json", "-"],
        &["gate", "--json", "--predictions", "go.jsonl", "--report", "kept.json"],
    ] {
        let answer: serde_json::Value = serde_json::from_str(&sandbox.ok(arguments)).unwrap();
        assert_eq!(answer, document, "{arguments:?}");
    }
    let text = sandbox.ok(&["gate", "--predictions", "go.jsonl", "--json", "out.json"]);
    assert!(text.starts_with("GO\n"), "{text}");
    let (out, kept) =
        (std::fs::read(sandbox.path("out.json")).unwrap(), std::fs::read(sandbox.path("kept.json")).unwrap());
    assert_eq!(out, kept);
    assert_eq!(proofmark::object::encode(&document).unwrap(), out);
    let (mut odd, mut even): (Vec<_>, Vec<_>) = GO.lines().rev().enumerate().partition(|(at, _)| at % 2 == 1);
    odd.reverse();
    even.rotate_left(100);
    let lines = |half: Vec<(usize, &str)>| half.into_iter().map(|(_, line)| format!("{line}\n")).collect::<String>();
    sandbox.write("odd.jsonl", lines(odd));
    sandbox.write("even.jsonl", lines(even));
    sandbox.ok(&["gate", "--predictions", "odd.jsonl", "even.jsonl", "--report=again.json"]);
    sandbox.ok(&["gate", "--predictions", "even.jsonl", "--predictions", "odd.jsonl", "--json=once-more.json"]);
    for name in ["again.json", "once-more.json"] {
        assert_eq!(std::fs::read(sandbox.path(name)).unwrap(), out, "{name}");
    }
}

/// Every refusal: exit 2, nothing on stdout, nothing written, and a message that names file, line, field and rule.
#[test]
fn refusals_name_file_line_field_and_rule_and_write_nothing() {
    let sandbox = with_ledger();
    sandbox.write("out.json", "what was there before");
    let good = record("cd00000000000001", 1, 1, "0.9") + &record("e600000000000001", 1, 1, "0.9");
    let cases = [
        (LEAKED.to_owned(), "bad.jsonl:351: field `split`: is `train`, but the profile puts the subject"),
        (good.replace("cd00", "CD00"), "bad.jsonl:1: field `subjectKey`: "),
        (good.replace("cd00000000000001", "cd000001"), "bad.jsonl:1: field `subjectKey`: "),
        (good.replace("\"test\"", "\"validation\""), "bad.jsonl:2: field `split`: "),
        (
            good.replacen("\"bristolType\":1,", "\"bristolType\":true,", 1),
            "bad.jsonl:1: field `prediction.bristolType`: ",
        ),
        (
            good.replacen("\"bristolType\":1,", "\"bristolType\":4.0,", 1),
            "bad.jsonl:1: field `prediction.bristolType`: ",
        ),
        (good.replace("0.9}", "\"0.9\"}"), "bad.jsonl:1: field `prediction.confidence`: "),
        (good.replace("0.9}", "1.0001}"), "bad.jsonl:1: field `prediction.confidence`: "),
        (good.replace("0.9}", "NaN}"), "bad.jsonl:1: "),
        (good.replace("0.9}", "1e400}"), "bad.jsonl:1: "),
        (
            good.replacen(",\"prediction\":{\"bristolType\":1,\"confidence\":0.9}", "", 1),
            "bad.jsonl:1: field `prediction`: ",
        ),
        (good.replacen("{\"model\"", "{\"note\":1,\"model\"", 1), "bad.jsonl:1: field `note`: "),
        (good.replacen("{\"model\"", "{\"model\":\"m\",\"model\"", 1), "bad.jsonl:1: "),
        (good.replacen("}}\n", "}} x\n", 1), "bad.jsonl:1: "),
        (good.replacen("\"m\"", "\" \"", 1), "bad.jsonl:1: field `model`: "),
        (
            good.clone() + &good,
            "bad.jsonl:3: field `subjectKey`: the model already has a record for this subject at bad.jsonl:1",
        ),
        (record("cd00000000000001", 1, 1, "0.9"), "the candidate `m` has no test records"),
        (record("e600000000000001", 1, 1, "0.9"), "the candidate `m` has no validation records"),
        (String::new(), "there are no prediction records"),
    ];
    for (text, wanted) in cases {
        sandbox.write("bad.jsonl", &text);
        let before = sandbox.files();
        let arguments =
            ["gate", "--predictions", "bad.jsonl", "--force", "--json", "out.json", "--report", "new.json", "--record"];
        let run = sandbox.run(&arguments);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{wanted}: {}", run.stderr);
        assert!(run.stderr.starts_with(&format!("error: {wanted}")), "{wanted}\n{}", run.stderr);
        assert_eq!(sandbox.files(), before, "{wanted}");
    }
    let twice = sandbox.run(&["gate", "--predictions", "go.jsonl", "go.jsonl"]);
    assert_eq!(twice.code, 2);
    assert!(
        twice.stderr.contains("go.jsonl:1: field `subjectKey`: the model already has a record"),
        "{}",
        twice.stderr
    );
}

#[test]
fn wrong_usage_is_refused_and_what_cannot_be_read_fails() {
    let sandbox = with_ledger();
    let before = sandbox.files();
    for (arguments, code, wanted) in [
        (&["gate"][..], 2, "--predictions"),
        (&["gate", "--predictions", "go.jsonl", "--min-coverage", "1.5"], 2, "must be between 0 and 1"),
        (&["gate", "--predictions", "go.jsonl", "--min-coverage", "NaN"], 2, "is not a decimal number"),
        (&["gate", "--predictions", "go.jsonl", "--min-coverage", "0.30000000000000001"], 2, "write fewer digits"),
        (&["gate", "--predictions", "go.jsonl", "--profile", "bristol/v2"], 2, "there is no profile `bristol/v2`"),
        (
            &["gate", "--predictions", "go.jsonl", "--profile", "go.jsonl"],
            2,
            "`go.jsonl` cannot be used\ncaused by: the profile is not JSON",
        ),
        (&["gate", "--predictions", "go.jsonl", "--note", "x"], 2, "--record"),
        (&["gate", "--predictions", "go.jsonl", "blocked.jsonl", "--json", "go.jsonl"], 2, "would overwrite go.jsonl"),
        (&["gate", "--predictions", "go.jsonl", "--report", ".ledger"], 2, ".ledger is not a plain file"),
        (&["gate", "--predictions", "none.jsonl"], 1, "cannot read `none.jsonl`"),
        (&["gate", "--predictions", ".ledger"], 1, "cannot read `.ledger`"),
        (&["gate", "--predictions", "go.jsonl", "--report", "none/gate.json"], 1, "none/gate.json"),
    ] {
        let run = sandbox.run(arguments);
        assert_eq!((run.code, run.stdout.as_str()), (code, ""), "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(wanted), "{wanted}\n{}", run.stderr);
    }
    assert_eq!(sandbox.files(), before);
    // Recording without a ledger, or by nobody, is refused before a report is kept.
    let alone = sandbox_without_ledger_records();
    assert_eq!(alone.code, 2, "{}", alone.stderr);
}

fn sandbox_without_ledger_records() -> super::sandbox::Run {
    let sandbox = sandbox();
    let before = sandbox.files();
    let run = sandbox.run(&["gate", "--predictions", "go.jsonl", "--record", "--json", "out.json"]);
    assert_eq!(sandbox.files(), before);
    run
}

#[test]
fn what_is_recorded_is_replayed_from_its_evidence() {
    let sandbox = with_ledger();
    let half = GO.lines().count() / 2;
    let part = |lines: &mut dyn Iterator<Item = &str>| lines.map(|line| format!("{line}\n")).collect::<String>();
    sandbox.write("first.jsonl", part(&mut GO.lines().take(half)));
    sandbox.write("second.jsonl", part(&mut GO.lines().skip(half)));
    sandbox.write("empty.jsonl", "");
    sandbox.write("empty-too.jsonl", "");
    let files = ["second.jsonl", "empty.jsonl", "first.jsonl", "empty-too.jsonl"];
    let arguments =
        ["--min-coverage", "0.25", "--record", "--json", "out.json", "--subject", "model=go.jsonl", "--note", "four"];
    let arguments: Vec<_> = ["gate", "--predictions"].iter().chain(&files).chain(&arguments).copied().collect();
    let text = sandbox.ok(&arguments);
    assert!(text.contains("\n\nrecorded: receipt 1 "), "{text}");
    let blocked = sandbox.run(&["gate", "--predictions", "blocked.jsonl", "--record", "--json"]);
    assert_eq!(blocked.code, 3, "a BLOCKED run is recorded too");
    assert!(blocked.stderr.contains("\nrecorded: receipt 2 "), "{}", blocked.stderr);

    let ledger = Ledger::open(Box::new(Directory::new(sandbox.path(".ledger")))).unwrap();
    let receipt = ledger.snapshot().unwrap().receipt(1).unwrap();
    let predicate = &receipt.statement().predicate;
    let Body::Gate(body) = &predicate.body else { panic!("{predicate:?}") };
    assert_eq!((body.recommended.as_deref(), body.min_coverage), (Some("synthetic-calibrated"), 0.25));
    assert_eq!((body.candidates.total, body.candidates.passed), (2, 1));
    let roles: Vec<_> = predicate.evidence.iter().map(|evidence| evidence.role.as_str()).collect();
    assert_eq!(roles, ["predictions", "predictions", "predictions", "profile", "report"]);
    let report = replay_gate(ledger.store(), predicate, body).unwrap();
    assert_eq!(&GateBody::of(&report), body);
    let bytes = std::fs::read(sandbox.path("out.json")).unwrap();
    assert_eq!(report.encode().unwrap(), bytes);
    let kept = predicate.evidence_of("report").next().unwrap();
    assert_eq!(read_object(ledger.store(), &kept.blake3, kept.size).unwrap().unwrap(), bytes);
    let profile = predicate.evidence_of("profile").next().unwrap();
    assert_eq!(profile.blake3, body.profile.blake3);
    schema_of(receipt.payload());

    let verified = sandbox.ok(&["verify", "--replay"]);
    assert!(verified.contains("replay             PASS         gates 2"), "{verified}");
    // Somebody makes the predictions better than they were.
    let object = predicate.evidence_of("predictions").find(|evidence| evidence.size > 0).unwrap().blake3.to_string();
    let path = sandbox.path(&format!(".ledger/objects/{}/{}", &object[..2], &object[2..]));
    let path = if path.exists() { path } else { path.with_extension("zst") };
    std::fs::write(&path, std::fs::read(&path).unwrap().iter().rev().copied().collect::<Vec<_>>()).unwrap();
    let run = sandbox.run(&["verify", "--replay"]);
    assert_eq!(run.code, 3);
    assert!(run.stdout.contains("evidence-damaged"), "{}", run.stdout);
}

fn schema_of(payload: &[u8]) {
    schema::check_as("statement-gate.v1", &serde_json::from_slice(payload).unwrap());
}

#[test]
fn a_profile_in_a_file_is_named_by_its_digest() {
    let sandbox = with_ledger();
    let text = sandbox.ok(&["profile", "show", "bristol/v1", "--json"]);
    sandbox.write("mine.json", text.replace("bristol/v1", "mine/v1").replace("0.05", "0.9"));
    let arguments = ["gate", "--predictions", "blocked.jsonl", "--profile", "mine.json", "--record"];
    let (_, document) = sandbox.json(&arguments);
    assert_eq!(document["profile"]["name"], "mine/v1");
    let digest = document["profile"]["blake3"].as_str().unwrap();
    digest.parse::<ObjectId>().unwrap();
    // The ledger has it now.
    let shown = sandbox.ok(&["profile", "show", digest]);
    assert!(shown.contains(&format!("digest          {digest}\n")) && shown.contains("ece <= 0.9"), "{shown}");
    let (_, again) = sandbox.json(&["gate", "--predictions", "blocked.jsonl", "--profile", digest]);
    assert_eq!(again, document);
    // A rule that is none is called out beside the answer.
    sandbox.write("mine.json", text.replace("bristol/v1", "mine/v1").replace("0.05", "1"));
    let run = sandbox.run(&["gate", "--predictions", "blocked.jsonl", "--profile", "mine.json"]);
    assert_eq!(run.stderr, "profile: ece is never above 1 (gate-never-fails, gates[2].limit)\n");
    // The built-in one from a file is itself; others do not pass for it.
    sandbox.write("mine.json", &text);
    sandbox.ok(&["gate", "--predictions", "go.jsonl", "--profile", "mine.json"]);
    for name in ["bristol/v1", "Bristol/V1", "bristol/v1 "] {
        sandbox.write("mine.json", text.replace("bristol/v1", name).replace("0.05", "0.9"));
        let before = sandbox.files();
        let run = sandbox.run(&["gate", "--predictions", "blocked.jsonl", "--profile", "mine.json", "--record"]);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{name}");
        let says = "error: `mine.json` cannot be used\n\
                    caused by: it calls itself `bristol/v1`, which is built in as faab431de0ca, and it is ";
        assert!(run.stderr.starts_with(says), "{name}: {}", run.stderr);
        assert!(run.stderr.ends_with(", another profile\nhint: give it a name of its own\n"), "{name}: {}", run.stderr);
        for check in ["profile check", "policy lint"] {
            let arguments: Vec<_> = check.split(' ').chain(["mine.json"]).collect();
            let run = sandbox.run(&arguments);
            assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{name}");
            assert!(run.stderr.starts_with(says), "{check} {name}: {}", run.stderr);
        }
        assert_eq!(sandbox.files(), before);
    }
}

#[test]
fn gate_receipts_are_compared_where_both_asked_the_same() {
    let sandbox = with_ledger();
    let record = |file: &str, more: &[&str]| {
        let arguments: Vec<_> = ["gate", "--predictions", file, "--record", "-q"].iter().chain(more).copied().collect();
        assert_ne!(sandbox.run(&arguments).code, 2, "{file}");
    };
    record("go.jsonl", &[]);
    record("blocked.jsonl", &[]);
    record("go.jsonl", &["--min-coverage", "0.4"]);
    // The same subjects, one truth changed; a test subject less.
    let at = GO.lines().position(|line| line.contains("\"test\"")).unwrap();
    let changed = |change: &dyn Fn(&str) -> String| -> String {
        let line = |(place, line): (usize, &str)| if place == at { change(line) } else { format!("{line}\n") };
        GO.lines().enumerate().map(line).collect()
    };
    let line = GO.lines().nth(at).unwrap();
    let truth: u8 = line.split("\"truth\":{\"bristolType\":").nth(1).unwrap()[..1].parse().unwrap();
    let (old, new) =
        (format!("\"truth\":{{\"bristolType\":{truth}}}"), format!("\"truth\":{{\"bristolType\":{}}}", truth % 7 + 1));
    sandbox.write("truth.jsonl", changed(&|line| line.replace(&old, &new) + "\n"));
    sandbox.write("less.jsonl", changed(&|_| String::new()));
    record("truth.jsonl", &[]);
    record("less.jsonl", &[]);
    for (base, current, code, parts) in [
        (
            "#1",
            "#1",
            0,
            &["candidate synthetic-calibrated: keeps every gate -> keeps every gate", "\nnot regressed\n"][..],
        ),
        (
            "#1",
            "#2",
            3,
            &["only in base: synthetic-calibrated\n", "\nregressed\n  the verdict got worse: GO -> BLOCKED\n"],
        ),
        ("#2", "#1", 0, &["only in current: synthetic-calibrated\n", "\nnot regressed\n"]),
        ("#1", "#3", 2, &["not comparable\n  coverage floor differs: 0.5 != 0.4\n"]),
        (
            "#1",
            "#4",
            2,
            &[
                "not comparable\n  subjects or truths of synthetic-calibrated differ: ",
                "(0 added, 0 removed, 1 with another truth, 0 in another split)",
            ],
        ),
        ("#1", "#5", 2, &["(0 added, 1 removed, 0 with another truth, 0 in another split)"]),
    ] {
        let run = sandbox.run(&["compare", base, current]);
        assert_eq!(run.code, code, "{base} {current}: {}{}", run.stdout, run.stderr);
        for part in parts {
            assert!(run.stdout.contains(part), "{part}\n{}", run.stdout);
        }
        let (json_code, document) = sandbox.json(&["compare", base, current]);
        assert_eq!(json_code, code);
        schema::check(&document);
    }
    for (arguments, wanted) in [
        (&["compare", "#1"][..], "name both receipts"),
        (&["compare", "#0", "#1"], "one of the receipts is a gate run and the other is not"),
        (&["compare", "#1", "#2", "--record"], "are for rounds, not for gate runs"),
    ] {
        let run = sandbox.run(arguments);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(run.stderr.contains(wanted), "{}", run.stderr);
    }
}

#[test]
fn a_gated_metric_that_falls_within_its_gate_is_worse_all_the_same() {
    let sandbox = with_ledger();
    let set = |wrong: usize| -> String {
        ["cd", "e6"]
            .iter()
            .flat_map(|half| (1..=140).map(move |at| (half, at)))
            .map(|(half, at)| {
                let truth = (at % 7 + 1) as u8;
                let said = if at % wrong == 0 { truth % 7 + 1 } else { truth };
                record(&format!("{half}{at:014x}"), truth, said, "0.95")
            })
            .collect()
    };
    sandbox.write("before.jsonl", set(28));
    sandbox.write("after.jsonl", set(20));
    for file in ["before.jsonl", "after.jsonl"] {
        sandbox.ok(&["gate", "--predictions", file, "--record"]);
    }
    let run = sandbox.run(&["compare", "#1", "#2"]);
    assert_eq!(run.code, 3, "{}", run.stdout);
    assert!(
        run.stdout.contains("\nregressed\n  m: precisionAtCoverage got worse: 0.9642857142857143 -> 0.95\n"),
        "{}",
        run.stdout
    );
    assert_eq!(sandbox.run(&["compare", "#1", "#2", "--tolerance", "0.1"]).code, 0);
}
