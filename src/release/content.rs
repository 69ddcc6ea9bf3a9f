//! What a gate report must say for its recommended candidate to be released.

use super::code::{Code, Reason};
use crate::gate::{Report, Verdict};

/// The reasons in a report against the release of its recommended candidate.
///
/// A verdict is not enough: the candidate must be listed as one that passed, with a threshold that was selected on
/// validation records and scores from held-out test records.
pub fn judge_content(report: &Report) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if report.verdict != Verdict::Go {
        reasons.push(Reason::new(
            Code::GateBlocked,
            "the report's verdict is BLOCKED",
            "a release needs a gate run whose verdict is GO; a verdict cannot be waived",
            "a model that keeps every gate: `proofmark gate --record` with its predictions",
        ));
    }
    let remedy = "run `proofmark gate --record` on the predictions and use its report";
    let passed = |name: &str| report.candidate(name).filter(|candidate| candidate.passed && keeps_all(candidate));
    let Some(candidate) = report.recommended.as_deref().and_then(passed) else {
        let found = match &report.recommended {
            Some(name) => format!("the report recommends `{name}` and does not list it as one that keeps every gate"),
            None => "the report recommends no candidate".to_owned(),
        };
        let rule = "what is released is a recommended candidate that passed";
        reasons.push(Reason::new(Code::CandidateNotPassed, found, rule, remedy));
        return reasons;
    };
    let name = &candidate.model;
    let selected = candidate.threshold.is_some()
        && candidate.threshold_as_written.is_some()
        && candidate.validation.as_ref().is_some_and(|scores| scores.records > 0 && scores.accepted > 0);
    if !selected {
        let found = format!("the threshold of `{name}` was not selected on validation records");
        let rule = "a candidate is released with a threshold that was selected on validation";
        reasons.push(Reason::new(Code::ThresholdNotSelected, found, rule, remedy));
    }
    if !candidate.test.as_ref().is_some_and(|scores| scores.records > 0 && scores.accepted > 0) {
        let found = format!("`{name}` was not scored on held-out test records");
        let rule = "a candidate is released by its scores on held-out test";
        reasons.push(Reason::new(Code::NotScoredOnTest, found, rule, remedy));
    }
    reasons
}

fn keeps_all(candidate: &crate::gate::CandidateReport) -> bool {
    !candidate.gates.is_empty() && candidate.gates.iter().all(|gate| gate.passed && gate.value.is_some())
}
