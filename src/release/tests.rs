//! Decisions of four persons about one gate run, each case by itself.

mod checks;

use std::collections::BTreeSet;

use super::*;
use crate::gate::{ProfileName, Verdict};
use crate::merkle::VerifierKey;
use crate::object::{ObjectId, Sha256};
use crate::receipt::{
    Authorization, Basis, Body, CandidateCounts, Comparison, Decision, Evidence, GateBody, Kind, Moment, Predicate,
    Receipt, ReceiptRef, Release, ScorecardBody, Signoff, Statement, Subject, Tool, Waiver, Withdrawal,
};
use crate::scorecard::{Fact, RegressionReport, Scorecard};
use crate::trust::{self, KeyRecord, Person, Role, Rules, SecretKey, Signer as _, Standing as KeyStanding, Thresholds};

const CI: u8 = 1;
const ANN: u8 = 2;
const BOB: u8 = 3;
const EVE: u8 = 4;
/// Ann's other key.
const ANN_TOO: u8 = 12;

const DAY: i64 = 86_400;

fn key(seed: u8) -> SecretKey {
    SecretKey::generate([seed; 32])
}

fn moment(day: i64) -> Moment {
    Moment::from_unix(1_800_000_000 + day * DAY).unwrap()
}

/// Trust as a test wants it.
#[derive(Clone)]
struct Trusted {
    signoffs: u32,
    rules: Rules,
    compromised: Vec<u8>,
}

impl Default for Trusted {
    fn default() -> Self {
        Self { signoffs: 1, rules: Rules::default(), compromised: Vec::new() }
    }
}

impl Trusted {
    fn statement(&self) -> trust::Statement {
        let record = |seed: u8| KeyRecord {
            key: *key(seed).public(),
            status: if self.compromised.contains(&seed) { KeyStanding::Compromised } else { KeyStanding::Active },
        };
        let person = |name: &str, keys: &[u8], roles: &[Role]| Person {
            name: name.to_owned(),
            keys: keys.iter().map(|seed| record(*seed)).collect(),
            roles: roles.to_vec(),
        };
        let persons = vec![
            person("Ann", &[ANN, ANN_TOO], &[Role::Root, Role::Signoff]),
            person("Bob", &[BOB], &[Role::Append, Role::Signoff]),
            person("CI", &[CI], &[Role::Append]),
            person("Zoe", &[20], &[Role::Signoff]),
        ];
        let log = VerifierKey::new("test/log", *key(99).public().raw()).unwrap();
        let log = trust::LogKey { origin: "test/log".to_owned(), key: log.to_string() };
        let thresholds = Thresholds { root: 1, signoff: self.signoffs, witness: None };
        trust::Statement::new(1, log, persons, thresholds, self.rules).unwrap()
    }
}

/// A log as it grows.
struct World {
    trust: trust::Statement,
    decisions: Decisions,
    next: u64,
    /// Whether rounds from now on have their questions in the ledger.
    held: bool,
}

fn questions(held: bool) -> Evidence {
    Evidence {
        role: "questions".parse().unwrap(),
        blake3: ObjectId::of(b"q"),
        sha256: Sha256::of(b"q"),
        size: 1,
        media_type: "application/jsonl".to_owned(),
        held,
    }
}

impl World {
    fn new(trusted: &Trusted) -> Self {
        let mut world = Self { trust: trusted.statement(), decisions: Decisions::default(), next: 0, held: true };
        world.say(ANN, 0, Body::Trust(trusted.statement()));
        world
    }

    fn predicate(&self, day: i64, body: Body) -> Predicate {
        let tool = Tool { name: "test".to_owned(), version: "1".to_owned() };
        let (index, recorded_at) = (self.next, moment(day));
        let evidence = if matches!(body, Body::Scorecard(_)) { vec![questions(self.held)] } else { Vec::new() };
        Predicate { index, recorded_at, tool, trust: None, evidence, note: None, body }
    }

