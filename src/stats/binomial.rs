//! The lower tail of the fair binomial, Binomial(n, 1/2), to the last bits at any size.
//!
//! The point probability is C(n, k) / 2^n. Its binomial coefficient is built as a product of k ratios in 96-bit integers
//! with a separate power of two, the tail as a sum of falling ratios relative to that point. A million steps lose less
//! than 2^-70 of the value, where logarithms of factorials would lose 2^-33 of it; and integers give the same bits on
//! every machine.

/// Bits of the integer that carries a coefficient.
const BITS: u32 = 96;

/// `P(X <= k)` and `P(X = k)`; never below the smallest normal double, 2^-1022.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Tail {
    pub at_most: f64,
    pub exactly: f64,
}

/// The tail up to `k` in the lower half: `2k <= n` and `n < 2^32`.
pub(super) fn lower_tail(k: u64, n: u64) -> Tail {
    debug_assert!(2 * k <= n && n < 1 << 32);
    let (mantissa, exponent) = choose(n, k);
    let point = exponent - n.cast_signed();
    let sum = relative_sum(k, n);
    Tail {
        at_most: scaled(to_f64(mantissa) * to_f64(sum), point - i64::from(BITS)),
        exactly: scaled(to_f64(mantissa), point),
    }
}

/// 2^exponent for an exponent of at most 0, never below 2^-1022.
pub(super) fn power_of_half(exponent: u64) -> f64 {
    scaled(1.0, -exponent.cast_signed())
}

/// C(n, k) as mantissa × 2^exponent with a mantissa of exactly [`BITS`] bits, cut (not rounded) at each step.
fn choose(n: u64, k: u64) -> (u128, i64) {
    let mut mantissa = 1u128 << (BITS - 1);
    let mut exponent = 1 - i64::from(BITS);
    for step in 1..=k {
        // Each factor is at least 1, so the mantissa never loses a leading bit; 96 + 32 bits fit.
        mantissa = mantissa * u128::from(n - k + step) / u128::from(step);
        let excess = u128::BITS - mantissa.leading_zeros() - BITS;
        mantissa >>= excess;
        exponent += i64::from(excess);
    }
    (mantissa, exponent)
}

/// `P(X <= k) / P(X = k)` in units of 2^-96: 1 + k/(n-k+1) × (1 + (k-1)/(n-k+2) × (1 + …)).
fn relative_sum(k: u64, n: u64) -> u128 {
    let mut term = 1u128 << BITS;
    let mut sum = term;
    for below in (1..=k).rev() {
        term = term * u128::from(below) / u128::from(n - below + 1);
        if term == 0 {
            break;
        }
        sum += term;
    }
    sum
}

#[allow(clippy::cast_precision_loss)] // rounded once, to nearest
fn to_f64(value: u128) -> f64 {
    value as f64
}

/// value × 2^exponent without `powi`, whose last bits are not specified. The exponent is at most 0.
fn scaled(value: f64, exponent: i64) -> f64 {
    const STEP: i64 = 512;
    let mut value = value;
    let mut left = exponent;
    while left < -STEP && value > 0.0 {
        value *= power_of_two(-STEP);
        left += STEP;
    }
    (value * power_of_two(left.max(-STEP))).max(f64::MIN_POSITIVE)
}

/// 2^exponent for exponents from -512 to 0.
fn power_of_two(exponent: i64) -> f64 {
    f64::from_bits((1023 + exponent).cast_unsigned() << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pascal's row n, exact: entries below 2^64 for n ≤ 60.
    fn row(n: u64) -> Vec<u128> {
        let mut row = vec![1u128];
        for _ in 0..n {
            let inner: Vec<u128> = row.windows(2).map(|pair| pair[0] + pair[1]).collect();
            row = std::iter::once(1).chain(inner).chain(std::iter::once(1)).collect();
        }
        row
    }

    #[test]
    fn the_tail_agrees_with_exact_integers_up_to_n_60() {
        for n in 0..=60u64 {
            let row = row(n);
            for k in 0..=n / 2 {
                let upto = usize::try_from(k).unwrap();
                let all: u128 = row[..=upto].iter().sum();
                // The quotient of two integers below 2^64 with the divisor a power of two: rounded once.
                let exact = to_f64(all) / to_f64(1 << n);
                let point = to_f64(row[upto]) / to_f64(1 << n);
                let tail = lower_tail(k, n);
                assert!((tail.at_most - exact).abs() <= 2.0 * f64::EPSILON * exact, "P(X <= {k}), n = {n}");
                assert!((tail.exactly - point).abs() <= f64::EPSILON * point, "P(X = {k}), n = {n}");
            }
        }
    }

    #[test]
    fn half_of_an_odd_million_is_one_half_and_the_far_tail_stays_above_zero() {
        let half = lower_tail(499_999, 999_999).at_most;
        assert!((half - 0.5).abs() < 1e-15, "{half}");
        assert_eq!(lower_tail(0, 1_000_000).at_most, f64::MIN_POSITIVE);
        assert_eq!(power_of_half(3), 0.125);
        assert_eq!(power_of_half(1022), f64::MIN_POSITIVE);
        assert_eq!(power_of_half(u64::from(u32::MAX)), f64::MIN_POSITIVE);
    }
}
