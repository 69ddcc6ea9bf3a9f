//! What counts among the conditions of an imported round: settings by label, judges however deep they stand, limits, the tools
//! that were expected; and what must not stand there: keys.

use serde_json::{Value, json};

use super::import::{fixture, ledger, refused};
use super::sandbox::Sandbox;

/// The one file of a folder that ends so, as a value.
fn value(folder: &str, ending: &str) -> Value {
    let entries = std::fs::read_dir(fixture(folder)).unwrap().map(|entry| entry.unwrap().path());
    let path = entries.into_iter().find(|path| path.to_str().unwrap().ends_with(ending)).unwrap();
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// What an import of this file says without writing anything.
fn looked_at(sandbox: &Sandbox, tool: &str, name: &str, content: &Value) -> Vec<Value> {
    sandbox.write(name, content.to_string());
    let (code, document) = sandbox.json(&["import", tool, name, "--dry-run"]);
    assert_eq!(code, 0, "{document:#}");
    crate::schema::check(&document);
    document["rounds"].as_array().unwrap().clone()
}

/// Imports a file, as a receipt of its own.
fn imported(sandbox: &Sandbox, tool: &str, name: &str, content: &Value) -> String {
    sandbox.write(name, content.to_string());
    sandbox.ok(&["import", tool, name])
}

fn unknown(round: &Value) -> Vec<&str> {
    round["unknown"].as_array().unwrap().iter().map(|unknown| unknown["field"].as_str().unwrap()).collect()
}

/// The real results of promptfoo, every row changed.
fn results(change: impl Fn(&mut Value)) -> Value {
    let mut results = value("promptfoo/round1", "results.json");
    results["results"]["results"].as_array_mut().unwrap().iter_mut().for_each(change);
    results
}

#[test]
fn providers_of_one_name_have_the_settings_of_their_labels() {
    let sandbox = ledger();
    let both = |providers: Value| {
        let of = |label: &'static str| {
            results(move |row| {
                row["provider"] = json!({"id": "lab:x", "label": label});
                row["prompt"]["raw"] = row["vars"]["question"].clone();
            })
        };
        let (mut one, two) = (of("A"), of("B"));
        let rows = two["results"]["results"].as_array().unwrap().clone();
        one["results"]["results"].as_array_mut().unwrap().extend(rows);
        one["results"]["stats"] = json!({});
        one["config"]["providers"] = providers;
        one
    };
    let cold = json!({"id": "lab:x", "label": "A", "config": {"temperature": 0}});
    let warm = json!({"id": "lab:x", "label": "B", "config": {"temperature": 1}});
    let rounds = looked_at(&sandbox, "promptfoo", "results.json", &both(json!([cold, warm])));
    assert_ne!(rounds[0]["scorer"], rounds[1]["scorer"]);
    assert_eq!((unknown(&rounds[0]), unknown(&rounds[1])), (vec!["cost"], vec!["cost"]));
    imported(&sandbox, "promptfoo", "results.json", &both(json!([cold, warm])));
    let compared = sandbox.run(&["compare", "#1", "#2"]);
    assert_eq!(compared.code, 2);
    assert!(compared.stdout.contains("generation.config.temperature differs: 0 != 1"), "{}", compared.stdout);
    // A label that is nowhere, and two entries that differ under one label, say nothing.
    let other = json!({"id": "lab:x", "label": "A", "config": {"temperature": 2}});
    let rounds = looked_at(&sandbox, "promptfoo", "results.json", &both(json!([cold, other])));
    assert_eq!((unknown(&rounds[0]), unknown(&rounds[1])), (vec!["cost", "generation"], vec!["cost", "generation"]));
    // Two providers under one label are not one.
    let mut shared = both(json!([cold]));
    for row in shared["results"]["results"].as_array_mut().unwrap().iter_mut().skip(24) {
        row["provider"] = json!({"id": "lab:y", "label": "A"});
    }
    shared["runtimeOptions"]["repeat"] = json!(2);
    sandbox.write("results.json", shared.to_string());
    let refusal = refused(&sandbox, &["import", "promptfoo", "results.json"]);
    assert!(refusal.contains("results.json:25: field `provider.id`: is another provider than in row 1"), "{refusal}");
}

#[test]
fn judges_inside_of_sets_count_like_others() {
    let sandbox = ledger();
    let set = |value: &'static str, default: Option<&str>| {
        let inner = json!({"type": "assert-set", "assert": [{"type": "llm-rubric", "value": value}]});
        let asserts = json!([{"type": "assert-set", "threshold": 0.5, "assert": [{"type": "is-json"}, inner]}]);
        let mut results = results(move |row| row["testCase"]["assert"] = asserts.clone());
        if let Some(judge) = default {
            results["config"]["defaultTest"] = json!({"options": {"provider": judge}});
        }
        results
    };
    let unnamed = &looked_at(&sandbox, "promptfoo", "results.json", &set("x", None))[0];
    assert_eq!(unknown(unnamed), ["configuration", "cost"]);
    assert!(unnamed["scorer"].as_str().unwrap().contains("/is-json,llm-rubric/"), "{unnamed:#}");
    let said = imported(&sandbox, "promptfoo", "results.json", &set("x", Some("lab:1")));
    assert!(said.contains("  judge: lab:1\n"), "{said}");
    imported(&sandbox, "promptfoo", "results.json", &set("x", Some("lab:2")));
    let compared = sandbox.run(&["compare"]);
    assert_eq!(compared.code, 2);
    assert!(compared.stdout.contains("configuration.judge differs: \"lab:1\" != \"lab:2\""), "{}", compared.stdout);
    // What the assertions of a set compare with is the expected answer.
    imported(&sandbox, "promptfoo", "results.json", &set("y", Some("lab:2")));
    let compared = sandbox.run(&["compare"]);
    assert_eq!(compared.code, 2);
    assert!(compared.stdout.contains("24 questions changed"), "{}", compared.stdout);
    // A set that asserts nothing judges nothing.
    let empty = results(|row| row["testCase"]["assert"] = json!([{"type": "assert-set", "assert": []}]));
    sandbox.write("results.json", empty.to_string());
    let refusal = refused(&sandbox, &["import", "promptfoo", "results.json"]);
    assert!(refusal.contains("nothing was measured"), "{refusal}");
}
