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
    assert!(
        refusal.contains("results.json, row 25: field `provider.id`: is another provider than in row 1"),
        "{refusal}"
    );
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
    // A text that is no template is what stands there, whatever is said of how it was rendered.
    imported(&sandbox, "promptfoo", "results.json", &results(|_| {}));
    let mut other = results(|_| {});
    other["results"]["results"][3]["testCase"]["assert"][0]["value"] = json!("zz");
    imported(&sandbox, "promptfoo", "results.json", &other);
    let compared = sandbox.run(&["compare"]);
    assert!(compared.code == 2 && compared.stdout.contains("1 question changed: q04"), "{}", compared.stdout);
    // A set that asserts nothing judges nothing.
    let empty = results(|row| row["testCase"]["assert"] = json!([{"type": "assert-set", "assert": []}]));
    sandbox.write("results.json", empty.to_string());
    let refusal = refused(&sandbox, &["import", "promptfoo", "results.json"]);
    assert!(refusal.contains("nothing was measured"), "{refusal}");
}

const CANARY: &str = "sk-canary";

/// Imports two files that differ in a key only. It stands nowhere but in the originals, and changes nothing.
fn no_key_stays(tool: &str, name: &str, with: impl Fn(&str) -> Value, unknown: &[&str]) {
    let sandbox = ledger();
    let keys = [format!("{CANARY}-1"), format!("{CANARY}-2")];
    let mut said = String::new();
    for key in &keys {
        let content = with(key);
        assert!(content.to_string().contains(key.as_str()));
        said.push_str(&imported(&sandbox, tool, name, &content));
        for revision in ["@:projection", "@:import", "@:questions", "@:answers", "@:judgements"] {
            said.push_str(&sandbox.ok(&["cat", revision]));
        }
        said.push_str(&sandbox.ok(&["show", "@"]));
    }
    let allowed: Vec<_> = unknown.iter().flat_map(|field| ["--allow-unknown", *field]).collect();
    let arguments: Vec<_> = ["compare", "--format", "markdown"].into_iter().chain(allowed).collect();
    let compared = sandbox.run(&arguments);
    assert_eq!(compared.code, 0, "{tool}: {}", compared.stdout);
    said.push_str(&compared.stdout);
    assert!(!said.contains(CANARY), "{tool}: {said}");
    let projections: Vec<_> = ["#1", "#2"].map(|one| sandbox.ok(&["cat", &format!("{one}:projection")])).into();
    assert_eq!(projections[0], projections[1], "{tool}");
    assert_eq!(sandbox.run(&["verify", "--replay"]).code, 0);
}

#[test]
fn keys_are_no_condition_and_are_not_told() {
    let judge = |key: &str| {
        let config = json!({"apiKey": key, "headers": {"Authorization": key}, "temperature": 0});
        let rest = json!({"body": {"secretAccessKey": key}, "url": format!("https://u:{key}@h/?api_key={key}")});
        json!({"id": "lab:j", "config": config, "rest": rest, "token": key})
    };
    let promptfoo = |key: &str| {
        let own = judge(key);
        let mut results = results(move |row| {
            row["testCase"]["assert"] = json!([{"type": "llm-rubric", "value": "x", "provider": own}]);
            row["testCase"]["options"] = json!({"provider": own});
            row["prompt"]["config"] = json!({"api_key": own["token"]});
        });
        let settings = json!({"temperature": 0, "api-key": key, "request": format!("{{\"password\": \"{key}\"}}")});
        results["config"]["providers"] = json!([{"id": "echo", "config": settings}]);
        results["config"]["defaultTest"] = json!({"options": {"provider": judge(key)}});
        results
    };
    no_key_stays("promptfoo", "results.json", promptfoo, &[]);
    // A judge without an id is named by all that is said of it.
    let anonymous = |key: &str| {
        let own = json!({"config": {"apiKey": key}});
        results(move |row| row["testCase"]["assert"] = json!([{"type": "similar", "value": "x", "provider": own}]))
    };
    no_key_stays("promptfoo", "results.json", anonymous, &[]);
    // In a request that is text keys cannot be told from the rest.
    let raw = |key: &str| {
        let mut results = results(|_| {});
        let request = format!("POST / HTTP/1.1\nX-Key: {key}\n\n{{{{prompt}}}}");
        results["config"]["providers"] = json!([{"id": "echo", "config": {"request": request}}]);
        results
    };
    let sandbox = Sandbox::new();
    let round = &looked_at(&sandbox, "promptfoo", "results.json", &raw("k"))[0];
    assert_eq!(unknown(round), ["cost", "generation"]);
    no_key_stays("promptfoo", "results.json", raw, &["generation"]);
    let inspect = |key: &str| {
        let mut log = value("inspect_ai/round1", ".json");
        log["eval"]["model_generate_config"]["extra_headers"] = json!({"x-api-key": key});
        log["eval"]["model_args"] = json!({"api_key": key, "device": "cpu"});
        log["eval"]["task_args"] = json!({"token": key});
        log["eval"]["scorers"][0]["options"] = json!({"api_key": key, "model": {"name": "lab/j", "api_key": key}});
        log["plan"]["steps"][0]["params"] = json!({"credentials": key});
        log
    };
    no_key_stays("inspect", "log.json", inspect, &[]);
    let deepeval = |key: &str| {
        let mut run = value("deepeval/round1", ".json");
        run["hyperparameters"]["api_key"] = json!(key);
        run
    };
    no_key_stays("deepeval", "test_run_1.json", deepeval, &[]);
}

