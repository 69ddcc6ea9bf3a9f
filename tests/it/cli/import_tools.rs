//! `proofmark import` with what every other tool wrote: the three rounds, and each tool's traps.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::import::{fixture, imported, ledger, refused};
use super::sandbox::Sandbox;

/// The one file of a folder of real outputs that ends so.
fn file(folder: &str, ending: &str) -> String {
    let entries = std::fs::read_dir(fixture(folder)).unwrap().map(|entry| entry.unwrap().path());
    let found: Vec<PathBuf> = entries.filter(|path| path.to_str().unwrap().ends_with(ending)).collect();
    assert_eq!(found.len(), 1, "{folder}: {found:?}");
    found[0].display().to_string()
}

/// Imports three rounds and compares them: 1 to 2 regressed, 2 to 3 is refused and names what changed.
fn three_rounds(
    tool: &str,
    path: impl Fn(u32) -> String,
    allow: &[&str],
    names: [&str; 3],
    changed: Option<&str>,
) -> Sandbox {
    let sandbox = ledger();
    for round in 1..=3 {
        sandbox.ok(&["import", tool, &path(round)]);
    }
    let allowed: Vec<_> = allow.iter().flat_map(|field| ["--allow-unknown", *field]).collect();
    let compare = |base, current, more: &[&str]| {
        let arguments: Vec<_> = ["compare", base, current].into_iter().chain(more.iter().copied()).collect();
        sandbox.json(&arguments)
    };
    if !allow.is_empty() {
        let run = sandbox.run(&["compare", "main~2", "main~1"]);
        assert_eq!(run.code, 2);
        let hint = format!("to compare although this is unknown: {}\n", allowed.join(" "));
        assert!(run.stdout.contains(&hint), "{tool}: {}", run.stdout);
    }
    let (code, report) = compare("main~2", "main~1", &allowed);
    assert_eq!(code, 3, "{tool}: {report:#}");
    crate::schema::check(&report);
    assert_eq!(report["base"]["scorecard"]["quality"], 18.0 / 24.0);
    assert_eq!(report["current"]["scorecard"]["quality"], 16.0 / 24.0);
    assert_eq!(report["flips"]["newlyFailing"], json!(names), "{tool}");
    let (code, report) = compare("main~1", "main", &allowed);
    match changed {
        Some(name) => {
            assert_eq!(code, 2, "{tool}: {report:#}");
            let named = json!({"kind": "questions-changed", "total": 1, "names": [name]});
            assert!(report["differences"].as_array().unwrap().contains(&named), "{tool}: {report:#}");
        }
        // Names alone do not show that a question was re-worded.
        None => assert_eq!((code, &report["comparable"]), (0, &json!(true)), "{tool}: {report:#}"),
    }
    let (code, verified) = sandbox.json(&["verify", "--replay"]);
    assert_eq!((code, &verified["findings"]), (0, &json!([])), "{tool}");
    // The originals go along in a dossier, and are read again there.
    sandbox.ok(&["dossier", "main", "-o", "main.dossier"]);
    let (code, verified) = sandbox.json(&["verify", "main.dossier", "--replay"]);
    let replay = verified["axes"].as_array().unwrap().iter().find(|axis| axis["axis"] == "replay").unwrap();
    assert_eq!((code, &replay["counts"]["originalsRead"]), (0, &json!(1)), "{tool}: {verified:#}");
    sandbox
}

const FAILING: [&str; 3] = ["q02", "q13", "q21"];

fn round_of(document: &Value) -> &Value {
    &document["rounds"][0]
}

#[test]
fn inspect_logs() {
    three_rounds("inspect", |round| file(&format!("inspect_ai/round{round}"), ".eval"), &[], FAILING, Some("q07"));
    let json = imported("inspect", &file("inspect_ai/round1", ".json"), &[]);
    let eval = imported("inspect", &file("inspect_ai/round1", ".eval"), &[]);
    // Two runs of the same thing, packed in two ways.
    assert_eq!(round_of(&json)["projection"], round_of(&eval)["projection"]);
    assert_eq!(round_of(&json)["model"], "stub-model-a-2026-09-01");
}

