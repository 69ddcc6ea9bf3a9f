//! The index: the same as reading the whole log, however it came about, and never believed over the log.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use proofmark::index::{Entry, Filter, Index, IndexError, Place, Rev};
use proofmark::ledger::{Ledger, LedgerError, Ratchet, Reader};
use proofmark::object::ReceiptId;
use proofmark::receipt::{Body, Kind, Receipt};
use proofmark::store::{Directory, Memory};
use proptest::prelude::*;
use rusqlite::Connection;

use crate::keys;
use crate::rounds::{self, push, questions, story};

fn open(folder: &Path) -> Ledger {
    Ledger::open(Box::new(Directory::new(folder))).unwrap()
}

fn ratchet() -> (tempfile::TempDir, Ratchet) {
    let folder = tempfile::tempdir().unwrap();
    let ratchet = Ratchet::new(folder.path());
    (folder, ratchet)
}

/// All of an index's rows as text, table by table.
fn rows(path: &Path) -> Vec<String> {
    let connection = Connection::open(path).unwrap();
    let mut all = Vec::new();
    for table in ["meta", "receipts", "subjects", "evidence", "comparisons", "baselines"] {
        let mut statement = connection.prepare(&format!("SELECT * FROM {table} ORDER BY 1, 2, 3")).unwrap();
        let columns = statement.column_count();
        let mut found = statement.query([]).unwrap();
        while let Some(row) = found.next().unwrap() {
            let values: Vec<_> = (0..columns).map(|column| format!("{:?}", row.get_ref(column).unwrap())).collect();
            all.push(format!("{table}: {}", values.join(", ")));
        }
    }
    all
}

/// What the log says, without an index: every receipt with its round, newest first.
fn scan(ledger: &Ledger) -> Vec<(u64, Receipt, Option<u64>)> {
    let mut rounds = BTreeMap::new();
    let mut all = Vec::new();
    let count = |index, receipt: Receipt| {
        let round = match &receipt.statement().predicate.body {
            Body::Scorecard(body) => {
                let last = rounds.entry(body.line.clone()).or_insert(0u64);
                *last += 1;
                Some(*last)
            }
            _ => None,
        };
        all.push((index, receipt, round));
        Ok(())
    };
    ledger.snapshot().unwrap().for_each(count).unwrap();
    all.reverse();
    all
}

fn brief(entries: &[Entry]) -> Vec<(u64, ReceiptId, Option<u64>)> {
    entries.iter().map(|entry| (entry.index, entry.receipt.id(), entry.round)).collect()
}

/// The index's answers to `filter` are those of a scan.
fn agrees(index: &mut Index<'_>, scanned: &[(u64, Receipt, Option<u64>)], filter: &Filter) {
    let expected: Vec<_> = scanned
        .iter()
        .filter(|(_, receipt, _)| filter.admits(receipt))
        .map(|(index, receipt, round)| (*index, receipt.id(), *round))
        .collect();
    assert_eq!(brief(&index.newest(filter, u64::MAX, usize::MAX).unwrap()), expected, "{filter:?}");
}

fn filters() -> Vec<Filter> {
    let mut all = vec![Filter::default()];
    for line in ["main", "nightly", "beef", "none"] {
        all.push(Filter { line: Some(line.parse().unwrap()), ..Filter::default() });
    }
    all.extend(Kind::ALL.map(|kind| Filter { kind: Some(kind), ..Filter::default() }));
    for digit in ['a', 'b', 'c'] {
        all.push(Filter { questions: Some(questions(digit)), ..Filter::default() });
        let line = Some("main".parse().unwrap());
        all.push(Filter { line, questions: Some(questions(digit)), kind: Some(Kind::Scorecard) });
    }
    all
}

/// Everything that is asked of an index, against a scan of the log.
fn answers_are_right(ledger: &Ledger, folder: &Path) {
    let mut index = Index::open(ledger, Some(folder)).unwrap();
    let scanned = scan(ledger);
    for filter in filters() {
        agrees(&mut index, &scanned, &filter);
    }
    for (place, receipt, round) in scanned {
        let entry = index.resolve(&format!("id:{}", receipt.id()).parse().unwrap()).unwrap();
        assert_eq!((entry.receipt.id(), entry.person.as_deref()), (receipt.id(), Some("tester")));
        let entry = index.resolve(&Rev::Index(place)).unwrap();
        assert_eq!((entry.receipt.id(), entry.round), (receipt.id(), round));
    }
}

