//! Nothing that changes a claim passes: a small ledger is changed in every way that fits into a test, and `verify` says no.
//!
//! Survivors, by name: `config.toml` (decides nothing but the format), `.gitignore`, `lock`, `index.sqlite*` and `staging/`
//! (local to a machine, not part of a published ledger), and a superseded partial tile or bundle that is *absent* (writers
//! remove them). The lock is left out here: without it less is known.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};

use proofmark::ledger::{Draft, Ledger, LogSigner, Ratchet};
use proofmark::merkle::{Bundle, Checkpoint, Note};
use proofmark::object::ReceiptId;
use proofmark::receipt::Receipt;
use proofmark::store::{Directory, Exclusive, Name, Store, StoreError};
use proofmark::trust::SecretKey;
use proofmark::verify::{Options, VerifyError, verify};
use rayon::prelude::*;

use crate::forge::{Forge, first_trust, name, note};
use crate::forger;
use crate::keys::{ORIGIN, create, log, person};

type Files = BTreeMap<Name, Vec<u8>>;

/// Files with new content, or without any.
type Changes = BTreeMap<Name, Option<Vec<u8>>>;

/// Changes and what they are called.
type Try = (String, Changes);

/// A ledger with some of its files changed. Writing to it, or locking it, is a fault of the test's subject.
struct Changed<'a> {
    files: &'a Files,
    changes: Changes,
}

impl Changed<'_> {
    fn bytes(&self, name: &Name) -> Option<&Vec<u8>> {
        self.changes.get(name).map_or_else(|| self.files.get(name), Option::as_ref)
    }
}

impl Store for Changed<'_> {
    fn put(&self, name: &Name, _: &mut dyn Read) -> Result<(), StoreError> {
        panic!("an audit writes {name}")
    }

    fn promote(&self, from: &Name, _: &Name) -> Result<(), StoreError> {
        panic!("an audit moves {from}")
    }

    fn publish(&self, name: &Name, _: &[u8]) -> Result<(), StoreError> {
        panic!("an audit writes {name}")
    }

    fn settle(&self, _: &[Name]) -> Result<(), StoreError> {
        panic!("an audit settles")
    }

    fn open(&self, name: &Name) -> Result<Option<Box<dyn Read + Send>>, StoreError> {
        Ok(self.bytes(name).map(|bytes| Box::new(Cursor::new(bytes.clone())) as _))
    }

    fn size(&self, name: &Name) -> Result<Option<u64>, StoreError> {
        Ok(self.bytes(name).map(|bytes| bytes.len() as u64))
    }

    fn list(&self, folder: &str) -> Result<Vec<Name>, StoreError> {
        let below = |name: &Name| {
            let rest = name.as_str().strip_prefix(folder);
            folder.is_empty() || rest.is_some_and(|rest| rest.starts_with('/'))
        };
        let names = self.files.keys().chain(self.changes.keys()).filter(|name| below(name));
        let mut names: Vec<_> = names.filter(|name| self.bytes(name).is_some()).cloned().collect();
        names.sort();
        names.dedup();
        Ok(names)
    }

    fn remove(&self, name: &Name) -> Result<(), StoreError> {
        panic!("an audit removes {name}")
    }

    fn lock(&self) -> Result<Box<dyn Exclusive + '_>, StoreError> {
        panic!("an audit locks")
    }

    fn cell(&self) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(None)
    }
}

/// The ledger as the library writes it: receipt 0, three rounds, a comparison and a baseline, in three commits.
struct Subject {
    files: Files,
    forge: Forge,
    replay: bool,
    tried: u64,
    caught: u64,
    survivors: Vec<String>,
}

fn draft(entry: &[u8]) -> Draft {
    let statement = Receipt::parse(entry).unwrap().statement().clone();
    let predicate = statement.predicate;
    Draft {
        subject: statement.subject,
        evidence: predicate.evidence,
        note: predicate.note,
        recorded_at: predicate.recorded_at,
        tool: predicate.tool,
        body: predicate.body,
    }
}

