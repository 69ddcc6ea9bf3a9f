//! `numeric/v1`: a number within a tolerance.

use crate::object::FieldError;
use crate::question::python_strip;

/// The absolute tolerance of `numeric/v1` without parameters.
pub const DEFAULT_ABS: f64 = 1e-6;
/// The relative tolerance of `numeric/v1` without parameters.
pub const DEFAULT_REL: f64 = 0.0;

/// How far a reply may be from the expected number: `max(abs, rel × |expected|)`, inclusive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    abs: f64,
    rel: f64,
}

impl Default for Tolerance {
    fn default() -> Self {
        Self { abs: DEFAULT_ABS, rel: DEFAULT_REL }
    }
}

impl Tolerance {
    /// A tolerance with this absolute part, if it is finite and not negative.
    pub(super) fn with_abs(self, abs: f64) -> Option<Self> {
        // Adding zero turns -0.0 into 0.0, so that one tolerance has one spelling.
        (abs.is_finite() && abs >= 0.0).then_some(Self { abs: abs + 0.0, ..self })
    }

    /// A tolerance with this relative part, if it is between 0 and 1.
    pub(super) fn with_rel(self, rel: f64) -> Option<Self> {
        (0.0..=1.0).contains(&rel).then_some(Self { rel: rel + 0.0, ..self })
    }

    /// The absolute part: finite, zero or more.
    pub fn abs(self) -> f64 {
        self.abs
    }

    /// The relative part: 0 to 1.
    pub fn rel(self) -> f64 {
        self.rel
    }
}

/// `numeric/v1?abs=A&rel=R`: right when the stripped reply is one number within the tolerance of the expected one.
///
/// A number is an optional sign, digits with an optional decimal point (`5`, `5.`, `.5`), commas between groups of three
/// digits before the point or none (`1,234,567.8`), and an optional exponent (`1e-3`), all ASCII.
///
/// Limits: the reply must be the number and nothing else: words, units, `%`, currency signs, fractions, a decimal comma
/// (`3,14`) and a Unicode minus are not read, and make the reply wrong. Numbers are IEEE doubles: integers beyond 2^53
/// that are neighbours may be taken for equal, and a difference of exactly the tolerance may fall on either side.
#[derive(Debug, Clone, Copy)]
pub struct Numeric {
    expected: f64,
    allowed: f64,
}

impl Numeric {
    /// A judge for this expected answer, which must be a number.
    pub fn parse(expected: &str, tolerance: Tolerance) -> Result<Self, FieldError> {
        let number = parse_number(expected);
        let expected =
            number.ok_or_else(|| FieldError::new("expected", "must be a number (docs/scorers.md, numeric/v1)"))?;
        Ok(Self { expected, allowed: tolerance.abs.max(tolerance.rel * expected.abs()) })
    }

    /// Whether the reply is right; takes time linear in it.
    pub fn judge(&self, reply: &str) -> bool {
        parse_number(reply).is_some_and(|number| (number - self.expected).abs() <= self.allowed)
    }
}

/// The number that the stripped text is, if it is one and finite.
fn parse_number(text: &str) -> Option<f64> {
    let text = python_strip(text);
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent_fits = exponent.is_none_or(|text| {
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        !digits.is_empty() && is_digits(digits)
    });
    let some_digit = !whole.is_empty() || !fraction.is_empty();
    if !some_digit || !is_grouped(whole) || !is_digits(fraction) || !exponent_fits {
        return None;
    }
    let plain: String = text.chars().filter(|c| *c != ',').collect();
    plain.parse().ok().filter(|number: &f64| number.is_finite())
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Digits without commas, or one to three digits and then groups of exactly three.
fn is_grouped(text: &str) -> bool {
    let mut groups = text.split(',');
    let first = groups.next().unwrap_or_default();
    let mut grouped = false;
    let rest_fits = groups.all(|group| {
        grouped = true;
        group.len() == 3 && is_digits(group)
    });
    is_digits(first) && rest_fits && (!grouped || (1..=3).contains(&first.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_number_and_what_is_not() {
        let numbers = [
            ("5", 5.0),
            (" -5.\u{1c}", -5.0),
            ("+.5", 0.5),
            ("1,234,567.8", 1_234_567.8),
            ("1e-3", 0.001),
            ("1,000E+2", 100_000.0),
            ("007", 7.0),
            ("-0", 0.0),
        ];
        for (text, number) in numbers {
            assert_eq!(parse_number(text), Some(number), "{text:?}");
        }
        for text in [
            "",
            " ",
            ".",
            "-",
            "+-5",
            "5%",
            "$5",
            "5 apples",
            "3,14",
            "1,23,456",
            ",123",
            "1234,567",
            "1,234,",
            "0x10",
            "inf",
            "NaN",
            "1e",
            "1e400",
            "1e1.5",
            "1e5e5",
            "−5",
            "٣",
            "1_000",
            "1 000",
            "5,",
            "1.234,567",
            "1e1,000",
            "e5",
        ] {
            assert_eq!(parse_number(text), None, "{text:?}");
        }
    }

    #[test]
    fn the_wider_of_both_tolerances_counts() {
        let wide = Tolerance::default().with_abs(0.5).unwrap().with_rel(0.01).unwrap();
        let judge = Numeric::parse("100", wide).unwrap();
        assert!(judge.judge("101") && judge.judge("99") && !judge.judge("101.1"));
        let near_zero = Numeric::parse("0", wide).unwrap();
        assert!(near_zero.judge("-0.5") && !near_zero.judge("0.6"));
        let strict = Numeric::parse("1,000", Tolerance::default()).unwrap();
        assert!(strict.judge("1000.0000001") && !strict.judge("1000.1") && !strict.judge("about 1000"));
    }

    #[test]
    fn tolerances_that_mean_nothing_are_refused() {
        let default = Tolerance::default();
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(default.with_abs(bad).is_none() && default.with_rel(bad).is_none());
        }
        assert!(default.with_rel(1.5).is_none());
        assert!(Numeric::parse("five", default).is_err());
    }
}
