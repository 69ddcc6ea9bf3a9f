//! `proofmark import` with what lm-evaluation-harness wrote: recorded, compared, replayed, and refused where it must be.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::sandbox::Sandbox;

/// A file or folder of real outputs.
pub fn fixture(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/import").join(name);
    assert!(path.exists(), "{}", path.display());
    path.display().to_string()
}

/// A ledger that holds nothing yet.
pub fn ledger() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.ok(&["init", "--person", "ci"]);
    sandbox
}

/// A ledger with the three rounds of lm-evaluation-harness on `main`.
fn three_rounds() -> Sandbox {
    let sandbox = ledger();
    for round in 1..=3 {
        sandbox.ok(&["import", "lm-eval", &fixture(&format!("lm_eval/round{round}"))]);
    }
    sandbox
}

/// The document of an import into an empty ledger.
pub fn imported(tool: &str, path: &str, more: &[&str]) -> Value {
    let sandbox = Sandbox::new();
    let arguments: Vec<_> = ["import", tool, path, "--dry-run"].into_iter().chain(more.iter().copied()).collect();
    let (code, document) = sandbox.json(&arguments);
    assert_eq!(code, 0, "{document:#}");
    crate::schema::check(&document);
    document
}

/// What a refused import says; nothing may be written.
pub fn refused(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let before = sandbox.files();
    let run = sandbox.run(arguments);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{}", run.stderr);
    assert_eq!(sandbox.files(), before, "nothing is written");
    run.stderr
}

#[test]
fn rounds_are_recorded_compared_and_replayed() {
    let sandbox = three_rounds();
    let (code, report) = sandbox.json(&["compare", "main~2", "main~1"]);
    assert_eq!(code, 3, "{report:#}");
    crate::schema::check(&report);
    assert_eq!(report["flips"]["newlyFailing"], json!(["q02", "q13", "q21"]));
    assert_eq!(report["flips"]["newlyPassing"], json!(["q16"]));
    assert_eq!(report["statistics"]["mcnemar"]["twoSided"], 0.625);
    assert_eq!(report["statistics"]["clustered"]["clusters"], 4);
    assert_eq!(report["unknown"], json!([{"field": "cost", "side": "both", "allowed": false}]));

    let changed = sandbox.run(&["compare"]);
    assert_eq!(changed.code, 2);
    assert!(changed.stdout.contains("1 question changed: q07"), "{}", changed.stdout);
    assert!(changed.stdout.contains("unknown in both rounds: the cost (cost): not compared"), "{}", changed.stdout);

    let (code, verified) = sandbox.json(&["verify", "--replay"]);
    assert_eq!((code, &verified["findings"]), (0, &json!([])));
    let replay = verified["axes"].as_array().unwrap().iter().find(|axis| axis["axis"] == "replay").unwrap();
    assert_eq!(replay["counts"]["originalsRead"], 3, "{replay:#}");
}

#[test]
fn a_receipt_names_the_tool_its_scorer_and_its_files() {
    let sandbox = ledger();
    let text = sandbox.ok(&["import", "auto", &fixture("lm_eval/round1")]);
    assert!(text.starts_with("recognised: lm-eval\n[main "), "{text}");
    for line in [
        "  quality 0.7500  n 24  18 pass, 6 fail\n",
        "  model stub-model-a\n",
        "  unknown: the cost (cost)\n",
        "  scorer import/lm-eval/exact_match/v1?conditions=",
    ] {
        assert!(text.contains(line), "{text}");
    }
    let (_, shown) = sandbox.json(&["show", "main"]);
    let shown = shown.to_string();
    for role in ["original", "projection", "import", "questions", "answers", "judgements"] {
        assert!(shown.contains(&format!("\"role\":\"{role}\"")), "{role}: {shown}");
    }
    assert!(shown.contains("imported from lm-eval, task ledger_qa"), "{shown}");
    for role in ["projection", "import"] {
        let bytes = sandbox.ok(&["cat", &format!("main:{role}")]);
        let line = bytes.lines().next().unwrap();
        crate::schema::check(&serde_json::from_str(line).unwrap());
    }
}

