//! Two gate runs side by side: refused where they were not asked the same, else every metric and class of each pair of
//! candidates.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::report::{CandidateReport, ProfileName, Report, TestScores, Verdict};
use crate::calibrate::{Candidate, Metric, excerpt};
use crate::object::ObjectId;
use crate::scorecard::Tolerance;

/// The `schema` member of every comparison of gate runs.
pub const COMPARE_SCHEMA: &str = "gate-compare.v1";

/// The same of both runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Two<T> {
    /// Of the base run.
    pub base: T,
    /// Of the current run.
    pub current: T,
}

/// One of the runs, as messages and documents name it.
#[derive(Debug, Clone)]
pub struct Side<'a> {
    /// As in `#3`.
    pub name: String,
    /// The id of its receipt, where it has one.
    pub receipt: Option<String>,
    /// What it found.
    pub report: &'a Report,
}

/// One of the runs in a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ComparedRun {
    /// As in `#3`.
    pub name: String,
    /// The id of its receipt, where it has one.
    pub receipt: Option<String>,
    /// GO or BLOCKED.
    pub verdict: Verdict,
    /// The candidate that it recommends.
    pub recommended: Option<String>,
    /// Its task profile.
    pub profile: ProfileName,
    /// Its coverage floor.
    pub min_coverage: f64,
}

/// What changed between two lists of subjects, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SubjectChanges {
    /// Asked in the current run only.
    pub added: u64,
    /// Asked in the base run only.
    pub removed: u64,
    /// Asked in both, with another truth.
    pub truth_changed: u64,
    /// Asked in both, in another split.
    pub split_changed: u64,
}

/// Something that keeps two runs from being compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum GateDifference {
    /// The task profiles are not the same object.
    Profile(Two<ProfileName>),
    /// The thresholds had to clear different floors.
    CoverageFloor(Two<f64>),
    /// No candidate of one run answers to one of the other.
    NoPair(Two<Vec<String>>),
    /// A candidate was asked about other subjects, or other truths were right.
    Subjects {
        /// The candidates.
        model: Two<String>,
        /// The digests of what they were asked.
        digest: Two<ObjectId>,
        /// What changed, where the predictions of both runs are held.
        #[serde(skip_serializing_if = "Option::is_none")]
        changes: Option<SubjectChanges>,
    },
}

impl fmt::Display for GateDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Profile(Two { base, current }) => {
                let name = |profile: &ProfileName| format!("{} ({})", excerpt(&profile.name), profile.blake3.short());
                write!(f, "profile differs: {} != {}", name(base), name(current))
            }
            Self::CoverageFloor(Two { base, current }) => write!(f, "coverage floor differs: {base} != {current}"),
            Self::NoPair(Two { base, current }) => {
                let names = |models: &[String]| {
                    let shown: Vec<_> = models.iter().take(5).map(|model| excerpt(model)).collect();
                    let more = if models.len() > shown.len() { ", …" } else { "" };
                    format!("{}{more}", shown.join(", "))
                };
                write!(f, "no candidate in common: {} against {}", names(base), names(current))
            }
            Self::Subjects { model, digest, changes } => {
                let (base, current) = (digest.base.short(), digest.current.short());
                write!(f, "subjects or truths of {} differ: {base} != {current}", excerpt(&model.current))?;
                let Some(SubjectChanges { added, removed, truth_changed, split_changed }) = changes else {
                    return Ok(());
                };
                write!(f, " ({added} added, {removed} removed, {truth_changed} with another truth, ")?;
                write!(f, "{split_changed} in another split)")
            }
        }
    }
}

/// One metric of a pair of candidates, on test.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricComparison {
    /// What is measured.
    pub metric: Metric,
    /// In the base run; `None` where it is undefined.
    pub base: Option<f64>,
    /// In the current run; `None` where it is undefined.
    pub current: Option<f64>,
    /// Current less base.
    pub delta: Option<f64>,
    /// Whether a gate of the profile is about it.
    pub gated: bool,
    /// Whether it got worse beyond the tolerance, or is no longer defined.
    pub worse: bool,
}

