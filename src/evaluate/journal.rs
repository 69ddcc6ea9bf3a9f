//! What a run keeps outside the ledger until it is appended: JSON lines, one written as soon as there is something to keep.
//!
//! The first line says which run it is. Then `{"asked": …}` stands before each question, `{"answer": …}` after it. A line
//! that was cut off by a crash is no line. One process at a time has the file, by its lock.

use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::EvaluateError;
use super::outcome::{Fault, Outcome};
use super::plan::{Plan, Seed};
use super::protocol::object;
use crate::object::{FieldError, Fields, Json, LineReader, ObjectId, RecordError, parse_line};

/// The name of what is in the file.
const SCHEMA: &str = "evaluate-journal.v1";

/// Which run a journal is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournalHeader {
    /// Digest of everything that has to be the same for answers to be of the same run.
    pub run: ObjectId,
    /// How often every question is asked.
    pub rounds: u32,
    /// How many questions there are.
    pub questions: usize,
}

/// A run's journal, locked for this process.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: Mutex<File>,
}

/// What an interrupted run left.
#[derive(Debug, Default)]
pub struct Kept {
    answers: HashMap<(u32, usize), Outcome>,
    asked: HashSet<(u32, usize)>,
}

impl Kept {
    /// How many questions have an outcome.
    pub fn len(&self) -> u64 {
        self.answers.len() as u64
    }

    /// Whether nothing was kept.
    pub fn is_empty(&self) -> bool {
        self.answers.is_empty() && self.asked.is_empty()
    }

    /// How many of them are answers.
    pub fn answered(&self) -> u64 {
        self.answers.values().filter(|outcome| outcome.fault().is_none()).count() as u64
    }

    /// How many questions were asked without an answer being kept.
    pub fn lost(&self) -> u64 {
        self.asked.len() as u64
    }

    /// Forgets that they were asked, so that they are asked again.
    pub fn ask_lost_again(&mut self) {
        self.asked.clear();
    }

    /// What was spent, lost questions counted as `lost_calls` each.
    pub fn spent(&self, lost_calls: f64) -> f64 {
        #[allow(clippy::cast_precision_loss)] // a few questions
        let lost = self.asked.len() as f64 * lost_calls;
        self.answers.values().map(Outcome::cost).sum::<f64>() + lost
    }

    pub(super) fn take(&mut self, round: u32, index: usize) -> Option<Outcome> {
        self.answers.remove(&(round, index))
    }

    pub(super) fn is_lost(&self, round: u32, index: usize) -> bool {
        self.asked.contains(&(round, index))
    }
}

