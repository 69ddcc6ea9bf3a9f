//! Each case of forgery about decisions, told into a log.

use proofmark::receipt::{
    Authorization, Basis, Body, Comparison, Decision, Moment, ReceiptRef, Release, Signoff, Waiver, Withdrawal,
};
use proofmark::scorecard::{DEFAULT_TOLERANCE, Tolerance, detect_regression};
use proofmark::trust::{Role, SecretKey, Standing};
use proofmark::verify::Code as C;

use super::{Case, days};
use crate::forge::Forge;
use crate::keys::person;
use crate::trust::{Parts, Story, ann, ann_too, because, bob, eve, sam};

/// Ann and Bob are roots and sign off, CI (`tester`) appends, Sam appends and signs off: the evaluator who would approve.
pub fn parts(signoffs: u32) -> Parts {
    let mut parts = Parts::first();
    parts.person("Ann").roles = vec![Role::Root, Role::Signoff];
    parts.person("Bob").roles = vec![Role::Root, Role::Signoff];
    parts.person("Sam").roles = vec![Role::Append, Role::Signoff];
    parts.thresholds.signoff = signoffs;
    parts
}

/// A log as it is told, with what it is about.
pub struct Told {
    pub story: Story,
}

impl Told {
    pub fn under(parts: Parts) -> Self {
        let forge = Forge::with_trust(parts.statement(), &ann());
        let trust = forge.trust().unwrap();
        Self { story: Story { forge, trust, parts } }
    }

    pub fn say(&mut self, body: Body, signer: &SecretKey) -> ReceiptRef {
        self.story.say(body, signer)
    }

    /// A gate run that says GO, by this person.
    pub fn gate(&mut self, signer: &SecretKey) -> ReceiptRef {
        let (body, evidence) = self.story.forge.gated();
        self.story.forge.sign(Some(self.story.trust), Body::Gate(body), evidence, signer)
    }

    pub fn signoff(&mut self, decision: Decision, target: ReceiptRef, rests_on: &[ReceiptRef]) -> Signoff {
        Signoff { target, decision, reason: because(), expires: None, rests_on: rests_on.to_vec() }
    }

    pub fn go(&mut self, target: ReceiptRef, rests_on: &[ReceiptRef], signer: &SecretKey) -> ReceiptRef {
        let body = self.signoff(Decision::Go, target, rests_on);
        self.say(Body::Signoff(body), signer)
    }

    pub fn no_go(&mut self, target: ReceiptRef, signer: &SecretKey) -> ReceiptRef {
        let body = self.signoff(Decision::NoGo, target, &[]);
        self.say(Body::Signoff(body), signer)
    }

    /// On what names other receipts, which are listed.
    pub fn no_go_with(&mut self, target: ReceiptRef, rests_on: &[ReceiptRef], signer: &SecretKey) -> ReceiptRef {
        let body = self.signoff(Decision::NoGo, target, rests_on);
        self.say(Body::Signoff(body), signer)
    }

    pub fn withdraw(&mut self, target: ReceiptRef, signer: &SecretKey) -> ReceiptRef {
        self.say(Body::Withdrawal(Withdrawal { target, reason: because() }), signer)
    }

    pub fn waive(&mut self, target: ReceiptRef, check: &str, expires: Moment, signer: &SecretKey) -> ReceiptRef {
        self.say(Body::Waiver(Waiver { target, check: check.parse().unwrap(), reason: because(), expires }), signer)
    }

    /// Two rounds and their comparison, the second being worse.
    pub fn regressed(&mut self) -> [ReceiptRef; 3] {
        self.tolerated(DEFAULT_TOLERANCE.as_f64())
    }

