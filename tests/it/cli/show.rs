//! `proofmark show`, and how receipts are named.

use proofmark::ledger::Ratchet;
use proofmark::object::ReceiptId;
use proofmark::store::Directory;

use super::sandbox::Sandbox;
use crate::rounds::{card, push, questions, round, story};
use crate::schema::check;

fn told() -> (Sandbox, Vec<ReceiptId>) {
    let sandbox = Sandbox::new();
    let ledger = story(&sandbox.path(".ledger"));
    let mut ids = Vec::new();
    let note = |_, receipt: proofmark::receipt::Receipt| {
        ids.push(receipt.id());
        Ok(())
    };
    ledger.snapshot().unwrap().for_each(note).unwrap();
    (sandbox, ids)
}

#[test]
fn everything_in_a_receipt_is_shown() {
    let (sandbox, ids) = told();
    let text = sandbox.ok(&["show", "#1"]);
    let b3 = |bytes: &[u8]| blake3::hash(bytes).to_string();
    for said in [
        format!("receipt {} #1 scorecard main#1\n", ids[1]),
        "Signature: good, under the key that the trust statement lists\n".to_owned(),
        "Inclusion: proven in the log of 7 receipts with root ".to_owned(),
        format!("Trust:     #0 {}\n", ids[0]),
        "Tool:      proofmark 0.0.0-test\n".to_owned(),
        format!("Evidence:  answers {} 18 bytes application/jsonl (held)\n", b3(crate::rounds::ANSWERS)),
        "    the first of them\n".to_owned(),
    ] {
        assert!(text.contains(&said), "{said}\n{text}");
    }
    let elsewhere = format!("Evidence:  answers {} 14 bytes application/jsonl (digest only)\n", b3(b"kept elsewhere"));
    assert!(sandbox.ok(&["show", "nightly"]).contains(&elsewhere));
    let object = b3(crate::rounds::ANSWERS);
    std::fs::remove_file(sandbox.path(&format!(".ledger/objects/{}/{}", &object[..2], &object[2..]))).unwrap();
    assert!(sandbox.ok(&["show", "#1"]).contains("application/jsonl (MISSING)\n"));
}

#[test]
fn documents_are_of_their_schema_for_every_kind() {
    let (sandbox, ids) = told();
    for (index, id) in ids.iter().enumerate() {
        let (code, document) = sandbox.json(&["show", &format!("#{index}")]);
        check(&document);
        assert_eq!((code, document["id"].as_str().unwrap()), (0, id.to_string().as_str()));
        assert_eq!((&document["signature"], &document["person"]), (&"good".into(), &"tester".into()));
        let statement = sandbox.ok(&["show", &format!("#{index}"), "--statement"]);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&statement).unwrap(), document["statement"]);
    }
    let (_, document) = sandbox.json(&["show", "nightly"]);
    assert_eq!((&document["evidence"][0]["held"], &document["evidence"][0]["present"]), (&false.into(), &false.into()));
}

#[test]
fn the_envelope_is_exactly_what_is_in_the_log() {
    let (sandbox, ids) = told();
    let output = sandbox.command(&["show", "main", "--envelope"]).output().unwrap();
    assert!(output.status.success() && ReceiptId::of(&output.stdout) == ids[6]);
    assert_eq!(sandbox.run(&["show", "main", "--envelope", "--json"]).code, 2);
    assert_eq!(sandbox.run(&["show", "main", "--envelope", "--statement"]).code, 2);
}

fn index_of(sandbox: &Sandbox, rev: &str) -> u64 {
    let (code, document) = sandbox.json(&["show", rev]);
    assert_eq!(code, 0, "{rev}: {document:#}");
    document["index"].as_u64().unwrap()
}

#[test]
fn receipts_have_many_names() {
    let (sandbox, ids) = told();
    for (rev, index) in [
        ("@", 6),
        ("@~", 5),
        ("@~6", 0),
        ("#0", 0),
        ("#4", 4),
        ("main", 6),
        ("main~1", 2),
        ("main~2", 1),
        ("line:main~2", 1),
        ("nightly", 3),
    ] {
        assert_eq!(index_of(&sandbox, rev), index, "{rev}");
    }
    assert_eq!(sandbox.ok(&["show"]), sandbox.ok(&["show", "@"]));
    for (index, id) in ids.iter().enumerate() {
        let id = id.to_string();
        for rev in [id.clone(), id[..10].to_owned(), format!("id:{}", &id[..10])] {
            assert_eq!(index_of(&sandbox, &rev), index as u64, "{rev}");
        }
    }
}

