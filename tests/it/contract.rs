//! One contract for every store.

use std::sync::atomic::{AtomicU32, Ordering};

use proofmark::store::{
    Directory, Faulty, Memory, Name, ObjectState, Schedule, Store, StoreError, digest_slice, object_state, put_file,
    put_from, put_slice, read_object,
};

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn for_each_store(check: impl Fn(&str, &dyn Store)) {
    let folder = tempfile::tempdir().unwrap();
    check("directory", &Directory::new(folder.path().join("ledger")));
    check("memory", &Memory::new());
    check("faulty", &Faulty::new(Memory::new(), Schedule::Never));
}

#[test]
fn what_is_put_stays_and_never_changes() {
    for_each_store(|kind, store| {
        let at = name("objects/ab/cd");
        assert_eq!(store.read(&at, 100).unwrap(), None, "{kind}");
        store.put(&at, &mut &b"bytes"[..]).unwrap();
        store.put(&at, &mut &b"bytes"[..]).unwrap();
        assert!(matches!(store.put(&at, &mut &b"other"[..]), Err(StoreError::Conflict { .. })), "{kind}");
        assert!(matches!(store.put(&at, &mut &b"byte"[..]), Err(StoreError::Conflict { .. })), "{kind}");
        assert_eq!(store.read(&at, 100).unwrap().as_deref(), Some(&b"bytes"[..]), "{kind}");
        assert_eq!(store.size(&at).unwrap(), Some(5), "{kind}");
        assert!(matches!(store.read(&at, 4), Err(StoreError::TooLarge { .. })), "{kind}");
        assert_eq!(store.hash(&at).unwrap(), Some((blake3::hash(b"bytes"), 5)), "{kind}");
    });
}

#[test]
fn names_are_listed_promoted_published_and_removed() {
    for_each_store(|kind, store| {
        store.put(&name("staging/b"), &mut &b"1"[..]).unwrap();
        store.publish(&name("tile/0/000.p/1"), b"a").unwrap();
        store.publish(&name("tile/0/000.p/1"), b"b").unwrap();
        store.promote(&name("staging/b"), &name("tile/entries/000")).unwrap();
        assert_eq!(store.list("tile").unwrap(), [name("tile/0/000.p/1"), name("tile/entries/000")], "{kind}");
        assert_eq!(store.list("staging").unwrap(), [], "{kind}");
        assert_eq!(store.list("nowhere").unwrap(), [], "{kind}");
        store.settle(&[name("tile/entries/000"), name("tile/0/000.p/1")]).unwrap();
        assert!(store.settle(&[name("tile/entries/001")]).is_err(), "{kind}");
        assert!(store.promote(&name("staging/none"), &name("tile/entries/001")).is_err(), "{kind}");
        store.remove(&name("tile/0/000.p/1")).unwrap();
        store.remove(&name("tile/0/000.p/1")).unwrap();
        assert_eq!(store.read(&name("tile/0/000.p/1"), 10).unwrap(), None, "{kind}");
    });
}

#[test]
fn the_cell_is_only_ever_compared_and_swapped() {
    for_each_store(|kind, store| {
        assert_eq!(store.cell().unwrap(), None, "{kind}");
        {
            let mut writer = store.lock().unwrap();
            assert_eq!(writer.cell().unwrap(), None, "{kind}");
            assert!(!writer.swap(Some(b"x"), b"one").unwrap(), "{kind}");
            assert!(writer.swap(None, b"one").unwrap(), "{kind}");
            assert!(!writer.swap(None, b"two").unwrap(), "{kind}");
            assert!(writer.swap(Some(b"one"), b"two").unwrap(), "{kind}");
        }
        assert_eq!(store.cell().unwrap().as_deref(), Some(&b"two"[..]), "{kind}");
    });
}

