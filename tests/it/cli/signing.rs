//! Every command that signs, with every kind of key: one with a passphrase and one in an agent sign, all others are refused.

use super::keyring::{PASSPHRASE, ed25519, everything, fingerprint, keygen, security_key, write_private};
use super::sandbox::Sandbox;
use crate::agent::Agent;

/// Every command that signs, the `turn`-th time: #2 and #3 are rounds, #4 is a gate run.
fn commands(turn: usize) -> Vec<Vec<String>> {
    let (round, days) = (format!("#{}", 2 + turn), (90 + turn).to_string());
    let name = format!("w{turn}");
    let lines: [&[&str]; 11] = [
        &["append", "--questions", "q.jsonl", "--answers", "a.jsonl"],
        &["evaluate", "--questions", "q.jsonl", "--answers", "a.jsonl"],
        &["bridge", "#2", "--scorer", "exact/v1", "--line", "other"],
        &["compare", "#2", "#3", "--record"],
        &["baseline", "set", &round],
        &["gate", "--predictions", "go.jsonl", "--record"],
        &["waive", &round, "--check", "asserted-card", "--expires", "9d", "--reason", "x"],
        &["signoff", "#4", "--decision", "go", "--reason", "x"],
        &["authorize", "#4", "--record"],
        &["trust", "rule", "signoffMaxAgeDays", &days],
        &["trust", "add", &name, "spare.pub", "--role", "witness"],
    ];
    let mut lines: Vec<Vec<String>> =
        lines.iter().map(|line| line.iter().map(|word| (*word).to_owned()).collect()).collect();
    // A key belongs to one person.
    lines[10][3] = format!("spare{turn}.pub");
    lines.push(["withdraw", &round, "--reason", "x"].map(str::to_owned).to_vec());
    lines
}

/// A ledger with rounds #2 and #3 and the gate run #4, in which the person Key may do everything with two keys.
fn ledger() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.ok(&["init", "--quiet"]);
    keygen(&sandbox, "locked", &["-t", "ed25519", "-N", PASSPHRASE]);
    for name in ["soft", "spare0", "spare1"] {
        ed25519(&sandbox, name);
    }
    let roles = ["--role", "root", "--role", "append", "--role", "signoff"];
    sandbox.ok(&[&["trust", "add", "Key", "locked.pub", "soft.pub"][..], &roles].concat());
    sandbox.write("q.jsonl", "{\"question\":\"?\",\"expected\":\"Paris\"}\n");
    sandbox.write("a.jsonl", "{\"reply\":\"Paris\",\"receipt\":{\"status\":\"answered\"}}\n");
    sandbox.write("go.jsonl", include_str!("../../../fixtures/gate/go.jsonl"));
    for _ in 0..2 {
        sandbox.ok(&["append", "--questions", "q.jsonl", "--answers", "a.jsonl"]);
    }
    sandbox.ok(&["gate", "--predictions", "go.jsonl", "--record"]);
    sandbox
}

fn size(sandbox: &Sandbox) -> u64 {
    sandbox.json(&["trust", "show"]).1["size"].as_u64().unwrap()
}

#[test]
fn keys_with_a_passphrase_and_in_an_agent_sign_everything() {
    let mut sandbox = ledger();
    let agent = Agent::start();
    agent.add(&["-q"], &sandbox.path("soft"));
    sandbox.env("SSH_AUTH_SOCK", agent.socket.to_str().unwrap()).env("PROOFMARK_PASSPHRASE", PASSPHRASE);
    for (turn, (file, keys)) in [("locked", &["--key", "locked"][..]), ("soft", &["--agent"])].into_iter().enumerate() {
        let by = format!("as Key with key {}", fingerprint(&sandbox.path(file)));
        for command in commands(turn) {
            let before = size(&sandbox);
            let arguments: Vec<_> = command.iter().map(String::as_str).chain(keys.iter().copied()).collect();
            let run = sandbox.run(&arguments);
            assert!(run.code == 0 || run.code == 3, "{arguments:?}: {}", run.stderr);
            assert!(size(&sandbox) > before, "{arguments:?}");
            assert!(run.stderr.contains("signing a") && run.stderr.contains(&by), "{arguments:?}: {}", run.stderr);
        }
    }
    let verified = sandbox.ok(&["verify", "--replay"]);
    assert!(verified.contains("no findings"), "{verified}");
}

