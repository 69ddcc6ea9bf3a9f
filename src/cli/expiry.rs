//! When something expires, as people write it: `90d`, `2027-03-31`, or a moment.

use std::str::FromStr;

use proofmark::receipt::{Moment, ReceiptError};

const DAY: i64 = 86_400;

/// An expiry, not yet held against the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expiry {
    /// So many days from now.
    Days(u32),
    /// At a moment.
    At(Moment),
}

impl FromStr for Expiry {
    type Err = ReceiptError;

    fn from_str(text: &str) -> Result<Self, ReceiptError> {
        if let Some(days) = text.strip_suffix('d').and_then(|digits| digits.parse().ok()) {
            return Ok(Self::Days(days));
        }
        let whole = if text.len() == 10 { format!("{text}T00:00:00Z") } else { text.to_owned() };
        Moment::parse(&whole).map(Self::At).map_err(|_| ReceiptError::Text {
            what: "an expiry",
            rule: "days as in 90d, a day as in 2027-03-31, or a moment as in 2027-03-31T12:00:00Z",
            found: text.chars().take(80).collect(),
        })
    }
}

impl Expiry {
    /// The first moment at which it no longer counts; `None` beyond the year 9999.
    pub fn after(self, now: Moment) -> Option<Moment> {
        match self {
            Self::Days(days) => Moment::from_unix(now.unix() + i64::from(days) * DAY),
            Self::At(moment) => Some(moment),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_dates_and_moments() {
        let now = Moment::parse("2026-11-30T12:00:00Z").unwrap();
        let after = |text: &str| text.parse::<Expiry>().unwrap().after(now).unwrap().to_string();
        assert_eq!(after("90d"), "2027-02-28T12:00:00Z");
        assert_eq!(after("2027-03-31"), "2027-03-31T00:00:00Z");
        assert_eq!(after("2027-03-31T12:00:00Z"), "2027-03-31T12:00:00Z");
        for text in ["", "d", "-1d", "90", "2027-02-30", "tomorrow"] {
            assert!(text.parse::<Expiry>().is_err(), "{text}");
        }
        assert!("4294967295d".parse::<Expiry>().unwrap().after(now).is_none());
    }
}