impl Subject {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("ledger");
        let ledger: Ledger = create(Box::new(Directory::new(&root))).unwrap();
        let mut forge = Forge::empty();
        forge.raw(&ledger.snapshot().unwrap().entry(0).unwrap());
        let (first, second) = (forge.round(&[]), forge.round(&[1]));
        forge.round(&[1, 3]);
        forge.compare(first, second);
        forge.baseline(first);
        let store = Directory::new(&root);
        for (name, bytes) in forge.objects.files() {
            store.put(&name, &mut bytes.as_slice()).unwrap();
        }
        let (secret, ratchet) = (log(), Ratchet::new(folder.path().join("seen")));
        let signer = LogSigner::new(ORIGIN, &secret).unwrap();
        for commit in [1..4, 4..5, 5..6] {
            let drafts = forge.entries[commit].iter().map(|entry| Ok(draft(entry)));
            ledger.append(drafts.collect::<Vec<_>>(), &person(), &signer, &ratchet).unwrap();
        }
        let names = store.list("").unwrap().into_iter().filter(|name| name.as_str() != "lock");
        let files = names.map(|name| (name.clone(), store.read(&name, u64::MAX).unwrap().unwrap())).collect();
        Self { files, forge, replay: true, tried: 0, caught: 0, survivors: Vec::new() }
    }

    /// A ledger with two trust statements, a gate run, a waiver, sign-offs, a withdrawal and release decisions.
    fn decided() -> Self {
        let forge = forger::whole_story().story.forge;
        Self { files: forge.write().files(), forge, replay: false, tried: 0, caught: 0, survivors: Vec::new() }
    }

    /// The ledger that stands in the repository.
    fn example() -> Self {
        let store = Directory::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.ledger-example"));
        // Its lock is local to whoever opened it, and its index is derived.
        let local = |name: &Name| name.as_str() == "lock" || name.as_str().starts_with("index.sqlite");
        let names = store.list("").unwrap().into_iter().filter(|name| !local(name));
        let read = |name: Name| (name.clone(), store.read(&name, u64::MAX).unwrap().unwrap());
        let files: Files = names.map(read).collect();
        let (newest, bundle) = files.iter().rfind(|(name, _)| name.as_str().starts_with("tile/entries/")).unwrap();
        let width = newest.split().1.parse().unwrap();
        let mut forge = Forge::empty();
        Bundle::parse(bundle, width).unwrap().entries().for_each(|entry| {
            forge.raw(entry);
        });
        Self { files, forge, replay: false, tried: 0, caught: 0, survivors: Vec::new() }
    }

    /// Whether verification says no to these changes.
    fn is_caught(&self, changes: Changes) -> bool {
        let options = Options { only: None, replay: self.replay, pin: Some(self.forge.genesis()) };
        match verify(&Changed { files: &self.files, changes }, &options, &mut |_, _| {}) {
            Ok(report) => !report.is_clean(),
            Err(VerifyError::Format { .. } | VerifyError::Absent) => true,
            Err(error) => panic!("{error:?}"),
        }
    }

    /// Tries changes in parallel; those that pass are remembered by name.
    fn try_all(&mut self, tries: Vec<Try>) {
        let survived: Vec<String> = tries
            .par_iter()
            .filter(|(_, changes)| changes.iter().any(|(name, new)| self.files.get(name) != new.as_ref()))
            .filter_map(|(what, changes)| (!self.is_caught(changes.clone())).then(|| what.clone()))
            .collect();
        self.tried += tries.len() as u64;
        self.caught += (tries.len() - survived.len()) as u64;
        self.survivors.extend(survived);
    }

    fn one(&self, name: &Name, what: &str, new: Option<Vec<u8>>) -> Try {
        (format!("{name}: {what}"), BTreeMap::from([(name.clone(), new)]))
    }

    /// Prints the outcome and requires that exactly these passed.
    fn close(&self, what: &str, allowed: impl Fn(&str) -> bool) {
        println!("{what}: {} tried, {} caught, {} allowed to pass", self.tried, self.caught, self.survivors.len());
        let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for survivor in &self.survivors {
            by_reason.entry(reason(survivor)).or_default().push(survivor);
        }
        for (reason, survivors) in by_reason {
            println!("  allowed, for {reason}: {}", survivors.join(", "));
        }
        let passed: Vec<_> = self.survivors.iter().filter(|survivor| !allowed(survivor)).collect();
        assert!(passed.is_empty(), "{what}: passed unseen: {passed:?}");
        assert!(self.tried > 0 && self.caught > 0);
    }
}

