//! Naming receipts: `@`, `@~2`, `main`, `main~1`, `main#3`, `#12`, the beginning of an id.
//!
//! A word that is both a line and the beginning of an id means the line: lines are few and named by people, and a receipt
//! whose id happens to begin so must not change what `2026` means. `id:` and `line:` say which is meant, and 64 digits
//! are always an id. Where the same receipt was appended twice, its id names the first of the two.

use std::fmt;
use std::str::FromStr;

use rusqlite::Connection;

use super::query::{LISTED, in_log};
use super::{Entry, Index, IndexError, catch_up};
use crate::receipt::{Kind, LineName};

/// The fewest digits of an id that name a receipt.
const MIN_PREFIX: usize = 4;

/// An id has this many digits.
const ID_DIGITS: usize = 64;

/// The fewest leading digits that make another id a near one.
const NEAR: usize = 3;

/// Lines that are looked at when one is not found.
const LINES_LOOKED_AT: usize = 10_000;

/// A receipt's name, as people write it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rev {
    /// `@~N`: so many receipts before the newest.
    Newest(u64),
    /// `#N`: a log index.
    Index(u64),
    /// `NAME~N` or `line:NAME~N`: so many rounds before the newest of a line.
    Line(LineName, u64),
    /// `NAME#N` or `line:NAME#N`: the N-th round of a line, from 1, as rounds are shown.
    Round(LineName, u64),
    /// `id:HEX`: the beginning of an id, 4 to 64 lower-case hexadecimal digits.
    Id(String),
    /// A word: a line if there is one, else the beginning of an id.
    Word(LineName),
}

impl fmt::Display for Rev {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let back = |back: &u64| if *back == 0 { String::new() } else { format!("~{back}") };
        match self {
            Self::Newest(steps) => write!(f, "@{}", back(steps)),
            Self::Index(index) => write!(f, "#{index}"),
            Self::Line(line, steps) => write!(f, "{line}{}", back(steps)),
            Self::Round(line, number) => write!(f, "{line}#{number}"),
            Self::Id(prefix) => f.write_str(prefix),
            Self::Word(word) => write!(f, "{word}"),
        }
    }
}

fn is_id_prefix(text: &str) -> bool {
    (MIN_PREFIX..=ID_DIGITS).contains(&text.len()) && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

impl FromStr for Rev {
    type Err = IndexError;

    fn from_str(text: &str) -> Result<Self, IndexError> {
        let refused = |reason| IndexError::Rev { text: text.chars().take(80).collect(), reason };
        let number = |digits: &str| {
            let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse().ok().filter(|_| plain).ok_or_else(|| refused("`#` and `~` take a number"))
        };
        if let Some(digits) = text.strip_prefix('#') {
            return Ok(Self::Index(number(digits)?));
        }
        let form = "it is neither `@`, `@~N`, `#N`, a line, `LINE~N`, `LINE#N`, nor the first digits of an id";
        if let Some((name, digits)) = text.split_once('#') {
            let line = name.strip_prefix("line:").unwrap_or(name).parse().map_err(|_| refused(form))?;
            return Ok(Self::Round(line, number(digits)?));
        }
        let (name, back) = match text.split_once('~') {
            // As in git, `~` alone is one step.
            Some((name, "")) => (name, Some(1)),
            Some((name, digits)) => (name, Some(number(digits)?)),
            None => (text, None),
        };
        if name == "@" {
            return Ok(Self::Newest(back.unwrap_or(0)));
        }
        if let Some(prefix) = name.strip_prefix("id:") {
            return match back {
                Some(_) => Err(refused("`~` counts back from `@` or from a line, not from an id")),
                None if is_id_prefix(prefix) => Ok(Self::Id(prefix.to_owned())),
                None => Err(refused("an id is named by its first 4 to 64 digits, of 0-9 and a-f")),
            };
        }
        match (name.strip_prefix("line:"), back) {
            (Some(line), back) => Ok(Self::Line(line.parse().map_err(|_| refused(form))?, back.unwrap_or(0))),
            (None, Some(back)) => Ok(Self::Line(name.parse().map_err(|_| refused(form))?, back)),
            (None, None) if name.len() == ID_DIGITS && is_id_prefix(name) => Ok(Self::Id(name.to_owned())),
            (None, None) => Ok(Self::Word(name.parse().map_err(|_| refused(form))?)),
        }
    }
}

/// A receipt that may have been meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Its index in the log.
    pub index: u64,
    /// Its id, in hexadecimal.
    pub id: String,
    /// Its kind.
    pub kind: Kind,
    /// For a scorecard, its line and round.
    pub round: Option<(LineName, u64)>,
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} #{} {}", self.id.get(..16).unwrap_or(&self.id), self.index, self.kind)?;
        match &self.round {
            Some((line, round)) => write!(f, " {line}#{round}"),
            None => Ok(()),
        }
    }
}

