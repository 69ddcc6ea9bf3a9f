//! Random decisions, told honestly, then damaged, dropped, or cut off: what a plain model calls blocked is never
//! authorized, and what it calls authorized is, as long as nothing was touched.

use std::collections::{BTreeMap, BTreeSet};

use proofmark::authorize::{AuthorizeError, Wanted, When, authorize};
use proofmark::ledger::{Ledger, LedgerError, Ratchet};
use proofmark::receipt::{Decision, ReceiptRef, Release};
use proofmark::store::{Memory, Store};
use proofmark::trust::SecretKey;
use proptest::prelude::*;

use super::told::{Told, parts};
use super::{ask, codes, days, decide};
use crate::forge::Forge;
use crate::keys::{log, person};
use crate::trust::{ann, bob, sam};

#[derive(Debug, Clone, Copy)]
enum Act {
    Go {
        who: u8,
        with_comparison: bool,
    },
    NoGo {
        who: u8,
    },
    /// The person's latest sign-off is withdrawn, by themself.
    TakeBack {
        who: u8,
    },
    Waive,
    WithdrawWaivers,
    WithdrawComparison,
    WithdrawGate,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => (0..3u8, any::<bool>()).prop_map(|(who, with_comparison)| Act::Go { who, with_comparison }),
        2 => (0..3u8).prop_map(|who| Act::NoGo { who }),
        2 => (0..3u8).prop_map(|who| Act::TakeBack { who }),
        2 => Just(Act::Waive),
        1 => Just(Act::WithdrawWaivers),
        1 => Just(Act::WithdrawComparison),
        1 => Just(Act::WithdrawGate),
    ]
}

fn key(who: u8) -> SecretKey {
    match who {
        0 => ann(),
        1 => bob(),
        _ => sam(),
    }
}

/// What the model keeps of a sign-off.
struct Word {
    index: u64,
    decision: Decision,
    lists: BTreeSet<u64>,
    /// The rules spoke against it when it was made.
    void: bool,
}

/// The rules of decisions, written once more as plainly as can be.
#[derive(Default)]
struct Model {
    words: BTreeMap<u8, Vec<Word>>,
    waivers: BTreeSet<u64>,
    withdrawn: BTreeSet<u64>,
    gate: u64,
    comparison: u64,
}

impl Model {
    fn counts(&self, word: &Word) -> bool {
        let gone = |index: &u64| self.withdrawn.contains(index);
        word.decision == Decision::Go && !word.void && ![word.index, self.gate].iter().chain(&word.lists).any(gone)
    }

    fn authorized(&self) -> bool {
        let latest: Vec<&Word> = self.words.values().filter_map(|words| words.last()).collect();
        let counting: Vec<&Word> = latest.into_iter().filter(|word| self.counts(word)).collect();
        let vetoed = self.words.values().any(|words| {
            let counts = words.last().is_some_and(|word| self.counts(word));
            !counts && words.iter().any(|word| word.decision == Decision::NoGo && !self.withdrawn.contains(&word.index))
        });
        let knowing: Vec<_> = counting.iter().filter(|word| word.lists.contains(&self.comparison)).collect();
        let good =
            |waiver: &u64| !self.withdrawn.contains(waiver) && knowing.iter().all(|word| word.lists.contains(waiver));
        let regressed = !knowing.is_empty() && !self.waivers.iter().any(good);
        counting.len() >= 2 && !vetoed && !regressed && !self.withdrawn.contains(&self.gate)
    }
}

/// Tells the acts into a log, and into the model.
fn tell(acts: &[Act]) -> (Forge, Model) {
    let mut told = Told::under(parts(2));
    let gate = told.gate(&person());
    let rounds = told.regressed();
    let mut model = Model { gate: gate.index, comparison: rounds[2].index, ..Model::default() };
    let mut waivers: Vec<ReceiptRef> = Vec::new();
    for act in acts {
        match *act {
            Act::Go { who, with_comparison } => {
                let open = waivers.iter().filter(|waiver| !model.withdrawn.contains(&waiver.index));
                let lists: Vec<_> = rounds.iter().chain(open).copied().filter(|_| with_comparison).collect();
                let index = told.go(gate, &lists, &key(who)).index;
                let lists: BTreeSet<_> = lists.iter().map(|one| one.index).collect();
                let void = lists.iter().chain([&gate.index]).any(|one| model.withdrawn.contains(one));
                model.words.entry(who).or_default().push(Word { index, decision: Decision::Go, lists, void });
            }
            Act::NoGo { who } => {
                let index = told.no_go(gate, &key(who)).index;
                let word = Word { index, decision: Decision::NoGo, lists: BTreeSet::new(), void: false };
                model.words.entry(who).or_default().push(word);
            }
            Act::TakeBack { who } => {
                let Some(index) = model.words.get(&who).and_then(|words| words.last()).map(|word| word.index) else {
                    continue;
                };
                let target = told.story.forge.reference(index as usize);
                told.withdraw(target, &key(who));
                model.withdrawn.insert(index);
            }
            Act::Waive => {
                let waiver = told.waive(rounds[2], "comparison-regressed", days(9), &bob());
                // A waiver about what was withdrawn never counts.
                if !model.withdrawn.contains(&model.comparison) {
                    model.waivers.insert(waiver.index);
                }
                waivers.push(waiver);
            }
            Act::WithdrawWaivers => {
                for waiver in &waivers {
                    told.withdraw(*waiver, &person());
                    model.withdrawn.insert(waiver.index);
                }
            }
            Act::WithdrawComparison => {
                told.withdraw(rounds[2], &person());
                model.withdrawn.insert(model.comparison);
            }
            Act::WithdrawGate => {
                told.withdraw(gate, &person());
                model.withdrawn.insert(model.gate);
            }
        }
    }
    (told.story.forge, model)
}

