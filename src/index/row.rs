//! One receipt as rows.

use std::collections::HashMap;

use rusqlite::{CachedStatement, Connection, OptionalExtension, Row};

use super::IndexError;
use crate::ledger::{LogIdentity, Snapshot};
use crate::receipt::{Body, Receipt, ReceiptRef};
use crate::trust;

/// What the `receipts` table says of a receipt, but for its place and its round, which follow from all receipts before.
#[derive(Debug, PartialEq)]
pub(super) struct Columns {
    id: String,
    kind: String,
    recorded_at: String,
    person: Option<String>,
    key: String,
    note: Option<String>,
    line: Option<String>,
    card: Option<Card>,
}

/// The columns that only scorecards have.
#[derive(Debug, PartialEq)]
struct Card {
    question_set_id: String,
    scorer: String,
    basis: String,
    sealed: bool,
    quality: f64,
    realized_cost: f64,
    grounded_fraction: f64,
    n: i64,
}

const INSERT: &str = "INSERT INTO receipts (idx, id, kind, recorded_at, person, key, note, line, round, question_set_id, \
                      scorer, basis, sealed, quality, realized_cost, grounded_fraction, n) \
                      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

const SELECT: &str = "SELECT id, kind, recorded_at, person, key, note, line, question_set_id, scorer, basis, sealed, \
                      quality, realized_cost, grounded_fraction, n, round FROM receipts WHERE idx = ?";

impl Columns {
    /// What the row of `receipt` must say.
    pub(super) fn of(receipt: &Receipt, person: Option<String>) -> Self {
        let predicate = &receipt.statement().predicate;
        let line = predicate.body.line().map(ToString::to_string);
        let card = match &predicate.body {
            Body::Scorecard(body) => Some(Card {
                question_set_id: body.card.question_set_id().to_owned(),
                scorer: body.scorer.to_string(),
                basis: body.basis.to_string(),
                sealed: body.sealed,
                quality: body.card.quality(),
                realized_cost: body.card.realized_cost(),
                grounded_fraction: body.card.grounded_fraction(),
                n: body.card.n() as i64,
            }),
            _ => None,
        };
        Self {
            id: receipt.id().to_string(),
            kind: predicate.kind().to_string(),
            recorded_at: predicate.recorded_at.to_string(),
            person,
            key: receipt.key().to_string(),
            note: predicate.note.as_ref().map(ToString::to_string),
            line,
            card,
        }
    }

    /// Whether it is a round of a line.
    pub(super) fn is_round(&self) -> bool {
        self.card.is_some()
    }

    /// Reads the row at `index` and its round; `None` where there is none.
    pub(super) fn read(connection: &Connection, index: u64) -> Result<Option<(Self, Option<u64>)>, rusqlite::Error> {
        let read = |row: &Row<'_>| {
            let question_set_id: Option<String> = row.get(7)?;
            let card = question_set_id.map(|questions| Card::read(questions, row)).transpose()?;
            let columns = Self {
                id: row.get(0)?,
                kind: row.get(1)?,
                recorded_at: row.get(2)?,
                person: row.get(3)?,
                key: row.get(4)?,
                note: row.get(5)?,
                line: row.get(6)?,
                card,
            };
            let round: Option<i64> = row.get(15)?;
            Ok((columns, round.and_then(|round| u64::try_from(round).ok())))
        };
        connection.prepare_cached(SELECT)?.query_row([index as i64], read).optional()
    }
}

impl Card {
    fn read(question_set_id: String, row: &Row<'_>) -> Result<Self, rusqlite::Error> {
        Ok(Self {
            question_set_id,
            scorer: row.get(8)?,
            basis: row.get(9)?,
            sealed: row.get(10)?,
            quality: row.get(11)?,
            realized_cost: row.get(12)?,
            grounded_fraction: row.get(13)?,
            n: row.get(14)?,
        })
    }
}

/// Writes receipts as rows.
pub(super) struct Inserter<'c> {
    receipts: CachedStatement<'c>,
    subjects: CachedStatement<'c>,
    evidence: CachedStatement<'c>,
    comparisons: CachedStatement<'c>,
    baselines: CachedStatement<'c>,
}

impl<'c> Inserter<'c> {
    pub(super) fn new(connection: &'c Connection) -> Result<Self, rusqlite::Error> {
        Ok(Self {
            receipts: connection.prepare_cached(INSERT)?,
            subjects: connection.prepare_cached("INSERT INTO subjects VALUES (?, ?, ?, ?)")?,
            evidence: connection.prepare_cached("INSERT INTO evidence VALUES (?, ?, ?, ?, ?, ?, ?)")?,
            comparisons: connection.prepare_cached("INSERT INTO comparisons VALUES (?, ?, ?, ?, ?, ?, ?)")?,
            baselines: connection.prepare_cached("INSERT INTO baselines VALUES (?, ?, ?)")?,
        })
    }

