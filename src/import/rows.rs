//! JSON rows of a file, one a line, read as a stream and on all cores; no more than a window of lines is held as text.

use std::io::{BufRead, BufReader};

use rayon::prelude::*;

use super::original::Original;
use super::{ImportError, Limits};
use crate::object::{FieldError, Json, MAX_RECORDS, RecordError, parse_foreign};

/// Bytes of lines that are read before they are parsed together.
const WINDOW: usize = 8 << 20;

/// What is read ahead of the file.
const BLOCK: usize = 1 << 20;

/// Reads every row, in order. `take` sees one row and its line, from 1, and keeps of it what is needed. While one window
/// of lines is parsed the next one is read.
pub(super) fn rows<T: Send>(
    original: &Original<'_>,
    limits: &Limits,
    take: impl Fn(usize, Json) -> Result<T, ImportError> + Sync,
) -> Result<Vec<T>, ImportError> {
    let mut input = BufReader::with_capacity(BLOCK, original.reader()?);
    let mut kept = Vec::new();
    let mut line = 1;
    let mut next = Some(window(original, &mut input, limits, line)?);
    while let Some(Window { text, ended }) = next {
        let lines = lines(&text, &mut line);
        let first = line;
        let parse = |(line, text): &(usize, &[u8])| take(*line, row(original, *line, text, limits)?);
        let (parsed, read) = rayon::join(
            || lines.par_iter().with_min_len(64).map(parse).collect::<Vec<_>>(),
            || (!ended).then(|| window(original, &mut input, limits, first)).transpose(),
        );
        // In order, so that of several faults the first one is told.
        for row in parsed {
            kept.push(row?);
        }
        if kept.len() > MAX_RECORDS {
            return Err(original.refuse(format!("holds more than {MAX_RECORDS} rows")));
        }
        next = read?;
    }
    Ok(kept)
}

/// The lines of a window that are not blank; `line` counts on.
fn lines<'a>(text: &'a [u8], line: &mut usize) -> Vec<(usize, &'a [u8])> {
    let mut lines = Vec::new();
    for text in text.split(|byte| *byte == b'\n') {
        if !text.iter().all(u8::is_ascii_whitespace) {
            lines.push((*line, text));
        }
        *line += 1;
    }
    // What follows the last line feed is empty, unless the file ends there.
    *line -= 1;
    lines
}

/// Whole lines, and whether they are the last.
struct Window {
    text: Vec<u8>,
    ended: bool,
}

fn row(original: &Original<'_>, line: usize, text: &[u8], limits: &Limits) -> Result<Json, ImportError> {
    if text.len() as u64 > limits.sample {
        let file = format!("{}:{line}", original.name());
        return Err(ImportError::TooLarge { file, what: "sample", limit: limits.sample });
    }
    let json = parse_foreign(text, limits.levels()).map_err(|error| {
        let reason = format!("{} at column {}", error.fault, error.column);
        ImportError::from(RecordError::new(original.name(), line, FieldError::new(error.path, reason)))
    })?;
    match json {
        Json::Object(_) => Ok(json),
        other => Err(original.refuse_at(line, "", format!("must be an object, not {}", other.kind()))),
    }
}

/// Reads whole lines of about a window.
fn window(
    original: &Original<'_>,
    input: &mut impl BufRead,
    limits: &Limits,
    first: usize,
) -> Result<Window, ImportError> {
    let mut window = Vec::with_capacity(WINDOW + BLOCK);
    let mut start = 0;
    let limit = usize::try_from(limits.sample).unwrap_or(usize::MAX);
    loop {
        let block = match input.fill_buf() {
            Ok(block) => block,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(original.unreadable(error)),
        };
        if block.is_empty() {
            return Ok(Window { text: window, ended: true });
        }
        let (used, full) = match block.iter().rposition(|byte| *byte == b'\n') {
            Some(end) if window.len() + end >= WINDOW => (end + 1, true),
            _ => (block.len(), false),
        };
        let known = window.len();
        window.extend_from_slice(&block[..used]);
        input.consume(used);
        // The first line end of the block closes the line that was open; a line inside a block is looked at with its row.
        let closed = window[known..].iter().position(|byte| *byte == b'\n').map_or(window.len(), |at| known + at);
        if closed - start > limit {
            let line = first + window[..start].iter().filter(|byte| **byte == b'\n').count();
            let file = format!("{}:{line}", original.name());
            return Err(ImportError::TooLarge { file, what: "sample", limit: limits.sample });
        }
        if let Some(end) = window[known..].iter().rposition(|byte| *byte == b'\n') {
            start = known + end + 1;
        }
        if full {
            return Ok(Window { text: window, ended: false });
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