impl Entry {
    /// The line, of a scorecard or a baseline.
    pub fn line(&self) -> Option<&LineName> {
        self.receipt.statement().predicate.body.line()
    }

    fn candidate(&self) -> Candidate {
        Candidate {
            index: self.index,
            id: self.receipt.id().to_string(),
            kind: self.receipt.statement().predicate.kind(),
            round: self.line().cloned().zip(self.round),
        }
    }
}

impl Index<'_> {
    /// The receipt that a revision names.
    ///
    /// # Errors
    /// What is wrong with the revision, with near candidates: [`IndexError::OutsideLog`], [`IndexError::OutsideLine`],
    /// [`IndexError::NoLine`], [`IndexError::NoId`], [`IndexError::NoSuchWord`], [`IndexError::AmbiguousId`].
    pub fn resolve(&mut self, rev: &Rev) -> Result<Entry, IndexError> {
        self.settled(|this| match rev {
            Rev::Newest(back) => {
                let newest = this.snapshot().size().saturating_sub(1);
                this.at(rev, newest.checked_sub(*back))
            }
            Rev::Index(index) => this.at(rev, Some(*index)),
            Rev::Line(line, back) => this.line(rev, line, |newest| newest.checked_sub(*back)),
            Rev::Round(line, number) => this.line(rev, line, |newest| Some(*number).filter(|number| *number <= newest)),
            Rev::Id(prefix) => this
                .id_or_none(prefix)?
                .map_or_else(|| Err(IndexError::NoId { prefix: prefix.clone(), near: this.near_ids(prefix)? }), Ok),
            Rev::Word(word) => this.word(rev, word),
        })
    }

    /// Refuses a line that has no rounds.
    ///
    /// # Errors
    /// [`IndexError::NoLine`].
    pub fn expect_line(&mut self, line: &LineName) -> Result<(), IndexError> {
        self.settled(|this| match catch_up::last_round(this.handle.connection()?, line.as_str())? {
            0 => Err(IndexError::NoLine { name: line.to_string(), lines: this.near_lines(line.as_str())? }),
            _ => Ok(()),
        })
    }

    fn at(&mut self, rev: &Rev, index: Option<u64>) -> Result<Entry, IndexError> {
        let size = self.snapshot().size();
        match index.filter(|index| *index < size) {
            Some(index) => self.read_entry(index),
            None => Err(IndexError::OutsideLog { text: rev.to_string(), newest: size.saturating_sub(1) }),
        }
    }

    fn word(&mut self, rev: &Rev, word: &LineName) -> Result<Entry, IndexError> {
        if let Some(entry) = self.line_or_none(rev, word, Some)? {
            return Ok(entry);
        }
        let lines = self.near_lines(word.as_str())?;
        if !is_id_prefix(word.as_str()) {
            return Err(IndexError::NoLine { name: word.to_string(), lines });
        }
        if let Some(entry) = self.id_or_none(word.as_str())? {
            return Ok(entry);
        }
        let near = self.near_ids(word.as_str())?;
        Err(IndexError::NoSuchWord { word: word.to_string(), lines, near })
    }

    fn line(
        &mut self,
        rev: &Rev,
        line: &LineName,
        choose: impl FnOnce(u64) -> Option<u64>,
    ) -> Result<Entry, IndexError> {
        match self.line_or_none(rev, line, choose)? {
            Some(entry) => Ok(entry),
            None => Err(IndexError::NoLine { name: line.to_string(), lines: self.near_lines(line.as_str())? }),
        }
    }

    /// The round of a line that is chosen by how many there are; `None` where there is no such line.
    fn line_or_none(
        &mut self,
        rev: &Rev,
        line: &LineName,
        choose: impl FnOnce(u64) -> Option<u64>,
    ) -> Result<Option<Entry>, IndexError> {
        let newest = catch_up::last_round(self.handle.connection()?, line.as_str())?;
        if newest == 0 {
            return Ok(None);
        }
        let Some(round) = choose(newest).filter(|round| *round > 0) else {
            return Err(IndexError::OutsideLine { text: rev.to_string(), line: line.to_string(), rounds: newest });
        };
        let index = round_at(self.handle.connection()?, line, round)?;
        let entry = self.read_entry(index)?;
        if entry.line() != Some(line) || entry.round != Some(round) {
            return Err(IndexError::Disagrees { index });
        }
        Ok(Some(entry))
    }

    /// The only receipt whose id begins so; `None` where there is none.
    fn id_or_none(&mut self, prefix: &str) -> Result<Option<Entry>, IndexError> {
        let found =
            ids(self.handle.connection()?, "id >= ?1 AND id < ?1 || 'g' GROUP BY id ORDER BY id", prefix, LISTED)?;
        let mut entries = Vec::with_capacity(found.len());
        for index in found {
            let entry = self.read_entry(index)?;
            if !entry.receipt.id().to_string().starts_with(prefix) {
                return Err(IndexError::Disagrees { index });
            }
            entries.push(entry);
        }
        if entries.len() > 1 {
            let matches = entries.iter().map(Entry::candidate).collect();
            return Err(IndexError::AmbiguousId { prefix: prefix.to_owned(), matches });
        }
        Ok(entries.pop())
    }

    /// Receipts whose ids share the most leading digits with `prefix`: its neighbours in the order of ids.
    fn near_ids(&mut self, prefix: &str) -> Result<Vec<Candidate>, IndexError> {
        let mut found = ids(self.handle.connection()?, "id < ? GROUP BY id ORDER BY id DESC", prefix, 3)?;
        found.extend(ids(self.handle.connection()?, "id >= ? GROUP BY id ORDER BY id", prefix, 3)?);
        let mut near = Vec::with_capacity(found.len());
        for index in found {
            near.push(self.read_entry(index)?.candidate());
        }
        let shared = |other: &Candidate| other.id.bytes().zip(prefix.bytes()).take_while(|(a, b)| a == b).count();
        near.retain(|candidate| shared(candidate) >= NEAR);
        near.sort_by_key(|candidate| (std::cmp::Reverse(shared(candidate)), candidate.index));
        Ok(near)
    }

    /// The lines whose names are closest to `name`.
    pub(super) fn near_lines(&self, name: &str) -> Result<Vec<String>, IndexError> {
        let mut lines = self.line_names(LINES_LOOKED_AT)?;
        lines.sort_by_cached_key(|line| (edits(line, name), line.clone()));
        lines.truncate(LISTED);
        Ok(lines)
    }
}

