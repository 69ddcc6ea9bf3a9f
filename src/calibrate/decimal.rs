//! Decimals between 0 and 1, kept exactly as they were written.
//!
//! A confidence of `0.3` is three tenths, not the double nearest to it: that decides on which side of a bin edge or a
//! threshold it falls. Nineteen decimal places fit a 64-bit word and are all that most classifiers write; what goes
//! beyond is kept digit by digit, up to [`MAX_PLACES`].

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::natural::{Natural, Ratio};

/// The most decimal places that are read; the exact value of any double has at most 1,074.
pub const MAX_PLACES: usize = 1_100;

/// Decimal places of the head.
const HEAD_PLACES: usize = 19;

/// The head of 1, in units of 10^-19.
pub(crate) const ONE: u64 = 10_u64.pow(19);

/// Why a number is not a decimal between 0 and 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecimalError {
    /// Not a number as JSON writes it.
    #[error("is not a decimal number")]
    Syntax,
    /// Below 0 or above 1.
    #[error("must be between 0 and 1")]
    Range,
    /// More than [`MAX_PLACES`] decimal places.
    #[error("has more than {MAX_PLACES} decimal places")]
    Places,
}

/// An exact decimal from 0 to 1, both included.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Decimal {
    /// In units of 10^-19, rounded down.
    head: u64,
    /// The decimal places beyond the nineteenth, 0 to 9 each, without zeros at the end. Ordered as text is, which is
    /// the order of the values.
    tail: Box<[u8]>,
}

impl Decimal {
    /// Nothing.
    pub fn zero() -> Self {
        Self::from_head(0)
    }

    /// All.
    pub fn one() -> Self {
        Self::from_head(ONE)
    }

    /// `head` in units of 10^-19, at most [`ONE`].
    pub(crate) fn from_head(head: u64) -> Self {
        debug_assert!(head <= ONE);
        Self { head, tail: Box::default() }
    }

    /// The value in units of 10^-19, if it has no more places than that.
    pub(crate) fn short(&self) -> Option<u64> {
        self.tail.is_empty().then_some(self.head)
    }

    /// The nearest double.
    pub fn to_f64(&self) -> f64 {
        // The text is a number by construction, so the fallback is never taken.
        self.to_string().parse().unwrap_or(f64::NAN)
    }

    /// Whether canonical JSON, which writes doubles, gives back this very decimal.
    pub fn survives_json(&self) -> bool {
        self.to_f64().to_string().parse().as_ref() == Ok(self)
    }

    pub(crate) fn ratio(&self) -> Ratio {
        let mut sum = DecimalSum::default();
        sum.add(self);
        sum.ratio()
    }

    /// Which of `bins` bins of equal width this falls in: [lower, upper), the last one closed. `bins` at least 1.
    pub fn bin(&self, bins: u32) -> u32 {
        let last = bins - 1;
        let at = u128::from(self.head) * u128::from(bins) / u128::from(ONE);
        let at = u32::try_from(at).unwrap_or(last).min(last);
        // The tail is worth less than one unit of the head, so it lifts the decimal over one edge at most.
        if self.tail.is_empty() || at == last {
            return at;
        }
        let edge = Ratio::of(u64::from(at) + 1, u64::from(bins));
        if edge.is_some_and(|edge| self.ratio() >= edge) { at + 1 } else { at }
    }
}

impl FromStr for Decimal {
    type Err = DecimalError;

