//! `proofmark trust`: every change, what waits for whom, and every refusal.

use std::process::Command;

use proofmark::ledger::{Draft, Ledger, LogSigner, Ratchet};
use proofmark::receipt::{Body, ReceiptRef};
use proofmark::store::Directory;
use proofmark::trust::SecretKey;

use super::keyring::{ed25519, fingerprint, keygen, refused, security_key, tool, write_private};
use super::sandbox::Sandbox;
use crate::keys::{ORIGIN, log, moment, subject, text, tool as program};
use crate::schema::check;
use crate::trust::{Story, ann, bob, eve, go, sam};

/// A ledger of one person, `tester`, with every role and every threshold 1; and keys of others beside it.
fn alone() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.ok(&["init", "--quiet"]);
    ed25519(&sandbox, "bob");
    ed25519(&sandbox, "ci");
    sandbox
}

/// The ledger of a story, where Ann and Bob have to agree, with Ann's key at hand.
fn together(story: &Story) -> Sandbox {
    let mut sandbox = Sandbox::new();
    story.forge.write_to(&Directory::new(sandbox.path(".ledger")), &log());
    sandbox.env("PROOFMARK_LOG_KEY", &text(&log(), "log"));
    act_as(&mut sandbox, &ann());
    sandbox
}

fn act_as(sandbox: &mut Sandbox, key: &SecretKey) {
    sandbox.env("PROOFMARK_KEY", &text(key, "key"));
}

/// What `proofmark signoff` appends.
fn agree(sandbox: &Sandbox, target: ReceiptRef, signer: &SecretKey) {
    append(sandbox, go(target), signer);
}

fn append(sandbox: &Sandbox, body: Body, signer: &SecretKey) {
    let ledger = Ledger::open(Box::new(Directory::new(sandbox.path(".ledger")))).unwrap();
    let subject = subject(&ledger, &body, "it");
    let (recorded_at, tool) = (moment(), program());
    let draft = Draft { subject, evidence: Vec::new(), note: None, recorded_at, tool, body };
    let ratchet = Ratchet::new(sandbox.home().join("other-machine"));
    let log = log();
    ledger.append([Ok(draft)], signer, &LogSigner::new(ORIGIN, &log).unwrap(), &ratchet).unwrap();
}

fn receipt(sandbox: &Sandbox, index: u64) -> ReceiptRef {
    let ledger = Ledger::open(Box::new(Directory::new(sandbox.path(".ledger")))).unwrap();
    let receipt = ledger.snapshot().unwrap().receipt(index).unwrap();
    ReceiptRef { index, receipt: receipt.id() }
}

#[test]
fn one_root_changes_everything_a_version_at_a_time() {
    let sandbox = alone();
    let (bob, ci) = (fingerprint(&sandbox.path("bob")), fingerprint(&sandbox.path("ci")));
    let mut version = 1;
    for arguments in [
        &["add", "Bob", "bob.pub", "--role", "root", "--role", "signoff"][..],
        &["add", "CI", "ci.pub", "--role", "append", "--note", "the runner"],
        &["role", "Bob", "--grant", "witness", "--revoke", "root"],
        &["threshold", "signoff", "2"],
        &["threshold", "signoff", "1"],
        &["threshold", "signoff", "2"],
        &["rule", "appenderMayBeOnlySignoff", "false"],
        &["rule", "recomputedOnly", "true"],
        &["rule", "signoffMaxAgeDays", "90"],
        &["rule", "maxLooks", "5"],
        &["rule", "namesOnlyIdentity", "false"],
        &["rule", "maxLooks", "off"],
        &["retire", &ci],
    ] {
        version += 1;
        let arguments: Vec<_> = ["trust"].iter().chain(arguments).copied().collect();
        let said = sandbox.ok(&arguments);
        assert_eq!(said, format!("trust version {version} is in force: receipt {}\n", version - 1), "{arguments:?}");
        // The same again changes nothing.
        let again = sandbox.run(&arguments);
        let said = format!("trust version {version} is in force; nothing was changed\n");
        assert_eq!((again.code, again.stdout), (0, said), "{arguments:?}");
        assert_eq!(again.stderr, "nothing to change: the trust in force says so already\n");
    }
    let (code, shown) = sandbox.json(&["trust", "show"]);
    check(&shown);
    assert_eq!((code, &shown["version"], &shown["size"]), (0, &14.into(), &14.into()));
    assert_eq!(shown["persons"][1]["roles"], serde_json::json!(["signoff", "witness"]));
    let keys = |person: usize| {
        (
            shown["persons"][person]["keys"][0]["fingerprint"].clone(),
            shown["persons"][person]["keys"][0]["status"].clone(),
        )
    };
    assert_eq!((keys(1), keys(2)), ((bob.into(), "active".into()), (ci.into(), "retired".into())));
    let rules = serde_json::json!({
        "appenderMayBeOnlySignoff": false, "recomputedOnly": true, "signoffMaxAgeDays": 90, "namesOnlyIdentity": false
    });
    assert_eq!((&shown["rules"], &shown["thresholds"]), (&rules, &serde_json::json!({"root": 1, "signoff": 2})));
    let (_, then) = sandbox.json(&["trust", "show", "--at", "1"]);
    check(&then);
    assert_eq!((&then["version"], then["persons"].as_array().unwrap().len()), (&1.into(), 1));
    let (_, change) = sandbox.json(&["trust", "retire", "Bob"]);
    assert_eq!(
        change["error"],
        "trust statement refused: thresholds.signoff: asks for 2 persons; 1 hold the role signoff and an active key"
    );
    let (code, change) = sandbox.json(&["trust", "rule", "maxLooks", "7"]);
    check(&change);
    assert_eq!((code, &change["change"]["inForce"], &change["change"]["index"]), (0, &true.into(), &14.into()));
    assert!(sandbox.ok(&["verify"]).contains("no findings"));
    assert!(sandbox.ok(&["log"]).contains("trust"));
}

