//! `proofmark whoami`, and being asked before signing.

use std::process::Command;

use super::keyring::{PASSPHRASE, ed25519, ended, fingerprint, keygen, refused};
use super::sandbox::Sandbox;
use crate::agent::Agent;
use crate::schema::check;

fn ledger() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.ok(&["init", "--quiet", "--origin", "example.org/evals"]);
    sandbox
}

const NOBODY: &str = "person   nobody\n";

#[test]
fn every_place_of_a_key_is_told_apart() {
    let mut sandbox = ledger();
    let id = fingerprint(&sandbox.home().join(".config/proofmark/id_ed25519"));
    assert_eq!(
        sandbox.ok(&["whoami"]),
        format!(
            "person   tester (root, append, signoff, witness), active key
key      {id} from $SANDBOX/home/.config/proofmark/id_ed25519
ledger   example.org/evals, trust version 1
may      append rounds, comparisons, gate runs, baselines and release decisions
may      sign off GO or NO-GO
may      waive checks
may      withdraw receipts
may      propose trust and agree to it\n"
        )
    );
    let (code, document) = sandbox.json(&["whoami"]);
    check(&document);
    assert_eq!((code, &document["may"].as_array().unwrap().len()), (0, &5));

    let ci = ed25519(&sandbox, "ci");
    let ci_id = fingerprint(&ci);
    sandbox.ok(&["trust", "add", "CI", "ci.pub", "--role", "append", "--quiet"]);
    keygen(&sandbox, "locked", &["-t", "ed25519", "-N", PASSPHRASE]);
    let agent = Agent::start();
    agent.add(&["-q"], &ci);
    sandbox.env("SSH_AUTH_SOCK", agent.socket.to_str().unwrap());
    let may = "ledger   example.org/evals, trust version 2
may      append rounds, comparisons, gate runs, baselines and release decisions
may      withdraw receipts\n";
    let said = |place: &str| format!("person   CI (append), active key\nkey      {ci_id} from {place}\n{may}");
    assert_eq!(sandbox.ok(&["whoami", "--key", "ci"]), said("ci"));
    assert_eq!(sandbox.ok(&["whoami", "--agent"]), said("ssh-agent"));
    sandbox.env("PROOFMARK_KEY", &std::fs::read_to_string(&ci).unwrap());
    assert_eq!(sandbox.ok(&["whoami"]), said("PROOFMARK_KEY"));
    refused(
        &sandbox,
        &["whoami", "--key", "locked"],
        2,
        "error: `locked` is encrypted, and there is no terminal to ask for its passphrase
hint: set PROOFMARK_PASSPHRASE, or load the key into ssh-agent with `ssh-add` and say `--agent`\n",
    );
    sandbox.env("PROOFMARK_PASSPHRASE", PASSPHRASE);
    let run = sandbox.run(&["whoami", "--key", "locked"]);
    assert_eq!(run.code, 3);
    assert!(run.stdout.starts_with(NOBODY) && run.stdout.contains("\nmay not  key SHA256:"), "{}", run.stdout);
    let (code, document) = sandbox.json(&["whoami", "--key", "locked"]);
    check(&document);
    assert_eq!((code, &document["person"]), (3, &serde_json::Value::Null));
}

#[test]
fn a_retired_key_may_do_nothing_and_is_told_so() {
    let sandbox = ledger();
    ed25519(&sandbox, "ci");
    sandbox.ok(&["trust", "add", "CI", "ci.pub", "--role", "append", "--quiet"]);
    sandbox.ok(&["trust", "retire", "CI", "--quiet"]);
    let run = sandbox.run(&["whoami", "--key", "ci"]);
    assert_eq!(run.code, 3);
    assert!(run.stdout.starts_with("person   CI (append), retired key\n"), "{}", run.stdout);
    assert!(run.stdout.contains("has it as retired; sign with an active key of CI"), "{}", run.stdout);
    let shown = sandbox.ok(&["key", "show", "ci.pub"]);
    assert!(shown.contains("retired key of CI (append), trust version 3"), "{shown}");
}

#[test]
fn without_key_or_ledger_there_is_nobody_to_name() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["whoami"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.starts_with("error: there is no `.ledger` in "), "{}", run.stderr);
    let sandbox = ledger();
    std::fs::remove_file(sandbox.home().join(".config/proofmark/id_ed25519")).unwrap();
    let run = sandbox.run(&["whoami"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.starts_with("error: there is no key to sign with"), "{}", run.stderr);
}

/// Runs on a terminal that answers. util-linux's `script` makes one.
fn on_a_terminal(sandbox: &Sandbox, arguments: &str, answer: &str) -> super::sandbox::Run {
    let program = env!("CARGO_BIN_EXE_proofmark");
    let answer_file = sandbox.write("answer", answer);
    let line = format!("script -qec '{program} {arguments}' /dev/null < '{}'", answer_file.display());
    let mut command = Command::new("sh");
    let own = sandbox.command::<&str>(&[]);
    command.arg("-c").arg(line).current_dir(sandbox.work()).env_clear();
    command.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
    ended(&mut command)
}

#[test]
fn a_terminal_is_asked_before_anything_is_stored() {
    let sandbox = ledger();
    let size = || sandbox.json(&["trust", "show"]).1["size"].as_u64().unwrap();
    let no = on_a_terminal(&sandbox, "trust rule maxLooks 3", "n\n");
    assert_eq!((no.code, size()), (2, 1), "{no:?}");
    for line in [
        "signing a trust receipt: version 2: rule maxLooks: off becomes 3\r\n  as tester with key SHA256:",
        "in the ledger example.org/evals\r\nsign it? [y/N] ",
        "error: not signed; nothing was written\r\nhint: answer `y`, or say `--yes`",
    ] {
        assert!(no.stdout.contains(line), "{line}\n{}", no.stdout);
    }
    let yes = on_a_terminal(&sandbox, "trust rule maxLooks 3", "y\n");
    assert_eq!((yes.code, size()), (0, 2), "{yes:?}");
    assert!(yes.stdout.contains("trust version 2 is in force: receipt 1"), "{}", yes.stdout);
    let unasked = on_a_terminal(&sandbox, "trust rule maxLooks 4 --yes", "");
    assert_eq!((unasked.code, size()), (0, 3), "{unasked:?}");
    assert!(!unasked.stdout.contains("sign it?"), "{}", unasked.stdout);
    // What was stored shows that nothing was: an append asks before its evidence is.
    sandbox.write("q.jsonl", "{\"question\":\"?\",\"expected\":\"Paris\"}\n");
    sandbox.write("a.jsonl", "{\"reply\":\"Paris\",\"receipt\":{\"status\":\"answered\"}}\n");
    let no = on_a_terminal(&sandbox, "append --questions q.jsonl --answers a.jsonl", "\n");
    assert_eq!((no.code, size()), (2, 3), "{no:?}");
    assert!(
        no.stdout.contains("signing a scorecard receipt: main, quality 1.0000, n 1, recomputed by"),
        "{}",
        no.stdout
    );
    let objects = std::fs::read_dir(sandbox.path(".ledger/objects")).map_or(0, Iterator::count);
    assert_eq!(objects, 0);
    let yes = on_a_terminal(&sandbox, "append --questions q.jsonl --answers a.jsonl", "yes\n");
    assert_eq!((yes.code, size()), (0, 4), "{yes:?}");
}
