//! What differs between two question sets: which questions were added, removed, changed or moved.

use std::collections::HashMap;
use std::fmt;

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
    /// The same id, or where one of the two has no id the same position, and other content.
    pub changed: Vec<QuestionName>,
    /// The same content in another order: the fewest questions that explain the new order (one such choice of several).
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

/// For every question of the base set its counterpart: first what stands where it stood with the same content, so that
/// equal identities never differ; then by id, unless both sets hold the same content in another order, whatever it is called
/// there; then by content (the k-th occurrence with the k-th); then by position unless both have ids.
fn pair(base: &[Entry<'_>], current: &[Entry<'_>]) -> Vec<Option<usize>> {
    let mut pairing = Pairing { pairs: vec![None; base.len()], taken: vec![false; current.len()] };

    for (at, (before, after)) in base.iter().zip(current).enumerate() {
        if before.content == after.content {
            pairing.join(at, at);
        }
    }

    let by_id: HashMap<_, _> = current.iter().enumerate().filter_map(|(at, entry)| Some((entry.id?, at))).collect();
    let named = if contents(base) == contents(current) { &[] } else { base };
    for (from, entry) in named.iter().enumerate() {
        if let Some(to) = entry.id.and_then(|id| by_id.get(id)) {
            pairing.join(from, *to);
        }
    }

    let mut by_content: HashMap<&[u8; 32], Vec<usize>> = HashMap::new();
    for (at, entry) in current.iter().enumerate().rev().filter(|(at, _)| !pairing.taken[*at]) {
        by_content.entry(&entry.content).or_default().push(at);
    }
    for (from, entry) in base.iter().enumerate() {
        if pairing.pairs[from].is_none()
            && let Some(to) = by_content.get_mut(&entry.content).and_then(Vec::pop)
        {
            pairing.join(from, to);
        }
    }

    for (at, (before, after)) in base.iter().zip(current).enumerate() {
        if before.id.is_none() || after.id.is_none() {
            pairing.join(at, at);
        }
    }
    pairing.pairs
}