    fn say(&mut self, signer: u8, day: i64, body: Body) -> ReceiptRef {
        let subject = vec![Subject::new("system".parse().unwrap(), Sha256::of(b"system"))];
        let statement = Statement { subject, predicate: self.predicate(day, body) };
        let receipt = Receipt::sign(statement, &key(signer)).unwrap();
        self.decisions.take(self.next, &receipt, &self.trust);
        self.next += 1;
        ReceiptRef { index: self.next - 1, receipt: receipt.id() }
    }

    /// The codes of what the rules say against it, were it said next.
    fn objections(&self, signer: u8, day: i64, body: Body) -> Vec<ObjectionCode> {
        let predicate = self.predicate(day, body);
        let found = self.decisions.objections(self.next, &predicate, &key(signer).public().fingerprint(), &self.trust);
        found.into_iter().map(|objection| objection.code).collect()
    }

    fn gate(&mut self, signer: u8, go: bool) -> ReceiptRef {
        self.say(signer, 0, Body::Gate(gate(go)))
    }

    fn round(&mut self, basis: Basis) -> ReceiptRef {
        let body = ScorecardBody {
            line: "main".parse().unwrap(),
            basis,
            card: Scorecard::new(0.5, 1.0, 0.5, 10, "a".repeat(64)).unwrap(),
            scorer: "substring/v2".parse().unwrap(),
            sealed: false,
            unknown: Vec::new(),
        };
        self.say(CI, 0, Body::Scorecard(body))
    }

    fn comparison(&mut self, base: ReceiptRef, current: ReceiptRef, report: RegressionReport) -> ReceiptRef {
        self.say(
            CI,
            0,
            Body::Comparison(Comparison { base, current, tolerance: 0.0, report, allow_unknown: Vec::new() }),
        )
    }

    fn signoff(&self, target: ReceiptRef, decision: Decision, with: &[ReceiptRef]) -> Signoff {
        let rests_on = self.decisions.complete(target, with);
        Signoff { target, decision, reason: "read it".parse().unwrap(), expires: None, rests_on }
    }

    fn go(&mut self, signer: u8, target: ReceiptRef, with: &[ReceiptRef]) -> ReceiptRef {
        let body = self.signoff(target, Decision::Go, with);
        self.say(signer, 1, Body::Signoff(body))
    }

    fn no_go(&mut self, signer: u8, target: ReceiptRef) -> ReceiptRef {
        let body = self.signoff(target, Decision::NoGo, &[]);
        self.say(signer, 1, Body::Signoff(body))
    }

    fn withdraw(&mut self, signer: u8, target: ReceiptRef) -> ReceiptRef {
        self.say(signer, 1, Body::Withdrawal(Withdrawal { target, reason: "wrong".parse().unwrap() }))
    }

    fn waive(&mut self, signer: u8, target: ReceiptRef, check: Code, until: i64) -> ReceiptRef {
        self.say(signer, 1, Body::Waiver(waiver(target, check.as_str(), until)))
    }

    fn judged(&self, target: ReceiptRef, day: i64) -> Vec<&'static str> {
        self.judged_under(&self.trust, target, day)
    }

    fn judged_under(&self, now: &trust::Statement, target: ReceiptRef, day: i64) -> Vec<&'static str> {
        let judged = judge(&self.decisions, now, target, moment(day));
        let complete =
            |reason: &Reason| [&reason.found, &reason.rule, &reason.remedy].iter().all(|text| !text.is_empty());
        assert!(judged.reasons.iter().all(complete), "{:?}", judged.reasons);
        let mut codes: Vec<_> = judged.reasons.into_iter().map(|reason| reason.code).collect();
        codes.sort_unstable();
        codes
    }
}

fn gate(go: bool) -> GateBody {
    GateBody {
        verdict: if go { Verdict::Go } else { Verdict::Blocked },
        recommended: go.then(|| "model".to_owned()),
        min_coverage: 0.5,
        profile: ProfileName { name: "p".to_owned(), blake3: ObjectId::of(b"p") },
        candidates: CandidateCounts { total: 1, passed: u64::from(go) },
    }
}