#[test]
fn a_passphrase_that_is_missing_or_wrong_signs_nothing() {
    let mut sandbox = ledger();
    for (passphrase, says) in [
        (
            None,
            "error: `locked` is encrypted, and there is no terminal to ask for its passphrase\nhint: set PROOFMARK_PASSPHRASE",
        ),
        (Some("wrong"), "caused by: wrong passphrase for the private key"),
    ] {
        if let Some(passphrase) = passphrase {
            sandbox.env("PROOFMARK_PASSPHRASE", passphrase);
        }
        refused_everywhere(&sandbox, "locked", says);
    }
}

#[test]
fn keys_of_another_kind_sign_nothing_and_the_reason_is_said() {
    let sandbox = ledger();
    keygen(&sandbox, "rsa", &["-t", "rsa", "-b", "1024", "-N", ""]);
    keygen(&sandbox, "ecdsa", &["-t", "ecdsa", "-N", ""]);
    for kind in ["sk-ssh-ed25519@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com"] {
        write_private(&sandbox, kind, security_key(kind));
    }
    for (file, kind) in [
        ("rsa", "ssh-rsa"),
        ("ecdsa", "ecdsa-sha2-nistp256"),
        ("sk-ssh-ed25519@openssh.com", "sk-ssh-ed25519@openssh.com"),
        ("sk-ecdsa-sha2-nistp256@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com"),
    ] {
        let says = format!("this is a key of kind `{kind}`; only plain Ed25519 keys (`ssh-ed25519`) are used");
        refused_everywhere(&sandbox, file, &says);
    }
}

fn refused_everywhere(sandbox: &Sandbox, key: &str, says: &str) {
    let before = ledger_files(sandbox);
    for command in commands(0) {
        let arguments: Vec<_> = command.iter().map(String::as_str).chain(["--key", key]).collect();
        let run = sandbox.run(&arguments);
        assert_eq!(run.code, 2, "{arguments:?}: {}{}", run.stdout, run.stderr);
        assert!(run.stderr.contains(says), "{arguments:?}: {}", run.stderr);
        assert!(ledger_files(sandbox) == before, "{arguments:?} wrote something");
    }
}

/// Every file of the ledger but its index, which is brought up to date whenever it is read.
fn ledger_files(sandbox: &Sandbox) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut files = everything(sandbox);
    files.retain(|(path, _)| {
        path.to_string_lossy().contains(".ledger/") && !path.to_string_lossy().contains("index.sqlite")
    });
    files
}

/// Whoever reads that something failed must not take it for nothing done.
#[test]
fn a_failure_after_an_append_says_what_was_appended() {
    let office = super::office::Office::new();
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    for (arguments, index) in [
        (&["signoff", "#1", "--decision", "no-go", "--reason", "x", "--key", "bob.key"][..], 2),
        (&["authorize", "#1", "--record", "--key", "ci.key"], 3),
    ] {
        let output = office.sandbox.command(arguments).stdout(full()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        let end = format!(
            "error: No space left on device (os error 28)\nhint: receipt {index} was appended before that, and stands\n"
        );
        assert!(said.ends_with(&end), "{said}");
    }
    let output = office.sandbox.command(&["status"]).stdout(full()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.as_str()), (Some(1), "error: No space left on device (os error 28)\n"));
    assert_eq!(office.sandbox.ok(&["log", "--oneline"]).lines().count(), 4);
}
