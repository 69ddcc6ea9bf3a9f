//! Thresholds, metrics and verdicts.

use proofmark::calibrate::{Decimal, Profile};
use proofmark::gate::{Report, Verdict};
use proptest::prelude::*;

use super::{Row, both_splits, gate, one_split, profile, read};

const RIGHT: Row<'static> = ("1", Some(("1", "0.9")));
const WRONG: Row<'static> = ("1", Some(("2", "0.9")));
const SILENT: Row<'static> = ("1", None);

fn made() -> Profile {
    profile("[1,2,3]", 10, "")
}

fn threshold(rows: &[Row<'_>], floor: &str) -> Option<String> {
    gate(&made(), &[&both_splits("m", rows)], floor).candidates[0].threshold_as_written.clone()
}

#[test]
fn the_known_calibration_error() {
    let text = one_split("m", "validation", 0, &[RIGHT])
        + &one_split("m", "test", 0x80 << 56, &[("1", Some(("1", "0.95"))), ("1", Some(("2", "1.0")))]);
    let report = gate(&made(), &[&text], "0.5");
    let test = report.candidates[0].test.as_ref().unwrap();
    assert_eq!(test.ece, Some(0.475));
    assert_eq!((test.bins[9].count, test.bins[9].lower, test.bins[9].upper), (2, 0.9, 1.0));
    assert_eq!(test.bins[9].mean_confidence, Some(0.975));
}

#[test]
fn confidences_on_an_edge_fall_in_the_upper_bin() {
    let confidences = ["0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9"];
    let rows: Vec<Row<'_>> = confidences.iter().map(|at| ("1", Some(("1", *at)))).collect();
    let counts = |rows: &[Row<'_>]| -> Vec<u64> {
        let report = gate(&made(), &[&both_splits("m", rows)], "1");
        report.candidates[0].test.as_ref().unwrap().bins.iter().map(|bin| bin.count).collect()
    };
    assert_eq!(counts(&rows), [1; 10]);
    // Just below as written, though the nearest doubles are the edges.
    let below: Vec<Row<'_>> = vec![
        ("1", Some(("1", "0.29999999999999999"))),
        ("1", Some(("1", "0.59999999999999999999999999"))),
        ("1", Some(("1", "6.99999999999999999999e-1"))),
        ("1", Some(("1", "1.0"))),
    ];
    assert_eq!(counts(&below), [0, 0, 1, 0, 0, 1, 1, 0, 0, 1]);
}

#[test]
fn the_best_precision_wins_and_a_tie_goes_to_the_wider_coverage() {
    // 0.9: 1/1 · 0.8: 2/2 · 0.7: 2/3 · 0.6: 3/4 · 0.5: 3/5 · and one silent
    let rows: Vec<Row<'_>> = vec![
        ("1", Some(("1", "0.9"))),
        ("2", Some(("2", "0.8"))),
        ("3", Some(("1", "0.7"))),
        ("1", Some(("1", "0.6"))),
        ("2", Some(("1", "0.5"))),
        SILENT,
    ];
    assert_eq!(threshold(&rows, "0").as_deref(), Some("0.8"));
    assert_eq!(threshold(&rows, "0.5").as_deref(), Some("0.6"));
    assert_eq!(threshold(&rows, "0.8").as_deref(), Some("0.5"));
    assert_eq!(threshold(&rows, "0.84"), None);
    // 1/2, 1/3 and 2/4: the first and the last tie.
    let ties: Vec<Row<'_>> = vec![
        ("1", Some(("1", "0.9"))),
        ("1", Some(("2", "0.8"))),
        ("1", Some(("2", "0.7"))),
        ("1", Some(("1", "0.6"))),
    ];
    assert_eq!(threshold(&ties, "0.5").as_deref(), Some("0.6"));
}

