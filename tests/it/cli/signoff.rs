//! `proofmark signoff`: what is signed, and what is refused before anything is written.

use proofmark::receipt::ReceiptRef;
use proofmark::trust::Rules;

use super::office::Office;
use crate::forger::{days, parts};
use crate::schema;
use crate::trust::{Parts, bob};

const GO: [&str; 6] = ["signoff", "#1", "--decision", "go", "--reason", "read the report"];

#[test]
fn a_go_lists_what_it_rests_on_and_says_what_is_missing() {
    let office = Office::new();
    let run = office.run("ann", &GO);
    assert_eq!(run.code, 0, "{}", run.stderr);
    for part in [
        "signing a signoff receipt: GO on gate #1 (GO, synthetic-calibrated recommended), resting on nothing else: read the report",
        "as Ann with key SHA256:",
    ] {
        assert!(run.stderr.contains(part), "{}", run.stderr);
    }
    for part in [
        "receipt 2  ",
        "  GO on #1\nrests on nothing else\n",
        "still missing: signoff-missing: 1 of 2 GOs count on #1\n",
        "  1 more GO of: Bob, Sam (`proofmark signoff '#1' --decision go --reason TEXT`)\n",
    ] {
        assert!(run.stdout.contains(part), "{part}\n{}", run.stdout);
    }
    let arguments: Vec<_> = GO.iter().copied().chain(["--expires", "90d", "--key", "bob.key"]).collect();
    let (code, document) = office.sandbox.json(&arguments);
    schema::check(&document);
    assert_eq!((code, &document["decision"], &document["index"]), (0, &"go".into(), &3.into()));
    assert_eq!(document["expires"], days(90).to_string());
    assert_eq!(document["missing"], serde_json::json!([]));
}

#[test]
fn what_is_added_brings_its_rounds_and_waivers_along() {
    let office = Office::under(parts(1), |told, _| {
        let all = told.regressed();
        told.waive(all[2], "comparison-regressed", days(9), &bob());
    });
    let arguments: Vec<_> = GO.iter().copied().chain(["--with", "#4"]).collect();
    let said = office.ok("ann", &arguments);
    assert!(said.contains("rests on #2 #3 #4 #5\n") && !said.contains("missing"), "{said}");
    let odd: Vec<_> = GO.iter().copied().chain(["--with", "#6"]).collect();
    office.refused("bob", &odd, &["#6 is a signoff receipt", "`restsOn` with receipts of the kinds"]);
}

#[test]
fn what_cannot_count_is_refused_and_nothing_is_written() {
    let office = Office::under(parts(1), |told, _| {
        told.withdraw(told.story.forge.reference(1), &bob());
        told.story.round(&[], &crate::keys::person());
    });
    let sign = |target: &'static str, more: &[&'static str]| -> Vec<&'static str> {
        ["signoff", target, "--decision", "go", "--reason", "x"].into_iter().chain(more.iter().copied()).collect()
    };
    office.refused("ci", &sign("#3", &[]), &["tester", "may not act as signoff", "Ann, Bob, Sam can do it"]);
    office.refused("eve", &sign("#3", &[]), &["trust version 1 lists no such key"]);
    let withdrawn = "#1 was withdrawn by Bob, in #2; the rule asks for a GO that rests on nothing that was withdrawn";
    office.refused("ann", &sign("#1", &[]), &[withdrawn]);
    office.refused("ann", &sign("#3", &["--with", "#1"]), &["#1 was withdrawn by Bob, in #2"]);
    office.refused("ann", &sign("#2", &[]), &["#2 is a withdrawal receipt", "gate"]);
    office.refused("ann", &sign("#3", &["--expires", "2026-11-30"]), &["it expires 2026-11-30T00:00:00Z"]);
    office.refused("ann", &sign("#3", &["--expires", "0d"]), &["an expiry after 2026-11-30T12:00:00Z"]);
    office.refused("ann", &sign("#3", &["--expires", "soon"]), &["days as in 90d"]);
    office.refused("ann", &sign("#3", &["--expires", "4294967295d"]), &["beyond the year 9999"]);
    office.refused("ann", &sign("#99", &[]), &["#99"]);
    let no_go = ["signoff", "#3", "--decision", "no-go", "--reason", "x", "--expires", "9d"];
    office.refused("ann", &no_go, &["a NO-GO has no expiry", "leave out --expires"]);
    office.refused("ann", &["signoff", "#3", "--decision", "maybe", "--reason", "x"], &["go", "no-go"]);
    office.refused("ann", &["signoff", "#3", "--decision", "go"], &["--reason"]);
    office.refused(
        "ann",
        &["signoff", "#3", "--decision", "go", "--reason", "two\nlines"],
        &["without control characters"],
    );
}

