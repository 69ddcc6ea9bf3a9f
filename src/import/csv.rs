//! A table in CSV (RFC 4180), one row a question; `docs/import/csv.md` says which columns are read.

use ::csv::{ReaderBuilder, StringRecord};

use super::columns::Columns;
use super::member::{object, string};
use super::original::Original;
use super::round::{Conditions, Item, Round, State, Wording};
use super::{ImportError, Options, Tool};
use crate::object::Json;

pub(super) fn recognises(original: &Original<'_>) -> bool {
    original.file_name().ends_with(".csv")
}

pub(super) fn read(originals: &[Original<'_>], options: &Options) -> Result<Vec<Round>, ImportError> {
    let tables: Vec<_> = originals.iter().enumerate().filter(|(_, original)| recognises(original)).collect();
    if tables.is_empty() {
        return Err(ImportError::NoFiles { tool: Tool::Csv, what: "file `*.csv`", files: originals.len() });
    }
    let named = |original: &Original<'_>| original.file_name().trim_end_matches(".csv").to_owned();
    let wanted = tables.into_iter().filter(|(_, original)| options.wants(&named(original)));
    wanted.map(|(place, original)| table(place, original, named(original), options)).collect()
}

fn table(place: usize, original: &Original<'_>, task: String, options: &Options) -> Result<Round, ImportError> {
    let bytes = original.bytes(&options.limits)?;
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    check_quotes(bytes).map_err(|(line, reason)| original.refuse_at(line, "", reason))?;
    let mut reader = ReaderBuilder::new().from_reader(bytes);
    let malformed = |error: ::csv::Error| {
        let line = error.position().map_or(1, |position| usize::try_from(position.line()).unwrap_or(usize::MAX));
        let reason = match error.kind() {
            ::csv::ErrorKind::Utf8 { .. } => "is not UTF-8".to_owned(),
            ::csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                format!("has {len} fields, and the header {expected_len}")
            }
            _ => "is not CSV".to_owned(),
        };
        original.refuse_at(line, "", reason)
    };
    let header: Vec<String> = reader.headers().map_err(malformed)?.iter().map(str::to_owned).collect();
    if let Some((first, second)) = Columns::twice(&header) {
        let name = |at: usize| format!("{} `{}`", at + 1, header[at].trim());
        let reason = format!("columns {} and {} have the same name", name(first), name(second));
        return Err(original.refuse_at(1, "", reason));
    }
    let columns = Columns::of(&header);
    if columns.state.or(columns.correct).or(columns.score).is_none() {
        return Err(original.refuse_at(
            1,
            "",
            "no column says how a question was judged: `state`, `correct` or `score`",
        ));
    }
    let mut records = Vec::new();
    for record in reader.records() {
        let record = record.map_err(malformed)?;
        if record.as_slice().len() as u64 > options.limits.sample {
            let line = record.position().map_or(0, ::csv::Position::line);
            let file = format!("{}:{line}", original.name());
            return Err(ImportError::TooLarge { file, what: "sample", limit: options.limits.sample });
        }
        records.push(record);
    }
    let items: Vec<_> =
        records.iter().map(|record| item(original, &header, &columns, record)).collect::<Result<_, _>>()?;
    let same = |column: Option<usize>| shared(&records, column);
    let setting = |column, name: &str| same(column).map(|text| object([(name, string(text))]));
    let mut remarks = Vec::new();
    if !columns.ignored.is_empty() {
        remarks.push(format!("columns not read: {}", columns.ignored.join(", ")));
    }
    Round {
        tool: Tool::Csv,
        task,
        items: items.into(),
        planned: None,
        conditions: Conditions {
            scorer: same(columns.scorer),
            configuration: setting(columns.configuration, "given"),
            code: None,
            generation: setting(columns.generation, "given"),
            repeats: Some(Json::Integer(1)),
        },
        model: same(columns.model),
        remarks,
        originals: vec![place],
    }
    .in_order()
}

/// Where the reader would take a stray quote for text, and with it whatever rows follow: the line, and what is wrong there.
fn check_quotes(bytes: &[u8]) -> Result<(), (usize, &'static str)> {
    /// What the bytes so far make of the next one.
    #[derive(Clone, Copy)]
    enum At {
        FieldStart,
        Plain,
        /// In a quoted field that began in this line.
        Quoted(usize),
        /// After a quote in such a field: the first of two, or its end.
        Quote(usize),
    }
    let (mut at, mut line) = (At::FieldStart, 1);
    for byte in bytes {
        at = match (at, byte) {
            (At::FieldStart, b'"') => At::Quoted(line),
            (At::Quoted(began), b'"') => At::Quote(began),
            (At::Quote(began), b'"') => At::Quoted(began),
            (At::Quoted(_), _) => at,
            (_, b',' | b'\n' | b'\r') => At::FieldStart,
            (At::Quote(_), _) => return Err((line, "a quoted field is closed, and text follows the quote")),
            (At::FieldStart | At::Plain, _) => At::Plain,
        };
        line += usize::from(*byte == b'\n');
    }
    match at {
        At::Quoted(began) => Err((began, "a quoted field begins here and is not closed")),
        At::FieldStart | At::Plain | At::Quote(_) => Ok(()),
    }
}

