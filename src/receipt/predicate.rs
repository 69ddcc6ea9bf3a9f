//! What each kind of receipt says, beside what all of them say.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

use super::text::{printable, text_error};
use super::{Authorization, LineName, Moment, ReceiptError, Role, Signoff, Text, Waiver, Withdrawal};
use crate::gate::{ProfileName, Report, Verdict};
use crate::object::{MAX_SAFE_INTEGER, ObjectId, ReceiptId, Sha256};
use crate::question::{QuestionSetId, ScorerIdentity};
use crate::scorecard::{DEFAULT_TOLERANCE, Fact, RegressionReport, Scorecard, Tolerance, Unknown};
use crate::trust;

/// The prefix of every predicate type; `urn:x-proofmark:<kind>:v1`.
const PREFIX: &str = "urn:x-proofmark:";

/// The most bytes of an object that a receipt may name: 2^40.
pub const MAX_EVIDENCE_BYTES: u64 = 1 << 40;

/// The program that made the receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// `proofmark`.
    pub name: String,
    /// As in `0.1.0`.
    pub version: String,
}

/// A receipt of the same ledger, by its place and its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiptRef {
    /// Its index in the log, from 0.
    pub index: u64,
    /// Its id.
    pub receipt: ReceiptId,
}

/// One object that a receipt rests on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Evidence {
    /// What it is to the receipt.
    pub role: Role,
    /// Its object id.
    pub blake3: ObjectId,
    /// For tools that know no BLAKE3.
    pub sha256: Sha256,
    /// Bytes, uncompressed.
    pub size: u64,
    /// Its media type, as in `application/jsonl`.
    pub media_type: String,
    /// Whether the ledger holds the bytes, or only their digests.
    pub held: bool,
}

/// Why a list of evidence cannot be stated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the role `{role}` names the same object twice")]
pub struct EvidenceError {
    /// The role.
    pub role: Role,
}

/// Whether a list of evidence is in the order of [`sorted_evidence`].
pub(super) fn is_sorted_evidence(list: &[Evidence]) -> bool {
    let same = |pair: &[Evidence]| (&pair[0].role, pair[0].blake3) == (&pair[1].role, pair[1].blake3);
    list.is_sorted() && !list.windows(2).any(same)
}

/// The one order of an evidence list: by role, then by digest. The same object may serve two roles, but not one twice.
pub fn sorted_evidence(mut list: Vec<Evidence>) -> Result<Vec<Evidence>, EvidenceError> {
    list.sort();
    match list.windows(2).find(|pair| (&pair[0].role, pair[0].blake3) == (&pair[1].role, pair[1].blake3)) {
        Some(pair) => Err(EvidenceError { role: pair[0].role.clone() }),
        None => Ok(list),
    }
}

/// How a scorecard's numbers came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// Derived here from the evidence that the receipt carries.
    Recomputed,
    /// Handed in.
    Asserted,
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Recomputed => "recomputed",
            Self::Asserted => "asserted",
        })
    }
}

/// One round of a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScorecardBody {
    /// The line.
    pub line: LineName,
    /// How the numbers came about.
    pub basis: Basis,
    /// The numbers.
    pub card: Scorecard,
    /// The judge; part of the question set identity.
    pub scorer: ScorerIdentity,
    /// Whether the question text is kept out of the ledger.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sealed: bool,
    /// What is unknown of a round that another tool measured, or that was judged anew from one, in the order of [`Fact`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<Unknown>,
}

impl ScorecardBody {
    /// Whether its question set is known by the questions' names only: the text that was sent is unknown.
    pub fn is_by_names_only(&self) -> bool {
        self.unknown.iter().any(|unknown| unknown.field == Fact::Prompts)
    }

    /// Whether the cost in the card is what the round cost. One that is not known stands there as 0.
    pub fn knows_cost(&self) -> bool {
        !self.unknown.iter().any(|unknown| unknown.field == Fact::Cost)
    }

    fn hold_together(&self) -> Result<(), ReceiptError> {
        let facts: Vec<Fact> = self.unknown.iter().map(|unknown| unknown.field).collect();
        in_order("a list of unknowns", &facts)?;
        // A card that is bound to no question set says nothing about anything.
        let id = self.card.question_set_id();
        id.parse::<QuestionSetId>()
            .map(drop)
            .map_err(|_| text_error("a question set identity", "pm1: and 64 digits, or 64 digits", id))
    }
}

/// A list of facts, each once and in order.
fn in_order(what: &'static str, facts: &[Fact]) -> Result<(), ReceiptError> {
    match facts.windows(2).find(|pair| pair[0] >= pair[1]) {
        Some(pair) => Err(text_error(what, "each once and in alphabetical order", pair[1].as_str())),
        None => Ok(()),
    }
}

