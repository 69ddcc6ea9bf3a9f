//! Ids and digests under `b3sum`, `sha256sum` and `zstd`: objects, evidence lists and receipts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use proofmark::store::{COMPRESS_FROM, Directory, put_slice};
use serde_json::Value;

use super::tools::{Tool, ready, stdout};
use super::{decoded, entries_of, write_out};
use crate::worked;

const TOOLS: [Tool; 3] = [Tool::Program("b3sum"), Tool::Program("sha256sum"), Tool::Program("zstd")];

/// An object's file, raw or compressed.
fn object(ledger: &Path, id: &str) -> PathBuf {
    let raw = ledger.join("objects").join(&id[..2]).join(&id[2..]);
    if raw.exists() { raw } else { raw.with_extension("zst") }
}

/// What a hashing tool says of an object's raw bytes; zstd reads what is compressed.
fn digest(tool: &str, file: &Path) -> String {
    let said = if file.extension().is_some_and(|ending| ending == "zst") {
        let mut zstd = Command::new("zstd").args(["-dcq"]).arg(file).stdout(Stdio::piped()).spawn().unwrap();
        let said = stdout(Command::new(tool).stdin(zstd.stdout.take().unwrap()));
        assert!(zstd.wait().unwrap().success());
        said
    } else {
        stdout(Command::new(tool).arg(file))
    };
    said.split_whitespace().next().unwrap().to_owned()
}

/// Bytes that do not compress.
fn noise(count: usize) -> Vec<u8> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..count).map(|_| next()).collect()
}

#[test]
fn b3sum_and_sha256sum_give_the_digests_of_objects_raw_and_compressed() {
    if !ready("object ids under b3sum, sha256sum and zstd", &TOOLS) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let store = Directory::new(folder.path());
    let text = b"a line of evidence\n".repeat(200_000);
    let edge = COMPRESS_FROM as usize;
    let mut compressed = 0;
    for bytes in [0, 1, 63, 64, 65, 1_023, 1_024, 1_025, edge - 1, edge, 1 << 20, text.len()].map(|end| &text[..end]) {
        compressed += u32::from(holds(&store, bytes));
    }
    assert_eq!(compressed, 3);
    for count in [edge + 1, (1 << 20) - 1, (1 << 20) + 1, 3_000_000] {
        assert!(!holds(&store, &noise(count)), "noise is kept as it is");
    }
}

/// Stores bytes and has the tools look at what was stored; returns whether it was compressed.
fn holds(store: &Directory, bytes: &[u8]) -> bool {
    let digests = put_slice(store, bytes).unwrap();
    let file = object(store.root(), &digests.blake3.to_string());
    assert_eq!(digest("b3sum", &file), digests.blake3.to_string(), "{} bytes", bytes.len());
    assert_eq!(digest("sha256sum", &file), digests.sha256.to_string(), "{} bytes", bytes.len());
    file.extension().is_some()
}

#[test]
fn the_digests_in_receipts_are_those_of_b3sum_and_sha256sum() {
    if !ready("digests in receipts under b3sum and sha256sum", &TOOLS) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let worked = worked::ledger();
    write_out(&worked, folder.path());
    let mut evidence = 0;
    let entries = entries_of(&folder.path().join("tile/entries/000.p/5"));
    for (entry, receipt) in entries.iter().zip(worked.receipts()) {
        let file = folder.path().join("receipt.json");
        fs::write(&file, entry).unwrap();
        assert_eq!(digest("b3sum", &file), receipt.id().to_string());
        let envelope: Value = serde_json::from_slice(entry).unwrap();
        let statement: Value = serde_json::from_slice(&decoded(&envelope, "/payload")).unwrap();
        for piece in statement["predicate"]["evidence"].as_array().unwrap() {
            let id = piece["blake3"].as_str().unwrap();
            let file = object(folder.path(), id);
            assert_eq!(digest("b3sum", &file), id);
            assert_eq!(digest("sha256sum", &file), piece["sha256"].as_str().unwrap());
            assert_eq!(fs::metadata(&file).unwrap().len(), piece["size"].as_u64().unwrap());
            evidence += 1;
        }
    }
    assert_eq!((entries.len(), evidence), (5, 5));
}
