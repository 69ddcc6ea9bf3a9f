//! Files that commands write: what they never replace, and what only with `--force`.

use super::sandbox::Sandbox;

const GO: &str = include_str!("../../../fixtures/gate/go.jsonl");

/// A ledger with one round, its sealed questions, the person's key, an older checkpoint, predictions and a file of others.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.ok(&["init", "--person", "tester"]);
    sandbox.ok(&["key", "new", "--out", "spare"]);
    sandbox.write("q.jsonl", "{\"question\":\"one?\",\"expected\":\"1\",\"id\":\"q1\"}\n");
    sandbox.ok(&["questions", "seal", "q.jsonl", "-o", "sealed.jsonl"]);
    sandbox.write("old", std::fs::read(sandbox.path(".ledger/checkpoint")).unwrap());
    sandbox.write("a.jsonl", "{\"reply\":\"1\",\"receipt\":{\"status\":\"answered\"}}\n");
    sandbox.ok(&["append", "--questions", "sealed.jsonl", "--answers", "a.jsonl", "--sealed"]);
    sandbox.write("go.jsonl", GO);
    sandbox.write("taken", "somebody's");
    sandbox.write("taken.consistency", "somebody's");
    sandbox
}

/// Every command that writes a file, to be followed by the place.
const WRITERS: [&[&str]; 7] = [
    &["dossier", "main", "-o"],
    &["prove", "main", "-o"],
    &["prove", "--from", "old", "-o"],
    &["questions", "reveal", "sealed.jsonl", "#1", "-o"],
    &["questions", "seal", "q.jsonl", "-o"],
    &["gate", "--predictions", "go.jsonl", "--report"],
    &["gate", "--predictions", "go.jsonl", "--json"],
];

#[test]
fn what_is_there_is_replaced_only_with_force_and_some_things_never() {
    let sandbox = sandbox();
    std::os::unix::fs::symlink(".ledger/checkpoint", sandbox.path("link")).unwrap();
    std::fs::create_dir(sandbox.path("folder")).unwrap();
    // A ledger by another name is one too.
    let other = sandbox.path("other-ledger");
    std::fs::create_dir_all(other.join("tile")).unwrap();
    std::fs::write(other.join("config.toml"), "").unwrap();
    let before = sandbox.files();
    std::os::unix::fs::symlink("nowhere", sandbox.path("loose")).unwrap();
    let inside = "is inside a ledger, where only the ledger writes\nhint: name a place outside the ledger's folder\n";
    for writer in WRITERS {
        let forces: &[&[&str]] = if writer[1] == "seal" { &[&[]] } else { &[&[], &["--force"]] };
        for force in forces {
            for (place, says) in [
                (".ledger/checkpoint", format!("error: .ledger/checkpoint {inside}")),
                (".ledger/lock", format!("error: .ledger/lock {inside}")),
                (".ledger/tile/entries/000.p/2", format!("error: .ledger/tile/entries/000.p/2 {inside}")),
                (".ledger/new", format!("error: .ledger/new {inside}")),
                ("folder/../.ledger/new", format!("error: folder/../.ledger/new {inside}")),
                ("link", format!("error: link {inside}")),
                ("other-ledger/new", format!("error: other-ledger/new {inside}")),
                ("spare", "error: spare is a private key, and keys are never overwritten\n".to_owned()),
                ("folder", "error: folder is not a plain file\n".to_owned()),
            ] {
                let arguments = [writer, &[place], force].concat();
                let run = sandbox.run(&arguments);
                assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{arguments:?}: {}", run.stderr);
                let (says, says_first) = (says.as_str(), says.lines().next().unwrap());
                let told = if writer[1] == "seal" { says_first } else { says };
                assert!(run.stderr.starts_with(told), "{arguments:?}: {}", run.stderr);
            }
        }
        for place in ["taken", "loose"] {
            let arguments = [writer, &[place]].concat();
            let run = sandbox.run(&arguments);
            assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{arguments:?}: {}", run.stderr);
            let hint = if writer[1] == "seal" { "salts are drawn once" } else { "`--force` replaces it" };
            let says = format!("error: {place} exists already\nhint: {hint}");
            assert!(run.stderr.starts_with(&says), "{arguments:?}: {}", run.stderr);
        }
        let run = sandbox.run(&[writer, &["no/such/folder"]].concat());
        assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{writer:?}: {}", run.stderr);
        assert_eq!(
            run.stderr,
            "error: cannot write no/such/folder\ncaused by: No such file or directory (os error 2)\n"
        );
    }
    // Both files of two proofs are looked at before either is written.
    std::fs::remove_file(sandbox.path("taken")).unwrap();
    let run = sandbox.run(&["prove", "main", "--from", "old", "-o", "taken"]);
    assert!(run.code == 2 && run.stderr.starts_with("error: taken.consistency exists already\n"), "{}", run.stderr);
    sandbox.write("taken", "somebody's");
    std::fs::remove_file(sandbox.path("loose")).unwrap();
    assert_eq!(sandbox.files(), before, "nothing is written");
    for writer in WRITERS.into_iter().filter(|writer| writer[1] != "seal") {
        sandbox.write("taken", "somebody's");
        sandbox.ok(&[writer, &["taken", "--force"]].concat());
        assert_ne!(std::fs::read(sandbox.path("taken")).unwrap(), b"somebody's", "{writer:?}");
    }
}