/// Two rounds compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    /// The round compared against.
    pub base: ReceiptRef,
    /// The round compared.
    pub current: ReceiptRef,
    /// An axis is worse only beyond this.
    pub tolerance: f64,
    /// What `detect_regression` says.
    pub report: RegressionReport,
    /// What one round or both leave unknown, and the recorder compared all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow_unknown: Vec<Fact>,
}

impl Comparison {
    /// What it says, in a few words. A tolerance that lets more pass than the default one, and what was unknown and
    /// compared all the same, are part of it: whoever reads "not regressed" has to see them.
    pub fn outcome(&self) -> String {
        let mut said = match (self.report.comparable, self.report.regressed) {
            (false, _) => "not comparable".to_owned(),
            (true, true) => "regressed".to_owned(),
            (true, false) => "not regressed".to_owned(),
        };
        if self.is_tolerant() {
            said.push_str(&format!(" beyond {}", self.tolerance));
        }
        if !self.allow_unknown.is_empty() {
            let names: Vec<_> = self.allow_unknown.iter().map(|fact| fact.as_str()).collect();
            said.push_str(&format!(" (unknown and allowed: {})", names.join(" ")));
        }
        said
    }

    /// Whether it lets a greater loss pass than `detect_regression` does unless told otherwise.
    fn is_tolerant(&self) -> bool {
        self.tolerance > DEFAULT_TOLERANCE.as_f64()
    }

    /// Whether whoever made it let a loss pass, or something that nobody knows.
    pub fn is_lenient(&self) -> bool {
        self.is_tolerant() || !self.allow_unknown.is_empty()
    }

    fn hold_together(&self) -> Result<(), ReceiptError> {
        in_order("a list of allowed unknowns", &self.allow_unknown)?;
        if Tolerance::new(self.tolerance).is_err() {
            return Err(text_error("a tolerance", "finite and not negative", &self.tolerance.to_string()));
        }
        // What is not comparable, or has a reason against it, regressed; nothing else did.
        let RegressionReport { regressed, comparable, reasons } = &self.report;
        if *regressed == (*comparable && reasons.is_empty()) {
            return Err(text_error(
                "a comparison's verdict",
                "regressed if and only if a reason is given",
                &regressed.to_string(),
            ));
        }
        Ok(())
    }
}

/// A round that later ones of its line are compared with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Baseline {
    /// The line.
    pub line: LineName,
    /// The round.
    pub target: ReceiptRef,
}

/// A gate run. The whole report is evidence: thousands of candidates would not fit into a receipt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GateBody {
    /// GO or BLOCKED.
    pub verdict: Verdict,
    /// The candidate that may be released; none where the verdict is BLOCKED.
    pub recommended: Option<String>,
    /// The coverage floor that thresholds had to clear, 0 to 1.
    pub min_coverage: f64,
    /// The task profile.
    pub profile: ProfileName,
    /// The candidates, counted.
    pub candidates: CandidateCounts,
}

/// How many candidates a gate run had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CandidateCounts {
    /// All of them.
    pub total: u64,
    /// Those that keep every gate.
    pub passed: u64,
}

impl GateBody {
    /// What a receipt says of a report.
    pub fn of(report: &Report) -> Self {
        let passed = report.candidates.iter().filter(|candidate| candidate.passed).count();
        Self {
            verdict: report.verdict,
            recommended: report.recommended.clone(),
            min_coverage: report.min_coverage,
            profile: report.profile.clone(),
            candidates: CandidateCounts { total: report.candidates.len() as u64, passed: passed as u64 },
        }
    }

    fn hold_together(&self) -> Result<(), ReceiptError> {
        if !(0.0..=1.0).contains(&self.min_coverage) {
            return Err(text_error("a coverage floor", "from 0 to 1", &self.min_coverage.to_string()));
        }
        let CandidateCounts { total, passed } = self.candidates;
        let go = self.verdict == Verdict::Go;
        if go != (passed > 0) || go != self.recommended.is_some() || passed > total {
            let rule = "GO if and only if a candidate passed, which is then recommended";
            return Err(text_error("a gate's verdict", rule, self.verdict.name()));
        }
        Ok(())
    }
}

/// What a receipt says, by kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// Who may do what.
    Trust(trust::Statement),
    /// One round of a line.
    Scorecard(ScorecardBody),
    /// Two rounds compared.
    Comparison(Comparison),
    /// The round to compare with.
    Baseline(Baseline),
    /// A gate run.
    Gate(GateBody),
    /// A person's decision on a receipt.
    Signoff(Signoff),
    /// A receipt that no longer counts.
    Withdrawal(Withdrawal),
    /// A check that is not to block.
    Waiver(Waiver),
    /// The release decision.
    Authorization(Authorization),
}