#[test]
fn another_scorer_under_the_same_task_hash_is_refused() {
    let sandbox = three_rounds();
    sandbox.ok(&["import", "lm-eval", &fixture("lm_eval/variants/scorer_changed"), "--line", "other"]);
    let (code, report) = sandbox.json(&["compare", "main~1", "other"]);
    assert_eq!(code, 2);
    crate::schema::check(&report);
    assert_eq!(report["current"]["scorecard"]["quality"], 1.0);
    let condition = &report["differences"][0];
    assert_eq!(condition["field"], "configuration.metric.regexes_to_ignore");
    assert_eq!((&condition["base"], &condition["current"]), (&json!("nothing"), &json!("[\"[0-9]\"]")));
}

#[test]
fn a_row_for_each_filter_is_not_a_duplicate() {
    let path = fixture("lm_eval/variants/two_filters");
    let first = &imported("lm-eval", &path, &[])["rounds"][0];
    assert_eq!((&first["card"]["n"], &first["card"]["quality"]), (&json!(24), &json!(16.0 / 24.0)));
    assert_eq!(first["remarks"], json!(["filter strict-match of flexible-extract, strict-match"]));
    let other = &imported("lm-eval", &path, &["--filter", "flexible-extract"])["rounds"][0];
    assert_ne!(first["scorer"], other["scorer"]);
    let refusal = refused(&ledger(), &["import", "lm-eval", &path, "--filter", "none"]);
    assert_eq!(
        refusal,
        "error: no sample has the filter `none`: there are flexible-extract, strict-match\n\
         hint: choose with --filter NAME\n"
    );
}

#[test]
fn documents_that_stand_there_twice_and_runs_without_samples_are_refused() {
    let sandbox = ledger();
    let twice = refused(&sandbox, &["import", "lm-eval", &fixture("lm_eval/variants/duplicate_docs")]);
    let file = "stub-model-b/samples_ledger_qa_2026-11-30T12-38-40.731270.jsonl";
    assert_eq!(twice, format!("error: the document `q01` stands there twice: {file}:1 and {file}:25\n"));
    let unsampled = refused(&sandbox, &["import", "lm-eval", &fixture("lm_eval/variants/no_log_samples")]);
    assert!(unsampled.contains("field `configs`: there are no samples of the task `ledger_qa`"), "{unsampled}");
}

/// The real round 1 with its rows and results changed, in a folder of the sandbox.
fn changed(sandbox: &Sandbox, row: impl Fn(usize, &str) -> String, results: impl Fn(&str) -> String) -> String {
    let folder = PathBuf::from(fixture("lm_eval/round1/stub-model-a"));
    let read = |beginning: &str| {
        let entry = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        let path = entry.into_iter().find(|path| path.file_name().unwrap().to_str().unwrap().starts_with(beginning));
        std::fs::read_to_string(path.unwrap()).unwrap()
    };
    let samples: String = read("samples_").lines().enumerate().map(|(at, line)| row(at, line) + "\n").collect();
    sandbox.write("run/samples_ledger_qa_2026-11-30T12-19-24.809307.jsonl", samples);
    sandbox.write("run/results_2026-11-30T12-19-24.809307.json", results(&read("results_")));
    "run".to_owned()
}

fn same(text: &str) -> String {
    text.to_owned()
}

#[test]
fn a_score_that_is_no_number_is_a_state() {
    let sandbox = ledger();
    let row = |at: usize, line: &str| match at {
        0 => line.replace("\"exact_match\": 1.0", "\"exact_match\": NaN"),
        1 => line.replace("\"exact_match\": 1.0", "\"exact_match\": \"N/A\""),
        2 => line.replace("\"exact_match\": 1.0", "\"exact_match\": 0.25"),
        _ => same(line),
    };
    let run = changed(&sandbox, row, same);
    let (code, document) = sandbox.json(&["import", "lm-eval", &run]);
    assert_eq!(code, 0, "{document:#}");
    let round = &document["rounds"][0];
    assert_eq!((&round["states"]["unscored"], &round["states"]["partial"]), (&json!(2), &json!(1)));
    assert_eq!(round["card"]["quality"], 15.25 / 24.0);
    assert_eq!(sandbox.run(&["verify", "--replay"]).code, 0);

    let beyond = changed(&sandbox, |_, line| line.replace("\"exact_match\": 1.0", "\"exact_match\": 7.5"), same);
    let refusal = refused(&sandbox, &["import", "lm-eval", &beyond]);
    assert!(refusal.contains(":1: field `exact_match`: must be a number from 0 to 1, not 7.5"), "{refusal}");
    let nothing = changed(&sandbox, |_, line| line.replace("\"exact_match\": ", "\"exact_match\": NaN, \"x\": "), same);
    let refusal = refused(&sandbox, &["import", "lm-eval", &nothing]);
    assert!(refusal.starts_with("error: lm-eval: task `ledger_qa`: nothing was measured: of 24 items"), "{refusal}");
}