impl Journal {
    /// Begins a journal at `path`, or goes on with the one that is there, if `resume` says so; the plan follows from the
    /// seed that it holds, `seed` where it is new.
    pub fn open(
        path: &Path,
        header: &JournalHeader,
        seed: Seed,
        resume: bool,
    ) -> Result<(Self, Plan, Kept), EvaluateError> {
        let file = open_locked(path)?;
        let journal = Self { path: path.to_owned(), file: Mutex::new(file) };
        let whole = journal.read_whole_lines()?;
        if whole == 0 {
            let plan = Plan::new(seed, header.rounds, header.questions);
            let first = object(vec![
                ("schema", Json::String(SCHEMA.to_owned())),
                ("run", Json::String(header.run.to_string())),
                ("seed", Json::String(seed.to_string())),
                ("rounds", Json::Integer(header.rounds.into())),
                ("questions", Json::Integer(header.questions as i128)),
            ]);
            journal.write(&first)?;
            return Ok((journal, plan, Kept::default()));
        }
        let (seed, kept) = journal.read(header)?;
        let plan = Plan::new(seed, header.rounds, header.questions);
        if !resume {
            let (path, answered, total) = (path.to_owned(), kept.len(), plan.total());
            return Err(EvaluateError::Unfinished { path, answered, total });
        }
        Ok((journal, plan, kept))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes down that a question is about to be asked.
    pub(super) fn asked(&self, round: u32, index: usize) -> Result<(), EvaluateError> {
        self.write(&object(vec![("asked", place(round, index))]))
    }

    /// Takes down that it was not asked after all.
    pub(super) fn unasked(&self, round: u32, index: usize) -> Result<(), EvaluateError> {
        self.write(&object(vec![("unasked", place(round, index))]))
    }

    /// Takes down what came of a question; the last line on one counts.
    pub(super) fn answered(&self, round: u32, index: usize, outcome: &Outcome) -> Result<(), EvaluateError> {
        let mut members = vec![("question", place(round, index)), ("answer", outcome.record(None))];
        members.extend(outcome.fault().map(|fault| ("fault", Json::String(fault.as_str().to_owned()))));
        self.write(&object(members))
    }

    /// Removes it: the run is in the ledger, or never began.
    pub fn remove(self) -> Result<(), EvaluateError> {
        std::fs::remove_file(&self.path).map_err(|source| self.failed("remove", source))
    }

    fn failed(&self, action: &'static str, source: io::Error) -> EvaluateError {
        EvaluateError::Journal { action, path: self.path.clone(), source }
    }

    fn write(&self, line: &Json) -> Result<(), EvaluateError> {
        let written = serde_json::to_vec(line).map_err(io::Error::from).and_then(|mut line| {
            line.push(b'\n');
            self.file.lock().unwrap_or_else(PoisonError::into_inner).write_all(&line)
        });
        written.map_err(|source| self.failed("write", source))
    }

    /// Cuts off a last line that was not finished; how many bytes of whole lines there are.
    fn read_whole_lines(&self) -> Result<u64, EvaluateError> {
        let cut = || {
            let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            file.seek(SeekFrom::Start(0))?;
            let (mut at, mut whole, mut block) = (0u64, 0u64, vec![0; 1 << 16]);
            loop {
                let read = file.read(&mut block)?;
                if read == 0 {
                    break;
                }
                if let Some(end) = block[..read].iter().rposition(|byte| *byte == b'\n') {
                    whole = at + end as u64 + 1;
                }
                at += read as u64;
            }
            if whole < at {
                file.set_len(whole)?;
            }
            file.seek(SeekFrom::End(0))?;
            Ok(whole)
        };
        cut().map_err(|source| self.failed("read", source))
    }

    fn read(&self, header: &JournalHeader) -> Result<(Seed, Kept), EvaluateError> {
        let other = || EvaluateError::OtherRun { path: self.path.clone() };
        let name = self.path.display().to_string();
        let file = File::open(&self.path).map_err(|source| self.failed("read", source))?;
        let mut lines = LineReader::new(name.clone(), BufReader::new(file));
        let mut seed = None;
        let mut kept = Kept::default();
        while let Some(line) = lines.next_line()? {
            let number = line.number;
            let refused = |error| RecordError::new(&name, number, error);
            let json = parse_line(&name, line)?;
            if seed.is_some() {
                kept.take_line(&json, header).map_err(refused)?;
                continue;
            }
            let (found, first) = first_line(&json).map_err(refused)?;
            if found != *header {
                return Err(other());
            }
            seed = Some(first);
        }
        seed.map(|seed| (seed, kept)).ok_or_else(other)
    }
}

impl Kept {
    fn take_line(&mut self, line: &Json, header: &JournalHeader) -> Result<(), FieldError> {
        let mut fields = Fields::of("", line)?;
        for name in ["asked", "unasked"] {
            if let Some(at) = fields.optional(name) {
                let at = parse_place(name, at, header)?;
                match name {
                    "asked" if !self.answers.contains_key(&at) => drop(self.asked.insert(at)),
                    _ => drop(self.asked.remove(&at)),
                }
                return fields.finish();
            }
        }
        let at = parse_place("question", fields.required("question")?, header)?;
        let unknown = || FieldError::new("fault", "is not a known one");
        let fault = fields.optional_string("fault")?;
        let fault = fault.map(|word| Fault::parse(word).ok_or_else(unknown)).transpose()?;
        let outcome = Outcome::kept(fields.required("answer")?, fault)?;
        fields.finish()?;
        self.asked.remove(&at);
        self.answers.insert(at, outcome);
        Ok(())
    }
}

fn first_line(json: &Json) -> Result<(JournalHeader, Seed), FieldError> {
    let mut fields = Fields::of("", json)?;
    if fields.string("schema")? != SCHEMA {
        return Err(FieldError::new("schema", format!("must be `{SCHEMA}`")));
    }
    let text = |error: &dyn std::fmt::Display, name: &str| FieldError::new(name, error.to_string());
    let run = fields.string("run")?.parse().map_err(|error| text(&error, "run"))?;
    let seed = fields.string("seed")?.parse().map_err(|error| text(&error, "seed"))?;
    let rounds = whole(&mut fields, "rounds")?;
    let questions = whole(&mut fields, "questions")?;
    fields.finish()?;
    Ok((JournalHeader { run, rounds, questions }, seed))
}

fn whole<T: TryFrom<i128>>(fields: &mut Fields<'_>, name: &str) -> Result<T, FieldError> {
    let value = fields.required(name)?;
    let number = match value {
        Json::Integer(number) => T::try_from(*number).ok(),
        _ => None,
    };
    number.ok_or_else(|| fields.wrong(name, "a count", value))
}

fn place(round: u32, index: usize) -> Json {
    Json::Array(vec![Json::Integer(round.into()), Json::Integer(index as i128)])
}

fn parse_place(name: &str, value: &Json, header: &JournalHeader) -> Result<(u32, usize), FieldError> {
    let place = match value {
        Json::Array(items) => match items.as_slice() {
            [Json::Integer(round), Json::Integer(index)] => {
                u32::try_from(*round).ok().zip(usize::try_from(*index).ok())
            }
            _ => None,
        },
        _ => None,
    };
    let place = place.filter(|(round, index)| *round < header.rounds && *index < header.questions);
    place.ok_or_else(|| FieldError::new(name, "must be a round and a question of the run"))
}

/// Opens the file, made if need be for this user only, and locks it. A file that was removed meanwhile is no journal.
fn open_locked(path: &Path) -> Result<File, EvaluateError> {
    let failed = |action, source| EvaluateError::Journal { action, path: path.to_owned(), source };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|source| failed("make the folder of", source))?;
    }
    loop {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
        let file = options.open(path).map_err(|source| failed("open", source))?;
        let found = file.metadata().map_err(|source| failed("open", source))?;
        if !found.is_file() {
            return Err(failed("open", io::Error::other("it is not a regular file")));
        }
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(EvaluateError::Busy { path: path.to_owned() }),
            Err(TryLockError::Error(source)) => return Err(failed("lock", source)),
        }
        if file.metadata().map_err(|source| failed("open", source))?.nlink() > 0 {
            return Ok(file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: Seed = Seed::from_bytes([9; 32]);

    fn header() -> JournalHeader {
        JournalHeader { run: ObjectId::of(b"run"), rounds: 2, questions: 3 }
    }

    fn answer(reply: &str) -> Outcome {
        let receipt = object(vec![("status", Json::String("answered".to_owned()))]);
        Outcome::answered(Some(reply.to_owned()), receipt).unwrap()
    }

    fn open(path: &Path, resume: bool) -> Result<(Journal, Plan, Kept), String> {
        let other = Seed::from_bytes([1; 32]);
        Journal::open(path, &header(), if resume { other } else { SEED }, resume).map_err(|error| error.to_string())
    }

    #[test]
    fn what_was_kept_is_found_again_and_what_was_in_flight_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/er/j.jsonl");
        let (journal, _, kept) = open(&path, false).unwrap();
        assert!(kept.is_empty());
        for index in [2, 0, 1] {
            journal.asked(0, index).unwrap();
        }
        journal.unasked(0, 1).unwrap();
        journal.answered(0, 2, &answer("first")).unwrap();
        journal.answered(0, 2, &Outcome::failed(Fault::Extra, "x", 1.0)).unwrap();
        assert!(open(&path, true).unwrap_err().starts_with("another process is at this run"));
        drop(journal);
        // A crash in the middle of a line.
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"question\":[0,").unwrap();
        assert!(open(&path, false).unwrap_err().ends_with("has 1 of 6 answers"));
        let (journal, plan, mut kept) = open(&path, true).unwrap();
        assert_eq!(plan.seed(), SEED);
        assert_eq!((kept.len(), kept.answered(), kept.lost(), kept.spent(2.0)), (1, 0, 1, 3.0));
        assert!(kept.is_lost(0, 0) && !kept.is_lost(0, 1));
        assert_eq!(kept.take(0, 2).unwrap().fault(), Some(Fault::Extra));
        journal.answered(0, 1, &answer("second")).unwrap();
        drop(journal);
        let (journal, _, mut kept) = open(&path, true).unwrap();
        assert_eq!(kept.take(0, 1).unwrap(), answer("second"));
        journal.remove().unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn another_runs_journal_and_damage_are_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j.jsonl");
        drop(open(&path, false).unwrap());
        let other = JournalHeader { run: ObjectId::of(b"other"), ..header() };
        let refusal = Journal::open(&path, &other, SEED, true).unwrap_err().to_string();
        assert!(refusal.ends_with("is the journal of another run: questions, system or settings differ"), "{refusal}");
        for (line, reason) in [
            ("{}", "field `question`: is missing"),
            ("{\"asked\":[2,0]}", "field `asked`: must be a round and a question of the run"),
            ("{\"question\":[0,3],\"answer\":{}}", "field `question`: must be a round and a question of the run"),
            ("{\"question\":[0,0],\"answer\":{\"reply\":1,\"receipt\":{}}}", "field `reply`: must be a string or null"),
            ("{\"question\":[0,0],\"fault\":\"x\",\"answer\":{}}", "field `fault`: is not a known one"),
        ] {
            let first = std::fs::read_to_string(&path).unwrap().lines().next().unwrap().to_owned();
            std::fs::write(&path, format!("{first}\n{line}\n")).unwrap();
            let error = Journal::open(&path, &header(), SEED, true).unwrap_err();
            let cause = std::error::Error::source(&error).unwrap().to_string();
            assert!(cause.contains(":2: ") && cause.contains(reason), "{cause}");
        }
        std::fs::write(&path, "{\"schema\":\"x\"}\n").unwrap();
        assert!(matches!(Journal::open(&path, &header(), SEED, true), Err(EvaluateError::JournalRecord(_))));
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/dev/null", &path).unwrap();
        assert!(open(&path, false).unwrap_err().starts_with("cannot open the journal"));
    }
}
