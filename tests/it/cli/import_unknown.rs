//! What an import must not take for known: judges that nobody named, prompts behind short hashes, settings that a file does not
//! have; and what is too large or stands there twice.

use std::io::{Cursor, Write};

use serde_json::{Value, json};

use super::import::{fixture, ledger, refused};
use super::sandbox::Sandbox;

/// The one file of a folder that ends so.
fn text(folder: &str, ending: &str) -> String {
    let entries = std::fs::read_dir(fixture(folder)).unwrap().map(|entry| entry.unwrap().path());
    let path = entries.into_iter().find(|path| path.to_str().unwrap().ends_with(ending)).unwrap();
    std::fs::read_to_string(path).unwrap()
}

fn value(folder: &str, ending: &str) -> Value {
    serde_json::from_str(&text(folder, ending)).unwrap()
}

/// What an import of this file says without writing anything.
fn looked_at(sandbox: &Sandbox, tool: &str, name: &str, content: &Value) -> Value {
    sandbox.write(name, content.to_string());
    let (code, document) = sandbox.json(&["import", tool, name, "--dry-run"]);
    assert_eq!(code, 0, "{document:#}");
    crate::schema::check(&document);
    document["rounds"][0].clone()
}

fn unknown(round: &Value) -> Vec<&str> {
    round["unknown"].as_array().unwrap().iter().map(|unknown| unknown["field"].as_str().unwrap()).collect()
}

#[test]
fn a_model_that_judges_itself_is_another_judge_than_the_next_one() {
    let sandbox = ledger();
    let graded = text("inspect_ai/round1", ".json").replace("match_with_confidence", "model_graded_qa");
    let graded: Value = serde_json::from_str(&graded).unwrap();
    let mut other = graded.clone();
    other["eval"]["model"] = json!("mockllm/stub-model-b");
    for log in [&graded, &other] {
        sandbox.write("log.json", log.to_string());
        let said = sandbox.ok(&["import", "inspect", "log.json"]);
        let judge = format!("  judge model_graded_qa: {}\n", log["eval"]["model"].as_str().unwrap());
        assert!(said.contains(&judge), "{said}");
    }
    let compared = sandbox.run(&["compare"]);
    assert_eq!(compared.code, 2);
    let differs = "configuration.judges.model_graded_qa differs: \"mockllm/stub-model-a\" != \"mockllm/stub-model-b\"";
    assert!(compared.stdout.contains(differs), "{}", compared.stdout);
    // Named, it is the same judge of both.
    for mut log in [graded, other] {
        log["eval"]["model_roles"] = json!({"grader": {"model": "lab/judge"}});
        sandbox.write("log.json", log.to_string());
        sandbox.ok(&["import", "inspect", "log.json"]);
    }
    assert_eq!(sandbox.run(&["compare"]).code, 0);
}

#[test]
fn attachments_count_by_what_they_hold() {
    let sandbox = Sandbox::new();
    let mut log = value("inspect_ai/round1", ".json");
    let sample = &mut log["samples"][0];
    sample["messages"][0]["content"] =
        json!([{"type": "image", "image": "attachment://0f"}, {"type": "text", "text": "?"}]);
    sample["attachments"] = json!({"0f": "data:one"});
    let one = looked_at(&sandbox, "inspect", "log.json", &log);
    assert_eq!(unknown(&one), ["cost"]);
    log["samples"][0]["attachments"]["0f"] = json!("data:two");
    let two = looked_at(&sandbox, "inspect", "log.json", &log);
    assert_ne!(one["card"]["question_set_id"], two["card"]["question_set_id"]);
    log["samples"][0]["attachments"] = json!({});
    assert_eq!(unknown(&looked_at(&sandbox, "inspect", "log.json", &log)), ["cost", "prompts"]);
}