#[test]
fn rows_are_those_of_the_log_and_the_file_is_made_where_it_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = story(folder.path());
    answers_are_right(&ledger, folder.path());
    let path = folder.path().join("index.sqlite");
    let first = rows(&path);
    assert_eq!(first.iter().filter(|row| row.starts_with("receipts: ")).count(), 7);
    fs::remove_file(&path).unwrap();
    answers_are_right(&ledger, folder.path());
    assert_eq!(rows(&path), first);
    assert_eq!(Index::rebuild(&ledger, folder.path()).unwrap(), 7);
    assert_eq!(rows(&path), first);
    let index = Index::open(&ledger, Some(folder.path())).unwrap();
    assert_eq!(index.place(), &Place::File(path));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn catching_up_step_by_step_gives_the_rows_of_a_rebuild(
        commits in prop::collection::vec(prop::collection::vec((0u8..6, 0u8..3, 0u32..1000), 1..25), 1..5)
    ) {
        let (_seen, ratchet) = ratchet();
        let folder = tempfile::tempdir().unwrap();
        let ledger = keys::create(Box::new(Directory::new(folder.path()))).unwrap();
        let path = folder.path().join("index.sqlite");
        let mut known = Vec::new();
        for commit in commits {
            let drafts = commit.iter().enumerate().map(|(place, (kind, set, quality))| {
                let card = rounds::card(f64::from(*quality) / 1000.0, &questions(['a', 'b', 'c'][usize::from(*set)]));
                let line = ["main", "nightly", "beef"][usize::from(*kind) % 3];
                let mut draft = match (kind, known.as_slice()) {
                    (4, [.., target]) => rounds::baseline(line, *target),
                    (5, [base, .., current]) => rounds::comparison(*base, *current, &card, &card),
                    _ => rounds::round(line, card),
                };
                let bytes = [*set, *kind];
                draft.evidence = vec![rounds::evidence(&Memory::new(), "answers", &bytes, place % 2 == 0)];
                draft
            });
            known.extend(push(&ledger, drafts.collect(), &ratchet));
            answers_are_right(&ledger, folder.path());
        }
        let incremental = rows(&path);
        prop_assert_eq!(Index::rebuild(&ledger, folder.path()).unwrap(), ledger.snapshot().unwrap().size());
        prop_assert_eq!(rows(&path), incremental);
    }
}

#[test]
fn long_logs_are_caught_up_across_bundles() {
    let (_seen, ratchet) = ratchet();
    let folder = tempfile::tempdir().unwrap();
    let ledger = keys::create(Box::new(Directory::new(folder.path()))).unwrap();
    let path = folder.path().join("index.sqlite");
    for count in [1, 253, 1, 1, 1, 5000] {
        keys::append(&ledger, count, &ratchet).unwrap();
        let mut index = Index::open(&ledger, Some(folder.path())).unwrap();
        let size = ledger.snapshot().unwrap().size();
        assert_eq!((index.snapshot().size(), index.entry(size - 1).unwrap().round), (size, Some(size - 1)));
    }
    let incremental = rows(&path);
    Index::rebuild(&ledger, folder.path()).unwrap();
    assert!(rows(&path) == incremental, "{} rows differ from {}", rows(&path).len(), incremental.len());
}

#[test]
fn many_readers_and_a_writer_at_once_all_see_their_whole_log() {
    let (_seen, ratchet) = ratchet();
    let folder = tempfile::tempdir().unwrap();
    keys::append(&keys::create(Box::new(Directory::new(folder.path()))).unwrap(), 300, &ratchet).unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| (0..30).for_each(|_| keys::append(&open(folder.path()), 3, &ratchet).unwrap()));
        for reader in 0..4 {
            let folder = folder.path();
            scope.spawn(move || {
                for turn in 0..15 {
                    let ledger = open(folder);
                    let before = ledger.snapshot().unwrap().size();
                    if reader == 0 && turn % 5 == 4 {
                        Index::rebuild(&ledger, folder).unwrap();
                    }
                    let mut index = Index::open(&ledger, Some(folder)).unwrap();
                    assert!(matches!(index.place(), Place::File(_)), "{:?}", index.place());
                    let size = index.snapshot().size();
                    assert!(size >= before);
                    let main = Filter { line: Some("main".parse().unwrap()), ..Filter::default() };
                    let rounds = index.newest(&main, u64::MAX, 5).unwrap();
                    let found: Vec<_> = rounds.iter().map(|entry| (entry.index, entry.round)).collect();
                    assert_eq!(found, (size - 5..size).rev().map(|at| (at, Some(at))).collect::<Vec<_>>());
                }
            });
        }
        writer.join().unwrap();
    });
    let ledger = open(folder.path());
    assert_eq!(Index::open(&ledger, Some(folder.path())).unwrap().snapshot().size(), 391);
    let caught_up = rows(&folder.path().join("index.sqlite"));
    Index::rebuild(&ledger, folder.path()).unwrap();
    assert_eq!(rows(&folder.path().join("index.sqlite")), caught_up);
}

