//! The fold over the log: what every receipt says that a decision can depend on, and which decisions are about it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::objection::{Objection, ObjectionCode};
use crate::ledger::role;
use crate::object::{ObjectId, ReceiptId};
use crate::receipt::{
    Authorization, Basis, Body, Decision, Kind, Moment, Predicate, Receipt, ReceiptRef, Text, Waiver, Withdrawal,
};
use crate::trust::{KeyId, Role, Statement};

/// Who signed a receipt, by the trust in force at its index.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Signer {
    /// The key.
    pub key: KeyId,
    /// The person; `None` for a key that the trust did not list.
    pub person: Option<String>,
}

impl Signer {
    /// The person's name, else the key.
    pub fn name(&self) -> &str {
        self.person.as_deref().unwrap_or(self.key.as_str())
    }
}

/// A sign-off in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignoffNote {
    /// What is decided on.
    pub target: ReceiptRef,
    /// GO or NO-GO.
    pub decision: Decision,
    /// Why.
    pub reason: Text,
    /// The first moment at which it no longer counts.
    pub expires: Option<Moment>,
    /// What it rests on beside its target.
    pub rests_on: Vec<ReceiptRef>,
    /// When, by its signer's word.
    pub recorded_at: Moment,
    /// Whether its signer held the role for it at its index.
    pub allowed: bool,
    /// What was wrong with it when it was made; a GO with any of it does not count.
    pub objections: Vec<ObjectionCode>,
}

/// A waiver in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaiverNote {
    /// What it says.
    pub body: Waiver,
    /// When, by its signer's word.
    pub recorded_at: Moment,
    /// Whether its signer held the role for it at its index.
    pub allowed: bool,
    /// What was wrong with it when it was made; with any of it, it does not count.
    pub objections: Vec<ObjectionCode>,
}

/// A withdrawal in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithdrawalNote {
    /// What it says.
    pub body: Withdrawal,
    /// Whether its signer held a role for it at its index.
    pub allowed: bool,
    /// Whether it is one that cannot be: it changes nothing then.
    pub void: bool,
}

/// A gate run in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateNote {
    /// Whether the verdict is GO.
    pub go: bool,
    /// The candidate that may be released.
    pub recommended: Option<String>,
    /// The reports that it holds as evidence; one in an honest receipt.
    pub reports: Vec<ObjectId>,
}

/// What of a receipt decisions depend on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// A trust statement.
    Trust,
    /// A round: whether its card was handed in, how many rounds were measured on its question set up to it, and what is known of
    /// its questions.
    Scorecard {
        /// Handed in rather than recomputed.
        asserted: bool,
        /// Rounds on this question set so far, this one included.
        looks: u32,
        /// The text of its questions is unknown, so that their names stand for them.
        names_only: bool,
        /// The ledger holds the text of its questions, which says which of them must pass.
        text_held: bool,
    },
    /// Two rounds compared.
    Comparison(Box<ComparisonNote>),
    /// A baseline and its round.
    Baseline(Box<ReceiptRef>),
    /// A gate run.
    Gate(Box<GateNote>),
    /// A sign-off.
    Signoff(Box<SignoffNote>),
    /// A withdrawal.
    Withdrawal(Box<WithdrawalNote>),
    /// A waiver.
    Waiver(Box<WaiverNote>),
    /// A recorded release decision.
    Authorization(Box<Authorization>),
}

/// A comparison in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparisonNote {
    /// The round compared against.
    pub base: ReceiptRef,
    /// The round compared.
    pub current: ReceiptRef,
    /// Whether it regressed.
    pub regressed: bool,
    /// Whether the two could be compared.
    pub comparable: bool,
    /// Whether it was told to let a loss pass, or something that nobody knows.
    pub lenient: bool,
    /// What it says, in a few words: [`crate::receipt::Comparison::outcome`].
    pub outcome: String,
}

/// A receipt as the fold keeps it: some 70 bytes for a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Noted {
    /// Its id.
    pub id: ReceiptId,
    /// Who signed it.
    pub signer: Arc<Signer>,
    /// What it says.
    pub said: Said,
}

impl Noted {
    /// Its kind.
    pub fn kind(&self) -> Kind {
        match &self.said {
            Said::Trust => Kind::Trust,
            Said::Scorecard { .. } => Kind::Scorecard,
            Said::Comparison(_) => Kind::Comparison,
            Said::Baseline(_) => Kind::Baseline,
            Said::Gate(_) => Kind::Gate,
            Said::Signoff(_) => Kind::Signoff,
            Said::Withdrawal(_) => Kind::Withdrawal,
            Said::Waiver(_) => Kind::Waiver,
            Said::Authorization(_) => Kind::Authorization,
        }
    }

