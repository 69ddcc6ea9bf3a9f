//! The properties that the fuzz targets check (`fuzz/properties.rs`), on bytes near enough to the formats to be accepted
//! now and then: the hostile corpus, the fuzzer's kept seeds, and mutations of both.

use std::path::Path;

use proptest::prelude::*;
use proptest::sample::Index;

#[path = "../../fuzz/properties.rs"]
mod properties;

type Property = fn(&[u8]);

/// Each target with the folders whose files are its seeds.
const TARGETS: [(&str, Property, &[&str]); 14] = [
    ("canonical_json", properties::canonical_json, &["card", "questions", "envelope"]),
    ("envelope", properties::envelope, &["envelope"]),
    ("checkpoint", properties::checkpoint, &["checkpoint"]),
    ("dossier", properties::dossier, &[]),
    ("reveal", properties::reveal, &["questions"]),
    ("proof_file", properties::proof_file, &["checkpoint"]),
    ("tile", properties::tile, &["bundle", "tile"]),
    ("questions", properties::questions, &["questions"]),
    ("answers", properties::answers, &["answers"]),
    ("judgements", properties::judgements, &["judgements"]),
    ("leaves", properties::leaves, &["leaves"]),
    ("scorecard", properties::scorecard, &["card"]),
    ("predictions", properties::predictions, &[]),
    ("import", properties::import, &["questions", "card"]),
];

fn files(folder: &Path) -> Vec<Vec<u8>> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

fn seeds(target: &str, folders: &[&str]) -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut seeds = files(&root.join("fuzz/corpus").join(target));
    assert!(!seeds.is_empty(), "fuzz/corpus/{target} holds no seeds");
    seeds.extend(folders.iter().flat_map(|folder| files(&root.join("fixtures/hostile").join(folder))));
    seeds
}

/// One change that a hostile hand might make.
#[derive(Debug, Clone)]
enum Change {
    Flip(Index, u8),
    Cut(Index),
    Delete(Index, u8),
    Insert(Index, Vec<u8>),
    Repeat(Index, u8),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let token = prop_oneof![
        prop::collection::vec(any::<u8>(), 1..4),
        prop::sample::select(vec![
            "1e400",
            "-0.0",
            "9007199254740993",
            "1e20",
            "5e-324",
            "0.1",
            "NaN",
            "[[[[",
            "{\"a\":",
            "\\ud800",
            "\\u0000",
            "\u{feff}",
            "\r\n",
            "\n",
            "\n\n",
            ",",
            "\"",
            "+",
            "x001/",
            ".p/",
            "255",
            "256",
            "=",
            "\u{1c}",
            "null",
            "true",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
    ];
    let change = prop_oneof![
        (any::<Index>(), 1u8..).prop_map(|(at, bits)| Change::Flip(at, bits)),
        any::<Index>().prop_map(Change::Cut),
        (any::<Index>(), any::<u8>()).prop_map(|(at, count)| Change::Delete(at, count)),
        (any::<Index>(), token).prop_map(|(at, bytes)| Change::Insert(at, bytes)),
        (any::<Index>(), any::<u8>()).prop_map(|(at, count)| Change::Repeat(at, count)),
    ];
    prop::collection::vec(change, 0..4)
}

fn changed(mut bytes: Vec<u8>, changes: &[Change]) -> Vec<u8> {
    for change in changes {
        let place = |at: &Index, bytes: &[u8]| at.index(bytes.len() + 1);
        match change {
            Change::Flip(at, bits) if !bytes.is_empty() => {
                let at = at.index(bytes.len());
                bytes[at] ^= bits;
            }
            Change::Flip(..) => {}
            Change::Cut(at) => bytes.truncate(place(at, &bytes)),
            Change::Delete(at, count) => {
                let start = place(at, &bytes);
                let end = bytes.len().min(start + usize::from(*count));
                bytes.drain(start..end);
            }
            Change::Insert(at, more) => {
                let at = place(at, &bytes);
                bytes.splice(at..at, more.iter().copied());
            }
            Change::Repeat(at, count) => {
                let start = place(at, &bytes);
                let more = bytes[start..bytes.len().min(start + usize::from(*count))].to_vec();
                bytes.splice(start..start, more);
            }
        }
    }
    bytes
}

#[test]
fn seeds_keep_the_properties_as_they_stand() {
    let mut count = 0;
    for (target, property, folders) in TARGETS {
        for seed in seeds(target, folders) {
            property(&seed);
            properties::accepted_canonical(&seed);
            count += 1;
        }
    }
    println!("{count} seeds");
}

#[test]
fn whatever_is_accepted_encodes_back_to_itself() {
    for (target, property, folders) in TARGETS {
        let seeds = seeds(target, folders);
        let config = ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() };
        let mut runner = proptest::test_runner::TestRunner::new(config);
        let strategy = (prop::sample::select(seeds), changes());
        let outcome = runner.run(&strategy, |(seed, changes)| {
            property(&changed(seed, &changes));
            Ok(())
        });
        outcome.unwrap_or_else(|error| panic!("{target}: {error}"));
    }
}
