//! Runs that are refused: nothing is scored.

use std::error::Error;
use std::io::{self, Read};

use proofmark::calibrate::{CalibrateError, Reading};
use proofmark::gate::{GateError, evaluate};

use super::{Row, both_splits, bristol, gate, one_split, profile, read, record};

fn refusal(texts: &[&str]) -> String {
    read(&profile("[1,2]", 10, ""), texts).unwrap_err().to_string()
}

const RIGHT: Row<'static> = ("1", Some(("1", "0.9")));

#[test]
fn a_subject_in_two_splits_is_refused_across_models_and_files() {
    let one = record("a", 1, "validation", "1", None);
    let other = record("b", 1, "test", "1", None);
    let refusal = refusal(&[&one, &other]);
    assert!(
        refusal.starts_with("2:1: field `split`: is `test`, but the profile puts the subject 0000000000000001"),
        "{refusal}"
    );
    assert!(refusal.ends_with("one subject cannot be in two splits"), "{refusal}");
}

#[test]
fn a_subject_outside_the_split_rule_is_refused() {
    let text = String::from_utf8(bristol().canonical().to_vec()).unwrap();
    let text = text.replace(r#""below":205,"from":0"#, r#""below":205,"from":1"#);
    let gap = proofmark::calibrate::Profile::parse(text.as_bytes()).unwrap();
    let error = read(&gap, &[&record("m", 1, "train", "1", None)]).unwrap_err().to_string();
    assert_eq!(error, "1:1: field `split`: the profile puts the subject 0000000000000001 in no split");
}

#[test]
fn a_repeated_record_is_refused_naming_both_places() {
    let rows = both_splits("m", &[RIGHT, RIGHT]);
    let again = record("n", 7, "validation", "1", None) + "\n" + &record("m", 2, "validation", "2", None);
    assert_eq!(
        refusal(&[&rows, &again]),
        "2:2: field `subjectKey`: the model already has a record for this subject at 1:2"
    );
    // The same subject under another model is another matter.
    assert!(read(&profile("[1,2]", 10, ""), &[&rows, &both_splits("n", &[RIGHT, RIGHT])]).is_ok());
}

#[test]
fn an_item_id_tells_records_of_one_subject_apart() {
    let items = profile("[1,2]", 10, r#","itemField":"photo""#);
    let with = |key: u64, split: &str, item: &str| {
        record("m", key, split, "1", None).replacen("\"truth\"", &format!("\"photo\":{item},\"truth\""), 1) + "\n"
    };
    let text = with(1, "validation", "\"a\"")
        + &with(1, "validation", "\"b\"")
        + &with(1, "validation", "1")
        + &with(1, "validation", "\"1\"");
    assert!(read(&items, &[&text]).is_ok());
    for again in ["\"a\"", "1", "\"\\u0061\""] {
        let error = read(&items, &[&text, &with(1, "validation", again)]).unwrap_err().to_string();
        assert!(
            error
                .starts_with("2:1: field `subjectKey`: the model already has a record for this subject and item at 1:"),
            "{error}"
        );
    }
    for (item, reason) in [
        ("null", "must be a string or an integer, not null"),
        ("\" \"", "must not be blank"),
        ("1.0", "must be a string or an integer"),
    ] {
        let error = read(&items, &[&with(1, "validation", item)]).unwrap_err().to_string();
        assert!(error.starts_with(&format!("1:1: field `photo`: {reason}")), "{error}");
    }
    let error = read(&items, &[&record("m", 1, "validation", "1", None)]).unwrap_err().to_string();
    assert_eq!(error, "1:1: field `photo`: is missing");
}

#[test]
fn a_candidate_without_validation_or_test_is_named() {
    let made = profile("[1,2]", 10, "");
    for (split, base, missing) in [("validation", 0, "test"), ("test", 0x80 << 56, "validation")] {
        let text = both_splits("good", &[RIGHT]) + &one_split("lacking", split, base, &[RIGHT]);
        let error = evaluate(&read(&made, &[&text]).unwrap(), None).unwrap_err();
        assert!(matches!(&error, GateError::Calibrate(CalibrateError::NoSplit { .. })));
        let said = error.source().unwrap().to_string();
        assert_eq!(said, format!("the candidate `lacking` has no {missing} records, so it cannot be scored honestly"));
    }
}

#[test]
fn nothing_to_score_is_refused() {
    assert_eq!(refusal(&[]), "there are no prediction records");
    assert_eq!(refusal(&["", ""]), "there are no prediction records");
    assert_eq!(refusal(&["\n"]), "1:1: the line is blank");
}

#[test]
fn a_floor_that_the_report_could_not_name_is_refused() {
    let predictions = read(&profile("[1,2]", 10, ""), &[&both_splits("m", &[RIGHT])]).unwrap();
    let floor = "0.30000000000000001".parse().unwrap();
    assert!(matches!(evaluate(&predictions, Some(&floor)), Err(GateError::Floor { .. })));
}

struct Broken(usize);

impl Read for Broken {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Err(io::Error::other("the disk is gone"));
        }
        let line = record("m", 1, "validation", "1", None) + "\n";
        self.0 -= 1;
        buffer[..line.len()].copy_from_slice(line.as_bytes());
        Ok(line.len())
    }
}

#[test]
fn a_read_error_is_not_a_short_file() {
    let made = profile("[1,2]", 10, "");
    let error = Reading::new(&made).read("f", Broken(1)).unwrap_err();
    let CalibrateError::Record(error) = error else { panic!("{error}") };
    assert_eq!(error.source().unwrap().to_string(), "the disk is gone");
}

#[test]
fn more_models_than_a_run_may_compare_are_refused() {
    let made = profile("[1,2]", 10, "");
    let mut text: String = (0..1024).map(|at| record(&format!("m{at}"), 1, "validation", "1", None) + "\n").collect();
    assert!(read(&made, &[&text]).is_ok());
    text.push_str(&record("one more", 1, "validation", "1", None));
    let error = read(&made, &[&text]).unwrap_err().to_string();
    assert_eq!(error, "1:1025: field `model`: more than 1024 models in one run");
}

/// The refusal is the first in the file however the file is cut into pieces for the threads.
#[test]
fn the_first_refusal_of_a_long_file_is_given() {
    let made = profile("[1,2]", 10, "");
    let good: Vec<String> = (0..40_000).map(|at| record("m", at, "validation", "1", Some(("1", "0.5")))).collect();
    for bad in [0usize, 9_999, 25_000, 39_999] {
        let mut lines = good.clone();
        lines[bad] = lines[bad].replace("\"confidence\":0.5", "\"confidence\":1.5");
        if let Some(later) = lines.get_mut(bad + 7) {
            *later = "x".to_owned();
        }
        let error = read(&made, &[&lines.join("\n")]).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("1:{}: field `prediction.confidence`: must be between", bad + 1)),
            "{error}"
        );
    }
    let long = format!("{}\n{}", good[0], "x".repeat((16 << 20) + 1));
    let error = read(&made, &[&long]).unwrap_err().to_string();
    assert_eq!(error, "1:2: the line is longer than 16777216 bytes");
    let report = gate(&made, &[&(good.join("\n") + "\n" + &record("m", 0x80 << 56, "test", "1", None))], "0.5");
    assert_eq!(report.candidates[0].validation.as_ref().unwrap().records, 40_000);
}