#[test]
fn errors_that_inspect_tolerated_stay_in_the_denominator() {
    let document = imported("inspect", &file("inspect_ai/variants/errors_tolerated", ".eval"), &[]);
    let round = round_of(&document);
    assert_eq!((&round["card"]["n"], &round["card"]["quality"]), (&json!(24), &json!(16.0 / 24.0)));
    assert_eq!(round["states"]["errored"], 4);
    assert_eq!(round["card"]["grounded_fraction"], 20.0 / 24.0);
    assert_eq!(round["remarks"], json!(["4 of 24 errored, which counts as not right"]));
}

#[test]
fn epochs_are_tries_of_one_question() {
    let document = imported("inspect", &file("inspect_ai/variants/epochs3", ".eval"), &[]);
    let round = round_of(&document);
    assert_eq!((&round["card"]["n"], &round["card"]["quality"]), (&json!(24), &json!(0.625)));
    assert_eq!((&round["states"]["pass"], &round["states"]["partial"]), (&json!(13), &json!(3)));
    assert_eq!(round["remarks"][0], "each question was asked 3 times, reduced by mean");
    let once = imported("inspect", &file("inspect_ai/round2", ".eval"), &[]);
    assert_ne!(round["scorer"], round_of(&once)["scorer"], "repeats are a condition");
}

#[test]
fn a_limited_run_says_so() {
    let document = imported("inspect", &file("inspect_ai/variants/limit20", ".eval"), &[]);
    let round = round_of(&document);
    assert_eq!((&round["card"]["n"], &round["planned"]), (&json!(20), &json!(24)));
    assert_eq!(round["remarks"], json!(["a limited run: 20 of 24 questions"]));
}

/// The real log as a JSON value, changed, in the sandbox.
fn changed_log(sandbox: &Sandbox, change: impl FnOnce(&mut Value)) -> String {
    let text = std::fs::read(file("inspect_ai/round1", ".json")).unwrap();
    let mut log: Value = serde_json::from_slice(&text).unwrap();
    change(&mut log);
    sandbox.write("log.json", log.to_string());
    "log.json".to_owned()
}

#[test]
fn judges_are_named_and_a_judge_that_was_swapped_is_another_scorer() {
    let sandbox = ledger();
    let judge = |model: &'static str| {
        move |log: &mut Value| {
            log["eval"]["model_roles"] = json!({"grader": {"model": model}});
            log["eval"]["scorers"][0]["options"] = json!({"model": model});
        }
    };
    for model in ["lab/judge-1", "lab/judge-2"] {
        let log = changed_log(&sandbox, judge(model));
        let text = sandbox.ok(&["import", "inspect", &log]);
        assert!(text.contains(&format!("  judge grader: {model}\n")), "{text}");
    }
    let compared = sandbox.run(&["compare"]);
    assert_eq!(compared.code, 2);
    let said = "configuration.judges.grader differs: \"lab/judge-1\" != \"lab/judge-2\"";
    assert!(compared.stdout.contains(said), "{}", compared.stdout);
}