fn waiver(target: ReceiptRef, check: &str, until: i64) -> Waiver {
    Waiver { target, check: check.parse().unwrap(), reason: "known".parse().unwrap(), expires: moment(until) }
}

fn regressed() -> RegressionReport {
    RegressionReport { regressed: true, comparable: true, reasons: vec!["quality fell".to_owned()] }
}

fn clean() -> RegressionReport {
    RegressionReport { regressed: false, comparable: true, reasons: Vec::new() }
}

const NONE: [&str; 0] = [];

#[test]
fn a_go_on_a_gate_that_says_go_authorizes_and_nothing_less_does() {
    let mut world = World::new(&Trusted::default());
    let gate = world.gate(CI, true);
    assert_eq!(world.judged(gate, 1), ["signoff-missing"]);
    let go = world.go(ANN, gate, &[]);
    assert_eq!(world.judged(gate, 1), NONE);
    assert_eq!(judge(&world.decisions, &world.trust, gate, moment(1)).rests_on, [go]);
    let blocked = world.gate(CI, false);
    world.go(ANN, blocked, &[]);
    assert_eq!(world.judged(blocked, 1), ["gate-blocked", "signoff-missing"]);
    let elsewhere = ReceiptRef { index: gate.index, ..go };
    assert_eq!(world.judged(elsewhere, 1), ["gate-blocked"], "a receipt that is not there");
    let nowhere = ReceiptRef { index: 77, ..go };
    assert_eq!(world.judged(nowhere, 1), ["gate-blocked", "signoff-missing"]);
}

#[test]
fn only_persons_with_the_role_count_and_each_once() {
    let mut world = World::new(&Trusted { signoffs: 2, ..Trusted::default() });
    let gate = world.gate(CI, true);
    for signer in [ANN, ANN_TOO, CI, EVE] {
        world.go(signer, gate, &[]);
    }
    assert_eq!(world.judged(gate, 1), ["signoff-missing"], "two keys of one person, one without the role, a stranger");
    world.go(BOB, gate, &[]);
    assert_eq!(world.judged(gate, 1), NONE);
}

#[test]
fn one_no_go_blocks_until_its_person_takes_it_back() {
    let mut world = World::new(&Trusted::default());
    let gate = world.gate(CI, true);
    let no_go = world.no_go(BOB, gate);
    world.go(ANN, gate, &[]);
    assert_eq!(world.judged(gate, 1), ["no-go"]);
    assert_eq!(world.objections(ANN, 1, withdrawal(no_go)), [ObjectionCode::WithdrawalOfNoGo]);
    world.withdraw(ANN, no_go);
    assert_eq!(world.judged(gate, 1), ["no-go"], "only who said it can take it back");
    world.withdraw(BOB, no_go);
    assert_eq!(world.judged(gate, 1), NONE);
    world.no_go(ANN, gate);
    assert_eq!(world.judged(gate, 1), ["no-go", "signoff-missing"], "a later NO-GO beats a GO");
    world.go(ANN_TOO, gate, &[]);
    assert_eq!(world.judged(gate, 1), NONE, "and a later GO of the same person, by whatever key, takes it back");
}

#[test]
fn a_no_go_on_what_a_release_rests_on_blocks_it_and_nothing_else() {
    let mut world = World::new(&Trusted::default());
    let (base, current) = (world.round(Basis::Recomputed), world.round(Basis::Recomputed));
    let compared = world.comparison(base, current, clean());
    let gate = world.gate(CI, true);
    let no_go = world.no_go(BOB, base);
    world.go(ANN, gate, &[]);
    assert_eq!(world.judged(gate, 1), NONE, "nothing here rests on it");
    world.go(ANN, gate, &[compared]);
    assert_eq!(world.judged(gate, 1), ["no-go"]);
    let found = judge(&world.decisions, &world.trust, gate, moment(1));
    let reason = found.reasons.first().unwrap();
    assert_eq!(reason.index, Some(no_go.index));
    assert!(
        reason.found.contains(&format!("NO-GO to #{}, on which the release rests,", base.index)),
        "{}",
        reason.found
    );
    world.go(ANN, base, &[]);
    assert_eq!(world.judged(gate, 1), ["no-go"], "another's GO does not take it back");
    world.go(BOB, base, &[]);
    assert_eq!(world.judged(gate, 1), NONE);
}

