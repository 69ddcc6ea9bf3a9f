//! What the rules say against one decision, at the moment at which it is made. Commands refuse to make one with
//! objections, the audit finds one that was forged into the log, and it counts for nothing.

use super::closure::Gap;
use super::code::{Code, waivable_on};
use super::fold::{Decisions, Noted, Said};
use super::judge::judge;
use crate::receipt::{Authorization, Body, Decision, Kind, Moment, Predicate, ReceiptRef, Signoff, Waiver, Withdrawal};
use crate::trust::{KeyId, Statement};

/// The kind of an objection. The audit has a finding of the same name for each but the first two, found elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectionCode {
    /// A decision about a receipt of a kind that it cannot be about.
    DecisionTarget,
    /// A sign-off that names a receipt which is not there: a broken reference, which the audit has a finding of its own for.
    NotThere,
    /// A withdrawal of what the chain of trust is made of: the chain speaks against it itself.
    OfTrust,
    /// A sign-off whose list of what it rests on is not complete.
    SignoffIncomplete,
    /// A GO, or a waiver, that rests on a withdrawn receipt.
    RestsOnWithdrawn,
    /// A GO on a gate run whose verdict is BLOCKED.
    SignoffBlocked,
    /// A GO that had expired when it was made.
    SignoffExpired,
    /// A GO that rests on an asserted card where the ledger counts only recomputed ones.
    RestsOnAsserted,
    /// A GO that rests on a round whose questions are known by names only, where the ledger asks for their text.
    RestsOnNames,
    /// A waiver for a check that cannot be waived, or not on this kind of receipt.
    WaiverCheck,
    /// A waiver that had expired when it was made.
    WaiverExpired,
    /// A waiver by the person who appended what it is about, where the rules forbid it.
    WaiverOwn,
    /// A withdrawal of a NO-GO by another person than the one who said it.
    WithdrawalOfNoGo,
    /// A recorded release decision about another log than the one before it.
    AuthorizationSize,
    /// A recorded release decision at a moment before that of a receipt that it judged, or before its own.
    AuthorizationBackdated,
    /// A recorded release decision that does not follow from the log before it.
    AuthorizationDiffers,
}

impl ObjectionCode {
    /// The code of the audit's finding for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DecisionTarget => "decision-target",
            Self::NotThere => "reference-broken",
            Self::OfTrust => "trust-withdrawn",
            Self::SignoffIncomplete => "signoff-incomplete",
            Self::RestsOnWithdrawn => "rests-on-withdrawn",
            Self::SignoffBlocked => "signoff-blocked",
            Self::SignoffExpired => "signoff-expired",
            Self::RestsOnAsserted => "rests-on-asserted",
            Self::RestsOnNames => "rests-on-names",
            Self::WaiverCheck => "waiver-check",
            Self::WaiverExpired => "waiver-expired",
            Self::WaiverOwn => "waiver-own",
            Self::WithdrawalOfNoGo => "withdrawal-of-no-go",
            Self::AuthorizationSize => "authorization-size",
            Self::AuthorizationBackdated => "authorization-backdated",
            Self::AuthorizationDiffers => "authorization-differs",
        }
    }
}

/// Codes for people, as in `waiver-check, waiver-expired`.
pub(super) fn listed(codes: &[ObjectionCode]) -> String {
    codes.iter().map(|code| code.as_str()).collect::<Vec<_>>().join(", ")
}

/// What a rule says against a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objection {
    /// Its kind.
    pub code: ObjectionCode,
    /// What the rule asks for, and so what would satisfy it.
    pub expected: String,
    /// What is so.
    pub found: String,
}

fn objection(code: ObjectionCode, expected: impl Into<String>, found: impl Into<String>) -> Objection {
    Objection { code, expected: expected.into(), found: found.into() }
}

