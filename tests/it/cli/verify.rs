//! `proofmark verify`: messages, exit codes, and one document.

use std::os::unix::fs::PermissionsExt;

use proofmark::store::Directory;

use super::sandbox::Sandbox;
use crate::forge::{Forge, answers};
use crate::keys::log;

/// A sandbox with the small ledger in `.ledger`.
fn with_ledger() -> (Sandbox, Forge) {
    let sandbox = Sandbox::new();
    let forge = Forge::example();
    forge.write_to(&Directory::new(sandbox.path(".ledger")), &log());
    (sandbox, forge)
}

fn object_path(bytes: &str) -> String {
    let hex = proofmark::object::ObjectId::of(bytes.as_bytes()).to_string();
    format!(".ledger/objects/{}/{}", &hex[..2], &hex[2..])
}

#[test]
fn a_good_ledger_says_what_was_and_was_not_checked() {
    let (sandbox, forge) = with_ledger();
    let genesis = forge.genesis().to_string();
    let text = sandbox.ok(&["verify", "--replay"]);
    for line in [
        format!("genesis    {genesis}").as_str(),
        "size       6 receipts, root ",
        "looked at  the whole ledger",
        "structure          PASS         bundles 1, files 9, receipts 6, references 3, tiles 1",
        "signatures         PASS         good 6, receipts 6",
        "replay             PASS         comparisons 1, derived 3, identities 3, recomputed 3, reports 1",
        "policy             NOT CHECKED  there is nothing that a rule of the ledger is about: no decision, no limit",
        "pin                NOT CHECKED  no digest was given (--pin)",
        "rounds by line: main 3",
        "not proven, here or by any verification of a ledger:",
        "  - When anything happened: times are the recorder's own word.",
        "no findings",
        format!("to pin this ledger: proofmark verify --pin {genesis}").as_str(),
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let pinned = sandbox.ok(&["verify", "--all", "--pin", &genesis]);
    assert!(pinned.contains("pin                PASS         digests 1"), "{pinned}");
    assert!(pinned.contains("replay             NOT CHECKED  it was not asked for (--replay)"), "{pinned}");
}

#[test]
fn findings_name_receipt_file_expected_found_and_next_step() {
    let (sandbox, forge) = with_ledger();
    let file = object_path(&answers(&[1]));
    sandbox.write(&file, answers(&[]));
    let run = sandbox.run(&["verify", "--replay"]);
    assert_eq!((run.code, run.stderr.as_str()), (3, ""));
    let id = proofmark::object::ReceiptId::of(&forge.entries[2]).short();
    for line in [
        "evidence           FAIL         findings 1, bytes ",
        "replay             NOT CHECKED  ",
        "some receipts cannot be replayed: their evidence is missing or damaged",
        "findings: 1\n",
        format!("  evidence-damaged  receipt #2 {id}  {}", &file[".ledger/".len()..]).as_str(),
        "    expected  `answers`: ",
        "    found     ",
        "    next      restore the object from a copy; `b3sum` of the right bytes prints its name",
        "1 finding; docs/findings.md explains its code",
    ] {
        assert!(run.stdout.contains(line), "{line}\n{}", run.stdout);
    }
    assert!(!run.stdout.contains("to pin this ledger"));
}

#[test]
fn the_document_is_that_of_its_schema_also_for_a_bad_ledger() {
    let (sandbox, _) = with_ledger();
    use crate::schema::check;
    let (code, good) = sandbox.json(&["verify", "--replay"]);
    check(&good);
    assert_eq!((code, &good["findingCount"]), (0, &0.into()));
    let (code, one) = sandbox.json(&["verify", "#4", "--replay"]);
    check(&one);
    assert_eq!((code, &one["only"]), (0, &4.into()));
    sandbox.write("stray.txt", "");
    sandbox.write(".ledger/stray.txt", "");
    sandbox.write(".ledger/tile/entries/000.p/6", "damaged");
    std::fs::remove_file(sandbox.path(".ledger/checkpoint")).unwrap();
    let (code, bad) = sandbox.json(&["verify", "--replay"]);
    check(&bad);
    assert_eq!(code, 3);
    assert_eq!(bad["ledger"]["genesis"], serde_json::Value::Null);
}

#[test]
fn a_receipt_is_found_by_index_and_by_whole_id() {
    let (sandbox, forge) = with_ledger();
    let id = proofmark::object::ReceiptId::of(&forge.entries[4]).to_string();
    for rev in ["#4", &id, "@~1", &id[..12]] {
        let text = sandbox.ok(&["verify", rev, "--replay"]);
        assert!(text.contains("looked at  receipt #4 and what it rests on"), "{rev}: {text}");
        assert!(text.contains("completeness       NOT CHECKED"), "{text}");
    }
    assert!(sandbox.ok(&["verify", "main~2"]).contains("looked at  receipt #1 and"));
    for (rev, message) in [
        ("#6", "error: there is no receipt #6: the ledger has 6\n".to_owned()),
        (&"0".repeat(64), format!("error: there is no receipt {} here\n", "0".repeat(64))),
        ("#x", "error: ".to_owned()),
        ("nothing", "error: ".to_owned()),
    ] {
        let run = sandbox.run(&["verify", rev]);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{rev}");
        assert!(run.stderr.starts_with(&message), "{rev}: {}", run.stderr);
    }
    // In a ledger that cannot be opened a receipt is still found by index and by its whole id.
    sandbox.write(".ledger/tile/0/000.p/6", "damaged");
    for rev in ["#4", &id] {
        let run = sandbox.run(&["verify", rev]);
        assert!(run.code == 3 && run.stdout.contains("inclusion-fails  receipt #4"), "{}", run.stdout);
    }
    let run = sandbox.run(&["verify", "--pin", "abc"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("not a 256-bit digest"), "{}", run.stderr);
    assert_eq!(sandbox.run(&["verify", "#1", "--all"]).code, 2);
}

#[test]
fn what_is_no_ledger_is_refused_and_what_cannot_be_read_fails() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["verify"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.starts_with("error: there is no `.ledger` in "), "{}", run.stderr);
    std::fs::create_dir(sandbox.path(".ledger")).unwrap();
    let run = sandbox.run(&["verify"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.starts_with("error: there is no ledger here\nhint: "), "{}", run.stderr);

    let (sandbox, _) = with_ledger();
    sandbox.write(".ledger/config.toml", "format = 99\n");
    let run = sandbox.run(&["verify"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("format 99"), "{}", run.stderr);
    assert!(run.stderr.contains("hint: use a newer proofmark"), "{}", run.stderr);
}

#[test]
fn nothing_is_written_and_no_home_or_writable_folder_is_needed() {
    let (sandbox, _) = with_ledger();
    let before = sandbox.files();
    let folder = sandbox.path(".ledger");
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o555)).unwrap();
    let mut command = sandbox.command(&["verify", "--replay"]);
    command.env_clear();
    let output = command.output().unwrap();
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(sandbox.files(), before);
    assert_eq!(std::fs::read_dir(sandbox.home()).unwrap().count(), 0);
}
