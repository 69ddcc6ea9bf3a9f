//! Inspect: a log as `.eval`, a zip archive, or as `.json`.
//!
//! `docs/import/inspect.md` says which fields are read.

use std::collections::{BTreeMap, BTreeSet};

use super::archive::entries;
use super::attempts::{Reducer, lost_tries, reduced};
use super::member::{self, at, count, list, object, or_null, shown, spelled, string};
use super::original::{Original, document};
use super::round::{Attempt, Conditions, Item, Round, State, Wording, twice};
use super::secret::without_secrets;
use super::stated::hold_count;
use super::{ImportError, Options, Tool, stated};
use crate::object::{Json, ObjectId};

/// Settings that say how fast and how stubbornly was asked, and shape no reply.
const VOLATILE: [&str; 6] =
    ["max_connections", "max_retries", "timeout", "attempt_timeout", "adaptive_connections", "cache_prompt"];

/// How the settings of a run are called that end a sample.
const LIMIT: &str = "_limit";

/// What is in the names of Inspect's scorers that ask a model.
const GRADED: &str = "model_graded";

/// The role of the model that they ask, unless they say another.
const GRADER: &str = "grader";

/// How a text names an attachment of its sample.
const ATTACHMENT: &str = "attachment://";

pub(super) fn recognises(original: &Original<'_>) -> bool {
    let head = || String::from_utf8_lossy(&original.head()).into_owned();
    original.file_name().ends_with(".eval")
        || (original.file_name().ends_with(".json") && head().contains("\"eval\"") && head().contains("\"task_id\""))
}

