//! `proofmark questions reveal`: one question of a sealed set, for anyone to check.

use super::sandbox::Sandbox;
use crate::schema::check;

const QUESTIONS: &str = "\
{\"question\":\"capital of France?\",\"expected\":\"Paris\",\"id\":\"q1\"}
{\"query\":{\"text\":\"two and two?\",\"fingerprint\":1.0},\"expected\":\"four\",\"id\":\"q2\",\"cluster\":\"sums\"}
{\"question\":\"largest planet?\",\"expected\":\"Jupiter\"}
";

const ANSWERS: &str = "\
{\"id\":\"a\",\"reply\":\"Paris\",\"receipt\":{\"status\":\"answered\"}}
";

/// A ledger with one sealed round of `sealed.jsonl`.
fn with_round() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.ok(&["init", "--person", "tester"]);
    sandbox.write("q.jsonl", QUESTIONS);
    sandbox.ok(&["questions", "seal", "q.jsonl", "-o", "sealed.jsonl"]);
    let reply = ANSWERS.replace("\"id\":\"a\",", "");
    sandbox.write("a.jsonl", reply.repeat(3));
    sandbox.ok(&["append", "--questions", "sealed.jsonl", "--answers", "a.jsonl", "--sealed"]);
    sandbox
}

#[test]
fn one_question_is_shown_and_the_others_are_not() {
    let sandbox = with_round();
    let (code, made) =
        sandbox.json(&["questions", "reveal", "sealed.jsonl", "q2", "--receipt", "main", "-o", "q2.reveal"]);
    check(&made);
    assert_eq!((code, &made["position"], &made["n"]), (0, &2.into(), &3.into()));
    let file = std::fs::read_to_string(sandbox.path("q2.reveal")).unwrap();
    check(&serde_json::from_str(&file).unwrap());
    assert!(file.contains("two and two?") && !file.contains("France") && !file.contains("planet"), "{file}");
    assert!(!file.contains("sums"), "annotations are not part of what was sealed");
    assert_eq!(sandbox.ok(&["questions", "reveal", "sealed.jsonl", "#2"]), file, "the default scorer is the round's");
    // Without the ledger.
    let text = sandbox.ok(&["questions", "reveal", "--check", "q2.reveal", "--ledger", "absent"]);
    assert!(text.contains("question   two and two?\nexpected   four\n"), "{text}");
    assert!(text.contains("revealed   it is question #2 of the 3 in that set\n"), "{text}");
    assert_eq!(sandbox.ok(&["verify", "q2.reveal"]), text);
    for option in [&["--replay"][..], &["--pin", "x"]] {
        let run = sandbox.run(&[&["verify", "q2.reveal"], option].concat());
        assert_eq!((run.code, run.stdout.as_str()), (2, ""));
        let says = format!("error: {} does not apply to a revealed question, which `q2.reveal` is\n", option[0]);
        assert!(run.stderr.starts_with(&says), "{}", run.stderr);
    }
    let (code, document) = sandbox.json(&["questions", "reveal", "--check", "q2.reveal", "--receipt", "main"]);
    check(&document);
    assert_eq!((code, &document["round"]["index"]), (0, &1.into()));
    let by_number = sandbox.ok(&["questions", "reveal", "sealed.jsonl", "#3", "-o", "q3.reveal"]);
    assert!(by_number.starts_with("q3.reveal: question #3 of 3 in pm1:"), "{by_number}");
}

#[test]
fn what_does_not_hold_is_an_answer() {
    let sandbox = with_round();
    let good = sandbox.ok(&["questions", "reveal", "sealed.jsonl", "q1"]);
    for (what, text, says) in [
        ("text", good.replace("France", "Spain"), "the revealed question is not the sealed question #1: its leaf is "),
        ("answer", good.replace("Paris", "Lyons"), "the revealed question is not the sealed question #1"),
        (
            "place",
            good.replace("\"position\":1", "\"position\":2"),
            "the revealed question is not the sealed question #2",
        ),
        ("nowhere", good.replace("\"position\":1", "\"position\":4"), "there is no question #4: the list has 3 leaves"),
        ("judge", good.replace("substring/v2", "exact/v1"), "the leaves give the identity pm1:"),
    ] {
        assert_ne!(text, good, "{what}");
        sandbox.write(what, text);
        for arguments in [&["questions", "reveal", "--check", what][..], &["verify", what]] {
            let run = sandbox.run(arguments);
            assert_eq!((run.code, run.stderr.as_str()), (3, ""), "{what}");
            assert!(run.stdout.contains(&format!("NOT revealed: {says}")), "{what}: {}", run.stdout);
        }
    }
    // Another sealing of the same questions is another set, and no question of it is the round's.
    sandbox.ok(&["questions", "seal", "q.jsonl", "-o", "again.jsonl"]);
    sandbox.ok(&["questions", "reveal", "again.jsonl", "q1", "-o", "again.reveal"]);
    let (code, document) = sandbox.json(&["questions", "reveal", "--check", "again.reveal", "--receipt", "main"]);
    check(&document);
    assert_eq!((code, &document["holds"]), (3, &false.into()));
    assert!(document["reason"].as_str().unwrap().starts_with("the round was measured on pm1:"), "{document}");
}

#[test]
fn what_cannot_be_revealed_or_checked_is_refused_and_nothing_is_written() {
    let sandbox = with_round();
    let good = sandbox.ok(&["questions", "reveal", "sealed.jsonl", "q1"]);
    sandbox.write("good", &good);
    sandbox.write("more", format!("{good}\n"));
    sandbox.write("annotated", good.replace("{\\\"expected\\\"", "{\\\"cluster\\\":\\\"x\\\",\\\"expected\\\""));
    sandbox.write(
        "unsalted",
        good.replace(&good[good.find(",\\\"salt").unwrap()..good.find("}\",\"questionSetId").unwrap()], ""),
    );
    sandbox.write("other", good.replace("reveal.v1", "reveal.v9"));
    sandbox.ok(&["questions", "seal", "q.jsonl", "-o", "again.jsonl"]);
    let before = sandbox.files();
    let refused = "error: `more` cannot be checked\ncaused by: not a revealed question: ";
    for (arguments, says) in [
        (&["questions", "reveal", "--check", "more"][..], refused),
        (&["questions", "reveal", "--check", "annotated"], "error: `annotated` cannot be checked"),
        (&["questions", "reveal", "--check", "unsalted"], "error: `unsalted` cannot be checked"),
        (&["questions", "reveal", "--check", "other"], "error: `other` cannot be checked"),
        (&["questions", "reveal", "--check", "good", "--receipt", "#0"], "error: receipt 0 is a trust, not a round\n"),
        (&["questions", "reveal", "q.jsonl", "q1", "-o", "x"], "error: not a revealed question: the set has no salts"),
        (
            &["questions", "reveal", "sealed.jsonl", "q9", "-o", "x"],
            "error: no question of sealed.jsonl is called `q9`\nhint: name one by its id, or by its number as #1 to #3\n",
        ),
        (&["questions", "reveal", "sealed.jsonl", "#0", "-o", "x"], "error: no question of"),
        (&["questions", "reveal", "sealed.jsonl", "q1", "--scorer", "no/such", "-o", "x"], "error: "),
        (
            &["questions", "reveal", "again.jsonl", "q1", "--receipt", "main", "-o", "x"],
            "error: the round was measured on pm1:",
        ),
        (&["questions", "reveal", "sealed.jsonl"], "error: "),
        (&["questions", "reveal"], "error: "),
    ] {
        let run = sandbox.run(arguments);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(run.stderr.starts_with(says), "{arguments:?}: {}", run.stderr);
    }
    let run = sandbox.run(&["questions", "reveal", "--check", "absent"]);
    assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{}", run.stderr);
    assert_eq!(sandbox.files(), before);
}
