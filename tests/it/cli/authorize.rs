//! `proofmark authorize`: exit code, every reason, recording, and what makes it refuse an older log.

use proofmark::receipt::{Body, Receipt, Release};
use serde_json::{Value, json};

use super::office::Office;
use super::sandbox::Sandbox;
use crate::forger::{Told, days, parts};
use crate::keys::log;
use crate::schema;
use crate::trust::bob;

const GO: &str = include_str!("../../../fixtures/gate/go.jsonl");

fn codes(document: &Value) -> Vec<&str> {
    document["reasons"].as_array().unwrap().iter().map(|reason| reason["code"].as_str().unwrap()).collect()
}

fn signed() -> Office {
    let office = Office::new();
    office.go("ann");
    office.go("bob");
    office
}

#[test]
fn two_persons_say_go_and_the_decision_is_recorded_and_found_again() {
    let office = signed();
    let text = office.sandbox.ok(&["authorize"]);
    for part in [
        "AUTHORIZED\ngate       #1 ",
        " by tester\ncandidate  synthetic-calibrated at threshold ",
        "sign-off   #2 GO by Ann, counts: read the report\n",
        "judged     4 receipts of proofmark.test/log, root ",
        "time       2026-11-30T12:00:00Z, PROOFMARK_CLOCK\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let (code, document) = office.sandbox.json(&["authorize", "#1", "--record", "--key", "ci.key", "--note", "4.1"]);
    schema::check(&document);
    assert_eq!((code, &document["decision"], &document["recorded"]["index"]), (0, &"AUTHORIZED".into(), &4.into()));
    assert_eq!(document["restsOn"].as_array().unwrap().len(), 2);
    let receipt = office.sandbox.command(&["show", "#4", "--envelope"]).output().unwrap().stdout;
    let receipt = Receipt::parse(&receipt).unwrap();
    let Body::Authorization(body) = &receipt.statement().predicate.body else { panic!("{receipt:?}") };
    assert_eq!((body.decision, body.size, body.target.index), (Release::Authorized, 4, 1));
    let verified = office.sandbox.ok(&["verify", "--replay"]);
    assert!(verified.contains("policy             PASS         decisions 3"), "{verified}");
}

#[test]
fn every_reason_is_named_and_a_block_is_recorded_too() {
    let office = Office::under(parts(2), |told, gate| {
        let all = told.regressed();
        told.go(gate, &all, &crate::trust::ann());
        told.no_go(gate, &bob());
    });
    let (code, document) = office.sandbox.json(&["authorize", "--record", "--key", "ci.key"]);
    schema::check(&document);
    assert_eq!((code, codes(&document)), (3, vec!["comparison-regressed", "no-go", "signoff-missing"]));
    for reason in document["reasons"].as_array().unwrap() {
        assert!(reason["index"].is_u64() && !reason["remedy"].as_str().unwrap().is_empty(), "{reason:#}");
    }
    let verified = office.sandbox.ok(&["verify", "--replay"]);
    assert!(verified.contains("no findings"), "{verified}");
    let run = office.sandbox.run(&["authorize"]);
    for part in [
        "BLOCKED\n",
        "sign-off   #6 NO-GO by Bob, stands: because\n",
        "\nreasons: 3\n  comparison-regressed  receipt #4  tester\n    found   comparison #4 says that #3 regressed against #2\n",
        "    remedy  a later GO by Bob, or their withdrawal of #6\n",
    ] {
        assert!(run.stdout.contains(part), "{part}\n{}", run.stdout);
    }
    assert_eq!((run.code, run.stderr.as_str()), (3, ""));
}

#[test]
fn no_report_is_a_block_and_never_a_default() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["init", "--person", "tester"]);
    let (code, document) = sandbox.json(&["authorize"]);
    schema::check(&document);
    assert_eq!((code, codes(&document), &document["basis"]), (3, vec!["no-report"], &"nothing".into()));
    let run = sandbox.run(&["authorize", "--record"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("there is no gate receipt, so there is no decision to record"), "{}", run.stderr);
    let run = sandbox.run(&["authorize", "#0"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("receipt 0 is a trust, and only a gate run can be released"), "{}", run.stderr);
}

#[test]
fn a_bare_report_is_judged_and_never_authorized() {
    let sandbox = Sandbox::new();
    sandbox.write("go.jsonl", GO);
    sandbox.write("other.jsonl", "{}");
    sandbox.ok(&["gate", "--predictions", "go.jsonl", "--report", "go.json"]);
    let (code, document) = sandbox.json(&["authorize", "--report", "go.json"]);
    schema::check(&document);
    assert_eq!((code, codes(&document), &document["ledger"]), (3, vec!["bare-report"], &Value::Null));
    assert_eq!(document["candidate"]["model"], "synthetic-calibrated");
    let run = sandbox.run(&["authorize", "--report", "go.json"]);
    assert!(run.stdout.contains("a bare report: nobody signed it, nothing was replayed, nobody signed it off"));
    sandbox.ok(&["init", "--person", "tester"]);
    let (code, document) = sandbox.json(&["authorize", "--report", "go.json"]);
    assert_eq!((code, codes(&document), &document["ledger"]["size"]), (3, vec!["bare-report"], &1.into()));
    sandbox.ok(&["gate", "--predictions", "go.jsonl", "--record"]);
    let (code, document) = sandbox.json(&["authorize", "--report", "go.json"]);
    assert_eq!((code, codes(&document), &document["target"]["index"]), (3, vec!["signoff-missing"], &1.into()));
    sandbox.ok(&["signoff", "#1", "--decision", "go", "--reason", "x"]);
    let (code, document) = sandbox.json(&["authorize", "--report", "go.json"]);
    assert_eq!((code, &document["decision"]), (0, &"AUTHORIZED".into()));
    for (file, says) in [("other.jsonl", "other.jsonl is no gate report"), ("none.json", "none.json")] {
        let run = sandbox.run(&["authorize", "--report", file]);
        assert_ne!(run.code, 0, "{file}");
        assert!(run.stderr.contains(says) && run.stdout.is_empty(), "{}", run.stderr);
    }
}

#[test]
fn limits_that_never_fail_are_cautions() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["init", "--person", "tester"]);
    sandbox.write("go.jsonl", GO);
    let profile = sandbox.ok(&["profile", "show", "bristol/v1", "--json"]);
    sandbox.write("mine.json", profile.replace("0.05", "1").replace("bristol/v1", "mine/v1"));
    sandbox.ok(&["gate", "--predictions", "go.jsonl", "--profile", "mine.json", "--record", "--quiet"]);
    sandbox.ok(&["signoff", "#1", "--decision", "go", "--reason", "x"]);
    let (code, document) = sandbox.json(&["authorize"]);
    schema::check(&document);
    let digest = &document["candidate"]["profile"]["blake3"].as_str().unwrap()[..12];
    let expected = [format!("profile mine/v1 {digest}: ece is never above 1 (gate-never-fails, gates[2].limit)")];
    assert_eq!((code, &document["cautions"]), (0, &json!(expected)));
    let (authorized, status) = (sandbox.ok(&["authorize"]), sandbox.ok(&["status"]));
    for caution in expected {
        assert!(authorized.contains(&format!("caution: {caution}\n")), "{authorized}");
        assert!(status.contains(&format!("caution    {caution}\n")), "{status}");
    }
    for text in [authorized, status] {
        assert!(text.contains(&format!("profile    mine/v1 {digest}, coverage floor ")), "{text}");
    }
}