fn field(record: &StringRecord, column: Option<usize>) -> Option<&str> {
    record.get(column?).filter(|text| !text.is_empty())
}

/// What a column says, where it says the same in every row.
fn shared(records: &[StringRecord], column: Option<usize>) -> Option<String> {
    let first = field(records.first()?, column)?;
    records.iter().all(|record| field(record, column) == Some(first)).then(|| first.to_owned())
}

fn item(
    original: &Original<'_>,
    header: &[String],
    columns: &Columns,
    record: &StringRecord,
) -> Result<Item, ImportError> {
    let line = record.position().map_or(0, |position| usize::try_from(position.line()).unwrap_or(usize::MAX));
    let text = |column| field(record, column).map(str::to_owned);
    // An empty cell of a column that is there is an empty text, not an unknown one.
    let wording = |column: Option<usize>| {
        column.and_then(|at| record.get(at)).map_or(Wording::Unknown, |text| Wording::Plain(text.to_owned()))
    };
    let number = |column: Option<usize>, name: &str| -> Result<Option<f64>, ImportError> {
        let Some(text) = field(record, column) else { return Ok(None) };
        match text.trim().parse::<f64>() {
            // Not a number is how some tools write that there is none.
            Ok(number) => Ok((!number.is_nan()).then_some(number)),
            Err(_) if text.trim().eq_ignore_ascii_case("n/a") => Ok(None),
            Err(_) => Err(original.refuse_at(line, name, "must be a number")),
        }
    };
    let score = number(columns.score, "score")?;
    let cost = number(columns.cost, "cost")?;
    if cost.is_some_and(|cost| cost < 0.0) {
        return Err(original.refuse_at(line, "cost", "must not be negative"));
    }
    if cost.is_some_and(f64::is_infinite) {
        return Err(original.refuse_at(line, "cost", "is too large"));
    }
    if score.is_some_and(f64::is_infinite) {
        return Err(original.refuse_at(line, "score", "must be from 0 to 1"));
    }
    let state = match (field(record, columns.state), field(record, columns.correct), score) {
        (Some(state), _, _) => state_of(state).ok_or_else(|| {
            let known = State::ALL.map(State::as_str).join(", ");
            original.refuse_at(line, "state", format!("must be one of {known}"))
        })?,
        (None, Some(correct), _) => {
            right(correct).ok_or_else(|| original.refuse_at(line, "correct", "must be true or false"))?
        }
        (None, None, Some(score)) => {
            State::of_score(score).ok_or_else(|| original.refuse_at(line, "score", "must be from 0 to 1"))?
        }
        (None, None, None) => State::Unscored,
    };
    let words = (field(record, columns.state), field(record, columns.correct));
    if let Some((name, reason)) = contradiction(words, state, score) {
        return Err(original.refuse_at(line, name, reason));
    }
    if state == State::Partial && score.and_then(State::of_score) != Some(State::Partial) {
        return Err(original.refuse_at(line, "score", "must be above 0 and below 1 where the state is partial"));
    }
    Ok(Item {
        id: text(columns.id),
        cluster: text(columns.cluster),
        prompt: columns.asked(header, |at| wording(Some(at))),
        reference: wording(columns.reference),
        reply: text(columns.reply),
        state,
        score,
        cost,
        place: original.place(line),
        ..Item::default()
    })
}

/// The column that says otherwise than the one that counts: what is right has any score but 0, what is wrong any but 1, and
/// what was not judged is not right.
fn contradiction(
    (state, correct): (Option<&str>, Option<&str>),
    ended: State,
    score: Option<f64>,
) -> Option<(&'static str, String)> {
    if let (Some(state), Some(correct)) = (state, correct)
        && !right(correct).is_some_and(|right| right == ended || (right == State::Fail && ended != State::Pass))
    {
        return Some(("correct", format!("says `{}`, and the state is `{}`", correct.trim(), state.trim())));
    }
    let said = score?;
    let fits = match ended {
        State::Pass => said > 0.0,
        State::Fail => said < 1.0,
        State::Partial => true,
        _ => said == 0.0,
    };
    (!fits).then(|| ("score", format!("is {said}, and the row says that it is `{}`", ended.as_str())))
}

fn state_of(text: &str) -> Option<State> {
    let text = text.trim().to_lowercase();
    let known = State::ALL.into_iter().find(|state| state.as_str() == text);
    known.or(match text.as_str() {
        "passed" | "ok" => Some(State::Pass),
        "failed" | "failure" => Some(State::Fail),
        "error" => Some(State::Errored),
        "skip" => Some(State::Skipped),
        _ => None,
    })
}

fn right(text: &str) -> Option<State> {
    match text.trim().to_lowercase().as_str() {
        "true" | "1" | "1.0" | "yes" => Some(State::Pass),
        "false" | "0" | "0.0" | "no" => Some(State::Fail),
        _ => None,
    }
}
