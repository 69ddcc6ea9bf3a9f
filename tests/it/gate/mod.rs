//! The release gate across its modules: reading, thresholds, metrics, verdicts.

mod agreement;
mod example;
mod fixtures;
mod refusals;
mod verdicts;

use proofmark::calibrate::{CalibrateError, Predictions, Profile, Reading};
use proofmark::gate::{Report, evaluate};

/// The built-in profile.
pub fn bristol() -> Profile {
    Profile::built_in("bristol/v1").unwrap()
}

/// A profile for tests: subjects below 0x80 validate, the others test.
pub fn profile(labels: &str, bins: u32, more: &str) -> Profile {
    let text = format!(
        r#"{{"schema":"profile.v1","name":"made/v1","labelField":"bristolType","labels":{labels},"split":{{"rule":"first-byte",
        "ranges":[{{"split":"validation","from":0,"below":128}},{{"split":"test","from":128,"below":256}}]}},"gates":[
        {{"metric":"macroF1","comparator":">=","limit":0.8}},{{"metric":"precisionAtCoverage","comparator":">=","limit":0.9}},
        {{"metric":"ece","comparator":"<=","limit":0.05}}],"minCoverage":0.5,"bins":{bins}{more}}}"#
    );
    Profile::parse(text.as_bytes()).unwrap()
}

/// One record; `prediction` is the label and the confidence as written.
pub fn record(model: &str, key: u64, split: &str, truth: &str, prediction: Option<(&str, &str)>) -> String {
    let prediction = match prediction {
        None => "null".to_owned(),
        Some((label, confidence)) => format!(r#"{{"bristolType":{label},"confidence":{confidence}}}"#),
    };
    format!(
        r#"{{"model":"{model}","subjectKey":"{key:016x}","split":"{split}","truth":{{"bristolType":{truth}}},"prediction":{prediction}}}"#
    )
}

/// A truth, and the label and confidence that were said.
pub type Row<'a> = (&'a str, Option<(&'a str, &'a str)>);

/// Validation and test records of one model under [`profile`], numbered from 1 in each split.
pub fn both_splits(model: &str, rows: &[Row<'_>]) -> String {
    let mut text = String::new();
    for (split, base) in [("validation", 0), ("test", 0x80 << 56)] {
        text.push_str(&one_split(model, split, base, rows));
    }
    text
}

/// Records of one model in one split.
pub fn one_split(model: &str, split: &str, base: u64, rows: &[Row<'_>]) -> String {
    let line = |(at, (truth, prediction)): (u64, &Row<'_>)| record(model, base + at, split, truth, *prediction) + "\n";
    (1..).zip(rows).map(line).collect()
}

/// Reads texts as files `1`, `2` and so on.
pub fn read(profile: &Profile, texts: &[&str]) -> Result<Predictions, CalibrateError> {
    let mut reading = Reading::new(profile);
    for (number, text) in (1..).zip(texts) {
        reading = reading.read(&number.to_string(), text.as_bytes())?;
    }
    reading.finish()
}

/// Reads and evaluates under a coverage floor.
pub fn gate(profile: &Profile, texts: &[&str], floor: &str) -> Report {
    evaluate(&read(profile, texts).unwrap(), Some(&floor.parse().unwrap())).unwrap()
}
