//! From items to what a receipt rests on: questions, answers, judgements, the card, and the canonical projection.

use std::borrow::Cow;

use rayon::prelude::*;

use super::member::{object, or_null, safe, string};
use super::original::in_row;
use super::records::{Entry, Lines, Mark, label};
use super::round::{Item, Round, State};
use super::sheet::{Sheet, Texts};
use super::written::{Writing, Written};
use super::{ImportError, member};
use crate::object::{Json, encode, parse};
use crate::question::{Leaves, QuestionSetId, ScorerIdentity};
use crate::scorecard::{Fact, Measured, RoundError, Scorecard, evaluate};

/// A round in the form of evidence.
#[derive(Debug)]
pub struct Rendered {
    /// Whoever judged.
    pub scorer: ScorerIdentity,
    /// Question records.
    pub questions: Sheet,
    /// Answer records.
    pub answers: Sheet,
    /// Judgement records.
    pub judgements: Sheet,
    /// The canonical projection: what was measured, without times and ids that change from run to run.
    pub projection: Sheet,
    /// The card that follows.
    pub card: Scorecard,
    /// What the files leave unknown.
    pub unknown: Vec<Fact>,
}

/// How many items are written by one core at a time, and how many before they are put down.
const TOGETHER: usize = 512;
const WINDOW: usize = 16 * TOGETHER;

/// Makes the evidence of a round, and its card, as anyone would count it from that evidence: a replay does.
pub fn render(round: &Round, texts: &Texts) -> Result<Rendered, ImportError> {
    let scorer = round.scorer()?;
    let unknown = round.unknown();
    let written = round.items.written(round, texts, !unknown.contains(&Fact::Cost))?;
    let sheets = [&written.questions, &written.answers, &written.judgements];
    let header = header(round, &unknown, sheets.map(|sheet| sheet.blake3().to_string()));
    // It holds no integer that canonical JSON cannot write.
    let mut header = encode(&header).unwrap_or_default();
    header.push(b'\n');
    let projection = written.projection(&header, texts)?;
    let leaves = written.marks.iter().map(|mark| mark.leaf).collect();
    let card = count(&written, &Leaves::from_leaves(leaves)?.id(&scorer))?;
    let Written { questions, answers, judgements, .. } = written;
    Ok(Rendered { scorer, questions, answers, judgements, projection, card, unknown })
}

/// Writes the records of items that are in order.
pub(super) fn write(task: &str, items: &[Item], texts: &Texts, costs: bool) -> Result<Written, ImportError> {
    let ids: Vec<Option<Cow<'_, str>>> = items.iter().map(|item| item.id.as_deref().map(label)).collect();
    refuse_same_labels(items, &ids)?;
    let mut writing = Writing::new(task, texts, true);
    for (items, ids) in items.chunks(WINDOW).zip(ids.chunks(WINDOW)) {
        let pieces = items.par_chunks(TOGETHER).zip(ids.par_chunks(TOGETHER));
        let pieces: Vec<Result<Lines, ImportError>> = pieces.map(|(items, ids)| lines(items, ids, costs)).collect();
        for piece in pieces {
            writing.push(&piece?)?;
        }
    }
    writing.finish(&[])
}

fn lines(items: &[Item], ids: &[Option<Cow<'_, str>>], costs: bool) -> Result<Lines, ImportError> {
    let mut lines = Lines::default();
    for (item, id) in items.iter().zip(ids) {
        let written = lines.push(&Entry::of(item, id.as_deref()), costs);
        written.map_err(|error| in_row(&item.place.0, item.place.1, error))?;
    }
    Ok(lines)
}

/// The card of the items in their order, by the rules of `docs/format.md`, section 6.
fn count(written: &Written, id: &QuestionSetId) -> Result<Scorecard, ImportError> {
    let partial = written.marks.iter().fold(0.0, |sum, mark| sum + mark.credit);
    let measured = Measured { partial, ..evaluate(written.marks.iter().map(Mark::judged)) };
    Ok(measured.bind(id.as_str()).map_err(RoundError::from)?)
}

/// Two names that become one when their control characters are escaped.
fn refuse_same_labels(items: &[Item], ids: &[Option<Cow<'_, str>>]) -> Result<(), ImportError> {
    let mut order: Vec<usize> = (0..ids.len()).filter(|at| ids[*at].is_some()).collect();
    order.par_sort_unstable_by(|one, other| (&ids[*one], one).cmp(&(&ids[*other], other)));
    match order.windows(2).find(|pair| ids[pair[0]] == ids[pair[1]]) {
        Some(pair) => {
            let name = ids[pair[0]].as_deref().unwrap_or_default();
            Err(super::round::twice(&items[pair[0]], &items[pair[1]], &format!("`{name}`")))
        }
        None => Ok(()),
    }
}

/// The first line of the projection: the round.
fn header(round: &Round, unknown: &[Fact], digests: [String; 3]) -> Json {
    let [questions, answers, judgements] = digests.map(string);
    let states = State::ALL.map(|state| (state.as_str(), Json::Integer(round.count(state) as i128)));
    safe(&object([
        ("schema", string("projection.v1")),
        ("tool", string(round.tool.as_str())),
        ("task", string(round.task.clone())),
        ("model", round.model.clone().map_or(Json::Null, string)),
        ("conditions", round.conditions.document()),
        ("unknown", Json::Array(unknown.iter().map(|fact| string(fact.as_str())).collect())),
        ("n", Json::Integer(round.items.len() as i128)),
        ("planned", round.planned.map_or(Json::Null, |planned| Json::Integer(planned.into()))),
        ("states", object(states)),
        ("questions", questions),
        ("answers", answers),
        ("judgements", judgements),
    ]))
}

/// What a projection says the round was measured under, and by which model.
#[derive(Debug, Clone, PartialEq)]
pub struct Projected {
    conditions: Json,
    /// The model that answered, where known.
    pub model: Option<String>,
}

impl Projected {
    /// Reads the first line of a projection.
    pub fn parse(projection: &[u8]) -> Result<Self, ImportError> {
        let line = projection.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let header = parse(line).map_err(|_| ImportError::Projection)?;
        if member::text(&header, &["schema"]) != Some("projection.v1") {
            return Err(ImportError::Projection);
        }
        let model = member::text(&header, &["model"]).map(str::to_owned);
        Ok(Self { conditions: safe(&or_null(&header, &["conditions"])), model })
    }

    /// What differs from another round's conditions, as `(what, here, there)`.
    pub fn differing(&self, other: &Self) -> Vec<(String, String, String)> {
        super::round::differing(&self.conditions, &other.conditions)
    }
}