#[test]
fn limits_and_arguments_of_the_model_shape_replies() {
    let sandbox = ledger();
    let log = |limits: Value, arguments: Value| {
        let mut log = value("inspect_ai/round1", ".json");
        for (name, limit) in limits.as_object().unwrap() {
            log["eval"]["config"][name] = limit.clone();
        }
        log["eval"]["model_args"] = arguments;
        log
    };
    let none = looked_at(&sandbox, "inspect", "log.json", &log(json!({}), json!({"custom_outputs": null})));
    let null = looked_at(&sandbox, "inspect", "log.json", &log(json!({"time_limit": null}), json!({})));
    assert_eq!(none[0]["scorer"], null[0]["scorer"]);
    for (limits, arguments, said) in [
        (json!({"message_limit": 2}), json!({}), "generation.limits"),
        (json!({"message_limit": 3}), json!({}), "generation.limits.message_limit differs: 2 != 3"),
        (json!({"message_limit": 3, "token_limit": 5}), json!({}), "generation.limits.token_limit"),
        (json!({"message_limit": 3, "token_limit": 5}), json!({"device": "cpu"}), "generation.model_args"),
    ] {
        if said == "generation.limits" {
            imported(&sandbox, "inspect", "log.json", &log(json!({}), json!({})));
        }
        imported(&sandbox, "inspect", "log.json", &log(limits, arguments));
        let compared = sandbox.run(&["compare"]);
        assert_eq!(compared.code, 2);
        assert!(compared.stdout.contains(said), "{said}: {}", compared.stdout);
    }
}

#[test]
fn tools_that_were_expected_are_expected_answers() {
    let sandbox = ledger();
    let mut run = value("deepeval/round1", ".json");
    let plain = looked_at(&sandbox, "deepeval", "test_run_1.json", &run);
    run["testCases"][3]["expectedTools"] = json!([]);
    imported(&sandbox, "deepeval", "test_run_1.json", &run);
    assert_eq!(plain[0]["card"], looked_at(&sandbox, "deepeval", "test_run_1.json", &run)[0]["card"]);
    for (name, expected) in [("expectedTools", json!([{"name": "search"}])), ("expectedOutcome", json!("paid"))] {
        run["testCases"][3][name] = expected;
        imported(&sandbox, "deepeval", "test_run_1.json", &run);
        let compared = sandbox.run(&["compare"]);
        assert_eq!(compared.code, 2);
        assert!(compared.stdout.contains("1 question changed: q04"), "{}", compared.stdout);
    }
}

