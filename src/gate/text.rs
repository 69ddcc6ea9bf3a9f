//! A report for people: the same facts as the document, one candidate after the other.

use std::collections::HashMap;
use std::fmt;

use super::report::{CandidateReport, GateReport, Report, Scores, TestScores};

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.verdict.name())?;
        match &self.recommended {
            Some(model) => writeln!(f, "recommended     {}", shown(model))?,
            None => writeln!(f, "recommended     none: no candidate keeps every gate")?,
        }
        writeln!(f, "profile         {} ({})", shown(&self.profile.name), self.profile.blake3.short())?;
        writeln!(f, "coverage floor  {}", self.min_coverage)?;
        self.candidates.iter().try_for_each(|candidate| self::candidate(f, candidate))
    }
}

fn candidate(f: &mut fmt::Formatter<'_>, candidate: &CandidateReport) -> fmt::Result {
    writeln!(f)?;
    let outcome = if candidate.passed { "keeps every gate" } else { "blocked" };
    writeln!(f, "candidate {}: {outcome}", shown(&candidate.model))?;
    for reason in &candidate.reasons {
        writeln!(f, "  because {}", shown(reason))?;
    }
    match &candidate.threshold_as_written {
        Some(threshold) => writeln!(f, "  threshold   {threshold}, chosen on validation")?,
        None => writeln!(f, "  threshold   none")?,
    }
    if let Some(Scores { records, accepted, correct, coverage, precision_at_coverage, .. }) = &candidate.validation {
        let (coverage, precision) = (value(*coverage), value(*precision_at_coverage));
        writeln!(f, "  validation  accepts {accepted} of {records} ({coverage}), {correct} right ({precision})")?;
    }
    if let Some(TestScores { records, accepted, correct, coverage, precision_at_coverage, .. }) = &candidate.test {
        let (coverage, precision) = (value(*coverage), value(*precision_at_coverage));
        writeln!(f, "  test        accepts {accepted} of {records} ({coverage}), {correct} right ({precision})")?;
    }
    writeln!(f, "  gates on test")?;
    candidate.gates.iter().try_for_each(|gate| self::gate(f, gate))?;
    candidate.test.iter().try_for_each(|test| details(f, test))
}

fn gate(f: &mut fmt::Formatter<'_>, gate: &GateReport) -> fmt::Result {
    let verdict = if gate.passed { "passed" } else { "FAILED" };
    let metric = shown(&gate.metric.to_string());
    // Not rounded: the value next to its limit must not look as if it were on the other side.
    let value = gate.value.map_or_else(|| "none".to_owned(), |value| value.to_string());
    writeln!(f, "    {verdict}  {metric:<20} {} {:<5} {value}", gate.comparator.sign(), gate.limit)
}

fn details(f: &mut fmt::Formatter<'_>, test: &TestScores) -> fmt::Result {
    // Classes in the order of the confusion matrix: integers by value, then text.
    let mut classes: Vec<_> = test.per_class.iter().collect();
    classes.sort_by_key(|(label, _)| (label.parse::<i64>().unwrap_or(i64::MAX), *label));
    let width = classes.iter().map(|(label, _)| shown(label).chars().count()).max().unwrap_or(0).max(5);
    writeln!(f, "  classes{:1$} precision    recall        f1  support predicted", "", width.saturating_sub(5))?;
    for (label, class) in &classes {
        let label = shown(label);
        let (precision, recall, f1) = (value(class.precision), value(class.recall), value(class.f1));
        writeln!(
            f,
            "    {label:>width$} {precision:>9} {recall:>9} {f1:>9} {:>8} {:>9}",
            class.support, class.predicted
        )?;
    }
    if !test.excluded_classes.is_empty() {
        let names: Vec<_> = test.excluded_classes.iter().map(|label| shown(&label.to_string())).collect();
        writeln!(f, "  not in macroF1, no accepted truth: {}", names.join(", "))?;
    }
    writeln!(f, "  confusion (truth->predicted)")?;
    let labels: Vec<_> = classes.iter().map(|(label, _)| label.as_str()).collect();
    confusion(f, test, &labels)?;
    writeln!(f, "  calibration         count    right  accuracy  mean confidence")?;
    for (at, bin) in test.bins.iter().enumerate() {
        let close = if at + 1 == test.bins.len() { ']' } else { ')' };
        let range = format!("[{}, {}{close}", short(bin.lower), short(bin.upper));
        let (accuracy, mean) = (value(bin.accuracy), value(bin.mean_confidence));
        writeln!(f, "    {range:<16} {:>8} {:>8} {accuracy:>9} {mean:>16}", bin.count, bin.correct)?;
    }
    writeln!(f, "  abstentions  no-suggestion {}", test.abstentions.no_suggestion)?;
    writeln!(f, "               low-confidence {}", test.abstentions.low_confidence)
}

/// A line for each true class, with the classes it was taken for.
fn confusion(f: &mut fmt::Formatter<'_>, test: &TestScores, labels: &[&str]) -> fmt::Result {
    let ranks: HashMap<&str, usize> = labels.iter().copied().zip(0..).collect();
    // No label has `->` in it, so the first one is the arrow.
    let cell = |(pair, count): (&String, &u64)| {
        let (truth, predicted) = pair.split_once("->")?;
        Some((*ranks.get(truth)?, *ranks.get(predicted)?, format!("{} {count}", shown(pair))))
    };
    let mut cells: Vec<_> = test.confusion.iter().filter_map(cell).collect();
    cells.sort();
    for row in cells.chunk_by(|left, right| left.0 == right.0) {
        let row: Vec<_> = row.iter().map(|(_, _, text)| text.as_str()).collect();
        writeln!(f, "    {}", row.join("  "))?;
    }
    Ok(())
}

fn value(value: Option<f64>) -> String {
    value.map_or_else(|| "none".to_owned(), |value| format!("{value:.4}"))
}

/// A bin edge: as it is where that is short, else rounded.
fn short(edge: f64) -> String {
    let exact = edge.to_string();
    if exact.len() <= 6 { exact } else { format!("{edge:.4}") }
}

/// Text from records with nothing in it that a terminal would act on.
fn shown(text: &str) -> String {
    text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect::<Vec<_>>() } else { vec![c] }).collect()
}
