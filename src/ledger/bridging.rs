//! The same answers under two scorers, side by side. Recording a bridge and replaying one are this one function.

use serde::Serialize;

use super::comparing::believed;
use super::{LedgerError, NumberedRound, RoundEvidence};
use crate::object::{CanonicalError, Json, encode, parse};
use crate::question::ScorerIdentity;
use crate::receipt::{ReceiptRef, ScorecardBody};
use crate::scorecard::{JudgedRound, Scorecard};
use crate::store::Store;

/// The `bridge.v1` document: what two scorers say of the same answers.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Bridge {
    schema: &'static str,
    /// The round as it was scored.
    pub base: BridgeBase,
    /// The same answers under the other scorer.
    pub bridged: BridgedSide,
    /// How many answers there are.
    pub n: usize,
    /// Right by both.
    pub both_right: usize,
    /// Wrong by both.
    pub both_wrong: usize,
    /// Right by the base's scorer only: questions by id or position.
    pub only_base: Vec<String>,
    /// Right by the other scorer only.
    pub only_bridged: Vec<String>,
    /// The fraction of answers on which both agree, in `[0, 1]`.
    pub agreement: f64,
}

/// The round that is bridged from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BridgeBase {
    /// Its receipt.
    #[serde(flatten)]
    pub reference: ReceiptRef,
    /// Its scorer.
    pub scorer: ScorerIdentity,
    /// Its card.
    pub scorecard: Scorecard,
}

/// The round that is bridged to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BridgedSide {
    /// Its scorer.
    pub scorer: ScorerIdentity,
    /// Its card.
    pub scorecard: Scorecard,
}

/// A round whose answers are held and give its card.
#[derive(Debug)]
pub struct BridgeFrom {
    base: BridgeBase,
    correct: Vec<bool>,
    names: Vec<String>,
}

impl BridgeFrom {
    /// Judges the round again by its own scorer; `None` where the ledger does not hold what that takes.
    ///
    /// Names are those that the ledger alone gives, so that a replay finds the same ones.
    pub fn load(store: &dyn Store, base: &NumberedRound) -> Result<Option<Self>, LedgerError> {
        let evidence = believed(store, base, None)?;
        let Some(JudgedRound { correct, .. }) = &evidence.judged else { return Ok(None) };
        let (correct, names) = (correct.clone(), names(&evidence));
        let ScorecardBody { scorer, card, .. } = base.body().clone();
        let base = BridgeBase { reference: base.reference, scorer, scorecard: card };
        Ok(Some(Self { base, correct, names }))
    }

    /// The bridge to what another scorer says of the same answers; `None` where there are not as many.
    pub fn to(self, scorer: &ScorerIdentity, card: &Scorecard, correct: &[bool]) -> Option<Bridge> {
        let Self { base, correct: before, names } = self;
        if before.len() != correct.len() || before.is_empty() {
            return None;
        }
        let pairs = || before.iter().zip(correct).zip(&names);
        let count = |wanted: (bool, bool)| pairs().filter(|((old, new), _)| (**old, **new) == wanted).count();
        let named = |wanted: (bool, bool)| {
            let chosen = pairs().filter(|((old, new), _)| (**old, **new) == wanted);
            chosen.map(|(_, name)| name.clone()).collect::<Vec<_>>()
        };
        let (both_right, both_wrong) = (count((true, true)), count((false, false)));
        #[allow(clippy::cast_precision_loss)] // at most two million
        let agreement = (both_right + both_wrong) as f64 / before.len() as f64;
        Some(Bridge {
            schema: "bridge.v1",
            base,
            bridged: BridgedSide { scorer: scorer.clone(), scorecard: card.clone() },
            n: before.len(),
            both_right,
            both_wrong,
            only_base: named((true, false)),
            only_bridged: named((false, true)),
            agreement,
        })
    }
}

impl Bridge {
    /// Canonical JSON.
    pub fn encode(&self) -> Result<Vec<u8>, CanonicalError> {
        encode(self)
    }

    /// The receipt that a recorded bridge leads from.
    pub fn base_of(bytes: &[u8]) -> Option<ReceiptRef> {
        let json = parse(bytes).ok()?;
        let member = |json: &Json, name: &str| match json {
            Json::Object(members) => members.iter().find(|(member, _)| member == name).map(|(_, value)| value.clone()),
            _ => None,
        };
        let base = member(&json, "base")?;
        let (Json::Integer(index), Json::String(receipt)) = (member(&base, "index")?, member(&base, "receipt")?) else {
            return None;
        };
        Some(ReceiptRef { index: u64::try_from(index).ok()?, receipt: receipt.parse().ok()? })
    }
}

fn names(evidence: &RoundEvidence) -> Vec<String> {
    let questions = evidence.questions.as_ref().map(|set| set.questions());
    let answers = evidence.judged.as_ref().map_or(&[][..], |judged| &judged.answers);
    let name = |at: usize| {
        let id = questions.and_then(|questions| questions.get(at)?.id()).or_else(|| answers.get(at)?.id());
        id.map_or_else(|| format!("#{}", at + 1), str::to_owned)
    };
    (0..answers.len()).map(name).collect()
}
