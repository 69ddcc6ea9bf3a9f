//! `proofmark import` of files that say two things of one count or verdict: refused, with file, place, field and both values.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::import::{fixture, imported, ledger, refused};
use super::sandbox::Sandbox;

/// The files below a folder of real outputs, by their names there.
fn files(folder: &str) -> Vec<(String, String)> {
    fn walk(folder: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
    }
    let root = PathBuf::from(fixture(folder));
    let name = |path: &Path| path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
    walk(&root).iter().map(|path| (name(path), std::fs::read_to_string(path).unwrap())).collect()
}

/// Writes the files of a folder of real outputs, each changed, and gives the folder.
fn copied(sandbox: &Sandbox, folder: &str, change: impl Fn(&str, &str) -> String) -> &'static str {
    for (name, text) in files(folder) {
        sandbox.write(&format!("in/{name}"), change(&name, &text));
    }
    "in"
}

/// The one real document of a folder.
fn document(folder: &str, ending: &str) -> Value {
    let entries = std::fs::read_dir(fixture(folder)).unwrap().map(|entry| entry.unwrap().path());
    let found = entries.into_iter().find(|path| path.to_str().unwrap().ends_with(ending)).unwrap();
    serde_json::from_slice(&std::fs::read(found).unwrap()).unwrap()
}

/// What is said of a changed document, which is refused.
fn said(sandbox: &Sandbox, tool: &str, name: &str, mut content: Value, change: impl FnOnce(&mut Value)) -> String {
    change(&mut content);
    sandbox.write(name, content.to_string());
    refused(sandbox, &["import", tool, name])
}

#[test]
fn junit_counts_that_are_not_those_of_the_cases() {
    let sandbox = ledger();
    let cases = "<testcase name=\"a\"/><testcase name=\"b\"><failure/><failure/></testcase>\
                 <testcase name=\"c\"><error/></testcase><testcase name=\"d\"><skipped/></testcase>";
    let suite = |attributes: &str, cases: &str| {
        sandbox
            .write("j.xml", format!("<testsuites><testsuite name=\"s\" {attributes}>{cases}</testsuite></testsuites>"));
    };
    for (attributes, message) in [
        ("tests=\"5\"", "`tests` of the testsuite `s` is 5, and its cases give 4"),
        ("failures=\"0\"", "`failures` of the testsuite `s` is 0, and its cases give 1"),
        ("errors=\"0\"", "`errors` of the testsuite `s` is 0, and its cases give 1"),
        ("skipped=\"2\"", "`skipped` of the testsuite `s` is 2, and its cases give 1"),
        ("failures=\"x\"", "`failures` of the suite must be a count, not `x`, at byte "),
    ] {
        suite(attributes, cases);
        let refusal = refused(&sandbox, &["import", "junit", "j.xml"]);
        assert!(refusal.starts_with(&format!("error: j.xml: {message}")), "{refusal}");
    }
    // Some tools count every failure of a case.
    for failures in [1, 2] {
        suite(&format!("tests=\"4\" failures=\"{failures}\" errors=\"1\" skipped=\"1\""), cases);
        assert_eq!(sandbox.run(&["import", "junit", "j.xml", "--dry-run"]).code, 0);
    }
    sandbox.write("j.xml", format!("<testsuites tests=\"3\"><testsuite name=\"s\">{cases}</testsuite></testsuites>"));
    let refusal = refused(&sandbox, &["import", "junit", "j.xml"]);
    assert_eq!(refusal, "error: j.xml: `tests` of the testsuites is 3, and its cases give 4\n");
    // pytest counts a case that passed and could not be cleaned up as a test that passed and one that errored.
    let torn = "<testcase name=\"a\"><error message=\"failed on teardown with &quot;E&quot;\"/></testcase>\
                <testcase name=\"b\"/>";
    suite("errors=\"1\" tests=\"3\"", torn);
    let (code, document) = sandbox.json(&["import", "junit", "j.xml", "--dry-run"]);
    assert_eq!((code, &document["rounds"][0]["card"]["n"]), (0, &json!(2)), "{document:#}");
}

