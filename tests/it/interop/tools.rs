//! Where the foreign tools are, and what happens where one is missing.

use std::env;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// With `1` in it, as in `.ci/run`, a check whose tools are missing fails. Else it is skipped, and that is announced.
pub const REQUIRE: &str = "PROOFMARK_REQUIRE_INTEROP";

const REQUIREMENTS: &str = include_str!("../../interop/requirements.txt");
const LOCK: &str = include_str!("../../interop/package-lock.json");

/// Something that a check runs.
#[derive(Debug, Clone, Copy)]
pub enum Tool {
    /// A program in `PATH`.
    Program(&'static str),
    /// Go with `golang.org/x/mod/sumdb`.
    Go,
    /// Python with what `tests/interop/requirements.txt` lists, at those versions.
    Python,
    /// Node with what `tests/interop/package-lock.json` lists, at those versions.
    Node,
}

impl Tool {
    /// What is missing, if it is.
    fn missing(self) -> Option<String> {
        let program = match self {
            Self::Program(name) => name,
            Self::Go => "go",
            Self::Python => "python3",
            Self::Node => "node",
        };
        let complete = match self {
            Self::Program(_) => true,
            Self::Go => Path::new("/usr/share/gocode/src/golang.org/x/mod/sumdb/tlog").is_dir(),
            Self::Python => is_complete(&target().join("interop-venv/requirements.txt"), REQUIREMENTS),
            Self::Node => is_complete(&target().join("interop-node/package-lock.json"), LOCK),
        };
        if !is_in_path(program) {
            return Some(format!("`{program}` is not installed"));
        }
        (!complete).then(|| format!("the libraries for `{program}` are not installed at the pinned versions"))
    }
}

fn is_in_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// The installer writes this copy last.
fn is_complete(copy: &Path, wanted: &str) -> bool {
    fs::read_to_string(copy).is_ok_and(|found| found == wanted)
}

/// Whether a check can run. Where a tool is missing it says that it is skipped, or, if so wished, fails.
pub fn ready(check: &str, tools: &[Tool]) -> bool {
    let missing: Vec<_> = tools.iter().filter_map(|tool| tool.missing()).collect();
    if missing.is_empty() {
        return true;
    }
    let missing = missing.join(", ");
    let required = env::var_os(REQUIRE).is_some_and(|value| value == "1");
    assert!(!required, "{check}: {missing}; run tests/interop/install");
    // Not by `eprintln!`, which the test runner would keep to itself.
    let announced = format!("\nSKIPPED {check}: {missing}; run tests/interop/install\n");
    io::stderr().write_all(announced.as_bytes()).unwrap();
    false
}

/// The folder that cargo builds in, where the installer puts libraries.
pub fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().to_owned()
}

/// A file of `tests/interop`.
pub fn helper(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop").join(name)
}

/// Python with the pinned packages.
pub fn python() -> PathBuf {
    target().join("interop-venv/bin/python")
}

/// The folder of the pinned JavaScript packages.
pub fn node_modules() -> PathBuf {
    target().join("interop-node/node_modules")
}

/// Runs to the end, whatever that is.
pub fn outcome(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Runs, expects success, and returns stdout.
pub fn stdout(command: &mut Command) -> String {
    let output = outcome(command);
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{stdout}\n{stderr}", output.status);
    stdout.into_owned()
}