impl Body {
    /// The line, of a round or a baseline.
    pub fn line(&self) -> Option<&LineName> {
        match self {
            Self::Scorecard(body) => Some(&body.line),
            Self::Baseline(body) => Some(&body.line),
            _ => None,
        }
    }

    /// The receipts that it names, each with the member that names it.
    pub fn named(&self) -> Vec<(&'static str, ReceiptRef)> {
        let with = |target: ReceiptRef, rests_on: &[ReceiptRef]| {
            let rest = rests_on.iter().map(|one| ("restsOn", *one));
            [("target", target)].into_iter().chain(rest).collect()
        };
        match self {
            Self::Trust(_) | Self::Scorecard(_) | Self::Gate(_) => Vec::new(),
            Self::Comparison(body) => vec![("base", body.base), ("current", body.current)],
            Self::Baseline(body) => with(body.target, &[]),
            Self::Signoff(body) => with(body.target, &body.rests_on),
            Self::Withdrawal(body) => with(body.target, &[]),
            Self::Waiver(body) => with(body.target, &[]),
            Self::Authorization(body) => with(body.target, &body.rests_on),
        }
    }
}

/// The kinds of receipts that this version knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// See [`Body::Trust`].
    Trust,
    /// See [`Body::Scorecard`].
    Scorecard,
    /// See [`Body::Comparison`].
    Comparison,
    /// See [`Body::Baseline`].
    Baseline,
    /// See [`Body::Gate`].
    Gate,
    /// See [`Body::Signoff`].
    Signoff,
    /// See [`Body::Withdrawal`].
    Withdrawal,
    /// See [`Body::Waiver`].
    Waiver,
    /// See [`Body::Authorization`].
    Authorization,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Trust,
        Self::Scorecard,
        Self::Comparison,
        Self::Baseline,
        Self::Gate,
        Self::Signoff,
        Self::Withdrawal,
        Self::Waiver,
        Self::Authorization,
    ];

    /// The kind's name, as in `scorecard`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Trust => "trust",
            Self::Scorecard => "scorecard",
            Self::Comparison => "comparison",
            Self::Baseline => "baseline",
            Self::Gate => "gate",
            Self::Signoff => "signoff",
            Self::Withdrawal => "withdrawal",
            Self::Waiver => "waiver",
            Self::Authorization => "authorization",
        }
    }

    /// Its in-toto predicate type, as in `urn:x-proofmark:scorecard:v1`.
    pub fn predicate_type(self) -> String {
        format!("{PREFIX}{}:v1", self.as_str())
    }

    pub(super) fn of_predicate_type(text: &str) -> Option<Self> {
        let name = text.strip_prefix(PREFIX)?.strip_suffix(":v1")?;
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A whole predicate: what all receipts say, and the body of the kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Predicate {
    /// Its place in the log, from 0. A copy of a receipt anywhere else, or in another ledger, is no receipt.
    pub index: u64,
    /// When, by the recorder's own clock.
    pub recorded_at: Moment,
    /// The program.
    pub tool: Tool,
    /// The trust receipt in force when this was signed; only receipt 0 has none.
    pub trust: Option<ReceiptRef>,
    /// What it rests on, in the order of [`sorted_evidence`].
    pub evidence: Vec<Evidence>,
    /// A word from the recorder.
    pub note: Option<Text>,
    /// What it says.
    pub body: Body,
}

impl Predicate {
    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self.body {
            Body::Trust(_) => Kind::Trust,
            Body::Scorecard(_) => Kind::Scorecard,
            Body::Comparison(_) => Kind::Comparison,
            Body::Baseline(_) => Kind::Baseline,
            Body::Gate(_) => Kind::Gate,
            Body::Signoff(_) => Kind::Signoff,
            Body::Withdrawal(_) => Kind::Withdrawal,
            Body::Waiver(_) => Kind::Waiver,
            Body::Authorization(_) => Kind::Authorization,
        }
    }

    /// The receipts that this one rests on: what has to be shown with it. Its trust comes first, then those that it names.
    pub fn rests_on(&self) -> Vec<ReceiptRef> {
        let named = self.body.named().into_iter().map(|(_, reference)| reference);
        self.trust.into_iter().chain(named).collect()
    }

    /// The rules that the members' own types do not carry.
    pub(super) fn hold_together(&self) -> Result<(), ReceiptError> {
        if let Some(evidence) = self.evidence.iter().find(|evidence| evidence.size > MAX_EVIDENCE_BYTES) {
            return Err(text_error("a size of evidence", "at most 2^40", &evidence.size.to_string()));
        }
        let named = self.body.named().into_iter().map(|(_, reference)| reference.index);
        let of_body = match &self.body {
            Body::Gate(body) => Some(body.candidates.total),
            Body::Authorization(body) => Some(body.size),
            _ => None,
        };
        let counts = [self.index].into_iter().chain(self.trust.map(|trust| trust.index)).chain(named).chain(of_body);
        if let Some(count) = counts.into_iter().find(|count| i128::from(*count) > MAX_SAFE_INTEGER) {
            return Err(text_error("an index or count", "at most 2^53 - 1", &count.to_string()));
        }
        for text in
            [&self.tool.name, &self.tool.version].into_iter().chain(self.evidence.iter().map(|one| &one.media_type))
        {
            if !printable(text, 200) {
                return Err(text_error("a tool's name or version, or a media type", "1 to 200 printable bytes", text));
            }
        }
        match &self.body {
            Body::Scorecard(body) => body.hold_together(),
            Body::Comparison(body) => body.hold_together(),
            Body::Gate(body) => body.hold_together(),
            Body::Signoff(body) => body.hold_together(),
            Body::Authorization(body) => body.hold_together(),
            Body::Trust(_) | Body::Baseline(_) | Body::Withdrawal(_) | Body::Waiver(_) => Ok(()),
        }
    }

    /// The evidence of a role.
    pub fn evidence_of<'a>(&'a self, role: &'a str) -> impl Iterator<Item = &'a Evidence> {
        self.evidence.iter().filter(move |evidence| evidence.role.as_str() == role)
    }
}

