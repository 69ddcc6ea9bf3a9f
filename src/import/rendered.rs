//! From items to what a receipt rests on: questions, answers, judgements, the card, and the canonical projection.

use rayon::prelude::*;

use super::member::{object, or_null, safe, spelled, string};
use super::round::{Attempt, Item, Round, State, Wording};
use super::{ImportError, member};
use crate::object::{FieldError, Json, MAX_LINE_BYTES, ObjectId, RecordError, encode, parse};
use crate::question::{Leaves, MAX_LABEL_BYTES, Question, QuestionSetId, ScorerIdentity};
use crate::scorecard::{Fact, Judged, Measured, RoundError, Scorecard, evaluate};

/// Evidence that a replay reads has at most this many bytes (1 GiB), as `ledger::MAX_RECORD_BYTES` says.
const MAX_EVIDENCE_BYTES: u64 = 1 << 30;

/// What expected answers are where the files do not say.
const NO_REFERENCE: &str = "(not in the files)";

/// A round in the form of evidence.
#[derive(Debug)]
pub struct Rendered {
    /// Whoever judged.
    pub scorer: ScorerIdentity,
    /// Question records.
    pub questions: Vec<u8>,
    /// Answer records.
    pub answers: Vec<u8>,
    /// Judgement records.
    pub judgements: Vec<u8>,
    /// The canonical projection: what was measured, without times and ids that change from run to run.
    pub projection: Vec<u8>,
    /// The card that follows.
    pub card: Scorecard,
    /// What the files leave unknown.
    pub unknown: Vec<Fact>,
}

/// How many items are written by one core at a time.
const TOGETHER: usize = 1024;

/// Makes the evidence of a round, and its card, as anyone would count it from that evidence: a replay does.
pub fn render(round: &Round) -> Result<Rendered, ImportError> {
    let scorer = round.scorer()?;
    let unknown = round.unknown();
    let ids = labels(round);
    refuse_same_labels(round, &ids)?;
    let costs = !unknown.contains(&Fact::Cost);
    let chunks: Vec<Result<Lines, ImportError>> = round
        .items
        .par_chunks(TOGETHER)
        .zip(ids.par_chunks(TOGETHER))
        .map(|(items, ids)| Lines::of(items, ids, costs))
        .collect();
    let mut chunks: Vec<Lines> = chunks.into_iter().collect::<Result<_, _>>()?;
    // Each piece is freed as it is copied, so that nothing is held twice.
    let mut joined = |part: fn(&mut Lines) -> &mut Vec<u8>| {
        let mut text = Vec::with_capacity(chunks.iter_mut().map(|lines| part(lines).len()).sum());
        chunks.iter_mut().for_each(|lines| text.extend_from_slice(&std::mem::take(part(lines))));
        text
    };
    let [questions, answers, judgements, leaves] = [
        joined(|l| &mut l.questions),
        joined(|l| &mut l.answers),
        joined(|l| &mut l.judgements),
        joined(|l| &mut l.leaves),
    ];
    let digests = [&questions, &answers, &judgements].map(|bytes| ObjectId::of(bytes).to_string());
    let mut projection = Vec::new();
    line(&mut projection, &header(round, &unknown, digests));
    chunks.iter().for_each(|lines| projection.extend_from_slice(&lines.items));
    for text in [&questions, &answers] {
        if text.len() as u64 > MAX_EVIDENCE_BYTES {
            let (file, limit) = (round.task.clone(), MAX_EVIDENCE_BYTES);
            return Err(ImportError::TooMuch { file, limit });
        }
    }
    let id = Leaves::parse("the imported questions", &leaves)?.id(&scorer);
    let card = count(round, costs, &id)?;
    Ok(Rendered { scorer, questions, answers, judgements, projection, card, unknown })
}

/// The card of the items in their order, by the rules of `docs/format.md`, section 6.
fn count(round: &Round, costs: bool, id: &QuestionSetId) -> Result<Scorecard, ImportError> {
    let judged = round.items.iter().map(|item| Judged {
        correct: item.state == State::Pass,
        grounded: status(item) == "answered" && !item.degraded,
        cost: item.cost.filter(|_| costs).unwrap_or(0.0),
    });
    let partial = round.items.iter().filter_map(credit).fold(0.0, |sum, credit| sum + credit);
    let measured = Measured { partial, ..evaluate(judged) };
    Ok(measured.bind(id.as_str()).map_err(RoundError::from)?)
}

/// What an item is worth that is not right.
fn credit(item: &Item) -> Option<f64> {
    item.score.filter(|_| item.state == State::Partial)
}

/// The records of some items.
#[derive(Default)]
struct Lines {
    questions: Vec<u8>,
    answers: Vec<u8>,
    judgements: Vec<u8>,
    items: Vec<u8>,
    leaves: Vec<u8>,
}

impl Lines {
    fn of(items: &[Item], ids: &[Option<String>], costs: bool) -> Result<Self, ImportError> {
        let mut lines = Self::default();
        for (item, id) in items.iter().zip(ids) {
            let refuse = |error| RecordError::new(&item.place.0, item.place.1, error);
            let record = question(item, id.as_deref());
            let leaf = Question::parse(&record).and_then(|question| question.leaf()).map_err(refuse)?;
            lines.leaves.extend_from_slice(format!("{leaf}\n").as_bytes());
            let (questions, answers) = (lines.questions.len(), lines.answers.len());
            line(&mut lines.questions, &record);
            line(&mut lines.answers, &answer(item, id.as_deref(), costs));
            if (lines.questions.len() - questions).max(lines.answers.len() - answers) > MAX_LINE_BYTES {
                let reason = format!("makes a record of more than {MAX_LINE_BYTES} bytes");
                return Err(refuse(FieldError::new("", reason)).into());
            }
            line(&mut lines.judgements, &judgement(item, id.as_deref()));
            line(&mut lines.items, &projected(item, id.as_deref()));
        }
        Ok(lines)
    }
}