    /// The receipts that it names, as [`Body::named`] has them.
    pub fn named(&self) -> Vec<ReceiptRef> {
        let with = |target: ReceiptRef, rest: &[ReceiptRef]| [target].iter().chain(rest).copied().collect();
        match &self.said {
            Said::Trust | Said::Scorecard { .. } | Said::Gate(_) => Vec::new(),
            Said::Comparison(note) => vec![note.base, note.current],
            Said::Baseline(target) => vec![**target],
            Said::Signoff(note) => with(note.target, &note.rests_on),
            Said::Withdrawal(note) => vec![note.body.target],
            Said::Waiver(note) => vec![note.body.target],
            Said::Authorization(body) => with(body.target, &body.rests_on),
        }
    }
}

/// Every receipt so far, and the decisions about each. Receipts are taken in the log's order.
#[derive(Debug, Clone, Default)]
pub struct Decisions {
    receipts: BTreeMap<u64, Noted>,
    signers: HashMap<KeyId, Arc<Signer>>,
    looks: HashMap<String, u32>,
    signoffs: BTreeMap<u64, Vec<u64>>,
    waivers: BTreeMap<u64, Vec<u64>>,
    /// For each receipt the waivers about it that are not withdrawn.
    open_waivers: BTreeMap<u64, BTreeSet<u64>>,
    withdrawals: BTreeMap<u64, Vec<u64>>,
    gates: Vec<u64>,
    authorizations: Vec<u64>,
    newest: Option<Moment>,
}

impl Decisions {
    /// Takes the next receipt, and hands back what the rules say against it. `then` is the trust statement in force at
    /// its index.
    pub fn take(&mut self, index: u64, receipt: &Receipt, then: &Statement) -> Vec<Objection> {
        let predicate = &receipt.statement().predicate;
        let objections = self.objections(index, predicate, receipt.key(), then);
        let codes = objections.iter().map(|objection| objection.code).collect();
        let said = self.said(predicate, receipt.key(), then, codes);
        let signer = self.signer(receipt.key(), then);
        self.link(index, &said);
        self.newest = self.newest.max(Some(predicate.recorded_at));
        self.receipts.insert(index, Noted { id: receipt.id(), signer, said });
        objections
    }

    /// Signers are few and receipts many: each is kept once.
    fn signer(&mut self, key: &KeyId, then: &Statement) -> Arc<Signer> {
        let person = then.person_of(key).map(|person| person.name.as_str());
        if let Some(known) = self.signers.get(key).filter(|known| known.person.as_deref() == person) {
            return Arc::clone(known);
        }
        let signer = Arc::new(Signer { key: key.clone(), person: person.map(str::to_owned) });
        self.signers.insert(key.clone(), Arc::clone(&signer));
        signer
    }

    fn said(&mut self, predicate: &Predicate, key: &KeyId, then: &Statement, objections: Vec<ObjectionCode>) -> Said {
        let may = |roles: &[Role]| roles.iter().any(|role| then.may(key, *role).is_ok());
        match &predicate.body {
            Body::Trust(_) => Said::Trust,
            Body::Scorecard(body) => {
                let looks = self.look(body.card.question_set_id());
                Said::Scorecard {
                    asserted: body.basis == Basis::Asserted,
                    looks,
                    names_only: body.is_by_names_only(),
                    text_held: predicate.evidence_of(role::QUESTIONS).any(|questions| questions.held),
                }
            }
            Body::Comparison(body) => Said::Comparison(Box::new(ComparisonNote {
                base: body.base,
                current: body.current,
                regressed: body.report.regressed,
                comparable: body.report.comparable,
                lenient: body.is_lenient(),
                outcome: body.outcome(),
            })),
            Body::Baseline(body) => Said::Baseline(Box::new(body.target)),
            Body::Gate(body) => Said::Gate(Box::new(GateNote {
                go: body.verdict == crate::gate::Verdict::Go,
                recommended: body.recommended.clone(),
                reports: predicate.evidence_of(role::REPORT).map(|report| report.blake3).collect(),
            })),
            Body::Signoff(body) => {
                let of_trust = self.noted(body.target).is_some_and(|noted| noted.kind() == Kind::Trust);
                Said::Signoff(Box::new(SignoffNote {
                    target: body.target,
                    decision: body.decision,
                    reason: body.reason.clone(),
                    expires: body.expires,
                    rests_on: body.rests_on.clone(),
                    recorded_at: predicate.recorded_at,
                    allowed: may(if of_trust { &[Role::Root] } else { &[Role::Signoff] }),
                    objections,
                }))
            }
            Body::Withdrawal(body) => Said::Withdrawal(Box::new(WithdrawalNote {
                body: body.clone(),
                allowed: may(&[Role::Append, Role::Signoff, Role::Root]),
                void: !objections.is_empty(),
            })),
            Body::Waiver(body) => Said::Waiver(Box::new(WaiverNote {
                body: body.clone(),
                recorded_at: predicate.recorded_at,
                allowed: may(&[Role::Signoff]),
                objections,
            })),
            Body::Authorization(body) => Said::Authorization(Box::new(body.clone())),
        }
    }

