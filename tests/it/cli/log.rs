//! `proofmark log`.

use std::io::Read;
use std::process::Stdio;

use super::sandbox::Sandbox;
use crate::rounds::{draft, push, questions, story};
use crate::schema::check;

fn told() -> Sandbox {
    let sandbox = Sandbox::new();
    story(&sandbox.path(".ledger"));
    sandbox
}

fn indices(sandbox: &Sandbox, arguments: &[&str]) -> Vec<u64> {
    let (code, document) = sandbox.json(arguments);
    assert_eq!(code, 0, "{document:#}");
    check(&document);
    document["receipts"].as_array().unwrap().iter().map(|receipt| receipt["index"].as_u64().unwrap()).collect()
}

#[test]
fn receipts_are_listed_newest_first_with_a_heading_each() {
    let sandbox = told();
    let text = sandbox.ok(&["log"]);
    let headings: Vec<_> = text.lines().filter(|line| line.starts_with("receipt ")).collect();
    let ends = ["#6 scorecard main#3", "#5 baseline", "#4 comparison", "#3 scorecard nightly#1", "#2 scorecard main#2"];
    assert_eq!(headings.len(), 7);
    for (heading, end) in headings.iter().zip(ends) {
        assert!(heading.ends_with(end), "{heading}");
    }
    for said in [
        "Card:      quality 0.9, cost 1.5, grounded 0.5, n 10 (recomputed)",
        "Card:      quality 0.85, cost 1.5, grounded 0.5, n 10 (asserted)",
        &format!("Questions: {}", questions('a')),
        "Scorer:    substring/v2",
        "Recorded:  2026-11-30T12:00:00Z (self-asserted)",
        "Signer:    tester SHA256:",
        "\n\n    the first of them\n",
        ", tolerance 0.000000001: regressed",
        "Reason:    quality",
        "Baseline:  main is compared with #1",
        "Trust:     version 1 (roots 1, sign-offs 1)",
        "Person:    tester (root, append, signoff, witness)",
    ] {
        assert!(text.contains(said), "{said}\n{text}");
    }
    let lines = sandbox.ok(&["log", "--oneline", "-n", "3"]);
    let lines: Vec<_> = lines.lines().map(|line| line.split_once(' ').unwrap().1).collect();
    assert_eq!(
        lines,
        [
            "#6 scorecard main#3 quality 0.85 n 10",
            "#5 baseline main is compared with #1",
            "#4 comparison #1 to #2: regressed"
        ]
    );
}

#[test]
fn filters_choose() {
    let sandbox = told();
    assert_eq!(indices(&sandbox, &["log"]), [6, 5, 4, 3, 2, 1, 0]);
    assert_eq!(indices(&sandbox, &["log", "-n", "2"]), [6, 5]);
    assert_eq!(indices(&sandbox, &["log", "-n", "0"]), [0u64; 0]);
    assert_eq!(indices(&sandbox, &["log", "--line", "main"]), [6, 5, 2, 1]);
    assert_eq!(indices(&sandbox, &["log", "--line", "main", "--kind", "scorecard", "-n", "2"]), [6, 2]);
    assert_eq!(indices(&sandbox, &["log", "--kind", "comparison"]), [4]);
    assert_eq!(indices(&sandbox, &["log", "--questions", "pm1:b"]), [3]);
    assert_eq!(indices(&sandbox, &["log", "--questions", "aa"]), [6, 2, 1]);
    let refusals = [
        (&["log", "--line", "nigthly"][..], "error: there is no line `nigthly`\nhint: lines are: nightly, main\n"),
        (
            &["log", "--questions", "pm1:"],
            &format!(
                "error: `pm1:` is the beginning of more than one question set id\n\
                 hint: one of these, by more digits:\n  {}\n  {}\n",
                questions('a'),
                questions('b')
            ),
        ),
        (
            &["log", "--questions", "cc"],
            &format!(
                "error: no round has a question set id that begins with `cc`\nhint: there are:\n  {}\n  {}\n",
                questions('a'),
                questions('b')
            ),
        ),
    ];
    for (arguments, said) in refusals {
        let run = sandbox.run(arguments);
        assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (2, "", said));
    }
    assert_eq!(sandbox.run(&["log", "--kind", "verdict"]).code, 2);
    assert_eq!(sandbox.run(&["log", "--line", "No Line"]).code, 2);
}

#[test]
fn it_needs_a_ledger_and_writes_nothing_but_the_index() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["log"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.starts_with("error: there is no `.ledger` in"), "{}", run.stderr);
    story(&sandbox.path(".ledger"));
    let before = sandbox.files();
    sandbox.ok(&["log"]);
    let mut after = sandbox.files();
    after.retain(|(path, _)| !path.ends_with("index.sqlite"));
    assert_eq!(after, before);
    // In a folder below, too.
    std::fs::create_dir(sandbox.path("below")).unwrap();
    let below = sandbox.command(&["log", "-n1", "--oneline"]).current_dir(sandbox.path("below")).output().unwrap();
    assert!(below.status.success() && below.stdout.ends_with(b" n 10\n"));
}

#[test]
fn an_unusable_index_is_said_and_nothing_is_lost() {
    let sandbox = told();
    let expected = sandbox.ok(&["log"]);
    std::fs::remove_file(sandbox.path(".ledger/index.sqlite")).unwrap();
    std::fs::create_dir(sandbox.path(".ledger/index.sqlite")).unwrap();
    let run = sandbox.run(&["log"]);
    assert_eq!((run.code, run.stdout), (0, expected));
    assert_eq!(
        run.stderr,
        "the index is kept in memory for this run: `$SANDBOX/here/.ledger/index.sqlite` is not a plain file\n"
    );
    assert_eq!(sandbox.run(&["log", "--quiet"]).stderr, "");
}

#[test]
fn hostile_names_and_notes_stay_on_their_line() {
    let sandbox = told();
    let ledger = crate::keys::create(Box::new(proofmark::store::Directory::new(sandbox.path("other")))).unwrap();
    let seen = tempfile::tempdir().unwrap();
    let mut hostile = draft(crate::rounds::round("main", crate::rounds::card(0.5, &"a".repeat(64))).body);
    hostile.note = Some("all\u{202e}is well".parse().unwrap());
    push(&ledger, vec![hostile], &proofmark::ledger::Ratchet::new(seen.path()));
    for arguments in [&["--ledger", "other", "log"][..], &["--ledger", "other", "log", "--oneline"]] {
        let text = sandbox.ok(arguments);
        assert!(text.contains("all\\u{202e}is well") && !text.contains('\u{202e}'), "{text}");
    }
}

#[test]
fn a_reader_that_goes_away_is_nobodys_fault() {
    let sandbox = Sandbox::new();
    let ledger = crate::keys::create(Box::new(proofmark::store::Directory::new(sandbox.path(".ledger")))).unwrap();
    let seen = tempfile::tempdir().unwrap();
    crate::keys::append(&ledger, 2000, &proofmark::ledger::Ratchet::new(seen.path())).unwrap();
    let mut child = sandbox.command(&["log"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut begun = [0u8; 100];
    child.stdout.take().unwrap().read_exact(&mut begun).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}
