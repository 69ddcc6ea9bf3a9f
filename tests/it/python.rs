//! `docs/python.md` is run: three scripts of ten lines each, and a receipt for each of them.

use std::path::Path;
use std::process::Command;

use crate::cli::endpoint::{Reaction, Server, completion};
use crate::cli::sandbox::Sandbox;
use crate::interop::tools::{Tool, python, ready};

const PAGE: &str = include_str!("../../docs/python.md");

/// A fenced block by its language and name.
fn block(language: &str, name: &str) -> String {
    let fence = format!("```{language} {name}\n");
    let (_, after) = PAGE.split_once(&fence).unwrap_or_else(|| panic!("docs/python.md has {fence}"));
    after.split_once("```\n").unwrap().0.to_owned()
}

/// A sandbox in which `python3` is the interpreter, and finds what it needs.
fn sandbox() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    let bin = sandbox.home().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let script = format!("#!/bin/sh\nPYTHONDONTWRITEBYTECODE=1 exec '{}' \"$@\"\n", python().display());
    let wrapper = bin.join("python3");
    std::fs::write(&wrapper, script).unwrap();
    std::fs::set_permissions(&wrapper, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_proofmark")).parent().unwrap().display().to_string();
    let path = format!("{}:{program}:{}", bin.display(), std::env::var("PATH").unwrap());
    for name in ["mixle_system.py", "train.py", "client.py"] {
        let script = block("python", name);
        let lines = script.lines().filter(|line| !line.trim().is_empty()).count();
        assert!(lines <= 10, "{name} has {lines} lines");
        sandbox.write(name, script);
    }
    run(&sandbox, &path, "setup", &[]);
    (sandbox, path)
}

/// Runs a block of the page; its output.
fn run(sandbox: &Sandbox, path: &str, name: &str, variables: &[(&str, &str)]) -> String {
    let mut shell = Command::new("sh");
    shell.args(["-euc", &block("sh", name)]).current_dir(sandbox.work()).env_clear();
    shell.env("PATH", path).env("HOME", sandbox.home()).env("USER", "you").envs(variables.iter().copied());
    let output = shell.output().unwrap();
    let (said, heard) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{name}: {said}\n{heard}");
    said.into_owned()
}

#[test]
fn three_users_of_python_get_a_receipt_in_ten_lines_each() {
    if !ready("the scripts of docs/python.md", &[Tool::Python]) {
        return;
    }
    let (sandbox, path) = sandbox();
    let mixle = run(&sandbox, &path, "mixle", &[]);
    assert!(mixle.contains("[main ") && mixle.contains("quality 1.0000  grounded 1.0000  cost 2  n 2"), "{mixle}");
    let sklearn = run(&sandbox, &path, "sklearn", &[]);
    assert!(sklearn.contains("[iris ") && sklearn.contains("n 75  recomputed by exact/v1"), "{sklearn}");
    let server = Server::start(|_, _| Reaction::Say(200, "", completion(&"Paris".into())));
    let variables = [("OPENAI_API_KEY", "sk-canary-0123456789"), ("OPENAI_BASE_URL", server.url.as_str())];
    let openai = run(&sandbox, &path, "openai", &variables);
    assert!(openai.contains("[openai ") && openai.contains("quality 0.5000  grounded 1.0000"), "{openai}");
    assert!(server.requests().iter().all(|request| request.headers.contains("Bearer sk-canary-0123456789")));
    let verified = sandbox.ok(&["verify", "--replay"]);
    assert!(verified.contains("no findings"), "{verified}");
}
