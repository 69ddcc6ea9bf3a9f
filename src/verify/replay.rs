//! Replay: what a receipt claims is derived again from its evidence, and must come out the same bit for bit.
//!
//! That a receipt says `recomputed` is a claim like any other.

use std::io;

use super::VerifyError;
use super::docket::Docket;
use super::finding::{Axis, Code, Finding, NoticeCode, chain};
use super::released::{self, Looked};
use super::source::Entries;
use crate::import::{ImportError, Manifest, Original, Rendered, SCORER_PREFIX};
use crate::ledger::{
    Bridge, BridgeFrom, GateEvidenceError, NumberedRound, RoundEvidence, RoundEvidenceError, held_bytes, replay_gate,
    role, scheme_of, unknown_facts,
};
use crate::object::{Json, ObjectId, encode_json, parse};
use crate::receipt::{
    Authorization, Basis, Body, CandidateCounts, Comparison, Evidence, GateBody, Predicate, Receipt, ReceiptRef,
    ScorecardBody,
};
use crate::score::Scorer;
use crate::scorecard::{Fact, Scorecard, Tolerance};
use crate::store::{ObjectState, Store, StoreError, object_state, open_object};

/// What replaying one receipt came to.
#[derive(Default)]
pub(super) struct Replayed {
    findings: Vec<Finding>,
    /// Counted under these names.
    counts: Vec<&'static str>,
    notice: Option<(NoticeCode, &'static str)>,
    /// Evidence is missing or damaged, which is a finding of another axis.
    impossible: bool,
    /// Of a gate run: the held-out records that it looked at.
    looked: Option<Looked>,
}

impl Replayed {
    /// Whether it could not be replayed: what it rests on is missing or damaged.
    pub(super) fn is_impossible(&self) -> bool {
        self.impossible
    }

    /// How far it could go, where that is not to the end.
    pub(super) fn notice(&self) -> Option<&'static str> {
        self.notice.map(|(_, text)| text)
    }

    /// Takes it down.
    pub(super) fn report(self, index: u64, docket: &mut Docket) {
        docket.find_all(self.findings);
        self.looked.into_iter().for_each(|looked| docket.looked(index, looked));
        self.counts.into_iter().for_each(|what| docket.count(Axis::Replay, what, 1));
        if let Some((code, text)) = self.notice {
            docket.notice(code, Some(index), None, text);
        }
        if self.impossible {
            docket.unproven(index);
            docket.count(Axis::Replay, "impossible", 1);
            docket.not_checked(Axis::Replay, "some receipts cannot be replayed: their evidence is missing or damaged");
        }
    }
}

/// Reads again what receipts rest on.
pub(super) struct Replayer<'a> {
    pub(super) store: &'a dyn Store,
    /// Where the receipts are that others name.
    pub(super) entries: &'a dyn Entries,
}

/// One replay as it goes.
struct Case<'a> {
    replayer: &'a Replayer<'a>,
    index: u64,
    receipt: &'a Receipt,
    outcome: Replayed,
}

impl Replayer<'_> {
    /// Replays one receipt. Only a failure of this machine is an error.
    pub(super) fn replay(&self, index: u64, receipt: &Receipt) -> Result<Replayed, VerifyError> {
        let mut case = Case { replayer: self, index, receipt, outcome: Replayed::default() };
        match &receipt.statement().predicate.body {
            Body::Scorecard(body) => case.scorecard(body)?,
            Body::Comparison(body) => case.comparison(body)?,
            Body::Gate(body) => case.gate(body)?,
            Body::Authorization(body) => case.authorization(body)?,
            _ => {}
        }
        Ok(case.outcome)
    }

    /// The receipt that another names, if it is there.
    pub(super) fn receipt(&self, reference: ReceiptRef) -> Result<Option<Receipt>, VerifyError> {
        Ok(self.entries.receipt(reference.index)?.filter(|receipt| receipt.id() == reference.receipt))
    }

    /// The round that a comparison names, if it is there.
    fn round(&self, reference: ReceiptRef) -> Result<Option<ScorecardBody>, VerifyError> {
        Ok(self.receipt(reference)?.and_then(|receipt| match &receipt.statement().predicate.body {
            Body::Scorecard(body) => Some(body.clone()),
            _ => None,
        }))
    }
}

