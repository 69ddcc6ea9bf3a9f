//! What is measured on accepted records. `docs/gate.md` has the formulas and where they come from.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use rayon::slice::ParallelSliceMut;

use super::candidate::{Candidate, Confidences, Outcome};
use super::decimal::{DecimalSum, ONE};
use super::natural::{Natural, Ratio};
use super::{ClassPart, Comparator, Decimal, Gate, Label, Metric, Split, Terms};

/// The measurements of one candidate on one split at one threshold.
#[derive(Debug, Clone)]
pub struct Metrics {
    labels: Vec<Label>,
    /// All records.
    pub records: u64,
    /// Suggestions at or above the threshold.
    pub accepted: u64,
    /// Accepted ones that are right.
    pub correct: u64,
    /// Records whose prediction is `null`.
    pub no_suggestion: u64,
    /// Suggestions below the threshold.
    pub low_confidence: u64,
    /// Accepted records by position of the true and of the predicted class; no zeros.
    pub cells: BTreeMap<(u16, u16), u64>,
    /// One for each label of the profile, in its order.
    pub classes: Vec<ClassScore>,
    /// Equal-width bins of confidence, in order.
    pub bins: Vec<Bin>,
    macro_f1: Option<Ratio>,
    ece: Option<Ratio>,
}

/// One class among the accepted records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClassScore {
    /// Accepted records whose truth is the class.
    pub support: u64,
    /// Accepted records that were predicted to be of the class.
    pub predicted: u64,
    /// Those that are both.
    pub hits: u64,
}

impl ClassScore {
    fn part(&self, part: ClassPart) -> Option<Ratio> {
        match part {
            ClassPart::Precision => Ratio::of(self.hits, self.predicted),
            ClassPart::Recall => Ratio::of(self.hits, self.support),
            ClassPart::F1 => Ratio::of(2 * self.hits, self.support + self.predicted),
        }
    }
}

/// One bin of confidence: `[at / bins, (at + 1) / bins)`, the last one closed.
#[derive(Debug, Clone)]
pub struct Bin {
    /// Accepted records in it.
    pub count: u64,
    /// How many of these are right.
    pub correct: u64,
    confidence: DecimalSum,
}

impl Bin {
    /// The share that is right; `None` where the bin is empty.
    pub fn accuracy(&self) -> Option<f64> {
        Ratio::of(self.correct, self.count).map(|share| share.to_f64())
    }

    /// The mean confidence; `None` where the bin is empty.
    pub fn mean_confidence(&self) -> Option<f64> {
        let places = self.confidence.places();
        let all = Natural::from(self.count).times(&Natural::power_of_ten(places));
        Ratio::new(self.confidence.scaled(places), all).map(|mean| mean.to_f64())
    }
}

/// Measures a candidate on `validation` or `test` (nothing is kept of `train`), accepting suggestions from `cut` on.
pub fn measure(candidate: &Candidate<'_>, split: Split, cut: &Decimal) -> Metrics {
    let terms = candidate.predictions.profile().terms();
    let confidences = candidate.confidences();
    let (records, suggestions) = match candidate.sample(split) {
        Some(sample) => (sample.records, sample.suggestions.as_slice()),
        None => (0, [].as_slice()),
    };
    let short = cut.short();
    let reaches = |outcome: &&Outcome| match (outcome.confidence.short(), short) {
        (Some(confidence), Some(cut)) => confidence >= cut,
        _ => confidences.decimal(outcome.confidence) >= *cut,
    };
    let accepted: Vec<Outcome> = suggestions.iter().filter(reaches).copied().collect();
    let bins = bins(&accepted, confidences, terms.bins);
    let cells = cells(&accepted);
    let classes = classes(&cells, terms);
    let count = accepted.len() as u64;
    Metrics {
        labels: terms.labels.clone(),
        records,
        accepted: count,
        correct: classes.iter().map(|class| class.hits).sum(),
        no_suggestion: records - suggestions.len() as u64,
        low_confidence: suggestions.len() as u64 - count,
        macro_f1: macro_f1(&classes),
        ece: ece(&bins, count),
        cells,
        classes,
        bins,
    }
}

impl Metrics {
    fn ratio(&self, metric: &Metric) -> Option<Ratio> {
        match metric {
            Metric::MacroF1 => self.macro_f1.clone(),
            Metric::PrecisionAtCoverage => Ratio::of(self.correct, self.accepted),
            Metric::Ece => self.ece.clone(),
            Metric::Coverage => Ratio::of(self.accepted, self.records),
            Metric::Class { label, part } => {
                let at = self.labels.iter().position(|known| known.to_string() == *label)?;
                self.classes[at].part(*part)
            }
        }
    }

