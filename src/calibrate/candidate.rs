//! The candidates of a run: per model, what it said on validation and on test.

use std::cmp::Ordering;

use super::columns::Scored;
use super::decimal::ONE;
use super::record::ItemId;
use super::swift::NO_SUGGESTION;
use super::{CalibrateError, Decimal, Predictions, Split, Subject};
use crate::object::ObjectId;

/// A suggestion with what would have been right.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outcome {
    pub(crate) confidence: Confidence,
    pub(crate) truth: u16,
    pub(crate) prediction: u16,
}

impl Outcome {
    pub(crate) fn correct(&self) -> bool {
        self.truth == self.prediction
    }
}

/// A confidence as the columns keep it: short ones compare by themselves, long ones through [`Confidences`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Confidence(u64);

impl Confidence {
    /// In units of 10^-19, if that is all.
    pub(crate) fn short(self) -> Option<u64> {
        (self.0 <= ONE).then_some(self.0)
    }
}

/// What [`Confidence`]s mean.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Confidences<'a>(&'a [Decimal]);

impl Confidences<'_> {
    /// The decimal as written.
    pub(crate) fn decimal(&self, confidence: Confidence) -> Decimal {
        match confidence.short() {
            Some(head) => Decimal::from_head(head),
            None => usize::try_from(confidence.0 - ONE - 1)
                .ok()
                .and_then(|at| self.0.get(at))
                .cloned()
                .unwrap_or_else(Decimal::zero),
        }
    }

    pub(crate) fn order(&self, left: Confidence, right: Confidence) -> Ordering {
        match (left.short(), right.short()) {
            (Some(left), Some(right)) => left.cmp(&right),
            _ => self.decimal(left).cmp(&self.decimal(right)),
        }
    }
}

/// What a model said on the records of one split.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sample {
    /// All records, with and without a suggestion.
    pub(crate) records: u64,
    pub(crate) suggestions: Vec<Outcome>,
}

/// A model with records of validation and of test.
#[derive(Debug, Clone)]
pub struct Candidate<'a> {
    pub(crate) predictions: &'a Predictions,
    index: u16,
    validation: Sample,
    test: Sample,
}

/// What a candidate was asked, and the answer that would have been right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SubjectTruth {
    /// Validation or test.
    pub split: Split,
    /// Whom it is about.
    pub subject: Subject,
    /// Which item, where the profile has an item field.
    pub item: Option<ItemId>,
    /// The position of the true class among the profile's labels.
    pub truth: u16,
}

impl Predictions {
    /// The candidates in the order of their names. One without validation or test records refuses the run.
    pub fn candidates(&self) -> Result<Vec<Candidate<'_>>, CalibrateError> {
        let empty =
            |index| Candidate { predictions: self, index, validation: Sample::default(), test: Sample::default() };
        let mut candidates: Vec<_> = (0u16..).take(self.columns.models.len()).map(empty).collect();
        for scored in &self.columns.scored {
            let row = scored.row as usize;
            let candidate = &mut candidates[usize::from(self.columns.model[row])];
            let sample = if scored.split == Split::Test { &mut candidate.test } else { &mut candidate.validation };
            sample.add(scored, self.columns.truth[row]);
        }
        candidates.sort_by(|left, right| left.model().cmp(right.model()));
        for candidate in &candidates {
            for split in [Split::Validation, Split::Test] {
                if candidate.sample(split).is_none_or(|sample| sample.records == 0) {
                    return Err(CalibrateError::NoSplit { model: candidate.model().to_owned(), split });
                }
            }
        }
        Ok(candidates)
    }
}

impl Sample {
    fn add(&mut self, scored: &Scored, truth: u16) {
        self.records += 1;
        if scored.prediction != NO_SUGGESTION {
            let (confidence, prediction) = (Confidence(scored.confidence), scored.prediction);
            self.suggestions.push(Outcome { confidence, truth, prediction });
        }
    }
}

impl<'a> Candidate<'a> {
    /// The model's name.
    pub fn model(&self) -> &'a str {
        &self.predictions.columns.models[usize::from(self.index)]
    }

    /// What it said on a split; nothing is kept of `train`.
    pub(crate) fn sample(&self, split: Split) -> Option<&Sample> {
        match split {
            Split::Train => None,
            Split::Validation => Some(&self.validation),
            Split::Test => Some(&self.test),
        }
    }

    pub(crate) fn confidences(&self) -> Confidences<'a> {
        Confidences(&self.predictions.columns.long)
    }

    /// What it was asked on validation and test, in order of split, subject and item.
    pub fn subjects(&self) -> Vec<SubjectTruth> {
        let columns = &self.predictions.columns;
        let asked = columns.scored.iter().filter(|scored| columns.model[scored.row as usize] == self.index);
        let mut subjects: Vec<_> = asked
            .map(|scored| {
                let row = scored.row as usize;
                let item = columns.item.get(row).copied().map(ItemId);
                SubjectTruth {
                    split: scored.split,
                    subject: Subject(columns.subject[row]),
                    item,
                    truth: columns.truth[row],
                }
            })
            .collect();
        rayon::slice::ParallelSliceMut::par_sort_unstable(subjects.as_mut_slice());
        subjects
    }

    /// The digest of [`Candidate::subjects`]: two candidates were asked the same under one profile exactly when these
    /// are equal. BLAKE3 over, for each in order, one byte (1 validation, 2 test), the subject's 8 bytes, the item's 16
    /// if there are items, and the position of the true class in 2, all big-endian.
    pub fn subjects_digest(&self) -> ObjectId {
        let mut bytes = Vec::new();
        for asked in self.subjects() {
            bytes.push(if asked.split == Split::Test { 2 } else { 1 });
            bytes.extend_from_slice(&asked.subject.0.to_be_bytes());
            if let Some(item) = asked.item {
                bytes.extend_from_slice(&item.0.to_be_bytes());
            }
            bytes.extend_from_slice(&asked.truth.to_be_bytes());
        }
        ObjectId::of(&bytes)
    }
}
