//! `proofmark key`: new, show and export, against OpenSSH's and OpenSSL's own programs.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use proofmark::ledger::Ledger;
use proofmark::store::Directory;
use serde_json::Value;

use super::keyring::{PASSPHRASE, chmod, ed25519, fingerprint, keygen, mode, refused, tool, write_private};
use super::sandbox::Sandbox;
use crate::agent::Agent;
use crate::schema;

const INSIDE: &str =
    "hint: move the key out of the ledger's folder, and take it for known to all who have the ledger\n";

/// A path as answered, with the sandbox's own folder back in it.
fn real(sandbox: &Sandbox, path: &Value) -> String {
    let folder = sandbox.work().parent().unwrap().display().to_string();
    path.as_str().unwrap().replace("$SANDBOX", &folder)
}

#[test]
fn a_new_key_is_one_that_openssh_takes() {
    let sandbox = Sandbox::new();
    let text = sandbox.ok(&["key", "new", "--out", "ci", "--comment", "CI of evals"]);
    let path = sandbox.path("ci");
    let id = fingerprint(&path);
    assert_eq!(
        text,
        format!(
            "{id}
kind     ssh-ed25519
place    ci (not encrypted)
comment  CI of evals
public   ci.pub
back up the private key; a lost one cannot be made again\n"
        )
    );
    assert_eq!((mode(&path), mode(&sandbox.path("ci.pub"))), (0o600, 0o644));
    let line = fs::read_to_string(sandbox.path("ci.pub")).unwrap();
    assert_eq!(tool(Command::new("ssh-keygen").args(["-y", "-P", "", "-f"]).arg(&path)), line);
    assert!(line.ends_with(" CI of evals\n"));

    let (code, document) = sandbox.json(&["key", "new"]);
    schema::check(&document);
    assert_eq!((code, document["comment"].as_str()), (0, Some("tester")));
    let identity = sandbox.home().join(".config/proofmark/id_ed25519");
    assert_eq!(document["fingerprint"], fingerprint(&identity));
    let (_, made) = sandbox.json(&["init"]);
    assert_eq!(made["keys"]["identityCreated"], false);
    assert_eq!(made["persons"][0]["keys"][0], document["fingerprint"]);
}

#[test]
fn no_file_is_ever_replaced_and_no_key_made_inside_a_ledger() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["init"]);
    sandbox.write("private", "mine");
    sandbox.write("public.pub", "mine");
    // Beside the working folder, whose files are read to see that nothing changed.
    symlink("nowhere", sandbox.path("../dangling")).unwrap();
    for (out, taken) in [("private", "private"), ("public", "public.pub"), ("../dangling", "../dangling")] {
        let message = format!(
            "error: `{taken}` exists, and keys are never overwritten\nhint: choose another place, or move the file away\n"
        );
        refused(&sandbox, &["key", "new", "--out", out], 2, &message);
    }
    assert!(!sandbox.path("../nowhere").exists());
    let run = sandbox.run(&["key", "new"]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    for out in [".ledger/key", ".ledger/new/key", "sub/../.ledger/key"] {
        let message = format!("error: `{out}` is inside a ledger, and private keys never are\n{INSIDE}");
        refused(&sandbox, &["key", "new", "--out", out], 2, &message);
    }
    refused(
        &sandbox,
        &["key", "new", "--out", "ok", "--comment", "two\nlines"],
        2,
        "error: a key comment is one line of at most 256 bytes without control characters\n",
    );
    refused(
        &sandbox,
        &["key", "new", "--out", "ok", "--passphrase"],
        2,
        "error: there is no terminal to ask for a passphrase\nhint: set PROOFMARK_PASSPHRASE, or leave out `--passphrase`\n",
    );
}

#[test]
fn an_encrypted_key_is_shown_and_exported_without_its_passphrase() {
    let mut sandbox = Sandbox::new();
    sandbox.env("PROOFMARK_PASSPHRASE", PASSPHRASE);
    let (_, document) = sandbox.json(&["key", "new", "--out", "locked"]);
    assert_eq!(document["encrypted"], true);
    sandbox.env("PROOFMARK_PASSPHRASE", "");
    let id = fingerprint(&sandbox.path("locked"));
    assert_eq!(
        sandbox.ok(&["key", "show", "locked"]),
        format!("{id}\nkind     ssh-ed25519\nplace    locked (encrypted)\n")
    );
    let line = fs::read_to_string(sandbox.path("locked.pub")).unwrap();
    assert_eq!(sandbox.ok(&["key", "export", "locked"]), line.replace(" tester", ""));
}