#[test]
fn inspect_logs_that_are_not_whole_are_refused_or_say_so() {
    let sandbox = ledger();
    let started = changed_log(&sandbox, |log| log["status"] = json!("started"));
    let refusal = refused(&sandbox, &["import", "inspect", &started]);
    assert!(refusal.contains("has the status `started`, so the log is incomplete"), "{refusal}");
    let wrong = changed_log(&sandbox, |log| log["reductions"][0]["samples"][0]["value"] = json!(0.0));
    let refusal = refused(&sandbox, &["import", "inspect", &wrong]);
    assert!(refusal.contains("field `reductions`: says 0 of `q01`, and its samples give 1"), "{refusal}");
    let twice = changed_log(&sandbox, |log| {
        let first = log["samples"][0].clone();
        log["samples"].as_array_mut().unwrap().push(first);
    });
    let refusal = refused(&sandbox, &["import", "inspect", &twice]);
    assert_eq!(refusal, "error: the sample `q01` stands there twice: log.json, row 1 and log.json, row 25\n");
    let lost = changed_log(&sandbox, |log| {
        log["samples"].as_array_mut().unwrap().remove(3);
        log["status"] = json!("cancelled");
    });
    let (code, document) = sandbox.json(&["import", "inspect", &lost]);
    assert_eq!(code, 0, "{document:#}");
    let round = round_of(&document);
    assert_eq!((&round["card"]["n"], &round["states"]["missing"]), (&json!(24), &json!(1)));
    let facts: Vec<_> = round["unknown"].as_array().unwrap().iter().map(|unknown| &unknown["field"]).collect();
    assert_eq!(facts, ["cost", "prompts", "references"]);

    // A killed run leaves a zip without header: here all but the header is copied.
    let bytes = std::fs::read(file("inspect_ai/round1", ".eval")).unwrap();
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for at in 0..archive.len() {
        let entry = archive.by_index_raw(at).unwrap();
        if entry.name() != "header.json" {
            writer.raw_copy_file(entry).unwrap();
        }
    }
    sandbox.write("killed.eval", writer.finish().unwrap().into_inner());
    let refusal = refused(&sandbox, &["import", "inspect", "killed.eval"]);
    assert!(
        refusal.contains("killed.eval: has no header, so the run was killed and the log is incomplete"),
        "{refusal}"
    );
    sandbox.write("cut.eval", &std::fs::read(file("inspect_ai/round1", ".eval")).unwrap()[..20_000]);
    let refusal = refused(&sandbox, &["import", "inspect", "cut.eval"]);
    assert!(refusal.starts_with("error: cut.eval: is not a whole zip archive"), "{refusal}");
}

#[test]
fn zip_bombs_are_refused_unless_the_limit_is_raised() {
    let sandbox = ledger();
    let bomb = |name: &str, bytes: usize, entries: usize| {
        let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Zstd);
        for at in 0..entries {
            writer.start_file(format!("samples/q{at}_epoch_1.json"), options).unwrap();
            std::io::Write::write_all(&mut writer, &vec![b' '; bytes]).unwrap();
        }
        sandbox.write(name, writer.finish().unwrap().into_inner());
    };
    bomb("one.eval", (16 << 20) + 1, 1);
    assert!(std::fs::metadata(sandbox.path("one.eval")).unwrap().len() < 10_000);
    let refusal = refused(&sandbox, &["import", "inspect", "one.eval"]);
    assert!(
        refusal.contains("one.eval: samples/q0_epoch_1.json: the sample is larger than 16777216 bytes"),
        "{refusal}"
    );
    assert!(refusal.contains("--max-sample-bytes N"), "{refusal}");
    bomb("many.eval", 1 << 20, 5);
    let limited = ["import", "inspect", "many.eval", "--max-document-bytes", "3000000"];
    let refusal = refused(&sandbox, &limited);
    assert!(refusal.contains("the archive is larger than 3000000 bytes"), "{refusal}");
    assert!(refusal.contains("--max-document-bytes N"), "{refusal}");
    let raised = ["import", "inspect", "one.eval", "--max-sample-bytes", "99000000"];
    let refusal = refused(&sandbox, &raised);
    assert!(refusal.contains("the text ends inside a value"), "{refusal}");
}

#[test]
fn promptfoo_results() {
    three_rounds("promptfoo", |round| fixture(&format!("promptfoo/round{round}")), &[], FAILING, Some("q07"));
    let rows = |round| fixture(&format!("promptfoo/round{round}/results.jsonl"));
    three_rounds("promptfoo", rows, &["generation"], FAILING, Some("q07"));
}

/// The real results as a JSON value, changed, in the sandbox.
fn changed_results(sandbox: &Sandbox, change: impl FnOnce(&mut Value)) -> String {
    let text = std::fs::read(fixture("promptfoo/variants/scorer_changed/results.json")).unwrap();
    let mut results: Value = serde_json::from_slice(&text).unwrap();
    change(&mut results);
    sandbox.write("results.json", results.to_string());
    "results.json".to_owned()
}

