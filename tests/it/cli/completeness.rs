//! `proofmark completeness`: every round, every look, every gap.

use proofmark::object::{ReceiptId, Sha256};
use proofmark::receipt::{Body, ReceiptRef, Subject, Withdrawal};
use proofmark::store::Directory;

use super::sandbox::Sandbox;
use crate::forge::Forge;
use crate::keys::log;
use crate::schema::check;

fn sandbox_of(forge: &Forge) -> Sandbox {
    let sandbox = Sandbox::new();
    forge.write_to(&Directory::new(sandbox.path(".ledger")), &log());
    sandbox
}

fn withdraw(forge: &mut Forge, target: ReceiptRef) -> ReceiptRef {
    forge.add(Body::Withdrawal(Withdrawal { target, reason: "the wrong answers".parse().unwrap() }), Vec::new())
}

/// A round of `nightly` by another system.
fn nightly(forge: &mut Forge) -> ReceiptRef {
    let (mut body, evidence) = forge.honest(&[2]);
    body.line = "nightly".parse().unwrap();
    let other = Subject::new("other system".parse().unwrap(), Sha256::of(b"other"));
    forge.add_about(vec![other], Body::Scorecard(body), evidence)
}

#[test]
fn every_round_and_every_look_is_listed() {
    let mut forge = Forge::example();
    let second = ReceiptRef { index: 2, receipt: ReceiptId::of(&forge.entries[2]) };
    let first = ReceiptRef { index: 1, receipt: ReceiptId::of(&forge.entries[1]) };
    nightly(&mut forge);
    withdraw(&mut forge, second);
    // A withdrawal cannot be withdrawn, and one of another receipt at the same place is about nothing.
    let withdrawal = withdraw(&mut forge, first);
    withdraw(&mut forge, withdrawal);
    withdraw(&mut forge, ReceiptRef { index: 3, receipt: ReceiptId::of(b"another") });
    let sandbox = sandbox_of(&forge);
    let (code, document) = sandbox.json(&["completeness"]);
    check(&document);
    assert_eq!((code, &document["whole"], &document["size"]), (0, &true.into(), &11.into()));
    let main = &document["lines"][0];
    assert_eq!((&main["line"], &main["rounds"]), (&"main".into(), &3.into()));
    let rounds: Vec<_> = main["listed"].as_array().unwrap().iter().collect();
    let told: Vec<_> = rounds.iter().map(|round| (round["round"].as_u64(), round["index"].as_u64())).collect();
    assert_eq!(told, [(Some(1), Some(1)), (Some(2), Some(2)), (Some(3), Some(3))]);
    assert!(rounds[0]["withdrawn"]["index"] == 8 && rounds[2].get("withdrawn").is_none(), "{main:#}");
    assert_eq!(
        (&rounds[1]["withdrawn"]["index"], &rounds[1]["withdrawn"]["reason"]),
        (&7.into(), &"the wrong answers".into())
    );
    let looks = document["looks"][0]["systems"].as_array().unwrap();
    assert_eq!(looks.len(), 2);
    assert_eq!(looks[0], serde_json::json!({"system": "other system", "looks": 1, "first": 6, "last": 6}));
    assert_eq!(looks[1], serde_json::json!({"system": "system", "looks": 3, "first": 1, "last": 3}));
    let text = sandbox.ok(&["completeness"]);
    for line in [
        "up to      11 receipts, root ",
        "\nmain: 3 rounds\n  main#1  #1 ",
        "    withdrawn by #7: the wrong answers\n",
        "\nnightly: 1 rounds\n",
        "  system: 3, from #1 to #3\n",
        "\nno gaps: the list is whole up to that root\n",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}

#[test]
fn lines_and_question_sets_can_be_picked() {
    let mut forge = Forge::example();
    nightly(&mut forge);
    let sandbox = sandbox_of(&forge);
    let (_, all) = sandbox.json(&["completeness"]);
    let id = all["looks"][0]["questionSetId"].as_str().unwrap();
    let (_, document) = sandbox.json(&["completeness", "--line", "nightly", "--questions", &id[..12]]);
    check(&document);
    assert_eq!(document["lines"].as_array().unwrap().len(), 1);
    assert_eq!(document["looks"], all["looks"], "looks are counted over all lines");
    for (arguments, says) in [
        (["--line", "weekly"], "error: there is no line `weekly`\nhint: lines: main, nightly\n".to_owned()),
        (["--questions", "pm1:zz"], format!("error: no round was measured on `pm1:zz`\nhint: there are:\n  {id}\n")),
        (["--line", "A"], "error: ".to_owned()),
    ] {
        let run = sandbox.run(&[&["completeness"], &arguments[..]].concat());
        assert_eq!((run.code, run.stdout.as_str()), (2, ""));
        assert!(run.stderr.starts_with(&says), "{}", run.stderr);
    }
    let run = sandbox_of(&Forge::new()).run(&["completeness", "--questions", "x"]);
    assert_eq!(
        (run.code, run.stderr.as_str()),
        (2, "error: no round was measured on `x`\nhint: there are no rounds yet\n")
    );
    assert!(sandbox_of(&Forge::new()).ok(&["completeness"]).contains("\nno rounds\n"));
}

#[test]
fn an_entry_that_cannot_be_read_is_a_gap() {
    let mut forge = Forge::example();
    forge.raw(b"{\"payload\":\"\"}");
    let moved = forge.entries[1].clone();
    forge.raw(&moved);
    let sandbox = sandbox_of(&forge);
    let (code, document) = sandbox.json(&["completeness"]);
    check(&document);
    assert_eq!((code, &document["whole"]), (3, &false.into()));
    let gaps: Vec<_> = document["gaps"].as_array().unwrap().iter().map(|gap| gap["index"].as_u64().unwrap()).collect();
    assert_eq!(gaps, [6, 7], "one is no receipt, one belongs elsewhere");
    let run = sandbox.run(&["completeness"]);
    assert!(run.code == 3 && run.stdout.contains("gap at #6: entry 6 of the log is not a receipt\n"), "{}", run.stdout);
    assert!(
        run.stdout.contains("2 gaps: the list is not known to be whole; `proofmark verify` says more\n"),
        "{}",
        run.stdout
    );
}

#[test]
fn a_log_that_does_not_add_up_is_no_list() {
    let sandbox = sandbox_of(&Forge::example());
    let mut shorter = Forge::example();
    shorter.entries.pop();
    shorter.baseline(ReceiptRef { index: 2, receipt: ReceiptId::of(&shorter.entries[2]) });
    let bundle = ".ledger/tile/entries/000.p/6";
    let memory = shorter.write();
    let other = proofmark::store::Store::read(&memory, &bundle[8..].parse().unwrap(), u64::MAX).unwrap().unwrap();
    sandbox.write(bundle, other);
    let run = sandbox.run(&["completeness"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("do not add up to the signed root at size 6"), "{}", run.stderr);
}

#[test]
fn a_complete_dossier_has_the_list() {
    let sandbox = sandbox_of(&Forge::example());
    let list = sandbox.ok(&["completeness"]);
    sandbox.ok(&["dossier", "#1", "--complete", "-o", "whole"]);
    sandbox.ok(&["dossier", "#1", "-o", "part"]);
    std::fs::remove_dir_all(sandbox.path(".ledger")).unwrap();
    assert_eq!(sandbox.ok(&["completeness", "--dossier", "whole"]), list);
    let run = sandbox.run(&["completeness", "--dossier", "part"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert_eq!(
        run.stderr,
        "error: `part` does not carry the whole list of rounds\nhint: `proofmark dossier REV --complete` writes one that does\n"
    );
    sandbox.write("none", "none");
    let run = sandbox.run(&["completeness", "--dossier", "none"]);
    assert!(run.code == 2 && run.stderr.starts_with("error: `none`\ncaused by: not a dossier: "), "{}", run.stderr);
    assert_eq!(sandbox.run(&["completeness", "--dossier", "absent"]).code, 1);
}
