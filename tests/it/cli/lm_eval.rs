//! Real input end to end: what lm-evaluation-harness wrote becomes questions and answers; round 1 to 2 is a regression that
//! is named question by question, and round 2 to 3 is refused, naming the question that was changed.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::sandbox::Sandbox;

fn samples(round: u32) -> Vec<Value> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("fixtures/import/lm_eval/round{round}"));
    let model = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let file = std::fs::read_dir(model).unwrap().map(|entry| entry.unwrap().path());
    let file = file.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "jsonl")).unwrap();
    let lines = std::fs::read_to_string(file).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn jsonl(records: impl Iterator<Item = Value>) -> String {
    records.map(|record| format!("{record}\n")).collect()
}

/// A ledger with the three rounds on `main`.
pub fn three_rounds() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.ok(&["init", "--person", "ci"]);
    for round in 1..=3 {
        let samples = samples(round);
        assert_eq!(samples.len(), 24);
        let questions = samples.iter().map(|sample| {
            let doc = &sample["doc"];
            json!({"id": doc["id"], "cluster": doc["group"], "question": doc["question"], "expected": sample["target"]})
        });
        let answers = samples.iter().map(|sample| {
            json!({"id": sample["doc"]["id"], "reply": sample["filtered_resps"][0], "receipt": {"status": "answered"}})
        });
        let questions = sandbox.write(&format!("q{round}.jsonl"), jsonl(questions)).display().to_string();
        let answers = sandbox.write(&format!("a{round}.jsonl"), jsonl(answers)).display().to_string();
        sandbox.ok(&["append", "--questions", &questions, "--answers", &answers, "--scorer", "exact/v1"]);
    }
    sandbox
}

#[test]
fn round_two_regressed_and_round_three_cannot_be_compared() {
    let sandbox = three_rounds();
    let (code, report) = sandbox.json(&["compare", "main~2", "main~1"]);
    assert_eq!(code, 3);
    assert_eq!(report["regressed"], true);
    assert_eq!(report["comparable"], true);
    assert_eq!(report["reasons"], json!(["quality regressed: 0.750 -> 0.667"]));
    assert_eq!(report["base"]["scorecard"]["quality"], 18.0 / 24.0);
    assert_eq!(report["current"]["scorecard"]["quality"], 16.0 / 24.0);
    assert_eq!(report["flips"]["newlyFailing"], json!(["q02", "q13", "q21"]));
    assert_eq!(report["flips"]["newlyPassing"], json!(["q16"]));
    assert_eq!(report["statistics"]["mcnemar"]["twoSided"], 0.625);

    let refused = sandbox.run(&["compare"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stdout.contains("not comparable\n"), "{}", refused.stdout);
    assert!(refused.stdout.contains("1 question changed: q07"), "{}", refused.stdout);
    let (code, report) = sandbox.json(&["compare"]);
    assert_eq!((code, &report["comparable"], &report["regressed"]), (2, &json!(false), &json!(true)));

    let replies = sandbox.run(&["compare", "main~2", "main~1", "--replies"]).stdout;
    assert!(replies.contains("q13: newly failing\n  question  How many minutes are in 2 hours?"), "{replies}");
    assert!(replies.contains("base      “120”\n  current   “100”\n"), "{replies}");
}
