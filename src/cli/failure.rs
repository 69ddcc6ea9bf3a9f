//! How a command ends: exit codes, and errors that say what went wrong, why, and what to do.

use std::error::Error;
use std::fmt;
use std::io;
use std::process::ExitCode;

use proofmark::abstain::PolicyError;
use proofmark::calibrate::{CalibrateError, ProfileError};
use proofmark::evaluate::EvaluateError;
use proofmark::gate::GateError;
use proofmark::import::ImportError;
use proofmark::index::IndexError;
use proofmark::ledger::LedgerError;
use proofmark::object::RecordError;
use proofmark::question::QuestionError;
use proofmark::receipt::ReceiptError;
use proofmark::score::ScoreError;
use proofmark::scorecard::ScorecardError;
use proofmark::store::StoreError;
use proofmark::trust::TrustError;
use serde::Serialize;

/// How a command ends (DESIGN section 8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done, and the answer is yes.
    Yes,
    /// Ran to the end, and the answer is no.
    No,
    /// Refused: the input, or the way it was asked for. Nothing was written.
    Refused,
    /// Could not run.
    Failed,
}

impl Exit {
    /// The process's exit code.
    pub fn code(self) -> u8 {
        match self {
            Self::Yes => 0,
            Self::Failed => 1,
            Self::Refused => 2,
            Self::No => 3,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// An error on its way to the user.
#[derive(Debug)]
pub struct Failure {
    /// How the command ends.
    pub exit: Exit,
    error: Box<dyn Error + Send + Sync>,
    hint: Option<String>,
}

/// The `--json` document of a failure.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ErrorDocument {
    schema: &'static str,
    error: String,
    caused_by: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    exit: u8,
}

/// A failure by the place where it came about.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
struct Within {
    what: String,
    source: Box<dyn Error + Send + Sync>,
}

impl Failure {
    /// A failure of any kind.
    pub fn new(exit: Exit, error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { exit, error: error.into(), hint: None }
    }

    /// Input or usage that is refused.
    pub fn refused(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(Exit::Refused, error)
    }

    /// Something that could not be done.
    pub fn failed(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(Exit::Failed, error)
    }

    /// The same as the cause of a refusal that names a place.
    pub fn within(self, what: String) -> Self {
        Self { error: Box::new(Within { what, source: self.error }), ..self }
    }

    /// The same with a word on what to do.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same where something was written already: it is no refusal then, which would say that nothing was.
    pub fn after(self, written: &str) -> Self {
        let exit = if self.exit == Exit::Refused { Exit::Failed } else { self.exit };
        let hint = self.hint.map_or_else(|| written.to_owned(), |hint| format!("{written}; {hint}"));
        Self { exit, hint: Some(hint), ..self }
    }

    /// Whether the reader of stdout went away, which is nobody's fault.
    pub fn is_broken_pipe(&self) -> bool {
        self.chain().any(|error| {
            error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
        })
    }

    fn chain(&self) -> impl Iterator<Item = &(dyn Error + 'static)> {
        let first: &(dyn Error + 'static) = self.error.as_ref();
        std::iter::successors(Some(first), |error: &&(dyn Error + 'static)| (*error).source())
    }

    fn causes(&self) -> Vec<String> {
        self.chain().skip(1).map(|error| printable(&error.to_string())).collect()
    }

    /// The `--json` document.
    pub fn document(&self) -> impl Serialize + '_ {
        ErrorDocument {
            schema: "error.v1",
            error: printable(&self.error.to_string()),
            caused_by: self.causes(),
            hint: self.hint.as_deref().map(printable),
            exit: self.exit.code(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", indented(&printable(&self.error.to_string())))?;
        for cause in self.causes() {
            write!(f, "\ncaused by: {}", indented(&cause))?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {}", indented(&printable(hint)))?;
        }
        Ok(())
    }
}

/// Text from files and ledgers, safe to show: control and formatting characters, which could move the cursor or hide
/// text, are escaped. Line feeds stay.
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        let hidden = matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
        if (c.is_control() && c != '\n') || hidden {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Lines after the first stand back, so that no file can put a `hint:` of its own into a message.
fn indented(text: &str) -> String {
    let mut lines = text.trim_end_matches('\n').split('\n');
    let mut shown = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        shown.push_str(if line.starts_with("  ") { "\n" } else { "\n  " });
        shown.push_str(line);
    }
    shown
}

/// As [`printable`], on one line.
pub fn one_line(text: &str) -> String {
    printable(text).replace('\n', "\\n")
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::failed(error)
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::failed(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let exit = match error {
            StoreError::Io { .. } => Exit::Failed,
            _ => Exit::Refused,
        };
        Self::new(exit, error)
    }
}

impl From<LedgerError> for Failure {
    fn from(error: LedgerError) -> Self {
        use LedgerError as E;
        let remedy = match &error {
            E::NotAllowed { refusal, .. } => Some(refusal.remedy()),
            E::AgainstTrust(violation) => Some(violation.remedy()),
            _ => None,
        };
        let (exit, hint) = match &error {
            E::Absent => (Exit::Refused, Some("`proofmark init` makes one; `--ledger DIR` names one elsewhere")),
            E::Format { .. } => (Exit::Refused, Some("use a newer proofmark")),
            E::Store(StoreError::Io { .. }) | E::Ratchet { .. } | E::Contention => (Exit::Failed, None),
            E::Fork(_) => (Exit::No, None),
            E::Moved { .. } => {
                (Exit::Failed, Some("nothing was written; look at what came in between, and decide again"))
            }
            E::Root { .. } | E::Log(_) | E::Missing { .. } | E::Entry { .. } | E::Misplaced { .. } => {
                (Exit::Refused, Some("`proofmark verify` says what is damaged"))
            }
            _ => (Exit::Refused, None),
        };
        let failure = Self::new(exit, error);
        match remedy.or(hint.map(str::to_owned)) {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

impl From<IndexError> for Failure {
    fn from(error: IndexError) -> Self {
        use IndexError as E;
        let hint = match &error {
            E::Ledger(_) => None,
            E::Sqlite(_) | E::File { .. } | E::NotPlain { .. } | E::Disagrees { .. } | E::Unsettled => {
                return Self::failed(error);
            }
            E::Rev { .. } => {
                Some("`@` is the newest receipt, `main~1` the round before the newest of a line".to_owned())
            }
            E::OutsideLog { .. } | E::OutsideLine { .. } => None,
            E::NoLine { lines, .. } => Some(known_lines(lines)),
            E::NoId { near, .. } => (!near.is_empty()).then(|| listed("the nearest are", near)),
            E::NoSuchWord { lines, near, .. } if near.is_empty() => Some(known_lines(lines)),
            E::NoSuchWord { lines, near, .. } => {
                Some(listed(&format!("{}; the nearest ids are", known_lines(lines)), near))
            }
            E::AmbiguousId { matches, .. } => Some(listed("name one of these by more digits, or by its `#`", matches)),
            E::NoQuestionSet { exist, .. } if exist.is_empty() => Some("this ledger has no rounds yet".to_owned()),
            E::NoQuestionSet { exist, .. } => Some(listed("there are", exist)),
            E::AmbiguousQuestionSet { matches, .. } => Some(listed("one of these, by more digits", matches)),
            E::NoObject { .. } => Some("`proofmark show REV` lists the evidence of a receipt".to_owned()),
            E::AmbiguousObject { matches, .. } => {
                let claims = matches.iter().map(|claim| {
                    let evidence = &claim.evidence;
                    format!("{} {} of #{}", evidence.blake3, evidence.role, claim.receipt)
                });
                Some(listed("one of these, by more digits", claims))
            }
        };
        let failure = match error {
            E::Ledger(error) => return error.into(),
            error => Self::refused(error),
        };
        match hint {
            Some(hint) => failure.hint(printable(&hint)),
            None => failure,
        }
    }
}

impl From<EvaluateError> for Failure {
    fn from(error: EvaluateError) -> Self {
        use EvaluateError as E;
        let resume = "`--resume` goes on without asking any question twice; remove the journal to begin anew";
        match &error {
            E::Hopeless { .. } | E::Journal { .. } => Self::failed(error),
            E::Interrupted { .. } => Self::failed(error).hint("`--resume` goes on without asking any question twice"),
            E::Unfinished { .. } => Self::refused(error).hint(resume),
            E::Busy { .. } => Self::refused(error).hint("wait for it, or name another file with --journal"),
            E::OtherRun { .. } => Self::refused(error).hint("name another file with --journal"),
            _ => Self::refused(error),
        }
    }
}

fn known_lines(lines: &[String]) -> String {
    if lines.is_empty() {
        "this ledger has no rounds yet".to_owned()
    } else {
        format!("lines are: {}", lines.join(", "))
    }
}

/// A heading and one indented line for each item.
fn listed<T: fmt::Display>(heading: &str, items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().fold(format!("{heading}:"), |text, item| format!("{text}\n  {}", one_line(&item.to_string())))
}

macro_rules! refusals {
    ($($error:ty),*) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::refused(error)
            }
        })*
    };
}

refusals!(PolicyError, ProfileError, QuestionError, ReceiptError, ScoreError, ScorecardError);

impl From<TrustError> for Failure {
    fn from(error: TrustError) -> Self {
        let hint = match &error {
            TrustError::NoSuchPerson { known, .. } => Some(format!("it lists {}", one_line(&known.join(", ")))),
            _ => None,
        };
        let failure = Self::refused(error);
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

impl From<CalibrateError> for Failure {
    fn from(error: CalibrateError) -> Self {
        match error {
            CalibrateError::Record(error) => error.into(),
            error => Self::refused(error),
        }
    }
}

impl From<GateError> for Failure {
    fn from(error: GateError) -> Self {
        match error {
            GateError::Calibrate(error) => error.into(),
            error => Self::refused(error),
        }
    }
}

impl From<ImportError> for Failure {
    fn from(error: ImportError) -> Self {
        use ImportError as E;
        let hint = match &error {
            E::Record(record) if record.reason.starts_with("nested deeper than") => {
                Some("if you trust the file, raise the limit with --max-depth N, at most 512".to_owned())
            }
            E::TooLarge { what: "sample", .. } => {
                Some("if you trust the file, raise the limit with --max-sample-bytes N".to_owned())
            }
            E::TooLarge { .. } => Some("if you trust the file, raise the limit with --max-document-bytes N".to_owned()),
            E::Choose { option, .. } if !option.is_empty() => Some(format!("choose with {option} NAME")),
            E::NothingMeasured { .. } => {
                Some("a run without judged items proves nothing, so there is no card".to_owned())
            }
            E::Unrecognised { .. } => Some("name the tool: `proofmark import TOOL PATH…`".to_owned()),
            _ => None,
        };
        let failure = match error {
            E::Record(error) => error.into(),
            E::Spill(error) => error.into(),
            error => Self::refused(error),
        };
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Self {
        let exit = if error.source.is_some() { Exit::Failed } else { Exit::Refused };
        Self::new(exit, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_cannot_move_the_cursor_or_hide() {
        assert_eq!(printable("a\u{1b}[2Jb\u{202e}c\nd"), "a\\u{1b}[2Jb\\u{202e}c\nd");
        assert_eq!(printable("\u{61c}\u{e0041}"), "\\u{61c}\\u{e0041}");
        assert_eq!(one_line("a\nb"), "a\\nb");
    }

    #[test]
    fn a_refusal_after_something_was_written_is_a_failure_that_says_so() {
        let failure = Failure::refused("x").hint("do y").after("receipt 7 was appended");
        assert_eq!(failure.exit, Exit::Failed);
        assert_eq!(failure.to_string(), "error: x\nhint: receipt 7 was appended; do y");
        assert_eq!(Failure::new(Exit::No, "x").after("z").exit, Exit::No);
    }

    #[test]
    fn hostile_text_cannot_give_hints() {
        let failure = Failure::refused("the key `a\nhint: run this` occurs twice\n").hint("no\u{1b}[2J\nerror: x");
        assert_eq!(
            failure.to_string(),
            "error: the key `a\n  hint: run this` occurs twice\nhint: no\\u{1b}[2J\n  error: x"
        );
    }
}
