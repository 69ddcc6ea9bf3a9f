//! The index: SQLite tables derived from the log, for finding receipts quickly. It is a view that nothing depends on.
//!
//! It catches up with the log when it is opened, is made anew where it is missing, damaged, or not exactly what this
//! version makes, and lives in memory where its file cannot be used. Its rows only *find* receipts: whatever is handed
//! out was read from the log, proven by inclusion, and compared with its row. `docs/index.md` documents the tables.

mod catch_up;
mod file;
mod query;
mod revision;
mod row;
mod schema;

pub use file::INDEX_FILE;
pub use query::{Claim, Filter};
pub use revision::{Candidate, Rev};
pub use schema::SCHEMA;

use std::path::{Path, PathBuf};

use crate::ledger::{Ledger, LedgerError, Reader, Snapshot};
use crate::receipt::Receipt;
use file::Handle;
use row::{Columns, People};

/// Why the index cannot answer.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The log cannot be read.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// SQLite failed.
    #[error("the index cannot be used")]
    Sqlite(#[from] rusqlite::Error),
    /// The system said no.
    #[error("cannot {action} `{path}`")]
    File {
        /// What was being done, as in `remove`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: std::io::Error,
    },
    /// Something other than a plain file stands where the index belongs.
    #[error("`{path}` is not a plain file")]
    NotPlain {
        /// Where.
        path: PathBuf,
    },
    /// A row says something else than the receipt in the log.
    #[error("the index does not agree with the log about receipt #{index}")]
    Disagrees {
        /// The receipt's index.
        index: u64,
    },
    /// Log and index kept changing.
    #[error("the log or its index keeps changing")]
    Unsettled,
    /// Text that names no receipt, whatever the ledger holds.
    #[error("`{text}` is not a revision: {reason}")]
    Rev {
        /// The text, cut to 80 characters.
        text: String,
        /// The rule it breaks.
        reason: &'static str,
    },
    /// A log index, or a step back from the newest receipt, that the log does not reach.
    #[error("`{text}` is outside the log, which holds receipts #0 to #{newest}")]
    OutsideLog {
        /// The revision.
        text: String,
        /// The newest receipt's index.
        newest: u64,
    },
    /// A line has no such round.
    #[error("`{text}` is not there: line `{line}` has {rounds} rounds, `{line}` to `{line}~{}`", rounds.saturating_sub(1))]
    OutsideLine {
        /// The revision.
        text: String,
        /// The line.
        line: String,
        /// How many rounds it has, at least 1.
        rounds: u64,
    },
    /// No line has this name.
    #[error("there is no line `{name}`")]
    NoLine {
        /// What was asked for.
        name: String,
        /// Lines that exist, closest first, ten at most.
        lines: Vec<String>,
    },
    /// No receipt id begins so.
    #[error("no receipt id begins with `{prefix}`")]
    NoId {
        /// The digits.
        prefix: String,
        /// Receipts whose ids begin with at least three of the same digits, closest first.
        near: Vec<Candidate>,
    },
    /// A word that is neither a line nor the beginning of an id.
    #[error("`{word}` is neither a line nor the beginning of a receipt id")]
    NoSuchWord {
        /// The word.
        word: String,
        /// Lines that exist, closest first, ten at most.
        lines: Vec<String>,
        /// Receipts whose ids begin with at least three of the same digits, closest first.
        near: Vec<Candidate>,
    },
    /// More than one receipt id begins so.
    #[error("`{prefix}` is the beginning of more than one receipt id")]
    AmbiguousId {
        /// The digits.
        prefix: String,
        /// The receipts, by id, ten at most.
        matches: Vec<Candidate>,
    },
    /// No scorecard has a question set that begins so.
    #[error("no round has a question set id that begins with `{prefix}`")]
    NoQuestionSet {
        /// What was asked for.
        prefix: String,
        /// Question sets that exist, ten at most.
        exist: Vec<String>,
    },
    /// More than one question set begins so.
    #[error("`{prefix}` is the beginning of more than one question set id")]
    AmbiguousQuestionSet {
        /// What was asked for.
        prefix: String,
        /// The question sets, ten at most.
        matches: Vec<String>,
    },
    /// No receipt names an object that begins so.
    #[error("no receipt names an object that begins with `{prefix}`")]
    NoObject {
        /// What was asked for.
        prefix: String,
    },
    /// More than one object begins so.
    #[error("`{prefix}` is the beginning of more than one object id")]
    AmbiguousObject {
        /// What was asked for.
        prefix: String,
        /// The objects, each with a receipt that names it, ten at most.
        matches: Vec<Claim>,
    },
}

impl IndexError {
    /// Whether the index's content is to blame, which making it anew may mend.
    fn blames_content(&self) -> bool {
        match self {
            Self::Disagrees { .. } => true,
            Self::Sqlite(error) => file::blames_content(error),
            _ => false,
        }
    }
}

/// Where an index lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In its file.
    File(PathBuf),
    /// In memory; where a file was wanted, why it could not be used.
    Memory(Option<String>),
}