#[test]
fn partial_credit_regresses() {
    let sandbox = ledger();
    for score in ["0.8", "0.2"] {
        let row = |_: usize, line: &str| {
            let line = line.replace("\"exact_match\": 1.0", &format!("\"exact_match\": {score}"));
            line.replace("\"exact_match\": 0.0", &format!("\"exact_match\": {score}"))
        };
        let mean = |text: &str| text.replace("\"exact_match,none\": 0.75", &format!("\"exact_match,none\": {score}"));
        let run = changed(&sandbox, row, mean);
        sandbox.ok(&["import", "lm-eval", &run]);
    }
    let compared = sandbox.run(&["compare"]);
    assert_eq!(compared.code, 3, "{}{}", compared.stdout, compared.stderr);
    assert!(compared.stdout.contains("quality regressed: 0.800 -> 0.200"), "{}", compared.stdout);
    assert_eq!(sandbox.run(&["verify", "--replay"]).code, 0);
}

#[test]
fn settings_model_and_run_are_told_apart() {
    let sandbox = ledger();
    sandbox.ok(&["import", "lm-eval", &fixture("lm_eval/round1")]);
    let warmer = |text: &str| {
        text.replace("\"num_fewshot\": 0", "\"num_fewshot\": 1").replace("\"ledger_qa\": 0", "\"ledger_qa\": 1")
    };
    let run = changed(&sandbox, |_, line| same(line), warmer);
    sandbox.ok(&["import", "lm-eval", &run]);
    let compared = sandbox.run(&["compare"]);
    assert_eq!(compared.code, 2);
    assert!(compared.stdout.contains("  generation.num_fewshot differs: 0 != 1\n"), "{}", compared.stdout);

    let nameless =
        |text: &str| text.replace("\"model_name\": ", "\"was\": ").replace("\"model\": \"stub-model-a\"", "\"was\": 0");
    let run = changed(&sandbox, |_, line| same(line), nameless);
    sandbox.ok(&["import", "lm-eval", &run, "--line", "nameless"]);
    let compared = sandbox.run(&["compare", "main~1", "nameless"]);
    assert_eq!(compared.code, 2);
    let reason = "not comparable: unknown in the current round: the model that answered (model)";
    assert!(compared.stdout.contains(reason), "{}", compared.stdout);
    let allowed = ["compare", "main~1", "nameless", "--allow-unknown", "model", "--record"];
    let (code, report) = sandbox.json(&allowed);
    assert_eq!((code, &report["comparable"]), (0, &json!(true)), "{report:#}");
    crate::schema::check(&report);
    let (_, shown) = sandbox.json(&["show", "@"]);
    assert!(shown.to_string().contains("\"allowUnknown\":[\"model\"]"), "{shown:#}");
    assert_eq!(sandbox.run(&["verify", "--replay"]).code, 0);

    sandbox.ok(&["import", "lm-eval", &run, "--line", "nameless", "--allow-unknown", "model"]);
    assert_eq!(sandbox.run(&["compare", "main~1", "nameless"]).code, 0);
}

#[test]
fn reordered_documents_are_the_same_set_in_another_order() {
    let sandbox = ledger();
    sandbox.ok(&["import", "lm-eval", &fixture("lm_eval/round1")]);
    let swap = |at: usize, line: &str| match at {
        0 => line.replace("\"doc_id\": 0", "\"doc_id\": 1"),
        1 => line.replace("\"doc_id\": 1", "\"doc_id\": 0"),
        _ => same(line),
    };
    let run = changed(&sandbox, swap, same);
    sandbox.ok(&["import", "lm-eval", &run]);
    let compared = sandbox.run(&["compare"]);
    assert_eq!(compared.code, 2);
    assert!(compared.stdout.contains("1 question moved: q0"), "{}", compared.stdout);
    // Documents without names are known by their places, and by what they say where they changed those.
    let nameless = |line: &str| line.replace("\"id\": \"q", "\"label\": \"q");
    for swapped in [false, true] {
        let run = changed(&sandbox, |at, line| nameless(&if swapped { swap(at, line) } else { same(line) }), same);
        sandbox.ok(&["import", "lm-eval", &run, "--line", "nameless"]);
    }
    let compared = sandbox.run(&["compare", "nameless~1", "nameless"]);
    assert_eq!(compared.code, 2);
    assert!(compared.stdout.contains("1 question moved: 0"), "{}", compared.stdout);
}

