//! Rules of a policy that can never fail or never pass, called out by name.

use std::collections::BTreeSet;

use super::policy::{PolicyError, PolicyTerms};
use crate::calibrate::{Finding, excerpt, floor_finding};
use crate::object::JsonFault;

/// Everything that is wrong or doubtful about the rules in a policy, including what [`super::Policy::parse`] would refuse.
pub fn lint_policy(bytes: &[u8]) -> Result<Vec<Finding>, PolicyError> {
    match PolicyTerms::read(bytes) {
        Ok(terms) => Ok(findings(&terms)),
        Err(PolicyError::Json(error)) if error.fault == JsonFault::NotANumber => {
            Ok(vec![Finding::not_a_number(&error.path)])
        }
        Err(error) => Err(error),
    }
}

pub(crate) fn findings(terms: &PolicyTerms) -> Vec<Finding> {
    let mut found = Vec::new();
    if terms.floor_out_of_range {
        let sentence = "a confidence lies between 0 and 1: beyond that a floor can never fail or never pass";
        found.push(Finding::refused("limit-out-of-range", "confidenceFloor", sentence));
    } else {
        let never_fails = "a confidence floor of 0 never fails: every suggestion is shown";
        let hardly_passes = "a confidence floor of 1 hides every suggestion that is not entirely sure";
        found.extend(floor_finding("confidenceFloor", &terms.confidence_floor, never_fails, hardly_passes));
    }
    let accepted = terms.accepted_quality.as_deref();
    if accepted.is_some_and(<[String]>::is_empty) {
        let sentence = "no quality is accepted, so no suggestion is ever shown";
        found.push(Finding::refused("no-quality-accepted", "acceptedQuality", sentence));
    }
    let mut seen = BTreeSet::new();
    for (field, levels) in [("acceptedQuality", accepted.unwrap_or_default()), ("poorQuality", &terms.poor_quality)] {
        for (at, level) in levels.iter().enumerate() {
            let field = format!("{field}[{at}]");
            if level.trim().is_empty() {
                found.push(Finding::refused("blank-quality", &field, "a quality level cannot be blank"));
            }
            if !seen.insert(level) {
                found.push(Finding::refused(
                    "duplicate-quality",
                    field,
                    format!("the level `{}` is listed twice", excerpt(level)),
                ));
            }
        }
    }
    if terms.poor_quality.is_empty() {
        let sentence = "no quality is poor, so no reply abstains for it";
        found.push(Finding::doubtful("no-quality-poor", "poorQuality", sentence));
    }
    if accepted.is_some_and(|levels| levels.iter().any(|level| level == "poor")) {
        let sentence = "a level called `poor` is accepted";
        found.push(Finding::doubtful("poor-accepted", "acceptedQuality", sentence));
    }
    for (reason, copy) in &terms.copy {
        if copy.trim().is_empty() {
            let sentence = "whoever gets no suggestion must be told something";
            found.push(Finding::refused("blank-copy", format!("copy.{}", reason.name()), sentence));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abstain::{BUILT_IN, Policy};

    #[test]
    fn rules_that_can_never_fail_or_never_pass_are_called_out() {
        for (from, to, wanted) in [
            ("0.7", "0", "floor-zero confidenceFloor"),
            ("0.7", "1.0", "floor-one confidenceFloor"),
            ("0.7", "1.0001", "limit-out-of-range confidenceFloor"),
            ("0.7", "NaN", "not-a-number confidenceFloor"),
            ("[\"good\", \"fair\"]", "[]", "no-quality-accepted acceptedQuality"),
            ("\"fair\"", "\"good\"", "duplicate-quality acceptedQuality[1]"),
            ("[\"poor\"]", "[\"good\"]", "duplicate-quality poorQuality[0]"),
            ("[\"poor\"]", "[\" \"]", "blank-quality poorQuality[0]"),
            ("[\"poor\"]", "[]", "no-quality-poor poorQuality"),
            ("There is no suggestion. Please choose for yourself.", " ", "blank-copy copy.no-suggestion"),
        ] {
            let text = BUILT_IN[0].1;
            assert!(text.contains(from), "{from}");
            let text = text.replacen(from, to, 1);
            let findings = lint_policy(text.as_bytes()).unwrap();
            let refused = findings.iter().any(|finding| finding.refused);
            assert_eq!(Policy::parse(text.as_bytes()).is_err(), refused, "{to}");
            let codes: Vec<_> = findings.iter().map(|finding| format!("{} {}", finding.code, finding.field)).collect();
            assert_eq!(codes, [wanted], "{to}");
        }
    }

    #[test]
    fn accepting_what_is_called_poor_is_called_out() {
        let text =
            BUILT_IN[0].1.replace("\"fair\"", "\"poor\"").replace("[\"poor\"],\n  \"copy\"", "[\"bad\"],\n  \"copy\"");
        let codes: Vec<_> = lint_policy(text.as_bytes()).unwrap().into_iter().map(|finding| finding.code).collect();
        assert_eq!(codes, ["poor-accepted"]);
    }
}