/// Why a change may pass.
fn reason(survivor: &str) -> &'static str {
    match survivor {
        readme if readme.starts_with("README.md: ") => "it is a word to readers and no part of a ledger",
        ignored if ignored.starts_with(".gitignore: ") => "it is a note to git and no part of what is published",
        config if config.starts_with("config.toml: ") => {
            "it says the format, which is this one, and defaults of commands"
        }
        last if last.starts_with("log key: without ") => {
            "with the log's key an earlier ledger can be signed: copies, witnesses and the ratchet tell"
        }
        deleted if deleted.ends_with(": deleted") => "writers remove superseded files themselves",
        _ => "no reason",
    }
}

/// Files that decide nothing.
fn decides_nothing(survivor: &str) -> bool {
    survivor.starts_with("config.toml: ") || survivor.starts_with(".gitignore: ")
}

#[test]
fn the_untouched_ledger_passes() {
    let subject = Subject::new();
    assert!(!subject.is_caught(BTreeMap::new()));
    let superseded: Vec<_> = subject.files.keys().filter(|name| name.as_str().contains(".p/5")).collect();
    assert_eq!(superseded.len(), 2, "there are older partial tiles to tamper with");
}

#[test]
fn every_byte_of_every_file_counts() {
    // Without replay fewer things are looked at, and it is quicker: what is caught so is caught with it.
    let mut subject = Subject { replay: false, ..Subject::new() };
    let mut tries = Vec::new();
    for (name, bytes) in &subject.files {
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << (at % 8);
            tries.push(subject.one(name, &format!("bit {} of byte {at}", at % 8), Some(changed)));
        }
    }
    subject.try_all(tries);
    subject.close("one bit in every byte", decides_nothing);
}

#[test]
fn every_file_of_the_example_counts() {
    let mut subject = Subject::example();
    assert!(!subject.is_caught(BTreeMap::new()));
    let newest = subject.files.keys().rfind(|name| name.as_str().starts_with("tile/entries/")).unwrap().to_string();
    let mut tries = Vec::new();
    for (name, bytes) in &subject.files {
        // Every byte of checkpoint and tiles, every third of the receipts; of what repeats them, and of objects, whose every
        // byte is in one digest, fewer: the small ledger is tried byte by byte.
        let step = match name.as_str() {
            object if object.starts_with("objects/") => 16,
            bundle if bundle.starts_with("tile/entries/") => {
                if bundle == newest {
                    3
                } else {
                    11
                }
            }
            _ => 1,
        };
        for at in (0..bytes.len()).step_by(step) {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << (at % 8);
            tries.push(subject.one(name, &format!("bit {} of byte {at}", at % 8), Some(changed)));
        }
        if !name.as_str().starts_with("tile/") {
            tries.push(subject.one(name, "deleted", None));
        }
    }
    subject.try_all(tries);
    subject.close("one bit of .ledger-example", |survivor| {
        decides_nothing(survivor) || survivor.starts_with("README.md: ")
    });
}

