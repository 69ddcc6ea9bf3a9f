//! What only evidence says of a recorded release: questions that must pass, and looks at held-out records.

use std::collections::BTreeSet;

use super::VerifyError;
use super::replay::Replayer;
use crate::gate::Report;
use crate::ledger::{LedgerError, NumberedRound, compare_rounds, fails_what_must_pass};
use crate::object::ObjectId;
use crate::receipt::{Authorization, Body, ReceiptRef, Release};
use crate::scorecard::Tolerance;
use crate::store::StoreError;

/// At which held-out records a gate run looked.
#[derive(Debug)]
pub(super) struct Looked {
    /// Those of the candidate that it recommends.
    pub(super) recommended: Option<ObjectId>,
    /// Those of every candidate.
    pub(super) all: Vec<ObjectId>,
}

impl Looked {
    pub(super) fn of(report: &Report) -> Self {
        let recommended = report.recommended.as_deref().and_then(|name| report.candidate(name));
        Self {
            recommended: recommended.map(|candidate| candidate.subjects),
            all: report.candidates.iter().map(|candidate| candidate.subjects).collect(),
        }
    }
}

/// Questions that must pass, in what a recorded AUTHORIZED rests on.
#[derive(Debug, Default)]
pub(super) struct Failing {
    /// Where one fails, in words.
    pub(super) found: Vec<String>,
    /// Some comparison or round cannot be made again.
    pub(super) unknown: bool,
}

impl Failing {
    fn take(&mut self, fails: Result<bool, LedgerError>, text: impl FnOnce() -> String) -> Result<(), VerifyError> {
        match fails {
            Ok(true) => self.found.push(text()),
            Ok(false) => {}
            Err(LedgerError::Store(source @ StoreError::Io { .. })) => return Err(VerifyError::Store(source)),
            Err(_) => self.unknown = true,
        }
        Ok(())
    }
}

/// Makes every comparison and round again that a recorded AUTHORIZED rests on.
pub(super) fn must_pass_failing(replayer: &Replayer<'_>, body: &Authorization) -> Result<Failing, VerifyError> {
    let mut failing = Failing::default();
    let rests_on = if body.decision == Release::Authorized { body.rests_on.as_slice() } else { &[] };
    let mut compared = BTreeSet::new();
    let mut alone = Vec::new();
    for one in rests_on {
        // A reference that is broken is a finding of the structure.
        let Some(receipt) = replayer.receipt(*one)? else { continue };
        let Body::Comparison(body) = &receipt.statement().predicate.body else {
            alone.extend(NumberedRound::new(*one, one.index, receipt));
            continue;
        };
        compared.extend([body.base, body.current].map(|round| round.index));
        let (Some(base), Some(current)) = (round(replayer, body.base)?, round(replayer, body.current)?) else {
            continue;
        };
        let Ok(tolerance) = Tolerance::new(body.tolerance) else { continue };
        let again = compare_rounds(replayer.store, &base, &current, tolerance, None, None, &body.allow_unknown);
        let text = || format!("one fails in #{}, compared in #{}", body.current.index, one.index);
        failing.take(again.map(|again| again.must_pass_failing()), text)?;
    }
    // Rounds that are in no comparison: sign-offs took them in by themselves.
    for round in alone.iter().filter(|round| !compared.contains(&round.reference.index)) {
        let text = || format!("one fails in #{}", round.reference.index);
        failing.take(fails_what_must_pass(replayer.store, round), text)?;
    }
    Ok(failing)
}

fn round(replayer: &Replayer<'_>, reference: ReceiptRef) -> Result<Option<NumberedRound>, VerifyError> {
    let receipt = replayer.receipt(reference)?;
    Ok(receipt.and_then(|receipt| NumberedRound::new(reference, reference.index, receipt)))
}
