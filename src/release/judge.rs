//! The release decision, as far as the log alone says it. Every reason against it is named; what only the ledger's files
//! can say is added by `authorize`.

use std::collections::{BTreeMap, BTreeSet};

use super::code::{Code, Reason, WAIVABLE, waivable_on};
use super::fold::{ComparisonNote, Decisions, Said};
use super::objection::listed;
use super::standing::{Standing, is_good};
use crate::object::ReceiptId;
use crate::receipt::{Decision, Kind, Moment, ReceiptRef, Release};
use crate::trust::{Role, Statement};

/// A waiver about something that a decision rests on.
#[derive(Debug, Clone)]
pub struct Waived {
    /// The waiver.
    pub waiver: ReceiptRef,
    /// Who signed it.
    pub who: String,
    /// What it is about.
    pub about: ReceiptRef,
    /// The check.
    pub check: String,
    /// Its reason.
    pub reason: String,
    /// The first moment at which it no longer counts.
    pub expires: Moment,
    /// Why it does not count, where it does not.
    pub doubt: Option<String>,
    /// Whether it would count if the sign-offs listed it.
    pub unlisted: bool,
}

/// What the log says about the release of one gate receipt.
#[derive(Debug, Clone)]
pub struct Judgement<'a> {
    /// Every reason against it that follows from the log, in no promised order.
    pub reasons: Vec<Reason>,
    /// Everything that the decision rests on beside its target, by index: what the target rests on, the sign-offs that
    /// count with what they rest on, and the waivers among it that count.
    pub rests_on: Vec<ReceiptRef>,
    /// Every person's word.
    pub standing: Standing<'a>,
    /// Every waiver about something that it rests on.
    pub waivers: Vec<Waived>,
}

impl Judgement<'_> {
    /// What it comes to, as far as the log says.
    pub fn release(&self) -> Release {
        if self.reasons.is_empty() { Release::Authorized } else { Release::Blocked }
    }
}

/// Judges a gate receipt by everything that was taken so far, under the trust statement in force now, at a moment.
///
/// `target` must be in the log; a receipt that is not there is judged as one that nobody signed off.
pub fn judge<'a>(decisions: &'a Decisions, now: &Statement, target: ReceiptRef, at: Moment) -> Judgement<'a> {
    let standing = Standing::of(decisions, target.index, now, at);
    let mut case = Case::new(decisions, now, target, at, &standing);
    case.verdict();
    case.withdrawn();
    case.no_goes();
    case.voices();
    case.appenders();
    case.signers();
    case.names();
    case.checks();
    case.faulty();
    let Case { reasons, mut rests_on, waivers, .. } = case;
    // A waiver that does not count is shown, and nothing rests on it.
    rests_on.retain(|index, _| !waivers.iter().any(|waived| waived.waiver.index == *index && waived.doubt.is_some()));
    rests_on.extend(standing.counting().map(|voice| (voice.latest.index, voice.latest.receipt)));
    let rests_on = rests_on.into_iter().map(|(index, receipt)| ReceiptRef { index, receipt }).collect();
    Judgement { reasons, rests_on, standing, waivers }
}

/// A check that can be waived, and is not passed.
struct Failing {
    code: Code,
    found: String,
    rule: String,
    /// What would pass it, but for a waiver.
    remedy: &'static str,
}

struct Case<'a, 's> {
    decisions: &'a Decisions,
    now: &'a Statement,
    target: ReceiptRef,
    at: Moment,
    standing: &'s Standing<'a>,
    /// What target and counting sign-offs rest on, but for the target.
    rests_on: BTreeMap<u64, ReceiptId>,
    waivers: Vec<Waived>,
    reasons: Vec<Reason>,
}

impl<'a, 's> Case<'a, 's> {
    fn new(
        decisions: &'a Decisions,
        now: &'a Statement,
        target: ReceiptRef,
        at: Moment,
        standing: &'s Standing<'a>,
    ) -> Self {
        let named = decisions.noted(target).map(|noted| noted.named()).unwrap_or_default();
        let listed = standing.counting().flat_map(|voice| &voice.signoff.rests_on).copied();
        let mut rests_on: BTreeMap<_, _> =
            named.into_iter().chain(listed).map(|one| (one.index, one.receipt)).collect();
        rests_on.remove(&target.index);
        let mut case =
            Self { decisions, now, target, at, standing, rests_on, waivers: Vec::new(), reasons: Vec::new() };
        case.waivers = case.all_waivers();
        case
    }

