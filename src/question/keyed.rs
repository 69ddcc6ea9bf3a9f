//! Records of one file, and records joined to the questions they belong to, in order or by `id`.

use std::collections::HashMap;
use std::io::BufRead;

use rayon::prelude::*;

use super::set::QuestionSet;
use crate::object::{
    FieldError, Json, Line, LineReader, MAX_LINE_BYTES, MAX_RECORDS, MAX_VALUES, RecordError, parse_line,
};

/// How many names a message lists before it counts the rest.
const NAMED: usize = 10;

/// The most JSON values of one record that is longer than [`MAX_LINE_BYTES`].
const MAX_LONG_LINE_VALUES: usize = 2_000_000;

/// Bytes of lines that are gathered before they are parsed together: no more text than this and a line is held.
const WINDOW: usize = 1 << 20;

/// So many lines are parsed by one core at least.
const FEWEST: usize = 64;

/// Reads one record a line, a window of lines on all cores. At least one and at most [`MAX_RECORDS`]; `what` names them in
/// messages.
pub(super) fn read<T: Send>(
    file: &str,
    input: impl BufRead,
    what: &str,
    parse: impl Fn(&Json) -> Result<T, FieldError> + Sync,
) -> Result<Vec<T>, RecordError> {
    read_at_most(MAX_RECORDS, MAX_VALUES, file, input, what, parse)
}

fn read_at_most<T: Send>(
    limit: usize,
    values: usize,
    file: &str,
    input: impl BufRead,
    what: &str,
    parse: impl Fn(&Json) -> Result<T, FieldError> + Sync,
) -> Result<Vec<T>, RecordError> {
    let mut reader = LineReader::of_evidence(file, input);
    let (mut records, mut left) = (Vec::new(), values);
    let mut window = Window::default();
    loop {
        // What is wrong with a line is told after what is wrong with those before it.
        let read = window.fill(&mut reader);
        let parse = |line: Line<'_>| {
            // Its values take many times its text: what is beyond the lines that are handed in must be text.
            if line.bytes.len() > MAX_LINE_BYTES && at_most(line.bytes) > MAX_LONG_LINE_VALUES {
                let reason = format!(
                    "a record of more than {MAX_LINE_BYTES} bytes holds more than {MAX_LONG_LINE_VALUES} JSON values"
                );
                return Err(RecordError::new(file, line.number, FieldError::new("", reason)));
            }
            let json = parse_line(file, line)?;
            Ok((json.count(), parse(&json)))
        };
        for (number, parsed) in window.parse(&parse) {
            let refuse = |error| RecordError::new(file, number, error);
            if records.len() == limit {
                return Err(refuse(FieldError::new("", format!("the file holds more than {limit} {what}"))));
            }
            let (count, record) = parsed?;
            left = left.checked_sub(count).ok_or_else(|| {
                let reason = format!("the {what} up to here hold more than {values} JSON values");
                refuse(FieldError::new("", reason))
            })?;
            records.push(record.map_err(refuse)?);
        }
        if read? {
            break;
        }
    }
    if records.is_empty() {
        return Err(RecordError::whole(file, format!("holds no {what}")));
    }
    Ok(records)
}

/// Some lines of a file, to be parsed together.
#[derive(Default)]
struct Window {
    text: Vec<u8>,
    /// The number of each line, and where it ends.
    lines: Vec<(usize, usize)>,
}

impl Window {
    /// Holds the next lines instead, up to one that is refused; says whether they are the last.
    fn fill<R: BufRead>(&mut self, reader: &mut LineReader<R>) -> Result<bool, RecordError> {
        self.text.clear();
        self.lines.clear();
        while self.text.len() < WINDOW {
            let Some(line) = reader.next_line()? else { return Ok(true) };
            self.text.extend_from_slice(line.bytes);
            self.lines.push((line.number, self.text.len()));
        }
        Ok(false)
    }

