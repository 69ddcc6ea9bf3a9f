//! `proofmark policy`: shown, and looked over for rules that are none.

use super::sandbox::Sandbox;
use crate::schema;

#[test]
fn a_policy_is_shown_for_people_and_as_itself() {
    let sandbox = Sandbox::new();
    let text = sandbox.ok(&["policy", "show"]);
    assert!(text.starts_with("policy            default/v1\ndigest            4d277932482f"), "{text}");
    assert!(text.contains("confidence floor  0.7\naccepted quality  good, fair\npoor quality      poor\n"), "{text}");
    let (code, document) = sandbox.json(&["policy", "show", "default/v1"]);
    assert_eq!(code, 0);
    schema::check(&document);
    sandbox.write("mine.json", document.to_string());
    assert_eq!(sandbox.ok(&["policy", "show", "mine.json"]), text);
    assert_eq!(sandbox.run(&["policy", "show", "strict/v1"]).code, 2);
}

#[test]
fn findings_have_stable_codes_and_exit_3() {
    let sandbox = Sandbox::new();
    let profile = sandbox.ok(&["profile", "show", "--json"]);
    let policy = sandbox.ok(&["policy", "show", "--json"]);
    let mine = profile.replace("bristol/v1", "mine/v1");
    let first_limit = mine.replacen("0.8", "0", 1);
    for (text, code, kind, usable, findings) in [
        (profile.clone(), 0, "profile", true, &[][..]),
        (policy.clone(), 0, "policy", true, &[]),
        (first_limit, 3, "profile", true, &["gate-never-fails"]),
        (mine.replacen("0.8", "NaN", 1), 3, "profile", false, &["not-a-number"]),
        (mine.replace("\"minCoverage\": 0.5", "\"minCoverage\": 0"), 3, "profile", true, &["floor-zero"]),
        (mine.replace("macroF1", "perClass.9.recall"), 3, "profile", false, &["impossible-class"]),
        (policy.replace("0.7", "1"), 3, "policy", true, &["floor-one"]),
        (policy.replace("0.7", "NaN"), 3, "policy", false, &["not-a-number"]),
        (policy.replace("0.7", "70"), 3, "policy", false, &["limit-out-of-range"]),
    ] {
        sandbox.write("mine.json", &text);
        let (found, document) = sandbox.json(&["policy", "lint", "mine.json"]);
        schema::check(&document);
        assert_eq!((found, &document["kind"], &document["usable"]), (code, &kind.into(), &usable.into()), "{document}");
        let codes: Vec<_> = document["findings"].as_array().unwrap().iter().map(|finding| &finding["code"]).collect();
        assert_eq!(codes, findings, "{document}");
        let shown = sandbox.run(&["policy", "lint", "mine.json"]);
        assert_eq!(shown.code, code);
        assert!(findings.iter().all(|code| shown.stdout.contains(code)), "{}", shown.stdout);
    }
}

#[test]
fn what_is_neither_is_refused() {
    let sandbox = Sandbox::new();
    for text in ["{}", "[1]", "{\"schema\":\"card.v1\"}", "{\"schema\":\"policy.v1\"}", "not json"] {
        sandbox.write("mine.json", text);
        let run = sandbox.run(&["policy", "lint", "mine.json"]);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{text}");
        assert!(run.stderr.contains("mine.json"), "{}", run.stderr);
    }
    assert_eq!(sandbox.run(&["policy", "lint", "none.json"]).code, 1);
}
