//! Moments: RFC 3339 in UTC to the second. They are self-asserted, and no verification depends on them.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;
use time::{OffsetDateTime, PrimitiveDateTime, UtcOffset};

use super::ReceiptError;

const FORMAT: &[BorrowedFormatItem<'_>] = format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]Z");

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
        let moment = PrimitiveDateTime::parse(text, FORMAT).map_err(|_| refused())?;
        let moment = Self(moment.assume_offset(UtcOffset::UTC));
        if moment.to_string() == text { Ok(moment) } else { Err(refused()) }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.format(FORMAT).map_err(|_| fmt::Error)?)
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_spelling_only() {
        assert_eq!(Moment::parse("2026-11-30T12:00:00Z").unwrap().unix(), 1_796_040_000);
        for text in
            ["2026-11-30T12:00:00+00:00", "2026-11-30t12:00:00Z", "2026-11-30T12:00:00.0Z", "2026-02-30T00:00:00Z", ""]
        {
            assert!(Moment::parse(text).is_err(), "{text}");
        }
        assert!(Moment::from_unix(i64::MAX).is_none());
    }
}