#[derive(Debug, Clone, Copy)]
enum Harm {
    /// A byte of an entry is another one; the checkpoint stays.
    Flip,
    /// The same, and the log key signs what came of it.
    FlipAndSign,
    /// A receipt is dropped, and the log key signs the rest.
    Drop,
    /// Receipts are cut off the end, and the log key signs the rest.
    Cut,
    /// An object that the gate run rests on is another one.
    Object,
}

/// The harmed log, and whether it is sound all the same: one that ends earlier.
fn harmed(forge: &Forge, harm: Harm, place: prop::sample::Index) -> (Memory, bool) {
    let mut entries = forge.entries.clone();
    let at = place.index(entries.len() - 1) + 1;
    match harm {
        Harm::Flip | Harm::FlipAndSign => {
            let byte = place.index(entries[at].len());
            entries[at][byte] ^= 1;
        }
        Harm::Drop => drop(entries.remove(at)),
        Harm::Cut => entries.truncate(at),
        Harm::Object => {}
    }
    let ends_earlier = matches!(harm, Harm::Cut | Harm::Drop) && forge.entries.starts_with(&entries);
    let objects = forge.objects.clone();
    let other = Forge { entries, objects, cards: Vec::new() };
    let memory = other.write();
    if matches!(harm, Harm::Flip) {
        memory.publish(&crate::forge::name("checkpoint"), &forge.note(&log())).unwrap();
    }
    if matches!(harm, Harm::Object) {
        let lost = forge.evidence("x", include_str!("../../../fixtures/gate/go.jsonl")).blake3.to_string();
        let file = crate::forge::name(&format!("objects/{}/{}", &lost[..2], &lost[2..]));
        memory.publish(&file, b"something else").unwrap();
    }
    (memory, ends_earlier)
}

fn remembered(forge: &Forge) -> (tempfile::TempDir, Ratchet) {
    let folder = tempfile::tempdir().unwrap();
    let ratchet = Ratchet::new(folder.path());
    let ledger = Ledger::open(Box::new(forge.write())).unwrap();
    ratchet.remember(ledger.log(), &forge.note(&log())).unwrap();
    (folder, ratchet)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn the_log_gives_what_a_plain_model_says(acts in prop::collection::vec(act(), 0..14)) {
        let (forge, model) = tell(&acts);
        let document = decide(&forge.write(), &ask(Wanted::Receipt(model.gate), When::Clock(days(1))));
        let authorized = document.decision == Release::Authorized;
        prop_assert_eq!(authorized, model.authorized(), "{:?}: {:#?}", acts, document.reasons);
        prop_assert_eq!(authorized, document.reasons.is_empty());
    }

    #[test]
    fn a_log_that_was_touched_is_never_believed(
        acts in prop::collection::vec(act(), 0..8),
        harm in prop::sample::select(vec![Harm::Flip, Harm::FlipAndSign, Harm::Drop, Harm::Cut, Harm::Object]),
        place in any::<prop::sample::Index>(),
    ) {
        // Two GOs at the end of whatever was said, so that most of these would be released untouched.
        let both = [0, 1].map(|who| Act::Go { who, with_comparison: false });
        let acts: Vec<_> = acts.into_iter().chain(both).collect();
        let (forge, _) = tell(&acts);
        let (store, ends_earlier) = harmed(&forge, harm, place);
        let request = ask(Wanted::Newest, When::Clock(days(1)));
        // This machine saw the whole log: a shorter or another one is refused with evidence.
        let (_folder, ratchet) = remembered(&forge);
        let ledger = Ledger::open(Box::new(store.clone()));
        let Ok(ledger) = ledger else { return Ok(()) };
        match authorize(&ledger, &ratchet, &request, &mut |_, _| {}) {
            Ok(document) => prop_assert_eq!(document.decision, Release::Blocked, "{:?} {:?}", harm, acts),
            Err(AuthorizeError::Ledger(error)) => prop_assert!(matches!(error, LedgerError::Fork(_)), "{:?}", error),
            Err(error) => prop_assert!(false, "{error:?}"),
        }
        // Another machine never saw it. A log that was cut and signed anew is sound: only what is asked for catches it.
        let fresh = decide(&store, &request);
        if !ends_earlier {
            prop_assert_eq!(fresh.decision, Release::Blocked, "{:?} {:?}", harm, acts);
        }
        let whole = proofmark::authorize::Request { min_size: Some(forge.entries.len() as u64), ..request.clone() };
        let known = proofmark::authorize::Request {
            extends: Some(("seen".to_owned(), forge.note(&log()))),
            ..request
        };
        for asked in [whole, known] {
            let document = decide(&store, &asked);
            prop_assert_eq!(document.decision, Release::Blocked, "{:?} {:?}", harm, codes(&document));
        }
    }
}