#[test]
fn a_waiver_that_no_command_makes_blocks_until_it_is_withdrawn() {
    let mut world = World::new(&Trusted::default());
    let gate = world.gate(CI, true);
    let forged = world.say(BOB, 0, Body::Waiver(waiver(gate, "evidence-damaged", 9)));
    world.go(ANN, gate, &[]);
    assert_eq!(world.judged(gate, 1), ["waiver-faulty"]);
    world.withdraw(ANN, forged);
    assert_eq!(world.judged(gate, 1), ["signoff-missing"], "the GO lists what was withdrawn");
    world.go(ANN, gate, &[]);
    assert_eq!(world.judged(gate, 1), NONE);
}

#[test]
fn a_no_go_counts_whatever_became_of_its_key_and_what_speaks_for_a_release_does_not() {
    let mut world = World::new(&Trusted::default());
    let gate = world.gate(CI, true);
    world.no_go(ANN, gate);
    world.go(BOB, gate, &[]);
    let lost = Trusted { compromised: vec![ANN], ..Trusted::default() }.statement();
    assert_eq!(world.judged_under(&lost, gate, 1), ["no-go"]);
    // Whoever has the key now cannot take it back: neither with a GO nor with a withdrawal.
    world.go(ANN, gate, &[]);
    assert_eq!(world.judged_under(&lost, gate, 1), ["no-go"]);
    let no_go = world.no_go(ANN_TOO, gate);
    world.withdraw(ANN, no_go);
    assert_eq!(world.judged_under(&lost, gate, 1), ["no-go"]);
    world.go(ANN_TOO, gate, &[]);
    assert_eq!(world.judged_under(&lost, gate, 1), NONE);
    let all = Trusted { compromised: vec![ANN, BOB, CI], ..Trusted::default() }.statement();
    assert_eq!(world.judged_under(&all, gate, 1), ["signer-compromised"], "the gate run itself is by a lost key");
}

fn withdrawal(target: ReceiptRef) -> Body {
    Body::Withdrawal(Withdrawal { target, reason: "wrong".parse().unwrap() })
}

#[test]
fn a_persons_latest_sign_off_is_the_one_that_counts() {
    let mut world = World::new(&Trusted::default());
    let gate = world.gate(CI, true);
    world.go(ANN, gate, &[]);
    let second = world.go(ANN, gate, &[]);
    world.withdraw(CI, second);
    assert_eq!(world.judged(gate, 1), ["signoff-missing"], "the first does not come back");
    let no_go = world.no_go(ANN, gate);
    world.go(ANN, gate, &[]);
    let third = world.no_go(ANN, gate);
    world.withdraw(ANN, third);
    let found = judge(&world.decisions, &world.trust, gate, moment(1));
    assert_eq!(found.standing.voices[0].no_go, Some(no_go.index), "the GO between is not the latest");
    assert_eq!(world.judged(gate, 1), ["no-go", "signoff-missing"]);
}