#[test]
fn two_identical_runs_share_their_projection() {
    let sandbox = ledger();
    let first = imported("lm-eval", &fixture("lm_eval/round1"), &[]);
    let later = |text: &str| {
        let text = text.replace("\"date\": 1796041164.2387207", "\"date\": 1796099999.5");
        text.replace("\"total_evaluation_time_seconds\": \"20", "\"total_evaluation_time_seconds\": \"99")
    };
    let run = changed(&sandbox, |_, line| same(line), later);
    let (_, second) = sandbox.json(&["import", "lm-eval", &run, "--dry-run"]);
    assert_eq!(first["rounds"][0]["projection"], second["rounds"][0]["projection"]);
}

#[test]
fn several_tasks_are_several_receipts_in_one_commit() {
    let sandbox = ledger();
    let run = changed(
        &sandbox,
        |_, line| same(line),
        |text| {
            let mut results: Value = serde_json::from_str(text).unwrap();
            let configured = results["configs"]["ledger_qa"].clone();
            results["configs"]["Other QA"] = configured;
            results.to_string()
        },
    );
    let refusal = refused(&sandbox, &["import", "lm-eval", &run]);
    assert!(refusal.contains("there are no samples of the task `Other QA`"), "{refusal}");
    let samples = std::fs::read(sandbox.path("run/samples_ledger_qa_2026-11-30T12-19-24.809307.jsonl")).unwrap();
    sandbox.write("run/samples_Other QA_2026-11-30T12-19-24.809307.jsonl", samples);
    let (code, document) = sandbox.json(&["import", "lm-eval", &run, "--line", "ci"]);
    assert_eq!(code, 0, "{document:#}");
    crate::schema::check(&document);
    let rounds: Vec<_> =
        document["rounds"].as_array().unwrap().iter().map(|round| (&round["line"], &round["index"])).collect();
    assert_eq!(rounds, [(&json!("ci.other-qa"), &json!(1)), (&json!("ci.ledger_qa"), &json!(2))]);
    let (_, only) = sandbox.json(&["import", "lm-eval", &run, "--task", "Other QA", "--dry-run"]);
    assert_eq!(only["rounds"].as_array().unwrap().len(), 1);
    assert_eq!(sandbox.run(&["verify", "--replay"]).code, 0);
    let refusal = refused(&sandbox, &["import", "lm-eval", &run, "--task", "third"]);
    assert!(refusal.starts_with("error: no task of that name: third\n"), "{refusal}");
}

#[test]
fn limits_hold_and_can_be_raised() {
    let sandbox = ledger();
    let long = |at: usize, line: &str| match at {
        3 => line.replacen('{', &format!("{{\"pad\": \"{}\", ", "x".repeat(100_000)), 1),
        5 => line.replacen('{', &format!("{{\"deep\": {}{}, ", "[".repeat(200), "]".repeat(200)), 1),
        _ => same(line),
    };
    let run = changed(&sandbox, long, same);
    let small = ["import", "lm-eval", &run, "--max-sample-bytes", "50000", "--max-depth", "300"];
    let refusal = refused(&sandbox, &small);
    assert!(refusal.contains(".jsonl:4: the sample is larger than 50000 bytes\n"), "{refusal}");
    assert!(refusal.contains("hint: if you trust the file, raise the limit with --max-sample-bytes N\n"), "{refusal}");
    let refusal = refused(&sandbox, &["import", "lm-eval", &run]);
    assert!(refusal.contains(".jsonl:6: field `deep"), "{refusal}");
    assert!(refusal.contains("nested deeper than 128 levels"), "{refusal}");
    assert!(
        refusal.contains("hint: if you trust the file, raise the limit with --max-depth N, at most 512\n"),
        "{refusal}"
    );
    let refusal = refused(&sandbox, &["import", "lm-eval", &run, "--max-document-bytes", "100"]);
    assert!(refusal.contains(".json: the document is larger than 100 bytes\n"), "{refusal}");
    sandbox.ok(&["import", "lm-eval", &run, "--max-depth", "300"]);
    // A replay reads the same files under the same limits.
    assert_eq!(sandbox.run(&["verify", "--replay"]).code, 0);
}