#[test]
fn a_key_is_shown_with_what_it_may_do_here() {
    let mut sandbox = Sandbox::new();
    refused(
        &sandbox,
        &["key", "show"],
        2,
        "error: there is no key to sign with: `$SANDBOX/home/.config/proofmark/id_ed25519` does not exist
hint: `proofmark init` or `proofmark key new` makes one; `--key FILE`, `--agent` and PROOFMARK_KEY name one\n",
    );
    let (_, made) = sandbox.json(&["init", "--person", "ann"]);
    let origin = made["origin"].as_str().unwrap();
    let id = made["persons"][0]["keys"][0].as_str().unwrap();
    let ledger = format!("ledger   {origin}: active key of ann (root, append, signoff, witness), trust version 1\n");
    assert_eq!(
        sandbox.ok(&["key", "show"]),
        format!(
            "{id}\nkind     ssh-ed25519\nplace    $SANDBOX/home/.config/proofmark/id_ed25519 (not encrypted)\n{ledger}"
        )
    );
    let (_, document) = sandbox.json(&["key", "show"]);
    schema::check(&document);
    assert_eq!(document["ledger"]["person"], "ann");

    let bob = ed25519(&sandbox, "bob");
    let bob_id = fingerprint(&bob);
    let nobody = format!("ledger   {origin}: nobody's key, trust version 1\n");
    let kind = "kind     ssh-ed25519\n";
    assert_eq!(
        sandbox.ok(&["key", "show", "bob.pub"]),
        format!("{bob_id}\n{kind}place    bob.pub\ncomment  bob\n{nobody}")
    );
    sandbox.env("PROOFMARK_KEY", &fs::read_to_string(&bob).unwrap());
    assert_eq!(
        sandbox.ok(&["key", "show"]),
        format!("{bob_id}\n{kind}place    PROOFMARK_KEY (not encrypted)\n{nobody}")
    );
    let agent = Agent::start();
    agent.add(&["-q"], &bob);
    sandbox.env("SSH_AUTH_SOCK", agent.socket.to_str().unwrap());
    assert_eq!(
        sandbox.ok(&["key", "show", "--agent"]),
        format!("{bob_id}\n{kind}place    ssh-agent\ncomment  bob\n{nobody}")
    );
    refused(
        &sandbox,
        &["key", "show", "--ledger", "nowhere"],
        2,
        "error: there is no ledger here\nhint: `proofmark init` makes one; `--ledger DIR` names one elsewhere\n",
    );
    keygen(&sandbox, "rsa", &["-t", "rsa", "-b", "1024", "-N", ""]);
    let cause = "caused by: this is a key of kind `ssh-rsa`; only plain Ed25519 keys (`ssh-ed25519`) are used: make one with `ssh-keygen -t ed25519`";
    for file in ["rsa", "rsa.pub"] {
        refused(&sandbox, &["key", "show", file], 2, &format!("error: cannot use `{file}`\n{cause}\n"));
    }
}

