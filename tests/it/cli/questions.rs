//! `proofmark questions`: identities, differences and sealing.

use serde_json::json;

use super::sandbox::Sandbox;

const BEFORE: &str = "{\"question\":\"1?\",\"expected\":\"one\",\"id\":\"a\"}\n{\"question\":\"2?\",\"expected\":\"two\",\"id\":\"b\"}\n{\"question\":\"3?\",\"expected\":\"three\",\"id\":\"c\"}\n";

#[test]
fn identities_depend_on_content_order_scorer_and_scheme() {
    let sandbox = Sandbox::new();
    sandbox.write("q.jsonl", BEFORE);
    let id = |arguments: &[&str]| {
        let all: Vec<_> = ["questions", "id", "q.jsonl"].iter().chain(arguments).copied().collect();
        sandbox.ok(&all)
    };
    let ids = [
        id(&[]),
        id(&["--scorer", "exact/v1"]),
        id(&["--scheme", "mixle"]),
        id(&["--scheme", "mixle", "--scorer", "acme.judge"]),
    ];
    assert!(ids[0].starts_with("pm1:") && ids[2].trim().len() == 64);
    assert_eq!(ids.iter().collect::<std::collections::BTreeSet<_>>().len(), 4);
    assert_eq!(id(&["--scorer", "numeric/v1?rel=0&abs=0.000001"]), id(&["--scorer", "numeric/v1"]));
    let run = sandbox.run(&["questions", "id", "q.jsonl", "--scorer", "acme.judge"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("substring/v2"), "{}", run.stderr);
    let (_, document) = sandbox.json(&["questions", "id", "q.jsonl"]);
    assert_eq!((&document["n"], &document["sealed"]), (&json!(3), &json!(false)));
}

#[test]
fn differences_are_named_and_decide_the_exit_code() {
    let sandbox = Sandbox::new();
    sandbox.write("before.jsonl", BEFORE);
    sandbox.write("after.jsonl", "{\"question\":\"2!\",\"expected\":\"two\",\"id\":\"b\"}\n{\"question\":\"1?\",\"expected\":\"one\",\"id\":\"a\"}\n{\"question\":\"4?\",\"expected\":\"four\",\"id\":\"d\"}\n");
    let run = sandbox.run(&["questions", "diff", "before.jsonl", "after.jsonl"]);
    assert_eq!(run.code, 3);
    for line in ["added        d\n", "removed      c\n", "changed      b\n", "not the same questions\n"] {
        assert!(run.stdout.contains(line), "{}", run.stdout);
    }
    let same = sandbox.run(&["questions", "diff", "before.jsonl", "before.jsonl"]);
    assert_eq!((same.code, same.stdout.as_str()), (0, "the same questions\n"));
}

#[test]
fn questions_are_listed_with_their_leaves() {
    let sandbox = Sandbox::new();
    sandbox.write("q.jsonl", "{\"question\":\"\\u001b[2J?\",\"expected\":\"one\"}\n");
    let shown = sandbox.ok(&["questions", "show", "q.jsonl"]);
    assert!(shown.starts_with("#1 ") && shown.contains("\\u{1b}[2J?  ->  one"), "{shown:?}");
}

#[test]
fn salts_are_drawn_once_and_never_overwritten() {
    let sandbox = Sandbox::new();
    sandbox.write("q.jsonl", BEFORE);
    let seal = ["questions", "seal", "q.jsonl", "-o", "sealed.jsonl"];
    sandbox.ok(&seal);
    let salted = std::fs::read(sandbox.path("sealed.jsonl")).unwrap();
    let again = sandbox.run(&seal);
    assert_eq!(again.code, 2);
    assert!(again.stderr.starts_with("error: sealed.jsonl exists already"), "{}", again.stderr);
    assert_eq!(std::fs::read(sandbox.path("sealed.jsonl")).unwrap(), salted);
    assert_eq!(sandbox.run(&["questions", "seal", "sealed.jsonl", "-o", "other.jsonl"]).code, 2);
    assert_ne!(sandbox.ok(&["questions", "id", "q.jsonl"]), sandbox.ok(&["questions", "id", "sealed.jsonl"]));
}
