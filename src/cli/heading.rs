//! How a receipt is shown: in a line, as a heading, and as a JSON document; and opening the index that finds it.

use std::collections::HashMap;
use std::fmt::Write;

use proofmark::index::{Entry, Filter, Index, Place, Signed};
use proofmark::ledger::{Ledger, held_bytes, role};
use proofmark::object::ReceiptId;
use proofmark::receipt::{
    Authorization, Baseline, Body, Comparison, GateBody, Kind, LineName, Moment, ReceiptRef, ScorecardBody, Signoff,
    Subject, Text, Waiver, Withdrawal,
};
use proofmark::store::Store;
use proofmark::trust::{KeyId, Statement};
use serde::Serialize;

use super::context::Context;
use super::failure::{Failure, one_line};

/// Withdrawals that are read together.
const MARKS_AT_ONCE: usize = 256;

/// Opens the index of the ledger, and says so where its file cannot be used.
pub fn index<'a>(context: &Context, ledger: &'a Ledger) -> Result<Index<'a>, Failure> {
    let folder = context.ledger_folder()?;
    let index = Index::open(ledger, Some(&folder))?;
    if let Place::Memory(Some(reason)) = index.place() {
        context.note(&format!("the index is kept in memory for this run: {reason}"));
    }
    Ok(index)
}

/// A receipt in the documents of `log` and `show`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary<'a> {
    index: u64,
    id: ReceiptId,
    kind: &'static str,
    line: Option<&'a LineName>,
    round: Option<u64>,
    recorded_at: Moment,
    person: Option<&'a str>,
    key: &'a KeyId,
    subject: &'a [Subject],
    note: Option<&'a Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scorecard: Option<&'a ScorecardBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    comparison: Option<&'a Comparison>,
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline: Option<&'a Baseline>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gate: Option<&'a GateBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signoff: Option<&'a Signoff>,
    #[serde(skip_serializing_if = "Option::is_none")]
    withdrawal: Option<&'a Withdrawal>,
    #[serde(skip_serializing_if = "Option::is_none")]
    waiver: Option<&'a Waiver>,
    #[serde(skip_serializing_if = "Option::is_none")]
    authorization: Option<&'a Authorization>,
    #[serde(skip_serializing_if = "Option::is_none")]
    withdrawn: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    must_pass_failing: Option<Vec<String>>,
}

/// What other receipts and evidence say of a receipt: the first withdrawal that names it, and what must pass and fails in a
/// comparison. Withdrawals are few: each is read.
pub struct Marks<'a> {
    withdrawn: HashMap<ReceiptRef, u64>,
    store: &'a dyn Store,
}

impl<'a> Marks<'a> {
    /// Reads every withdrawal that is signed as it says.
    pub fn read(index: &mut Index<'a>) -> Result<Self, Failure> {
        let store = index.snapshot().store();
        let filter = Filter { kind: Some(Kind::Withdrawal), ..Filter::default() };
        let (mut marks, mut before) = (HashMap::new(), u64::MAX);
        loop {
            let page = index.newest(&filter, before, MARKS_AT_ONCE)?;
            let Some(last) = page.last() else { return Ok(Self { withdrawn: marks, store }) };
            before = last.index;
            for entry in &page {
                if let Body::Withdrawal(body) = &entry.receipt.statement().predicate.body
                    && index.signed(entry)? == Signed::Good
                {
                    marks.insert(body.target, entry.index);
                }
            }
        }
    }

    /// The withdrawal of a receipt, if there is one.
    pub fn of(&self, entry: &Entry) -> Option<u64> {
        self.withdrawn.get(&ReceiptRef { index: entry.index, receipt: entry.receipt.id() }).copied()
    }

    /// The questions that must pass and fail, as the report of a comparison says; `None` of any other receipt, and where the
    /// report is not here.
    pub fn must_pass_failing(&self, entry: &Entry) -> Option<Vec<String>> {
        let predicate = &entry.receipt.statement().predicate;
        if predicate.kind() != Kind::Comparison {
            return None;
        }
        let report = held_bytes(self.store, predicate, role::REPORT).ok().flatten()?;
        let report: serde_json::Value = serde_json::from_slice(&report).ok()?;
        let failing = report.pointer("/flips/mustPassFailing").and_then(serde_json::Value::as_array);
        Some(failing.into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect())
    }
}

