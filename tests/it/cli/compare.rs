//! `proofmark compare` and `proofmark baseline`: verdicts, refusals and exit codes.

use serde_json::json;

use super::sandbox::Sandbox;

fn card(quality: f64, id: &str) -> String {
    json!({"quality": quality, "realized_cost": 1.0, "grounded_fraction": 1.0, "n": 2, "question_set_id": id})
        .to_string()
}

fn answers(replies: [&str; 2]) -> String {
    replies.map(|reply| format!("{{\"reply\":\"{reply}\",\"receipt\":{{\"status\":\"answered\"}}}}\n")).concat()
}

fn ledger() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.ok(&["init", "--person", "tester"]);
    sandbox.write(
        "q.jsonl",
        "{\"question\":\"1?\",\"expected\":\"one\",\"must_pass\":true}\n{\"question\":\"2?\",\"expected\":\"two\"}\n",
    );
    sandbox
}

fn append(sandbox: &Sandbox, replies: [&str; 2], more: &[&str]) {
    sandbox.write("a.jsonl", answers(replies));
    let arguments: Vec<_> =
        ["append", "--questions", "q.jsonl", "--answers", "a.jsonl"].iter().chain(more).copied().collect();
    sandbox.ok(&arguments);
}

#[test]
fn cards_are_compared_without_a_ledger() {
    let sandbox = Sandbox::new();
    sandbox.write("before.json", card(0.9, "aa"));
    for (quality, id, code, verdict) in [
        (0.9, "aa", 0, "not regressed"),
        (0.8, "aa", 3, "quality regressed: 0.900 -> 0.800"),
        (0.9, "bb", 2, "different held-out sets: aa != bb"),
        (0.9, "", 2, "not bound to a held-out question set identity"),
    ] {
        sandbox.write("after.json", card(quality, id));
        let run = sandbox.run(&["compare", "--cards", "before.json", "after.json"]);
        assert_eq!(run.code, code, "{}{}", run.stdout, run.stderr);
        assert!(run.stdout.contains(verdict), "{}", run.stdout);
    }
    sandbox.write("after.json", "{\"quality\":0.5}");
    let run = sandbox.run(&["compare", "--cards", "before.json", "after.json"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.starts_with("error: after.json: field `realized_cost`: is missing"), "{}", run.stderr);
}

#[test]
fn a_tolerance_must_be_finite_and_not_negative() {
    let sandbox = ledger();
    for tolerance in ["NaN", "inf", "-1"] {
        let run = sandbox.run(&["compare", &format!("--tolerance={tolerance}")]);
        assert_eq!(run.code, 2, "{tolerance}");
        assert!(run.stderr.contains("the tolerance must be finite and not negative"), "{}", run.stderr);
    }
}

#[test]
fn rounds_are_compared_with_the_baseline_or_the_round_before() {
    let sandbox = ledger();
    let run = sandbox.run(&["compare"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("the line `main` has 0 rounds"), "{}", run.stderr);
    append(&sandbox, ["one", "two"], &[]);
    append(&sandbox, ["one", "no"], &[]);
    append(&sandbox, ["one", "no"], &[]);
    assert_eq!(sandbox.run(&["compare"]).code, 0, "no worse than the round before");
    let set = sandbox.ok(&["baseline", "set", "main~2"]);
    assert!(set.starts_with("main: main#1"), "{set}");
    let again = sandbox.run(&["baseline", "set", "main~2"]);
    assert_eq!(again.code, 0);
    assert!(again.stderr.contains("is the baseline of main already"), "{}", again.stderr);
    let (code, report) = sandbox.json(&["compare"]);
    assert_eq!((code, &report["base"]["name"], &report["current"]["name"]), (3, &json!("main#1"), &json!("main#3")));
    assert_eq!(report["flips"]["newlyFailing"], json!(["#2"]));
    assert_eq!(sandbox.json(&["baseline", "show"]).1["baselines"][0]["round"], 1);
    assert_eq!(sandbox.run(&["baseline", "show", "--line", "none"]).code, 2);
}

#[test]
fn a_failing_must_pass_question_is_no_matter_what_the_averages_say() {
    let sandbox = ledger();
    append(&sandbox, ["no", "two"], &[]);
    append(&sandbox, ["no", "two"], &[]);
    let run = sandbox.run(&["compare"]);
    assert_eq!(run.code, 3);
    assert!(run.stdout.contains("not regressed\n  a question that must pass fails\n"), "{}", run.stdout);
    assert!(run.stdout.contains("must pass and fail (1): #1"), "{}", run.stdout);
}

#[test]
fn another_scorer_is_refused_by_name() {
    let sandbox = ledger();
    append(&sandbox, ["one", "two"], &[]);
    append(&sandbox, ["one", "two"], &["--scorer", "exact/v1"]);
    let run = sandbox.run(&["compare"]);
    assert_eq!(run.code, 2);
    assert!(run.stdout.contains("scorer differs: substring/v2 != exact/v1"), "{}", run.stdout);
}

#[test]
fn a_comparison_is_recorded_and_a_refused_one_is_not() {
    let sandbox = ledger();
    append(&sandbox, ["one", "two"], &[]);
    append(&sandbox, ["one", "no"], &[]);
    let run = sandbox.run(&["compare", "--record", "--note", "nightly"]);
    assert_eq!(run.code, 3);
    assert!(run.stdout.contains("recorded: receipt 3 "), "{}", run.stdout);
    append(&sandbox, ["one", "no"], &["--scorer", "exact/v1"]);
    let before = sandbox.files();
    let run = sandbox.run(&["compare", "--record"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("there is no comparison to record"), "{}", run.stderr);
    assert_eq!(sandbox.files(), before);
}

#[test]
fn evidence_that_no_longer_gives_the_card_is_refused() {
    let sandbox = ledger();
    append(&sandbox, ["one", "two"], &[]);
    append(&sandbox, ["one", "no"], &[]);
    for (path, bytes) in sandbox.files() {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if path.starts_with(sandbox.path(".ledger/objects")) && text.contains("\"no\"") {
            std::fs::write(&path, text.replace("\"no\"", "\"two\"")).unwrap();
        }
    }
    let run = sandbox.run(&["compare"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("the evidence `answers` cannot be read"), "{}", run.stderr);
}

/// It would be the newest comparison, and says nothing of what regressed.
#[test]
fn a_round_compared_with_itself_is_not_recorded() {
    let sandbox = ledger();
    append(&sandbox, ["one", "two"], &[]);
    append(&sandbox, ["one", "three"], &[]);
    let run = sandbox.run(&["compare", "main#2", "main", "--record"]);
    assert_eq!(run.code, 2, "{}", run.stdout);
    assert!(
        run.stderr.starts_with("error: main#2 is compared with itself, which says nothing to record\n"),
        "{}",
        run.stderr
    );
    assert_eq!(sandbox.run(&["compare", "main#1", "main#2", "--record"]).code, 3);
    sandbox.write("p.jsonl", include_str!("../../../fixtures/gate/go.jsonl"));
    sandbox.ok(&["gate", "--predictions", "p.jsonl", "--record"]);
    sandbox.run(&["compare", "main#2", "main#1", "--record"]);
    sandbox.ok(&["signoff", "#4", "--decision", "go", "--with", "#5", "--reason", "x"]);
    sandbox.run(&["compare", "main#1", "main#2", "--tolerance", "0.1", "--record"]);
    let status = sandbox.ok(&["status"]);
    assert!(status.contains("compared   #5: #1 against #2"), "{status}");
    assert!(
        status.contains("compared   #7: #2 against #1, regressed beyond 0.1, and no sign-off rests on it"),
        "{status}"
    );
}

#[test]
fn a_tolerance_is_said_wherever_not_regressed_is() {
    let sandbox = ledger();
    append(&sandbox, ["one", "two"], &[]);
    append(&sandbox, ["one", "three"], &[]);
    let run = sandbox.run(&["compare", "--tolerance", "0.5", "--record"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("\nnot regressed beyond 0.5\n"), "{}", run.stdout);
    assert!(run.stderr.contains("receipt: main#1 to main#2, not regressed beyond 0.5\n"), "{}", run.stderr);
    sandbox.write("p.jsonl", include_str!("../../../fixtures/gate/go.jsonl"));
    sandbox.ok(&["gate", "--predictions", "p.jsonl", "--record"]);
    let waive = ["waive", "#3", "--check", "comparison-lenient", "--expires", "9d", "--reason", "x"];
    let signoff = ["signoff", "#4", "--decision", "go", "--with", "#3", "--reason", "x"];
    sandbox.ok(&signoff);
    let (code, document) = sandbox.json(&["authorize"]);
    assert_eq!((code, &document["reasons"][0]["code"]), (3, &"comparison-lenient".into()));
    sandbox.ok(&waive);
    sandbox.ok(&signoff);
    // Who waived it may have forgotten what it says.
    let caution = "comparison #3 of #2 says: not regressed beyond 0.5";
    for command in ["authorize", "status"] {
        let text = sandbox.ok(&[command]);
        assert!(text.contains(caution), "{text}");
        assert_eq!(sandbox.json(&[command]).1.to_string().matches(caution).count(), 1);
    }
    assert!(sandbox.ok(&["status"]).contains("compared   #3: #2 against #1, not regressed beyond 0.5\n"));
    assert!(sandbox.ok(&["log", "--oneline"]).contains("#1 to #2: not regressed beyond 0.5"));
}