#[test]
fn promptfoo_traps() {
    let sandbox = ledger();
    let refusal = refused(&sandbox, &["import", "promptfoo", &fixture("promptfoo/variants/empty_tests")]);
    assert!(refusal.contains("nothing was measured: of 1 items none was judged"), "{refusal}");
    sandbox.ok(&["import", "promptfoo", &fixture("promptfoo/variants/scorer_changed")]);
    // Repeats stand there as rows of their own, and are none.
    let repeated = changed_results(&sandbox, |results| {
        let rows = results["results"]["results"].as_array_mut().unwrap();
        let mut again = rows.clone();
        for (at, row) in again.iter_mut().enumerate() {
            row["testIdx"] = json!(24 + at);
            row["success"] = json!(at > 0);
            row["gradingResult"]["pass"] = json!(at > 0);
            row["failureReason"] = json!(u8::from(at == 0));
        }
        rows.extend(again);
        results["runtimeOptions"]["repeat"] = json!(2);
        results["results"]["stats"] = json!({"successes": 47, "failures": 1, "errors": 0});
    });
    let (code, document) = sandbox.json(&["import", "promptfoo", &repeated, "--dry-run"]);
    assert_eq!(code, 0, "{document:#}");
    let round = round_of(&document);
    assert_eq!((&round["card"]["n"], &round["card"]["quality"]), (&json!(24), &json!(23.5 / 24.0)));
    assert_eq!(round["remarks"][0], "each test was asked 2 times and counts once");
    let unsaid = changed_results(&sandbox, |results| {
        let rows = results["results"]["results"].as_array_mut().unwrap();
        rows.push(rows[0].clone());
        results["results"]["stats"]["successes"] = json!(25);
    });
    let refusal = refused(&sandbox, &["import", "promptfoo", &unsaid]);
    assert_eq!(refusal, "error: the test `q01` stands there twice: results.json, row 1 and results.json, row 25\n");
    let cut = changed_results(&sandbox, |results| _ = results["results"]["results"].as_array_mut().unwrap().pop());
    let refusal = refused(&sandbox, &["import", "promptfoo", &cut]);
    assert!(refusal.contains("results.json: field `results.stats`: says 24, and the results give 23"), "{refusal}");

    let judged = changed_results(&sandbox, |results| {
        for row in results["results"]["results"].as_array_mut().unwrap() {
            row["testCase"]["options"] = json!({"provider": "lab:judge-2"});
            row["cost"] = json!(0.25);
        }
    });
    let (_, document) = sandbox.json(&["import", "promptfoo", &judged]);
    assert_eq!(round_of(&document)["card"]["realized_cost"], 6.0);
    let compared = sandbox.run(&["compare"]);
    assert_eq!(compared.code, 2);
    assert!(
        compared.stdout.contains("configuration.options differs: [{}] != [{\"provider\":\"lab:judge-2\"}]"),
        "{}",
        compared.stdout
    );
    assert!(
        compared.stdout.contains("not comparable: unknown in the base round: the cost (cost)"),
        "{}",
        compared.stdout
    );
    let errored = changed_results(&sandbox, |results| {
        let row = &mut results["results"]["results"][0];
        row["failureReason"] = json!(2);
        row["error"] = json!("provider refused");
        row["success"] = json!(false);
        results["results"]["stats"]["successes"] = json!(23);
        results["results"]["stats"]["errors"] = json!(1);
    });
    let (_, document) = sandbox.json(&["import", "promptfoo", &errored, "--dry-run"]);
    assert_eq!(round_of(&document)["states"]["errored"], 1);
}

#[test]
fn every_eval_ever_files() {
    let inspect = |round| fixture(&format!("every_eval_ever/round{round}/from_inspect"));
    three_rounds("every-eval-ever", inspect, &[], FAILING, Some("q07"));
    // Converted from lm-evaluation-harness, questions have no names but their places.
    let lm_eval = |round| fixture(&format!("every_eval_ever/round{round}/from_lm_eval"));
    three_rounds("every-eval-ever", lm_eval, &[], ["1", "12", "20"], Some("6"));
    let both = imported("auto", &fixture("every_eval_ever/round1"), &[]);
    let tasks: Vec<_> =
        both["rounds"].as_array().unwrap().iter().map(|round| round["task"].as_str().unwrap()).collect();
    assert_eq!(
        (both["tool"].as_str(), tasks),
        (Some("every-eval-ever"), vec!["ledger_qa.inspect", "ledger_qa.lm_eval"])
    );
}

