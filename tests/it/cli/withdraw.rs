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