#[test]
fn what_a_command_reads_is_never_replaced() {
    let sandbox = sandbox();
    sandbox.write("mine.json", sandbox.ok(&["profile", "show", "--json"]));
    std::fs::hard_link(sandbox.path("sealed.jsonl"), sandbox.path("same.jsonl")).unwrap();
    let before = sandbox.files();
    let gate = ["gate", "--predictions", "go.jsonl", "--profile", "mine.json", "--record", "--subject", "m=taken"];
    for (arguments, input) in [
        (&["questions", "reveal", "sealed.jsonl", "#1", "-o", "sealed.jsonl"][..], "sealed.jsonl"),
        (&["questions", "reveal", "sealed.jsonl", "#1", "-o", "./same.jsonl"], "sealed.jsonl"),
        (&["prove", "--from", "old", "-o", "old"], "old"),
        (&[&gate[..], &["--report", "go.jsonl"]].concat(), "go.jsonl"),
        (&[&gate[..], &["--json", "mine.json"]].concat(), "mine.json"),
        (&[&gate[..], &["--json", "taken"]].concat(), "taken"),
    ] {
        for force in [&[][..], &["--force"]] {
            let arguments = [arguments, force].concat();
            let run = sandbox.run(&arguments);
            assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{arguments:?}: {}", run.stderr);
            let says = format!("error: this would overwrite {input}, which the command reads\nhint: name another file");
            assert!(run.stderr.starts_with(&says), "{arguments:?}: {}", run.stderr);
        }
    }
    let run = sandbox.run(&["questions", "seal", "q.jsonl", "-o", "q.jsonl"]);
    assert!(run.code == 2 && run.stderr.starts_with("error: this would overwrite q.jsonl, which"), "{}", run.stderr);
    let run = sandbox.run(&["gate", "--predictions", "go.jsonl", "--force"]);
    assert!(run.code == 2 && run.stderr.starts_with("error: --force is for a report that is kept"), "{}", run.stderr);
    let journal = ["--journal", ".ledger/lock"];
    let run = sandbox.run(&[&["evaluate", "--questions", "q.jsonl", "--system", "cat"][..], &journal].concat());
    assert!(run.code == 2 && run.stderr.starts_with("error: .ledger/lock is inside a ledger"), "{}", run.stderr);
    assert_eq!(sandbox.files(), before, "nothing is written");
}

#[test]
fn salts_are_for_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = sandbox();
    let mode = std::fs::metadata(sandbox.path("sealed.jsonl")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn the_demonstration_names_the_folder_that_it_cannot_make() {
    let mut sandbox = Sandbox::new();
    sandbox.env("TMPDIR", "/no/such/place");
    let run = sandbox.run(&["demo"]);
    assert_eq!((run.code, run.stdout.as_str()), (1, ""));
    assert!(run.stderr.starts_with("error: cannot make the folder /no/such/place/proofmark-demo-"), "{}", run.stderr);
    let end =
        "caused by: No such file or directory (os error 2)\nhint: TMPDIR names another place for temporary folders\n";
    assert!(run.stderr.ends_with(end), "{}", run.stderr);
}
