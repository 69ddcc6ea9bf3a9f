//! mixle: a JSON document with `pairs`, `answers` and, if it was kept, the `scorecard` of `mixle.system.scorecard.evaluate`.
//!
//! mixle's default judge runs here too, so nothing is believed: answers are judged again, and a scorecard in the file must
//! agree, its question set identity included.

use super::member::{self, at, list, object, spelled};
use super::original::Original;
use super::round::{Conditions, Item, Round, State, Wording};
use super::{ImportError, Options, Tool};
use crate::object::Json;
use crate::question::{QuestionSet, Scheme};
use crate::score::Scorer;

/// mixle's default judge.
const JUDGE: &str = "substring/v2";

/// What mixle adds up to a cost.
const CALLS: [&str; 2] = ["frontier_calls", "oracle_calls"];

pub(super) fn recognises(original: &Original<'_>) -> bool {
    let head = String::from_utf8_lossy(&original.head()).into_owned();
    original.file_name().ends_with(".json") && head.contains("\"pairs\"") && head.contains("\"expected\"")
}

pub(super) fn read(originals: &[Original<'_>], options: &Options) -> Result<Vec<Round>, ImportError> {
    let files: Vec<_> = originals.iter().enumerate().filter(|(_, original)| recognises(original)).collect();
    if files.is_empty() {
        let what = "document with `pairs` and `answers`";
        return Err(ImportError::NoFiles { tool: Tool::Mixle, what, files: originals.len() });
    }
    let named = |original: &Original<'_>| original.file_name().trim_end_matches(".json").to_owned();
    let wanted = files.into_iter().filter(|(_, original)| options.wants(&named(original)));
    wanted.map(|(place, original)| document(place, original, named(original), options)).collect()
}

fn document(place: usize, original: &Original<'_>, task: String, options: &Options) -> Result<Round, ImportError> {
    let json = original.json(&options.limits)?;
    let (pairs, answers) = (list(&json, &["pairs"]), list(&json, &["answers"]));
    if pairs.len() != answers.len() {
        let reason = format!("holds {} answers for {} pairs", answers.len(), pairs.len());
        return Err(original.refuse_field("answers", reason));
    }
    if pairs.is_empty() {
        return Err(ImportError::NothingMeasured { tool: Tool::Mixle, task, items: 0 });
    }
    for (at, value) in pairs.iter().enumerate().chain(answers.iter().enumerate()) {
        original.hold_sample(at + 1, value, &options.limits)?;
    }
    let judge = Scorer::parse(JUDGE).map_err(|error| original.refuse(error.to_string()))?;
    let items: Vec<Item> = pairs
        .iter()
        .zip(answers)
        .enumerate()
        .map(|(at, (pair, answer))| item(original, at + 1, pair, answer, &judge))
        .collect::<Result<_, _>>()?;
    if let Some(card) = at(&json, &["scorecard"]) {
        check(original, card, pairs, &items, &judge)?;
    }
    Round {
        tool: Tool::Mixle,
        task,
        items: items.into(),
        planned: None,
        conditions: Conditions {
            scorer: Some(JUDGE.to_owned()),
            configuration: Some(object([])),
            code: None,
            generation: at(&json, &["generation"]).cloned(),
            repeats: Some(Json::Integer(1)),
        },
        model: member::text(&json, &["model"]).map(str::to_owned),
        remarks: vec!["judged again here, by mixle's default judge".to_owned()],
        originals: vec![place],
    }
    .in_order()
}

fn item(original: &Original<'_>, row: usize, pair: &Json, answer: &Json, judge: &Scorer) -> Result<Item, ImportError> {
    let missing = |field: &str| original.refuse_at(row, field, "is missing");
    let query = at(pair, &["query"]).ok_or_else(|| missing("pairs.query"))?;
    let text = member::text(query, &["text"]).ok_or_else(|| missing("pairs.query.text"))?;
    let expected = member::text(pair, &["expected"]).ok_or_else(|| missing("pairs.expected"))?;
    let reply = match at(answer, &["reply"]) {
        None => None,
        Some(Json::String(reply)) => Some(reply.as_str()),
        Some(other) => {
            let reason = format!("must be a text or null, not {}", other.kind());
            return Err(original.refuse_at(row, "answers.reply", reason));
        }
    };
    let right = judge.judge(reply, expected);
    let right = right.map_err(|error| original.refuse_at(row, "pairs.expected", error.to_string()))?;
    let plain = member::members(query, &[]).iter().all(|(name, _)| name == "text");
    let cost = cost(original, row, answer)?;
    Ok(Item {
        id: member::name(pair, &["id"]),
        cluster: member::name(pair, &["cluster"]),
        prompt: if plain { Wording::Plain(text.to_owned()) } else { Wording::Value(spelled(query)) },
        reference: Wording::Plain(expected.to_owned()),
        reply: reply.map(str::to_owned),
        state: if right { State::Pass } else { State::Fail },
        score: Some(f64::from(u8::from(right))),
        status: member::text(answer, &["receipt", "status"]).map(str::to_owned),
        degraded: at(answer, &["receipt", "degraded_mode"]).is_some(),
        cost,
        place: original.place(row),
        ..Item::default()
    })
}

/// The calls that were paid for; unknown where no spend is there or it counts none of them.
fn cost(original: &Original<'_>, row: usize, answer: &Json) -> Result<Option<f64>, ImportError> {
    const SPEND: &str = "answers.receipt.spend";
    let spend = match at(answer, &["receipt", "spend"]) {
        None => return Ok(None),
        Some(Json::Object(members)) => members,
        Some(other) => {
            return Err(original.refuse_at(row, SPEND, format!("must be an object or null, not {}", other.kind())));
        }
    };
    let mut sum = None;
    for (name, value) in spend.iter().filter(|(name, _)| CALLS.contains(&name.as_str())) {
        let calls = member::number(value, &[]).filter(|calls| *calls >= 0.0);
        let reason = || original.refuse_at(row, &format!("{SPEND}.{name}"), "must be a number, at least 0");
        sum = Some(sum.unwrap_or(0.0) + calls.ok_or_else(reason)?);
    }
    Ok(sum)
}

/// A card in the file is checked, not believed.
fn check(
    original: &Original<'_>,
    card: &Json,
    pairs: &[Json],
    items: &[Item],
    judge: &Scorer,
) -> Result<(), ImportError> {
    let differs = |field: &str, says: String, gives: String| {
        let reason = format!("says {says}, and the pairs and answers give {gives}");
        Err(original.refuse_field(&format!("scorecard.{field}"), reason))
    };
    let lines: String = pairs.iter().map(|pair| format!("{}\n", kept(pair))).collect();
    let set = QuestionSet::parse(original.name(), lines.as_bytes())?;
    let id = set.id(Scheme::Mixle, judge.identity())?;
    if let Some(stated) = member::text(card, &["question_set_id"]).filter(|stated| *stated != id.as_str()) {
        return differs("question_set_id", stated.to_owned(), id.to_string());
    }
    let right = items.iter().filter(|item| item.state == State::Pass).count();
    #[allow(clippy::cast_precision_loss)] // far below 2^53
    let quality = right as f64 / items.len() as f64;
    let grounded = items.iter().filter(|item| item.status.as_deref() == Some("answered") && !item.degraded).count();
    #[allow(clippy::cast_precision_loss)] // far below 2^53
    let (grounded, n) = (grounded as f64 / items.len() as f64, items.len() as f64);
    let cost: f64 = items.iter().filter_map(|item| item.cost).sum();
    for (field, given) in [("n", n), ("quality", quality), ("grounded_fraction", grounded), ("realized_cost", cost)] {
        let Some(stated) = at(card, &[field]) else { continue };
        // A sum depends on the order in which it is made.
        let near = if field == "realized_cost" { 1e-9 * given.abs() } else { 0.0 };
        if !member::number(stated, &[]).is_some_and(|stated| (stated - given).abs() <= near) {
            return differs(field, spelled(stated), given.to_string());
        }
    }
    Ok(())
}

/// A pair as a question record. It is written as it was read: for mixle's identity `1` is not `1.0`.
fn kept(pair: &Json) -> String {
    serde_json::to_string(&member::without(pair, &["id", "cluster"])).unwrap_or_default()
}