#[test]
fn a_report_that_lies_is_caught_by_its_content() {
    let sandbox = Sandbox::new();
    sandbox.write("blocked.jsonl", include_str!("../../../fixtures/gate/blocked.jsonl"));
    assert_eq!(sandbox.run(&["gate", "--predictions", "blocked.jsonl", "--report", "b.json"]).code, 3);
    let (_, document) = sandbox.json(&["authorize", "--report", "b.json"]);
    assert_eq!(codes(&document), ["bare-report", "gate-blocked"]);
}

#[test]
fn expiries_are_held_against_the_later_of_clock_and_log_or_what_is_given() {
    let mut office = Office::new();
    office.go("ann");
    let arguments = ["signoff", "#1", "--decision", "go", "--reason", "x", "--expires", "10d"];
    office.ok("bob", &arguments);
    office.sandbox.ok(&["authorize"]);
    let later = days(10).to_string();
    let (code, document) = office.sandbox.json(&["authorize", "--at", &later]);
    assert_eq!((code, codes(&document), &document["time"]), (3, vec!["signoff-missing"], &"given".into()));
    let found = document["reasons"][0]["found"].as_str().unwrap();
    assert!(found.contains(&format!("the GO #3 of Bob does not: it expired {later}")), "{found}");
    // A clock that is set back goes back no further than the log: that says that it is later.
    office.sandbox.env("PROOFMARK_CLOCK", &days(11).unix().to_string());
    office.ok("ci", &["withdraw", "#2", "--reason", "made again"]);
    office.go("ann");
    office.sandbox.env("PROOFMARK_CLOCK", &days(1).unix().to_string());
    let (code, document) = office.sandbox.json(&["authorize"]);
    assert_eq!((code, &document["time"], &document["at"]), (3, &"log".into(), &days(11).to_string().into()));
    assert_eq!(document["cautions"], json!(["a variable stands in for this machine's clock, which was not looked at"]));
    for at in [days(1), days(30)] {
        let says = [
            "--record goes by the clock: what was decided for another moment is no decision to record",
            "leave out --at, or --record",
        ];
        office.refused("ci", &["authorize", "--record", "--at", &at.to_string()], &says);
    }
    office.refused("ci", &["authorize", "--at", "yesterday"], &["days as in 90d"]);
}