    fn add(&mut self, reason: Reason) {
        self.reasons.push(reason);
    }

    /// Target and what it rests on.
    fn all(&self) -> Vec<ReceiptRef> {
        let rest = self.rests_on.iter().map(|(index, receipt)| ReceiptRef { index: *index, receipt: *receipt });
        [self.target].into_iter().chain(rest).collect()
    }

    fn verdict(&mut self) {
        let said = self.decisions.noted(self.target).map(|noted| &noted.said);
        if matches!(said, Some(Said::Gate(gate)) if gate.go && gate.recommended.is_some()) {
            return;
        }
        let by = self.decisions.name_at(self.target.index).to_owned();
        let reason = Reason::new(
            Code::GateBlocked,
            format!("the verdict of gate receipt #{} is BLOCKED", self.target.index),
            "a release needs a gate run whose verdict is GO; a verdict cannot be waived",
            "a model that keeps every gate: `proofmark gate --record` with its predictions",
        );
        self.add(reason.at(self.target).by(by));
    }

    fn withdrawn(&mut self) {
        for one in self.all() {
            let Some(by) = self.decisions.withdrawn(one.index) else { continue };
            let who = self.decisions.name_at(by).to_owned();
            let reason = Reason::new(
                Code::Withdrawn,
                format!("#{} was withdrawn by {who}, in #{by}", one.index),
                "nothing that a release rests on may be withdrawn; a withdrawal stands for ever",
                "record it anew, and have that signed off",
            );
            self.add(reason.at(one).by(who));
        }
    }

    /// A NO-GO on anything that the release rests on speaks against it, as one on the gate run does.
    fn no_goes(&mut self) {
        for one in self.all() {
            match one == self.target {
                true => self.no_goes_on(one, self.standing),
                false => self.no_goes_on(one, &Standing::of(self.decisions, one.index, self.now, self.at)),
            }
        }
    }

    fn no_goes_on(&mut self, one: ReceiptRef, standing: &Standing<'a>) {
        for voice in &standing.voices {
            let Some(index) = voice.no_go else { continue };
            let Some(no_go) = self.decisions.reference(index) else { continue };
            let to = if one == self.target {
                String::new()
            } else {
                format!(" to #{}, on which the release rests,", one.index)
            };
            let why = match self.decisions.at(index).map(|noted| &noted.said) {
                Some(Said::Signoff(note)) => note.reason.to_string(),
                _ => String::new(),
            };
            let later = match voice.signoff.decision {
                Decision::Go => {
                    format!("; the GO #{} does not count: {}", voice.latest.index, voice.why_not(self.decisions))
                }
                Decision::NoGo => String::new(),
            };
            let reason = Reason::new(
                Code::NoGo,
                format!("{} says NO-GO{to} in #{index}: {why}{later}", voice.who),
                "one standing NO-GO blocks, whatever others say",
                format!("a later GO by {}, or their withdrawal of #{index}", voice.who),
            );
            self.reasons.push(reason.at(no_go).by(voice.who));
        }
    }

    fn voices(&mut self) {
        let counting = self.standing.counting().count();
        let needed = self.now.needed(Role::Signoff);
        if u32::try_from(counting).unwrap_or(u32::MAX) < needed {
            let reason = self.missing(counting, needed);
            self.add(reason.at(self.target));
        }
    }

