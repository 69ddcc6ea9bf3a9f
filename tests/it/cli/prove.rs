//! `proofmark prove`: proofs made, kept, checked elsewhere, and refused.

use proofmark::store::Directory;

use super::sandbox::Sandbox;
use crate::forge::Forge;
use crate::keys::log;
use crate::schema::check;

/// The small ledger in `.ledger`, the checkpoint that it had three receipts ago, and another log's folder without one.
fn with_ledger() -> (Sandbox, Forge) {
    let sandbox = Sandbox::new();
    let mut forge = Forge::new();
    let (first, second) = (forge.round(&[]), forge.round(&[1]));
    sandbox.write("old.checkpoint", forge.note(&log()));
    forge.round(&[1, 3]);
    forge.compare(first, second);
    forge.baseline(first);
    forge.write_to(&Directory::new(sandbox.path(".ledger")), &log());
    std::fs::create_dir(sandbox.path("elsewhere")).unwrap();
    (sandbox, forge)
}

fn log_key(sandbox: &Sandbox) -> String {
    let (_, document) = sandbox.json(&["verify"]);
    document["ledger"]["logKey"].as_str().unwrap().to_owned()
}

#[test]
fn a_receipt_is_proven_to_whoever_knows_the_logs_key() {
    let (sandbox, forge) = with_ledger();
    let key = log_key(&sandbox);
    let id = proofmark::object::ReceiptId::of(&forge.entries[4]);
    let said = sandbox.ok(&["prove", "#4", "-o", "four.tlog-proof"]);
    assert!(said.starts_with(&format!("four.tlog-proof: receipt #4 {id} is in the log of 6\n")), "{said}");
    assert!(said.contains(&format!("proofmark prove --check four.tlog-proof --log-key {key}")), "{said}");
    let file = std::fs::read_to_string(sandbox.path("four.tlog-proof")).unwrap();
    assert!(file.starts_with("c2sp.org/tlog-proof@v1\nextra ") && file.contains("\nindex 4\n"), "{file}");
    assert_eq!(sandbox.ok(&["prove", "#4"]), file, "stdout has the same bytes");
    let (_, made) = sandbox.json(&["prove", "#4"]);
    check(&made);
    assert_eq!(made["inclusion"]["proof"].as_str(), Some(file.as_str()));
    // Where there is no ledger and no home.
    let text = sandbox.ok(&["prove", "--check", "four.tlog-proof", "--log-key", &key, "--ledger", "elsewhere"]);
    assert!(text.contains(&format!("proven     receipt #4 {id} is in the log\n")), "{text}");
    let (code, document) = sandbox.json(&["prove", "--check", "four.tlog-proof"]);
    check(&document);
    assert_eq!((code, &document["holds"], &document["index"]), (0, &true.into(), &4.into()));
    // The same proof without the receipt in it, as others make them.
    let bare: String =
        file.lines().filter(|line| !line.starts_with("extra ")).map(|line| format!("{line}\n")).collect();
    sandbox.write("bare.tlog-proof", &bare);
    sandbox.write("four.json", &forge.entries[4]);
    sandbox.ok(&["prove", "--check", "bare.tlog-proof", "--entry", "four.json"]);
    let run = sandbox.run(&["prove", "--check", "bare.tlog-proof"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert_eq!(run.stderr, "error: the proof carries no receipt\nhint: give its exact bytes with --entry FILE\n");
}

#[test]
fn a_proof_that_does_not_hold_is_an_answer() {
    let (sandbox, forge) = with_ledger();
    let good = sandbox.ok(&["prove", "#4"]);
    sandbox.write("three.json", &forge.entries[3]);
    sandbox.write("good", &good);
    sandbox.write("elsewhere.index", good.replace("\nindex 4\n", "\nindex 5\n"));
    let foreign = Forge::example().note(&proofmark::trust::SecretKey::generate([7; 32]));
    let head = good.split("\n\n").next().unwrap();
    sandbox.write("foreign", [head.as_bytes(), b"\n\n", &foreign].concat());
    for (arguments, reason) in [
        (&["good", "--entry", "three.json"][..], "the proof leads to root "),
        (&["elsewhere.index"], "the proof leads to root "),
        (&["foreign"], "the note carries no signature of a known key"),
    ] {
        let run = sandbox.run(&[&["prove", "--check"], arguments].concat());
        assert_eq!((run.code, run.stderr.as_str()), (3, ""), "{arguments:?}: {}", run.stdout);
        assert!(run.stdout.contains("NOT proven: receipt #"), "{}", run.stdout);
        let said = format!("the inclusion proof does not hold: {reason}");
        assert!(run.stdout.contains(&said), "{}", run.stdout);
    }
    let (code, document) = sandbox.json(&["prove", "--check", "foreign"]);
    check(&document);
    assert_eq!((code, &document["holds"]), (3, &false.into()));
}

#[test]
fn a_log_that_only_grew_is_proven_against_an_older_checkpoint() {
    let (sandbox, _) = with_ledger();
    let key = log_key(&sandbox);
    let proof = sandbox.ok(&["prove", "--from", "old.checkpoint"]);
    assert!(proof.starts_with("old 3\n"), "{proof}");
    sandbox.ok(&["prove", "--from", "old.checkpoint", "-o", "growth"]);
    assert_eq!(std::fs::read_to_string(sandbox.path("growth")).unwrap(), proof);
    let check_it =
        ["prove", "--check", "growth", "--from", "old.checkpoint", "--log-key", &key, "--ledger", "elsewhere"];
    let text = sandbox.ok(&check_it);
    assert!(text.contains("proven     the log begins with the 3 receipts of the older checkpoint\n"), "{text}");
    let (code, document) = sandbox.json(&check_it);
    check(&document);
    assert_eq!((code, &document["old"]), (0, &3.into()));
    // Both at once: two files.
    sandbox.ok(&["prove", "main", "--from", "old.checkpoint", "-o", "p"]);
    assert_eq!(std::fs::read_to_string(sandbox.path("p.consistency")).unwrap(), proof);
    let (_, made) = sandbox.json(&["prove", "main", "--from", "old.checkpoint"]);
    check(&made);
    let run = sandbox.run(&["prove", "main", "--from", "old.checkpoint"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert_eq!(run.stderr, "error: two proofs do not go to stdout\nhint: name a file for them with -o\n");
    let run = sandbox.run(&["prove", "--check", "growth"]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.starts_with("error: a consistency proof is checked against the older checkpoint\n"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_log_that_shrank_or_forked_is_an_answer_and_nothing_is_written() {
    let (sandbox, _) = with_ledger();
    let mut fork = Forge::new();
    fork.round(&[2]);
    fork.round(&[2]);
    sandbox.write("forked", fork.note(&log()));
    let mut longer = Forge::example();
    longer.round(&[]);
    sandbox.write("longer", longer.note(&log()));
    sandbox.write("stranger", fork.note(&proofmark::trust::SecretKey::generate([7; 32])));
    let before = sandbox.files();
    for (file, code, says) in [
        ("forked", 3, "the proof leads to root"),
        ("longer", 3, "a tree of size 7 cannot be the beginning of a tree of size 6"),
        ("stranger", 2, "`stranger` is not a checkpoint of this log"),
        ("absent", 1, "cannot"),
    ] {
        let run = sandbox.run(&["prove", "--from", file, "-o", "out"]);
        assert_eq!((run.code, run.stdout.as_str()), (code, ""), "{file}: {}", run.stderr);
        assert!(run.stderr.contains(says), "{file}: {}", run.stderr);
    }
    assert_eq!(sandbox.files(), before);
}

#[test]
fn what_is_no_proof_is_refused() {
    let (sandbox, _) = with_ledger();
    let good = sandbox.ok(&["prove", "#4"]);
    sandbox.write("good", &good);
    sandbox.write("empty", "");
    sandbox.write("cut", &good[..good.len() - 9]);
    sandbox.write("more", format!("{good}\n"));
    sandbox.write("spaced", good.replace("\nindex ", "\nindex  "));
    sandbox.write("other-extra", good.replacen("extra ey", "extra QQ", 1));
    for file in ["empty", "cut", "more", "spaced"] {
        let run = sandbox.run(&["prove", "--check", file]);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{file}");
        assert!(run.stderr.starts_with(&format!("error: `{file}` is no proof\ncaused by: ")), "{}", run.stderr);
    }
    let run = sandbox.run(&["prove", "--check", "other-extra"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""), "a receipt that is none: {}", run.stderr);
    for arguments in [
        &["prove"][..],
        &["prove", "#9"],
        &["prove", "main", "--check", "good"],
        &["prove", "--check", "good", "--log-key", "x"],
    ] {
        assert_eq!(sandbox.run(arguments).code, 2, "{arguments:?}");
    }
    let run = sandbox.run(&["prove", "--check", "good", "--ledger", "elsewhere"]);
    assert!(run.code == 2 && run.stderr.contains("or give the log's key with --log-key"), "{}", run.stderr);
}
