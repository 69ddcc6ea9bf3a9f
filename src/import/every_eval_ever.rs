//! Every Eval Ever: an aggregate `ID.json` and its samples `ID_samples.jsonl`.
//!
//! `docs/import/every-eval-ever.md` says which fields are read.

use std::collections::BTreeMap;

use super::attempts::{Reducer, reduced};
use super::member::{self, at, list, object, or_null, shown, spelled};
use super::original::Original;
use super::round::{Attempt, Conditions, Item, Round, State, Wording};
use super::rows::rows;
use super::{ImportError, Options, Tool, stated};
use crate::object::{Json, Sha256};

/// Settings that say how stubbornly was asked, and shape no reply.
const VOLATILE: [&str; 1] = ["max_attempts"];

const SAMPLES: &str = "_samples.jsonl";

pub(super) fn recognises(original: &Original<'_>) -> bool {
    let name = original.file_name();
    let head = String::from_utf8_lossy(&original.head()).into_owned();
    let known = head.contains("\"schema_version\"") && head.contains("\"evaluation_id\"");
    known && (name.ends_with(SAMPLES) || (name.ends_with(".json") && head.contains("\"evaluation_results\"")))
}

pub(super) fn read(originals: &[Original<'_>], options: &Options) -> Result<Vec<Round>, ImportError> {
    let known: Vec<_> = originals.iter().enumerate().filter(|(_, original)| recognises(original)).collect();
    let aggregates: Vec<_> = known.iter().filter(|(_, original)| original.file_name().ends_with(".json")).collect();
    if aggregates.is_empty() {
        let what = "aggregate with `evaluation_results`";
        return Err(ImportError::NoFiles { tool: Tool::EveryEvalEver, what, files: originals.len() });
    }
    let mut rounds = Vec::new();
    for (place, aggregate) in aggregates {
        let document = aggregate.json(&options.limits)?;
        let stem = aggregate.file_name().trim_end_matches(".json");
        let beside = |(_, original): &&(usize, &Original<'_>)| {
            original.folder() == aggregate.folder() && original.file_name() == format!("{stem}{SAMPLES}")
        };
        let samples = known.iter().find(beside);
        let samples = samples.ok_or_else(|| {
            aggregate
                .refuse(format!("its samples `{stem}{SAMPLES}` are not beside it, so its numbers follow from nothing"))
        })?;
        let kept = rows(samples.1, &options.limits, |line, row| Ok((line, row)))?;
        let task = task(&document, &kept);
        if options.wants(&task) {
            check_samples(aggregate, samples.1, &document, &kept)?;
            rounds.push(round((*place, aggregate), *samples, task, &document, &kept, options)?);
        }
    }
    Ok(rounds)
}

/// The evaluation, and the library that ran it: one evaluation is often there from several.
fn task(document: &Json, rows: &[(usize, Json)]) -> String {
    let name = rows.first().and_then(|(_, row)| member::text(row, &["evaluation_name"])).unwrap_or("evaluation");
    let library = member::text(document, &["eval_library", "name"]).unwrap_or("unknown");
    format!("{name}.{library}")
}

/// The aggregate commits to its samples: their digest and their number must be right, and they must be those of its run.
fn check_samples(
    aggregate: &Original<'_>,
    samples: &Original<'_>,
    document: &Json,
    rows: &[(usize, Json)],
) -> Result<(), ImportError> {
    const DETAILED: &str = "detailed_evaluation_results";
    let stated = |name: &str| at(document, &[DETAILED, name]);
    if let Some(stated) = stated::count(aggregate, document, &[DETAILED, "total_rows"])?
        && stated != rows.len() as u64
    {
        return Err(samples.refuse(format!("holds {} rows, and its aggregate says {stated}", rows.len())));
    }
    if let Some(checksum) = stated("checksum") {
        let field = |name: &str| format!("{DETAILED}.{name}");
        match stated("hash_algorithm") {
            Some(Json::String(name)) if name == "sha256" => {}
            None => return Err(aggregate.refuse_field(&field("hash_algorithm"), "is missing beside a checksum")),
            Some(other) => {
                let reason = format!("must be `sha256`, which alone is checked, not {}", spelled(other));
                return Err(aggregate.refuse_field(&field("hash_algorithm"), reason));
            }
        }
        let Json::String(checksum) = checksum else {
            return Err(aggregate.refuse_field(&field("checksum"), "must be a text"));
        };
        if checksum.len() != 64 || !checksum.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            let reason = format!("must be the 64 hexadecimal digits of a SHA-256, not `{checksum}`");
            return Err(aggregate.refuse_field(&field("checksum"), reason));
        }
        let mut reader = samples.reader()?;
        let digest = Sha256::of_reader(&mut reader).map_err(|source| samples.unreadable(source))?;
        if checksum.to_lowercase() != digest.to_string() {
            return Err(samples.refuse(format!("has the SHA-256 {digest}, and its aggregate says {checksum}")));
        }
    }
    for (name, path) in [("evaluation_id", &["evaluation_id"][..]), ("model_id", &["model_info", "id"])] {
        let Some(stated) = member::text(document, path) else { continue };
        let other = |(line, row): &(usize, Json)| {
            member::text(row, &[name]).filter(|found| *found != stated).map(|found| (*line, found.to_owned()))
        };
        if let Some((line, found)) = rows.iter().find_map(other) {
            return Err(samples.refuse_at(line, name, format!("says `{found}`, and its aggregate `{stated}`")));
        }
    }
    Ok(())
}

