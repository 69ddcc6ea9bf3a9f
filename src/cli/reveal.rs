//! `proofmark questions reveal`: one question of a sealed set, and checking it.

use std::path::{Path, PathBuf};

use proofmark::ledger::MAX_RECORD_BYTES;
use proofmark::object::ReceiptId;
use proofmark::question::{QuestionError, QuestionSet, QuestionSetId, Reveal, ScorerIdentity};
use proofmark::receipt::{Body, ScorecardBody};
use proofmark::score::Scorer;
use serde::Serialize;

use super::context::Context;
use super::failure::{Exit, Failure, one_line};
use super::intake::RecordFile;
use super::outfile::{OutFile, StagedFile};
use super::{questions, rounds};

/// What the command takes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The file shows the question, its salt and the leaves of the whole set, and nothing else of the other questions. Whoever
checks it learns that this question is in the set that a round's identity stands for.

Examples:
  proofmark questions reveal q.sealed.jsonl q7 --receipt main -o q7.reveal
  proofmark questions reveal q.sealed.jsonl '#7' --scorer exact/v1 -o q7.reveal
  proofmark questions reveal --check q7.reveal
  proofmark questions reveal --check q7.reveal --receipt main")]
pub struct Arguments {
    /// The question set with its salts (JSONL)
    #[arg(required_unless_present = "check", requires = "question")]
    file: Option<PathBuf>,
    /// The question, by its id or as #N, from 1
    question: Option<String>,
    /// The round that was measured on the set: gives the judge, and must be of this set
    #[arg(long, value_name = "REV")]
    receipt: Option<String>,
    /// The judge, which is part of the identity [default: substring/v2]
    #[arg(long, value_name = "SCORER", conflicts_with_all = ["receipt", "check"])]
    scorer: Option<String>,
    /// Where it goes [default: stdout]
    #[arg(long, short, value_name = "FILE", conflicts_with = "check")]
    output: Option<PathBuf>,
    /// Replace the file if it is there; never one of a ledger, a private key, or what is read here
    #[arg(long, requires = "output")]
    force: bool,
    /// A revealed question to check
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    check: Option<PathBuf>,
}

/// Reveals or checks.
pub fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    if let Some(file) = &arguments.check {
        return check(file, arguments.receipt.as_deref(), context);
    }
    let (Some(file), Some(question)) = (&arguments.file, &arguments.question) else {
        return Err(Failure::refused("a question set and one of its questions are needed"));
    };
    make(file, question, arguments, context)
}

/// The answer to revealing into a file.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Made {
    schema: &'static str,
    output: String,
    position: usize,
    n: usize,
    question_set_id: QuestionSetId,
    scorer: ScorerIdentity,
}

fn make(file: &Path, question: &str, arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let out =
        arguments.output.as_deref().map(|place| OutFile::at(place, arguments.force, &[file], context)).transpose()?;
    let set = questions::read(file)?;
    let position = position(&set, question)?;
    let round = arguments.receipt.as_deref().map(|rev| round(rev, context)).transpose()?;
    let scorer = match (&round, &arguments.scorer) {
        (Some((_, body)), _) => body.scorer.clone(),
        (None, Some(scorer)) => Scorer::parse(scorer)?.identity().clone(),
        (None, None) => Scorer::parse("substring/v2")?.identity().clone(),
    };
    let reveal = Reveal::of(&set, position, &scorer)?;
    if let Some(other) = round.as_ref().and_then(|(_, body)| other_set(&reveal, body)) {
        return Err(Failure::refused(other).hint("the salts must be those that the round was appended with"));
    }
    let bytes = reveal.encode()?;
    let Some(out) = out else {
        context.print_bytes(&bytes)?;
        return Ok(Exit::Yes);
    };
    let output = out.place().display().to_string();
    StagedFile::write(out, &bytes)?.publish()?;
    let document = Made {
        schema: "questions-reveal.v1",
        output,
        position,
        n: reveal.n(),
        question_set_id: reveal.question_set_id().clone(),
        scorer,
    };
    context.answer(&document, || {
        let Made { output, position, n, question_set_id, scorer, .. } = &document;
        let output = one_line(output);
        format!(
            "{output}: question #{position} of {n} in {question_set_id} under {scorer}\n\
             check it with: proofmark questions reveal --check {output}\n"
        )
    })?;
    Ok(Exit::Yes)
}

