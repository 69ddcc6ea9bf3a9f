//! `proofmark waive`: a closed list of checks, with an expiry, and always shown.

use proofmark::trust::Rules;

use super::office::Office;
use crate::forger::{days, parts};
use crate::schema;
use crate::trust::Parts;

fn office() -> Office {
    Office::under(parts(1), |told, _| _ = told.regressed())
}

fn waive<'a>(target: &'a str, check: &'a str, expires: &'a str) -> [&'a str; 8] {
    ["waive", target, "--check", check, "--expires", expires, "--reason", "the prompt grew"]
}

#[test]
fn a_waiver_counts_for_later_sign_offs_and_is_shown() {
    let office = office();
    let go = ["signoff", "#1", "--decision", "go", "--reason", "x", "--with", "#4"];
    assert!(office.ok("ann", &go).contains("still missing: comparison-regressed"));
    let arguments: Vec<_> =
        waive("#4", "comparison-regressed", "30d").into_iter().chain(["--key", "bob.key"]).collect();
    let (code, document) = office.sandbox.json(&arguments);
    schema::check(&document);
    assert_eq!((code, &document["expires"]), (0, &days(30).to_string().into()));
    let run = office.sandbox.run(&["authorize"]);
    assert_eq!(run.code, 3, "{}", run.stdout);
    assert!(run.stdout.contains("does not count: the GO #5 of Ann does not list it"), "{}", run.stdout);
    office.ok("ann", &go);
    let text = office.sandbox.ok(&["authorize"]);
    let line =
        "waiver     #6 of comparison-regressed on #4 by Bob, until 2026-12-30T12:00:00Z, counts: the prompt grew\n";
    assert!(text.contains(line), "{text}");
}

#[test]
fn what_cannot_be_waived_is_refused() {
    let office = office();
    let closed = "one of the checks of a comparison that can be waived: comparison-regressed, comparison-incomparable";
    for check in ["signature-bad", "evidence-missing", "comparison-differs", "signoff-missing", "gate-blocked"] {
        office.refused("ann", &waive("#4", check, "30d"), &[&format!("`{check}` on #4"), closed]);
    }
    office.refused("ann", &waive("#1", "gate-blocked", "30d"), &["nothing about a gate can be waived"]);
    office.refused("ann", &waive("#4", "Not a code", "30d"), &["a code must be"]);
    office.refused("ann", &waive("#4", "comparison-regressed", "2026-01-01"), &["it expires 2026-01-01T00:00:00Z"]);
    office.refused("ci", &waive("#4", "comparison-regressed", "30d"), &["tester", "may not act as signoff"]);
    let without = ["waive", "#4", "--check", "comparison-regressed", "--reason", "x"];
    office.refused("ann", &without, &["--expires"]);
    office.ok("ci", &["withdraw", "#4", "--reason", "x"]);
    office.refused("ann", &waive("#4", "comparison-regressed", "30d"), &["#4 was withdrawn by tester"]);
}

#[test]
fn an_appender_does_not_waive_about_their_own_where_the_rule_forbids_it() {
    let rules = Rules { appender_may_be_only_signoff: Some(false), ..Rules::default() };
    let office = Office::under(Parts { rules, ..parts(1) }, |told, _| {
        let [base, current, compared] = told.regressed();
        let _ = (base, current);
        let entry = told.story.forge.entries[compared.index as usize].clone();
        let receipt = proofmark::receipt::Receipt::parse(&entry).unwrap();
        told.say(receipt.statement().predicate.body.clone(), &crate::trust::sam());
    });
    let own = waive("#5", "comparison-regressed", "30d");
    office.refused("sam", &own, &["Sam appended #5 too", "rule appenderMayBeOnlySignoff"]);
    office.ok("ann", &own);
}
