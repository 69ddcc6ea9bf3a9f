//! Questions, answers and every built-in scorer: what is read, what is right, what it adds up to.

use proofmark::ledger::role;
use proofmark::question::{Answers, Judgements, QuestionSet, Scheme};
use proofmark::receipt::{Basis, Body, ScorecardBody};
use proofmark::score::Scorer;
use proofmark::scorecard::{Scorecard, count_withheld, judge_round};

use super::super::tools::{Tool, ready};
use super::Bench;
use crate::forge::Forge;

/// Numbers that look random and are the same in every run.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }

    fn text(&mut self, pieces: &[&str], most: usize) -> String {
        let count = self.roll(most + 1);
        (0..count).map(|_| pieces[self.roll(pieces.len())]).collect()
    }
}

/// A round with the card that follows, or, where none does, one that says nothing true.
fn add(forge: &mut Forge, questions: &[u8], answers: &[u8], scorer: &str, scheme: Scheme) {
    let judge = Scorer::parse(scorer).unwrap();
    let judged = QuestionSet::parse("q", questions)
        .ok()
        .and_then(|questions| judge_round(&questions, Answers::parse("a", answers).ok()?, &judge, scheme).ok());
    let nothing = || Scorecard::new(0.5, 1.0, 0.5, 1, format!("pm1:{}", "0".repeat(64))).unwrap();
    let card = judged.map_or_else(nothing, |judged| judged.card);
    let evidence = vec![forge.evidence(role::QUESTIONS, questions), forge.evidence(role::ANSWERS, answers)];
    let (line, scorer) = ("main".parse().unwrap(), scorer.parse().unwrap());
    forge.add(
        Body::Scorecard(ScorecardBody {
            line,
            basis: Basis::Recomputed,
            card,
            scorer,
            sealed: false,
            unknown: Vec::new(),
        }),
        evidence,
    );
}

/// One question a round, so that one judgement that differs is one finding.
fn one(forge: &mut Forge, expected: &str, reply: &str, scorer: &str) {
    let question = serde_json::json!({ "question": "?", "expected": expected }).to_string();
    let answer = serde_json::json!({ "reply": reply, "receipt": { "status": "answered" } }).to_string();
    // The other scheme for every other one.
    let scheme = if forge.entries.len().is_multiple_of(2) { Scheme::Pm1 } else { Scheme::Mixle };
    add(forge, question.as_bytes(), answer.as_bytes(), scorer, scheme);
}

const WORDS: [&str; 24] = [
    "a", "A", "an", "the", "The", " ", "  ", "\u{a0}", "\u{3000}", "\t", "\n", "\u{1c}", "-", "'", "’", ".", "É", "é",
    "x", "ΑΣ", "ς", "ß", "5", "İ",
];
const NUMBERS: [&str; 17] =
    ["1", "12", "123", "000", ",", ".", ".", "e", "E", "-", "+", "5", " ", "3", "−", "1e400", "٣"];
const CHOICES: [&str; 30] = [
    "answer", "Answer", "ANSWER", " ", " ", " ", "is", "IS", ":", "A", "B", "I", "(", ")", "or", "and", ",", "/", "&",
    "\n", "a", "the", ".", "-", "_", "'", "’", "é", "yes", "ſ",
];

#[test]
fn both_judge_alike_by_every_built_in_scorer() {
    if !ready("the second verifier on scorers", &[Tool::Python]) {
        return;
    }
    let mut bench = Bench::new();
    let mut dice = Dice::new(5);
    for scorer in ["substring/v2", "exact/v1", "normalized/v1"] {
        let mut forge = Forge::new();
        // The small form of the last word has a mark that may be a letter or not.
        let words = if scorer == "normalized/v1" { &WORDS[..WORDS.len() - 1] } else { &WORDS };
        for _ in 0..130 {
            let expected = format!("x{}", dice.text(words, 4));
            let reply = match dice.roll(3) {
                0 => format!(" {expected}."),
                1 => format!("{}{}{}", dice.text(words, 2), expected.to_uppercase(), dice.text(words, 2)),
                _ => dice.text(words, 8),
            };
            one(&mut forge, &expected, &reply, scorer);
        }
        bench.forged(scorer, &forge);
    }
    for scorer in ["numeric/v1", "numeric/v1?abs=0.5&rel=0", "numeric/v1?abs=0&rel=0.01"] {
        let mut forge = Forge::new();
        for _ in 0..130 {
            let (expected, reply) = (["1", "12.0", "-1,123", ".5", "1e-7", "0"][dice.roll(6)], dice.text(&NUMBERS, 4));
            one(&mut forge, expected, &reply, scorer);
        }
        bench.forged(scorer, &forge);
    }
    let mut forge = Forge::new();
    for at in 0..400 {
        let announced = if at % 4 == 0 { String::new() } else { format!("{}answer is", dice.text(&CHOICES, 2)) };
        one(&mut forge, ["A", "b", "I", "yes"][dice.roll(4)], &(announced + &dice.text(&CHOICES, 7)), "choice/v1");
    }
    bench.forged("choice/v1", &forge);
    assert_eq!(bench.compare(|_, _| false), 0);
}