#[test]
fn junit_cases_that_say_otherwise_than_what_is_in_them() {
    let sandbox = ledger();
    let case = |case: &str| {
        sandbox.write("j.xml", format!("<testsuite name=\"s\"><testcase name=\"a\"/>{case}</testsuite>"));
    };
    case("<testcase name=\"b\" status=\"failed\"/>");
    let refusal = refused(&sandbox, &["import", "junit", "j.xml"]);
    let message = "field `status`: says `failed`, and what is in the case gives pass";
    assert_eq!(refusal, format!("error: j.xml, row 2: {message}\n"));
    case("<testcase name=\"b\" result=\"passed\"><failure/></testcase>");
    let refusal = refused(&sandbox, &["import", "junit", "j.xml"]);
    assert!(refusal.contains("says `passed`, and what is in the case gives fail"), "{refusal}");
    // GoogleTest writes no element for what did not run.
    case("<testcase name=\"b\" status=\"notrun\" result=\"suppressed\"/>");
    let (_, document) = sandbox.json(&["import", "junit", "j.xml", "--dry-run"]);
    assert_eq!(document["rounds"][0]["states"]["skipped"], 1, "{document:#}");
    case("<testcase name=\"b\" status=\"run\" result=\"completed\"><failure/></testcase>");
    let (_, document) = sandbox.json(&["import", "junit", "j.xml", "--dry-run"]);
    assert_eq!(document["rounds"][0]["states"]["fail"], 1, "{document:#}");
}

#[test]
fn junit_documents_with_more_than_one_root_or_cases_without_names() {
    let sandbox = ledger();
    let suite = "<testsuite name=\"s\"><testcase name=\"a\"/></testsuite>";
    for (document, message) in [
        (format!("{suite}rest"), ": has text outside of its root element, before byte "),
        (format!("rest{suite}"), ": has text outside of its root element, before byte "),
        (format!("{suite}\0"), ": has text outside of its root element, before byte "),
        (format!("{suite}<![CDATA[rest]]>"), ": has text outside of its root element, before byte "),
        (format!("{suite}{suite}"), ": has a second root element at byte "),
        (format!("{suite}<testsuite/>"), ": has a second root element at byte "),
        ("<testsuite><testcase classname=\"c\"/></testsuite>".to_owned(), ", row 1: field `name`: is missing\n"),
    ] {
        sandbox.write("j.xml", &document);
        let refusal = refused(&sandbox, &["import", "junit", "j.xml"]);
        assert!(refusal.starts_with(&format!("error: j.xml{message}")), "{document}: {refusal}");
    }
    sandbox.write("j.xml", format!("<?xml version=\"1.0\"?>\n<!-- before -->\n{suite}\n<!-- after -->\n"));
    assert_eq!(sandbox.run(&["import", "junit", "j.xml", "--dry-run"]).code, 0);
}

/// Where nothing says how often tests were asked, one that stands there twice was written twice.
#[test]
fn promptfoo_rows_that_stand_there_twice_are_no_tries() {
    let sandbox = ledger();
    let rows = std::fs::read_to_string(fixture("promptfoo/round2/results.jsonl")).unwrap();
    let first = rows.lines().next().unwrap();
    sandbox.write("results.jsonl", format!("{rows}{first}\n"));
    let refusal = refused(&sandbox, &["import", "promptfoo", "results.jsonl"]);
    assert!(refusal.contains("results.jsonl:1 and results.jsonl:25"), "{refusal}");
    // All of them twice are two tries of each.
    sandbox.write("results.jsonl", format!("{rows}{rows}"));
    let (_, document) = sandbox.json(&["import", "promptfoo", "results.jsonl", "--dry-run"]);
    assert_eq!(document["rounds"][0]["card"]["n"], 24, "{document:#}");
    // What is said of the repeats is believed, and what is not there of them is told.
    let mut all = document_of_two_tries();
    all["results"]["results"].as_array_mut().unwrap().pop();
    sandbox.write("results.json", all.to_string());
    let (_, document) = sandbox.json(&["import", "promptfoo", "results.json", "--dry-run"]);
    let remarks = document["rounds"][0]["remarks"].to_string();
    assert!(remarks.contains("1 of these tries are not in the files, and count as wrong"), "{document:#}");
}

