//! Ledgers whose files were changed: a sample of what `tests/it/tamper.rs` tries.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use proofmark::ledger::role;
use proofmark::merkle::{Checkpoint, TreeHead};
use proofmark::object::{ReceiptId, Sha256};
use proofmark::receipt::Body;
use proofmark::store::{Directory, Name, Store};
use proofmark::trust::{PublicKey, Signature};

use super::super::tools::{self, Tool, outcome, ready};
use super::gates::small;
use super::{Bench, example, files_of, second};
use crate::forge::{Forge, name, note};
use crate::keys::{ORIGIN, log};
use crate::tamper::rearranged;

pub type Files = BTreeMap<Name, Vec<u8>>;

/// Changes of a ledger's files, by name.
pub fn tampered(files: &Files) -> Vec<(String, Files)> {
    let mut found = Vec::new();
    let mut add = |what: String, change: &dyn Fn(&mut Files)| {
        let mut changed = files.clone();
        change(&mut changed);
        found.push((what, changed));
    };
    let names: Vec<_> = files.keys().collect();
    for (place, (name, bytes)) in files.iter().enumerate() {
        add(format!("{name}: deleted"), &|files| drop(files.remove(name)));
        add(format!("{name}: emptied"), &|files| files.get_mut(name).unwrap().clear());
        add(format!("{name}: extended"), &|files| files.get_mut(name).unwrap().push(0));
        add(format!("{name}: doubled"), &|files| files.get_mut(name).unwrap().extend_from_slice(bytes));
        add(format!("{name}: cut"), &|files| files.get_mut(name).unwrap().truncate(bytes.len() / 2));
        for part in 0..6 {
            let at = (bytes.len() * part / 6 + place * 7) % bytes.len();
            add(format!("{name}: bit {part} of byte {at}"), &|files| files.get_mut(name).unwrap()[at] ^= 1 << part);
        }
        let other = names[(place + 1) % names.len()];
        add(format!("{name}: swapped with {other}"), &|changed| {
            changed.insert(name.clone(), files[other].clone());
            changed.insert(other.clone(), bytes.clone());
        });
    }
    found
}

#[test]
fn both_see_what_was_done_to_the_example_and_to_a_gate_run() {
    if !ready("the second verifier on damaged ledgers", &[Tool::Python]) {
        return;
    }
    let mut bench = Bench::new();
    for (what, files) in [("example", files_of(&example())), ("gate", small().write().files())] {
        bench.add(what, &files, None);
        for (change, files) in tampered(&files) {
            bench.add(&format!("{what}: {change}"), &files, None);
        }
    }
    assert!(bench.compare(|_, _| false) > 100);
}

#[test]
fn both_see_entries_that_were_moved_by_whoever_holds_the_log_key() {
    if !ready("the second verifier on rearranged logs", &[Tool::Python]) {
        return;
    }
    let mut bench = Bench::new();
    let example = Forge::example();
    for (what, entries) in rearranged(&example.entries) {
        bench.forged(&what, &Forge { entries, ..example.clone() });
    }
    // Without the last one it is an earlier ledger.
    assert_eq!(bench.compare(|_, _| false), bench.cases.len() - 1);
}

/// A ledger of so many receipts: the example and rounds of it.
fn long(receipts: usize) -> Forge {
    let mut forge = Forge::example();
    for at in forge.entries.len()..receipts {
        forge.round(&[at % 5]);
    }
    forge
}