#[test]
fn settings_that_are_in_no_file_are_unknown() {
    let sandbox = Sandbox::new();
    let mut log = value("inspect_ai/round1", ".json");
    log["eval"]["scorers"] = json!([]);
    assert_eq!(unknown(&looked_at(&sandbox, "inspect", "log.json", &log)), ["configuration", "cost"]);
    log["eval"]["model_generate_config"] = Value::Null;
    log["plan"] = Value::Null;
    assert_eq!(unknown(&looked_at(&sandbox, "inspect", "log.json", &log)), ["configuration", "cost", "generation"]);

    let mut run = value("deepeval/round1", ".json");
    run["hyperparameters"] = json!({"model": "stub-model-a"});
    assert_eq!(unknown(&looked_at(&sandbox, "deepeval", "test_run_1.json", &run)), ["generation"]);

    let results = text("lm_eval/round1/stub-model-a", "07.json");
    let mut results: Value = serde_json::from_str(&results).unwrap();
    results["configs"]["ledger_qa"]["metric_list"] = json!([]);
    sandbox.write("run/results_2026-11-30T12-19-24.809307.json", results.to_string());
    sandbox
        .write("run/samples_ledger_qa_2026-11-30T12-19-24.809307.jsonl", text("lm_eval/round1/stub-model-a", ".jsonl"));
    let (_, document) = sandbox.json(&["import", "lm-eval", "run", "--dry-run"]);
    assert_eq!(unknown(&document["rounds"][0]), ["configuration", "cost"]);
}

#[test]
fn a_judge_that_promptfoo_does_not_name_is_unknown() {
    let sandbox = Sandbox::new();
    let mut results = value("promptfoo/variants/scorer_changed", "results.json");
    let each = |results: &mut Value, change: fn(&mut Value)| {
        results["results"]["results"].as_array_mut().unwrap().iter_mut().for_each(change);
    };
    each(&mut results, |row| row["testCase"]["assert"] = json!([{"type": "not-llm-rubric", "value": "is rude"}]));
    let round = looked_at(&sandbox, "promptfoo", "results.json", &results);
    assert_eq!(unknown(&round), ["configuration", "cost"]);
    let unnamed = round["scorer"].clone();
    results["config"]["defaultTest"] = json!({"options": {"provider": {"id": "lab:judge-1"}}});
    let first = looked_at(&sandbox, "promptfoo", "results.json", &results);
    assert_eq!((unknown(&first), &first["remarks"][0]), (vec!["cost"], &json!("judge: lab:judge-1")));
    results["config"]["defaultTest"]["options"]["provider"]["id"] = json!("lab:judge-2");
    let second = looked_at(&sandbox, "promptfoo", "results.json", &results);
    each(&mut results, |row| row["testCase"]["assert"][0]["provider"] = json!("lab:judge-3"));
    let third = looked_at(&sandbox, "promptfoo", "results.json", &results);
    let scorers = [&unnamed, &first["scorer"], &second["scorer"], &third["scorer"]];
    assert!((1..4).all(|at| !scorers[..at].contains(&scorers[at])), "{scorers:?}");
    // What is done to replies and the settings of the prompt shape them, too.
    let before = looked_at(&sandbox, "promptfoo", "results.json", &results)["scorer"].clone();
    each(&mut results, |row| row["prompt"]["config"] = json!({"temperature": 1}));
    let warmer = looked_at(&sandbox, "promptfoo", "results.json", &results)["scorer"].clone();
    results["config"]["providers"][0]["transform"] = json!("output.trim()");
    let trimmed = looked_at(&sandbox, "promptfoo", "results.json", &results)["scorer"].clone();
    assert!(before != warmer && warmer != trimmed);
}

#[test]
fn several_columns_with_a_question_are_one_prompt() {
    let sandbox = Sandbox::new();
    let round = |question: &str| {
        let table = format!("id,prompt,question,expected,correct\nq1,Answer: {{question}},{question},4,true\n");
        sandbox.write("t.csv", table);
        let (code, document) = sandbox.json(&["import", "csv", "t.csv", "--dry-run"]);
        assert_eq!(code, 0, "{document:#}");
        document["rounds"][0]["card"]["question_set_id"].clone()
    };
    assert_eq!(round("2+2?"), round("2+2?"));
    assert_ne!(round("2+2?"), round("1+3?"));
}