fn document_of_two_tries() -> Value {
    let mut all = document("promptfoo/round1", "results.json");
    let rows = all["results"]["results"].as_array().unwrap().clone();
    all["results"]["results"] = [rows.clone(), rows].concat().into();
    all["runtimeOptions"] = json!({"repeat": 2});
    all["results"].as_object_mut().unwrap().remove("stats");
    all
}

#[test]
fn promptfoo_statistics_and_verdicts_that_are_not_those_of_the_rows() {
    let sandbox = ledger();
    let real = || document("promptfoo/round1", "results.json");
    let refusal = |change: &dyn Fn(&mut Value)| said(&sandbox, "promptfoo", "results.json", real(), change);
    let both = refusal(&|all| {
        all["results"]["stats"]["successes"] = json!(24);
        all["results"]["stats"]["failures"] = json!(0);
    });
    assert_eq!(both, "error: results.json: field `results.stats.successes`: says 24, and the results give 18\n");
    let errors = refusal(&|all| {
        all["results"]["stats"]["failures"] = json!(5);
        all["results"]["stats"]["errors"] = json!(1);
    });
    assert_eq!(errors, "error: results.json: field `results.stats.failures`: says 5, and the results give 6\n");
    let word = refusal(&|all| all["results"]["stats"]["errors"] = json!("0"));
    assert_eq!(word, "error: results.json: field `results.stats.errors`: must be a count, not \"0\"\n");
    let passed = refusal(&|all| all["results"]["results"][0]["gradingResult"]["pass"] = json!(false));
    let message = "field `gradingResult.pass`: says false, and `success` is true";
    assert_eq!(passed, format!("error: results.json, row 1: {message}\n"));
    let failed = refusal(&|all| all["results"]["results"][1]["failureReason"] = json!(1));
    assert_eq!(failed, "error: results.json, row 2: field `failureReason`: says 1, and `success` is true\n");
    // What compares the replies of several rows is judged when everything was counted already.
    let mut all = real();
    for row in all["results"]["results"].as_array_mut().unwrap() {
        row["testCase"]["assert"] = json!([{"type": "max-score"}]);
    }
    all["results"]["stats"]["successes"] = json!(24);
    all["results"]["stats"]["failures"] = json!(0);
    sandbox.write("results.json", all.to_string());
    assert_eq!(sandbox.run(&["import", "promptfoo", "results.json", "--dry-run"]).code, 0);
}

/// The real aggregate and its samples, changed, in a folder. The checksum is made anew.
fn aggregate(sandbox: &Sandbox, samples: impl Fn(&str) -> String, change: impl Fn(&mut Value)) -> &'static str {
    let found = files("every_eval_ever/round1/from_inspect/ledger_qa/example-org/stub-model-a");
    for (name, text) in &found {
        if name.ends_with(".jsonl") {
            sandbox.write(&format!("in/{name}"), samples(text));
            continue;
        }
        let mut document: Value = serde_json::from_str(text).unwrap();
        let rows = found.iter().find(|(name, _)| name.ends_with(".jsonl")).unwrap();
        let digest = proofmark::object::Sha256::of(samples(&rows.1).as_bytes());
        document["detailed_evaluation_results"]["checksum"] = json!(digest.to_string());
        change(&mut document);
        sandbox.write(&format!("in/{name}"), document.to_string());
    }
    "in"
}

