//! JSON rows of a file, one a line, read as a stream and on all cores; no more than a few windows of lines are held as text.

use std::io::{ErrorKind, Read};

use rayon::prelude::*;

use super::original::Original;
use super::{ImportError, Limits};
use crate::object::{
    FieldError, Json, JsonError, JsonValue, JsonView, MAX_RECORDS, RecordError, parse_foreign, view_foreign,
};

/// Bytes of lines that are read before they are parsed together.
const WINDOW: usize = 4 << 20;

/// What is read of the file at a time.
const BLOCK: usize = 1 << 20;

/// Into so many pieces a window is cut for the cores to share.
const PIECES: usize = 32;

/// A line that is not blank, and its number, from 1.
pub(super) type Line<'a> = (usize, &'a [u8]);

/// Reads every row, in order. `keep` sees one row and its line, and keeps of it what is needed.
pub(super) fn rows<T: Send>(
    original: &Original<'_>,
    limits: &Limits,
    keep: impl Fn(usize, Json) -> Result<T, ImportError> + Sync,
) -> Result<Vec<T>, ImportError> {
    let mut kept = Vec::new();
    let piece = |lines: &[Line<'_>]| -> Vec<Result<T, ImportError>> {
        let row = |line: &Line<'_>| keep(line.0, row(original, *line, limits, parse_foreign)?);
        lines.iter().map(row).collect()
    };
    stream(original, limits, piece, |rows| {
        for row in rows {
            kept.push(row?);
        }
        Ok(true)
    })?;
    Ok(kept)
}

/// Reads pieces of lines on all cores, and takes what `read` makes of them in order, until `take` wants no more. While one
/// window of lines is read, the next one is fetched from the file, and what the last one gave is taken.
pub(super) fn stream<P: Send>(
    original: &Original<'_>,
    limits: &Limits,
    read: impl Fn(&[Line<'_>]) -> P + Sync,
    mut take: impl FnMut(P) -> Result<bool, ImportError> + Send,
) -> Result<(), ImportError> {
    let mut windows = Windows { original, input: original.reader()?, limit: limits.sample, rest: Vec::new() };
    let mut take_all = |pieces: Vec<P>| -> Result<bool, ImportError> {
        for piece in pieces {
            if !take(piece)? {
                return Ok(false);
            }
        }
        Ok(true)
    };
    let (mut line, mut count, mut made) = (1, 0, Vec::new());
    // The last window's room, for the next one.
    let mut spare = Vec::new();
    let mut window = windows.next(Vec::new(), line)?;
    loop {
        let lines = lines(&window.bytes[..window.filled], &mut line);
        count += lines.len();
        if count > MAX_RECORDS {
            take_all(made)?;
            return Err(original.refuse(format!("holds more than {MAX_RECORDS} rows")));
        }
        let first = line;
        let pieces: Vec<&[Line<'_>]> = lines.chunks(lines.len().div_ceil(PIECES).max(1)).collect();
        let (now, (next, wanted)) = rayon::join(
            || pieces.par_iter().map(|piece| read(piece)).collect::<Vec<P>>(),
            || {
                let next = (!window.ended).then(|| windows.next(std::mem::take(&mut spare), first));
                (next, take_all(std::mem::take(&mut made)))
            },
        );
        if !wanted? {
            return Ok(());
        }
        match next {
            Some(Ok(next)) => {
                spare = std::mem::replace(&mut window, next).bytes;
                made = now;
            }
            // In order, so that of several faults the first one is told.
            other => {
                take_all(now)?;
                return other.transpose().map(|_| ());
            }
        }
    }
}

/// The lines of a window that are not blank; `line` counts on.
fn lines<'a>(text: &'a [u8], line: &mut usize) -> Vec<Line<'a>> {
    let mut lines = Vec::new();
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', text).chain([text.len()]) {
        let one = &text[start..end];
        if !one.iter().all(u8::is_ascii_whitespace) {
            lines.push((*line, one));
        }
        *line += 1;
        start = (end + 1).min(text.len());
    }
    // What follows the last line feed is empty, unless the file ends there.
    *line -= 1;
    lines
}

