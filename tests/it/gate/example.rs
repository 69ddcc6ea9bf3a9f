//! The example in `docs/gate.md`, computed again from the page itself.

use serde_json::Value;

use super::{bristol, gate};

const PAGE: &str = include_str!("../../../docs/gate.md");

fn block(kind: &str) -> &'static str {
    let (_, rest) = PAGE.split_once(&format!("```{kind}\n")).unwrap();
    rest.split_once("```").unwrap().0
}

/// The value at a path written with points; labels and cells have none in them.
fn at<'a>(report: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(&report["candidates"][0], |value, step| match step.parse::<usize>() {
        Ok(position) if value.is_array() => &value[position],
        _ => &value[step],
    })
}

#[test]
fn the_example_on_the_page_is_what_the_gate_computes() {
    let records = block("jsonl");
    assert_eq!(records.lines().count(), 12);
    let report = gate(&bristol(), &[records], "0.5");
    let json: Value = serde_json::from_slice(&report.encode().unwrap()).unwrap();
    let expected: Vec<_> = block("text").lines().collect();
    assert!(expected.len() >= 20);
    for line in expected {
        let (path, fraction) = line.split_once(" = ").unwrap();
        let (numerator, denominator) = fraction.split_once('/').unwrap();
        let wanted = numerator.parse::<f64>().unwrap() / denominator.parse::<f64>().unwrap();
        assert_eq!(at(&json, path).as_f64(), Some(wanted), "{path}");
    }
    assert_eq!(json["verdict"], "BLOCKED");
    assert_eq!(json["candidates"][0]["test"]["excludedClasses"], serde_json::json!([4, 5, 6, 7]));
    assert!(report.candidates[0].gates.iter().all(|gate| !gate.passed));
}

#[test]
fn the_page_names_every_finding() {
    let codes = [
        "not-a-number",
        "limit-out-of-range",
        "gate-never-fails",
        "gate-hardly-passes",
        "gate-direction",
        "gates-contradict",
        "no-gates",
        "duplicate-gate",
        "impossible-class",
        "ambiguous-label",
        "mixed-labels",
        "duplicate-label",
        "no-labels",
        "one-label",
        "empty-range",
        "overlapping-ranges",
        "unreachable-split",
        "range-gap",
        "floor-zero",
        "floor-one",
        "no-bins",
        "one-bin",
        "no-quality-accepted",
        "duplicate-quality",
        "blank-quality",
        "no-quality-poor",
        "poor-accepted",
        "blank-copy",
    ];
    let sources = [include_str!("../../../src/calibrate/lint.rs"), include_str!("../../../src/abstain/lint.rs")];
    for code in codes {
        assert!(PAGE.contains(&format!("`{code}`")), "{code} is not on the page");
        assert!(sources.iter().any(|source| source.contains(&format!("\"{code}\""))), "{code} is not in the code");
    }
    let quoted = |source: &str| -> usize {
        let shipped = source.split("#[cfg(test)]").next().unwrap_or_default();
        let words = shipped.split('"').skip(1).step_by(2).map(str::to_owned);
        let found: std::collections::BTreeSet<_> = words.filter(|word| codes.contains(&word.as_str())).collect();
        found.len()
    };
    let shared = ["limit-out-of-range"].len();
    assert_eq!(sources.map(quoted).iter().sum::<usize>() - shared, codes.len());
}