/// Whether decisions of this kind can be about receipts of that kind.
pub fn may_be(decision: Kind, about: Kind) -> bool {
    use Kind::{Authorization, Baseline, Comparison, Gate, Scorecard, Signoff, Trust, Waiver, Withdrawal};
    match decision {
        Signoff => matches!(about, Gate | Comparison | Scorecard | Trust),
        Withdrawal => matches!(about, Scorecard | Comparison | Gate | Baseline | Waiver | Authorization | Signoff),
        Waiver => !waivable_on(about).is_empty(),
        Authorization => about == Gate,
        _ => true,
    }
}

impl Decisions {
    /// What the rules say against a decision that is made now, at `index`, under the trust statement in force there.
    /// Receipts that are no decisions have no objections.
    pub fn objections(&self, index: u64, predicate: &Predicate, key: &KeyId, then: &Statement) -> Vec<Objection> {
        let at = predicate.recorded_at;
        match &predicate.body {
            Body::Signoff(body) => self.against_signoff(body, at, then),
            Body::Waiver(body) => self.against_waiver(body, at, key, then),
            Body::Withdrawal(body) => self.against_withdrawal(body, key, then),
            Body::Authorization(body) => self.against_authorization(index, body, at, then),
            _ => Vec::new(),
        }
    }

    fn is_trust(&self, target: ReceiptRef) -> bool {
        self.noted(target).is_some_and(|noted| noted.kind() == Kind::Trust)
    }

    fn wrong_target(&self, decision: Kind, target: ReceiptRef) -> Option<Objection> {
        let about = self.noted(target)?.kind();
        if may_be(decision, about) {
            return None;
        }
        let kinds = Kind::ALL.into_iter().filter(|kind| may_be(decision, *kind)).map(Kind::as_str);
        let expected = format!("a receipt of one of the kinds {}", kinds.collect::<Vec<_>>().join(", "));
        Some(objection(ObjectionCode::DecisionTarget, expected, format!("#{} is a {about} receipt", target.index)))
    }

    fn against_signoff(&self, body: &Signoff, at: Moment, then: &Statement) -> Vec<Objection> {
        if self.is_trust(body.target) {
            // Agreement to trust: the chain of trust has its own rules for it.
            return Vec::new();
        }
        let mut found: Vec<_> = self.wrong_target(Kind::Signoff, body.target).into_iter().collect();
        found.extend(self.incomplete(body));
        if body.decision == Decision::NoGo {
            return found;
        }
        if let Some(expires) = body.expires.filter(|expires| *expires <= at) {
            let expected = format!("an expiry after {at}, when it was signed");
            found.push(objection(ObjectionCode::SignoffExpired, expected, format!("it expires {expires}")));
        }
        let rests = || [body.target].into_iter().chain(body.rests_on.iter().copied());
        found.extend(rests().find_map(|one| self.on_withdrawn(one, "a GO")));
        if let Some(Noted { said: Said::Gate(gate), .. }) = self.noted(body.target)
            && !gate.go
        {
            let expected = "a gate run whose verdict is GO: a verdict cannot be waived";
            let said = format!("#{} is BLOCKED by its gates", body.target.index);
            found.push(objection(ObjectionCode::SignoffBlocked, expected, said));
        }
        if then.rules().recomputed_only == Some(true) {
            found.extend(rests().find_map(|one| self.on_asserted(one, &body.rests_on, at)));
        }
        if then.rules().names_only_identity == Some(false) {
            found.extend(rests().find_map(|one| self.on_names(one)));
        }
        found
    }

    fn incomplete(&self, body: &Signoff) -> Option<Objection> {
        let mut rests_on = [body.target].into_iter().chain(body.rests_on.iter().copied());
        if let Some(absent) = rests_on.find(|one| self.noted(*one).is_none()) {
            let expected = format!("receipt {} earlier in the log, at index {}", absent.receipt, absent.index);
            return Some(objection(ObjectionCode::NotThere, expected, "no such receipt"));
        }
        let (expected, found) = match *self.gaps(body.target, &body.rests_on).first()? {
            Gap::Named { missing, by } => (
                format!("`restsOn` with #{}, which #{by} names", missing.index),
                format!("#{} is not listed", missing.index),
            ),
            Gap::Waiver { missing, about } => (
                format!("`restsOn` with #{}, a waiver about #{about}", missing.index),
                format!("#{} is not listed", missing.index),
            ),
            Gap::Kind { listed, kind } => {
                let kinds = super::closure::RESTABLE.map(Kind::as_str).join(", ");
                let expected = format!("`restsOn` with receipts of the kinds {kinds} only");
                (expected, format!("#{} is a {kind} receipt", listed.index))
            }
        };
        Some(objection(ObjectionCode::SignoffIncomplete, expected, found))
    }

