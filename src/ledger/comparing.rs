//! Comparing two rounds of a ledger, from their receipts and whatever evidence they hold. Recording and replaying a
//! comparison are this one function.

use super::{LedgerError, RoundEvidence, held_bytes, role, scheme_of};
use crate::compare::{
    Comparison, Difference, Evidence, PairedQuestion, QuestionChanges, Questions, Round, Sides, UnknownFact,
};
use crate::import::Projected;
use crate::question::{Leaves, QuestionSet, SetDiff, diff_leaves, diff_sets};
use crate::receipt::{Basis, Body, Receipt, ReceiptRef, ScorecardBody};
use crate::scorecard::{DEFAULT_TOLERANCE, Fact, JudgedRound, Tolerance, Unknown};
use crate::store::Store;

/// A scorecard receipt with its number in its line.
#[derive(Debug, Clone)]
pub struct NumberedRound {
    /// Its place and id.
    pub reference: ReceiptRef,
    /// Its number within its line, from 1.
    pub number: u64,
    receipt: Receipt,
    body: ScorecardBody,
}

impl NumberedRound {
    /// `receipt` as a round; `None` if it is of another kind.
    pub fn new(reference: ReceiptRef, number: u64, receipt: Receipt) -> Option<Self> {
        let Body::Scorecard(body) = &receipt.statement().predicate.body else { return None };
        let body = body.clone();
        Some(Self { reference, number, receipt, body })
    }

    /// What it says.
    pub fn body(&self) -> &ScorecardBody {
        &self.body
    }

    /// The receipt.
    pub fn receipt(&self) -> &Receipt {
        &self.receipt
    }

    /// What people call it, as in `main#3`.
    pub fn name(&self) -> String {
        format!("{}#{}", self.body.line, self.number)
    }

    fn round(&self) -> Round {
        Round {
            name: self.name(),
            receipt: Some(self.reference.receipt.to_string()),
            scorer: Some(self.body.scorer.to_string()),
            scorecard: self.body.card.clone(),
        }
    }
}

/// Two rounds compared, with the questions and replies behind the numbers where they are held.
#[derive(Debug)]
pub struct ComparedRounds {
    /// The `compare.v1` document.
    pub comparison: Comparison,
    /// The evidence of the base round.
    pub base: RoundEvidence,
    /// The evidence of the current round.
    pub current: RoundEvidence,
}

impl ComparedRounds {
    /// Whether a question that must pass fails in the current round, or is not known to pass: also where the rounds cannot
    /// be compared, or the earlier one has no answers.
    pub fn must_pass_failing(&self) -> bool {
        let passed =
            |at: usize| self.current.judged.as_ref().is_some_and(|judged| judged.correct.get(at) == Some(&true));
        let questions = self.current.questions.as_ref().map_or(&[][..], QuestionSet::questions);
        let fails = questions.iter().enumerate().any(|(at, question)| question.must_pass() && !passed(at));
        fails || self.comparison.must_pass_failing()
    }
}

/// Compares two rounds. `looks` counts the rounds measured on the current round's question set so far; `withheld` stands
/// in for questions that the ledger does not hold; what is in `allow_unknown` may be unknown of either round.
pub fn compare_rounds(
    store: &dyn Store,
    base: &NumberedRound,
    current: &NumberedRound,
    tolerance: Tolerance,
    looks: Option<u64>,
    withheld: Option<&QuestionSet>,
    allow_unknown: &[Fact],
) -> Result<ComparedRounds, LedgerError> {
    let base_evidence = believed(store, base, withheld)?;
    let current_evidence = believed(store, current, withheld)?;
    let questions = changes(&base_evidence, &current_evidence, current)?;
    let names = names(&base_evidence, &current_evidence);
    let paired = paired(&base_evidence, &current_evidence, &names);
    let unknown = unknown_facts(&base.body.unknown, &current.body.unknown, allow_unknown);
    let conditions = conditions(store, base, current)?;
    let evidence = Evidence {
        questions: &questions,
        answered: paired.as_deref(),
        looks,
        partial: (credit(&base_evidence), credit(&current_evidence)),
        unknown: &unknown,
        conditions: &conditions,
    };
    let comparison = Comparison::of(base.round(), current.round(), tolerance, evidence)?;
    Ok(ComparedRounds { comparison, base: base_evidence, current: current_evidence })
}

/// Whether a question that must pass fails in a round by itself, or is not known to pass, as far as its questions are held.
pub fn fails_what_must_pass(store: &dyn Store, round: &NumberedRound) -> Result<bool, LedgerError> {
    Ok(compare_rounds(store, round, round, DEFAULT_TOLERANCE, None, None, &[])?.must_pass_failing())
}

/// The credit of answers that were partly right.
fn credit(evidence: &RoundEvidence) -> f64 {
    evidence.judged.as_ref().map_or(0.0, |judged| judged.partial)
}