#[test]
fn every_receipt_and_file_of_a_ledger_with_gates_and_signoffs_counts() {
    let mut subject = Subject::decided();
    assert!(!subject.is_caught(BTreeMap::new()));
    let mut tries = Vec::new();
    for (name, bytes) in &subject.files {
        // Of evidence, whose every byte is in one digest, some bytes; of receipts every eleventh: the small ledger is tried
        // byte by byte.
        let step = match name.as_str() {
            object if object.starts_with("objects/") => bytes.len().div_ceil(16),
            bundle if bundle.starts_with("tile/entries/") => 11,
            _ => 1,
        };
        for at in (0..bytes.len()).step_by(step) {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << (at % 8);
            tries.push(subject.one(name, &format!("bit {} of byte {at}", at % 8), Some(changed)));
        }
        tries.push(subject.one(name, "deleted", None));
        tries.push(subject.one(name, "emptied", Some(Vec::new())));
        tries.push(subject.one(name, "cut", Some(bytes[..bytes.len() - 1].to_vec())));
        for (other, theirs) in subject.files.iter().filter(|(other, _)| *other != name) {
            tries.push(subject.one(name, &format!("replaced by {other}"), Some(theirs.clone())));
        }
    }
    let old = subject.files[&name("checkpoint")].clone();
    for (what, entries) in rearranged(&subject.forge.entries).into_iter().chain(swapped(&subject.forge.entries)) {
        let forge = Forge { entries, ..Forge::empty() };
        tries.push((format!("{what}, old checkpoint"), rewritten(&subject, &forge, old.clone())));
        tries.push((format!("log key: {what}"), rewritten(&subject, &forge, forge.note(&log()))));
    }
    // Single files of the ledger as it once was.
    for size in 1..subject.forge.entries.len() {
        let older = Forge { entries: subject.forge.entries[..size].to_vec(), ..Forge::empty() }.write().files();
        for file in subject.files.keys().filter(|name| name.as_str().starts_with("tile/")) {
            let (stem, _) = file.as_str().split_once(".p/").unwrap();
            let (_, bytes) = older.iter().find(|(name, _)| name.as_str().starts_with(stem)).unwrap();
            tries.push(subject.one(file, &format!("as of {size}"), Some(bytes.clone())));
        }
        tries.push(subject.one(&name("checkpoint"), &format!("as of {size}"), older.get(&name("checkpoint")).cloned()));
    }
    subject.try_all(tries);
    // With the log key an earlier ledger can be signed: against this there are the ratchet, witnesses and copies.
    let last = format!("log key: without {}", subject.forge.entries.len() - 1);
    subject.close("a ledger with gates and sign-offs", |survivor| {
        decides_nothing(survivor) && !survivor.contains("config.toml: replaced") || survivor == last
    });
}

#[test]
fn random_bits_and_bytes_count() {
    let mut subject = Subject::new();
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let names: Vec<Name> =
        subject.files.keys().filter(|name| !decides_nothing(&format!("{name}: "))).cloned().collect();
    let mut tries = Vec::new();
    for _ in 0..600 {
        let name = &names[random(names.len())];
        let mut bytes = subject.files[name].clone();
        let what = match random(4) {
            0 => {
                let at = random(bytes.len());
                bytes[at] ^= 1 << random(8);
                format!("bit in {at}")
            }
            1 => {
                let at = random(bytes.len());
                bytes.remove(at);
                format!("without {at}")
            }
            2 => {
                let at = random(bytes.len() + 1);
                bytes.insert(at, random(256) as u8);
                format!("more at {at}")
            }
            _ => {
                let (from, to) = (random(bytes.len()), random(bytes.len()));
                bytes.swap(from, to);
                format!("{from} and {to} swapped")
            }
        };
        tries.push(subject.one(name, &what, Some(bytes)));
    }
    let unchanged = |(_, changes): &Try| changes.iter().all(|(name, new)| subject.files.get(name) == new.as_ref());
    tries.retain(|one| !unchanged(one));
    subject.try_all(tries);
    subject.close("random changes", |_| false);
}