#[test]
fn wrong_names_list_what_may_have_been_meant() {
    let (sandbox, ids) = told();
    let mut wrong = ids[4].to_string()[..8].to_owned();
    let last = if wrong.ends_with('0') { '1' } else { '0' };
    wrong.replace_range(7.., &last.to_string());
    let near = format!("  {} #4 comparison\n", &ids[4].to_string()[..16]);
    for (rev, said, hint) in [
        ("#7", "`#7` is outside the log, which holds receipts #0 to #6", None),
        ("@~7", "`@~7` is outside the log, which holds receipts #0 to #6", None),
        ("main~3", "`main~3` is not there: line `main` has 3 rounds, `main` to `main~2`", None),
        ("main#4", "`main#4` is not there: line `main` has 3 rounds, `main` to `main~2`", None),
        ("main#0", "`main#0` is not there: line `main` has 3 rounds, `main` to `main~2`", None),
        ("main#x", "`main#x` is not a revision: `#` and `~` take a number", None),
        ("mian#1", "there is no line `mian`", Some("lines are: main, nightly\n")),
        ("mian", "there is no line `mian`", Some("lines are: main, nightly\n")),
        ("mian~1", "there is no line `mian`", Some("lines are: main, nightly\n")),
        (&wrong, "is neither a line nor the beginning of a receipt id", Some(near.as_str())),
        (&format!("id:{wrong}"), "no receipt id begins with", Some(&near)),
        ("Main", "`Main` is not a revision", Some("`@` is the newest receipt")),
        ("\u{1b}[2J", "`\\u{1b}[2J` is not a revision", None),
    ] {
        let run = sandbox.run(&["show", rev]);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{rev}");
        assert!(run.stderr.contains(said), "{rev}: {}", run.stderr);
        assert!(hint.is_none_or(|hint| run.stderr.contains(hint)), "{rev}: {}", run.stderr);
    }
    let (code, document) = sandbox.json(&["show", "mian"]);
    assert_eq!(
        (code, &document["schema"], &document["hint"]),
        (2, &"error.v1".into(), &"lines are: main, nightly".into())
    );
}

#[test]
fn ambiguous_beginnings_list_the_receipts_and_a_line_wins_over_an_id() {
    let sandbox = Sandbox::new();
    let ledger = crate::keys::create(Box::new(Directory::new(sandbox.path(".ledger")))).unwrap();
    let seen = tempfile::tempdir().unwrap();
    let ratchet = Ratchet::new(seen.path());
    // Among so many ids two begin alike.
    let drafts = (0..1500).map(|number| round("main", card(f64::from(number) / 1e4, &questions('a')))).collect();
    let mut ids: Vec<_> =
        push(&ledger, drafts, &ratchet).iter().map(|named| (named.receipt.to_string(), named.index)).collect();
    ids.sort();
    let pair = ids.windows(2).find(|pair| pair[0].0[..4] == pair[1].0[..4]).unwrap().to_vec();
    let prefix = &pair[0].0[..4];
    let run = sandbox.run(&["show", prefix]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.starts_with(&format!("error: `{prefix}` is the beginning of more than one receipt id\n")));
    for (id, index) in &pair {
        assert!(run.stderr.contains(&format!("\n  {} #{index} scorecard main#{index}", &id[..16])), "{}", run.stderr);
    }
    let whole = &pair[1].0;
    assert_eq!(index_of(&sandbox, whole), pair[1].1);
    let beginning = &ids[0].0[..12];
    push(&ledger, vec![round(beginning, card(0.1, &questions('b')))], &ratchet);
    assert_eq!(index_of(&sandbox, beginning), 1501);
    assert_eq!(index_of(&sandbox, &format!("line:{beginning}")), 1501);
    assert_eq!(index_of(&sandbox, &format!("id:{beginning}")), ids[0].1);
}
