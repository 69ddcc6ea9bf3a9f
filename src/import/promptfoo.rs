//! promptfoo: `results.json`, or `results.jsonl`, which has the rows only.
//!
//! `docs/import/promptfoo.md` says which fields are read.

use std::collections::{BTreeMap, BTreeSet};

use super::attempts::{Reducer, lost_tries, reduced};
use super::member::{self, at, count, list, object, or_null, shown, spelled, string};
use super::original::Original;
use super::round::{Attempt, Conditions, Item, Round, State, Wording};
use super::rows::rows;
use super::secret::{is_opaque, without_secrets};
use super::{ImportError, Options, Tool, stated};
use crate::object::Json;

/// The provider that sends nothing and answers with its prompt, so that the question is in the variables alone.
const ECHO: &str = "echo";

/// Settings of a provider that say who is asked and who pays, and shape no reply.
const VOLATILE: [&str; 6] = ["apiKey", "apiBaseUrl", "apiHost", "headers", "cost", "organization"];

/// Types of assertions by which a model judges; which one has to be said.
const GRADED: [&str; 16] = [
    "llm-rubric",
    "search-rubric",
    "factuality",
    "answer-relevance",
    "conversation-relevance",
    "context-recall",
    "context-relevance",
    "context-faithfulness",
    "g-eval",
    "similar",
    "classifier",
    "moderation",
    "select-best",
    "max-score",
    "pi",
    "agent-rubric",
];

/// How the other such types begin.
const GRADED_PREFIXES: [&str; 3] = ["model-graded", "similar:", "trajectory:goal"];

/// Types of assertions that compare the replies of several rows.
const COMPARED: [&str; 2] = ["select-best", "max-score"];

/// The `failureReason` that is an error.
const ERROR: u64 = 2;

/// The type of an assertion that is several.
const SET: &str = "assert-set";

pub(super) fn recognises(original: &Original<'_>) -> bool {
    let name = original.file_name();
    let head = || String::from_utf8_lossy(&original.head()).into_owned();
    (name.ends_with(".json") && head().contains("\"evalId\""))
        || (name.ends_with(".jsonl") && head().contains("\"promptIdx\"") && head().contains("\"gradingResult\""))
}