/// An aggregate and its samples in the sandbox, the samples changed.
fn aggregate(sandbox: &Sandbox, change: impl Fn(&str) -> String) {
    let folder = fixture("every_eval_ever/round1/from_inspect/ledger_qa/example-org/stub-model-a");
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let text = std::fs::read_to_string(&entry).unwrap();
        let name = format!("eee/{}", entry.file_name().unwrap().to_str().unwrap());
        sandbox.write(&name, if name.ends_with(".jsonl") { change(&text) } else { text });
    }
}

#[test]
fn an_aggregate_commits_to_its_samples() {
    let sandbox = ledger();
    aggregate(&sandbox, |text| text.replacen("\"is_correct\": true", "\"is_correct\": false", 1));
    let refusal = refused(&sandbox, &["import", "every-eval-ever", "eee"]);
    assert!(refusal.contains("_samples.jsonl: has the SHA-256 "), "{refusal}");
    aggregate(&sandbox, |text| text.lines().skip(1).map(|line| format!("{line}\n")).collect());
    let refusal = refused(&sandbox, &["import", "every-eval-ever", "eee"]);
    assert!(refusal.contains("holds 23 rows, and its aggregate says 24"), "{refusal}");
    let lonely = std::fs::read_dir(sandbox.path("eee")).unwrap().map(|entry| entry.unwrap().path());
    lonely.filter(|path| path.extension().unwrap() == "jsonl").for_each(|path| std::fs::remove_file(path).unwrap());
    let refusal = refused(&sandbox, &["import", "every-eval-ever", "eee"]);
    assert!(refusal.contains("are not beside it, so its numbers follow from nothing"), "{refusal}");
}

#[test]
fn deepeval_runs() {
    three_rounds("deepeval", |round| fixture(&format!("deepeval/round{round}")), &[], FAILING, Some("q07"));
    let sandbox = ledger();
    let run = file("deepeval/round1", ".json");
    let mut document: Value = serde_json::from_slice(&std::fs::read(&run).unwrap()).unwrap();
    document["testPassed"] = json!(19);
    sandbox.write("test_run_1.json", document.to_string());
    let refusal = refused(&sandbox, &["import", "deepeval", "test_run_1.json"]);
    assert!(refusal.contains("test_run_1.json: field `testPassed`: says 19, and the test cases give 18"), "{refusal}");
    document["testPassed"] = json!(18);
    for case in document["testCases"].as_array_mut().unwrap() {
        case["metricsData"] = json!([]);
    }
    sandbox.write("test_run_1.json", document.to_string());
    let refusal = refused(&sandbox, &["import", "deepeval", "test_run_1.json"]);
    // Without a metric there is nothing by which it would be told to be DeepEval's.
    assert!(refusal.contains("nothing was measured") || refusal.contains("there is no test run"), "{refusal}");
    let (_, first) = sandbox.json(&["import", "deepeval", &run, "--dry-run"]);
    assert_eq!(round_of(&first)["card"]["realized_cost"], (0..24).fold(0.0, |sum, _| sum + 1e-5));
    let refusal = refused(&sandbox, &["import", "deepeval", &run, "--metric", "Other"]);
    assert!(refusal.starts_with("error: no case has the metric `Other`"), "{refusal}");
}