#[test]
fn every_eval_ever_verdicts_scores_and_digests() {
    let sandbox = ledger();
    let same = |text: &str| text.to_owned();
    let nothing = |_: &mut Value| {};
    let refusal = |folder: &str| refused(&sandbox, &["import", "every-eval-ever", folder]);
    let (right, wrong) = ("\"score\": 1.0, \"is_correct\": true", "\"score\": 0.0, \"is_correct\": false");
    for (from, to, message) in [
        (
            right,
            "\"score\": 0.0, \"is_correct\": true",
            "field `evaluation.is_correct`: says true, and `evaluation.score` is 0",
        ),
        (
            wrong,
            "\"score\": 1.0, \"is_correct\": false",
            "field `evaluation.is_correct`: says false, and `evaluation.score` is 1",
        ),
        (right, "\"score\": \"1.0\", \"is_correct\": true", "field `evaluation.score`: must be a number"),
        (right, "\"score\": [1], \"is_correct\": true", "field `evaluation.score`: must be a number"),
        (right, "\"score\": 1.0, \"is_correct\": \"true\"", "field `evaluation.is_correct`: must be true or false"),
        (
            "\"model_id\": \"example-org/stub-model-a\"",
            "\"model_id\": \"b\"",
            "field `model_id`: says `b`, and its aggregate `example-org/stub-model-a`",
        ),
        ("\"evaluation_id\": \"", "\"evaluation_id\": \"x", "field `evaluation_id`: says `xledger_qa/"),
    ] {
        // Both ways of adding up are kept as the aggregate says them, so that the row itself is what is wrong.
        let change = |text: &str| text.replacen(from, to, 1);
        let text =
            refusal(aggregate(&sandbox, change, |all| all["evaluation_results"][0]["score_details"] = json!({})));
        assert!(text.contains("_samples.jsonl:") && text.contains(message), "{text}");
    }
    let score = |all: &mut Value| all["evaluation_results"][0]["score_details"]["score"] = json!(0.9);
    let text = refusal(aggregate(&sandbox, same, score));
    assert!(text.ends_with(".json: field `score_details.score`: says 0.9, and the samples give 0.75\n"), "{text}");
    let detail = |name: &'static str, value: Value| {
        move |all: &mut Value| all["detailed_evaluation_results"][name] = value.clone()
    };
    let text = refusal(aggregate(&sandbox, same, detail("hash_algorithm", json!("md5"))));
    let message =
        "field `detailed_evaluation_results.hash_algorithm`: must be `sha256`, which alone is checked, not \"md5\"";
    assert!(text.contains(message), "{text}");
    let text = refusal(aggregate(&sandbox, same, detail("hash_algorithm", json!(null))));
    assert!(text.contains("hash_algorithm`: is missing beside a checksum"), "{text}");
    let text = refusal(aggregate(&sandbox, same, detail("checksum", json!("9e107d9d372bb6826bd81d3542a419d6"))));
    assert!(text.contains("checksum`: must be the 64 hexadecimal digits of a SHA-256, not `9e107d9d"), "{text}");
    let text = refusal(aggregate(&sandbox, same, detail("total_rows", json!("24"))));
    assert!(text.contains("field `detailed_evaluation_results.total_rows`: must be a count, not \"24\""), "{text}");
    assert_eq!(sandbox.run(&["import", "every-eval-ever", aggregate(&sandbox, same, nothing), "--dry-run"]).code, 0);
}

#[test]
fn deepeval_counts_and_verdicts_that_are_not_those_of_the_metrics() {
    let sandbox = ledger();
    let real = || document("deepeval/round1", "54.json");
    let refusal = |change: &dyn Fn(&mut Value)| said(&sandbox, "deepeval", "test_run_1.json", real(), change);
    let text = refusal(&|run| run["testCases"][3]["success"] = json!(true));
    assert_eq!(text, "error: test_run_1.json, row 4: field `success`: says true, and its metrics give false\n");
    let text = refusal(&|run| run["testCases"][0]["success"] = json!(false));
    assert_eq!(text, "error: test_run_1.json, row 1: field `success`: says false, and its metrics give true\n");
    let text = refusal(&|run| run["testCases"][0]["success"] = json!("true"));
    assert_eq!(text, "error: test_run_1.json, row 1: field `success`: must be true or false\n");
    let text = refusal(&|run| run["testCases"][0]["metricsData"][0]["score"] = json!("NaN"));
    let message = "field `metricsData.success`: says true, and `metricsData.score` is NaN";
    assert_eq!(text, format!("error: test_run_1.json, row 1: {message}\n"));
    let text = refusal(&|run| run["testFailed"] = json!(5));
    assert_eq!(text, "error: test_run_1.json: field `testFailed`: says 5, and the test cases give 6\n");
    let text = refusal(&|run| run["metricsScores"][0]["passes"] = json!(19));
    assert_eq!(
        text,
        "error: test_run_1.json: field `metricsScores.Exact.passes`: says 19, and the test cases give 18\n"
    );
    // A traced span may have failed the case: it is failed then, although its own metrics passed.
    let mut run = real();
    run["testCases"][0]["success"] = json!(false);
    run["testCases"][0]["trace"] = json!({"agentSpans": []});
    (run["testPassed"], run["testFailed"]) = (json!(17), json!(7));
    sandbox.write("test_run_1.json", run.to_string());
    let (_, document) = sandbox.json(&["import", "deepeval", "test_run_1.json", "--dry-run"]);
    assert_eq!(document["rounds"][0]["states"]["fail"], 7, "{document:#}");
}

