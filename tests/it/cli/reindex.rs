//! `proofmark reindex`.

use super::sandbox::Sandbox;
use crate::rounds::story;
use crate::schema::check;

#[test]
fn the_index_is_made_anew_and_once_more() {
    let sandbox = Sandbox::new();
    story(&sandbox.path(".ledger"));
    for _ in 0..2 {
        let (code, document) = sandbox.json(&["reindex"]);
        check(&document);
        assert_eq!((code, &document["receipts"]), (0, &7.into()));
        assert!(sandbox.path(".ledger/index.sqlite").is_file());
    }
    let text = sandbox.ok(&["reindex"]);
    assert!(text.starts_with("$SANDBOX/here/.ledger/index.sqlite: 7 receipts in ") && text.ends_with(" s\n"), "{text}");
    // Nothing is left behind, and a file that was no index is one now.
    std::fs::write(sandbox.path(".ledger/index.sqlite"), b"no database").unwrap();
    std::fs::write(sandbox.path(".ledger/index.sqlite.new"), b"left by a killed process").unwrap();
    sandbox.ok(&["reindex"]);
    let names: Vec<_> = sandbox
        .files()
        .into_iter()
        .filter_map(|(path, _)| Some(path.file_name()?.to_str()?.to_owned()))
        .filter(|name| name.starts_with("index"))
        .collect();
    assert_eq!(names, ["index.sqlite"]);
    assert_eq!(sandbox.ok(&["log", "-n", "1", "--oneline"]).lines().count(), 1);
}

#[test]
fn what_cannot_be_deleted_is_a_failure_and_no_ledger_is_a_refusal() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run(&["reindex"]).code, 2);
    story(&sandbox.path(".ledger"));
    std::fs::create_dir(sandbox.path(".ledger/index.sqlite")).unwrap();
    let run = sandbox.run(&["reindex"]);
    assert_eq!((run.code, run.stdout.as_str()), (1, ""));
    assert!(
        run.stderr.starts_with("error: cannot remove `$SANDBOX/here/.ledger/index.sqlite`\ncaused by: "),
        "{}",
        run.stderr
    );
}
