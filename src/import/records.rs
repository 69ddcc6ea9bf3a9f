//! The records of one item: its question, answer and judgement, and its line of the projection, all canonical JSON.

use std::borrow::Cow;

use super::round::{Item, State, Wording};
use crate::object::{FieldError, MAX_LONG_LINE_BYTES, ObjectId, encode_finite, encode_string};
use crate::question::{Leaf, MAX_LABEL_BYTES, is_blank};
use crate::scorecard::Judged;

/// What expected answers are where the files do not say.
const NO_REFERENCE: &str = "(not in the files)";

/// A text of a question, borrowed where it can be; see [`Wording`].
pub(super) enum Said<'a> {
    Plain(Cow<'a, str>),
    Value(Cow<'a, str>),
    Unknown,
}

impl<'a> Said<'a> {
    pub(super) fn of(wording: &'a Wording) -> Self {
        match wording {
            Wording::Plain(text) => Self::Plain(text.into()),
            Wording::Value(text) => Self::Value(text.into()),
            Wording::Unknown => Self::Unknown,
        }
    }
}

/// One try of an item that was asked more than once.
pub(super) struct Try<'a> {
    pub reply: Option<Cow<'a, str>>,
    pub state: State,
    pub score: Option<f64>,
}

/// An item whose name is a label of a question already.
pub(super) struct Entry<'a> {
    pub id: Option<&'a str>,
    pub cluster: Option<Cow<'a, str>>,
    pub prompt: Said<'a>,
    pub reference: Said<'a>,
    pub reply: Option<Cow<'a, str>>,
    pub state: State,
    pub score: Option<f64>,
    pub status: &'a str,
    pub degraded: bool,
    pub cost: Option<f64>,
    pub attempts: Vec<Try<'a>>,
}

impl<'a> Entry<'a> {
    pub(super) fn of(item: &'a Item, id: Option<&'a str>) -> Self {
        let text = |text: &'a Option<String>| text.as_deref().map(Cow::Borrowed);
        let attempts = item.attempts.iter();
        let attempts =
            attempts.map(|one| Try { reply: text(&one.reply), state: one.state, score: one.score }).collect();
        Self {
            id,
            cluster: text(&item.cluster),
            prompt: Said::of(&item.prompt),
            reference: Said::of(&item.reference),
            reply: text(&item.reply),
            state: item.state,
            score: item.score,
            status: item.status.as_deref().unwrap_or(item.state.status()),
            degraded: item.degraded,
            cost: item.cost,
            attempts,
        }
    }
}

/// What is kept of an item once its records are written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Mark {
    pub leaf: Leaf,
    pub state: State,
    /// What it is worth although it is not right.
    pub credit: f64,
    pub cost: f64,
    pub grounded: bool,
}

impl Mark {
    pub(super) fn judged(&self) -> Judged {
        Judged { correct: self.state == State::Pass, grounded: self.grounded, cost: self.cost }
    }
}

/// Records of several items, one a line, of each kind by itself.
#[derive(Default)]
pub(super) struct Lines {
    pub questions: Vec<u8>,
    pub answers: Vec<u8>,
    pub judgements: Vec<u8>,
    pub items: Vec<u8>,
    pub marks: Vec<Mark>,
    /// Where the lines of each item end, in the order above.
    pub ends: Vec<[usize; 4]>,
    /// Whether a prompt, a reference or a cost is not known.
    pub lacks: Lacks,
}

/// What at least one item does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Lacks {
    pub prompt: bool,
    pub reference: bool,
    pub cost: bool,
}

impl Lacks {
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            prompt: self.prompt | other.prompt,
            reference: self.reference | other.reference,
            cost: self.cost | other.cost,
        }
    }
}

impl Lines {
    /// Room for the records of so many bytes of originals.
    pub(super) fn with_room(bytes: usize, rows: usize) -> Self {
        Self {
            questions: Vec::with_capacity(bytes / 2),
            answers: Vec::with_capacity(bytes / 8),
            judgements: Vec::with_capacity(rows * 40),
            items: Vec::with_capacity(rows * 64),
            marks: Vec::with_capacity(rows),
            ends: Vec::with_capacity(rows),
            lacks: Lacks::default(),
        }
    }