#[test]
fn inspect_results_that_are_not_those_of_the_samples() {
    let sandbox = ledger();
    let real = || document("inspect_ai/round1", ".json");
    let refusal = |change: &dyn Fn(&mut Value)| said(&sandbox, "inspect", "log.json", real(), change);
    let text = refusal(&|log| log["results"]["total_samples"] = json!(25));
    assert_eq!(text, "error: log.json: field `results.total_samples`: says 25, and the samples give 24\n");
    let text = refusal(&|log| log["results"]["completed_samples"] = json!(23));
    assert_eq!(text, "error: log.json: field `results.completed_samples`: says 23, and the samples give 24\n");
    let text = refusal(&|log| log["results"]["scores"][0]["metrics"]["accuracy"]["value"] = json!(0.875));
    assert_eq!(text, "error: log.json: field `metrics.accuracy.value`: says 0.875, and the samples give 0.75\n");
    let text = refusal(&|log| log["eval"]["config"] = json!({"epochs": 2, "epochs_reducer": ["best"]}));
    assert_eq!(text, "error: log.json: field `eval.config.epochs_reducer`: `best` is not known\n");
    // Of fewer tries than are drawn, every question would be right.
    let text = refusal(&|log| log["eval"]["config"] = json!({"epochs": 3, "epochs_reducer": ["pass_at_4"]}));
    let message = "field `eval.config.epochs_reducer`: `pass_at_4` draws 4 tries, and there are 3\n";
    assert_eq!(text, format!("error: log.json: {message}"));
    let text = refusal(&|log| log["eval"]["config"] = json!({"epochs": 2, "epochs_reducer": "at_least_0"}));
    assert_eq!(text, "error: log.json: field `eval.config.epochs_reducer`: `at_least_0` is not known\n");
    let text = refusal(&|log| log["samples"][2]["epoch"] = json!(2));
    assert_eq!(text, "error: log.json, row 3: field `samples.epoch`: is 2, and the epochs are 1 to 1\n");
}

#[test]
fn lm_eval_means_that_are_not_those_of_the_samples() {
    let sandbox = ledger();
    let change = |from: &'static str, to: &'static str| {
        move |name: &str, text: &str| if name.contains("results_") { text.replace(from, to) } else { text.to_owned() }
    };
    let mean = "\"exact_match,none\": 0.75";
    copied(&sandbox, "lm_eval/round1", change(mean, "\"exact_match,none\": 0.875"));
    let text = refused(&sandbox, &["import", "lm-eval", "in"]);
    let message = "field `results.ledger_qa.exact_match,none`: says 0.875, and the samples give 0.75\n";
    assert!(text.ends_with(message), "{text}");
    copied(&sandbox, "lm_eval/round1", change("\"effective\": 24", "\"effective\": \"24\""));
    let text = refused(&sandbox, &["import", "lm-eval", "in"]);
    assert!(text.ends_with("field `n-samples.ledger_qa.effective`: must be a count, not \"24\"\n"), "{text}");
    // Another aggregation may be made of all rows at once.
    copied(&sandbox, "lm_eval/round1", |name, text| {
        let text = change(mean, "\"exact_match,none\": 0.875")(name, text);
        change("\"aggregation\": \"mean\"", "\"aggregation\": \"f1\"")(name, &text)
    });
    assert_eq!(sandbox.run(&["import", "lm-eval", "in", "--dry-run"]).code, 0);
}