    /// Reads a number as JSON writes it (RFC 8259 section 6), in time linear in its length.
    fn from_str(text: &str) -> Result<Self, DecimalError> {
        let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (mantissa, exponent) = match text.find(['e', 'E']) {
            Some(at) => (&text[..at], exponent(&text[at + 1..])?),
            None => (text, 0),
        };
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
            Some(_) => return Err(DecimalError::Syntax),
            None => (mantissa, ""),
        };
        let digits = || whole.bytes().chain(fraction.bytes());
        let leading_zero = whole.len() > 1 && whole.starts_with('0');
        if whole.is_empty() || leading_zero || !digits().all(|digit| digit.is_ascii_digit()) {
            return Err(DecimalError::Syntax);
        }
        let zeros = digits().take_while(|digit| *digit == b'0').count();
        let mut significant: Vec<u8> = digits().skip(zeros).map(|digit| digit - b'0').collect();
        while significant.last() == Some(&0) {
            significant.pop();
        }
        if significant.is_empty() {
            return Ok(Self::zero());
        }
        // The value is 0.d1d2d3… times ten to the power of `point`.
        let shift = i64::try_from(whole.len()).and_then(|whole| Ok(whole - i64::try_from(zeros)?));
        let point = shift.map_err(|_| DecimalError::Places)?.saturating_add(exponent);
        if point == 1 && significant == [1] && !negative {
            return Ok(Self::one());
        }
        if negative || point > 0 {
            return Err(DecimalError::Range);
        }
        Self::from_places(point.unsigned_abs(), &significant)
    }
}

impl Decimal {
    /// `zeros` zeros after the point, then these digits.
    fn from_places(zeros: u64, digits: &[u8]) -> Result<Self, DecimalError> {
        let zeros = usize::try_from(zeros).map_err(|_| DecimalError::Places)?;
        if zeros.saturating_add(digits.len()) > MAX_PLACES {
            return Err(DecimalError::Places);
        }
        let place = |at: usize| at.checked_sub(zeros).and_then(|at| digits.get(at)).copied().unwrap_or(0);
        let head = (0..HEAD_PLACES).fold(0, |head, at| head * 10 + u64::from(place(at)));
        Ok(Self { head, tail: (HEAD_PLACES..zeros + digits.len()).map(place).collect() })
    }
}

fn exponent(text: &str) -> Result<i64, DecimalError> {
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return Err(DecimalError::Syntax);
    }
    let size = digits.bytes().fold(0i64, |size, digit| size.saturating_mul(10).saturating_add(i64::from(digit - b'0')));
    Ok(if negative { -size } else { size })
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.head == ONE {
            return f.pad("1");
        }
        let mut text = format!("0.{:019}", self.head);
        text.extend(self.tail.iter().map(|digit| char::from(b'0' + digit)));
        f.pad(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl Serialize for Decimal {
    /// The nearest double: what canonical JSON can say.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.to_f64())
    }
}

impl<'de> Deserialize<'de> for Decimal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = f64::deserialize(deserializer)?;
        value.to_string().parse().map_err(serde::de::Error::custom)
    }
}

/// An exact sum of decimals, the same in whatever order they are added.
#[derive(Debug, Clone, Default)]
pub(crate) struct DecimalSum {
    heads: u128,
    /// The sum of the digits at each place beyond the nineteenth.
    tails: Vec<u64>,
}

impl DecimalSum {
    /// Adds a decimal given by its head alone.
    pub(crate) fn add_head(&mut self, head: u64) {
        self.heads += u128::from(head);
    }

    pub(crate) fn add(&mut self, decimal: &Decimal) {
        self.add_head(decimal.head);
        if self.tails.len() < decimal.tail.len() {
            self.tails.resize(decimal.tail.len(), 0);
        }
        for (sum, digit) in self.tails.iter_mut().zip(&decimal.tail) {
            *sum += u64::from(*digit);
        }
    }

    fn ratio(&self) -> Ratio {
        Ratio::over_power_of_ten(self.scaled(self.places()), self.places())
    }

    /// How many decimal places the sum may have.
    pub(crate) fn places(&self) -> usize {
        HEAD_PLACES + self.tails.len()
    }