#[test]
fn one_of_many_writers_wins_each_swap() {
    for_each_store(|kind, store| {
        let won = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for thread in 0..8u32 {
                let won = &won;
                scope.spawn(move || {
                    for step in 0..25u32 {
                        let mut writer = store.lock().unwrap();
                        let old = writer.cell().unwrap();
                        let new = format!("{thread}/{step}");
                        assert!(writer.swap(old.as_deref(), new.as_bytes()).unwrap());
                        assert!(!writer.swap(old.as_deref(), b"stale").unwrap());
                        won.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(won.load(Ordering::Relaxed), 200, "{kind}");
    });
}

#[test]
fn objects_come_back_checked_small_large_and_compressed() {
    let folder = tempfile::tempdir().unwrap();
    let repetitive = b"{\"question\":\"same\"}\n".repeat(20_000);
    let noise: Vec<u8> = {
        let mut bytes = vec![0u8; 300_000];
        blake3::Hasher::new().finalize_xof().fill(&mut bytes);
        bytes
    };
    for_each_store(|kind, store| {
        for content in [&b""[..], b"small", &repetitive, &noise] {
            let path = folder.path().join("evidence");
            std::fs::write(&path, content).unwrap();
            let stored = put_file(store, &path).unwrap();
            assert_eq!(put_slice(store, content).unwrap(), stored, "{kind}");
            assert_eq!(stored.size, content.len() as u64);
            assert_eq!(stored.blake3.as_bytes(), blake3::hash(content).as_bytes());
            let back = read_object(store, &stored.blake3, stored.size).unwrap();
            assert_eq!(back.as_deref(), Some(content), "{kind}");
            assert_eq!(object_state(store, &stored.blake3, stored.size).unwrap(), ObjectState::Intact, "{kind}");
            assert_eq!(object_state(store, &stored.blake3, stored.size + 1).unwrap(), ObjectState::Damaged, "{kind}");
        }
        let held: Vec<_> =
            store.list("objects").unwrap().iter().map(|name| store.size(name).unwrap().unwrap()).collect();
        assert!(held.iter().sum::<u64>() < 320_000, "the repetitive object is compressed: {held:?}");
    });
}

#[test]
fn a_large_object_is_compressed_by_threads_to_bytes_that_do_not_depend_on_how_it_came() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("evidence");
    let content: Vec<u8> =
        (0..600_000u32).flat_map(|line| format!("{{\"n\":{}}}\n", line * 31 % 9973).into_bytes()).collect();
    let content = content.repeat(2);
    assert!(content.len() > 12 << 20);
    std::fs::write(&path, &content).unwrap();
    let (files, slices) = (Memory::new(), Memory::new());
    let stored = put_file(&files, &path).unwrap();
    assert_eq!(stored, digest_slice(&content));
    assert_eq!(put_slice(&slices, &content).unwrap(), stored);
    let held = |store: &Memory| {
        let names = store.list("objects").unwrap();
        assert_eq!(names.len(), 1);
        (names[0].clone(), store.read(&names[0], 1 << 30).unwrap().unwrap())
    };
    let (name, bytes) = held(&files);
    assert!(name.as_str().ends_with(".zst") && bytes.len() < content.len() / 2);
    assert_eq!(held(&slices), (name.clone(), bytes.clone()));
    assert_eq!(read_object(&files, &stored.blake3, stored.size).unwrap().as_deref(), Some(&content[..]));
    assert_eq!(put_file(&files, &path).unwrap(), stored, "it is held already");
    files.publish(&name, &bytes[..bytes.len() / 2]).unwrap();
    assert_eq!(object_state(&files, &stored.blake3, stored.size).unwrap(), ObjectState::Damaged);
    assert_eq!(put_file(&files, &path).unwrap(), stored);
    assert_eq!(held(&files), (name, bytes), "it is healed");
    // Other bytes than were promised are found while they are compressed.
    let other = Memory::new();
    let wrong = put_from(&other, &digest_slice(&content[1..]), || Box::new(&content[..]), "a file");
    assert!(matches!(wrong, Err(StoreError::Changed { name }) if name == "a file"));
    assert!(other.list("objects").unwrap().is_empty());
}

#[test]
fn a_damaged_object_is_seen_and_healed_by_storing_it_again() {
    for_each_store(|kind, store| {
        let stored = put_slice(store, b"evidence").unwrap();
        let at = store.list("objects").unwrap().remove(0);
        store.publish(&at, b"evidenc3").unwrap();
        assert_eq!(object_state(store, &stored.blake3, stored.size).unwrap(), ObjectState::Damaged, "{kind}");
        assert!(matches!(read_object(store, &stored.blake3, stored.size), Err(StoreError::Damaged { .. })), "{kind}");
        put_slice(store, b"evidence").unwrap();
        assert_eq!(object_state(store, &stored.blake3, stored.size).unwrap(), ObjectState::Intact, "{kind}");
    });
}

#[test]
fn a_decompression_bomb_is_cut_off_at_the_stated_size() {
    for_each_store(|kind, store| {
        let stored = put_slice(store, &vec![7u8; 1 << 20]).unwrap();
        let at = store.list("objects").unwrap().remove(0);
        assert!(at.as_str().ends_with(".zst"), "{kind}");
        // The same file under an id that promises 10 bytes: 11 are produced, then it stops.
        let mut produced = Vec::new();
        let mut content = proofmark::store::open_object(store, &stored.blake3, 10).unwrap().unwrap();
        std::io::Read::read_to_end(&mut content, &mut produced).unwrap();
        assert_eq!(produced.len(), 11, "{kind}");
        assert_eq!(object_state(store, &stored.blake3, 10).unwrap(), ObjectState::Damaged, "{kind}");
    });
}

#[test]
fn a_directory_refuses_links_fifos_and_folders_where_files_belong() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("ledger");
    let store = Directory::new(&root);
    store.put(&name("objects/ab/real"), &mut &b"x"[..]).unwrap();
    std::os::unix::fs::symlink("real", root.join("objects/ab/link")).unwrap();
    std::os::unix::fs::symlink("objects", root.join("tile")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(root.join("checkpoint")).status().unwrap();
    assert!(made.success());
    let message = |result: Result<Option<Vec<u8>>, StoreError>| result.unwrap_err().to_string();
    assert_eq!(
        message(store.read(&name("objects/ab/link"), 9)),
        "`objects/ab/link` is a symbolic link, where only a plain file may be"
    );
    assert_eq!(
        message(store.read(&name("tile/ab/real"), 9)),
        "`tile/ab` is a symbolic link, where only a folder may be"
    );
    assert_eq!(message(store.read(&name("checkpoint"), 9)), "`checkpoint` is a FIFO, where only a plain file may be");
    assert_eq!(message(store.read(&name("objects/ab"), 9)), "`objects/ab` is a folder, where only a plain file may be");
    assert!(store.list("").is_err());
}

#[test]
fn a_dead_writer_leaves_no_lock_and_its_leftovers_are_swept() {
    let folder = tempfile::tempdir().unwrap();
    let store = Directory::new(folder.path());
    drop(store.lock().unwrap());
    std::fs::create_dir_all(folder.path().join("staging")).unwrap();
    std::fs::write(folder.path().join("staging/tmp-1-0"), b"left by a killed process").unwrap();
    drop(store.lock().unwrap());
    assert_eq!(store.list("staging").unwrap(), []);
}

#[test]
fn an_open_folder_gives_exactly_the_plain_files_of_the_stated_size() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("ledger");
    let store = Directory::new(&root);
    let digests = put_slice(&store, b"bytes").unwrap();
    let id = digests.blake3;
    let hex = id.to_string();
    let path = root.join("objects").join(&hex[..2]).join(&hex[2..]);
    let mut bytes = b"left over from before".to_vec();
    let shelf = store.shelf(&id).unwrap();
    assert!(shelf.read(&id, 5, &mut bytes));
    assert_eq!(bytes, b"bytes");
    assert!(!shelf.read(&id, 4, &mut bytes) && !shelf.read(&id, 6, &mut bytes));
    // A buffer that is used again is not taken for what was read.
    std::fs::write(&path, b"").unwrap();
    assert!(shelf.read(&id, 0, &mut bytes) && bytes.is_empty());
    assert!(!shelf.read(&id, 5, &mut bytes));
    // A link to the very bytes, a FIFO, a folder, nothing.
    let elsewhere = folder.path().join("elsewhere");
    std::fs::write(&elsewhere, b"bytes").unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(!shelf.read(&id, 5, &mut bytes));
    symlink(&elsewhere, &path).unwrap();
    assert!(!shelf.read(&id, 5, &mut bytes));
    assert!(matches!(read_object(&store, &id, 5), Err(StoreError::NotPlain { .. })));
    std::fs::remove_file(&path).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success() && !shelf.read(&id, 5, &mut bytes) && !shelf.read(&id, 0, &mut bytes));
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    assert!(!shelf.read(&id, 5, &mut bytes));
    // Folders that are links are not opened: neither that of the object nor the one of all.
    std::fs::remove_dir_all(&path).unwrap();
    std::fs::write(&path, b"bytes").unwrap();
    let (shelves, kept) = (root.join("objects"), folder.path().join("kept"));
    std::fs::rename(shelves.join(&hex[..2]), &kept).unwrap();
    symlink(&kept, shelves.join(&hex[..2])).unwrap();
    assert!(store.shelf(&id).is_none());
    assert!(matches!(read_object(&Directory::new(&root), &id, 5), Err(StoreError::NotPlain { .. })));
    std::fs::remove_file(shelves.join(&hex[..2])).unwrap();
    std::fs::rename(&kept, shelves.join(&hex[..2])).unwrap();
    assert!(store.shelf(&id).is_some());
    std::fs::rename(&shelves, &kept).unwrap();
    symlink(&kept, &shelves).unwrap();
    assert!(store.shelf(&id).is_none());
    // Other stores have no folders.
    assert!(Memory::new().shelf(&id).is_none());
}
