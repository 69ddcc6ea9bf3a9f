//! Exact arithmetic for what decides a verdict: natural numbers of any size, and fractions of them.
//!
//! A gate compares a measured fraction with a limit written in decimal. Both are fractions of natural numbers, so the
//! comparison is a cross multiplication and no rounding takes part in it; a fraction is turned into a double once, for
//! the report, correctly rounded.

use std::cmp::Ordering;

/// A natural number: 64-bit limbs, least significant first, no leading zero limb (zero has none).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Natural(Vec<u64>);

impl Natural {
    pub(crate) fn zero() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    /// Ten to the power of `places`.
    pub(crate) fn power_of_ten(places: usize) -> Self {
        let mut power = Self::from(1u64);
        for _ in 0..places {
            power = power.times_word(10);
        }
        power
    }

    pub(crate) fn plus(&self, other: &Self) -> Self {
        let (long, short) = if self.0.len() >= other.0.len() { (self, other) } else { (other, self) };
        let mut sum = Vec::with_capacity(long.0.len() + 1);
        let mut carry = false;
        for (at, limb) in long.0.iter().enumerate() {
            let (partial, first) = limb.overflowing_add(short.0.get(at).copied().unwrap_or(0));
            let (total, second) = partial.overflowing_add(u64::from(carry));
            sum.push(total);
            carry = first || second;
        }
        if carry {
            sum.push(1);
        }
        Self(sum)
    }

    /// How far apart the two are.
    pub(crate) fn distance(&self, other: &Self) -> Self {
        let (large, small) = if *self >= *other { (self, other) } else { (other, self) };
        let mut rest = large.clone();
        rest.subtract(small);
        rest
    }

    /// Takes away `other`, which must not be larger.
    fn subtract(&mut self, other: &Self) {
        let mut borrow = false;
        for (at, limb) in self.0.iter_mut().enumerate() {
            let (partial, first) = limb.overflowing_sub(other.0.get(at).copied().unwrap_or(0));
            let (rest, second) = partial.overflowing_sub(u64::from(borrow));
            *limb = rest;
            borrow = first || second;
        }
        debug_assert!(!borrow, "the larger number is taken from the smaller");
        self.trim();
    }

    pub(crate) fn times_word(&self, factor: u64) -> Self {
        self.times(&Self::from(factor))
    }

    pub(crate) fn times(&self, other: &Self) -> Self {
        let mut product = vec![0u64; self.0.len() + other.0.len()];
        for (at, left) in self.0.iter().enumerate() {
            let mut carry = 0u128;
            for (step, right) in other.0.iter().enumerate() {
                let sum = u128::from(*left) * u128::from(*right) + u128::from(product[at + step]) + carry;
                product[at + step] = low(sum);
                carry = sum >> 64;
            }
            product[at + other.0.len()] = low(carry);
        }
        let mut product = Self(product);
        product.trim();
        product
    }

    fn double(&mut self) {
        let mut carry = 0;
        for limb in &mut self.0 {
            let top = *limb >> 63;
            *limb = (*limb << 1) | carry;
            carry = top;
        }
        if carry > 0 {
            self.0.push(carry);
        }
    }

    fn trim(&mut self) {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }
}

#[allow(clippy::cast_possible_truncation)] // the low half is what is wanted
fn low(value: u128) -> u64 {
    value as u64
}

impl From<u64> for Natural {
    fn from(value: u64) -> Self {
        Self::from(u128::from(value))
    }
}

impl From<u128> for Natural {
    fn from(value: u128) -> Self {
        let mut natural = Self(vec![low(value), low(value >> 64)]);
        natural.trim();
        natural
    }
}

impl Ord for Natural {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.len().cmp(&other.0.len()).then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }
}

impl PartialOrd for Natural {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A fraction of two natural numbers, never with the denominator zero.
#[derive(Debug, Clone)]
pub(crate) struct Ratio {
    numerator: Natural,
    denominator: Natural,
}

impl Ratio {
    /// The fraction, or `None` where nothing is divided by: an undefined value, not a zero.
    pub(crate) fn new(numerator: Natural, denominator: Natural) -> Option<Self> {
        if denominator.is_zero() { None } else { Some(Self { numerator, denominator }) }
    }

    /// `numerator` over ten to the power of `places`.
    pub(crate) fn over_power_of_ten(numerator: Natural, places: usize) -> Self {
        Self { numerator, denominator: Natural::power_of_ten(places) }
    }

    /// A fraction of two counts.
    pub(crate) fn of(numerator: u64, denominator: u64) -> Option<Self> {
        Self::new(Natural::from(numerator), Natural::from(denominator))
    }