#[test]
fn both_read_logs_across_tiles_and_locks_alike() {
    if !ready("the second verifier on long logs", &[Tool::Python]) {
        return;
    }
    let mut bench = Bench::new();
    let all = long(520);
    let cut = |size: usize| Forge { entries: all.entries[..size].to_vec(), ..all.clone() };
    for size in [1, 255, 256, 257, 512, 520] {
        bench.forged(&format!("{size} receipts"), &cut(size));
    }
    let ahead = |size: usize| cut(size).note(&log());
    for (size, cell) in [(300, 200), (300, 300), (300, 257), (255, 256)] {
        bench.add(&format!("{size} receipts, a lock at {cell}"), &cut(size).write().files(), Some(&ahead(cell)));
    }
    // A commit that a writer did not finish: staged, published in part, staged and damaged.
    let later = cut(270).write().files();
    for (what, staged) in [("staged", &["000", "001.p/14"][..]), ("staged in part", &["001.p/14"]), ("not staged", &[])]
    {
        let mut files = cut(250).write().files();
        for part in staged {
            let (index, width) = (part[2..3].to_owned(), part.split("p/").nth(1).unwrap_or("256"));
            files.insert(
                name(&format!("staging/bundle-{index}-{width}")),
                later[&name(&format!("tile/entries/{part}"))].clone(),
            );
        }
        bench.add(what, &files, Some(&ahead(270)));
        let published = later.iter().filter(|(name, _)| name.as_str().starts_with("tile/"));
        files.extend(published.map(|(name, bytes)| (name.clone(), bytes.clone())));
        bench.add(&format!("{what}, published too"), &files, Some(&ahead(270)));
        bench.add(&format!("{what}, published, no lock"), &files, None);
    }
    // Partial versions that are gone while wider ones are there.
    for (gone, damage) in [(true, false), (true, true), (false, true)] {
        let mut files = cut(10).write().files();
        if gone {
            files.remove(&name("tile/entries/000.p/10"));
            files.remove(&name("tile/0/000.p/10"));
        }
        for file in ["tile/entries/000.p/12", "tile/0/000.p/12"] {
            let mut bytes = cut(12).write().files()[&name(file)].clone();
            bytes.truncate(bytes.len() - usize::from(damage));
            files.insert(name(file), bytes);
        }
        bench.add(&format!("wider ones: gone {gone}, damaged {damage}"), &files, Some(&ahead(12)));
    }
    for missing in ["tile/entries/000", "tile/0/000", "tile/1/000.p/2", "tile/entries/001", "tile/0/002.p/8"] {
        let mut files = all.write().files();
        files.remove(&name(missing)).unwrap();
        bench.add(&format!("no {missing}"), &files, None);
    }
    assert!(bench.compare(|_, _| false) > 8);
}