/// What a build environment sets so that builds come out the same.
#[test]
fn source_date_epoch_dates_rounds_and_moves_no_decision() {
    let mut office = Office::under(parts(1), |_, _| {});
    office.ok("ann", &["signoff", "#1", "--decision", "go", "--reason", "x", "--expires", "10d"]);
    office.sandbox.ok(&["authorize"]);
    office.sandbox.env("PROOFMARK_CLOCK", &days(20).unix().to_string());
    office.sandbox.env("SOURCE_DATE_EPOCH", &days(1).unix().to_string());
    for command in [&["authorize"][..], &["authorize", "--record", "--key", "ci.key"]] {
        let (code, document) = office.sandbox.json(command);
        schema::check(&document);
        assert_eq!((code, codes(&document), &document["time"]), (3, vec!["signoff-missing"], &"variable".into()));
        assert_eq!(document["at"], json!(days(20)));
    }
    let (_, document) = office.sandbox.json(&["status"]);
    schema::check(&document);
    assert_eq!((&document["release"]["decision"], &document["release"]["at"]), (&"BLOCKED".into(), &json!(days(20))));
    // What is decided is dated by the clock, and so is its expiry; what is measured by the variable.
    office.ok("ann", &["signoff", "#1", "--decision", "go", "--reason", "x", "--expires", "10d"]);
    office.sandbox.write("go.jsonl", GO);
    office.ok("ci", &["gate", "--predictions", "go.jsonl", "--record"]);
    let receipt =
        |name| Receipt::parse(&office.sandbox.command(&["show", name, "--envelope"]).output().unwrap().stdout);
    let (decided, go, gate) = (receipt("#3").unwrap(), receipt("#4").unwrap(), receipt("#5").unwrap());
    let dated = |receipt: &Receipt| receipt.statement().predicate.recorded_at;
    assert_eq!((dated(&decided), dated(&go), dated(&gate)), (days(20), days(20), days(1)));
    let Body::Signoff(go) = &go.statement().predicate.body else { panic!("{go:?}") };
    assert_eq!(go.expires, Some(days(30)));
    let Body::Authorization(decided) = &decided.statement().predicate.body else { panic!("{decided:?}") };
    assert_eq!(decided.at, days(20));
    assert!(office.sandbox.ok(&["verify", "--replay"]).contains("no findings"));
    // Without the variable for tests it is this machine's clock, whatever the other one says.
    let mut command = office.sandbox.command(&["authorize", "#1", "--json"]);
    command.env_remove("PROOFMARK_CLOCK").env("SOURCE_DATE_EPOCH", days(5000).unix().to_string());
    let document: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
    assert!(document["at"].as_str().unwrap() < days(5000).to_string().as_str(), "{document:#}");
    assert!(["clock", "log"].contains(&document["time"].as_str().unwrap()), "{document:#}");
    for (name, command) in [("PROOFMARK_CLOCK", "status"), ("SOURCE_DATE_EPOCH", "gate")] {
        for (value, says) in [("noon", "must be seconds since 1970, not `noon`"), ("999999999999", "between the years")]
        {
            let mut command = match command {
                "gate" => office.sandbox.command(&["gate", "--predictions", "go.jsonl", "--record", "--key", "ci.key"]),
                other => office.sandbox.command(&[other]),
            };
            let output = command.env(name, value).output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &[][..]), "{said}");
            assert!(said.contains(&format!("{name} must be")) && said.contains(says), "{said}");
        }
    }
}

