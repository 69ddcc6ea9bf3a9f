//! MLflow's file store: runs with a table of results among their artifacts.
//!
//! `docs/import/mlflow.md` says which files are read.

use super::columns::Columns;
use super::member::{self, list, object, shown, string};
use super::original::Original;
use super::round::{Conditions, Item, Round, State, Wording};
use super::secret::is_secret;
use super::{ImportError, Limits, Options, Tool, stated};
use crate::object::{FieldError, Json, RecordError};

/// What a run's status must be: `FINISHED`.
const FINISHED: &str = "3";

/// How the columns of scores end.
const SCORE: &str = "/score";

pub(super) fn recognises(original: &Original<'_>) -> bool {
    original.file_name() == "meta.yaml" && flat(&original.head(), "run_id").is_some()
}

/// A member of a flat YAML document, as MLflow writes them: `name: value` at the beginning of a line.
fn flat(document: &[u8], name: &str) -> Option<String> {
    let text = String::from_utf8_lossy(document);
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?.trim();
    let bare = value.strip_prefix('\'').and_then(|value| value.strip_suffix('\'')).unwrap_or(value);
    Some(bare.to_owned())
}

pub(super) fn read(originals: &[Original<'_>], options: &Options) -> Result<Vec<Round>, ImportError> {
    let runs: Vec<_> = originals.iter().enumerate().filter(|(_, original)| recognises(original)).collect();
    if runs.is_empty() {
        return Err(ImportError::NoFiles { tool: Tool::Mlflow, what: "run `meta.yaml`", files: originals.len() });
    }
    let mut rounds = Vec::new();
    for (place, meta) in runs {
        let run = Run { originals, place, meta };
        let experiment = run.experiment();
        let task = experiment.as_ref().map_or_else(|| "run".to_owned(), |(_, name)| name.clone());
        if options.wants(&task) {
            rounds.push(run.round(task, experiment.map(|(place, _)| place), options)?);
        }
    }
    Ok(rounds)
}

/// A run's folder.
struct Run<'a, 'b> {
    originals: &'a [Original<'b>],
    place: usize,
    meta: &'a Original<'b>,
}

impl Run<'_, '_> {
    fn find(&self, name: &str) -> Option<usize> {
        let folder = self.meta.folder();
        let wanted = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        self.originals.iter().position(|original| original.name() == wanted)
    }

    /// The `meta.yaml` above the run, and the experiment's name in it.
    fn experiment(&self) -> Option<(usize, String)> {
        let above = self.meta.folder().rsplit_once('/').map_or("", |(above, _)| above);
        let is_it = |original: &Original<'_>| original.file_name() == "meta.yaml" && original.folder() == above;
        let place = self.originals.iter().position(is_it)?;
        Some((place, flat(&self.originals[place].head(), "name")?))
    }

    fn parameter(&self, name: &str, limits: &Limits, used: &mut Vec<usize>) -> Result<Option<String>, ImportError> {
        let Some(place) = self.find(&format!("params/{name}")) else { return Ok(None) };
        used.push(place);
        self.text(place, limits).map(Some)
    }

    fn text(&self, place: usize, limits: &Limits) -> Result<String, ImportError> {
        let bytes = self.originals[place].bytes(limits)?;
        let text = String::from_utf8(bytes).map_err(|_| self.originals[place].refuse("is not UTF-8"))?;
        Ok(text.trim().to_owned())
    }

