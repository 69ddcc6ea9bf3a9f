//! The swift reader gives the strict reader's answers, or none.

use std::sync::LazyLock;

use proofmark::calibrate::{CalibrateError, Format, Profile, Reading, Record, SwiftFormat};
use proofmark::gate::evaluate;
use proofmark::object::{Line, LineReader};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

use super::bristol;

fn corpus() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/gate/corpus.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn bytes_of(case: &Value) -> Vec<u8> {
    if let Some(line) = case["line"].as_str() {
        return line.as_bytes().to_vec();
    }
    let hex = case["hex"].as_str().unwrap().as_bytes();
    hex.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// What the strict reader says about one line, as `Reading` would ask it.
fn strictly(format: &SwiftFormat, line: &[u8]) -> Result<Record, String> {
    let mut reader = LineReader::new("f", line);
    let line = reader.next_line().map_err(|error| error.to_string())?.ok_or("empty")?;
    let line = Line { number: 1, bytes: line.bytes };
    format.strict().read_strictly("f", line).map_err(|error| error.to_string())
}

fn whole(profile: &Profile, text: &[u8], strictly: bool) -> Result<Vec<u8>, String> {
    let reading = if strictly { Reading::strictly(profile) } else { Reading::new(profile) };
    let chain = |error: CalibrateError| error.to_string();
    let reading = reading.read("f", text).map_err(chain)?;
    let report = evaluate(&reading.finish().map_err(chain)?, None).map_err(|error| format!("{error:?}"))?;
    Ok(report.encode().unwrap())
}

#[test]
fn the_hostile_corpus_is_refused_by_both_with_field_and_rule() {
    let (profile, corpus) = (bristol(), corpus());
    let format = SwiftFormat::of(Format::of(profile.terms()));
    let cases = corpus["refused"].as_array().unwrap();
    assert!(cases.len() >= 90, "{}", cases.len());
    for case in cases {
        let line = bytes_of(case);
        assert_eq!(format.read_swiftly(&line), None, "{case}");
        // A good line before: the refusal names the second line, and both ways of reading say the same.
        let good = super::record("m", 0, "train", "1", None);
        let text = [good.as_bytes(), b"\n", &line, b"\n"].concat();
        let (swift, strict) = (whole(&profile, &text, false).unwrap_err(), whole(&profile, &text, true).unwrap_err());
        assert_eq!(swift, strict, "{case}");
        let (field, reason) = (case["field"].as_str().unwrap(), case["reason"].as_str().unwrap());
        let field = if field.is_empty() { String::new() } else { format!("field `{field}`: ") };
        assert!(swift.starts_with(&format!("f:2: {field}{reason}")), "{case}\n{swift}");
    }
}

#[test]
fn what_is_right_is_read_alike_and_swiftly_where_it_should_be() {
    let (profile, corpus) = (bristol(), corpus());
    let format = SwiftFormat::of(Format::of(profile.terms()));
    let cases = corpus["accepted"].as_array().unwrap();
    assert!(cases.len() >= 30, "{}", cases.len());
    for case in cases {
        let line = bytes_of(case);
        let record = strictly(&format, &line).unwrap_or_else(|error| panic!("{case}: {error}"));
        let labels = &profile.terms().labels;
        let said = record
            .prediction
            .as_ref()
            .map(|said| format!("{} at {}", labels[usize::from(said.label)], said.confidence));
        assert_eq!(said.as_deref(), case["prediction"].as_str(), "{case}");
        assert_eq!(Some(record.model.as_str()), case["model"].as_str(), "{case}");
        let swift = format.read_swiftly(&line);
        assert_eq!(swift.is_some(), case["swift"].as_bool().unwrap(), "{case}");
        assert!(swift.is_none_or(|swift| swift == record), "{case}");
    }
}

fn formats() -> &'static [(SwiftFormat, &'static str)] {
    static FORMATS: LazyLock<Vec<(SwiftFormat, &'static str)>> = LazyLock::new(made_formats);
    &FORMATS
}

fn made_formats() -> Vec<(SwiftFormat, &'static str)> {
    let text = r#""truth":{"class":"a b"},"prediction":{"class":"ü","confidence":0.5}}"#;
    let words = Profile::parse(
        r#"{"schema":"profile.v1","name":"words/v1","labelField":"class","labels":["a b","ü","with \" and \\"],"split":
        {"rule":"manifest","subjects":{"cd00000000000001":"validation","e600000000000001":"test"}},"gates":
        [{"metric":"ece","comparator":"<=","limit":0.1}],"minCoverage":0.5,"bins":7,"itemField":"item"}"#
            .as_bytes(),
    );
    vec![
        (
            SwiftFormat::of(Format::of(bristol().terms())),
            r#""truth":{"bristolType":4},"prediction":{"bristolType":7,"confidence":0.93}}"#,
        ),
        (SwiftFormat::of(Format::of(words.unwrap().terms())), text),
    ]
}

