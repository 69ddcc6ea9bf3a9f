//! Standard errors where questions come in clusters (several about one passage) and are not independent.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Interval, MAX_PAIRS, StatsError, as_f64};

/// One question: its answers in both rounds and the cluster it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClusteredPair<'a> {
    /// Right in the base round.
    pub base: bool,
    /// Right in the current round.
    pub current: bool,
    /// The cluster key; a question without one is a cluster of its own.
    pub cluster: Option<&'a str>,
}

/// A clustered standard error without and with the small-sample factor.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterError {
    /// sqrt(Σ over clusters of the squared sum of deviations) / n (Liang and Zeger 1986; Miller 2024).
    pub uncorrected: f64,
    /// The same with its square multiplied by G/(G − 1), G the number of clusters.
    pub corrected: f64,
}

/// Clustered standard errors of both rounds and of their difference.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Clustered {
    /// How many clusters there are, at least two.
    pub clusters: u64,
    /// Of the share right in the base round.
    pub base: ClusterError,
    /// Of the share right in the current round.
    pub current: ClusterError,
    /// Of the paired difference.
    pub difference: ClusterError,
    /// The difference ± 1.96 corrected standard errors (Wald), cut to `[-1, 1]`. Too narrow for few clusters.
    pub difference95: Interval,
}

/// Sums over some questions: how many, how many right in each round.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    n: i64,
    base: i64,
    current: i64,
}

impl Sums {
    fn add(&mut self, base: bool, current: bool) {
        self.n += 1;
        self.base += i64::from(base);
        self.current += i64::from(current);
    }
}

impl Clustered {
    /// The clustered errors of these questions; `None` where they form fewer than two clusters, which show no spread.
    pub fn of<'a>(pairs: impl IntoIterator<Item = ClusteredPair<'a>>) -> Result<Option<Self>, StatsError> {
        let mut all = Sums::default();
        let mut named: BTreeMap<&str, Sums> = BTreeMap::new();
        let mut groups = Vec::new();
        for pair in pairs {
            all.add(pair.base, pair.current);
            match pair.cluster {
                Some(key) => named.entry(key).or_default().add(pair.base, pair.current),
                None => {
                    let mut alone = Sums::default();
                    alone.add(pair.base, pair.current);
                    groups.push(alone);
                }
            }
        }
        let total = all.n.unsigned_abs();
        if total > MAX_PAIRS {
            return Err(StatsError::TooMany { total });
        }
        groups.extend(named.into_values());
        Ok((groups.len() > 1).then(|| Self::over(&groups, all)))
    }

    fn over(groups: &[Sums], all: Sums) -> Self {
        let difference = error_of(groups, all, |sums| sums.current - sums.base);
        let n = as_f64(all.n.unsigned_abs());
        let estimate = as_f64(all.current.unsigned_abs()) - as_f64(all.base.unsigned_abs());
        Self {
            clusters: groups.len() as u64,
            base: error_of(groups, all, |sums| sums.base),
            current: error_of(groups, all, |sums| sums.current),
            difference,
            difference95: Interval::around(estimate / n, difference.corrected),
        }
    }
}

/// With S the sum over all n questions and S_g over the n_g of a cluster, a cluster deviates by S_g − n_g S/n. The squares
/// of n S_g − n_g S are summed as integers (below 2^98), so neither order nor rounding plays a part.
fn error_of(groups: &[Sums], all: Sums, score: impl Fn(&Sums) -> i64) -> ClusterError {
    let total = score(&all);
    let squares: u128 = groups
        .iter()
        .map(|group| {
            let deviation = u128::from((all.n * score(group) - group.n * total).unsigned_abs());
            deviation * deviation
        })
        .sum();
    #[allow(clippy::cast_precision_loss)] // rounded once, to nearest
    let spread = (squares as f64).sqrt();
    let n = as_f64(all.n.unsigned_abs());
    let uncorrected = spread / n / n;
    let clusters = as_f64(groups.len() as u64);
    ClusterError { uncorrected, corrected: uncorrected * (clusters / (clusters - 1.0)).sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::PairedCounts;

    fn pair(base: bool, current: bool, cluster: Option<&str>) -> ClusteredPair<'_> {
        ClusteredPair { base, current, cluster }
    }

    #[test]
    fn questions_without_a_key_are_clusters_of_one_and_give_the_paired_error() {
        let pairs = [(true, true), (true, false), (false, true), (true, false), (false, false)];
        let clustered = Clustered::of(pairs.map(|(base, current)| pair(base, current, None))).unwrap().unwrap();
        let paired = PairedCounts::count(pairs).unwrap();
        assert_eq!(clustered.clusters, 5);
        // With every cluster of size one, G/(G-1) is n/(n-1): the sample variance.
        assert!((clustered.difference.corrected - paired.standard_error().unwrap()).abs() < 1e-15);
        assert!((clustered.base.corrected - paired.base().standard_error().unwrap()).abs() < 1e-15);
    }

    #[test]
    fn one_cluster_shows_no_spread() {
        assert_eq!(Clustered::of([pair(true, false, Some("a")), pair(true, true, Some("a"))]), Ok(None));
        assert_eq!(Clustered::of([]), Ok(None));
    }

    #[test]
    fn answers_that_move_together_widen_the_error() {
        let keyed = |spread: bool| {
            (0..20u8).map(move |i| {
                let key = ["a", "b", "c", "d"][usize::from(if spread { i % 4 } else { i / 5 })];
                pair(true, i >= 10, Some(key))
            })
        };
        let together = Clustered::of(keyed(false)).unwrap().unwrap();
        let apart = Clustered::of(keyed(true)).unwrap().unwrap();
        assert!(together.difference.uncorrected > 3.0 * apart.difference.uncorrected);
    }
}