/// Names stand for questions where a tool's files hold nothing else.
#[test]
fn questions_known_by_names_only_block_while_the_rule_is_in_force() {
    let office = Office::under(parts(1), |_, _| {});
    office.sandbox.write("a.csv", "id,correct\nq1,1\n");
    office.ok("ci", &["import", "csv", "a.csv"]);
    office.ok("ci", &["import", "csv", "a.csv"]);
    let unknown = proofmark::scorecard::Fact::ALL.map(|fact| ["--allow-unknown", fact.as_str()]).concat();
    office.ok("ci", &[&["compare", "--record"], unknown.as_slice()].concat());
    let go = ["signoff", "#1", "--decision", "go", "--reason", "x", "--with", "#4"];
    assert!(
        office
            .ok("ann", &go)
            .contains("still missing: comparison-lenient: comparison #4 of #3 with #2 says: not regressed")
    );
    let run = office.sandbox.run(&["authorize"]);
    assert_eq!(run.code, 3);
    for part in [
        "comparison-lenient  receipt #4  tester\n    found   comparison #4 of #3 with #2 says: not regressed (unknown and allowed: ",
        "    rule    a comparison that a release rests on lets no loss pass, and nothing that is unknown\n",
        "    remedy  a comparison without `--tolerance` and `--allow-unknown`, or `proofmark waive '#4' --check comparison-lenient --expires",
    ] {
        assert!(run.stdout.contains(part), "{part}\n{}", run.stdout);
    }
    office.ok(
        "bob",
        &["waive", "#4", "--check", "comparison-lenient", "--expires", "9d", "--reason", "a table says no more"],
    );
    office.ok("ann", &go);
    office.sandbox.ok(&["authorize"]);
    let rule = |value, receipt| {
        office.ok("ann", &["trust", "rule", "namesOnlyIdentity", value]);
        office.ok("bob", &["signoff", receipt, "--decision", "go", "--reason", "agreed"]);
    };
    rule("false", "#8");
    let (code, document) = office.sandbox.json(&["authorize", "--record", "--key", "ci.key"]);
    schema::check(&document);
    assert_eq!((code, codes(&document)), (3, vec!["names-only", "names-only"]));
    assert_eq!((&document["reasons"][0]["index"], &document["reasons"][1]["index"]), (&json!(2), &json!(3)));
    let run = office.sandbox.run(&["authorize"]);
    for part in [
        "names-only  receipt #2  tester\n    found   the questions of #2 are known by their names only: the text that was sent is unknown\n",
        "    rule    a release rests on question sets whose text is known (rule namesOnlyIdentity)\n",
    ] {
        assert!(run.stdout.contains(part), "{part}\n{}", run.stdout);
    }
    assert!(office.sandbox.ok(&["status"]).contains("next       proofmark append --questions FILE"));
    let says = ["the questions of #2, appended by tester, are known by their names only; the rule asks for rounds"];
    office.refused("ann", &["signoff", "#1", "--decision", "go", "--reason", "x", "--with", "#4"], &says);
    office.refused(
        "ann",
        &["waive", "#2", "--check", "names-only", "--expires", "9d", "--reason", "x"],
        &["`names-only` on #2"],
    );
    // What was appended before the rule is no finding; the recorded decision follows.
    assert!(office.sandbox.ok(&["verify"]).contains("no findings"));
    // The rule taken back, it counts again.
    rule("off", "#11");
    office.sandbox.ok(&["authorize"]);
    rule("false", "#13");
    office.ok("ci", &["import", "csv", "a.csv"]);
    let run = office.sandbox.run(&["verify"]);
    assert_eq!(run.code, 3);
    assert!(run.stdout.contains("names-only"), "{}", run.stdout);
}

