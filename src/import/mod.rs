//! Rounds that other tools measured: their files are read, and become questions, answers, judgements and a card.
//!
//! Every importer is one file that gives the same value, a [`Round`]: items with their states, and the conditions they
//! were measured under, each known or unknown. [`render`] turns it into evidence. What the tool judged is believed, so the
//! scorer's identity names the tool, its scorer and the digest of the conditions. `docs/import/` has a page a tool.
//!
//! Nothing here opens a file: [`Original`]s are handed in, and a replay hands in the same ones from the ledger.

mod archive;
mod attempts;
mod columns;
mod csv;
mod deepeval;
mod every_eval_ever;
mod inspect;
mod junit;
mod lm_eval;
mod member;
mod mixle;
mod mlflow;
mod original;
mod promptfoo;
mod records;
mod rendered;
mod replay;
mod round;
mod rows;
mod samples;
mod secret;
mod sheet;
mod stated;
mod written;

use std::fmt;
use std::str::FromStr;

use member::short;

use crate::object::RecordError;
use crate::question::QuestionError;
use crate::scorecard::RoundError;
use crate::store::StoreError;

pub use original::{Limits, Original};
pub use rendered::{Projected, Rendered, render};
pub use replay::{Manifest, NamedOriginal, SCORER_PREFIX};
pub use round::{Attempt, Conditions, Item, Items, Place, Round, State, Wording};
pub use sheet::{Sheet, Texts};

/// Why files are not imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A file is not as the tool writes it; names file, line and field.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// What was read makes no questions or answers.
    #[error("what was read makes no question set")]
    Question(#[from] QuestionError),
    /// What was read makes no card.
    #[error("what was read makes no card")]
    Round(#[from] RoundError),
    /// No file of this tool.
    #[error("there is no {what} of {tool} among the {files} files")]
    NoFiles {
        /// The tool.
        tool: Tool,
        /// What was looked for.
        what: &'static str,
        /// How many files there are.
        files: usize,
    },
    /// Nothing was found out about any system.
    #[error("{tool}: task `{}`: nothing was measured: of {items} items none was judged", short(task))]
    NothingMeasured {
        /// The tool.
        tool: Tool,
        /// The task.
        task: String,
        /// How many items there are.
        items: usize,
    },
    /// One item, two rows.
    #[error("{} stands there twice: {first} and {second}", short(what))]
    Twice {
        /// What.
        what: String,
        /// File and row.
        first: String,
        /// File and row.
        second: String,
    },
    /// More than one of something, of which one has to be chosen.
    #[error("{}: {}", short(what), short(found))]
    Choose {
        /// What there is too much of, or what is not there.
        what: String,
        /// What there is.
        found: String,
        /// The option that chooses.
        option: &'static str,
    },
    /// More than is read unless a limit is raised.
    #[error("{file}: the {what} is larger than {limit} bytes")]
    TooLarge {
        /// The file.
        file: String,
        /// `document`, `sample`, `archive` or what else has to be held whole.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// More questions or answers than a replay would read.
    #[error("{}: the questions or answers are more than {limit} bytes", short(file))]
    TooMuch {
        /// The task.
        file: String,
        /// The limit.
        limit: u64,
    },
    /// What is written on the way to evidence could not be put down or read again.
    #[error(transparent)]
    Spill(#[from] StoreError),
    /// A file is not what it was when its reading began.
    #[error("`{}` changed while it was read", short(file))]
    Changed {
        /// The file.
        file: String,
    },
    /// Files that no tool or several tools may have written.
    #[error("it cannot be told which tool wrote these files: {found}")]
    Unrecognised {
        /// What they look like.
        found: String,
    },
    /// Text that is not a [`Tool`].
    #[error("unknown tool `{text}`; known: {}", Tool::ALL.map(Tool::as_str).join(", "))]
    UnknownTool {
        /// What was read, cut to 80 characters.
        text: String,
    },
    /// A projection that is none.
    #[error("not a projection")]
    Projection,
    /// A manifest that is none.
    #[error("not the manifest of an import: {reason}")]
    Manifest {
        /// What is wrong.
        reason: String,
    },
    /// The originals do not give the task that the manifest names.
    #[error("the originals hold no task `{}`", short(task))]
    NoTask {
        /// The task.
        task: String,
    },
}

/// A tool whose files are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tool {
    /// lm-evaluation-harness.
    LmEval,
    /// Inspect.
    Inspect,
    /// promptfoo.
    Promptfoo,
    /// Every Eval Ever.
    EveryEvalEver,
    /// DeepEval.
    Deepeval,
    /// MLflow's file store.
    Mlflow,
    /// JUnit XML.
    Junit,
    /// A table.
    Csv,
    /// mixle.
    Mixle,
}

impl Tool {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::LmEval,
        Self::Inspect,
        Self::Promptfoo,
        Self::EveryEvalEver,
        Self::Deepeval,
        Self::Mlflow,
        Self::Junit,
        Self::Csv,
        Self::Mixle,
    ];

    /// Its name, as in `lm-eval`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LmEval => "lm-eval",
            Self::Inspect => "inspect",
            Self::Promptfoo => "promptfoo",
            Self::EveryEvalEver => "every-eval-ever",
            Self::Deepeval => "deepeval",
            Self::Mlflow => "mlflow",
            Self::Junit => "junit",
            Self::Csv => "csv",
            Self::Mixle => "mixle",
        }
    }

    /// How the names of its files end, in lower case. MLflow's files have names of many kinds.
    fn endings(self) -> &'static [&'static str] {
        match self {
            Self::LmEval | Self::EveryEvalEver | Self::Promptfoo => &[".json", ".jsonl"],
            Self::Inspect => &[".eval", ".json"],
            Self::Deepeval | Self::Mixle => &[".json"],
            Self::Junit => &[".xml"],
            Self::Csv => &[".csv"],
            Self::Mlflow => &[],
        }
    }

    /// Whether a file of this name may be one of the tool's, although it was not recognised: cut off, in another encoding,
    /// in another case. Names with a dot in front are the tools' own notes.
    pub fn may_have_written(self, name: &str) -> bool {
        let name = name.rsplit('/').next().unwrap_or_default().to_lowercase();
        !name.starts_with('.') && self.endings().iter().any(|ending| name.ends_with(ending))
    }

    /// Whether it chooses among several filters.
    pub fn takes_filter(self) -> bool {
        self == Self::LmEval
    }

    /// Whether it chooses among several metrics.
    pub fn takes_metric(self) -> bool {
        matches!(self, Self::LmEval | Self::Inspect | Self::EveryEvalEver | Self::Deepeval | Self::Mlflow)
    }

    /// Whether a file looks like one of the tool's.
    pub fn recognises(self, original: &Original<'_>) -> bool {
        match self {
            Self::LmEval => lm_eval::recognises(original),
            Self::Inspect => inspect::recognises(original),
            Self::Promptfoo => promptfoo::recognises(original),
            Self::EveryEvalEver => every_eval_ever::recognises(original),
            Self::Deepeval => deepeval::recognises(original),
            Self::Mlflow => mlflow::recognises(original),
            Self::Junit => junit::recognises(original),
            Self::Csv => csv::recognises(original),
            Self::Mixle => mixle::recognises(original),
        }
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Tool {
    type Err = ImportError;

    fn from_str(text: &str) -> Result<Self, ImportError> {
        let found = Self::ALL.into_iter().find(|tool| tool.as_str() == text);
        found.ok_or_else(|| ImportError::UnknownTool { text: text.chars().take(80).collect() })
    }
}

/// What is taken of the files, and how much.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// Which of several filters (lm-eval).
    pub filter: Option<String>,
    /// Which of several metrics or scorers.
    pub metric: Option<String>,
    /// Which tasks; all where none is named.
    pub tasks: Vec<String>,
    /// How much is read.
    pub limits: Limits,
    /// What becomes of the texts that are written.
    pub texts: Texts,
}

