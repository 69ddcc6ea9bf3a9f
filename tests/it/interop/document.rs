//! `docs/interop.md` is run: its commands, one after the other, over a ledger that the program made.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use super::tools::{Tool, helper, outcome, ready, target};
use crate::cli::sandbox::Sandbox;

const DOCUMENT: &str = include_str!("../../../docs/interop.md");

/// The commands of every block that is fenced as `sh interop`.
fn commands() -> Vec<String> {
    let (mut found, mut open) = (Vec::new(), None::<String>);
    for line in DOCUMENT.lines() {
        match (&mut open, line) {
            (None, "```sh interop") => open = Some(String::new()),
            (Some(_), "```") => found.extend(open.take()),
            (Some(block), line) => *block += &format!("{line}\n"),
            (None, _) => {}
        }
    }
    assert!(open.is_none());
    found
}

/// A ledger with evidence that is kept raw, and some that is compressed.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("questions.jsonl", "{\"question\":\"2+2?\",\"expected\":\"4\"}\n");
    sandbox.write("answers.jsonl", "{\"reply\":\"4\",\"receipt\":{\"status\":\"answered\"}}\n");
    sandbox.write("run.log", "epoch 1 loss 0.5\n".repeat(10_000));
    sandbox.ok(&["init", "--person", "ann"]);
    let round = ["append", "--questions", "questions.jsonl", "--answers", "answers.jsonl"];
    sandbox.ok(&round);
    sandbox.ok(&[&round[..], &["--evidence", "log=run.log"]].concat());
    sandbox
}

fn run(sandbox: &Sandbox, script: &str) -> Output {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    // The document has the target folder where cargo puts it if nobody says otherwise.
    let script = script.replace("\"$REPOSITORY/target/", &format!("\"{}/", target().display()));
    let mut bash = Command::new("bash");
    bash.args(["-euo", "pipefail", "-c", &script]).current_dir(sandbox.work()).env("HOME", sandbox.home());
    outcome(bash.env("REPOSITORY", repository).env("GOCACHE", target().join("interop-go")))
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn the_commands_of_the_document_verify_a_ledger_and_refuse_a_changed_one() {
    let programs = ["openssl", "b3sum", "sha256sum", "zstd", "jq", "ssh-keygen", "bash"].map(Tool::Program);
    if !ready("the commands of docs/interop.md", &[&programs[..], &[Tool::Go, Tool::Python, Tool::Node]].concat()) {
        return;
    }
    assert!(helper("install").is_file());
    let (sandbox, commands) = (sandbox(), commands());
    let all = run(&sandbox, &commands.concat());
    let printed = said(&all);
    assert!(all.status.success(), "{printed}");
    for (times, wanted) in [(1, "Signature Verified Successfully"), (6, "object: OK"), (1, "\"Size\":3,\"Entries\":3")]
    {
        assert_eq!(printed.matches(wanted).count(), times, "{wanted}\n{printed}");
    }
    let receipts = printed.matches("\"verified\": true").count() + printed.matches("\"verified\":true").count();
    assert_eq!(receipts, 2, "{printed}");
    let pem = sandbox.ok(&["key", "export", "--format", "pem"]);
    assert_eq!(fs::read_to_string(sandbox.path("pub.pem")).unwrap(), pem);

    let block = |text: &str| commands.iter().find(|block| block.contains(text)).unwrap().as_str();
    let openssl = block("openssl pkeyutl").lines().last().unwrap();
    flip(&sandbox.path("pae.bin"));
    let refused = run(&sandbox, openssl);
    assert!(!refused.status.success() && said(&refused).contains("Signature Verification Failure"), "{refused:?}");
    for object in changed_objects(&sandbox) {
        let bytes = fs::read(&object).unwrap();
        flip(&object);
        let refused = run(&sandbox, block("b3sum --check"));
        assert!(!refused.status.success(), "{}: {}", object.display(), said(&refused));
        fs::write(&object, bytes).unwrap();
    }
    assert!(run(&sandbox, block("b3sum --check")).status.success());
}

fn flip(file: &Path) {
    let mut bytes = fs::read(file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(file, bytes).unwrap();
}

/// Every object of the ledger: two raw ones and a compressed one.
fn changed_objects(sandbox: &Sandbox) -> Vec<std::path::PathBuf> {
    let files: Vec<_> = sandbox.files().into_iter().map(|(path, _)| path).collect();
    let objects: Vec<_> = files.into_iter().filter(|path| path.starts_with(sandbox.path(".ledger/objects"))).collect();
    assert_eq!(objects.len(), 3, "{objects:?}");
    assert_eq!(objects.iter().filter(|path| path.extension().is_some()).count(), 1, "{objects:?}");
    objects
}
