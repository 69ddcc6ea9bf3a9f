//! `proofmark evaluate`: a system is asked every question of a set, and its answers become a round.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use proofmark::evaluate::{
    Budget, EvaluateError, Fault, Journal, JournalHeader, Kept, Outcome, Plan, Run, RunRecord, Seed, Stop,
};
use proofmark::ledger::{Ledger, held_bytes, role};
use proofmark::object::{MAX_RECORDS, ObjectId, encode};
use proofmark::question::{Question, QuestionSet, Scheme};
use proofmark::receipt::{Body, Kind, LineName, Text};
use proofmark::trust::Role;

use super::append;
use super::asking::{AskingOptions, Ready};
use super::context::Context;
use super::failure::{Exit, Failure};
use super::intake::{EvidenceArgument, Piece, SubjectArgument};
use super::keyfile::is_inside_ledger;
use super::round::{CheckedRound, RoundArguments, RoundReader};
use super::signing::{Hands, SigningOptions};
use super::{evaluated, interrupt, progress, rescore};

/// What the command takes.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("asked").required(true).args(["system", "openai", "answers"])))]
#[command(after_help = "\
A question, one line on the system's stdin:
  {\"id\": \"5f…\", \"query\": {\"text\": \"…\", \"task\": \"\", \"fingerprint\": null, \"expected_output\": null, \"scope\": \"local\"}, \"read_only\": true}
Its answer, one line on the system's stdout:
  {\"id\": \"5f…\", \"reply\": \"…\" or null, \"receipt\"?: {\"status\": \"answered\", \"degraded_mode\"?, \"spend\"?}}
An answer that does not come, or is none, is a failed answer: there are always as many answers as questions.
docs/evaluate.md has the whole protocol, and systems to begin with.

Examples:
  proofmark evaluate --questions q.jsonl --system 'python3 bot.py' --concurrency 4
  proofmark evaluate --questions q.jsonl --openai https://api.openai.com/v1 --model gpt-4o-mini --set temperature=0
  proofmark evaluate --questions q.jsonl --system ./bot --repeat 5 --line flips
  proofmark evaluate --questions q.jsonl --system ./bot --resume
  proofmark evaluate --answers a.jsonl --scorer normalized/v1")]
pub struct Arguments {
    /// The question set [default with --answers: that of the round that has these answers]
    #[arg(long, value_name = "FILE", required_unless_present = "answers")]
    questions: Option<PathBuf>,
    /// Ask nobody: score these recorded answers
    #[arg(long, value_name = "FILE", conflicts_with_all = ["concurrency", "timeout", "max_time", "retries", "max_cost", "repeat", "resume", "journal", "seed"])]
    answers: Option<PathBuf>,
    #[command(flatten)]
    asking: AskingOptions,
    /// Ask every question K times: K rounds, kept apart
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "Asking")]
    repeat: u32,
    /// Go on with a run that was interrupted; no question is asked twice
    #[arg(long, help_heading = "Asking")]
    resume: bool,
    /// With --resume, ask questions once more that were asked when the run was killed; else they count as failed
    #[arg(long, requires = "resume", help_heading = "Asking")]
    ask_again: bool,
    /// Where answers are kept until they are appended [default: in `evaluate/` of the state folder]
    #[arg(long, value_name = "FILE", help_heading = "Asking")]
    journal: Option<PathBuf>,
    /// What order and ids of the questions follow from, 64 hexadecimal digits [default: drawn anew]
    #[arg(long, value_name = "HEX", help_heading = "Asking")]
    seed: Option<Seed>,
    /// The judge, as for `append` [default: the ledger's, substring/v2]
    #[arg(long, value_name = "SCORER")]
    scorer: Option<String>,
    /// The program that judges, for command/NAME/VERSION
    #[arg(long, value_name = "FILE")]
    judge: Option<PathBuf>,
    /// How the question set is identified: pm1 or mixle [default: pm1]
    #[arg(long)]
    scheme: Option<Scheme>,
    /// The line that the round belongs to [default: the ledger's, main]
    #[arg(long)]
    line: Option<LineName>,
    /// What was evaluated: NAME=FILE or NAME=sha256:HEX (repeatable) [default: the system as it is recorded]
    #[arg(long, value_name = "NAME=WHAT")]
    subject: Vec<SubjectArgument>,
    /// More evidence: ROLE=FILE (repeatable)
    #[arg(long, value_name = "ROLE=FILE")]
    evidence: Vec<EvidenceArgument>,
    /// A word for the reader
    #[arg(long, value_name = "TEXT")]
    note: Option<Text>,
    /// Keep the question text out of the ledger (the questions need salts: `proofmark questions seal`)
    #[arg(long)]
    sealed: bool,
    #[command(flatten)]
    keys: SigningOptions,
}

