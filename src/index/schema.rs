//! The tables, as `docs/index.md` describes them.

use rusqlite::{Connection, OptionalExtension};

use crate::object::{ReceiptId, Sha256};

/// The version of the tables; an index of another one is made anew.
pub const SCHEMA: i64 = 1;

/// SQLite's `application_id` of an index: `PMix`.
const APPLICATION: i64 = 0x504d_6978;

/// An object of the schema: its kind, its name, the table it belongs to, and the statement that makes it.
type Object = (&'static str, &'static str, &'static str, &'static str);

const TABLES: [Object; 6] = [
    (
        "table",
        "meta",
        "meta",
        "CREATE TABLE meta (
  schema INTEGER NOT NULL,
  genesis TEXT NOT NULL,
  size INTEGER NOT NULL,
  root TEXT NOT NULL
) STRICT",
    ),
    (
        "table",
        "receipts",
        "receipts",
        "CREATE TABLE receipts (
  idx INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  kind TEXT NOT NULL,
  recorded_at TEXT NOT NULL,
  person TEXT,
  key TEXT NOT NULL,
  note TEXT,
  line TEXT,
  round INTEGER,
  question_set_id TEXT,
  scorer TEXT,
  basis TEXT,
  sealed INTEGER,
  quality REAL,
  realized_cost REAL,
  grounded_fraction REAL,
  n INTEGER
) STRICT",
    ),
    (
        "table",
        "subjects",
        "subjects",
        "CREATE TABLE subjects (
  receipt INTEGER NOT NULL,
  place INTEGER NOT NULL,
  name TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  PRIMARY KEY (receipt, place)
) STRICT, WITHOUT ROWID",
    ),
    (
        "table",
        "evidence",
        "evidence",
        "CREATE TABLE evidence (
  receipt INTEGER NOT NULL,
  role TEXT NOT NULL,
  blake3 TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  size INTEGER NOT NULL,
  media_type TEXT NOT NULL,
  held INTEGER NOT NULL,
  PRIMARY KEY (receipt, role, blake3)
) STRICT, WITHOUT ROWID",
    ),
    (
        "table",
        "comparisons",
        "comparisons",
        "CREATE TABLE comparisons (
  receipt INTEGER PRIMARY KEY,
  base INTEGER NOT NULL,
  current INTEGER NOT NULL,
  tolerance REAL NOT NULL,
  regressed INTEGER NOT NULL,
  comparable INTEGER NOT NULL,
  reasons TEXT NOT NULL
) STRICT",
    ),
    (
        "table",
        "baselines",
        "baselines",
        "CREATE TABLE baselines (
  receipt INTEGER PRIMARY KEY,
  line TEXT NOT NULL,
  target INTEGER NOT NULL
) STRICT",
    ),
];

const INDEXES: [Object; 6] = [
    ("index", "receipts_id", "receipts", "CREATE INDEX receipts_id ON receipts (id)"),
    ("index", "receipts_kind", "receipts", "CREATE INDEX receipts_kind ON receipts (kind)"),
    ("index", "receipts_line", "receipts", "CREATE INDEX receipts_line ON receipts (line) WHERE line IS NOT NULL"),
    (
        "index",
        "receipts_question_set_id",
        "receipts",
        "CREATE INDEX receipts_question_set_id ON receipts (question_set_id) WHERE question_set_id IS NOT NULL",
    ),
    (
        "index",
        "receipts_round",
        "receipts",
        "CREATE UNIQUE INDEX receipts_round ON receipts (line, round) WHERE round IS NOT NULL",
    ),
    ("index", "evidence_blake3", "evidence", "CREATE INDEX evidence_blake3 ON evidence (blake3)"),
];

/// How far an index has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen {
    /// The receipts that it covers.
    pub(super) size: u64,
    /// The log's root at that size.
    pub(super) root: Sha256,
}

/// Makes empty tables.
pub(super) fn create_tables(connection: &Connection) -> Result<(), rusqlite::Error> {
    for (_, _, _, statement) in TABLES {
        connection.execute_batch(statement)?;
    }
    connection.pragma_update(None, "application_id", APPLICATION)?;
    connection.pragma_update(None, "user_version", SCHEMA)
}

/// Makes the indexes; a filled table first, since sorting once is faster than inserting in random order.
pub(super) fn create_indexes(connection: &Connection) -> Result<(), rusqlite::Error> {
    INDEXES.iter().try_for_each(|(_, _, _, statement)| connection.execute_batch(statement))
}

/// Writes down how far the index has come.
pub(super) fn remember(connection: &Connection, genesis: &ReceiptId, seen: Seen) -> Result<(), rusqlite::Error> {
    connection.execute("DELETE FROM meta", [])?;
    let (genesis, root) = (genesis.to_string(), seen.root.to_string());
    connection.execute("INSERT INTO meta VALUES (?, ?, ?, ?)", (SCHEMA, genesis, seen.size as i64, root))?;
    Ok(())
}

/// How far the index of the ledger that begins with `genesis` has come; `None` where the tables are not exactly ours, or
/// are of another version or ledger. Nothing of a foreign schema is ever run: only its text is compared.
pub(super) fn seen(connection: &Connection, genesis: &ReceiptId) -> Result<Option<Seen>, rusqlite::Error> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    if pragma("application_id")? != APPLICATION || pragma("user_version")? != SCHEMA || !is_ours(connection)? {
        return Ok(None);
    }
    let mut rows = connection.prepare("SELECT schema, genesis, size, root FROM meta LIMIT 2")?;
    let mut rows = rows.query([])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let (schema, stated, size): (i64, String, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
    let (root, size): (Result<Sha256, _>, _) = (row.get::<_, String>(3)?.parse(), u64::try_from(size));
    let (Ok(root), Ok(size)) = (root, size) else { return Ok(None) };
    let alone = rows.next()?.is_none();
    let ours = alone && schema == SCHEMA && stated == genesis.to_string() && newest(connection)? == size.checked_sub(1);
    Ok(ours.then_some(Seen { size, root }))
}

fn newest(connection: &Connection) -> Result<Option<u64>, rusqlite::Error> {
    let newest: Option<i64> = connection.query_row("SELECT max(idx) FROM receipts", [], |row| row.get(0))?;
    Ok(newest.and_then(|index| u64::try_from(index).ok()))
}

/// Whether the schema is, word for word, the one above: no other table, no trigger, no view.
fn is_ours(connection: &Connection) -> Result<bool, rusqlite::Error> {
    let mut expected: Vec<_> = TABLES.iter().chain(&INDEXES).collect();
    expected.sort_by_key(|(_, name, _, _)| *name);
    let mut statement = connection.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name")?;
    let mut rows = statement.query([])?;
    for (kind, name, table, sql) in expected {
        let Some(row) = rows.next()? else { return Ok(false) };
        for (column, wanted) in [kind, name, table, sql].into_iter().enumerate() {
            if row.get_ref(column)?.as_str().ok() != Some(*wanted) {
                return Ok(false);
            }
        }
    }
    Ok(rows.next()?.is_none())
}

/// The smallest text in an indexed column of `receipts` that is `from` or after it.
pub(super) fn smallest(
    connection: &Connection,
    column: &'static str,
    comparison: &'static str,
    from: &str,
) -> Result<Option<String>, rusqlite::Error> {
    let sql = format!(
        "SELECT {column} FROM receipts WHERE {column} IS NOT NULL AND {column} {comparison} ? ORDER BY {column} LIMIT 1"
    );
    connection.prepare_cached(&sql)?.query_row([from], |row| row.get(0)).optional()
}
