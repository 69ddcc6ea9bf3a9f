//! Scorecards of recorded answers against what mixle's `evaluate` gives, bit for bit.

use proofmark::object::{Fields, Json};
use proofmark::scorecard::{Judged, Scorecard, evaluate};

use crate::conformance_regression::{fixture, items};

/// The judgement mixle's default scorer makes on these vectors, kept apart from the scorers of the library: what is tested
/// here is the counting. Python's `strip` and `lower` are Rust's `trim` and `to_lowercase` for every text in the vectors.
fn contains(reply: Option<&str>, expected: &str) -> bool {
    reply.is_some_and(|reply| reply.trim().to_lowercase().contains(&expected.trim().to_lowercase()))
}

fn text(value: &Json) -> Option<&str> {
    match value {
        Json::String(text) => Some(text),
        Json::Null => None,
        other => panic!("a string or null, not {}", other.kind()),
    }
}

fn calls(spend: &Json, name: &str) -> f64 {
    let Json::Object(members) = spend else { return 0.0 };
    match members.iter().find(|(member, _)| member == name) {
        Some((_, Json::Integer(calls))) => f64::from(i32::try_from(*calls).unwrap()),
        Some((_, Json::Float(calls))) => *calls,
        Some((_, other)) => panic!("calls, not {}", other.kind()),
        None => 0.0,
    }
}

fn judged(pair: &Json, answer: &Json) -> Judged {
    let mut answer = Fields::of("", answer).unwrap();
    let mut receipt = Fields::of("receipt", answer.required("receipt").unwrap()).unwrap();
    let spend = receipt.required("spend").unwrap();
    let answered = receipt.string("status").unwrap() == "answered";
    Judged {
        correct: contains(
            text(answer.required("reply").unwrap()),
            Fields::of("", pair).unwrap().string("expected").unwrap(),
        ),
        grounded: answered && receipt.required("degraded_mode").unwrap() == &Json::Null,
        cost: calls(spend, "frontier_calls") + calls(spend, "oracle_calls"),
    }
}

#[test]
fn every_scorecard_of_mixle_is_reproduced_bit_for_bit() {
    let vectors = fixture("vectors/mixle_evaluate.json");
    let cases = items(Fields::of("", &vectors).unwrap().required("cases").unwrap());
    assert_eq!(cases.len(), 30);
    for (index, case) in cases.iter().enumerate() {
        let mut case = Fields::of("", case).unwrap();
        let pairs = items(case.required("pairs").unwrap());
        let answers = items(case.required("answers").unwrap());
        let expected = Scorecard::from_json(case.required("scorecard").unwrap()).unwrap();
        assert_eq!(pairs.len(), answers.len());
        let measured = evaluate(pairs.iter().zip(answers).map(|(pair, answer)| judged(pair, answer)));
        let card = measured.bind(expected.question_set_id()).unwrap();
        assert_eq!(card, expected, "case {index}");
        for (found, wanted) in [
            (card.quality(), expected.quality()),
            (card.realized_cost(), expected.realized_cost()),
            (card.grounded_fraction(), expected.grounded_fraction()),
        ] {
            assert_eq!(found.to_bits(), wanted.to_bits(), "case {index}");
        }
    }
}
