//! Appending, reading back, recovering, and refusing a log that shrank or forked.

use std::collections::BTreeMap;

use proofmark::ledger::{ForkKind, History, Ledger, LedgerError, Ratchet};
use proofmark::receipt::{Baseline, Body, Withdrawal};
use proofmark::store::{Directory, Memory, Name, Store};

use crate::forge::Forge;
use crate::keys::{append, create, round};
use crate::trust::{because, eve};

fn ratchet() -> (tempfile::TempDir, Ratchet) {
    let folder = tempfile::tempdir().unwrap();
    let ratchet = Ratchet::new(folder.path().join("seen"));
    (folder, ratchet)
}

fn read_all(ledger: &Ledger) -> Result<u64, LedgerError> {
    let snapshot = ledger.snapshot()?;
    let mut count = 0;
    snapshot.for_each(|index, receipt| {
        assert_eq!(index, count);
        assert_eq!(snapshot.entry(index)?, receipt.bytes());
        count += 1;
        Ok(())
    })?;
    assert_eq!(count, snapshot.size());
    Ok(count)
}

#[test]
fn what_is_appended_is_read_back_across_tile_boundaries() {
    let (_folder, ratchet) = ratchet();
    let ledger = create(Box::new(Memory::new())).unwrap();
    let mut size = 1;
    for count in [1, 1, 252, 1, 1, 1, 600] {
        append(&ledger, count, &ratchet).unwrap();
        size += count as u64;
        assert_eq!(ledger.snapshot().unwrap().size(), size);
    }
    assert_eq!(read_all(&ledger).unwrap(), 858);
    let history = History::read(&ledger, &ledger.snapshot().unwrap()).unwrap();
    let newest = history.round(&"main".parse().unwrap(), 0).unwrap();
    assert_eq!((newest.number, newest.receipt.index), (857, 857));
    assert!(history.round(&"main".parse().unwrap(), 857).is_none());
}

/// Whoever has the log's key alone does not choose what rounds are compared with.
#[test]
fn baselines_and_withdrawals_count_only_from_those_who_may() {
    let mut forge = Forge::new();
    let (first, second) = (forge.round(&[]), forge.round(&[1]));
    let set = |target| Body::Baseline(Baseline { line: "main".parse().unwrap(), target });
    let withdraw = |target| Body::Withdrawal(Withdrawal { target, reason: because() });
    let read = |forge: &Forge| {
        let ledger = Ledger::open(Box::new(forge.write())).unwrap();
        let history = History::read(&ledger, &ledger.snapshot().unwrap()).unwrap();
        (history.baseline(&"main".parse().unwrap()), history.withdrawn(first.index))
    };
    let trust = forge.trust();
    forge.baseline(first);
    assert_eq!(read(&forge), (Some(first), None));
    forge.sign(trust, set(second), Vec::new(), &eve());
    forge.sign(trust, withdraw(first), Vec::new(), &eve());
    assert_eq!(read(&forge), (Some(first), None));
    let withdrawal = forge.add(withdraw(first), Vec::new());
    assert_eq!(read(&forge), (None, Some(withdrawal.index)));
}

#[test]
fn the_same_appends_give_the_same_bytes_in_memory_and_on_disk() {
    let ((_one, seen_on_disk), (_two, seen_in_memory)) = (ratchet(), ratchet());
    let (memory, folder) = (Memory::new(), tempfile::tempdir().unwrap());
    let on_disk = create(Box::new(Directory::new(folder.path()))).unwrap();
    let in_memory = create(Box::new(memory.clone())).unwrap();
    for count in [1, 300, 2] {
        append(&on_disk, count, &seen_on_disk).unwrap();
        append(&in_memory, count, &seen_in_memory).unwrap();
    }
    let directory = Directory::new(folder.path());
    let files: BTreeMap<Name, Vec<u8>> = directory
        .list("")
        .unwrap()
        .into_iter()
        .filter(|name| name.as_str() != "lock")
        .map(|name| (name.clone(), directory.read(&name, u64::MAX).unwrap().unwrap()))
        .collect();
    assert_eq!(files, memory.files());
    let names: Vec<_> = files.keys().map(Name::as_str).filter(|name| name.starts_with("tile")).collect();
    // Full tiles, and the partial ones of the last two checkpoints (302 and 304 entries).
    assert_eq!(
        names,
        [
            "tile/0/000",
            "tile/0/001.p/46",
            "tile/0/001.p/48",
            "tile/1/000.p/1",
            "tile/entries/000",
            "tile/entries/001.p/46",
            "tile/entries/001.p/48"
        ]
    );
}

#[test]
fn a_second_ledger_in_the_same_place_is_refused() {
    let memory = Memory::new();
    create(Box::new(memory.clone())).unwrap();
    assert!(matches!(create(Box::new(memory)), Err(LedgerError::Present)));
    assert!(matches!(Ledger::open(Box::new(Memory::new())), Err(LedgerError::Absent)));
}

