//! How a command ends: exit codes, and errors that say what went wrong, why, and what to do.

use std::error::Error;
use std::fmt;
use std::io;
use std::process::ExitCode;

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
struct ErrorDocument<'a> {
    schema: &'static str,
    error: String,
    caused_by: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
    exit: u8,
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

    /// The same with a word on what to do.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
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
            hint: self.hint.as_deref(),
            exit: self.exit.code(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", printable(&self.error.to_string()))?;
        for cause in self.causes() {
            write!(f, "\ncaused by: {cause}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}

/// Text from files and ledgers, safe to show: control and formatting characters, which could move the cursor or hide
/// text, are escaped. Line feeds stay.
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        let hidden =
            matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
        if (c.is_control() && c != '\n') || hidden {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
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
        let (exit, hint) = match &error {
            E::Absent => (Exit::Refused, Some("`proofmark init` makes one; `--ledger DIR` names one elsewhere")),
            E::Format { .. } => (Exit::Refused, Some("use a newer proofmark")),
            E::Store(StoreError::Io { .. }) | E::Ratchet { .. } | E::Contention => (Exit::Failed, None),
            E::Fork(_) => (Exit::No, None),
            E::Root { .. } | E::Log(_) | E::Missing { .. } | E::Entry { .. } => {
                (Exit::Refused, Some("`proofmark verify` says what is damaged"))
            }
            _ => (Exit::Refused, None),
        };
        let failure = Self::new(exit, error);
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
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

refusals!(QuestionError, ReceiptError, ScoreError, ScorecardError, TrustError);

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
        assert_eq!(one_line("a\nb"), "a\\nb");
    }
}