#[test]
fn a_compromised_key_stops_counting_and_a_retired_one_stops_signing() {
    let sandbox = alone();
    sandbox.ok(&["trust", "add", "CI", "ci.pub", "bob.pub", "--role", "append"]);
    sandbox.write("q.jsonl", "{\"question\":\"?\",\"expected\":\"Paris\"}\n");
    sandbox.write("a.jsonl", "{\"reply\":\"Paris\",\"receipt\":{\"status\":\"answered\"}}\n");
    let round = |key: &str| sandbox.run(&["append", "--questions", "q.jsonl", "--answers", "a.jsonl", "--key", key]);
    assert_eq!(round("ci").code, 0);
    assert_eq!(round("bob").code, 0);
    sandbox.ok(&["trust", "retire", &fingerprint(&sandbox.path("bob"))]);
    let id = fingerprint(&sandbox.path("bob"));
    let run = round("bob");
    assert_eq!(
        (run.code, run.stderr),
        (
            2,
            format!(
                "error: appending to this ledger is not allowed
caused by: key {id} of CI may not act as append: trust version 3 has it as retired
hint: sign with an active key of CI, or list a new one in a new trust version\n"
            )
        )
    );
    assert!(sandbox.ok(&["verify"]).contains("no findings"), "what it signed before stays good");
    assert_eq!(sandbox.run(&["compare"]).code, 0);
    let shown = sandbox.ok(&["show", "#2"]);
    assert!(shown.contains("CI") && shown.contains("good, under the key that the trust statement lists"), "{shown}");
    sandbox.ok(&["trust", "compromise", "ci.pub"]);
    let verified = sandbox.run(&["verify"]);
    assert_eq!(verified.code, 3);
    assert!(verified.stdout.contains("key-compromised  receipt #2"), "{}", verified.stdout);
    let compared = sandbox.run(&["compare"]);
    assert_eq!(compared.code, 2);
    assert!(compared.stderr.contains("trust version 4 has it as compromised"), "{}", compared.stderr);
    let run = round("ci");
    assert!(run.code == 2 && run.stderr.contains("has it as compromised"), "{}", run.stderr);
}