#[test]
fn what_only_one_of_them_can_judge_is_not_checked_by_the_other() {
    if !ready("the second verifier on what it cannot judge", &[Tool::Python]) {
        return;
    }
    let mut bench = Bench::new();
    for (expected, reply, scorer) in
        [("x+", "axxb", "regex/v1"), ("x", "the\u{301} x", "normalized/v1"), ("x", "x\u{1fbfa}", "substring/v2")]
    {
        let mut forge = Forge::new();
        one(&mut forge, expected, reply, scorer);
        bench.forged(scorer, &forge);
    }
    assert_eq!(bench.compare(|_, axis| axis == "replay"), 0);
    let theirs = bench.theirs();
    assert!(theirs.iter().all(|answer| answer.axes["replay"] == "NOT CHECKED"), "{theirs:?}");
}

const QUESTION: &str = "{\"question\":\"q\",\"expected\":\"a\"}";
const ANSWER: &str = "{\"reply\":\"a\",\"receipt\":{\"status\":\"answered\"}}";

/// Records that are read or refused, a line each; a tab parts question and answer, where there is none one of them is good.
fn odd_records() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for line in include_str!("odd-records.txt").lines() {
        let line = super::receipts::spelled_out(line);
        match line.split_once(' ') {
            Some(("q", question)) => found.push((question.to_owned(), ANSWER.to_owned())),
            Some(("a", answer)) => found.push((QUESTION.to_owned(), answer.to_owned())),
            Some(("both", both)) => {
                let (question, answer) = both.split_once('|').unwrap();
                found.push((question.to_owned(), answer.to_owned()));
            }
            _ => panic!("{line}"),
        }
    }
    found.into_iter().map(|(question, answer)| (question.replace('¶', "\n"), answer.replace('¶', "\n"))).collect()
}

#[test]
fn both_read_and_refuse_the_same_records() {
    if !ready("the second verifier on odd records", &[Tool::Python]) {
        return;
    }
    let mut bench = Bench::new();
    for (question, answer) in odd_records() {
        for scheme in [Scheme::Pm1, Scheme::Mixle] {
            let mut forge = Forge::new();
            add(&mut forge, question.as_bytes(), answer.as_bytes(), "substring/v2", scheme);
            bench.forged(&format!("{scheme:?} {question}\t{answer}"), &forge);
        }
    }
    let hostile = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/hostile");
    for kind in ["questions", "answers"] {
        for entry in std::fs::read_dir(hostile.join(kind)).unwrap() {
            let path = entry.unwrap().path();
            let bytes = std::fs::read(&path).unwrap();
            let mut forge = Forge::new();
            let (questions, answers) =
                if kind == "questions" { (&bytes[..], ANSWER.as_bytes()) } else { (QUESTION.as_bytes(), &bytes[..]) };
            add(&mut forge, questions, answers, "substring/v2", Scheme::Pm1);
            bench.forged(&path.display().to_string(), &forge);
        }
    }
    assert!(bench.compare(|_, _| false) > 100);
}

#[test]
fn both_count_sealed_sets_alike() {
    if !ready("the second verifier on sealed sets", &[Tool::Python]) {
        return;
    }
    let mut bench = Bench::new();
    let questions: String =
        (0..7).map(|at| format!("{{\"question\":\"q{at}\",\"expected\":\"a\",\"id\":\"i{at}\"}}\n")).collect();
    for (what, order, with_ids, leaves_short) in
        [("in order", 1, true, 0), ("reversed", 6, true, 0), ("without ids", 1, false, 0), ("a leaf less", 1, true, 1)]
    {
        let set = QuestionSet::parse("q", questions.as_bytes()).unwrap();
        let mut salt = 0;
        let sealed = set.seal(|| {
            salt += 1;
            Ok::<_, ()>([salt; 32])
        });
        let sealed = sealed.unwrap();
        let leaves = sealed.leaves().unwrap();
        let verdicts = [true, false, true, true, false, true, true];
        let judgements = Judgements::of("j", &sealed, &verdicts).unwrap().encode();
        let lines = (0..7).map(|at| {
            let at = at * order % 7;
            let id = if with_ids { format!("\"id\":\"i{at}\",") } else { String::new() };
            let spend = format!("{{\"frontier_calls\":0.{at}1,\"oracle_calls\":1e-{at}}}");
            format!("{{{id}\"reply\":null,\"receipt\":{{\"status\":\"answered\",\"spend\":{spend}}}}}\n")
        });
        let answers: String = lines.collect();
        let scorer = "exact/v1".parse().unwrap();
        let judged = Judgements::parse("j", judgements.as_slice()).unwrap();
        let card =
            count_withheld(&leaves, Answers::parse("a", answers.as_bytes()).unwrap(), &judged, &scorer).unwrap().card;
        let mut forge = Forge::new();
        let text = leaves.encode();
        let evidence = vec![
            forge.evidence(role::LEAVES, &text[65 * leaves_short..]),
            forge.evidence(role::ANSWERS, answers),
            forge.evidence(role::JUDGEMENTS, judgements),
        ];
        let (line, basis) = ("main".parse().unwrap(), Basis::Recomputed);
        forge.add(
            Body::Scorecard(ScorecardBody { line, basis, card, scorer, sealed: true, unknown: Vec::new() }),
            evidence,
        );
        bench.forged(what, &forge);
    }
    assert_eq!(bench.compare(|_, _| false), 1);
}