/// A sealed set says of no question that it must pass, and a round by itself is searched as a compared one is.
#[test]
fn what_must_pass_is_known_to_pass_or_blocks() {
    let office = Office::under(parts(1), |_, _| {});
    let questions = r#"{"question":"2+2?","expected":"4","id":"a"}
{"question":"poison?","expected":"no","id":"b","must_pass":true}
"#;
    office.sandbox.write("q.jsonl", questions);
    office.sandbox.write("a.jsonl", "{\"reply\":\"4\",\"receipt\":{\"status\":\"answered\"}}\n".repeat(2));
    office.sandbox.ok(&["questions", "seal", "q.jsonl", "-o", "sealed.jsonl"]);
    for _ in 0..2 {
        office.ok("ci", &["append", "--questions", "sealed.jsonl", "--answers", "a.jsonl", "--sealed"]);
    }
    office.run("ci", &["compare", "--record"]);
    let said = office.ok("ann", &["signoff", "#1", "--decision", "go", "--reason", "x", "--with", "#4"]);
    assert!(said.contains("still missing: must-pass-unknown: the ledger does not hold the questions of #3"), "{said}");
    let (code, document) = office.sandbox.json(&["authorize", "--record", "--key", "ci.key"]);
    schema::check(&document);
    assert_eq!((code, codes(&document)), (3, vec!["must-pass-unknown"]));
    let run = office.sandbox.run(&["authorize"]);
    for part in [
        "  must-pass-unknown  receipt #4  tester\n    found   the ledger does not hold the questions of #3, compared in #4: which of them must pass is unknown\n",
        "    rule    a question that must pass is known to pass\n",
        "    remedy  a comparison of rounds whose questions are held, or `proofmark waive '#4' --check must-pass-unknown --expires 30d --reason TEXT` and",
    ] {
        assert!(run.stdout.contains(part), "{part}\n{}", run.stdout);
    }
    assert!(office.sandbox.ok(&["status"]).contains("next       proofmark waive '#4' --check must-pass-unknown"));
    office.ok("bob", &["waive", "#4", "--check", "must-pass-unknown", "--expires", "9d", "--reason", "I looked"]);
    office.ok("ann", &["signoff", "#1", "--decision", "go", "--reason", "x", "--with", "#4"]);
    office.sandbox.ok(&["authorize", "--record", "--key", "ci.key"]);
    assert!(office.sandbox.ok(&["verify", "--replay"]).contains("no findings"));
    // The same questions with their text, taken in without a comparison.
    office.ok("ci", &["append", "--questions", "q.jsonl", "--answers", "a.jsonl", "--line", "open"]);
    office.ok("ann", &["signoff", "#1", "--decision", "go", "--reason", "x", "--with", "#10"]);
    let (code, document) = office.sandbox.json(&["authorize"]);
    assert_eq!((code, codes(&document)), (3, vec!["must-pass-failing"]));
    let found = "a question that must pass fails, or is not known to pass, in #10";
    assert_eq!(document["reasons"][0]["found"], found);
}

