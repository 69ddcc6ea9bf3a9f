//! Two programs, one answer: `docs/verify.py`, which was written from the documents alone, and `proofmark verify --replay`
//! say the same of every axis, by the same codes and with the same exit code, of good, forged and damaged ledgers.

mod chain;
mod damage;
mod decisions;
mod fuzz;
mod gates;
mod receipts;
mod records;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use proofmark::store::{Directory, Name, Store};
use proofmark::verify::{Options, verify};
use serde_json::Value;
use tempfile::TempDir;

use super::tools::{self, Tool, ready};
use crate::forge::Forge;
use crate::verify::spoilt;

/// What a program says of a ledger.
#[derive(Debug, PartialEq, Eq)]
struct Answer {
    exit: i64,
    /// The status of each axis.
    axes: BTreeMap<String, String>,
    /// The codes of the findings.
    codes: BTreeSet<String>,
}

impl Answer {
    fn of(document: &Value, exit: i64) -> Self {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let list = |name: &str| document[name].as_array().cloned().unwrap_or_default();
        Self {
            exit,
            axes: list("axes").iter().map(|one| (text(&one["axis"]), text(&one["status"]))).collect(),
            codes: list("findings").iter().map(|one| text(&one["code"])).collect(),
        }
    }

    fn ours(folder: &Path) -> Self {
        match verify(&Directory::new(folder), &Options { only: None, replay: true, pin: None }, &mut |_, _| {}) {
            Ok(report) => Self::of(&serde_json::to_value(&report).unwrap(), if report.is_clean() { 0 } else { 3 }),
            Err(_) => Self::of(&Value::Null, 2),
        }
    }
}

/// Findings that come of reading another tool's files again.
const BY_ORIGINALS: [&str; 4] = ["import-differs", "card-differs", "replay-unreadable", "replay-incomplete"];

/// Whether the second verifier says that it did not read another tool's files.
fn leaves_imports_out(document: &Value) -> bool {
    let replay = document["axes"].as_array().into_iter().flatten().find(|one| one["axis"] == "replay");
    replay.is_some_and(|one| one["reason"].as_str().is_some_and(|reason| reason.ends_with("are not read here")))
}

/// Ledgers that both programs are to be asked about.
struct Bench {
    folder: TempDir,
    cases: Vec<(String, PathBuf)>,
}

impl Bench {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), cases: Vec::new() }
    }

    /// An empty folder for a ledger.
    fn place(&mut self, what: &str) -> PathBuf {
        let path = self.folder.path().join(self.cases.len().to_string());
        fs::create_dir(&path).unwrap();
        self.cases.push((what.to_owned(), path.clone()));
        path
    }

    fn add(&mut self, what: &str, files: &BTreeMap<Name, Vec<u8>>, cell: Option<&[u8]>) {
        let store = Directory::new(self.place(what));
        files.iter().for_each(|(name, bytes)| write(&store, name, bytes));
        if let Some(cell) = cell {
            assert!(store.lock().unwrap().swap(None, cell).unwrap());
        }
    }

    fn forged(&mut self, what: &str, forge: &Forge) {
        self.add(what, &forge.write().files(), None);
    }

    /// What the second program says of each.
    fn theirs(&self) -> Vec<Answer> {
        self.documents().iter().map(|document| Answer::of(document, document["exit"].as_i64().unwrap())).collect()
    }

    fn documents(&self) -> Vec<Value> {
        let mut python = Command::new(tools::python());
        python.arg(second()).arg("--json");
        let output = tools::outcome(python.args(self.cases.iter().map(|(_, path)| path)));
        let lines = String::from_utf8(output.stdout).unwrap();
        let documents: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(documents.len(), self.cases.len(), "{}", String::from_utf8_lossy(&output.stderr));
        documents
    }

    /// Asks both programs and requires one answer, but for the axes that `excused` names. The number of those that found
    /// something.
    fn compare(&self, excused: impl Fn(&str, &str) -> bool) -> usize {
        let theirs = self.documents();
        let (mut found, mut wrong) = (0, Vec::new());
        for ((what, path), document) in self.cases.iter().zip(&theirs) {
            let (mut ours, mut theirs) = (Answer::ours(path), Answer::of(document, document["exit"].as_i64().unwrap()));
            found += usize::from(ours.exit != 0);
            ours.axes.retain(|axis, _| !excused(what, axis));
            theirs.axes.retain(|axis, _| !excused(what, axis));
            if leaves_imports_out(document) {
                // What only the other tool's files can show is for the first verifier to find.
                ours.axes.remove("replay");
                theirs.axes.remove("replay");
                ours.codes.retain(|code| theirs.codes.contains(code) || !BY_ORIGINALS.contains(&code.as_str()));
                ours.exit = if ours.codes.is_empty() { 0 } else { 3 };
            }
            if ours != theirs {
                wrong.push(format!("{what}\n  ours   {ours:?}\n  theirs {theirs:?}\n  {document}"));
            }
        }
        assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), self.cases.len(), wrong.join("\n"));
        println!("{} ledgers, {found} of them with findings", self.cases.len());
        found
    }
}

/// Objects cannot be published over one another, so the folder is written as any program would.
fn write(store: &Directory, name: &Name, bytes: &[u8]) {
    let path = store.root().join(name.as_str());
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// The files of a folder that is a ledger.
pub fn files_of(folder: &Path) -> BTreeMap<Name, Vec<u8>> {
    let store = Directory::new(folder);
    store
        .list("")
        .unwrap()
        .into_iter()
        .map(|name| (name.clone(), fs::read(folder.join(name.as_str())).unwrap()))
        .collect()
}

/// The second program.
fn second() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/verify.py")
}

/// The ledger of the documents.
pub fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(".ledger-example")
}

#[test]
fn both_find_the_same_in_every_ledger_that_is_spoilt_by_name() {
    if !ready("the second verifier on forgeries", &[Tool::Python]) {
        return;
    }
    let mut bench = Bench::new();
    for (what, files, cell) in spoilt() {
        bench.add(&what, &files, cell.as_deref());
    }
    assert!(bench.compare(|_, _| false) > 80);
}
