//! `schema/` says what is stored and answered, both ways: samples that must pass and samples that must fail, each of the
//! latter for one fault, which its file name says. Where the program reads such a record itself, it must agree.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use proofmark::abstain::Policy;
use proofmark::calibrate::Profile;
use proofmark::compare::{
    Comparison, Difference, Evidence, PairedQuestion, QuestionChanges, Questions, Round, Sides, UnknownFact,
};
use proofmark::gate;
use proofmark::ledger::{Ledger, LedgerError, Ratchet};
use proofmark::object::{encode, parse};
use proofmark::question::{Answer, Judgement, Question};
use proofmark::receipt::{Receipt, Statement};
use proofmark::scorecard::{DEFAULT_TOLERANCE, Fact, Scorecard};
use proofmark::store::{Memory, Store};
use serde_json::Value;

use crate::cli::sandbox::Sandbox;
use crate::{keys, worked};

/// Records that may hold members which nobody reads (`docs/format.md`, answers); every other object is closed.
const OPEN: [&str; 4] =
    ["answer.v1/receipt", "answer.v1/receipt/spend", "system-answer.v1/receipt", "system-answer.v1/receipt/spend"];

/// What is stored: in these schemas every member is described.
const STORED: [&str; 7] =
    ["envelope.v1", "question.v1", "answer.v1", "judgement.v1", "card.v1", "config.v1", "compare.v1"];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("schema")
}