/// Every way in which somebody else's index may differ, as SQL run on a good one.
const HOSTILE: [(&str, &str); 21] = [
    ("an id of another receipt", "UPDATE receipts SET id = (SELECT id FROM receipts WHERE idx = 1) WHERE idx = 2"),
    ("an id of nothing", "UPDATE receipts SET id = 'beef' WHERE idx = 2"),
    ("another line", "UPDATE receipts SET line = 'nightly', round = 9 WHERE idx = 2"),
    ("another kind", "UPDATE receipts SET kind = 'trust' WHERE idx = 2"),
    ("another question set", "UPDATE receipts SET question_set_id = 'pm1:cc' WHERE idx = 2"),
    ("another quality", "UPDATE receipts SET quality = 1.0 WHERE idx = 2"),
    ("another note", "UPDATE receipts SET note = 'signed off' WHERE idx = 1"),
    ("another person", "UPDATE receipts SET person = 'release manager' WHERE idx = 1"),
    ("no person", "UPDATE receipts SET person = NULL WHERE idx = 0"),
    ("a row missing", "DELETE FROM receipts WHERE idx = 6"),
    ("a row too many", "INSERT INTO receipts (idx, id, kind, recorded_at, key) VALUES (7, 'x', 'trust', 'x', 'x')"),
    (
        "a row before the log",
        "INSERT INTO receipts (idx, id, kind, recorded_at, key) VALUES (-1, 'x', 'trust', 'x', 'x')",
    ),
    ("another ledger's", "UPDATE meta SET genesis = replace(genesis, 'a', 'b')"),
    ("a later version", "UPDATE meta SET schema = 2; PRAGMA user_version = 2"),
    ("a root that never was", "UPDATE meta SET root = genesis"),
    ("more receipts than there are", "UPDATE meta SET size = 1000"),
    ("a negative size", "UPDATE meta SET size = -1"),
    ("two states", "INSERT INTO meta SELECT * FROM meta"),
    ("a trigger", "CREATE TRIGGER t AFTER INSERT ON receipts BEGIN DELETE FROM receipts; END"),
    ("a view", "DROP TABLE meta; CREATE VIEW meta AS SELECT 1 AS schema, 'x' AS genesis, 7 AS size, 'x' AS root"),
    ("another table", "CREATE TABLE payload AS SELECT randomblob(100)"),
];

#[test]
fn an_index_that_somebody_else_wrote_gives_no_wrong_answer() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = story(folder.path());
    let path = folder.path().join("index.sqlite");
    Index::rebuild(&ledger, folder.path()).unwrap();
    let (good, objects) = (rows(&path), schema_of(&path));
    for (what, sql) in HOSTILE {
        Connection::open(&path).unwrap().execute_batch(sql).unwrap_or_else(|error| panic!("{what}: {error}"));
        answers_are_right(&ledger, folder.path());
        assert_eq!(rows(&path), good, "{what}");
        assert_eq!(schema_of(&path), objects, "{what}");
    }
    println!("{} hostile indexes", HOSTILE.len());
}

fn schema_of(path: &Path) -> Vec<String> {
    let connection = Connection::open(path).unwrap();
    let mut statement = connection.prepare("SELECT type || ' ' || name FROM sqlite_schema ORDER BY 1").unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn a_damaged_file_is_replaced_at_any_cut_and_any_flipped_page() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = story(folder.path());
    let path = folder.path().join("index.sqlite");
    Index::rebuild(&ledger, folder.path()).unwrap();
    let (good, whole) = (rows(&path), fs::read(&path).unwrap());
    let mut damaged: Vec<Vec<u8>> = vec![Vec::new(), b"not a database".to_vec(), vec![0; 100_000], whole.repeat(2)];
    damaged.extend((0..whole.len()).step_by(1500).map(|cut| whole[..cut].to_vec()));
    for page in 0..whole.len() / 4096 {
        let mut flipped = whole.clone();
        flipped[page * 4096..][..4096].iter_mut().for_each(|byte| *byte ^= 0x55);
        damaged.push(flipped);
    }
    println!("{} damaged indexes", damaged.len());
    for bytes in damaged {
        fs::write(&path, bytes).unwrap();
        answers_are_right(&ledger, folder.path());
        // Pages that nobody asked for may stay as they are, until somebody does.
        Index::rebuild(&ledger, folder.path()).unwrap();
        assert_eq!(rows(&path), good);
    }
}

