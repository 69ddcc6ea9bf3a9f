//! lm-evaluation-harness: `results_*.json` and `samples_TASK_*.jsonl`, as `--log_samples` writes them.
//!
//! `docs/import/lm-eval.md` says which fields are read.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;

use super::member::{self, at, count, list, object, or_null, shown, spelled, string};
use super::original::Original;
use super::round::{Attempt, Conditions, Item, Round, State, Wording, twice};
use super::rows::rows;
use super::secret::without_secrets;
use super::{ImportError, Options, Tool};
use crate::object::{Json, ObjectId};

/// The filter that is taken where there are several and none is asked for, if it is among them.
const DEFAULT_FILTER: &str = "none";

/// Settings of a run that shape no reply and say who was asked.
const VOLATILE: [&str; 1] = ["metadata"];

pub(super) fn recognises(original: &Original<'_>) -> bool {
    let name = original.file_name();
    let head = || String::from_utf8_lossy(&original.head()).into_owned();
    (name.starts_with("results_") && name.ends_with(".json") && head().contains("\"results\""))
        || (is_samples(name) && head().contains("\"doc_id\""))
}

fn is_samples(name: &str) -> bool {
    name.starts_with("samples_") && name.ends_with(".jsonl")
}

/// The task in the name of a samples file: between `samples_` and the time.
fn task_of(name: &str) -> &str {
    let stem = name.trim_start_matches("samples_").trim_end_matches(".jsonl");
    match stem.rsplit_once('_') {
        Some((task, time)) if time.starts_with(|c: char| c.is_ascii_digit()) && time.contains('T') => task,
        _ => stem,
    }
}

