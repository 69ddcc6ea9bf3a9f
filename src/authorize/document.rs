//! The decision as it is told: the `authorize.v1` document.

use serde::Serialize;

use super::When;
use super::evidence::{Evidence, recommended};
use super::ledger::Audited;
use crate::gate::Report;
use crate::object::{ReceiptId, Sha256};
use crate::receipt::{Decision, Moment, ReceiptRef, Release};
use crate::release::{Decisions, Judgement, Reason, Voice, Waived};

/// On what a decision rests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// A gate receipt of the ledger.
    Receipt,
    /// A report that nobody signed.
    BareReport,
    /// There is none.
    Nothing,
}

/// Where the moment comes from that expiries were held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Time {
    /// This machine's clock.
    Clock,
    /// A variable that stands in for the clock.
    Variable,
    /// A receipt of the log, which is later than the clock.
    Log,
    /// The caller.
    Given,
}

/// The ledger and the checkpoint that were judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LedgerNamed {
    /// Receipt 0's id.
    pub genesis: ReceiptId,
    /// The log's name.
    pub origin: String,
    /// How many receipts were judged.
    pub size: u64,
    /// The root of the checkpoint that was judged.
    pub root: Sha256,
}

/// The candidate that may be released.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CandidateShown {
    /// Its name.
    pub model: String,
    /// The least confidence that is accepted, in decimal.
    pub threshold: Option<String>,
    /// Every gate with what was measured on test.
    pub gates: Vec<crate::gate::GateReport>,
    /// The task profile that says which gates there are.
    pub profile: crate::gate::ProfileName,
    /// The coverage floor that the threshold had to clear, 0 to 1.
    pub min_coverage: f64,
}

/// One person's word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SignoffShown {
    /// The sign-off's index.
    pub index: u64,
    /// Its id.
    pub receipt: ReceiptId,
    /// The person, else the key.
    pub who: String,
    /// GO or NO-GO.
    pub decision: Decision,
    /// Why.
    pub reason: String,
    /// When, by its signer's word.
    pub recorded_at: Moment,
    /// The first moment at which it no longer counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<Moment>,
    /// Whether it counts: for a NO-GO, whether it stands.
    pub counts: bool,
    /// Why a GO does not count, where it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
}

/// One waiver, whether it counts or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WaiverShown {
    /// The waiver's index.
    pub index: u64,
    /// Its id.
    pub receipt: ReceiptId,
    /// The person, else the key.
    pub who: String,
    /// What it is about.
    pub about: ReceiptRef,
    /// The check.
    pub check: String,
    /// Why.
    pub reason: String,
    /// The first moment at which it no longer counts.
    pub expires: Moment,
    /// Why it does not count, where it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
    /// Whether it would count if the sign-offs listed it.
    #[serde(skip)]
    pub unlisted: bool,
}

/// A release decision with everything that it rests on and every reason against it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Document {
    schema: &'static str,
    /// What it came to.
    pub decision: Release,
    /// On what it rests.
    pub basis: Basis,
    /// The ledger and checkpoint; `None` for a bare report without a ledger.
    pub ledger: Option<LedgerNamed>,
    /// The moment that expiries were held against.
    pub at: Moment,
    /// Where that moment comes from.
    pub time: Time,
    /// The gate receipt.
    pub target: Option<ReceiptRef>,
    /// Its signer.
    pub signer: Option<String>,
    /// The candidate, where there is a report that recommends one.
    pub candidate: Option<CandidateShown>,
    /// Every reason against it; empty if and only if authorized.
    pub reasons: Vec<Reason>,
    /// Every person's latest word on the gate receipt.
    pub signoffs: Vec<SignoffShown>,
    /// Every waiver about something that it rests on.
    pub waivers: Vec<WaiverShown>,
    /// Everything that it rests on beside the gate receipt.
    pub rests_on: Vec<ReceiptRef>,
    /// What decides nothing and is easily overlooked.
    pub cautions: Vec<String>,
}

/// A document as it comes together.
pub(super) struct Parts {
    document: Document,
    pub(super) cautions: Vec<String>,
}