#[test]
fn what_lies_beside_the_database_is_not_followed_or_played_back() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = story(folder.path());
    let path = folder.path().join("index.sqlite");
    let precious = folder.path().join("precious");
    for ending in ["-wal", "-shm", "-journal"] {
        let beside = folder.path().join(format!("index.sqlite{ending}"));
        Index::rebuild(&ledger, folder.path()).unwrap();
        fs::write(&beside, b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7 junk of another database".repeat(900)).unwrap();
        answers_are_right(&ledger, folder.path());
        fs::write(&precious, b"precious").unwrap();
        let _ = fs::remove_file(&beside);
        std::os::unix::fs::symlink(&precious, &beside).unwrap();
        let index = Index::open(&ledger, Some(folder.path())).unwrap();
        assert!(matches!(index.place(), Place::Memory(Some(reason)) if reason.contains("is not a plain file")));
        drop(index);
        answers_are_right(&ledger, folder.path());
        Index::rebuild(&ledger, folder.path()).unwrap();
        assert_eq!(fs::read(&precious).unwrap(), b"precious");
        assert!(matches!(Index::open(&ledger, Some(folder.path())).unwrap().place(), Place::File(_)));
    }
    assert!(path.is_file());
}

#[test]
fn a_link_a_fifo_or_a_folder_in_its_place_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = story(folder.path());
    let path = folder.path().join("index.sqlite");
    let elsewhere = folder.path().join("elsewhere.sqlite");
    Index::rebuild(&ledger, folder.path()).unwrap();
    fs::rename(&path, &elsewhere).unwrap();
    let before = fs::read(&elsewhere).unwrap();
    let link = || std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
    let fifo = || assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let odd: [(&dyn Fn(), bool); 3] = [(&link, true), (&fifo, true), (&|| fs::create_dir(&path).unwrap(), false)];
    for (make, removable) in odd {
        make();
        answers_are_right(&ledger, folder.path());
        let index = Index::open(&ledger, Some(folder.path())).unwrap();
        assert!(matches!(index.place(), Place::Memory(Some(reason)) if reason.contains("is not a plain file")));
        drop(index);
        assert!(!fs::symlink_metadata(&path).unwrap().is_file());
        // `reindex` was asked to delete it: links and FIFOs go, what they lead to stays; a folder is refused.
        assert_eq!(Index::rebuild(&ledger, folder.path()).is_ok(), removable);
        if removable {
            fs::remove_file(&path).unwrap();
        }
        assert_eq!(fs::read(&elsewhere).unwrap(), before);
    }
}

#[test]
fn a_log_put_back_or_replaced_takes_its_index_with_it() {
    let (_seen, ratchet) = ratchet();
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let ledger = story(one.path());
    Index::open(&ledger, Some(one.path())).unwrap();
    let shorter = keys::create(Box::new(Directory::new(other.path()))).unwrap();
    keys::append(&shorter, 2, &ratchet).unwrap();
    // The same genesis, another history: first longer than the log, then as long, then shorter.
    for count in [0, 4, 300] {
        if count > 0 {
            keys::append(&shorter, count, &ratchet).unwrap();
        }
        fs::copy(one.path().join("index.sqlite"), other.path().join("index.sqlite")).unwrap();
        answers_are_right(&shorter, other.path());
    }
    assert_eq!(shorter.log().genesis, ledger.log().genesis);
}

#[test]
fn a_damaged_log_is_an_error_and_never_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = story(folder.path());
    let bundle = folder.path().join("tile/entries/000.p/7");
    let mut bytes = fs::read(&bundle).unwrap();
    let place = bytes.len() - 40;
    bytes[place] ^= 1;
    fs::write(&bundle, bytes).unwrap();
    let error = Index::open(&ledger, Some(folder.path())).map(|_| ()).unwrap_err();
    assert!(matches!(error, IndexError::Ledger(_)), "{error:?}");
    assert!(!folder.path().join("index.sqlite").exists() && !folder.path().join("index.sqlite.new").exists());
    let mut reader = Reader::new(ledger.snapshot().unwrap());
    assert!(matches!(reader.entry(6), Err(LedgerError::Root { .. })));
}