#[test]
fn equal_confidences_are_one_cut_however_they_are_written() {
    let rows: Vec<Row<'_>> =
        vec![("1", Some(("1", "0.5"))), ("1", Some(("2", "5e-1"))), ("1", Some(("1", "0.50000000000000000000000")))];
    let report = gate(&made(), &[&both_splits("m", &rows)], "0.1");
    let validation = report.candidates[0].validation.as_ref().unwrap();
    assert_eq!((validation.accepted, validation.correct), (3, 2));
}

#[test]
fn a_threshold_is_chosen_on_validation_only_and_scored_on_test_only() {
    let text = one_split("m", "validation", 0, &[RIGHT, ("1", Some(("1", "0.6")))])
        + &one_split("m", "test", 0x80 << 56, &[WRONG, ("1", Some(("2", "0.6"))), ("1", Some(("1", "0.95")))]);
    let report = gate(&made(), &[&text], "0.5");
    let candidate = &report.candidates[0];
    assert_eq!(candidate.threshold, Some(0.6));
    assert_eq!(candidate.validation.as_ref().unwrap().precision_at_coverage, Some(1.0));
    assert_eq!(candidate.test.as_ref().unwrap().precision_at_coverage, Some(1.0 / 3.0));
    assert_eq!(candidate.gates[1].value, Some(1.0 / 3.0));
}

#[test]
fn a_floor_that_no_cut_clears_blocks_with_that_reason() {
    let report = gate(&made(), &[&both_splits("m", &[RIGHT, SILENT, SILENT])], "0.5");
    let candidate = &report.candidates[0];
    assert_eq!(report.verdict, Verdict::Blocked);
    assert_eq!((candidate.threshold, &candidate.validation, &candidate.test), (None, &None, &None));
    assert!(candidate.gates.iter().all(|gate| !gate.passed && gate.value.is_none()));
    assert_eq!(
        candidate.reasons,
        ["no threshold clears the coverage floor 0.5 on validation: the widest accepts 1 of 3"]
    );
    let silent = gate(&made(), &[&both_splits("m", &[SILENT, SILENT])], "0");
    assert_eq!(silent.candidates[0].reasons, ["there is no suggestion among the 2 validation records"]);
    assert_eq!(Report::parse(&silent.encode().unwrap()).unwrap(), silent);
}