    fn missing(&self, counting: usize, needed: u32) -> Reason {
        let signed: BTreeSet<&str> = self.standing.counting().map(|voice| voice.who).collect();
        let others = self.now.persons().iter().filter(|person| person.can(Role::Signoff));
        let others: Vec<_> = others.map(|person| person.name.as_str()).filter(|name| !signed.contains(name)).collect();
        let mut found = format!("{counting} of {needed} GOs count on #{}", self.target.index);
        for voice in self.standing.voices.iter().filter(|voice| !voice.counts()) {
            if voice.signoff.decision == Decision::Go {
                let why = voice.why_not(self.decisions);
                found.push_str(&format!("; the GO #{} of {} does not: {why}", voice.latest.index, voice.who));
            }
        }
        let version = self.now.version();
        let who =
            if others.is_empty() { "a person who is given the role signoff".to_owned() } else { others.join(", ") };
        let more = usize::try_from(needed).unwrap_or(usize::MAX).saturating_sub(counting);
        Reason::new(
            Code::SignoffMissing,
            found,
            format!("trust version {version} asks for the GO of {needed} persons (thresholds.signoff)"),
            format!(
                "{more} more GO of: {who} (`proofmark signoff '#{}' --decision go --reason TEXT`)",
                self.target.index
            ),
        )
    }

    /// The rule that the evaluator may not be the only approver.
    fn appenders(&mut self) {
        if self.now.rules().appender_may_be_only_signoff != Some(false) {
            return;
        }
        let evaluated = |one: &ReceiptRef| {
            let noted = self.decisions.noted(*one)?;
            let counts = matches!(noted.kind(), Kind::Gate | Kind::Scorecard | Kind::Comparison);
            counts.then(|| noted.signer.name())
        };
        let all = self.all();
        let appenders: BTreeSet<&str> = all.iter().filter_map(evaluated).collect();
        // Where nobody's GO counts, that is the reason.
        let mut counting = self.standing.counting().peekable();
        if counting.peek().is_none() || counting.any(|voice| !appenders.contains(voice.who)) {
            return;
        }
        let names: Vec<_> = appenders.into_iter().collect();
        let others = self.now.persons().iter().filter(|person| person.can(Role::Signoff));
        let others: Vec<_> = others.map(|person| person.name.as_str()).filter(|name| !names.contains(name)).collect();
        let who = if others.is_empty() {
            "somebody else who is given the role signoff".to_owned()
        } else {
            others.join(", ")
        };
        let names = names.join(", ");
        let reason = Reason::new(
            Code::OnlyAppender,
            format!("nobody but {names}, who appended the verdict or what it rests on, says GO"),
            "the person who appended a verdict cannot be its only sign-off (rule appenderMayBeOnlySignoff)",
            format!("a GO of: {who}"),
        );
        self.add(reason.at(self.target).by(names));
    }

    /// Trust now: whoever signed what the decision rests on must not have lost the key.
    fn signers(&mut self) {
        for one in self.all() {
            let Some(noted) = self.decisions.noted(one) else { continue };
            if noted.kind() == Kind::Waiver || is_good(&noted.signer.key, self.now) {
                continue;
            }
            let (who, key) = (noted.signer.name().to_owned(), noted.signer.key.clone());
            let reason = Reason::new(
                Code::SignerCompromised,
                format!("#{} is signed by {key} of {who}, which is compromised by now", one.index),
                "nothing that a release rests on may be signed by a key in wrong hands",
                "have it recorded again under a good key, if it still holds, and signed off anew",
            );
            self.add(reason.at(one).by(who));
        }
    }

    /// The rule that the text of questions must be known. It cannot be waived: equal names say nothing of equal questions.
    fn names(&mut self) {
        if self.now.rules().names_only_identity != Some(false) {
            return;
        }
        for one in self.all() {
            let Some(noted) = self.decisions.noted(one) else { continue };
            if !matches!(noted.said, Said::Scorecard { names_only: true, .. }) {
                continue;
            }
            let by = noted.signer.name().to_owned();
            let reason = Reason::new(
                Code::NamesOnly,
                format!(
                    "the questions of #{} are known by their names only: the text that was sent is unknown",
                    one.index
                ),
                "a release rests on question sets whose text is known (rule namesOnlyIdentity)",
                "a round whose files hold the text of the questions, and sign-offs that rest on that",
            );
            self.add(reason.at(one).by(by));
        }
    }