#[test]
fn lm_eval_metrics_of_which_less_is_better_filters_and_results_that_are_none() {
    let sandbox = ledger();
    let refusal = |change: &dyn Fn(&str, &str) -> String| {
        copied(&sandbox, "lm_eval/round1", change);
        refused(&sandbox, &["import", "lm-eval", "in"])
    };
    let in_results = |name: &str, text: &str, change: &dyn Fn(&mut Value)| {
        if !name.contains("results_") {
            return text.to_owned();
        }
        let mut document: Value = serde_json::from_str(text).unwrap();
        change(&mut document);
        document.to_string()
    };
    let text = refusal(&|name, text| {
        in_results(name, text, &|all| {
            all["configs"]["ledger_qa"]["metric_list"][0]["higher_is_better"] = json!(false);
        })
    });
    assert!(text.ends_with("less of the metric `exact_match` is better, so it judges no reply right\n"), "{text}");
    for nothing in [json!({}), json!([]), json!({"results": []})] {
        let text = refusal(&|name, text| in_results(name, text, &|all| *all = nothing.clone()));
        assert!(text.ends_with("field `results`: must be there, and an object: these are no results\n"), "{text}");
    }
    let text =
        refusal(&|name, text| in_results(name, text, &|all| all["n-samples"]["ledger_qa"]["original"] = json!(20)));
    assert!(text.ends_with("field `n-samples.ledger_qa.original`: says 20, and the samples give 24\n"), "{text}");
    let text = refusal(&|name, text| {
        in_results(name, text, &|all| all["results"]["ledger_qa"]["exact_match,none"] = json!("0.75"))
    });
    assert!(text.ends_with("field `results.ledger_qa.exact_match,none`: must be a number, not \"0.75\"\n"), "{text}");
    let filter = "\"filter\": \"none\"";
    for (other, message) in [
        ("\"filter\": 7", ":1: field `filter`: must be a text\n"),
        ("\"filter\": [\"none\"]", ":1: field `filter`: must be a text\n"),
        ("\"filter\": null", ":1: field `filter`: is missing, and other rows name one\n"),
        ("\"filtered\": 0", ":1: field `filter`: is missing, and other rows name one\n"),
    ] {
        let text = refusal(&|name, text| {
            if name.contains("samples_") { text.replacen(filter, other, 1) } else { text.to_owned() }
        });
        assert!(text.ends_with(message), "{text}");
    }
    // Files of an old version name none at all.
    copied(&sandbox, "lm_eval/round1", |_, text| text.replace(filter, "\"filtered\": 0"));
    assert_eq!(sandbox.run(&["import", "lm-eval", "in", "--dry-run"]).code, 0);
}

#[test]
fn mlflow_metrics_that_are_none_and_scores_and_costs_of_other_types() {
    let sandbox = ledger();
    let metric = |name: &'static str, line: &'static str| {
        copied(&sandbox, "mlflow/round1/mlruns", move |file, text| {
            if file.ends_with(name) { format!("{text}{line}\n") } else { text.to_owned() }
        })
    };
    let refusal = || refused(&sandbox, &["import", "mlflow", "in"]);
    let form = "must be `TIME VALUE STEP`, a whole number, a number and a whole number\n";
    for line in ["garbage", "1 x 0", "1 0.75", "1.5 0.75 0", "1 0.75 0 dataset"] {
        metric("exact/mean", line);
        assert!(refusal().ends_with(&format!("metrics/exact/mean:2: {form}")), "{line}");
    }
    copied(&sandbox, "mlflow/round1/mlruns", |_, text| {
        if text.contains("\nstatus: 3") { format!("{text}status: 4\n") } else { text.to_owned() }
    });
    assert!(refusal().ends_with("meta.yaml: says its `status` more than once\n"));
    metric("accuracy_step", "nothing");
    assert!(refusal().ends_with(&format!("metrics/accuracy_step:3: {form}")), "every metric of the run");
    // The line of the last step counts, wherever it stands.
    copied(&sandbox, "mlflow/round1/mlruns", |file, text| {
        if file.ends_with("exact/mean") { format!("1796042580137 0.5 7\n{text}") } else { text.to_owned() }
    });
    assert!(refusal().ends_with("metrics/exact/mean: says 0.5, and the table gives 0.75\n"));
    metric("exact/mean", "1796042580138 nan 1");
    assert!(refusal().ends_with("metrics/exact/mean: says NaN, and the table gives 0.75\n"));
    for (from, to, message) in [
        ("\"12\",\"12\",1.0]", "\"12\",\"12\",1.5]", "row 1: field `data`: a score must be a number from 0 to 1\n"),
        ("\"12\",\"12\",1.0]", "\"12\",\"12\",\"1.0\"]", "row 1: field `data`: a score must be a number from 0 to 1\n"),
        ("\"12\",\"12\",1.0]", "\"12\",\"12\",[1]]", "row 1: field `data`: a score must be a number from 0 to 1\n"),
        ("\"confidence\"", "\"cost\"", ""),
        ("\"12\",\"12\",1.0]", "\"12\",1.0]", "row 1: field `data`: has 5 cells, and the header 6\n"),
    ] {
        copied(&sandbox, "mlflow/round1/mlruns", |_, text| text.replacen(from, to, 1));
        if message.is_empty() {
            // A column of costs, one of which is none.
            copied(&sandbox, "mlflow/round1/mlruns", |_, text| {
                text.replacen(from, to, 1).replacen("\"What is 9 - 4?\",0.89", "\"What is 9 - 4?\",-0.89", 1)
            });
            let text = refusal();
            assert!(text.ends_with("row 2: field `data`: a cost must be a number, at least 0\n"), "{text}");
            continue;
        }
        let text = refusal();
        assert!(text.contains("eval_results_table.json, row ") && text.ends_with(message), "{text}");
    }
}

