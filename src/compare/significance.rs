//! What chance alone explains of a difference between two rounds; formulas in `docs/statistics.md`.

use serde::Serialize;

use super::PairedQuestion;
use crate::stats::{Clustered, ClusteredPair, Interval, McNemar, PairedCounts, Proportion, StatsError, bonferroni};

/// The share right in one round. Members are `None` where there are too few questions for them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OneRound {
    /// How many were right.
    pub correct: u64,
    /// Their share, in `[0, 1]`.
    pub share: Option<f64>,
    /// Its standard error, questions taken as independent.
    pub standard_error: Option<f64>,
    /// Its 95% Wilson interval.
    pub wilson95: Option<Interval>,
}

/// The difference of the shares right, current less base. Members are `None` where there are too few questions for them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RoundDifference {
    /// In `[-1, 1]`.
    pub estimate: Option<f64>,
    /// Its standard error, question by question.
    pub paired_standard_error: Option<f64>,
    /// What it would be if the rounds had answered different questions: shown to see what pairing saves.
    pub unpaired_standard_error: Option<f64>,
    /// Tango's 95% interval.
    pub tango95: Option<Interval>,
}

/// The statistics of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Significance {
    /// The base round.
    pub base: OneRound,
    /// The current round.
    pub current: OneRound,
    /// Current less base.
    pub difference: RoundDifference,
    /// McNemar's exact test on the flips.
    pub mcnemar: McNemar,
    /// Clustered errors, where at least one question has a cluster key and there are two clusters or more.
    pub clustered: Option<Clustered>,
    /// How many rounds have been measured on this question set, the current one included, where that is known.
    pub looks: Option<u64>,
    /// The two-sided p after that many looks (Bonferroni).
    pub two_sided_after_looks: Option<f64>,
}

impl Significance {
    /// The statistics over the questions both rounds answered.
    pub fn of(questions: &[PairedQuestion<'_>], looks: Option<u64>) -> Result<Self, StatsError> {
        let counts = PairedCounts::count(questions.iter().map(|question| (question.base, question.current)))?;
        let mcnemar = counts.mcnemar();
        Ok(Self {
            base: OneRound::of(counts.base()),
            current: OneRound::of(counts.current()),
            difference: RoundDifference {
                estimate: counts.difference(),
                paired_standard_error: counts.standard_error(),
                unpaired_standard_error: counts.unpaired_standard_error(),
                tango95: counts.tango95(),
            },
            mcnemar,
            clustered: clustered(questions)?,
            looks,
            two_sided_after_looks: looks.map(|looks| bonferroni(mcnemar.two_sided, looks)),
        })
    }
}

impl OneRound {
    fn of(share: Proportion) -> Self {
        Self {
            correct: share.successes(),
            share: share.estimate(),
            standard_error: share.standard_error(),
            wilson95: share.wilson95(),
        }
    }
}

fn clustered(questions: &[PairedQuestion<'_>]) -> Result<Option<Clustered>, StatsError> {
    if questions.iter().all(|question| question.cluster.is_none()) {
        return Ok(None);
    }
    Clustered::of(questions.iter().map(|question| ClusteredPair {
        base: question.base,
        current: question.current,
        cluster: question.cluster,
    }))
}
