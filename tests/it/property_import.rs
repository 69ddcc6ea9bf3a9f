//! What holds for every importer: shuffled rows give the same card and projection, one expected answer changed gives another
//! identity, and files that were cut off or damaged are refused or read, and never more than that.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use proofmark::import::{Options, Original, Rendered, Texts, Tool, read, render};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Files by their names.
type Files = BTreeMap<String, Vec<u8>>;

/// Puts rows together to files.
type Assemble = Box<dyn Fn(&[Value]) -> Files>;

/// A tool's files taken apart into rows, and how they are put together again.
struct Case {
    tool: Tool,
    rows: Vec<Value>,
    files: Assemble,
    /// Changes the expected answer of a row; where a tool has none, what stands for the question.
    change: fn(&mut Value),
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/import").join(name)
}

fn one(folder: &str, ending: &str) -> (String, Vec<u8>) {
    let entries = std::fs::read_dir(fixture(folder)).unwrap().map(|entry| entry.unwrap().path());
    let path = entries.into_iter().find(|path| path.to_str().unwrap().ends_with(ending)).unwrap();
    (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(path).unwrap())
}

fn document(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

fn lines(rows: &[Value]) -> Vec<u8> {
    rows.iter().map(|row| format!("{row}\n")).collect::<String>().into_bytes()
}

fn parsed(bytes: &[u8]) -> Vec<Value> {
    std::str::from_utf8(bytes).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A document whose rows stand in the list at this pointer.
fn listed(tool: Tool, name: &str, mut whole: Value, pointer: &'static str, change: fn(&mut Value)) -> Case {
    let rows = whole.pointer_mut(pointer).unwrap().as_array_mut().map(std::mem::take).unwrap();
    let name = name.to_owned();
    let files = move |rows: &[Value]| {
        let mut whole = whole.clone();
        *whole.pointer_mut(pointer).unwrap() = Value::from(rows.to_vec());
        Files::from([(name.clone(), whole.to_string().into_bytes())])
    };
    Case { tool, rows, files: Box::new(files), change }
}

fn lm_eval() -> Case {
    let folder = "lm_eval/round1/stub-model-a";
    let (results, samples) = (one(folder, ".json"), one(folder, ".jsonl"));
    let rows = parsed(&samples.1);
    let files = move |rows: &[Value]| Files::from([results.clone(), (samples.0.clone(), lines(rows))]);
    Case { tool: Tool::LmEval, rows, files: Box::new(files), change: |row| row["target"] = json!("other") }
}

fn inspect() -> Case {
    let mut log = document(&one("inspect_ai/round1", ".json").1);
    for sample in log["samples"].as_array_mut().unwrap() {
        sample["events"] = json!([]);
    }
    listed(Tool::Inspect, "log.json", log, "/samples", |row| row["target"] = json!("other"))
}

fn promptfoo() -> Case {
    let results = document(&one("promptfoo/round1", "results.json").1);
    listed(Tool::Promptfoo, "results.json", results, "/results/results", |row| {
        row["testCase"]["vars"]["answer"] = json!("other");
    })
}

fn every_eval_ever() -> Case {
    let folder = "every_eval_ever/round1/from_inspect/ledger_qa/example-org/stub-model-a";
    let (aggregate, samples) = (one(folder, "86.json"), one(folder, ".jsonl"));
    let mut whole = document(&aggregate.1);
    // The aggregate commits to the order of its samples.
    whole["detailed_evaluation_results"].as_object_mut().unwrap().remove("checksum");
    let rows = parsed(&samples.1);
    let files = move |rows: &[Value]| {
        Files::from([(aggregate.0.clone(), whole.to_string().into_bytes()), (samples.0.clone(), lines(rows))])
    };
    let change = |row: &mut Value| row["input"]["reference"] = json!(["other"]);
    Case { tool: Tool::EveryEvalEver, rows, files: Box::new(files), change }
}

fn deepeval() -> Case {
    let (name, bytes) = one("deepeval/round1", ".json");
    listed(Tool::Deepeval, &name, document(&bytes), "/testCases", |row| row["expectedOutput"] = json!("other"))
}

fn mlflow() -> Case {
    let root = fixture("mlflow/round1/mlruns");
    let kept: Files = walk(&root)
        .into_iter()
        .map(|path| (path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned(), std::fs::read(path).unwrap()))
        .collect();
    let table = kept.keys().find(|name| name.ends_with("eval_results_table.json")).unwrap().clone();
    let whole = document(&kept[&table]);
    let rows = whole["data"].as_array().unwrap().clone();
    let files = move |rows: &[Value]| {
        let mut files = kept.clone();
        let mut whole = whole.clone();
        whole["data"] = Value::from(rows.to_vec());
        files.insert(table.clone(), whole.to_string().into_bytes());
        files
    };
    Case { tool: Tool::Mlflow, rows, files: Box::new(files), change: |row| row[3] = json!("other") }
}

fn junit() -> Case {
    let rows = (1..=24).map(|at| json!({"name": format!("t[q{at:02}]"), "fails": at % 4 == 0})).collect();
    let files = |rows: &[Value]| {
        let case = |row: &Value| {
            let (name, fails) = (row["name"].as_str().unwrap(), row["fails"] == true);
            let inner = if fails { "<failure message=\"no\"/>" } else { "" };
            format!("<testcase classname=\"c\" name=\"{name}\">{inner}</testcase>")
        };
        let cases: String = rows.iter().map(case).collect();
        let text =
            format!("<testsuites><testsuite name=\"s\" tests=\"{}\">{cases}</testsuite></testsuites>", rows.len());
        Files::from([("junit.xml".to_owned(), text.into_bytes())])
    };
    Case { tool: Tool::Junit, rows, files: Box::new(files), change: |row| row["name"] = json!("t[other]") }
}

fn csv() -> Case {
    let rows =
        (1..=24).map(|at| json!([format!("q{at:02}"), format!("{at}+1?"), at + 1, at + 1, at % 4 > 0])).collect();
    let files = |rows: &[Value]| {
        let cell = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let row = |row: &Value| row.as_array().unwrap().iter().map(cell).collect::<Vec<_>>().join(",") + "\n";
        let text = "id,question,expected,reply,correct\n".to_owned() + &rows.iter().map(row).collect::<String>();
        Files::from([("t.csv".to_owned(), text.into_bytes())])
    };
    Case { tool: Tool::Csv, rows, files: Box::new(files), change: |row| row[2] = json!("other") }
}

fn mixle() -> Case {
    let row = |at: usize| {
        let pair = json!({"query": {"text": format!("{at}+1?"), "task": "sum"}, "expected": (at + 1).to_string()});
        let reply = if !at.is_multiple_of(4) { (at + 1).to_string() } else { "no idea".to_owned() };
        json!([pair, {"reply": reply, "receipt": {"status": "answered", "spend": {"frontier_calls": at}}}])
    };
    let rows = (1..=24).map(row).collect();
    let files = |rows: &[Value]| {
        let column = |at: usize| rows.iter().map(|row| row[at].clone()).collect::<Vec<_>>();
        let text = json!({"pairs": column(0), "answers": column(1)}).to_string();
        Files::from([("m.json".to_owned(), text.into_bytes())])
    };
    Case { tool: Tool::Mixle, rows, files: Box::new(files), change: |row| row[0]["expected"] = json!("other") }
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

fn cases() -> [Case; 9] {
    [lm_eval(), inspect(), promptfoo(), every_eval_ever(), deepeval(), mlflow(), junit(), csv(), mixle()]
}

fn rendered(tool: Tool, files: &Files) -> Result<Rendered, String> {
    let originals: Vec<_> = files.iter().map(|(name, bytes)| Original::held(name.as_str(), bytes.clone())).collect();
    let said = |error: &dyn std::fmt::Display| error.to_string();
    let rounds = read(tool, &originals, &Options::default()).map_err(|error| said(&error))?;
    rounds.iter().map(|round| render(round, &Texts::Kept)).next().unwrap().map_err(|error| said(&error))
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() }
}

#[test]
fn every_tool_has_its_case() {
    assert_eq!(cases().map(|case| case.tool), Tool::ALL);
}

#[test]
fn shuffled_rows_give_the_same_card_and_projection() {
    for case in cases() {
        let first = rendered(case.tool, &(case.files)(&case.rows)).unwrap();
        assert_eq!(first.card.n(), 24, "{}", case.tool);
        assert_eq!(first.card.quality(), 0.75, "{}", case.tool);
        proptest!(config(), |(rows in Just(case.rows.clone()).prop_shuffle())| {
            let other = rendered(case.tool, &(case.files)(&rows)).unwrap();
            prop_assert_eq!(&first.card, &other.card, "{}", case.tool);
            prop_assert_eq!(&first.projection, &other.projection, "{}", case.tool);
        });
    }
}

#[test]
fn one_expected_answer_changed_gives_another_identity() {
    for case in cases() {
        let first = rendered(case.tool, &(case.files)(&case.rows)).unwrap();
        proptest!(config(), |(at in 0..case.rows.len())| {
            let mut rows = case.rows.clone();
            (case.change)(&mut rows[at]);
            let other = rendered(case.tool, &(case.files)(&rows)).unwrap();
            prop_assert_eq!(&first.scorer, &other.scorer, "{}", case.tool);
            prop_assert_ne!(first.card.question_set_id(), other.card.question_set_id(), "{}", case.tool);
        });
    }
}

#[test]
fn files_that_were_cut_off_never_give_the_whole_card() {
    for case in cases() {
        let files = (case.files)(&case.rows);
        let first = rendered(case.tool, &files).unwrap();
        let largest = files.iter().max_by_key(|(_, bytes)| bytes.len()).map(|(name, _)| name.clone()).unwrap();
        proptest!(config(), |(share in 0.0..0.99f64)| {
            let mut files = files.clone();
            let bytes = files.get_mut(&largest).unwrap();
            bytes.truncate((bytes.len() as f64 * share) as usize);
            if let Ok(cut) = rendered(case.tool, &files) {
                prop_assert_ne!(cut.card.question_set_id(), first.card.question_set_id(), "{}", case.tool);
            }
        });
    }
}

#[test]
fn bytes_of_any_kind_are_refused_or_read() {
    for case in cases() {
        let files = (case.files)(&case.rows);
        proptest!(config(), |(at in any::<prop::sample::Index>(), place in any::<prop::sample::Index>(), byte in any::<u8>())| {
            let mut files = files.clone();
            let name = files.keys().nth(at.index(files.len())).unwrap().clone();
            let bytes = files.get_mut(&name).unwrap();
            if !bytes.is_empty() {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
            drop(rendered(case.tool, &files));
        });
    }
}