#[test]
fn an_error_in_a_batch_leaves_the_ledger_as_it_was() {
    let (_folder, ratchet) = ratchet();
    let memory = Memory::new();
    let ledger = create(Box::new(memory.clone())).unwrap();
    let before = memory.files();
    let log = crate::keys::log();
    let signer = proofmark::ledger::LogSigner::new(crate::keys::ORIGIN, &log).unwrap();
    let drafts = (0..1000).map(|number| if number == 900 { Err(LedgerError::Nothing) } else { Ok(round(0.5)) });
    assert!(matches!(ledger.append(drafts, &crate::keys::person(), &signer, &ratchet), Err(LedgerError::Nothing)));
    let after: BTreeMap<_, _> =
        memory.files().into_iter().filter(|(name, _)| !name.as_str().starts_with("staging")).collect();
    assert_eq!(after, before);
    append(&ledger, 1, &ratchet).unwrap();
    assert_eq!(read_all(&ledger).unwrap(), 2);
}

#[test]
fn a_stranger_may_not_append_and_another_log_key_is_refused() {
    let (_folder, ratchet) = ratchet();
    let ledger = create(Box::new(Memory::new())).unwrap();
    let (log, stranger) = (crate::keys::log(), proofmark::trust::SecretKey::generate([9; 32]));
    let signer = proofmark::ledger::LogSigner::new(crate::keys::ORIGIN, &log).unwrap();
    let refused = ledger.append([Ok(round(0.5))], &stranger, &signer, &ratchet).unwrap_err();
    assert!(matches!(refused, LedgerError::NotAllowed { .. }), "{refused}");
    let other = proofmark::ledger::LogSigner::new(crate::keys::ORIGIN, &stranger).unwrap();
    let refused = ledger.append([Ok(round(0.5))], &crate::keys::person(), &other, &ratchet).unwrap_err();
    assert!(matches!(refused, LedgerError::OtherLogKey { .. }), "{refused}");
}

#[test]
fn a_log_put_back_to_an_older_state_is_not_extended() {
    let (_seen, ratchet) = ratchet();
    let (folder, old) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let open = |folder: &tempfile::TempDir| Ledger::open(Box::new(Directory::new(folder.path()))).unwrap();
    let ledger = create(Box::new(Directory::new(folder.path()))).unwrap();
    append(&ledger, 3, &ratchet).unwrap();
    copy(folder.path(), old.path());
    append(&ledger, 2, &ratchet).unwrap();
    let evidence = |error: LedgerError| match error {
        LedgerError::Fork(evidence) => *evidence,
        other => panic!("{other:?}"),
    };
    let rollback = evidence(append(&open(&old), 1, &ratchet).unwrap_err());
    assert_eq!(rollback.kind, ForkKind::Rollback);
    // On a machine that has not seen the newer state the fork is made, and shows when the first machine looks.
    let (_elsewhere, fresh) = self::ratchet();
    append(&open(&old), 1, &fresh).unwrap();
    append(&open(&old), 1, &fresh).unwrap();
    append(&open(&old), 1, &fresh).unwrap();
    let fork = evidence(append(&open(&old), 1, &ratchet).unwrap_err());
    assert_eq!(fork.kind, ForkKind::Fork);
    assert!(!fork.consistency.is_empty() && fork.root_at_seen.is_some());
}

#[test]
fn a_folder_brought_forward_is_believed_and_one_put_back_beside_its_lock_is_not() {
    let (_seen, ratchet) = ratchet();
    let (ours, theirs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    append(&create(Box::new(Directory::new(ours.path()))).unwrap(), 1, &ratchet).unwrap();
    copy(ours.path(), theirs.path());
    let open = |folder: &tempfile::TempDir| Ledger::open(Box::new(Directory::new(folder.path()))).unwrap();
    append(&open(&theirs), 5, &ratchet).unwrap();
    // As `git pull` does: everything but the lock and staging.
    let lock = std::fs::read(ours.path().join("lock")).unwrap();
    copy(theirs.path(), ours.path());
    std::fs::write(ours.path().join("lock"), &lock).unwrap();
    append(&open(&ours), 1, &ratchet).unwrap();
    assert_eq!(read_all(&open(&ours)).unwrap(), 8);
    // Back to the older tree, with the lock of the newer one.
    let lock = std::fs::read(ours.path().join("lock")).unwrap();
    std::fs::remove_dir_all(ours.path().join("tile")).unwrap();
    copy(theirs.path(), ours.path());
    std::fs::write(ours.path().join("lock"), &lock).unwrap();
    let (_elsewhere, fresh) = self::ratchet();
    let refused = append(&open(&ours), 1, &fresh).unwrap_err();
    assert!(matches!(&refused, LedgerError::Fork(evidence) if evidence.kind == ForkKind::Rollback), "{refused:?}");
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    let done = std::process::Command::new("cp").arg("-a").arg(from.join(".")).arg(to).status().unwrap();
    assert!(done.success());
}