/// What all predicates say, as it is read. The body's members stand beside them, and are read by themselves.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Common {
    index: u64,
    recorded_at: Moment,
    tool: Tool,
    #[serde(default)]
    trust: Option<ReceiptRef>,
    evidence: Vec<Evidence>,
    #[serde(default)]
    note: Option<Text>,
}

/// A trust statement beside them, which takes no other members.
#[derive(Deserialize)]
struct TrustPredicate {
    #[serde(flatten)]
    common: Common,
    #[serde(flatten)]
    body: trust::Statement,
}

/// A predicate as it is written: the body's members beside the common ones.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Written<'a, B> {
    index: u64,
    recorded_at: Moment,
    tool: &'a Tool,
    #[serde(skip_serializing_if = "Option::is_none")]
    trust: Option<ReceiptRef>,
    evidence: &'a [Evidence],
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a Text>,
    #[serde(flatten)]
    body: &'a B,
}

impl Predicate {
    /// Reads a predicate of a kind. Members that belong to neither the common ones nor the body are left out: who reads has
    /// to hold what comes out against the text.
    pub(super) fn read(kind: Kind, text: &str) -> Result<Self, serde_json::Error> {
        fn body<'a, B: Deserialize<'a>>(
            text: &'a str,
            body: impl FnOnce(B) -> Body,
        ) -> Result<Body, serde_json::Error> {
            serde_json::from_str(text).map(body)
        }
        if kind == Kind::Trust {
            let TrustPredicate { common, body } = serde_json::from_str(text)?;
            return Ok(Self::of(common, Body::Trust(body)));
        }
        let common = serde_json::from_str(text)?;
        let body = match kind {
            Kind::Trust | Kind::Scorecard => body(text, Body::Scorecard),
            Kind::Comparison => body(text, Body::Comparison),
            Kind::Baseline => body(text, Body::Baseline),
            Kind::Gate => body(text, Body::Gate),
            Kind::Signoff => body(text, Body::Signoff),
            Kind::Withdrawal => body(text, Body::Withdrawal),
            Kind::Waiver => body(text, Body::Waiver),
            Kind::Authorization => body(text, Body::Authorization),
        };
        Ok(Self::of(common, body?))
    }

    fn of(common: Common, body: Body) -> Self {
        let Common { index, recorded_at, tool, trust, evidence, note } = common;
        Self { index, recorded_at, tool, trust, evidence, note, body }
    }

    fn written<'a, B>(&'a self, body: &'a B) -> Written<'a, B> {
        Written {
            index: self.index,
            recorded_at: self.recorded_at,
            tool: &self.tool,
            trust: self.trust,
            evidence: &self.evidence,
            note: self.note.as_ref(),
            body,
        }
    }
}

impl Serialize for Predicate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.body {
            Body::Trust(body) => self.written(body).serialize(serializer),
            Body::Scorecard(body) => self.written(body).serialize(serializer),
            Body::Comparison(body) => self.written(body).serialize(serializer),
            Body::Baseline(body) => self.written(body).serialize(serializer),
            Body::Gate(body) => self.written(body).serialize(serializer),
            Body::Signoff(body) => self.written(body).serialize(serializer),
            Body::Withdrawal(body) => self.written(body).serialize(serializer),
            Body::Waiver(body) => self.written(body).serialize(serializer),
            Body::Authorization(body) => self.written(body).serialize(serializer),
        }
    }
}
