//! A ledger on disk with two persons who sign off, a CI key that appends, and an evaluator who may do both; and their keys
//! beside it.

use std::os::unix::fs::PermissionsExt;

use proofmark::receipt::ReceiptRef;
use proofmark::store::Directory;
use proofmark::trust::Signer;

use super::sandbox::{Run, Sandbox};
use crate::forger::{Told, parts};
use crate::keys::{log, person, text};
use crate::trust::{Parts, ann, ann_too, bob, eve, sam};

/// The sandbox. The gate run that is to be released, by CI, is #1.
pub struct Office {
    pub sandbox: Sandbox,
}

impl Office {
    /// Two GOs are asked for; a gate run by CI waits.
    pub fn new() -> Self {
        Self::under(parts(2), |_, _| {})
    }

    pub fn under(parts: Parts, tell: impl FnOnce(&mut Told, ReceiptRef)) -> Self {
        let mut told = Told::under(parts);
        let gate = told.gate(&person());
        tell(&mut told, gate);
        let mut sandbox = Sandbox::new();
        told.story.forge.write_to(&Directory::new(sandbox.path(".ledger")), &log());
        let keys =
            [("ci", person()), ("ann", ann()), ("ann2", ann_too()), ("bob", bob()), ("sam", sam()), ("eve", eve())];
        for (name, key) in keys {
            let file = sandbox.write(&format!("{name}.key"), text(&key, name));
            std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600)).unwrap();
            sandbox.write(&format!("{name}.pub"), key.public().to_openssh());
        }
        sandbox.env("PROOFMARK_LOG_KEY", &text(&log(), "log"));
        Self { sandbox }
    }

    /// Runs a command with somebody's key.
    pub fn run(&self, who: &str, arguments: &[&str]) -> Run {
        let key = format!("{who}.key");
        let arguments: Vec<_> = arguments.iter().copied().chain(["--key", key.as_str()]).collect();
        self.sandbox.run(&arguments)
    }

    /// Runs and expects exit 0; returns stdout.
    pub fn ok(&self, who: &str, arguments: &[&str]) -> String {
        let run = self.run(who, arguments);
        assert_eq!(run.code, 0, "stdout:\n{}\nstderr:\n{}", run.stdout, run.stderr);
        run.stdout
    }

    /// Runs and expects a refusal that says all of this, and that nothing was written.
    pub fn refused(&self, who: &str, arguments: &[&str], says: &[&str]) {
        let before = self.sandbox.files();
        let run = self.run(who, arguments);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{arguments:?}\n{}", run.stderr);
        for part in says {
            assert!(run.stderr.contains(part), "{arguments:?}: {part}\n{}", run.stderr);
        }
        assert!(self.sandbox.files() == before, "{arguments:?}: nothing is written");
    }

    pub fn go(&self, who: &str) -> String {
        self.ok(who, &["signoff", "#1", "--decision", "go", "--reason", "read the report"])
    }
}
