//! Random decisions, told honestly, then damaged, dropped, or cut off: what a plain model calls blocked is never
//! authorized, and what it calls authorized is, as long as nothing was touched.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use proofmark::authorize::{AuthorizeError, Request, Wanted, When, authorize};
use proofmark::ledger::{Ledger, Ratchet};
use proofmark::receipt::{Decision, ReceiptRef, Release};
use proofmark::store::{Memory, Name, Store};
use proofmark::trust::SecretKey;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::told::{Told, parts};
use super::{ask, days, decide};
use crate::forge::{Forge, name};
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
    /// On the comparison, which only some sign-offs rest on. It is never taken back.
    NoGoComparison {
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
        1 => (0..3u8).prop_map(|who| Act::NoGoComparison { who }),
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
    disputed: bool,
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
        let vetoed = vetoed || (self.disputed && !knowing.is_empty());
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
            Act::NoGoComparison { who } => {
                told.no_go_with(rounds[2], &rounds[..2], &key(who));
                model.disputed = true;
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
    /// A receipt stands there twice, and the log key signs that.
    Twice,
    /// Two neighbours change places, and the log key signs that.
    Swap,
    /// Receipts are cut off the end, and the log key signs the rest.
    Cut,
    /// An object that the gate run rests on is another one.
    Object,
    /// A byte of some file is another one.
    FileFlip,
    /// Some file is cut short.
    FileShort,
    /// Some file is gone.
    FileGone,
}

const HARMS: [Harm; 10] = [
    Harm::Flip,
    Harm::FlipAndSign,
    Harm::Drop,
    Harm::Twice,
    Harm::Swap,
    Harm::Cut,
    Harm::Object,
    Harm::FileFlip,
    Harm::FileShort,
    Harm::FileGone,
];

impl Harm {
    /// Whether it is done to any file of the ledger, also to one on which nothing depends.
    fn is_of_files(self) -> bool {
        matches!(self, Self::FileFlip | Self::FileShort | Self::FileGone)
    }
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
        Harm::Twice => entries.insert(at, entries[at].clone()),
        Harm::Swap => entries.swap(at - 1, at),
        Harm::Cut => entries.truncate(at),
        Harm::Object | Harm::FileFlip | Harm::FileShort | Harm::FileGone => {}
    }
    let ends_earlier = matches!(harm, Harm::Cut | Harm::Drop) && forge.entries.starts_with(&entries);
    let memory = Forge { entries, objects: forge.objects.clone(), cards: Vec::new() }.write();
    match harm {
        Harm::Flip => memory.publish(&name("checkpoint"), &forge.note(&log())).unwrap(),
        Harm::Object => {
            let lost = forge.evidence("x", include_str!("../../../fixtures/gate/go.jsonl")).blake3.to_string();
            memory.publish(&name(&format!("objects/{}/{}", &lost[..2], &lost[2..])), b"something else").unwrap();
        }
        harm if harm.is_of_files() => spoil(&memory, harm, place),
        _ => {}
    }
    (memory, ends_earlier)
}

/// Harms some file. Evidence and bundles are few among them, so the place is among all bytes.
fn spoil(memory: &Memory, harm: Harm, place: prop::sample::Index) {
    let files: Vec<(Name, Vec<u8>)> = memory.files().into_iter().collect();
    let mut byte = place.index(files.iter().map(|(_, bytes)| bytes.len()).sum());
    let held = |(_, bytes): &&(Name, Vec<u8>)| {
        let here = byte < bytes.len();
        byte -= if here { 0 } else { bytes.len() };
        here
    };
    let (file, bytes) = files.iter().find(held).unwrap();
    let mut bytes = bytes.clone();
    match harm {
        Harm::FileFlip => bytes[byte] ^= 1,
        Harm::FileShort => bytes.truncate(byte),
        _ => return memory.remove(file).unwrap(),
    }
    memory.publish(file, &bytes).unwrap();
}

