//! Foreign verifiers: what other people's tools say of a ledger written here.
//!
//! `tests/interop/install` installs the tools. A check whose tool is missing is skipped, and that is announced on stderr
//! whether or not anything fails; with `PROOFMARK_REQUIRE_INTEROP=1`, as in `.ci/run`, it fails.

pub mod tools;

mod document;
mod log;
mod objects;
mod policy;
mod receipts;
pub mod second;

use std::fs;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::worked::Worked;

/// Writes the worked ledger out as a folder.
fn write_out(worked: &Worked, folder: &Path) {
    for (name, bytes) in worked.memory.files() {
        let path = folder.join(name.as_str());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

/// The entries of a bundle's file, each behind its length, read without our own code.
fn entries_of(bundle: &Path) -> Vec<Vec<u8>> {
    let bytes = fs::read(bundle).unwrap();
    let (mut rest, mut found) = (bytes.as_slice(), Vec::new());
    while let [high, low, after @ ..] = rest {
        let (entry, after) = after.split_at(usize::from(*high) << 8 | usize::from(*low));
        found.push(entry.to_vec());
        rest = after;
    }
    assert!(rest.is_empty());
    found
}

/// The bytes that a member holds in base64.
fn decoded(envelope: &Value, pointer: &str) -> Vec<u8> {
    STANDARD.decode(envelope.pointer(pointer).unwrap().as_str().unwrap()).unwrap()
}
