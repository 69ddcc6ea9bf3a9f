//! What differs between two question sets: which questions were added, removed, changed or moved.

use std::collections::HashMap;
use std::fmt;
use std::ops::Not;

use super::QuestionError;
use super::identity::Scheme;
use super::leaf::Leaves;
use super::mixle::Canonical;
use super::record::Question;
use super::set::QuestionSet;

/// What a question is called: its id, or its position where it has none.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum QuestionName {
    /// The id.
    Id(String),
    /// The position in the set, from 1.
    Position(usize),
}

impl fmt::Display for QuestionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => f.pad(id),
            Self::Position(position) => f.pad(&format!("#{position}")),
        }
    }
}

/// A question that stands somewhere else relative to the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// The question.
    pub name: QuestionName,
    /// Its position in the base set, from 1.
    pub from: usize,
    /// Its position in the current set, from 1.
    pub to: usize,
}

/// What no identity holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Annotation {
    /// The name of the question.
    Id,
    /// The cluster it belongs to.
    Cluster,
    /// Whether it must pass by itself.
    MustPass,
}

impl Annotation {
    /// The member of the record.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Cluster => "cluster",
            Self::MustPass => "must_pass",
        }
    }
}

/// A question whose annotations changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reannotated {
    /// The question.
    pub name: QuestionName,
    /// Which of them; never empty.
    pub annotations: Vec<Annotation>,
}

/// How the current set differs from the base set. Every question is in at most one of the first four lists; each list
/// is in the order of the set that names it (the current set for `added`, the base set for the others).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SetDiff {
    /// In the current set only; positions are those of the current set.
    pub added: Vec<QuestionName>,
    /// In the base set only.
    pub removed: Vec<QuestionName>,
    /// The same id in both, or where one of them has no id the same position, and other content.
    pub changed: Vec<QuestionName>,
    /// The same content in another order: the fewest questions that explain the new order.
    pub moved: Vec<Moved>,
    /// The same content under another salt, which is in the identity (scheme pm1).
    pub resalted: Vec<QuestionName>,
    /// Annotations that changed; no identity holds them.
    pub reannotated: Vec<Reannotated>,
}

impl SetDiff {
    /// Whether the identities agree under the same scorer: no difference but in annotations.
    pub fn same_identity(&self) -> bool {
        self.added.is_empty()
            && self.removed.is_empty()
            && self.changed.is_empty()
            && self.moved.is_empty()
            && self.resalted.is_empty()
    }
}

/// Compares two sets whose texts are held, content being what the scheme sees (`pm1` takes 1 and 1.0 for the same and
/// refuses integers beyond 2^53 - 1; `mixle` does neither, and sees no salts). Takes n log n steps.
pub fn diff_sets(base: &QuestionSet, current: &QuestionSet, scheme: Scheme) -> Result<SetDiff, QuestionError> {
    let (base_entries, current_entries) = (entries(base, scheme)?, entries(current, scheme)?);
    let pairs = pair(&base_entries, &current_entries);
    let mut diff = describe(&base_entries, &current_entries, &pairs);
    let kept = pairs.iter().enumerate().filter_map(|(from, to)| to.map(|to| (from, to)));
    for (from, to) in kept {
        let (Some(before), Some(after)) = (base.questions().get(from), current.questions().get(to)) else { continue };
        let name = base_entries[from].name(from);
        let same = base_entries[from].content == current_entries[to].content;
        if scheme == Scheme::Pm1 && same && before.salt() != after.salt() {
            diff.resalted.push(name.clone());
        }
        let annotations = changed_annotations(before, after);
        if !annotations.is_empty() {
            diff.reannotated.push(Reannotated { name, annotations });
        }
    }
    Ok(diff)
}

/// Compares two lists of leaves, all that is known of sealed sets: names are positions. A set sealed anew has other
/// leaves throughout and shows as changed throughout. Takes n log n steps.
pub fn diff_leaves(base: &Leaves, current: &Leaves) -> SetDiff {
    let entries = |leaves: &Leaves| -> Vec<Entry<'static>> {
        leaves.as_slice().iter().map(|leaf| Entry { id: None, content: *leaf.as_bytes() }).collect()
    };
    let (base, current) = (entries(base), entries(current));
    describe(&base, &current, &pair(&base, &current))
}

/// A question as far as pairing goes.
struct Entry<'a> {
    id: Option<&'a str>,
    content: [u8; 32],
}

impl Entry<'_> {
    fn name(&self, at: usize) -> QuestionName {
        self.id.map_or(QuestionName::Position(at + 1), |id| QuestionName::Id(id.to_owned()))
    }
}

