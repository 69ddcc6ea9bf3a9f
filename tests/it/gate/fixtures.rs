//! The synthetic sets in `fixtures/gate`.

use std::process::Command;

use proofmark::calibrate::{CalibrateError, Reading};
use proofmark::gate::{Report, Verdict, evaluate};
use proofmark::object::ObjectId;

use super::bristol;

const SETS: [&str; 3] = ["go.jsonl", "blocked.jsonl", "leaked.jsonl"];

fn folder() -> std::path::PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "fixtures", "gate"].iter().collect()
}

fn run(name: &str) -> Result<Report, CalibrateError> {
    let profile = bristol();
    let bytes = std::fs::read(folder().join(name)).unwrap();
    let predictions = Reading::new(&profile).read(name, bytes.as_slice())?.finish()?;
    let [input] = predictions.inputs() else { panic!("one file was read") };
    assert_eq!((input.blake3, input.size), (ObjectId::of(&bytes), bytes.len() as u64));
    Ok(evaluate(&predictions, None).unwrap())
}

#[test]
fn go_is_go_and_recommends_the_calibrated_one() {
    let report = run("go.jsonl").unwrap();
    assert_eq!(report.verdict, Verdict::Go, "{report}");
    assert_eq!(report.recommended.as_deref(), Some("synthetic-calibrated"));
    assert!(!report.candidate("synthetic-overconfident").unwrap().passed);
    assert_eq!(Report::parse(&report.encode().unwrap()).unwrap(), report);
}

#[test]
fn blocked_is_blocked_for_named_reasons() {
    let report = run("blocked.jsonl").unwrap();
    assert_eq!((report.verdict, report.recommended.as_deref()), (Verdict::Blocked, None));
    let candidate = &report.candidates[0];
    let failed: Vec<_> =
        candidate.gates.iter().filter(|gate| !gate.passed).map(|gate| gate.metric.to_string()).collect();
    assert_eq!(failed, ["macroF1", "precisionAtCoverage", "ece"]);
    assert_eq!(candidate.reasons.len(), 3);
    assert!(candidate.reasons[2].starts_with("ece is 0.") && candidate.reasons[2].ends_with(", not <= 0.05"));
}

#[test]
fn leaked_is_refused() {
    let refusal = run("leaked.jsonl").unwrap_err().to_string();
    assert!(
        refusal.starts_with("leaked.jsonl:351: field `split`: is `train`, but the profile puts the subject"),
        "{refusal}"
    );
    assert!(refusal.ends_with("in `test`: one subject cannot be in two splits"), "{refusal}");
}

#[test]
fn the_text_for_people_says_what_the_document_says() {
    let text = run("go.jsonl").unwrap().to_string();
    for part in [
        "GO\nrecommended     synthetic-calibrated\n",
        "candidate synthetic-overconfident: blocked\n  because ",
        "threshold   0.",
        "    passed  macroF1              >= 0.8   0.",
        "    FAILED  ece                  <= 0.05  0.",
        "  classes precision    recall        f1  support predicted\n        1 ",
        "  confusion (truth->predicted)\n    1->1 ",
        "    [0.9, 1]",
        "  abstentions  no-suggestion 1",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

/// Needs `python3`: the sets are what their script writes, byte for byte.
#[test]
fn the_sets_are_what_their_script_makes() {
    let copy = tempfile::tempdir().unwrap();
    std::fs::copy(folder().join("make.py"), copy.path().join("make.py")).unwrap();
    let status = Command::new("python3").arg(copy.path().join("make.py")).status().expect("python3 is missing");
    assert!(status.success());
    for name in SETS {
        assert_eq!(
            std::fs::read(copy.path().join(name)).unwrap(),
            std::fs::read(folder().join(name)).unwrap(),
            "{name}"
        );
    }
}
