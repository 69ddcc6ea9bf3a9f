//! What a task profile says, and how it is read from JSON.

use std::collections::BTreeMap;

use serde::Serialize;

use super::excerpt::excerpt;
use super::label::{Comparator, Gate, Label, Metric, Split, Subject};
use super::literal::literal;
use super::profile::ProfileError;
use super::{Decimal, DecimalError};
use crate::object::{FieldError, Fields, Json, MAX_SAFE_INTEGER, parse};

/// The `schema` member of every profile.
pub const SCHEMA: &str = "profile.v1";

/// The most labels a profile may have.
pub const MAX_LABELS: usize = 4_096;

/// The most calibration bins a profile may have.
pub const MAX_BINS: u32 = 1_000;

/// Members that the label field and the item field cannot be called.
const TAKEN: [&str; 6] = ["model", "subjectKey", "split", "truth", "prediction", "confidence"];

/// A range of first bytes: `from` and up, but `below`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ByteRange {
    /// Where these subjects belong.
    pub split: Split,
    /// The first byte, 0 to 255.
    pub from: u32,
    /// One past the last byte, up to 256.
    pub below: u32,
}

/// How a subject's split follows from its key. Since every rule is a function of the key alone and every record is held
/// to it, no subject can be in two splits, however many files and models there are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "rule")]
pub enum SplitRule {
    /// By the first byte of the key.
    #[serde(rename = "first-byte")]
    FirstByte {
        /// Ranges that do not overlap.
        ranges: Vec<ByteRange>,
    },
    /// By an explicit list.
    #[serde(rename = "manifest")]
    Manifest {
        /// The split of each subject.
        subjects: BTreeMap<Subject, Split>,
    },
}

impl SplitRule {
    /// The split of a subject; `None` where the rule says nothing about it.
    pub fn split_of(&self, subject: Subject) -> Option<Split> {
        match self {
            Self::FirstByte { ranges } => {
                let byte = u32::from(subject.first_byte());
                ranges.iter().find(|range| (range.from..range.below).contains(&byte)).map(|range| range.split)
            }
            Self::Manifest { subjects } => subjects.get(&subject).copied(),
        }
    }
}

/// What a profile says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Terms {
    schema: &'static str,
    /// For people.
    pub name: String,
    /// The member of `truth` and `prediction` that holds the label.
    pub label_field: String,
    /// Every class there is, in the order of reports.
    pub labels: Vec<Label>,
    /// How subjects are split.
    pub split: SplitRule,
    /// What a candidate must reach; all of them.
    pub gates: Vec<Gate>,
    /// The least share of validation records that a threshold must accept.
    pub min_coverage: Decimal,
    /// Equal-width bins of the calibration error, 1 to [`MAX_BINS`].
    pub bins: u32,
    /// The member that tells several items of one subject apart, where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item_field: Option<String>,
    /// Gates whose limit is not between 0 and 1: no profile has any, a text that is being looked over may.
    #[serde(skip)]
    pub(crate) out_of_range: Vec<usize>,
}

impl Terms {
    /// The terms in a text, before any rule about what makes sense.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, ProfileError> {
        let json = parse(bytes).map_err(ProfileError::Json)?;
        // `parse` accepts UTF-8 only, so nothing is lost.
        let text = String::from_utf8_lossy(bytes);
        read(&json, &text).map_err(ProfileError::Field)
    }
}

fn read(json: &Json, text: &str) -> Result<Terms, FieldError> {
    let mut fields = Fields::of("", json)?;
    let schema = fields.string("schema")?;
    if schema != SCHEMA {
        return Err(FieldError::new("schema", format!("must be `{SCHEMA}`, not `{}`", excerpt(schema))));
    }
    let name = not_blank("name", fields.string("name")?)?;
    let label_field = member_name("labelField", fields.string("labelField")?)?;
    let labels = labels(fields.required("labels")?)?;
    let split = split(fields.required("split")?)?;
    let (gates, out_of_range) = gates(fields.required("gates")?, text)?;
    let floor = fields.required("minCoverage")?;
    let min_coverage = canonical_decimal("minCoverage", floor, literal(text, &["minCoverage"]))?
        .map_err(|error| FieldError::new("minCoverage", error.to_string()))?;
    let bins = small("bins", fields.required("bins")?, MAX_BINS)?;
    let item_field = fields.optional_string("itemField")?;
    let item_field = item_field.map(|name| member_name("itemField", name)).transpose()?;
    fields.finish()?;
    Ok(Terms { schema: SCHEMA, name, label_field, labels, split, gates, min_coverage, bins, item_field, out_of_range })
}

fn not_blank(field: &str, text: &str) -> Result<String, FieldError> {
    if text.trim().is_empty() {
        return Err(FieldError::new(field, "must not be blank"));
    }
    Ok(text.to_owned())
}

fn member_name(field: &str, name: &str) -> Result<String, FieldError> {
    if TAKEN.contains(&name) {
        return Err(FieldError::new(field, format!("`{name}` is taken by another member")));
    }
    not_blank(field, name)
}

/// The elements of an array, each with its name for messages.
fn elements<'a>(field: &str, value: &'a Json) -> Result<Vec<(String, &'a Json)>, FieldError> {
    match value {
        Json::Array(items) => Ok(items.iter().enumerate().map(|(at, item)| (format!("{field}[{at}]"), item)).collect()),
        other => Err(FieldError::new(field, format!("must be an array, not {}", other.kind()))),
    }
}