impl Case<'_> {
    fn predicate(&self) -> &Predicate {
        &self.receipt.statement().predicate
    }

    fn find(&mut self, code: Code, expected: impl std::fmt::Display, found: impl std::fmt::Display) {
        let finding = Finding::new(code, expected, found).at(self.index, Some(self.receipt.id()));
        self.outcome.findings.push(finding);
    }

    fn count(&mut self, what: &'static str) {
        self.outcome.counts.push(what);
    }

    /// Evidence that has to be read and cannot be: this machine's failure, damage, or another form than its role's.
    fn unreadable(&mut self, error: RoundEvidenceError) -> Result<(), VerifyError> {
        match error {
            RoundEvidenceError::Store { source: source @ StoreError::Io { .. }, .. } => {
                return Err(VerifyError::Store(source));
            }
            RoundEvidenceError::Store { .. } | RoundEvidenceError::Missing { .. } => self.outcome.impossible = true,
            other => self.find(Code::ReplayUnreadable, "evidence from which the card follows", chain(&other)),
        }
        Ok(())
    }

    /// The bytes of held evidence; `None` where there is none or it cannot be had.
    fn bytes(&mut self, role: &'static str) -> Result<Option<Vec<u8>>, VerifyError> {
        match held_bytes(self.replayer.store, self.predicate(), role) {
            Ok(bytes) => Ok(bytes),
            Err(error) => self.unreadable(error).map(|()| None),
        }
    }

    fn scorecard(&mut self, body: &ScorecardBody) -> Result<(), VerifyError> {
        self.count(if body.basis == Basis::Recomputed { "recomputed" } else { "asserted" });
        if !self.roles_are_single() {
            return Ok(());
        }
        if body.scorer.as_str().starts_with(SCORER_PREFIX) {
            self.imported(body)?;
        } else {
            self.check_judge(body);
        }
        self.check_handed_in(body)?;
        let evidence = match RoundEvidence::load(self.replayer.store, self.predicate(), body, None) {
            Ok(evidence) => evidence,
            Err(error) => return self.unreadable(error),
        };
        self.check_identity(body, &evidence);
        if let Some(round) = &evidence.judged {
            self.check_card(body, &round.card);
            self.count("derived");
            self.bridge(body, &round.correct)?;
        }
        // Also where a card follows from something else: leaves and judgements without a seal are no questions.
        if body.basis == Basis::Recomputed {
            self.incomplete(body);
        }
        if evidence.judge_believed {
            let is_command = Scorer::parse(body.scorer.as_str()).is_ok_and(|scorer| scorer.as_command().is_some());
            let withheld = evidence.questions.is_none();
            self.outcome.notice = Some(match (withheld, is_command) {
                (true, false) => (
                    NoticeCode::QuestionsWithheld,
                    "questions are withheld: identity from their leaves, card from the recorded judgements",
                ),
                _ => {
                    (NoticeCode::JudgeNotRerun, "card from the recorded judgements; the judge itself was not run again")
                }
            });
            self.count("judgementsBelieved");
        }
        Ok(())
    }

    /// A bridge says of two scorers what judging the same answers by both says.
    fn bridge(&mut self, body: &ScorecardBody, correct: &[bool]) -> Result<(), VerifyError> {
        let Some(bytes) = self.bytes(role::REPORT)? else { return Ok(()) };
        self.count("bridges");
        let Some(reference) = Bridge::base_of(&bytes).filter(|base| base.index < self.index) else {
            self.find(Code::ReportDiffers, "`report`: a bridge from an earlier round", "something else");
            return Ok(());
        };
        let base = self.replayer.receipt(reference)?;
        if base.is_none() && !self.replayer.entries.has_all() {
            let text = "it is bridged from a round that is not in the dossier, so the bridge was not made again";
            self.outcome.notice = Some((NoticeCode::BridgeNotReplayed, text));
            self.outcome.impossible = true;
            return Ok(());
        }
        let base = base.and_then(|receipt| NumberedRound::new(reference, 0, receipt));
        // A reference that is broken is a bridge from nowhere.
        let Some(base) = base.filter(|base| self.has_answers_of(&base.receipt().statement().predicate)) else {
            let wanted = "`report`: a bridge from a round with the same questions and answers";
            self.find(Code::ReportDiffers, wanted, format!("receipt {} {}", reference.index, reference.receipt));
            return Ok(());
        };
        let from = match BridgeFrom::load(self.replayer.store, &base) {
            Ok(from) => from,
            // What is wrong with the other round's evidence is a finding there.
            Err(_) => {
                self.outcome.impossible = true;
                return Ok(());
            }
        };
        let bridge = from.and_then(|from| from.to(&body.scorer, &body.card, correct));
        let wanted = bridge.and_then(|bridge| bridge.encode().ok()).map(|bytes| ObjectId::of(&bytes));
        let found = ObjectId::of(&bytes);
        if wanted != Some(found) {
            let wanted = wanted.map_or_else(|| "no bridge".to_owned(), |id| format!("`report`: BLAKE3 {id}"));
            self.find(Code::ReportDiffers, wanted, format!("BLAKE3 {found}"));
        }
        Ok(())
    }

    /// Whether another round has the answers of this one, to the same questions.
    fn has_answers_of(&self, other: &Predicate) -> bool {
        let same = |role: &str| {
            let digests = |predicate: &Predicate| predicate.evidence_of(role).map(|one| one.blake3).collect::<Vec<_>>();
            let own = digests(self.predicate());
            !own.is_empty() && own == digests(other)
        };
        same(role::ANSWERS) && (same(role::QUESTIONS) || same(role::LEAVES))
    }

    /// Two objects in one role: which of them counts nobody can say.
    fn roles_are_single(&mut self) -> bool {
        let roles = [
            role::QUESTIONS,
            role::ANSWERS,
            role::LEAVES,
            role::JUDGEMENTS,
            role::JUDGE,
            role::CARD,
            role::REPORT,
            role::IMPORT,
            role::PROJECTION,
        ];
        let many = roles.into_iter().find(|role| self.predicate().evidence_of(role).count() > 1);
        if let Some(role) = many {
            let found = self.predicate().evidence_of(role).count();
            self.find(Code::ReplayIncomplete, format!("one object in the role `{role}`"), format!("{found} objects"));
        }
        many.is_none()
    }

    /// A round of another tool must follow from that tool's files: the same evidence, and the same card.
    fn imported(&mut self, body: &ScorecardBody) -> Result<(), VerifyError> {
        self.count("imports");
        let Some(bytes) = self.bytes(role::IMPORT)? else {
            if body.basis == Basis::Recomputed && !self.outcome.impossible {
                self.find(Code::ReplayIncomplete, "`import`: how the originals were read", "no held import");
            }
            return Ok(());
        };
        let manifest = match Manifest::parse(&bytes) {
            Ok(manifest) => manifest,
            Err(error) => {
                self.find(Code::ReplayUnreadable, "`import`: the manifest of an import", chain(&error));
                return Ok(());
            }
        };
        let store = self.replayer.store;
        let Some(originals) = self.originals(store, &manifest)? else { return Ok(()) };
        match manifest.replay(&originals) {
            Ok(rendered) => self.check_import(body, &rendered),
            Err(ImportError::Record(error)) if error.source.is_some() => self.outcome.impossible = true,
            Err(ImportError::Spill(error)) => return Err(VerifyError::Store(error)),
            Err(error) => self.find(Code::ReplayUnreadable, "originals from which the round follows", chain(&error)),
        }
        Ok(())
    }

    /// The files that a manifest names, or `None` where one cannot be had.
    fn originals<'o>(
        &mut self,
        store: &'o dyn Store,
        manifest: &Manifest,
    ) -> Result<Option<Vec<Original<'o>>>, VerifyError> {
        let mut originals = Vec::new();
        for named in &manifest.originals {
            let held = |evidence: &&Evidence| evidence.held && evidence.blake3 == named.blake3;
            let size = self.predicate().evidence_of(role::ORIGINAL).find(held).map(|evidence| evidence.size);
            let Some(size) = size else {
                self.find(Code::ReplayIncomplete, format!("`original`: BLAKE3 {}", named.blake3), "no such evidence");
                return Ok(None);
            };
            match object_state(store, &named.blake3, size) {
                Ok(ObjectState::Intact) => {}
                Err(error @ StoreError::Io { .. }) => return Err(VerifyError::Store(error)),
                Ok(_) | Err(_) => {
                    self.outcome.impossible = true;
                    return Ok(None);
                }
            }
            // Read as a stream, as it was when it was imported: it may be larger than what is held in memory.
            let id = named.blake3;
            originals.push(Original::opened(named.name.as_str(), move || {
                let content = open_object(store, &id, size).map_err(io::Error::other)?;
                content.ok_or_else(|| io::Error::other("the object went away"))
            }));
        }
        Ok(Some(originals))
    }

    fn check_import(&mut self, body: &ScorecardBody, rendered: &Rendered) {
        if rendered.scorer != body.scorer {
            self.find(Code::ImportDiffers, format!("scorer {}, from the originals", rendered.scorer), &body.scorer);
        }
        let stated: Vec<_> = body.unknown.iter().map(|unknown| unknown.field).collect();
        if rendered.unknown != stated {
            let names = |facts: &[Fact]| match facts.iter().map(|fact| fact.as_str()).collect::<Vec<_>>() {
                none if none.is_empty() => "nothing".to_owned(),
                names => names.join(", "),
            };
            self.find(Code::ImportDiffers, format!("unknown: {}", names(&rendered.unknown)), names(&stated));
        }
        for (role, id) in [
            (role::QUESTIONS, rendered.questions.blake3()),
            (role::ANSWERS, rendered.answers.blake3()),
            (role::JUDGEMENTS, rendered.judgements.blake3()),
            (role::PROJECTION, rendered.projection.blake3()),
        ] {
            let stated: Vec<_> = self.predicate().evidence_of(role).map(|evidence| evidence.blake3).collect();
            if stated != [id] {
                let stated: Vec<_> = stated.iter().map(|id| format!("BLAKE3 {id}")).collect();
                let found = if stated.is_empty() { "none".to_owned() } else { stated.join(", ") };
                self.find(Code::ImportDiffers, format!("`{role}`: BLAKE3 {id}, from the originals"), found);
            }
        }
        self.check_members(Code::CardDiffers, "from the originals", &rendered.card, &body.card);
        self.count("originalsRead");
    }

    /// A user's judge must be the file that the scorer's identity names.
    fn check_judge(&mut self, body: &ScorecardBody) {
        let scorer = match Scorer::parse(body.scorer.as_str()) {
            Ok(scorer) => scorer,
            Err(error) if body.basis == Basis::Recomputed => {
                return self.find(Code::ReplayScorer, "a scorer that this version knows", error);
            }
            Err(_) => return,
        };
        let Some(judge) = scorer.as_command() else { return };
        let files: Vec<_> = self.predicate().evidence_of(role::JUDGE).map(|file| file.blake3).collect();
        match files.as_slice() {
            [file] if *file == judge.file() => {}
            [file] => {
                self.find(Code::JudgeDiffers, format!("`judge`: BLAKE3 {}", judge.file()), format!("BLAKE3 {file}"))
            }
            _ if body.basis == Basis::Recomputed => {
                self.find(Code::ReplayIncomplete, format!("`judge`: BLAKE3 {}", judge.file()), "no such evidence");
            }
            _ => {}
        }
    }

    /// A card that was handed in must be the one that is stated.
    fn check_handed_in(&mut self, body: &ScorecardBody) -> Result<(), VerifyError> {
        let Some(bytes) = self.bytes(role::CARD)? else { return Ok(()) };
        let read = parse(&bytes).map_err(|error| error.to_string());
        match read.and_then(|json| Scorecard::from_json(&json).map_err(|error| error.to_string())) {
            Ok(card) => self.check_members(Code::CardDiffers, "the card handed in", &card, &body.card),
            Err(found) => self.find(Code::ReplayUnreadable, "`card`: a scorecard", found),
        }
        Ok(())
    }

    /// Questions, or their leaves, must have the identity that is stated. Asserted cards too: where questions are held,
    /// what they are is not a matter of assertion.
    fn check_identity(&mut self, body: &ScorecardBody, evidence: &RoundEvidence) {
        let stated = body.card.question_set_id();
        let questions = evidence.questions.as_ref().map(|questions| match &evidence.judged {
            // The card of a round that was judged by them is bound to what they are.
            Some(round) => Ok(round.card.question_set_id().to_owned()),
            None => questions.id(scheme_of(stated), &body.scorer).map(|id| id.to_string()),
        });
        let questions = questions.transpose().unwrap_or_else(|error| {
            self.find(Code::ReplayUnreadable, "questions that have an identity", error);
            None
        });
        let leaves = evidence.leaves.as_ref().map(|leaves| leaves.id(&body.scorer).to_string());
        let ids = [(role::QUESTIONS, questions), (role::LEAVES, leaves)];
        for (role, id) in ids.into_iter().filter_map(|(role, id)| Some((role, id?))) {
            self.count("identities");
            if id != stated {
                self.find(Code::IdentityDiffers, format!("{id}, from `{role}`"), stated);
            }
        }
        let n =
            evidence.questions.as_ref().map(|set| set.len()).or(evidence.leaves.as_ref().map(|l| l.as_slice().len()));
        if let Some(n) = n.filter(|n| *n as u64 != body.card.n()) {
            let expected = format!("n = {n}, as many as there are questions");
            self.find(Code::CardDiffers, expected, format!("n = {}", body.card.n()));
        }
    }

    fn check_card(&mut self, body: &ScorecardBody, computed: &Scorecard) {
        self.check_members(Code::CardDiffers, "from the evidence", computed, &body.card);
    }

    /// Every number, bit for bit; cards hold no NaN and no negative zero. Identity and n have findings of their own.
    fn check_members(&mut self, code: Code, origin: &str, computed: &Scorecard, stated: &Scorecard) {
        let mut differing = Vec::new();
        for (member, computed, stated) in [
            ("quality", computed.quality(), stated.quality()),
            ("realized_cost", computed.realized_cost(), stated.realized_cost()),
            ("grounded_fraction", computed.grounded_fraction(), stated.grounded_fraction()),
        ] {
            if computed.to_bits() != stated.to_bits() {
                differing.push((format!("{member} = {computed}"), format!("{member} = {stated}")));
            }
        }
        if computed.n() != stated.n() {
            differing.push((format!("n = {}", computed.n()), format!("n = {}", stated.n())));
        }
        if origin == "the card handed in" && computed.question_set_id() != stated.question_set_id() {
            differing.push((computed.question_set_id().to_owned(), stated.question_set_id().to_owned()));
        }
        if !differing.is_empty() {
            let (expected, found): (Vec<_>, Vec<_>) = differing.into_iter().unzip();
            self.find(code, format!("{}, {origin}", expected.join(", ")), found.join(", "));
        }
    }

    /// A recomputed card carries what it was computed from: evidence that is not held carries nothing.
    fn incomplete(&mut self, body: &ScorecardBody) {
        let held = |role: &str| self.predicate().evidence_of(role).any(|evidence| evidence.held);
        let needs_judgements =
            body.sealed || Scorer::parse(body.scorer.as_str()).is_ok_and(|scorer| scorer.as_command().is_some());
        let has_questions = if body.sealed { held(role::LEAVES) } else { held(role::QUESTIONS) };
        let missing: Vec<&str> = [
            (has_questions, if body.sealed { role::LEAVES } else { role::QUESTIONS }),
            (held(role::ANSWERS), role::ANSWERS),
            (!needs_judgements || held(role::JUDGEMENTS), role::JUDGEMENTS),
        ]
        .into_iter()
        .filter_map(|(there, role)| (!there).then_some(role))
        .collect();
        // With all of it there, it is the scorer that is not known, which is a finding already.
        if !missing.is_empty() {
            let found = format!("no held {}", missing.join(", no held "));
            self.find(Code::ReplayIncomplete, "the evidence that a recomputed card follows from", found);
        }
    }

    fn comparison(&mut self, body: &Comparison) -> Result<(), VerifyError> {
        self.count("comparisons");
        let (base, current) = (self.replayer.round(body.base)?, self.replayer.round(body.current)?);
        let (Some(base), Some(current)) = (base, current) else {
            self.outcome.impossible = true; // a finding of the structure
            return Ok(());
        };
        self.check_unknown(body, &base, &current);
        let cost_known = base.knows_cost() && current.knows_cost();
        let (base, current) = (base.card, current.card);
        match Tolerance::new(body.tolerance) {
            Ok(tolerance) => {
                let report = crate::compare::detect_known(&base, &current, tolerance, cost_known);
                if report != body.report {
                    self.find(Code::ComparisonDiffers, report.sentence(), body.report.sentence());
                }
            }
            Err(error) => self.find(Code::ComparisonDiffers, "a tolerance that decides something", error),
        }
        self.full_report(body, &base, &current)
    }

    /// What is unknown of either round must have been allowed, or nothing could be compared.
    fn check_unknown(&mut self, body: &Comparison, base: &ScorecardBody, current: &ScorecardBody) {
        for fact in unknown_facts(&base.unknown, &current.unknown, &body.allow_unknown) {
            if fact.forbids() {
                self.find(Code::ComparisonDiffers, "a comparison of what is known", fact);
            }
        }
    }

    /// The full report must say what the receipt says, of the same two cards.
    fn full_report(&mut self, body: &Comparison, base: &Scorecard, current: &Scorecard) -> Result<(), VerifyError> {
        let Some(bytes) = self.bytes(role::REPORT)? else { return Ok(()) };
        self.count("reports");
        let canonical = parse(&bytes).map_err(|error| error.to_string()).and_then(|json| {
            let again = encode_json(&json).map_err(|error| chain(&error))?;
            if again == bytes { Ok(json) } else { Err("another spelling of the same JSON".to_owned()) }
        });
        let document = match canonical {
            Ok(document) => document,
            Err(found) => {
                self.find(Code::ReportDiffers, "`report`: canonical JSON (RFC 8785)", found);
                return Ok(());
            }
        };
        let report = &body.report;
        let reasons = report.reasons.iter().cloned().map(Json::String).collect();
        let wanted: [(&[&str], Json); 5] = [
            (&["schema"], Json::String("compare.v1".to_owned())),
            (&["regressed"], Json::Bool(report.regressed)),
            (&["comparable"], Json::Bool(report.comparable)),
            (&["reasons"], Json::Array(reasons)),
            (&["tolerance"], Json::Float(body.tolerance)),
        ];
        for (path, wanted) in wanted {
            self.expect_member(&document, path, canonical_text(&wanted));
        }
        for (side, card) in [("base", base), ("current", current)] {
            let wanted = crate::object::encode(card).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            self.expect_member(&document, &[side, "scorecard"], wanted);
        }
        Ok(())
    }

    /// A gate run: the report is computed again from predictions, profile and coverage floor.
    fn gate(&mut self, body: &GateBody) -> Result<(), VerifyError> {
        self.count("gates");
        let report = match replay_gate(self.replayer.store, self.predicate(), body) {
            Ok(report) => report,
            Err(error) => return self.no_report(error),
        };
        self.outcome.looked = Some(Looked::of(&report));
        let stated = GateBody::of(&report);
        if stated != *body {
            self.find(Code::GateDiffers, gate_text(&stated), gate_text(body));
        }
        let reports: Vec<_> = self.predicate().evidence_of(role::REPORT).map(|report| report.blake3).collect();
        match report.encode() {
            Ok(bytes) if reports == [ObjectId::of(&bytes)] => {}
            Ok(bytes) => {
                let found: Vec<_> = reports.iter().map(|report| format!("BLAKE3 {report}")).collect();
                let found = if found.is_empty() { "none".to_owned() } else { found.join(", ") };
                self.find(Code::GateReportDiffers, format!("`report`: BLAKE3 {}", ObjectId::of(&bytes)), found);
            }
            Err(error) => self.find(Code::GateUnreadable, "a report that can be written", chain(&error)),
        }
        Ok(())
    }

    fn authorization(&mut self, body: &Authorization) -> Result<(), VerifyError> {
        let failing = released::must_pass_failing(self.replayer, body)?;
        self.outcome.impossible |= failing.unknown;
        for found in failing.found {
            self.find(Code::AuthorizationUnproven, "AUTHORIZED only where every question that must pass passes", found);
        }
        Ok(())
    }

    fn no_report(&mut self, error: GateEvidenceError) -> Result<(), VerifyError> {
        match error {
            GateEvidenceError::Store { source: source @ StoreError::Io { .. }, .. } => {
                return Err(VerifyError::Store(source));
            }
            GateEvidenceError::Store { .. } | GateEvidenceError::Missing { .. } => self.outcome.impossible = true,
            other => self.find(Code::GateUnreadable, "evidence from which the report follows", chain(&other)),
        }
        Ok(())
    }

    fn expect_member(&mut self, document: &Json, path: &[&str], wanted: Option<String>) {
        let found = path.iter().try_fold(document, |value, name| member(value, name));
        let found = found.and_then(canonical_text);
        if found != wanted {
            let name = path.join(".");
            let text = |value: Option<String>| value.unwrap_or_else(|| "nothing".to_owned());
            self.find(Code::ReportDiffers, format!("`report`: {name} = {}", text(wanted)), text(found));
        }
    }
}

fn gate_text(body: &GateBody) -> String {
    let GateBody { verdict, recommended, min_coverage, profile, candidates } = body;
    let recommended = recommended.as_deref().unwrap_or("none");
    let CandidateCounts { total, passed } = candidates;
    format!(
        "{}, recommended {recommended}, {passed} of {total} candidates passed, coverage floor {min_coverage}, profile {} {}",
        verdict.name(),
        profile.name,
        profile.blake3
    )
}

fn member<'a>(value: &'a Json, name: &str) -> Option<&'a Json> {
    let Json::Object(members) = value else { return None };
    members.iter().find(|(member, _)| member == name).map(|(_, value)| value)
}

fn canonical_text(value: &Json) -> Option<String> {
    encode_json(value).ok().and_then(|bytes| String::from_utf8(bytes).ok())
}