fn remembered(forge: &Forge) -> (tempfile::TempDir, Ratchet) {
    let folder = tempfile::tempdir().unwrap();
    let ratchet = Ratchet::new(folder.path());
    let ledger = Ledger::open(Box::new(forge.write())).unwrap();
    ratchet.remember(ledger.log(), &forge.note(&log())).unwrap();
    (folder, ratchet)
}

/// What is decided; a ledger that cannot be read, or that this machine knows to be an older one, releases nothing.
fn released(store: &Memory, ratchet: &Ratchet, request: &Request) -> Result<bool, TestCaseError> {
    let Ok(ledger) = Ledger::open(Box::new(store.clone())) else { return Ok(false) };
    match authorize(&ledger, ratchet, request, &mut |_, _| {}) {
        Ok(document) => Ok(document.decision == Release::Authorized),
        Err(AuthorizeError::Ledger(_) | AuthorizeError::Verify(_)) => Ok(false),
        Err(error) => Err(TestCaseError::fail(format!("{error:?}"))),
    }
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
}

/// Random decisions, some of which two GOs end, so that the untouched ledger would often be released.
fn story() -> impl Strategy<Value = Vec<Act>> {
    (prop::collection::vec(act(), 0..8), any::<bool>()).prop_map(|(mut acts, both)| {
        let gos = [0, 1].map(|who| Act::Go { who, with_comparison: false });
        acts.extend(gos.into_iter().filter(|_| both));
        acts
    })
}

#[test]
fn a_ledger_that_was_touched_is_released_only_where_it_would_be_untouched() {
    let mut runner = TestRunner::new(ProptestConfig { cases: 60, ..ProptestConfig::with_source_file(file!()) });
    let strategy = (story(), prop::sample::select(HARMS.to_vec()), any::<prop::sample::Index>());
    let (untouched, shrunk, caught) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let count = |cell: &Cell<u32>| cell.set(cell.get() + 1);
    let outcome = runner.run(&strategy, |(acts, harm, place)| {
        let (forge, _) = tell(&acts);
        let request = ask(Wanted::Newest, When::Clock(days(1)));
        let would = decide(&forge.write(), &request).decision == Release::Authorized;
        untouched.set(untouched.get() + u32::from(would));
        let (store, ends_earlier) = harmed(&forge, harm, place);
        let nothing_seen = tempfile::tempdir().unwrap();
        let fresh = Ratchet::new(nothing_seen.path());
        // A machine that saw the whole log, and two that know of it by what they ask for.
        let (_folder, ratchet) = remembered(&forge);
        let size = Some(forge.entries.len() as u64);
        let sized = Request { min_size: size, ..request.clone() };
        let known = Request { extends: Some(("seen".to_owned(), forge.note(&log()))), ..request.clone() };
        for (ratchet, request) in [(&ratchet, &request), (&fresh, &sized), (&fresh, &known)] {
            let so = released(&store, ratchet, request)?;
            // What was done to the log is always told; a file may be one on which nothing depends.
            prop_assert!(!so || (would && harm.is_of_files()), "{:?} {:?} {:?}", harm, acts, request);
            if !so {
                count(&caught);
            }
        }
        // A machine that never saw it: a log that was cut and signed anew is sound, and it gets an honest answer about that.
        let so = released(&store, &Ratchet::new(nothing_seen.path().join("again").as_path()), &request)?;
        prop_assert!(!so || ends_earlier || (would && harm.is_of_files()), "{:?} {:?}", harm, acts);
        if ends_earlier {
            count(&shrunk);
        }
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
    let (untouched, shrunk, caught) = (untouched.get(), shrunk.get(), caught.get());
    println!(
        "60 random ledgers: {untouched} would be released untouched, {shrunk} only ended earlier; {caught} of 180 answers were no"
    );
    assert!(untouched > 5 && caught > 120, "{untouched} {caught}");
}