#[test]
fn nothing_accepted_on_test_fails_every_gate_with_a_null() {
    let text = one_split("m", "validation", 0, &[RIGHT])
        + &one_split("m", "test", 0x80 << 56, &[("1", Some(("1", "0.8"))), SILENT]);
    let report = gate(&made(), &[&text], "0.5");
    let candidate = &report.candidates[0];
    let test = candidate.test.as_ref().unwrap();
    assert_eq!((test.records, test.accepted, test.coverage), (2, 0, Some(0.0)));
    assert_eq!((test.macro_f1, test.precision_at_coverage, test.ece), (None, None, None));
    assert_eq!((test.abstentions.no_suggestion, test.abstentions.low_confidence), (1, 1));
    assert_eq!(test.excluded_classes.len(), 3);
    assert!(candidate.gates.iter().all(|gate| !gate.passed && gate.value.is_none()));
    assert_eq!(candidate.reasons.len(), 4);
    assert_eq!(candidate.reasons[0], "macroF1 has no value on test, so it is not >= 0.8");
    assert_eq!(candidate.reasons[3], "nothing is accepted on test at the threshold 0.9");
    let json = String::from_utf8(report.encode().unwrap()).unwrap();
    assert!(json.contains(r#""metric":"ece","passed":false,"value":null"#), "{json}");
}

/// Even gates that can never fail do not let a candidate pass that accepts nothing.
#[test]
fn nothing_accepted_is_never_go() {
    let text = String::from_utf8(made().canonical().to_vec()).unwrap();
    let start = text.find("\"gates\":").unwrap();
    let end = text.find(",\"labelField\"").unwrap();
    let gates = r#""gates":[{"metric":"coverage","comparator":">=","limit":0}]"#;
    let lenient = Profile::parse(format!("{}{gates}{}", &text[..start], &text[end..]).as_bytes()).unwrap();
    let text = one_split("m", "validation", 0, &[RIGHT]) + &one_split("m", "test", 0x80 << 56, &[SILENT]);
    let report = gate(&lenient, &[&text], "0.5");
    assert_eq!(report.verdict, Verdict::Blocked);
    assert!(report.candidates[0].gates[0].passed && !report.candidates[0].passed);
}

#[test]
fn limits_are_inclusive_and_compared_exactly() {
    // 9 of 10 right, all of class 1 and in bin [0.9, 1] at 0.9: precision 0.9, ECE 0.
    let mut rows = vec![RIGHT; 9];
    rows.push(WRONG);
    let report = gate(&made(), &[&both_splits("m", &rows)], "1");
    let gates = &report.candidates[0].gates;
    assert_eq!((gates[1].value, gates[1].passed), (Some(0.9), true));
    assert_eq!((gates[2].value, gates[2].passed), (Some(0.0), true));
    // ECE |19 - 20 x 0.9| / 20 = 0.05 exactly.
    let mut rows = vec![RIGHT; 19];
    rows.push(WRONG);
    let gates = &gate(&made(), &[&both_splits("m", &rows)], "1").candidates[0].gates;
    assert_eq!((gates[2].value, gates[2].passed), (Some(0.05), true));
}

#[test]
fn undefined_class_values_are_null_and_absent_classes_are_excluded() {
    let rows: Vec<Row<'_>> = vec![RIGHT, ("1", Some(("2", "0.9")))];
    let report = gate(&made(), &[&both_splits("m", &rows)], "1");
    let test = report.candidates[0].test.as_ref().unwrap();
    let class = |label: &str| {
        let class = &test.per_class[label];
        (class.precision, class.recall, class.f1, class.support, class.predicted)
    };
    assert_eq!(class("1"), (Some(1.0), Some(0.5), Some(2.0 / 3.0), 2, 1));
    assert_eq!(class("2"), (Some(0.0), None, Some(0.0), 0, 1));
    assert_eq!(class("3"), (None, None, None, 0, 0));
    assert_eq!(test.macro_f1, Some(2.0 / 3.0));
    assert_eq!(serde_json::to_string(&test.excluded_classes).unwrap(), "[2,3]");
    assert_eq!(
        test.confusion.iter().map(|(cell, count)| format!("{cell} {count}")).collect::<Vec<_>>(),
        ["1->1 1", "1->2 1"]
    );
}

#[test]
fn the_best_macro_f1_then_precision_then_name_is_recommended() {
    let good = ("2", Some(("2", "0.99")));
    let perfect = vec![("1", Some(("1", "0.99"))), good, good, good, good];
    let text = both_splits("b", &perfect) + &both_splits("c", &perfect) + &both_splits("a", &[WRONG]);
    let report = gate(&made(), &[&text], "0.5");
    assert_eq!((report.verdict, report.recommended.as_deref()), (Verdict::Go, Some("b")));
    let names: Vec<_> = report.candidates.iter().map(|candidate| candidate.model.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
}

#[test]
fn the_digest_of_subjects_tells_whether_two_candidates_were_asked_the_same() {
    let text = both_splits("a", &[RIGHT, SILENT])
        + &both_splits("b", &[WRONG, RIGHT])
        + &both_splits("c", &[RIGHT, ("2", None)]);
    let report = gate(&made(), &[&text], "0.5");
    let digest = |model: &str| report.candidate(model).unwrap().subjects;
    assert_eq!(digest("a"), digest("b"));
    assert_ne!(digest("a"), digest("c"));
    let predictions = read(&made(), &[&text]).unwrap();
    let candidates = predictions.candidates().unwrap();
    assert_eq!(candidates[0].subjects().len(), 4);
    assert_eq!(candidates[0].subjects_digest(), digest("a"));
}

#[test]
fn a_gate_on_one_class_holds_that_class() {
    let text = String::from_utf8(made().canonical().to_vec()).unwrap();
    let gate_text = r#""metric":"ece""#;
    assert!(text.contains(gate_text));
    let text = text.replace(
        r#""comparator":"<=","limit":0.05,"metric":"ece""#,
        r#""comparator":">=","limit":0.5,"metric":"perClass.1.recall""#,
    );
    let classy = Profile::parse(text.as_bytes()).unwrap();
    let report = gate(&classy, &[&both_splits("m", &[RIGHT, WRONG])], "1");
    let held = &report.candidates[0].gates[2];
    assert_eq!((held.metric.to_string().as_str(), held.value, held.passed), ("perClass.1.recall", Some(0.5), true));
}

/// The threshold by trying every cut, in fractions.
fn by_trying(rows: &[(u8, Option<(u8, String)>)], floor: (u64, u64)) -> Option<(String, u64, u64)> {
    let decimal = |text: &str| text.parse::<Decimal>().unwrap();
    let mut best: Option<(Decimal, u64, u64)> = None;
    for (_, said) in rows {
        let Some((_, cut)) = said else { continue };
        let cut = decimal(cut);
        let accepted: Vec<_> =
            rows.iter().filter(|(_, said)| said.as_ref().is_some_and(|(_, at)| decimal(at) >= cut)).collect();
        let right =
            accepted.iter().filter(|(truth, said)| said.as_ref().is_some_and(|(label, _)| label == truth)).count()
                as u64;
        let all = accepted.len() as u64;
        let clears = all * floor.1 >= floor.0 * rows.len() as u64;
        let better =
            best.as_ref().is_none_or(|(_, other_all, other)| (right * other_all, all) > (other * all, *other_all));
        if clears && better {
            best = Some((cut, all, right));
        }
    }
    best.map(|(cut, all, right)| (cut.to_string(), all, right))
}

fn rows() -> impl Strategy<Value = Vec<(u8, Option<(u8, String)>)>> {
    let confidence = prop_oneof![
        prop::sample::select(vec!["0.3", "0.6", "0.7", "1", "0", "0.30000000000000001", "0.299999999999999999999"])
            .prop_map(str::to_owned),
        "0\\.[0-9]{1,2}",
        "0\\.[0-9]{1,25}",
    ];
    prop::collection::vec((1u8..4, prop::option::weighted(0.9, (1u8..4, confidence))), 1..40)
}

fn lines(rows: &[(u8, Option<(u8, String)>)]) -> Vec<String> {
    let mut found = Vec::new();
    for (at, (truth, said)) in rows.iter().enumerate() {
        let label = said.as_ref().map(|(label, _)| label.to_string());
        let said = label.as_deref().zip(said.as_ref().map(|(_, confidence)| confidence.as_str()));
        for (split, base) in [("validation", 0u64), ("test", 0x80 << 56)] {
            found.push(super::record("m", base + at as u64, split, &truth.to_string(), said));
        }
    }
    found
}

proptest! {
    #[test]
    fn the_threshold_is_the_one_found_by_trying_every_cut(rows in rows(), tenths in 0u64..=10) {
        let report = gate(&made(), &[&lines(&rows).join("\n")], &(tenths as f64 / 10.0).to_string());
        let candidate = &report.candidates[0];
        let found = candidate.validation.as_ref().map(|scores| {
            (candidate.threshold_as_written.clone().unwrap(), scores.accepted, scores.correct)
        });
        prop_assert_eq!(found, by_trying(&rows, (tenths, 10)));
    }

    #[test]
    fn neither_the_order_nor_the_files_change_a_byte(rows in rows(), cut in any::<prop::sample::Index>(), shuffled in any::<u64>()) {
        let mut lines = lines(&rows);
        let whole = gate(&made(), &[&lines.join("\n")], "0.5").encode().unwrap();
        lines.sort_by_key(|line| proofmark::object::ObjectId::of(format!("{shuffled}{line}").as_bytes()));
        let (one, other) = lines.split_at(cut.index(lines.len()));
        let split = gate(&made(), &[&one.join("\n"), &other.join("\n")], "0.5").encode().unwrap();
        prop_assert_eq!(&whole, &split);
        let report = Report::parse(&whole).unwrap();
        prop_assert_eq!(report.encode().unwrap(), whole);
    }
}