/// Runs the command.
pub fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let ledger = context.ledger()?;
    let round = arguments.round();
    if let Some(answers) = &arguments.answers {
        return rescore::run(answers, round, &arguments.keys, context, &ledger);
    }
    let questions = arguments.questions.clone().unwrap_or_default();
    let mut reader = RoundReader::new(&ledger);
    reader.check_before_asking(&round, &questions)?;
    let hands = Hands::ready(&arguments.keys, context, &ledger, &[Role::Append])?;
    let ready = arguments.asking.ready()?;
    let (set, piece) = reader.question_set(&questions)?;
    let (journal, plan, mut kept) = arguments.open_journal(set, &piece.bytes, &ready, context, &ledger)?;
    let resumed = !kept.is_empty();
    if arguments.resume && !resumed {
        context.note("nothing to resume: no answers of a run like this are kept, so every question is asked");
    }
    if arguments.ask_again {
        kept.ask_lost_again();
    }
    let rounds = match ask(set, &plan, &ready, &journal, kept, context) {
        Err(EvaluateError::Hopeless { reason }) => {
            let reason = reason + &ready.last_words().map_or(String::new(), |words| format!("; it says: {words}"));
            if !resumed {
                journal.remove()?;
            }
            return Err(EvaluateError::Hopeless { reason }.into());
        }
        Err(error) => return Err(error.into()),
        Ok(rounds) => rounds,
    };
    tell_faults(&rounds, &ready, context);
    ready.still_the_same()?;
    let asked = Asked { round, questions, plan, ready, resumed };
    match asked.append(rounds, &mut reader, hands, context, &ledger) {
        Ok(exit) => journal.remove().map(|()| exit).map_err(Failure::from),
        Err(failure) => {
            context.note(&format!(
                "the answers are kept in {}; --resume scores and appends them without asking again",
                journal.path().display()
            ));
            Err(failure)
        }
    }
}

impl Arguments {
    fn round(&self) -> RoundArguments {
        RoundArguments {
            questions: self.questions.clone(),
            answers: Some(PathBuf::from("the answers")),
            scorer: self.scorer.clone(),
            judge: self.judge.clone(),
            scheme: self.scheme,
            line: self.line.clone(),
            subject: self.subject.clone(),
            evidence: self.evidence.clone(),
            note: self.note.clone(),
            sealed: self.sealed,
            ..RoundArguments::default()
        }
    }

    /// The journal of this run: what it is of is the ledger, the line, the questions, the system, and how often.
    fn open_journal(
        &self,
        set: &QuestionSet,
        bytes: &[u8],
        ready: &Ready,
        context: &Context,
        ledger: &Ledger,
    ) -> Result<(Journal, Plan, Kept), Failure> {
        let total = u64::from(self.repeat) * set.len() as u64;
        if total > MAX_RECORDS as u64 {
            return Err(Failure::refused(format!(
                "{total} answers are more than the {MAX_RECORDS} that a run may have"
            ))
            .hint("ask fewer questions, or less often"));
        }
        let line = self.line.clone().map_or_else(|| ledger.config().defaults.line.parse(), Ok)?;
        let what = serde_json::json!({
            "genesis": ledger.log().genesis.to_string(),
            "line": line.as_str(),
            "questions": ObjectId::of(bytes).to_string(),
            "system": ready.record,
            "rounds": self.repeat,
        });
        let run = ObjectId::of(&encode(&what).map_err(Failure::failed)?);
        let path = match &self.journal {
            Some(path) if is_inside_ledger(path, context)? => {
                return Err(Failure::refused(format!(
                    "{} is inside a ledger, where only the ledger writes",
                    path.display()
                ))
                .hint("name a journal outside the ledger's folder"));
            }
            Some(path) => path.clone(),
            None => context.state_folder()?.join("evaluate").join(format!("{}.jsonl", run.short())),
        };
        let mut drawn = [0; 32];
        getrandom::getrandom(&mut drawn).map_err(Failure::failed)?;
        let seed = self.seed.unwrap_or(Seed::from_bytes(drawn));
        let header = JournalHeader { run, rounds: self.repeat, questions: set.len() };
        Ok(Journal::open(&path, &header, seed, self.resume)?)
    }
}

/// Asks everything that is not kept.
fn ask(
    set: &QuestionSet,
    plan: &Plan,
    ready: &Ready,
    journal: &Journal,
    kept: Kept,
    context: &Context,
) -> Result<Vec<Vec<Outcome>>, EvaluateError> {
    let failed = |source| EvaluateError::Journal { action: "begin", path: journal.path().to_owned(), source };
    let flag = interrupt::flag().map_err(|failure| failed(std::io::Error::other(failure.to_string())))?;
    let stop = Stop::new(Arc::clone(&flag), ready.max_time.map(|time| Instant::now() + time));
    let system = ready.system();
    let lost = system.reserve().unwrap_or_else(|| system.lost_calls());
    let budget = Budget::new(ready.settings.max_cost, kept.spent(lost));
    let bar = progress::bar(context, "asking", plan.total() - kept.len());
    let run = Run {
        questions: set,
        plan,
        system,
        concurrency: ready.settings.concurrency,
        budget: &budget,
        journal,
        stop: &stop,
    };
    let rounds = run.ask_all(kept, &mut || bar.inc(1));
    bar.finish_and_clear();
    rounds
}

