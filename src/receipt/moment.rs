//! Moments: RFC 3339 in UTC to the second. They are self-asserted, and no verification depends on them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use time::{Date, OffsetDateTime};

use super::ReceiptError;

/// A moment to the second, written `2026-11-30T12:00:00Z`; years 0000 to 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(OffsetDateTime);

impl Moment {
    /// Seconds since 1970-01-01T00:00:00Z; `None` beyond year 9999.
    pub fn from_unix(seconds: i64) -> Option<Self> {
        let moment = OffsetDateTime::from_unix_timestamp(seconds).ok()?;
        (0..=9999).contains(&moment.year()).then_some(Self(moment))
    }

    /// Seconds since 1970-01-01T00:00:00Z.
    pub fn unix(self) -> i64 {
        self.0.unix_timestamp()
    }

    /// Reads exactly the form that [`Moment`] writes.
    pub fn parse(text: &str) -> Result<Self, ReceiptError> {
        let refused = || ReceiptError::Text {
            what: "a moment",
            rule: "RFC 3339 in UTC to the second, as in 2026-11-30T12:00:00Z",
            found: text.chars().take(80).collect(),
        };
        digits(text.as_bytes()).ok_or_else(refused)
    }

    /// The one spelling, for years of four digits, which are all that there are.
    fn text(self) -> [u8; 20] {
        let (date, time) = (self.0.date(), self.0.time());
        let mut text = *b"0000-00-00T00:00:00Z";
        let year = u32::from(date.year().unsigned_abs() as u16);
        for (at, value) in [(0, year / 100), (2, year % 100)] {
            put(&mut text, at, value);
        }
        let parts = [date.month().into(), date.day(), time.hour(), time.minute(), time.second()];
        for (at, value) in [5, 8, 11, 14, 17].into_iter().zip(parts) {
            put(&mut text, at, u32::from(value));
        }
        text
    }
}

/// Two digits.
fn put(text: &mut [u8; 20], at: usize, value: u32) {
    text[at] = b'0' + (value / 10 % 10) as u8;
    text[at + 1] = b'0' + (value % 10) as u8;
}

fn digits(text: &[u8]) -> Option<Moment> {
    let text: &[u8; 20] = text.try_into().ok()?;
    let digit = |at: usize| text[at].is_ascii_digit().then(|| text[at] - b'0');
    let two = |at: usize| Some(10 * digit(at)? + digit(at + 1)?);
    let year = 100 * i32::from(two(0)?) + i32::from(two(2)?);
    let date = Date::from_calendar_date(year, two(5)?.try_into().ok()?, two(8)?).ok()?;
    let moment = Moment(date.with_hms(two(11)?, two(14)?, two(17)?).ok()?.assume_utc());
    // What stands between the digits, too.
    (moment.text() == *text).then_some(moment)
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(std::str::from_utf8(&self.text()).map_err(|_| fmt::Error)?)
    }
}

impl FromStr for Moment {
    type Err = ReceiptError;

    fn from_str(text: &str) -> Result<Self, ReceiptError> {
        Self::parse(text)
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::object::from_text(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_spelling_only() {
        assert_eq!(Moment::parse("2026-11-30T12:00:00Z").unwrap().unix(), 1_796_040_000);
        for text in [
            "2026-11-30T12:00:00+00:00",
            "2026-11-30t12:00:00Z",
            "2026-11-30T12:00:00.0Z",
            "2026-02-30T00:00:00Z",
            "",
            "2026-11-30T24:00:00Z",
            "2026-11-30T12:60:00Z",
            "2026-11-30T12:00:60Z",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-11-00T00:00:00Z",
            "+026-11-30T12:00:00Z",
            "2026/11-30T12:00:00Z",
            "2026-11-30T12:00:00z",
            "2026-1a-30T12:00:00Z",
        ] {
            assert!(Moment::parse(text).is_err(), "{text}");
        }
        assert!(Moment::from_unix(i64::MAX).is_none());
    }

    #[test]
    fn the_first_and_the_last_moment_and_leap_days_are_written_and_read() {
        for (text, unix) in [
            ("0000-01-01T00:00:00Z", -62_167_219_200),
            ("9999-12-31T23:59:59Z", 253_402_300_799),
            ("2024-02-29T01:02:03Z", 1_709_168_523),
            ("1969-12-31T23:59:59Z", -1),
        ] {
            assert_eq!(Moment::from_unix(unix).unwrap().to_string(), text);
            assert_eq!(Moment::parse(text).unwrap().unix(), unix);
        }
        assert!(Moment::from_unix(-62_167_219_201).is_none());
        assert!(Moment::parse("2025-02-29T00:00:00Z").is_err());
    }
}
