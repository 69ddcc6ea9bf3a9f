//! `proofmark cat`.

use proofmark::ledger::Ratchet;

use super::sandbox::Sandbox;
use crate::rounds::{ANSWERS, card, evidence, push, questions, round, story};

fn object_path(sandbox: &Sandbox, id: &str) -> std::path::PathBuf {
    sandbox.path(&format!(".ledger/objects/{}/{}", &id[..2], &id[2..]))
}

#[test]
fn objects_are_written_by_role_and_by_id() {
    let sandbox = Sandbox::new();
    story(&sandbox.path(".ledger"));
    let id = blake3::hash(ANSWERS).to_string();
    for object in ["#1:answers", "main~2:answers", &id, &id[..6]] {
        assert_eq!(sandbox.ok(&["cat", object]).as_bytes(), ANSWERS, "{object}");
    }
    let asked = sandbox.ok(&["cat", "main~1:questions"]);
    assert_eq!(asked, sandbox.ok(&["cat", "main~2:questions"]));
}

#[test]
fn what_cannot_be_written_is_refused_with_the_reason() {
    let sandbox = Sandbox::new();
    story(&sandbox.path(".ledger"));
    let elsewhere = blake3::hash(b"kept elsewhere").to_string();
    let id = blake3::hash(ANSWERS).to_string();
    for (object, said) in [
        (
            "nightly:answers",
            format!("the answers object {elsewhere} is not held in this ledger\nhint: its receipt states digests only"),
        ),
        (&elsewhere[..5], format!("the answers object {elsewhere} is not held")),
        ("main:answers", "receipt #6 has no evidence of role `answers`\nhint: its roles are: none".to_owned()),
        (
            "#1:replies",
            "receipt #1 has no evidence of role `replies`\nhint: its roles are: answers, questions".to_owned(),
        ),
        ("mian:answers", "there is no line `mian`".to_owned()),
        ("abc", "`abc` is not an object".to_owned()),
        ("answers", "`answers` is not an object".to_owned()),
        ("../../etc/passwd", "`../../etc/passwd` is not an object".to_owned()),
        ("00000000", "no receipt names an object that begins with `00000000`".to_owned()),
    ] {
        let run = sandbox.run(&["cat", object]);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{object}");
        assert!(run.stderr.contains(&said), "{object}: {}", run.stderr);
    }
    assert_eq!(sandbox.json(&["cat", "#1:answers"]).0, 2);
    // Damaged: not one byte is written.
    std::fs::write(object_path(&sandbox, &id), b"{\"reply\":\"Lyons\"}\n").unwrap();
    let run = sandbox.run(&["cat", "#1:answers"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("does not hold the bytes that it is named for"), "{}", run.stderr);
    std::fs::remove_file(object_path(&sandbox, &id)).unwrap();
    let run = sandbox.run(&["cat", "#1:answers"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("its receipt says that the ledger holds it"), "{}", run.stderr);
}

#[test]
fn ambiguous_objects_are_listed_and_a_wrong_size_does_not_hide_one() {
    let sandbox = Sandbox::new();
    let ledger = story(&sandbox.path(".ledger"));
    let seen = tempfile::tempdir().unwrap();
    let ratchet = Ratchet::new(seen.path());
    let drafts = (0..1500u32).map(|number| {
        let mut draft = round("many", card(0.5, &questions('c')));
        draft.evidence = vec![evidence(ledger.store(), "answers", &number.to_le_bytes(), false)];
        draft
    });
    push(&ledger, drafts.collect(), &ratchet);
    let mut ids: Vec<_> = (0..1500u32).map(|number| blake3::hash(&number.to_le_bytes()).to_string()).collect();
    ids.sort();
    let pair = ids.windows(2).find(|pair| pair[0][..4] == pair[1][..4]).unwrap();
    let run = sandbox.run(&["cat", &pair[0][..4]]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    for id in pair {
        assert!(run.stderr.contains(&format!("\n  {id} answers of #")), "{}", run.stderr);
    }
    let mut lying = round("many", card(0.5, &questions('c')));
    let mut wrong = evidence(ledger.store(), "answers", ANSWERS, true);
    wrong.size += 1;
    lying.evidence = vec![wrong];
    push(&ledger, vec![lying], &ratchet);
    assert_eq!(sandbox.ok(&["cat", &blake3::hash(ANSWERS).to_string()]).as_bytes(), ANSWERS);
    assert_eq!(sandbox.run(&["cat", "many:answers"]).code, 2);
}

#[test]
fn a_large_compressed_object_comes_back_whole() {
    let sandbox = Sandbox::new();
    let ledger = story(&sandbox.path(".ledger"));
    let seen = tempfile::tempdir().unwrap();
    let bytes = b"{\"reply\":\"the same again and again\"}\n".repeat(2_000_000);
    assert!(bytes.len() > 64 << 20);
    let mut draft = round("main", card(0.5, &questions('a')));
    draft.evidence = vec![evidence(ledger.store(), "answers", &bytes, true)];
    push(&ledger, vec![draft], &Ratchet::new(seen.path()));
    let output = sandbox.command(&["cat", "main:answers"]).output().unwrap();
    assert!(output.status.success() && output.stdout == bytes);
    let id = blake3::hash(&bytes).to_string();
    let path = object_path(&sandbox, &format!("{id}.zst"));
    let stored = std::fs::read(&path).unwrap();
    std::fs::write(&path, &stored[..stored.len() / 2]).unwrap();
    let output = sandbox.command(&["cat", "main:answers"]).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
}
