//! lm-evaluation-harness: `results_*.json` and `samples_TASK_*.jsonl`, as `--log_samples` writes them.
//!
//! `docs/import/lm-eval.md` says which fields are read.

use std::collections::BTreeSet;

use super::member::{self, list, object, or_null, string};
use super::original::Original;
use super::round::{Conditions, Round};
use super::samples::{DEFAULT_FILTER, Reader, Samples};
use super::{ImportError, Options, Tool, stated};
use crate::object::Json;

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
    if let Some((place, document)) = &results
        && !matches!(member::at(document, &["results"]), Some(Json::Object(_)))
    {
        return Err(originals[*place].refuse_field("results", "must be there, and an object: these are no results"));
    }
    if let Some((place, document)) = &results {
        refuse_unsampled(&originals[*place], document, &samples, options)?;
    } else if samples.is_empty() {
        let what = "`results_*.json` or `samples_*.jsonl`";
        return Err(ImportError::NoFiles { tool: Tool::LmEval, what, files: originals.len() });
    }
    let wanted = samples.into_iter().filter(|(_, original)| options.wants(task_of(original.file_name())));
    wanted.map(|(place, original)| task(place, original, originals, results.as_ref(), options)).collect()
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
            return Err(results.refuse_field("configs", reason));
        }
    }
    Ok(())
}

fn task(
    place: usize,
    original: &Original<'_>,
    originals: &[Original<'_>],
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
    let reader = Reader { original, task, options, config, metric };
    let Some(samples) = reader.read()? else {
        return Err(ImportError::NothingMeasured { tool: Tool::LmEval, task: task.to_owned(), items: 0 });
    };
    let Samples { filters, filter, metric, documents, mean, requests, repeats, written } = samples;
    let mut remarks = Vec::new();
    if filters.len() > 1 {
        let all: Vec<_> = filters.iter().map(String::as_str).collect();
        remarks.push(format!("filter {filter} of {}", all.join(", ")));
    }
    let counted = |name| match results {
        Some((place, _)) => stated::count(&originals[*place], document, &["n-samples", task, name]),
        None => Ok(None),
    };
    let planned = counted("original")?;
    if let Some(effective) = counted("effective")?
        && effective != documents as u64
    {
        let reason = format!("holds {documents} documents, and the results say that {effective} were asked");
        return Err(original.refuse(reason));
    }
    if let Some((place, _)) = results {
        check_mean(&originals[*place], document, configured, &["results", task, &format!("{metric},{filter}")], mean)?;
    }
    if let Some((place, _)) = results
        && let Some(planned) = planned.filter(|planned| *planned < documents as u64)
    {
        let path = format!("n-samples.{task}.original");
        return Err(stated::differs(&originals[*place], &path, planned, documents, "samples"));
    }
    let higher = member::members(document, &["higher_is_better", task]);
    let listed = configured.iter().find(|listed| member::text(listed, &["metric"]) == Some(&metric));
    let lower = |value: Option<&Json>| value == Some(&Json::Bool(false));
    if lower(higher.iter().find(|(name, _)| *name == metric).map(|(_, value)| value))
        || lower(listed.and_then(|listed| member::at(listed, &["higher_is_better"])))
    {
        return Err(original.refuse(format!("less of the metric `{metric}` is better, so it judges no reply right")));
    }
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
    let model = member::text(document, &["model_name"]).or(member::text(document, &["config", "model_args", "model"]));
    let round = Round {
        tool: Tool::LmEval,
        task: task.to_owned(),
        items: written?.into(),
        planned,
        conditions,
        model: model.map(str::to_owned),
        remarks,
        originals: results.map(|(place, _)| *place).into_iter().chain([place]).collect(),
    };
    round.hold_together()
}

/// The mean of a metric must be that of the rows, `mean` where every one of them has a score: what has none is left out by
/// some. Aggregations of other kinds may be made of all rows at once.
fn check_mean(
    results: &Original<'_>,
    document: &Json,
    configured: &[Json],
    path: &[&str; 3],
    mean: Option<f64>,
) -> Result<(), ImportError> {
    let metric = path[2].rsplit_once(',').map_or(path[2], |(metric, _)| metric);
    let listed = configured.iter().find(|listed| member::text(listed, &["metric"]) == Some(metric));
    let aggregation = listed.and_then(|listed| member::text(listed, &["aggregation"]));
    match mean {
        Some(mean) if aggregation == Some("mean") => stated::hold_number(results, document, path, &[mean], "samples"),
        _ => Ok(()),
    }
}

/// The metric that was asked for, else the first of the first row; one that no row has is refused.
pub(super) fn one_metric(
    original: &Original<'_>,
    asked: Option<String>,
    first: Option<String>,
    there: &BTreeSet<String>,
) -> Result<String, ImportError> {
    let names = || there.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    let metric = asked.or(first);
    let metric = metric.ok_or_else(|| original.refuse("the samples name no metric, so nothing was judged"))?;
    if !there.contains(&metric) {
        let what = format!("{}: no sample has the metric `{metric}`", original.name());
        return Err(ImportError::Choose { what, found: format!("there are {}", names()), option: "--metric" });
    }
    Ok(metric)
}

/// The filter that was asked for; else the only one; else `none`; else the first of the task's configuration.
pub(super) fn chosen_filter(
    options: &Options,
    config: Option<&Json>,
    filters: &BTreeSet<String>,
) -> Result<String, ImportError> {
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