fn labels(value: &Json) -> Result<Vec<Label>, FieldError> {
    let items = elements("labels", value)?;
    if items.len() > MAX_LABELS {
        return Err(FieldError::new("labels", format!("has {} labels, more than {MAX_LABELS}", items.len())));
    }
    items.iter().map(|(field, item)| label(field, item)).collect()
}

fn label(field: &str, value: &Json) -> Result<Label, FieldError> {
    match value {
        Json::String(text) => Ok(Label::Text(text.clone())),
        Json::Integer(value) if value.abs() <= MAX_SAFE_INTEGER => {
            i64::try_from(*value).map(Label::Integer).map_err(|_| FieldError::new(field, "is beyond 64 bits"))
        }
        Json::Integer(_) => Err(FieldError::new(field, "the integer is beyond 2^53 - 1 and no record can have it")),
        other => Err(FieldError::new(field, format!("must be an integer or a string, not {}", other.kind()))),
    }
}

fn split(value: &Json) -> Result<SplitRule, FieldError> {
    let mut fields = Fields::of("split", value)?;
    let rule = match fields.string("rule")? {
        "first-byte" => {
            let ranges = elements("split.ranges", fields.required("ranges")?)?;
            SplitRule::FirstByte {
                ranges: ranges.iter().map(|(field, item)| range(field, item)).collect::<Result<_, _>>()?,
            }
        }
        "manifest" => SplitRule::Manifest { subjects: manifest(fields.required("subjects")?)? },
        other => {
            return Err(FieldError::new(
                "split.rule",
                format!("must be `first-byte` or `manifest`, not `{}`", excerpt(other)),
            ));
        }
    };
    fields.finish()?;
    Ok(rule)
}

fn range(field: &str, value: &Json) -> Result<ByteRange, FieldError> {
    let mut fields = Fields::of(field, value)?;
    let split = split_name(&format!("{field}.split"), fields.required("split")?)?;
    let from = small(&format!("{field}.from"), fields.required("from")?, 256)?;
    let below = small(&format!("{field}.below"), fields.required("below")?, 256)?;
    fields.finish()?;
    Ok(ByteRange { split, from, below })
}

fn manifest(value: &Json) -> Result<BTreeMap<Subject, Split>, FieldError> {
    let Json::Object(members) = value else {
        return Err(FieldError::new("split.subjects", format!("must be an object, not {}", value.kind())));
    };
    let entry = |(key, split): &(String, Json)| {
        let field = format!("split.subjects.{}", excerpt(key));
        let subject = Subject::parse(key.as_bytes());
        let subject = subject.ok_or_else(|| FieldError::new(&field, "must be 16 lower-case hexadecimal digits"))?;
        Ok((subject, split_name(&field, split)?))
    };
    members.iter().map(entry).collect()
}

fn split_name(field: &str, value: &Json) -> Result<Split, FieldError> {
    let found = match value {
        Json::String(name) => Split::parse(name),
        _ => None,
    };
    found.ok_or_else(|| FieldError::new(field, "must be `train`, `validation` or `test`"))
}

fn small(field: &str, value: &Json, most: u32) -> Result<u32, FieldError> {
    let number = match value {
        Json::Integer(number) => u32::try_from(*number).ok().filter(|number| *number <= most),
        _ => None,
    };
    number.ok_or_else(|| FieldError::new(field, format!("must be an integer from 0 to {most}")))
}

/// The gates, and the positions of those whose limit is not between 0 and 1.
fn gates(value: &Json, text: &str) -> Result<(Vec<Gate>, Vec<usize>), FieldError> {
    let (mut gates, mut out_of_range) = (Vec::new(), Vec::new());
    for (at, (field, item)) in elements("gates", value)?.into_iter().enumerate() {
        let mut fields = Fields::of(&field, item)?;
        let metric = fields.string("metric")?.parse::<Metric>();
        let metric = metric.map_err(|reason| FieldError::new(fields.name_of("metric"), reason))?;
        let sign = fields.string("comparator")?;
        let comparator = Comparator::parse(sign).ok_or_else(|| {
            FieldError::new(fields.name_of("comparator"), format!("must be `>=` or `<=`, not `{}`", excerpt(sign)))
        })?;
        let written = literal(text, &["gates", &at.to_string(), "limit"]);
        let limit = match canonical_decimal(&fields.name_of("limit"), fields.required("limit")?, written)? {
            Ok(limit) => limit,
            Err(DecimalError::Range) => {
                out_of_range.push(at);
                Decimal::zero()
            }
            Err(error) => return Err(FieldError::new(fields.name_of("limit"), error.to_string())),
        };
        fields.finish()?;
        gates.push(Gate { metric, comparator, limit });
    }
    Ok((gates, out_of_range))
}

/// A decimal between 0 and 1 that canonical JSON gives back as it is written. The inner error is about its value.
pub(crate) fn canonical_decimal(
    field: &str,
    value: &Json,
    written: Option<&str>,
) -> Result<Result<Decimal, DecimalError>, FieldError> {
    if !matches!(value, Json::Integer(_) | Json::Float(_)) {
        return Err(FieldError::new(field, format!("must be a number, not {}", value.kind())));
    }
    let decimal = match written.unwrap_or_default().parse::<Decimal>() {
        Ok(decimal) => decimal,
        Err(error) => return Ok(Err(error)),
    };
    if !decimal.survives_json() {
        return Err(FieldError::new(field, "does not survive canonical JSON (RFC 8785): write fewer digits"));
    }
    Ok(Ok(decimal))
}
