//! Finding receipts, question sets and objects.

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::schema::smallest;
use super::{Entry, Index, IndexError};
use crate::receipt::{Body, Evidence, Kind, LineName, Receipt};

/// Candidates that are listed at most.
pub(super) const LISTED: usize = 10;

/// Which receipts are wanted; what is absent does not restrict.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Rounds of this line, and baselines set for it.
    pub line: Option<LineName>,
    /// Scorecards on this question set, by its whole id.
    pub questions: Option<String>,
    /// Receipts of this kind.
    pub kind: Option<Kind>,
}

impl Filter {
    /// Whether the receipt is wanted.
    pub fn admits(&self, receipt: &Receipt) -> bool {
        let predicate = &receipt.statement().predicate;
        let (line, questions) = match &predicate.body {
            Body::Scorecard(body) => (Some(&body.line), Some(body.card.question_set_id())),
            Body::Baseline(body) => (Some(&body.line), None),
            _ => (None, None),
        };
        self.line.as_ref().is_none_or(|wanted| Some(wanted) == line)
            && self.questions.as_deref().is_none_or(|wanted| Some(wanted) == questions)
            && self.kind.is_none_or(|wanted| wanted == predicate.kind())
    }

    /// The condition in SQL, with its parameters.
    fn condition(&self) -> (String, Vec<Value>) {
        let (mut sql, mut values) = (String::from("idx < ?"), Vec::new());
        if let Some(line) = &self.line {
            sql.push_str(" AND line = ?");
            values.push(line.to_string().into());
        }
        if let Some(questions) = &self.questions {
            sql.push_str(" AND question_set_id = ?");
            values.push(questions.clone().into());
        }
        if let Some(kind) = self.kind {
            sql.push_str(" AND kind = ?");
            values.push(kind.to_string().into());
        }
        (sql, values)
    }
}

/// An object, and a receipt that names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The receipt's index in the log.
    pub receipt: u64,
    /// What the receipt says of the object.
    pub evidence: Evidence,
}

impl Index<'_> {
    /// The newest receipts that the filter admits and whose index is less than `before`, newest first, `limit` at most.
    pub fn newest(&mut self, filter: &Filter, before: u64, limit: usize) -> Result<Vec<Entry>, IndexError> {
        self.settled(|this| this.read_newest(filter, before, limit))
    }

    fn read_newest(&mut self, filter: &Filter, before: u64, limit: usize) -> Result<Vec<Entry>, IndexError> {
        let before = before.min(self.snapshot().size());
        let found = if *filter == Filter::default() {
            // The log itself knows.
            (0..before).rev().take(limit).collect()
        } else {
            find(self.handle.connection()?, filter, before, limit)?
        };
        let mut entries = Vec::with_capacity(found.len());
        for index in found {
            let entry = self.read_entry(index)?;
            if !filter.admits(&entry.receipt) {
                return Err(IndexError::Disagrees { index });
            }
            entries.push(entry);
        }
        Ok(entries)
    }

    /// The whole id of the only question set whose id, or whose id after `pm1:`, begins with `prefix`.
    pub fn question_set(&mut self, prefix: &str) -> Result<String, IndexError> {
        self.settled(|this| {
            let native = format!("pm1:{prefix}");
            let mut matches = beginning_with(this.handle.connection()?, "question_set_id", prefix)?;
            matches.extend(beginning_with(this.handle.connection()?, "question_set_id", &native)?);
            if let Some(whole) = matches.iter().find(|id| **id == prefix || **id == native) {
                return Ok(whole.clone());
            }
            match matches.as_slice() {
                [only] => Ok(only.clone()),
                [] => {
                    let exist = beginning_with(this.handle.connection()?, "question_set_id", "")?;
                    Err(IndexError::NoQuestionSet { prefix: prefix.to_owned(), exist })
                }
                _ => Err(IndexError::AmbiguousQuestionSet { prefix: prefix.to_owned(), matches }),
            }
        })
    }

    /// What receipts say of the only object whose id begins with `prefix` (lower-case hexadecimal digits): once for each
    /// size that is stated, which differ only where a receipt is wrong.
    pub fn object(&mut self, prefix: &str) -> Result<Vec<Claim>, IndexError> {
        self.settled(|this| {
            let mut claims: Vec<Claim> = Vec::new();
            for (index, role, blake3) in objects(this.handle.connection()?, prefix)? {
                let entry = this.read_entry(index)?;
                let evidence = &entry.receipt.statement().predicate.evidence;
                let stated =
                    evidence.iter().find(|item| item.role.as_str() == role && item.blake3.to_string() == blake3);
                let evidence = stated.ok_or(IndexError::Disagrees { index })?.clone();
                claims.push(Claim { receipt: index, evidence });
            }
            match claims.first() {
                None => Err(IndexError::NoObject { prefix: prefix.to_owned() }),
                Some(first) if claims.iter().all(|claim| claim.evidence.blake3 == first.evidence.blake3) => Ok(claims),
                Some(_) => {
                    claims.dedup_by_key(|claim| claim.evidence.blake3);
                    Err(IndexError::AmbiguousObject { prefix: prefix.to_owned(), matches: claims })
                }
            }
        })
    }

    /// The names of the lines, in order, `limit` at most.
    pub(super) fn line_names(&self, limit: usize) -> Result<Vec<String>, IndexError> {
        Ok(distinct(self.handle.connection()?, "line", "", limit)?)
    }
}

