//! Rules that can never fail or never pass, called out by name.

use std::collections::BTreeSet;

use serde::Serialize;

use super::Decimal;
use super::excerpt::excerpt;
use super::label::{Comparator, Gate, Label, Metric, Split};
use super::terms::{ByteRange, SplitRule, Terms};

/// One thing about a profile or a policy that its author should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// A stable name, as in `gate-never-fails`.
    pub code: &'static str,
    /// The field, as in `gates[0].limit`.
    pub field: String,
    /// What it means, in one sentence.
    pub sentence: String,
    /// Whether no run is possible under it; otherwise it is only doubtful.
    pub refused: bool,
}

impl Finding {
    /// Something that no run can be held to.
    pub(crate) fn refused(code: &'static str, field: impl Into<String>, sentence: impl Into<String>) -> Self {
        Self { code, field: field.into(), sentence: sentence.into(), refused: true }
    }

    /// Something that a run can be held to, to little use.
    pub(crate) fn doubtful(code: &'static str, field: impl Into<String>, sentence: impl Into<String>) -> Self {
        Self { code, field: field.into(), sentence: sentence.into(), refused: false }
    }

    /// NaN or infinity where a number belongs.
    pub(crate) fn not_a_number(field: &str) -> Self {
        Self::refused("not-a-number", field, "NaN and infinity compare with nothing: the rule can never pass")
    }
}

/// What there is to say about a floor between 0 and 1.
pub(crate) fn floor(field: &str, floor: &Decimal, never_fails: &str, hardly_passes: &str) -> Option<Finding> {
    if *floor == Decimal::zero() {
        return Some(Finding::doubtful("floor-zero", field, never_fails));
    }
    (*floor == Decimal::one()).then(|| Finding::doubtful("floor-one", field, hardly_passes))
}

/// Everything there is to say about the terms, in the order of the fields.
pub(crate) fn findings(terms: &Terms) -> Vec<Finding> {
    let mut found = labels(&terms.labels);
    match &terms.split {
        SplitRule::FirstByte { ranges } => found.extend(split_ranges(ranges)),
        SplitRule::Manifest { subjects } => {
            let splits = subjects.values().copied().collect();
            found.extend(unreachable(&splits, "split.subjects", "the manifest names no subject"));
        }
    }
    found.extend(gates(terms));
    let never_fails = "a coverage floor of 0 never fails: a threshold that accepts a single record clears it";
    let hardly_passes = "a coverage floor of 1 leaves nothing to abstain from: one record without a suggestion blocks";
    found.extend(floor("minCoverage", &terms.min_coverage, never_fails, hardly_passes));
    match terms.bins {
        0 => found.push(Finding::refused("no-bins", "bins", "without bins there is no calibration error to measure")),
        1 => found.push(Finding::doubtful(
            "one-bin",
            "bins",
            "with one bin errors in opposite directions cancel out: the calibration error is hardly a rule",
        )),
        _ => {}
    }
    found
}

fn labels(labels: &[Label]) -> Vec<Finding> {
    let mut found = Vec::new();
    match labels.len() {
        0 => found.push(Finding::refused("no-labels", "labels", "without labels no record can be read")),
        1 => found.push(Finding::doubtful("one-label", "labels", "with one label every suggestion is right")),
        _ => {}
    }
    let mixed = labels.iter().any(|label| matches!(label, Label::Integer(_)))
        && labels.iter().any(|label| matches!(label, Label::Text(_)));
    if mixed {
        found.push(Finding::refused("mixed-labels", "labels", "labels must be all integers or all strings"));
    }
    let mut seen = BTreeSet::new();
    for (at, label) in labels.iter().enumerate() {
        let field = format!("labels[{at}]");
        let text = label.to_string();
        if text.trim().is_empty() {
            found.push(Finding::refused("impossible-class", &field, "no record can have a blank label"));
        }
        if text.contains("->") {
            let sentence = "a label with `->` cannot be told apart in the confusion matrix";
            found.push(Finding::refused("ambiguous-label", &field, sentence));
        }
        if !seen.insert(label) {
            found.push(Finding::refused(
                "duplicate-label",
                &field,
                format!("the label {} is listed twice", excerpt(&text)),
            ));
        }
    }
    found
}

