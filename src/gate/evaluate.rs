//! From predictions to a verdict.

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::calibrate::{
    CalibrateError, Candidate, ClassPart, Decimal, Gate, Metric, Metrics, NoThreshold, Predictions, Split, measure,
    select_threshold,
};

use super::report::{
    Abstentions, BinReport, CandidateReport, ClassReport, GateReport, ProfileName, Report, SCHEMA, Scores, TestScores,
    Verdict,
};

/// Why no verdict is given.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// The predictions cannot be scored.
    #[error("the predictions cannot be scored")]
    Calibrate(#[source] CalibrateError),
    /// A coverage floor that the report could not name exactly.
    #[error("the coverage floor {floor} does not survive canonical JSON: write fewer digits")]
    Floor {
        /// The floor.
        floor: Decimal,
    },
}

/// A candidate with its measurements on test, if a threshold could be chosen.
struct Judged {
    report: CandidateReport,
    test: Option<Metrics>,
}

/// Holds every candidate against the gates of the profile the predictions were read under. `floor` is the least share of
/// validation records that a threshold must accept; `None` takes the profile's.
pub fn evaluate(predictions: &Predictions, floor: Option<&Decimal>) -> Result<Report, GateError> {
    let profile = predictions.profile();
    let floor = floor.unwrap_or(&profile.terms().min_coverage);
    if !floor.survives_json() {
        return Err(GateError::Floor { floor: floor.clone() });
    }
    let candidates = predictions.candidates().map_err(GateError::Calibrate)?;
    let gates = &profile.terms().gates;
    let judged: Vec<_> = candidates.par_iter().map(|candidate| judge(candidate, gates, floor)).collect();
    let recommended = recommended(&judged);
    Ok(Report {
        schema: SCHEMA.to_owned(),
        verdict: if recommended.is_some() { Verdict::Go } else { Verdict::Blocked },
        recommended,
        min_coverage: floor.to_f64(),
        profile: ProfileName { name: profile.terms().name.clone(), blake3: profile.digest() },
        candidates: judged.into_iter().map(|judged| judged.report).collect(),
    })
}

fn judge(candidate: &Candidate<'_>, gates: &[Gate], floor: &Decimal) -> Judged {
    let model = candidate.model().to_owned();
    let subjects = candidate.subjects_digest();
    let threshold = match select_threshold(candidate, floor) {
        Ok(threshold) => threshold,
        Err(error) => return Judged { report: without_threshold(model, subjects, gates, &error), test: None },
    };
    let validation = measure(candidate, Split::Validation, &threshold.cut);
    let test = measure(candidate, Split::Test, &threshold.cut);
    let gates: Vec<_> = gates.iter().map(|gate| gate_report(gate, Some(&test))).collect();
    let mut reasons: Vec<_> = gates.iter().filter(|gate| !gate.passed).map(reason).collect();
    if test.accepted == 0 {
        reasons.push(format!("nothing is accepted on test at the threshold {}", threshold.cut));
    }
    let report = CandidateReport {
        model,
        subjects,
        threshold: Some(threshold.cut.to_f64()),
        threshold_as_written: Some(threshold.cut.to_string()),
        validation: Some(scores(&validation)),
        test: Some(test_scores(&test)),
        gates,
        passed: reasons.is_empty(),
        reasons,
    };
    Judged { report, test: Some(test) }
}

fn without_threshold(
    model: String,
    subjects: crate::object::ObjectId,
    gates: &[Gate],
    error: &NoThreshold,
) -> CandidateReport {
    CandidateReport {
        model,
        subjects,
        threshold: None,
        threshold_as_written: None,
        validation: None,
        test: None,
        gates: gates.iter().map(|gate| gate_report(gate, None)).collect(),
        passed: false,
        reasons: vec![error.to_string()],
    }
}

fn gate_report(gate: &Gate, test: Option<&Metrics>) -> GateReport {
    GateReport {
        metric: gate.metric.clone(),
        comparator: gate.comparator,
        limit: gate.limit.to_f64(),
        value: test.and_then(|test| test.value(&gate.metric)),
        passed: test.is_some_and(|test| test.passes(gate)),
    }
}

fn reason(gate: &GateReport) -> String {
    let rule = format!("{} {}", gate.comparator.sign(), gate.limit);
    match gate.value {
        Some(value) => format!("{} is {value}, not {rule}", gate.metric),
        None => format!("{} has no value on test, so it is not {rule}", gate.metric),
    }
}

/// Of those that pass, the one with the highest macro-F1, then the highest precision, then the first by name.
fn recommended(judged: &[Judged]) -> Option<String> {
    let mut best: Option<(&Judged, &Metrics)> = None;
    for candidate in judged.iter().filter(|candidate| candidate.report.passed) {
        let Some(test) = &candidate.test else { continue };
        let better = best.is_none_or(|(_, other)| {
            let by = |metric| test.compare(other, metric);
            by(&Metric::MacroF1).then_with(|| by(&Metric::PrecisionAtCoverage)).is_gt()
        });
        if better {
            best = Some((candidate, test));
        }
    }
    best.map(|(candidate, _)| candidate.report.model.clone())
}

fn scores(metrics: &Metrics) -> Scores {
    Scores {
        records: metrics.records,
        accepted: metrics.accepted,
        correct: metrics.correct,
        coverage: metrics.value(&Metric::Coverage),
        precision_at_coverage: metrics.value(&Metric::PrecisionAtCoverage),
        macro_f1: metrics.value(&Metric::MacroF1),
        ece: metrics.value(&Metric::Ece),
    }
}

fn test_scores(metrics: &Metrics) -> TestScores {
    let Scores { records, accepted, correct, coverage, precision_at_coverage, macro_f1, ece } = scores(metrics);
    let labels = metrics.labels();
    let class = |(at, label): (usize, &crate::calibrate::Label)| {
        let value = |part| metrics.class_value(at, part);
        let score = ClassReport {
            precision: value(ClassPart::Precision),
            recall: value(ClassPart::Recall),
            f1: value(ClassPart::F1),
            support: metrics.classes[at].support,
            predicted: metrics.classes[at].predicted,
        };
        (label.to_string(), score)
    };
    let cell = |((truth, predicted), count): (&(u16, u16), &u64)| {
        (format!("{}->{}", labels[usize::from(*truth)], labels[usize::from(*predicted)]), *count)
    };
    TestScores {
        records,
        accepted,
        correct,
        coverage,
        precision_at_coverage,
        macro_f1,
        ece,
        per_class: labels.iter().enumerate().map(class).collect(),
        confusion: metrics.cells.iter().map(cell).collect(),
        bins: bins(metrics),
        excluded_classes: metrics.excluded().cloned().collect(),
        abstentions: Abstentions { no_suggestion: metrics.no_suggestion, low_confidence: metrics.low_confidence },
    }
}

#[allow(clippy::cast_precision_loss)] // at most a thousand bins
fn bins(metrics: &Metrics) -> Vec<BinReport> {
    let width = metrics.bins.len() as f64;
    let bin = |(at, bin): (usize, &crate::calibrate::Bin)| BinReport {
        lower: at as f64 / width,
        upper: (at + 1) as f64 / width,
        count: bin.count,
        correct: bin.correct,
        accuracy: bin.accuracy(),
        mean_confidence: bin.mean_confidence(),
    };
    metrics.bins.iter().enumerate().map(bin).collect()
}