#[test]
fn samples_inside_a_document_are_held_to_their_limit() {
    let sandbox = ledger();
    sandbox.write("log.json", text("inspect_ai/round1", ".json"));
    sandbox.write("results.json", text("promptfoo/round1", "results.json"));
    sandbox.write("test_run_1.json", text("deepeval/round1", ".json"));
    sandbox
        .write("m.json", r#"{"pairs":[{"query":{"text":"2+2?"},"expected":"4"}],"answers":[{"reply":"4444444444"}]}"#);
    sandbox.write("t.csv", "id,correct,reply\nq1,true,4444444444444444\n");
    sandbox.write("j.xml", text("pytest_junit/round2", "junit.xml"));
    let mlflow = fixture("mlflow/round1");
    let rows = fixture("promptfoo/round1/results.jsonl");
    for (tool, path) in [
        ("inspect", "log.json"),
        ("promptfoo", "results.json"),
        ("promptfoo", &rows),
        ("deepeval", "test_run_1.json"),
        ("mlflow", &mlflow),
        ("mixle", "m.json"),
        ("csv", "t.csv"),
        ("junit", "j.xml"),
    ] {
        let refusal = refused(&sandbox, &["import", tool, path, "--max-sample-bytes", "10"]);
        assert!(refusal.contains("the sample is larger than 10 bytes\n"), "{tool}: {refusal}");
        assert!(refusal.contains("raise the limit with --max-sample-bytes N\n"), "{tool}: {refusal}");
        sandbox.ok(&["import", tool, path, "--dry-run", "--max-sample-bytes", "100000000"]);
    }
}

#[test]
fn a_name_that_an_archive_or_a_case_holds_twice_is_refused() {
    let sandbox = ledger();
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for name in ["header.json", "headex.json"] {
        writer.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(b"{}").unwrap();
    }
    let mut bytes = writer.finish().unwrap().into_inner();
    let places: Vec<usize> = (0..bytes.len() - 11).filter(|at| &bytes[*at..at + 11] == b"headex.json").collect();
    assert_eq!(places.len(), 2, "once beside the content and once in the directory");
    places.into_iter().for_each(|at| bytes[at + 5] = b'r');
    sandbox.write("twice.eval", bytes);
    let refusal = refused(&sandbox, &["import", "inspect", "twice.eval"]);
    assert!(refusal.contains("twice.eval: lists an entry twice, or entries that cannot be read"), "{refusal}");
    let within = "<testsuite><testcase name=\"a\"><failure/><testcase name=\"b\"/></testcase></testsuite>";
    sandbox.write("j.xml", within);
    let refusal = refused(&sandbox, &["import", "junit", "j.xml"]);
    assert!(refusal.contains("has a test case inside a test case"), "{refusal}");
}

#[test]
fn a_round_that_is_judged_anew_keeps_what_is_unknown_of_it() {
    let sandbox = ledger();
    sandbox.ok(&["import", "lm-eval", &fixture("lm_eval/round1")]);
    sandbox.ok(&["bridge", "main", "--scorer", "exact/v1"]);
    let shown = sandbox.ok(&["show", "main"]);
    for line in ["Unknown:   the cost (cost)\n", "Unknown:   the generation settings (generation)\n"] {
        assert!(shown.contains(line), "{shown}");
    }
    sandbox.ok(&["import", "lm-eval", &fixture("lm_eval/round2")]);
    sandbox.ok(&["bridge", "main", "--scorer", "exact/v1"]);
    let compared = sandbox.run(&["compare", "main~2", "main"]);
    assert_eq!(compared.code, 2, "{}", compared.stdout);
    assert!(compared.stdout.contains("--allow-unknown generation --allow-unknown repeats\n"), "{}", compared.stdout);
    let allowed =
        ["compare", "main~2", "main", "--allow-unknown", "generation", "--allow-unknown", "repeats", "--record"];
    let run = sandbox.run(&allowed);
    assert_eq!(run.code, 3);
    let signed =
        "signing a comparison receipt: main#2 to main#4, regressed (unknown and allowed: generation repeats)\n";
    assert!(run.stderr.starts_with(signed), "{}", run.stderr);
    let shown = sandbox.ok(&["show", "@"]);
    assert!(shown.contains("Allowed:   unknown: the number of repeats (repeats)\n"), "{shown}");
    assert_eq!(sandbox.run(&["verify", "--replay"]).code, 0);

    sandbox.ok(&["import", "junit", &fixture("pytest_junit/round1"), "--line", "junit"]);
    // Answers that are scored again are answers of the same round.
    sandbox.write("a.jsonl", sandbox.ok(&["cat", "main~3:answers"]));
    let run = sandbox.run(&["evaluate", "--answers", "a.jsonl", "--scorer", "normalized/v1", "--line", "again"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("by normalized/v1; unknown: cost, generation, repeats\n"), "{}", run.stderr);
    sandbox.write("a.jsonl", sandbox.ok(&["cat", "junit:answers"]));
    let again = refused(&sandbox, &["evaluate", "--answers", "a.jsonl", "--scorer", "normalized/v1"]);
    assert!(again.contains("do not hold the text of the questions"), "{again}");
    let refusal = refused(&sandbox, &["bridge", "junit", "--scorer", "exact/v1"]);
    assert_eq!(
        refusal,
        "error: the files that this round was imported from do not hold the text of the questions\n\
         hint: what was not recorded cannot be judged anew\n"
    );
}

#[test]
fn markdown_is_one_form_of_the_answer() {
    let sandbox = ledger();
    for round in 1..=2 {
        sandbox.ok(&["import", "lm-eval", &fixture(&format!("lm_eval/round{round}"))]);
    }
    let run = sandbox.run(&["compare", "--format", "markdown"]);
    assert_eq!(run.code, 3);
    assert!(
        run.stdout.starts_with("### Regressed\n\n`main#2` against `main#1`\n\n| | base | current | delta | |\n"),
        "{}",
        run.stdout
    );
    let (code, error) = sandbox.json(&["compare", "--format", "markdown"]);
    assert_eq!((code, &error["error"]), (2, &json!("--json and --format markdown are two forms of one answer")));
}

/// A round of a table, with a cost or without.
fn costed(sandbox: &Sandbox, cost: Option<&str>) {
    let (head, cell) = cost.map_or((String::new(), String::new()), |cost| (",cost".to_owned(), format!(",{cost}")));
    let table = format!(
        "id,question,expected,reply,correct,model,scorer,configuration,generation{head}\nq1,a,1,1,yes,m,s,c,g{cell}\n"
    );
    sandbox.write("t.csv", table);
    sandbox.ok(&["import", "csv", "t.csv"]);
}

#[test]
fn a_cost_that_is_not_known_is_no_number_and_neither_better_nor_worse() {
    let sandbox = ledger();
    for cost in [None, None, Some("5"), None, Some("7")] {
        costed(&sandbox, cost);
    }
    let shown = sandbox.ok(&["show", "#1"]);
    assert!(shown.contains("quality 1, cost unknown, grounded 1, n 1"), "{shown}");
    assert!(sandbox.ok(&["show", "#3"]).contains("quality 1, cost 5, grounded 1, n 1"));
    let row = |run: &str| run.lines().find(|line| line.starts_with("realized_cost")).unwrap().to_owned();
    let both = sandbox.ok(&["compare", "#1", "#2"]);
    assert_eq!(row(&both), "realized_cost            unknown       unknown       unknown");
    for (base, current, line) in [
        ("#2", "#3", "realized_cost            unknown        5.0000       unknown"),
        ("#3", "#4", "realized_cost             5.0000       unknown       unknown"),
    ] {
        let refusal = sandbox.run(&["compare", base, current]);
        assert_eq!((refusal.code, row(&refusal.stdout).as_str()), (2, line), "{}", refusal.stdout);
        // Where that is allowed all but the cost is compared.
        let allowed = ["compare", base, current, "--allow-unknown", "cost", "--record"];
        let run = sandbox.run(&allowed);
        assert_eq!((run.code, row(&run.stdout).as_str()), (0, line), "{}", run.stdout);
        assert!(run.stdout.contains("the cost (cost): allowed\nnot regressed"), "{}", run.stdout);
        assert!(!run.stdout.contains("worse") || run.stdout.contains("that it is worse"), "{}", run.stdout);
        let (_, report) = sandbox.json(&allowed[..5]);
        crate::schema::check(&report);
        assert_eq!(report["axes"]["realizedCost"]["worse"], Value::Null, "{report:#}");
        assert_eq!((&report["regressed"], &report["reasons"]), (&false.into(), &serde_json::json!([])));
        assert_eq!(report["unknown"][0]["field"], "cost");
        let markdown = sandbox.ok(&["compare", base, current, "--allow-unknown", "cost", "--format", "markdown"]);
        assert!(markdown.contains("| unknown |  |\n"), "{markdown}");
    }
    // Costs that both know are compared.
    let known = sandbox.run(&["compare", "#3", "#5"]);
    assert_eq!(known.code, 3);
    assert_eq!(row(&known.stdout), "realized_cost             5.0000        7.0000       +2.0000  worse");
    let run = sandbox.run(&["verify", "--replay"]);
    assert_eq!(run.code, 0, "{}", run.stdout);
}

#[test]
fn a_round_that_is_judged_anew_says_that_its_cost_is_unknown() {
    let sandbox = ledger();
    costed(&sandbox, None);
    let text = sandbox.ok(&["bridge", "main", "--scorer", "exact/v1"]);
    assert!(text.contains("cost unknown"), "{text}");
    let (_, document) = sandbox.json(&["bridge", "#1", "--scorer", "normalized/v1"]);
    crate::schema::check(&document);
    assert!(document.to_string().contains("\"unknown\":[{\"field\":\"cost\"}"), "{document:#}");
}
