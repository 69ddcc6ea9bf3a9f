//! Every operation of the store fails, once and for ever, before and after it takes effect: what is left is the old
//! ledger or the new one, the next append works, and what was acknowledged is there.

use std::error::Error;
use std::path::Path;

use proofmark::index::Index;
use proofmark::ledger::{Ledger, LedgerError, LogSigner, Ratchet};
use proofmark::receipt::ReceiptRef;
use proofmark::store::{Faulty, Memory, Schedule, Store};

use crate::keys::{self, append, create};
use crate::rounds;

fn size(store: Memory) -> Option<u64> {
    let ledger = Ledger::open(Box::new(store)).ok()?;
    let snapshot = ledger.snapshot().unwrap();
    let mut count = 0;
    snapshot
        .for_each(|_, _| {
            count += 1;
            Ok(())
        })
        .unwrap();
    assert_eq!(count, snapshot.size());
    Some(count)
}

/// A store of its own with the same content.
fn duplicate(store: &Memory) -> Memory {
    let copy = Memory::new();
    for (name, bytes) in store.files() {
        copy.publish(&name, &bytes).unwrap();
    }
    if let Some(cell) = store.cell().unwrap() {
        assert!(copy.lock().unwrap().swap(None, &cell).unwrap());
    }
    copy
}

fn schedules(at: u64) -> [Schedule; 3] {
    [Schedule::Once(at), Schedule::From(at), Schedule::AfterFrom(at)]
}

/// Appends `count` receipts to a ledger of `before` under every schedule; returns how many faults were tried.
fn every_fault(before: usize, count: usize) -> u64 {
    every_fault_of(before, count, |ledger, ratchet| append(ledger, count, ratchet))
}

/// Runs what appends `count` receipts to a ledger of `before` under every schedule.
fn every_fault_of(before: usize, count: usize, act: impl Fn(&Ledger, &Ratchet) -> Result<(), LedgerError>) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let ratchet = || Ratchet::new(tempfile::tempdir_in(folder.path()).unwrap().keep());
    let base = Memory::new();
    let ledger = create(Box::new(base.clone())).unwrap();
    if before > 1 {
        append(&ledger, before - 1, &ratchet()).unwrap();
    }
    let (old, new) = (before as u64, (before + count) as u64);
    let mut tried = 0;
    for at in 1.. {
        let mut reached = false;
        for schedule in schedules(at) {
            let memory = duplicate(&base);
            let faulty = Faulty::new(memory.clone(), schedule);
            let opened = Ledger::open(Box::new(faulty)).unwrap();
            let outcome = act(&opened, &ratchet());
            tried += 1;
            reached |= outcome.is_err();
            let left = size(memory.clone()).unwrap();
            assert!(left == old || left == new, "{schedule:?}: {left} receipts");
            assert!(outcome.is_err() || left == new, "{schedule:?}: acknowledged, and lost");
            // The next writer, on a store that works, finishes or discards.
            append(&Ledger::open(Box::new(memory.clone())).unwrap(), 1, &ratchet()).unwrap();
            let after = size(memory).unwrap();
            assert!(after == old + 1 || after == new + 1, "{schedule:?}: {after} receipts after the next append");
            assert!(left == old || after == new + 1, "{schedule:?}: what was published is gone");
            assert!(outcome.is_err() || after == new + 1, "{schedule:?}: acknowledged, and lost");
        }
        if !reached {
            break;
        }
    }
    tried
}

#[test]
fn an_append_survives_every_fault() {
    for before in [1, 2, 254, 255, 256, 257] {
        let tried = every_fault(before, 1);
        println!("append at size {before}: {tried} faults tried");
        assert!(tried >= 15);
    }
}

#[test]
fn a_batch_survives_every_fault() {
    let tried = every_fault(200, 400);
    println!("batch of 400 over two tile boundaries: {tried} faults tried");
    assert!(tried >= 30);
}

#[test]
fn a_baseline_survives_every_fault() {
    for before in [2, 255, 256] {
        let tried = every_fault_of(before, 1, |ledger, ratchet| {
            let receipt = ledger.snapshot()?.receipt(1)?.id();
            let log = keys::log();
            let signer = LogSigner::new(keys::ORIGIN, &log)?;
            let baseline = rounds::baseline("main", ReceiptRef { index: 1, receipt });
            ledger.append([Ok(baseline)], &keys::person(), &signer, ratchet).map(drop)
        });
        println!("baseline at size {before}: {tried} faults tried");
        assert!(tried >= 15);
    }
}

fn rebuild(store: Faulty<Memory>, folder: &Path) -> Result<u64, Box<dyn Error>> {
    let ledger = Ledger::open(Box::new(store))?;
    Ok(Index::rebuild(&ledger, folder)?)
}

/// The index file is none of the store's; what it is made from is.
#[test]
fn an_index_is_made_whole_or_not_at_all_under_every_fault() {
    let (folder, memory) = (tempfile::tempdir().unwrap(), Memory::new());
    let ledger = create(Box::new(memory.clone())).unwrap();
    append(&ledger, 300, &Ratchet::new(folder.path().join("seen"))).unwrap();
    let mut tried = 0;
    for at in 1.. {
        let mut reached = false;
        for schedule in [Schedule::Once(at), Schedule::From(at)] {
            let place = tempfile::tempdir_in(folder.path()).unwrap();
            let made = rebuild(Faulty::with_reads(memory.clone(), schedule), place.path());
            tried += 1;
            reached |= made.is_err();
            let ledger = Ledger::open(Box::new(memory.clone())).unwrap();
            let mut index = Index::open(&ledger, Some(place.path())).unwrap();
            assert_eq!(index.entry(300).unwrap().index, 300, "{schedule:?}");
            assert!(made.is_err() || made.is_ok_and(|size| size == 301), "{schedule:?}");
        }
        if !reached {
            break;
        }
    }
    println!("index of 301 receipts: {tried} faults tried");
    assert!(tried >= 10);
}

#[test]
fn making_a_ledger_survives_every_fault() {
    let mut tried = 0;
    for at in 1.. {
        let mut reached = false;
        for schedule in schedules(at) {
            let memory = Memory::new();
            let outcome = create(Box::new(Faulty::new(memory.clone(), schedule)));
            reached |= outcome.is_err();
            tried += 1;
            let left = size(memory.clone());
            assert!(left == Some(1) || (left.is_none() && outcome.is_err()), "{schedule:?}: {left:?}");
            if left.is_none() {
                create(Box::new(memory.clone())).unwrap();
                assert_eq!(size(memory), Some(1));
            }
        }
        if !reached {
            break;
        }
    }
    println!("init: {tried} faults tried");
    assert!(tried >= 15);
}
