//! Decisions: wild logs of sign-offs, waivers, withdrawals, recorded releases and changed trust by whoever, honest ones made
//! by the program itself, and what was done to them.

use proofmark::ledger::TrustChain;
use proofmark::object::Sha256;
use proofmark::receipt::{
    Authorization, Basis, Body, Decision, Evidence, Moment, Predicate, Receipt, ReceiptRef, Release, ScorecardBody,
    Signoff, Statement, Waiver, Withdrawal, sorted_evidence,
};
use proofmark::release::{Decisions, judge};
use proofmark::scorecard::{Fact, Unknown};
use proofmark::trust::{Rules, SecretKey, Standing};

use super::super::tools::{Tool, ready};
use super::records::Dice;
use super::{Bench, damage, files_of};
use crate::cli::office::Office;
use crate::forge::Forge;
use crate::forger::{Told, days, parts};
use crate::keys::person;
use crate::trust::{Parts, ann, ann_too, because, bob, eve, sam};

/// A log as it grows, with what the library makes of it, so that what is said next can be right.
struct Wild {
    forge: Forge,
    chain: TrustChain,
    decisions: Decisions,
    dice: Dice,
}

impl Wild {
    fn new(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let mut parts = parts(1 + dice.roll(2) as u32);
        parts.thresholds.root = 1;
        parts.rules = rules(&mut dice);
        let forge = Told::under(parts).story.forge;
        let first = Receipt::parse(&forge.entries[0]).unwrap();
        let chain = TrustChain::begin(&first).unwrap();
        let mut decisions = Decisions::default();
        decisions.take(0, &first, chain.in_force().0);
        Self { forge, chain, decisions, dice }
    }

    fn any(&mut self) -> ReceiptRef {
        let index = self.dice.roll(self.forge.entries.len());
        self.forge.reference(index)
    }

    fn any_of(&mut self, kinds: &[&str]) -> Option<ReceiptRef> {
        let of_kind = |receipt: &ReceiptRef| {
            self.decisions.noted(*receipt).is_some_and(|noted| kinds.contains(&noted.kind().as_str()))
        };
        let found: Vec<_> =
            (0..self.forge.entries.len()).map(|index| self.forge.reference(index)).filter(of_kind).collect();
        (!found.is_empty()).then(|| found[self.dice.roll(found.len())])
    }

    fn say(&mut self, body: Body, evidence: Vec<Evidence>, signer: &SecretKey) {
        let index = self.forge.entries.len() as u64;
        let trust = Some(if self.dice.roll(40) == 0 { self.any() } else { self.chain.in_force().1 });
        let like = Receipt::parse(&self.forge.entries[0]).unwrap().statement().clone();
        let recorded_at = days((index / 3) as i64 - i64::from(self.dice.roll(6) == 0));
        let evidence = sorted_evidence(evidence).unwrap();
        let about = if self.dice.roll(40) == 0 { like.subject } else { self.forge.subject(&body) };
        let predicate = Predicate { index, recorded_at, trust, evidence, body, ..like.predicate };
        // What is no receipt cannot be said.
        let Ok(receipt) = Receipt::sign(Statement { subject: about, predicate }, signer) else { return };
        let card = match &receipt.statement().predicate.body {
            Body::Scorecard(body) => Some(body.card.clone()),
            _ => None,
        };
        self.forge.raw(receipt.bytes());
        *self.forge.cards.last_mut().unwrap() = card;
        self.chain.take(index, &receipt);
        self.decisions.take(index, &receipt, self.chain.in_force_at(index).0);
    }

    /// Everything that a decision on `target` rests on if it rests on some of what is there, now and then not quite.
    fn rests_on(&mut self, target: ReceiptRef) -> Vec<ReceiptRef> {
        let kinds = ["scorecard", "comparison", "baseline", "waiver"];
        let with: Vec<_> = (0..self.dice.roll(3)).filter_map(|_| self.any_of(&kinds)).collect();
        let mut rests_on = self.decisions.complete(target, &with);
        match self.dice.roll(8) {
            0 => rests_on.push(self.any()),
            1 if !rests_on.is_empty() => drop(rests_on.remove(self.dice.roll(rests_on.len()))),
            _ => {}
        }
        rests_on.retain(|one| one.index != target.index);
        rests_on.sort_by_key(|one| one.index);
        rests_on.dedup_by_key(|one| one.index);
        rests_on
    }

    fn moment(&mut self) -> Moment {
        days(self.forge.entries.len() as i64 / 3 + self.dice.roll(9) as i64 - 1)
    }

