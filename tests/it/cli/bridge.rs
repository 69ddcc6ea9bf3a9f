//! Recorded answers under another scorer: `evaluate --answers` and `bridge`.

use serde_json::Value;

use super::evaluate::{ASK, receipts, sandbox, system, with};
use super::sandbox::Sandbox;
use crate::schema;

/// A round of three answers: one is exact, one has more words around it, one is wrong.
fn asked() -> Sandbox {
    let sandbox = sandbox(3);
    system(
        &sandbox,
        "case $text in 'ask 0') say 'answer 0.';; 'ask 1') say 'It is answer 1. Sure.';; *) say no;; esac",
    );
    sandbox.ok(&ASK);
    sandbox
}

#[test]
fn a_bridge_is_a_round_of_the_same_answers_with_both_scorers_side_by_side() {
    let sandbox = asked();
    let text = sandbox.ok(&["bridge", "main", "--scorer", "exact/v1"]);
    for part in [
        "] receipt 2\n",
        "base     main#1  substring/v2\nbridged  the same answers  exact/v1\n",
        "quality                   0.6667        0.3333       -0.3333\n",
        "agreement 0.6667: 1 right by both, 1 wrong by both\nright by substring/v2 only (1): q1\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let document: Value = serde_json::from_str(&sandbox.ok(&["cat", "main:report"])).unwrap();
    schema::check(&document);
    assert_eq!((&document["base"]["index"], &document["onlyBase"][0]), (&1.into(), &"q1".into()));
    for role in ["answers", "questions", "run"] {
        let of = |revision: &str| sandbox.ok(&["cat", &format!("{revision}:{role}")]);
        assert_eq!(of("main"), of("main~1"));
    }
    let subject = |revision: &str| sandbox.json(&["show", revision]).1["receipt"]["subject"].clone();
    assert_eq!(subject("main"), subject("main~1"));
    let verified = sandbox.ok(&["verify", "--replay"]);
    assert!(verified.contains("bridges 1"), "{verified}");
    let (code, answer) = sandbox.json(&["bridge", "main", "--scorer", "normalized/v1", "--line", "other"]);
    assert_eq!(code, 0);
    schema::check(&answer);
    assert_eq!(answer["appended"][0]["line"], "other");
}

#[test]
fn rounds_after_a_bridge_compare_with_it() {
    let sandbox = asked();
    sandbox.ok(&["bridge", "main", "--scorer", "exact/v1"]);
    sandbox.ok(&with(&["--scorer", "exact/v1"]));
    let text = sandbox.ok(&["compare"]);
    assert!(text.contains("base     main#2") && text.ends_with("not regressed\n"), "{text}");
}

#[test]
fn what_cannot_be_bridged_is_refused() {
    let sandbox = asked();
    let card = r#"{"quality":1,"realized_cost":0,"grounded_fraction":1,"n":1,"question_set_id":"pm1:0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f"}"#;
    sandbox.write("card.json", card);
    sandbox.ok(&["append", "--card", "card.json", "--line", "bare"]);
    sandbox.write("other.jsonl", "{\"question\":\"x\",\"expected\":\"y\"}\n");
    let before = receipts(&sandbox);
    for (arguments, message) in [
        (vec!["main", "--scorer", "substring/v2"], "main#1 was judged by `substring/v2` already"),
        (vec!["main", "--scorer", "magic/v1"], "magic/v1"),
        (vec!["main", "--scorer", "numeric/v1"], "field `expected`"),
        (vec!["bare", "--scorer", "exact/v1"], "the ledger does not hold the answers of bare#1"),
        (vec!["#0", "--scorer", "exact/v1"], "receipt 0 is a trust, not a round"),
        (vec!["nosuch", "--scorer", "exact/v1"], "nosuch"),
        (
            vec!["main", "--scorer", "exact/v1", "--questions", "other.jsonl"],
            "other.jsonl are not the questions of main#1",
        ),
        (vec!["main"], "--scorer"),
    ] {
        let run = sandbox.run(&[&["bridge"][..], &arguments].concat());
        assert_eq!(run.code, 2, "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(message), "{arguments:?}: {}", run.stderr);
    }
    assert_eq!(receipts(&sandbox), before);
}

#[test]
fn a_sealed_round_is_bridged_with_its_questions_and_stays_sealed() {
    let sandbox = sandbox(2);
    system(&sandbox, "say \"Answer ${text#ask }.\"");
    sandbox.ok(&["questions", "seal", "q.jsonl", "-o", "sealed.jsonl"]);
    sandbox.ok(&["evaluate", "--questions", "sealed.jsonl", "--system", "sh bot.sh", "--sealed"]);
    sandbox.write("a.jsonl", sandbox.ok(&["cat", "main:answers"]));
    let run = sandbox.run(&["evaluate", "--answers", "a.jsonl", "--scorer", "exact/v1"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("the questions of receipt 1 are not held\nhint: name them"), "{}", run.stderr);
    let run = sandbox.run(&["bridge", "main", "--scorer", "exact/v1"]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("does not hold the questions of main#1\nhint: name them: --questions FILE"),
        "{}",
        run.stderr
    );
    let text = sandbox.ok(&["bridge", "main", "--scorer", "exact/v1", "--questions", "sealed.jsonl"]);
    assert!(text.contains("right by substring/v2 only (2): q0 q1"), "{text}");
    let verified = sandbox.ok(&["verify", "--replay"]);
    assert!(verified.contains("bridges 1"), "{verified}");
}

#[test]
fn recorded_answers_are_scored_anew_without_asking_anybody() {
    let sandbox = asked();
    sandbox.write("a.jsonl", sandbox.ok(&["cat", "main:answers"]));
    // Whose they are the ledger knows.
    let text = sandbox.ok(&["evaluate", "--answers", "a.jsonl", "--scorer", "exact/v1", "--line", "anew"]);
    assert!(text.starts_with("[anew ") && text.contains("quality 0.3333"), "{text}");
    assert!(!text.contains("asked:"), "{text}");
    assert_eq!(sandbox.ok(&["cat", "anew:run"]), sandbox.ok(&["cat", "main:run"]));
    let (code, document) =
        sandbox.json(&["evaluate", "--answers", "a.jsonl", "--questions", "q.jsonl", "--scorer", "exact/v1"]);
    schema::check(&document);
    assert_eq!((code, &document["outcomes"]), (0, &Value::Array(Vec::new())));
    sandbox.ok(&["verify", "--replay"]);
    // They are identified as they were.
    sandbox.ok(&with(&["--scheme", "mixle"]));
    let text = sandbox.ok(&["evaluate", "--answers", "a.jsonl", "--scorer", "exact/v1"]);
    assert!(text.contains("\n  questions ") && !text.contains("pm1:"), "{text}");
    sandbox.write("b.jsonl", "{\"reply\":\"x\",\"receipt\":{\"status\":\"answered\"}}\n");
    for (arguments, message) in [
        (
            vec!["--answers", "b.jsonl"],
            "no round of this ledger has the answers of b.jsonl\nhint: name their questions",
        ),
        (vec!["--answers", "b.jsonl", "--questions", "q.jsonl"], "b.jsonl: holds 1 answers"),
        (vec!["--answers", "a.jsonl", "--system", "sh bot.sh"], "cannot be used with"),
        (vec!["--answers", "a.jsonl", "--repeat", "2"], "cannot be used with"),
    ] {
        let run = sandbox.run(&[&["evaluate"][..], &arguments].concat());
        assert_eq!(run.code, 2, "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(message), "{arguments:?}: {}", run.stderr);
    }
}
