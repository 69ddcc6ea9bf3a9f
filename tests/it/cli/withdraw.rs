//! `proofmark withdraw`: by whom, of what, and once.

use super::office::Office;
use crate::schema;

#[test]
fn a_withdrawal_stands_and_says_so_again() {
    let office = Office::new();
    office.go("ann");
    let arguments = ["withdraw", "#1", "--reason", "test set leaked", "--key", "ci.key"];
    let (code, document) = office.sandbox.json(&arguments);
    schema::check(&document);
    assert_eq!((code, &document["index"], &document["already"]), (0, &3.into(), &false.into()));
    let before = office.sandbox.files();
    let again = office.ok("bob", &["withdraw", "#1", "--reason", "again"]);
    assert!(again.starts_with("receipt 3  ") && again.ends_with("gate #1 is withdrawn already\n"), "{again}");
    assert!(office.sandbox.files() == before, "nothing is appended twice");
    let text = office.sandbox.ok(&["log", "--oneline", "-n", "1"]);
    assert!(text.contains("#3 withdrawal #1: test set leaked"), "{text}");
}

#[test]
fn what_cannot_be_withdrawn_is_refused() {
    let office = Office::new();
    office.ok("bob", &["signoff", "#1", "--decision", "no-go", "--reason", "x"]);
    office.ok("ci", &["withdraw", "#1", "--reason", "x"]);
    office.refused("ann", &["withdraw", "#2", "--reason", "x"], &["Ann withdraws the NO-GO #2", "by Bob, who said it"]);
    office.refused("ann", &["withdraw", "#0", "--reason", "x"], &["#0 is part of it", "chain of trust"]);
    office.refused("ann", &["withdraw", "#3", "--reason", "x"], &["#3 is a withdrawal receipt"]);
    office.refused("eve", &["withdraw", "#1", "--reason", "x", "--ledger", "none"], &["there is no ledger here"]);
    office.refused("ann", &["withdraw", "#2"], &["--reason"]);
    let taken_back = office.ok("bob", &["withdraw", "#2", "--reason", "I misread"]);
    assert!(taken_back.contains("signoff #2 is withdrawn\n"), "{taken_back}");
}

#[test]
fn a_stranger_withdraws_nothing() {
    let office = Office::new();
    office.refused("eve", &["withdraw", "#1", "--reason", "x"], &["trust version 1 lists no such key"]);
}

#[test]
fn a_withdrawn_round_is_marked_and_a_withdrawn_baseline_no_longer_serves() {
    let office = Office::under(crate::forger::parts(1), |told, _| {
        for wrong in [&[][..], &[1], &[1, 3]] {
            told.story.round(wrong, &crate::keys::person());
        }
    });
    let base = |arguments: &[&str]| {
        let run = office.sandbox.run(arguments);
        assert!(run.code == 0 || run.code == 3, "{}", run.stderr);
        (run.stdout.lines().next().unwrap().split_whitespace().nth(1).unwrap().to_owned(), run.stderr)
    };
    office.ok("ci", &["baseline", "set", "#2"]);
    assert_eq!(base(&["compare"]).0, "main#1");
    office.ok("ci", &["withdraw", "#5", "--reason", "not that one"]);
    assert_eq!(base(&["compare"]).0, "main#2", "the round before");
    office.ok("ci", &["baseline", "set", "#2"]);
    assert_eq!(base(&["compare"]).0, "main#1");
    office.ok("ci", &["withdraw", "#2", "--reason", "wrong model"]);
    assert_eq!(base(&["compare"]).0, "main#2", "its round was withdrawn");
    office.refused("ci", &["baseline", "set", "#2"], &["main#1 was withdrawn, in #8", "a round that stands"]);
    let (_, said) = base(&["compare", "#2", "#4"]);
    assert!(said.contains("main#1 was withdrawn, in #8: nothing that rests on it is released"), "{said}");
    let text = office.sandbox.ok(&["log", "--oneline", "--line", "main"]);
    assert!(text.contains(" #2 scorecard main#1 withdrawn in #8, quality 1 n 5"), "{text}");
    assert!(office.sandbox.ok(&["show", "#2"]).contains("\nWITHDRAWN: in #8: nothing that rests on it is released\n"));
    for arguments in [&["log"][..], &["show", "#2"], &["show", "#8"]] {
        let (_, document) = office.sandbox.json(arguments);
        schema::check(&document);
    }
    let (_, document) = office.sandbox.json(&["show", "#2"]);
    assert_eq!(document["withdrawn"], 8);
}

#[test]
fn verifying_one_receipt_never_says_that_nothing_was_decided() {
    let office = Office::new();
    let policy = "policy             NOT CHECKED  decisions are judged by the whole log: by `proofmark verify` without a receipt, \
                  `status` and `authorize`\n";
    let alone = office.sandbox.ok(&["verify", "#1", "--replay"]);
    assert!(alone.contains(policy) && !alone.contains("WITHDRAWN"), "{alone}");
    assert!(alone.contains("decided    nothing, up to the checkpoint\n"), "{alone}");
    let signed = Office::new();
    signed.ok("bob", &["signoff", "#1", "--decision", "go", "--reason", "good"]);
    let go = signed.sandbox.ok(&["verify", "#1"]);
    assert!(go.contains("decided    #2 on #1: GO by Bob") && !go.contains("does not count"), "{go}");
    signed.ok("bob", &["withdraw", "#2", "--reason", "not so good"]);
    let taken = signed.sandbox.ok(&["verify", "#1"]);
    assert!(taken.contains("           does not count: it was withdrawn in #3\n"), "{taken}");
    let (_, document) = signed.sandbox.json(&["verify", "#1"]);
    schema::check(&document);
    let decided = &document["about"]["decisions"][0];
    assert_eq!((&decided["says"], &decided["who"]), (&"GO".into(), &"Bob".into()), "{document}");
    assert_eq!(decided["doubts"], serde_json::json!(["it was withdrawn in #3"]));
    office.ok("bob", &["signoff", "#1", "--decision", "no-go", "--reason", "x"]);
    office.ok("ci", &["withdraw", "#1", "--reason", "x"]);
    // Also of what rests on it.
    for one in ["#1", "#2"] {
        let text = office.sandbox.ok(&["verify", one]);
        let (kind, what) =
            if one == "#1" { ("gate", "WITHDRAWN") } else { ("signoff", "it rests on what was WITHDRAWN:") };
        let head = format!("looked at  receipt {one} and what it rests on\nabout      {kind} ");
        assert!(text.contains(&head) && text.contains(policy), "{text}");
        assert!(text.contains(&format!("           {what} #1, by tester, in #3\n")), "{text}");
        assert!(text.contains("decided    #2 on #1: NO-GO by Bob: x\n"), "{text}");
        assert!(text.contains("unknown    nothing up to the checkpoint; what came after it\n"), "{text}");
        let (code, document) = office.sandbox.json(&["verify", one]);
        schema::check(&document);
        let notices = document["notices"].as_array().unwrap();
        let told = notices.iter().find(|notice| notice["code"] == "receipt-withdrawn").unwrap();
        assert_eq!((code, &told["index"]), (0, &1.into()));
    }
    let (_, whole) = office.sandbox.json(&["verify"]);
    assert!(!whole["notices"].to_string().contains("receipt-withdrawn"), "{whole}");
}
