//! The evidence of a round, read back from the ledger: what comparing and replaying start from.

use super::LedgerError;
use crate::question::{Answers, Judgements, Leaves, QuestionError, QuestionSet, QuestionSetId, Scheme};
use crate::receipt::{Evidence, Predicate, ScorecardBody};
use crate::score::Scorer;
use crate::scorecard::{JudgedRound, RoundError, count_round, count_withheld, judge_round};
use crate::store::{Store, StoreError, read_object};

/// Evidence that is read into memory to be judged has at most this many bytes (1 GiB), as files have that are appended.
pub const MAX_RECORD_BYTES: u64 = 1 << 30;

/// The roles that a scorecard receipt gives its evidence.
pub mod role {
    /// The question records, as handed in.
    pub const QUESTIONS: &str = "questions";
    /// The recorded answers, as handed in.
    pub const ANSWERS: &str = "answers";
    /// The leaves of a sealed question set.
    pub const LEAVES: &str = "question-leaves";
    /// What the judge said of each answer, where that cannot be derived from the other evidence.
    pub const JUDGEMENTS: &str = "judgements";
    /// A user's own judge.
    pub const JUDGE: &str = "judge";
    /// A scorecard as handed in.
    pub const CARD: &str = "card";
    /// The full document of a comparison, of a gate run or of a bridge.
    pub const REPORT: &str = "report";
    /// A file of an imported round, as another tool wrote it.
    pub const ORIGINAL: &str = "original";
    /// How an imported round was read: its manifest.
    pub const IMPORT: &str = "import";
    /// What was measured in an imported round, without what changes from run to run.
    pub const PROJECTION: &str = "projection";
    /// Prediction records of a gate run, as handed in: one object a file.
    pub const PREDICTIONS: &str = "predictions";
    /// The task profile of a gate run, canonical.
    pub const PROFILE: &str = "profile";
    /// How the system was run that gave the answers, canonical.
    pub const RUN: &str = "run";
}

/// Why evidence of a round cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RoundEvidenceError {
    /// An object cannot be read, or is not what its id says.
    #[error("the evidence `{role}` cannot be read")]
    Store {
        /// Its role.
        role: String,
        /// Why.
        #[source]
        source: StoreError,
    },
    /// An object that should be held is not there.
    #[error("the evidence `{role}` is said to be held and is missing")]
    Missing {
        /// Its role.
        role: String,
    },
    /// Records are not as they must be.
    #[error("the evidence does not hold together")]
    Records(#[from] QuestionError),
    /// The evidence gives no round.
    #[error("the evidence gives no round")]
    Round(#[from] RoundError),
}

/// What a scorecard receipt's evidence holds and gives.
#[derive(Debug)]
pub struct RoundEvidence {
    /// The questions, unless they are withheld or the card came without.
    pub questions: Option<QuestionSet>,
    /// The leaves of a sealed set.
    pub leaves: Option<Leaves>,
    /// The round that the evidence gives, where it gives one.
    pub judged: Option<JudgedRound>,
    /// Whether the judge's word had to be taken: its judgements were counted and not made again.
    pub judge_believed: bool,
}

/// The scheme by which a card is bound to its questions.
pub fn scheme_of(question_set_id: &str) -> Scheme {
    question_set_id.parse::<QuestionSetId>().map_or(Scheme::Mixle, |id| id.scheme())
}

/// The bytes of the one held object of a role; `None` where the role is not there or is withheld.
pub fn held_bytes(store: &dyn Store, predicate: &Predicate, role: &str) -> Result<Option<Vec<u8>>, RoundEvidenceError> {
    let Some(evidence) = predicate.evidence_of(role).find(|evidence| evidence.held) else { return Ok(None) };
    let Evidence { blake3, size, .. } = evidence;
    let role = || role.to_owned();
    if *size > MAX_RECORD_BYTES {
        let source = StoreError::TooLarge { name: blake3.to_string(), limit: MAX_RECORD_BYTES };
        return Err(RoundEvidenceError::Store { role: role(), source });
    }
    let bytes =
        read_object(store, blake3, *size).map_err(|source| RoundEvidenceError::Store { role: role(), source })?;
    bytes.map(Some).ok_or_else(|| RoundEvidenceError::Missing { role: role() })
}

impl RoundEvidence {
    /// Reads the evidence that a scorecard receipt names and judges the round again. Questions handed in beside it
    /// (`withheld`) stand in for those that the ledger does not hold.
    pub fn load(
        store: &dyn Store,
        predicate: &Predicate,
        body: &ScorecardBody,
        withheld: Option<QuestionSet>,
    ) -> Result<Self, RoundEvidenceError> {
        let bytes = |role| held_bytes(store, predicate, role);
        let (questions, answers) = rayon::join(
            || match bytes(role::QUESTIONS)? {
                Some(bytes) => Ok(Some(QuestionSet::parse(role::QUESTIONS, bytes.as_slice())?)),
                None => Ok::<_, RoundEvidenceError>(withheld),
            },
            || {
                let answers = bytes(role::ANSWERS)?;
                let answers = answers.map(|bytes| Answers::parse(role::ANSWERS, bytes.as_slice())).transpose()?;
                Ok::<_, RoundEvidenceError>(answers)
            },
        );
        let questions = questions?;
        let leaves = bytes(role::LEAVES)?.map(|bytes| Leaves::parse(role::LEAVES, &bytes)).transpose()?;
        let answers = answers?;
        let judgements = bytes(role::JUDGEMENTS)?;
        let judgements = judgements.map(|bytes| Judgements::parse(role::JUDGEMENTS, bytes.as_slice())).transpose()?;
        let scheme = scheme_of(body.card.question_set_id());
        let built_in = Scorer::parse(body.scorer.as_str()).ok().filter(|scorer| scorer.as_command().is_none());
        let mut judge_believed = false;
        let judged = match (answers, &questions, &leaves, judgements, built_in) {
            (Some(answers), Some(questions), _, _, Some(scorer)) => {
                Some(judge_round(questions, answers, &scorer, scheme)?)
            }
            (Some(answers), Some(questions), _, Some(judgements), None) => {
                judge_believed = true;
                Some(count_round(questions, answers, judgements, &body.scorer, scheme)?)
            }
            (Some(answers), None, Some(leaves), Some(judgements), _) => {
                judge_believed = true;
                Some(count_withheld(leaves, answers, &judgements, &body.scorer)?)
            }
            _ => None,
        };
        Ok(Self { questions, leaves, judged, judge_believed })
    }
}

impl From<RoundEvidenceError> for LedgerError {
    fn from(error: RoundEvidenceError) -> Self {
        Self::RoundEvidence(Box::new(error))
    }
}
