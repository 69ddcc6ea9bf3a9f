//! The evidence of everything that a decision rests on: held, intact, and giving what the receipts say.

use std::collections::{BTreeMap, BTreeSet};

use super::AuthorizeError;
use super::ledger::Audited;
use crate::calibrate::{Finding, Profile};
use crate::gate::{CandidateReport, Report};
use crate::ledger::{GateRun, Ledger, NumberedRound, compare_rounds, fails_what_must_pass, gate_profile};
use crate::receipt::{Body, Receipt, ReceiptRef};
use crate::release::{Code, Decisions, Judgement, Reason, judge_content};
use crate::scorecard::Tolerance;
use crate::trust::Statement;
use crate::verify::{Held, hold};

/// What the files say about target and rest.
pub(super) struct Evidence {
    /// The target's report, if it can be had and says what the receipt says.
    pub(super) report: Option<Report>,
    held: Held,
    /// What could not be read at all.
    unreadable: Vec<Reason>,
    /// What comparisons and rounds say beyond their receipts.
    compared: Vec<Reason>,
    /// What a reader should know of how strict comparisons and the profile are, whatever the rules say of it.
    cautions: Vec<String>,
    /// Gate runs so far that looked at the candidate's held-out records.
    looks: u64,
}

impl Evidence {
    /// Reads and replays. `judged` names what the decision rests on.
    pub(super) fn read(
        ledger: &Ledger,
        audited: &Audited<'_>,
        target: ReceiptRef,
        judged: &Judgement<'_>,
    ) -> Result<Self, AuthorizeError> {
        let mut receipts = BTreeMap::new();
        let mut unreadable = Vec::new();
        for one in judged.rests_on.iter().chain([&target]) {
            match audited.snapshot.receipt(one.index) {
                Ok(receipt) if receipt.id() == one.receipt => drop(receipts.insert(one.index, receipt)),
                Ok(_) => unreadable.push(lost(*one, "another receipt stands there")),
                Err(error) => unreadable.push(lost(*one, &error.to_string())),
            }
        }
        let all: Vec<(u64, Receipt)> = receipts.iter().map(|(index, receipt)| (*index, receipt.clone())).collect();
        let held = hold(ledger.store(), audited.snapshot.size(), &all)?;
        let mut compared: Vec<_> =
            all.iter().filter_map(|(index, receipt)| compared(ledger, *index, receipt, &receipts)).collect();
        compared.extend(taken_in(&receipts).into_iter().filter_map(|round| by_itself(ledger, &round)));
        let report = receipts.get(&target.index).and_then(|receipt| report(ledger, target.index, receipt));
        let candidate = report.as_ref().and_then(recommended);
        let looks = candidate.map_or(0, |candidate| looks(ledger, audited, target, candidate));
        let mut cautions: Vec<_> = all.iter().filter_map(|(index, receipt)| lenient(*index, receipt)).collect();
        cautions.extend(receipts.get(&target.index).map_or_else(Vec::new, |receipt| doubtful(ledger, receipt)));
        Ok(Self { report, held, unreadable, compared, cautions, looks })
    }

    /// Every reason that the files give.
    pub(super) fn reasons(&self, now: &Statement, decisions: &Decisions, target: ReceiptRef) -> Vec<Reason> {
        let mut reasons = self.unreadable.clone();
        let by = |index: Option<u64>| index.map(|index| decisions.name_at(index).to_owned());
        reasons.extend(self.held.findings.iter().map(|finding| Reason {
            code: finding.code.as_str(),
            index: finding.index,
            receipt: finding.receipt,
            who: by(finding.index),
            found: format!("expected {}; found {}", finding.expected, finding.found),
            rule: "everything that a release rests on has its evidence, intact, and follows from it".to_owned(),
            remedy: finding.next.to_owned(),
        }));
        for index in &self.held.impossible {
            let found = format!("#{index} cannot be replayed: what it rests on is missing or damaged");
            let rule = "everything that a release rests on is derived again";
            let reason = Reason::new(Code::NotReplayed, found, rule, "restore the evidence from a copy of the ledger");
            reasons.push(Reason { index: Some(*index), who: by(Some(*index)), ..reason });
        }
        reasons.extend(self.compared.iter().cloned());
        match &self.report {
            // A verdict that is BLOCKED is said by the receipt already.
            Some(report) => reasons.extend(
                judge_content(report)
                    .into_iter()
                    .filter(|reason| reason.code != Code::GateBlocked.as_str())
                    .map(|reason| reason.at(target)),
            ),
            None => {
                let found =
                    format!("the report of gate receipt #{} cannot be read, or says something else", target.index);
                let rule = "a release rests on the report that its gate receipt holds";
                let remedy = "restore the evidence from a copy of the ledger, or record the gate run anew";
                reasons.push(Reason::new(Code::NotReplayed, found, rule, remedy).at(target));
            }
        }
        if let Some(most) = now.rules().max_looks.filter(|most| self.looks > u64::from(*most)) {
            let found = format!("#{} is look {} at its held-out records", target.index, self.looks);
            let rule = format!("held-out records may be looked at {most} times (rule maxLooks)");
            let remedy = "gate on fresh held-out records";
            reasons.push(Reason::new(Code::GateLooksExceeded, found, rule, remedy).at(target));
        }
        reasons
    }

    /// What the reader should know of how far the replay goes, and of the rules that the run was held to.
    pub(super) fn notices(&self) -> impl Iterator<Item = String> {
        let held = self.held.notices.iter().map(|(index, text)| format!("#{index}: {text}"));
        held.chain(self.cautions.iter().cloned())
    }
}