#[test]
fn every_file_deleted_cut_emptied_extended_and_swapped_counts() {
    let mut subject = Subject::new();
    let mut tries = Vec::new();
    for (name, bytes) in &subject.files {
        tries.push(subject.one(name, "deleted", None));
        tries.push(subject.one(name, "emptied", Some(Vec::new())));
        tries.push(subject.one(name, "extended", Some([bytes.as_slice(), b"\0"].concat())));
        tries.push(subject.one(name, "doubled", Some([bytes.as_slice(), bytes].concat())));
        for cut in [1, bytes.len() / 2, bytes.len() - 1] {
            tries.push(subject.one(name, &format!("cut by {cut}"), Some(bytes[..bytes.len() - cut].to_vec())));
        }
        for (other, theirs) in subject.files.range(name.clone()..).skip(1) {
            let changes = [(name.clone(), Some(theirs.clone())), (other.clone(), Some(bytes.clone()))];
            tries.push((format!("{name}: swapped with {other}"), BTreeMap::from(changes)));
            let replaced = [(name.clone(), Some(theirs.clone()))];
            tries.push((format!("{name}: replaced by {other}"), BTreeMap::from(replaced)));
        }
    }
    subject.try_all(tries);
    let superseded = ["tile/0/000.p/5: deleted", "tile/entries/000.p/5: deleted"];
    subject.close("whole files", |survivor| {
        superseded.contains(&survivor)
            || (decides_nothing(survivor)
                && !survivor.contains("swapped with")
                && !survivor.contains("config.toml: replaced"))
            || survivor == ".gitignore: replaced by config.toml"
    });
}

/// The changes that make the ledger one of these entries, with a checkpoint that is made by `sign`.
fn rewritten(subject: &Subject, forge: &Forge, checkpoint: Vec<u8>) -> Changes {
    let mut changes: Changes = BTreeMap::new();
    for name in subject.files.keys().filter(|name| name.as_str().starts_with("tile/")) {
        changes.insert(name.clone(), None);
    }
    let written = proofmark::store::Memory::new();
    forge.write_tree(&written);
    written.files().into_iter().for_each(|(name, bytes)| drop(changes.insert(name, Some(bytes))));
    forge.objects.files().into_iter().for_each(|(name, bytes)| drop(changes.insert(name, Some(bytes))));
    changes.insert(name("checkpoint"), Some(checkpoint));
    changes
}

/// Dropped, doubled and reordered entries.
pub fn rearranged(entries: &[Vec<u8>]) -> Vec<(String, Vec<Vec<u8>>)> {
    let mut found = Vec::new();
    for at in 0..entries.len() {
        let mut dropped = entries.to_vec();
        dropped.remove(at);
        found.push((format!("without {at}"), dropped));
        let mut doubled = entries.to_vec();
        doubled.insert(at, entries[at].clone());
        found.push((format!("{at} twice"), doubled));
        for other in at + 1..entries.len() {
            let mut swapped = entries.to_vec();
            swapped.swap(at, other);
            found.push((format!("{at} and {other} swapped"), swapped));
        }
    }
    found
}

/// Receipts that have each other's signatures.
pub fn swapped(entries: &[Vec<u8>]) -> Vec<(String, Vec<Vec<u8>>)> {
    let signature = |entry: &[u8]| {
        let text = String::from_utf8(entry.to_vec()).unwrap();
        let start = text.find("\"sig\":\"").unwrap() + 7;
        let length = text[start..].find('"').unwrap();
        text[start..start + length].to_owned()
    };
    let mut found = Vec::new();
    for at in 0..entries.len() {
        for other in at + 1..entries.len() {
            let (one, two) = (signature(&entries[at]), signature(&entries[other]));
            let mut changed = entries.to_vec();
            for (place, old, new) in [(at, &one, &two), (other, &two, &one)] {
                let text = String::from_utf8(changed[place].clone()).unwrap();
                assert_eq!(text.matches(old.as_str()).count(), 1);
                changed[place] = text.replace(old, new).into_bytes();
            }
            found.push((format!("signatures of {at} and {other} swapped"), changed));
        }
    }
    found
}

