//! Reading prediction files: in blocks, in parallel, with the answer of reading them line by line.

use std::io::{ErrorKind, Read};

use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::columns::{Columns, MAX_MODELS};
use super::record::Format;
use super::swift::SwiftFormat;
use super::{CalibrateError, Profile};
use crate::object::{FieldError, Line, LineReader, MAX_LINE_BYTES, ObjectId, RecordError};

/// The most records one run may hold.
pub const MAX_PREDICTIONS: usize = u32::MAX as usize;

/// Bytes that are read at a time.
const BLOCK: usize = 4 << 20;

/// Bytes that one thread takes at a time.
const PIECE: usize = 256 << 10;

/// A file that was read: evidence, named by what was read and nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// As the caller named it.
    pub name: String,
    /// The BLAKE3 of its bytes.
    pub blake3: ObjectId,
    /// Its length in bytes.
    pub size: u64,
    /// How many records it has.
    pub records: usize,
}

/// Prediction records being read from one file or many.
#[derive(Debug)]
pub struct Reading {
    profile: Profile,
    lines: Lines,
    columns: Columns,
    inputs: Vec<Input>,
}

/// Prediction records that keep every rule of their profile.
#[derive(Debug)]
pub struct Predictions {
    pub(crate) profile: Profile,
    pub(crate) columns: Columns,
    inputs: Vec<Input>,
}

impl Reading {
    /// Reads under this profile.
    pub fn new(profile: &Profile) -> Self {
        let format = SwiftFormat::of(Format::of(profile.terms()));
        let lines = Lines { format, swift: true };
        Self { profile: profile.clone(), lines, columns: Columns::default(), inputs: Vec::new() }
    }

    /// Reads every line strictly: slower, with the same answers. For tests that require just that.
    pub fn strictly(profile: &Profile) -> Self {
        let mut reading = Self::new(profile);
        reading.lines.swift = false;
        reading
    }

    /// Reads a file, which messages call `name`, to its end. The first line that breaks a rule refuses the run, and the
    /// reading is gone.
    pub fn read(mut self, name: &str, input: impl Read + Send) -> Result<Self, CalibrateError> {
        let first_row = self.columns.rows();
        let mut source = Source { input, hasher: blake3::Hasher::new(), size: 0, ended: false };
        let (mut block, mut next) = (Vec::with_capacity(BLOCK), Vec::with_capacity(BLOCK));
        source.fill(&mut block, BLOCK).map_err(|error| unreadable(name, 1, error))?;
        let mut parsed = Vec::new();
        while !block.is_empty() {
            let cut = match block.iter().rposition(|byte| *byte == b'\n') {
                _ if source.ended => block.len(),
                Some(at) => at + 1,
                None => {
                    let line = self.merge(name, first_row, std::mem::take(&mut parsed))?;
                    if block.len() > MAX_LINE_BYTES {
                        return Err(too_long(name, line).into());
                    }
                    let more = block.len() + BLOCK;
                    source.fill(&mut block, more).map_err(|error| unreadable(name, line, error))?;
                    continue;
                }
            };
            next.clear();
            next.extend_from_slice(&block[cut..]);
            // While this block is parsed, the one before is merged and the one after is read.
            let Self { lines, columns, .. } = &mut self;
            let before = std::mem::take(&mut parsed);
            let (now, (merged, filled)) = rayon::join(
                || lines.parse(name, &block[..cut]),
                || (merge(columns, name, first_row, before), source.fill(&mut next, BLOCK)),
            );
            merged?;
            parsed = now;
            if let Err(error) = filled {
                let line = self.merge(name, first_row, parsed)?;
                return Err(unreadable(name, line, error));
            }
            std::mem::swap(&mut block, &mut next);
        }
        self.merge(name, first_row, parsed)?;
        let blake3 = ObjectId::from_bytes(*source.hasher.finalize().as_bytes());
        let records = self.columns.rows() - first_row;
        self.inputs.push(Input { name: name.to_owned(), blake3, size: source.size, records });
        Ok(self)
    }

    /// Everything is read: refuses a run without records, and records that repeat an earlier one.
    pub fn finish(self) -> Result<Predictions, CalibrateError> {
        if self.columns.rows() == 0 {
            return Err(CalibrateError::NoRecords);
        }
        if let Some((earlier, later)) = self.columns.first_repeat() {
            let (file, line) = self.place(later);
            let (other, at) = self.place(earlier);
            let with_item = if self.columns.item.is_empty() { "" } else { " and item" };
            let reason = format!("the model already has a record for this subject{with_item} at {other}:{at}");
            return Err(RecordError::new(file, line, FieldError::new("subjectKey", reason)).into());
        }
        Ok(Predictions { profile: self.profile, columns: self.columns, inputs: self.inputs })
    }

    /// The file and line of a row: every line is a record.
    fn place(&self, mut row: usize) -> (&str, usize) {
        for input in &self.inputs {
            if row < input.records {
                return (&input.name, row + 1);
            }
            row -= input.records;
        }
        ("", row + 1)
    }

