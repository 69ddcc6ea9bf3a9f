//! The Merkle log against other implementations: RFC 6962 proofs, a Tessera log, a C2SP signed note.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proofmark::merkle::{
    Bundle, BundleWriter, Checkpoint, Frontier, MerkleError, Note, TileName, TileReader, TreeHead, VerifierKey,
    empty_root, leaf_hash, partial_tiles, root_of, tiles_between, verify_consistency, verify_inclusion,
};
use proofmark::object::Sha256;
use serde::Deserialize;
use serde::de::DeserializeOwned;

fn vectors(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/vectors").join(folder)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

/// Strict Ed25519, straight from the crate: what `trust` is asked for elsewhere.
fn strict(raw: &[u8; 32], message: &[u8], signature: &[u8; 64]) -> bool {
    let signature = ed25519_dalek::Signature::from_bytes(signature);
    ed25519_dalek::VerifyingKey::from_bytes(raw).is_ok_and(|key| key.verify_strict(message, &signature).is_ok())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct InclusionCase {
    leaf_idx: u64,
    tree_size: u64,
    root: String,
    leaf_hash: String,
    proof: Option<Vec<String>>,
    desc: String,
    want_err: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ConsistencyCase {
    size1: u64,
    size2: u64,
    root1: String,
    root2: String,
    proof: Option<Vec<String>>,
    desc: String,
    want_err: bool,
}

/// A hash; `None` where it has not 32 bytes, which no typed hash can have.
fn hash(text: &str) -> Option<Sha256> {
    STANDARD.decode(text).unwrap().try_into().ok().map(Sha256::from_bytes)
}

fn hashes(proof: Option<&Vec<String>>) -> Option<Vec<Sha256>> {
    proof.into_iter().flatten().map(|text| hash(text)).collect()
}

/// Some cases have roots of other lengths. A stand-in keeps equal ones equal and different ones different.
fn root(text: &str) -> Sha256 {
    hash(text).unwrap_or_else(|| Sha256::of(format!("stand-in for {text}").as_bytes()))
}

/// Runs every case; gives back how many there are, how many were accepted, and how many had an ill-typed hash.
fn run<C: DeserializeOwned>(folder: &str, judge: impl Fn(&C) -> (Option<bool>, bool, String)) -> [usize; 3] {
    let mut counts = [0; 3];
    for file in files(&vectors(folder)) {
        let case: C = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        let (accepted, wanted, description) = judge(&case);
        assert_eq!(accepted.unwrap_or(false), wanted, "{}: {description}", file.display());
        counts[0] += 1;
        counts[1] += usize::from(accepted == Some(true));
        counts[2] += usize::from(accepted.is_none());
    }
    counts
}

#[test]
fn inclusion_proofs_are_accepted_and_refused_as_by_transparency_dev() {
    let counts = run("rfc6962/inclusion", |case: &InclusionCase| {
        let typed = hash(&case.leaf_hash).zip(hashes(case.proof.as_ref()));
        let head = TreeHead { size: case.tree_size, root: root(&case.root) };
        let accepted = typed.map(|(leaf, proof)| verify_inclusion(&leaf, case.leaf_idx, &proof, &head).is_ok());
        (accepted, !case.want_err, case.desc.clone())
    });
    assert_eq!(counts, [98, 6, 21]);
}

#[test]
fn consistency_proofs_are_accepted_and_refused_as_by_transparency_dev() {
    let counts = run("rfc6962/consistency", |case: &ConsistencyCase| {
        let older = TreeHead { size: case.size1, root: root(&case.root1) };
        let newer = TreeHead { size: case.size2, root: root(&case.root2) };
        let accepted = hashes(case.proof.as_ref()).map(|proof| verify_consistency(&older, &newer, &proof).is_ok());
        (accepted, !case.want_err, case.desc.clone())
    });
    assert_eq!(counts, [98, 6, 8]);
}

const TESSERA_KEY: &str = "example.com/log/testdata+33d7b496+AeHTu4Q3hEIMHNqc6fASMsq3rKNx280NI+oO5xCFkkSx";
const TESSERA_SIZE: u64 = 15;

fn tessera(name: &str) -> Vec<u8> {
    fs::read(vectors("checkpoint/tessera").join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn tessera_checkpoint(size: u64) -> Checkpoint {
    let key: VerifierKey = TESSERA_KEY.parse().unwrap();
    Checkpoint::open(&tessera(&format!("checkpoint.{size}")), "example.com/log/testdata", &[key], strict).unwrap()
}

fn tessera_tile(name: TileName) -> Result<Vec<u8>, MerkleError> {
    Ok(tessera(&name.to_string()))
}

fn tessera_leaves() -> Vec<Sha256> {
    let bytes = tessera("tile/entries/000.p/15");
    Bundle::parse(&bytes, 15).unwrap().entries().map(leaf_hash).collect()
}

#[test]
fn every_size_of_the_tessera_log_is_signed_and_follows_from_its_entries() {
    let mut used = vec!["checkpoint".to_owned(), "checkpoint.0".to_owned()];
    assert_eq!(tessera("checkpoint"), tessera("checkpoint.15"));
    assert_eq!(tessera_checkpoint(0).head(), TreeHead { size: 0, root: empty_root() });
    let (mut frontier, mut bundle) = (Frontier::new(), BundleWriter::new());
    for size in 1..=TESSERA_SIZE {
        let file = format!("tile/entries/000.p/{size}");
        let bytes = tessera(&file);
        let entries: Vec<_> = Bundle::parse(&bytes, size as u16).unwrap().entries().collect();
        let never = |name: TileName, _: &[u8]| -> Result<(), MerkleError> { panic!("{name} is not full") };
        frontier.push(leaf_hash(entries[entries.len() - 1]), never).unwrap();
        bundle.push(entries[entries.len() - 1], never).unwrap();

        let checkpoint = tessera_checkpoint(size);
        assert_eq!((checkpoint.size(), checkpoint.extensions().len()), (size, 0));
        assert_eq!(checkpoint.head(), frontier.head());
        let leaves: Vec<_> = entries.iter().map(|entry| leaf_hash(entry)).collect();
        assert_eq!(checkpoint.root(), root_of(&leaves));
        assert_eq!(bundle.partial_bundle(), Some((file.parse().unwrap(), bytes.as_slice())));
        for (name, bytes) in frontier.partial_tiles() {
            assert_eq!(tessera(&name.to_string()), bytes, "{name}");
            used.push(name.to_string());
        }
        assert_eq!(Frontier::load(size, tessera_tile).unwrap(), frontier);
        assert_eq!(BundleWriter::load(size, tessera_tile).unwrap(), bundle);
        used.extend([file, format!("checkpoint.{size}")]);
    }
    let log = vectors("checkpoint/tessera");
    let there: Vec<_> = files(&log).iter().map(|file| file.strip_prefix(&log).unwrap().display().to_string()).collect();
    used.sort();
    assert_eq!((used, there.len()), (there, 47));
}

#[test]
fn every_leaf_of_the_tessera_log_is_proven_at_every_size() {
    let leaves = tessera_leaves();
    for size in 1..=TESSERA_SIZE {
        let head = tessera_checkpoint(size).head();
        let mut tree = TileReader::new(size, tessera_tile).unwrap();
        for (index, leaf) in (0..size).zip(&leaves) {
            let proof = tree.inclusion(index, size).unwrap();
            verify_inclusion(leaf, index, &proof, &head).unwrap();
            for spoiled in spoil(&proof) {
                verify_inclusion(leaf, index, &spoiled, &head).unwrap_err();
            }
            assert_eq!(tree.leaf(index).unwrap(), *leaf);
        }
    }
}

#[test]
fn every_pair_of_sizes_of_the_tessera_log_is_consistent() {
    let heads: Vec<_> = (1..=TESSERA_SIZE).map(|size| tessera_checkpoint(size).head()).collect();
    let mut whole = TileReader::new(TESSERA_SIZE, tessera_tile).unwrap();
    for newer in &heads {
        let mut tree = TileReader::new(newer.size, tessera_tile).unwrap();
        for older in heads.iter().filter(|older| older.size <= newer.size) {
            assert_eq!(whole.root_at(older.size).unwrap(), older.root);
            let proof = tree.consistency(older.size, newer.size).unwrap();
            assert_eq!(whole.consistency(older.size, newer.size).unwrap(), proof);
            verify_consistency(older, newer, &proof).unwrap();
            for spoiled in spoil(&proof) {
                verify_consistency(older, newer, &spoiled).unwrap_err();
            }
        }
    }
}

/// The proof with one hash changed, left out, doubled or added, in every place.
fn spoil(proof: &[Sha256]) -> Vec<Vec<Sha256>> {
    let mut spoiled = Vec::new();
    for place in 0..proof.len() {
        let with = |hashes: &[Sha256]| [&proof[..place], hashes, &proof[place + 1..]].concat();
        let mut flipped = *proof[place].as_bytes();
        flipped[place] ^= 1;
        spoiled.extend([with(&[]), with(&[proof[place]; 2]), with(&[Sha256::from_bytes(flipped)])]);
    }
    spoiled.push([proof, &[empty_root()]].concat());
    spoiled
}

#[test]
fn no_changed_byte_of_a_checkpoint_goes_unnoticed() {
    let key: VerifierKey = TESSERA_KEY.parse().unwrap();
    let bytes = tessera("checkpoint");
    for place in 0..bytes.len() {
        for bit in [1, 4, 128] {
            let mut changed = bytes.clone();
            changed[place] ^= bit;
            let opened = Checkpoint::open(&changed, "example.com/log/testdata", std::slice::from_ref(&key), strict);
            opened.expect_err("a changed checkpoint");
        }
        Note::parse(&bytes[..place]).expect_err("a cut checkpoint");
    }
    let other = Checkpoint::open(&bytes, "example.com/log", &[key], strict).unwrap_err();
    assert!(matches!(other, MerkleError::OtherLog { .. }), "{other}");
}

#[test]
fn the_signed_note_example_verifies() {
    let bytes = fs::read(vectors("checkpoint/note_example.txt")).unwrap();
    let text = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k";
    let key: VerifierKey = text.parse().unwrap();
    assert_eq!((key.name(), key.key_hash(), key.to_string()), ("example.com/foo", 0x530d_903a, text.to_owned()));
    let note = Note::parse(&bytes).unwrap();
    assert_eq!(note.text(), "This is an example message.\n");
    assert_eq!(note.encode(), bytes);
    let keys = [TESSERA_KEY.parse().unwrap(), key.clone()];
    assert_eq!(note.verify(&keys, strict).unwrap(), [&key]);
    assert_eq!(note.verify(&keys[..1], strict), Err(MerkleError::NoKnownSignature));
    let said: Result<Checkpoint, _> = note.text().parse();
    assert_eq!(said, Err(MerkleError::Checkpoint { reason: "it has fewer than three lines" }));
}

/// The worked example of tlog-tiles: what a tree of 70,000 leaves and one of 256 consist of.
#[test]
fn tiles_are_counted_as_the_specification_counts_them() {
    let mut counted: BTreeMap<_, usize> = BTreeMap::new();
    for name in tiles_between(0, 70_000) {
        *counted.entry((name.level(), name.width())).or_default() += 1;
    }
    let expected = [((0, 112), 1), ((0, 256), 273), ((1, 17), 1), ((1, 256), 1), ((2, 1), 1)];
    assert_eq!(counted, expected.map(|((level, width), count)| ((Some(level), width), count)).into());
    let names: Vec<_> = tiles_between(0, 256).map(|name| name.to_string()).collect();
    assert_eq!(names, ["tile/0/000", "tile/1/000.p/1"]);
    let names: Vec<_> = partial_tiles(70_000).map(|name| name.to_string()).collect();
    assert_eq!(names, ["tile/0/273.p/112", "tile/1/001.p/17", "tile/2/000.p/1"]);
}