pub(super) fn read(originals: &[Original<'_>], options: &Options) -> Result<Vec<Round>, ImportError> {
    let logs: Vec<_> = originals.iter().enumerate().filter(|(_, original)| recognises(original)).collect();
    if logs.is_empty() {
        return Err(ImportError::NoFiles {
            tool: Tool::Inspect,
            what: "log `.eval` or `.json`",
            files: originals.len(),
        });
    }
    let mut rounds = Vec::new();
    for (place, original) in logs {
        let log = Log::read(original, options)?;
        if options.wants(&log.task()) {
            rounds.push(log.round(place, options)?);
        }
    }
    Ok(rounds)
}

/// A log, however it was packed.
struct Log<'a, 'b> {
    original: &'a Original<'b>,
    header: Json,
    samples: Vec<Json>,
}

impl<'a, 'b> Log<'a, 'b> {
    fn read(original: &'a Original<'b>, options: &Options) -> Result<Self, ImportError> {
        let limits = &options.limits;
        let (header, samples) = if original.file_name().ends_with(".eval") {
            let wanted = |name: &str| {
                matches!(name, "header.json" | "reductions.json")
                    || (name.starts_with("samples/") && name.ends_with(".json"))
            };
            let (mut header, mut samples, mut reductions) = (None, Vec::new(), None);
            for (name, bytes) in entries(original, limits, wanted)? {
                let json = document(&format!("{}: {}", original.name(), member::short(&name)), &bytes, limits)?;
                match name.as_str() {
                    "header.json" => header = Some(json),
                    "reductions.json" => reductions = Some(json),
                    _ => samples.push(json),
                }
            }
            let reason = "has no header, so the run was killed and the log is incomplete";
            let mut header = header.ok_or_else(|| original.refuse(reason))?;
            if let (Json::Object(members), Some(reductions)) = (&mut header, reductions) {
                members.push(("reductions".to_owned(), reductions));
            }
            (header, samples)
        } else {
            let mut log = original.json(limits)?;
            let samples = match &mut log {
                Json::Object(members) => members.iter_mut().find(|(name, _)| name == "samples"),
                _ => None,
            };
            let samples = samples.map(|(_, samples)| std::mem::replace(samples, Json::Null));
            let samples = match samples {
                Some(Json::Array(samples)) => samples,
                _ => Vec::new(),
            };
            for (at, sample) in samples.iter().enumerate() {
                original.hold_sample(at + 1, sample, limits)?;
            }
            (log, samples)
        };
        let status = member::text(&header, &["status"]).unwrap_or("unknown").to_owned();
        if !matches!(status.as_str(), "success" | "error" | "cancelled") {
            return Err(original.refuse(format!("has the status `{status}`, so the log is incomplete")));
        }
        Ok(Self { original, header, samples })
    }

    fn task(&self) -> String {
        let name = member::text(&self.header, &["eval", "task_display_name"]);
        name.or(member::text(&self.header, &["eval", "task"])).unwrap_or("task").to_owned()
    }

    fn round(&self, place: usize, options: &Options) -> Result<Round, ImportError> {
        let eval = or_null(&self.header, &["eval"]);
        let scorer = self.scorer(&eval, options)?;
        let epochs = count(&eval, &["config", "epochs"]).unwrap_or(1).max(1);
        let (reducer_name, reducer) = self.reducer(&eval, epochs)?;
        let mut groups: BTreeMap<String, Vec<(usize, &Json)>> = BTreeMap::new();
        for (at, sample) in self.samples.iter().enumerate() {
            let id = member::name(sample, &["id"]);
            let id = id.ok_or_else(|| self.original.refuse_at(at + 1, "samples.id", "is missing"))?;
            groups.entry(id).or_default().push((at + 1, sample));
        }
        let mut items = Vec::new();
        for (id, samples) in groups {
            items.push(self.item(id, samples, &scorer, epochs, reducer)?);
        }
        self.check_reductions(&items, &scorer)?;
        let there: BTreeSet<&str> = items.iter().filter_map(|item| item.id.as_deref()).collect();
        let planned = list(&eval, &["dataset", "sample_ids"]).iter().filter_map(|id| member::name(id, &[]));
        let planned: BTreeSet<String> = planned.collect();
        let unplanned = |item: &&Item| item.id.as_ref().is_some_and(|id| !planned.contains(id));
        if let Some(item) = items.iter().find(unplanned).filter(|_| !planned.is_empty()) {
            let id = item.id.as_deref().unwrap_or_default();
            let reason = format!("`{id}` is not among the `sample_ids` of the data set");
            return Err(self.original.refuse_at(item.place.1, "samples.id", reason));
        }
        self.check_results(&items, &scorer)?;
        let missing: Vec<String> = planned.into_iter().filter(|id| !there.contains(id.as_str())).collect();
        items.extend(missing.into_iter().map(|id| Item {
            id: Some(id),
            place: self.original.place(0),
            ..Item::default()
        }));
        let judges = self.judges(&eval, &scorer);
        let mut remarks: Vec<String> = judges.iter().map(|(role, model)| format!("judge {role}: {model}")).collect();
        if epochs > 1 {
            remarks.push(format!("each question was asked {epochs} times, reduced by {reducer_name}"));
            let tries = items.iter().filter(|item| item.place.1 > 0).flat_map(|item| &item.attempts);
            remarks.extend(lost_tries(tries.filter(|attempt| attempt.state == State::Missing).count() as u64));
        }
        if let Some(status @ ("error" | "cancelled")) = member::text(&self.header, &["status"]) {
            remarks.push(format!("the run ended with the status {status}"));
        }
        remarks.extend(self.invalidated());
        Round {
            tool: Tool::Inspect,
            task: self.task(),
            planned: count(&eval, &["dataset", "samples"]),
            conditions: Conditions {
                configuration: configuration(&eval, &scorer, &judges),
                code: Some(object([
                    ("packages", or_null(&eval, &["packages"])),
                    ("task_version", or_null(&eval, &["task_version"])),
                ])),
                generation: self.generation(&eval),
                repeats: Some(if epochs > 1 {
                    object([("epochs", Json::Integer(epochs.into())), ("reducer", string(reducer_name))])
                } else {
                    Json::Integer(1)
                }),
                scorer: Some(scorer),
            },
            model: self.model(&eval),
            remarks,
            items: items.into(),
            originals: vec![place],
        }
        .in_order()
    }

    /// What the log says was declared invalid, afterwards and by people.
    fn invalidated(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if at(&self.header, &["invalidated"]).is_some_and(|said| *said != Json::Bool(false)) {
            remarks.push("the log says that it was invalidated".to_owned());
        }
        let samples = self.samples.iter().filter(|sample| at(sample, &["invalidation"]).is_some());
        let samples: BTreeSet<String> = samples.filter_map(|sample| member::name(sample, &["id"])).collect();
        if !samples.is_empty() {
            let names: Vec<_> = samples.iter().take(5).map(|name| member::short(name)).collect();
            let more = if samples.len() > names.len() { " and others" } else { "" };
            remarks.push(format!("samples that were invalidated, and count: {}{more}", names.join(", ")));
        }
        remarks
    }

    /// The scorer that was asked for, else the first.
    fn scorer(&self, eval: &Json, options: &Options) -> Result<String, ImportError> {
        let recorded =
            list(&self.header, &["results", "scores"]).iter().filter_map(|score| member::text(score, &["name"]));
        let configured = list(eval, &["scorers"]).iter().filter_map(|scorer| member::text(scorer, &["name"]));
        let mut names: Vec<&str> = recorded.chain(configured).collect();
        for sample in &self.samples {
            names.extend(member::members(sample, &["scores"]).iter().map(|(name, _)| name.as_str()));
        }
        match &options.metric {
            None => names.first().map(|name| (*name).to_owned()).ok_or_else(|| ImportError::NothingMeasured {
                tool: Tool::Inspect,
                task: self.task(),
                items: self.samples.len(),
            }),
            Some(asked) if names.contains(&asked.as_str()) => Ok(asked.clone()),
            Some(asked) => {
                let there: BTreeSet<&str> = names.into_iter().collect();
                let found = format!("there are {}", there.into_iter().collect::<Vec<_>>().join(", "));
                Err(ImportError::Choose { what: format!("no scorer `{asked}`"), found, option: "--metric" })
            }
        }
    }

    fn reducer(&self, eval: &Json, epochs: u64) -> Result<(String, Reducer), ImportError> {
        let name = match at(eval, &["config", "epochs_reducer"]) {
            None => "mean".to_owned(),
            Some(Json::Array(names)) => names.first().map_or_else(|| "mean".to_owned(), shown),
            Some(name) => shown(name),
        };
        let refuse = |reason: String| Err(self.original.refuse_field("eval.config.epochs_reducer", reason));
        match Reducer::parse(&name) {
            // Of fewer tries than are drawn none could be wrong.
            Some(Reducer::PassAt(tries)) if tries as u64 > epochs => {
                refuse(format!("`{name}` draws {tries} tries, and there are {epochs}"))
            }
            Some(reducer) => Ok((name, reducer)),
            None if epochs == 1 => Ok((name, Reducer::Mean)),
            None => refuse(format!("`{name}` is not known")),
        }
    }

    fn item(
        &self,
        id: String,
        mut samples: Vec<(usize, &Json)>,
        scorer: &str,
        epochs: u64,
        reducer: Reducer,
    ) -> Result<Item, ImportError> {
        samples.sort_by_key(|(_, sample)| count(sample, &["epoch"]));
        let epoch = |(_, sample): &(usize, &Json)| count(sample, &["epoch"]).unwrap_or(1);
        let place = |row: usize| Item { place: self.original.place(row), ..Item::default() };
        if let Some(pair) = samples.windows(2).find(|pair| epoch(&pair[0]) == epoch(&pair[1])) {
            return Err(twice(&place(pair[0].0), &place(pair[1].0), &format!("the sample `{id}`")));
        }
        if let Some(sample) = samples.iter().find(|sample| !(1..=epochs).contains(&epoch(sample))) {
            let reason = format!("is {}, and the epochs are 1 to {epochs}", epoch(sample));
            return Err(self.original.refuse_at(sample.0, "samples.epoch", reason));
        }
        let mut tries = Vec::new();
        for number in 1..=epochs.min(1 << 20) {
            let found = samples.iter().find(|sample| epoch(sample) == number);
            tries.push(match found {
                Some((row, sample)) => self.attempt(*row, sample, scorer)?,
                None => Attempt { reply: None, state: State::Missing, score: None },
            });
        }
        let (row, first) = samples[0];
        let prompt = asked(first);
        let reference = Wording::maybe(at(first, &["target"]));
        if let Some((other, _)) = samples
            .iter()
            .find(|(_, sample)| asked(sample) != prompt || Wording::maybe(at(sample, &["target"])) != reference)
        {
            return Err(self.original.refuse_at(
                *other,
                "samples",
                format!("`{id}` is another question than in row {row}"),
            ));
        }
        let (state, score) = match tries.as_slice() {
            [one] => (one.state, one.score),
            many => reduced(many, reducer),
        };
        let costs: Vec<Option<f64>> = samples.iter().map(|(_, sample)| cost(sample)).collect();
        Ok(Item {
            id: Some(id),
            cluster: ["cluster", "group"].iter().find_map(|name| member::name(first, &["metadata", name])),
            prompt,
            reference,
            reply: tries[0].reply.clone(),
            state,
            score,
            cost: costs.into_iter().sum(),
            attempts: if epochs > 1 { tries } else { Vec::new() },
            place: self.original.place(row),
            ..Item::default()
        })
    }

    fn attempt(&self, row: usize, sample: &Json, scorer: &str) -> Result<Attempt, ImportError> {
        let reply =
            member::text(sample, &["output", "completion"]).filter(|reply| !reply.is_empty()).map(str::to_owned);
        let value = at(sample, &["scores", scorer, "value"]);
        let (state, score) = match (at(sample, &["error"]), value) {
            (Some(_), _) => (State::Errored, None),
            (None, None) => (State::Unscored, None),
            (None, Some(value)) => {
                let score = score(value).map_err(|()| {
                    let reason = format!("must be a grade or a number from 0 to 1, not {}", value.kind());
                    self.original.refuse_at(row, &format!("scores.{scorer}.value"), reason)
                })?;
                match score {
                    None => (State::Unscored, None),
                    Some(score) => match State::of_score(score) {
                        Some(state) => (state, Some(score)),
                        None => {
                            let reason = format!("must be from 0 to 1, not {score}");
                            return Err(self.original.refuse_at(row, &format!("scores.{scorer}.value"), reason));
                        }
                    },
                }
            }
        };
        Ok(Attempt { reply, state, score })
    }

    /// What the log says the tries came to must be what they come to here, where none of them failed.
    fn check_reductions(&self, items: &[Item], scorer: &str) -> Result<(), ImportError> {
        let of_scorer = |reduction: &&Json| member::text(reduction, &["scorer"]) == Some(scorer);
        let Some(recorded) = list(&self.header, &["reductions"]).iter().find(of_scorer) else { return Ok(()) };
        let recorded: BTreeMap<String, f64> = list(recorded, &["samples"])
            .iter()
            .filter_map(|sample| Some((member::name(sample, &["sample_id"])?, score(at(sample, &["value"])?).ok()??)))
            .collect();
        for item in items {
            let whole = item.attempts.iter().all(|attempt| attempt.score.is_some());
            let id = item.id.as_deref().unwrap_or_default();
            if let (Some(stated), Some(found), true) = (recorded.get(id), item.score, whole)
                && (stated - found).abs() > 1e-9
            {
                let reason = format!("says {stated} of `{id}`, and its samples give {found}");
                return Err(self.original.refuse_field("reductions", reason));
            }
        }
        Ok(())
    }

    /// The numbers of a run that ended well must be what its samples give.
    fn check_results(&self, items: &[Item], scorer: &str) -> Result<(), ImportError> {
        let whole = member::text(&self.header, &["status"]) == Some("success");
        // A run that was stopped early has planned more samples than it asked.
        if !whole || at(&self.header, &["results", "early_stopping"]).is_some() || self.samples.is_empty() {
            return Ok(());
        }
        let completed = self.samples.iter().filter(|sample| at(sample, &["error"]).is_none()).count();
        for (name, found) in [("total_samples", self.samples.len()), ("completed_samples", completed)] {
            hold_count(self.original, &self.header, &["results", name], found, "samples")?;
        }
        // Inspect leaves out what errored or has no score; of several epochs it may leave out some only.
        let tried = |item: &Item| item.attempts.iter().all(|attempt| attempt.score.is_some());
        if !items.iter().all(tried) || items.iter().any(|item| item.state == State::Unscored) {
            return Ok(());
        }
        let scores: Vec<f64> = items.iter().filter_map(|item| item.score).collect();
        let of_scorer = |score: &&Json| member::text(score, &["scorer"]) == Some(scorer);
        // Every reducer has an entry of its own; the first is the one that counts here.
        let stated = list(&self.header, &["results", "scores"]).iter().find(of_scorer);
        match (stated, stated::mean(scores.into_iter())) {
            (Some(stated), Some(found)) => {
                let path = ["metrics", "accuracy", "value"];
                stated::hold_number(self.original, stated, &path, &[found], "samples")
            }
            _ => Ok(()),
        }
    }

    /// Models that judge, by their roles. A scorer of Inspect's own that is graded by a model and names none has the model
    /// that is measured as its judge.
    fn judges(&self, eval: &Json, scorer: &str) -> BTreeMap<String, String> {
        let roles = member::members(eval, &["model_roles"]).iter().map(|(role, model)| {
            (
                role.clone(),
                member::text(model, &["model"]).map_or_else(|| shown(&without_secrets(model)), str::to_owned),
            )
        });
        let options = list(eval, &["scorers"]).iter().filter_map(|scorer| {
            let name = member::text(scorer, &["name"])?;
            Some((name.to_owned(), shown(&without_secrets(at(scorer, &["options", "model"])?))))
        });
        let mut judges: BTreeMap<String, String> = roles.chain(options).collect();
        let configured = list(eval, &["scorers"]).iter().find(|one| member::text(one, &["name"]) == Some(scorer));
        let role = configured.and_then(|one| member::text(one, &["options", "model_role"])).unwrap_or(GRADER);
        if scorer.contains(GRADED) && !judges.contains_key(scorer) && !judges.contains_key(role) {
            let itself = member::text(eval, &["model"]).map_or_else(|| "unknown".to_owned(), str::to_owned);
            judges.insert(scorer.to_owned(), itself);
        }
        judges
    }

    /// The settings of generation; unknown in a log that has no place for them.
    fn generation(&self, eval: &Json) -> Option<Json> {
        let quiet = |path: &[&str], of: &Json| member::without(&or_null(of, path), &VOLATILE);
        if at(eval, &["model_generate_config"]).is_none() && at(&self.header, &["plan"]).is_none() {
            return None;
        }
        let mut settings = vec![
            ("model".to_owned(), quiet(&["model_generate_config"], eval)),
            ("plan".to_owned(), quiet(&["plan", "config"], &self.header)),
            ("steps".to_owned(), or_null(&self.header, &["plan", "steps"])),
            ("task_args".to_owned(), or_null(eval, &["task_args"])),
        ];
        // A reply that was cut off by a limit is another reply.
        let limit = |name: &str| name.ends_with(LIMIT) || name == "approval";
        let there = |path: &[&str], wanted: &dyn Fn(&str) -> bool| {
            let members = member::members(eval, path).iter();
            let kept: Vec<_> = members.filter(|(name, value)| *value != Json::Null && wanted(name)).cloned().collect();
            (!kept.is_empty()).then_some(Json::Object(kept))
        };
        settings.extend(there(&["config"], &limit).map(|limits| ("limits".to_owned(), limits)));
        settings.extend(there(&["model_args"], &|_| true).map(|args| ("model_args".to_owned(), args)));
        Some(Json::Object(settings))
    }

    /// The models that answered, by their own names; they may say more than the one that was asked for.
    fn model(&self, eval: &Json) -> Option<String> {
        let answered = self.samples.iter().filter(|sample| !list(sample, &["output", "choices"]).is_empty());
        let answered: BTreeSet<&str> =
            answered.filter_map(|sample| member::text(sample, &["output", "model"])).collect();
        if answered.is_empty() {
            return member::text(eval, &["model"]).map(str::to_owned);
        }
        Some(answered.into_iter().collect::<Vec<_>>().join(", "))
    }
}

/// The settings of the scorer; unknown where the log does not list it, as logs of old versions and scores that were added
/// later.
fn configuration(eval: &Json, scorer: &str, judges: &BTreeMap<String, String>) -> Option<Json> {
    let found = list(eval, &["scorers"]).iter().find(|found| member::text(found, &["name"]) == Some(scorer))?;
    let (options, metadata) = (or_null(found, &["options"]), or_null(found, &["metadata"]));
    let judges = judges.iter().map(|(role, model)| (role.clone(), string(model.clone()))).collect();
    Some(object([("options", options), ("metadata", metadata), ("judges", Json::Object(judges))]))
}

/// What was sent before the first answer, without the ids that messages have; else the input. One message of the user is
/// its text, beside the choices where there are any. An attachment stands there as the digest of what it holds, since its
/// own name is a short hash; one that is not in the log makes the prompt unknown.
fn asked(sample: &Json) -> Wording {
    let sent: Vec<Json> = list(sample, &["messages"])
        .iter()
        .take_while(|message| member::text(message, &["role"]) != Some("assistant"))
        .map(|message| object([("role", or_null(message, &["role"])), ("content", or_null(message, &["content"]))]))
        .collect();
    let text = match sent.as_slice() {
        [] => or_null(sample, &["input"]),
        [one] if member::text(one, &["role"]) == Some("user") => or_null(one, &["content"]),
        many => Json::Array(many.to_vec()),
    };
    let Some(text) = attached(sample, &text) else { return Wording::Unknown };
    match at(sample, &["choices"]) {
        Some(choices) => Wording::Value(spelled(&object([("prompt", text), ("choices", choices.clone())]))),
        None => Wording::of(&text),
    }
}

/// A value whose attachments are replaced by digests of their content.
fn attached(sample: &Json, value: &Json) -> Option<Json> {
    Some(match value {
        Json::String(text) if text.contains(ATTACHMENT) => {
            let mut parts = text.split(ATTACHMENT);
            let mut whole = parts.next().unwrap_or_default().to_owned();
            for part in parts {
                let end = part.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(part.len());
                let content = member::text(sample, &["attachments", &part[..end]])?;
                whole.push_str(&format!("{ATTACHMENT}blake3:{}{}", ObjectId::of(content.as_bytes()), &part[end..]));
            }
            string(whole)
        }
        Json::Array(items) => Json::Array(items.iter().map(|item| attached(sample, item)).collect::<Option<_>>()?),
        Json::Object(members) => {
            let member = |(name, value): &(String, Json)| Some((name.clone(), attached(sample, value)?));
            Json::Object(members.iter().map(member).collect::<Option<_>>()?)
        }
        other => other.clone(),
    })
}

/// A value as a number: grades are those of Inspect's `value_to_float`. `None` where there is none, an error where it is
/// something else.
fn score(value: &Json) -> Result<Option<f64>, ()> {
    match value {
        Json::Bool(right) => Ok(Some(f64::from(u8::from(*right)))),
        Json::Integer(_) | Json::Float(_) => Ok(member::number(value, &[])),
        Json::Null => Ok(None),
        Json::String(text) => match text.as_str() {
            "C" | "yes" | "true" => Ok(Some(1.0)),
            "I" | "N" | "no" | "false" => Ok(Some(0.0)),
            "P" => Ok(Some(0.5)),
            word if member::is_no_score(word) => Ok(None),
            other => other.parse().ok().filter(|number: &f64| number.is_finite()).map(Some).ok_or(()),
        },
        Json::Array(_) | Json::Object(_) => Err(()),
    }
}

/// What the models of a sample cost, where each says so.
fn cost(sample: &Json) -> Option<f64> {
    let usage = member::members(sample, &["model_usage"]);
    if usage.is_empty() {
        return None;
    }
    usage.iter().map(|(_, usage)| member::number(usage, &["total_cost"]).filter(|cost| *cost >= 0.0)).sum()
}
