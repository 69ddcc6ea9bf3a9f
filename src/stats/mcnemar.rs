//! McNemar's exact test on the questions that flipped.

use serde::Serialize;

use super::binomial::{Tail, lower_tail, power_of_half};

/// Under "no change" each flipped question is equally likely to have flipped either way, so the newly failing ones are
/// Binomial(discordant, 1/2). Every p lies in `(0, 1]`; one below 2^-1022 is given as 2^-1022.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct McNemar {
    /// Questions that flipped, either way.
    pub discordant: u64,
    /// Exact two-sided p: twice the smaller tail, at most 1 (McNemar 1947; Fagerland, Lydersen and Laake 2013).
    pub two_sided: f64,
    /// Exact one-sided p that the current round is worse: P(at least as many newly failing).
    pub one_sided_worse: f64,
    /// Mid-p, two-sided: the exact p less the probability of what was seen (half of it where both ways are level), and 1
    /// where nothing flipped. Less conservative than the exact p, at the price of no longer being a guarantee.
    pub mid_p: f64,
    /// The smallest two-sided p this many flips could have given, all of them one way. Above 0.05 for five or fewer: then
    /// no outcome could have been significant at that level.
    pub smallest_two_sided: f64,
}

impl McNemar {
    /// The test for `worse` newly failing and `better` newly passing questions, together below 2^32.
    pub(super) fn of(worse: u64, better: u64) -> Self {
        let discordant = worse + better;
        let tail = lower_tail(worse.min(better), discordant);
        let two_sided = (2.0 * tail.at_most).min(1.0);
        Self {
            discordant,
            two_sided,
            one_sided_worse: at_most(better, discordant),
            mid_p: if discordant == 0 { 1.0 } else { mid_p(worse == better, two_sided, tail) },
            smallest_two_sided: if discordant == 0 { 1.0 } else { power_of_half(discordant - 1) },
        }
    }
}

/// `P(X <= k)` for any k: by symmetry, at least as many newly failing is at most as many newly passing.
fn at_most(k: u64, n: u64) -> f64 {
    if 2 * k <= n {
        return lower_tail(k, n).at_most;
    }
    match (n - k).checked_sub(1) {
        Some(above) => 1.0 - lower_tail(above, n).at_most,
        None => 1.0,
    }
}

fn mid_p(level: bool, two_sided: f64, tail: Tail) -> f64 {
    if level { 1.0 - 0.5 * tail.exactly } else { two_sided - tail.exactly }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_table_gives_its_published_values() {
        // 1 against 7 flips (Bentur et al. 2009, as used by Fagerland, Lydersen and Laake 2013): 0.0703 and 0.0391.
        let test = McNemar::of(1, 7);
        assert_eq!(test.two_sided, 18.0 / 256.0);
        assert_eq!(test.mid_p, 10.0 / 256.0);
        assert_eq!(test.one_sided_worse, 255.0 / 256.0);
        assert_eq!(McNemar::of(7, 1).one_sided_worse, 9.0 / 256.0);
    }

    #[test]
    fn no_flips_and_level_flips_are_no_evidence() {
        let none = McNemar::of(0, 0);
        assert_eq!((none.two_sided, none.one_sided_worse, none.smallest_two_sided), (1.0, 1.0, 1.0));
        assert_eq!(none.mid_p, 1.0);
        let level = McNemar::of(2, 2);
        assert_eq!((level.two_sided, level.one_sided_worse), (1.0, 11.0 / 16.0));
        assert_eq!(level.mid_p, 1.0 - 0.5 * 6.0 / 16.0);
    }

    #[test]
    fn five_flips_can_never_be_significant_at_five_percent() {
        assert!(McNemar::of(5, 0).smallest_two_sided > 0.05);
        assert_eq!(McNemar::of(5, 0).two_sided, McNemar::of(5, 0).smallest_two_sided);
        assert!(McNemar::of(6, 0).two_sided < 0.05);
    }
}