#[test]
fn mlflow_runs() {
    three_rounds("mlflow", |round| fixture(&format!("mlflow/round{round}")), &["generation"], FAILING, Some("q07"));
    let sandbox = ledger();
    let copy = |change: &dyn Fn(&str, &str) -> String| {
        let root = PathBuf::from(fixture("mlflow/round1/mlruns"));
        for path in walk(&root) {
            let name = path.strip_prefix(&root).unwrap().to_str().unwrap();
            let text = std::fs::read_to_string(&path).unwrap();
            sandbox.write(&format!("mlruns/{name}"), change(name, &text));
        }
    };
    copy(&|name, text| if name.ends_with("exact/mean") { text.replace("0.75", "0.76") } else { text.to_owned() });
    let refusal = refused(&sandbox, &["import", "mlflow", "mlruns"]);
    assert!(refusal.contains("metrics/exact/mean: says 0.76, and the table gives 0.75"), "{refusal}");
    copy(&|_, text| text.replace("status: 3", "status: 4"));
    let refusal = refused(&sandbox, &["import", "mlflow", "mlruns"]);
    assert!(refusal.contains("has the status 4, so the run did not finish"), "{refusal}");
    copy(&|_, text| text.replace("exact\\/score", "exact"));
    let refusal = refused(&sandbox, &["import", "mlflow", "mlruns"]);
    assert!(refusal.contains("has no column that ends in `/score`, so nothing was judged"), "{refusal}");
}