    /// The checks that can be waived.
    fn checks(&mut self) {
        for one in self.all() {
            let Some(noted) = self.decisions.noted(one) else { continue };
            let by = noted.signer.name().to_owned();
            for Failing { code, found, rule, remedy } in self.failing(one, &noted.said) {
                if self.is_waived(one, code) {
                    continue;
                }
                let waivers = self.waivers.iter().filter(|waived| waived.about == one && waived.check == code.as_str());
                let doubts = waivers.filter_map(|waived| {
                    Some(format!("; the waiver #{} does not count: {}", waived.waiver.index, waived.doubt.as_ref()?))
                });
                let found = format!("{found}{}", doubts.collect::<String>());
                let waive = format!("`proofmark waive '#{}' --check {code} --expires 30d --reason TEXT`", one.index);
                let remedy = format!("{remedy}, or {waive} and sign-offs that list the waiver");
                debug_assert!(WAIVABLE.contains(&code) && waivable_on(noted.kind()).contains(&code));
                self.add(Reason::new(code, found, rule, remedy).at(one).by(by.clone()));
            }
        }
    }

    /// A waiver of what can never be waived, or one that was void from the start, counts for nothing; that somebody forged it
    /// into what a release rests on is a reason of its own.
    fn faulty(&mut self) {
        for waived in &self.waivers {
            let Some(Said::Waiver(note)) = self.decisions.noted(waived.waiver).map(|noted| &noted.said) else {
                continue;
            };
            if note.objections.is_empty() {
                continue;
            }
            let (index, about, who) = (waived.waiver.index, waived.about.index, &waived.who);
            let rules = listed(&note.objections);
            let reason = Reason::new(
                Code::WaiverFaulty,
                format!(
                    "waiver #{index} of {} on #{about}, by {who}, broke a rule when it was made: {rules}",
                    waived.check
                ),
                "a release rests on no waiver that could not be made by the rules",
                format!("`proofmark withdraw '#{index}' --reason TEXT`, and the sign-offs that list it made again"),
            );
            self.reasons.push(reason.at(waived.waiver).by(who.clone()));
        }
    }

    fn failing(&self, one: ReceiptRef, said: &Said) -> Vec<Failing> {
        match said {
            Said::Comparison(note) => self.compared(one.index, note),
            Said::Scorecard { asserted, looks, .. } => self.measured(one, *asserted, *looks),
            _ => Vec::new(),
        }
    }

    fn compared(&self, index: u64, note: &ComparisonNote) -> Vec<Failing> {
        let (base, current) = (note.base.index, note.current.index);
        let mut failing = Vec::new();
        if !note.comparable || note.base == note.current {
            let found = if note.base == note.current {
                format!("comparison #{index} puts #{base} beside itself")
            } else {
                format!("comparison #{index} puts #{base} and #{current} side by side, which cannot be compared")
            };
            failing.push(Failing {
                code: Code::ComparisonIncomparable,
                found,
                rule: "a comparison that a release rests on compares what can be compared".to_owned(),
                remedy: "a comparison on one question set",
            });
        }
        if note.comparable && note.regressed {
            failing.push(Failing {
                code: Code::ComparisonRegressed,
                found: format!("comparison #{index} says that #{current} regressed against #{base}"),
                rule: "a round that regressed is not released".to_owned(),
                remedy: "a round that did not regress",
            });
        }
        if note.comparable && note.lenient {
            failing.push(Failing {
                code: Code::ComparisonLenient,
                found: format!("comparison #{index} of #{current} with #{base} says: {}", note.outcome),
                rule: "a comparison that a release rests on lets no loss pass, and nothing that is unknown".to_owned(),
                remedy: "a comparison without `--tolerance` and `--allow-unknown`",
            });
        }
        if !self.says_what_must_pass(note.current) {
            failing.push(Failing {
                code: Code::MustPassUnknown,
                found: format!(
                    "the ledger does not hold the questions of #{current}, compared in #{index}: which of them must pass is unknown"
                ),
                rule: "a question that must pass is known to pass".to_owned(),
                remedy: "a comparison of rounds whose questions are held",
            });
        }
        failing
    }

