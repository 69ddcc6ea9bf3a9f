//! A file as another tool wrote it, and how much of it is read.

use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;

use super::round::Place;
use super::{ImportError, member};
use crate::object::{FieldError, Json, MAX_DEPTH, RecordError, parse_foreign};

/// The deepest nesting that a limit can be raised to: deeper values could exhaust a thread's stack.
const DEEPEST: usize = 512;

/// What is refused as too much. Every limit can be raised; `docs/import/README.md` says why they are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a document that is read whole, and of everything that comes out of an archive.
    pub document: u64,
    /// Bytes of one sample: a line of a samples file, an entry of an archive.
    pub sample: u64,
    /// Levels of nesting, at most 512.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { document: 256 << 20, sample: 16 << 20, depth: MAX_DEPTH }
    }
}

impl Limits {
    /// The depth that is read.
    pub(super) fn levels(&self) -> usize {
        self.depth.min(DEEPEST)
    }
}

/// Makes a reader of a file's bytes, from the start.
type Opener<'a> = Box<dyn Fn() -> io::Result<Box<dyn Read + Send + 'a>> + Sync + 'a>;

enum Content<'a> {
    Held(Vec<u8>),
    Opened(Opener<'a>),
}

/// A file by name.
pub struct Original<'a> {
    name: Arc<str>,
    content: Content<'a>,
}

impl fmt::Debug for Original<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Original").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<'a> Original<'a> {
    /// A file whose bytes are at hand. `name` is its path below the folder that was imported, with `/`.
    pub fn held(name: impl Into<Arc<str>>, bytes: Vec<u8>) -> Self {
        Self { name: name.into(), content: Content::Held(bytes) }
    }

    /// A file that is opened when it is read.
    pub fn opened(
        name: impl Into<Arc<str>>,
        open: impl Fn() -> io::Result<Box<dyn Read + Send + 'a>> + Sync + 'a,
    ) -> Self {
        Self { name: name.into(), content: Content::Opened(Box::new(open)) }
    }

    /// Its path below the folder that was imported.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A row of it, from 1, for messages.
    pub(super) fn place(&self, row: usize) -> Place {
        (Arc::clone(&self.name), row)
    }

    /// The last part of its name.
    pub(super) fn file_name(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or_default()
    }

    /// Its folder; empty at the top.
    pub(super) fn folder(&self) -> &str {
        self.name.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// Reads it as a stream.
    pub(super) fn reader(&self) -> Result<Box<dyn Read + Send + '_>, ImportError> {
        match &self.content {
            Content::Held(bytes) => Ok(Box::new(bytes.as_slice())),
            Content::Opened(open) => open().map_err(|source| self.unreadable(source)),
        }
    }

    /// Its bytes, if there are no more than a document may have.
    pub(super) fn bytes(&self, limits: &Limits) -> Result<Vec<u8>, ImportError> {
        self.read_up_to(limits.document, "document")
    }

    fn read_up_to(&self, limit: u64, what: &'static str) -> Result<Vec<u8>, ImportError> {
        let mut bytes = Vec::new();
        let read = self.reader()?.take(limit.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|source| self.unreadable(source))?;
        if bytes.len() as u64 > limit {
            return Err(ImportError::TooLarge { file: self.name.to_string(), what, limit });
        }
        Ok(bytes)
    }

    /// The first bytes, for telling what it is.
    pub(super) fn head(&self) -> Vec<u8> {
        let mut head = Vec::new();
        match self.reader().map(|reader| reader.take(1 << 16).read_to_end(&mut head)) {
            Ok(Ok(_)) => head,
            _ => Vec::new(),
        }
    }

    /// Reads it as one JSON document.
    pub(super) fn json(&self, limits: &Limits) -> Result<Json, ImportError> {
        document(&self.name, &self.bytes(limits)?, limits)
    }

    /// A row as messages name it.
    pub(super) fn row(&self, row: usize) -> String {
        named(&self.name, row)
    }

    /// Refuses a sample of a document, by its row from 1, that is larger than samples may be.
    pub(super) fn hold_sample(&self, row: usize, sample: &Json, limits: &Limits) -> Result<(), ImportError> {
        if member::weight(sample, limits.sample) <= limits.sample {
            return Ok(());
        }
        Err(ImportError::TooLarge { file: self.row(row), what: "sample", limit: limits.sample })
    }

    pub(super) fn unreadable(&self, source: io::Error) -> ImportError {
        let mut error = RecordError::whole(&self.name, "cannot be read");
        error.source = Some(source);
        error.into()
    }

    /// A refusal of the whole file.
    pub(super) fn refuse(&self, reason: impl Into<String>) -> ImportError {
        RecordError::whole(&self.name, member::short(&reason.into())).into()
    }

    /// A refusal of one field of one row, from 1.
    pub(super) fn refuse_at(&self, row: usize, field: &str, reason: impl Into<String>) -> ImportError {
        in_row(&self.name, row, FieldError::new(member::short(field), member::short(&reason.into()))).into()
    }

    /// A refusal of one field of a document, by its path.
    pub(super) fn refuse_field(&self, field: &str, reason: impl Into<String>) -> ImportError {
        let mut error = RecordError::whole(&self.name, member::short(&reason.into()));
        error.field = member::short(field);
        error.into()
    }
}

/// Whether the rows of a file are its lines: in JSONL and in tables. In a document they are elements of a list, wherever their
/// lines are.
fn holds_lines(name: &str) -> bool {
    name.ends_with(".jsonl") || name.ends_with(".csv")
}

/// A row of a file as every message names it: `FILE:N` where N is a line, `FILE, row N` where it is none.
pub(super) fn named(name: &str, row: usize) -> String {
    if holds_lines(name) { format!("{name}:{row}") } else { format!("{name}, row {row}") }
}

/// A refusal of one field of one row.
pub(super) fn in_row(name: &str, row: usize, error: FieldError) -> RecordError {
    if holds_lines(name) {
        return RecordError::new(name, row, error);
    }
    let mut refusal = RecordError::whole(&named(name, row), error.reason);
    refusal.field = error.field;
    refusal
}

/// Reads bytes as one JSON document.
pub(super) fn document(name: &str, bytes: &[u8], limits: &Limits) -> Result<Json, ImportError> {
    parse_foreign(bytes, limits.levels()).map_err(|error| {
        let reason = format!("{} at column {}", error.fault, error.column);
        RecordError::new(name, error.line, FieldError::new(error.path, reason)).into()
    })
}
