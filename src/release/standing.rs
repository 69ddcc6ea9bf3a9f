//! What each person's sign-offs on a receipt come to: a GO that counts, a GO that does not and why, a NO-GO that stands.

use std::collections::BTreeMap;

use super::fold::{Decisions, Noted, SignoffNote};
use super::objection::listed;
use crate::receipt::{Decision, Moment, ReceiptRef};
use crate::trust::{KeyId, Standing as KeyStanding, Statement};

/// Why a GO does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// Its signer did not hold the role at its index.
    NotAllowed,
    /// Its key is in wrong hands, or no longer known.
    Compromised,
    /// The rules spoke against it when it was made; the audit has a finding for it.
    Objected,
    /// It was withdrawn.
    Withdrawn {
        /// The withdrawal's index.
        by: u64,
    },
    /// Something that it rests on was withdrawn.
    RestsOnWithdrawn {
        /// What was withdrawn.
        what: u64,
        /// The withdrawal's index.
        by: u64,
    },
    /// It was made after the moment that is asked about, by its signer's word.
    NotYet {
        /// When it was made.
        made: Moment,
    },
    /// It expired.
    Expired {
        /// The first moment at which it no longer counts.
        since: Moment,
        /// Whether that follows from the ledger's rule signoffMaxAgeDays.
        by_rule: bool,
    },
}

/// One person's latest word on a receipt.
#[derive(Debug, Clone)]
pub struct Voice<'a> {
    /// The person, else the key.
    pub who: &'a str,
    /// The latest sign-off.
    pub latest: ReceiptRef,
    /// What it says.
    pub signoff: &'a SignoffNote,
    /// Why it does not count, where it is a GO that does not.
    pub doubts: Vec<Doubt>,
    /// The newest NO-GO of this person that stands.
    pub no_go: Option<u64>,
}

impl Voice<'_> {
    /// Whether this is a GO that counts.
    pub fn counts(&self) -> bool {
        self.signoff.decision == Decision::Go && self.doubts.is_empty() && self.no_go.is_none()
    }

    /// Why the latest sign-off does not count, in words; empty where it does or is a NO-GO.
    pub fn why_not(&self, decisions: &Decisions) -> String {
        let texts = self.doubts.iter().map(|doubt| match doubt {
            Doubt::NotAllowed => format!("{} did not hold the role signoff then", self.who),
            Doubt::Compromised => "its key is compromised by now".to_owned(),
            Doubt::Objected => format!("it broke a rule when it was made: {}", listed(&self.signoff.objections)),
            Doubt::Withdrawn { by } => format!("{} withdrew it, in #{by}", decisions.name_at(*by)),
            Doubt::RestsOnWithdrawn { what, by } => {
                format!("#{what}, on which it rests, was withdrawn by {} in #{by}", decisions.name_at(*by))
            }
            Doubt::NotYet { made } => format!("it was made {made}, after the moment asked about"),
            Doubt::Expired { since, by_rule: true } => format!("it expired {since} by the rule signoffMaxAgeDays"),
            Doubt::Expired { since, by_rule: false } => format!("it expired {since}"),
        });
        texts.collect::<Vec<_>>().join("; ")
    }
}

/// Every person's word on one receipt.
#[derive(Debug, Clone)]
pub struct Standing<'a> {
    /// By name.
    pub voices: Vec<Voice<'a>>,
}

impl<'a> Standing<'a> {
    /// What the sign-offs on `target` come to under the trust statement in force now, at a moment.
    ///
    /// A person's latest sign-off is the one that can count. A NO-GO stands until its person says GO later in a sign-off
    /// that counts, or withdraws it under a key that is still good; what became of the key of the NO-GO does not matter.
    pub fn of(decisions: &'a Decisions, target: u64, now: &Statement, at: Moment) -> Self {
        let mut by_person: BTreeMap<&str, Vec<(u64, &Noted, &SignoffNote)>> = BTreeMap::new();
        for signoff in decisions.signoffs(target) {
            by_person.entry(signoff.1.signer.name()).or_default().push(signoff);
        }
        let voice = |(who, signoffs): (&'a str, Vec<(u64, &'a Noted, &'a SignoffNote)>)| {
            let (index, noted, signoff) = *signoffs.last()?;
            let doubts = match signoff.decision {
                Decision::Go => doubts(decisions, index, noted, signoff, now, at),
                Decision::NoGo => Vec::new(),
            };
            let counts = signoff.decision == Decision::Go && doubts.is_empty();
            let stands = |(index, _, note): &&(u64, &Noted, &SignoffNote)| {
                note.decision == Decision::NoGo && note.allowed && !retracted(decisions, *index, now)
            };
            let no_go = if counts { None } else { signoffs.iter().rev().find(stands).map(|(index, ..)| *index) };
            Some(Voice { who, latest: ReceiptRef { index, receipt: noted.id }, signoff, doubts, no_go })
        };
        Self { voices: by_person.into_iter().filter_map(voice).collect() }
    }

    /// The GOs that count.
    pub fn counting(&self) -> impl Iterator<Item = &Voice<'a>> {
        self.voices.iter().filter(|voice| voice.counts())
    }
}

/// Whether a key may speak for a release under this statement: it is listed and not in wrong hands.
pub(super) fn is_good(key: &KeyId, now: &Statement) -> bool {
    now.record_of(key).is_some_and(|record| record.status != KeyStanding::Compromised)
}

/// Whether a NO-GO was taken back by the person who said it. That speaks for a release, so the key must be good.
fn retracted(decisions: &Decisions, no_go: u64, now: &Statement) -> bool {
    decisions.withdrawals(no_go).any(|(_, noted, note)| note.allowed && is_good(&noted.signer.key, now))
}

fn doubts(
    decisions: &Decisions,
    index: u64,
    noted: &Noted,
    signoff: &SignoffNote,
    now: &Statement,
    at: Moment,
) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    if !signoff.allowed {
        doubts.push(Doubt::NotAllowed);
    }
    if !is_good(&noted.signer.key, now) {
        doubts.push(Doubt::Compromised);
    }
    if !signoff.objections.is_empty() {
        doubts.push(Doubt::Objected);
    }
    doubts.extend(decisions.withdrawn(index).map(|by| Doubt::Withdrawn { by }));
    let rests_on = [signoff.target].into_iter().chain(signoff.rests_on.iter().copied());
    let withdrawn = rests_on.filter_map(|one| Some((one.index, decisions.withdrawn(one.index)?)));
    doubts.extend(withdrawn.map(|(what, by)| Doubt::RestsOnWithdrawn { what, by }));
    doubts.extend((signoff.recorded_at > at).then_some(Doubt::NotYet { made: signoff.recorded_at }));
    doubts.extend(expired(signoff, now, at));
    doubts
}

/// Whether a GO expired by its own word or by the rule, whichever comes first.
fn expired(signoff: &SignoffNote, now: &Statement, at: Moment) -> Option<Doubt> {
    let own = signoff.expires.map(|expires| (expires, false));
    let rule = now.rules().signoff_max_age_days.map(|days| {
        let seconds = signoff.recorded_at.unix().saturating_add(i64::from(days).saturating_mul(86_400));
        // An end beyond the year 9999 cannot be said, so the sign-off is not believed to have one.
        (Moment::from_unix(seconds).unwrap_or(signoff.recorded_at), true)
    });
    let (since, by_rule) = own.into_iter().chain(rule).min()?;
    (since <= at).then_some(Doubt::Expired { since, by_rule })
}
