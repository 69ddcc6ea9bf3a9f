//! The built program in a folder of its own, with its own home and a clock that stands still.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A home, a working folder, and the environment of every run.
pub struct Sandbox {
    folder: TempDir,
    environment: Vec<(String, String)>,
}

/// How a run ended.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Sandbox {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("home")).unwrap();
        std::fs::create_dir(folder.path().join("here")).unwrap();
        Self { folder, environment: Vec::new() }
    }

    /// The folder that commands run in.
    pub fn work(&self) -> PathBuf {
        self.folder.path().join("here")
    }

    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.work().join(name)
    }

    /// Writes a file below the working folder.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Sets a variable for the runs that follow.
    pub fn env(&mut self, name: &str, value: &str) -> &mut Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The command, ready to run.
    pub fn command<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        self.settled(Command::new(env!("CARGO_BIN_EXE_proofmark")), arguments)
    }

    /// The same, to be sent signals: a test runner that was started to ignore them hands that down, and it would be obeyed.
    pub fn interruptible<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = Command::new("env");
        command.args(["--default-signal=HUP,INT,TERM", env!("CARGO_BIN_EXE_proofmark")]);
        self.settled(command, arguments)
    }

    fn settled<S: AsRef<OsStr>>(&self, mut command: Command, arguments: &[S]) -> Command {
        command.args(arguments).current_dir(self.work()).env_clear().stdin(Stdio::null());
        command.env("HOME", self.home()).env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("PROOFMARK_CLOCK", "1796040000").env("USER", "tester").env("NO_COLOR", "1");
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    pub fn run<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Run {
        let output = self.command(arguments).output().unwrap();
        let text = |bytes: Vec<u8>| self.neutral(&String::from_utf8(bytes).unwrap());
        Run { code: output.status.code().unwrap_or(-1), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// Runs and expects exit 0; returns stdout.
    pub fn ok<S: AsRef<OsStr>>(&self, arguments: &[S]) -> String {
        let run = self.run(arguments);
        assert_eq!(run.code, 0, "stdout:\n{}\nstderr:\n{}", run.stdout, run.stderr);
        run.stdout
    }

    /// Runs with `--json` and returns exit code and document.
    pub fn json(&self, arguments: &[&str]) -> (i32, serde_json::Value) {
        let arguments: Vec<_> = arguments.iter().copied().chain(["--json"]).collect();
        let run = self.run(&arguments);
        let document = serde_json::from_str(&run.stdout);
        (run.code, document.unwrap_or_else(|error| panic!("{error}\nstdout:\n{}\nstderr:\n{}", run.stdout, run.stderr)))
    }

    /// Replaces the sandbox's own folder by `$SANDBOX`.
    pub fn neutral(&self, text: &str) -> String {
        text.replace(&self.folder.path().display().to_string(), "$SANDBOX")
    }

    /// Every file below the working folder with its bytes: for "nothing was written".
    pub fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        collect(&self.work(), &mut found);
        found.sort();
        found
    }
}

fn collect(folder: &Path, found: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
        } else {
            found.push((path.clone(), std::fs::read(&path).unwrap()));
        }
    }
}
