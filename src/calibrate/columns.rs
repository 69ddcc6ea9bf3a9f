//! Prediction records as columns: about 12 bytes for each record and 16 more for each that is scored.

use std::collections::HashMap;

use rayon::slice::ParallelSliceMut;

use super::decimal::ONE;
use super::record::{ItemId, Record};
use super::swift::{NO_SUGGESTION, Swift};
use super::{Decimal, Split, Subject};

/// The most models that one run may compare.
pub const MAX_MODELS: usize = 1_024;

/// A record of validation or test: what a threshold and a score are made of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scored {
    /// Up to [`ONE`] the decimal in units of 10^-19; above it, a position among the long decimals.
    pub(crate) confidence: u64,
    pub(crate) row: u32,
    /// [`NO_SUGGESTION`] for none.
    pub(crate) prediction: u16,
    pub(crate) split: Split,
}

/// Columns, one entry a record in the order of reading, and the records that are scored.
#[derive(Debug, Clone, Default)]
pub(crate) struct Columns {
    pub(crate) models: Vec<String>,
    index: HashMap<String, u16>,
    pub(crate) model: Vec<u16>,
    pub(crate) subject: Vec<u64>,
    pub(crate) truth: Vec<u16>,
    /// Empty where the profile has no item field.
    pub(crate) item: Vec<u128>,
    pub(crate) scored: Vec<Scored>,
    pub(crate) long: Vec<Decimal>,
}

/// More than [`MAX_MODELS`] models.
#[derive(Debug)]
pub(crate) struct TooManyModels;

impl Columns {
    pub(crate) fn rows(&self) -> usize {
        self.subject.len()
    }

    /// Room for about this many records.
    pub(crate) fn with_capacity(rows: usize) -> Self {
        Self {
            model: Vec::with_capacity(rows),
            subject: Vec::with_capacity(rows),
            truth: Vec::with_capacity(rows),
            ..Self::default()
        }
    }

    pub(crate) fn model_named(&mut self, name: &str) -> Result<u16, TooManyModels> {
        if let Some(index) = self.index.get(name) {
            return Ok(*index);
        }
        let index = u16::try_from(self.models.len()).ok().filter(|_| self.models.len() < MAX_MODELS);
        let index = index.ok_or(TooManyModels)?;
        self.models.push(name.to_owned());
        self.index.insert(name.to_owned(), index);
        Ok(index)
    }

    pub(crate) fn push_swift(&mut self, model: u16, record: &Swift<'_>) {
        if record.split != Split::Train {
            self.push_scored(record.confidence, record.prediction, record.split);
        }
        self.push_row(model, record.subject, record.item, record.truth);
    }

    pub(crate) fn push(&mut self, model: u16, record: &Record) {
        if record.split != Split::Train {
            let (confidence, prediction) = match &record.prediction {
                None => (0, NO_SUGGESTION),
                Some(suggestion) => (self.code(&suggestion.confidence), suggestion.label),
            };
            self.push_scored(confidence, prediction, record.split);
        }
        self.push_row(model, record.subject, record.item, record.truth);
    }

    fn code(&mut self, confidence: &Decimal) -> u64 {
        confidence.short().unwrap_or_else(|| {
            self.long.push(confidence.clone());
            ONE + self.long.len() as u64
        })
    }

    #[allow(clippy::cast_possible_truncation)] // `Reading` stops before the rows outgrow 32 bits
    fn push_scored(&mut self, confidence: u64, prediction: u16, split: Split) {
        self.scored.push(Scored { confidence, row: self.rows() as u32, prediction, split });
    }

    fn push_row(&mut self, model: u16, subject: Subject, item: Option<ItemId>, truth: u16) {
        self.model.push(model);
        self.subject.push(subject.0);
        self.truth.push(truth);
        self.item.extend(item.map(|item| item.0));
    }

    /// Adds what was read next.
    #[allow(clippy::cast_possible_truncation)] // `Reading` stops before the rows outgrow 32 bits
    pub(crate) fn append(&mut self, next: Self) -> Result<(), TooManyModels> {
        let (rows, long) = (self.rows() as u32, self.long.len() as u64);
        let models = next.models.iter().map(|name| self.model_named(name)).collect::<Result<Vec<_>, _>>()?;
        self.model.extend(next.model.iter().map(|model| models[usize::from(*model)]));
        self.subject.extend_from_slice(&next.subject);
        self.truth.extend_from_slice(&next.truth);
        self.item.extend_from_slice(&next.item);
        self.scored.extend(next.scored.iter().map(|scored| Scored {
            confidence: if scored.confidence > ONE { scored.confidence + long } else { scored.confidence },
            row: scored.row + rows,
            ..*scored
        }));
        self.long.extend(next.long);
        Ok(())
    }

    /// The first record that has the model, subject and item of an earlier one: (earlier, later).
    pub(crate) fn first_repeat(&self) -> Option<(usize, usize)> {
        if !self.repeats() {
            return None;
        }
        let key = |row: usize| (self.model[row], self.subject[row], self.item.get(row).copied(), row);
        let mut rows: Vec<usize> = (0..self.rows()).collect();
        rows.par_sort_unstable_by_key(|row| key(*row));
        let same = |pair: &&[usize]| {
            let (left, right) = (key(pair[0]), key(pair[1]));
            (left.0, left.1, left.2) == (right.0, right.1, right.2)
        };
        rows.windows(2).filter(same).map(|pair| (pair[0], pair[1])).min_by_key(|(_, later)| *later)
    }

    fn repeats(&self) -> bool {
        if self.ascending() {
            return false;
        }
        if self.item.is_empty() {
            return self.by_model(self.subject.iter().copied()).into_iter().any(has_repeat);
        }
        self.by_model(self.subject.iter().copied().zip(self.item.iter().copied())).into_iter().any(has_repeat)
    }

    /// Whether the subjects of each model come in strictly ascending order: then none repeats, whatever its items.
    fn ascending(&self) -> bool {
        let mut last: Vec<Option<u64>> = vec![None; self.models.len()];
        self.model.iter().zip(&self.subject).all(|(model, subject)| {
            let before = last[usize::from(*model)].replace(*subject);
            before.is_none_or(|before| before < *subject)
        })
    }

    fn by_model<K>(&self, keys: impl Iterator<Item = K>) -> Vec<Vec<K>> {
        if self.models.len() == 1 {
            return vec![keys.collect()];
        }
        let mut counts = vec![0usize; self.models.len()];
        self.model.iter().for_each(|model| counts[usize::from(*model)] += 1);
        let mut groups: Vec<Vec<K>> = counts.into_iter().map(Vec::with_capacity).collect();
        for (model, key) in self.model.iter().zip(keys) {
            groups[usize::from(*model)].push(key);
        }
        groups
    }
}

fn has_repeat<K: Ord + Send>(mut keys: Vec<K>) -> bool {
    keys.par_sort_unstable();
    keys.windows(2).any(|pair| pair[0] == pair[1])
}
