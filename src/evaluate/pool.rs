//! The run itself: workers ask a system question by question, and whatever comes of a question is kept at once.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};

use super::EvaluateError;
use super::budget::{Budget, Unreserved};
use super::journal::{Journal, Kept};
use super::outcome::{Fault, Outcome};
use super::plan::Plan;
use super::stop::Stop;
use crate::ledger::MAX_RECORD_BYTES;
use crate::object::MAX_VALUES;
use crate::question::{Question, QuestionSet};

/// The most workers that ask at once.
pub const MAX_CONCURRENCY: usize = 256;

/// The answers of a run take at most so many bytes: with failed ones for the rest they must still be readable as evidence.
const MAX_RUN_BYTES: u64 = MAX_RECORD_BYTES / 2;

/// The same in JSON values.
const MAX_RUN_VALUES: u64 = MAX_VALUES as u64 / 2;

/// A system that can be asked by several workers at once.
pub trait System: Sync {
    /// A place for one worker.
    fn seat(&self) -> Box<dyn Seat + '_>;

    /// What a question may cost at most and is set aside before it is asked; `None` where the seat sees to it.
    fn reserve(&self) -> Option<f64>;

    /// Calls that a question counts as which was asked and whose answer was lost.
    fn lost_calls(&self) -> f64;
}

/// One worker's place at a system.
pub trait Seat: Send {
    /// Asks one question and waits for what comes of it.
    fn ask(&mut self, asked: &Asked<'_>) -> Step;

    /// Ends the round. A failure here replaces what came of the last question.
    fn finish(&mut self) -> Option<Outcome>;
}

/// One question as it is asked.
pub struct Asked<'a> {
    /// The id that the system sees.
    pub id: &'a str,
    /// The question.
    pub question: &'a Question,
    /// What may be spent.
    pub budget: &'a Budget,
    /// When to stop.
    pub stop: &'a Stop,
    plan: &'a Plan,
    round: u32,
    index: usize,
}

impl Asked<'_> {
    /// A number in `[0, 1)` of this question and attempt.
    pub(super) fn spread(&self, attempt: u32) -> f64 {
        self.plan.spread(self.round, self.index, attempt)
    }
}

/// What asking came to.
pub enum Step {
    /// An answer, or a failed one.
    Done(Outcome),
    /// Stopped after the question was asked.
    Abandoned,
    /// Stopped before the question was asked.
    Unasked,
    /// A failure that every question would meet. It ends a run that has no answer yet, and is a failed answer in any other.
    Hopeless {
        /// What it is.
        fault: Fault,
        /// Why, for receipts.
        detail: String,
        /// What the system says about it: shown, and never recorded.
        said: String,
    },
}

/// A run over a question set.
pub struct Run<'a> {
    /// What is asked.
    pub questions: &'a QuestionSet,
    /// In which order, and how often.
    pub plan: &'a Plan,
    /// Who is asked.
    pub system: &'a dyn System,
    /// By how many workers, from 1 to [`MAX_CONCURRENCY`].
    pub concurrency: usize,
    /// What may be spent.
    pub budget: &'a Budget,
    /// Where answers are kept.
    pub journal: &'a Journal,
    /// When to stop.
    pub stop: &'a Stop,
}

/// One round as it goes.
struct Round<'a> {
    run: &'a Run<'a>,
    number: u32,
    todo: Vec<usize>,
    next: AtomicUsize,
    slots: Mutex<Vec<Option<Outcome>>>,
    totals: &'a Totals,
    /// Somebody failed: no more questions.
    failed: AtomicBool,
}

/// What the answers of a run come to.
#[derive(Default)]
struct Totals {
    answered: AtomicU64,
    bytes: AtomicU64,
    values: AtomicU64,
}

impl Totals {
    /// Counts what came of a question; whether all answers together are still within what evidence may hold.
    fn add(&self, outcome: &Outcome) -> bool {
        let record = outcome.record(None);
        let bytes = serde_json::to_vec(&record).map_or(0, |text| text.len() as u64);
        let values = record.count() as u64;
        let bytes = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let values = self.values.fetch_add(values, Ordering::Relaxed) + values;
        bytes <= MAX_RUN_BYTES && values <= MAX_RUN_VALUES
    }
}

