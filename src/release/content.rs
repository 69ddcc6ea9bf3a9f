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
        if report.recommended.is_none() {
            return reasons;
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::{Profile, Reading};

    fn report() -> Report {
        let profile = Profile::built_in("bristol/v1").unwrap();
        let predictions = include_str!("../../fixtures/gate/go.jsonl");
        let read = Reading::new(&profile).read("go.jsonl", predictions.as_bytes()).unwrap();
        crate::gate::evaluate(&read.finish().unwrap(), None).unwrap()
    }

    fn codes(change: impl FnOnce(&mut Report)) -> Vec<&'static str> {
        let mut report = report();
        change(&mut report);
        judge_content(&report).into_iter().map(|reason| reason.code).collect()
    }

    fn of(report: &mut Report) -> &mut crate::gate::CandidateReport {
        let name = report.recommended.clone().unwrap();
        report.candidates.iter_mut().find(|candidate| candidate.model == name).unwrap()
    }

    #[test]
    fn each_lie_in_a_report_that_says_go_has_its_reason() {
        assert_eq!(codes(|_| {}), [""; 0]);
        assert_eq!(codes(|report| report.verdict = Verdict::Blocked), ["gate-blocked"]);
        assert_eq!(codes(|report| report.recommended = None), ["candidate-not-passed"]);
        assert_eq!(codes(|report| report.recommended = Some("x".to_owned())), ["candidate-not-passed"]);
        assert_eq!(codes(|report| of(report).passed = false), ["candidate-not-passed"]);
        assert_eq!(codes(|report| of(report).gates[0].passed = false), ["candidate-not-passed"]);
        assert_eq!(codes(|report| of(report).gates.clear()), ["candidate-not-passed"]);
        assert_eq!(codes(|report| of(report).threshold = None), ["threshold-not-selected"]);
        assert_eq!(codes(|report| of(report).validation = None), ["threshold-not-selected"]);
        assert_eq!(codes(|report| of(report).test = None), ["not-scored-on-test"]);
        let none_accepted = |report: &mut Report| of(report).test.as_mut().unwrap().accepted = 0;
        assert_eq!(codes(none_accepted), ["not-scored-on-test"]);
    }
}