#[test]
fn what_was_withdrawn_carries_nothing() {
    let mut world = World::new(&Trusted::default());
    let (base, current) = (world.round(Basis::Recomputed), world.round(Basis::Recomputed));
    let compared = world.comparison(base, current, clean());
    let gate = world.gate(CI, true);
    world.go(ANN, gate, &[compared]);
    assert_eq!(world.judged(gate, 1), NONE);
    world.withdraw(CI, base);
    assert_eq!(world.judged(gate, 1), ["signoff-missing"], "a round behind the comparison was withdrawn");
    let go = world.signoff(gate, Decision::Go, &[compared]);
    assert_eq!(world.objections(ANN, 1, Body::Signoff(go.clone())), [ObjectionCode::RestsOnWithdrawn]);
    world.say(ANN, 1, Body::Signoff(go));
    assert_eq!(world.judged(gate, 1), ["signoff-missing"]);
    world.go(ANN, gate, &[]);
    assert_eq!(world.judged(gate, 1), NONE);
    world.withdraw(ANN, gate);
    assert_eq!(world.judged(gate, 1), ["signoff-missing", "withdrawn"]);
}

#[test]
fn a_sign_off_lists_everything_that_it_rests_on() {
    let mut world = World::new(&Trusted::default());
    let (base, current) = (world.round(Basis::Recomputed), world.round(Basis::Recomputed));
    let compared = world.comparison(base, current, regressed());
    let waived = world.waive(ANN, compared, Code::ComparisonRegressed, 9);
    let gate = world.gate(CI, true);
    let whole = world.signoff(gate, Decision::Go, &[compared]);
    assert_eq!(whole.rests_on, [base, current, compared, waived]);
    assert_eq!(world.objections(ANN, 1, Body::Signoff(whole.clone())), []);
    for left_out in &whole.rests_on {
        let rests_on: Vec<_> = whole.rests_on.iter().copied().filter(|one| one != left_out).collect();
        let part = Body::Signoff(Signoff { rests_on, ..whole.clone() });
        // The comparison itself may be left out only together with its waiver, which names it.
        assert_eq!(world.objections(ANN, 1, part.clone()), [ObjectionCode::SignoffIncomplete], "{left_out:?}");
        world.say(ANN, 1, part);
        assert_eq!(world.judged(gate, 1), ["signoff-missing"]);
    }
    let go = world.go(ANN, gate, &[]);
    let odd = Signoff { rests_on: vec![go], ..world.signoff(gate, Decision::Go, &[]) };
    assert_eq!(world.objections(ANN, 1, Body::Signoff(odd)), [ObjectionCode::SignoffIncomplete], "rests on a sign-off");
}

#[test]
fn a_go_expires_by_its_own_word_and_by_the_rule() {
    let rules = Rules { signoff_max_age_days: Some(30), ..Rules::default() };
    let mut world = World::new(&Trusted { rules, ..Trusted::default() });
    let gate = world.gate(CI, true);
    let own = Signoff { expires: Some(moment(10)), ..world.signoff(gate, Decision::Go, &[]) };
    world.say(ANN, 1, Body::Signoff(own));
    assert_eq!(world.judged(gate, 9), NONE);
    assert_eq!(world.judged(gate, 10), ["signoff-missing"]);
    assert_eq!(world.judged(gate, 0), ["signoff-missing"], "before it was made");
    world.go(ANN, gate, &[]);
    assert_eq!(world.judged(gate, 30), NONE);
    assert_eq!(world.judged(gate, 31), ["signoff-missing"]);
    let dead = Signoff { expires: Some(moment(1)), ..world.signoff(gate, Decision::Go, &[]) };
    assert_eq!(world.objections(ANN, 1, Body::Signoff(dead)), [ObjectionCode::SignoffExpired]);
}

#[test]
fn a_waiver_counts_only_where_every_go_knows_it() {
    let mut world = World::new(&Trusted { signoffs: 2, ..Trusted::default() });
    let (base, current) = (world.round(Basis::Recomputed), world.round(Basis::Recomputed));
    let compared = world.comparison(base, current, regressed());
    let gate = world.gate(CI, true);
    world.go(BOB, gate, &[compared]);
    world.waive(ANN, compared, Code::ComparisonRegressed, 9);
    world.go(ANN, gate, &[compared]);
    assert_eq!(world.judged(gate, 1), ["comparison-regressed"], "Bob did not know it");
    world.go(BOB, gate, &[compared]);
    assert_eq!(world.judged(gate, 1), NONE);
    assert_eq!(world.judged(gate, 9), ["comparison-regressed"], "expired");
    let lost = Trusted { signoffs: 2, compromised: vec![ANN], ..Trusted::default() }.statement();
    assert_eq!(world.judged_under(&lost, gate, 1), ["comparison-regressed", "signoff-missing"]);
}

