//! `proofmark dossier`, and `proofmark verify FILE` elsewhere: no ledger, no network, no home.

use std::io::Write;
use std::process::{Command, Stdio};

use proofmark::store::Directory;

use super::sandbox::Sandbox;
use crate::forge::{Forge, answers};
use crate::keys::log;
use crate::schema::check;

fn with_ledger() -> (Sandbox, Forge) {
    let sandbox = Sandbox::new();
    let forge = Forge::example();
    forge.write_to(&Directory::new(sandbox.path(".ledger")), &log());
    (sandbox, forge)
}

/// The words that give a command a network of its own, with nothing in it; `None` where that is not allowed.
fn without_network() -> Option<Vec<&'static str>> {
    let allowed = |words: &Vec<&str>| {
        let run = Command::new(words[0]).args(&words[1..]).arg("true").stderr(Stdio::null()).status();
        run.is_ok_and(|status| status.success())
    };
    [vec!["unshare", "-n"], vec!["unshare", "-r", "-n"]].into_iter().find(allowed)
}

#[test]
fn a_dossier_is_verified_elsewhere_with_the_network_cut_and_no_home() {
    let (sandbox, forge) = with_ledger();
    let genesis = forge.genesis().to_string();
    let said = sandbox.ok(&["dossier", "#4", "-o", "four.dossier"]);
    for line in [
        "four.dossier: comparison receipt #4 ",
        "in it      4 of 6 receipts, 4 objects, ",
        format!("check it with: proofmark verify four.dossier --replay --pin {genesis}").as_str(),
    ] {
        assert!(said.contains(line), "{line}\n{said}");
    }
    let cut = without_network().unwrap_or_else(|| {
        // Not by `eprintln!`, which the test runner would keep to itself.
        std::io::stderr().write_all(b"\nSKIPPED cutting the network: `unshare -n` is not allowed here\n").unwrap();
        Vec::new()
    });
    let elsewhere = tempfile::tempdir().unwrap();
    let file = elsewhere.path().join("four.dossier");
    std::fs::copy(sandbox.path("four.dossier"), &file).unwrap();
    std::fs::remove_dir_all(sandbox.path(".ledger")).unwrap();
    let program = env!("CARGO_BIN_EXE_proofmark");
    let words: Vec<&str> =
        cut.iter().copied().chain([program, "verify", "four.dossier", "--replay", "--pin", &genesis]).collect();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(elsewhere.path()).env_clear().stdin(Stdio::null());
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}{}", String::from_utf8_lossy(&output.stderr));
    for line in [
        "looked at  a dossier of receipt #4 and what it rests on",
        "about      comparison ",
        "decided    nothing that is in this file",
        "unknown    what is not in this file: a withdrawal, a NO-GO, a later trust statement",
        "decisions-unknown #4: ",
        "structure          PASS         dossiers 1, ",
        "log                PASS         checkpoints 1, receipts 4",
        "replay             PASS         comparisons 1, derived 2, identities 2, recomputed 2, reports 1",
        "completeness       NOT CHECKED  ",
        "pin                PASS         digests 1",
        "no findings",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let left: Vec<_> = std::fs::read_dir(elsewhere.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["four.dossier"], "nothing is written");
}

#[test]
fn the_same_wishes_give_the_same_bytes_and_documents_are_of_their_schemas() {
    let (sandbox, _) = with_ledger();
    let (code, document) = sandbox.json(&["dossier", "main", "-o", "a", "--redact", "answers", "--complete"]);
    check(&document);
    assert_eq!((code, &document["withheld"], &document["receipts"]), (0, &1.into(), &6.into()));
    sandbox.ok(&["dossier", "#3", "-o", "b", "--complete", "--redact", "answers", "--redact", "answers"]);
    assert_eq!(std::fs::read(sandbox.path("a")).unwrap(), std::fs::read(sandbox.path("b")).unwrap());
    let manifest = &crate::dossier::members(&std::fs::read(sandbox.path("a")).unwrap())[0].1;
    check(&serde_json::from_slice(manifest).unwrap());
    let (code, report) = sandbox.json(&["verify", "a", "--replay"]);
    check(&report);
    assert_eq!((code, &report["only"]), (0, &3.into()));
    let text = sandbox.ok(&["verify", "a", "--replay"]);
    assert!(text.contains("evidence           NOT CHECKED  ") && text.contains("withheld 1"), "{text}");
    assert!(text.contains("evidence-withheld: `answers`: 1 object is left out of the dossier"), "{text}");
    assert!(text.contains("completeness       PASS         lines 1, rounds 3"), "{text}");
}