#[test]
fn two_roots_agree_and_until_then_it_waits() {
    let story = Story::new();
    let mut sandbox = together(&story);
    ed25519(&sandbox, "new");
    let id = fingerprint(&sandbox.path("new"));
    let run = sandbox.run(&["trust", "add", "New", "new.pub", "--role", "append"]);
    let waiting = format!(
        "trust version 2 waits: receipt 1, proposed by Ann
  adds the person New
  adds the active key {id} of New
  gives New the role append
agreed: Ann (1 of 2)
missing: 1 of Bob
next: `proofmark signoff '#1' --decision go --reason TEXT`\n"
    );
    assert_eq!((run.code, &run.stdout), (0, &waiting));
    let key = proofmark::trust::Signer::public(&ann()).fingerprint();
    assert_eq!(
        run.stderr,
        format!(
            "signing a trust receipt: version 2: adds the person New; adds the active key {id} of New; gives New the role append
  as Ann with key {key}, in the ledger {ORIGIN}\n"
        )
    );
    let again = sandbox.run(&["trust", "add", "New", "new.pub", "--role", "append"]);
    assert_eq!((again.code, again.stdout), (0, waiting.clone()));
    assert_eq!(again.stderr, "nothing to propose: receipt 1 proposes just that\n");
    refused(
        &sandbox,
        &["trust", "rule", "maxLooks", "3"],
        2,
        "error: trust version 2 waits for agreement: receipt 1, proposed by Ann
hint: a root agrees with `proofmark signoff '#1' --decision go --reason TEXT`; `--replace` proposes anew, from what is in force and without the changes that wait\n",
    );
    let shown = sandbox.ok(&["trust", "show"]);
    assert!(shown.contains("version    1, receipt 0") && shown.ends_with(&format!("\n{waiting}")), "{shown}");
    let (_, document) = sandbox.json(&["trust", "show"]);
    check(&document);
    act_as(&mut sandbox, &bob());
    assert!(sandbox.ok(&["whoami"]).contains("asked    trust version 2, receipt 1: `proofmark signoff"));
    let (code, document) = sandbox.json(&["whoami"]);
    check(&document);
    assert_eq!((code, &document["asked"][0]["index"]), (0, &1.into()));
    agree(&sandbox, receipt(&sandbox, 1), &bob());
    let (_, document) = sandbox.json(&["trust", "show"]);
    assert_eq!(
        (&document["version"], &document["index"], &document["pending"]),
        (&2.into(), &1.into(), &serde_json::json!([]))
    );
    assert!(sandbox.ok(&["verify"]).contains("no findings"));
}

#[test]
fn a_proposal_is_replaced_only_where_that_is_said() {
    let story = Story::new();
    let mut sandbox = together(&story);
    sandbox.ok(&["trust", "rule", "maxLooks", "3"]);
    let text = sandbox.ok(&["trust", "rule", "maxLooks", "4", "--replace"]);
    assert!(text.starts_with("trust version 2 waits: receipt 2, proposed by Ann\n"), "{text}");
    act_as(&mut sandbox, &bob());
    sandbox.ok(&["trust", "rule", "recomputedOnly", "true", "--replace"]);
    let (_, document) = sandbox.json(&["trust", "show"]);
    check(&document);
    let pending: Vec<_> = document["pending"].as_array().unwrap().iter().map(|one| one["index"].clone()).collect();
    assert_eq!(pending, [2, 3], "Ann's first is void");
    agree(&sandbox, receipt(&sandbox, 2), &bob());
    let (_, document) = sandbox.json(&["trust", "show"]);
    assert_eq!(
        (&document["rules"], &document["pending"]),
        (&serde_json::json!({"maxLooks": 4}), &serde_json::json!([]))
    );
    let verified = sandbox.run(&["verify"]);
    assert_eq!(verified.code, 0);
    assert!(verified.stdout.contains("never came into force and no longer can"), "{}", verified.stdout);
}