    /// The mean of fractions given as (numerator, denominator), every denominator at least 1; `None` of none.
    ///
    /// Fractions with the same denominator are added first, so that the common denominator stays as small as it can.
    pub(crate) fn mean(parts: &[(u64, u64)]) -> Option<Self> {
        let mut by_denominator = std::collections::BTreeMap::<u64, u128>::new();
        for (numerator, denominator) in parts {
            *by_denominator.entry(*denominator).or_default() += u128::from(*numerator);
        }
        let (mut numerator, mut denominator) = (Natural::zero(), Natural::from(1u64));
        for (divisor, sum) in by_denominator {
            numerator = numerator.times_word(divisor).plus(&Natural::from(sum).times(&denominator));
            denominator = denominator.times_word(divisor);
        }
        let denominator = denominator.times_word(parts.len() as u64);
        Self::new(numerator, denominator)
    }

    /// The nearest double of a fraction between 0 and 1 (ties to even); exactly rounded down to 2^-1021.
    pub(crate) fn to_f64(&self) -> f64 {
        if self.numerator >= self.denominator {
            return 1.0;
        }
        let (mut rest, mut bits, mut shift) = (self.numerator.clone(), 0u64, 0i32);
        while bits >> 53 == 0 && shift < 1130 {
            rest.double();
            bits <<= 1;
            shift += 1;
            if rest >= self.denominator {
                rest.subtract(&self.denominator);
                bits |= 1;
            }
        }
        // 54 bits: the last one decides the rounding, what is left of the fraction breaks its tie.
        let up = bits & 1 == 1 && (!rest.is_zero() || bits & 2 == 2);
        let mantissa = (bits >> 1) + u64::from(up);
        #[allow(clippy::cast_precision_loss)] // at most 2^53
        let mantissa = mantissa as f64;
        let exponent = shift - 1;
        mantissa * 2f64.powi(-(exponent / 2)) * 2f64.powi(-(exponent - exponent / 2))
    }
}

impl Ord for Ratio {
    fn cmp(&self, other: &Self) -> Ordering {
        self.numerator.times(&other.denominator).cmp(&other.numerator.times(&self.denominator))
    }
}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ratio {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ratio {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ratio(numerator: u64, denominator: u64) -> Ratio {
        Ratio::of(numerator, denominator).unwrap()
    }

    #[test]
    fn the_double_is_the_nearest_one() {
        for (numerator, denominator, value) in
            [(1, 10, 0.1), (3, 10, 0.3), (2, 3, 2.0 / 3.0), (0, 7, 0.0), (7, 7, 1.0), (475, 1000, 0.475)]
        {
            assert_eq!(ratio(numerator, denominator).to_f64(), value, "{numerator}/{denominator}");
        }
        let tiny = Ratio::new(Natural::from(1u64), Natural::power_of_ten(300)).unwrap();
        assert_eq!(tiny.to_f64(), 1e-300);
        assert_eq!(Ratio::new(Natural::from(1u64), Natural::power_of_ten(600)).unwrap().to_f64(), 0.0);
    }

    #[test]
    fn a_mean_that_doubles_miss_is_exact() {
        // (0.7 + 0.9) / 2 and the mean of ten tenths come out below as doubles or not, by luck; here they are equal.
        assert_eq!(Ratio::mean(&[(7, 10), (9, 10)]).unwrap(), ratio(8, 10));
        assert_eq!(Ratio::mean(&[(1, 2), (1, 3), (1, 6)]).unwrap(), ratio(1, 3));
        assert_eq!(Ratio::mean(&[]), None);
    }

    #[test]
    fn nothing_divided_by_nothing_is_undefined() {
        assert_eq!(Ratio::of(0, 0), None);
    }

    proptest! {
        #[test]
        fn arithmetic_agrees_with_128_bits(left in any::<u64>(), right in any::<u64>(), wide in any::<u128>()) {
            let (a, b) = (Natural::from(left), Natural::from(right));
            prop_assert_eq!(a.times(&b), Natural::from(u128::from(left) * u128::from(right)));
            prop_assert_eq!(a.plus(&b), Natural::from(u128::from(left) + u128::from(right)));
            prop_assert_eq!(a.distance(&b), Natural::from(left.abs_diff(right)));
            prop_assert_eq!(a.cmp(&b), left.cmp(&right));
            prop_assert_eq!(Natural::from(wide).distance(&a), Natural::from(wide.abs_diff(u128::from(left))));
        }

        #[test]
        fn small_fractions_round_as_the_processor_does(numerator in 0u64..1 << 53, denominator in 1u64..1 << 53) {
            prop_assume!(numerator <= denominator);
            prop_assert_eq!(ratio(numerator, denominator).to_f64(), numerator as f64 / denominator as f64);
        }

        #[test]
        fn a_mean_is_near_the_mean_of_doubles(parts in prop::collection::vec((0u64..1000, 1000u64..2000), 1..60)) {
            let mean = Ratio::mean(&parts).unwrap().to_f64();
            let doubles = parts.iter().map(|(n, d)| *n as f64 / *d as f64).sum::<f64>() / parts.len() as f64;
            prop_assert!((mean - doubles).abs() < 1e-14, "{} {}", mean, doubles);
        }
    }
}