    /// The same, compared with this tolerance.
    pub fn tolerated(&mut self, tolerance: f64) -> [ReceiptRef; 3] {
        let (base, current) = (self.story.round(&[], &person()), self.story.round(&[1], &person()));
        let card = |index: ReceiptRef| self.story.forge.cards[index.index as usize].clone().unwrap();
        let report = detect_regression(&card(base), &card(current), Tolerance::new(tolerance).unwrap());
        let body = Comparison { base, current, tolerance, report, allow_unknown: Vec::new() };
        [base, current, self.say(Body::Comparison(body), &person())]
    }

    /// An honest round in which the second question fails, which must pass.
    pub fn failing_what_must_pass(&mut self) -> ReceiptRef {
        let (body, mut evidence) = self.story.forge.honest(&[1]);
        let questions = crate::forge::QUESTIONS.replace("\"id\":\"q2\"", "\"id\":\"q2\",\"must_pass\":true");
        evidence[0] = self.story.forge.evidence(proofmark::ledger::role::QUESTIONS, questions);
        self.story.forge.sign(Some(self.story.trust), Body::Scorecard(body), evidence, &person())
    }

    /// A card that was handed in, on questions that nobody has.
    pub fn other_questions(&mut self) -> proofmark::receipt::ScorecardBody {
        let (mut body, _) = self.story.forge.honest(&[]);
        body.basis = Basis::Asserted;
        body.card = proofmark::scorecard::Scorecard::new(1.0, 1.0, 0.5, 10, "a".repeat(64)).unwrap();
        body
    }

    /// A round whose card was handed in.
    pub fn asserted(&mut self) -> ReceiptRef {
        let (mut body, _) = self.story.forge.honest(&[]);
        body.basis = Basis::Asserted;
        self.say(Body::Scorecard(body), &person())
    }

    /// Two rounds whose questions nobody holds, and their comparison.
    pub fn compared_unheld(&mut self) -> [ReceiptRef; 3] {
        let (base, current) = (self.asserted(), self.asserted());
        let (body, _) = self.story.forge.compared(base, current);
        [base, current, self.say(Body::Comparison(body), &person())]
    }

    /// A round that was imported from a table with the names of its questions and no text.
    pub fn named(&mut self) -> ReceiptRef {
        let (body, evidence) = self.story.forge.imported("id,correct\nq1,1\n");
        self.story.forge.sign(Some(self.story.trust), Body::Scorecard(body), evidence, &person())
    }

    /// A recorded AUTHORIZED about everything so far, to be spoilt.
    pub fn authorized(&self, target: ReceiptRef, rests_on: &[ReceiptRef]) -> Authorization {
        let head = self.story.forge.head();
        Authorization {
            target,
            decision: Release::Authorized,
            at: days(0),
            size: head.size,
            root: head.root,
            reasons: Vec::new(),
            rests_on: rests_on.to_vec(),
        }
    }

    pub fn record(&mut self, body: Authorization) {
        self.say(Body::Authorization(body), &person());
    }
}

/// A log under trust that asks for one sign-off, about a gate run by CI.
fn case(what: &'static str, found: &[C], reasons: &[&'static str], tell: impl FnOnce(&mut Told, ReceiptRef)) -> Case {
    case_under(parts(1), what, found, reasons, tell)
}