    fn signoff(&mut self) -> Option<Body> {
        let target = if self.dice.roll(6) == 0 { self.any() } else { self.any_of(&["gate"])? };
        let decision = if self.dice.roll(4) == 0 { Decision::NoGo } else { Decision::Go };
        let expires = (decision == Decision::Go && self.dice.roll(3) == 0).then(|| self.moment());
        let rests_on = self.rests_on(target);
        Some(Body::Signoff(Signoff { target, decision, reason: because(), expires, rests_on }))
    }

    fn waiver(&mut self) -> Option<Body> {
        let target = if self.dice.roll(6) == 0 { self.any() } else { self.any_of(&["scorecard", "comparison"])? };
        let checks = [
            "comparison-regressed",
            "comparison-incomparable",
            "comparison-lenient",
            "must-pass-unknown",
            "asserted-card",
            "looks-exceeded",
            "no-go",
        ];
        let check = checks[self.dice.roll(checks.len())].parse().unwrap();
        let expires = self.moment();
        Some(Body::Waiver(Waiver { target, check, reason: because(), expires }))
    }

    /// What the library decides, now and then with something else in it.
    fn authorization(&mut self) -> Option<Body> {
        let target = self.any_of(&["gate"])?;
        let newest = self.decisions.newest().unwrap();
        let at = Moment::from_unix(newest.unix() + [0, 0, 86_400, 400_000, -1][self.dice.roll(5)]).unwrap();
        let judged = judge(&self.decisions, self.chain.in_force().0, target, at);
        let mut reasons: Vec<_> = judged.reasons.iter().map(|reason| reason.code.parse().unwrap()).collect();
        let mut rests_on = judged.rests_on;
        let head = self.forge.head();
        let (mut size, mut root) = (head.size, head.root);
        match self.dice.roll(12) {
            0 => drop(reasons.pop()),
            1 => reasons.push("no-go".parse().unwrap()),
            2 => reasons.push("not-replayed".parse().unwrap()),
            3 => drop(rests_on.pop()),
            4 => size -= 1,
            5 => root = Sha256::of(b"another"),
            _ => {}
        }
        reasons.sort();
        reasons.dedup();
        let decision = if reasons.is_empty() { Release::Authorized } else { Release::Blocked };
        Some(Body::Authorization(Authorization { target, decision, at, size, root, reasons, rests_on }))
    }

    fn trust(&mut self) -> Option<Body> {
        let (statement, _) = self.chain.in_force();
        let (thresholds, log) = (*statement.thresholds(), statement.log().clone());
        let (persons, version) = (statement.persons().to_vec(), statement.version() + 1);
        let mut parts = Parts { version, log, persons, thresholds, rules: rules(&mut self.dice) };
        parts.thresholds.signoff = 1 + self.dice.roll(2) as u32;
        let at = self.dice.roll(parts.persons.len());
        let key = parts.persons[at].keys.last_mut().unwrap();
        key.status = [Standing::Active, Standing::Retired, Standing::Compromised][self.dice.roll(3)];
        let Parts { version, log, persons, thresholds, rules } = parts;
        proofmark::trust::Statement::new(version, log, persons, thresholds, rules).ok().map(Body::Trust)
    }

    fn step(&mut self) {
        let signers = [ann(), bob(), sam(), ann(), bob(), sam(), person(), ann_too(), eve()];
        let anyone = signers.into_iter().nth(self.dice.roll(9)).unwrap();
        let appender = if self.dice.roll(4) == 0 { sam() } else { person() };
        let (body, evidence, signer) = match self.dice.roll(20) {
            0 => {
                let (body, evidence) = self.forge.gated_on(PREDICTIONS[self.dice.roll(2)]);
                (Some(Body::Gate(body)), evidence, appender)
            }
            1..=3 => {
                let wrong: Vec<usize> = (0..self.dice.roll(3)).collect();
                let (body, mut evidence) = self.forge.honest(&wrong);
                evidence[0].held = self.dice.roll(4) > 0;
                let basis = if self.dice.roll(4) == 0 { Basis::Asserted } else { Basis::Recomputed };
                let field = if self.dice.roll(2) == 0 { Fact::Prompts } else { Fact::Model };
                let unknown = if self.dice.roll(4) == 0 { vec![Unknown { field, allowed: true }] } else { Vec::new() };
                (Some(Body::Scorecard(ScorecardBody { basis, unknown, ..body })), evidence, appender)
            }
            4..=5 => {
                let pair = self.any_of(&["scorecard"]).zip(self.any_of(&["scorecard"]));
                let body = pair.map(|(base, current)| {
                    let mut body = self.forge.compared(base, current).0;
                    if self.dice.roll(4) == 0 {
                        body.tolerance = [1e-8, 0.5][self.dice.roll(2)];
                    }
                    if self.dice.roll(6) == 0 {
                        body.allow_unknown.push(Fact::Model);
                    }
                    Body::Comparison(body)
                });
                (body, Vec::new(), appender)
            }
            6..=11 => (self.signoff(), Vec::new(), anyone),
            12..=13 => (self.waiver(), Vec::new(), anyone),
            14 => {
                let target = self.any();
                (Some(Body::Withdrawal(Withdrawal { target, reason: because() })), Vec::new(), anyone)
            }
            15 => (self.trust(), Vec::new(), ann()),
            _ => (self.authorization(), Vec::new(), appender),
        };
        if let Some(body) = body {
            self.say(body, evidence, &signer);
        }
    }
}

