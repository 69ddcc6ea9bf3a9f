//! `proofmark init`: what it makes, what it says, what it refuses, and that it changes nothing twice.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use proofmark::ledger::Ledger;
use proofmark::store::Directory;

use super::keyring::{
    PASSPHRASE, chmod, ed25519, ended, everything, fingerprint, keygen, mode, refused, security_key, tool,
    write_private,
};
use super::sandbox::Sandbox;
use crate::agent::Agent;
use crate::schema;

fn config(sandbox: &Sandbox) -> PathBuf {
    sandbox.home().join(".config/proofmark")
}

fn ledger(folder: &Path) -> Ledger {
    Ledger::open(Box::new(Directory::new(folder))).unwrap()
}

fn log_key_file(sandbox: &Sandbox) -> PathBuf {
    let found: Vec<_> = fs::read_dir(config(sandbox).join("log-keys")).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

#[test]
fn a_folder_gets_a_ledger_and_a_home_its_keys() {
    let sandbox = Sandbox::new();
    let shown = sandbox.ok(&["init"]);
    let made = ledger(&sandbox.path(".ledger"));
    let (log, identity, log_file) = (made.log(), config(&sandbox).join("id_ed25519"), log_key_file(&sandbox));
    let log_name = log_file.file_name().unwrap().to_str().unwrap();
    let (genesis, origin, key) = (log.genesis, log.origin(), &log.key);
    let id = fingerprint(&identity);
    assert_eq!(
        shown,
        format!(
            "made a ledger: $SANDBOX/here/.ledger
  origin   {origin}
  genesis  {genesis}  (pin this digest; give it to your auditor)
  receipts 1
  person   tester (root, append, signoff, witness)
  key      {id}
  log key  {key}
back up both private keys, outside the ledger; a lost one cannot be made again:
  identity $SANDBOX/home/.config/proofmark/id_ed25519 (new, not encrypted: `ssh-keygen -p -f FILE` sets a passphrase)
  log      $SANDBOX/home/.config/proofmark/log-keys/{log_name} (new)
next: proofmark append --questions q.jsonl --answers a.jsonl
"
        )
    );
    assert_eq!(log_name, format!("{:08x}-{}", key.key_hash(), origin.replace('/', "_")));
    assert_eq!(origin, format!("proofmark.local/{}", hex(&key.raw()[..4])));
    let line = fs::read_to_string(identity.with_extension("pub")).unwrap();
    assert_eq!(line, format!("{} tester\n", log.trust.persons()[0].keys[0].key));
    assert_eq!(tool(Command::new("ssh-keygen").args(["-y", "-P", "", "-f"]).arg(&identity)), line);
    assert_ne!(fingerprint(&log_file), id);
    for (path, expected) in [(&identity, 0o600), (&log_file, 0o600), (&config(&sandbox), 0o700)] {
        assert_eq!(mode(path), expected, "{}", path.display());
    }
    assert_eq!(mode(log_file.parent().unwrap()), 0o700);
    for (path, bytes) in sandbox.files() {
        assert!(!bytes.windows(11).any(|word| word == b"PRIVATE KEY"), "{}", path.display());
    }
    let leftovers = everything(&sandbox).into_iter().filter(|(path, _)| path.to_string_lossy().contains("tmp-"));
    assert_eq!(leftovers.count(), 0);
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_second_run_says_so_and_changes_no_byte() {
    let sandbox = Sandbox::new();
    let (code, first) = sandbox.json(&["init", "--person", "ann", "--origin", "example.org/evals"]);
    assert_eq!((code, first["created"].as_bool()), (0, Some(true)));
    schema::check(&first);
    assert_eq!(first["keys"]["identityEncrypted"], false);
    let before = everything(&sandbox);
    let text = sandbox.ok(&["init"]);
    assert!(text.starts_with("there is a ledger already, nothing was changed: $SANDBOX/here/.ledger\n"), "{text}");
    assert!(text.contains("  origin   example.org/evals\n") && text.contains("  receipts 1\n"), "{text}");
    let (code, again) = sandbox.json(&["init", "--person", "ann", "--origin", "example.org/evals"]);
    assert_eq!((code, again["created"].as_bool()), (0, Some(false)));
    schema::check(&again);
    for member in ["folder", "origin", "genesis", "size", "logKey", "persons"] {
        assert_eq!(again[member], first[member], "{member}");
    }
    assert!(everything(&sandbox) == before);
    refused(
        &sandbox,
        &["init", "--origin", "example.org/other"],
        2,
        "error: the ledger is there already, and its origin is example.org/evals, not example.org/other
hint: an origin never changes; make another ledger in another folder\n",
    );
    refused(
        &sandbox,
        &["init", "--person", "bob"],
        2,
        "error: the ledger is there already, and its trust does not list the person bob
hint: persons are added by `proofmark trust add`\n",
    );
}

#[test]
fn a_second_ledger_takes_the_same_identity_and_a_log_key_of_its_own() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["init"]);
    let (_, second) = sandbox.json(&["init", "--ledger", "other/deep/ledger"]);
    assert_eq!(second["keys"]["identityCreated"], false);
    assert!(second["keys"].get("identityEncrypted").is_none());
    let (one, two) = (ledger(&sandbox.path(".ledger")), ledger(&sandbox.path("other/deep/ledger")));
    assert_eq!(one.log().trust.persons(), two.log().trust.persons());
    assert_ne!(one.log().key.raw(), two.log().key.raw());
    assert_eq!(fs::read_dir(config(&sandbox).join("log-keys")).unwrap().count(), 2);
}