    fn round(&self, task: String, experiment: Option<usize>, options: &Options) -> Result<Round, ImportError> {
        let meta = self.meta.bytes(&options.limits)?;
        let said = String::from_utf8_lossy(&meta).lines().filter(|line| line.starts_with("status:")).count();
        if said > 1 {
            return Err(self.meta.refuse("says its `status` more than once"));
        }
        let status = flat(&meta, "status");
        if status.as_deref() != Some(FINISHED) {
            let status = status.unwrap_or_else(|| "unknown".to_owned());
            return Err(self.meta.refuse(format!("has the status {status}, so the run did not finish")));
        }
        let mut used: Vec<usize> = experiment.into_iter().chain([self.place]).collect();
        let (place, table) = self.table(options)?;
        used.push(place);
        let original = &self.originals[place];
        let header: Vec<String> = list(&table, &["columns"]).iter().map(shown).collect();
        let score = score_column(original, &header, options)?;
        let metric = header[score].trim_end_matches(SCORE).to_owned();
        let plain: Vec<String> = header
            .iter()
            .enumerate()
            .map(|(at, name)| if at == score { String::new() } else { name.clone() })
            .collect();
        let columns = Columns { score: Some(score), ..Columns::of(&plain) };
        let rows = list(&table, &["data"]);
        for (at, row) in rows.iter().enumerate() {
            original.hold_sample(at + 1, row, &options.limits)?;
        }
        let items = rows.iter().enumerate().map(|(at, row)| item(original, at + 1, row, &header, &columns));
        let items: Vec<Item> = items.collect::<Result<_, _>>()?;
        self.check_metrics(&metric, &items, &mut used, options)?;
        let limits = &options.limits;
        let model = self.parameter("model", limits, &mut used)?;
        let scorer = self.parameter("scorer", limits, &mut used)?;
        let settings = self.settings(limits, &mut used)?;
        used.sort_unstable();
        used.dedup();
        Round {
            tool: Tool::Mlflow,
            task,
            items: items.into(),
            planned: None,
            conditions: Conditions {
                scorer: Some(metric),
                configuration: scorer.map(|scorer| object([("scorer", string(scorer))])),
                code: None,
                generation: settings,
                repeats: Some(Json::Integer(1)),
            },
            model,
            remarks: vec!["the eight digits of a dataset's digest are not taken for its identity".to_owned()],
            originals: used,
        }
        .in_order()
    }

    /// The run's parameters, but for those that name model and scorer: its settings, where it has any.
    fn settings(&self, limits: &Limits, used: &mut Vec<usize>) -> Result<Option<Json>, ImportError> {
        let folder = self.meta.folder();
        let prefix = if folder.is_empty() { "params/".to_owned() } else { format!("{folder}/params/") };
        let mut members = Vec::new();
        for (place, original) in self.originals.iter().enumerate() {
            let Some(name) = original.name().strip_prefix(&prefix) else { continue };
            if !matches!(name, "model" | "scorer") && !is_secret(name) {
                used.push(place);
                members.push((name.to_owned(), string(self.text(place, limits)?)));
            }
        }
        Ok((!members.is_empty()).then_some(Json::Object(members)))
    }

    /// The one artifact with `columns` and `data`.
    fn table(&self, options: &Options) -> Result<(usize, Json), ImportError> {
        let folder = self.meta.folder();
        let prefix = if folder.is_empty() { "artifacts/".to_owned() } else { format!("{folder}/artifacts/") };
        let mut tables = Vec::new();
        for (place, original) in self.originals.iter().enumerate() {
            if original.name().starts_with(&prefix) && original.file_name().ends_with(".json") {
                let json = original.json(&options.limits)?;
                if member::at(&json, &["columns"]).is_some() && member::at(&json, &["data"]).is_some() {
                    tables.push((place, json));
                }
            }
        }
        match tables.len() {
            1 => tables.pop().ok_or_else(|| self.meta.refuse("has no table")),
            0 => {
                Err(self.meta.refuse("has no table of results among its artifacts, so its metrics follow from nothing"))
            }
            count => Err(self.meta.refuse(format!("has {count} tables among its artifacts; one was expected"))),
        }
    }