/// The candidate that a report recommends.
pub(super) fn recommended(report: &Report) -> Option<&CandidateReport> {
    report.candidate(report.recommended.as_deref()?)
}

/// Limits that never fail and the like, and a profile that calls itself what another is called.
fn doubtful(ledger: &Ledger, receipt: &Receipt) -> Vec<String> {
    // A profile that cannot be read is a reason already.
    let Ok(profile) = gate_profile(ledger.store(), &receipt.statement().predicate) else { return Vec::new() };
    let name = format!("profile {} {}", profile.terms().name, profile.digest().short());
    let other = Profile::built_in(&profile.terms().name).is_ok_and(|known| known.digest() != profile.digest());
    let borrowed = other.then(|| format!("{name} is not the one that comes with proofmark under this name"));
    let said = |finding: &Finding| format!("{name}: {} ({}, {})", finding.sentence, finding.code, finding.field);
    borrowed.into_iter().chain(profile.findings().iter().map(said)).collect()
}

fn lost(one: ReceiptRef, why: &str) -> Reason {
    let found = format!("receipt #{} cannot be read: {why}", one.index);
    let rule = "everything that a release rests on is in the log";
    Reason::new(Code::LedgerUnsound, found, rule, "`proofmark verify` names what is damaged").at(one)
}

fn report(ledger: &Ledger, index: u64, receipt: &Receipt) -> Option<Report> {
    Some(GateRun::read(ledger.store(), index, receipt.clone()).ok()??.report().clone())
}

/// How many gate runs up to the target looked at the candidate's held-out records. One whose report cannot be read may
/// have, so it counts.
fn looks(ledger: &Ledger, audited: &Audited<'_>, target: ReceiptRef, candidate: &CandidateReport) -> u64 {
    let looked = |index: u64| {
        let receipt = audited.snapshot.receipt(index).ok();
        let report = receipt.and_then(|receipt| report(ledger, index, &receipt));
        report.is_none_or(|report| report.candidates.iter().any(|one| one.subjects == candidate.subjects))
    };
    let gates = audited.decisions.gates().iter().copied().filter(|index| *index <= target.index);
    gates.filter(|index| looked(*index)).count() as u64
}

/// That a comparison allows a loss, or what nobody knows: whoever made it chose that, and who waived it may have forgotten.
fn lenient(index: u64, receipt: &Receipt) -> Option<String> {
    let Body::Comparison(body) = &receipt.statement().predicate.body else { return None };
    body.is_lenient().then(|| format!("comparison #{index} of #{} says: {}", body.current.index, body.outcome()))
}

/// The rounds that are in no comparison: sign-offs take them in by themselves.
fn taken_in(all: &BTreeMap<u64, Receipt>) -> Vec<NumberedRound> {
    let compared = |receipt: &Receipt| match &receipt.statement().predicate.body {
        Body::Comparison(body) => vec![body.base.index, body.current.index],
        _ => Vec::new(),
    };
    let compared: BTreeSet<u64> = all.values().flat_map(compared).collect();
    let alone = all.iter().filter(|(index, _)| !compared.contains(index));
    let round = |(index, receipt): (&u64, &Receipt)| {
        NumberedRound::new(ReceiptRef { index: *index, receipt: receipt.id() }, *index, receipt.clone())
    };
    alone.filter_map(round).collect()
}

/// What such a round says beyond its receipt.
fn by_itself(ledger: &Ledger, round: &NumberedRound) -> Option<Reason> {
    let index = round.reference.index;
    let reason = match fails_what_must_pass(ledger.store(), round) {
        Ok(false) => return None,
        Ok(true) => {
            let found = format!("a question that must pass fails, or is not known to pass, in #{index}");
            let rule = "a question that must pass is never waived";
            Reason::new(Code::MustPassFailing, found, rule, "a round in which it passes")
        }
        Err(error) => {
            let found = format!("what passes in #{index} cannot be derived: {error}");
            let rule = "everything that a release rests on is derived again";
            Reason::new(Code::NotReplayed, found, rule, "restore the evidence of the round")
        }
    };
    Some(reason.at(round.reference))
}

/// What a comparison says beyond its receipt: a question that must pass and fails.
fn compared(ledger: &Ledger, index: u64, receipt: &Receipt, all: &BTreeMap<u64, Receipt>) -> Option<Reason> {
    let Body::Comparison(body) = &receipt.statement().predicate.body else { return None };
    let at = ReceiptRef { index, receipt: receipt.id() };
    let round =
        |reference: ReceiptRef| NumberedRound::new(reference, reference.index, all.get(&reference.index)?.clone());
    let unknown = |why: String| {
        let found = format!("what flipped in comparison #{index} cannot be derived: {why}");
        let rule = "everything that a release rests on is derived again";
        Some(Reason::new(Code::NotReplayed, found, rule, "restore the evidence of both rounds").at(at))
    };
    let (Some(base), Some(current)) = (round(body.base), round(body.current)) else {
        return unknown("one of its rounds is not there".to_owned());
    };
    let Ok(tolerance) = Tolerance::new(body.tolerance) else { return unknown("its tolerance is none".to_owned()) };
    match compare_rounds(ledger.store(), &base, &current, tolerance, None, None, &body.allow_unknown) {
        Ok(compared) if !compared.must_pass_failing() => None,
        Ok(_) => {
            let found = format!(
                "a question that must pass fails, or is not known to pass, in #{}, compared in #{index}",
                body.current.index
            );
            let rule = "a question that must pass is never waived";
            Some(Reason::new(Code::MustPassFailing, found, rule, "a round in which it passes").at(at))
        }
        Err(error) => unknown(error.to_string()),
    }
}