#[test]
fn a_go_on_a_blocked_verdict_or_an_asserted_card_is_refused() {
    let rules = Rules { recomputed_only: Some(true), ..Rules::default() };
    let office = Office::under(Parts { rules, ..parts(1) }, |told, _| {
        let predictions = include_str!("../../../fixtures/gate/blocked.jsonl");
        let (body, evidence) = told.story.forge.gated_on(predictions);
        let body = proofmark::receipt::Body::Gate(body);
        told.story.forge.sign(Some(told.story.trust), body, evidence, &crate::keys::person());
        let _: ReceiptRef = told.asserted();
    });
    let go = ["signoff", "#2", "--decision", "go", "--reason", "x"];
    office.refused("ann", &go, &["#2 is BLOCKED by its gates", "a verdict cannot be waived"]);
    let with: Vec<_> = GO.iter().copied().chain(["--with", "#3"]).collect();
    office.refused("ann", &with, &["the card of #3, appended by tester, is asserted", "rule recomputedOnly"]);
    office.ok("bob", &["waive", "#3", "--check", "asserted-card", "--expires", "9d", "--reason", "legacy"]);
    assert!(office.ok("ann", &with).contains("rests on #3 #4\n"));
}

#[test]
fn a_no_go_is_possible_on_what_is_no_longer_good() {
    let office = Office::under(parts(1), |told, gate| _ = told.withdraw(gate, &bob()));
    let said = office.ok("ann", &["signoff", "#1", "--decision", "no-go", "--reason", "never again"]);
    assert!(said.contains("NO-GO on #1"), "{said}");
}

#[test]
fn a_gate_run_by_a_lost_key_cannot_be_signed_off() {
    let office = Office::under(parts(1), |told, _| {
        told.story.change(|parts| parts.person("tester").keys[0].status = proofmark::trust::Standing::Compromised);
    });
    office.refused("ann", &GO, &["is not allowed", "has it as compromised"]);
}

#[test]
fn a_root_sees_what_changes_and_whether_it_is_in_force() {
    let office = Office::under(parts(1), |told, _| {
        let proposal = told.story.next(|parts| parts.rules.max_looks = Some(3));
        told.story.propose(&proposal, &crate::trust::ann());
    });
    let agree = ["signoff", "#2", "--decision", "go", "--reason", "x"];
    let more: Vec<_> = agree.iter().copied().chain(["--with", "#1"]).collect();
    office.refused("bob", &more, &["it rests on other receipts", "sign off the trust receipt alone"]);
    let run = office.run("ann", &["signoff", "#2", "--decision", "no-go", "--reason", "wait"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("NO-GO on trust #2, version 2: rule maxLooks: off becomes 3\n"), "{}", run.stderr);
    let waits = "trust version 2 waits: 0 of 2 roots agree (nobody); asked: Ann, Bob\n";
    assert!(run.stdout.ends_with(waits), "{}", run.stdout);
    let (code, document) = office.sandbox.json(&[&agree[..], &["--key", "bob.key"]].concat());
    schema::check(&document);
    let waits = serde_json::json!({"needed": 2, "agreed": ["Bob"], "asked": ["Ann"]});
    assert_eq!((code, &document["trust"]["inForce"], &document["trust"]["waits"]), (0, &false.into(), &waits));
    let said = office.ok("ann", &agree);
    assert!(said.ends_with("trust version 2 is in force\n") && !said.contains("rests on"), "{said}");
    office.refused("bob", &agree, &["that trust statement is in force already"]);
}