fn entries(set: &QuestionSet, scheme: Scheme) -> Result<Vec<Entry<'_>>, QuestionError> {
    let content = |at: usize, question: &Question| match scheme {
        Scheme::Mixle => Ok(Canonical::digest(question)),
        Scheme::Pm1 => question.unsalted_leaf().map(|leaf| *leaf.as_bytes()).map_err(|error| set.refuse(at, error)),
    };
    let entries = set.iter().enumerate();
    let entries = entries.map(|(at, question)| Ok(Entry { id: question.id(), content: content(at, question)? }));
    entries.collect()
}

/// For every question of the base set its counterpart: first by id, then by content (the k-th occurrence with the k-th),
/// then by position unless both have ids.
fn pair(base: &[Entry<'_>], current: &[Entry<'_>]) -> Vec<Option<usize>> {
    let mut pairs: Vec<Option<usize>> = vec![None; base.len()];
    let mut taken = vec![false; current.len()];

    let by_id: HashMap<_, _> = current.iter().enumerate().filter_map(|(at, entry)| Some((entry.id?, at))).collect();
    for (from, entry) in base.iter().enumerate() {
        if let Some(to) = entry.id.and_then(|id| by_id.get(id)) {
            pairs[from] = Some(*to);
            taken[*to] = true;
        }
    }

    let mut by_content: HashMap<&[u8; 32], Vec<usize>> = HashMap::new();
    for (at, entry) in current.iter().enumerate().rev().filter(|(at, _)| !taken[*at]) {
        by_content.entry(&entry.content).or_default().push(at);
    }
    for (from, entry) in base.iter().enumerate().filter(|(from, _)| pairs[*from].is_none()).collect::<Vec<_>>() {
        if let Some(to) = by_content.get_mut(&entry.content).and_then(Vec::pop) {
            pairs[from] = Some(to);
            taken[to] = true;
        }
    }

    for (at, (before, after)) in base.iter().zip(current).enumerate() {
        let unnamed = before.id.is_none() || after.id.is_none();
        if pairs[at].is_none() && taken[at].not() && unnamed {
            pairs[at] = Some(at);
            taken[at] = true;
        }
    }
    pairs
}

fn describe(base: &[Entry<'_>], current: &[Entry<'_>], pairs: &[Option<usize>]) -> SetDiff {
    let mut diff = SetDiff::default();
    let mut taken = vec![false; current.len()];
    let mut same = Vec::new();
    for (from, to) in pairs.iter().enumerate() {
        match to {
            None => diff.removed.push(base[from].name(from)),
            Some(to) => {
                taken[*to] = true;
                if base[from].content == current[*to].content {
                    same.push((from, *to));
                } else {
                    diff.changed.push(base[from].name(from));
                }
            }
        }
    }
    let kept = longest_increasing(&same.iter().map(|(_, to)| *to).collect::<Vec<_>>());
    let moved = same.iter().zip(kept).filter(|(_, kept)| !kept);
    diff.moved =
        moved.map(|((from, to), _)| Moved { name: base[*from].name(*from), from: from + 1, to: to + 1 }).collect();
    diff.added = (taken.iter().enumerate().filter(|(_, taken)| !**taken)).map(|(at, _)| current[at].name(at)).collect();
    diff
}

fn changed_annotations(before: &Question, after: &Question) -> Vec<Annotation> {
    let changed = [
        (Annotation::Id, before.id() != after.id()),
        (Annotation::Cluster, before.cluster() != after.cluster()),
        (Annotation::MustPass, before.must_pass() != after.must_pass()),
    ];
    changed.into_iter().filter_map(|(annotation, changed)| changed.then_some(annotation)).collect()
}

/// Which of the distinct values are in one longest increasing subsequence (patience sorting, n log n).
fn longest_increasing(values: &[usize]) -> Vec<bool> {
    // tails[k]: index of the smallest value that ends an increasing subsequence of length k + 1.
    let mut tails: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(values.len());
    for (at, value) in values.iter().enumerate() {
        let length = tails.partition_point(|tail| values[*tail] < *value);
        before.push(length.checked_sub(1).map(|shorter| tails[shorter]));
        if length == tails.len() {
            tails.push(at);
        } else {
            tails[length] = at;
        }
    }
    let mut chosen = vec![false; values.len()];
    let mut next = tails.last().copied();
    while let Some(at) = next {
        chosen[at] = true;
        next = before[at];
    }
    chosen
}