fn case_under(
    parts: Parts,
    what: &'static str,
    found: &[C],
    reasons: &[&'static str],
    tell: impl FnOnce(&mut Told, ReceiptRef),
) -> Case {
    let mut told = Told::under(parts);
    let gate = told.gate(&person());
    tell(&mut told, gate);
    Case { what, store: told.story.forge.write(), found: found.to_vec(), reasons: reasons.to_vec() }
}

/// An honest log with every kind of decision. Of the gate run `#4`, a GO that rests on a waiver, the release, then a NO-GO; the
/// GO is withdrawn and the release blocked, under another trust statement.
pub fn whole_story() -> Told {
    let mut told = Told::under(parts(1));
    let all = told.regressed();
    let gate = told.gate(&person());
    let waiver = told.waive(all[2], "comparison-regressed", days(9), &bob());
    let rests_on = [all[0], all[1], all[2], waiver];
    let go = told.go(gate, &rests_on, &ann());
    let released = told.authorized(gate, &[rests_on.as_slice(), &[go]].concat());
    told.record(released);
    told.story.change(|parts| parts.person("Ann").keys[1].status = Standing::Retired);
    told.no_go(gate, &bob());
    told.withdraw(go, &ann());
    let reasons = ["no-go", "signoff-missing"].map(|code| code.parse().unwrap()).to_vec();
    let blocked = Authorization { decision: Release::Blocked, reasons, ..told.authorized(gate, &[]) };
    told.record(blocked);
    told
}

/// The cases that are known here.
pub fn cases() -> Vec<Case> {
    [keys(), unreadable(), signoffs(), waivers(), rules(), authorizations()].into_iter().flatten().collect()
}

fn keys() -> Vec<Case> {
    let mut two = parts(2);
    two.person("Ann").roles = vec![Role::Root, Role::Signoff];
    let (missing, unsound) = ("signoff-missing", "ledger-unsound");
    vec![
        case("nothing wrong", &[], &[], |told, gate| _ = told.go(gate, &[], &ann())),
        case("an untrusted key", &[C::SignatureKeyUnknown, C::KeyNotAllowed], &[unsound, missing], |told, gate| {
            told.go(gate, &[], &eve());
        }),
        case("a trusted key without the role", &[C::KeyNotAllowed], &[unsound, missing], |told, gate| {
            told.go(gate, &[], &person());
        }),
        case("a retired key", &[C::KeyNotAllowed], &[unsound, missing], |told, gate| {
            told.story.change(|parts| parts.person("Ann").keys[1].status = Standing::Retired);
            told.go(gate, &[], &ann_too());
        }),
        case("a retired key, backdated", &[C::KeyNotAllowed, C::TrustReference], &[unsound, missing], |told, gate| {
            let then = told.story.trust;
            told.story.change(|parts| parts.person("Ann").keys[1].status = Standing::Retired);
            told.story.trust = then;
            told.go(gate, &[], &ann_too());
        }),
        case("a key retired after it signed", &[], &[], |told, gate| {
            told.go(gate, &[], &ann_too());
            told.story.change(|parts| parts.person("Ann").keys[1].status = Standing::Retired);
        }),
        case("a key compromised after it signed", &[C::KeyCompromised], &[missing], |told, gate| {
            told.go(gate, &[], &ann_too());
            told.story.change(|parts| parts.person("Ann").keys[1].status = Standing::Compromised);
        }),
        case("a compromised key", &[C::KeyCompromised, C::KeyNotAllowed], &[unsound, missing], |told, gate| {
            told.story.change(|parts| parts.person("Ann").keys[1].status = Standing::Compromised);
            told.go(gate, &[], &ann_too());
        }),
        case("the gate run by a key that was lost", &[C::KeyCompromised], &["signer-compromised"], |told, gate| {
            told.go(gate, &[], &ann());
            told.story.change(|parts| parts.person("tester").keys[0].status = Standing::Compromised);
        }),
        case_under(two, "two keys of one person posing as two", &[], &[missing], |told, gate| {
            told.go(gate, &[], &ann());
            told.go(gate, &[], &ann_too());
        }),
    ]
}

/// Receipts of which nobody can say that they were no NO-GO.
fn unreadable() -> Vec<Case> {
    let unsound = "ledger-unsound";
    vec![
        case("a receipt that cannot be read", &[C::ReceiptMalformed], &[unsound], |told, gate| {
            told.go(gate, &[], &ann());
            told.story.forge.raw(b"{\"no\":\"receipt\"}");
        }),
        case("a receipt of a kind that is not known", &[C::ReceiptMalformed], &[unsound], |told, gate| {
            told.go(gate, &[], &ann());
            told.no_go(gate, &bob());
            let entry = told.story.forge.entries.pop().unwrap();
            let veto = |text: String| text.replace("urn:x-proofmark:signoff:v1", "urn:x-proofmark:veto:v1");
            told.story.forge.raw(&crate::trust::altered(&entry, veto, &bob()));
        }),
        case("a receipt whose signature does not hold", &[C::SignatureBad], &[unsound, "no-go"], |told, gate| {
            told.go(gate, &[], &ann());
            told.no_go(gate, &bob());
            let entry = told.story.forge.entries.pop().unwrap();
            let mut envelope: serde_json::Value = serde_json::from_slice(&entry).unwrap();
            let other: serde_json::Value = serde_json::from_slice(&told.story.forge.entries[2]).unwrap();
            envelope["signatures"][0]["sig"] = other["signatures"][0]["sig"].clone();
            told.story.forge.raw(&serde_json::to_vec(&envelope).unwrap());
        }),
    ]
}

fn signoffs() -> Vec<Case> {
    let missing = "signoff-missing";
    vec![
        case(
            "a sign-off copied from another ledger",
            &[C::TrustReference, C::ReferenceBroken],
            &["ledger-unsound", missing],
            |told, _| {
                let mut other = Told::under(Parts { rules: proofmark::trust::Rules::default(), ..parts(2) });
                let gate = other.gate(&person());
                other.go(gate, &[], &ann());
                let copied = other.story.forge.entries[2].clone();
                told.story.forge.raw(&copied);
            },
        ),
        case("a sign-off copied to a later place", &[C::ReceiptMisplaced], &["ledger-unsound"], |told, gate| {
            told.go(gate, &[], &ann());
            let copied = told.story.forge.entries[2].clone();
            told.story.forge.raw(&copied);
        }),
        case(
            "a sign-off on a receipt that was withdrawn",
            &[C::RestsOnWithdrawn],
            &[missing, "withdrawn"],
            |told, gate| {
                told.withdraw(gate, &person());
                told.go(gate, &[], &ann());
            },
        ),
        case("a sign-off on a receipt that is withdrawn later", &[], &[missing, "withdrawn"], |told, gate| {
            told.go(gate, &[], &ann());
            told.withdraw(gate, &person());
        }),
        case("a GO that had expired when it was made", &[C::SignoffExpired], &[missing], |told, gate| {
            let body = told.signoff(Decision::Go, gate, &[]);
            told.say(Body::Signoff(Signoff { expires: Some(days(0)), ..body }), &ann());
        }),
        case("a GO that expired since", &[], &[missing], |told, gate| {
            let body = told.signoff(Decision::Go, gate, &[]);
            told.say(Body::Signoff(Signoff { expires: Some(days(1)), ..body }), &ann());
        }),
        case("a GO that leaves a round out", &[C::SignoffIncomplete], &[missing], |told, gate| {
            let [base, _, compared] = told.regressed();
            told.go(gate, &[base, compared], &ann());
        }),
        case("a GO that leaves a waiver out", &[C::SignoffIncomplete], &[missing], |told, gate| {
            let all = told.regressed();
            told.waive(all[2], "comparison-regressed", days(9), &bob());
            told.go(gate, &all, &ann());
        }),
        case("a GO on a kind that has none", &[C::DecisionTarget], &["no-go"], |told, gate| {
            let no_go = told.no_go(gate, &bob());
            told.go(gate, &[], &ann());
            told.go(no_go, &[gate], &ann());
        }),
        case("a NO-GO withdrawn by another", &[C::WithdrawalOfNoGo], &["no-go"], |told, gate| {
            let no_go = told.no_go(gate, &bob());
            told.withdraw(no_go, &ann());
            told.go(gate, &[], &ann());
        }),
        case("a NO-GO after a GO", &[], &["no-go", missing], |told, gate| {
            told.go(gate, &[], &ann());
            told.no_go(gate, &ann_too());
        }),
        case("a NO-GO on what a GO rests on", &[], &["no-go"], |told, gate| {
            let base = told.story.round(&[], &person());
            told.no_go(base, &bob());
            told.go(gate, &[base], &ann());
        }),
        case("a NO-GO by a key that was lost since", &[C::KeyCompromised], &["no-go"], |told, gate| {
            told.no_go(gate, &ann_too());
            told.go(gate, &[], &bob());
            told.story.change(|parts| parts.person("Ann").keys[1].status = Standing::Compromised);
        }),
        case("a withdrawal withdrawn", &[C::DecisionTarget], &[missing, "withdrawn"], |told, gate| {
            told.go(gate, &[], &ann());
            let withdrawal = told.withdraw(gate, &person());
            told.withdraw(withdrawal, &person());
        }),
        Case { reasons: vec!["gate-blocked", missing], ..blocked() },
    ]
}

/// A GO on a gate run whose verdict is BLOCKED.
fn blocked() -> Case {
    let mut told = Told::under(parts(1));
    let predictions = include_str!("../../../fixtures/gate/blocked.jsonl");
    let (body, evidence) = told.story.forge.gated_on(predictions);
    let gate = told.story.forge.sign(Some(told.story.trust), Body::Gate(body), evidence, &person());
    told.go(gate, &[], &ann());
    let (found, reasons) = (vec![C::SignoffBlocked], Vec::new());
    Case { what: "a GO on a verdict that is BLOCKED", store: told.story.forge.write(), found, reasons }
}

fn waivers() -> Vec<Case> {
    let regressed = "comparison-regressed";
    vec![
        case("a regression that is waived", &[], &[], |told, gate| {
            let all = told.regressed();
            let waiver = told.waive(all[2], regressed, days(9), &bob());
            told.go(gate, &[all[0], all[1], all[2], waiver], &ann());
        }),
        case("a waiver that expired since", &[], &[regressed], |told, gate| {
            let all = told.regressed();
            let waiver = told.waive(all[2], regressed, days(1), &bob());
            told.go(gate, &[all[0], all[1], all[2], waiver], &ann());
        }),
        case(
            "a waiver that had expired when it was made",
            &[C::WaiverExpired],
            &[regressed, "waiver-faulty"],
            |told, gate| {
                let all = told.regressed();
                let waiver = told.waive(all[2], regressed, days(0), &bob());
                told.go(gate, &[all[0], all[1], all[2], waiver], &ann());
            },
        ),
        case("questions that nobody holds", &[], &["must-pass-unknown"], |told, gate| {
            let all = told.compared_unheld();
            told.go(gate, &all, &ann());
        }),
        case("questions that nobody holds, in no comparison", &[], &["must-pass-unknown"], |told, gate| {
            let round = told.asserted();
            told.go(gate, &[round], &ann());
        }),
        case("a comparison that lets a loss pass", &[], &["comparison-lenient"], |told, gate| {
            let all = told.tolerated(0.5);
            told.go(gate, &all, &ann());
        }),
        case("a comparison that lets a loss pass, waived", &[], &[], |told, gate| {
            let all = told.tolerated(0.5);
            let waiver = told.waive(all[2], "comparison-lenient", days(9), &bob());
            let go = told.go(gate, &[all[0], all[1], all[2], waiver], &ann());
            told.record(told.authorized(gate, &[all[0], all[1], all[2], waiver, go]));
        }),
        case("questions that nobody holds, waived", &[], &[], |told, gate| {
            let all = told.compared_unheld();
            let waiver = told.waive(all[2], "must-pass-unknown", days(9), &bob());
            let go = told.go(gate, &[all[0], all[1], all[2], waiver], &ann());
            told.record(told.authorized(gate, &[all[0], all[1], all[2], waiver, go]));
        }),
        case("a waiver without expiry", &[C::ReceiptMalformed], &["ledger-unsound", regressed], |told, gate| {
            let all = told.regressed();
            told.waive(all[2], regressed, days(9), &bob());
            let entry = told.story.forge.entries.pop().unwrap();
            let without = |text: String| text.replace(&format!("\"expires\":\"{}\",", days(9)), "");
            told.story.forge.raw(&crate::trust::altered(&entry, without, &bob()));
            told.go(gate, &all, &ann());
        }),
        case("a waiver for integrity", &[C::WaiverCheck], &["waiver-faulty"], |told, gate| {
            told.waive(gate, "evidence-damaged", days(9), &bob());
            let waiver = told.story.forge.reference(2);
            told.go(gate, &[waiver], &ann());
        }),
        case("a waiver for a NO-GO, about that", &[C::WaiverCheck], &["no-go"], |told, gate| {
            let no_go = told.no_go(gate, &bob());
            told.waive(no_go, "no-go", days(9), &bob());
            told.go(gate, &[], &ann());
        }),
        case("a waiver without the role", &[C::KeyNotAllowed], &[regressed, "ledger-unsound"], |told, gate| {
            let all = told.regressed();
            let waiver = told.waive(all[2], regressed, days(9), &person());
            told.go(gate, &[all[0], all[1], all[2], waiver], &ann());
        }),
    ]
}

fn rules() -> Vec<Case> {
    let (mut alone, mut recomputed, mut looks, mut texts) = (parts(1), parts(1), parts(1), parts(1));
    texts.rules.names_only_identity = Some(false);
    alone.rules.appender_may_be_only_signoff = Some(false);
    recomputed.rules.recomputed_only = Some(true);
    looks.rules.max_looks = Some(1);
    vec![
        case_under(alone.clone(), "the evaluator as the only approver", &[], &["only-appender"], |told, _| {
            let gate = told.gate(&sam());
            told.go(gate, &[], &sam());
        }),
        case_under(
            alone,
            "the evaluator waives",
            &[C::WaiverOwn],
            &["comparison-regressed", "waiver-faulty"],
            |told, _| {
                let [base, current, _] = told.regressed();
                let card = |index: ReceiptRef| told.story.forge.cards[index.index as usize].clone().unwrap();
                let report = detect_regression(&card(base), &card(current), DEFAULT_TOLERANCE);
                let (tolerance, allow_unknown) = (DEFAULT_TOLERANCE.as_f64(), Vec::new());
                let body = Comparison { base, current, tolerance, report, allow_unknown };
                let compared = told.say(Body::Comparison(body), &sam());
                let waiver = told.waive(compared, "comparison-regressed", days(9), &sam());
                let gate = told.gate(&sam());
                told.go(gate, &[base, current, compared, waiver], &ann());
            },
        ),
        case_under(
            recomputed.clone(),
            "a GO on an asserted card",
            &[C::AssertedCard, C::RestsOnAsserted],
            &["signoff-missing"],
            |told, gate| {
                let card = told.asserted();
                told.go(gate, &[card], &ann());
            },
        ),
        case_under(recomputed, "a GO on an asserted card that is waived", &[C::AssertedCard], &[], |told, gate| {
            let card = told.asserted();
            let [one, other] =
                ["asserted-card", "must-pass-unknown"].map(|check| told.waive(card, check, days(9), &bob()));
            told.go(gate, &[card, one, other], &ann());
        }),
        case_under(
            texts,
            "a GO on questions known by names only",
            &[C::NamesOnly, C::RestsOnNames],
            &["signoff-missing"],
            |told, gate| {
                let round = told.named();
                told.go(gate, &[round], &ann());
            },
        ),
        case("questions known by names only, and the rule since", &[], &["names-only"], |told, gate| {
            let round = told.named();
            told.go(gate, &[round], &ann());
            told.story.change(|parts| parts.rules.names_only_identity = Some(false));
        }),
        case(
            "a waiver for questions known by names only",
            &[C::WaiverCheck],
            &["names-only", "waiver-faulty"],
            |told, gate| {
                let round = told.named();
                let waiver = told.waive(round, "names-only", days(9), &bob());
                told.go(gate, &[round, waiver], &ann());
                told.story.change(|parts| parts.rules.names_only_identity = Some(false));
            },
        ),
        case_under(
            looks,
            "a look too many",
            &[C::LooksExceeded],
            &["comparison-regressed", "gate-looks-exceeded", "looks-exceeded"],
            |told, _| {
                let all = told.regressed();
                let gate = told.gate(&person());
                told.go(gate, &all, &ann());
            },
        ),
    ]
}

fn authorizations() -> Vec<Case> {
    let missing = "signoff-missing";
    let ready = |told: &mut Told, gate| told.go(gate, &[], &ann());
    let mut looks = parts(1);
    looks.rules.max_looks = Some(1);
    vec![
        case("an honest AUTHORIZED", &[], &[], |told, gate| {
            let go = ready(told, gate);
            told.record(told.authorized(gate, &[go]));
        }),
        case("AUTHORIZED without a sign-off", &[C::AuthorizationDiffers], &[missing], |told, gate| {
            told.record(told.authorized(gate, &[]));
        }),
        case("AUTHORIZED over a NO-GO", &[C::AuthorizationDiffers], &["no-go"], |told, gate| {
            let go = ready(told, gate);
            told.no_go(gate, &bob());
            told.record(told.authorized(gate, &[go]));
        }),
        case("AUTHORIZED that left a NO-GO out", &[C::AuthorizationSize], &["no-go"], |told, gate| {
            let go = ready(told, gate);
            let before = told.authorized(gate, &[go]);
            told.no_go(gate, &bob());
            told.record(before);
        }),
        case("AUTHORIZED about another log", &[C::AuthorizationRoot], &[], |told, gate| {
            let go = ready(told, gate);
            let root = proofmark::object::Sha256::of(b"another");
            told.record(Authorization { root, ..told.authorized(gate, &[go]) });
        }),
        case("AUTHORIZED, backdated past an expiry", &[C::AuthorizationBackdated], &[missing], |told, gate| {
            let body = told.signoff(Decision::Go, gate, &[]);
            let go = told.say(Body::Signoff(Signoff { expires: Some(days(1)), ..body }), &ann());
            told.record(Authorization { at: days(-1), ..told.authorized(gate, &[go]) });
        }),
        case("AUTHORIZED, recorded after an expiry", &[C::AuthorizationBackdated], &[missing], |told, gate| {
            let body = told.signoff(Decision::Go, gate, &[]);
            let go = told.say(Body::Signoff(Signoff { expires: Some(days(1)), ..body }), &ann());
            told.record(told.authorized(gate, &[go]));
            let entry = told.story.forge.entries.pop().unwrap();
            let (then, since) = (days(0), days(2));
            let dated = |text: String| {
                text.replace(&format!("\"recordedAt\":\"{then}\""), &format!("\"recordedAt\":\"{since}\""))
            };
            told.story.forge.raw(&crate::trust::altered(&entry, dated, &person()));
        }),
        case(
            "AUTHORIZED over questions known by names only",
            &[C::AuthorizationDiffers],
            &["names-only"],
            |told, gate| {
                let round = told.named();
                let go = told.go(gate, &[round], &ann());
                told.story.change(|parts| parts.rules.names_only_identity = Some(false));
                told.record(told.authorized(gate, &[round, go]));
            },
        ),
        case("AUTHORIZED on what a round is", &[C::DecisionTarget], &[missing], |told, _| {
            let round = told.story.round(&[], &person());
            told.record(told.authorized(round, &[]));
        }),
        case("AUTHORIZED by whom nobody asked", &[C::KeyNotAllowed], &["ledger-unsound"], |told, gate| {
            let go = ready(told, gate);
            let body = told.authorized(gate, &[go]);
            told.say(Body::Authorization(body), &bob());
        }),
        case(
            "AUTHORIZED over a question that must pass",
            &[C::AuthorizationUnproven],
            &["must-pass-failing"],
            |told, gate| {
                let [base, current] = [(); 2].map(|()| told.failing_what_must_pass());
                let card = |index: ReceiptRef| told.story.forge.cards[index.index as usize].clone().unwrap();
                let report = detect_regression(&card(base), &card(current), DEFAULT_TOLERANCE);
                let body = Comparison {
                    base,
                    current,
                    tolerance: DEFAULT_TOLERANCE.as_f64(),
                    report,
                    allow_unknown: Vec::new(),
                };
                let compared = told.say(Body::Comparison(body), &person());
                let go = told.go(gate, &[base, current, compared], &ann());
                told.record(told.authorized(gate, &[base, current, compared, go]));
            },
        ),
        case(
            "AUTHORIZED over what must pass, incomparable and waived",
            &[C::AuthorizationUnproven],
            &["must-pass-failing"],
            |told, gate| {
                let body = Body::Scorecard(told.other_questions());
                let base = told.say(body, &person());
                let current = told.failing_what_must_pass();
                let card = |index: ReceiptRef| told.story.forge.cards[index.index as usize].clone().unwrap();
                let report = detect_regression(&card(base), &card(current), DEFAULT_TOLERANCE);
                let body = Comparison {
                    base,
                    current,
                    tolerance: DEFAULT_TOLERANCE.as_f64(),
                    report,
                    allow_unknown: Vec::new(),
                };
                let compared = told.say(Body::Comparison(body), &person());
                let waiver = told.waive(compared, "comparison-incomparable", days(9), &bob());
                let go = told.go(gate, &[base, current, compared, waiver], &ann());
                told.record(told.authorized(gate, &[base, current, compared, waiver, go]));
            },
        ),
        case(
            "AUTHORIZED over questions that nobody holds",
            &[C::AuthorizationDiffers],
            &["must-pass-unknown"],
            |told, gate| {
                let all = told.compared_unheld();
                let go = told.go(gate, &all, &ann());
                told.record(told.authorized(gate, &[all[0], all[1], all[2], go]));
            },
        ),
        case(
            "AUTHORIZED over a round by itself in which what must pass fails",
            &[C::AuthorizationUnproven],
            &["must-pass-failing"],
            |told, gate| {
                let round = told.failing_what_must_pass();
                let go = told.go(gate, &[round], &ann());
                told.record(told.authorized(gate, &[round, go]));
            },
        ),
        case_under(
            looks,
            "AUTHORIZED at a look too many",
            &[C::AuthorizationUnproven],
            &["gate-looks-exceeded"],
            |told, _| {
                let gate = told.gate(&person());
                let go = told.go(gate, &[], &ann());
                told.record(told.authorized(gate, &[go]));
            },
        ),
        unproven("predictions that are lost", C::EvidenceMissing, &["evidence-missing", "not-replayed"], |told| {
            let lost = told.story.forge.evidence("x", include_str!("../../../fixtures/gate/go.jsonl")).blake3;
            told.story.forge.objects = told.story.forge.objects_without(lost).into();
        }),
    ]
}

/// A recorded AUTHORIZED on a gate run whose evidence is spoilt afterwards.
fn unproven(what: &'static str, code: C, reasons: &[&'static str], spoil: impl FnOnce(&mut Told)) -> Case {
    let mut told = Told::under(parts(1));
    let gate = told.gate(&person());
    let go = told.go(gate, &[], &ann());
    told.record(told.authorized(gate, &[go]));
    spoil(&mut told);
    let (found, reasons) = (vec![code, C::AuthorizationUnproven], reasons.to_vec());
    Case { what, store: told.story.forge.write(), found, reasons }
}