pub(super) fn read(originals: &[Original<'_>], options: &Options) -> Result<Vec<Round>, ImportError> {
    let with = |wanted: fn(&str) -> bool| {
        originals.iter().enumerate().filter(move |(_, original)| wanted(original.file_name()))
    };
    let results: Vec<_> = with(|name| name.starts_with("results_") && name.ends_with(".json")).collect();
    let samples: Vec<_> = with(is_samples).collect();
    if let [(_, first), (_, second), ..] = results.as_slice() {
        return Err(ImportError::Choose {
            what: "there are the results of several runs".to_owned(),
            found: format!("{} and {}", first.name(), second.name()),
            option: "",
        });
    }
    let results =
        results.first().map(|(place, original)| Ok::<_, ImportError>((*place, original.json(&options.limits)?)));
    let results = results.transpose()?;
    if let Some((place, document)) = &results {
        refuse_unsampled(&originals[*place], document, &samples, options)?;
    } else if samples.is_empty() {
        let what = "`results_*.json` or `samples_*.jsonl`";
        return Err(ImportError::NoFiles { tool: Tool::LmEval, what, files: originals.len() });
    }
    let wanted = samples.into_iter().filter(|(_, original)| options.wants(task_of(original.file_name())));
    wanted.map(|(place, original)| task(place, original, results.as_ref(), options)).collect()
}

/// Every task of the results must have its samples: a number without them cannot be derived again.
fn refuse_unsampled(
    results: &Original<'_>,
    document: &Json,
    samples: &[(usize, &Original<'_>)],
    options: &Options,
) -> Result<(), ImportError> {
    for (task, _) in member::members(document, &["configs"]) {
        let there = samples.iter().any(|(_, original)| task_of(original.file_name()) == task);
        if options.wants(task) && !there {
            let reason = format!("there are no samples of the task `{task}`, so its numbers follow from nothing");
            return Err(results.refuse_at(1, "configs", reason));
        }
    }
    Ok(())
}

/// What nearly every row says: held once.
#[derive(Default)]
struct Shared {
    filter: OnceLock<Arc<str>>,
    metrics: OnceLock<Arc<[String]>>,
    request: OnceLock<(Json, Arc<str>)>,
}

impl Shared {
    fn filter(&self, name: &str) -> Arc<str> {
        let first = self.filter.get_or_init(|| name.into());
        if **first == *name { Arc::clone(first) } else { name.into() }
    }

    fn metrics(&self, names: &[Json]) -> Arc<[String]> {
        let read = || names.iter().filter_map(|name| member::text(name, &[]).map(str::to_owned)).collect();
        let first = self.metrics.get_or_init(read);
        let same = first.len() == names.len()
            && first.iter().zip(names).all(|(first, name)| member::text(name, &[]) == Some(first));
        if same { Arc::clone(first) } else { read() }
    }

    fn request(&self, settings: &Json) -> Arc<str> {
        let said = || Arc::from(spelled(&without_secrets(settings)));
        let (first, text) = self.request.get_or_init(|| (settings.clone(), said()));
        if first == settings { Arc::clone(text) } else { said() }
    }
}

/// What is kept of a row.
struct Row {
    line: usize,
    document: Option<i128>,
    digest: ObjectId,
    filter: Arc<str>,
    metrics: Arc<[String]>,
    name: Option<String>,
    request: Option<Arc<str>>,
    repeats: usize,
    item: Item,
}

fn task(
    place: usize,
    original: &Original<'_>,
    results: Option<&(usize, Json)>,
    options: &Options,
) -> Result<Round, ImportError> {
    let task = task_of(original.file_name());
    let nothing = Json::Null;
    let document = results.map_or(&nothing, |(_, document)| document);
    let config = member::members(document, &["configs"]).iter().find(|(name, _)| name == task).map(|(_, value)| value);
    let configured = config.map(|config| list(config, &["metric_list"])).unwrap_or_default();
    let first = configured.first().and_then(|metric| member::text(metric, &["metric"]).map(str::to_owned));
    let metric = options.metric.clone().or(first);
    let shared = Shared::default();
    let kept = rows(original, &options.limits, |line, json| row(original, line, &json, metric.as_deref(), &shared))?;
    if kept.is_empty() {
        return Err(ImportError::NothingMeasured { tool: Tool::LmEval, task: task.to_owned(), items: 0 });
    }
    let metric = one_metric(original, metric, &kept)?;
    let filters: BTreeSet<String> =
        kept.iter().map(|row| &*row.filter).collect::<BTreeSet<_>>().into_iter().map(str::to_owned).collect();
    let filter = chosen_filter(options, config, &filters)?;
    let mut kept: Vec<Row> = kept.into_iter().filter(|row| *row.filter == *filter).collect();
    in_document_order(original, &mut kept)?;

    let mut remarks = Vec::new();
    if filters.len() > 1 {
        let all: Vec<_> = filters.iter().map(String::as_str).collect();
        remarks.push(format!("filter {filter} of {}", all.join(", ")));
    }
    let planned = count(document, &["n-samples", task, "original"]);
    if let Some(effective) = count(document, &["n-samples", task, "effective"])
        && effective != kept.len() as u64
    {
        let reason = format!("holds {} documents, and the results say that {effective} were asked", kept.len());
        return Err(original.refuse(reason));
    }
    let higher = member::members(document, &["higher_is_better", task]);
    if higher.iter().any(|(name, value)| *name == metric && *value == Json::Bool(false)) {
        return Err(original.refuse(format!("less of the metric `{metric}` is better, so it judges no reply right")));
    }
    let requests: BTreeSet<&str> = kept.iter().filter_map(|row| row.request.as_deref()).collect();
    let requests: BTreeSet<String> = requests.into_iter().map(str::to_owned).collect();
    let repeats: BTreeSet<usize> = kept.iter().map(|row| row.repeats).collect();
    let conditions = Conditions {
        scorer: Some(if filters.len() > 1 || filter != DEFAULT_FILTER {
            format!("{metric},{filter}")
        } else {
            metric.clone()
        }),
        configuration: config.and_then(|config| configuration(config, &metric, &filter)),
        code: config.map(|_| {
            let version = or_null(document, &["versions", task]);
            object([("lm_eval", or_null(document, &["lm_eval_version"])), ("task", version)])
        }),
        generation: generation(document, config, task, &requests),
        repeats: match repeats.into_iter().collect::<Vec<_>>().as_slice() {
            [repeats] => Some(Json::Integer(*repeats as i128)),
            _ => None,
        },
    };
    let named = kept.iter().all(|row| row.name.is_some());
    let items = kept.into_iter().map(|row| {
        let id = if named { row.name } else { row.document.map(|document| document.to_string()) };
        Item { id, ..row.item }
    });
    let model = member::text(document, &["model_name"]).or(member::text(document, &["config", "model_args", "model"]));
    let round = Round {
        tool: Tool::LmEval,
        task: task.to_owned(),
        items: items.collect(),
        planned,
        conditions,
        model: model.map(str::to_owned),
        remarks,
        originals: results.map(|(place, _)| *place).into_iter().chain([place]).collect(),
    };
    unique_names(round)?.hold_together()
}

/// Refuses documents whose names repeat.
fn unique_names(mut round: Round) -> Result<Round, ImportError> {
    let mut order: Vec<&Item> = round.items.iter().filter(|item| item.id.is_some()).collect();
    order.par_sort_unstable_by_key(|item| (&item.id, item.place.1));
    if let Some(pair) = order.windows(2).find(|pair| pair[0].id == pair[1].id) {
        let id = pair[0].id.clone().unwrap_or_default();
        return Err(twice(pair[0], pair[1], &format!("the document `{id}`")));
    }
    if round.items.iter().any(|item| item.id.is_none()) {
        round.items.iter_mut().for_each(|item| item.id = None);
    }
    Ok(round)
}

/// The rows of one filter by `doc_id`; a document that stands there twice is refused.
fn in_document_order(original: &Original<'_>, rows: &mut [Row]) -> Result<(), ImportError> {
    let refuse = |what: String, one: &Row, other: &Row| {
        let (first, second) = (one.line.min(other.line), one.line.max(other.line));
        let at = |line: usize| format!("{}:{line}", original.name());
        Err(ImportError::Twice { what, first: at(first), second: at(second) })
    };
    let mut order: Vec<&Row> = rows.iter().collect();
    order.par_sort_unstable_by_key(|row| (row.digest, row.line));
    if let Some(pair) = order.windows(2).find(|pair| pair[0].digest == pair[1].digest) {
        let name = pair[0].name.as_deref().map_or(String::new(), |name| format!(" `{name}`"));
        return refuse(format!("the document{name}"), pair[0], pair[1]);
    }
    rows.par_sort_unstable_by_key(|row| (row.document, row.digest));
    match rows.windows(2).find(|pair| pair[0].document.is_some() && pair[0].document == pair[1].document) {
        Some(pair) => {
            let document = pair[0].document.unwrap_or_default();
            refuse(format!("doc_id {document}"), &pair[0], &pair[1])
        }
        None => Ok(()),
    }
}

fn one_metric(original: &Original<'_>, asked: Option<String>, rows: &[Row]) -> Result<String, ImportError> {
    let there: BTreeSet<&str> = rows.iter().flat_map(|row| row.metrics.iter().map(String::as_str)).collect();
    let names = || there.iter().copied().collect::<Vec<_>>().join(", ");
    let metric = asked.or_else(|| rows.first().and_then(|row| row.metrics.first().cloned()));
    let metric = metric.ok_or_else(|| original.refuse("the samples name no metric, so nothing was judged"))?;
    if !there.contains(metric.as_str()) {
        let what = format!("{}: no sample has the metric `{metric}`", original.name());
        return Err(ImportError::Choose { what, found: format!("there are {}", names()), option: "--metric" });
    }
    Ok(metric)
}

/// The filter that was asked for; else the only one; else `none`; else the first of the task's configuration.
fn chosen_filter(options: &Options, config: Option<&Json>, filters: &BTreeSet<String>) -> Result<String, ImportError> {
    if let Some(asked) = &options.filter {
        if filters.contains(asked) {
            return Ok(asked.clone());
        }
        let there: Vec<_> = filters.iter().map(String::as_str).collect();
        let found = format!("there are {}", there.join(", "));
        return Err(ImportError::Choose {
            what: format!("no sample has the filter `{asked}`"),
            found,
            option: "--filter",
        });
    }
    if filters.contains(DEFAULT_FILTER) {
        return Ok(DEFAULT_FILTER.to_owned());
    }
    let listed = config.map(|config| list(config, &["filter_list"])).unwrap_or_default();
    let listed = listed.iter().filter_map(|filter| member::text(filter, &["name"]));
    let first = listed.map(str::to_owned).find(|name| filters.contains(name));
    first.or_else(|| filters.first().cloned()).ok_or(ImportError::Choose {
        what: "no sample has a filter".to_owned(),
        found: String::new(),
        option: "--filter",
    })
}

/// The settings of the metric and the filter; unknown where the task lists no such metric and does not process results
/// itself.
fn configuration(config: &Json, metric: &str, filter: &str) -> Option<Json> {
    let named = |path: &str, key: &str, name: &str| {
        let found = list(config, &[path]).iter().find(|entry| member::text(entry, &[key]) == Some(name));
        found.map_or(Json::Null, without_addresses)
    };
    let (listed, process) = (named("metric_list", "metric", metric), or_null(config, &["process_results"]));
    if listed == Json::Null && process == Json::Null {
        return None;
    }
    Some(object([
        ("metric", listed),
        ("filter", named("filter_list", "name", filter)),
        ("output_type", or_null(config, &["output_type"])),
        ("process_results", without_addresses(&process)),
    ]))
}

/// A function that was written as `<function f at 0x7f…>` is at another address in every run.
fn without_addresses(value: &Json) -> Json {
    match value {
        Json::String(text) => match text.split_once(" at 0x") {
            Some((before, after)) => {
                let rest = after.trim_start_matches(|c: char| c.is_ascii_hexdigit());
                string(format!("{before}{rest}"))
            }
            None => value.clone(),
        },
        Json::Array(items) => Json::Array(items.iter().map(without_addresses).collect()),
        Json::Object(members) => {
            Json::Object(members.iter().map(|(name, value)| (name.clone(), without_addresses(value))).collect())
        }
        other => other.clone(),
    }
}

fn generation(document: &Json, config: Option<&Json>, task: &str, requests: &BTreeSet<String>) -> Option<Json> {
    let requests = Json::Array(requests.iter().map(|request| string(request.clone())).collect());
    let Some(config) = config else {
        return (!list(&requests, &[]).is_empty()).then(|| object([("requests", requests)]));
    };
    let config = member::without(config, &VOLATILE);
    Some(object([
        ("requests", requests),
        ("generation_kwargs", or_null(&config, &["generation_kwargs"])),
        ("gen_kwargs", or_null(document, &["config", "gen_kwargs"])),
        ("num_fewshot", or_null(document, &["n-shot", task])),
        ("system_instruction", or_null(document, &["system_instruction"])),
        ("chat_template_sha", or_null(document, &["chat_template_sha"])),
        ("fewshot_as_multiturn", or_null(document, &["fewshot_as_multiturn"])),
    ]))
}

fn row(
    original: &Original<'_>,
    line: usize,
    json: &Json,
    metric: Option<&str>,
    shared: &Shared,
) -> Result<Row, ImportError> {
    let missing = |field: &str| original.refuse_at(line, field, "is missing");
    let doc = at(json, &["doc"]).ok_or_else(|| missing("doc"))?;
    let arguments = at(json, &["arguments"]).ok_or_else(|| missing("arguments"))?;
    let document = match at(json, &["doc_id"]) {
        Some(Json::Integer(document)) => Some(*document),
        _ => return Err(original.refuse_at(line, "doc_id", "must be an integer")),
    };
    let metrics = shared.metrics(list(json, &["metrics"]));
    let metric = metric.or(metrics.first().map(String::as_str));
    let (state, score) = match metric {
        Some(metric) => judged(original, line, json, metric)?,
        None => (State::Unscored, None),
    };
    let replies = list(json, &["filtered_resps"]);
    let reply = match replies {
        [one] => shown(one),
        many => spelled(&Json::Array(many.to_vec())),
    };
    let tries = match list(json, &["resps"]) {
        [one] => list(one, &[]),
        _ => &[],
    };
    let attempt = |reply: &Json| Attempt { reply: Some(shown(reply)), state: State::Unscored, score: None };
    let attempts = if tries.len() > 1 { tries.iter().map(attempt).collect() } else { Vec::new() };
    let (prompt, request) = asked(arguments, shared);
    let name = member::name(doc, &["id"]);
    // A document that has a name is known by it; another by all that it says.
    let digest = match &name {
        Some(name) => ObjectId::of(name.as_bytes()),
        None => ObjectId::of(spelled(doc).as_bytes()),
    };
    let cluster = member::name(doc, &["cluster"]).or_else(|| member::name(doc, &["group"]));
    Ok(Row {
        line,
        document,
        digest,
        filter: shared.filter(member::text(json, &["filter"]).unwrap_or(DEFAULT_FILTER)),
        metrics,
        name,
        request,
        repeats: tries.len().max(1),
        item: Item {
            cluster,
            prompt,
            reference: json_member(json, "target").map_or(Wording::Unknown, Wording::of),
            reply: (!replies.is_empty()).then_some(reply),
            state,
            score,
            attempts,
            place: original.place(line),
            ..Item::default()
        },
    })
}

/// A member, also where it is null.
fn json_member<'a>(json: &'a Json, name: &str) -> Option<&'a Json> {
    let Json::Object(members) = json else { return None };
    members.iter().find(|(member, _)| member == name).map(|(_, value)| value)
}

/// The prompt as it was sent, and the settings of the request. One request of one text is that text; anything else, such
/// as the choices whose likelihoods are compared, is all of the arguments.
fn asked(arguments: &Json, shared: &Shared) -> (Wording, Option<Arc<str>>) {
    let all = || (Wording::Value(spelled(arguments)), None);
    let [(_, only)] = member::members(arguments, &[]) else { return all() };
    let (Some(sent), settings) = (at(only, &["arg_0"]), at(only, &["arg_1"])) else { return all() };
    let sent = match sent {
        Json::Array(items) if items.len() == 1 => &items[0],
        other => other,
    };
    match settings {
        Some(settings @ Json::Object(_)) => (Wording::of(sent), Some(shared.request(settings))),
        None => (Wording::of(sent), None),
        Some(_) => all(),
    }
}

/// What the row says under the metric: a number from 0 to 1, or a word for having none.
fn judged(
    original: &Original<'_>,
    line: usize,
    json: &Json,
    metric: &str,
) -> Result<(State, Option<f64>), ImportError> {
    let score = match at(json, &[metric]) {
        None => return Ok((State::Unscored, None)),
        Some(Json::String(word)) if member::is_no_score(word) => return Ok((State::Unscored, None)),
        Some(Json::Bool(right)) => f64::from(u8::from(*right)),
        Some(other) => member::number(other, &[]).ok_or_else(|| {
            original.refuse_at(line, metric, format!("must be a number from 0 to 1, not {}", other.kind()))
        })?,
    };
    match State::of_score(score) {
        Some(state) => Ok((state, Some(score))),
        None => Err(original.refuse_at(line, metric, format!("must be a number from 0 to 1, not {score}"))),
    }
}