#[test]
fn entries_dropped_doubled_and_reordered_count() {
    let mut subject = Subject::new();
    let old = subject.files[&name("checkpoint")].clone();
    let mut tries = Vec::new();
    for (what, entries) in rearranged(&subject.forge.entries) {
        let forge = Forge { entries, ..Forge::empty() };
        // Without the log key: the old checkpoint, the old signature under the new text, a stranger's signature.
        tries.push((format!("{what}, old checkpoint"), rewritten(&subject, &forge, old.clone())));
        let text = Checkpoint::new(ORIGIN, forge.head()).unwrap().to_string();
        let note = Note::parse(&old).unwrap().encode();
        let signatures = String::from_utf8(note).unwrap().split_once("\n\n").unwrap().1.to_owned();
        let pasted = format!("{text}\n{signatures}").into_bytes();
        tries.push((format!("{what}, old signature"), rewritten(&subject, &forge, pasted)));
        let stranger = forge.note(&SecretKey::generate([5; 32]));
        tries.push((format!("{what}, another key"), rewritten(&subject, &forge, stranger)));
        // With the log key, but not the persons': every receipt states its place, so only the last can be left out. That is
        // an earlier ledger, and against this there are the ratchet, witnesses and copies.
        tries.push((format!("log key: {what}"), rewritten(&subject, &forge, forge.note(&log()))));
    }
    subject.try_all(tries);
    subject.close("entries rearranged", |survivor| survivor == "log key: without 5");
}

#[test]
fn a_ledger_signed_anew_is_another_ledger() {
    for subject in [Subject::new(), Subject::decided()] {
        signed_anew(subject);
    }
}

fn signed_anew(mut subject: Subject) {
    let stranger = SecretKey::generate([5; 32]);
    let mut tries = Vec::new();
    let same = Forge { entries: subject.forge.entries.clone(), ..Forge::empty() };
    tries.push(("the log under another key".to_owned(), rewritten(&subject, &same, same.note(&stranger))));

    // A whole new ledger, everything in order, by a stranger: only the pin tells.
    let log_key = proofmark::merkle::VerifierKey::new(ORIGIN, *proofmark::trust::Signer::public(&log()).raw()).unwrap();
    let log_key = proofmark::trust::LogKey { origin: ORIGIN.to_owned(), key: log_key.to_string() };
    let trust =
        proofmark::trust::Statement::first("tester", *proofmark::trust::Signer::public(&stranger), log_key).unwrap();
    let mut theirs = Forge::with_trust(trust, &stranger);
    let (body, evidence) = theirs.honest(&[]);
    theirs.sign(theirs.trust(), proofmark::receipt::Body::Scorecard(body), evidence, &stranger);
    tries.push(("everything under other keys".to_owned(), rewritten(&subject, &theirs, theirs.note(&log()))));
    let mut ours = Forge::with_trust(first_trust(), &person());
    ours.round(&[]);
    tries.push(("another receipt 0".to_owned(), rewritten(&subject, &ours, ours.note(&log()))));

    // Each receipt signed anew by a stranger, in their own name and in the person's, with the genuine log key.
    for at in 0..subject.forge.entries.len() {
        let receipt = Receipt::parse(&subject.forge.entries[at]).unwrap();
        let statement = receipt.statement().clone();
        let theirs = Receipt::sign(statement, &stranger).unwrap();
        let own_name = proofmark::trust::Signer::public(&stranger).fingerprint();
        let our_name =
            String::from_utf8(theirs.bytes().to_vec()).unwrap().replace(own_name.as_str(), receipt.key().as_str());
        for (what, entry) in [("own", theirs.bytes().to_vec()), ("our", our_name.into_bytes())] {
            let mut entries = subject.forge.entries.clone();
            entries[at] = entry;
            let forge = Forge { entries, ..Forge::empty() };
            tries.push((format!("{at} in {what} name"), rewritten(&subject, &forge, forge.note(&log()))));
        }
    }
    subject.try_all(tries);
    subject.close("signed anew", |_| false);
}

#[test]
fn an_older_checkpoint_beside_newer_files_counts() {
    let mut subject = Subject::new();
    let mut tries = Vec::new();
    for size in 1..6 {
        let older = Forge { entries: subject.forge.entries[..size].to_vec(), ..Forge::empty() };
        let checkpoint = note(&Checkpoint::new(ORIGIN, older.head()).unwrap(), &log());
        tries.push((format!("checkpoint of {size}"), BTreeMap::from([(name("checkpoint"), Some(checkpoint))])));
    }
    subject.try_all(tries);
    subject.close("older checkpoints", |_| false);
    assert_ne!(subject.forge.genesis(), ReceiptId::of(b""));
}
