//! `proofmark profile`: shown by name, file and digest; checked.

use super::sandbox::Sandbox;
use crate::schema;

#[test]
fn a_profile_is_shown_for_people_and_as_itself() {
    let sandbox = Sandbox::new();
    let text = sandbox.ok(&["profile", "show"]);
    for part in [
        "profile         bristol/v1\ndigest          faab431de0ca93fe7a7c2446df6d33dab36fda33da3029c2c264f43cc351f6e9\n",
        "labels          1, 2, 3, 4, 5, 6, 7\n",
        "                205 to 229: validation\n",
        "gates           macroF1 >= 0.8\n                precisionAtCoverage >= 0.9\n                ece <= 0.05\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let (code, document) = sandbox.json(&["profile", "show", "bristol/v1"]);
    assert_eq!(code, 0);
    schema::check(&document);
    sandbox.write("mine.json", document.to_string());
    assert_eq!(sandbox.ok(&["profile", "show", "mine.json"]), text);
}

#[test]
fn what_is_not_there_is_refused_by_name() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["profile", "show", "nope"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("there is no profile `nope`\nhint: built in: bristol/v1"), "{}", run.stderr);
    sandbox.ok(&["init", "--person", "tester"]);
    let run = sandbox.run(&["profile", "show", &"a".repeat(64)]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("there is no profile `aaaa"), "{}", run.stderr);
}

#[test]
fn check_says_whether_a_run_can_be_held_to_it() {
    let sandbox = Sandbox::new();
    let text = sandbox.ok(&["profile", "show", "--json"]);
    sandbox.write("mine.json", &text);
    let run = sandbox.run(&["profile", "check", "mine.json"]);
    assert_eq!(run.code, 0);
    assert!(run.stdout.starts_with("profile bristol/v1\ndigest faab431d") && run.stdout.ends_with("no findings\n"));
    sandbox.write("mine.json", text.replace("\"bins\": 10", "\"bins\": 0"));
    let run = sandbox.run(&["profile", "check", "mine.json"]);
    assert_eq!(run.code, 3);
    assert!(run.stdout.starts_with("profile: it cannot be used\nrefused   no-bins  bins: "), "{}", run.stdout);
    for (text, wanted) in [
        (sandbox.ok(&["policy", "show", "--json"]), "field `schema`: must be `profile.v1`, not `policy.v1`"),
        ("{".to_owned(), "the profile is not JSON"),
        (text.replace("\"bins\"", "\"bin\""), "field `bins`: is missing"),
    ] {
        sandbox.write("mine.json", text);
        let run = sandbox.run(&["profile", "check", "mine.json"]);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{wanted}");
        assert!(run.stderr.contains("`mine.json` cannot be used") && run.stderr.contains(wanted), "{}", run.stderr);
    }
}