/// What a set holds, in no order.
fn contents<'a>(set: &'a [Entry<'_>]) -> Vec<&'a [u8; 32]> {
    let mut contents: Vec<_> = set.iter().map(|entry| &entry.content).collect();
    contents.sort_unstable();
    contents
}

/// Which question of the base set goes with which of the current one; each at most once.
struct Pairing {
    pairs: Vec<Option<usize>>,
    taken: Vec<bool>,
}

impl Pairing {
    /// Joins the two, unless one of them has its counterpart already.
    fn join(&mut self, from: usize, to: usize) {
        if self.pairs[from].is_none() && !self.taken[to] {
            self.pairs[from] = Some(to);
            self.taken[to] = true;
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Questions written `id:content`, `:content` or `content`; `!` at the end is `must_pass`.
    fn set(words: &str) -> QuestionSet {
        let line = |word: &str| {
            let must_pass = word.ends_with('!');
            let word = word.trim_end_matches('!');
            let (id, content) = word.split_once(':').unwrap_or(("", word));
            let id = if id.is_empty() { String::new() } else { format!(",\"id\":\"{id}\"") };
            format!("{{\"question\":\"{content}\",\"expected\":\"a\",\"must_pass\":{must_pass}{id}}}\n")
        };
        QuestionSet::parse("q.jsonl", words.split(' ').map(line).collect::<String>().as_bytes()).unwrap()
    }

    fn said(diff: &SetDiff) -> String {
        let names = |names: &[QuestionName]| names.iter().map(|name| format!(" {name}")).collect::<String>();
        let mut text = String::new();
        for (word, list) in [
            ("added", &diff.added),
            ("removed", &diff.removed),
            ("changed", &diff.changed),
            ("resalted", &diff.resalted),
        ] {
            if !list.is_empty() {
                text.push_str(&format!("{word}{}; ", names(list)));
            }
        }
        for moved in &diff.moved {
            text.push_str(&format!("moved {} {}->{}; ", moved.name, moved.from, moved.to));
        }
        for Reannotated { name, annotations } in &diff.reannotated {
            let annotations: Vec<_> = annotations.iter().map(|annotation| annotation.name()).collect();
            text.push_str(&format!("reannotated {name} {}; ", annotations.join(",")));
        }
        text.trim_end_matches("; ").to_owned()
    }

    fn diff(base: &str, current: &str) -> String {
        let diff = diff_sets(&set(base), &set(current), Scheme::Pm1).unwrap();
        let mixle = diff_sets(&set(base), &set(current), Scheme::Mixle).unwrap();
        assert_eq!(diff, mixle);
        let id = |words: &str| set(words).id(Scheme::Pm1, &"exact/v1".parse().unwrap()).unwrap();
        assert_eq!(diff.same_identity(), id(base) == id(current), "{base} / {current}");
        said(&diff)
    }

    #[test]
    fn differences_are_named() {
        for (base, current, expected) in [
            ("x:a y:b", "x:a y:b", ""),
            ("x:a y:b z:c", "x:a z:c", "removed y"),
            ("x:a z:c", "w:n x:a z:c", "added w"),
            ("x:a y:b", "x:a y:B", "changed y"),
            ("x:a y:b z:c", "z:c x:a y:b", "moved z 3->1"),
            ("x:a y:b z:c", "y:b x:A z:c", "changed x"),
            ("x:a y:b", "x:b y:a", "moved x 1->2; reannotated x id; reannotated y id"),
            ("0:a 1:b 2:c", "0:b 1:a 2:d", "changed 0 1 2"),
            ("a b c", "a X c", "changed #2"),
            ("a b c", "a c", "removed #2"),
            ("a b c", "a b c d", "added #4"),
            ("a b c d", "b c d a", "moved #1 1->4"),
            ("a a b", "a b a", "moved #2 2->3"),
            ("a a", "a", "removed #2"),
            ("a b", "x:a b", "reannotated #1 id"),
            ("x:a b", "x:a! b", "reannotated x must_pass"),
            ("x:a y:b", "y:a x:b", "reannotated x id; reannotated y id"),
            ("x:a", "y:b", "added y; removed x"),
            ("x:a", "b", "changed x; reannotated x id"),
            (
                "x:a y:b z:c w:d",
                "q:n z:c! x:a w:D",
                "added q; removed y; changed w; moved x 1->3; reannotated z must_pass",
            ),
        ] {
            assert_eq!(diff(base, current), expected, "{base} / {current}");
        }
    }

    #[test]
    fn the_scheme_decides_what_is_the_same() {
        let set = |fingerprint: &str| {
            let text = format!(r#"{{"query":{{"text":"q","fingerprint":{fingerprint}}},"expected":"a"}}"#);
            QuestionSet::parse("q.jsonl", text.as_bytes()).unwrap()
        };
        assert!(diff_sets(&set("1"), &set("1.0"), Scheme::Pm1).unwrap().same_identity());
        assert_eq!(said(&diff_sets(&set("1"), &set("1.0"), Scheme::Mixle).unwrap()), "changed #1");
        assert!(diff_sets(&set("1"), &set("18446744073709551615"), Scheme::Pm1).is_err());
        assert!(diff_sets(&set("1"), &set("18446744073709551615"), Scheme::Mixle).is_ok());
    }

    #[test]
    fn sealed_sets_are_compared_by_their_leaves() {
        let seal = |words: &str, salt: u8| set(words).seal(|| Ok::<_, ()>([salt; 32])).unwrap();
        let (base, current) = (seal("x:a y:b z:c", 1), seal("z:c x:a y:B w:d", 1));
        let leaves = diff_leaves(&base.leaves().unwrap(), &current.leaves().unwrap());
        assert_eq!(said(&leaves), "added #3 #4; removed #2; moved #1 1->2");
        assert_eq!(said(&diff_sets(&base, &seal("x:a y:b z:c", 2), Scheme::Pm1).unwrap()), "resalted x y z");
        assert_eq!(said(&diff_sets(&base, &seal("x:a y:b z:c", 2), Scheme::Mixle).unwrap()), "");
        assert_eq!(
            said(&diff_leaves(&base.leaves().unwrap(), &seal("a b c", 2).leaves().unwrap())),
            "changed #1 #2 #3"
        );
    }

    /// The length of the longest increasing subsequence, in the plain quadratic way.
    fn longest(values: &[usize]) -> usize {
        let mut best = vec![1; values.len()];
        for at in 0..values.len() {
            for before in 0..at {
                if values[before] < values[at] {
                    best[at] = best[at].max(best[before] + 1);
                }
            }
        }
        best.into_iter().max().unwrap_or(0)
    }

    proptest! {
        #[test]
        fn as_few_as_possible_are_said_to_have_moved(values in Just((0..40usize).collect::<Vec<_>>()).prop_shuffle()) {
            let chosen = longest_increasing(&values);
            let kept: Vec<_> = values.iter().zip(&chosen).filter(|(_, chosen)| **chosen).map(|(value, _)| *value).collect();
            prop_assert!(kept.is_sorted());
            prop_assert_eq!(kept.len(), longest(&values));
        }

        #[test]
        fn every_question_is_accounted_for_once(
            base in prop::collection::vec(0..6u8, 1..12),
            current in prop::collection::vec(0..6u8, 1..12),
        ) {
            let words = |values: &[u8]| values.iter().map(u8::to_string).collect::<Vec<_>>().join(" ");
            let diff = diff_sets(&set(&words(&base)), &set(&words(&current)), Scheme::Pm1).unwrap();
            prop_assert_eq!(base.len() - diff.removed.len(), current.len() - diff.added.len());
            prop_assert!(diff.changed.len() + diff.moved.len() + diff.removed.len() <= base.len());
            prop_assert_eq!(diff.same_identity(), base == current);
        }
    }
}
