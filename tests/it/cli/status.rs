//! `proofmark status`: one screen, and the command that leads on.

use super::office::Office;
use super::sandbox::Sandbox;
use crate::forger::parts;
use crate::schema;
use crate::trust::bob;

fn next(office: &Office) -> String {
    let text = office.sandbox.ok(&["status"]);
    text.lines().last().unwrap().strip_prefix("next       proofmark ").unwrap().to_owned()
}

#[test]
fn it_leads_from_a_gate_run_to_a_recorded_release() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["init", "--person", "tester"]);
    let text = sandbox.ok(&["status"]);
    assert!(text.starts_with("BLOCKED\ngate       none\n"), "{text}");
    assert!(text.ends_with("next       proofmark gate --predictions FILE --record\n"), "{text}");
    let office = Office::new();
    assert_eq!(next(&office), "signoff '#1' --decision go --reason TEXT");
    office.go("ann");
    let text = office.sandbox.ok(&["status", "#1"]);
    for part in [
        "BLOCKED\ngate       #1 ",
        "candidate  synthetic-calibrated at threshold ",
        "  macroF1                     0.9275 >= 0.8     holds\n",
        "compared   nothing: `proofmark compare --record`, then `signoff --with` the receipt\n",
        "signed     1 of 2 GOs needed by trust version 1\nsign-off   #2 GO by Ann, counts: read the report\n",
        "missing    signoff-missing: 1 of 2 GOs count on #1\n           1 more GO of: Bob, Sam",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    office.go("bob");
    assert_eq!(next(&office), "authorize '#1' --record");
    let (code, document) = office.sandbox.json(&["status"]);
    schema::check(&document);
    assert_eq!((code, &document["release"]["decision"]), (0, &"AUTHORIZED".into()));
    office.ok("ci", &["withdraw", "#2", "--reason", "x"]);
    let text = office.sandbox.ok(&["status"]);
    assert!(text.contains("withdrawn  signoff #2 by tester, in #4\n"), "{text}");
    office.ok("bob", &["signoff", "#1", "--decision", "no-go", "--reason", "x"]);
    assert_eq!(next(&office), "show '#5'");
    office.ok("ci", &["withdraw", "#1", "--reason", "x"]);
    assert_eq!(next(&office), "gate --predictions FILE --record");
}

#[test]
fn it_shows_the_comparison_whether_the_release_rests_on_it_or_not() {
    let office = Office::under(parts(1), |told, _| _ = told.regressed());
    let text = office.sandbox.ok(&["status"]);
    let line = "compared   #4: #3 against #2, regressed, and no sign-off rests on it (`signoff --with`)\n";
    assert!(text.contains(line), "{text}");
    office.ok("ann", &["signoff", "#1", "--decision", "go", "--reason", "x", "--with", "#4"]);
    let text = office.sandbox.ok(&["status"]);
    assert!(text.contains("compared   #4: #3 against #2, regressed\n"), "{text}");
    assert_eq!(next(&office), "waive '#4' --check comparison-regressed --expires 30d --reason TEXT");
    let (_, document) = office.sandbox.json(&["status"]);
    schema::check(&document);
    // A waiver is there now, and Ann's GO does not list it: she has to sign again, not somebody to waive again.
    office.ok("bob", &["waive", "#4", "--check", "comparison-regressed", "--expires", "9d", "--reason", "x"]);
    assert_eq!(next(&office), "signoff '#1' --decision go --with '#4' --reason TEXT");
    office.ok("ann", &["signoff", "#1", "--decision", "go", "--reason", "x", "--with", "#4"]);
    assert_eq!(next(&office), "authorize '#1' --record");
}

#[test]
fn what_is_damaged_or_forged_leads_to_whom_to_ask() {
    let office = Office::under(parts(1), |told, gate| {
        told.waive(gate, "evidence-damaged", crate::forger::days(9), &bob());
        told.go(gate, &[told.story.forge.reference(2)], &crate::trust::ann());
    });
    let text = office.sandbox.ok(&["status"]);
    let line = "missing    waiver-faulty: waiver #2 of evidence-damaged on #1, by Bob, broke a rule when it was made: waiver-check\n";
    assert!(text.contains(line), "{text}");
    assert_eq!(next(&office), "withdraw '#2' --reason TEXT");
    office.ok("ci", &["withdraw", "#2", "--reason", "x"]);
    office.go("ann");
    assert_eq!(next(&office), "authorize '#1' --record");
    let object = proofmark::object::ObjectId::of(include_bytes!("../../../fixtures/gate/go.jsonl")).to_string();
    let path = format!(".ledger/objects/{}/{}", &object[..2], &object[2..]);
    for path in [path.clone(), format!("{path}.zst")] {
        let _ = std::fs::remove_file(office.sandbox.path(&path));
    }
    assert_eq!(next(&office), "verify --replay");
}

#[test]
fn gate_runs_that_are_easily_overlooked_are_told() {
    let office = Office::under(parts(1), |told, gate| {
        told.no_go(gate, &bob());
        told.gate(&crate::keys::person());
    });
    let text = office.sandbox.ok(&["status"]);
    assert!(text.contains("caution    #1 holds the same report, and somebody said NO-GO to it\n"), "{text}");
    let text = office.sandbox.ok(&["status", "#1"]);
    assert!(text.contains("caution    #1 is not the newest gate run: #3 is\n"), "{text}");
    let run = office.sandbox.run(&["status", "#2"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("receipt 2 is a signoff, and only a gate run can be released"), "{}", run.stderr);
}

#[test]
fn a_damaged_ledger_is_shown_as_far_as_it_can_be_read() {
    let office = Office::new();
    office.go("ann");
    let bundle = office.sandbox.path(".ledger/tile/entries/000.p/3");
    let mut bytes = std::fs::read(&bundle).unwrap();
    let last = bytes.len() - 9;
    bytes[last] ^= 1;
    std::fs::write(&bundle, &bytes).unwrap();
    let text = office.sandbox.ok(&["status"]);
    for part in ["BLOCKED\ngate       #1 ", "missing    ledger-unsound: ", "next       proofmark verify --replay\n"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    // Receipt 0 itself: nobody may sign anything.
    bytes[40] ^= 1;
    std::fs::write(&bundle, &bytes).unwrap();
    let run = office.sandbox.run(&["status"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{}", run.stderr);
    assert!(run.stderr.starts_with("error: "), "{}", run.stderr);
}