fn split_ranges(ranges: &[ByteRange]) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut owners = vec![None; 256];
    for (at, range) in ranges.iter().enumerate() {
        let field = format!("split.ranges[{at}]");
        if range.from >= range.below {
            let sentence = format!("no first byte is at least {} and below {}", range.from, range.below);
            found.push(Finding::refused("empty-range", &field, sentence));
        }
        let mut overlap = None;
        for byte in range.from..range.below {
            let Some(owner) = owners.get_mut(byte as usize) else { continue };
            overlap = overlap.or(owner.map(|_| byte));
            *owner = owner.or(Some(range.split));
        }
        if let Some(byte) = overlap {
            let sentence = format!("the first byte {byte} is in an earlier range too");
            found.push(Finding::refused("overlapping-ranges", &field, sentence));
        }
    }
    if let Some(byte) = owners.iter().position(Option::is_none) {
        let sentence = format!("subjects whose first byte is {byte} are in no split, so their records are refused");
        found.push(Finding::doubtful("range-gap", "split.ranges", sentence));
    }
    found.extend(unreachable(&owners.into_iter().flatten().collect(), "split.ranges", "no range leads"));
    found
}

fn unreachable(splits: &BTreeSet<Split>, field: &str, nothing: &str) -> Vec<Finding> {
    let missing = [Split::Validation, Split::Test].into_iter().filter(|split| !splits.contains(split));
    let finding = |split: Split| {
        let sentence = format!("{nothing} to `{split}`, so every run is refused");
        Finding::refused("unreachable-split", field, sentence)
    };
    missing.map(finding).collect()
}

fn gates(terms: &Terms) -> Vec<Finding> {
    let mut found = Vec::new();
    if terms.gates.is_empty() {
        found.push(Finding::refused("no-gates", "gates", "without gates every candidate would pass"));
    }
    for (at, gate) in terms.gates.iter().enumerate() {
        let field = format!("gates[{at}]");
        if terms.out_of_range.contains(&at) {
            let sentence = "every metric lies between 0 and 1: beyond that a limit can never fail or never pass";
            found.push(Finding::refused("limit-out-of-range", format!("{field}.limit"), sentence));
        } else {
            found.extend(limit(gate, &field));
        }
        if gate.metric.more_is_better() != (gate.comparator == Comparator::AtLeast) {
            let sentence =
                format!("`{} {}` rewards the worse value", excerpt(&gate.metric.to_string()), gate.comparator.sign());
            found.push(Finding::doubtful("gate-direction", format!("{field}.comparator"), sentence));
        }
        if let Metric::Class { label, .. } = &gate.metric
            && !terms.labels.iter().any(|known| known.to_string() == *label)
        {
            let sentence = format!("no record can have the class {}: it is not among the labels", excerpt(label));
            found.push(Finding::refused("impossible-class", format!("{field}.metric"), sentence));
        }
        found.extend(against_earlier(gate, &terms.gates[..at], &field));
    }
    found
}

fn limit(gate: &Gate, field: &str) -> Option<Finding> {
    let field = format!("{field}.limit");
    let (metric, limit) = (excerpt(&gate.metric.to_string()), &gate.limit);
    let (zero, one) = (*limit == Decimal::zero(), *limit == Decimal::one());
    let (code, sentence) = match gate.comparator {
        Comparator::AtLeast if zero => ("gate-never-fails", format!("{metric} is never below 0")),
        Comparator::AtMost if one => ("gate-never-fails", format!("{metric} is never above 1")),
        Comparator::AtMost if zero => {
            ("gate-hardly-passes", format!("only a candidate with no {metric} at all passes"))
        }
        Comparator::AtLeast if one => {
            ("gate-hardly-passes", format!("only a candidate with a perfect {metric} passes"))
        }
        _ => return None,
    };
    Some(Finding::doubtful(code, field, sentence))
}

fn against_earlier(gate: &Gate, earlier: &[Gate], field: &str) -> Option<Finding> {
    let other = earlier.iter().find(|other| other.metric == gate.metric)?;
    if other.comparator == gate.comparator {
        let sentence =
            format!("there already is a gate `{} {}`", excerpt(&gate.metric.to_string()), gate.comparator.sign());
        return Some(Finding::refused("duplicate-gate", field, sentence));
    }
    let (least, most) = if gate.comparator == Comparator::AtLeast { (gate, other) } else { (other, gate) };
    (least.limit > most.limit).then(|| {
        let sentence = format!(
            "{} cannot be at least {} and at most {}",
            excerpt(&gate.metric.to_string()),
            least.limit,
            most.limit
        );
        Finding::doubtful("gates-contradict", field, sentence)
    })
}

#[cfg(test)]
mod tests {
    use crate::calibrate::profile::BUILT_IN;
    use crate::calibrate::{Profile, lint_profile};