    /// Writes the records of an item; costs only where all items have one. A record that would be too long to be read again
    /// is refused.
    pub(super) fn push(&mut self, entry: &Entry<'_>, costs: bool) -> Result<(), FieldError> {
        let (questions, answers) = (self.questions.len(), self.answers.len());
        let leaf = question(entry, &mut self.questions);
        answer(entry, costs, &mut self.answers);
        if (self.questions.len() - questions).max(self.answers.len() - answers) > MAX_LONG_LINE_BYTES {
            let reason = format!("makes a record of more than {MAX_LONG_LINE_BYTES} bytes, which no limit raises");
            return Err(FieldError::new("", reason));
        }
        judgement(entry, &mut self.judgements);
        projected(entry, &mut self.items);
        self.ends.push([self.questions.len(), self.answers.len(), self.judgements.len(), self.items.len()]);
        self.marks.push(Mark {
            leaf,
            state: entry.state,
            credit: credit(entry).unwrap_or(0.0),
            cost: entry.cost.filter(|_| costs).unwrap_or(0.0),
            grounded: entry.status == "answered" && !entry.degraded,
        });
        let unknown = |said: &Said<'_>| matches!(said, Said::Unknown);
        let (prompt, reference) = (unknown(&entry.prompt), unknown(&entry.reference));
        self.lacks = self.lacks.and(Lacks { prompt, reference, cost: entry.cost.is_none() });
        Ok(())
    }
}

/// What an item is worth that is not right.
fn credit(entry: &Entry<'_>) -> Option<f64> {
    entry.score.filter(|_| entry.state == State::Partial)
}

/// A name without control characters that is not too long; what is cut is told apart by a digest.
pub(super) fn label(name: &str) -> Cow<'_, str> {
    if name.len() <= MAX_LABEL_BYTES && !name.chars().any(char::is_control) && !name.trim().is_empty() {
        return Cow::Borrowed(name);
    }
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
        return text.into();
    }
    let digest = ObjectId::of(name.as_bytes()).short().to_string();
    let kept = (0..=MAX_LABEL_BYTES - digest.len() - 4).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}… {digest}", &text[..kept]).into()
}

fn raw(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(text.as_bytes());
}

fn id_member(id: Option<&str>, before: &str, out: &mut Vec<u8>) {
    if let Some(id) = id {
        raw(before, out);
        encode_string(id, out);
    }
}

fn float(value: Option<f64>, out: &mut Vec<u8>) {
    match value.filter(|value| value.is_finite()) {
        Some(value) => encode_finite(value, out),
        None => raw("null", out),
    }
}

fn text_or_null(text: Option<&str>, out: &mut Vec<u8>) {
    match text {
        Some(text) => encode_string(text, out),
        None => raw("null", out),
    }
}

/// Writes a question; its leaf is of the very bytes that stand in the record, members that hold their default filled in.
fn question(entry: &Entry<'_>, out: &mut Vec<u8>) -> Leaf {
    let (prompt, prompt_kind) = match &entry.prompt {
        Said::Plain(text) => (text.as_ref(), None),
        Said::Value(text) => (text.as_ref(), Some("json")),
        Said::Unknown => (entry.id.unwrap_or_default(), Some("unknown")),
    };
    let spelled;
    let (reference, reference_kind) = match &entry.reference {
        Said::Plain(text) if !is_blank(text) => (text.as_ref(), None),
        Said::Plain(text) => {
            let mut quoted = Vec::new();
            encode_string(text, &mut quoted);
            spelled = String::from_utf8(quoted).unwrap_or_default();
            (spelled.as_str(), Some("json"))
        }
        Said::Value(text) => (text.as_ref(), Some("json")),
        Said::Unknown => (NO_REFERENCE, Some("unknown")),
    };
    raw("{", out);
    if let Some(cluster) = &entry.cluster {
        raw("\"cluster\":", out);
        encode_string(&label(cluster), out);
        raw(",", out);
    }
    raw("\"expected\":", out);
    let expected = out.len();
    encode_string(reference, out);
    let expected = expected..out.len();
    id_member(entry.id, ",\"id\":", out);
    raw(",\"query\":{", out);
    let mut kinds = out.len()..out.len();
    let both = [("\"prompt\":", prompt_kind), ("\"reference\":", reference_kind)];
    if both.iter().any(|(_, kind)| kind.is_some()) {
        raw("\"fingerprint\":", out);
        kinds.start = out.len();
        let mut before = "{";
        for (name, kind) in both {
            if let Some(kind) = kind {
                raw(before, out);
                raw(name, out);
                encode_string(kind, out);
                before = ",";
            }
        }
        raw("}", out);
        kinds.end = out.len();
        raw(",", out);
    }
    raw("\"text\":", out);
    let text = out.len();
    encode_string(prompt, out);
    let text = text..out.len();
    raw("}}\n", out);
    let fingerprint: &[u8] = if kinds.is_empty() { b"null" } else { &out[kinds] };
    let query = [
        b"{\"expected_output\":null,\"fingerprint\":",
        fingerprint,
        b",\"scope\":\"local\",\"task\":\"\",\"text\":",
        &out[text],
        b"}",
    ];
    Leaf::of_canonical(&query, &out[expected])
}