#[test]
fn want_of_room_for_what_is_written_on_the_way_is_no_verdict_on_the_files() {
    let mut sandbox = ledger();
    let reply = "r".repeat(600_000);
    let tries = format!("\"resps\": [[\"{reply}\", \"{reply}\"]]");
    let row = |_: usize, line: &str| {
        let (before, rest) = line.split_once("\"resps\": [[").unwrap();
        let (_, after) = rest.split_once("]]").unwrap();
        format!("{before}{tries}{after}")
    };
    let run = changed(&sandbox, row, same);
    sandbox.ok(&["import", "lm-eval", &run]);
    let nowhere = sandbox.path("nowhere").display().to_string();
    sandbox.env("TMPDIR", &nowhere);
    for arguments in [&["import", "lm-eval", &run, "--dry-run"][..], &["verify", "--replay"]] {
        let failed = sandbox.run(arguments);
        assert_eq!((failed.code, failed.stdout.as_str()), (1, ""), "{}", failed.stderr);
        let says = "error: cannot write `a temporary file in [..]nowhere`\ncaused by: No such file or directory";
        let (before, after) = says.split_once("[..]").unwrap();
        assert!(
            failed.stderr.contains(before.trim_start_matches("error: ")) && failed.stderr.contains(after),
            "{}",
            failed.stderr
        );
    }
    // A ledger has room of its own.
    sandbox.ok(&["import", "lm-eval", &run, "--line", "second"]);
}

#[test]
fn what_is_not_there_or_not_known_is_refused() {
    let sandbox = ledger();
    sandbox.write("notes.txt", "nothing here");
    for (arguments, message) in [
        (vec!["import", "lm_eval", "notes.txt"], "unknown tool `lm_eval`; known: lm-eval, inspect, promptfoo"),
        (vec!["import", "auto", "notes.txt"], "error: it cannot be told which tool wrote these files: they look like"),
        (vec!["import", "lm-eval", "notes.txt"], "error: there is no `results_*.json` or `samples_*.jsonl` of lm-eval"),
        (vec!["import", "lm-eval", "notes.txt", "--allow-unknown", "seed"], "`seed` is nothing that can be unknown"),
    ] {
        let refusal = refused(&sandbox, &arguments);
        assert!(refusal.contains(message), "{arguments:?}: {refusal}");
    }
    let missing = sandbox.run(&["import", "lm-eval", "nowhere"]);
    assert_eq!(missing.code, 1);
    assert!(missing.stderr.starts_with("error: cannot read `nowhere`\ncaused by: No such file"), "{}", missing.stderr);
    let both = [fixture("lm_eval/round1"), fixture("lm_eval/round2")];
    let refusal = refused(&sandbox, &["import", "lm-eval", &both[0], &both[1]]);
    assert!(refusal.starts_with("error: there are the results of several runs: stub-model-a/results_"), "{refusal}");
    let cut = changed(&sandbox, |at, line| if at < 20 { same(line) } else { String::new() }, same);
    let refusal = refused(&sandbox, &["import", "lm-eval", &cut]);
    assert!(refusal.contains("holds 20 documents, and the results say that 24 were asked"), "{refusal}");
}

#[test]
fn originals_that_were_tampered_with_are_found_by_a_replay() {
    let sandbox = ledger();
    sandbox.ok(&["import", "lm-eval", &fixture("lm_eval/round1")]);
    // The derived evidence of another run under the first run's originals is what a forger would sign.
    let (_, report) = sandbox.json(&["verify", "--replay"]);
    assert_eq!(report["findings"], json!([]));
    for entry in walk(&sandbox.path(".ledger/objects")) {
        let bytes = std::fs::read(&entry).unwrap();
        if bytes.starts_with(b"{\"doc_id\"") {
            std::fs::write(
                &entry,
                String::from_utf8(bytes).unwrap().replacen("exact_match\": 0.0", "exact_match\": 1.0", 1),
            )
            .unwrap();
        }
    }
    let run = sandbox.run(&["verify", "--replay"]);
    assert_eq!(run.code, 3, "{}", run.stdout);
    assert!(run.stdout.contains("evidence-damaged"), "{}", run.stdout);
}

fn walk(folder: &std::path::Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}