#[test]
fn neighbours_are_proven_together_and_a_changed_tile_is_noticed() {
    let (_seen, ratchet) = ratchet();
    let folder = tempfile::tempdir().unwrap();
    let ledger = keys::create(Box::new(Directory::new(folder.path()))).unwrap();
    keys::append(&ledger, 600, &ratchet).unwrap();
    let snapshot = ledger.snapshot().unwrap();
    let mut reader = Reader::new(snapshot.clone());
    for index in (0..601).rev().chain([3, 599, 255, 256]) {
        assert_eq!(reader.entry(index).unwrap(), snapshot.entry(index).unwrap());
    }
    assert!(matches!(reader.entry(601), Err(LedgerError::Missing { .. })));
    assert!(reader.entry(u64::MAX).is_err());
    for name in ["tile/0/000", "tile/0/001", "tile/0/002.p/89", "tile/1/000.p/2"] {
        let path = folder.path().join(name);
        let whole = fs::read(&path).unwrap();
        let mut flipped = whole.clone();
        flipped[40] ^= 1;
        fs::write(&path, flipped).unwrap();
        let bad: Vec<_> = [1, 300, 590].map(|index| Reader::new(snapshot.clone()).entry(index).is_err()).into();
        assert!(bad.contains(&true), "{name}");
        fs::write(&path, whole).unwrap();
    }
}

#[test]
fn reading_from_any_start_ends_at_the_root() {
    let (_seen, ratchet) = ratchet();
    let folder = tempfile::tempdir().unwrap();
    let ledger = keys::create(Box::new(Directory::new(folder.path()))).unwrap();
    keys::append(&ledger, 5000, &ratchet).unwrap();
    let snapshot = ledger.snapshot().unwrap();
    let read_from = |start| -> Result<Vec<u64>, LedgerError> {
        let mut found = Vec::new();
        snapshot.map_from(
            start,
            |index, entry| Ok((index, entry.len())),
            |index, (read, length)| {
                assert!(index == read && length > 0);
                found.push(index);
                Ok::<_, LedgerError>(())
            },
        )?;
        Ok(found)
    };
    for start in [0, 1, 255, 256, 257, 4096, 4999, 5000, 5001] {
        assert_eq!(read_from(start).unwrap(), (start..5001).collect::<Vec<_>>(), "{start}");
    }
    assert!(read_from(5002).is_err());
    // A tile below the start that was changed shows at the end; so does the error of a visitor, at once.
    let path = folder.path().join("tile/0/019.p/137");
    let mut tile = fs::read(&path).unwrap();
    tile[3] ^= 1;
    fs::write(&path, tile).unwrap();
    assert!(matches!(read_from(4999), Err(LedgerError::Root { size: 5001 })));
    let mut visited = 0;
    let stop = snapshot.map_from(
        0,
        |_, _| Ok(()),
        |_, ()| {
            visited += 1;
            if visited == 10 { Err(LedgerError::Nothing) } else { Ok(()) }
        },
    );
    assert!(matches!(stop, Err(LedgerError::Nothing)) && visited == 10);
}

#[test]
fn every_query_of_the_documentation_runs_and_finds_something() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = story(folder.path());
    Index::rebuild(&ledger, folder.path()).unwrap();
    let connection = Connection::open(folder.path().join("index.sqlite")).unwrap();
    let text = include_str!("../../docs/index.md");
    let queries: Vec<_> = text.split("```sql\n").skip(1).map(|after| after.split("```").next().unwrap()).collect();
    assert!(queries.len() >= 9);
    for query in &queries {
        let mut statement = connection.prepare(query).unwrap_or_else(|error| panic!("{query}: {error}"));
        assert!(statement.readonly() && statement.exists([]).unwrap(), "{query}");
    }
    // Every column there is has a line, and every line is of a column that is there.
    let mut statement = connection
        .prepare(
            "SELECT t.name || '.' || c.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table'",
        )
        .unwrap();
    let mut columns: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    columns.sort();
    let mut documented = Vec::new();
    let mut table = "";
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("### ") {
            table = heading.split(':').next().unwrap();
        }
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        if let ["", names, "INTEGER" | "TEXT" | "REAL", ..] = cells.as_slice() {
            documented.extend(names.split(", ").map(|name| format!("{table}.{name}")));
        }
    }
    documented.sort();
    assert_eq!(documented, columns);
    println!("{} queries, {} columns", queries.len(), columns.len());
}
