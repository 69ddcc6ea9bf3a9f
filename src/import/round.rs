//! The one value that every importer gives: a task's items, and what they were measured under.

use std::sync::Arc;

use serde::Serialize;

use super::member::{self, object, safe, spelled, string};
use super::original::named;
use super::records::Lacks;
use super::secret::without_secrets;
use super::sheet::Texts;
use super::written::Written;
use super::{ImportError, Tool};
use crate::object::{Json, ObjectId};
use crate::question::ScorerIdentity;
use crate::scorecard::Fact;

/// The version of the rules by which items become questions and judgements. A change of any of them is a new version, and
/// so another scorer.
const RULES: &str = "v1";

/// The longest name of a scorer inside its identity, in bytes.
const MAX_SCORER_NAME: usize = 80;

/// How one item ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Judged right.
    Pass,
    /// Judged wrong.
    Fail,
    /// Judged to be something in between: worth its score.
    Partial,
    /// Answered and not judged.
    Unscored,
    /// The system or its provider failed.
    Errored,
    /// Left out on purpose.
    Skipped,
    /// Planned, and not there.
    #[default]
    Missing,
}

impl State {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Pass, Self::Fail, Self::Partial, Self::Unscored, Self::Errored, Self::Skipped, Self::Missing];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Partial => "partial",
            Self::Unscored => "unscored",
            Self::Errored => "errored",
            Self::Skipped => "skipped",
            Self::Missing => "missing",
        }
    }

    /// The status of an answer that ended so.
    pub(super) fn status(self) -> &'static str {
        match self {
            Self::Pass | Self::Fail | Self::Partial | Self::Unscored => "answered",
            other => other.as_str(),
        }
    }

    /// What a score between 0 and 1 says; `None` for any other number.
    pub(super) fn of_score(score: f64) -> Option<Self> {
        match score {
            1.0 => Some(Self::Pass),
            0.0 => Some(Self::Fail),
            score if score > 0.0 && score < 1.0 => Some(Self::Partial),
            _ => None,
        }
    }

    /// Whether something was found out about the system.
    fn measured(self) -> bool {
        matches!(self, Self::Pass | Self::Fail | Self::Partial | Self::Errored)
    }
}

/// A text of a question: as it was, or another value in its one spelling, or not to be had.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Wording {
    /// As it stands in the file.
    Plain(String),
    /// A list or an object, in canonical JSON.
    Value(String),
    /// The files do not say.
    #[default]
    Unknown,
}

impl Wording {
    /// A text as it is, anything else spelled out.
    pub(super) fn of(value: &Json) -> Self {
        match value {
            Json::String(text) => Self::Plain(text.clone()),
            other => Self::Value(spelled(other)),
        }
    }

    /// As [`Wording::of`]; unknown where there is nothing.
    pub(super) fn maybe(value: Option<&Json>) -> Self {
        value.map_or(Self::Unknown, Self::of)
    }
}

/// A file's name and a row of it, from 1.
pub type Place = (Arc<str>, usize);

/// One try of an item that was asked more than once.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt {
    /// What came back.
    pub reply: Option<String>,
    /// How it ended.
    pub state: State,
    /// Its score, where it was judged.
    pub score: Option<f64>,
}

/// One question, what came back, and what the tool said of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Item {
    /// Its name in the tool's files.
    pub id: Option<String>,
    /// What it shares with questions that are not independent of it.
    pub cluster: Option<String>,
    /// What was sent.
    pub prompt: Wording,
    /// What was expected.
    pub reference: Wording,
    /// What came back.
    pub reply: Option<String>,
    /// How it ended.
    pub state: State,
    /// Its score, where it was judged.
    pub score: Option<f64>,
    /// The status of the answer, where the tool has one of its own; else it follows from the state.
    pub status: Option<String>,
    /// Whether the system said that it answered in a lesser way than usual.
    pub degraded: bool,
    /// What it cost; `None` where that is not known, which is not 0.
    pub cost: Option<f64>,
    /// Its tries, where it was asked more than once: never questions of their own.
    pub attempts: Vec<Attempt>,
    /// Where it stands: file and row, from 1, for messages only.
    pub place: Place,
}

/// What a round was measured under. Two rounds are comparable where all of it is the same, but for the model, and nothing
/// of it is unknown.
#[derive(Debug, Clone, PartialEq)]
pub struct Conditions {
    /// The scorer's name.
    pub scorer: Option<String>,
    /// The scorer's settings.
    pub configuration: Option<Json>,
    /// Versions and digests of the code that judged, where given.
    pub code: Option<Json>,
    /// What shapes a reply: temperature, stop words, few-shot settings.
    pub generation: Option<Json>,
    /// How often each question was asked, and how that became one judgement.
    pub repeats: Option<Json>,
}