#[test]
fn waivers_are_for_a_closed_list_of_checks_and_for_persons_with_the_role() {
    let mut world = World::new(&Trusted::default());
    let (base, current) = (world.round(Basis::Asserted), world.round(Basis::Recomputed));
    let compared = world.comparison(base, current, regressed());
    let gate = world.gate(CI, true);
    let against = |world: &World, target, check: &str| world.objections(ANN, 1, Body::Waiver(waiver(target, check, 9)));
    for check in Code::ALL {
        let may = [ObjectionCode::WaiverCheck; 1];
        let on = |target| if against(&world, target, check.as_str()).is_empty() { 1 } else { 0 };
        assert_eq!(against(&world, gate, check.as_str()), may, "{check}: nothing about a gate is waived");
        assert_eq!(on(base) + on(compared) > 0, WAIVABLE.contains(check), "{check}");
    }
    for check in ["signature-bad", "evidence-missing", "gate-differs", "signoff-missing", "withdrawn", "anything"] {
        assert_eq!(against(&world, compared, check), [ObjectionCode::WaiverCheck], "{check}");
    }
    let expired = Body::Waiver(waiver(compared, "comparison-regressed", 1));
    assert_eq!(world.objections(ANN, 1, expired), [ObjectionCode::WaiverExpired]);
    world.waive(CI, compared, Code::ComparisonRegressed, 9);
    world.go(ANN, gate, &[compared]);
    assert_eq!(world.judged(gate, 1), ["comparison-regressed"], "CI may not waive");
    let waived = world.waive(BOB, compared, Code::ComparisonRegressed, 9);
    world.go(ANN, gate, &[compared]);
    assert_eq!(world.judged(gate, 1), NONE);
    let found = judge(&world.decisions, &world.trust, gate, moment(1));
    assert_eq!(found.waivers.len(), 2, "both are shown");
    world.withdraw(CI, waived);
    assert_eq!(world.judged(gate, 1), ["signoff-missing"]);
    assert_eq!(world.objections(ANN, 1, withdrawal(waived)), [], "a second one says nothing new, and nothing wrong");
}

#[test]
fn the_evaluator_is_not_the_only_approver_where_the_rule_says_so() {
    let rules = Rules { appender_may_be_only_signoff: Some(false), ..Rules::default() };
    let trusted = Trusted { rules, ..Trusted::default() };
    let mut world = World::new(&trusted);
    let gate = world.gate(BOB, true);
    world.go(BOB, gate, &[]);
    assert_eq!(world.judged(gate, 1), ["only-appender"]);
    assert_eq!(world.judged_under(&Trusted::default().statement(), gate, 1), NONE, "without the rule");
    world.go(ANN, gate, &[]);
    assert_eq!(world.judged(gate, 1), NONE);
    // A comparison that Bob appended makes him an evaluator too, and he may not waive about it.
    let (base, current) = (world.round(Basis::Recomputed), world.round(Basis::Recomputed));
    let body = Comparison { base, current, tolerance: 0.0, report: regressed(), allow_unknown: Vec::new() };
    let compared = world.say(BOB, 0, Body::Comparison(body));
    let own = Body::Waiver(waiver(compared, "comparison-regressed", 9));
    assert_eq!(world.objections(BOB, 1, own.clone()), [ObjectionCode::WaiverOwn]);
    world.say(BOB, 1, own);
    let other = world.gate(CI, true);
    world.go(BOB, other, &[compared]);
    assert_eq!(world.judged(other, 1), ["comparison-regressed", "only-appender", "waiver-faulty"]);
}