/// Metrics that are the mean over the samples; any other may be made of all of them at once.
const MEANS: [&str; 3] = ["accuracy", "exact_match", "mean"];

/// The score of the aggregate must follow from the samples: the mean of their scores or the share that is right, of all of them
/// or of those without an error, which some libraries leave out.
fn check_score(
    aggregate: &Original<'_>,
    result: &Json,
    rows: &[(usize, Json)],
    metric: Option<&str>,
) -> Result<(), ImportError> {
    if !metric.is_some_and(|metric| MEANS.contains(&metric)) {
        return Ok(());
    }
    let mut found = Vec::new();
    for all in [true, false] {
        let kept: Vec<&Json> =
            rows.iter().map(|(_, row)| row).filter(|row| all || at(row, &["error"]).is_none()).collect();
        let right =
            |row: &&Json| f64::from(u8::from(member::boolean(row, &["evaluation", "is_correct"]) == Some(true)));
        found.extend(stated::mean(kept.iter().map(right)));
        let scores: Vec<f64> = kept.iter().filter_map(|row| member::number(row, &["evaluation", "score"])).collect();
        found.extend(stated::mean(scores.into_iter()));
    }
    stated::hold_number(aggregate, result, &["score_details", "score"], &found, "samples")
}

fn round(
    aggregate: (usize, &Original<'_>),
    samples: (usize, &Original<'_>),
    task: String,
    document: &Json,
    kept: &[(usize, Json)],
    options: &Options,
) -> Result<Round, ImportError> {
    let results = list(document, &["evaluation_results"]);
    let metric = |result: &Json| member::text(result, &["metric_config", "evaluation_description"]).map(str::to_owned);
    let result = match &options.metric {
        None => results.first(),
        Some(asked) => results.iter().find(|result| metric(result).as_ref() == Some(asked)),
    };
    let result = result.ok_or_else(|| ImportError::Choose {
        what: format!("{}: no such metric", aggregate.1.name()),
        found: format!("there are {}", results.iter().filter_map(metric).collect::<Vec<_>>().join(", ")),
        option: "--metric",
    })?;
    if member::boolean(result, &["metric_config", "lower_is_better"]) == Some(true) {
        return Err(aggregate.1.refuse("less of the metric is better, so it judges no reply right"));
    }
    check_score(aggregate.1, result, kept, metric(result).as_deref())?;
    let scale = ["min_score", "max_score"].map(|name| member::number(result, &["metric_config", name]));
    let scale = (scale[0].unwrap_or(0.0), scale[1].unwrap_or(1.0));
    let mut groups: BTreeMap<String, Vec<&(usize, Json)>> = BTreeMap::new();
    for row in kept {
        let id = member::name(&row.1, &["sample_id"]);
        groups.entry(id.ok_or_else(|| samples.1.refuse_at(row.0, "sample_id", "is missing"))?).or_default().push(row);
    }
    let repeats = groups.values().map(Vec::len).max().unwrap_or(1);
    let items: Vec<_> =
        groups.into_iter().map(|(id, rows)| item(samples.1, id, &rows, repeats, scale)).collect::<Result<_, _>>()?;
    let generation = at(result, &["generation_config"]).map(|settings| {
        let quiet = |name: &str| member::without(&or_null(settings, &[name]), &VOLATILE);
        object([("args", quiet("generation_args")), ("details", quiet("additional_details"))])
    });
    Round {
        tool: Tool::EveryEvalEver,
        task,
        items: items.into(),
        planned: None,
        conditions: Conditions {
            scorer: metric(result).or_else(|| member::text(result, &["evaluation_name"]).map(str::to_owned)),
            configuration: at(result, &["metric_config"]).cloned(),
            code: at(document, &["eval_library"]).cloned(),
            generation,
            repeats: Some(Json::Integer(repeats as i128)),
        },
        model: member::text(document, &["model_info", "id"]).map(str::to_owned),
        remarks: vec!["the format has no state for a reply that was not judged".to_owned()],
        originals: vec![aggregate.0, samples.0],
    }
    .in_order()
}

fn item(
    original: &Original<'_>,
    id: String,
    rows: &[&(usize, Json)],
    repeats: usize,
    scale: (f64, f64),
) -> Result<Item, ImportError> {
    let mut rows = rows.to_vec();
    let epoch = |row: &(usize, Json)| member::name(&row.1, &["metadata", "epoch"]);
    rows.sort_by_key(|row| epoch(row));
    if let Some(pair) = rows.windows(2).find(|pair| epoch(pair[0]) == epoch(pair[1])) {
        let (first, second) = (pair[0].0.min(pair[1].0), pair[0].0.max(pair[1].0));
        let what = format!("the sample `{id}`");
        return Err(ImportError::Twice { what, first: original.row(first), second: original.row(second) });
    }
    let mut tries: Vec<Attempt> =
        rows.iter().map(|(line, row)| attempt(original, *line, row, scale)).collect::<Result<_, _>>()?;
    tries.resize(repeats, Attempt { reply: None, state: State::Missing, score: None });
    let (state, score) = match tries.as_slice() {
        [one] => (one.state, one.score),
        many => reduced(many, Reducer::Mean),
    };
    let (line, first) = rows[0];
    let reference = match list(first, &["input", "reference"]) {
        [one] => Wording::of(one),
        [] => Wording::Unknown,
        many => Wording::of(&Json::Array(many.to_vec())),
    };
    Ok(Item {
        id: Some(id),
        prompt: asked(first),
        reference,
        reply: tries[0].reply.clone(),
        state,
        score,
        attempts: if repeats > 1 { tries } else { Vec::new() },
        place: original.place(*line),
        ..Item::default()
    })
}

/// The input as it was formatted for the model, else as it was; beside its choices where there are any.
fn asked(row: &Json) -> Wording {
    let Some(text) = at(row, &["input", "formatted"]).or_else(|| at(row, &["input", "raw"])) else {
        return Wording::maybe(at(row, &["messages"]));
    };
    match at(row, &["input", "choices"]) {
        Some(choices) => Wording::Value(spelled(&object([("prompt", text.clone()), ("choices", choices.clone())]))),
        None => Wording::of(text),
    }
}

fn attempt(original: &Original<'_>, line: usize, row: &Json, scale: (f64, f64)) -> Result<Attempt, ImportError> {
    let reply = match list(row, &["output", "raw"]) {
        [] => None,
        [one] => Some(shown(one)),
        many => Some(spelled(&Json::Array(many.to_vec()))),
    };
    if at(row, &["error"]).is_some() {
        return Ok(Attempt { reply, state: State::Errored, score: None });
    }
    let right = member::boolean(row, &["evaluation", "is_correct"]);
    let right = right.ok_or_else(|| original.refuse_at(line, "evaluation.is_correct", "must be true or false"))?;
    let score = match at(row, &["evaluation", "score"]) {
        None => None,
        Some(Json::String(word)) if member::is_no_score(word) => None,
        Some(Json::Bool(score)) => Some(f64::from(u8::from(*score))),
        Some(other) => {
            let score = member::number(other, &[]);
            Some(score.ok_or_else(|| original.refuse_at(line, "evaluation.score", "must be a number"))?)
        }
    };
    // What is right may have any score but the lowest, and what is wrong any but the highest.
    if score.is_some_and(|score| if right { score <= scale.0 } else { score >= scale.1 }) {
        let reason = format!("says {right}, and `evaluation.score` is {}", score.unwrap_or_default());
        return Err(original.refuse_at(line, "evaluation.is_correct", reason));
    }
    let state = match (right, score.and_then(State::of_score)) {
        (true, _) => State::Pass,
        (false, Some(State::Partial)) => State::Partial,
        (false, _) => State::Fail,
    };
    let score = match state {
        State::Pass => Some(1.0),
        State::Partial => score,
        _ => Some(0.0),
    };
    Ok(Attempt { reply, state, score })
}
