//! `detect_regression` against what mixle's own implementation reports, word for word.

use std::path::Path;

use proofmark::object::{Fields, Json, encode, parse};
use proofmark::scorecard::{RegressionReport, Scorecard, Tolerance, detect_regression};

pub(crate) fn fixture(name: &str) -> Json {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name);
    let text = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub(crate) fn items(value: &Json) -> &[Json] {
    let Json::Array(items) = value else { panic!("an array, not {}", value.kind()) };
    items
}

fn tolerance(value: &Json) -> Tolerance {
    match value {
        Json::Null => Tolerance::default(),
        Json::Float(value) => Tolerance::new(*value).unwrap(),
        other => panic!("a tolerance, not {}", other.kind()),
    }
}

#[test]
fn every_report_of_mixle_is_reproduced_word_for_word() {
    let vectors = fixture("vectors/mixle_regression.json");
    let cases = items(Fields::of("", &vectors).unwrap().required("cases").unwrap());
    assert_eq!(cases.len(), 100);
    for (index, case) in cases.iter().enumerate() {
        let mut case = Fields::of("", case).unwrap();
        let baseline = Scorecard::from_json(case.required("baseline").unwrap()).unwrap();
        let current = Scorecard::from_json(case.required("current").unwrap()).unwrap();
        let tolerance = tolerance(case.required("tolerance").unwrap());
        let expected = encode(case.required("report").unwrap()).unwrap();
        let report = detect_regression(&baseline, &current, tolerance);
        // The same bytes: the same members and nothing beside them.
        let found = encode(&report).unwrap();
        assert_eq!(String::from_utf8_lossy(&found), String::from_utf8_lossy(&expected), "case {index}");
        assert_eq!(serde_json::from_slice::<RegressionReport>(&expected).unwrap(), report, "case {index}");
    }
}

#[test]
fn a_card_survives_the_way_into_json_and_back_bit_for_bit() {
    let vectors = fixture("vectors/mixle_regression.json");
    for case in items(Fields::of("", &vectors).unwrap().required("cases").unwrap()) {
        let card = Scorecard::from_json(Fields::of("", case).unwrap().required("baseline").unwrap()).unwrap();
        let bytes = encode(&card).unwrap();
        assert_eq!(Scorecard::from_json(&parse(&bytes).unwrap()).unwrap(), card);
        assert_eq!(serde_json::from_slice::<Scorecard>(&bytes).unwrap(), card);
    }
}

/// Reasons print costs with three decimals, as Python's `:.3f` does: the exact binary value, ties to even, never an exponent.
#[test]
fn numbers_in_reasons_print_as_python_prints_them() {
    let vectors = fixture("vectors/python_fixed3.json");
    let mut printed = 0;
    for pair in items(&vectors) {
        let [Json::String(bits), Json::String(expected)] = items(pair) else { panic!("bits and text") };
        let value = f64::from_bits(u64::from_str_radix(bits, 16).unwrap());
        let baseline = Scorecard::new(1.0, value, 1.0, 1, "set").unwrap();
        let dearer = Scorecard::new(1.0, f64::MAX, 1.0, 1, "set").unwrap();
        if value == f64::MAX {
            continue;
        }
        let report = detect_regression(&baseline, &dearer, Tolerance::new(0.0).unwrap());
        assert_eq!(report.reasons, [format!("realized_cost increased: {expected} -> {:.3}", f64::MAX)], "{value:e}");
        printed += 1;
    }
    assert!(printed > 200);
}