/// The place of a question that is named by its id, or as #N.
fn position(set: &QuestionSet, question: &str) -> Result<usize, Failure> {
    let by_id = set.iter().position(|one| one.id() == Some(question)).map(|at| at + 1);
    let by_number = question.strip_prefix('#').and_then(|digits| digits.parse().ok());
    by_id.or(by_number).filter(|position| (1..=set.len()).contains(position)).ok_or_else(|| {
        Failure::refused(format!("no question of {} is called `{}`", set.file(), one_line(question)))
            .hint(format!("name one by its id, or by its number as #1 to #{}", set.len()))
    })
}

/// The round that a revision names.
fn round(rev: &str, context: &Context) -> Result<(u64, ScorecardBody), Failure> {
    let ledger = context.ledger()?;
    let index = rounds::resolve(&ledger, rev)?;
    let receipt = ledger.checked_receipt(&ledger.snapshot()?, index)?;
    match &receipt.statement().predicate.body {
        Body::Scorecard(body) => Ok((index, body.clone())),
        _ => {
            Err(Failure::refused(format!("receipt {index} is a {}, not a round", receipt.statement().predicate.kind())))
        }
    }
}

/// Why a round was not measured on the set of a revealed question.
fn other_set(reveal: &Reveal, body: &ScorecardBody) -> Option<String> {
    let (ours, theirs) = (reveal.question_set_id().as_str(), body.card.question_set_id());
    (ours != theirs).then(|| format!("the round was measured on {theirs}, and this is a question of {ours}"))
}

/// The answer to checking.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Checked {
    schema: &'static str,
    holds: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    position: usize,
    n: usize,
    question_set_id: QuestionSetId,
    scorer: ScorerIdentity,
    text: String,
    expected: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    round: Option<CheckedRound>,
}

#[derive(Serialize)]
struct CheckedRound {
    index: u64,
    receipt: ReceiptId,
}

/// Checks a revealed question, and that a round was measured on its set where one is named.
pub fn check(file: &Path, rev: Option<&str>, context: &Context) -> Result<Exit, Failure> {
    let bytes = RecordFile::read_up_to(file, MAX_RECORD_BYTES)?.bytes;
    let reveal = Reveal::parse(&bytes).map_err(|error: QuestionError| {
        Failure::refused(error).within(format!("`{}` cannot be checked", file.display()))
    })?;
    let round = rev.map(|rev| round(rev, context)).transpose()?;
    let other = round.as_ref().and_then(|(_, body)| other_set(&reveal, body));
    let reason = reveal.verify().err().map(|error| error.to_string()).or(other);
    let round = match &round {
        Some((index, _)) => {
            let receipt = context.ledger()?.snapshot()?.receipt(*index)?.id();
            Some(CheckedRound { index: *index, receipt })
        }
        None => None,
    };
    let document = Checked {
        schema: "questions-reveal-check.v1",
        holds: reason.is_none(),
        reason,
        position: reveal.position(),
        n: reveal.n(),
        question_set_id: reveal.question_set_id().clone(),
        scorer: reveal.scorer().clone(),
        text: reveal.question().query().text().to_owned(),
        expected: reveal.question().expected().to_owned(),
        round,
    };
    context.answer(&document, || checked_text(&document))?;
    Ok(if document.holds { Exit::Yes } else { Exit::No })
}

fn checked_text(document: &Checked) -> String {
    let Checked { position, n, question_set_id, scorer, .. } = document;
    let round = document.round.as_ref();
    let round =
        round.map(|round| format!("round      receipt #{} {}\n", round.index, round.receipt)).unwrap_or_default();
    let head = format!(
        "question   {}\nexpected   {}\nset        {question_set_id} under {scorer}\n{round}",
        one_line(&document.text),
        one_line(&document.expected)
    );
    match &document.reason {
        None => format!("{head}revealed   it is question #{position} of the {n} in that set\n"),
        Some(reason) => format!("{head}NOT revealed: {}\n", one_line(reason)),
    }
}