fn base_lines(which: usize, tail: &str) -> Vec<String> {
    let item = if which == 1 { r#""item":"i-1","# } else { "" };
    let compact = format!(r#"{{"model":"m","subjectKey":"cd00000000000001","split":"validation",{item}{tail}"#);
    let spaced = compact.replace("\":", "\": ").replace(",\"", ", \"");
    let numbered = compact.replace("\"i-1\"", "17").replace("0.93", "0.29999999999999999");
    let null =
        format!("{}null}}", &compact[..compact.find("{\"bristolType\":7").or(compact.find("{\"class\":\"ü")).unwrap()]);
    vec![compact, spaced, numbered, null]
}

/// One change to a line, of the kinds that find gaps between two readers.
#[derive(Debug, Clone)]
enum Change {
    Replace(Index, u8),
    Insert(Index, Vec<u8>),
    Remove(Index, usize),
    Repeat(Index, Index),
    Swap(Index, Index),
}

fn change() -> impl Strategy<Value = Change> {
    let pieces = prop::sample::select(vec![
        &b" "[..],
        b"\"",
        b"\\",
        b"\\u0061",
        b"0",
        b"9",
        b".",
        b"e1",
        b"-",
        b",",
        b"}",
        b"{",
        b"null",
        b"\xff",
        b"\xc3\xbc",
        b"\n",
        b"\r",
        b"\t",
        b"\0",
        b"\"model\":\"m\",",
        b"true",
        b"1",
        b"E-2",
        b"+",
        b"\xe3\x80\x80",
        b"00000000000000000000",
    ]);
    prop_oneof![
        (
            any::<Index>(),
            prop::sample::select(b"\"\\{}[]:, 0123456789.eE+-abcdefnulltrueABCDEF\x00\x1f\x7f\x80\xff".to_vec())
        )
            .prop_map(|(at, byte)| Change::Replace(at, byte)),
        (any::<Index>(), pieces).prop_map(|(at, piece)| Change::Insert(at, piece.to_vec())),
        (any::<Index>(), 1usize..24).prop_map(|(at, length)| Change::Remove(at, length)),
        (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Change::Repeat(from, to)),
        (any::<Index>(), any::<Index>()).prop_map(|(left, right)| Change::Swap(left, right)),
    ]
}

fn apply(line: &mut Vec<u8>, change: &Change) {
    if line.is_empty() {
        return;
    }
    match change {
        Change::Replace(at, byte) => {
            let at = at.index(line.len());
            line[at] = *byte;
        }
        Change::Insert(at, piece) => {
            let at = at.index(line.len() + 1);
            line.splice(at..at, piece.iter().copied());
        }
        Change::Remove(at, length) => {
            let at = at.index(line.len());
            let end = line.len().min(at + length);
            line.drain(at..end);
        }
        Change::Repeat(from, to) => {
            let (from, to) = (from.index(line.len()), to.index(line.len()));
            let piece = line[from.min(to)..from.max(to)].to_vec();
            line.splice(to..to, piece);
        }
        Change::Swap(left, right) => {
            let (left, right) = (left.index(line.len()), right.index(line.len()));
            line.swap(left, right);
        }
    }
}

#[test]
fn untouched_lines_are_read_swiftly() {
    for (which, (format, tail)) in formats().iter().enumerate() {
        for line in base_lines(which, tail) {
            let swift = format.read_swiftly(line.as_bytes());
            assert_eq!(swift, Some(strictly(format, line.as_bytes()).unwrap()), "{line}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn a_changed_line_gets_the_same_answer(which in 0usize..2, style in 0usize..4, changes in prop::collection::vec(change(), 1..4)) {
        let (format, tail) = &formats()[which];
        let mut line = base_lines(which, tail)[style].clone().into_bytes();
        changes.iter().for_each(|change| apply(&mut line, change));
        if let Some(swift) = format.read_swiftly(&line) {
            prop_assert_eq!(Ok(swift), strictly(format, &line), "{}", String::from_utf8_lossy(&line));
        }
        // And in a file, where the swift reader finds the end of the line itself and knows the model's name already.
        if which == 0 {
            static PROFILE: LazyLock<Profile> = LazyLock::new(bristol);
            let profile = &*PROFILE;
            let (before, after) = (super::record("m", 1, "train", "1", None), super::record("n", 0, "train", "1", None));
            let text = [before.as_bytes(), b"\n", line.as_slice(), b"\n", after.as_bytes()].concat();
            prop_assert_eq!(whole(profile, &text, false), whole(profile, &text, true));
        }
    }
}