#[test]
fn mixle_documents_with_other_types_or_cards_are_refused() {
    let sandbox = ledger();
    let document = |reply: Value, spend: Value, card: Value| {
        let answer = json!({"reply": reply, "receipt": {"status": "answered", "spend": spend}});
        json!({"pairs": [{"query": {"text": "2+2?"}, "expected": "4"}], "answers": [answer], "scorecard": card,
               "model": "m", "generation": {}})
    };
    let calls = || json!({"frontier_calls": 2, "oracle_calls": 1.5});
    let card = |name: &str, value: Value| {
        let mut card = json!({"n": 1, "quality": 1.0, "grounded_fraction": 1.0, "realized_cost": 3.5});
        card[name] = value;
        card
    };
    let round = &looked_at(&sandbox, "mixle", "m.json", &document(json!("4"), calls(), card("n", json!(1))))[0];
    assert_eq!((&round["card"]["realized_cost"], unknown(round)), (&json!(3.5), vec![]));
    for spend in [json!(null), json!({}), json!({"cpu_seconds": 1})] {
        let round = &looked_at(&sandbox, "mixle", "m.json", &document(json!("4"), spend, json!(null)))[0];
        assert_eq!(unknown(round), ["cost"]);
    }
    let right = || json!("4");
    let mut refusals = vec![
        (document(json!(4), calls(), json!(null)), "field `answers.reply`: must be a text or null".to_owned()),
        (document(right(), json!("7"), json!(null)), "field `answers.receipt.spend`: must be an object".to_owned()),
    ];
    for calls in [json!("7"), json!(null), json!(true), json!(-1)] {
        let message = "field `answers.receipt.spend.oracle_calls`: must be a number, at least 0".to_owned();
        refusals.push((document(right(), json!({"oracle_calls": calls}), json!(null)), message));
    }
    for (name, value) in [
        ("n", json!(7)),
        ("n", json!("1")),
        ("quality", json!(0.5)),
        ("grounded_fraction", json!(0.1)),
        ("realized_cost", json!(99)),
    ] {
        let message = format!("field `scorecard.{name}`: says {value}, and the pairs and answers give ");
        refusals.push((document(right(), calls(), card(name, value)), message));
    }
    for (document, message) in refusals {
        sandbox.write("m.json", document.to_string());
        let refusal = refused(&sandbox, &["import", "mixle", "m.json"]);
        assert!(refusal.contains(&message), "{message}: {refusal}");
    }
}

#[test]
fn a_score_of_another_type_is_refused_with_row_and_field() {
    let sandbox = ledger();
    let refusal = |tool: &str, name: &str, content: &str| {
        sandbox.write(name, content);
        refused(&sandbox, &["import", tool, name])
    };
    let entries = std::fs::read_dir(fixture("lm_eval/round1/stub-model-a")).unwrap().map(|entry| entry.unwrap().path());
    let samples = entries.into_iter().find(|path| path.extension().unwrap() == "jsonl").unwrap();
    let samples = std::fs::read_to_string(samples).unwrap();
    for word in ["\"1.0\"", "Infinity", "-Infinity", "\"yes\""] {
        let text = samples.replacen("\"exact_match\": 1.0", &format!("\"exact_match\": {word}"), 1);
        assert_ne!(text, samples);
        let said = refusal("lm-eval", "samples_ledger_qa.jsonl", &text);
        assert!(
            said.contains("samples_ledger_qa.jsonl:1: field `exact_match`: must be a number from 0 to 1"),
            "{said}"
        );
    }
    for (name, wrong, message) in [
        ("success", json!("false"), "field `metricsData.success`: must be true or false"),
        ("success", json!(0), "field `metricsData.success`: must be true or false"),
        ("score", json!("0.5"), "field `metricsData.score`: must be a number"),
        ("score", json!("Infinity"), "field `metricsData.score`: must be a number"),
    ] {
        let mut run = value("deepeval/round1", ".json");
        run["testCases"][3]["metricsData"][0][name] = wrong;
        let said = refusal("deepeval", "test_run_1.json", &run.to_string());
        assert!(said.contains(&format!("test_run_1.json, row 4: {message}")), "{said}");
    }
    for wrong in [json!("perhaps"), json!("Infinity"), json!([1])] {
        let mut log = value("inspect_ai/round1", ".json");
        log["samples"][2]["scores"]["match_with_confidence"]["value"] = wrong;
        let said = refusal("inspect", "log.json", &log.to_string());
        let field =
            "log.json, row 3: field `scores.match_with_confidence.value`: must be a grade or a number from 0 to 1";
        assert!(said.contains(field), "{said}");
    }
    for word in ["NaN", "N/A", ""] {
        let mut log = value("inspect_ai/round1", ".json");
        log["reductions"] = json!(null);
        log["samples"][2]["scores"]["match_with_confidence"]["value"] = json!(word);
        assert_eq!(looked_at(&sandbox, "inspect", "log.json", &log)[0]["states"]["unscored"], 1, "{word}");
    }
}

