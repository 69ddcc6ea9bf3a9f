//! The swift way to read a record: it knows the shape that programs write and hands every other line to the strict reader.
//!
//! It recognises one object with its members in any order, at most one space after each colon and comma, strings without
//! escapes, labels as canonical JSON writes them and confidences as plain decimals of up to nineteen places. Where it
//! gives an answer, the strict reader gives the same one: it never refuses, it only declines.

use super::decimal::ONE;
use super::record::{Format, ItemId, MAX_NAME_BYTES, Record, Suggestion};
use super::{Decimal, Label, Split, Subject};

/// Stands for a prediction of `null`; no profile has this many labels.
pub(crate) const NO_SUGGESTION: u16 = u16::MAX;

/// A format with its spellings at hand.
#[derive(Debug, Clone)]
pub struct SwiftFormat {
    label_key: Vec<u8>,
    item_key: Option<Vec<u8>>,
    /// Labels of one digit.
    digits: [u16; 10],
    /// Every label as canonical JSON writes it.
    spelled: std::collections::HashMap<Vec<u8>, u16>,
    format: Format,
}

/// A record as it stands in the text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Swift<'a> {
    pub(crate) model: &'a str,
    pub(crate) subject: Subject,
    pub(crate) split: Split,
    pub(crate) item: Option<ItemId>,
    pub(crate) truth: u16,
    /// [`NO_SUGGESTION`] for `null`.
    pub(crate) prediction: u16,
    /// In units of 10^-19.
    pub(crate) confidence: u64,
}

impl SwiftFormat {
    /// The swift reader beside this strict one.
    pub fn of(format: Format) -> Self {
        let key = |name: &str| [spelled(name).as_slice(), b":"].concat();
        let mut digits = [NO_SUGGESTION; 10];
        let mut labels = std::collections::HashMap::new();
        for (label, index) in &format.labels {
            match label {
                Label::Integer(value) => {
                    if let Some(slot) = usize::try_from(*value).ok().and_then(|value| digits.get_mut(value)) {
                        *slot = *index;
                    }
                    labels.insert(value.to_string().into_bytes(), *index);
                }
                Label::Text(text) => {
                    labels.insert(spelled(text), *index);
                }
            }
        }
        let item_key = format.item_field.as_deref().map(key);
        Self { label_key: key(&format.label_field), item_key, digits, spelled: labels, format }
    }

    /// The strict reader behind.
    pub fn strict(&self) -> &Format {
        &self.format
    }

    /// Reads one line, without its line feed, or declines.
    pub fn read_swiftly(&self, line: &[u8]) -> Option<Record> {
        let (swift, used) = self.read(line, "")?;
        (used == line.len()).then(|| Record {
            model: swift.model.to_owned(),
            subject: swift.subject,
            split: swift.split,
            item: swift.item,
            truth: swift.truth,
            prediction: (swift.prediction != NO_SUGGESTION)
                .then(|| Suggestion { label: swift.prediction, confidence: Decimal::from_head(swift.confidence) }),
        })
    }

    /// Reads the line at the start of `bytes`, to and with its line feed, or declines. `known` is a model name that was
    /// read here before, or nothing.
    pub(crate) fn read<'a>(&self, bytes: &'a [u8], known: &str) -> Option<(Swift<'a>, usize)> {
        let mut text = Text { rest: bytes };
        let (mut model, mut subject, mut split, mut item, mut truth, mut prediction) =
            (None, None, None, None, None, None);
        text.take(b"{")?;
        loop {
            if text.key(b"\"model\":") {
                set(&mut model, text.model(known)?)?;
            } else if text.key(b"\"subjectKey\":") {
                set(&mut subject, text.subject()?)?;
            } else if text.key(b"\"split\":") {
                set(&mut split, text.split()?)?;
            } else if text.key(b"\"truth\":") {
                text.take(b"{")?;
                text.take(&self.label_key)?;
                text.space();
                set(&mut truth, self.label(&mut text)?)?;
                text.take(b"}")?;
            } else if text.key(b"\"prediction\":") {
                set(&mut prediction, self.prediction(&mut text)?)?;
            } else if self.item_key.as_deref().is_some_and(|key| text.key(key)) {
                set(&mut item, text.item()?)?;
            } else {
                return None;
            }
            if !text.comma()? {
                break;
            }
        }
        if !text.rest.is_empty() {
            text.take(b"\n")?;
        }
        let (subject, split) = (subject?, split?);
        if self.format.split_of(subject) != Some(split) || item.is_some() != self.item_key.is_some() {
            return None;
        }
        let (prediction, confidence) = prediction?;
        let swift = Swift { model: model?, subject, split, item, truth: truth?, prediction, confidence };
        Some((swift, bytes.len() - text.rest.len()))
    }

    fn prediction(&self, text: &mut Text<'_>) -> Option<(u16, u64)> {
        if text.take(b"null").is_some() {
            return Some((NO_SUGGESTION, 0));
        }
        let (mut label, mut confidence) = (None, None);
        text.take(b"{")?;
        loop {
            if text.key(&self.label_key) {
                set(&mut label, self.label(text)?)?;
            } else {
                text.take(b"\"confidence\":")?;
                text.space();
                set(&mut confidence, text.confidence()?)?;
            }
            if !text.comma()? {
                return Some((label?, confidence?));
            }
        }
    }

    fn label(&self, text: &mut Text<'_>) -> Option<u16> {
        if let [digit @ b'0'..=b'9', b',' | b'}', ..] = text.rest {
            text.rest = &text.rest[1..];
            let index = self.digits[usize::from(digit - b'0')];
            return (index != NO_SUGGESTION).then_some(index);
        }
        let length = match text.rest.first()? {
            b'"' => 2 + text.rest[1..].iter().position(|byte| *byte == b'"')?,
            _ => text.rest.iter().position(|byte| matches!(byte, b',' | b'}'))?,
        };
        let index = *self.spelled.get(&text.rest[..length])?;
        text.rest = &text.rest[length..];
        Some(index)
    }
}