#[test]
fn the_log_key_is_found_or_it_is_said_what_is_missing() {
    let mut sandbox = Sandbox::new();
    let (_, made) = sandbox.json(&["init"]);
    let vkey = made["logKey"].as_str().unwrap().to_owned();
    let file = real(&sandbox, &made["keys"]["logKey"]);
    let shown = sandbox.ok(&["key", "show", "--log"]);
    let origin = made["origin"].as_str().unwrap();
    assert!(shown.contains("place    $SANDBOX/home/.config/proofmark/log-keys/"), "{shown}");
    assert!(shown.ends_with(&format!("ledger   {origin}: the log's own key\n")), "{shown}");
    let (_, document) = sandbox.json(&["key", "show", "--log"]);
    schema::check(&document);
    assert_eq!(document["fingerprint"], fingerprint(file.as_ref()));

    // Its hash in the name, another key inside.
    let text = fs::read_to_string(&file).unwrap();
    fs::remove_file(&file).unwrap();
    let other = ed25519(&sandbox, "other");
    fs::copy(&other, &file).unwrap();
    let run = sandbox.run(&["key", "show", "--log"]);
    assert_eq!(run.code, 2);
    let neutral = run.stderr.lines().collect::<Vec<_>>();
    assert!(neutral[0].ends_with("` is not this ledger's log key"), "{}", run.stderr);
    assert!(neutral[1].starts_with(&format!("caused by: the log key at hand is {origin}+")), "{}", run.stderr);
    assert!(neutral[1].ends_with(&format!(", and this ledger's log is signed with {vkey}")), "{}", run.stderr);
    // A good key beside the wrong one is found.
    let beside = write_private(&sandbox, "beside", &text);
    fs::rename(beside, format!("{file}-copy")).unwrap();
    sandbox.ok(&["key", "show", "--log"]);
    chmod(format!("{file}-copy").as_ref(), 0o644);
    let run = sandbox.run(&["key", "show", "--log"]);
    assert!(run.code == 2 && run.stderr.contains("open to others than its owner (mode 0644)"), "{}", run.stderr);

    fs::remove_file(&file).unwrap();
    fs::remove_file(format!("{file}-copy")).unwrap();
    let place = file.replace(&sandbox.home().display().to_string(), "$SANDBOX/home");
    refused(
        &sandbox,
        &["key", "show", "--log"],
        2,
        &format!(
            "error: this machine does not hold the ledger's log key, {vkey}
hint: copy it from where the ledger was made to `{place}`, or give it by `--log-key FILE` or PROOFMARK_LOG_KEY\n"
        ),
    );
    sandbox.env("PROOFMARK_LOG_KEY", &fs::read_to_string(&other).unwrap());
    let run = sandbox.run(&["key", "show", "--log"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.starts_with("error: the key in `PROOFMARK_LOG_KEY` is not this ledger's log key\n"));
    sandbox.env("PROOFMARK_LOG_KEY", &text);
    assert!(sandbox.ok(&["key", "show", "--log"]).contains("place    PROOFMARK_LOG_KEY\n"));
}

#[test]
fn exports_are_what_openssh_openssl_and_the_checkpoint_say() {
    let sandbox = Sandbox::new();
    let (_, made) = sandbox.json(&["init"]);
    let identity = sandbox.home().join(".config/proofmark/id_ed25519");
    let line = sandbox.ok(&["key", "export"]);
    let exported = sandbox.write("exported.pub", &line);
    assert_eq!(fingerprint(&exported), fingerprint(&identity));
    let pem = sandbox.write("exported.pem", sandbox.ok(&["key", "export", "--format", "pem"]));
    let read = tool(Command::new("openssl").args(["pkey", "-pubin", "-noout", "-text", "-in"]).arg(&pem));
    let ledger = Ledger::open(Box::new(Directory::new(sandbox.path(".ledger")))).unwrap();
    let key = ledger.log().trust.persons()[0].keys[0].key;
    let digits = |text: &str| text.chars().filter(char::is_ascii_hexdigit).collect::<String>();
    let raw: String = key.raw().iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(digits(read.split("pub:").nth(1).unwrap()).starts_with(&raw), "{read}");

    let log = &ledger.log().key;
    assert_eq!(sandbox.ok(&["key", "export", "--log", "--format", "vkey"]), format!("{log}\n"));
    assert_eq!(made["logKey"], log.to_string());
    let log_line = sandbox.write("log.pub", sandbox.ok(&["key", "export", "--log"]));
    assert_eq!(fingerprint(&log_line), fingerprint(real(&sandbox, &made["keys"]["logKey"]).as_ref()));
    let vkey = sandbox.ok(&["key", "export", "--format", "vkey", "--name", "ann.example.org"]);
    let parsed: proofmark::merkle::VerifierKey = vkey.trim_end().parse().unwrap();
    assert_eq!((parsed.name(), parsed.raw()), ("ann.example.org", key.raw()));

    let mut documents = Vec::new();
    for more in [&["--format", "pem"][..], &["--format", "openssh"], &["--format", "vkey", "--name", "a"], &["--log"]] {
        let arguments = [&["key", "export"], more].concat();
        let (code, document) = sandbox.json(&arguments);
        assert_eq!((code, document["text"].as_str()), (0, Some(sandbox.ok(&arguments).as_str())));
        schema::check(&document);
        documents.push(document);
    }
    assert!(documents.iter().all(|document| !document.to_string().contains("PRIVATE")));
}

#[test]
fn exports_that_make_no_sense_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["key", "new"]);
    refused(
        &sandbox,
        &["key", "export", "--format", "vkey"],
        2,
        "error: a vkey carries a name\nhint: `--name NAME` gives one; `--log` exports the vkey of this ledger's log\n",
    );
    refused(&sandbox, &["key", "export", "--name", "ann"], 2, "error: --name is for `--format vkey`\n");
    refused(
        &sandbox,
        &["key", "export", "--log"],
        2,
        "error: there is no `.ledger` in $SANDBOX/here or above it
hint: `proofmark init` makes one; `--ledger DIR` names one elsewhere\n",
    );
    let run = sandbox.run(&["key", "export", "--format", "vkey", "--name", "two words"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("hint: a name has no space, no `+` and no control character"), "{}", run.stderr);
    for arguments in [["key", "export", "--log", "file"], ["key", "show", "file", "--agent"]] {
        assert_eq!(sandbox.run(&arguments).code, 2);
    }
}
