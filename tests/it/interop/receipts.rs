//! Receipts under openssl, securesystemslib with in-toto-attestation, and sigstore-js: good ones verify, changed ones and
//! other people's do not.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proofmark::trust::{PublicKey, Signer};
use serde_json::{Value, json};

use super::tools::{Tool, helper, node_modules, outcome, python, ready, stdout};
use super::{decoded, entries_of, write_out};
use crate::{keys, worked};

/// One receipt of each kind that there is, in one folder.
struct Receipts {
    folder: tempfile::TempDir,
    envelopes: Vec<Value>,
}

impl Receipts {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        write_out(&worked::ledger(), folder.path());
        let entries = entries_of(&folder.path().join("tile/entries/000.p/5"));
        let envelopes: Vec<Value> = entries.iter().map(|entry| serde_json::from_slice(entry).unwrap()).collect();
        assert_eq!(envelopes.len(), 5);
        Self { folder, envelopes }
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    fn pem(&self, name: &str, key: &PublicKey) -> PathBuf {
        self.write(name, key.to_pem())
    }

    /// Every receipt as it is, and every changed one, as files: name, and whether it must verify.
    fn files(&self) -> Vec<(PathBuf, bool)> {
        let mut files = Vec::new();
        for (number, envelope) in self.envelopes.iter().enumerate() {
            files.push((self.write(&format!("{number}.json"), envelope.to_string()), true));
            for (change, changed) in changes(envelope).iter().enumerate() {
                files.push((self.write(&format!("{number}-changed-{change}.json"), changed.to_string()), false));
            }
        }
        files
    }
}

/// The same envelope with one thing wrong.
fn changes(envelope: &Value) -> Vec<Value> {
    let mut changed = Vec::new();
    let mut replace = |pointer: &str, value: Value| {
        let mut other = envelope.clone();
        *other.pointer_mut(pointer).unwrap() = value;
        changed.push(other);
    };
    for pointer in ["/payload", "/signatures/0/sig"] {
        let bytes = decoded(envelope, pointer);
        for at in [0, bytes.len() / 2, bytes.len() - 1] {
            replace(pointer, json!(STANDARD.encode(flipped(&bytes, at))));
        }
        replace(pointer, json!(STANDARD.encode(&bytes[..bytes.len() - 1])));
    }
    replace("/payloadType", json!("application/vnd.in-toto+jsoN"));
    changed
}

fn flipped(bytes: &[u8], at: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at] ^= 1;
    bytes
}

/// DSSE protocol v1: `DSSEv1 SP len(type) SP type SP len(payload) SP payload`.
fn signed_bytes(envelope: &Value) -> Vec<u8> {
    let (kind, payload) = (envelope["payloadType"].as_str().unwrap(), decoded(envelope, "/payload"));
    let mut bytes = format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len()).into_bytes();
    bytes.extend(payload);
    bytes
}

fn stranger() -> PublicKey {
    *proofmark::trust::SecretKey::generate([3; 32]).public()
}

#[test]
fn openssl_verifies_every_kind_of_receipt_and_refuses_a_flipped_byte() {
    if !ready("receipts under openssl", &[Tool::Program("openssl")]) {
        return;
    }
    let receipts = Receipts::new();
    let key = receipts.pem("pub.pem", keys::person().public());
    let verifies = |key: &Path, message: &[u8], signature: &[u8]| {
        let mut openssl = Command::new("openssl");
        openssl.args(["pkeyutl", "-verify", "-pubin", "-inkey"]).arg(key).args(["-rawin", "-in"]);
        openssl.arg(receipts.write("pae.bin", message)).arg("-sigfile").arg(receipts.write("sig.bin", signature));
        let output = outcome(&mut openssl);
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        let wanted = if output.status.success() { "Verified Successfully" } else { "Verification Failure" };
        assert!(said.contains(wanted), "{said}");
        output.status.success()
    };
    let other = receipts.pem("other.pem", &stranger());
    for envelope in &receipts.envelopes {
        let (message, signature) = (signed_bytes(envelope), decoded(envelope, "/signatures/0/sig"));
        assert!(verifies(&key, &message, &signature));
        assert!(!verifies(&other, &message, &signature));
        for at in [0, message.len() / 2, message.len() - 1] {
            assert!(!verifies(&key, &flipped(&message, at), &signature), "byte {at} of the message");
        }
        for at in [0, 31, 32, 63] {
            assert!(!verifies(&key, &message, &flipped(&signature, at)), "byte {at} of the signature");
        }
    }
}

/// Runs a helper over files and holds its verdicts to what they must be; a refusal must be for the signature.
fn judge(command: &mut Command, files: &[(PathBuf, bool)], refusal: &str) {
    let verdicts: Value = serde_json::from_str(&stdout(command.args(files.iter().map(|(file, _)| file)))).unwrap();
    let verdicts = verdicts.as_array().unwrap();
    assert_eq!(verdicts.len(), files.len());
    for (verdict, (file, good)) in verdicts.iter().zip(files) {
        assert_eq!((verdict["file"].as_str(), &verdict["verified"]), (file.to_str(), &json!(good)), "{verdict}");
        assert!(*good || verdict["reason"].as_str().unwrap().starts_with(refusal), "{verdict}");
    }
}

fn all_refused(files: &[(PathBuf, bool)]) -> Vec<(PathBuf, bool)> {
    files.iter().map(|(file, _)| (file.clone(), false)).collect()
}

#[test]
fn securesystemslib_and_in_toto_take_every_kind_of_receipt_and_no_changed_one() {
    if !ready("receipts under securesystemslib and in-toto-attestation", &[Tool::Python]) {
        return;
    }
    let receipts = Receipts::new();
    let files = receipts.files();
    let verifier = |key: &PublicKey| {
        let hex: String = key.raw().iter().map(|byte| format!("{byte:02x}")).collect();
        let mut python = Command::new(python());
        // The key's id is what the envelopes name, so that it is the signature that is judged.
        python.arg(helper("dsse_verify.py")).arg(hex).arg(keys::person().public().fingerprint().as_str());
        python
    };
    judge(&mut verifier(keys::person().public()), &files, "signature: ");
    judge(&mut verifier(&stranger()), &all_refused(&files), "signature: ");
}

#[test]
fn sigstore_takes_every_kind_of_receipt_and_no_changed_one() {
    if !ready("receipts under sigstore-js", &[Tool::Node]) {
        return;
    }
    let receipts = Receipts::new();
    let files = receipts.files();
    let verifier = |key: PathBuf| {
        let mut node = Command::new("node");
        node.arg(helper("dsse_verify.cjs")).arg(node_modules()).arg(key);
        node
    };
    judge(&mut verifier(receipts.pem("pub.pem", keys::person().public())), &files, "SIGNATURE_ERROR: ");
    judge(&mut verifier(receipts.pem("other.pem", &stranger())), &all_refused(&files), "SIGNATURE_ERROR: ");
}