    fn on_withdrawn(&self, one: ReceiptRef, what: &str) -> Option<Objection> {
        self.noted(one)?;
        let withdrawal = self.withdrawn(one.index)?;
        let found = format!("#{} was withdrawn by {}, in #{withdrawal}", one.index, self.name_at(withdrawal));
        let expected = format!("{what} that rests on nothing that was withdrawn");
        Some(objection(ObjectionCode::RestsOnWithdrawn, expected, found))
    }

    fn on_asserted(&self, one: ReceiptRef, rests_on: &[ReceiptRef], at: Moment) -> Option<Objection> {
        let noted = self.noted(one)?;
        let Said::Scorecard { asserted: true, .. } = noted.said else { return None };
        let waives = |waiver: &ReceiptRef| match self.noted(*waiver).map(|noted| &noted.said) {
            Some(Said::Waiver(waiver)) => {
                let about = waiver.body.target == one && waiver.body.check.as_str() == Code::AssertedCard.as_str();
                about && waiver.allowed && waiver.objections.is_empty() && waiver.body.expires > at
            }
            _ => false,
        };
        if rests_on.iter().any(waives) {
            return None;
        }
        let expected = "recomputed cards only (rule recomputedOnly), or a waiver of `asserted-card` that it lists";
        let found = format!("the card of #{}, appended by {}, is asserted", one.index, noted.signer.name());
        Some(objection(ObjectionCode::RestsOnAsserted, expected, found))
    }

    fn on_names(&self, one: ReceiptRef) -> Option<Objection> {
        let noted = self.noted(one)?;
        let Said::Scorecard { names_only: true, .. } = noted.said else { return None };
        let expected = "rounds whose questions are known by their text (rule namesOnlyIdentity)";
        let found = format!(
            "the questions of #{}, appended by {}, are known by their names only",
            one.index,
            noted.signer.name()
        );
        Some(objection(ObjectionCode::RestsOnNames, expected, found))
    }

    fn against_waiver(&self, body: &Waiver, at: Moment, key: &KeyId, then: &Statement) -> Vec<Objection> {
        let mut found = Vec::new();
        let target = self.noted(body.target);
        if let Some(target) = target {
            let waivable = waivable_on(target.kind());
            if !waivable.iter().any(|code| code.as_str() == body.check.as_str()) {
                found.push(not_waivable(body, target.kind()));
            }
        }
        if body.expires <= at {
            let expected = format!("an expiry after {at}, when it was signed");
            found.push(objection(ObjectionCode::WaiverExpired, expected, format!("it expires {}", body.expires)));
        }
        found.extend(self.on_withdrawn(body.target, "a waiver"));
        let person = then.person_of(key).map(|person| person.name.as_str());
        let own = person.is_some() && target.is_some_and(|target| target.signer.person.as_deref() == person);
        if then.rules().appender_may_be_only_signoff == Some(false) && own {
            let expected = "a waiver by somebody else than the appender (rule appenderMayBeOnlySignoff)";
            let said = format!("{} appended #{} too", person.unwrap_or("the signer"), body.target.index);
            found.push(objection(ObjectionCode::WaiverOwn, expected, said));
        }
        found
    }