    fn measured(&self, one: ReceiptRef, asserted: bool, looks: u32) -> Vec<Failing> {
        let index = one.index;
        let mut failing = Vec::new();
        // A round that is compared, or compared with, is judged with the comparison.
        if !self.says_what_must_pass(one) && !self.is_compared(one) {
            failing.push(Failing {
                code: Code::MustPassUnknown,
                found: format!(
                    "the ledger does not hold the questions of #{index}, which is in no comparison: which of them must pass is unknown"
                ),
                rule: "a question that must pass is known to pass".to_owned(),
                remedy: "a round whose questions are held",
            });
        }
        if asserted && self.now.rules().recomputed_only == Some(true) {
            failing.push(Failing {
                code: Code::AssertedCard,
                found: format!("the card of #{index} was handed in, not recomputed"),
                rule: "only recomputed cards count (rule recomputedOnly)".to_owned(),
                remedy: "the round appended again from its evidence",
            });
        }
        if let Some(most) = self.now.rules().max_looks.filter(|most| looks > *most) {
            failing.push(Failing {
                code: Code::LooksExceeded,
                found: format!("#{index} is look {looks} at its question set"),
                rule: format!("a question set may be looked at {most} times (rule maxLooks)"),
                remedy: "a fresh question set",
            });
        }
        failing
    }

    fn is_compared(&self, round: ReceiptRef) -> bool {
        self.all().into_iter().filter_map(|one| self.decisions.noted(one)).any(|noted| match &noted.said {
            Said::Comparison(note) => note.base == round || note.current == round,
            _ => false,
        })
    }

    /// Whether the ledger holds the text of a round's questions.
    fn says_what_must_pass(&self, round: ReceiptRef) -> bool {
        let said = self.decisions.noted(round).map(|noted| &noted.said);
        matches!(said, Some(Said::Scorecard { text_held: true, .. }))
    }

    fn is_waived(&self, one: ReceiptRef, code: Code) -> bool {
        self.waivers.iter().any(|waived| waived.about == one && waived.check == code.as_str() && waived.doubt.is_none())
    }

    fn all_waivers(&self) -> Vec<Waived> {
        let mut found = Vec::new();
        for one in self.all() {
            for (index, noted, note) in self.decisions.waivers(one.index) {
                if self.decisions.withdrawn(index).is_some() {
                    continue;
                }
                let waiver = ReceiptRef { index, receipt: noted.id };
                let (doubt, unlisted) = (self.doubt(waiver, one), self.unlisted(waiver, one));
                found.push(Waived {
                    waiver,
                    who: noted.signer.name().to_owned(),
                    about: one,
                    check: note.body.check.to_string(),
                    reason: note.body.reason.to_string(),
                    expires: note.body.expires,
                    unlisted: doubt.is_none() && unlisted.is_some(),
                    doubt: doubt.or(unlisted),
                });
            }
        }
        found
    }

    /// Why a waiver that is not withdrawn does not count, whoever lists it.
    fn doubt(&self, waiver: ReceiptRef, about: ReceiptRef) -> Option<String> {
        let noted = self.decisions.noted(waiver)?;
        let Said::Waiver(note) = &noted.said else { return None };
        let who = noted.signer.name();
        if !note.allowed {
            return Some(format!("{who} did not hold the role signoff then"));
        }
        if !is_good(&noted.signer.key, self.now) {
            return Some("its key is compromised by now".to_owned());
        }
        if !note.objections.is_empty() {
            return Some(format!("it broke a rule when it was made: {}", listed(&note.objections)));
        }
        if note.body.expires <= self.at {
            return Some(format!("it expired {}", note.body.expires));
        }
        if note.recorded_at > self.at {
            return Some(format!("it was made {}, after the moment asked about", note.recorded_at));
        }
        let own = self.decisions.noted(about).is_some_and(|target| target.signer.name() == who);
        if own && self.now.rules().appender_may_be_only_signoff == Some(false) {
            return Some(format!("{who} appended what it is about (rule appenderMayBeOnlySignoff)"));
        }
        None
    }

    /// Which sign-off does not list a waiver, though it rests on what that is about.
    fn unlisted(&self, waiver: ReceiptRef, about: ReceiptRef) -> Option<String> {
        let mut knowing = 0;
        for voice in self.standing.counting() {
            let lists = |one: &ReceiptRef| voice.signoff.rests_on.contains(one);
            match (about == self.target || lists(&about), lists(&waiver)) {
                (true, false) => {
                    return Some(format!("the GO #{} of {} does not list it", voice.latest.index, voice.who));
                }
                (_, true) => knowing += 1,
                (false, false) => {}
            }
        }
        (knowing == 0).then(|| "no GO that counts lists it".to_owned())
    }
}