/// The log index of a line's round.
fn round_at(connection: &Connection, line: &LineName, round: u64) -> Result<u64, IndexError> {
    let sql = "SELECT idx FROM receipts WHERE line = ? AND round = ? AND round IS NOT NULL";
    let index: i64 = connection.prepare_cached(sql)?.query_row((line.as_str(), round as i64), |row| row.get(0))?;
    in_log(index)
}

fn ids(connection: &Connection, condition: &'static str, prefix: &str, limit: usize) -> Result<Vec<u64>, IndexError> {
    let sql = format!("SELECT min(idx) FROM receipts WHERE {condition} LIMIT {limit}");
    let mut statement = connection.prepare_cached(&sql)?;
    let found = statement.query_map([prefix], |row| row.get::<_, i64>(0))?;
    found.map(|index| in_log(index?)).collect()
}

/// How many bytes must be inserted, removed or replaced to turn one name into the other (Levenshtein's distance).
fn edits(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, left) in one.bytes().enumerate() {
        let mut diagonal = line;
        row[0] = line + 1;
        for (column, right) in other.bytes().enumerate() {
            let replaced = diagonal + usize::from(left != right);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read_and_written() {
        let line = |name: &str, back| Rev::Line(name.parse().unwrap(), back);
        for (text, rev, written) in [
            ("@", Rev::Newest(0), "@"),
            ("@~", Rev::Newest(1), "@~1"),
            ("@~2", Rev::Newest(2), "@~2"),
            ("#12", Rev::Index(12), "#12"),
            ("main#3", Rev::Round("main".parse().unwrap(), 3), "main#3"),
            ("line:beef#1", Rev::Round("beef".parse().unwrap(), 1), "beef#1"),
            ("main~1", line("main", 1), "main~1"),
            ("main~0", line("main", 0), "main"),
            ("line:beef", line("beef", 0), "beef"),
            ("line:beef~3", line("beef", 3), "beef~3"),
            ("id:beef", Rev::Id("beef".into()), "beef"),
            ("beef", Rev::Word("beef".parse().unwrap()), "beef"),
            (&"a".repeat(64), Rev::Id("a".repeat(64)), &"a".repeat(64)),
        ] {
            assert_eq!(text.parse::<Rev>().unwrap(), rev, "{text}");
            assert_eq!(rev.to_string(), written);
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for text in [
            "",
            "#",
            "#-1",
            "#+1",
            "# 1",
            "#1~1",
            "@1",
            "@~-1",
            "@~x",
            "@~~",
            "@@",
            "main~+1",
            "Main",
            "main~1~1",
            "id:abc",
            "id:ABCD",
            "id:abcd~1",
            "id:",
            "line:",
            "a b",
            "~1",
            "#99999999999999999999",
            "\u{1b}[2J",
        ] {
            let refused = text.parse::<Rev>();
            assert!(matches!(refused, Err(IndexError::Rev { .. })), "{text:?}: {refused:?}");
        }
    }

    #[test]
    fn edits_are_counted() {
        for (one, other, count) in
            [("", "", 0), ("main", "main", 0), ("mian", "main", 2), ("nightly", "night", 2), ("", "abc", 3)]
        {
            assert_eq!((edits(one, other), edits(other, one)), (count, count), "{one} {other}");
        }
    }
}