#[test]
fn what_was_invalidated_is_said_and_samples_that_nobody_planned_are_refused() {
    let sandbox = ledger();
    let mut log = value("inspect_ai/round1", ".json");
    log["invalidated"] = json!(true);
    log["samples"][3]["invalidation"] = json!({"author": "x", "timestamp": "t", "reason": "leaked"});
    imported(&sandbox, "inspect", "log.json", &log);
    let (_, shown) = sandbox.json(&["show", "@"]);
    let note = shown.to_string();
    assert!(
        note.contains("the log says that it was invalidated; samples that were invalidated, and count: q04"),
        "{note}"
    );
    let mut more = value("inspect_ai/round1", ".json");
    let mut sample = more["samples"][0].clone();
    sample["id"] = json!("q99");
    more["samples"].as_array_mut().unwrap().push(sample);
    more["reductions"] = json!(null);
    sandbox.write("log.json", more.to_string());
    let refusal = refused(&sandbox, &["import", "inspect", "log.json"]);
    assert!(refusal.contains("log.json, row 25: field `samples.id`: `q99` is not among the `sample_ids`"), "{refusal}");
}

#[test]
fn a_folder_leaves_no_file_out_without_a_word() {
    let sandbox = ledger();
    let suite = |name: &str| format!("<testsuite name=\"{name}\" tests=\"1\"><testcase name=\"z\"/></testsuite>");
    let utf_16: Vec<u8> = suite("b").encode_utf16().flat_map(u16::to_le_bytes).collect();
    let refusal = |name: &str, content: &[u8]| {
        sandbox.write("d/a.xml", suite("a"));
        sandbox.write(&format!("d/{name}"), content);
        let said = refused(&sandbox, &["import", "junit", "d"]);
        std::fs::remove_dir_all(sandbox.path("d")).unwrap();
        said
    };
    for (name, content) in [("b.xml", &utf_16[..]), ("b.xml", b""), ("deep/B.XML", suite("b").as_bytes())] {
        let said = refusal(name, content);
        let first = format!("error: `{name}` may be one of junit, and does not look like one of its files\n");
        assert!(said.starts_with(&first), "{said}");
        assert!(said.contains("take this one out of the folder"), "{said}");
    }
    sandbox.write("d/a.xml", suite("a"));
    sandbox.write("c.xml", suite("c"));
    std::os::unix::fs::symlink(sandbox.path("c.xml"), sandbox.path("d/c.xml")).unwrap();
    let said = refused(&sandbox, &["import", "junit", "d"]);
    assert!(said.starts_with("error: `c.xml` may be one of junit, and is a link\n"), "{said}");
    std::fs::rename(sandbox.path("d/c.xml"), sandbox.path("d/c")).unwrap();
    sandbox.write("d/notes.txt", "x");
    sandbox.write("d/.hidden.xml", "x");
    let (code, document) = sandbox.json(&["import", "junit", "d", "--dry-run"]);
    assert_eq!((code, &document["leftOut"]), (0, &json!([".hidden.xml", "c", "notes.txt"])), "{document:#}");
    crate::schema::check(&document);
    let run = sandbox.run(&["import", "junit", "d", "--dry-run"]);
    assert_eq!(run.stderr, "not read: .hidden.xml, c, notes.txt\n");
    // Tables, too: one that was left out would have been half of the questions.
    sandbox.write("t/a.csv", "id,correct\nq1,true\n");
    sandbox.write("t/B.CSV", "id,correct\nq2,false\n");
    let said = refused(&sandbox, &["import", "csv", "t"]);
    assert!(said.starts_with("error: `B.CSV` may be one of csv, and does not look like one of its files\n"), "{said}");
}

#[test]
fn a_choice_that_a_tool_does_not_have_is_refused() {
    let sandbox = ledger();
    let junit = fixture("pytest_junit/round1");
    for option in ["--filter", "--metric"] {
        let said = refused(&sandbox, &["import", "junit", &junit, option, "x"]);
        assert_eq!(said, format!("error: files of junit are not chosen from by {option}\n"));
        let said = refused(&sandbox, &["import", "auto", &fixture("promptfoo/round1"), option, "x"]);
        assert_eq!(said, format!("error: files of promptfoo are not chosen from by {option}\n"));
    }
    let said = refused(&sandbox, &["import", "deepeval", &fixture("deepeval/round1"), "--filter", "x"]);
    assert_eq!(said, "error: files of deepeval are not chosen from by --filter\n");
}
