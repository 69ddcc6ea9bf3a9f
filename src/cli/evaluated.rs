//! What is said of rounds that were evaluated: the cards, what came of the questions, and what flipped between rounds.

use std::collections::BTreeMap;

use proofmark::ledger::Appended;
use proofmark::question::QuestionSet;
use proofmark::receipt::ScorecardBody;
use serde::Serialize;

use super::append::{self, AppendedRound};
use super::context::Context;
use super::failure::{Exit, Failure, one_line};

/// What came of the questions of one round, counted.
pub type Outcomes = BTreeMap<&'static str, u64>;

/// Names listed for people; `--json` has all of them.
const NAMED: usize = 40;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EvaluateDocument<'a> {
    schema: &'static str,
    size: u64,
    receipts: Vec<AppendedRound<'a>>,
    outcomes: Vec<Outcomes>,
    flips: Option<Flips>,
}

/// Questions that were not judged the same in every round.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Flips {
    rounds: usize,
    n: usize,
    flipped: usize,
    flip_rate: f64,
    questions: Vec<String>,
}

/// What flipped between rounds, each of which says of every question whether it was judged right, or `None` where it was not
/// asked: then it is no answer that could flip. `None` where there is one round only.
pub fn flips(set: &QuestionSet, rounds: &[Vec<Option<bool>>]) -> Option<Flips> {
    let [first, _, ..] = rounds else { return None };
    let name = |at: usize| {
        let id = set.questions().get(at).and_then(|question| question.id());
        id.map_or_else(|| format!("#{}", at + 1), str::to_owned)
    };
    let answers = |at: usize| rounds.iter().filter_map(move |round| round.get(at).copied().flatten());
    let n = (0..first.len()).filter(|at| answers(*at).count() > 1).count();
    let flipped = (0..first.len()).filter(|at| answers(*at).any(|right| right) && answers(*at).any(|right| !right));
    let questions: Vec<String> = flipped.map(name).collect();
    #[allow(clippy::cast_precision_loss)] // at most two million
    let flip_rate = questions.len() as f64 / n.max(1) as f64;
    Some(Flips { rounds: rounds.len(), n, flipped: questions.len(), flip_rate, questions })
}

/// Reports what was appended.
pub fn report(
    context: &Context,
    appended: &[Appended],
    bodies: &[ScorecardBody],
    outcomes: Vec<Outcomes>,
    flips: Option<Flips>,
) -> Result<Exit, Failure> {
    let receipts = append::described(appended, bodies);
    let size = appended.last().map_or(0, |last| last.index + 1);
    let document = EvaluateDocument { schema: "evaluate.v1", size, receipts, outcomes, flips };
    context.answer(&document, || text(&document))?;
    Ok(Exit::Yes)
}

fn text(document: &EvaluateDocument<'_>) -> String {
    let mut text = append::text(&document.receipts);
    let mut total = Outcomes::new();
    for (word, count) in document.outcomes.iter().flatten() {
        *total.entry(word).or_default() += count;
    }
    if !total.is_empty() {
        let counts: Vec<_> = total.iter().map(|(word, count)| format!("{word} {count}")).collect();
        text.push_str(&format!("asked: {}\n", counts.join(", ")));
    }
    if let Some(flips) = &document.flips {
        let Flips { rounds, n, flipped, flip_rate, questions } = flips;
        text.push_str(&format!("flips: {flipped} of {n} questions in {rounds} rounds, {flip_rate:.4}"));
        let mut names: Vec<_> = questions.iter().take(NAMED).map(|name| one_line(name)).collect();
        if questions.len() > NAMED {
            names.push(format!("and {} more", questions.len() - NAMED));
        }
        if !names.is_empty() {
            text.push_str(&format!(": {}", names.join(" ")));
        }
        text.push('\n');
    }
    text
}