    /// The value of a metric, correctly rounded; `None` where it is undefined because nothing was accepted.
    pub fn value(&self, metric: &Metric) -> Option<f64> {
        self.ratio(metric).map(|ratio| ratio.to_f64())
    }

    /// A number of the class at a position; `None` where it would divide by zero.
    pub fn class_value(&self, at: usize, part: ClassPart) -> Option<f64> {
        self.classes.get(at)?.part(part).map(|ratio| ratio.to_f64())
    }

    /// Whether the gate holds, compared exactly, the limit included. An undefined value never passes.
    pub fn passes(&self, gate: &Gate) -> bool {
        self.ratio(&gate.metric).is_some_and(|value| match gate.comparator {
            Comparator::AtLeast => value >= gate.limit.ratio(),
            Comparator::AtMost => value <= gate.limit.ratio(),
        })
    }

    /// Which of the two is better by a metric; an undefined value is worse than any.
    pub(crate) fn compare(&self, other: &Self, metric: &Metric) -> Ordering {
        self.ratio(metric).cmp(&other.ratio(metric))
    }

    /// The labels that occur in no accepted truth: they are left out of macro-F1.
    pub fn excluded(&self) -> impl Iterator<Item = &Label> {
        self.labels.iter().zip(&self.classes).filter(|(_, class)| class.support == 0).map(|(label, _)| label)
    }

    /// The labels, in the order of [`Metrics::classes`].
    pub fn labels(&self) -> &[Label] {
        &self.labels
    }
}

/// The confusion matrix, sparse.
fn cells(accepted: &[Outcome]) -> BTreeMap<(u16, u16), u64> {
    let mut pairs: Vec<_> = accepted.iter().map(|outcome| (outcome.truth, outcome.prediction)).collect();
    pairs.par_sort_unstable();
    pairs.chunk_by(|left, right| left == right).map(|run| (run[0], run.len() as u64)).collect()
}

fn classes(cells: &BTreeMap<(u16, u16), u64>, terms: &Terms) -> Vec<ClassScore> {
    let mut classes = vec![ClassScore::default(); terms.labels.len()];
    for ((truth, prediction), count) in cells {
        classes[usize::from(*truth)].support += count;
        classes[usize::from(*prediction)].predicted += count;
        if truth == prediction {
            classes[usize::from(*truth)].hits += count;
        }
    }
    classes
}

fn macro_f1(classes: &[ClassScore]) -> Option<Ratio> {
    let present = classes.iter().filter(|class| class.support > 0);
    let parts: Vec<_> = present.map(|class| (2 * class.hits, class.support + class.predicted)).collect();
    Ratio::mean(&parts)
}

fn bins(accepted: &[Outcome], confidences: Confidences<'_>, count: u32) -> Vec<Bin> {
    let empty = Bin { count: 0, correct: 0, confidence: DecimalSum::default() };
    let mut bins = vec![empty; count as usize];
    // A short confidence is at or above the edge at / count exactly when it is at or above the edge rounded up.
    let edge = |at: u32| (u128::from(at) * u128::from(ONE)).div_ceil(u128::from(count));
    let edges: Vec<u64> = (1..count).map(|at| u64::try_from(edge(at)).unwrap_or(ONE)).collect();
    for outcome in accepted {
        let bin = match outcome.confidence.short() {
            Some(head) => {
                let bin = &mut bins[edges.partition_point(|edge| *edge <= head)];
                bin.confidence.add_head(head);
                bin
            }
            None => {
                let decimal = confidences.decimal(outcome.confidence);
                let bin = &mut bins[decimal.bin(count) as usize];
                bin.confidence.add(&decimal);
                bin
            }
        };
        bin.count += 1;
        bin.correct += u64::from(outcome.correct());
    }
    bins
}

/// The weighted mean over bins of |accuracy - mean confidence|, which is the sum of |right - sum of confidences| over all
/// accepted records.
fn ece(bins: &[Bin], accepted: u64) -> Option<Ratio> {
    let places = bins.iter().map(|bin| bin.confidence.places()).max()?;
    let unit = Natural::power_of_ten(places);
    let gap = |bin: &Bin| Natural::from(bin.correct).times(&unit).distance(&bin.confidence.scaled(places));
    let gaps = bins.iter().fold(Natural::zero(), |sum, bin| sum.plus(&gap(bin)));
    Ratio::new(gaps, Natural::from(accepted).times(&unit))
}