    fn merge(&mut self, name: &str, first_row: usize, parsed: Parsed) -> Result<usize, CalibrateError> {
        merge(&mut self.columns, name, first_row, parsed)
    }
}

/// How lines become records.
#[derive(Debug)]
struct Lines {
    format: SwiftFormat,
    swift: bool,
}

/// Pieces of a block, in order.
type Parsed = Vec<Result<Columns, RecordError>>;

impl Lines {
    fn parse(&self, name: &str, block: &[u8]) -> Parsed {
        pieces(block).into_par_iter().map(|piece| self.piece(name, piece)).collect()
    }

    /// Reads whole lines. A refusal counts lines from the start of the piece.
    fn piece(&self, name: &str, piece: &[u8]) -> Result<Columns, RecordError> {
        let mut columns = Columns::with_capacity(piece.len() / 96);
        let mut known = (String::new(), 0u16);
        let mut at = 0;
        while at < piece.len() {
            let rest = &piece[at..];
            let swift = if self.swift { self.format.read(rest, &known.0) } else { None };
            if let Some((record, used)) = swift {
                if record.model != known.0 {
                    let line = columns.rows() + 1;
                    let model = columns.model_named(record.model).map_err(|_| too_many_models(name, line))?;
                    known = (record.model.to_owned(), model);
                }
                columns.push_swift(known.1, &record);
                at += used;
            } else {
                let end = rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |end| end + 1);
                self.strict_line(name, &rest[..end], &mut columns)?;
                at += end;
            }
        }
        Ok(columns)
    }

    fn strict_line(&self, name: &str, line: &[u8], columns: &mut Columns) -> Result<(), RecordError> {
        let number = columns.rows() + 1;
        let mut reader = LineReader::new(name, line);
        let line = reader.next_line().map_err(|error| RecordError { line: Some(number), ..error })?;
        let Some(Line { bytes, .. }) = line else { return Ok(()) };
        let record = self.format.strict().read_strictly(name, Line { number, bytes })?;
        let model = columns.model_named(&record.model).map_err(|_| too_many_models(name, number))?;
        columns.push(model, &record);
        Ok(())
    }
}

/// Adds the pieces in their order, so that the first refusal among them is the first in the file. The number of the line
/// that comes next.
fn merge(columns: &mut Columns, name: &str, first_row: usize, parsed: Parsed) -> Result<usize, CalibrateError> {
    for piece in parsed {
        let before = columns.rows() - first_row;
        let piece = piece.map_err(|error| RecordError { line: error.line.map(|line| before + line), ..error })?;
        if columns.rows() + piece.rows() > MAX_PREDICTIONS {
            return Err(RecordError::whole(name, format!("more than {MAX_PREDICTIONS} records in one run")).into());
        }
        columns.append(piece).map_err(|_| too_many_models(name, before + 1))?;
    }
    Ok(columns.rows() - first_row + 1)
}

impl Predictions {
    /// The profile they were read under.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The files, in the order of reading.
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// How many records there are, of all splits.
    pub fn records(&self) -> usize {
        self.columns.rows()
    }
}

/// Cuts a block of whole lines into pieces of whole lines.
fn pieces(mut block: &[u8]) -> Vec<&[u8]> {
    let mut pieces = Vec::with_capacity(block.len() / PIECE + 1);
    while block.len() > PIECE {
        let end = block[PIECE..].iter().position(|byte| *byte == b'\n').map_or(block.len(), |at| PIECE + at + 1);
        let (piece, rest) = block.split_at(end);
        pieces.push(piece);
        block = rest;
    }
    if !block.is_empty() {
        pieces.push(block);
    }
    pieces
}

fn too_many_models(name: &str, line: usize) -> RecordError {
    RecordError::new(name, line, FieldError::new("model", format!("more than {MAX_MODELS} models in one run")))
}

fn too_long(name: &str, line: usize) -> RecordError {
    RecordError::new(name, line, FieldError::new("", format!("the line is longer than {MAX_LINE_BYTES} bytes")))
}

fn unreadable(name: &str, line: usize, error: std::io::Error) -> CalibrateError {
    let mut refusal = RecordError::new(name, line, FieldError::new("", "cannot be read"));
    refusal.source = Some(error);
    refusal.into()
}

/// A file being read, and the digest of what was read.
struct Source<R> {
    input: R,
    hasher: blake3::Hasher,
    size: u64,
    ended: bool,
}

impl<R: Read> Source<R> {
    /// Reads until the block has `wanted` bytes or the file ends.
    fn fill(&mut self, block: &mut Vec<u8>, wanted: usize) -> std::io::Result<()> {
        let start = block.len();
        let missing = wanted.saturating_sub(start);
        while !self.ended && block.len() < wanted {
            let before = block.len();
            match self.input.by_ref().take((missing - (before - start)) as u64).read_to_end(block) {
                Ok(_) => self.ended = block.len() < wanted,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.hasher.update(&block[start..]);
        self.size += (block.len() - start) as u64;
        Ok(())
    }
}