#[test]
fn both_meet_odd_folders_alike() {
    if !ready("the second verifier on odd folders", &[Tool::Python]) {
        return;
    }
    let mut bench = Bench::new();
    let forge = Forge::example();
    let head = |size: u64| TreeHead { size, root: Sha256::of(b"") };
    let signed = |text: &str, origin: &str| {
        let good = String::from_utf8(note(&Checkpoint::new(origin, head(7)).unwrap(), &log())).unwrap();
        format!("{text}\n{}", good.split_once("\n\n").unwrap().1).into_bytes()
    };
    let (root, key) = ("47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", ORIGIN);
    let good = String::from_utf8(forge.note(&log())).unwrap();
    let checkpoints = [
        note(&Checkpoint::new(ORIGIN, head((1 << 53) - 1)).unwrap(), &log()),
        note(&Checkpoint::new(ORIGIN, head(0)).unwrap(), &log()),
        signed(&format!("{ORIGIN}\n6\n{root}\nmore\n"), key),
        signed(&format!("{ORIGIN}\n06\n{root}\n"), key),
        signed(&format!("{ORIGIN}\n6\n{root}x\n"), key),
        signed(&format!("\n6\n{root}\n"), key),
        signed(&format!("{ORIGIN}\n9007199254740992\n{root}\n"), key),
        signed(&format!("{ORIGIN}\n٦\n{root}\n"), key),
        good.replace("— ", "- ").into_bytes(),
        good.replace("— ", "—  ").into_bytes(),
        good.replace('\n', "\r\n").into_bytes(),
        good.trim_end().as_bytes().to_vec(),
        format!("{good}— stranger AAAAAAAA\n").into_bytes(),
        format!("{good}— stranger AAAA\n").into_bytes(),
        format!("{good}— stranger {}\n", "AAAA".repeat(40)).into_bytes(),
        format!("{good}{}", "— stranger AAAAAAAA\n".repeat(99)).into_bytes(),
        format!("{good}{}", "— stranger AAAAAAAA\n".repeat(100)).into_bytes(),
        format!("{good}{}\n", good.lines().last().unwrap()).into_bytes(),
        format!("{good}{}\n", forge_of_another_text().lines().last().unwrap()).into_bytes(),
        vec![b'x'; 1_000_001],
    ];
    for (at, checkpoint) in checkpoints.into_iter().enumerate() {
        let mut files = forge.write().files();
        files.insert(name("checkpoint"), checkpoint);
        bench.add(&format!("checkpoint {at}"), &files, None);
    }
    for config in [
        "format = 1",
        "format = 2",
        "format = 2\nx = 1",
        "",
        "x = 1",
        "format = 1\nx = 1",
        "format = 1.0",
        "format = true",
        "format = \"1\"",
        "format = 1\norigin = 1",
        "format = 1\n[defaults]\nline = \"x\"",
        "format = 1\n[defaults]\nother = \"x\"",
        "format = 1\nformat = 1",
        "format = 0",
        "[format]",
        "format = 99999999999999999999",
        "\u{feff}format = 1",
    ] {
        let mut files = forge.write().files();
        files.insert(name("config.toml"), config.as_bytes().to_vec());
        bench.add(&format!("config {config}"), &files, None);
    }
    let folder = bench.place("nothing");
    fs::write(folder.join("README"), "none").unwrap();
    for (what, target) in [
        ("checkpoint", "elsewhere"),
        ("objects/ab", "cd"),
        ("tile/0/000.p/3", "6"),
        ("note", "checkpoint"),
        ("lock", "checkpoint"),
        ("config.toml", "checkpoint"),
        ("tile/entries/000.p/6", "../../0/000.p/6"),
    ] {
        let folder = bench.place(&format!("a link {what}"));
        forge.write_to(&Directory::new(&folder), &log());
        let place = folder.join(what);
        if place.exists() {
            fs::rename(&place, folder.join("elsewhere")).unwrap();
        }
        symlink(target, place).unwrap();
    }
    for place in ["fifo", "objects/fifo", "staging/fifo"] {
        let folder = bench.place(&format!("a FIFO {place}"));
        forge.write_to(&Directory::new(&folder), &log());
        fs::create_dir_all(folder.join("staging")).unwrap();
        assert!(Command::new("mkfifo").arg(folder.join(place)).status().unwrap().success());
    }
    // Something else stands in the place of an object, whose compressed form is beside it.
    let object = forge.write().list("objects").unwrap().remove(0);
    for what in ["a folder", "a link", "a FIFO"] {
        let folder = bench.place(&format!("{what} in the place of an object"));
        let store = Directory::new(&folder);
        forge.write_to(&store, &log());
        let (raw, bytes) = (folder.join(object.as_str()), store.read(&object, 1 << 20).unwrap().unwrap());
        fs::write(raw.with_extension("zst"), zstd::encode_all(bytes.as_slice(), 1).unwrap()).unwrap();
        fs::remove_file(&raw).unwrap();
        match what {
            "a folder" => fs::create_dir(&raw).unwrap(),
            "a link" => symlink(raw.with_extension("zst"), &raw).unwrap(),
            _ => assert!(Command::new("mkfifo").arg(&raw).status().unwrap().success()),
        }
    }
    let folder = bench.place("a folder in the place of config.toml");
    forge.write_to(&Directory::new(&folder), &log());
    fs::remove_file(folder.join("config.toml")).unwrap();
    fs::create_dir(folder.join("config.toml")).unwrap();
    // Predictions that are gone are damaged, before anything is said of them.
    let mut gated = Forge::new();
    let (body, evidence) = gated.gated();
    let predictions = evidence.iter().find(|one| one.role.as_str() == role::PREDICTIONS).unwrap().blake3.to_string();
    gated.add(Body::Gate(body), evidence);
    let mut files = gated.write().files();
    files.insert(name(&format!("objects/{}/{}", &predictions[..2], &predictions[2..])), Vec::new());
    bench.add("emptied predictions", &files, None);
    assert!(bench.compare(|_, _| false) > 25);
}