    /// Every metric that was logged must be one, and the mean of the metric must be the mean of the table.
    fn check_metrics(
        &self,
        metric: &str,
        items: &[Item],
        used: &mut Vec<usize>,
        options: &Options,
    ) -> Result<(), ImportError> {
        let folder = self.meta.folder();
        let prefix = if folder.is_empty() { "metrics/".to_owned() } else { format!("{folder}/metrics/") };
        let mean = self.find(&format!("metrics/{metric}/mean"));
        used.extend(mean);
        let logged = self.originals.iter().enumerate().filter(|(_, original)| original.name().starts_with(&prefix));
        for (place, original) in logged {
            let last = latest(original, &self.text(place, &options.limits)?)?;
            let (Some(stated), true) = (last, Some(place) == mean) else { continue };
            let scores: Vec<f64> = items.iter().filter_map(|item| item.score).collect();
            match stated::mean(scores.into_iter()) {
                Some(found) if !stated::near(stated, found) => {
                    return Err(original.refuse(format!("says {stated}, and the table gives {found}")));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The latest value of a metric's file, in which every line is `TIME VALUE STEP`, and `DATASET DIGEST` after them where the
/// metric belongs to a data set.
fn latest(original: &Original<'_>, text: &str) -> Result<Option<f64>, ImportError> {
    let mut latest: Option<(i64, i64, f64)> = None;
    for (at, line) in text.lines().enumerate() {
        let parts: Vec<&str> = line.split(' ').collect();
        let read = match parts.as_slice() {
            [time, value, step] | [time, value, step, _, _] => {
                time.parse().ok().zip(value.parse().ok()).zip(step.parse().ok())
            }
            _ => None,
        };
        let Some(((time, value), step)) = read else {
            let reason = "must be `TIME VALUE STEP`, a whole number, a number and a whole number";
            return Err(RecordError::new(original.name(), at + 1, FieldError::new("", reason)).into());
        };
        if latest.is_none_or(|(known_step, known_time, _)| (known_step, known_time) <= (step, time)) {
            latest = Some((step, time, value));
        }
    }
    Ok(latest.map(|(_, _, value)| value))
}

/// The column of scores that was asked for, else the only one.
fn score_column(original: &Original<'_>, header: &[String], options: &Options) -> Result<usize, ImportError> {
    let scores: Vec<usize> = (0..header.len()).filter(|at| header[*at].ends_with(SCORE)).collect();
    let names = || scores.iter().map(|at| header[*at].trim_end_matches(SCORE)).collect::<Vec<_>>().join(", ");
    let choose = |what: &str| {
        let what = format!("{}: {what}", original.name());
        Err(ImportError::Choose { what, found: format!("there are {}", names()), option: "--metric" })
    };
    match (&options.metric, scores.as_slice()) {
        (None, [one]) => Ok(*one),
        (None, []) => Err(original.refuse(format!("has no column that ends in `{SCORE}`, so nothing was judged"))),
        (None, _) => choose("several columns hold scores"),
        (Some(asked), _) => match scores.iter().find(|at| header[**at].trim_end_matches(SCORE) == asked) {
            Some(at) => Ok(*at),
            None => choose("no column holds the scores that were asked for"),
        },
    }
}

fn item(
    original: &Original<'_>,
    row: usize,
    json: &Json,
    header: &[String],
    columns: &Columns,
) -> Result<Item, ImportError> {
    let cells = list(json, &[]);
    if cells.len() != header.len() {
        return Err(original.refuse_at(
            row,
            "data",
            format!("has {} cells, and the header {}", cells.len(), header.len()),
        ));
    }
    let cell = |column: Option<usize>| column.and_then(|at| cells.get(at)).filter(|cell| **cell != Json::Null);
    let score = cell(columns.score);
    let (state, score) = match score {
        None => (State::Unscored, None),
        Some(Json::String(word)) if member::is_no_score(word) => (State::Unscored, None),
        Some(Json::Bool(true)) => (State::Pass, Some(1.0)),
        Some(Json::Bool(false)) => (State::Fail, Some(0.0)),
        Some(other) => {
            let score = member::number(other, &[]);
            let state = score.and_then(State::of_score);
            let state = state.ok_or_else(|| original.refuse_at(row, "data", "a score must be a number from 0 to 1"))?;
            (state, score)
        }
    };
    let cost = match cell(columns.cost) {
        None => None,
        Some(Json::String(word)) if member::is_no_score(word) => None,
        Some(cost) => match member::number(cost, &[]) {
            Some(cost) if cost >= 0.0 => Some(cost),
            _ => return Err(original.refuse_at(row, "data", "a cost must be a number, at least 0")),
        },
    };
    Ok(Item {
        id: cell(columns.id).and_then(|cell| member::name(cell, &[])),
        cluster: cell(columns.cluster).and_then(|cell| member::name(cell, &[])),
        prompt: columns.asked(header, |at| Wording::maybe(cell(Some(at)))),
        reference: Wording::maybe(cell(columns.reference)),
        reply: cell(columns.reply).map(shown),
        state,
        score,
        cost,
        place: original.place(row),
        ..Item::default()
    })
}