/// What is unknown of either round. It is allowed where the user allows it, or whoever recorded it did.
pub fn unknown_facts(base: &[Unknown], current: &[Unknown], allowed: &[Fact]) -> Vec<UnknownFact> {
    let of = |list: &[Unknown], field: Fact| list.iter().copied().find(|unknown| unknown.field == field);
    let fact = |field| {
        let (old, new) = (of(base, field), of(current, field));
        let side = match (old, new) {
            (None, None) => return None,
            (Some(_), None) => Sides::Base,
            (None, Some(_)) => Sides::Current,
            (Some(_), Some(_)) => Sides::Both,
        };
        let recorded = [old, new].into_iter().flatten().all(|unknown| unknown.allowed);
        Some(UnknownFact { field, side, allowed: recorded || allowed.contains(&field) })
    };
    Fact::ALL.into_iter().filter_map(fact).collect()
}

/// What differs in what other tools were told, where both rounds were imported.
fn conditions(
    store: &dyn Store,
    base: &NumberedRound,
    current: &NumberedRound,
) -> Result<Vec<Difference>, LedgerError> {
    if base.body.scorer == current.body.scorer {
        return Ok(Vec::new());
    }
    let projected = |round: &NumberedRound| -> Result<Option<Projected>, LedgerError> {
        let bytes = held_bytes(store, &round.receipt.statement().predicate, role::PROJECTION)?;
        // One that cannot be read is a finding of an audit; here it explains nothing.
        Ok(bytes.and_then(|bytes| Projected::parse(&bytes).ok()))
    };
    let (Some(old), Some(new)) = (projected(base)?, projected(current)?) else { return Ok(Vec::new()) };
    let said = |(field, base, current)| Difference::Condition { field, base, current };
    Ok(old.differing(&new).into_iter().map(said).collect())
}

/// The evidence of a round, which must give the card that the receipt states.
pub(super) fn believed(
    store: &dyn Store,
    round: &NumberedRound,
    withheld: Option<&QuestionSet>,
) -> Result<RoundEvidence, LedgerError> {
    let body = &round.body;
    let evidence = RoundEvidence::load(store, &round.receipt.statement().predicate, body, withheld.cloned())?;
    let gives = evidence.judged.as_ref().is_none_or(|judged| judged.card == body.card);
    if gives && (body.basis == Basis::Asserted || evidence.judged.is_some() || body.sealed) {
        return Ok(evidence);
    }
    Err(LedgerError::Card { round: round.name(), receipt: round.reference.receipt })
}

fn changes(base: &RoundEvidence, current: &RoundEvidence, round: &NumberedRound) -> Result<Questions, LedgerError> {
    if let (Some(before), Some(after)) = (&base.questions, &current.questions) {
        let scheme = scheme_of(round.body.card.question_set_id());
        let diff = diff_sets(before, after, scheme).map_err(super::RoundEvidenceError::from)?;
        return Ok(Questions::Held(named(&diff)));
    }
    Ok(match (leaves(base), leaves(current)) {
        (Some(before), Some(after)) => Questions::Held(named(&diff_leaves(&before, &after))),
        (None, Some(_)) => Questions::NotHeld(Sides::Base),
        (Some(_), None) => Questions::NotHeld(Sides::Current),
        (None, None) => Questions::NotHeld(Sides::Both),
    })
}

fn leaves(evidence: &RoundEvidence) -> Option<Leaves> {
    evidence.leaves.clone().or_else(|| evidence.questions.as_ref()?.leaves().ok())
}

fn named(diff: &SetDiff) -> QuestionChanges {
    let names = |list: &[crate::question::QuestionName]| list.iter().map(ToString::to_string).collect();
    QuestionChanges {
        added: names(&diff.added),
        removed: names(&diff.removed),
        changed: names(&diff.changed),
        moved: diff.moved.iter().map(|moved| moved.name.to_string()).collect(),
    }
}

/// What the questions are called: by id where they have one, else by position.
fn names(base: &RoundEvidence, current: &RoundEvidence) -> Vec<String> {
    let n = current.judged.as_ref().map_or(0, |judged| judged.correct.len());
    let id = |evidence: &RoundEvidence, at: usize| -> Option<String> {
        evidence.questions.as_ref()?.questions().get(at)?.id().map(str::to_owned)
    };
    let answered = |judged: &Option<JudgedRound>, at: usize| -> Option<String> {
        judged.as_ref()?.answers.get(at)?.id().map(str::to_owned)
    };
    let name = |at| {
        let named = id(current, at).or_else(|| id(base, at)).or_else(|| answered(&current.judged, at));
        named.unwrap_or_else(|| format!("#{}", at + 1))
    };
    (0..n).map(name).collect()
}

fn paired<'a>(
    base: &'a RoundEvidence,
    current: &'a RoundEvidence,
    names: &'a [String],
) -> Option<Vec<PairedQuestion<'a>>> {
    let (before, after) = (base.judged.as_ref()?, current.judged.as_ref()?);
    if before.correct.len() != after.correct.len() {
        return None;
    }
    let question = |evidence: &'a RoundEvidence, at: usize| evidence.questions.as_ref()?.questions().get(at);
    let pair = |at: usize| {
        let (old, new) = (question(base, at), question(current, at));
        PairedQuestion {
            name: &names[at],
            base: before.correct[at],
            current: after.correct[at],
            must_pass: [old, new].into_iter().flatten().any(crate::question::Question::must_pass),
            cluster: new.or(old).and_then(crate::question::Question::cluster),
        }
    };
    Some((0..names.len()).map(pair).collect())
}
