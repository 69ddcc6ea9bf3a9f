//! One prediction record, read strictly. What the swift reader does not recognise ends here, so this is what the rules are.

use std::collections::HashMap;

use super::excerpt::excerpt;
use super::literal::literal;
use super::terms::{SplitRule, Terms};
use super::{Decimal, Label, Split, Subject};
use crate::object::{FieldError, Fields, Json, Line, RecordError, parse_line};

/// The longest model name and item id, in bytes.
pub const MAX_NAME_BYTES: usize = 1_024;

/// What tells several items of one subject apart: the first 128 bits of the BLAKE3 of the id as JSON writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemId(pub(crate) u128);

impl ItemId {
    /// `json` is the id as canonical JSON: a string in quotes, or an integer.
    pub(crate) fn of(json: &[u8]) -> Self {
        let mut half = [0u8; 16];
        half.copy_from_slice(&blake3::hash(json).as_bytes()[..16]);
        Self(u128::from_be_bytes(half))
    }
}

/// A suggestion: a class and how sure the model is of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion {
    /// The position of the class among the profile's labels.
    pub label: u16,
    /// From 0 to 1, as written.
    pub confidence: Decimal,
}

/// A prediction record that keeps every rule of its profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The candidate; not blank.
    pub model: String,
    /// Whom it is about.
    pub subject: Subject,
    /// The split, which is the one the profile derives from the subject.
    pub split: Split,
    /// Which item of the subject, where the profile has an item field.
    pub item: Option<ItemId>,
    /// The position of the true class among the profile's labels.
    pub truth: u16,
    /// `None` where the model said `null`.
    pub prediction: Option<Suggestion>,
}

/// A profile made ready for reading records.
#[derive(Debug, Clone)]
pub struct Format {
    pub(super) label_field: String,
    pub(super) item_field: Option<String>,
    pub(super) labels: HashMap<Label, u16>,
    integers: bool,
    allowed: String,
    derived: Derived,
}

/// The split rule, ready to be asked.
#[derive(Debug, Clone)]
enum Derived {
    ByFirstByte(Box<[Option<Split>; 256]>),
    Listed(HashMap<Subject, Split>),
}

impl Format {
    /// What records must look like under these terms.
    pub fn of(terms: &Terms) -> Self {
        let labels = terms.labels.iter().cloned().zip(0u16..).collect();
        let mut shown: Vec<String> = terms.labels.iter().take(12).map(|label| excerpt(&label.to_string())).collect();
        if terms.labels.len() > shown.len() {
            shown.push(format!("… ({} labels)", terms.labels.len()));
        }
        let derived = match &terms.split {
            SplitRule::Manifest { subjects } => Derived::Listed(subjects.iter().map(|(key, at)| (*key, *at)).collect()),
            rule @ SplitRule::FirstByte { .. } => {
                let mut table = Box::new([None; 256]);
                for (byte, split) in (0u64..).zip(table.iter_mut()) {
                    *split = rule.split_of(Subject(byte << 56));
                }
                Derived::ByFirstByte(table)
            }
        };
        Self {
            label_field: terms.label_field.clone(),
            item_field: terms.item_field.clone(),
            labels,
            integers: matches!(terms.labels.first(), Some(Label::Integer(_))),
            allowed: shown.join(", "),
            derived,
        }
    }

    /// The split that the profile derives for a subject.
    pub(super) fn split_of(&self, subject: Subject) -> Option<Split> {
        match &self.derived {
            Derived::ByFirstByte(table) => table[usize::from(subject.first_byte())],
            Derived::Listed(subjects) => subjects.get(&subject).copied(),
        }
    }

    /// Reads one line with every rule; a refusal names `file`, the line, the field and the rule.
    pub fn read_strictly(&self, file: &str, line: Line<'_>) -> Result<Record, RecordError> {
        let json = parse_line(file, line)?;
        // `parse_line` accepts UTF-8 only, so nothing is lost.
        let text = String::from_utf8_lossy(line.bytes);
        self.record(&json, &text).map_err(|error| RecordError::new(file, line.number, error))
    }