impl Run<'_> {
    /// Asks everything that is not kept; what came of every question, by round, in the order of the questions.
    ///
    /// Questions that a killed run had asked without an answer being kept are not asked again: they are failed answers.
    /// `progress` is told of each answer.
    pub fn ask_all(&self, mut kept: Kept, progress: &mut dyn FnMut()) -> Result<Vec<Vec<Outcome>>, EvaluateError> {
        let totals = Totals { answered: AtomicU64::new(kept.answered()), ..Totals::default() };
        let mut rounds = Vec::new();
        let mut complete = 0;
        for number in 0..self.plan.rounds() {
            let mut slots = vec![None; self.plan.questions()];
            for (index, slot) in slots.iter_mut().enumerate() {
                *slot = kept.take(number, index).inspect(|outcome| _ = totals.add(outcome));
                if slot.is_none() && kept.is_lost(number, index) {
                    let detail = "the run was killed between question and answer";
                    let lost = Outcome::failed(Fault::InFlight, detail, self.system.lost_calls());
                    self.journal.answered(number, index, &lost)?;
                    *slot = Some(lost);
                }
            }
            let slots = self.round(number, slots, &totals, progress)?;
            complete += slots.iter().flatten().count() as u64;
            let all: Option<Vec<Outcome>> = slots.into_iter().collect();
            match all {
                Some(outcomes) => rounds.push(outcomes),
                None => return Err(EvaluateError::Interrupted { answered: complete, total: self.plan.total() }),
            }
        }
        Ok(rounds)
    }

    fn round(
        &self,
        number: u32,
        slots: Vec<Option<Outcome>>,
        totals: &Totals,
        progress: &mut dyn FnMut(),
    ) -> Result<Vec<Option<Outcome>>, EvaluateError> {
        let mut todo = self.plan.order(number);
        todo.retain(|index| slots[*index].is_none());
        let workers = self.concurrency.clamp(1, MAX_CONCURRENCY).min(todo.len());
        let round = Round {
            run: self,
            number,
            todo,
            next: AtomicUsize::new(0),
            slots: Mutex::new(slots),
            totals,
            failed: AtomicBool::new(false),
        };
        let outcomes = std::thread::scope(|scope| {
            let (told, tell) = channel();
            let workers: Vec<_> = (0..workers)
                .map(|_| {
                    let (round, told) = (&round, told.clone());
                    scope.spawn(move || round.work(&told))
                })
                .collect();
            drop(told);
            tell.iter().for_each(|()| progress());
            workers.into_iter().map(|worker| worker.join().unwrap_or(Ok(()))).collect::<Vec<_>>()
        });
        outcomes.into_iter().collect::<Result<Vec<()>, _>>()?;
        Ok(round.slots.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Round<'_> {
    fn work(&self, told: &Sender<()>) -> Result<(), EvaluateError> {
        let outcome = self.ask_on(told);
        if outcome.is_err() {
            self.failed.store(true, Ordering::Relaxed);
        }
        outcome
    }

    fn ask_on(&self, told: &Sender<()>) -> Result<(), EvaluateError> {
        let mut seat = self.run.system.seat();
        let mut last = None;
        while !self.run.stop.requested() && !self.failed.load(Ordering::Relaxed) {
            let Some(index) = self.todo.get(self.next.fetch_add(1, Ordering::Relaxed)).copied() else { break };
            match self.ask(seat.as_mut(), index)? {
                Some(outcome) => self.keep(index, outcome)?,
                None => break,
            }
            last = Some(index);
            let _ = told.send(());
        }
        match (seat.finish(), last) {
            (Some(failure), Some(index)) => self.keep(index, failure),
            _ => Ok(()),
        }
    }

    /// What came of a question; `None` where the run is being stopped.
    fn ask(&self, seat: &mut dyn Seat, index: usize) -> Result<Option<Outcome>, EvaluateError> {
        let Run { questions, plan, system, budget, journal, stop, .. } = self.run;
        if stop.is_late() {
            return Ok(Some(Outcome::failed(
                Fault::TimeUp,
                "the run's time was up before the question was asked",
                0.0,
            )));
        }
        let reserve = system.reserve();
        if let Some(reserve) = reserve {
            match budget.reserve(reserve, stop) {
                Ok(()) => {}
                Err(Unreserved::Stopped) => return Ok(None),
                Err(Unreserved::Short(short)) => {
                    return Ok(Some(Outcome::failed(Fault::MaxCost, short.to_string(), 0.0)));
                }
            }
        }
        journal.asked(self.number, index)?;
        let id = plan.id(self.number, index);
        let question = &questions.questions()[index];
        let asked = Asked { id: &id, question, budget, stop, plan, round: self.number, index };
        let step = seat.ask(&asked);
        if let Some(reserve) = reserve {
            let spent = if let Step::Done(outcome) = &step { outcome.cost() } else { 0.0 };
            budget.settle(reserve, spent);
        }
        match step {
            Step::Done(outcome) => Ok(Some(outcome)),
            Step::Abandoned => Ok(None),
            Step::Unasked => journal.unasked(self.number, index).map(|()| None),
            Step::Hopeless { detail, said, .. } if self.totals.answered.load(Ordering::Relaxed) == 0 => {
                Err(EvaluateError::Hopeless { reason: detail + &said })
            }
            Step::Hopeless { fault, detail, .. } => Ok(Some(Outcome::failed(fault, detail, 0.0))),
        }
    }

    fn keep(&self, index: usize, outcome: Outcome) -> Result<(), EvaluateError> {
        let outcome = self.fitting(outcome);
        self.run.journal.answered(self.number, index, &outcome)?;
        if outcome.fault().is_none() {
            self.totals.answered.fetch_add(1, Ordering::Relaxed);
        }
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots[index] = Some(outcome);
        Ok(())
    }

    /// The answer, where there is still room for it.
    fn fitting(&self, outcome: Outcome) -> Outcome {
        if self.totals.add(&outcome) || outcome.fault().is_some() {
            return outcome;
        }
        Outcome::failed(Fault::Oversize, "the answers of this run are too large together", outcome.cost())
    }
}