#[test]
fn an_interrupted_run_is_finished_by_the_next() {
    // Stopped after the keys and the configuration, before the checkpoint.
    let sandbox = Sandbox::new();
    sandbox.ok(&["init"]);
    let identity = fs::read(config(&sandbox).join("id_ed25519")).unwrap();
    for gone in ["checkpoint", "lock"] {
        fs::remove_file(sandbox.path(".ledger").join(gone)).unwrap();
    }
    fs::remove_dir_all(sandbox.path(".ledger/tile")).unwrap();
    sandbox.write(".ledger/staging/bundle-0-1", "half");
    let (code, document) = sandbox.json(&["init"]);
    assert_eq!((code, document["created"].as_bool()), (0, Some(true)));
    assert_eq!(fs::read(config(&sandbox).join("id_ed25519")).unwrap(), identity);
    assert_eq!(ledger(&sandbox.path(".ledger")).snapshot().unwrap().size(), 1);

    // Stopped after the checkpoint became authoritative, before it was published.
    let folder = sandbox.path(".ledger");
    let genesis = document["genesis"].clone();
    fs::create_dir_all(folder.join("staging")).unwrap();
    fs::rename(folder.join("tile/entries/000.p/1"), folder.join("staging/bundle-0-1")).unwrap();
    fs::remove_dir_all(folder.join("tile")).unwrap();
    fs::remove_file(folder.join("checkpoint")).unwrap();
    let (code, document) = sandbox.json(&["init"]);
    assert_eq!((code, document["created"].as_bool()), (0, Some(false)));
    assert_eq!(document["genesis"], genesis);
    assert!(folder.join("checkpoint").is_file());
}

#[test]
fn a_place_that_cannot_be_a_ledger_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("file/.ledger", "");
    sandbox.write("full/.ledger/notes.txt", "");
    fs::create_dir_all(sandbox.path("link/target")).unwrap();
    symlink("target", sandbox.path("link/.ledger")).unwrap();
    sandbox.ok(&["init", "--ledger", "whole/.ledger"]);
    sandbox.ok(&["init", "--ledger", "named"]);
    let folder_wanted = "and a ledger is a folder";
    for (place, message) in [
        ("file/.ledger", format!("error: `$SANDBOX/here/file/.ledger` is a file, {folder_wanted}\n")),
        (
            "link/.ledger",
            format!(
                "error: `$SANDBOX/here/link/.ledger` is a symbolic link, {folder_wanted}
hint: say `--ledger DIR` with the folder that it names\n"
            ),
        ),
        (
            "full/.ledger",
            "error: `$SANDBOX/here/full/.ledger` is not empty and no ledger: it has `notes.txt` in it
hint: `--ledger DIR` names the ledger's own folder, such as `.ledger`\n"
                .to_owned(),
        ),
        (
            "whole/.ledger/objects/.ledger",
            "error: `$SANDBOX/here/whole/.ledger/objects/.ledger` is inside the ledger `$SANDBOX/here/whole/.ledger`
hint: make it in a folder of its own\n"
                .to_owned(),
        ),
        (
            "named/sub",
            "error: `$SANDBOX/here/named/sub` is inside the ledger `$SANDBOX/here/named`
hint: make it in a folder of its own\n"
                .to_owned(),
        ),
    ] {
        refused(&sandbox, &["init", "--ledger", place], 2, &message);
    }
}

