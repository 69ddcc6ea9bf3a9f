//! Bringing an index up to the log: only new receipts are read, in one transaction.

use std::collections::HashMap;

use rusqlite::Connection;

use super::IndexError;
use super::row::{Inserter, People};
use super::schema::{self, Seen};
use crate::ledger::{LedgerError, LogIdentity, Snapshot, receipt_at};
use crate::receipt::{Body, Receipt};

/// An index that a power loss spoils is made anew, so that nothing waits for it to be durable.
const UNSYNCED: &str = "PRAGMA synchronous = OFF";

/// What came of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// The index is exactly at the snapshot, and a transaction is open that keeps seeing it so.
    Current,
    /// It covers more receipts than the snapshot has: another process has seen a newer log.
    Ahead,
    /// It is not an index of this log.
    Foreign,
}

/// Where a snapshot is.
fn head(snapshot: &Snapshot<'_>) -> Seen {
    Seen { size: snapshot.size(), root: snapshot.checkpoint().root() }
}

/// Reads the receipts that an index lacks.
///
/// Another process may do the same at the same time: whoever has the write lock second finds nothing left to do.
pub(super) fn bring(
    connection: &Connection,
    log: &LogIdentity,
    snapshot: &Snapshot<'_>,
) -> Result<Progress, IndexError> {
    loop {
        connection.execute_batch("BEGIN")?;
        let Some(seen) = schema::seen(connection, &log.genesis)? else { return Ok(Progress::Foreign) };
        if seen == head(snapshot) {
            return Ok(Progress::Current);
        }
        connection.execute_batch("ROLLBACK")?;
        if seen.size > snapshot.size() {
            return Ok(Progress::Ahead);
        }
        if !begins_with(snapshot, seen)? {
            return Ok(Progress::Foreign);
        }
        connection.execute_batch(UNSYNCED)?;
        connection.execute_batch("BEGIN IMMEDIATE")?;
        if schema::seen(connection, &log.genesis)? == Some(seen) {
            fill(connection, log, snapshot, seen.size)?;
            connection.execute_batch("COMMIT")?;
        } else {
            connection.execute_batch("ROLLBACK")?;
        }
    }
}

/// Whether the log's tiles have this root at this size.
pub(super) fn begins_with(snapshot: &Snapshot<'_>, seen: Seen) -> Result<bool, LedgerError> {
    if seen.size >= snapshot.size() {
        return Ok(seen == head(snapshot));
    }
    Ok(snapshot.tiles()?.root_at(seen.size)? == seen.root)
}

/// Makes the tables and fills them with the whole log.
pub(super) fn build(connection: &Connection, log: &LogIdentity, snapshot: &Snapshot<'_>) -> Result<(), IndexError> {
    connection.execute_batch(UNSYNCED)?;
    connection.execute_batch("BEGIN")?;
    schema::create_tables(connection)?;
    fill(connection, log, snapshot, 0)?;
    schema::create_indexes(connection)?;
    Ok(connection.execute_batch("COMMIT")?)
}

/// Inserts the receipts from `start` on. The reading fails, and with it the transaction, unless the first `start`
/// receipts and the new ones add up to the checkpoint's root.
fn fill(connection: &Connection, log: &LogIdentity, snapshot: &Snapshot<'_>, start: u64) -> Result<(), IndexError> {
    let mut inserter = Inserter::new(connection)?;
    let (mut people, mut rounds) = (People::of(log), Rounds { before: start, last: HashMap::new() });
    snapshot.map_from::<_, IndexError>(start, receipt_at, |index, receipt| {
        let person = people.signer(connection, snapshot, index, &receipt)?;
        let round = rounds.next(connection, &receipt)?;
        Ok(inserter.insert(index, &receipt, person, round)?)
    })?;
    Ok(schema::remember(connection, &log.genesis, head(snapshot))?)
}

/// Counts the rounds of every line, from 1.
struct Rounds {
    /// How many receipts were indexed before.
    before: u64,
    last: HashMap<String, u64>,
}

impl Rounds {
    /// The round that this receipt is, if it is a scorecard.
    fn next(&mut self, connection: &Connection, receipt: &Receipt) -> Result<Option<u64>, rusqlite::Error> {
        let Body::Scorecard(body) = &receipt.statement().predicate.body else { return Ok(None) };
        let line = body.line.as_str();
        let last = match self.last.get(line) {
            Some(last) => *last,
            None if self.before == 0 => 0,
            None => last_round(connection, line)?,
        };
        self.last.insert(line.to_owned(), last + 1);
        Ok(Some(last + 1))
    }
}

/// The newest round of a line; 0 where there is none.
pub(super) fn last_round(connection: &Connection, line: &str) -> Result<u64, rusqlite::Error> {
    let mut statement =
        connection.prepare_cached("SELECT max(round) FROM receipts WHERE line = ? AND round IS NOT NULL")?;
    let newest: Option<i64> = statement.query_row([line], |row| row.get(0))?;
    Ok(newest.and_then(|round| u64::try_from(round).ok()).unwrap_or(0))
}
