//! Records, one JSON object a line: bounded reading, and fields taken out by name so that every refusal says which file,
//! line and field.

use std::fmt;
use std::io::BufRead;

use super::json::{Json, JsonFault, parse};

/// The longest line that is read of what is handed in, in bytes (16 MiB); memory per file is bounded by it.
pub const MAX_LINE_BYTES: usize = 16 << 20;

/// The longest record that is read of questions, answers and judgements that are evidence already, in bytes (256 MiB): an
/// import whose limits were raised may have made them.
pub const MAX_LONG_LINE_BYTES: usize = 256 << 20;

/// The most records that one question set or set of answers may have.
pub const MAX_RECORDS: usize = 2_000_000;

/// The most JSON values that the records of one file may hold together: a value takes 32 bytes and more in memory, and as
/// little as two in the file.
pub const MAX_VALUES: usize = 1 << 25;

/// A field that is not as it must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// The field, as in `query.text`.
    pub field: String,
    /// What is wrong with it.
    pub reason: String,
}

impl FieldError {
    /// `field` and what is wrong with it.
    pub fn new(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { field: field.into(), reason: reason.into() }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "field `{}`: {}", self.field, self.reason)
    }
}

impl std::error::Error for FieldError {}

/// A refusal that names file, line and field.
#[derive(Debug)]
pub struct RecordError {
    /// The file as the user named it.
    pub file: String,
    /// The line, from 1; `None` where the file as a whole is meant.
    pub line: Option<usize>,
    /// The field, as in `query.text`; empty where the whole record is meant.
    pub field: String,
    /// What is wrong.
    pub reason: String,
    /// The I/O error behind it, if there is one.
    pub source: Option<std::io::Error>,
}

impl RecordError {
    /// A refusal of one field of one line.
    pub fn new(file: &str, line: usize, error: FieldError) -> Self {
        Self { file: file.to_owned(), line: Some(line), field: error.field, reason: error.reason, source: None }
    }

    /// A refusal of the file as a whole.
    pub fn whole(file: &str, reason: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line: None, field: String::new(), reason: reason.into(), source: None }
    }
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if !self.field.is_empty() {
            write!(f, ": field `{}`", self.field)?;
        }
        write!(f, ": {}", self.reason)
    }
}

impl std::error::Error for RecordError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}

/// One line of a file.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    /// From 1.
    pub number: usize,
    /// Without its line feed.
    pub bytes: &'a [u8],
}

/// Reads lines one at a time through one buffer, refusing what records never hold: lines over [`MAX_LINE_BYTES`],
/// carriage returns before the line feed, and blank lines.
pub struct LineReader<R> {
    file: String,
    longest: usize,
    input: R,
    buffer: Vec<u8>,
    number: usize,
}

impl<R: BufRead> LineReader<R> {
    /// Reads `input`, which messages call `file`.
    pub fn new(file: impl Into<String>, input: R) -> Self {
        Self { file: file.into(), longest: MAX_LINE_BYTES, input, buffer: Vec::new(), number: 0 }
    }

    /// Reads lines of up to [`MAX_LONG_LINE_BYTES`], which are at hand already.
    pub fn of_evidence(file: impl Into<String>, input: R) -> Self {
        Self { longest: MAX_LONG_LINE_BYTES, ..Self::new(file, input) }
    }

    /// The name that messages use.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The next line, or `None` at the end.
    pub fn next_line(&mut self) -> Result<Option<Line<'_>>, RecordError> {
        self.buffer.clear();
        self.number += 1;
        loop {
            let chunk = match self.input.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    let mut refusal = self.refuse("cannot be read");
                    refusal.source = Some(error);
                    return Err(refusal);
                }
            };
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let taken = end.unwrap_or(chunk.len());
            if self.buffer.len() + taken > self.longest {
                return Err(self.refuse(format!("the line is longer than {} bytes", self.longest)));
            }
            self.buffer.extend_from_slice(&chunk[..taken]);
            let finished = end.is_some() || chunk.is_empty();
            let used = taken + usize::from(end.is_some());
            self.input.consume(used);
            if finished {
                if end.is_none() && self.buffer.is_empty() {
                    return Ok(None);
                }
                break;
            }
        }
        if self.buffer.ends_with(b"\r") {
            return Err(self.refuse("the line ends in CR LF; save the file with LF line ends"));
        }
        if self.buffer.iter().all(u8::is_ascii_whitespace) {
            return Err(self.refuse("the line is blank"));
        }
        Ok(Some(Line { number: self.number, bytes: &self.buffer }))
    }

    fn refuse(&self, reason: impl Into<String>) -> RecordError {
        RecordError::new(&self.file, self.number, FieldError::new("", reason))
    }
}

/// Reads a line as one JSON value; a fault names file, line and the field it stands in.
pub fn parse_line(file: &str, line: Line<'_>) -> Result<Json, RecordError> {
    parse(line.bytes).map_err(|error| {
        let reason = match error.fault {
            JsonFault::ByteOrderMark | JsonFault::DuplicateKey { .. } => error.fault.to_string(),
            _ => format!("{} at column {}", error.fault, error.column),
        };
        RecordError::new(file, line.number, FieldError::new(error.path, reason))
    })
}