impl Parts {
    pub(super) fn new(audited: &Audited<'_>, genesis: ReceiptId, origin: &str, when: When, at: Moment) -> Self {
        let mut parts = Self::without_ledger(when, at);
        let (size, root) = (audited.snapshot.size(), audited.snapshot.checkpoint().root());
        parts.document.ledger = Some(LedgerNamed { genesis, origin: origin.to_owned(), size, root });
        parts
    }

    pub(super) fn without_ledger(when: When, at: Moment) -> Self {
        let time = match when {
            When::Given(_) => Time::Given,
            When::Clock(now) if now == at => Time::Clock,
            When::Variable(now) if now == at => Time::Variable,
            When::Clock(_) | When::Variable(_) => Time::Log,
        };
        // The log's newest time is later than this, and the clock may be later still.
        let hidden = matches!((when, time), (When::Variable(_), Time::Log));
        let caution = || "a variable stands in for this machine's clock, which was not looked at".to_owned();
        let cautions = hidden.then(caution).into_iter().collect();
        let document = Document {
            schema: "authorize.v1",
            decision: Release::Blocked,
            basis: Basis::Nothing,
            ledger: None,
            at,
            time,
            target: None,
            signer: None,
            candidate: None,
            reasons: Vec::new(),
            signoffs: Vec::new(),
            waivers: Vec::new(),
            rests_on: Vec::new(),
            cautions: Vec::new(),
        };
        Self { document, cautions }
    }

    pub(super) fn bare(&mut self, report: &Report) {
        self.document.basis = Basis::BareReport;
        self.document.candidate = candidate(report);
    }

    pub(super) fn receipt(
        &mut self,
        decisions: &Decisions,
        target: ReceiptRef,
        judged: Judgement<'_>,
        evidence: &Evidence,
    ) {
        let document = &mut self.document;
        document.basis = Basis::Receipt;
        document.target = Some(target);
        document.signer = Some(decisions.name_at(target.index).to_owned());
        document.candidate = evidence.report.as_ref().and_then(candidate);
        document.signoffs = judged.standing.voices.iter().map(|voice| shown(voice, decisions)).collect();
        document.waivers = judged.waivers.into_iter().map(waiver).collect();
        document.rests_on = judged.rests_on;
        self.cautions.extend(evidence.notices());
    }

    /// The decision: authorized if and only if there is no reason against it and there is a receipt to release.
    pub(super) fn close(self, mut reasons: Vec<Reason>) -> Document {
        let Self { mut document, cautions } = self;
        reasons.sort();
        reasons.dedup();
        let authorized = reasons.is_empty() && document.basis == Basis::Receipt;
        document.decision = if authorized { Release::Authorized } else { Release::Blocked };
        document.reasons = reasons;
        document.cautions = cautions;
        document
    }
}

fn candidate(report: &Report) -> Option<CandidateShown> {
    let candidate = recommended(report)?;
    Some(CandidateShown {
        model: candidate.model.clone(),
        threshold: candidate.threshold_as_written.clone(),
        gates: candidate.gates.clone(),
        profile: report.profile.clone(),
        min_coverage: report.min_coverage,
    })
}

fn shown(voice: &Voice<'_>, decisions: &Decisions) -> SignoffShown {
    SignoffShown {
        index: voice.latest.index,
        receipt: voice.latest.receipt,
        who: voice.who.to_owned(),
        decision: voice.signoff.decision,
        reason: voice.signoff.reason.to_string(),
        recorded_at: voice.signoff.recorded_at,
        expires: voice.signoff.expires,
        counts: voice.counts() || voice.no_go == Some(voice.latest.index),
        doubt: (!voice.doubts.is_empty()).then(|| voice.why_not(decisions)),
    }
}

fn waiver(waived: Waived) -> WaiverShown {
    WaiverShown {
        index: waived.waiver.index,
        receipt: waived.waiver.receipt,
        who: waived.who,
        about: waived.about,
        check: waived.check,
        reason: waived.reason,
        expires: waived.expires,
        doubt: waived.doubt,
        unlisted: waived.unlisted,
    }
}