    fn codes(changes: &[(&str, &str)]) -> Vec<String> {
        let mut text = BUILT_IN[0].1.to_owned();
        for (from, to) in changes {
            assert!(text.contains(from), "{from}");
            text = text.replacen(from, to, 1);
        }
        let findings = lint_profile(text.as_bytes()).unwrap();
        // A profile is refused exactly when a finding says so.
        let refused = findings.iter().any(|finding| finding.refused);
        assert_eq!(Profile::parse(text.as_bytes()).is_err(), refused, "{findings:?}");
        findings.into_iter().map(|finding| format!("{} {}", finding.code, finding.field)).collect()
    }

    #[test]
    fn the_built_in_profile_has_no_finding() {
        assert_eq!(codes(&[]), [""; 0]);
    }

    #[test]
    fn rules_that_can_never_fail_or_never_pass_are_called_out() {
        let gates = BUILT_IN[0].1;
        let gates = &gates[gates.find("{\"metric\"").unwrap()..gates.find("  ],\n  \"minCoverage\"").unwrap()];
        for (from, to, wanted) in [
            ("0.8", "0", "gate-never-fails gates[0].limit"),
            ("0.8", "0.0", "gate-never-fails gates[0].limit"),
            ("0.8", "NaN", "not-a-number gates[0].limit"),
            ("0.8", "-Infinity", "not-a-number gates[0].limit"),
            ("0.8", "1.5", "limit-out-of-range gates[0].limit"),
            ("0.8", "80", "limit-out-of-range gates[0].limit"),
            ("0.8", "-0.1", "limit-out-of-range gates[0].limit"),
            ("0.8", "1", "gate-hardly-passes gates[0].limit"),
            ("0.05", "0", "gate-hardly-passes gates[2].limit"),
            ("0.05", "1", "gate-never-fails gates[2].limit"),
            (gates, "", "no-gates gates"),
            (
                "\"ece\", \"comparator\": \"<=\"",
                "\"ece\", \"comparator\": \">=\"",
                "gate-direction gates[2].comparator",
            ),
            ("macroF1", "perClass.8.recall", "impossible-class gates[0].metric"),
            ("macroF1", "precisionAtCoverage", "duplicate-gate gates[1]"),
            ("0.5,", "0,", "floor-zero minCoverage"),
            ("0.5,", "1,", "floor-one minCoverage"),
            ("1, 2, 3, 4, 5, 6, 7", "1", "one-label labels"),
            ("1, 2, 3, 4, 5, 6, 7", "", "no-labels labels"),
            ("1, 2, 3", "1, 2, 2, 3", "duplicate-label labels[2]"),
            ("1, 2, 3, 4, 5, 6, 7", "\"a\", \" \"", "impossible-class labels[1]"),
            ("1, 2, 3, 4, 5, 6, 7", "\"a->b\", \"c\"", "ambiguous-label labels[0]"),
            ("1, 2, 3", "1, \"2\", 3", "mixed-labels labels"),
            ("\"from\": 230", "\"from\": 229", "overlapping-ranges split.ranges[2]"),
            ("\"from\": 230", "\"from\": 231", "range-gap split.ranges"),
            ("\"bins\": 10", "\"bins\": 0", "no-bins bins"),
            ("\"bins\": 10", "\"bins\": 1", "one-bin bins"),
        ] {
            assert_eq!(codes(&[(from, to)]), [wanted], "{to}");
        }
    }

    #[test]
    fn an_empty_range_leaves_its_split_without_subjects() {
        assert_eq!(
            codes(&[("\"from\": 205", "\"from\": 230")]),
            ["empty-range split.ranges[1]", "range-gap split.ranges", "unreachable-split split.ranges"]
        );
    }

    #[test]
    fn an_empty_manifest_reaches_nothing() {
        let text = BUILT_IN[0].1;
        let (start, end) = (text.find("{\n    \"rule\"").unwrap(), text.find(",\n  \"gates\"").unwrap());
        let found = codes(&[(&text[start..end], r#"{"rule": "manifest", "subjects": {}}"#)]);
        assert_eq!(found, ["unreachable-split split.subjects", "unreachable-split split.subjects"]);
    }

    #[test]
    fn contradicting_gates_are_called_out() {
        let found = codes(&[(
            "\"ece\", \"comparator\": \"<=\", \"limit\": 0.05",
            "\"macroF1\", \"comparator\": \"<=\", \"limit\": 0.5",
        )]);
        assert_eq!(found, ["gate-direction gates[2].comparator", "gates-contradict gates[2]"]);
    }
}
