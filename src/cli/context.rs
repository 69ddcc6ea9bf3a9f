//! What commands share: where the ledger, the keys and the state are, the time, and where answers go.

use std::cell::{Cell, RefCell};
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::path::{Path, PathBuf};

use proofmark::authorize::When;
use proofmark::ledger::{Appended, Ledger, Ratchet};
use proofmark::receipt::{Moment, Tool};
use proofmark::store::Directory;
use serde::Serialize;

use super::Global;
use super::failure::{Exit, Failure};

/// The variable that stands in for this machine's clock: for tests, and for examples that come out the same every time.
pub const CLOCK: &str = "PROOFMARK_CLOCK";

/// The folder's name.
pub const LEDGER: &str = ".ledger";

/// Whether the answer is a JSON document, and where it goes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum JsonAnswer {
    /// Text for people.
    #[default]
    No,
    /// The document on stdout.
    Stdout,
    /// Text on stdout and the document in a file, where a command has a document to keep.
    File(PathBuf),
}

impl JsonAnswer {
    /// From the plain flag.
    pub fn flag(set: bool) -> Self {
        if set { Self::Stdout } else { Self::No }
    }

    /// From a path, `-` being stdout.
    pub fn path(path: PathBuf) -> Self {
        if path.as_os_str() == "-" { Self::Stdout } else { Self::File(path) }
    }
}

/// What every command is given.
pub struct Context {
    global: Global,
    out: RefCell<BufWriter<Stdout>>,
    /// What this run appended to the ledger.
    appended: RefCell<Vec<u64>>,
    /// The ledger that this run made.
    made: RefCell<Option<String>>,
    /// Whether opening a ledger published again what was lost.
    restored: Cell<bool>,
}

impl Context {
    /// The context of one run.
    pub fn new(global: Global) -> Self {
        Self {
            global,
            out: RefCell::new(BufWriter::new(io::stdout())),
            appended: RefCell::default(),
            made: RefCell::default(),
            restored: Cell::new(false),
        }
    }

    /// Whether the answer is one JSON document.
    pub fn json(&self) -> bool {
        self.global.json == JsonAnswer::Stdout
    }

    /// The file that the JSON document goes to, if one was named.
    pub fn json_file(&self) -> Option<&Path> {
        match &self.global.json {
            JsonAnswer::File(path) => Some(path),
            _ => None,
        }
    }

    /// Whether progress is shown: only to a person.
    pub fn shows_progress(&self) -> bool {
        !self.global.quiet && !self.json() && io::stderr().is_terminal()
    }

    /// Writes text of the answer.
    pub fn print(&self, text: &str) -> Result<(), Failure> {
        Ok(self.out.borrow_mut().write_all(text.as_bytes())?)
    }

    /// Writes bytes of the answer.
    pub fn print_bytes(&self, bytes: &[u8]) -> Result<(), Failure> {
        Ok(self.out.borrow_mut().write_all(bytes)?)
    }

    /// Writes the answer as JSON.
    pub fn print_json(&self, document: &impl Serialize) -> Result<(), Failure> {
        let mut out = self.out.borrow_mut();
        serde_json::to_writer_pretty(&mut *out, document).map_err(io::Error::from)?;
        Ok(out.write_all(b"\n")?)
    }

    /// The answer in one of its two forms.
    pub fn answer(&self, document: &impl Serialize, text: impl FnOnce() -> String) -> Result<(), Failure> {
        if self.json() { self.print_json(document) } else { self.print(&text()) }
    }

    /// Sends off what was written.
    pub fn flush(&self) -> Result<(), Failure> {
        Ok(self.out.borrow_mut().flush()?)
    }

    /// A word to the user beside the answer. Where stderr takes no more there is nobody to tell, and the work goes on.
    pub fn note(&self, text: &str) {
        if !self.global.quiet {
            let _ = writeln!(io::stderr(), "{}", super::failure::printable(text));
        }
    }

    /// Keeps in mind what was appended: if something fails later, that has to be said.
    pub fn remember(&self, appended: &[Appended]) {
        self.appended.borrow_mut().extend(appended.iter().map(|one| one.index));
    }

    /// Keeps in mind that a ledger was made.
    pub fn remember_made(&self, folder: &Path) {
        *self.made.borrow_mut() = Some(folder.display().to_string());
    }

    /// The failure of this run, which names what was made or appended before it: that stands.
    pub fn told(&self, failure: Failure) -> Failure {
        if let Some(folder) = self.made.borrow().as_ref() {
            return failure.after(&format!("the ledger `{folder}` was made before that, and stands"));
        }
        match self.appended.borrow().as_slice() {
            [] => failure,
            [one] => failure.after(&format!("receipt {one} was appended before that, and stands")),
            [first, .., last] => {
                failure.after(&format!("receipts {first} to {last} were appended before that, and stand"))
            }
        }
    }