fn answer(entry: &Entry<'_>, costs: bool, out: &mut Vec<u8>) {
    raw("{", out);
    if entry.id.is_some() {
        id_member(entry.id, "\"id\":", out);
        raw(",", out);
    }
    raw("\"receipt\":{", out);
    if entry.degraded {
        raw("\"degraded_mode\":\"degraded\",", out);
    }
    if let Some(cost) = entry.cost.filter(|_| costs) {
        raw("\"spend\":{\"frontier_calls\":", out);
        float(Some(cost), out);
        raw("},", out);
    }
    raw("\"status\":", out);
    encode_string(entry.status, out);
    raw("},\"reply\":", out);
    text_or_null(entry.reply.as_deref(), out);
    raw("}\n", out);
}

fn judgement(entry: &Entry<'_>, out: &mut Vec<u8>) {
    raw(if entry.state == State::Pass { "{\"correct\":true" } else { "{\"correct\":false" }, out);
    if let Some(credit) = credit(entry) {
        raw(",\"credit\":", out);
        float(Some(credit), out);
    }
    id_member(entry.id, ",\"id\":", out);
    raw("}\n", out);
}

/// A line of the projection.
fn projected(entry: &Entry<'_>, out: &mut Vec<u8>) {
    raw("{", out);
    if !entry.attempts.is_empty() {
        raw("\"attempts\":[", out);
        for (at, attempt) in entry.attempts.iter().enumerate() {
            raw(if at == 0 { "{\"reply\":" } else { ",{\"reply\":" }, out);
            text_or_null(attempt.reply.as_deref(), out);
            raw(",\"score\":", out);
            float(attempt.score, out);
            raw(",\"state\":", out);
            encode_string(attempt.state.as_str(), out);
            raw("}", out);
        }
        raw("],", out);
    }
    raw("\"cost\":", out);
    float(entry.cost, out);
    raw(",\"id\":", out);
    text_or_null(entry.id, out);
    raw(",\"score\":", out);
    float(entry.score, out);
    raw(",\"state\":", out);
    encode_string(entry.state.as_str(), out);
    raw("}\n", out);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::import::round::Attempt;
    use crate::object::{encode_json, parse};
    use crate::question::Question;

    fn wording() -> impl Strategy<Value = Wording> {
        prop_oneof![
            any::<String>().prop_map(Wording::Plain),
            Just(Wording::Plain(" \n".to_owned())),
            Just(Wording::Value("[1,\"a\\n\"]".to_owned())),
            Just(Wording::Unknown),
        ]
    }

    fn item() -> impl Strategy<Value = Item> {
        let texts = any::<(Option<String>, Option<String>, Option<String>, Option<String>)>();
        let state = prop::sample::select(&State::ALL[..]);
        let numbers = (proptest::option::of(0.0..1.0), proptest::option::of(0.0..1e9));
        (texts, wording(), wording(), state, numbers, any::<bool>()).prop_map(
            |((id, cluster, reply, status), prompt, reference, state, (score, cost), degraded)| {
                let attempts = if degraded { vec![Attempt { reply: reply.clone(), state, score }] } else { Vec::new() };
                Item {
                    id,
                    cluster,
                    prompt,
                    reference,
                    reply,
                    state,
                    score,
                    status,
                    degraded,
                    cost,
                    attempts,
                    ..Item::default()
                }
            },
        )
    }

    proptest! {
        #[test]
        fn records_are_canonical_and_their_leaf_is_that_of_the_question(item in item(), costs in any::<bool>()) {
            let id = item.id.as_deref().map(label);
            let mut lines = Lines::default();
            lines.push(&Entry::of(&item, id.as_deref()), costs).unwrap();
            for text in [&lines.questions, &lines.answers, &lines.judgements, &lines.items] {
                let line = text.strip_suffix(b"\n").unwrap();
                let canonical = encode_json(&parse(line).unwrap()).unwrap();
                prop_assert_eq!(String::from_utf8_lossy(&canonical), String::from_utf8_lossy(line));
            }
            let question = Question::parse(&parse(&lines.questions).unwrap()).unwrap();
            prop_assert_eq!(question.leaf().unwrap(), lines.marks[0].leaf);
            prop_assert_eq!(question.id(), id.as_deref());
        }
    }

    #[test]
    fn labels_are_printable_and_told_apart() {
        assert_eq!(label("q 1"), "q 1");
        assert_eq!(label("a\nb"), "a\\u{a}b");
        assert_eq!(label(" "), "(\\u{20})");
        let (one, other) = (label(&"x".repeat(600)).into_owned(), label(&"x".repeat(601)).into_owned());
        assert!(one != other && one.len() <= MAX_LABEL_BYTES);
    }
}