    fn against_withdrawal(&self, body: &Withdrawal, key: &KeyId, then: &Statement) -> Vec<Objection> {
        let Some(target) = self.noted(body.target) else { return Vec::new() };
        let of_trust = match &target.said {
            Said::Signoff(signoff) => self.is_trust(signoff.target),
            said => matches!(said, Said::Trust),
        };
        if of_trust {
            let expected = "what is no part of the chain of trust: a root says NO-GO to take an agreement back";
            let said = format!("#{} is part of it", body.target.index);
            return vec![objection(ObjectionCode::OfTrust, expected, said)];
        }
        let mut found: Vec<_> = self.wrong_target(Kind::Withdrawal, body.target).into_iter().collect();
        let Said::Signoff(signoff) = &target.said else { return found };
        let person = then.person_of(key).map(|person| person.name.as_str());
        if signoff.decision == Decision::NoGo && (person.is_none() || target.signer.person.as_deref() != person) {
            let who = target.signer.name();
            let expected = format!("the withdrawal of a NO-GO by {who}, who said it");
            let said = format!("{} withdraws the NO-GO #{}", person.unwrap_or("somebody else"), body.target.index);
            found.push(objection(ObjectionCode::WithdrawalOfNoGo, expected, said));
        }
        found
    }

    fn against_authorization(
        &self,
        index: u64,
        body: &Authorization,
        recorded_at: Moment,
        then: &Statement,
    ) -> Vec<Objection> {
        let mut found: Vec<_> = self.wrong_target(Kind::Authorization, body.target).into_iter().collect();
        if body.size != index {
            let expected = format!("a decision about the {index} receipts before it: none may be left out");
            found.push(objection(ObjectionCode::AuthorizationSize, expected, format!("about {}", body.size)));
        }
        let newest = self.newest().filter(|newest| body.at < *newest);
        let newest = newest.map(|newest| (newest, "which a receipt of that log states"));
        let own = (body.at < recorded_at).then_some((recorded_at, "when it was recorded"));
        if let Some((least, which)) = newest.into_iter().chain(own).max() {
            let expected = format!("a moment that is not before {least}, {which}");
            found.push(objection(ObjectionCode::AuthorizationBackdated, expected, format!("at {}", body.at)));
        }
        if found.is_empty() && self.noted(body.target).is_some() {
            found.extend(self.differs(body, then));
        }
        found
    }

    /// A recorded decision is made again from the log. Reasons that only files can tell are believed where they block.
    fn differs(&self, body: &Authorization, then: &Statement) -> Option<Objection> {
        let judged = judge(self, then, body.target, body.at);
        let follows = |code: &str| Code::ALL.iter().any(|one| one.as_str() == code && one.follows_from_log());
        let mut computed: Vec<_> = judged.reasons.iter().map(|reason| reason.code).collect();
        computed.sort_unstable();
        computed.dedup();
        let stated: Vec<_> = body.reasons.iter().map(|code| code.as_str()).filter(|code| follows(code)).collect();
        let code = ObjectionCode::AuthorizationDiffers;
        if computed != stated {
            let text = |codes: &[&str]| if codes.is_empty() { "none".to_owned() } else { codes.join(", ") };
            let expected = format!("the reasons that follow from the log: {}", text(&computed));
            return Some(objection(code, expected, format!("{}: {}", body.decision, text(&stated))));
        }
        if judged.rests_on != body.rests_on {
            let text = |list: &[ReceiptRef]| {
                let indexes = list.iter().map(|one| format!("#{}", one.index));
                if list.is_empty() { "nothing".to_owned() } else { indexes.collect::<Vec<_>>().join(" ") }
            };
            let expected = format!("`restsOn`: {}", text(&judged.rests_on));
            return Some(objection(code, expected, text(&body.rests_on)));
        }
        None
    }

    /// Who signed the receipt at an index.
    pub fn name_at(&self, index: u64) -> &str {
        self.at(index).map_or("nobody", |noted| noted.signer.name())
    }
}

fn not_waivable(body: &Waiver, kind: Kind) -> Objection {
    let codes = waivable_on(kind);
    let expected = if codes.is_empty() {
        format!("a comparison or a scorecard: nothing about a {kind} can be waived")
    } else {
        let codes: Vec<_> = codes.iter().map(|code| code.as_str()).collect();
        format!("one of the checks of a {kind} that can be waived: {}", codes.join(", "))
    };
    objection(ObjectionCode::WaiverCheck, expected, format!("`{}` on #{}", body.check, body.target.index))
}