impl<'a> Summary<'a> {
    /// The receipt's summary.
    pub fn of(entry: &'a Entry, marks: &Marks<'_>) -> Self {
        let statement = entry.receipt.statement();
        let predicate = &statement.predicate;
        let (mut scorecard, mut comparison, mut baseline, mut gate) = (None, None, None, None);
        let (mut signoff, mut withdrawal, mut waiver, mut authorization) = (None, None, None, None);
        match &predicate.body {
            Body::Scorecard(body) => scorecard = Some(body),
            Body::Comparison(body) => comparison = Some(body),
            Body::Baseline(body) => baseline = Some(body),
            Body::Gate(body) => gate = Some(body),
            Body::Signoff(body) => signoff = Some(body),
            Body::Withdrawal(body) => withdrawal = Some(body),
            Body::Waiver(body) => waiver = Some(body),
            Body::Authorization(body) => authorization = Some(body),
            Body::Trust(_) => {}
        }
        Self {
            index: entry.index,
            id: entry.receipt.id(),
            kind: predicate.kind().as_str(),
            line: entry.line(),
            round: entry.round,
            recorded_at: predicate.recorded_at,
            person: entry.person.as_deref(),
            key: entry.receipt.key(),
            subject: &statement.subject,
            note: predicate.note.as_ref(),
            scorecard,
            comparison,
            baseline,
            gate,
            signoff,
            withdrawal,
            waiver,
            authorization,
            withdrawn: marks.of(entry),
            must_pass_failing: marks.must_pass_failing(entry),
        }
    }
}

/// `main#3` for the third round of `main`.
fn place(entry: &Entry) -> String {
    match (entry.line(), entry.round) {
        (Some(line), Some(round)) => format!(" {line}#{round}"),
        _ => String::new(),
    }
}

fn reference(named: &ReceiptRef) -> String {
    format!("#{} {}", named.index, named.receipt.short())
}

/// The receipt in one line.
pub fn in_a_line(entry: &Entry, marks: &Marks<'_>) -> String {
    let predicate = &entry.receipt.statement().predicate;
    let said = match &predicate.body {
        Body::Scorecard(body) => format!("quality {} n {}", body.card.quality(), body.card.n()),
        Body::Comparison(body) => {
            let failing = match marks.must_pass_failing(entry).map_or(0, |failing| failing.len()) {
                0 => String::new(),
                1 => "; a question that must pass fails".to_owned(),
                many => format!("; {many} questions that must pass fail"),
            };
            format!("#{} to #{}: {}{failing}", body.base.index, body.current.index, body.outcome())
        }
        Body::Baseline(body) => format!("{} is compared with #{}", body.line, body.target.index),
        Body::Gate(body) => {
            let recommended = body.recommended.as_ref().map(|model| format!(" {model}")).unwrap_or_default();
            format!("{}{recommended} under {}", body.verdict.name(), body.profile.name)
        }
        Body::Trust(statement) => format!("version {}", statement.version()),
        Body::Signoff(body) => format!("{} on #{}: {}", body.decision, body.target.index, body.reason),
        Body::Withdrawal(body) => format!("#{}: {}", body.target.index, body.reason),
        Body::Waiver(body) => {
            format!("{} of #{} until {}: {}", body.check, body.target.index, body.expires, body.reason)
        }
        Body::Authorization(body) => format!("#{} {}", body.target.index, body.decision),
    };
    let mark = marks.of(entry).map(|index| format!("withdrawn in #{index}, ")).unwrap_or_default();
    let note = predicate.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
    let (id, kind) = (entry.receipt.id().short(), predicate.kind());
    one_line(&format!("{id} #{} {kind}{} {mark}{said}{note}", entry.index, place(entry))) + "\n"
}

/// One named field of a heading.
pub fn field(text: &mut String, name: &str, value: &str) {
    // Writing into a string cannot fail.
    let _ = writeln!(text, "{:<11}{}", format!("{name}:"), one_line(value));
}

/// The receipt's heading: what it says, of what, when and by whom.
pub fn heading(entry: &Entry, id: &str, marks: &Marks<'_>) -> String {
    let statement = entry.receipt.statement();
    let predicate = &statement.predicate;
    let mut text = format!("receipt {id} #{} {}{}\n", entry.index, predicate.kind(), place(entry));
    if let Some(index) = marks.of(entry) {
        field(&mut text, "WITHDRAWN", &format!("in #{index}: nothing that rests on it is released"));
    }
    match &predicate.body {
        Body::Scorecard(body) => scorecard(&mut text, body),
        Body::Comparison(body) => comparison(&mut text, body, marks.must_pass_failing(entry)),
        Body::Baseline(body) => {
            field(&mut text, "Baseline", &format!("{} is compared with {}", body.line, reference(&body.target)));
        }
        Body::Gate(body) => gate(&mut text, body),
        Body::Trust(statement) => trust(&mut text, statement),
        Body::Signoff(body) => signoff(&mut text, body),
        Body::Withdrawal(body) => {
            field(&mut text, "Withdrawn", &reference(&body.target));
            field(&mut text, "Reason", body.reason.as_str());
        }
        Body::Waiver(body) => {
            field(&mut text, "Waived", &format!("{} of {}", body.check, reference(&body.target)));
            field(&mut text, "Expires", &body.expires.to_string());
            field(&mut text, "Reason", body.reason.as_str());
        }
        Body::Authorization(body) => authorization(&mut text, body),
    }
    for subject in &statement.subject {
        field(&mut text, "Subject", &format!("{} sha256:{}", subject.name, subject.digest.sha256));
    }
    field(&mut text, "Recorded", &format!("{} (self-asserted)", predicate.recorded_at));
    let person = entry.person.as_deref().unwrap_or("a key of nobody in the trust statement:");
    field(&mut text, "Signer", &format!("{person} {}", entry.receipt.key()));
    if let Some(note) = &predicate.note {
        let _ = writeln!(text, "\n    {}", one_line(note.as_str()));
    }
    text
}

