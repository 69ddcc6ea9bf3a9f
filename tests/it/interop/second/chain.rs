//! The chain of trust: wild logs of proposals, sign-offs and withdrawals by whoever, and the vectors kept for others.

use proofmark::ledger::TrustChain;
use proofmark::object::ReceiptId;
use proofmark::receipt::{Body, Decision, Receipt, ReceiptRef, Signoff, Waiver, Withdrawal};
use proofmark::trust::{KeyRecord, Person, Role, Signer, Standing, Statement};

use super::super::tools::{Tool, ready};
use super::records::Dice;
use super::{Bench, damage};
use crate::forge::Forge;
use crate::keys::{moment, person};
use crate::trust::{Parts, Story, ann, ann_too, because, bob, eve, sam};

/// The statement in force with what a roll of the dice changes; `None` where that is no statement.
fn changed(parts: &Parts, version: u64, dice: &mut Dice) -> Option<Statement> {
    let mut parts = parts.clone();
    parts.version = version + [1, 1, 1, 1, 0, 2][dice.roll(6)];
    for _ in 0..dice.roll(3) {
        let at = dice.roll(parts.persons.len());
        let standings = [Standing::Active, Standing::Retired, Standing::Compromised];
        let one: &mut Person = &mut parts.persons[at];
        match dice.roll(7) {
            0 => one.keys[0].status = standings[dice.roll(3)],
            1 => one.roles = vec![[Role::Root, Role::Append, Role::Signoff][dice.roll(3)]],
            2 => parts.thresholds.root = 1 + dice.roll(3) as u32,
            3 => drop(parts.persons.remove(at)),
            4 => one.name.push('x'),
            5 => parts.rules.recomputed_only = Some(dice.roll(2) == 0),
            _ => one.keys.push(KeyRecord { key: *eve().public(), status: standings[dice.roll(3)] }),
        }
    }
    let Parts { version, log, persons, thresholds, rules } = parts;
    Statement::new(version, log, persons, thresholds, rules).ok()
}

fn wild(dice: &mut Dice, length: usize) -> Forge {
    let mut story = Story::new();
    story.parts.thresholds.root = 1 + dice.roll(2) as u32;
    story.forge = Forge::with_trust(story.parts.statement(), &ann());
    let mut chain = TrustChain::begin(&Receipt::parse(&story.forge.entries[0]).unwrap()).unwrap();
    let signers = [ann(), ann_too(), bob(), ann(), bob(), sam(), eve(), person()];
    while story.forge.entries.len() < length {
        let (statement, in_force) = chain.in_force();
        let version = statement.version();
        let (thresholds, rules) = (*statement.thresholds(), *statement.rules());
        let persons = statement.persons().to_vec();
        story.parts = Parts { version, log: statement.log().clone(), persons, thresholds, rules };
        let signer = &signers[dice.roll(signers.len())];
        let any = dice.roll(story.forge.entries.len());
        let any = ReceiptRef { index: any as u64, receipt: ReceiptId::of(&story.forge.entries[any]) };
        let waiting = chain.pending();
        let target =
            if waiting.is_empty() || dice.roll(4) == 0 { any } else { waiting[dice.roll(waiting.len())].receipt };
        let decision = if dice.roll(4) == 0 { Decision::NoGo } else { Decision::Go };
        let expires = (decision == Decision::Go && dice.roll(8) == 0).then(moment);
        let rests_on = if dice.roll(8) == 0 && any.index != target.index { vec![any] } else { Vec::new() };
        let body = match dice.roll(9) {
            0..=2 => changed(&story.parts, version, dice).map(Body::Trust),
            3..=5 => Some(Body::Signoff(Signoff { target, decision, reason: because(), expires, rests_on })),
            6 => Some(Body::Withdrawal(Withdrawal { target: any, reason: because() })),
            7 => {
                let check = "asserted-card".parse().unwrap();
                Some(Body::Waiver(Waiver { target: any, check, reason: because(), expires: moment() }))
            }
            _ => None,
        };
        story.trust = if dice.roll(10) == 0 { any } else { in_force };
        match body {
            Some(body) => _ = story.say(body, signer),
            None => _ = story.round(&[], signer),
        }
        let newest = Receipt::parse(story.forge.entries.last().unwrap()).unwrap();
        chain.take(story.forge.entries.len() as u64 - 1, &newest);
    }
    story.forge
}

#[test]
fn both_fold_the_same_chain_out_of_wild_logs() {
    if !ready("the second verifier on wild chains of trust", &[Tool::Python]) {
        return;
    }
    let (mut bench, mut dice) = (Bench::new(), Dice::new(41));
    for at in 0..60 {
        bench.forged(&format!("log {at}"), &wild(&mut dice, 24));
    }
    assert!(bench.compare(|_, _| false) > 40);
}

#[test]
fn the_second_finds_what_the_kept_vectors_say() {
    if !ready("the second verifier on the vectors of trust", &[Tool::Python]) {
        return;
    }
    let kept: serde_json::Value = serde_json::from_str(include_str!("../../../../fixtures/trust/chain.json")).unwrap();
    let mut bench = Bench::new();
    for log in kept["logs"].as_array().unwrap() {
        let entry =
            |id: &serde_json::Value| kept["entries"][id.as_str().unwrap()].as_str().unwrap().as_bytes().to_vec();
        let entries = log["log"].as_array().unwrap().iter().map(entry).collect();
        bench.forged(log["what"].as_str().unwrap(), &Forge { entries, ..Forge::empty() });
    }
    for (document, log) in bench.documents().iter().zip(kept["logs"].as_array().unwrap()) {
        let axes = ["structure", "signatures", "trustThen", "trustNow"];
        let all = document["findings"].as_array().unwrap().iter();
        let all = all.filter(|found| axes.contains(&found["axis"].as_str().unwrap()));
        let mut found: Vec<_> = all.map(|found| serde_json::json!([found["index"], found["code"]])).collect();
        let mut wanted = log["findings"].as_array().unwrap().clone();
        found.sort_by_key(ToString::to_string);
        wanted.sort_by_key(ToString::to_string);
        assert_eq!(found, wanted, "{}", log["what"]);
    }
}

#[test]
fn both_see_what_was_done_to_a_log_with_changes_of_trust() {
    if !ready("the second verifier on damaged chains", &[Tool::Python]) {
        return;
    }
    let mut bench = Bench::new();
    let mut story = Story::new();
    story.round(&[], &person());
    story.change(|parts| {
        let tester = parts.person("tester");
        tester.keys[0].status = Standing::Compromised;
        tester.keys.push(KeyRecord { key: *eve().public(), status: Standing::Active });
    });
    story.round(&[1], &eve());
    let files = story.forge.write().files();
    for (change, files) in damage::tampered(&files) {
        bench.add(&change, &files, None);
    }
    for (what, entries) in crate::tamper::rearranged(&story.forge.entries) {
        bench.forged(&what, &Forge { entries, ..story.forge.clone() });
    }
    assert!(bench.compare(|_, _| false) > 40);
}