pub(super) fn read(originals: &[Original<'_>], options: &Options) -> Result<Vec<Round>, ImportError> {
    let known: Vec<_> = originals.iter().enumerate().filter(|(_, original)| recognises(original)).collect();
    let whole = |(_, original): &&(usize, &Original<'_>)| original.file_name().ends_with(".json");
    // Where both are there they are the same run, and the document says more.
    let files: Vec<_> = match known.iter().filter(whole).count() {
        0 => known.clone(),
        _ => known.iter().filter(whole).copied().collect(),
    };
    match files.as_slice() {
        [] => {
            let what = "`results.json` or `results.jsonl`";
            Err(ImportError::NoFiles { tool: Tool::Promptfoo, what, files: originals.len() })
        }
        [(place, original)] => run(*place, original, options),
        [(_, first), (_, second), ..] => Err(ImportError::Choose {
            what: "there are the results of several runs".to_owned(),
            found: format!("{} and {}", first.name(), second.name()),
            option: "",
        }),
    }
}

fn run(place: usize, original: &Original<'_>, options: &Options) -> Result<Vec<Round>, ImportError> {
    let (document, read) = if original.file_name().ends_with(".json") {
        let document = original.json(&options.limits)?;
        let read: Vec<(usize, Json)> = list(&document, &["results", "results"])
            .iter()
            .cloned()
            .enumerate()
            .map(|(at, row)| (at + 1, row))
            .collect();
        for (at, row) in &read {
            original.hold_sample(*at, row, &options.limits)?;
        }
        refuse_other_counts(original, &document, &read)?;
        (Some(document), read)
    } else {
        (None, rows(original, &options.limits, |line, row| Ok((line, row)))?)
    };
    if read.is_empty() {
        return Err(ImportError::NothingMeasured { tool: Tool::Promptfoo, task: original.name().to_owned(), items: 0 });
    }
    let mut groups: BTreeMap<String, Vec<&(usize, Json)>> = BTreeMap::new();
    for row in &read {
        groups.entry(task(&row.1)).or_default().push(row);
    }
    let wanted = groups.into_iter().filter(|(task, _)| options.wants(task));
    wanted.map(|(task, rows)| round(place, original, task, &rows, document.as_ref())).collect()
}

/// One round a provider and prompt: they are what is compared, and each answers every test.
fn task(row: &Json) -> String {
    let provider = member::text(row, &["provider", "label"]).filter(|label| !label.is_empty());
    let provider = provider.or(member::text(row, &["provider", "id"])).unwrap_or("unknown");
    let description = count(row, &["promptIdx"]).unwrap_or(0);
    format!("{provider}.prompt{}", description + 1)
}

/// A document says how many rows it has, and how many of them passed, failed and errored.
fn refuse_other_counts(original: &Original<'_>, document: &Json, rows: &[(usize, Json)]) -> Result<(), ImportError> {
    let path = |name| ["results", "stats", name];
    let names = ["successes", "failures", "errors"];
    let [right, wrong, errors] = names.map(|name| stated::count(original, document, &path(name)));
    if let (Some(right), Some(wrong), Some(errors)) = (right?, wrong?, errors?) {
        let counted = right.saturating_add(wrong).saturating_add(errors);
        if counted != rows.len() as u64 {
            return Err(stated::differs(original, "results.stats", counted, rows.len(), "results"));
        }
    }
    // Assertions that compare replies with each other are judged after everything was counted.
    let compares = |(_, row): &(usize, Json)| {
        assertions(row)
            .iter()
            .any(|assert| member::text(assert, &["type"]).is_some_and(|kind| COMPARED.contains(&kind)))
    };
    // Rows of old versions do not say why they failed.
    if rows.iter().any(compares) || rows.iter().any(|(_, row)| at(row, &["failureReason"]).is_none()) {
        return Ok(());
    }
    let of = |row: &Json| match member::boolean(row, &["success"]) {
        Some(true) => 0,
        _ if count(row, &["failureReason"]) == Some(ERROR) => 2,
        _ => 1,
    };
    for (kind, name) in names.into_iter().enumerate() {
        let found = rows.iter().filter(|(_, row)| of(row) == kind).count();
        stated::hold_count(original, document, &path(name), found, "results")?;
    }
    Ok(())
}

/// A row says in several places whether it passed.
fn refuse_two_verdicts(original: &Original<'_>, row: usize, json: &Json) -> Result<(), ImportError> {
    let Some(success) = member::boolean(json, &["success"]) else { return Ok(()) };
    let reason = or_null(json, &["failureReason"]);
    if success && !matches!(reason, Json::Null | Json::Integer(0)) {
        let reason = format!("says {}, and `success` is true", spelled(&reason));
        return Err(original.refuse_at(row, "failureReason", reason));
    }
    let graded = member::boolean(json, &["gradingResult", "pass"]);
    match graded {
        Some(pass) if pass != success && reason != Json::Integer(ERROR.into()) => {
            let reason = format!("says {pass}, and `success` is {success}");
            Err(original.refuse_at(row, "gradingResult.pass", reason))
        }
        _ => Ok(()),
    }
}

fn round(
    place: usize,
    original: &Original<'_>,
    task: String,
    rows: &[&(usize, Json)],
    document: Option<&Json>,
) -> Result<Round, ImportError> {
    // A test that was asked again stands there again: the same test, another try.
    let mut tests: BTreeMap<String, Vec<&(usize, Json)>> = BTreeMap::new();
    for row in rows {
        tests.entry(test(&row.1)).or_default().push(row);
    }
    let stated = document.and_then(|document| {
        let repeats = count(document, &["runtimeOptions", "repeat"]);
        repeats.or_else(|| count(document, &["config", "evaluateOptions", "repeat"]))
    });
    let most = tests.values().map(Vec::len).max().unwrap_or(1) as u64;
    // Where nothing says how often, tests that were asked again were all asked as often as each other.
    let even = tests.values().all(|rows| rows.len() as u64 == most);
    let repeats = stated.unwrap_or(if even { most } else { 1 }).max(1);
    let lost: u64 = tests.values().map(|rows| repeats.saturating_sub(rows.len() as u64)).sum();
    let named = names(&tests);
    let mut items = Vec::new();
    for (name, rows) in named.into_iter().zip(tests.values()) {
        if rows.len() as u64 > repeats {
            return Err(ImportError::Twice {
                what: format!("the test `{}`", name.chars().take(80).collect::<String>()),
                first: original.row(rows[0].0),
                second: original.row(rows[1].0),
            });
        }
        items.push(item(original, name, rows, repeats)?);
    }
    let mut remarks: Vec<String> = judges(rows, document).into_iter().map(|judge| format!("judge: {judge}")).collect();
    if repeats > 1 {
        remarks.push(format!("each test was asked {repeats} times and counts once"));
        remarks.extend(lost_tries(lost));
    }
    let first = &rows[0].1;
    let provider = member::text(first, &["provider", "id"]);
    // A label that two providers share would make them tries of one.
    if let Some((row, _)) = rows.iter().find(|(_, row)| member::text(row, &["provider", "id"]) != provider) {
        let reason = format!("is another provider than in row {}, under the same label", rows[0].0);
        return Err(original.refuse_at(*row, "provider.id", reason));
    }
    Round {
        tool: Tool::Promptfoo,
        task,
        items: items.into(),
        planned: None,
        conditions: Conditions {
            scorer: Some(scorer(rows)),
            configuration: configuration(rows, document),
            code: document
                .map(|document| object([("promptfoo", or_null(document, &["metadata", "promptfooVersion"]))])),
            generation: document.and_then(|document| generation(document, at(first, &["provider"])?, rows)),
            repeats: Some(Json::Integer(repeats.into())),
        },
        model: provider.map(str::to_owned),
        remarks,
        originals: vec![place],
    }
    .in_order()
}

/// What makes a test: what it is called, its variables and its assertions.
fn test(row: &Json) -> String {
    let member = |name: &str| or_null(row, &["testCase", name]);
    spelled(&object([("description", member("description")), ("vars", vars(row)), ("assert", member("assert"))]))
}

fn vars(row: &Json) -> Json {
    match at(row, &["testCase", "vars"]) {
        Some(vars) => vars.clone(),
        None => or_null(row, &["vars"]),
    }
}

/// The descriptions, where each test has one of its own, else the tests' places.
fn names(tests: &BTreeMap<String, Vec<&(usize, Json)>>) -> Vec<String> {
    let described: Vec<Option<&str>> =
        tests.values().map(|rows| member::text(&rows[0].1, &["testCase", "description"])).collect();
    let unique: BTreeSet<_> = described.iter().flatten().collect();
    if unique.len() == tests.len() {
        return described.into_iter().flatten().map(str::to_owned).collect();
    }
    let place = |rows: &Vec<&(usize, Json)>| rows.iter().filter_map(|(_, row)| count(row, &["testIdx"])).min();
    tests.values().map(|rows| place(rows).map_or_else(|| "?".to_owned(), |place| place.to_string())).collect()
}

fn item(original: &Original<'_>, name: String, rows: &[&(usize, Json)], repeats: u64) -> Result<Item, ImportError> {
    let (row, first) = (rows[0].0, &rows[0].1);
    let prompt = if member::text(first, &["provider", "id"]) == Some(ECHO) {
        Wording::of(&vars(first))
    } else {
        Wording::maybe(at(first, &["prompt", "raw"]))
    };
    let mut tries: Vec<Attempt> =
        rows.iter().map(|(row, json)| attempt(original, *row, json)).collect::<Result<_, _>>()?;
    while (tries.len() as u64) < repeats.min(1 << 20) {
        tries.push(Attempt { reply: None, state: State::Missing, score: None });
    }
    // Tries have no order of their own that every run would share.
    tries.sort_by(|one, other| (one.state, &one.reply).cmp(&(other.state, &other.reply)));
    let (state, score) = if repeats > 1 { reduced(&tries, Reducer::Mean) } else { (tries[0].state, tries[0].score) };
    let costs: Vec<Option<f64>> = rows.iter().map(|(_, json)| cost(json)).collect();
    Ok(Item {
        id: Some(name),
        cluster: ["cluster", "group"].iter().find_map(|name| member::name(first, &["testCase", "metadata", name])),
        prompt,
        reference: reference(first),
        reply: tries[0].reply.clone(),
        state,
        score,
        cost: costs.iter().copied().sum::<Option<f64>>(),
        attempts: if repeats > 1 { tries } else { Vec::new() },
        place: original.place(row),
        ..Item::default()
    })
}

fn attempt(original: &Original<'_>, row: usize, json: &Json) -> Result<Attempt, ImportError> {
    refuse_two_verdicts(original, row, json)?;
    let reply = at(json, &["response", "output"]).map(shown);
    // It also has a message then.
    let errored = count(json, &["failureReason"]) == Some(ERROR)
        || (at(json, &["error"]).is_some() && at(json, &["response", "output"]).is_none());
    let asserted = if list(json, &["testCase", "assert"]).is_empty() {
        !list(json, &["gradingResult", "componentResults"]).is_empty()
    } else {
        !assertions(json).is_empty()
    };
    let success = member::boolean(json, &["success"]);
    let state = match (errored, asserted, success) {
        (true, _, _) => State::Errored,
        (false, false, _) => State::Unscored,
        (false, true, Some(true)) => State::Pass,
        (false, true, Some(false)) => State::Fail,
        (false, true, None) => return Err(original.refuse_at(row, "success", "must be true or false")),
    };
    let score = match state {
        State::Pass => Some(1.0),
        State::Fail => Some(0.0),
        _ => None,
    };
    Ok(Attempt { reply, state, score })
}

/// A cost of 0 is what promptfoo writes where it knows no price, so it is not known to be 0.
fn cost(row: &Json) -> Option<f64> {
    member::number(row, &["cost"]).filter(|cost| *cost > 0.0)
}

/// What the assertions compare with: the one value of a single assertion, else all of them.
fn reference(row: &Json) -> Wording {
    let results = list(row, &["gradingResult", "componentResults"]);
    let asserts = assertions(row);
    // Results stand in the order of the assertions where there is no set among them.
    let flat = asserts.len() == list(row, &["testCase", "assert"]).len();
    let value = |place: usize, assert: &Json| {
        let rendered =
            results.get(place).filter(|_| flat).and_then(|result| at(result, &["metadata", "renderedAssertionValue"]));
        match (at(assert, &["value"]), rendered) {
            (Some(Json::String(text)), _) if !is_rendered(text) => string(text.clone()),
            (Some(Json::String(template)), rendered) => {
                substituted(row, template).or_else(|| rendered.cloned()).unwrap_or_else(|| unrendered(row, template))
            }
            (Some(other), _) => other.clone(),
            (None, _) => Json::Null,
        }
    };
    let values: Vec<Json> = asserts
        .iter()
        .enumerate()
        .map(|(place, assert)| object([("type", or_null(assert, &["type"])), ("value", value(place, assert))]))
        .collect();
    match values.as_slice() {
        [] => Wording::Unknown,
        [one] => match at(one, &["value"]) {
            Some(Json::String(text)) => Wording::Plain(text.clone()),
            _ => Wording::of(one),
        },
        _ => Wording::of(&Json::Array(values)),
    }
}

/// A template that is one variable and nothing else, replaced by it.
fn substituted(row: &Json, template: &str) -> Option<Json> {
    let name = template.trim().strip_prefix("{{")?.strip_suffix("}}")?.trim();
    at(&vars(row), &[name]).cloned()
}

/// Whether promptfoo puts something else in the place of this text. What it says of any other is not looked at.
fn is_rendered(text: &str) -> bool {
    text.contains("{{") || text.contains("{%") || text.starts_with("file://")
}

/// A template that nobody rendered, beside the variables where it has any.
fn unrendered(row: &Json, template: &str) -> Json {
    if template.contains("{{") || template.contains("{%") {
        return object([("template", string(template)), ("vars", vars(row))]);
    }
    string(template)
}

/// The assertions of a test, those inside of sets in the place of the sets.
fn assertions(row: &Json) -> Vec<&Json> {
    let mut found = Vec::new();
    let mut left: Vec<&Json> = list(row, &["testCase", "assert"]).iter().rev().collect();
    while let Some(assert) = left.pop() {
        if member::text(assert, &["type"]) == Some(SET) {
            left.extend(list(assert, &["assert"]).iter().rev());
        } else {
            found.push(assert);
        }
    }
    found
}

/// An assertion without what it compares with; of a set, what it says of itself and its assertions.
fn settings_of(assert: &Json) -> Json {
    let Json::Object(members) = member::without(assert, &["value"]) else { return assert.clone() };
    let set = member::text(assert, &["type"]) == Some(SET);
    let members = members.into_iter().map(|(name, value)| match value {
        Json::Array(asserts) if set && name == "assert" => {
            (name, Json::Array(asserts.iter().map(settings_of).collect()))
        }
        value => (name, value),
    });
    Json::Object(members.collect())
}

fn scorer(rows: &[&(usize, Json)]) -> String {
    let asserts = rows.iter().flat_map(|(_, row)| assertions(row));
    let kinds: BTreeSet<&str> = asserts.filter_map(|assert| member::text(assert, &["type"])).collect();
    if kinds.is_empty() { "none".to_owned() } else { kinds.into_iter().collect::<Vec<_>>().join(",") }
}

/// Whether a model judges by an assertion of this type.
fn asks_a_model(kind: &str) -> bool {
    let kind = kind.strip_prefix("not-").unwrap_or(kind);
    GRADED.contains(&kind) || GRADED_PREFIXES.iter().any(|prefix| kind.starts_with(prefix))
}

/// The judge that is named for an assertion: its own, its test's, or that of all tests.
fn judge<'a>(row: &'a Json, assert: &'a Json, document: Option<&'a Json>) -> Option<&'a Json> {
    let all = || document.and_then(|document| at(document, &["config", "defaultTest", "options", "provider"]));
    at(assert, &["provider"]).or_else(|| at(row, &["testCase", "options", "provider"])).or_else(all)
}

