//! The samples of lm-evaluation-harness: each row is read, and written to evidence at once. Of the row itself stays an entry of
//! an index.
//!
//! How a row is written depends on all of them: which filter counts, whether every document has a name, in which order they are
//! written. So the likely answers are taken for granted, and where they turn out to be wrong the file is read once more.

use std::borrow::Cow;
use std::collections::BTreeSet;

use rayon::prelude::*;

use super::lm_eval::{chosen_filter, one_metric};
use super::member::{self, at, list, named, owned, plain, same, spelled};
use super::original::Original;
use super::records::{Entry, Lines, Said, Try, label};
use super::round::State;
use super::rows::{Line, stream, view};
use super::secret::without_secrets;
use super::written::{Writing, Written};
use super::{ImportError, Limits, Options};
use crate::object::{Json, JsonValue, JsonView, ObjectId, RecordError};

/// The filter that is taken where there are several and none is asked for, if it is among them.
pub(super) const DEFAULT_FILTER: &str = "none";

/// How often a file is read at the most: a filter, names and order can each be another than was thought.
const PASSES: usize = 6;

/// What the samples of a task come to.
pub(super) struct Samples {
    /// All filters there are.
    pub filters: BTreeSet<String>,
    /// The one that counts.
    pub filter: String,
    /// The metric that judged.
    pub metric: String,
    /// How many rows count.
    pub documents: usize,
    /// The mean of their scores, where every one of them has one.
    pub mean: Option<f64>,
    /// The settings of the requests, each once.
    pub requests: BTreeSet<String>,
    /// How often documents were asked.
    pub repeats: BTreeSet<usize>,
    /// Their records, in the order of the documents; or why there are none.
    pub written: Result<Written, ImportError>,
}

/// A row that counts.
struct Row {
    line: usize,
    document: i128,
    /// Of the document's name, or else of all that it says.
    digest: ObjectId,
    /// Of the name as questions have it, where that is another.
    label: Option<Box<ObjectId>>,
}

/// What is taken for granted.
#[derive(Clone)]
struct Plan {
    filter: String,
    named: bool,
    in_order: bool,
}

/// What the rows of a piece or of a file say together.
#[derive(Default)]
struct Findings {
    rows: Vec<Row>,
    filters: BTreeSet<String>,
    metrics: BTreeSet<String>,
    /// The first metric of the first row.
    first: Option<Option<String>>,
    requests: BTreeSet<String>,
    repeats: BTreeSet<usize>,
    /// How many rows have a score, and their sum.
    scored: (usize, f64),
    /// The first row that names no filter, and whether another one does.
    unfiltered: Option<usize>,
    filtered: bool,
    /// A document without a name.
    unnamed: bool,
    /// Why records are not written.
    refused: Option<ImportError>,
    /// Bytes of the filters, metrics and settings of requests.
    told: u64,
}

impl Findings {
    #[allow(clippy::cast_precision_loss)] // as many rows as a file may have
    fn mean(&self) -> Option<f64> {
        (self.scored.0 > 0 && self.scored.0 == self.rows.len()).then(|| self.scored.1 / self.scored.0 as f64)
    }

    fn add(&mut self, mut other: Self) {
        self.rows.append(&mut other.rows);
        self.scored = (self.scored.0 + other.scored.0, self.scored.1 + other.scored.1);
        self.first = self.first.take().or(other.first);
        self.unfiltered = self.unfiltered.or(other.unfiltered);
        self.filtered |= other.filtered;
        for (names, more) in [
            (&mut self.filters, other.filters),
            (&mut self.metrics, other.metrics),
            (&mut self.requests, other.requests),
        ] {
            for name in more {
                let length = name.len() as u64;
                self.told += if names.insert(name) { length } else { 0 };
            }
        }
        self.repeats.append(&mut other.repeats);
        self.refused = self.refused.take().or(other.refused);
    }
}