/// The members of one object, taken out by name; what is left over at [`Fields::finish`] is unknown and refused.
pub struct Fields<'a> {
    path: String,
    members: Vec<Option<(&'a str, &'a Json)>>,
}

impl<'a> Fields<'a> {
    /// The members of `value`, which messages call `path` (empty for the record itself).
    pub fn of(path: &str, value: &'a Json) -> Result<Self, FieldError> {
        let Json::Object(members) = value else {
            return Err(FieldError::new(path, format!("must be an object, not {}", value.kind())));
        };
        let members = members.iter().map(|(name, value)| Some((name.as_str(), value))).collect();
        Ok(Self { path: path.to_owned(), members })
    }

    /// The full name of a member, for messages.
    pub fn name_of(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// Whether the member is there and was not taken yet.
    pub fn has(&self, name: &str) -> bool {
        self.members.iter().flatten().any(|(member, _)| *member == name)
    }

    /// The member, if it is there.
    pub fn optional(&mut self, name: &str) -> Option<&'a Json> {
        let slot = self.members.iter_mut().find(|slot| slot.is_some_and(|(member, _)| member == name))?;
        slot.take().map(|(_, value)| value)
    }

    /// The member, which must be there.
    pub fn required(&mut self, name: &str) -> Result<&'a Json, FieldError> {
        self.optional(name).ok_or_else(|| FieldError::new(self.name_of(name), "is missing"))
    }

    /// A string that must be there.
    pub fn string(&mut self, name: &str) -> Result<&'a str, FieldError> {
        let value = self.required(name)?;
        self.as_string(name, value)
    }

    /// A string that may be absent; `null` is not absence.
    pub fn optional_string(&mut self, name: &str) -> Result<Option<&'a str>, FieldError> {
        self.optional(name).map(|value| self.as_string(name, value)).transpose()
    }

    /// A boolean that may be absent.
    pub fn optional_bool(&mut self, name: &str) -> Result<Option<bool>, FieldError> {
        match self.optional(name) {
            None => Ok(None),
            Some(Json::Bool(value)) => Ok(Some(*value)),
            Some(other) => Err(self.wrong(name, "a boolean", other)),
        }
    }

    /// A finite number that must be there, written as an integer or a decimal.
    pub fn number(&mut self, name: &str) -> Result<f64, FieldError> {
        match self.required(name)? {
            Json::Float(value) => Ok(*value),
            #[allow(clippy::cast_precision_loss)] // as Python's float(int) does
            Json::Integer(value) => Ok(*value as f64),
            other => Err(self.wrong(name, "a number", other)),
        }
    }

    /// A refusal of a member: not `wanted` but what it is.
    pub fn wrong(&self, name: &str, wanted: &str, found: &Json) -> FieldError {
        FieldError::new(self.name_of(name), format!("must be {wanted}, not {}", found.kind()))
    }

    /// Refuses members that nobody took.
    pub fn finish(self) -> Result<(), FieldError> {
        match self.members.iter().flatten().next() {
            None => Ok(()),
            Some((name, _)) => {
                let shortened: String = name.chars().take(64).collect();
                Err(FieldError::new(self.name_of(&shortened), "is not a known field"))
            }
        }
    }

    fn as_string(&self, name: &str, value: &'a Json) -> Result<&'a str, FieldError> {
        match value {
            Json::String(text) => Ok(text),
            other => Err(self.wrong(name, "a string", other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8]) -> Result<Vec<String>, String> {
        let mut reader = LineReader::new("q.jsonl", text);
        let mut found = Vec::new();
        while let Some(line) = reader.next_line().map_err(|error| error.to_string())? {
            found.push(String::from_utf8_lossy(line.bytes).into_owned());
        }
        Ok(found)
    }

    #[test]
    fn the_last_line_feed_is_optional() {
        assert_eq!(lines(b"1\n2"), Ok(vec!["1".to_owned(), "2".to_owned()]));
        assert_eq!(lines(b"1\n2\n"), Ok(vec!["1".to_owned(), "2".to_owned()]));
        assert_eq!(lines(b""), Ok(vec![]));
    }

    #[test]
    fn blank_lines_carriage_returns_and_endless_lines_are_refused() {
        assert_eq!(lines(b"1\n\n2").unwrap_err(), "q.jsonl:2: the line is blank");
        assert!(lines(b"1\r\n").unwrap_err().starts_with("q.jsonl:1: the line ends in CR LF"));
        let endless = vec![b'x'; MAX_LINE_BYTES + 1];
        assert_eq!(lines(&endless).unwrap_err(), "q.jsonl:1: the line is longer than 16777216 bytes");
    }

    #[test]
    fn unknown_and_missing_fields_are_named() {
        let value = parse(br#"{"text":"a","texxt":"b"}"#).unwrap();
        let mut fields = Fields::of("query", &value).unwrap();
        assert_eq!(fields.string("text").unwrap(), "a");
        assert_eq!(fields.string("task").unwrap_err().to_string(), "field `query.task`: is missing");
        assert_eq!(fields.finish().unwrap_err().to_string(), "field `query.texxt`: is not a known field");
    }
}