fn line(text: &mut Vec<u8>, value: &Json) {
    // None of these values holds an integer that canonical JSON cannot write.
    text.extend_from_slice(&encode(value).unwrap_or_default());
    text.push(b'\n');
}

/// Two names that become one when their control characters are escaped.
fn refuse_same_labels(round: &Round, ids: &[Option<String>]) -> Result<(), ImportError> {
    let mut order: Vec<usize> = (0..ids.len()).filter(|at| ids[*at].is_some()).collect();
    order.par_sort_unstable_by(|one, other| (&ids[*one], one).cmp(&(&ids[*other], other)));
    match order.windows(2).find(|pair| ids[pair[0]] == ids[pair[1]]) {
        Some(pair) => {
            let name = ids[pair[0]].clone().unwrap_or_default();
            Err(super::round::twice(&round.items[pair[0]], &round.items[pair[1]], &format!("`{name}`")))
        }
        None => Ok(()),
    }
}

/// The names of the items as questions may have them; unique where the items' are.
fn labels(round: &Round) -> Vec<Option<String>> {
    round.items.iter().map(|item| item.id.as_deref().map(label)).collect()
}

/// A name without control characters that is not too long; what is cut is told apart by a digest.
fn label(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for c in name.chars() {
        if c.is_control() {
            text.extend(c.escape_unicode());
        } else {
            text.push(c);
        }
    }
    if text.trim().is_empty() {
        text = format!("({})", name.escape_unicode());
    }
    if text.len() <= MAX_LABEL_BYTES {
        return text;
    }
    let digest = ObjectId::of(name.as_bytes()).short().to_string();
    let kept = (0..=MAX_LABEL_BYTES - digest.len() - 4).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}… {digest}", &text[..kept])
}

fn question(item: &Item, id: Option<&str>) -> Json {
    let mut members = Vec::new();
    if let Some(cluster) = &item.cluster {
        members.push(("cluster".to_owned(), string(label(cluster))));
    }
    let mut kinds = Vec::new();
    let (prompt, prompt_kind) = match &item.prompt {
        Wording::Plain(text) => (text.as_str(), None),
        Wording::Value(text) => (text.as_str(), Some("json")),
        Wording::Unknown => (id.unwrap_or_default(), Some("unknown")),
    };
    let (reference, reference_kind) = match &item.reference {
        Wording::Plain(text) if !crate::question::is_blank(text) => (text.clone(), None),
        Wording::Plain(text) => (spelled(&string(text.clone())), Some("json")),
        Wording::Value(text) => (text.clone(), Some("json")),
        Wording::Unknown => (NO_REFERENCE.to_owned(), Some("unknown")),
    };
    for (name, kind) in [("prompt", prompt_kind), ("reference", reference_kind)] {
        kinds.extend(kind.map(|kind| (name.to_owned(), string(kind))));
    }
    members.push(("expected".to_owned(), string(reference)));
    if let Some(id) = id {
        members.push(("id".to_owned(), string(id)));
    }
    let mut query = vec![("text".to_owned(), string(prompt))];
    if !kinds.is_empty() {
        query.push(("fingerprint".to_owned(), Json::Object(kinds)));
    }
    members.push(("query".to_owned(), Json::Object(query)));
    Json::Object(members)
}

/// The status of an answer.
fn status(item: &Item) -> &str {
    match (&item.status, item.state) {
        (Some(status), _) => status,
        (None, State::Pass | State::Fail | State::Partial | State::Unscored) => "answered",
        (None, other) => other.as_str(),
    }
}

fn answer(item: &Item, id: Option<&str>, costs: bool) -> Json {
    let mut receipt = vec![("status".to_owned(), string(status(item)))];
    if item.degraded {
        receipt.push(("degraded_mode".to_owned(), string("degraded")));
    }
    if let Some(cost) = item.cost.filter(|_| costs) {
        receipt.push(("spend".to_owned(), object([("frontier_calls", Json::Float(cost))])));
    }
    let reply = item.reply.clone().map_or(Json::Null, string);
    let mut members = vec![("receipt".to_owned(), Json::Object(receipt)), ("reply".to_owned(), reply)];
    if let Some(id) = id {
        members.push(("id".to_owned(), string(id)));
    }
    Json::Object(members)
}

fn judgement(item: &Item, id: Option<&str>) -> Json {
    let mut members = vec![("correct".to_owned(), Json::Bool(item.state == State::Pass))];
    if let Some(credit) = credit(item) {
        members.push(("credit".to_owned(), Json::Float(credit)));
    }
    if let Some(id) = id {
        members.push(("id".to_owned(), string(id)));
    }
    Json::Object(members)
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

/// A line of the projection: an item.
fn projected(item: &Item, id: Option<&str>) -> Json {
    let float = |value: Option<f64>| value.map_or(Json::Null, Json::Float);
    let mut members = vec![
        ("id".to_owned(), id.map_or(Json::Null, string)),
        ("state".to_owned(), string(item.state.as_str())),
        ("score".to_owned(), float(item.score)),
        ("cost".to_owned(), float(item.cost)),
    ];
    if !item.attempts.is_empty() {
        let attempt = |attempt: &Attempt| {
            object([
                ("reply", attempt.reply.clone().map_or(Json::Null, string)),
                ("state", string(attempt.state.as_str())),
                ("score", float(attempt.score)),
            ])
        };
        members.push(("attempts".to_owned(), Json::Array(item.attempts.iter().map(attempt).collect())));
    }
    Json::Object(members)
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
