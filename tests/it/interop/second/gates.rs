//! Gate runs: the report byte for byte, whatever the profile, and the same records refused.

use proofmark::calibrate::{Profile, Reading};
use proofmark::gate::{ProfileName, Report, Verdict, evaluate};
use proofmark::ledger::role;
use proofmark::object::ObjectId;
use proofmark::receipt::{Body, CandidateCounts, GateBody};

use super::super::tools::{Tool, ready};
use super::Bench;
use super::records::Dice;
use crate::forge::Forge;

const BY_BYTE: &str = r#""split":{"rule":"first-byte","ranges":[{"split":"train","from":0,"below":60},
{"split":"validation","from":60,"below":150},{"split":"test","from":150,"below":256}]}"#;

/// A profile with these labels, gates and further members.
fn profile(labels: &str, gates: &str, more: &str) -> String {
    format!(
        "{{\"schema\":\"profile.v1\",\"name\":\"p\",\"labelField\":\"kind\",\"labels\":[{labels}],{BY_BYTE},\"gates\":[{gates}],\
         \"minCoverage\":0.5,{more}}}"
    )
}

fn gate(metric: &str, comparator: &str, limit: &str) -> String {
    format!("{{\"metric\":\"{metric}\",\"comparator\":\"{comparator}\",\"limit\":{limit}}}")
}

fn report(profile: &str, files: &[String], floor: &str) -> Option<Report> {
    let profile = Profile::parse(profile.as_bytes()).ok()?;
    let mut reading = Reading::new(&profile);
    for file in files {
        reading = reading.read("p", file.as_bytes()).ok()?;
    }
    evaluate(&reading.finish().ok()?, Some(&floor.parse().unwrap())).ok()
}

/// A ledger with the run; where there is no report, with one that says what another run said.
fn recorded(profile: &str, files: &[String], floor: &str) -> (Forge, bool) {
    let mut forge = Forge::new();
    let found = report(profile, files, floor);
    let body = found.as_ref().map_or_else(of_no_report, GateBody::of);
    let bytes = found.as_ref().map_or_else(|| b"{}".to_vec(), |report| report.encode().unwrap());
    let mut evidence: Vec<_> = files.iter().map(|file| forge.evidence(role::PREDICTIONS, file)).collect();
    evidence.sort();
    evidence.dedup();
    evidence.push(forge.evidence(role::PROFILE, profile));
    evidence.push(forge.evidence(role::REPORT, bytes));
    forge.add(Body::Gate(body), evidence);
    (forge, found.is_some())
}

fn of_no_report() -> GateBody {
    let profile = ProfileName { name: "p".to_owned(), blake3: ObjectId::of(b"") };
    let candidates = CandidateCounts { total: 1, passed: 0 };
    GateBody { verdict: Verdict::Blocked, recommended: None, min_coverage: 0.5, profile, candidates }
}

/// A ledger with a small run.
pub fn small() -> Forge {
    let (labels, gate) = (["1", "2"], gate("macroF1", ">=", "0.3"));
    let profile = profile(&labels.join(","), &gate, "\"bins\":10");
    recorded(&profile, &predictions(&mut Dice::new(3), 2, &labels, false), "0.5").0
}

const CONFIDENCES: [&str; 16] = [
    "0",
    "1",
    "0.1",
    "0.5",
    "0.3",
    "0.30000000000000001",
    "0.29999999999999999",
    "1.0",
    "1e-3",
    "0.70",
    "5e-1",
    "-0.0",
    "0.999999999999999999999",
    "10e-1",
    "0.95",
    "0.7",
];

/// Predictions of some models for some subjects.
fn predictions(dice: &mut Dice, models: usize, labels: &[&str], item: bool) -> Vec<String> {
    let mut files = vec![String::new(), String::new()];
    for subject in 0..30 {
        let byte = subject * 8 + 3;
        let split = ["train", "validation", "test"][usize::from(byte >= 60) + usize::from(byte >= 150)];
        for model in 0..models {
            let truth = labels[dice.roll(labels.len())];
            let said = if dice.roll(3) > 0 { truth } else { labels[dice.roll(labels.len())] };
            let confidence = CONFIDENCES[dice.roll(CONFIDENCES.len())];
            let prediction = match dice.roll(8) {
                0 => "null".to_owned(),
                _ => format!("{{\"kind\":{said},\"confidence\":{confidence}}}"),
            };
            let item =
                if item { format!("\"item\":{},", ["\"a\"", "1", "\"é\""][dice.roll(3)]) } else { String::new() };
            let line = format!(
                "{{\"model\":\"m{model}\",{item}\"subjectKey\":\"{byte:02x}00000000000000\",\"split\":\"{split}\",\
                 \"truth\":{{\"kind\":{truth}}},\"prediction\":{prediction}}}\n"
            );
            files[dice.roll(2)].push_str(&line);
        }
    }
    files
}