    fn record(&self, json: &Json, text: &str) -> Result<Record, FieldError> {
        let mut fields = Fields::of("", json)?;
        let model = fields.string("model")?;
        named("model", model)?;
        let key = fields.string("subjectKey")?;
        let subject = Subject::parse(key.as_bytes()).ok_or_else(|| {
            FieldError::new("subjectKey", format!("must be 16 lower-case hexadecimal digits, not `{}`", excerpt(key)))
        })?;
        let split = self.split(fields.string("split")?, subject)?;
        let item = self.item_field.as_deref().map(|field| item(field, fields.required(field)?)).transpose()?;
        let mut truth = Fields::of("truth", fields.required("truth")?)?;
        let class = self.label(&truth.name_of(&self.label_field), truth.required(&self.label_field)?)?;
        truth.finish()?;
        let prediction = match fields.required("prediction")? {
            Json::Null => None,
            value => Some(self.suggestion(value, text)?),
        };
        fields.finish()?;
        Ok(Record { model: model.to_owned(), subject, split, item, truth: class, prediction })
    }

    fn split(&self, name: &str, subject: Subject) -> Result<Split, FieldError> {
        let refuse = |reason: String| FieldError::new("split", reason);
        let split = Split::parse(name);
        let split =
            split.ok_or_else(|| refuse(format!("must be `train`, `validation` or `test`, not `{}`", excerpt(name))))?;
        match self.split_of(subject) {
            Some(derived) if derived == split => Ok(split),
            Some(derived) => Err(refuse(format!(
                "is `{split}`, but the profile puts the subject {subject} in `{derived}`: one subject cannot be in two \
                 splits"
            ))),
            None => Err(refuse(format!("the profile puts the subject {subject} in no split"))),
        }
    }

    fn label(&self, field: &str, value: &Json) -> Result<u16, FieldError> {
        let label = match value {
            Json::Integer(value) if self.integers => i64::try_from(*value).ok().map(Label::Integer),
            Json::String(text) if !self.integers => Some(Label::Text(text.clone())),
            other => {
                let wanted = if self.integers { "an integer, written without point and exponent" } else { "a string" };
                return Err(FieldError::new(field, format!("must be {wanted}, not {}", other.kind())));
            }
        };
        let index = label.and_then(|label| self.labels.get(&label)).copied();
        index.ok_or_else(|| FieldError::new(field, format!("is not a label of the profile: {}", self.allowed)))
    }

    fn suggestion(&self, value: &Json, text: &str) -> Result<Suggestion, FieldError> {
        let mut fields = Fields::of("prediction", value)?;
        let label = self.label(&fields.name_of(&self.label_field), fields.required(&self.label_field)?)?;
        let confidence = match fields.required("confidence")? {
            Json::Integer(_) | Json::Float(_) => literal(text, &["prediction", "confidence"]).unwrap_or_default(),
            other => return Err(fields.wrong("confidence", "a number", other)),
        };
        let confidence = confidence.parse::<Decimal>().map_err(|error| {
            FieldError::new("prediction.confidence", format!("{error}, not {}", excerpt(confidence)))
        })?;
        fields.finish()?;
        Ok(Suggestion { label, confidence })
    }
}

fn named(field: &str, name: &str) -> Result<(), FieldError> {
    if name.trim().is_empty() {
        return Err(FieldError::new(field, "must not be blank"));
    }
    if name.len() > MAX_NAME_BYTES {
        return Err(FieldError::new(field, format!("is longer than {MAX_NAME_BYTES} bytes")));
    }
    Ok(())
}

fn item(field: &str, value: &Json) -> Result<ItemId, FieldError> {
    match value {
        Json::Integer(number) => Ok(ItemId::of(number.to_string().as_bytes())),
        Json::String(text) => {
            named(field, text)?;
            let quoted = serde_json::to_vec(text).map_err(|error| FieldError::new(field, error.to_string()))?;
            Ok(ItemId::of(&quoted))
        }
        other => Err(FieldError::new(field, format!("must be a string or an integer, not {}", other.kind()))),
    }
}