impl Options {
    fn wants(&self, task: &str) -> bool {
        self.tasks.is_empty() || self.tasks.iter().any(|wanted| wanted == task)
    }
}

/// Which tool wrote these files: the one whose files are among them, refused where there is none or more than one.
pub fn recognise(originals: &[Original<'_>]) -> Result<Tool, ImportError> {
    let known: Vec<Tool> =
        Tool::ALL.into_iter().filter(|tool| originals.iter().any(|original| tool.recognises(original))).collect();
    // A form that many tools write says less than a tool's own.
    let own: Vec<Tool> = known.iter().copied().filter(|tool| !matches!(tool, Tool::Junit | Tool::Csv)).collect();
    let known = if own.is_empty() { known } else { own };
    match known.as_slice() {
        [tool] => Ok(*tool),
        [] => Err(ImportError::Unrecognised { found: "they look like those of no known tool".to_owned() }),
        many => {
            let names: Vec<_> = many.iter().map(|tool| tool.as_str()).collect();
            Err(ImportError::Unrecognised { found: format!("they look like those of {}", names.join(" and ")) })
        }
    }
}

/// Reads the files of a tool: one round a task, sorted by task.
pub fn read(tool: Tool, originals: &[Original<'_>], options: &Options) -> Result<Vec<Round>, ImportError> {
    let mut rounds = match tool {
        Tool::LmEval => lm_eval::read(originals, options),
        Tool::Inspect => inspect::read(originals, options),
        Tool::Promptfoo => promptfoo::read(originals, options),
        Tool::EveryEvalEver => every_eval_ever::read(originals, options),
        Tool::Deepeval => deepeval::read(originals, options),
        Tool::Mlflow => mlflow::read(originals, options),
        Tool::Junit => junit::read(originals, options),
        Tool::Csv => csv::read(originals, options),
        Tool::Mixle => mixle::read(originals, options),
    }?;
    rounds.sort_by(|one, other| one.task.cmp(&other.task));
    if let Some(pair) = rounds.windows(2).find(|pair| pair[0].task == pair[1].task) {
        return Err(ImportError::Choose {
            what: format!("the task `{}` was measured more than once in these files", pair[0].task),
            found: "import one run at a time".to_owned(),
            option: "",
        });
    }
    if rounds.is_empty() {
        let found = options.tasks.join(", ");
        return Err(ImportError::Choose { what: "no task of that name".to_owned(), found, option: "--task" });
    }
    Ok(rounds)
}