#[test]
fn tables_whose_columns_say_two_things() {
    let sandbox = ledger();
    for (table, message) in [
        ("id,state,correct\nq1,pass,no\n", "t.csv:2: field `correct`: says `no`, and the state is `pass`"),
        ("id,state,correct\nq1,errored,yes\n", "t.csv:2: field `correct`: says `yes`, and the state is `errored`"),
        ("id,state,correct\nq1,pass,perhaps\n", "t.csv:2: field `correct`: says `perhaps`, and the state is `pass`"),
        ("id,state,score\nq1,pass,0\n", "t.csv:2: field `score`: is 0, and the row says that it is `pass`"),
        ("id,correct,score\nq1,no,1\n", "t.csv:2: field `score`: is 1, and the row says that it is `fail`"),
        ("id,state,score\nq1,skipped,0.5\n", "t.csv:2: field `score`: is 0.5, and the row says that it is `skipped`"),
    ] {
        sandbox.write("t.csv", table);
        let refusal = refused(&sandbox, &["import", "csv", "t.csv"]);
        assert_eq!(refusal, format!("error: {message}\n"));
    }
    sandbox.write(
        "t.csv",
        "id,state,correct,score\nq1,pass,yes,0.8\nq2,fail,no,0.4\nq3,errored,no,0\nq4,partial,no,0.5\n",
    );
    assert_eq!(sandbox.run(&["import", "csv", "t.csv", "--dry-run"]).code, 0);
}

const CANARY: &str = "sk-canary";

/// Imports two folders that differ in keys only. They stand nowhere but in the originals, and change nothing.
fn no_key_stays(tool: &str, folder: &str, with: impl Fn(&str, &str, &str) -> String, unknown: &[&str]) {
    let sandbox = ledger();
    let mut told = String::new();
    for key in [format!("{CANARY}-1"), format!("{CANARY}-2")] {
        copied(&sandbox, folder, |name, text| with(&key, name, text));
        if tool == "mlflow" {
            let run = files(folder).into_iter().find(|(name, _)| name.ends_with("params/model")).unwrap().0;
            sandbox.write(&format!("in/{}", run.replace("params/model", "params/OPENAI_API_KEY")), &key);
            let settings = format!("{{\"temperature\": 0, \"api_key\": \"{key}\"}}");
            sandbox.write(&format!("in/{}", run.replace("params/model", "params/settings")), settings);
        }
        told.push_str(&sandbox.ok(&["import", tool, "in"]));
        for revision in ["@:projection", "@:import", "@:questions", "@:answers", "@:judgements"] {
            told.push_str(&sandbox.ok(&["cat", revision]));
        }
        told.push_str(&sandbox.ok(&["show", "@"]));
    }
    let allowed: Vec<_> = unknown.iter().flat_map(|field| ["--allow-unknown", *field]).collect();
    let compared = sandbox.run(&["compare"].into_iter().chain(allowed).collect::<Vec<_>>());
    assert_eq!(compared.code, 0, "{tool}: {}", compared.stdout);
    told.push_str(&compared.stdout);
    assert!(!told.contains(CANARY), "{tool}: {told}");
    assert!(told.contains("temperature"), "{tool}: the setting beside the key stays: {told}");
    let projections: Vec<_> = ["#1", "#2"].map(|one| sandbox.ok(&["cat", &format!("{one}:projection")])).into();
    assert_eq!(projections[0], projections[1], "{tool}");
    assert_eq!(sandbox.run(&["verify", "--replay"]).code, 0);
}