/// How a task's samples are read.
pub(super) struct Reader<'a, 'o> {
    pub original: &'a Original<'o>,
    pub task: &'a str,
    pub options: &'a Options,
    /// What the results say of the task.
    pub config: Option<&'a Json>,
    /// The metric that was asked for, or is the task's first.
    pub metric: Option<String>,
}

impl Reader<'_, '_> {
    /// Reads all samples; none where there is no row.
    pub(super) fn read(&self) -> Result<Option<Samples>, ImportError> {
        let listed = self.config.map(|config| list(config, &["filter_list"])).unwrap_or_default();
        let listed = listed.iter().find_map(|filter| member::text(filter, &["name"]));
        let likely = self.options.filter.as_deref().or(listed).unwrap_or(DEFAULT_FILTER);
        let mut plan = Plan { filter: likely.to_owned(), named: true, in_order: true };
        for _ in 0..PASSES {
            let mut writing = Writing::new(self.task, &self.options.texts, plan.in_order);
            let (found, in_order) = self.pass(&plan, &mut writing)?;
            if found.unnamed {
                plan.named = false;
                continue;
            }
            if !in_order {
                plan.in_order = false;
                continue;
            }
            if found.first.is_none() {
                return Ok(None);
            }
            if let Some(line) = found.unfiltered.filter(|_| found.filtered) {
                return Err(self.original.refuse_at(line, "filter", "is missing, and other rows name one"));
            }
            let mean = found.mean();
            let metric = one_metric(self.original, self.metric.clone(), found.first.flatten(), &found.metrics)?;
            let filter = chosen_filter(self.options, self.config, &found.filters)?;
            if filter != plan.filter {
                plan = Plan { filter, named: true, in_order: true };
                continue;
            }
            let order = self.in_document_order(&found.rows, &plan)?;
            let labels = if plan.named { self.refuse_same_labels(&found.rows) } else { Ok(()) };
            let written = match found.refused {
                Some(refusal) => Err(refusal),
                None => labels.and_then(|()| writing.finish(&order)),
            };
            return Ok(Some(Samples {
                filters: found.filters,
                filter,
                metric,
                documents: found.rows.len(),
                mean,
                requests: found.requests,
                repeats: found.repeats,
                written,
            }));
        }
        Err(ImportError::Changed { file: self.original.name().to_owned() })
    }

