//! A round from its evidence: questions, recorded answers and the judge give the card. Recording and replaying a round are
//! this one function, so what is recorded is what a replay finds.

use super::{Judged, Measured, Scorecard, ScorecardError, evaluate};
use crate::question::{
    Answer, Answers, Judgement, Judgements, Leaves, QuestionError, QuestionSet, QuestionSetId, Scheme, ScorerIdentity,
};
use crate::score::{ScoreError, Scorer};

/// Why evidence gives no round.
#[derive(Debug, thiserror::Error)]
pub enum RoundError {
    /// Questions, answers or judgements are refused, or do not go together.
    #[error(transparent)]
    Question(#[from] QuestionError),
    /// The scorer cannot judge these questions.
    #[error(transparent)]
    Score(#[from] ScoreError),
    /// The numbers make no card.
    #[error(transparent)]
    Scorecard(#[from] ScorecardError),
    /// A list of leaves and of judgements of different lengths.
    #[error("there are {judgements} judgements for {leaves} leaves")]
    Withheld {
        /// How many judgements there are.
        judgements: usize,
        /// How many leaves there are.
        leaves: usize,
    },
}

/// A round whose answers were judged, one by one.
#[derive(Debug, Clone)]
pub struct JudgedRound {
    /// The card.
    pub card: Scorecard,
    /// The answers, in the order of the questions.
    pub answers: Vec<Answer>,
    /// Whether each was judged right.
    pub correct: Vec<bool>,
    /// The credit of those that were partly right, summed.
    pub partial: f64,
}

/// Judges recorded answers with a built-in scorer.
pub fn judge_round(
    questions: &QuestionSet,
    answers: Answers,
    scorer: &Scorer,
    scheme: Scheme,
) -> Result<JudgedRound, RoundError> {
    let id = questions.id(scheme, scorer.identity())?;
    let answers = answers.join(questions)?;
    let correct = scorer.judge_all(questions, answers.iter().map(Answer::reply))?;
    counted(id, answers, correct, 0.0)
}

/// Counts recorded judgements: those of a user's own judge, or of a set whose questions are held elsewhere.
pub fn count_round(
    questions: &QuestionSet,
    answers: Answers,
    judgements: Judgements,
    scorer: &ScorerIdentity,
    scheme: Scheme,
) -> Result<JudgedRound, RoundError> {
    let id = questions.id(scheme, scorer)?;
    let answers = answers.join(questions)?;
    let judgements = judgements.join(questions)?;
    let (correct, partial) = weighed(&judgements);
    counted(id, answers, correct, partial)
}

/// Counts recorded judgements of a sealed set, of which only the leaves are at hand.
pub fn count_withheld(
    leaves: &Leaves,
    answers: Answers,
    judgements: &Judgements,
    scorer: &ScorerIdentity,
) -> Result<JudgedRound, RoundError> {
    let answers = answers.join_judged(judgements)?;
    let (correct, partial) = weighed(judgements.as_slice());
    if correct.len() != leaves.as_slice().len() {
        return Err(RoundError::Withheld { judgements: correct.len(), leaves: leaves.as_slice().len() });
    }
    counted(leaves.id(scorer), answers, correct, partial)
}

/// Whether each answer was right, and the credit of the others, summed in the order of the questions.
fn weighed(judgements: &[Judgement]) -> (Vec<bool>, f64) {
    let correct = judgements.iter().map(Judgement::correct).collect();
    (correct, judgements.iter().map(Judgement::credit).fold(0.0, |sum, credit| sum + credit))
}

fn counted(
    id: QuestionSetId,
    answers: Vec<Answer>,
    correct: Vec<bool>,
    partial: f64,
) -> Result<JudgedRound, RoundError> {
    let judged = answers.iter().zip(&correct).map(|(answer, correct)| Judged {
        correct: *correct,
        grounded: answer.receipt().grounded(),
        cost: answer.receipt().spend().cost(),
    });
    let card = Measured { partial, ..evaluate(judged) }.bind(id.as_str())?;
    Ok(JudgedRound { card, answers, correct, partial })
}