/// What a round cost, for people. A cost that is not known stands in the card as 0.
pub fn cost(body: &ScorecardBody) -> String {
    if body.knows_cost() { body.card.realized_cost().to_string() } else { "unknown".to_owned() }
}

fn scorecard(text: &mut String, body: &ScorecardBody) {
    let card = &body.card;
    let (quality, cost, grounded, n) = (card.quality(), cost(body), card.grounded_fraction(), card.n());
    let sealed = if body.sealed { ", sealed" } else { "" };
    let numbers = format!("quality {quality}, cost {cost}, grounded {grounded}, n {n} ({}{sealed})", body.basis);
    field(text, "Card", &numbers);
    let questions = if card.question_set_id().is_empty() { "none" } else { card.question_set_id() };
    field(text, "Questions", questions);
    field(text, "Scorer", body.scorer.as_str());
    for unknown in &body.unknown {
        let allowed = if unknown.allowed { ", allowed" } else { "" };
        field(text, "Unknown", &format!("{} ({}{allowed})", unknown.field.meaning(), unknown.field));
    }
}

fn comparison(text: &mut String, body: &Comparison, failing: Option<Vec<String>>) {
    let (base, current) = (reference(&body.base), reference(&body.current));
    field(text, "Compared", &format!("{base} to {current}, tolerance {}: {}", body.tolerance, body.outcome()));
    for fact in &body.allow_unknown {
        field(text, "Allowed", &format!("unknown: {} ({fact})", fact.meaning()));
    }
    for reason in &body.report.reasons {
        field(text, "Reason", reason);
    }
    match failing.as_deref() {
        Some([]) => {}
        Some(names) => field(text, "Must pass", &format!("and fails ({}): {}", names.len(), names.join(" "))),
        None => field(text, "Must pass", "not known: the report of the comparison is not here"),
    }
}

fn gate(text: &mut String, body: &GateBody) {
    let GateBody { verdict, recommended, min_coverage, profile, candidates } = body;
    let counts = format!("{} of {} candidates keep every gate", candidates.passed, candidates.total);
    field(text, "Verdict", &format!("{} ({counts})", verdict.name()));
    if let Some(model) = recommended {
        field(text, "Candidate", model);
    }
    field(text, "Profile", &format!("{} {}, coverage floor {min_coverage}", profile.name, profile.blake3));
}

fn trust(text: &mut String, statement: &Statement) {
    let thresholds = statement.thresholds();
    let version = format!("{} (roots {}, sign-offs {})", statement.version(), thresholds.root, thresholds.signoff);
    field(text, "Trust", &format!("version {version}"));
    field(text, "Log", &statement.log().key);
    for person in statement.persons() {
        let roles: Vec<_> = person.roles.iter().map(ToString::to_string).collect();
        field(text, "Person", &format!("{} ({})", person.name, roles.join(", ")));
    }
}

fn rests_on(text: &mut String, references: &[ReceiptRef]) {
    for rest in references {
        field(text, "Rests on", &reference(rest));
    }
}

fn signoff(text: &mut String, body: &Signoff) {
    field(text, "Decision", &format!("{} on {}", body.decision, reference(&body.target)));
    if let Some(expires) = body.expires {
        field(text, "Expires", &expires.to_string());
    }
    field(text, "Reason", body.reason.as_str());
    rests_on(text, &body.rests_on);
}

fn authorization(text: &mut String, body: &Authorization) {
    field(text, "Decision", &format!("{} on {}", body.decision, reference(&body.target)));
    field(text, "Judged at", &format!("{} at size {}, root {}", body.at, body.size, body.root));
    for reason in &body.reasons {
        field(text, "Reason", reason.as_str());
    }
    rests_on(text, &body.rests_on);
}