#[test]
fn what_cannot_be_is_refused_and_says_why() {
    let sandbox = alone();
    let mine = fingerprint(&sandbox.home().join(".config/proofmark/id_ed25519"));
    sandbox.ok(&["trust", "add", "CI", "ci.pub", "--role", "append", "--quiet"]);
    sandbox.ok(&["trust", "retire", "CI", "--quiet"]);
    let ci = fingerprint(&sandbox.path("ci"));
    let other = "SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    for (arguments, wanted) in [
        (&["add", "Bob"][..], "error: Bob is new, and a person is listed with a key\n".to_owned()),
        (&["add", "Bob", "ci.pub"], format!("error: key {ci} is listed as that of CI, and a key belongs to one person\n")),
        (&["add", "CI", "ci.pub"], format!("error: key {ci} of CI is retired, and never becomes better again: make a new key\n")),
        (&["add", " Bob", "bob.pub"], "error: trust statement refused: persons[2].name: begins and ends with something else than a space\n".to_owned()),
        (&["retire", "Bob"], "error: trust version 3 lists no person `Bob`\nhint: it lists tester, CI\n".to_owned()),
        (&["retire", other], format!("error: trust version 3 lists no key {other}\n")),
        (&["retire", "SHA256:x"], "error: not a key fingerprint (`SHA256:` and 43 base64 characters): `SHA256:x`\n".to_owned()),
        (&["retire", "tester"], "error: trust statement refused: thresholds.root: asks for 1 persons; 0 hold the role root and an active key\n".to_owned()),
        (&["compromise", &mine], "error: trust statement refused: thresholds.root: asks for 1 persons; 0 hold the role root and an active key\n".to_owned()),
        (&["role", "Bob", "--grant", "root"], "error: trust version 3 lists no person `Bob`\nhint: it lists tester, CI\n".to_owned()),
        (&["threshold", "root", "2"], "error: trust statement refused: thresholds.root: asks for 2 persons; 1 hold the role root and an active key\n".to_owned()),
        (&["threshold", "root", "0"], "error: `0` is no threshold: it is a number from 1\nhint: only the threshold of witnesses can be switched off\n".to_owned()),
        (&["threshold", "root", "off"], "error: `off` is no threshold: it is a number from 1\nhint: only the threshold of witnesses can be switched off\n".to_owned()),
        (&["threshold", "signoff", "99999999999"], "error: `99999999999` is more persons than any ledger lists\nhint: `proofmark trust show` says how many hold the role\n".to_owned()),
        (&["threshold", "witness", "1"], "error: no witness cosigns in this version, so their threshold would hold nothing back\nhint: `off` is all that it can be\n".to_owned()),
        (&["threshold", "append", "2"], "error: appending has no threshold: one person appends\nhint: thresholds are those of root, signoff and witness\n".to_owned()),
        (&["rule", "lenient", "true"], "error: there is no rule `lenient`\nhint: rules are appenderMayBeOnlySignoff, recomputedOnly, signoffMaxAgeDays, maxLooks, namesOnlyIdentity\n".to_owned()),
        (&["rule", "recomputedOnly", "yes"], "error: the rule recomputedOnly is true, false or off, not `yes`\n".to_owned()),
        (&["rule", "maxLooks", "0"], "error: the rule maxLooks is a number from 1, or off, not `0`\n".to_owned()),
        (&["show", "--at", "4"], "error: there is no receipt 4: the ledger has 3\n".to_owned()),
        (&["export", "--at", "4"], "error: there is no receipt 4: the ledger has 3\n".to_owned()),
        (&["export", "--namespaces", "a b"], "error: namespaces are printable ASCII without spaces and quotes, joined by commas\n".to_owned()),
    ] {
        let arguments: Vec<_> = ["trust"].iter().chain(arguments).copied().collect();
        refused(&sandbox, &arguments, 2, &wanted);
    }
    for arguments in [&["role", "tester"][..], &["role", "tester", "--grant", "king"], &["threshold", "king", "1"]] {
        let arguments: Vec<_> = ["trust"].iter().chain(arguments).copied().collect();
        let run = sandbox.run(&arguments);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{arguments:?}\n{}", run.stderr);
    }
    let run = sandbox.run(&["trust", "add", "Bob", "nowhere.pub"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.starts_with("error: cannot read `nowhere.pub`\ncaused by: "), "{}", run.stderr);
}

#[test]
fn who_is_no_root_changes_nothing() {
    let mut sandbox = together(&Story::new());
    for (key, said) in [(sam(), "Sam (key "), (eve(), "key SHA256:")] {
        act_as(&mut sandbox, &key);
        let run = sandbox.run(&["trust", "rule", "maxLooks", "3"]);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""));
        assert!(
            run.stderr.contains(&format!("caused by: {said}")) && run.stderr.contains("may not act as root"),
            "{}",
            run.stderr
        );
        assert!(run.stderr.contains("hint: Ann, Bob can do it"), "{}", run.stderr);
    }
    assert!(sandbox.ok(&["trust", "show"]).contains("version    1, receipt 0"));
}

#[test]
fn keys_of_another_kind_are_refused_with_the_reason_wherever_they_come_from() {
    let sandbox = alone();
    keygen(&sandbox, "rsa", &["-t", "rsa", "-b", "1024", "-N", ""]);
    write_private(&sandbox, "fido", security_key("sk-ssh-ed25519@openssh.com"));
    for (file, kind) in [("rsa.pub", "ssh-rsa"), ("rsa", "ssh-rsa"), ("fido", "sk-ssh-ed25519@openssh.com")] {
        let cause = format!(
            "this is a key of kind `{kind}`; only plain Ed25519 keys (`ssh-ed25519`) are used: make one with `ssh-keygen -t ed25519`"
        );
        let message = format!("error: cannot use `{file}`\ncaused by: {cause}\n");
        refused(&sandbox, &["trust", "add", "Bob", file, "--role", "signoff"], 2, &message);
        refused(&sandbox, &["trust", "compromise", file], 2, &message);
        refused(&sandbox, &["whoami", "--key", file], 2, &message_for_signing(&message, file));
    }
    let line = std::fs::read_to_string(sandbox.path("rsa.pub")).unwrap();
    sandbox.write("signers", format!("# ours\nbob {line}"));
    refused(
        &sandbox,
        &["trust", "import", "signers"],
        2,
        "error: signers: refused
caused by: line 2 of the allowed signers: this is a key of kind `ssh-rsa`; only plain Ed25519 keys (`ssh-ed25519`) are used: make one with `ssh-keygen -t ed25519`\n",
    );
}