/// One row as an object.
fn row<'a, S>(
    original: &Original<'_>,
    (line, text): Line<'a>,
    limits: &Limits,
    parse: fn(&'a [u8], usize) -> Result<JsonValue<S>, JsonError>,
) -> Result<JsonValue<S>, ImportError> {
    if text.len() as u64 > limits.sample {
        let file = format!("{}:{line}", original.name());
        return Err(ImportError::TooLarge { file, what: "sample", limit: limits.sample });
    }
    let json = parse(text, limits.levels()).map_err(|error| {
        let reason = format!("{} at column {}", error.fault, error.column);
        ImportError::from(RecordError::new(original.name(), line, FieldError::new(error.path, reason)))
    })?;
    match json {
        JsonValue::Object(_) => Ok(json),
        other => Err(original.refuse_at(line, "", format!("must be an object, not {}", other.kind()))),
    }
}

/// One row as an object that borrows from its line.
pub(super) fn view<'a>(original: &Original<'_>, line: Line<'a>, limits: &Limits) -> Result<JsonView<'a>, ImportError> {
    row(original, line, limits, view_foreign)
}

/// Whole lines, and whether they are the last.
struct Window {
    bytes: Vec<u8>,
    /// How many of the bytes are lines.
    filled: usize,
    ended: bool,
}

/// A file in windows.
struct Windows<'a, 'o> {
    original: &'a Original<'o>,
    input: Box<dyn Read + Send + 'a>,
    limit: u64,
    /// What was read of the line that the last window did not end.
    rest: Vec<u8>,
}

impl Windows<'_, '_> {
    /// Reads whole lines of about a window, the first of which is the line `first`.
    fn next(&mut self, mut bytes: Vec<u8>, first: usize) -> Result<Window, ImportError> {
        let mut filled = self.rest.len();
        bytes.resize(bytes.len().max(WINDOW + BLOCK).max(filled + BLOCK), 0);
        bytes[..filled].copy_from_slice(&self.rest);
        // Where the line that is open begins.
        let mut start = 0;
        loop {
            if bytes.len() < filled + BLOCK {
                bytes.resize(2 * bytes.len(), 0);
            }
            let read = match self.input.read(&mut bytes[filled..filled + BLOCK]) {
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.original.unreadable(error)),
            };
            let known = filled;
            filled += read;
            // The first line end closes the line that was open; a line inside of what was read is looked at with its row.
            let closed = memchr::memchr(b'\n', &bytes[known..filled]).map_or(filled, |at| known + at);
            if (closed - start) as u64 > self.limit {
                let line = first + memchr::memchr_iter(b'\n', &bytes[..start]).count();
                let file = format!("{}:{line}", self.original.name());
                return Err(ImportError::TooLarge { file, what: "sample", limit: self.limit });
            }
            if read == 0 {
                self.rest.clear();
                return Ok(Window { bytes, filled, ended: true });
            }
            if let Some(end) = memchr::memrchr(b'\n', &bytes[known..filled]) {
                start = known + end + 1;
            }
            if filled >= WINDOW && start > 0 {
                self.rest.clear();
                self.rest.extend_from_slice(&bytes[start..filled]);
                return Ok(Window { bytes, filled: start, ended: false });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, sample: u64) -> Result<Vec<usize>, String> {
        let limits = Limits { sample, ..Limits::default() };
        let original = Original::held("s.jsonl", text.as_bytes().to_vec());
        rows(&original, &limits, |line, _| Ok(line)).map_err(|error| error.to_string())
    }

    #[test]
    fn rows_keep_their_lines_across_windows() {
        assert_eq!(lines("{}\r\n\n{}", 9), Ok(vec![1, 3]));
        assert_eq!(lines("", 9), Ok(vec![]));
        let row = format!("{{\"a\":\"{}\"}}\n", "x".repeat(1000));
        let count = 3 * WINDOW / row.len();
        assert_eq!(lines(&row.repeat(count), 2000), Ok((1..=count).collect()));
    }

    #[test]
    fn what_is_no_row_is_refused_by_line() {
        assert_eq!(lines("{}\n[]", 9).unwrap_err(), "s.jsonl:2: must be an object, not an array");
        assert_eq!(
            lines("{}\n{\"a\":", 9).unwrap_err(),
            "s.jsonl:2: field `a`: the text ends inside a value at column 6"
        );
        let long = format!("{{}}\n{{\"a\":\"{}\"}}\n", "x".repeat(3 * BLOCK));
        assert_eq!(lines(&long, 1 << 20).unwrap_err(), "s.jsonl:2: the sample is larger than 1048576 bytes");
        assert!(lines(&long, 4 << 20).is_ok());
    }
}