#[test]
fn findings_in_a_dossier_end_as_in_a_ledger() {
    let (sandbox, forge) = with_ledger();
    sandbox.ok(&["dossier", "#2", "-o", "two"]);
    let wrong = "0".repeat(64);
    let run = sandbox.run(&["verify", "two", "--pin", &wrong]);
    assert!(run.code == 3 && run.stderr.is_empty() && run.stdout.contains("pin-differs"), "{}", run.stdout);
    let mut members = crate::dossier::members(&std::fs::read(sandbox.path("two")).unwrap());
    let answered = members.iter().position(|(_, bytes)| *bytes == answers(&[1]).into_bytes()).unwrap();
    members[answered].1[0] = b' ';
    sandbox.write("spoilt", crate::dossier::archive(&members));
    let run = sandbox.run(&["verify", "spoilt", "--replay"]);
    let id = proofmark::object::ReceiptId::of(&forge.entries[2]).short();
    assert_eq!(run.code, 3);
    assert!(
        run.stdout.contains(&format!("evidence-damaged  receipt #2 {id}  {}", members[answered].0)),
        "{}",
        run.stdout
    );
}

#[test]
fn what_is_refused_is_named_and_nothing_is_written() {
    let (sandbox, _) = with_ledger();
    sandbox.write("plain", "no dossier");
    sandbox.write("empty", "");
    sandbox.ok(&["dossier", "#2", "-o", "good"]);
    let good = std::fs::read(sandbox.path("good")).unwrap();
    sandbox.write("cut", &good[..good.len() - 700]);
    std::fs::create_dir(sandbox.path("folder")).unwrap();
    let before = sandbox.files();
    for (arguments, code, says) in [
        (
            &["verify", "plain"][..],
            2,
            "error: `plain` is neither a dossier nor a proof nor a revealed question\nhint: a line of that name is verified as `LINE~0`\n",
        ),
        (&["verify", "empty"], 2, "error: `empty` is neither"),
        (&["verify", "cut"], 2, "error: `cut`\ncaused by: not a dossier: it is cut short (byte "),
        (&["verify", "absent"], 2, "error: "),
        (&["verify", "folder"], 2, "error: "),
        (&["verify", "good", "--pin", "x"], 2, "error: "),
        (&["dossier", "#2"], 2, "error: "),
        (&["dossier", "#9", "-o", "x"], 2, "error: "),
        (&["dossier", "#2", "-o", "folder"], 2, "error: folder is not a plain file\n"),
        (&["dossier", "#2", "-o", "absent/x"], 1, "error: "),
        (
            &["dossier", "#2", "-o", "x", "--redact", "answer"],
            2,
            "error: no evidence here has the role `answer`\nhint: roles here: answers, questions\n",
        ),
        (
            &["dossier", "#0", "-o", "x", "--redact", "answers"],
            2,
            "error: no evidence here has the role `answers`\nhint: roles here: there is no held evidence\n",
        ),
        (&["dossier", "#2", "-o", "x", "--redact", "../x"], 2, "error: "),
    ] {
        let run = sandbox.run(arguments);
        assert_eq!((run.code, run.stdout.as_str()), (code, ""), "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.starts_with(says), "{arguments:?}: {}", run.stderr);
    }
    assert_eq!(sandbox.files(), before);
    let object = before.iter().find(|(_, bytes)| *bytes == answers(&[1]).into_bytes()).unwrap();
    std::fs::write(&object.0, answers(&[2])).unwrap();
    let run = sandbox.run(&["dossier", "#2", "-o", "x"]);
    assert!(run.code == 2 && run.stderr.ends_with("hint: `proofmark verify` says what is damaged\n"), "{}", run.stderr);
    std::fs::remove_file(&object.0).unwrap();
    let run = sandbox.run(&["dossier", "#2", "-o", "x"]);
    assert!(run.code == 2 && run.stderr.contains("`--redact answers` leaves it out openly"), "{}", run.stderr);
    assert!(!sandbox.path("x").exists());
}

#[test]
fn other_files_that_stand_alone_are_verified_too() {
    let (sandbox, _) = with_ledger();
    sandbox.ok(&["prove", "#4", "-o", "four.tlog-proof"]);
    assert!(sandbox.ok(&["verify", "four.tlog-proof"]).contains("proven     receipt #4 "));
    // Elsewhere the log's key is missing, and this command has no option for it.
    std::fs::create_dir(sandbox.path("elsewhere")).unwrap();
    let elsewhere = |arguments: &[&str]| sandbox.run(&[arguments, &["--ledger", "elsewhere"]].concat());
    let run = elsewhere(&["verify", "four.tlog-proof"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    let hint = "hint: `proofmark prove --check four.tlog-proof --log-key KEY` takes it\n";
    assert!(run.stderr.ends_with(hint), "{}", run.stderr);
    sandbox.write("old", std::fs::read(sandbox.path(".ledger/checkpoint")).unwrap());
    sandbox.ok(&["prove", "--from", "old", "-o", "x.consistency"]);
    for run in [sandbox.run(&["verify", "x.consistency"]), elsewhere(&["verify", "x.consistency"])] {
        assert_eq!((run.code, run.stdout.as_str()), (2, ""));
        let says = "error: a consistency proof is checked against the older checkpoint\n\
                    hint: `proofmark prove --check x.consistency --from CHECKPOINT` takes it\n";
        assert_eq!(run.stderr, says);
    }
    // What a file cannot be held against is refused, not passed over.
    let pin = "0".repeat(64);
    for (arguments, says) in [
        (
            &["verify", "four.tlog-proof", "--pin", &pin][..],
            "--pin does not apply to a proof, which `four.tlog-proof` is",
        ),
        (&["verify", "four.tlog-proof", "--replay"], "--replay does not apply to a proof, which `four.tlog-proof` is"),
        (&["verify", "x.consistency", "--replay"], "--replay does not apply to a proof, which `x.consistency` is"),
        (
            &["prove", "--check", "four.tlog-proof", "--from", "nosuch"],
            "--from does not apply to a proof that a receipt is in the log",
        ),
        (
            &["prove", "--check", "x.consistency", "--from", "old", "--entry", "old"],
            "--entry does not apply to a proof that the log has only grown",
        ),
    ] {
        let run = sandbox.run(arguments);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.starts_with(&format!("error: {says}\nhint: ")), "{arguments:?}: {}", run.stderr);
    }
    // What is no file at all says what it is, and is not waited for.
    let fifo = Command::new("mkfifo").arg(sandbox.path("pipe")).status().unwrap();
    assert!(fifo.success());
    for (path, kind) in [("pipe", "a FIFO"), ("/dev/null", "a device")] {
        let run = sandbox.run(&["verify", path]);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{}", run.stderr);
        let says = format!("error: `{path}` is {kind}, and a file that is verified is a plain one\n");
        assert!(run.stderr.starts_with(&says), "{}", run.stderr);
    }
    std::fs::remove_file(sandbox.path("pipe")).unwrap();
    // A line that is called like a file is meant as the file, unless it is named as a revision.
    sandbox.write("main", "not ours");
    assert_eq!(sandbox.run(&["verify", "main"]).code, 2);
    assert!(sandbox.ok(&["verify", "main~0"]).contains("looked at  receipt #3"));
}