/// One class of a pair of candidates, among what is accepted on test.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClassComparison {
    /// The label as text.
    pub label: String,
    /// Right among predicted.
    pub precision: Two<Option<f64>>,
    /// Right among those of the class.
    pub recall: Two<Option<f64>>,
    /// The harmonic mean of both.
    pub f1: Two<Option<f64>>,
    /// Accepted records of the class.
    pub support: Two<u64>,
    /// Accepted records predicted to be of the class.
    pub predicted: Two<u64>,
}

/// A pair of candidates.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CandidateComparison {
    /// What they are called.
    pub model: Two<String>,
    /// Whether they keep every gate.
    pub passed: Two<bool>,
    /// Their thresholds in decimal, where they have one.
    pub threshold: Two<Option<String>>,
    /// Coverage, precision, macro-F1 and calibration error, then whatever else is gated.
    pub metrics: Vec<MetricComparison>,
    /// Every class; none where one of them has no threshold.
    pub classes: Vec<ClassComparison>,
}

/// Two gate runs compared: the `gate-compare.v1` document.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GateComparison {
    schema: &'static str,
    /// The run compared against.
    pub base: ComparedRun,
    /// The run compared.
    pub current: ComparedRun,
    /// A metric is worse only beyond this.
    pub tolerance: f64,
    /// Whether both runs asked the same under the same rules.
    pub comparable: bool,
    /// What keeps them from being compared.
    pub differences: Vec<GateDifference>,
    /// Whether the verdict or a gated metric got worse.
    pub regressed: bool,
    /// What got worse, one sentence each.
    pub reasons: Vec<String>,
    /// Pairs of candidates.
    pub candidates: Vec<CandidateComparison>,
    /// Candidates of the base run that none of the current run answers to.
    pub only_base: Vec<String>,
    /// Candidates of the current run that none of the base run answers to.
    pub only_current: Vec<String>,
}

/// Counts what changed between what two candidates were asked.
pub fn subject_changes(base: &Candidate<'_>, current: &Candidate<'_>) -> SubjectChanges {
    let list = |candidate: &Candidate<'_>| -> BTreeMap<_, _> {
        candidate
            .subjects()
            .into_iter()
            .map(|asked| ((asked.subject, asked.item), (asked.split, asked.truth)))
            .collect()
    };
    let (mut before, mut changes) = (list(base), SubjectChanges::default());
    for (key, (split, truth)) in list(current) {
        match before.remove(&key) {
            None => changes.added += 1,
            Some((old_split, old_truth)) => {
                changes.truth_changed += u64::from(old_truth != truth);
                changes.split_changed += u64::from(old_split != split);
            }
        }
    }
    changes.removed = before.len() as u64;
    changes
}

impl GateComparison {
    /// Compares two runs. Candidates are paired by name; where no name is in both runs, the recommended ones are a pair,
    /// or else the only ones. `changes` is asked what changed where a pair was not asked the same.
    pub fn of(
        base: Side<'_>,
        current: Side<'_>,
        tolerance: Tolerance,
        mut changes: impl FnMut(&str, &str) -> Option<SubjectChanges>,
    ) -> Self {
        let (before, after) = (base.report, current.report);
        let pairs = pairs(before, after);
        let differences = differences(before, after, &pairs, &mut changes);
        let comparable = differences.is_empty();
        let mut reasons = Vec::new();
        let mut candidates = Vec::new();
        if comparable {
            if (before.verdict, after.verdict) == (Verdict::Go, Verdict::Blocked) {
                reasons.push("the verdict got worse: GO -> BLOCKED".to_owned());
            }
            candidates.extend(pairs.iter().map(|(old, new)| candidate(old, new, tolerance)));
            reasons.extend(candidates.iter().flat_map(worse));
        }
        let only = |report: &Report, paired: &dyn Fn(&str) -> bool| -> Vec<String> {
            let names = report.candidates.iter().map(|candidate| &candidate.model);
            names.filter(|model| !paired(model)).cloned().collect()
        };
        let only_base = only(before, &|model| pairs.iter().any(|(old, _)| old.model == model));
        let only_current = only(after, &|model| pairs.iter().any(|(_, new)| new.model == model));
        let regressed = !reasons.is_empty();
        let (base, current, tolerance) = (run(base), run(current), tolerance.as_f64());
        let schema = COMPARE_SCHEMA;
        Self {
            schema,
            base,
            current,
            tolerance,
            comparable,
            differences,
            regressed,
            reasons,
            candidates,
            only_base,
            only_current,
        }
    }
}