#[test]
fn both_compute_the_same_gate_reports() {
    if !ready("the second verifier on gate runs", &[Tool::Python]) {
        return;
    }
    let (mut bench, mut dice, mut reports) = (Bench::new(), Dice::new(9), 0);
    let all = ["macroF1", "precisionAtCoverage", "coverage", "perClass.1.recall", "perClass.2.f1"];
    for run in 0..24 {
        let (labels, text): (&[&str], bool) =
            if run % 3 == 0 { (&["\"1\"", "\"2\"", "\"c.d\""], true) } else { (&["1", "2", "30"], false) };
        let limit = ["0.3", "0.05", "0.9", "1e-7"][dice.roll(4)];
        let mut gates: Vec<_> = all[..1 + dice.roll(5)].iter().map(|metric| gate(metric, ">=", limit)).collect();
        gates.push(gate("ece", "<=", ["0.4", "0.05"][dice.roll(2)]));
        if text {
            gates.push(gate("perClass.c.d.precision", ">=", "0.1"));
        }
        let item = run % 4 == 0;
        let more =
            format!("\"bins\":{}{}", [1, 7, 10][dice.roll(3)], if item { ",\"itemField\":\"item\"" } else { "" });
        let profile = profile(&labels.join(","), &gates.join(","), &more);
        let files = predictions(&mut dice, 1 + run % 3, labels, item);
        let floor = ["0.5", "0", "1", "0.3", "0.99", "0.1234567"][dice.roll(6)];
        let (forge, found) = recorded(&profile, &files, floor);
        reports += usize::from(found);
        bench.forged(&format!("run {run}"), &forge);
    }
    assert!(reports > 20, "{reports}");
    assert_eq!(bench.compare(|_, _| false), 24 - reports);
}

#[test]
fn both_refuse_the_same_profiles_and_predictions() {
    if !ready("the second verifier on odd gate runs", &[Tool::Python]) {
        return;
    }
    let mut bench = Bench::new();
    let good = profile("1,2", &gate("macroF1", ">=", "0.5"), "\"bins\":10");
    let line = |key: &str, split: &str, more: &str| {
        format!(
            "{{\"model\":\"m\",\"subjectKey\":\"{key}\",\"split\":\"{split}\",\"truth\":{{\"kind\":1}},\
             \"prediction\":{{\"kind\":1,\"confidence\":0.5}}{more}}}\n"
        )
    };
    let records = line("4000000000000000", "validation", "")
        + &line("f000000000000000", "test", "")
        + &line("0000000000000000", "train", "");
    bench.forged("an empty file too", &recorded(&good, &[records.clone(), String::new()], "0.5").0);
    let again = [records.clone(), records.lines().next().unwrap().to_owned()];
    bench.forged("a record twice", &recorded(&good, &again, "0.5").0);
    let mut heading = ("", "");
    let mut count = 2;
    for odd in include_str!("odd-gates.txt").lines() {
        let Some(to) = odd.strip_prefix("  ") else {
            heading = odd.split_once(' ').unwrap();
            continue;
        };
        let to = super::receipts::spelled_out(to).replace('¶', "\n");
        let replaced = |text: &str| {
            assert!(text.contains(heading.1), "no {} in {text}", heading.1);
            text.replacen(heading.1, &to, 1)
        };
        let (profile, records) = match heading.0 {
            "profile" => (replaced(&good), records.clone()),
            _ => (good.clone(), replaced(&records)),
        };
        bench.forged(&format!("{} {} -> {to}", heading.0, heading.1), &recorded(&profile, &[records], "0.5").0);
        count += 1;
    }
    let found = bench.compare(|_, _| false);
    assert!(found > 60 && found < count, "{found} of {count}");
}