fn walk(folder: &std::path::Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

#[test]
fn junit_files_rest_on_names_only() {
    let allow = ["configuration", "generation", "prompts", "references"];
    let sandbox = three_rounds("junit", |round| fixture(&format!("pytest_junit/round{round}")), &allow, FAILING, None);
    let (_, shown) = sandbox.json(&["show", "main"]);
    let shown = shown.to_string();
    assert!(shown.contains("identity rests on names only: the files hold no question text"), "{shown}");
    assert!(shown.contains("{\"field\":\"prompts\"}"), "{shown}");
    let refusal = refused(&sandbox, &["import", "junit", &fixture("pytest_junit/variants/none_collected")]);
    assert!(refusal.contains("nothing was measured: of 0 items none was judged"), "{refusal}");
    let of_promptfoo = imported("junit", &fixture("promptfoo/round1/results.junit.xml"), &[]);
    assert_eq!(round_of(&of_promptfoo)["card"]["quality"], 0.75);
}

#[test]
fn junit_states_and_refusals() {
    let sandbox = ledger();
    let suite = |tests: usize, cases: &str| {
        sandbox.write(
            "j.xml",
            format!("<testsuites><testsuite name=\"s\" tests=\"{tests}\">{cases}</testsuite></testsuites>"),
        );
    };
    suite(
        4,
        "<testcase classname=\"c\" name=\"a\"/><testcase classname=\"c\" name=\"b\"><error/></testcase>\
         <testcase classname=\"c\" name=\"d\"><skipped/></testcase>\
         <testcase classname=\"c\" name=\"e\"><failure/><flakyFailure/></testcase>",
    );
    let (code, document) = sandbox.json(&["import", "junit", "j.xml", "--dry-run"]);
    assert_eq!(code, 0, "{document:#}");
    let states = &round_of(&document)["states"];
    assert_eq!([&states["pass"], &states["errored"], &states["skipped"], &states["fail"]], [1, 1, 1, 1]);
    assert_eq!(round_of(&document)["card"]["quality"], 0.25);
    suite(3, "<testcase name=\"a\"/>");
    let refusal = refused(&sandbox, &["import", "junit", "j.xml"]);
    assert!(refusal.contains("j.xml: `tests` of the testsuite `s` is 3, and its cases give 1"), "{refusal}");
    suite(2, "<testcase name=\"a\"/><testcase name=\"a\"/>");
    let refusal = refused(&sandbox, &["import", "junit", "j.xml"]);
    assert_eq!(refusal, "error: `a` stands there twice: j.xml, row 1 and j.xml, row 2\n");
    for (text, message) in [
        (
            "<!DOCTYPE x [<!ENTITY a \"b\">]><testsuite/>".to_owned(),
            "has a document type declaration, which is not read",
        ),
        ("<testsuite><testcase name=\"a\">".to_owned(), "ends inside an element"),
        ("<testsuite></testcase>".to_owned(), "is not XML at byte"),
        (format!("<testsuite>{}", "<a>".repeat(200)), "nested deeper than 128 levels"),
    ] {
        sandbox.write("j.xml", text);
        let refusal = refused(&sandbox, &["import", "junit", "j.xml"]);
        assert!(refusal.contains(message), "{refusal}");
    }
}

const TABLE: &str = "\
id,question,expected,reply,correct,cost,model,scorer,configuration,generation,notes
q1,What is 2+2?,4,4,true,0.5,m-1,exact,strict,t=0,
q2,\"Name, please\",Ada,\"Ada, of course\",false,0.25,m-1,exact,strict,t=0,x
q3,Say it,\"a \"\"b\"\"\",,false,0.25,m-1,exact,strict,t=0,
";

#[test]
fn tables() {
    let sandbox = ledger();
    sandbox.write("t.csv", TABLE);
    let text = sandbox.ok(&["import", "auto", "t.csv"]);
    assert!(text.contains("recognised: csv\n") && text.contains("  columns not read: notes\n"), "{text}");
    assert!(!text.contains("unknown: "), "{text}");
    let (_, shown) = sandbox.json(&["show", "main"]);
    assert_eq!(shown["statement"]["predicate"]["card"]["realized_cost"], 1);
    sandbox.write(
        "t.csv",
        TABLE.replace("q2,\"Name, please\",Ada,\"Ada, of course\",false", "q2,\"Name, please\",Ada,Bob,true"),
    );
    sandbox.ok(&["import", "csv", "t.csv"]);
    assert_eq!(sandbox.run(&["compare"]).code, 0);
    sandbox.write("t.csv", TABLE.replace("t=0", "t=1"));
    sandbox.ok(&["import", "csv", "t.csv"]);
    let compared = sandbox.run(&["compare"]);
    assert_eq!(compared.code, 2);
    assert!(compared.stdout.contains("generation.given differs: \"t=0\" != \"t=1\""), "{}", compared.stdout);
    assert_eq!(sandbox.run(&["verify", "--replay"]).code, 0);
    for (table, message) in [
        ("id,question\nq1,x\n", "t.csv:1: no column says how a question was judged"),
        ("id,correct\nq1,maybe\n", "t.csv:2: field `correct`: must be true or false"),
        ("id,score\nq1,2\n", "t.csv:2: field `score`: must be from 0 to 1"),
        ("id,score\nq1,x\n", "t.csv:2: field `score`: must be a number"),
        ("id,state\nq1,meh\n", "t.csv:2: field `state`: must be one of pass, fail"),
        ("id,correct\nq1\n", "t.csv:2: has 1 fields, and the header 2"),
        ("id,correct\nq1,true\nq1,true\n", "`q1` stands there twice: t.csv:2 and t.csv:3"),
        ("question,correct\nx,true\nx,false\n", "the question stands there twice: t.csv:2 and t.csv:3"),
        ("id,correct\n", "nothing was measured: of 0 items"),
        ("id,correct,cost\nq1,true,-1\n", "field `cost`: must not be negative"),
        ("id,correct,cost\nq1,true,1e400\n", "t.csv:2: field `cost`: is too large"),
        ("id,score\nq1,1\nq2,1e400\n", "t.csv:3: field `score`: must be from 0 to 1"),
        ("id,score\nq1,1\nq2,inf\n", "t.csv:3: field `score`: must be from 0 to 1"),
        ("id,score\nq1,1\nq2,-inf\n", "t.csv:3: field `score`: must be from 0 to 1"),
        ("id,correct,score\nq1,1,inf\n", "t.csv:2: field `score`: must be from 0 to 1"),
        // A quote that is not closed would take the rows that follow for text.
        ("id,correct,reply\nq1,1,\"yes\nq2,0,no\nq3,0,no\n", "t.csv:2: a quoted field begins here and is not closed"),
        ("id,correct,reply\nq1,1,a\nq2,0,\"\"\"\n", "t.csv:3: a quoted field begins here and is not closed"),
        ("id,correct,\"reply\nq1,1,yes\n", "t.csv:1: a quoted field begins here and is not closed"),
        (
            "id,correct,reply\nq1,1,\"a\nb\"c\nq2,0,\"no\"\n",
            "t.csv:3: a quoted field is closed, and text follows the quote",
        ),
        ("id,correct,reply,correct\nq1,1,a,0\n", "t.csv:1: columns 2 `correct` and 4 `correct` have the same name"),
        ("id,Correct,reply, correct\nq1,1,a,0\n", "t.csv:1: columns 2 `Correct` and 4 `correct` have the same name"),
        ("id,id,correct\nq1,q1,1\n", "t.csv:1: columns 1 `id` and 2 `id` have the same name"),
    ] {
        sandbox.write("t.csv", table);
        let refusal = refused(&sandbox, &["import", "csv", "t.csv"]);
        assert!(refusal.contains(message), "{table}: {refusal}");
    }
    // Quotes that are as they should be, CRLF, and a NaN, which is no score.
    sandbox.write("t.csv", "\"id\",\"score\",reply\r\nq1,1,\"a\r\n\"\"b\"\"\"\r\nq2,0,5\" wide\r\nq3,NaN,\"\"");
    let (_, document) = sandbox.json(&["import", "csv", "t.csv", "--line", "quoted"]);
    let states = &document["rounds"][0]["states"];
    assert_eq!(
        (&states["pass"], &states["fail"], &states["unscored"]),
        (&1.into(), &1.into(), &1.into()),
        "{document}"
    );
    let long = format!("id,correct,reply\nq1,true,{}\n", "x".repeat(1000));
    sandbox.write("t.csv", long);
    let refusal = refused(&sandbox, &["import", "csv", "t.csv", "--max-sample-bytes", "500"]);
    assert!(refusal.contains("the sample is larger than 500 bytes"), "{refusal}");
}

#[test]
fn mixle_documents_are_judged_again_and_their_cards_checked() {
    let sandbox = ledger();
    let vectors: Value = serde_json::from_str(include_str!("../../../fixtures/vectors/mixle_evaluate.json")).unwrap();
    let case = vectors["cases"].as_array().unwrap().iter().find(|case| case["pairs"].as_array().unwrap().len() == 8);
    let case = case.unwrap().clone();
    sandbox.write("m.json", case.to_string());
    let (code, document) = sandbox.json(&["import", "auto", "m.json"]);
    assert_eq!((code, &document["tool"]), (0, &json!("mixle")), "{document:#}");
    let card = &round_of(&document)["card"];
    for member in ["quality", "grounded_fraction", "n"] {
        assert_eq!(card[member], case["scorecard"][member], "{member}");
    }
    assert_eq!(sandbox.run(&["verify", "--replay"]).code, 0);
    for (member, value, message) in [
        ("quality", json!(0.875), "field `scorecard.quality`: says 0.875, and the pairs and answers give 0.625"),
        ("question_set_id", json!("a"), "field `scorecard.question_set_id`: says a, and"),
    ] {
        let mut wrong = case.clone();
        wrong["scorecard"][member] = value;
        sandbox.write("m.json", wrong.to_string());
        let refusal = refused(&sandbox, &["import", "mixle", "m.json"]);
        assert!(refusal.contains(message), "{refusal}");
    }
    let mut short = case.clone();
    short["answers"].as_array_mut().unwrap().pop();
    sandbox.write("m.json", short.to_string());
    let refusal = refused(&sandbox, &["import", "mixle", "m.json"]);
    assert!(refusal.contains("field `answers`: holds 7 answers for 8 pairs"), "{refusal}");
}

#[test]
fn files_of_several_tools_are_not_guessed_at() {
    let sandbox = ledger();
    for (name, from) in
        [("a.eval", file("inspect_ai/round1", ".eval")), ("test_run_1.json", file("deepeval/round1", ".json"))]
    {
        sandbox.write(&format!("mixed/{name}"), std::fs::read(from).unwrap());
    }
    let refusal = refused(&sandbox, &["import", "auto", "mixed"]);
    assert_eq!(
        refusal,
        "error: it cannot be told which tool wrote these files: they look like those of inspect and deepeval\n\
         hint: name the tool: `proofmark import TOOL PATH…`\n"
    );
}