#[test]
fn keys_in_the_files_of_lm_eval_mlflow_and_every_eval_ever_are_not_told() {
    no_key_stays(
        "lm-eval",
        "lm_eval/round1",
        |key, name, text| {
            if !name.contains("results_") {
                return text.replace("\"do_sample\": false", &format!("\"do_sample\": false, \"api_key\": \"{key}\""));
            }
            let mut all: Value = serde_json::from_str(text).unwrap();
            all["config"]["gen_kwargs"] = json!(format!("temperature=0,api_key={key}"));
            all["configs"]["ledger_qa"]["generation_kwargs"]["extra_headers"] = json!({"x-api-key": key});
            all["configs"]["ledger_qa"]["metric_list"][0]["hf_token"] = json!(key);
            all.to_string()
        },
        &[],
    );
    no_key_stays("mlflow", "mlflow/round1/mlruns", |_, _, text| text.to_owned(), &[]);
    no_key_stays(
        "every-eval-ever",
        "every_eval_ever/round1/from_lm_eval",
        |key, name, text| {
            if name.ends_with(".jsonl") {
                return text.to_owned();
            }
            let mut all: Value = serde_json::from_str(text).unwrap();
            let result = &mut all["evaluation_results"][0];
            result["generation_config"]["generation_args"]["api_key"] = json!(key);
            result["generation_config"]["additional_details"]["headers"] = json!(format!("{{\"x\": \"{key}\"}}"));
            result["metric_config"]["additional_details"] = json!({"judge": {"token": key}});
            all["eval_library"]["additional_details"] = json!({"password": key});
            all.to_string()
        },
        &[],
    );
}

/// A prompt of 17 MiB is read where the limit is raised, and so is the record that is made of it.
#[test]
fn a_raised_limit_governs_the_records_as_well() {
    let sandbox = ledger();
    let prompt = "p".repeat(17 << 20);
    for round in 1..=2 {
        let table = format!(
            "id,question,expected,reply,correct,generation,model,scorer,configuration\nq1,{prompt},1,1,yes,t,m,s,c\n"
        );
        sandbox.write("t.csv", table);
        let refusal = refused(&sandbox, &["import", "csv", "t.csv"]);
        assert!(refusal.starts_with("error: t.csv:2: the sample is larger than 16777216 bytes\n"), "{refusal}");
        sandbox.ok(&["import", "csv", "t.csv", "--max-sample-bytes", "20000000"]);
        assert_eq!(sandbox.run(&["compare", "main", "main", "--allow-unknown", "cost"]).code, 0, "{round}");
    }
    assert_eq!(sandbox.run(&["verify", "--replay"]).code, 0);
}

#[test]
fn real_files_of_every_tool_contradict_themselves_nowhere() {
    for (tool, folder) in [
        ("lm-eval", "lm_eval/round"),
        ("promptfoo", "promptfoo/round"),
        ("deepeval", "deepeval/round"),
        ("mlflow", "mlflow/round"),
        ("junit", "pytest_junit/round"),
        ("every-eval-ever", "every_eval_ever/round"),
    ] {
        for round in 1..=3 {
            imported(tool, &fixture(&format!("{folder}{round}")), &[]);
        }
    }
    for variant in ["errors_tolerated", "epochs3", "limit20"] {
        imported("inspect", &fixture(&format!("inspect_ai/variants/{variant}")), &[]);
    }
}