/// A checkpoint of another root, signed by the log key.
fn forge_of_another_text() -> String {
    let head = TreeHead { size: 6, root: Sha256::of(b"other") };
    String::from_utf8(note(&Checkpoint::new(ORIGIN, head).unwrap(), &log())).unwrap()
}

#[test]
fn both_programs_end_with_the_same_exit_code() {
    if !ready("the second verifier's exit codes", &[Tool::Python]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let forge = Forge::example();
    forge.write_to(&Directory::new(at("good")), &log());
    forge.write_to(&Directory::new(at("bad")), &log());
    fs::write(at("bad").join("checkpoint"), "").unwrap();
    fs::create_dir(at("empty")).unwrap();
    fs::write(at("file"), "").unwrap();
    let genesis = forge.genesis().to_string();
    let other = ReceiptId::of(b"").to_string();
    for (ledger, pin, code) in [
        ("good", None, 0),
        ("good", Some(genesis.as_str()), 0),
        ("good", Some(other.as_str()), 3),
        ("good", Some("zz"), 2),
        ("bad", None, 3),
        ("empty", None, 2),
        ("absent", None, 2),
        ("file", None, 1),
    ] {
        let mut ours = Command::new(env!("CARGO_BIN_EXE_proofmark"));
        ours.args(["verify", "--replay", "--json", "--ledger"]).arg(at(ledger));
        let mut theirs = Command::new(tools::python());
        theirs.arg(second()).arg(at(ledger));
        for program in [&mut ours, &mut theirs] {
            let output = outcome(program.args(pin.iter().flat_map(|pin| ["--pin", pin])));
            let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            assert_eq!(output.status.code(), Some(code), "{program:?}\n{out}\n{error}");
            assert!(!error.contains("Traceback"), "{error}");
        }
    }
}

#[test]
fn both_hold_signatures_to_one_rule() {
    if !ready("the second verifier's signatures", &[Tool::Python]) {
        return;
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/vectors/ed25519/cctv_ed25519.json");
    let vectors: Vec<serde_json::Value> = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let program = "import json, sys, verify\n\
        for v in json.load(open(sys.argv[1])):\n    \
        print(int(verify.is_signed(bytes.fromhex(v['key']), bytes.fromhex(v['sig']), v['msg'].encode())))";
    let mut python = Command::new(tools::python());
    python
        .args(["-c", program])
        .arg(path)
        .env("PYTHONPATH", second().parent().unwrap())
        .env("PYTHONDONTWRITEBYTECODE", "1");
    let theirs: Vec<bool> = tools::stdout(&mut python).lines().map(|line| line == "1").collect();
    let bytes = |hex: &str| -> Vec<u8> {
        (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap()).collect()
    };
    let ours = vectors.iter().map(|vector| {
        let text = |name: &str| vector[name].as_str().unwrap();
        let (key, sig) = (bytes(text("key")).try_into().unwrap(), bytes(text("sig")).try_into().unwrap());
        PublicKey::from_raw(&key).is_ok_and(|key| key.verify(text("msg").as_bytes(), &Signature(sig)).is_ok())
    });
    assert_eq!(ours.collect::<Vec<_>>(), theirs);
    assert_eq!(theirs.iter().filter(|is_good| **is_good).count(), 43);
}