#[test]
fn names_that_receipt_0_cannot_state_are_refused_before_anything_is_written() {
    let sandbox = Sandbox::new();
    for origin in ["", "two words", "a+b", "quote\"", "line\nfeed", "ä"] {
        let shown = origin.replace('\n', "\\n");
        let message = format!(
            "error: `{shown}` is no origin: an origin has 1 to 255 letters, digits and `-._~/:@`
hint: by custom it is a URL without its scheme, as in `example.org/evals`\n"
        );
        refused(&sandbox, &["init", "--origin", origin], 2, &message);
    }
    for (person, reason) in [
        ("", "has 1 to 64 characters"),
        (" ann", "begins and ends with something else than a space"),
        ("a\u{202e}b", "has printable characters only: no control, no invisible, no space but the plain one"),
    ] {
        let shown = person.replace('\u{202e}', "\\u{202e}");
        let message =
            format!("error: `{shown}` cannot be a person's name: it {reason}\nhint: choose one with `--person NAME`\n");
        refused(&sandbox, &["init", "--person", person], 2, &message);
    }
}

#[test]
fn a_key_that_was_named_signs() {
    let sandbox = Sandbox::new();
    let key = ed25519(&sandbox, "ann");
    symlink(&key, sandbox.path("link")).unwrap();
    let (_, document) = sandbox.json(&["init", "--key", "link", "--person", "ann"]);
    schema::check(&document);
    assert_eq!(document["persons"][0]["keys"][0], fingerprint(&key));
    assert_eq!(document["keys"]["identity"], "link");
    assert!(!config(&sandbox).join("id_ed25519").exists());
}

#[test]
fn every_key_that_cannot_be_used_is_refused_by_what_it_is() {
    let sandbox = Sandbox::new();
    let ann = ed25519(&sandbox, "ann");
    for (name, kind, bits) in [("rsa", "rsa", "1024"), ("ecdsa", "ecdsa", "384")] {
        keygen(&sandbox, name, &["-t", kind, "-b", bits, "-N", ""]);
    }
    keygen(&sandbox, "pem", &["-t", "rsa", "-b", "1024", "-m", "PEM", "-N", ""]);
    for (name, kind) in [("fido", "sk-ssh-ed25519@openssh.com"), ("fido2", "sk-ecdsa-sha2-nistp256@openssh.com")] {
        write_private(&sandbox, name, security_key(kind));
    }
    write_private(&sandbox, "long", "x".repeat((64 << 10) + 1));
    write_private(&sandbox, "binary", [0xff; 40]);
    write_private(&sandbox, "prose", "hello\n");
    let text = fs::read_to_string(&ann).unwrap();
    write_private(&sandbox, "damaged", text.replacen("AAAA", "AAAB", 2));
    fs::copy(&ann, sandbox.path("open")).unwrap();
    chmod(&sandbox.path("open"), 0o640);
    // Beside the working folder, whose files are read to see that nothing changed.
    tool(Command::new("mkfifo").arg(sandbox.path("../fifo")));
    symlink("loop", sandbox.path("../loop")).unwrap();
    fs::create_dir(sandbox.path("folder")).unwrap();
    let kind = |kind: &str| {
        format!(
            "caused by: this is a key of kind `{kind}`; only plain Ed25519 keys (`ssh-ed25519`) are used: make one with `ssh-keygen -t ed25519`\n"
        )
    };
    let text_wanted = |reason: &str| format!("caused by: not an OpenSSH private key: {reason}\n");
    let unusable = |name: &str, cause: String| format!("error: cannot use `{name}`\n{cause}");
    let named = "hint: name the key file itself; `PROOFMARK_KEY` takes a key's text from the environment\n";
    for (name, code, message) in [
        ("none", 1, "error: cannot read `none`\ncaused by: No such file or directory (os error 2)\n".to_owned()),
        (
            "../loop",
            1,
            "error: cannot read `../loop`\ncaused by: Too many levels of symbolic links (os error 40)\n".to_owned(),
        ),
        ("folder", 2, format!("error: `folder` is a folder, and a key file is wanted\n{named}")),
        ("../fifo", 2, format!("error: `../fifo` is not a regular file, and a key file is wanted\n{named}")),
        ("long", 2, "error: `long` is longer than any key (64 KiB)\n".to_owned()),
        ("binary", 2, "error: `binary` is not a key file: it is not text\n".to_owned()),
        ("prose", 2, unusable("prose", text_wanted("it begins with `-----BEGIN OPENSSH PRIVATE KEY-----`"))),
        (
            "ann.pub",
            2,
            unusable("ann.pub", text_wanted("this is a public key; the private one is in the file without `.pub`")),
        ),
        ("rsa", 2, unusable("rsa", kind("ssh-rsa"))),
        ("ecdsa", 2, unusable("ecdsa", kind("ecdsa-sha2-nistp384"))),
        ("fido", 2, unusable("fido", kind("sk-ssh-ed25519@openssh.com"))),
        ("fido2", 2, unusable("fido2", kind("sk-ecdsa-sha2-nistp256@openssh.com"))),
        (
            "pem",
            2,
            unusable(
                "pem",
                text_wanted("a private key in another format; make an OpenSSH one with `ssh-keygen -t ed25519`"),
            ),
        ),
        (
            "open",
            2,
            "error: the private key `open` is open to others than its owner (mode 0640)
hint: `chmod 600 open` closes it; if others may have read it, make a new key instead\n"
                .to_owned(),
        ),
    ] {
        refused(&sandbox, &["init", "--key", name], code, &message);
    }
    let damaged = sandbox.run(&["init", "--key", "damaged"]);
    assert_eq!(damaged.code, 2);
    assert!(damaged.stderr.starts_with("error: cannot use `damaged`\ncaused by: the private key file is damaged"));
}