fn run(side: Side<'_>) -> ComparedRun {
    let Side { name, receipt, report } = side;
    let Report { verdict, recommended, min_coverage, profile, .. } = report.clone();
    ComparedRun { name, receipt, verdict, recommended, profile, min_coverage }
}

type Pair<'a> = (&'a CandidateReport, &'a CandidateReport);

fn pairs<'a>(base: &'a Report, current: &'a Report) -> Vec<Pair<'a>> {
    let old: BTreeMap<_, _> = base.candidates.iter().map(|candidate| (candidate.model.as_str(), candidate)).collect();
    let named = current.candidates.iter().filter_map(|new| Some((*old.get(new.model.as_str())?, new)));
    let pairs: Vec<_> = named.collect();
    if !pairs.is_empty() {
        return pairs;
    }
    let recommended = |report: &'a Report| report.candidate(report.recommended.as_deref()?);
    let only = |report: &'a Report| match report.candidates.as_slice() {
        [candidate] => Some(candidate),
        _ => None,
    };
    let meant = |report: &'a Report| recommended(report).or_else(|| only(report));
    meant(base).zip(meant(current)).into_iter().collect()
}

fn differences(
    base: &Report,
    current: &Report,
    pairs: &[Pair<'_>],
    changes: &mut dyn FnMut(&str, &str) -> Option<SubjectChanges>,
) -> Vec<GateDifference> {
    let mut found = Vec::new();
    if base.profile.blake3 != current.profile.blake3 {
        found.push(GateDifference::Profile(Two { base: base.profile.clone(), current: current.profile.clone() }));
    }
    if base.min_coverage.to_bits() != current.min_coverage.to_bits() {
        found.push(GateDifference::CoverageFloor(Two { base: base.min_coverage, current: current.min_coverage }));
    }
    if pairs.is_empty() {
        let names = |report: &Report| report.candidates.iter().map(|candidate| candidate.model.clone()).collect();
        found.push(GateDifference::NoPair(Two { base: names(base), current: names(current) }));
    }
    for (old, new) in pairs.iter().filter(|(old, new)| old.subjects != new.subjects) {
        found.push(GateDifference::Subjects {
            model: Two { base: old.model.clone(), current: new.model.clone() },
            digest: Two { base: old.subjects, current: new.subjects },
            changes: changes(&old.model, &new.model),
        });
    }
    found
}

fn candidate(base: &CandidateReport, current: &CandidateReport, tolerance: Tolerance) -> CandidateComparison {
    let mut metrics: Vec<_> = [Metric::Coverage, Metric::PrecisionAtCoverage, Metric::MacroF1, Metric::Ece]
        .into_iter()
        .map(|metric| {
            let gated = current.gates.iter().any(|gate| gate.metric == metric);
            let of = |candidate: &CandidateReport| value(candidate.test.as_ref()?, &metric);
            let (base, current) = (of(base), of(current));
            compared(metric, base, current, gated, tolerance)
        })
        .collect();
    for gate in &current.gates {
        if metrics.iter().any(|known| known.metric == gate.metric) {
            continue;
        }
        let old = base.gates.iter().find(|old| old.metric == gate.metric).and_then(|old| old.value);
        metrics.push(compared(gate.metric.clone(), old, gate.value, true, tolerance));
    }
    CandidateComparison {
        model: Two { base: base.model.clone(), current: current.model.clone() },
        passed: Two { base: base.passed, current: current.passed },
        threshold: Two { base: base.threshold_as_written.clone(), current: current.threshold_as_written.clone() },
        metrics,
        classes: base.test.iter().zip(&current.test).flat_map(|(old, new)| classes(old, new)).collect(),
    }
}

fn value(test: &TestScores, metric: &Metric) -> Option<f64> {
    match metric {
        Metric::Coverage => test.coverage,
        Metric::PrecisionAtCoverage => test.precision_at_coverage,
        Metric::MacroF1 => test.macro_f1,
        Metric::Ece => test.ece,
        Metric::Class { .. } => None,
    }
}

fn compared(
    metric: Metric,
    base: Option<f64>,
    current: Option<f64>,
    gated: bool,
    tolerance: Tolerance,
) -> MetricComparison {
    let delta = base.zip(current).map(|(base, current)| current - base);
    let worse = match delta {
        Some(delta) if metric.more_is_better() => -delta > tolerance.as_f64(),
        Some(delta) => delta > tolerance.as_f64(),
        None => base.is_some(),
    };
    MetricComparison { metric, base, current, delta, gated, worse }
}

fn classes(base: &TestScores, current: &TestScores) -> Vec<ClassComparison> {
    let class = |(label, old): (&String, &super::ClassReport)| {
        let new = current.per_class.get(label)?;
        Some(ClassComparison {
            label: label.clone(),
            precision: Two { base: old.precision, current: new.precision },
            recall: Two { base: old.recall, current: new.recall },
            f1: Two { base: old.f1, current: new.f1 },
            support: Two { base: old.support, current: new.support },
            predicted: Two { base: old.predicted, current: new.predicted },
        })
    };
    let mut classes: Vec<_> = base.per_class.iter().filter_map(class).collect();
    classes.sort_by_key(|class| (class.label.parse::<i64>().unwrap_or(i64::MAX), class.label.clone()));
    classes
}

/// What got worse about a pair, gated metrics only.
fn worse(candidate: &CandidateComparison) -> Vec<String> {
    let shown = |value: Option<f64>| value.map_or_else(|| "none".to_owned(), |value| value.to_string());
    let sentence = |metric: &MetricComparison| {
        let (name, base, current) = (metric.metric.to_string(), shown(metric.base), shown(metric.current));
        format!("{}: {} got worse: {base} -> {current}", excerpt(&candidate.model.current), excerpt(&name))
    };
    candidate.metrics.iter().filter(|metric| metric.gated && metric.worse).map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::{Profile, Reading};
    use crate::gate::evaluate;
    use crate::scorecard::DEFAULT_TOLERANCE;

    /// Ten records a split, of which the first `wrong` are wrong, with the confidence as written.
    fn report(model: &str, wrong: u64, confidence: &str, truth_of_last: u8, profile: &Profile) -> Report {
        let mut text = String::new();
        for (split, base) in [("validation", 0xcdu64 << 56), ("test", 0xe6u64 << 56)] {
            for at in 0..10 {
                let truth = if at == 9 { truth_of_last } else { 1 + (at % 2) as u8 };
                let said = if at < wrong { 3 - truth } else { truth };
                text.push_str(&format!(
                    "{{\"model\":\"{model}\",\"subjectKey\":\"{:016x}\",\"split\":\"{split}\",\"truth\":{{\"bristolType\":{truth}}},\"prediction\":{{\"bristolType\":{said},\"confidence\":{confidence}}}}}\n",
                    base + at
                ));
            }
        }
        let predictions = Reading::new(profile).read("p", text.as_bytes()).unwrap().finish().unwrap();
        evaluate(&predictions, None).unwrap()
    }

    fn compare(base: &Report, current: &Report, tolerance: f64) -> GateComparison {
        let side = |name: &str, report| Side { name: name.to_owned(), receipt: None, report };
        let tolerance = Tolerance::new(tolerance).unwrap();
        GateComparison::of(side("#1", base), side("#2", current), tolerance, |_, _| None)
    }

    fn bristol() -> Profile {
        Profile::built_in("bristol/v1").unwrap()
    }

    #[test]
    fn the_same_run_is_no_worse_than_itself() {
        let run = report("a", 0, "0.99", 2, &bristol());
        let comparison = compare(&run, &run, DEFAULT_TOLERANCE.as_f64());
        assert!(comparison.comparable && !comparison.regressed, "{comparison:?}");
        assert_eq!(comparison.candidates[0].classes.len(), 7);
        assert!(comparison.candidates[0].metrics.iter().all(|metric| metric.delta == Some(0.0) && !metric.worse));
    }

    #[test]
    fn a_worse_verdict_and_each_worse_gated_metric_are_named() {
        let (before, after) = (report("a", 0, "0.99", 2, &bristol()), report("a", 4, "0.99", 2, &bristol()));
        assert_eq!((before.verdict, after.verdict), (Verdict::Go, Verdict::Blocked));
        let comparison = compare(&before, &after, 1e-9);
        assert!(comparison.comparable && comparison.regressed);
        assert_eq!(comparison.reasons.len(), 4, "{:?}", comparison.reasons);
        assert_eq!(comparison.reasons[0], "the verdict got worse: GO -> BLOCKED");
        assert_eq!(comparison.reasons[1], "a: precisionAtCoverage got worse: 1 -> 0.6");
        let better = compare(&after, &before, 1e-9);
        assert!(!better.regressed, "{:?}", better.reasons);
        assert_eq!(compare(&before, &after, 0.45).reasons, ["the verdict got worse: GO -> BLOCKED"]);
    }

    #[test]
    fn coverage_that_no_gate_is_about_may_fall() {
        let (before, after) = (report("a", 0, "0.99", 2, &bristol()), report("a", 0, "0.96", 2, &bristol()));
        let comparison = compare(&before, &after, 1e-9);
        let gated: Vec<_> = comparison.candidates[0].metrics.iter().map(|metric| metric.gated).collect();
        assert_eq!(gated, [false, true, true, true]);
        assert_eq!(comparison.reasons.len(), 1, "{:?}", comparison.reasons);
        assert!(comparison.reasons[0].starts_with("a: ece got worse: 0.01"), "{:?}", comparison.reasons);
    }

    #[test]
    fn other_truths_profiles_floors_and_candidates_are_refused_by_name() {
        let run = report("a", 0, "0.99", 2, &bristol());
        let other = report("a", 0, "0.99", 1, &bristol());
        let text = String::from_utf8(bristol().canonical().to_vec()).unwrap();
        let strict = Profile::parse(text.replace("0.05", "0.04").as_bytes()).unwrap();
        let mut floor = run.clone();
        floor.min_coverage = 0.6;
        let mut many = run.clone();
        many.recommended = None;
        many.candidates[0].model = "b".to_owned();
        many.candidates.push(CandidateReport { model: "c".to_owned(), ..many.candidates[0].clone() });
        for (current, wanted) in [
            (&other, "subjects or truths of a differ: "),
            (&report("a", 0, "0.99", 2, &strict), "profile differs: bristol/v1 ("),
            (&floor, "coverage floor differs: 0.5 != 0.6"),
            (&many, "no candidate in common: a against b, c"),
        ] {
            let comparison = compare(&run, current, 1e-9);
            assert!(!comparison.comparable && comparison.candidates.is_empty());
            assert_eq!(comparison.differences.len(), 1, "{wanted}");
            assert!(comparison.differences[0].to_string().starts_with(wanted), "{}", comparison.differences[0]);
        }
    }

    #[test]
    fn candidates_of_other_names_are_paired_where_it_is_clear_which_is_meant() {
        let (before, after) = (report("v1", 0, "0.99", 2, &bristol()), report("v2", 0, "0.99", 2, &bristol()));
        let comparison = compare(&before, &after, 1e-9);
        assert_eq!(comparison.candidates[0].model, Two { base: "v1".to_owned(), current: "v2".to_owned() });
        assert!(comparison.only_base.is_empty() && comparison.only_current.is_empty());
    }
}