    /// Reports a failure.
    pub fn report(&self, failure: &Failure) -> Exit {
        if self.json() {
            // One document, also when it is an error. What was buffered before is part of no document.
            let _ = self.print_json(&failure.document());
            let _ = self.flush();
        }
        let _ = writeln!(io::stderr(), "{failure}");
        failure.exit
    }

    /// Wrong usage of a command that was asked for JSON: one document, also then.
    pub fn report_usage(error: &clap::Error) {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        let failure = Failure::refused(first.strip_prefix("error: ").unwrap_or(first).to_owned());
        let mut out = io::stdout().lock();
        let _ = serde_json::to_writer_pretty(&mut out, &failure.hint("see --help").document());
        let _ = out.write_all(b"\n");
    }

    /// Where the ledger is or, for `init`, will be.
    pub fn ledger_folder(&self) -> Result<PathBuf, Failure> {
        if let Some(folder) = &self.global.ledger {
            return Ok(folder.clone());
        }
        let here = std::env::current_dir()?;
        let found = here.ancestors().map(|folder| folder.join(LEDGER)).find(|folder| folder.is_dir());
        found.ok_or_else(|| {
            Failure::refused(format!("there is no `{LEDGER}` in {} or above it", here.display()))
                .hint("`proofmark init` makes one; `--ledger DIR` names one elsewhere")
        })
    }

    /// The ledger folder that was asked for by name, if any.
    pub fn named_ledger(&self) -> Option<&Path> {
        self.global.ledger.as_deref()
    }

    /// Opens the ledger.
    pub fn ledger(&self) -> Result<Ledger, Failure> {
        let folder = self.ledger_folder()?;
        let ledger = Ledger::open(Box::new(Directory::new(folder)))?;
        if ledger.was_restored() {
            self.restored.set(true);
            self.note(
                "note: the published checkpoint was lost; it was published again from what the last writer committed",
            );
        }
        Ok(ledger)
    }

    /// Whether a ledger that was opened published again what was lost.
    pub fn restored(&self) -> bool {
        self.restored.get()
    }

    /// The user's configuration folder (`$XDG_CONFIG_HOME/proofmark`, else `~/.config/proofmark`): keys.
    pub fn config_folder(&self) -> Result<PathBuf, Failure> {
        user_folder("XDG_CONFIG_HOME", ".config")
    }

    /// The user's state folder (`$XDG_STATE_HOME/proofmark`, else `~/.local/state/proofmark`): what was seen of logs.
    pub fn state_folder(&self) -> Result<PathBuf, Failure> {
        user_folder("XDG_STATE_HOME", ".local/state")
    }

    /// What this machine saw of logs.
    pub fn ratchet(&self) -> Result<Ratchet, Failure> {
        Ok(Ratchet::new(self.state_folder()?.join("seen")))
    }

    /// When receipts of what was measured say that they were recorded: `SOURCE_DATE_EPOCH` (reproducible-builds.org), else the
    /// clock. Nothing is decided by it.
    pub fn recorded_at(&self) -> Result<Moment, Failure> {
        match variable("SOURCE_DATE_EPOCH")? {
            Some(set) => Ok(set),
            None => Ok(self.clock()?.now()),
        }
    }

    /// The clock by which is decided what has expired, to the second. A build environment that sets `SOURCE_DATE_EPOCH` does not
    /// move it; [`CLOCK`] does, and whoever shows a decision says so.
    pub fn clock(&self) -> Result<When, Failure> {
        if let Some(set) = variable(CLOCK)? {
            return Ok(When::Variable(set));
        }
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let since = since.map_err(|_| Failure::failed("the clock is before 1970"))?;
        let now = i64::try_from(since.as_secs()).ok().and_then(Moment::from_unix);
        now.map(When::Clock).ok_or_else(|| Failure::failed("the clock is beyond the year 9999"))
    }

    /// This program, for receipts.
    pub fn tool(&self) -> Tool {
        Tool { name: env!("CARGO_PKG_NAME").to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }
    }
}

/// A moment that a variable sets, in seconds since 1970.
fn variable(name: &str) -> Result<Option<Moment>, Failure> {
    let Some(text) = std::env::var_os(name) else { return Ok(None) };
    let text = text.to_string_lossy();
    let seconds = text.parse().map_err(|_| {
        Failure::refused(format!("{name} must be seconds since 1970, not `{}`", super::failure::one_line(&text)))
    })?;
    let moment = Moment::from_unix(seconds);
    moment.map(Some).ok_or_else(|| Failure::refused(format!("{name} must be between the years 0 and 9999")))
}

fn user_folder(variable: &str, below_home: &str) -> Result<PathBuf, Failure> {
    let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = set(variable).or_else(|| Some(set("HOME")?.join(below_home)));
    base.map(|base| base.join("proofmark")).ok_or_else(|| {
        Failure::failed("there is no home folder").hint(format!("set HOME or {variable} to an absolute path"))
    })
}