#[test]
fn an_older_log_is_refused_by_the_ratchet_and_by_what_is_asked() {
    let office = signed();
    let older = Sandbox::new();
    copy(&office.sandbox, &older);
    let checkpoint = std::fs::read(office.sandbox.path(".ledger/checkpoint")).unwrap();
    office.sandbox.write("seen.txt", &checkpoint);
    office.ok("ann", &["signoff", "#1", "--decision", "no-go", "--reason", "stop"]);
    assert_eq!(office.sandbox.run(&["authorize", "--checkpoint", "seen.txt", "--min-size", "4"]).code, 3);
    let newer = std::fs::read(office.sandbox.path(".ledger/checkpoint")).unwrap();
    // The older copy on another machine says AUTHORIZED; what it was told to look for catches it.
    older.ok(&["authorize"]);
    older.ok(&["authorize", "--min-size", "4"]);
    older.write("newer.txt", &newer);
    older.write("other.txt", "no checkpoint\n");
    for (arguments, expected) in [
        (["--min-size", "5"], ["too-old"]),
        (["--checkpoint", "newer.txt"], ["too-old"]),
        (["--checkpoint", "other.txt"], ["not-an-extension"]),
    ] {
        let arguments: Vec<_> = ["authorize"].into_iter().chain(arguments).collect();
        let (code, document) = older.json(&arguments);
        schema::check(&document);
        assert_eq!((code, codes(&document)), (3, expected.to_vec()), "{arguments:?}");
    }
    // The same copy put in the place of the newer ledger, on the machine that saw it.
    std::fs::remove_dir_all(office.sandbox.path(".ledger")).unwrap();
    copy(&older, &office.sandbox);
    let run = office.sandbox.run(&["authorize"]);
    assert_eq!((run.code, run.stdout.as_str()), (3, ""));
    assert!(run.stderr.contains("the log shrank") && run.stderr.contains("the evidence is in"), "{}", run.stderr);
}

/// Copies the ledger of one sandbox into another.
fn copy(from: &Sandbox, to: &Sandbox) {
    let (from, to) = (from.path("."), to.path("."));
    let copied = std::process::Command::new("cp").args(["-r"]).arg(from.join(".ledger")).arg(to).status().unwrap();
    assert!(copied.success());
}

#[test]
fn a_fork_is_no_extension() {
    let office = signed();
    let mut told = Told::under(parts(2));
    told.gate(&crate::keys::person());
    told.story.round(&[], &crate::keys::person());
    office.sandbox.write("fork.txt", told.story.forge.note(&log()));
    let (code, document) = office.sandbox.json(&["authorize", "--checkpoint", "fork.txt"]);
    assert_eq!((code, codes(&document)), (3, vec!["not-an-extension"]));
}

#[test]
fn damage_anywhere_blocks_and_says_where() {
    let office = signed();
    let object = proofmark::object::ObjectId::of(GO.as_bytes()).to_string();
    // Large evidence is kept compressed.
    let path = format!(".ledger/objects/{}/{}.zst", &object[..2], &object[2..]);
    std::fs::remove_file(office.sandbox.path(&path)).unwrap();
    let (code, document) = office.sandbox.json(&["authorize"]);
    schema::check(&document);
    assert_eq!((code, codes(&document)), (3, vec!["evidence-missing", "not-replayed"]));
    let office = signed();
    let bundle = office.sandbox.path(".ledger/tile/entries/000.p/4");
    let mut bytes = std::fs::read(&bundle).unwrap();
    let last = bytes.len() - 9;
    bytes[last] ^= 1;
    std::fs::write(&bundle, bytes).unwrap();
    let run = office.sandbox.run(&["authorize", "--json"]);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(run.code, 3, "{}", run.stdout);
    assert!(codes(&document).contains(&"ledger-unsound"), "{document:#}");
    assert!(document["reasons"].as_array().unwrap().iter().any(|reason| reason["index"] == json!(3)), "{document:#}");
}