/// The assertions for which a model judges, each with its test.
fn graded<'a>(rows: &'a [&(usize, Json)]) -> impl Iterator<Item = (&'a Json, &'a Json)> {
    let asserts = rows.iter().flat_map(|(_, row)| assertions(row).into_iter().map(move |one| (row, one)));
    asserts.filter(|(_, assert)| member::text(assert, &["type"]).is_some_and(asks_a_model))
}

/// The judges that are named, each once.
fn judges(rows: &[&(usize, Json)], document: Option<&Json>) -> BTreeSet<String> {
    let named = graded(rows).filter_map(|(row, assert)| judge(row, assert, document));
    named
        .map(|judge| member::text(judge, &["id"]).map_or_else(|| shown(&without_secrets(judge)), str::to_owned))
        .collect()
}

/// The assertions but for what they compare with, and the options of the tests, in which a judge's model may stand. Unknown
/// where a model judges that is not named: which one it is depends on the version and on the keys that were at hand.
fn configuration(rows: &[&(usize, Json)], document: Option<&Json>) -> Option<Json> {
    if graded(rows).any(|(row, assert)| judge(row, assert, document).is_none()) {
        return None;
    }
    let default = document.and_then(|document| at(document, &["config", "defaultTest", "options", "provider"]));
    let mut asserts = BTreeMap::new();
    let mut options = BTreeMap::new();
    for (_, row) in rows {
        for assert in list(row, &["testCase", "assert"]) {
            let assert = without_secrets(&settings_of(assert));
            asserts.insert(spelled(&assert), assert);
        }
        let option = without_secrets(&or_null(row, &["testCase", "options"]));
        options.insert(spelled(&option), option);
        if let Some(threshold) = at(row, &["testCase", "threshold"]) {
            options.insert(format!("threshold {}", spelled(threshold)), threshold.clone());
        }
        if let Some(function) = at(row, &["testCase", "assertScoringFunction"]) {
            let function = object([("assertScoringFunction", function.clone())]);
            options.insert(spelled(&function), function);
        }
    }
    let mut members = vec![
        ("assertions".to_owned(), Json::Array(asserts.into_values().collect())),
        ("options".to_owned(), Json::Array(options.into_values().collect())),
    ];
    if let Some(judge) = default.filter(|_| graded(rows).next().is_some()) {
        members.push(("judge".to_owned(), without_secrets(judge)));
    }
    let settings = Json::Object(members);
    (!is_opaque(&settings)).then_some(settings)
}