    /// Writes the rows of the receipt at `index`.
    pub(super) fn insert(
        &mut self,
        index: u64,
        receipt: &Receipt,
        person: Option<String>,
        round: Option<u64>,
    ) -> Result<(), rusqlite::Error> {
        let index = index as i64;
        let row = Columns::of(receipt, person);
        let card = row.card.as_ref();
        self.receipts.execute(rusqlite::params![
            index,
            row.id,
            row.kind,
            row.recorded_at,
            row.person,
            row.key,
            row.note,
            row.line,
            round.map(|round| round as i64),
            card.map(|card| &card.question_set_id),
            card.map(|card| &card.scorer),
            card.map(|card| &card.basis),
            card.map(|card| card.sealed),
            card.map(|card| card.quality),
            card.map(|card| card.realized_cost),
            card.map(|card| card.grounded_fraction),
            card.map(|card| card.n),
        ])?;
        let statement = receipt.statement();
        for (place, subject) in (0i64..).zip(&statement.subject) {
            self.subjects.execute((index, place, subject.name.as_str(), subject.digest.sha256.to_string()))?;
        }
        for item in &statement.predicate.evidence {
            let (blake3, sha256) = (item.blake3.to_string(), item.sha256.to_string());
            let size = item.size as i64;
            self.evidence.execute((index, item.role.as_str(), blake3, sha256, size, &item.media_type, item.held))?;
        }
        match &statement.predicate.body {
            Body::Comparison(body) => {
                let reasons = serde_json::to_string(&body.report.reasons)
                    .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
                let (base, current) = (body.base.index as i64, body.current.index as i64);
                let (regressed, comparable) = (body.report.regressed, body.report.comparable);
                self.comparisons
                    .execute((index, base, current, body.tolerance, regressed, comparable, reasons))
                    .map(|_| ())
            }
            Body::Baseline(body) => {
                self.baselines.execute((index, body.line.as_str(), body.target.index as i64)).map(|_| ())
            }
            _ => Ok(()),
        }
    }
}

/// Trust statements that are kept at hand.
const MAX_STATEMENTS: usize = 64;

/// Who signed what, by the trust statement that each receipt names.
///
/// That the statement was the one in force is for a verification to say, not for a view.
pub(super) struct People {
    statements: HashMap<ReceiptRef, Option<trust::Statement>>,
}

impl People {
    /// Receipt 0's statement is at hand: opening the ledger read it.
    pub(super) fn of(log: &LogIdentity) -> Self {
        let genesis = ReceiptRef { index: 0, receipt: log.genesis };
        Self { statements: HashMap::from([(genesis, Some(log.trust.clone()))]) }
    }

    /// The name of the person who signed the receipt at `index`; `None` for a key that the statement does not list.
    pub(super) fn signer(
        &mut self,
        connection: &Connection,
        snapshot: &Snapshot<'_>,
        index: u64,
        receipt: &Receipt,
    ) -> Result<Option<String>, IndexError> {
        let statement = self.statement_for(connection, snapshot, index, receipt)?;
        let person = statement.and_then(|statement| statement.person_of(receipt.key()));
        Ok(person.map(|person| person.name.clone()))
    }

    /// The trust statement that the receipt at `index` names; receipt 0 states its own.
    pub(super) fn statement_for<'s>(
        &'s mut self,
        connection: &Connection,
        snapshot: &Snapshot<'_>,
        index: u64,
        receipt: &'s Receipt,
    ) -> Result<Option<&'s trust::Statement>, IndexError> {
        match receipt.statement().predicate.trust {
            None if index == 0 => Ok(statement_in(receipt)),
            Some(named) if named.index < index => self.named(connection, snapshot, named),
            _ => Ok(None),
        }
    }

    fn named(
        &mut self,
        connection: &Connection,
        snapshot: &Snapshot<'_>,
        named: ReceiptRef,
    ) -> Result<Option<&trust::Statement>, IndexError> {
        if !self.statements.contains_key(&named) {
            // A hostile log may have every receipt name another one: only trust receipts are read.
            if named.index != 0 && !is_trust(connection, named.index)? {
                return Ok(None);
            }
            if self.statements.len() >= MAX_STATEMENTS {
                self.statements.clear();
            }
            let receipt = snapshot.receipt(named.index)?;
            let statement = statement_in(&receipt).filter(|_| receipt.id() == named.receipt).cloned();
            self.statements.insert(named, statement);
        }
        Ok(self.statements.get(&named).and_then(Option::as_ref))
    }
}

fn is_trust(connection: &Connection, index: u64) -> Result<bool, rusqlite::Error> {
    let mut statement = connection.prepare_cached("SELECT 1 FROM receipts WHERE idx = ? AND kind = 'trust'")?;
    statement.exists([index as i64])
}

fn statement_in(receipt: &Receipt) -> Option<&trust::Statement> {
    match &receipt.statement().predicate.body {
        Body::Trust(statement) => Some(statement),
        _ => None,
    }
}
