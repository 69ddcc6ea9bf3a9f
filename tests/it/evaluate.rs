//! Runs over systems of this process: mixle's own figures, and that neither order nor concurrency changes a card.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use proofmark::evaluate::{
    Asked, Budget, Fault, Journal, JournalHeader, Outcome, Plan, Run, Seat, Seed, Step, Stop, System,
};
use proofmark::object::{Json, ObjectId, parse};
use proofmark::question::{Answers, QuestionSet, Scheme};
use proofmark::score::Scorer;
use proofmark::scorecard::{Scorecard, judge_round};
use serde_json::Value;

/// A system that knows the answer to each text.
struct Knows {
    answers: HashMap<String, Value>,
    asked: Mutex<Vec<String>>,
}

struct Place<'a>(&'a Knows);

impl System for Knows {
    fn seat(&self) -> Box<dyn Seat + '_> {
        Box::new(Place(self))
    }

    fn reserve(&self) -> Option<f64> {
        None
    }

    fn lost_calls(&self) -> f64 {
        0.0
    }
}

impl Seat for Place<'_> {
    fn ask(&mut self, asked: &Asked<'_>) -> Step {
        let text = format!("{:?}", asked.question.query());
        self.0.asked.lock().unwrap().push(text.clone());
        let answer = &self.0.answers[&text];
        let receipt = parse(answer["receipt"].to_string().as_bytes()).unwrap();
        let reply = answer["reply"].as_str().map(str::to_owned);
        Step::Done(
            Outcome::answered(reply, receipt)
                .unwrap_or_else(|error| Outcome::failed(Fault::Malformed, error.to_string(), 0.0)),
        )
    }

    fn finish(&mut self) -> Option<Outcome> {
        None
    }
}

/// Asks a system everything; the card of its only round.
fn card(set: &QuestionSet, system: &Knows, concurrency: usize, seed: u8) -> Scorecard {
    let folder = tempfile::tempdir().unwrap();
    let header = JournalHeader { run: ObjectId::of(b"run"), rounds: 1, questions: set.len() };
    let path = folder.path().join("journal");
    let (journal, plan, kept) = Journal::open(&path, &header, Seed::from_bytes([seed; 32]), false).unwrap();
    let stop = Stop::new(Arc::new(AtomicBool::new(false)), None);
    let budget = Budget::new(None, 0.0);
    let run = Run { questions: set, plan: &plan, system, concurrency, budget: &budget, journal: &journal, stop: &stop };
    let mut told = 0;
    let rounds = run.ask_all(kept, &mut || told += 1).unwrap();
    assert_eq!((told, rounds.len(), rounds[0].len()), (set.len(), 1, set.len()));
    let mut text = Vec::new();
    for outcome in &rounds[0] {
        serde_json::to_writer(&mut text, &outcome.record(None)).unwrap();
        text.push(b'\n');
    }
    let answers = Answers::parse("answers", text.as_slice()).unwrap();
    judge_round(set, answers, &Scorer::parse("substring/v2").unwrap(), Scheme::Mixle).unwrap().card
}

#[test]
fn a_run_gives_the_cards_that_mixle_gives() {
    let text = include_str!("../../fixtures/vectors/mixle_evaluate.json");
    // The strict reader keeps integers and decimals apart, on which mixle's identity depends.
    let Json::Object(document) = parse(text.as_bytes()).unwrap() else { panic!("an object") };
    let Some(Json::Array(cases)) = document.iter().find(|(name, _)| name == "cases").map(|(_, value)| value) else {
        panic!("cases")
    };
    let loose: Value = serde_json::from_str(text).unwrap();
    let mut checked = 0;
    for (at, case) in cases.iter().enumerate() {
        let Json::Object(members) = case else { panic!("an object") };
        let Json::Array(pairs) = &members.iter().find(|(name, _)| name == "pairs").unwrap().1 else { panic!("pairs") };
        // A set without questions is none here.
        if pairs.is_empty() {
            continue;
        }
        let lines: Vec<_> = pairs.iter().map(|pair| serde_json::to_string(pair).unwrap()).collect();
        let set = QuestionSet::parse("q", lines.join("\n").as_bytes()).unwrap();
        let mut answers = HashMap::new();
        for (question, answer) in set.iter().zip(loose["cases"][at]["answers"].as_array().unwrap()) {
            answers.insert(format!("{:?}", question.query()), answer.clone());
        }
        // Questions are told apart by their query here.
        if answers.len() < set.len() {
            continue;
        }
        let system = Knows { answers, asked: Mutex::default() };
        let expected = &loose["cases"][at]["scorecard"];
        let expected = Scorecard::from_json(&parse(expected.to_string().as_bytes()).unwrap()).unwrap();
        for concurrency in [1, 4] {
            assert_eq!(card(&set, &system, concurrency, 7), expected, "case {at}");
        }
        checked += 1;
    }
    assert!(checked >= 20, "{checked} of {}", cases.len());
}

#[test]
fn neither_order_nor_concurrency_changes_a_card() {
    let lines: String = (0..300).map(|i| format!("{{\"question\":\"{i}\",\"expected\":\"{}\"}}\n", i % 7)).collect();
    let set = QuestionSet::parse("q", lines.as_bytes()).unwrap();
    let answer = |i: usize| {
        let spend = serde_json::json!({"frontier_calls": i as f64 * 0.1});
        serde_json::json!({"reply": (i % 5).to_string(), "receipt": {"status": "answered", "spend": spend}})
    };
    let key = |i: usize| format!("{:?}", set.questions()[i].query());
    let answers = (0..300).map(|i| (key(i), answer(i))).collect();
    let system = Knows { answers, asked: Mutex::default() };
    let first = card(&set, &system, 1, 1);
    for (concurrency, seed) in [(1, 2), (8, 1), (64, 3), (1000, 4)] {
        assert_eq!(card(&set, &system, concurrency, seed), first);
    }
    let asked = system.asked.lock().unwrap();
    assert_eq!(asked.len(), 5 * 300);
    assert_ne!(asked[..300], asked[300..600]);
}

#[test]
fn a_run_that_is_stopped_before_it_begins_asks_nobody() {
    let set = QuestionSet::parse("q", br#"{"question":"a","expected":"b"}"#.as_slice()).unwrap();
    let system = Knows { answers: HashMap::new(), asked: Mutex::default() };
    let folder = tempfile::tempdir().unwrap();
    let header = JournalHeader { run: ObjectId::of(b"run"), rounds: 1, questions: 1 };
    let path = folder.path().join("journal");
    let (journal, plan, kept) = Journal::open(&path, &header, Seed::from_bytes([1; 32]), false).unwrap();
    let flag = Arc::new(AtomicBool::new(false));
    flag.store(true, Ordering::Relaxed);
    let (stop, budget) = (Stop::new(flag, None), Budget::new(None, 0.0));
    let run = Run {
        questions: &set,
        plan: &plan,
        system: &system,
        concurrency: 1,
        budget: &budget,
        journal: &journal,
        stop: &stop,
    };
    let error = run.ask_all(kept, &mut || {}).unwrap_err().to_string();
    assert_eq!(error, "interrupted: 0 of 1 answers are kept, and nothing was appended");
    assert!(system.asked.lock().unwrap().is_empty());
    let _: &Plan = &plan;
}