#[test]
fn a_private_key_inside_a_ledger_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["init", "--ledger", "elsewhere/.ledger"]);
    let key = ed25519(&sandbox, "elsewhere/.ledger/ann");
    symlink(&key, sandbox.path("link")).unwrap();
    fs::create_dir(sandbox.path("named")).unwrap();
    ed25519(&sandbox, "named/ann");
    for (arguments, place) in [
        (["init", "--key", "elsewhere/.ledger/ann", "--ledger", "new"], "elsewhere/.ledger/ann"),
        (["init", "--key", "link", "--ledger", "new"], "link"),
        (["init", "--log-key", "link", "--ledger", "new"], "link"),
    ] {
        let message = format!(
            "error: `{place}` is inside a ledger, and private keys never are
hint: move the key out of the ledger's folder, and take it for known to all who have the ledger\n"
        );
        refused(&sandbox, &arguments, 2, &message);
    }
    let run = sandbox.run(&["init", "--key", "named/ann", "--ledger", "named"]);
    assert_eq!(run.code, 2, "{}", run.stderr);
}

#[test]
fn keys_in_the_environment_need_no_home() {
    let sandbox = Sandbox::new();
    let [person, log] = ["ci", "log"].map(|name| ed25519(&sandbox, name));
    let text = |path: &Path| fs::read_to_string(path).unwrap();
    let run = |variables: &[(&str, &str)], ledger: &str| {
        let mut command = sandbox.command(&["init", "--json", "--ledger", ledger]);
        ended(command.env_remove("HOME").envs(variables.iter().copied()))
    };
    let (key, log_key) = (("PROOFMARK_KEY", text(&person)), ("PROOFMARK_LOG_KEY", text(&log)));
    let (key, log_key) = ((key.0, key.1.as_str()), (log_key.0, log_key.1.as_str()));

    let alone = run(&[key], "one");
    assert_eq!(alone.code, 2);
    assert_eq!(
        alone.stderr,
        "error: there is no home folder where the log key could be
hint: set PROOFMARK_LOG_KEY to the key's text, say `--log-key FILE`, or set HOME or XDG_CONFIG_HOME to an absolute path\n"
    );
    let homeless = run(&[log_key], "one");
    assert_eq!(homeless.code, 1);
    assert_eq!(
        homeless.stderr,
        "error: there is no home folder
hint: set HOME or XDG_CONFIG_HOME to an absolute path, or say `--key FILE`, `--agent` or PROOFMARK_KEY\n"
    );
    let same = run(&[key, ("PROOFMARK_LOG_KEY", key.1)], "one");
    assert_eq!(same.code, 2);
    assert_eq!(
        same.stderr,
        "error: the log key is the person's key: the log has a key of its own
hint: leave the log key out to have one made, or make one with `proofmark key new --out FILE`\n"
    );
    for (value, hint) in [
        ("", "error: PROOFMARK_KEY is set and empty\nhint: give it the text of a private key file, or unset it\n"),
        (
            "/home/ci/key",
            "error: cannot use PROOFMARK_KEY
caused by: not an OpenSSH private key: it begins with `-----BEGIN OPENSSH PRIVATE KEY-----`
hint: PROOFMARK_KEY holds the whole text of a private key file with its line breaks, not a file's name\n",
        ),
    ] {
        let wrong = run(&[log_key, ("PROOFMARK_KEY", value)], "one");
        assert_eq!((wrong.code, wrong.stderr.as_str()), (2, hint));
    }
    assert!(!sandbox.path("one").exists());

    let both = run(&[key, log_key], "one");
    assert_eq!(both.code, 0, "{}", both.stderr);
    let document = serde_json::from_str(&both.stdout).unwrap();
    schema::check(&document);
    assert_eq!(document["keys"]["identity"], "PROOFMARK_KEY");
    assert_eq!(document["keys"]["logKey"], "PROOFMARK_LOG_KEY");
    assert_eq!(document["persons"][0]["keys"][0], fingerprint(&person));
    assert_eq!(fs::read_dir(sandbox.home()).unwrap().count(), 0);
}

