//! Asking a system every question of a set: read-only, every answer kept, none dropped.
//!
//! A run asks each question once and keeps what came of it in a [`Journal`] outside the ledger. An answer that did not come
//! is a failed one with a named reason, so that there are always as many answers as questions. `docs/evaluate.md` is
//! what people are told; nothing here writes to a ledger.

mod budget;
mod chat;
mod child;
mod group;
mod journal;
mod launch;
mod outcome;
mod plan;
mod pool;
mod protocol;
mod record;
mod retry;
mod secrets;
mod stop;
mod template;

use std::path::PathBuf;

use crate::object::RecordError;

pub use budget::{Budget, Shortfall};
pub use chat::{ChatSystem, Endpoint};
pub use child::ProcessSystem;
pub use group::Group;
pub use journal::{Journal, JournalHeader, Kept};
pub use launch::{KEPT_VARIABLES, Launch};
pub use outcome::{Fault, Outcome};
pub use plan::{Plan, Seed};
pub use pool::{Asked, MAX_CONCURRENCY, Run, Seat, Step, System};
pub use record::{Process, RunRecord, Settings, SystemRecord};
pub use secrets::Secrets;
pub use stop::Stop;
pub use template::{Generation, Template};

/// Why a run cannot begin, or cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum EvaluateError {
    /// A command that is no command.
    #[error("the system's command {reason}")]
    Command {
        /// What is wrong with it.
        reason: String,
    },
    /// A variable that is not passed on.
    #[error("the variable `{name}` {reason}")]
    Variable {
        /// Its name.
        name: String,
        /// Why not.
        reason: &'static str,
    },
    /// An address that is not asked.
    #[error("the endpoint's URL {reason}")]
    Url {
        /// What is wrong with it.
        reason: String,
    },
    /// A template that makes no request.
    #[error("the template: {reason}")]
    Template {
        /// What is wrong with it.
        reason: String,
    },
    /// A generation setting that cannot be sent.
    #[error("the setting `{name}` {reason}")]
    Setting {
        /// Its name.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A seed that is not 64 hexadecimal digits.
    #[error("the seed must be 64 lower-case hexadecimal digits")]
    Seed,
    /// The system cannot be asked at all, and answered nothing.
    #[error("the system cannot be asked: {reason}")]
    Hopeless {
        /// Why.
        reason: String,
    },
    /// The journal's file cannot be used.
    #[error("cannot {action} the journal `{}`", path.display())]
    Journal {
        /// What was being done.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: std::io::Error,
    },
    /// A line of the journal is not as it must be.
    #[error("the journal cannot be resumed")]
    JournalRecord(#[from] RecordError),
    /// Another process has the journal.
    #[error("another process is at this run: it holds `{}`", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// There is a journal, and nobody asked to resume it.
    #[error("a run like this was interrupted: `{}` has {answered} of {total} answers", path.display())]
    Unfinished {
        /// The file.
        path: PathBuf,
        /// How many answers it has.
        answered: u64,
        /// How many there will be.
        total: u64,
    },
    /// The journal is of a run with other questions, another system or other settings.
    #[error("`{}` is the journal of another run: questions, system or settings differ", path.display())]
    OtherRun {
        /// The file.
        path: PathBuf,
    },
    /// The run was asked to stop.
    #[error("interrupted: {answered} of {total} answers are kept, and nothing was appended")]
    Interrupted {
        /// How many answers are kept.
        answered: u64,
        /// How many there will be.
        total: u64,
    },
}