#[test]
fn decisions_are_about_the_kinds_that_they_can_be_about() {
    let mut world = World::new(&Trusted::default());
    let round = world.round(Basis::Recomputed);
    let gate = world.gate(CI, true);
    let go = world.go(ANN, gate, &[]);
    let gone = world.withdraw(ANN, round);
    let wrong = [ObjectionCode::DecisionTarget];
    let signoff = |target| Body::Signoff(world.signoff(target, Decision::NoGo, &[]));
    assert_eq!(world.objections(ANN, 1, signoff(go))[..1], wrong);
    assert_eq!(world.objections(ANN, 1, signoff(gone))[..1], wrong);
    assert_eq!(world.objections(ANN, 1, withdrawal(gone)), wrong, "a withdrawal stands for ever");
    let genesis = world.decisions.reference(0).unwrap();
    assert_eq!(world.objections(ANN, 1, withdrawal(genesis)), [ObjectionCode::OfTrust]);
    assert!(!may_be(Kind::Waiver, Kind::Gate) && may_be(Kind::Signoff, Kind::Trust));
    let of_trust = world.say(ANN, 1, signoff(genesis));
    assert_eq!(world.objections(ANN, 1, withdrawal(of_trust)), [ObjectionCode::OfTrust]);
    let nothing = Signoff { target: ReceiptRef { index: 1, ..gate }, ..world.signoff(gate, Decision::Go, &[]) };
    assert_eq!(world.objections(ANN, 1, Body::Signoff(nothing)), [ObjectionCode::NotThere]);
}

#[test]
fn a_recorded_decision_is_made_again() {
    let mut world = World::new(&Trusted::default());
    let gate = world.gate(CI, true);
    let go = world.go(ANN, gate, &[]);
    let honest = Authorization {
        target: gate,
        decision: Release::Authorized,
        at: moment(1),
        size: world.next,
        root: Sha256::of(b""),
        reasons: Vec::new(),
        rests_on: vec![go],
    };
    let against = |world: &World, body: &Authorization| world.objections(CI, 1, Body::Authorization(body.clone()));
    assert_eq!(against(&world, &honest), []);
    let blocked = |codes: &[&str]| Authorization {
        decision: Release::Blocked,
        reasons: codes.iter().map(|code| code.parse().unwrap()).collect(),
        ..honest.clone()
    };
    assert_eq!(
        against(&world, &blocked(&["evidence-missing"])),
        [],
        "what files said then is believed where it blocks"
    );
    let differs = [ObjectionCode::AuthorizationDiffers];
    assert_eq!(against(&world, &blocked(&["no-go"])), differs);
    assert_eq!(against(&world, &Authorization { rests_on: Vec::new(), ..honest.clone() }), differs);
    let (early, short) =
        (Authorization { at: moment(0), ..honest.clone() }, Authorization { size: 2, ..honest.clone() });
    assert_eq!(against(&world, &early), [ObjectionCode::AuthorizationBackdated]);
    assert_eq!(against(&world, &short), [ObjectionCode::AuthorizationSize]);
    let later = world.objections(CI, 2, Body::Authorization(honest.clone()));
    assert_eq!(later, [ObjectionCode::AuthorizationBackdated], "recorded after the moment that it was held against");
    world.no_go(BOB, gate);
    let now = Authorization { size: world.next, ..honest };
    assert_eq!(against(&world, &now), differs, "AUTHORIZED over a NO-GO");
}

#[test]
fn codes_are_unique_and_those_that_can_be_waived_follow_from_the_log() {
    let mut codes: Vec<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), Code::ALL.len());
    assert!(WAIVABLE.iter().all(|code| code.follows_from_log()));
    let on: BTreeSet<_> = Kind::ALL.iter().flat_map(|kind| waivable_on(*kind)).collect();
    assert_eq!(on, WAIVABLE.iter().collect());
}
