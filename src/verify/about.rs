//! What a dossier or one receipt is about, and what was decided about it, as far as file or ledger say: nobody may take a receipt that was
//! withdrawn, or that somebody said NO-GO to, for a GO.

use std::collections::BTreeSet;

use serde::Serialize;

use super::MOST_LISTED;
use crate::object::ReceiptId;
use crate::receipt::{Decision, Kind, Moment, ReceiptRef, Release};
use crate::release::{Decisions, Noted, Said, SignoffNote};
use crate::trust::{Standing, Statement};

/// Why a decision does not count whose signer had no role for it.
const NOT_ALLOWED: &str = "its signer may not decide this";

/// The subject of a dossier, or the one receipt that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct About {
    /// Its index.
    pub index: u64,
    /// Its id.
    pub receipt: ReceiptId,
    /// Its kind; `None` where it cannot be read.
    pub kind: Option<&'static str>,
    /// What it says itself, in a word or two.
    pub says: String,
    /// What of it, or of what it rests on, was withdrawn.
    pub withdrawn: Vec<Withdrawn>,
    /// Sign-offs, waivers and release decisions about it, what it rests on, and what sign-offs on these rest on, in the log's
    /// order; at most [`MOST_LISTED`].
    pub decisions: Vec<Decided>,
    /// How many there are, with those not listed.
    pub decision_count: u64,
    /// Whether these are all up to the checkpoint. Where it is not so, the file may leave some out.
    pub whole: bool,
}

/// A receipt that was withdrawn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Withdrawn {
    /// What was withdrawn.
    pub index: u64,
    /// The withdrawal.
    pub by: u64,
    /// Who withdrew it.
    pub who: String,
}

/// A decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decided {
    /// Its index.
    pub index: u64,
    /// Its kind.
    pub kind: &'static str,
    /// The receipt that it is about.
    pub target: u64,
    /// Who decided.
    pub who: String,
    /// What.
    pub says: String,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The first moment at which it no longer counts, by its own word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<Moment>,
    /// Why it does not count: where it speaks for a release and does not, or its signer may not decide.
    pub doubts: Vec<String>,
}

impl About {
    /// What is known of the subject: `shown` is what it rests on, and itself.
    pub(super) fn of(
        subject: ReceiptRef,
        shown: &BTreeSet<u64>,
        decisions: &Decisions,
        now: Option<&Statement>,
        whole: bool,
    ) -> Self {
        let noted = decisions.noted(subject);
        let told = Told { decisions, now };
        let mut decided = told.decided(&told.spoken_of(shown));
        let decision_count = decided.len() as u64;
        decided.truncate(usize::try_from(MOST_LISTED).unwrap_or(usize::MAX));
        let withdrawn = |index: &u64| {
            let by = decisions.withdrawn(*index)?;
            Some(Withdrawn { index: *index, by, who: decisions.name_at(by).to_owned() })
        };
        Self {
            index: subject.index,
            receipt: subject.receipt,
            kind: noted.map(|noted| noted.kind().as_str()),
            says: noted.map_or_else(|| "nothing that can be read".to_owned(), says),
            withdrawn: shown.iter().rev().filter_map(withdrawn).collect(),
            decisions: decided,
            decision_count,
            whole,
        }
    }
}

/// What a receipt says itself.
fn says(noted: &Noted) -> String {
    match &noted.said {
        Said::Trust => "who may do what".to_owned(),
        Said::Scorecard { asserted: true, .. } => "an asserted card".to_owned(),
        Said::Scorecard { asserted: false, .. } => "a recomputed card".to_owned(),
        Said::Comparison(note) => note.outcome.clone(),
        Said::Baseline(target) => format!("the baseline is #{}", target.index),
        Said::Gate(note) => if note.go { "GO" } else { "BLOCKED" }.to_owned(),
        Said::Signoff(note) => format!("{} on #{}", word(note.decision), note.target.index),
        Said::Withdrawal(note) => format!("#{} is withdrawn", note.body.target.index),
        Said::Waiver(note) => format!("{} is waived on #{}", note.body.check, note.body.target.index),
        Said::Authorization(body) => format!("{} on #{}", body.decision, body.target.index),
    }
}

fn word(decision: Decision) -> &'static str {
    match decision {
        Decision::Go => "GO",
        Decision::NoGo => "NO-GO",
    }
}

/// Decisions, and trust as far as it is known.
struct Told<'a> {
    decisions: &'a Decisions,
    now: Option<&'a Statement>,
}