    /// Counts a look at a question set.
    fn look(&mut self, question_set_id: &str) -> u32 {
        match self.looks.get_mut(question_set_id) {
            Some(looks) => {
                *looks = looks.saturating_add(1);
                *looks
            }
            None => {
                self.looks.insert(question_set_id.to_owned(), 1);
                1
            }
        }
    }

    fn link(&mut self, index: u64, said: &Said) {
        let (map, target) = match said {
            Said::Signoff(note) => (&mut self.signoffs, note.target),
            Said::Waiver(note) => (&mut self.waivers, note.body.target),
            Said::Withdrawal(note) if !note.void => (&mut self.withdrawals, note.body.target),
            Said::Gate(_) => return self.gates.push(index),
            Said::Authorization(_) => return self.authorizations.push(index),
            _ => return,
        };
        // A reference to something else than what is there is about nothing.
        let Some(noted) = self.receipts.get(&target.index).filter(|noted| noted.id == target.receipt) else { return };
        map.entry(target.index).or_default().push(index);
        match (said, &noted.said) {
            (Said::Waiver(_), _) => drop(self.open_waivers.entry(target.index).or_default().insert(index)),
            (Said::Withdrawal(_), Said::Waiver(waiver)) => {
                let open = self.open_waivers.entry(waiver.body.target.index).or_default();
                open.remove(&target.index);
            }
            _ => {}
        }
    }

    /// The receipt at an index.
    pub fn at(&self, index: u64) -> Option<&Noted> {
        self.receipts.get(&index)
    }

    /// The receipt that a reference names, if it is there.
    pub fn noted(&self, reference: ReceiptRef) -> Option<&Noted> {
        self.at(reference.index).filter(|noted| noted.id == reference.receipt)
    }

    /// The receipt at an index, by place and id.
    pub fn reference(&self, index: u64) -> Option<ReceiptRef> {
        self.at(index).map(|noted| ReceiptRef { index, receipt: noted.id })
    }

    /// The sign-offs on a receipt, in order.
    pub fn signoffs(&self, target: u64) -> impl Iterator<Item = (u64, &Noted, &SignoffNote)> {
        listed(&self.signoffs, target).filter_map(|index| match self.at(index) {
            Some(noted @ Noted { said: Said::Signoff(note), .. }) => Some((index, noted, note.as_ref())),
            _ => None,
        })
    }

    /// The waivers about a receipt, in order.
    pub fn waivers(&self, target: u64) -> impl Iterator<Item = (u64, &Noted, &WaiverNote)> {
        listed(&self.waivers, target).filter_map(|index| match self.at(index) {
            Some(noted @ Noted { said: Said::Waiver(note), .. }) => Some((index, noted, note.as_ref())),
            _ => None,
        })
    }

    /// The waivers about a receipt that are not withdrawn, in order.
    pub(super) fn open_waivers(&self, about: u64) -> impl Iterator<Item = ReceiptRef> {
        self.open_waivers.get(&about).into_iter().flatten().filter_map(|index| self.reference(*index))
    }

    /// The withdrawals of a receipt that are possible ones, in order.
    pub fn withdrawals(&self, target: u64) -> impl Iterator<Item = (u64, &Noted, &WithdrawalNote)> {
        listed(&self.withdrawals, target).filter_map(|index| match self.at(index) {
            Some(noted @ Noted { said: Said::Withdrawal(note), .. }) => Some((index, noted, note.as_ref())),
            _ => None,
        })
    }

    /// The first withdrawal of a receipt that says something against it. Who withdraws counts whatever became of their
    /// key: what speaks against a release is never forgotten.
    pub fn withdrawn(&self, target: u64) -> Option<u64> {
        self.withdrawals(target).next().map(|(index, ..)| index)
    }

    /// The gate run at an index.
    pub fn gate(&self, index: u64) -> Option<&GateNote> {
        match self.at(index).map(|noted| &noted.said) {
            Some(Said::Gate(gate)) => Some(gate),
            _ => None,
        }
    }

    /// The gate runs, in order.
    pub fn gates(&self) -> &[u64] {
        &self.gates
    }

    /// The recorded release decisions, in order.
    pub fn authorizations(&self) -> &[u64] {
        &self.authorizations
    }

    /// Whether anybody decided anything.
    pub fn any_decided(&self) -> bool {
        let decided = [&self.signoffs, &self.waivers, &self.withdrawals];
        !self.authorizations.is_empty() || decided.iter().any(|map| !map.is_empty())
    }

    /// All receipts, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &Noted)> {
        self.receipts.iter().map(|(index, noted)| (*index, noted))
    }

    /// The latest of the moments that receipts state.
    pub fn newest(&self) -> Option<Moment> {
        self.newest
    }
}

fn listed(map: &BTreeMap<u64, Vec<u64>>, target: u64) -> impl Iterator<Item = u64> {
    map.get(&target).into_iter().flatten().copied()
}