/// The items of a round: as they were read, or written to evidence already, because they would be too much to hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Items(Kept);

#[derive(Debug, Clone, PartialEq)]
enum Kept {
    Held(Vec<Item>),
    Written(Written),
}

impl From<Vec<Item>> for Items {
    fn from(items: Vec<Item>) -> Self {
        Self(Kept::Held(items))
    }
}

impl From<Written> for Items {
    fn from(written: Written) -> Self {
        Self(Kept::Written(written))
    }
}

impl Items {
    /// How many there are.
    pub fn len(&self) -> usize {
        match &self.0 {
            Kept::Held(items) => items.len(),
            Kept::Written(written) => written.marks.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How each of them ended.
    fn states(&self) -> Box<dyn Iterator<Item = State> + '_> {
        match &self.0 {
            Kept::Held(items) => Box::new(items.iter().map(|item| item.state)),
            Kept::Written(written) => Box::new(written.marks.iter().map(|mark| mark.state)),
        }
    }

    fn lacks(&self) -> Lacks {
        match &self.0 {
            Kept::Held(items) => Lacks {
                prompt: items.iter().any(|item| item.prompt == Wording::Unknown),
                reference: items.iter().any(|item| item.reference == Wording::Unknown),
                cost: items.iter().any(|item| item.cost.is_none()),
            },
            Kept::Written(written) => written.lacks,
        }
    }

    /// Their records, written now if they were not; costs only where all items have one.
    pub(super) fn written(&self, round: &Round, texts: &Texts, costs: bool) -> Result<Written, ImportError> {
        match &self.0 {
            Kept::Held(items) => super::rendered::write(&round.task, items, texts, costs),
            Kept::Written(written) => Ok(written.clone()),
        }
    }
}

/// One task as one tool measured it.
#[derive(Debug, Clone, PartialEq)]
pub struct Round {
    /// The tool.
    pub tool: Tool,
    /// The task, as the tool calls it.
    pub task: String,
    /// The items, in their one order, whatever the order of the rows was.
    pub items: Items,
    /// How many questions the task has, where the tool says: a limited run has fewer items.
    pub planned: Option<u64>,
    /// What it was measured under.
    pub conditions: Conditions,
    /// The model that answered.
    pub model: Option<String>,
    /// What a reader should know, a sentence each.
    pub remarks: Vec<String>,
    /// Which originals it came from, by their places.
    pub originals: Vec<usize>,
}

impl Conditions {
    /// As one value, in which what is unknown is null and no secret is.
    pub fn document(&self) -> Json {
        let or_null = |value: &Option<Json>| value.as_ref().map_or(Json::Null, |value| safe(&without_secrets(value)));
        object([
            ("code", or_null(&self.code)),
            ("configuration", or_null(&self.configuration)),
            ("generation", or_null(&self.generation)),
            ("repeats", or_null(&self.repeats)),
            ("scorer", self.scorer.clone().map_or(Json::Null, string)),
        ])
    }
}

impl Round {
    /// The identity of whoever judged: the tool, its scorer, and the digest of everything that two comparable rounds share
    /// besides their questions.
    pub fn scorer(&self) -> Result<ScorerIdentity, ImportError> {
        let name = self.conditions.scorer.as_deref().unwrap_or("unknown");
        let digest = ObjectId::of(spelled(&self.conditions.document()).as_bytes());
        let identity = format!("import/{}/{}/{RULES}?conditions={digest}", self.tool, identifier(name));
        Ok(identity.parse()?)
    }

    /// What the files leave unknown, in order.
    pub fn unknown(&self) -> Vec<Fact> {
        let lacks = self.items.lacks();
        Fact::ALL
            .into_iter()
            .filter(|fact| match fact {
                Fact::Configuration => self.conditions.configuration.is_none(),
                Fact::Cost => lacks.cost,
                Fact::Generation => self.conditions.generation.is_none(),
                Fact::Model => self.model.is_none(),
                Fact::Prompts => lacks.prompt,
                Fact::References => lacks.reference,
                Fact::Repeats => self.conditions.repeats.is_none(),
                Fact::Scorer => self.conditions.scorer.is_none(),
            })
            .collect()
    }

    /// How many items ended in a state.
    pub fn count(&self, state: State) -> usize {
        self.items.states().filter(|found| *found == state).count()
    }