    /// Every line's number and what comes of it, in order.
    fn parse<T: Send>(
        &self,
        parse: &(impl Fn(Line<'_>) -> Result<T, RecordError> + Sync),
    ) -> Vec<(usize, Result<T, RecordError>)> {
        let one = |at: usize| {
            let (number, end) = self.lines[at];
            let start = at.checked_sub(1).map_or(0, |before| self.lines[before].1);
            (number, parse(Line { number, bytes: &self.text[start..end] }))
        };
        (0..self.lines.len()).into_par_iter().with_min_len(FEWEST).map(one).collect()
    }
}

/// How many JSON values a text holds at the most: one more than the brackets and commas outside its strings.
fn at_most(text: &[u8]) -> usize {
    let (mut count, mut quoted, mut escaped) = (1, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b',' | b'[' | b'{' if !quoted => count += 1,
            _ => {}
        }
    }
    count
}

/// Refuses the second record with the same id, naming the line of both.
pub(super) fn refuse_duplicate_ids<'a>(
    file: &str,
    ids: impl Iterator<Item = Option<&'a str>>,
) -> Result<(), RecordError> {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for (at, id) in ids.enumerate() {
        let Some(id) = id else { continue };
        if let Some(first) = seen.insert(id, at + 1) {
            let reason = format!("`{id}` is already the id of line {first}");
            return Err(RecordError::new(file, at + 1, FieldError::new("id", reason)));
        }
    }
    Ok(())
}

/// A record that may say by id which question it belongs to.
pub(super) trait Keyed {
    /// What messages call such a record.
    const NAME: &'static str;
    /// The id of the question.
    fn id(&self) -> Option<&str>;
}

/// Refuses ids on some of the records only, and an id that occurs twice.
pub(super) fn refuse_partial_ids<T: Keyed>(file: &str, records: &[T]) -> Result<(), RecordError> {
    let by_id = records.first().is_some_and(|record| record.id().is_some());
    if let Some(at) = records.iter().position(|record| record.id().is_some() != by_id) {
        let reason = if by_id { "is missing; line 1 has one, so all must" } else { "line 1 has none, so none may" };
        return Err(RecordError::new(file, at + 1, FieldError::new("id", reason)));
    }
    refuse_duplicate_ids(file, records.iter().map(Keyed::id))
}

/// What records are joined to: the names of the questions, in order, and the file they come from.
pub(super) struct Order<'a> {
    pub(super) file: &'a str,
    pub(super) ids: Vec<Option<&'a str>>,
}

impl<'a> From<&'a QuestionSet> for Order<'a> {
    fn from(questions: &'a QuestionSet) -> Self {
        Self { file: questions.file(), ids: questions.iter().map(|question| question.id()).collect() }
    }
}

/// The records in the order of the questions: as they stand when they have no ids, else by id. Exactly one a question.
pub(super) fn join<T: Keyed>(file: &str, records: Vec<T>, order: &Order<'_>) -> Result<Vec<T>, RecordError> {
    if records.iter().all(|record| record.id().is_none()) {
        return join_in_order(file, records, order);
    }
    let mut wanted: HashMap<&str, usize> = HashMap::with_capacity(order.ids.len());
    for (at, id) in order.ids.iter().enumerate() {
        let id = id.ok_or_else(|| {
            let reason = format!("the {}s of {file} are joined by id, so every question needs one", T::NAME);
            RecordError::new(order.file, at + 1, FieldError::new("id", reason))
        })?;
        wanted.insert(id, at);
    }
    let mut joined: Vec<Option<T>> = order.ids.iter().map(|_| None).collect();
    for (at, record) in records.into_iter().enumerate() {
        let slot = record.id().and_then(|id| wanted.get(id)).and_then(|at| joined.get_mut(*at));
        let Some(slot) = slot else {
            let reason = format!("no question has the id `{}`", record.id().unwrap_or_default());
            return Err(RecordError::new(file, at + 1, FieldError::new("id", reason)));
        };
        *slot = Some(record);
    }
    let missing: Vec<_> = order.ids.iter().zip(&joined).filter(|(_, slot)| slot.is_none()).collect();
    if !missing.is_empty() {
        let ids: Vec<_> = missing.iter().filter_map(|(id, _)| **id).collect();
        return Err(RecordError::whole(file, format!("has no {} for {}", T::NAME, listed(&ids))));
    }
    Ok(joined.into_iter().flatten().collect())
}