const PREDICTIONS: [&str; 2] =
    [include_str!("../../../../fixtures/gate/go.jsonl"), include_str!("../../../../fixtures/gate/blocked.jsonl")];

fn rules(dice: &mut Dice) -> Rules {
    Rules {
        appender_may_be_only_signoff: [None, Some(false), Some(true)][dice.roll(3)],
        recomputed_only: [None, Some(true)][dice.roll(2)],
        signoff_max_age_days: [None, Some(2), Some(4_294_967_295)][dice.roll(3)],
        max_looks: [None, Some(1), Some(3)][dice.roll(3)],
        names_only_identity: [None, Some(true), Some(false)][dice.roll(3)],
    }
}

#[test]
fn both_hold_wild_decisions_to_the_same_rules() {
    if !ready("the second verifier on wild decisions", &[Tool::Python]) {
        return;
    }
    let mut bench = Bench::new();
    let mut told = std::collections::BTreeMap::<String, usize>::new();
    for seed in 0..60 {
        let mut wild = Wild::new(seed);
        while wild.forge.entries.len() < 40 {
            wild.step();
        }
        bench.forged(&format!("log {seed}"), &wild.forge);
    }
    assert!(bench.compare(|_, _| false) > 50);
    for document in bench.documents() {
        for found in document["findings"].as_array().unwrap() {
            *told.entry(found["code"].as_str().unwrap().to_owned()).or_default() += 1;
        }
    }
    let rules = [
        "asserted-card",
        "names-only",
        "rests-on-names",
        "looks-exceeded",
        "decision-target",
        "signoff-incomplete",
        "rests-on-withdrawn",
        "signoff-blocked",
        "signoff-expired",
        "rests-on-asserted",
        "waiver-check",
        "waiver-expired",
        "waiver-own",
        "withdrawal-of-no-go",
        "authorization-size",
        "authorization-root",
        "authorization-backdated",
        "authorization-differs",
    ];
    for code in rules {
        assert!(told.contains_key(code), "{code} was never found: {told:?}");
    }
}

#[test]
fn both_see_what_was_done_to_a_release() {
    if !ready("the second verifier on damaged releases", &[Tool::Python]) {
        return;
    }
    let office = Office::new();
    office.go("ann");
    office.go("bob");
    office.ok("ci", &["authorize", "--record"]);
    office.ok("sam", &["withdraw", "#1", "--reason", "another model"]);
    let mut files = files_of(&office.sandbox.path(".ledger"));
    files.retain(|name, _| name.as_str() != "lock");
    let mut bench = Bench::new();
    bench.add("a release", &files, None);
    assert_eq!(bench.theirs()[0].exit, 0);
    for (change, files) in damage::tampered(&files) {
        bench.add(&change, &files, None);
    }
    let mut told = Told::under(parts(1));
    let gate = told.gate(&person());
    let all = told.regressed();
    let waiver = told.waive(all[2], "comparison-regressed", days(9), &bob());
    let go = told.go(gate, &[all[0], all[1], all[2], waiver], &ann());
    let body = told.authorized(gate, &[all[0], all[1], all[2], waiver, go]);
    told.record(body);
    let forge = told.story.forge;
    bench.forged("a waived release", &forge);
    for (what, entries) in crate::tamper::rearranged(&forge.entries) {
        bench.forged(&what, &Forge { entries, ..forge.clone() });
    }
    assert!(bench.compare(|_, _| false) > 100);
    let theirs = bench.theirs();
    let place = bench.cases.iter().position(|(what, _)| what == "a waived release").unwrap();
    assert_eq!((theirs[place].exit, theirs[place].axes["policy"].as_str()), (0, "PASS"));
}
