//! `proofmark abstain`: suggestions and abstentions, every limit and word of which is the policy's.

use serde_json::json;

use super::sandbox::Sandbox;
use crate::schema;

const REPLIES: &str = "\
{\"label\":4,\"confidence\":0.93,\"quality\":\"good\",\"ms\":12}
{\"label\":4,\"confidence\":1.0,\"quality\":\"poor\"}
{\"label\":4,\"confidence\":0.9}
{\"label\":\"soft\",\"confidence\":0.69,\"quality\":\"fair\"}
{\"label\":null,\"quality\":\"good\"}
not json
{\"label\":4,\"confidence\":\"0.9\",\"quality\":\"good\"}
";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("r.jsonl", REPLIES);
    sandbox
}

#[test]
fn each_reply_is_one_line_with_its_reason_and_the_policys_words() {
    let sandbox = sandbox();
    let run = sandbox.run(&["abstain", "--policy", "default/v1", "--replies", "r.jsonl"]);
    assert_eq!(run.code, 0);
    assert_eq!(
        run.stderr,
        "7 replies under default/v1 (floor 0.7): 1 suggestions, 2 malformed, 1 poor-quality, 1 quality-unknown, 1 no-suggestion, 1 low-confidence\n"
    );
    let lines: Vec<serde_json::Value> = run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0], json!({"line": 1, "outcome": "suggestion", "label": 4, "confidence": 0.93}));
    let reasons: Vec<_> = lines[1..].iter().map(|line| line["reason"].as_str().unwrap()).collect();
    assert_eq!(
        reasons,
        ["poor-quality", "quality-unknown", "low-confidence", "no-suggestion", "malformed", "malformed"]
    );
    assert_eq!(lines[1]["copy"], "The input is too poor to judge. Please try again with a better one.");
    assert_eq!(lines[6]["detail"], "field `confidence`: must be a number, not a string");
    let (code, document) = sandbox.json(&["abstain", "--replies", "r.jsonl"]);
    assert_eq!((code, &document["suggestions"]), (0, &json!(1)));
    assert_eq!(document["decisions"], json!(lines));
    schema::check(&document);
}

#[test]
fn another_policy_decides_otherwise() {
    let sandbox = sandbox();
    let text = sandbox.ok(&["policy", "show", "--json"]);
    let own = text
        .replace("default/v1", "ours/v1")
        .replace("0.7", "0.95")
        .replace("There is no suggestion that is certain enough.", "Unsicher.");
    sandbox.write("mine.json", own);
    let out = sandbox.ok(&["abstain", "--policy", "mine.json", "--replies", "r.jsonl"]);
    assert!(
        out.starts_with("{\"line\":1,\"outcome\":\"abstention\",\"reason\":\"low-confidence\",\"copy\":\"Unsicher."),
        "{out}"
    );
}

#[test]
fn the_floor_comes_from_a_gate_receipt_that_is_go() {
    let sandbox = sandbox();
    sandbox.ok(&["init", "--person", "tester"]);
    sandbox.write("go.jsonl", include_str!("../../../fixtures/gate/go.jsonl"));
    sandbox.write("blocked.jsonl", include_str!("../../../fixtures/gate/blocked.jsonl"));
    sandbox.ok(&["gate", "--predictions", "go.jsonl", "--record"]);
    assert_eq!(sandbox.run(&["gate", "--predictions", "blocked.jsonl", "--record"]).code, 3);
    for source in ["#1", "#1:synthetic-calibrated"] {
        let (code, document) = sandbox.json(&["abstain", "--replies", "r.jsonl", "--floor-from", source]);
        assert_eq!((code, &document["policy"]["confidenceFloor"]), (0, &json!(0.9)));
        assert_ne!(
            document["policy"]["blake3"],
            sandbox.json(&["abstain", "--replies", "r.jsonl"]).1["policy"]["blake3"]
        );
    }
    for (source, wanted) in [
        ("#0", "`#0` is no gate receipt"),
        ("#2", "the gate run `#2` is BLOCKED"),
        (
            "#1:synthetic-overconfident",
            "the candidate `synthetic-overconfident` is blocked, so its threshold is no floor",
        ),
        ("#1:other", "the gate run `#1` has no candidate `other`"),
        ("#9", "`#9` is outside the log, which holds receipts #0 to #2"),
        ("#9", "`#9` is outside the log"),
    ] {
        let run = sandbox.run(&["abstain", "--replies", "r.jsonl", "--floor-from", source]);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{source}");
        assert!(run.stderr.contains(wanted), "{wanted}\n{}", run.stderr);
    }
}

#[test]
fn a_file_that_cannot_be_cut_into_lines_gives_no_decision() {
    let sandbox = sandbox();
    sandbox.write("r.jsonl", format!("{REPLIES}\n"));
    let run = sandbox.run(&["abstain", "--replies", "r.jsonl"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("r.jsonl:8: the line is blank"), "{}", run.stderr);
    assert_eq!(sandbox.run(&["abstain", "--replies", "none.jsonl"]).code, 1);
}
