//! DeepEval: a test run as JSON, `test_run_*.json` or one of the `.latest_*` files.
//!
//! `docs/import/deepeval.md` says which fields are read.

use std::collections::BTreeMap;

use super::member::{self, at, list, object, or_null, spelled};
use super::original::Original;
use super::round::{Conditions, Item, Round, State, Wording};
use super::secret::without_secrets;
use super::stated::hold_count;
use super::{ImportError, Options, Tool, stated};
use crate::object::Json;

/// Files of one run that say the same; the first kind that is there is read.
const KINDS: [fn(&str) -> bool; 4] = [
    |name| name.starts_with("test_run_") && name.ends_with(".json"),
    |name| name == ".latest_run_full.json",
    |name| name == ".latest_test_run.json",
    |name| name.ends_with(".json"),
];

pub(super) fn recognises(original: &Original<'_>) -> bool {
    let head = || String::from_utf8_lossy(&original.head()).into_owned();
    original.file_name().ends_with(".json") && head().contains("\"testCases\"") && head().contains("\"metricsData\"")
}

pub(super) fn read(originals: &[Original<'_>], options: &Options) -> Result<Vec<Round>, ImportError> {
    let known: Vec<_> = originals.iter().enumerate().filter(|(_, original)| recognises(original)).collect();
    let of_kind = |kind: &fn(&str) -> bool| -> Vec<_> {
        known.iter().filter(|(_, original)| kind(original.file_name())).copied().collect()
    };
    let files = KINDS.iter().map(of_kind).find(|files| !files.is_empty()).unwrap_or_default();
    match files.as_slice() {
        [] => {
            let what = "test run with `testCases`";
            Err(ImportError::NoFiles { tool: Tool::Deepeval, what, files: originals.len() })
        }
        [(place, original)] => run(*place, original, options),
        [(_, first), (_, second), ..] => Err(ImportError::Choose {
            what: "there are several test runs".to_owned(),
            found: format!("{} and {}", first.name(), second.name()),
            option: "",
        }),
    }
}

fn run(place: usize, original: &Original<'_>, options: &Options) -> Result<Vec<Round>, ImportError> {
    let document = original.json(&options.limits)?;
    let run = at(&document, &["testRunData"]).unwrap_or(&document);
    let task = member::text(run, &["testFile"]).unwrap_or("test_run").to_owned();
    if !options.wants(&task) {
        return Ok(Vec::new());
    }
    let cases: Vec<&Json> =
        ["testCases", "conversationalTestCases"].iter().flat_map(|name| list(run, &[name])).collect();
    if cases.is_empty() {
        return Err(ImportError::NothingMeasured { tool: Tool::Deepeval, task, items: 0 });
    }
    for (at, case) in cases.iter().enumerate() {
        original.hold_sample(at + 1, case, &options.limits)?;
    }
    let metrics = metrics(original, &cases, options)?;
    let items: Vec<_> = cases
        .iter()
        .enumerate()
        .map(|(at, case)| item(original, at + 1, case, options.metric.as_deref()))
        .collect::<Result<_, _>>()?;
    let settings = at(run, &["hyperparameters"]);
    let round = Round {
        tool: Tool::Deepeval,
        task,
        items: items.into(),
        planned: None,
        conditions: Conditions {
            scorer: (!metrics.is_empty()).then(|| metrics.keys().cloned().collect::<Vec<_>>().join(",")),
            configuration: Some(Json::Object(metrics.into_iter().collect())),
            code: None,
            // The model alone says nothing of how it was asked.
            generation: settings
                .map(|settings| without_secrets(&member::without(settings, &["model"])))
                .filter(|settings| !member::members(settings, &[]).is_empty()),
            repeats: Some(Json::Integer(1)),
        },
        model: member::text(run, &["hyperparameters", "model"]).map(str::to_owned),
        remarks: vec!["the files hold no version of the metrics".to_owned()],
        originals: vec![place],
    };
    let round = round.in_order()?;
    refuse_other_counts(original, run, &cases)?;
    Ok(vec![round])
}

/// What a run says of its cases and its metrics must be what the cases say.
fn refuse_other_counts(original: &Original<'_>, run: &Json, cases: &[&Json]) -> Result<(), ImportError> {
    for (name, wanted) in [("testPassed", true), ("testFailed", false)] {
        let found = cases.iter().filter(|case| member::boolean(case, &["success"]) == Some(wanted)).count();
        hold_count(original, run, &[name], found, "test cases")?;
    }
    // The metrics of traced spans are counted in as well.
    if cases.iter().any(|case| at(case, &["trace"]).is_some()) {
        return Ok(());
    }
    let scores = list(run, &["metricsScores"]);
    for counted in scores {
        let Some(name) = member::text(counted, &["metric"]) else { continue };
        let data = cases.iter().flat_map(|case| list(case, &["metricsData"]));
        let data = data.filter(|data| member::text(data, &["name"]) == Some(name));
        let mut found = [0; 3];
        for data in data.filter(|data| at(data, &["expectationsData"]).is_none()) {
            let verdict = at(data, &["score"]).and_then(|_| member::boolean(data, &["success"]));
            found[verdict.map_or(2, |passed| usize::from(!passed))] += 1;
        }
        for (kind, found) in ["passes", "fails", "errors"].into_iter().zip(found) {
            let field = format!("metricsScores.{name}.{kind}");
            match stated::count(original, counted, &[kind])? {
                Some(stated) if stated != found => {
                    return Err(stated::differs(original, &field, stated, found, "test cases"));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// Whether a case passed, as it says itself; refused where its metrics say otherwise. A flaky metric decides nothing, and in a
/// traced case the metrics of spans do too.
fn verdict(original: &Original<'_>, row: usize, case: &Json) -> Result<Option<bool>, ImportError> {
    let Some(said) = at(case, &["success"]) else { return Ok(None) };
    let Json::Bool(said) = *said else {
        return Err(original.refuse_at(row, "success", "must be true or false"));
    };
    let deciding = list(case, &["metricsData"]).iter().filter(|data| member::boolean(data, &["flaky"]) != Some(true));
    let verdicts: Vec<bool> = deciding.filter_map(|data| member::boolean(data, &["success"])).collect();
    let passed = !verdicts.contains(&false);
    let decided = !verdicts.is_empty() && (!passed || at(case, &["trace"]).is_none());
    if decided && said != passed {
        let reason = format!("says {said}, and its metrics give {passed}");
        return Err(original.refuse_at(row, "success", reason));
    }
    Ok(Some(said))
}

/// The settings of each metric, which must be the same in every case.
fn metrics(original: &Original<'_>, cases: &[&Json], options: &Options) -> Result<BTreeMap<String, Json>, ImportError> {
    let mut metrics: BTreeMap<String, Json> = BTreeMap::new();
    for (at, case) in cases.iter().enumerate() {
        for metric in list(case, &["metricsData"]) {
            let Some(name) = member::text(metric, &["name"]) else { continue };
            if options.metric.as_deref().is_some_and(|wanted| wanted != name) {
                continue;
            }
            let settings = object([
                ("threshold", or_null(metric, &["threshold"])),
                ("strictMode", or_null(metric, &["strictMode"])),
                ("evaluationModel", or_null(metric, &["evaluationModel"])),
            ]);
            match metrics.get(name) {
                Some(known) if *known != settings => {
                    let reason = format!("`{name}` has other settings than in the cases before");
                    return Err(original.refuse_at(at + 1, "metricsData", reason));
                }
                Some(_) => {}
                None => _ = metrics.insert(name.to_owned(), settings),
            }
        }
    }
    if let (true, Some(asked)) = (metrics.is_empty(), &options.metric) {
        let what = format!("no case has the metric `{asked}`");
        return Err(ImportError::Choose { what, found: original.name().to_owned(), option: "--metric" });
    }
    Ok(metrics)
}

fn item(original: &Original<'_>, row: usize, case: &Json, metric: Option<&str>) -> Result<Item, ImportError> {
    let of_metric = |data: &&Json| metric.is_none_or(|wanted| member::text(data, &["name"]) == Some(wanted));
    let data: Vec<&Json> = list(case, &["metricsData"]).iter().filter(of_metric).collect();
    for data in &data {
        match at(data, &["success"]) {
            None | Some(Json::Bool(_)) => {}
            Some(_) => return Err(original.refuse_at(row, "metricsData.success", "must be true or false")),
        }
        match at(data, &["score"]) {
            None | Some(Json::Integer(_) | Json::Float(_)) => {}
            Some(Json::String(word)) if member::is_no_score(word) => {
                if at(data, &["success"]) == Some(&Json::Bool(true)) {
                    let reason = format!("says true, and `metricsData.score` is {word}");
                    return Err(original.refuse_at(row, "metricsData.success", reason));
                }
            }
            Some(_) => return Err(original.refuse_at(row, "metricsData.score", "must be a number")),
        }
    }
    if at(case, &["tokenCost"]).is_some_and(|cost| member::number(cost, &[]).is_none()) {
        return Err(original.refuse_at(row, "tokenCost", "must be a number"));
    }
    let said = verdict(original, row, case)?;
    let success = |data: &Json| member::boolean(data, &["success"]);
    let state = if data.iter().any(|data| at(data, &["error"]).is_some()) {
        State::Errored
    } else if data.is_empty() || data.iter().all(|data| success(data).is_none()) {
        State::Unscored
    } else if data.iter().all(|data| success(data) == Some(true)) && (metric.is_some() || said != Some(false)) {
        State::Pass
    } else {
        State::Fail
    };
    let score = match data.as_slice() {
        [one] => member::number(one, &["score"]),
        _ => None,
    };
    let cost = member::number(case, &["tokenCost"]);
    if cost.is_some_and(|cost| cost < 0.0) {
        return Err(original.refuse_at(row, "tokenCost", "must not be negative"));
    }
    Ok(Item {
        id: member::name(case, &["name"]),
        prompt: asked(case),
        reference: reference(case),
        reply: member::text(case, &["actualOutput"]).map(str::to_owned),
        state,
        score,
        cost,
        place: original.place(row),
        ..Item::default()
    })
}

/// The expected output, beside the tools that were to be called and the outcome that was to come, where there are any.
fn reference(case: &Json) -> Wording {
    let named = |name: &'static str| {
        let found = at(case, &[name]).filter(|found| !matches!(found, Json::Array(items) if items.is_empty()));
        found.map(|found| (name.to_owned(), found.clone()))
    };
    let beside: Vec<_> = ["expectedTools", "expectedOutcome"].into_iter().filter_map(named).collect();
    if beside.is_empty() {
        return Wording::maybe(at(case, &["expectedOutput"]));
    }
    let output = ("expectedOutput".to_owned(), or_null(case, &["expectedOutput"]));
    Wording::Value(spelled(&Json::Object(beside.into_iter().chain([output]).collect())))
}

/// The input, beside the context that went with it, where there is one; the turns of a conversation.
fn asked(case: &Json) -> Wording {
    let beside = ["context", "retrievalContext", "turns", "scenario"];
    if beside.iter().all(|name| at(case, &[name]).is_none()) {
        return Wording::maybe(at(case, &["input"]));
    }
    let members = beside.iter().chain(&["input"]).map(|name| ((*name).to_owned(), or_null(case, &[name])));
    Wording::Value(spelled(&Json::Object(members.collect())))
}
