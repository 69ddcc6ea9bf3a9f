//! Recorded answers under another scorer: nobody is asked.

use std::path::{Path, PathBuf};

use proofmark::import::SCORER_PREFIX;
use proofmark::ledger::{Ledger, LedgerError, held_bytes, role, scheme_of};
use proofmark::object::ObjectId;
use proofmark::receipt::{Body, Evidence, Kind, Receipt, Subject};
use proofmark::scorecard::{Fact, Unknown};
use proofmark::trust::Role;

use super::append;
use super::context::Context;
use super::evaluated;
use super::failure::{Exit, Failure};
use super::intake::RecordFile;
use super::round::{RoundArguments, RoundReader};
use super::signing::{Hands, SigningOptions};

/// Scores the answers of a file and appends the round. Where no questions are named, they are those of the newest round
/// that has the same answers, whose subject and record of the run the new round has, too.
pub fn run(
    answers: &Path,
    mut round: RoundArguments,
    keys: &SigningOptions,
    context: &Context,
    ledger: &Ledger,
) -> Result<Exit, Failure> {
    let mut reader = RoundReader::new(ledger);
    let file = RecordFile::read(answers)?;
    let mut source = None;
    if round.questions.is_none() {
        let (index, receipt) = newest_with(ledger, ObjectId::of(&file.bytes))?.ok_or_else(|| {
            Failure::refused(format!("no round of this ledger has the answers of {}", file.name))
                .hint("name their questions: --questions FILE")
        })?;
        let held = held_bytes(ledger.store(), &receipt.statement().predicate, role::QUESTIONS);
        let bytes = held.map_err(LedgerError::from)?.ok_or_else(|| {
            Failure::refused(format!("the questions of receipt {index} are not held"))
                .hint("name them: --questions FILE")
        })?;
        let name = PathBuf::from(format!("the questions of receipt {index}"));
        reader.give_questions(&name, bytes)?;
        round.questions = Some(name);
        if let Body::Scorecard(body) = &receipt.statement().predicate.body {
            round.scheme = round.scheme.or(Some(scheme_of(body.card.question_set_id())));
        }
        source = Some(receipt);
    }
    let name = PathBuf::from(&file.name);
    reader.give_answers(&name, file.bytes);
    round.answers = Some(name);
    let mut checked = reader.check(&round, Path::new(""))?;
    if let Some(receipt) = &source {
        checked.leave_unknown(still_unknown(receipt)?);
        let (subject, run) = origin(receipt);
        if round.subject.is_empty() {
            checked.of_subjects(subject);
        }
        run.into_iter().for_each(|run| checked.carry(run));
    }
    let hands = Hands::ready(keys, context, ledger, &[Role::Append])?;
    let body = checked.body().clone();
    hands.rehearsal(ledger)?.hold(checked.ahead(context)?)?;
    let pen = hands.agree(context, ledger, Kind::Scorecard, &append::summary(&body))?;
    let draft = checked.store(context, ledger)?;
    let appended = pen.append(context, ledger, [Ok(draft)])?;
    evaluated::report(context, &appended, &[body], Vec::new(), None)
}

/// What stays unknown of a round that is judged anew. What another tool was told is in the identity of the scorer that is
/// replaced, so it is unknown from here on. Without the text of questions or expected answers nothing can be judged.
pub fn still_unknown(receipt: &Receipt) -> Result<Vec<Unknown>, Failure> {
    let Body::Scorecard(body) = &receipt.statement().predicate.body else { return Ok(Vec::new()) };
    if !body.scorer.as_str().starts_with(SCORER_PREFIX) {
        return Ok(body.unknown.clone());
    }
    let said = |fact: Fact| body.unknown.iter().copied().find(|unknown| unknown.field == fact);
    if let Some(unknown) = said(Fact::Prompts).or(said(Fact::References)) {
        let what = unknown.field.meaning();
        return Err(Failure::refused(format!("the files that this round was imported from do not hold {what}"))
            .hint("what was not recorded cannot be judged anew"));
    }
    let stays = |fact: &Fact| match fact {
        Fact::Scorer | Fact::Configuration => None,
        Fact::Generation | Fact::Repeats => Some(said(*fact).unwrap_or(Unknown { field: *fact, allowed: false })),
        other => said(*other),
    };
    Ok(Fact::ALL.iter().filter_map(stays).collect())
}

/// What was evaluated in a round, and how it was run: the same for the same answers under any scorer.
pub fn origin(receipt: &Receipt) -> (Vec<Subject>, Vec<Evidence>) {
    let statement = receipt.statement();
    (statement.subject.clone(), statement.predicate.evidence_of(role::RUN).cloned().collect())
}

/// The newest round that has these answers, its receipt checked.
fn newest_with(ledger: &Ledger, answers: ObjectId) -> Result<Option<(u64, Receipt)>, Failure> {
    let snapshot = ledger.snapshot()?;
    let mut newest = None;
    snapshot.for_each(|index, receipt| {
        let predicate = &receipt.statement().predicate;
        let has = predicate.evidence_of(role::ANSWERS).any(|evidence| evidence.held && evidence.blake3 == answers);
        if has && matches!(predicate.body, Body::Scorecard(_)) {
            newest = Some(index);
        }
        Ok(())
    })?;
    let Some(index) = newest else { return Ok(None) };
    Ok(Some((index, ledger.checked_receipt(&snapshot, index)?)))
}