fn join_in_order<T: Keyed>(file: &str, records: Vec<T>, order: &Order<'_>) -> Result<Vec<T>, RecordError> {
    if records.len() == order.ids.len() {
        return Ok(records);
    }
    let reason = format!(
        "holds {} {}s without ids for the {} questions of {}",
        records.len(),
        T::NAME,
        order.ids.len(),
        order.file
    );
    Err(RecordError::whole(file, reason))
}

fn listed(ids: &[&str]) -> String {
    let mut text = ids.iter().take(NAMED).map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ");
    if ids.len() > NAMED {
        text.push_str(&format!(" and {} more", ids.len() - NAMED));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_beyond_the_lines_that_are_handed_in_is_text() {
        let long = "x".repeat(MAX_LINE_BYTES);
        let read = |line: &str| {
            read_at_most(2, MAX_VALUES, "q.jsonl", line.as_bytes(), "questions", |json| Ok(json.clone()))
                .map(|records| records.len())
                .map_err(|error| error.to_string())
        };
        assert_eq!(read(&format!("[\"{long}\",\"{{,[\\\",\"]\n")), Ok(1), "what is quoted is no value");
        let many = format!("[{}\"{long}\"]\n", "1,".repeat(MAX_LONG_LINE_VALUES));
        let reason = "a record of more than 16777216 bytes holds more than 2000000 JSON values";
        assert_eq!(read(&many), Err(format!("q.jsonl:1: {reason}")));
        assert_eq!(at_most(b"{\"a\":[1,2,{}]}"), 6);
    }

    #[test]
    fn more_records_than_the_limit_are_refused_at_the_line() {
        let read = |limit| read_at_most(limit, 99, "q.jsonl", &b"1\n2\n3\n"[..], "questions", |json| Ok(json.clone()));
        assert_eq!(read(3).unwrap().len(), 3);
        assert_eq!(read(2).unwrap_err().to_string(), "q.jsonl:3: the file holds more than 2 questions");
    }

    #[test]
    fn more_values_than_the_limit_are_refused_at_the_line() {
        let text = &b"[1,{\"a\":[]}]\n2\n"[..];
        let read = |values| read_at_most(9, values, "q.jsonl", text, "questions", |json| Ok(json.clone()));
        assert_eq!(read(5).unwrap().len(), 2);
        let refusal = read(4).unwrap_err().to_string();
        assert_eq!(refusal, "q.jsonl:2: the questions up to here hold more than 4 JSON values");
        assert!(read(3).unwrap_err().to_string().starts_with("q.jsonl:1: "));
    }

    #[test]
    fn of_several_faults_the_first_is_told_however_many_lines_are_read_together() {
        // More than two windows of lines, each with its number.
        let lines: Vec<String> = (1..=40_000).map(|number| format!("[{number},\"{}\"]\n", "x".repeat(60))).collect();
        assert!(lines.concat().len() > 2 * WINDOW);
        let with = |faults: &[(usize, &str)]| {
            let mut lines = lines.clone();
            faults.iter().for_each(|(line, text)| lines[line - 1] = format!("{text}\n"));
            read_at_most(40_000, 120_000, "q.jsonl", lines.concat().as_bytes(), "questions", |json| match json {
                Json::Array(items) => Ok(items[0].clone()),
                _ => Err(FieldError::new("", "is no list")),
            })
        };
        let numbers: Vec<_> = (1..=40_000).map(Json::Integer).collect();
        assert_eq!(with(&[]).unwrap(), numbers);
        let refusal = |faults: &[(usize, &str)]| with(faults).unwrap_err().to_string();
        assert_eq!(refusal(&[(39_999, "1"), (40_000, "")]), "q.jsonl:39999: is no list");
        assert_eq!(refusal(&[(30_001, "{"), (30_000, "")]), "q.jsonl:30000: the line is blank");
        assert_eq!(refusal(&[(2, "7"), (3, "["), (1, "8")]), "q.jsonl:1: is no list");
        assert!(refusal(&[(3, "["), (4, "1")]).starts_with("q.jsonl:3: "));
        assert!(refusal(&[(40_000, "[1,2,3,4]")]).starts_with("q.jsonl:40000: the questions up to here hold more"));
    }

    #[test]
    fn long_lists_of_names_are_cut() {
        assert_eq!(listed(&["a", "b"]), "`a`, `b`");
        assert!(listed(&["x"; 12]).ends_with("`x` and 2 more"));
    }
}