impl Told<'_> {
    /// These, and what decisions about them rest on: a NO-GO to that speaks against the decision.
    fn spoken_of(&self, shown: &BTreeSet<u64>) -> BTreeSet<u64> {
        let signoffs = shown.iter().flat_map(|index| self.decisions.signoffs(*index));
        let rests_on = signoffs.flat_map(|(_, _, note)| note.rests_on.iter().map(|one| one.index));
        shown.iter().copied().chain(rests_on).collect()
    }

    /// The decisions about any of these but trust statements, in the log's order.
    fn decided(&self, about: &BTreeSet<u64>) -> Vec<Decided> {
        let mut all = Vec::new();
        let is_trust = |index: &u64| self.decisions.at(*index).is_some_and(|noted| noted.kind() == Kind::Trust);
        for target in about.iter().filter(|index| !is_trust(index)) {
            all.extend(self.decisions.signoffs(*target).map(|(index, noted, note)| Decided {
                reason: Some(note.reason.to_string()),
                expires: note.expires,
                doubts: match note.decision {
                    Decision::Go => self.doubts(index, noted, note),
                    Decision::NoGo if !note.allowed => vec![NOT_ALLOWED.to_owned()],
                    Decision::NoGo => Vec::new(),
                },
                ..self.decision(index, noted, *target, word(note.decision).to_owned())
            }));
            all.extend(self.decisions.waivers(*target).map(|(index, noted, note)| {
                let mut doubts = self.doubts_of(index, noted, note.allowed, !note.objections.is_empty());
                doubts.extend(self.rests_on_withdrawn([note.body.target]));
                Decided {
                    reason: Some(note.body.reason.to_string()),
                    expires: Some(note.body.expires),
                    doubts,
                    ..self.decision(index, noted, *target, format!("waives {}", note.body.check))
                }
            }));
        }
        for index in self.decisions.authorizations() {
            let Some((noted, Said::Authorization(body))) = self.decisions.at(*index).map(|noted| (noted, &noted.said))
            else {
                continue;
            };
            if !about.contains(&body.target.index) || self.decisions.noted(body.target).is_none() {
                continue;
            }
            let mut decided = self.decision(*index, noted, body.target.index, body.decision.to_string());
            if body.decision == Release::Authorized {
                decided.doubts = self.doubts_of(*index, noted, true, false);
                let rests_on = body.rests_on.iter().copied().chain([body.target]);
                decided.doubts.extend(self.rests_on_withdrawn(rests_on));
            }
            all.push(decided);
        }
        all.sort_by_key(|decided| decided.index);
        all
    }

    fn decision(&self, index: u64, noted: &Noted, target: u64, says: String) -> Decided {
        let who = noted.signer.name().to_owned();
        Decided {
            index,
            kind: noted.kind().as_str(),
            target,
            who,
            says,
            reason: None,
            expires: None,
            doubts: Vec::new(),
        }
    }

    fn doubts(&self, index: u64, noted: &Noted, note: &SignoffNote) -> Vec<String> {
        let mut doubts = self.doubts_of(index, noted, note.allowed, !note.objections.is_empty());
        doubts.extend(self.rests_on_withdrawn(note.rests_on.iter().copied().chain([note.target])));
        let later = self.decisions.signoffs(note.target.index).find(|(later, other, said)| {
            *later > index && said.decision == Decision::NoGo && other.signer.name() == noted.signer.name()
        });
        doubts.extend(later.map(|(later, ..)| format!("the same person says NO-GO later, in #{later}")));
        doubts
    }

    fn doubts_of(&self, index: u64, noted: &Noted, allowed: bool, objected: bool) -> Vec<String> {
        let mut doubts = Vec::new();
        if !allowed {
            doubts.push(NOT_ALLOWED.to_owned());
        }
        if objected {
            doubts.push("it was against the rules when it was made".to_owned());
        }
        doubts.extend(self.decisions.withdrawn(index).map(|by| format!("it was withdrawn in #{by}")));
        let record = self.now.and_then(|now| now.record_of(&noted.signer.key));
        if record.is_none_or(|record| record.status == Standing::Compromised) {
            doubts.push("its key is in wrong hands, or no longer known".to_owned());
        }
        doubts
    }

    fn rests_on_withdrawn(&self, rests_on: impl IntoIterator<Item = ReceiptRef>) -> Vec<String> {
        let withdrawn = |one: ReceiptRef| {
            let by = self.decisions.withdrawn(one.index)?;
            Some(format!("it rests on #{}, which was withdrawn in #{by}", one.index))
        };
        rests_on.into_iter().filter_map(withdrawn).take(8).collect()
    }
}