/// A string as canonical JSON writes it. Bytes that equal it mean the string; other spellings of it are declined.
fn spelled(text: &str) -> Vec<u8> {
    // A string always has a JSON form, so the fallback, which matches nothing, is never taken.
    serde_json::to_vec(text).unwrap_or_default()
}

/// Fills a slot, once.
fn set<T>(slot: &mut Option<T>, value: T) -> Option<()> {
    slot.replace(value).is_none().then_some(())
}

struct Text<'a> {
    rest: &'a [u8],
}

impl<'a> Text<'a> {
    fn take(&mut self, bytes: &[u8]) -> Option<()> {
        self.rest = self.rest.strip_prefix(bytes)?;
        Some(())
    }

    fn space(&mut self) {
        if let [b' ', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    fn key(&mut self, key: &[u8]) -> bool {
        let found = self.take(key).is_some();
        if found {
            self.space();
        }
        found
    }

    /// Whether another member follows; it may also be the end of the object.
    fn comma(&mut self) -> Option<bool> {
        match self.rest {
            [b',', rest @ ..] => {
                self.rest = rest;
                self.space();
                Some(true)
            }
            [b'}', rest @ ..] => {
                self.rest = rest;
                Some(false)
            }
            _ => None,
        }
    }

    /// A string without escapes, in its quotes.
    fn quoted(&mut self) -> Option<&'a [u8]> {
        let [b'"', rest @ ..] = self.rest else { return None };
        let limit = &rest[..rest.len().min(MAX_NAME_BYTES + 1)];
        let end = limit.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f))?;
        if rest[end] != b'"' {
            return None;
        }
        let whole = &self.rest[..end + 2];
        self.rest = &rest[end + 1..];
        Some(whole)
    }

    fn name(&mut self) -> Option<&'a str> {
        let quoted = self.quoted()?;
        let name = std::str::from_utf8(&quoted[1..quoted.len() - 1]).ok()?;
        (!name.trim().is_empty()).then_some(name)
    }

    fn model(&mut self, known: &str) -> Option<&'a str> {
        let again = self.rest.get(1..=known.len()).filter(|name| *name == known.as_bytes());
        match again {
            Some(name) if !known.is_empty() && self.rest.get(known.len() + 1) == Some(&b'"') => {
                let name = self.rest.first().filter(|quote| **quote == b'"').and(std::str::from_utf8(name).ok())?;
                self.rest = &self.rest[known.len() + 2..];
                Some(name)
            }
            _ => self.name(),
        }
    }

    fn subject(&mut self) -> Option<Subject> {
        let (quoted, rest) = self.rest.split_at_checked(18)?;
        let [b'"', key @ .., b'"'] = quoted else { return None };
        self.rest = rest;
        Subject::parse(key)
    }

    fn split(&mut self) -> Option<Split> {
        let (name, split): (&[u8], _) = match self.rest.get(1..3)? {
            b"tr" => (b"\"train\"", Split::Train),
            b"va" => (b"\"validation\"", Split::Validation),
            _ => (b"\"test\"", Split::Test),
        };
        self.take(name)?;
        Some(split)
    }

    /// A string without escapes, or a natural number of up to fifteen digits.
    fn item(&mut self) -> Option<ItemId> {
        if self.rest.first() == Some(&b'"') {
            let quoted = Text { rest: self.rest }.quoted()?;
            // DEL and what JSON writers escape differently are none of this reader's business; UTF-8 is kept as it is.
            self.name()?;
            return Some(ItemId::of(quoted));
        }
        let length = self.rest.iter().take(16).position(|byte| !byte.is_ascii_digit())?;
        let (digits, rest) = self.rest.split_at(length);
        if digits.is_empty() || (digits.len() > 1 && digits[0] == b'0') {
            return None;
        }
        self.rest = rest;
        Some(ItemId::of(digits))
    }

    /// A decimal from 0 to 1 without exponent and of up to nineteen places, in units of 10^-19.
    fn confidence(&mut self) -> Option<u64> {
        let (whole, rest) = self.rest.split_first()?;
        let limit = if *whole == b'1' { 0 } else { 9 };
        if !matches!(whole, b'0' | b'1') {
            return None;
        }
        self.rest = rest;
        let whole = if limit == 0 { ONE } else { 0 };
        let [b'.', rest @ ..] = self.rest else { return Some(whole) };
        let (mut value, mut places) = (0u64, 0usize);
        for byte in rest.iter().take(20) {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            if digit > limit || places == 19 {
                return None;
            }
            value = value * 10 + u64::from(digit);
            places += 1;
        }
        if places == 0 {
            return None;
        }
        self.rest = &rest[places..];
        Some(whole + value * POWERS[19 - places])
    }
}

/// Powers of ten from 10^0 to 10^18.
const POWERS: [u64; 19] = {
    let mut table = [1u64; 19];
    let mut at = 1;
    while at < 19 {
        table[at] = table[at - 1] * 10;
        at += 1;
    }
    table
};