    /// The sum times ten to the power of `places`, which must be at least [`DecimalSum::places`].
    pub(crate) fn scaled(&self, places: usize) -> Natural {
        let mut sum = Natural::from(self.heads);
        for digit in &self.tails {
            sum = sum.times_word(10).plus(&Natural::from(*digit));
        }
        sum.times(&Natural::power_of_ten(places - self.places()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decimal(text: &str) -> Decimal {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn one_value_has_one_form_however_it_is_written() {
        for (text, form) in [
            ("0.5", "0.5"),
            ("5e-1", "0.5"),
            ("0.50000000000000000000000000000", "0.5"),
            ("500E-3", "0.5"),
            ("0", "0"),
            ("-0", "0"),
            ("-0.0e9", "0"),
            ("0e99999999999999999999", "0"),
            ("1", "1"),
            ("1.000", "1"),
            ("0.1e1", "1"),
            ("10e-1", "1"),
            ("0.12345678901234567890123", "0.12345678901234567890123"),
            ("1e-25", "0.0000000000000000000000001"),
        ] {
            assert_eq!(decimal(text).to_string(), form, "{text}");
        }
    }

    #[test]
    fn what_is_not_between_0_and_1_is_refused() {
        for text in ["1.0001", "-0.1", "2", "1e400", "-1e-400", "1.00000000000000000000000000001", "11e-1"] {
            assert_eq!(text.parse::<Decimal>(), Err(DecimalError::Range), "{text}");
        }
        for text in ["", "-", "+1", "NaN", ".5", "1.", "01", "0x1", "1e", "1e+", "0.5 ", "0,5", "--0", "0.5e1.0", "inf"]
        {
            assert_eq!(text.parse::<Decimal>(), Err(DecimalError::Syntax), "{text:?}");
        }
        for text in ["1e-1101", "1e-99999999999999999999999999"] {
            assert_eq!(text.parse::<Decimal>(), Err(DecimalError::Places), "{text}");
        }
    }

    #[test]
    fn an_edge_belongs_to_the_upper_bin_by_the_decimal_as_written() {
        for edge in 0..10u32 {
            assert_eq!(decimal(&format!("0.{edge}")).bin(10), edge);
        }
        assert_eq!(decimal("1.0").bin(10), 9);
        // As doubles these three are 0.3, 0.6 and 0.7; as written they are below.
        assert_eq!(decimal("0.29999999999999999").bin(10), 2);
        assert_eq!(decimal("0.59999999999999999999").bin(10), 5);
        assert_eq!(decimal("0.6999999999999999999999999").bin(10), 6);
        assert_eq!(decimal("0.33333333333333333333").bin(3), 0);
        assert_eq!(decimal("0.33333333333333333334").bin(3), 1);
        assert_eq!(decimal("0.9999999999999999999999999").bin(1), 0);
    }

    #[test]
    fn only_what_a_double_prints_survives_json() {
        assert!(decimal("0.8").survives_json());
        assert!(decimal("0.05").survives_json());
        assert!(decimal("1e-300").survives_json());
        assert!(!decimal("0.30000000000000001").survives_json());
    }

    proptest! {
        #[test]
        fn every_double_reads_back_and_keeps_its_order(left in 0.0f64..=1.0, right in 0.0f64..=1.0) {
            let (a, b) = (decimal(&left.to_string()), decimal(&right.to_string()));
            prop_assert_eq!(a.to_f64(), left);
            prop_assert_eq!(a.cmp(&b), left.total_cmp(&right));
            prop_assert_eq!(a.ratio().cmp(&b.ratio()), a.cmp(&b));
        }

        #[test]
        fn bins_agree_with_exact_division(digits in prop::collection::vec(0u8..10, 1..30), bins in 1u32..40) {
            let text: String = digits.iter().map(|digit| char::from(b'0' + digit)).collect();
            let value = decimal(&format!("0.{text}"));
            let ratio = value.ratio();
            let at = value.bin(bins);
            prop_assert!(ratio >= Ratio::of(u64::from(at), u64::from(bins)).unwrap());
            prop_assert!(ratio < Ratio::of(u64::from(at) + 1, u64::from(bins)).unwrap());
        }

        #[test]
        fn a_sum_does_not_depend_on_order(mut texts in prop::collection::vec("0\\.[0-9]{1,40}", 0..20)) {
            let sum = |texts: &[String]| {
                let mut sum = DecimalSum::default();
                texts.iter().for_each(|text| sum.add(&decimal(text)));
                sum.scaled(60)
            };
            let forward = sum(&texts);
            texts.reverse();
            prop_assert_eq!(forward, sum(&texts));
        }
    }
}
