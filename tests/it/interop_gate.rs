//! The gate's numbers against scikit-learn and numpy, out of the venv of `tests/interop/install`.

use std::fs;
use std::path::Path;
use std::process::Command;

use proofmark::calibrate::{Profile, Reading};
use proofmark::gate::evaluate;

use crate::interop::tools::{Tool, helper, python, ready, stdout};

/// A small generator (Steele, Lea and Flood 2014, splitmix64): the same sets every time.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// One kind of random set.
struct Kind {
    name: &'static str,
    labels: u64,
    /// Truths are among this many labels, counted from the first.
    present: u64,
    /// Predictions are among this many labels, counted from the last.
    predicted: u64,
    records: u64,
    bins: u32,
    floor: &'static str,
    /// Of a hundred predictions on test, how many are null.
    silent: u64,
    /// A truth whose records are all null on test.
    silent_class: Option<u64>,
    /// What confidences there are; random millionths where there are none.
    confidences: &'static [&'static str],
}

const PLAIN: Kind = Kind {
    name: "seven",
    labels: 7,
    present: 7,
    predicted: 7,
    records: 900,
    bins: 10,
    floor: "0.5",
    silent: 10,
    silent_class: None,
    confidences: &[],
};

const EDGES: &[&str] = &["0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1.0", "0.95", "0.300001"];

const KINDS: [Kind; 11] = [
    PLAIN,
    Kind { name: "fifty", labels: 50, present: 50, predicted: 50, records: 3_000, ..PLAIN },
    Kind { name: "absent-truths", labels: 20, present: 5, predicted: 20, ..PLAIN },
    Kind { name: "absent-predictions", labels: 12, present: 12, predicted: 4, ..PLAIN },
    Kind { name: "disjoint", labels: 8, present: 4, predicted: 4, floor: "0.9", silent: 0, ..PLAIN },
    Kind { name: "silent-class", silent_class: Some(3), ..PLAIN },
    Kind { name: "all-abstained", silent: 100, ..PLAIN },
    Kind { name: "one-class", labels: 1, present: 1, predicted: 1, ..PLAIN },
    Kind { name: "ties", confidences: &["0.5"], ..PLAIN },
    Kind { name: "edges", confidences: EDGES, floor: "0", ..PLAIN },
    Kind { name: "few", records: 3, bins: 7, floor: "0.7", ..PLAIN },
];

fn write_set(folder: &Path, kind: &Kind, seed: u64) {
    let mut dice = Dice(seed);
    let labels: Vec<u64> = (1..=kind.labels).collect();
    let profile = format!(
        r#"{{"schema":"profile.v1","name":"random/v1","labelField":"label","labels":{labels:?},"split":{{"rule":"first-byte","ranges":
        [{{"split":"validation","from":0,"below":128}},{{"split":"test","from":128,"below":256}}]}},"gates":
        [{{"metric":"macroF1","comparator":">=","limit":0.8}}],"minCoverage":{},"bins":{}}}"#,
        kind.floor, kind.bins
    );
    let profile = Profile::parse(profile.as_bytes()).unwrap();
    let mut text = String::new();
    for (split, base) in [("validation", 0), ("test", 1u64 << 63)] {
        for at in 0..kind.records {
            let truth = 1 + dice.below(kind.present);
            let guess = kind.labels - dice.below(kind.predicted);
            let label = if dice.below(3) == 0 || kind.labels - truth >= kind.predicted { guess } else { truth };
            let silent = split == "test" && (dice.below(100) < kind.silent || Some(truth) == kind.silent_class);
            let random = format!("0.{:06}", dice.below(1_000_000));
            let confidence = match kind.confidences {
                [] => random.as_str(),
                some => some[dice.below(some.len() as u64) as usize],
            };
            let said = format!(r#"{{"label":{label},"confidence":{confidence}}}"#);
            let said = if silent { "null" } else { &said };
            let key = base + at;
            text.push_str(&format!(
                r#"{{"model":"m","subjectKey":"{key:016x}","split":"{split}","truth":{{"label":{truth}}},"prediction":{said}}}"#
            ));
            text.push('\n');
        }
    }
    let reading = Reading::new(&profile).read("predictions.jsonl", text.as_bytes()).unwrap();
    let report = evaluate(&reading.finish().unwrap(), None).unwrap();
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("predictions.jsonl"), text).unwrap();
    fs::write(folder.join("profile.json"), profile.canonical()).unwrap();
    fs::write(folder.join("report.json"), report.encode().unwrap()).unwrap();
}

#[test]
fn the_numbers_are_those_of_scikit_learn_and_numpy() {
    if !ready("the gate's numbers under scikit-learn and numpy", &[Tool::Python]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut sets = 0;
    for (number, kind) in (1..).zip(&KINDS) {
        for seed in 1..=4u64 {
            write_set(&folder.path().join(format!("{}-{seed}", kind.name)), kind, number * 1_000 + seed);
            sets += 1;
        }
    }
    let output = stdout(Command::new(python()).arg(helper("gate_sklearn.py")).arg(folder.path()));
    let summary: serde_json::Value = serde_json::from_str(&output).unwrap();
    assert_eq!(summary["sets"], sets);
    assert!(summary["compared"].as_u64().unwrap() > 10_000, "{summary}");
}