/// The indices of receipts that the filter admits, newest first.
fn find(connection: &Connection, filter: &Filter, before: u64, limit: usize) -> Result<Vec<u64>, IndexError> {
    let (condition, values) = filter.condition();
    let sql = format!("SELECT idx FROM receipts WHERE {condition} ORDER BY idx DESC LIMIT ?");
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let values = [Value::from(before as i64)].into_iter().chain(values).chain([Value::from(limit)]);
    let mut statement = connection.prepare_cached(&sql)?;
    let found = statement.query_map(params_from_iter(values), |row| row.get::<_, i64>(0))?;
    found.map(|index| in_log(index?)).collect()
}

/// A log index, as it is in a row.
pub(super) fn in_log(index: i64) -> Result<u64, IndexError> {
    u64::try_from(index).map_err(|_| IndexError::Disagrees { index: 0 })
}

/// Different texts of an indexed column from `from` on, in order: one step in the index each, however often each occurs.
fn distinct(
    connection: &Connection,
    column: &'static str,
    from: &str,
    limit: usize,
) -> Result<Vec<String>, rusqlite::Error> {
    let mut found: Vec<String> = Vec::new();
    while found.len() < limit {
        let next = match found.last() {
            None => smallest(connection, column, ">=", from)?,
            Some(last) => smallest(connection, column, ">", last)?,
        };
        match next {
            Some(text) => found.push(text),
            None => break,
        }
    }
    Ok(found)
}

fn beginning_with(connection: &Connection, column: &'static str, prefix: &str) -> Result<Vec<String>, rusqlite::Error> {
    let mut found = distinct(connection, column, prefix, LISTED)?;
    found.retain(|text| text.starts_with(prefix));
    Ok(found)
}

/// Receipt, role and id of objects whose ids begin with `prefix`: of the first few, each with every size stated for it.
fn objects(connection: &Connection, prefix: &str) -> Result<Vec<(u64, String, String)>, IndexError> {
    let sql = "SELECT min(receipt), role, blake3 FROM evidence WHERE blake3 >= ?1 AND blake3 < ?1 || 'g' \
               GROUP BY blake3, size ORDER BY blake3, size LIMIT ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query((prefix, LISTED as i64))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push((in_log(row.get(0)?)?, row.get(1)?, row.get(2)?));
    }
    Ok(found)
}