#[test]
fn a_passphrase_in_the_environment_locks_the_new_key_and_opens_it() {
    let mut sandbox = Sandbox::new();
    sandbox.env("PROOFMARK_PASSPHRASE", PASSPHRASE);
    let (_, document) = sandbox.json(&["init", "--ledger", "one"]);
    assert_eq!(document["keys"]["identityEncrypted"], true);
    let identity = config(&sandbox).join("id_ed25519");
    tool(Command::new("ssh-keygen").args(["-y", "-P", PASSPHRASE, "-f"]).arg(&identity));
    sandbox.ok(&["init", "--ledger", "two"]);
    sandbox.env("PROOFMARK_PASSPHRASE", "wrong horse");
    let place = "$SANDBOX/home/.config/proofmark/id_ed25519";
    refused(
        &sandbox,
        &["init", "--ledger", "three"],
        2,
        &format!(
            "error: cannot use `{place}`\ncaused by: wrong passphrase for the private key: try again
hint: PROOFMARK_PASSPHRASE is set, and is taken for every key\n"
        ),
    );
    sandbox.env("PROOFMARK_PASSPHRASE", "");
    refused(
        &sandbox,
        &["init", "--ledger", "three"],
        2,
        &format!(
            "error: `{place}` is encrypted, and there is no terminal to ask for its passphrase
hint: set PROOFMARK_PASSPHRASE, or load the key into ssh-agent with `ssh-add` and say `--agent`\n"
        ),
    );
    refused(
        &sandbox,
        &["init", "--ledger", "three", "--passphrase"],
        2,
        &format!(
            "error: --passphrase is for a new key, and there is one: {place}
hint: `ssh-keygen -p -f FILE` sets the passphrase of an existing key\n"
        ),
    );
}

/// Runs on a terminal of its own (script(1) of util-linux), typing these lines.
fn on_a_terminal(sandbox: &Sandbox, arguments: &str, typed: &str) -> (i32, String) {
    let mut command = Command::new("script");
    let program = format!("{} {arguments}", env!("CARGO_BIN_EXE_proofmark"));
    command.args(["-q", "-e", "-c", &program, "/dev/null"]).current_dir(sandbox.work()).env_clear();
    command.env("HOME", sandbox.home()).env("PATH", std::env::var_os("PATH").unwrap()).env("SHELL", "/bin/sh");
    let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = started.unwrap_or_else(|error| panic!("script cannot be run ({error}): install bsdutils"));
    child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.code().unwrap_or(-1), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn on_a_terminal_the_passphrase_is_asked_for() {
    let sandbox = Sandbox::new();
    let (code, shown) = on_a_terminal(&sandbox, "init --passphrase --ledger one", "secret\nother\n");
    assert_eq!(code, 2, "{shown}");
    assert!(shown.contains("error: the two passphrases differ; nothing was written"), "{shown}");
    assert!(!config(&sandbox).exists());
    let (code, shown) = on_a_terminal(&sandbox, "init --passphrase --ledger one", "\n\n");
    assert_eq!(code, 2, "{shown}");
    assert!(shown.contains("error: an empty passphrase encrypts nothing"), "{shown}");
    let (code, shown) = on_a_terminal(&sandbox, "init --passphrase --ledger one", "secret\nsecret\n");
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("Passphrase for the new key: ") && shown.contains("(new, encrypted)"), "{shown}");
    let (code, shown) = on_a_terminal(&sandbox, "init --ledger two", "mistyped\nsecret\n");
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("wrong passphrase"), "{shown}");
    let (code, shown) = on_a_terminal(&sandbox, "init --ledger three", "a\nb\nc\n");
    assert_eq!(code, 2, "{shown}");
    assert!(shown.contains("caused by: wrong passphrase for the private key"), "{shown}");
    assert!(!sandbox.path("three").exists());
}

