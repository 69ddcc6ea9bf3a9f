//! Tango's score interval for the difference of two paired proportions (Tango 1998).

use super::{Interval, Z95, as_f64};

/// The 95% interval for `p(current) − p(base)` from `better` newly passing and `worse` newly failing of `total` > 0.
///
/// Each end is the difference δ that the score statistic rejects exactly at the level; the formula is written out in
/// `docs/statistics.md`. The lower end is minus the upper end of the mirrored table, so swapping the rounds mirrors the
/// interval to the last bit.
pub(super) fn interval95(better: u64, worse: u64, total: u64) -> Interval {
    Interval { lower: -upper(worse, better, total), upper: upper(better, worse, total) }
}

/// The root of `n δ − (b − c) = z sqrt(n (2 q + δ (1 − δ)))` between the estimate, where the left side is smaller, and 1,
/// by halving until no double lies between.
fn upper(b: u64, c: u64, total: u64) -> f64 {
    let (b, c, n) = (as_f64(b), as_f64(c), as_f64(total));
    let mut inside = (b - c) / n;
    let mut outside = 1.0;
    // The halving of [-1, 1] ends within about 1,100 steps even towards 0, the densest place of doubles.
    loop {
        let middle = inside + (outside - inside) / 2.0;
        if middle <= inside || middle >= outside {
            return inside;
        }
        if n * middle - (b - c) <= Z95 * (n * variance(b, c, n, middle)).sqrt() {
            inside = middle;
        } else {
            outside = middle;
        }
    }
}

/// `2 q + δ (1 − δ)`, q being the most likely share of newly failing questions were the difference δ.
fn variance(b: f64, c: f64, n: f64, delta: f64) -> f64 {
    let rest = delta * (1.0 - delta);
    let linear = (2.0 * n - b + c) * delta - b - c;
    let constant = -c * rest;
    // The larger root of 2n q² + linear q + constant = 0, by whichever form subtracts nothing.
    let root = (linear * linear - 8.0 * n * constant).max(0.0).sqrt();
    let share = if linear <= 0.0 { (root - linear) / (4.0 * n) } else { -2.0 * constant / (root + linear) };
    (2.0 * share + rest).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_table_gives_its_published_interval() {
        // 1 against 7 flips of 21 (Fagerland, Lydersen and Laake 2014): -0.517 to -0.026.
        let interval = interval95(1, 7, 21);
        assert!((interval.lower + 0.517).abs() < 5e-4, "{interval:?}");
        assert!((interval.upper + 0.026).abs() < 5e-4, "{interval:?}");
    }

    #[test]
    fn without_flips_the_interval_is_z2_over_n_plus_z2_each_way() {
        for n in [1, 2, 24, 1000, 1 << 24] {
            let interval = interval95(0, 0, n);
            let z2 = Z95 * Z95;
            assert!((interval.upper - z2 / (as_f64(n) + z2)).abs() < 1e-12, "{n}: {interval:?}");
            assert_eq!(interval.lower, -interval.upper);
        }
    }

    #[test]
    fn a_whole_set_flipped_one_way_reaches_the_end_of_the_scale() {
        assert_eq!(interval95(9, 0, 9).upper, 1.0);
        assert_eq!(interval95(0, 9, 9).lower, -1.0);
        assert!(interval95(9, 0, 9).lower > 0.0);
    }
}