/// Tells people that answers failed, and of the first one why.
fn tell_faults(rounds: &[Vec<Outcome>], ready: &Ready, context: &Context) {
    let failed: Vec<_> = rounds.iter().flatten().filter(|outcome| outcome.fault().is_some()).collect();
    let Some(first) = failed.first() else { return };
    let total: usize = rounds.iter().map(Vec::len).sum();
    let detail = first.detail().unwrap_or_default();
    context.note(&format!("{} of {total} answers failed; the first: {}: {detail}", failed.len(), first.word()));
    if failed.len() == total && failed.iter().all(|outcome| outcome.fault() == Some(Fault::Timeout)) {
        context.note("no answer came at all: a system writes each answer at once, and flushes its output");
    }
    if let Some(words) = ready.last_words() {
        context.note(&format!("the system's stderr ends with: {words}"));
    }
}

/// What was asked, on its way into the ledger.
struct Asked {
    round: RoundArguments,
    questions: PathBuf,
    plan: Plan,
    ready: Ready,
    resumed: bool,
}

impl Asked {
    /// Scores every round and appends all of them in one commit.
    fn append(
        mut self,
        rounds: Vec<Vec<Outcome>>,
        reader: &mut RoundReader<'_>,
        hands: Hands,
        context: &Context,
        ledger: &Ledger,
    ) -> Result<Exit, Failure> {
        self.round.default_subject = Some(self.ready.subject.clone());
        let rehearsal = hands.rehearsal(ledger)?;
        let (mut scored, mut bodies, mut counts, mut correct) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (number, outcomes) in (0..).zip(rounds) {
            let asked = |outcome: &Outcome| !matches!(outcome.fault(), Some(Fault::MaxCost | Fault::TimeUp));
            let asked: Vec<bool> = outcomes.iter().map(asked).collect();
            let (one, counted) = self.score(number, outcomes, reader)?;
            if number == 0 && self.resumed && is_appended(&one, &self.plan, ledger)? {
                return Err(Failure::refused("this run is appended already")
                    .hint("it was killed between that and removing its journal, which you may remove"));
            }
            counts.push(counted);
            bodies.push(one.body().clone());
            correct.push(one.correct().iter().zip(asked).map(|(right, asked)| asked.then_some(*right)).collect());
            rehearsal.hold(one.ahead(context)?)?;
            scored.push(one);
        }
        let flips = evaluated::flips(&reader.question_set(&self.questions)?.0, &correct);
        let summaries: Vec<_> = bodies.iter().map(append::summary).collect();
        let pen = hands.agree(context, ledger, Kind::Scorecard, &summaries.join("; "))?;
        let drafts = scored.into_iter().map(|one| one.store(context, ledger)).collect::<Result<Vec<_>, _>>()?;
        let appended = pen.append(context, ledger, drafts.into_iter().map(Ok))?;
        evaluated::report(context, &appended, &bodies, counts, flips)
    }

    fn score(
        &mut self,
        number: u32,
        outcomes: Vec<Outcome>,
        reader: &mut RoundReader<'_>,
    ) -> Result<(CheckedRound, evaluated::Outcomes), Failure> {
        let Ready { record, settings, .. } = &self.ready;
        let record = RunRecord::new(record, settings, &self.plan, number, self.resumed, &outcomes);
        let bytes = record.encode().map_err(Failure::failed)?;
        let counted = record.outcomes().clone();
        let name = PathBuf::from(format!("the answers of round {}", number + 1));
        let records = answers(&reader.question_set(&self.questions)?.0, &outcomes)?;
        reader.give_answers(&name, records);
        self.round.answers = Some(name);
        let mut one = reader.check(&self.round, Path::new(""))?;
        one.add(Piece::new(role::RUN, bytes, "application/json", true));
        Ok((one, counted))
    }
}

/// The answer records in the order of the questions, by id where every question has one.
fn answers(set: &QuestionSet, outcomes: &[Outcome]) -> Result<Vec<u8>, Failure> {
    let by_id = set.iter().all(|question| question.id().is_some());
    let mut bytes = Vec::new();
    for (question, outcome) in set.iter().zip(outcomes) {
        let id = Some(question).filter(|_| by_id).and_then(Question::id);
        serde_json::to_writer(&mut bytes, &outcome.record(id))?;
        bytes.push(b'\n');
    }
    Ok(bytes)
}

/// Whether the ledger has these answers from a run with this seed.
fn is_appended(round: &CheckedRound, plan: &Plan, ledger: &Ledger) -> Result<bool, Failure> {
    let Some(wanted) = round.answers() else { return Ok(false) };
    let mut found = false;
    let snapshot = ledger.snapshot()?;
    snapshot.for_each(|_, receipt| {
        let predicate = &receipt.statement().predicate;
        let same = matches!(predicate.body, Body::Scorecard(_))
            && predicate.evidence_of(role::ANSWERS).any(|evidence| evidence.blake3 == wanted);
        if same && let Some(bytes) = held_bytes(ledger.store(), predicate, role::RUN)? {
            found |= RunRecord::has_seed(&bytes, plan.seed());
        }
        Ok(())
    })?;
    Ok(found)
}
