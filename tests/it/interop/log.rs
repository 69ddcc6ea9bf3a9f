//! The log under Go's `golang.org/x/mod/sumdb/{note,tlog}`: every hash, every tile, proofs of both kinds, and refusals.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proofmark::ledger::{Ledger, Ratchet};
use proofmark::merkle::TileName;
use proofmark::object::Sha256;
use proofmark::store::Directory;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::tools::{Tool, helper, outcome, ready, stdout};
use crate::keys;

/// The program, and a log that grows under it.
struct Watched {
    folder: TempDir,
    program: PathBuf,
    ledger: Ledger,
    ratchet: Ratchet,
    verifier_key: String,
    /// Checkpoints of earlier sizes, with their sizes.
    older: Vec<(u64, PathBuf)>,
}

impl Watched {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("logcheck");
        let mut go = Command::new("go");
        go.args(["build", "-o"]).arg(&program).arg(".").current_dir(helper("logcheck"));
        go.env("GO111MODULE", "off").env("GOFLAGS", "").env("GOPATH", "/usr/share/gocode");
        stdout(go.env("GOCACHE", super::tools::target().join("interop-go")));
        let ledger = keys::create(Box::new(Directory::new(folder.path().join("ledger")))).unwrap();
        let ratchet = Ratchet::new(folder.path().join("seen"));
        let verifier_key = ledger.log().key.to_string();
        Self { folder, program, ledger, ratchet, verifier_key, older: Vec::new() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn size(&self) -> u64 {
        self.ledger.snapshot().unwrap().size()
    }

    /// Appends until there are `size` receipts, keeping a copy of the checkpoint that there was.
    fn grow(&mut self, size: u64) {
        let now = self.size();
        if size > now {
            let kept = self.path(&format!("checkpoint-{now}"));
            fs::copy(self.path("ledger/checkpoint"), &kept).unwrap();
            self.older.push((now, kept));
            keys::append(&self.ledger, (size - now) as usize, &self.ratchet).unwrap();
        }
        assert_eq!(self.size(), size);
    }

    /// What Go says: what it checked, or why it refuses.
    fn verdict(&self, proofs: &Value, older: &[&Path]) -> Result<Value, String> {
        let file = self.path("proofs.json");
        fs::write(&file, proofs.to_string()).unwrap();
        let mut go = Command::new(&self.program);
        go.arg(self.path("ledger")).arg(&self.verifier_key).arg(file).args(older);
        let output = outcome(&mut go);
        let stderr = String::from_utf8(output.stderr).unwrap();
        match output.status.code() {
            Some(0) => Ok(serde_json::from_slice(&output.stdout).unwrap()),
            Some(1) if stderr.starts_with("refused: ") => Err(stderr),
            _ => panic!("{}: {stderr}", output.status),
        }
    }

    /// Proofs that our own code computes, for every older size here and some more, and for entries at every edge.
    fn proofs(&self) -> Value {
        let snapshot = self.ledger.snapshot().unwrap();
        let (size, mut tiles) = (snapshot.size(), snapshot.tiles().unwrap());
        let within = |places: &[u64]| -> Vec<u64> {
            let mut places: Vec<_> = places.iter().copied().filter(|place| *place < size).collect();
            places.sort_unstable();
            places.dedup();
            places
        };
        let places = [0, 1, 2, 127, 254, 255, 256, 257, 511, 512, 65_535, 65_536, 69_888, size / 2, size / 3, size - 1];
        let entries = within(&places).into_iter().map(|index| {
            let hashes = tiles.inclusion(index, size).unwrap();
            json!({"index": index, "hashes": encoded(&hashes)})
        });
        let entries: Vec<_> = entries.collect();
        let beginnings = within(&places).into_iter().filter(|older| *older > 0).map(|older| {
            let hashes = tiles.consistency(older, size).unwrap();
            json!({"older": older, "hashes": encoded(&hashes)})
        });
        let beginnings: Vec<_> = beginnings.collect();
        json!({"inclusion": entries, "consistency": beginnings})
    }
}

fn encoded(hashes: &[Sha256]) -> Vec<String> {
    hashes.iter().map(|hash| STANDARD.encode(hash.as_bytes())).collect()
}

/// How many tiles of hashes a tree has.
fn tiles_of(size: u64) -> u64 {
    (0..8).map(|level| (size >> (8 * level)).div_ceil(256)).sum()
}

fn proofs_in(proofs: &Value, kind: &str) -> u64 {
    proofs[kind].as_array().unwrap().len() as u64
}

#[test]
fn go_verifies_logs_of_1_to_70000_entries() {
    if !ready("the log under Go's sumdb/note and sumdb/tlog", &[Tool::Go]) {
        return;
    }
    let mut watched = Watched::new();
    for size in [1, 2, 255, 256, 257, 70_000] {
        watched.grow(size);
        let proofs = watched.proofs();
        let older: Vec<_> = watched.older.iter().map(|(_, kept)| kept.as_path()).collect();
        let checked = watched.verdict(&proofs, &older).unwrap();
        let count = |name: &str| checked[name].as_u64().unwrap();
        assert_eq!((count("Size"), count("Entries")), (size, size));
        // Partial ones of the checkpoint before may be kept beside the tree's own: at most one per level, and one bundle.
        assert!((tiles_of(size)..=tiles_of(size) + 2).contains(&count("Tiles")), "{checked}");
        assert!((size.div_ceil(256)..=size.div_ceil(256) + 1).contains(&count("Bundles")), "{checked}");
        // Those of the entries on logcheck's own list that there are.
        let own = [1, 2, 5, 5, 6, 9][watched.older.len()];
        assert_eq!(count("Inclusion"), proofs_in(&proofs, "inclusion") + own, "{checked}");
        assert_eq!(count("Consistency"), proofs_in(&proofs, "consistency") + older.len() as u64, "{checked}");
    }
}

/// A log of 300 entries in four commits: a full tile, partial ones at two levels, and superseded ones.
fn small() -> Watched {
    let mut watched = Watched::new();
    for size in [2, 257, 300] {
        watched.grow(size);
    }
    watched
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let (mut folders, mut files) = (vec![folder.to_owned()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}

#[test]
fn go_refuses_every_changed_file_of_a_log() {
    if !ready("a changed log under Go's sumdb/note and sumdb/tlog", &[Tool::Go]) {
        return;
    }
    let watched = small();
    assert!(watched.verdict(&json!({}), &[]).is_ok());
    let mut files = files_below(&watched.path("ledger/tile"));
    assert!(files.len() >= 7, "{files:?}");
    files.push(watched.path("ledger/checkpoint"));
    for file in &files {
        let bytes = fs::read(file).unwrap();
        let refused = |change: &str, changed: &[u8]| {
            fs::write(file, changed).unwrap();
            assert!(watched.verdict(&json!({}), &[]).is_err(), "{}: {change}", file.display());
        };
        for at in [0, bytes.len() / 3, bytes.len() / 2, bytes.len() - 1] {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            refused(&format!("byte {at} flipped"), &changed);
        }
        refused("cut short", &bytes[..bytes.len() - 1]);
        refused("a byte too long", &[&bytes[..], b"x"].concat());
        refused("empty", b"");
        fs::write(file, &bytes).unwrap();
    }
    for level in 0..2 {
        let tile = TileName::in_tree(level, 300 >> (8 * (level + 1)), 300).unwrap();
        for name in [Some(tile), tile.bundle()].into_iter().flatten() {
            let (file, aside) = (watched.path("ledger").join(name.to_string()), watched.path("aside"));
            fs::rename(&file, &aside).unwrap();
            assert!(watched.verdict(&json!({}), &[]).is_err(), "{name} is missing");
            fs::rename(&aside, &file).unwrap();
        }
    }
    assert!(watched.verdict(&json!({}), &[]).is_ok());
}

#[test]
fn go_refuses_wrong_proofs_another_key_and_a_fork() {
    if !ready("wrong proofs under Go's sumdb/note and sumdb/tlog", &[Tool::Go]) {
        return;
    }
    let mut watched = small();
    let proofs = watched.proofs();
    assert!(watched.verdict(&proofs, &[]).is_ok());
    for kind in ["inclusion", "consistency"] {
        for (place, proof) in proofs[kind].as_array().unwrap().iter().enumerate() {
            for hash in 0..proof["hashes"].as_array().unwrap().len() {
                let mut wrong = proofs.clone();
                wrong[kind][place]["hashes"][hash] = json!(STANDARD.encode([0; 32]));
                let refused = watched.verdict(&wrong, &[]).unwrap_err();
                assert!(refused.contains(&format!("given {kind}")), "{refused}");
            }
        }
    }
    // A log of the same name and key that went another way after receipt 0.
    let mut other = Watched::new();
    keys::append(&other.ledger, 7, &other.ratchet).unwrap();
    other.grow(9);
    let (size, fork) = other.older.last().cloned().unwrap();
    assert_eq!((size, other.verdict(&json!({}), &[&fork]).is_ok()), (8, true));
    let refused = watched.verdict(&json!({}), &[&fork]).unwrap_err();
    assert!(refused.contains("consistency with 8"), "{refused}");
    let stranger = proofmark::merkle::VerifierKey::new(keys::ORIGIN, [9; 32]).unwrap();
    watched.verifier_key = stranger.to_string();
    let refused = watched.verdict(&json!({}), &[]).unwrap_err();
    assert!(refused.contains("no verifiable signatures"), "{refused}");
}