    /// Reads the file once, to its end or to where the plan fails; says whether the documents came in their order.
    fn pass(&self, plan: &Plan, writing: &mut Writing) -> Result<(Findings, bool), ImportError> {
        let mut found = Findings::default();
        let mut in_order = true;
        let limit = self.options.limits.document;
        let read = |lines: &[Line<'_>]| self.piece(lines, plan);
        stream(self.original, &self.options.limits, read, |piece| {
            let (piece, lines) = piece?;
            let last = found.rows.last().map(|row| row.document);
            let documents = last.into_iter().chain(piece.rows.iter().map(|row| row.document));
            in_order = !plan.in_order || documents.is_sorted_by(|one, next| one < next);
            found.unnamed = piece.unnamed;
            found.add(piece);
            if found.told > limit {
                let (file, what) = (self.original.name().to_owned(), "list of filters, metrics and settings");
                return Err(ImportError::TooLarge { file, what, limit });
            }
            if found.refused.is_none() {
                match writing.push(&lines) {
                    Err(refusal @ ImportError::TooMuch { .. }) => found.refused = Some(refusal),
                    other => other?,
                }
            }
            Ok(in_order && !found.unnamed)
        })?;
        Ok((found, in_order))
    }

    /// Reads and writes some rows.
    fn piece(&self, lines: &[Line<'_>], plan: &Plan) -> Result<(Findings, Lines), ImportError> {
        let mut found = Findings::default();
        let mut out = Lines::with_room(lines.iter().map(|line| line.1.len()).sum(), lines.len());
        let mut settings: Option<Json> = None;
        for line in lines {
            let json = view(self.original, *line, &self.options.limits)?;
            self.row(line.0, &json, plan, &mut found, &mut out, &mut settings)?;
            if found.unnamed {
                break;
            }
        }
        Ok((found, out))
    }

    fn row(
        &self,
        line: usize,
        json: &JsonView<'_>,
        plan: &Plan,
        found: &mut Findings,
        out: &mut Lines,
        last: &mut Option<Json>,
    ) -> Result<(), ImportError> {
        let missing = |field: &str| self.original.refuse_at(line, field, "is missing");
        let doc = at(json, &["doc"]).ok_or_else(|| missing("doc"))?;
        let arguments = at(json, &["arguments"]).ok_or_else(|| missing("arguments"))?;
        let Some(JsonValue::Integer(document)) = at(json, &["doc_id"]) else {
            return Err(self.original.refuse_at(line, "doc_id", "must be an integer"));
        };
        let metrics = || list(json, &["metrics"]).iter().filter_map(|name| member::text(name, &[]));
        metrics().for_each(|name| insert(&mut found.metrics, name));
        let metric = self.metric.as_deref().or_else(|| metrics().next());
        found.first.get_or_insert_with(|| metrics().next().map(str::to_owned));
        let (state, score) = match metric {
            Some(metric) => judged(self.original, line, json, metric)?,
            None => (State::Unscored, None),
        };
        let filter = match at(json, &["filter"]) {
            None => {
                found.unfiltered.get_or_insert(line);
                DEFAULT_FILTER
            }
            Some(JsonValue::String(filter)) => {
                found.filtered = true;
                filter
            }
            Some(_) => return Err(self.original.refuse_at(line, "filter", "must be a text")),
        };
        insert(&mut found.filters, filter);
        if filter != plan.filter {
            return Ok(());
        }
        let name = named(doc, &["id"]);
        if plan.named && name.is_none() {
            found.unnamed = true;
            return Ok(());
        }
        if let Some(score) = score {
            found.scored = (found.scored.0 + 1, found.scored.1 + score);
        }
        let (prompt, request) = asked(arguments);
        if let Some(request) = request
            && !last.as_ref().is_some_and(|last| same(last, request))
        {
            let settings = owned(request);
            insert(&mut found.requests, &spelled(&without_secrets(&settings)));
            *last = Some(settings);
        }
        let tries = match list(json, &["resps"]) {
            [one] => list(one, &[]),
            _ => &[],
        };
        found.repeats.insert(tries.len().max(1));
        // A document that has a name is known by it; another by all that it says.
        let digest = match &name {
            Some(name) => ObjectId::of(name.as_bytes()),
            None => ObjectId::of(spelled(doc).as_bytes()),
        };
        let id = match &name {
            Some(name) if plan.named => label(name),
            _ => Cow::Owned(document.to_string()),
        };
        let label = (plan.named && name.as_deref() != Some(&*id)).then(|| Box::new(ObjectId::of(id.as_bytes())));
        found.rows.push(Row { line, document: *document, digest, label });
        if found.refused.is_some() {
            return Ok(());
        }
        let reply = match list(json, &["filtered_resps"]) {
            [] => None,
            [one] => Some(plain(one)),
            many => Some(Cow::Owned(spelled(&JsonValue::Array(many.to_vec())))),
        };
        let attempt = |reply| Try { reply: Some(plain(reply)), state: State::Unscored, score: None };
        let attempts = if tries.len() > 1 { tries.iter().map(attempt).collect() } else { Vec::new() };
        let entry = Entry {
            id: Some(&id),
            cluster: named(doc, &["cluster"]).or_else(|| named(doc, &["group"])),
            prompt,
            reference: or_null(json, "target").map_or(Said::Unknown, said),
            reply,
            state,
            score,
            status: state.status(),
            degraded: false,
            cost: None,
            attempts,
        };
        if let Err(error) = out.push(&entry, false) {
            found.refused = Some(RecordError::new(self.original.name(), line, error).into());
        }
        Ok(())
    }

    /// The places of the rows by `doc_id`; a document that stands there twice is refused.
    fn in_document_order(&self, rows: &[Row], plan: &Plan) -> Result<Vec<u32>, ImportError> {
        let places = || -> Vec<u32> { (0..).take(rows.len()).collect() };
        let row = |place: u32| &rows[place as usize];
        let mut order = places();
        order.par_sort_unstable_by_key(|place| (row(*place).digest, row(*place).line));
        if let Some((one, other)) = pair(&order, |one, other| row(one).digest == row(other).digest) {
            let name = self.name_of(row(one).line)?.map_or(String::new(), |name| format!(" `{name}`"));
            return Err(self.twice(format!("the document{name}"), row(one), row(other)));
        }
        if plan.in_order {
            return Ok(places());
        }
        order.par_sort_unstable_by_key(|place| (row(*place).document, row(*place).digest));
        match pair(&order, |one, other| row(one).document == row(other).document) {
            Some((one, other)) => Err(self.twice(format!("doc_id {}", row(one).document), row(one), row(other))),
            None => Ok(order),
        }
    }

    /// Two names that become one when their control characters are escaped.
    fn refuse_same_labels(&self, rows: &[Row]) -> Result<(), ImportError> {
        if rows.iter().all(|row| row.label.is_none()) {
            return Ok(());
        }
        let row = |place: u32| &rows[place as usize];
        let digest = |place: u32| row(place).label.as_deref().unwrap_or(&row(place).digest);
        let mut order: Vec<u32> = (0..).take(rows.len()).collect();
        order.par_sort_unstable_by_key(|place| (digest(*place), row(*place).line));
        let Some((one, other)) = pair(&order, |one, other| digest(one) == digest(other)) else { return Ok(()) };
        let name = self.name_of(row(one).line)?.unwrap_or_default();
        Err(self.twice(format!("`{}`", label(&name)), row(one), row(other)))
    }

    fn twice(&self, what: String, one: &Row, other: &Row) -> ImportError {
        let at = |line: usize| format!("{}:{line}", self.original.name());
        ImportError::Twice { what, first: at(one.line.min(other.line)), second: at(one.line.max(other.line)) }
    }

    /// The name of the document in a line, which is read again for it.
    fn name_of(&self, wanted: usize) -> Result<Option<String>, ImportError> {
        let limits: &Limits = &self.options.limits;
        let mut name = None;
        let read = |lines: &[Line<'_>]| -> Result<Option<Option<String>>, ImportError> {
            let Some(line) = lines.iter().find(|line| line.0 == wanted) else { return Ok(None) };
            let json = view(self.original, *line, limits)?;
            Ok(Some(at(&json, &["doc"]).and_then(|doc| named(doc, &["id"])).map(Cow::into_owned)))
        };
        stream(self.original, limits, read, |found| {
            name = found?;
            Ok(name.is_none())
        })?;
        Ok(name.flatten())
    }
}

/// The first two neighbours that are the same.
fn pair(order: &[u32], same: impl Fn(u32, u32) -> bool) -> Option<(u32, u32)> {
    order.windows(2).find(|pair| same(pair[0], pair[1])).map(|pair| (pair[0], pair[1]))
}

fn insert(names: &mut BTreeSet<String>, name: &str) {
    if !names.contains(name) {
        names.insert(name.to_owned());
    }
}

/// A member, also where it is null.
fn or_null<'a, 'b>(json: &'a JsonView<'b>, name: &str) -> Option<&'a JsonView<'b>> {
    let JsonValue::Object(members) = json else { return None };
    members.iter().find(|(member, _)| member == name).map(|(_, value)| value)
}

fn said<'a>(value: &'a JsonView<'_>) -> Said<'a> {
    match value {
        JsonValue::String(text) => Said::Plain(Cow::Borrowed(text)),
        other => Said::Value(Cow::Owned(spelled(other))),
    }
}

/// The prompt as it was sent, and the settings of the request. One request of one text is that text; anything else, such
/// as the choices whose likelihoods are compared, is all of the arguments.
fn asked<'a, 'b>(arguments: &'a JsonView<'b>) -> (Said<'a>, Option<&'a JsonView<'b>>) {
    let all = || (Said::Value(Cow::Owned(spelled(arguments))), None);
    let [(_, only)] = member::members(arguments, &[]) else { return all() };
    let (Some(sent), settings) = (at(only, &["arg_0"]), at(only, &["arg_1"])) else { return all() };
    let sent = match sent {
        JsonValue::Array(items) if items.len() == 1 => &items[0],
        other => other,
    };
    match settings {
        Some(settings @ JsonValue::Object(_)) => (said(sent), Some(settings)),
        None => (said(sent), None),
        Some(_) => all(),
    }
}

/// What the row says under the metric: a number from 0 to 1, or a word for having none.
fn judged(
    original: &Original<'_>,
    line: usize,
    json: &JsonView<'_>,
    metric: &str,
) -> Result<(State, Option<f64>), ImportError> {
    let score = match at(json, &[metric]) {
        None => return Ok((State::Unscored, None)),
        Some(JsonValue::String(word)) if member::is_no_score(word) => return Ok((State::Unscored, None)),
        Some(JsonValue::Bool(right)) => f64::from(u8::from(*right)),
        Some(other) => member::number(other, &[]).ok_or_else(|| {
            original.refuse_at(line, metric, format!("must be a number from 0 to 1, not {}", other.kind()))
        })?,
    };
    match State::of_score(score) {
        Some(state) => Ok((state, Some(score))),
        None => Err(original.refuse_at(line, metric, format!("must be a number from 0 to 1, not {score}"))),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::import::{Sheet, Texts};

    /// A row of some 2,000 bytes.
    fn sample(document: usize, name: Option<&str>, filter: &str) -> String {
        let name = name.map_or(String::new(), |name| format!("\"id\":\"{name}\","));
        format!(
            "{{\"doc_id\":{document},\"doc\":{{{name}\"n\":{document}}},\"target\":\"t\",\"arguments\":{{\"a\":{{\"arg_0\":\"{document} \
             {}\",\"arg_1\":{{\"t\":0}}}}}},\"resps\":[[\"r\"]],\"filtered_resps\":[\"r\"],\"filter\":\"{filter}\",\"metrics\":[\"m\"],\
             \"m\":{}}}\n",
            "é\\n".repeat(450),
            document % 2
        )
    }

    fn read(text: &str, options: &Options) -> Result<Samples, ImportError> {
        let original = Original::held("samples_t.jsonl", text.as_bytes().to_vec());
        let reader = Reader { original: &original, task: "t", options, config: None, metric: None };
        reader.read().map(Option::unwrap)
    }

    fn written(text: &str) -> Written {
        read(text, &Options::default()).unwrap().written.unwrap()
    }

    fn text(sheet: &Sheet) -> String {
        String::from_utf8(sheet.bytes().unwrap()).unwrap()
    }

    /// More than a window of rows, in memory and in a file.
    const MANY: usize = 2_600;

    #[test]
    fn rows_in_any_order_come_to_the_same_evidence() {
        let row = |at: usize| sample(at, Some(&format!("q{at}")), "none");
        let rows: Vec<String> = (0..MANY).map(row).collect();
        let in_order = written(&rows.concat());
        let questions = text(&in_order.questions);
        assert!(questions.len() > 2 << 20);
        for (at, line) in questions.lines().enumerate() {
            assert!(line.contains(&format!("\"id\":\"q{at}\",\"query\":{{\"text\":\"{at} é\\né")), "{line}");
        }
        assert_eq!(in_order.marks.iter().filter(|mark| mark.state == State::Pass).count(), MANY / 2);
        let mut mixed = rows.clone();
        mixed.swap(0, MANY - 1);
        mixed[500..2000].reverse();
        let header = b"first\n";
        for other in [rows.iter().rev().map(String::as_str).collect::<String>(), mixed.concat()] {
            let other = written(&other);
            assert!(other == in_order);
            let [one, other] = [&in_order, &other].map(|written| written.projection(header, &Texts::Kept).unwrap());
            assert_eq!(text(&one), text(&other));
        }
        let digested = read(&rows.concat(), &Options { texts: Texts::Digested, ..Options::default() }).unwrap();
        let digested = digested.written.unwrap();
        assert!(digested == in_order);
        assert!(digested.questions.bytes().is_err());
    }

    #[test]
    fn one_document_without_a_name_names_all_by_their_numbers() {
        let rows = |last: Option<&str>| -> String {
            let name = |at: usize| if at == MANY - 1 { last.map(str::to_owned) } else { Some(format!("q{at}")) };
            (0..MANY).rev().map(|at| sample(at, name(at).as_deref(), "none")).collect()
        };
        let nameless = written(&(0..MANY).map(|at| sample(at, None, "none")).collect::<String>());
        assert!(written(&rows(None)) == nameless);
        assert!(text(&nameless.questions).lines().last().unwrap().contains("\"id\":\"2599\""));
        assert!(written(&rows(Some("q"))) != nameless);
    }

    #[test]
    fn the_filter_that_counts_is_known_at_the_end() {
        let rows = |filters: [&str; 2]| -> String {
            (0..20).map(|at| sample(at % 10, Some(&format!("q{}", at % 10)), filters[at / 10])).collect()
        };
        for filters in [["b", "a"], ["a", "b"]] {
            let samples = read(&rows(filters), &Options::default()).unwrap();
            assert_eq!((samples.filter.as_str(), samples.documents), ("a", 10));
            assert!(samples.written.unwrap() == written(&rows(["none", "none"])[..rows(["none", "none"]).len() / 2]));
        }
    }

    #[test]
    fn two_rows_of_one_document_are_named_also_where_their_labels_only_are_the_same() {
        let names = ["q0", "a\\u0001", "q2", "a\\\\u{1}"];
        let rows: String = names.iter().enumerate().map(|(at, name)| sample(at, Some(name), "none")).collect();
        let refusal = read(&rows, &Options::default()).unwrap().written.unwrap_err().to_string();
        assert_eq!(refusal, "`a\\u{1}` stands there twice: samples_t.jsonl:2 and samples_t.jsonl:4");
        let twice = |last: (usize, &str)| {
            let rows = [(1, "q1"), (0, "q0"), last].map(|(at, name)| sample(at, Some(name), "none"));
            read(&rows.concat(), &Options::default()).err().unwrap().to_string()
        };
        let rows = "stands there twice: samples_t.jsonl:1 and samples_t.jsonl:3";
        assert_eq!(twice((5, "q1")), format!("the document `q1` {rows}"));
        assert_eq!(twice((1, "q5")), format!("doc_id 1 {rows}"));
    }

    #[test]
    fn a_file_that_is_another_each_time_and_endless_lists_of_names_are_refused() {
        let opened = AtomicUsize::new(0);
        let original = Original::opened("samples_t.jsonl", || {
            let filter = format!("f{}", opened.fetch_add(1, Ordering::Relaxed));
            Ok(Box::new(std::io::Cursor::new(sample(0, None, &filter).into_bytes())) as Box<dyn std::io::Read + Send>)
        });
        let options = Options::default();
        let reader = Reader { original: &original, task: "t", options: &options, config: None, metric: None };
        assert_eq!(reader.read().err().unwrap().to_string(), "`samples_t.jsonl` changed while it was read");
        let rows: String = (0..100).map(|at| sample(at, None, &"x".repeat(at))).collect();
        let limits = Limits { document: 4_000, ..Limits::default() };
        let refusal = read(&rows, &Options { limits, ..Options::default() }).err().unwrap().to_string();
        let list = "list of filters, metrics and settings";
        assert_eq!(refusal, format!("samples_t.jsonl: the {list} is larger than 4000 bytes"));
    }
}