    /// What a reader should know of it, a sentence each: the importer's remarks, and what follows from the items.
    pub fn sentences(&self) -> Vec<String> {
        let mut sentences = self.remarks.clone();
        let n = self.items.len();
        if let Some(planned) = self.planned.filter(|planned| *planned > n as u64) {
            sentences.push(format!("a limited run: {n} of {planned} questions"));
        }
        for (state, what) in [
            (State::Partial, "partly right: the quality has their credit, flips count them as not right"),
            (State::Unscored, "not judged, which counts as not right"),
            (State::Errored, "errored, which counts as not right"),
            (State::Skipped, "skipped, which counts as not right"),
            (State::Missing, "missing, which counts as not right"),
        ] {
            let count = self.count(state);
            if count > 0 {
                sentences.push(format!("{count} of {n} {what}"));
            }
        }
        let unknown = self.unknown();
        if unknown.contains(&Fact::Prompts) && unknown.contains(&Fact::References) {
            sentences.push("identity rests on names only: the files hold no question text".to_owned());
        }
        sentences
    }

    /// Refuses a round that measured nothing, and names that stand for two items.
    pub(super) fn hold_together(self) -> Result<Self, ImportError> {
        if !self.items.states().any(State::measured) {
            return Err(ImportError::NothingMeasured { tool: self.tool, task: self.task, items: self.items.len() });
        }
        Ok(self)
    }

    /// Sorts the items by name where all have one, else by content, and refuses two that are the same.
    pub(super) fn in_order(mut self) -> Result<Self, ImportError> {
        let Kept::Held(items) = &mut self.items.0 else { return self.hold_together() };
        if items.iter().all(|item| item.id.is_some()) {
            items.sort_by(|a, b| by_name(a.id.as_deref(), b.id.as_deref()));
        } else {
            items.iter_mut().for_each(|item| item.id = None);
            let key = |item: &Item| (item.prompt.clone(), item.reference.clone());
            items.sort_by_cached_key(key);
            if let Some(pair) = items.windows(2).find(|pair| key(&pair[0]) == key(&pair[1])) {
                return Err(twice(&pair[0], &pair[1], "the question"));
            }
            return self.hold_together();
        }
        match items.windows(2).find(|pair| pair[0].id == pair[1].id) {
            Some(pair) => {
                let name = pair[0].id.clone().unwrap_or_default();
                Err(twice(&pair[0], &pair[1], &format!("`{}`", name.chars().take(80).collect::<String>())))
            }
            None => self.hold_together(),
        }
    }
}

/// The refusal of an item that stands there twice, naming both rows.
pub(super) fn twice(one: &Item, other: &Item, what: &str) -> ImportError {
    let (first, second) = if one.place <= other.place { (one, other) } else { (other, one) };
    ImportError::Twice {
        what: what.to_owned(),
        first: named(&first.place.0, first.place.1),
        second: named(&second.place.0, second.place.1),
    }
}

/// Numbers by size, before texts by their bytes.
fn by_name(one: Option<&str>, other: Option<&str>) -> std::cmp::Ordering {
    let key = |name: Option<&str>| {
        let name = name.unwrap_or_default();
        let number = name.parse::<u64>().ok().filter(|number| number.to_string() == name);
        (number.is_none(), number, name.to_owned())
    };
    key(one).cmp(&key(other))
}

/// A name in the characters of an identity. What is cut or replaced is still in the digest of the conditions.
fn identifier(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ',' | ':') { c } else { '_' };
    let text: String = name.chars().map(plain).take(MAX_SCORER_NAME).collect();
    if text.is_empty() { "_".to_owned() } else { text }
}

/// The members of conditions that differ, as `(name, base, current)`.
pub(super) fn differing(base: &Json, current: &Json) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    for name in ["scorer", "configuration", "code", "generation", "repeats"] {
        let (old, new) = (member::at(base, &[name]), member::at(current, &[name]));
        if old != new {
            explain(name, old, new, &mut found);
        }
    }
    found
}

/// Goes down to the members that differ, so that one setting among many is named and not all of them.
fn explain(name: &str, old: Option<&Json>, new: Option<&Json>, found: &mut Vec<(String, String, String)>) {
    if let (Some(Json::Object(before)), Some(Json::Object(after))) = (old, new) {
        let mut names: Vec<&str> = before.iter().chain(after).map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let of = |members: &[(String, Json)], wanted: &str| {
            members.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone())
        };
        for wanted in names {
            let (old, new) = (of(before, wanted), of(after, wanted));
            if old != new {
                explain(&format!("{name}.{wanted}"), old.as_ref(), new.as_ref(), found);
            }
        }
        return;
    }
    let absent = if name.contains('.') { "nothing" } else { "unknown" };
    let said = |value: Option<&Json>| value.map_or(absent.to_owned(), spelled);
    found.push((name.to_owned(), said(old), said(new)));
}