fn json(path: &Path) -> Value {
    let bytes = fs::read(path).unwrap();
    serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn listed(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .collect();
    found.sort();
    found
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap().to_str().unwrap().to_owned()
}

/// Every schema by its name, as in `question.v1`.
fn schemas() -> BTreeMap<String, Value> {
    let schemas: BTreeMap<_, _> = listed(&folder()).iter().map(|path| (stem(path), json(path))).collect();
    assert!(schemas.len() >= 13);
    schemas
}

fn faults(schema: &Value, instance: &Value) -> Vec<String> {
    let validator = jsonschema::draft202012::new(schema).unwrap_or_else(|error| panic!("{}: {error}", schema["$id"]));
    validator.iter_errors(instance).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// Holds a `--json` document to the schema that it names.
pub fn check(document: &Value) {
    let name = document["schema"].as_str().unwrap_or_else(|| panic!("names no schema: {document}"));
    let schema = json(&folder().join(format!("{name}.json")));
    let found = faults(&schema, document);
    assert!(found.is_empty(), "{name}: {found:#?}\n{document:#}");
}

pub fn check_as(name: &str, document: &Value) {
    let found = faults(&json(&folder().join(format!("{name}.json"))), document);
    assert!(found.is_empty(), "{name}: {found:#?}\n{document:#}");
}

/// Whether the program reads this record; `None` where it only ever writes such records.
fn read(name: &str, bytes: &[u8]) -> Option<Result<(), String>> {
    let canonical = || encode(&serde_json::from_slice::<Value>(bytes).unwrap()).unwrap();
    let record = || parse(bytes).unwrap();
    let said = |error: &dyn std::fmt::Display| error.to_string();
    Some(match name {
        "envelope.v1" => Receipt::parse(&canonical()).map(drop).map_err(|error| said(&error)),
        "question.v1" => Question::parse(&record()).map(drop).map_err(|error| said(&error)),
        "answer.v1" => Answer::parse(&record()).map(drop).map_err(|error| said(&error)),
        "judgement.v1" => Judgement::parse(&record()).map(drop).map_err(|error| said(&error)),
        "card.v1" => Scorecard::from_json(&record()).map(drop).map_err(|error| said(&error)),
        "profile.v1" => Profile::parse(bytes).map(drop).map_err(|error| said(&error)),
        "policy.v1" => Policy::parse(bytes).map(drop).map_err(|error| said(&error)),
        "gate.v1" => gate::Report::parse(&canonical()).map(drop).map_err(|error| said(&error)),
        "config.v1" => open_with(bytes).map_err(|error| said(&error)),
        _ if name.starts_with("statement-") => Statement::parse(&canonical()).map(drop).map_err(|error| said(&error)),
        _ => return None,
    })
}

/// Opens a ledger that has this configuration.
fn open_with(config: &[u8]) -> Result<(), LedgerError> {
    let config: Value = serde_json::from_slice(config).unwrap();
    let memory = Memory::new();
    keys::create(Box::new(memory.clone())).unwrap();
    memory.publish(&"config.toml".parse().unwrap(), toml::to_string(&config).unwrap().as_bytes()).unwrap();
    Ledger::open(Box::new(memory)).map(drop)
}

#[test]
fn samples_pass_and_fail_as_they_must_and_the_program_agrees() {
    let (mut passed, mut failed, mut wrong) = (0, 0, Vec::new());
    for (name, schema) in schemas() {
        let samples = folder().join("samples").join(&name);
        let (pass, fail) = (listed(&samples.join("pass")), listed(&samples.join("fail")));
        assert!(!pass.is_empty() && fail.len() >= 3, "schema/samples/{name}: a pass and three fails at least");
        for path in pass {
            let (found, read) = (faults(&schema, &json(&path)), read(&name, &fs::read(&path).unwrap()));
            if !found.is_empty() || matches!(read, Some(Err(_))) {
                wrong.push(format!("{} must pass: {found:#?}, the program says {read:?}", path.display()));
            }
            passed += 1;
        }
        for path in fail {
            let (found, read) = (faults(&schema, &json(&path)), read(&name, &fs::read(&path).unwrap()));
            if found.len() != 1 || matches!(read, Some(Ok(()))) {
                wrong
                    .push(format!("{} must fail for one fault: {found:#?}, the program says {read:?}", path.display()));
            }
            failed += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!("schemas: {passed} samples passed, {failed} failed as they must");
}

#[test]
fn every_folder_of_samples_belongs_to_a_schema() {
    let schemas = schemas();
    for entry in fs::read_dir(folder().join("samples")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(schemas.contains_key(&name), "schema/samples/{name}: there is no such schema");
    }
}

#[test]
fn schemas_are_closed_described_and_named_after_their_file() {
    for (name, schema) in schemas() {
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "{name}");
        assert_eq!(schema["$id"], format!("urn:x-proofmark:schema:{name}"), "{name}");
        assert!(jsonschema::meta::is_valid(&schema), "{name}");
        let described = schema["description"].is_string();
        let stored = STORED.contains(&name.as_str()) || name.starts_with("statement-");
        assert!(schema["title"].is_string() && (described || !stored), "{name}: a title and a description");
        closed(&name, &schema, described);
        for (definition, body) in schema["$defs"].as_object().into_iter().flatten() {
            closed(&format!("{name}#{definition}"), body, described);
        }
    }
}

/// Every object in it names all its members, and describes each where that is asked for.
fn closed(at: &str, node: &Value, described: bool) {
    if !node.is_object() {
        return;
    }
    if let Some(properties) = node["properties"].as_object() {
        if node.get("type").is_some() {
            assert!(OPEN.contains(&at) || node["additionalProperties"] == false, "{at}: additionalProperties");
        }
        for (member, body) in properties {
            let plain =
                body == false || ["description", "$ref", "const", "enum"].iter().any(|key| body.get(key).is_some());
            assert!(plain || !described, "{at}/{member}: a description");
            closed(&format!("{at}/{member}"), body, described);
        }
    }
    for child in ["items", "then", "else"] {
        closed(at, &node[child], described);
    }
    for list in ["anyOf", "oneOf"] {
        node[list].as_array().into_iter().flatten().for_each(|child| closed(at, child, described));
    }
}

/// A schema stands alone, so shared parts are repeated: they must not drift apart.
#[test]
fn definitions_of_one_name_are_the_same_everywhere() {
    let mut seen: BTreeMap<String, (String, Value)> = BTreeMap::new();
    for (name, schema) in schemas() {
        for (definition, body) in schema["$defs"].as_object().into_iter().flatten() {
            let (first, known) = seen.entry(definition.clone()).or_insert((name.clone(), body.clone()));
            assert_eq!(known, body, "`{definition}` differs between {first} and {name}");
        }
    }
}

#[test]
fn receipts_of_every_kind_validate() {
    let worked = worked::ledger();
    worked.append_decisions(worked.append_gate());
    let mut kinds = Vec::new();
    for receipt in worked.receipts() {
        let kind = receipt.statement().predicate.kind();
        check_as("envelope.v1", &serde_json::from_slice(receipt.bytes()).unwrap());
        check_as(&format!("statement-{kind}.v1"), &serde_json::from_slice(receipt.payload()).unwrap());
        kinds.push(kind);
    }
    assert!(proofmark::receipt::Kind::ALL.iter().all(|kind| kinds.contains(kind)), "{kinds:?}");
}

#[test]
fn records_that_are_written_back_validate() {
    for question in &worked::set() {
        check_as("question.v1", &serde_json::to_value(question.encode()).unwrap());
    }
    check_as("card.v1", &serde_json::to_value(worked::card(0)).unwrap());
    let worked = worked::ledger();
    let text = worked.memory.read(&"config.toml".parse().unwrap(), 1 << 16).unwrap().unwrap();
    let config: toml::Table = std::str::from_utf8(&text).unwrap().parse().unwrap();
    check_as("config.v1", &serde_json::to_value(config).unwrap());
}

fn round(quality: f64, n: u64, id: &str, scorer: Option<&str>) -> Round {
    let scorecard = Scorecard::new(quality, 1.5, 0.5, n, id).unwrap();
    Round { name: "main".to_owned(), receipt: None, scorer: scorer.map(str::to_owned), scorecard }
}

fn compared(base: Round, current: Round, evidence: Evidence<'_>) -> Value {
    let comparison = Comparison::of(base, current, DEFAULT_TOLERANCE, evidence).unwrap();
    serde_json::to_value(comparison).unwrap()
}

#[test]
fn comparisons_validate_whatever_they_find() {
    let (mixle, pm1) = ("a".repeat(64), format!("pm1:{}", "b".repeat(64)));
    let pair = |name, base, current, cluster| PairedQuestion { name, base, current, must_pass: true, cluster };
    let answered = [pair("q1", true, false, Some("x")), pair("q2", true, true, None), pair("q3", false, true, None)];
    let questions = Questions::NotHeld(Sides::Both);
    let evidence = Evidence { questions: &questions, answered: Some(&answered), looks: Some(3), ..Evidence::NONE };
    let judge = Some("substring/v2");
    let document = compared(round(2.0 / 3.0, 3, &pm1, judge), round(2.0 / 3.0, 3, &pm1, judge), evidence);
    assert!(document["statistics"]["clustered"].is_object() && document["flips"]["newlyFailing"][0] == "q1");
    check(&document);
    let one = Evidence { answered: Some(&answered[1..2]), looks: None, ..evidence };
    check(&compared(round(1.0, 1, &pm1, None), round(1.0, 1, &pm1, None), one));

    let names = |count: usize| (1..=count).map(|place| format!("#{place}")).collect::<Vec<_>>();
    let changes = QuestionChanges { added: names(1), removed: names(25), changed: names(2), moved: names(3) };
    let held = Questions::Held(changes);
    let mut kinds = Vec::new();
    for (base, current, questions) in [
        (round(0.5, 2, "", judge), round(0.5, 3, &pm1, judge), &questions),
        (round(0.5, 2, &mixle, judge), round(0.5, 2, &pm1, Some("substring/v3")), &held),
        (round(0.5, 2, &pm1, judge), round(0.5, 2, &mixle, Some("exact/v1")), &questions),
        (round(0.5, 2, &pm1, judge), round(0.5, 2, &pm1.replace('b', "c"), Some("substring/v2?x=1")), &held),
        (
            round(0.5, 2, &pm1, judge),
            round(0.5, 2, &pm1.replace('b', "c"), judge),
            &Questions::Held(QuestionChanges::default()),
        ),
    ] {
        let document = compared(base, current, Evidence { questions, ..Evidence::NONE });
        check(&document);
        let found = document["differences"].as_array().unwrap().iter();
        kinds.extend(found.map(|difference| difference["kind"].as_str().unwrap().to_owned()));
    }
    let unknown =
        [Sides::Base, Sides::Both].map(|side| UnknownFact { field: Fact::Model, side, allowed: side == Sides::Base });
    let (field, base, current) = ("repeats".to_owned(), "1".to_owned(), "3".to_owned());
    let conditions = [Difference::Condition { field, base, current }];
    let evidence = Evidence { unknown: &unknown, conditions: &conditions, ..Evidence::NONE };
    let document = compared(round(0.5, 2, &pm1, judge), round(0.5, 2, &pm1, judge), evidence);
    assert_eq!((&document["comparable"], &document["regressed"]), (&Value::from(false), &Value::from(true)));
    check(&document);
    let found = document["differences"].as_array().unwrap().iter();
    kinds.extend(found.map(|difference| difference["kind"].as_str().unwrap().to_owned()));
    kinds.sort();
    kinds.dedup();
    assert_eq!(kinds.len(), 14, "every kind of difference: {kinds:?}");
}

/// Forks a ledger under a ratchet that saw more than was kept, and returns the evidence of both kinds.
fn forks() -> Vec<Value> {
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (seen, fresh) = (Ratchet::new(folder.path()), Ratchet::new(elsewhere.path()));
    let (kept, grown) = (Memory::new(), Memory::new());
    keys::create(Box::new(kept.clone())).unwrap();
    for (name, bytes) in kept.files() {
        grown.publish(&name, &bytes).unwrap();
    }
    let open = |store: &Memory| Ledger::open(Box::new(store.clone())).unwrap();
    keys::append(&open(&grown), 3, &seen).unwrap();
    let evidence = |error: LedgerError| match error {
        LedgerError::Fork(evidence) => serde_json::to_value(&*evidence).unwrap(),
        other => panic!("{other:?}"),
    };
    let rollback = evidence(keys::append(&open(&kept), 1, &seen).unwrap_err());
    keys::append(&open(&kept), 1, &fresh).unwrap();
    keys::append(&open(&kept), 4, &fresh).unwrap();
    vec![rollback, evidence(keys::append(&open(&kept), 1, &seen).unwrap_err())]
}

#[test]
fn fork_evidence_validates() {
    let forks = forks();
    forks.iter().for_each(check);
    assert_eq!((&forks[0]["kind"], &forks[1]["kind"]), (&Value::from("rollback"), &Value::from("fork")));
    assert!(forks[1]["consistency"].is_array());
}

#[test]
fn what_commands_answer_validates() {
    let sandbox = Sandbox::new();
    sandbox.write("q.jsonl", worked::QUESTIONS);
    let other = worked::QUESTIONS.replace("Paris", "Lyon").replace("sums", "adds");
    sandbox.write("other.jsonl", other);
    sandbox.write("a.jsonl", worked::ANSWERS[0]);
    sandbox.write("b.jsonl", worked::ANSWERS[1]);
    let mut seen = Vec::new();
    for (arguments, exit) in [
        (vec!["compare"], 2),
        (vec!["init", "--person", "tester"], 0),
        (vec!["init"], 0),
        (vec!["append", "--questions", "q.jsonl", "--answers", "a.jsonl"], 0),
        (vec!["append", "--questions", "q.jsonl", "--answers", "b.jsonl"], 0),
        (vec!["compare"], 3),
        (vec!["baseline", "show"], 0),
        (vec!["baseline", "set", "main~1"], 0),
        (vec!["questions", "id", "q.jsonl"], 0),
        (vec!["questions", "id", "q.jsonl", "--scheme", "mixle"], 0),
        (vec!["questions", "diff", "q.jsonl", "other.jsonl"], 3),
        (vec!["questions", "show", "q.jsonl"], 0),
        (vec!["questions", "seal", "q.jsonl", "-o", "sealed.jsonl"], 0),
        (vec!["key", "show"], 0),
        (vec!["key", "export"], 0),
    ] {
        let (code, document) = sandbox.json(&arguments);
        assert_eq!(code, exit, "{arguments:?}: {document:#}");
        check(&document);
        seen.push(document["schema"].as_str().unwrap().to_owned());
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 11, "{seen:?}");
}