/// The settings of the provider, what is done to its replies, and the settings of the prompt. A provider that is only named
/// has its own defaults. Several entries of one name are told apart by their labels; where they cannot be, and say different
/// things, the settings are unknown.
fn generation(document: &Json, provider: &Json, rows: &[&(usize, Json)]) -> Option<Json> {
    let set = |value: Json| match value {
        Json::Null => object([]),
        value => without_secrets(&member::without(&value, &VOLATILE)),
    };
    let text =
        |value: &Json, name: &str| member::text(value, &[name]).filter(|text| !text.is_empty()).map(str::to_owned);
    let (id, label) = (text(provider, "id")?, text(provider, "label"));
    let named = |entry: &&Json| match entry {
        Json::String(name) => *name == id,
        entry => text(entry, "id").as_ref() == Some(&id),
    };
    let entries: Vec<&Json> = list(document, &["config", "providers"]).iter().filter(named).collect();
    let labelled: Vec<&Json> = entries.iter().filter(|entry| text(entry, "label") == label).copied().collect();
    // promptfoo may repeat the name of a provider without label as its label.
    let by_name = label.is_none_or(|label| label == id);
    let entries = if labelled.is_empty() && by_name { entries } else { labelled };
    let settings = |entry: &&Json| {
        object([("config", set(or_null(entry, &["config"]))), ("transform", or_null(entry, &["transform"]))])
    };
    let settings: Vec<Json> = entries.iter().map(settings).collect();
    let (first, others) = settings.split_first()?;
    if others.iter().any(|other| other != first) {
        return None;
    }
    let of_prompts: BTreeMap<String, Json> = rows
        .iter()
        .map(|(_, row)| set(or_null(row, &["prompt", "config"])))
        .map(|config| (spelled(&config), config))
        .collect();
    let settings = object([
        ("config", or_null(first, &["config"])),
        ("transform", or_null(first, &["transform"])),
        ("prompts", Json::Array(of_prompts.into_values().collect())),
    ]);
    (!is_opaque(&settings)).then_some(settings)
}
