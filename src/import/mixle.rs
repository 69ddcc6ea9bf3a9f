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
        return Err(original.refuse_at(1, "answers", reason));
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
        items,
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
    let reply = member::text(answer, &["reply"]);
    let right = judge.judge(reply, expected);
    let right = right.map_err(|error| original.refuse_at(row, "pairs.expected", error.to_string()))?;
    let plain = member::members(query, &[]).iter().all(|(name, _)| name == "text");
    let spend = at(answer, &["receipt", "spend"]);
    let cost = spend.filter(|spend| !member::members(spend, &[]).is_empty()).map(|spend| {
        let calls = |name| member::number(spend, &[name]).unwrap_or(0.0);
        calls("frontier_calls") + calls("oracle_calls")
    });
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
        cost: cost.filter(|cost| *cost >= 0.0),
        place: original.place(row),
        ..Item::default()
    })
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
        Err(original.refuse_at(1, &format!("scorecard.{field}"), reason))
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
    match member::number(card, &["quality"]) {
        Some(stated) if stated.to_bits() != quality.to_bits() => {
            differs("quality", stated.to_string(), quality.to_string())
        }
        _ => Ok(()),
    }
}

/// A pair as a question record. It is written as it was read: for mixle's identity `1` is not `1.0`.
fn kept(pair: &Json) -> String {
    serde_json::to_string(&member::without(pair, &["id", "cluster"])).unwrap_or_default()
}
