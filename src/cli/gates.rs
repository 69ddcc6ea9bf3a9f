//! Two gate receipts side by side, for `proofmark compare`.

use proofmark::gate::{CandidateComparison, ClassComparison, GateComparison, MetricComparison, Two};
use proofmark::ledger::{GateRun, Ledger, Snapshot, compare_gates};
use proofmark::scorecard::Tolerance;

use super::context::Context;
use super::failure::{Exit, Failure, one_line};

/// The two gate runs that are meant; `None` where rounds are.
pub fn pair(
    revisions: [Option<&str>; 2],
    ledger: &Ledger,
    snapshot: &Snapshot<'_>,
) -> Result<Option<(GateRun, GateRun)>, Failure> {
    let [Some(base), current] = revisions else { return Ok(None) };
    let base = run(base, ledger, snapshot)?;
    let current = current.map(|current| run(current, ledger, snapshot)).transpose()?;
    match (base, current) {
        (Some(base), Some(Some(current))) => Ok(Some((base, current))),
        (Some(_), None) => Err(Failure::refused("a gate run has no line, so there is no newest one to compare with")
            .hint("name both receipts: `proofmark compare '#7' '#9'`")),
        (None, None | Some(None)) => Ok(None),
        (Some(_), Some(None)) | (None, Some(Some(_))) => {
            Err(Failure::refused("one of the receipts is a gate run and the other is not"))
        }
    }
}

/// The gate run that a revision names, its receipt checked; `None` if it is of another kind.
pub fn run(revision: &str, ledger: &Ledger, snapshot: &Snapshot<'_>) -> Result<Option<GateRun>, Failure> {
    let index = super::rounds::resolve(ledger, revision)?;
    Ok(GateRun::read(ledger.store(), index, ledger.checked_receipt(snapshot, index)?)?)
}

/// Compares and answers.
pub fn compare(
    ledger: &Ledger,
    base: &GateRun,
    current: &GateRun,
    tolerance: Tolerance,
    context: &Context,
) -> Result<Exit, Failure> {
    let comparison = compare_gates(ledger.store(), base, current, tolerance);
    context.answer(&comparison, || text(&comparison))?;
    Ok(match (comparison.comparable, comparison.regressed) {
        (false, _) => Exit::Refused,
        (true, true) => Exit::No,
        (true, false) => Exit::Yes,
    })
}

fn text(comparison: &GateComparison) -> String {
    let mut text = String::new();
    for (side, run) in [("base", &comparison.base), ("current", &comparison.current)] {
        let receipt = run.receipt.as_deref().map_or("", |receipt| &receipt[..12]);
        let recommended = run.recommended.as_deref().map_or_else(String::new, |model| format!("  {}", one_line(model)));
        text.push_str(&format!("{side:8} {}  {receipt}  {}{recommended}\n", run.name, run.verdict.name()));
    }
    comparison.candidates.iter().for_each(|candidate| text.push_str(&candidate_text(candidate)));
    // Candidates without a counterpart are no reason to refuse; they are only not compared.
    for (what, models) in [("only in base", &comparison.only_base), ("only in current", &comparison.only_current)] {
        for model in models.iter().filter(|_| comparison.comparable) {
            text.push_str(&format!("{what}: {}\n", one_line(model)));
        }
    }
    if !comparison.candidates.is_empty() {
        text.push('\n');
    }
    text.push_str(match (comparison.comparable, comparison.regressed) {
        (false, _) => "not comparable\n",
        (true, true) => "regressed\n",
        (true, false) => "not regressed\n",
    });
    let differences = comparison.differences.iter().map(ToString::to_string);
    for reason in differences.chain(comparison.reasons.iter().cloned()) {
        text.push_str(&format!("  {}\n", one_line(&reason)));
    }
    text
}

fn candidate_text(candidate: &CandidateComparison) -> String {
    let Two { base, current } = &candidate.model;
    let name = if base == current { one_line(base) } else { format!("{} -> {}", one_line(base), one_line(current)) };
    let outcome = |passed| if passed { "keeps every gate" } else { "blocked" };
    let mut text =
        format!("\ncandidate {name}: {} -> {}\n", outcome(candidate.passed.base), outcome(candidate.passed.current));
    text.push_str(&format!("  {:24}{:>14}{:>14}{:>14}\n", "on test", "base", "current", "delta"));
    let threshold = |threshold: &Option<String>| threshold.clone().unwrap_or_else(|| "none".to_owned());
    let (old, new) = (threshold(&candidate.threshold.base), threshold(&candidate.threshold.current));
    text.push_str(&format!("  {:24}{old:>14}{new:>14}\n", "threshold"));
    candidate.metrics.iter().for_each(|metric| text.push_str(&metric_text(metric)));
    if !candidate.classes.is_empty() {
        let (precision, recall, f1) = ("precision", "recall", "f1");
        text.push_str(&format!("  {:12}{precision:>18}{recall:>18}{f1:>18}{:>14}\n", "class", "support"));
    }
    candidate.classes.iter().for_each(|class| text.push_str(&class_text(class)));
    text
}

fn shown(value: Option<f64>) -> String {
    value.map_or_else(|| "none".to_owned(), |value| format!("{value:.4}"))
}

fn metric_text(metric: &MetricComparison) -> String {
    let MetricComparison { metric: name, base, current, delta, gated, worse } = metric;
    let delta = delta.map_or_else(|| "none".to_owned(), |delta| format!("{delta:+.4}"));
    let word = match (gated, worse) {
        (true, true) => "  worse",
        (false, true) => "  worse, no gate is about it",
        _ => "",
    };
    let name = one_line(&name.to_string());
    format!("  {name:24}{:>14}{:>14}{delta:>14}{word}\n", shown(*base), shown(*current))
}

fn class_text(class: &ClassComparison) -> String {
    let both = |pair: Two<Option<f64>>| format!("{} {}", shown(pair.base), shown(pair.current));
    let support = format!("{} {}", class.support.base, class.support.current);
    let (precision, recall, f1) = (both(class.precision), both(class.recall), both(class.f1));
    format!("  {:12}{precision:>18}{recall:>18}{f1:>18}{support:>14}\n", one_line(&class.label))
}