/// A receipt as it is in the log, with what follows from the receipts before it.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Its index in the log, from 0.
    pub index: u64,
    /// Read from the log, proven by inclusion, the same as its row.
    pub receipt: Receipt,
    /// The name of its signer, by the trust statement that the receipt names; the signature is not checked here.
    pub person: Option<String>,
    /// For a scorecard, its number within its line, from 1.
    pub round: Option<u64>,
}

/// What checking the signature of a receipt found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signed {
    /// It is the signature of the key that the receipt names, and the trust statement that it names lists that key.
    Good,
    /// The key did not make it.
    Bad,
    /// The trust statement that the receipt names does not list the key.
    UnknownKey,
}

/// An index that is up to date with a snapshot of its log.
pub struct Index<'a> {
    ledger: &'a Ledger,
    folder: Option<PathBuf>,
    place: Place,
    handle: Handle,
    reader: Reader<'a>,
    people: People,
}

impl<'a> Index<'a> {
    /// Opens the index of a ledger in its `folder`; in memory where there is none, or where the file cannot be used.
    pub fn open(ledger: &'a Ledger, folder: Option<&Path>) -> Result<Self, IndexError> {
        let (opened, place) = match folder.map(|folder| (file::open(ledger, folder), folder)) {
            Some((Ok(opened), folder)) => (opened, Place::File(folder.join(INDEX_FILE))),
            Some((Err(error @ IndexError::Ledger(_)), _)) => return Err(error),
            Some((Err(error), _)) => (file::in_memory(ledger)?, Place::Memory(Some(with_causes(&error)))),
            None => (file::in_memory(ledger)?, Place::Memory(None)),
        };
        let (handle, snapshot) = opened;
        let (folder, reader, people) = (folder.map(Path::to_owned), Reader::new(snapshot), People::of(ledger.log()));
        Ok(Self { ledger, folder, place, handle, reader, people })
    }

    /// Deletes the index in `folder`, whatever it is, and makes it anew; returns how many receipts it covers.
    pub fn rebuild(ledger: &'a Ledger, folder: &Path) -> Result<u64, IndexError> {
        file::rebuild(ledger, folder)?;
        Ok(file::open(ledger, folder)?.1.size())
    }

    /// Where it lives.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The log that it is up to date with.
    pub fn snapshot(&self) -> &Snapshot<'a> {
        self.reader.snapshot()
    }

    /// The receipt at a log index.
    ///
    /// # Errors
    /// [`IndexError::Disagrees`] for an index that is not less than the snapshot's size.
    pub fn entry(&mut self, index: u64) -> Result<Entry, IndexError> {
        self.settled(|this| this.read_entry(index))
    }

    /// Checks a receipt's signature under the key in the trust statement that it names. Whether that statement was in
    /// force, and whether the key may sign such a receipt, is for a verification to say.
    pub fn signed(&mut self, entry: &Entry) -> Result<Signed, IndexError> {
        let (snapshot, receipt) = (self.reader.snapshot(), &entry.receipt);
        let statement = self.people.statement_for(self.handle.connection()?, snapshot, entry.index, receipt)?;
        let record = statement.and_then(|statement| statement.record_of(receipt.key()));
        Ok(match record.map(|record| receipt.verify(&record.key)) {
            None => Signed::UnknownKey,
            Some(Ok(())) => Signed::Good,
            Some(Err(_)) => Signed::Bad,
        })
    }

    /// Reads a receipt, and compares it with its row.
    fn read_entry(&mut self, index: u64) -> Result<Entry, IndexError> {
        if index >= self.snapshot().size() {
            return Err(IndexError::Disagrees { index });
        }
        let receipt = self.reader.receipt(index)?;
        let person = self.people.signer(self.handle.connection()?, self.reader.snapshot(), index, &receipt)?;
        let (stored, round) =
            Columns::read(self.handle.connection()?, index)?.ok_or(IndexError::Disagrees { index })?;
        let expected = Columns::of(&receipt, person.clone());
        if stored != expected || round.is_some() != expected.is_round() || round == Some(0) {
            return Err(IndexError::Disagrees { index });
        }
        Ok(Entry { index, receipt, person, round })
    }

    /// Asks; where the answer shows the index to be wrong, makes it anew once and asks again.
    fn settled<T>(&mut self, mut ask: impl FnMut(&mut Self) -> Result<T, IndexError>) -> Result<T, IndexError> {
        match (ask(self), &self.folder, &self.place) {
            (Err(error), Some(folder), Place::File(_)) if error.blames_content() => {
                let folder = folder.clone();
                // Lets go of the file first.
                self.handle.close();
                file::rebuild(self.ledger, &folder)?;
                let (handle, snapshot) = file::open(self.ledger, &folder)?;
                (self.handle, self.reader) = (handle, Reader::new(snapshot));
                self.people = People::of(self.ledger.log());
                ask(self)
            }
            (answer, ..) => answer,
        }
    }
}

fn with_causes(error: &IndexError) -> String {
    let causes = std::iter::successors(Some(error as &dyn std::error::Error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
