//! The words of a task profile: subjects, splits, labels, metrics and gates.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize, Serializer};

use super::Decimal;

/// Whom or what a record is about: 16 lower-case hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject(pub(crate) u64);

impl Subject {
    /// The first of its eight bytes.
    pub fn first_byte(self) -> u8 {
        self.0.to_be_bytes()[0]
    }

    /// Reads exactly 16 lower-case hexadecimal digits.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let digits: &[u8; 16] = text.try_into().ok()?;
        let (mut value, mut wrong) = (0u64, 0u8);
        for digit in digits {
            let nibble = NIBBLES[usize::from(*digit)];
            wrong |= nibble;
            value = (value << 4) | u64::from(nibble & 15);
        }
        (wrong < 16).then_some(Self(value))
    }
}

/// The value of each byte as a lower-case hexadecimal digit; 16 for what is none.
const NIBBLES: [u8; 256] = {
    let mut table = [16u8; 256];
    let mut value = 0;
    while value < 16 {
        table[b"0123456789abcdef"[value as usize] as usize] = value;
        value += 1;
    }
    table
};

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl Serialize for Subject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The part of the data that a subject belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Split {
    /// What the model learned from; read and checked, never scored.
    Train,
    /// What the threshold is chosen on.
    Validation,
    /// What the score is measured on.
    Test,
}

impl Split {
    /// The word in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::Validation => "validation",
            Self::Test => "test",
        }
    }

    /// The split of this name.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Train, Self::Validation, Self::Test].into_iter().find(|split| split.name() == text)
    }
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A class. All labels of a profile are of one kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Label {
    /// An integer that a double holds exactly.
    Integer(i64),
    /// A string, not blank and without `->`.
    Text(String),
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => write!(f, "{value}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// Something measured on accepted records; every one lies between 0 and 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Metric {
    /// Mean F1 over the classes that occur in accepted truth.
    MacroF1,
    /// The share of accepted records that are right.
    PrecisionAtCoverage,
    /// Expected calibration error.
    Ece,
    /// The share of records that are accepted.
    Coverage,
    /// One number of one class, written `perClass.LABEL.recall`.
    Class {
        /// The class as text.
        label: String,
        /// Which number.
        part: ClassPart,
    },
}

/// A number of one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClassPart {
    /// Right among those predicted as the class.
    Precision,
    /// Right among those that are of the class.
    Recall,
    /// The harmonic mean of both.
    F1,
}

const PARTS: [(&str, ClassPart); 3] =
    [("precision", ClassPart::Precision), ("recall", ClassPart::Recall), ("f1", ClassPart::F1)];

impl Metric {
    /// Whether more is better.
    pub fn more_is_better(&self) -> bool {
        *self != Self::Ece
    }
}

impl FromStr for Metric {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let plain = [Self::MacroF1, Self::PrecisionAtCoverage, Self::Ece, Self::Coverage];
        if let Some(metric) = plain.into_iter().find(|metric| metric.to_string() == text) {
            return Ok(metric);
        }
        let class = text.strip_prefix("perClass.").and_then(|rest| rest.rsplit_once('.'));
        let class = class.and_then(|(label, part)| Some((label, PARTS.iter().find(|(name, _)| *name == part)?.1)));
        let (label, part) = class.ok_or(
            "is no metric; there are macroF1, precisionAtCoverage, ece, coverage and perClass.LABEL.precision, .recall \
             and .f1",
        )?;
        Ok(Self::Class { label: label.to_owned(), part })
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MacroF1 => f.pad("macroF1"),
            Self::PrecisionAtCoverage => f.pad("precisionAtCoverage"),
            Self::Ece => f.pad("ece"),
            Self::Coverage => f.pad("coverage"),
            Self::Class { label, part } => {
                let name = PARTS.iter().find(|(_, other)| other == part).map_or("", |(name, _)| name);
                f.pad(&format!("perClass.{label}.{name}"))
            }
        }
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Metric {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Which side of the limit passes; the limit itself always does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Comparator {
    /// `>=`
    #[serde(rename = ">=")]
    AtLeast,
    /// `<=`
    #[serde(rename = "<=")]
    AtMost,
}

impl Comparator {
    /// As it is written.
    pub fn sign(self) -> &'static str {
        match self {
            Self::AtLeast => ">=",
            Self::AtMost => "<=",
        }
    }

    /// The comparator written so.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::AtLeast, Self::AtMost].into_iter().find(|comparator| comparator.sign() == text)
    }
}

/// A limit that a candidate must keep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Gate {
    /// What is measured.
    pub metric: Metric,
    /// Which side passes.
    pub comparator: Comparator,
    /// The limit, exactly as the profile writes it.
    pub limit: Decimal,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_sixteen_lower_case_hexadecimal_digits() {
        let subject = Subject::parse(b"cd00000000000001").unwrap();
        assert_eq!((subject.first_byte(), subject.to_string().as_str()), (0xcd, "cd00000000000001"));
        for text in ["", "cd", "CD00000000000001", "cd0000000000000g", "cd000000000000010", "0xcd000000000001"] {
            assert_eq!(Subject::parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn metrics_read_back_what_they_write() {
        for text in ["macroF1", "precisionAtCoverage", "ece", "coverage", "perClass.7.recall", "perClass.a.b.f1"] {
            assert_eq!(text.parse::<Metric>().map(|metric| metric.to_string()), Ok(text.to_owned()));
        }
        for text in ["accuracy", "MacroF1", "perClass.7", "perClass.7.support", ""] {
            assert!(text.parse::<Metric>().is_err(), "{text}");
        }
    }
}