/// A public key file cannot sign, whatever its kind.
fn message_for_signing(message: &str, file: &str) -> String {
    match file.ends_with(".pub") {
        true => "error: cannot use `rsa.pub`\ncaused by: not an OpenSSH private key: this is a public key; the private one is in the file without `.pub`\n".to_owned(),
        false => message.to_owned(),
    }
}

#[test]
fn allowed_signers_come_and_go_and_openssh_takes_them() {
    let sandbox = alone();
    let line = |name: &str| std::fs::read_to_string(sandbox.path(&format!("{name}.pub"))).unwrap();
    sandbox.write(
        "signers",
        format!("# ours\n\"Bob B\" namespaces=\"file\" {}\nci@example.org {}", line("bob"), line("ci")),
    );
    let said = sandbox.ok(&["trust", "import", "signers", "--role", "signoff"]);
    assert_eq!(said, "trust version 2 is in force: receipt 1\n");
    let exported = sandbox.ok(&["trust", "export", "--namespaces", "file"]);
    assert_eq!(exported.lines().count(), 3);
    let (code, document) = sandbox.json(&["trust", "export"]);
    check(&document);
    assert_eq!((code, &document["version"]), (0, &2.into()));
    sandbox.write("allowed", &exported);
    sandbox.write("message", "GO");
    let (key, message) = (sandbox.path("bob"), sandbox.path("message"));
    tool(Command::new("ssh-keygen").args(["-q", "-Y", "sign", "-n", "file", "-f"]).arg(&key).arg(&message));
    let verified = Command::new("ssh-keygen")
        .args(["-Y", "verify", "-n", "file", "-I", "Bob B", "-f"])
        .arg(sandbox.path("allowed"))
        .arg("-s")
        .arg(sandbox.path("message.sig"))
        .stdin(std::fs::File::open(&message).unwrap())
        .output()
        .unwrap();
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
    // What was exported says nothing new.
    let again = sandbox.run(&["trust", "import", "allowed"]);
    assert_eq!((again.code, again.stderr.as_str()), (0, "nothing to change: the trust in force says so already\n"));
    assert_eq!(sandbox.ok(&["trust", "export", "--at", "1"]).lines().count(), 1, "trust as receipt 1 was judged by");
    sandbox.write("two", format!("ann,bob {}", line("ci")));
    refused(
        &sandbox,
        &["trust", "import", "two"],
        2,
        "error: two: refused
caused by: line 1 of the allowed signers: `ann,bob` is not one person's name: a key belongs to one person, and patterns name many\n",
    );
    sandbox.write("other", format!("ann {}", line("ci")));
    let run = sandbox.run(&["trust", "import", "other"]);
    assert!(run.code == 2 && run.stderr.contains("is listed as that of ci@example.org"), "{}", run.stderr);
    sandbox.write("binary", b"\xff");
    refused(&sandbox, &["trust", "import", "binary"], 2, "error: binary: is not text\n");
    ed25519(&sandbox, "eve");
    sandbox.ok(&["trust", "add", "a*b", "eve.pub", "--role", "witness"]);
    refused(
        &sandbox,
        &["trust", "export"],
        2,
        "error: the name `a*b` cannot be a principal in an allowed signers file: it has one of `,*?!\"\\#`\n",
    );
}

#[test]
fn another_ledger_with_the_same_persons_is_told_apart_by_its_pin() {
    let (here, there) = (together(&Story::new()), {
        let mut other = Story::new();
        other.parts.rules.max_looks = Some(3);
        other.forge = crate::forge::Forge::with_trust(other.parts.statement(), &ann());
        together(&other)
    });
    let genesis = |sandbox: &Sandbox| sandbox.json(&["trust", "show"]).1["genesis"].as_str().unwrap().to_owned();
    let pin = genesis(&here);
    assert_eq!(here.run(&["verify", "--pin", &pin]).code, 0);
    here.ok(&["trust", "rule", "maxLooks", "3"]);
    agree(&here, receipt(&here, 1), &bob());
    assert_eq!(here.run(&["verify", "--pin", &pin]).code, 0, "a later trust version does not change the pin");
    let run = there.run(&["verify", "--pin", &pin]);
    assert_eq!(run.code, 3);
    assert!(run.stdout.contains("pin-differs"), "{}", run.stdout);
}