#[test]
fn a_public_half_without_its_private_key_is_not_replaced() {
    let sandbox = Sandbox::new();
    let folder = config(&sandbox);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("id_ed25519.pub"), "ssh-ed25519 AAAA\n").unwrap();
    refused(
        &sandbox,
        &["init"],
        2,
        "error: `$SANDBOX/home/.config/proofmark/id_ed25519.pub` exists, and keys are never overwritten
hint: if its private key is in ssh-agent say `--agent`, if elsewhere `--key FILE`; else move it away\n",
    );
}

#[test]
fn a_key_in_ssh_agent_signs() {
    let mut sandbox = Sandbox::new();
    refused(
        &sandbox,
        &["init", "--agent"],
        2,
        "error: there is no ssh-agent: SSH_AUTH_SOCK is not set
hint: start one with `eval $(ssh-agent)` and load the key with `ssh-add`, or use `--key FILE`\n",
    );
    sandbox.env("SSH_AUTH_SOCK", "/nonexistent/socket");
    refused(
        &sandbox,
        &["init", "--agent"],
        1,
        "error: cannot reach ssh-agent at `/nonexistent/socket`
caused by: No such file or directory (os error 2)
hint: check that it runs and that SSH_AUTH_SOCK names its socket\n",
    );
    let agent = Agent::start();
    sandbox.env("SSH_AUTH_SOCK", agent.socket.to_str().unwrap());
    let load = "hint: load one with `ssh-add FILE`\n";
    let message = format!("error: ssh-agent holds no Ed25519 key; it holds none at all\n{load}");
    refused(&sandbox, &["init", "--agent"], 2, &message);
    let rsa = keygen(&sandbox, "old", &["-t", "rsa", "-b", "1024", "-N", ""]);
    agent.add(&["-q"], &rsa);
    let rsa_id = fingerprint(&rsa);
    let message = format!("error: ssh-agent holds no Ed25519 key; it holds\n  {rsa_id} old (ssh-rsa)\n{load}");
    refused(&sandbox, &["init", "--agent"], 2, &message);
    let [ann, bob] = ["ann", "bob"].map(|name| ed25519(&sandbox, name));
    agent.add(&["-q"], &ann);
    let (code, document) = sandbox.json(&["init", "--agent", "--ledger", "only"]);
    assert_eq!(code, 0, "{document:#}");
    assert_eq!(document["persons"][0]["keys"][0], fingerprint(&ann));
    assert_eq!(document["keys"]["identity"], "ssh-agent");

    agent.add(&["-q"], &bob);
    let (ann_id, bob_id) = (fingerprint(&ann), fingerprint(&bob));
    refused(
        &sandbox,
        &["init", "--agent"],
        2,
        &format!(
            "error: ssh-agent holds 2 keys that fit\n  {ann_id} ann (ssh-ed25519)\n  {bob_id} bob (ssh-ed25519)
hint: choose one by its fingerprint, `--agent=SHA256:…`, or by its comment\n"
        ),
    );
    let kind = "caused by: this is a key of kind `ssh-rsa`; only plain Ed25519 keys (`ssh-ed25519`) are used: make one with `ssh-keygen -t ed25519`";
    for choice in ["old", &rsa_id] {
        let message = format!("error: cannot use a key in ssh-agent\n{kind}\n");
        refused(&sandbox, &["init", &format!("--agent={choice}")], 2, &message);
    }
    for (choice, ledger, id) in [("bob", "comment", &bob_id), (ann_id.as_str(), "fingerprint", &ann_id)] {
        let (code, document) = sandbox.json(&["init", &format!("--agent={choice}"), "--ledger", ledger]);
        assert_eq!(code, 0, "{document:#}");
        assert_eq!(document["persons"][0]["keys"][0], **id);
    }
    refused(
        &sandbox,
        &["init", &format!("--agent=SHA256:{}", "A".repeat(43))],
        2,
        &format!(
            "error: cannot use a key in ssh-agent
caused by: ssh-agent does not hold key SHA256:{}: load it with `ssh-add`, or see what it holds with `ssh-add -l`\n",
            "A".repeat(43)
        ),
    );
}
