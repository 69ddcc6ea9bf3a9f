//! What only evidence says of a recorded release: questions that must pass, and looks at held-out records.

use super::VerifyError;
use super::replay::Replayer;
use crate::gate::Report;
use crate::ledger::{LedgerError, NumberedRound, compare_rounds};
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
    /// Some comparison cannot be made again.
    pub(super) unknown: bool,
}

/// Makes every comparison again that a recorded AUTHORIZED rests on.
pub(super) fn must_pass_failing(replayer: &Replayer<'_>, body: &Authorization) -> Result<Failing, VerifyError> {
    let mut failing = Failing::default();
    let rests_on = if body.decision == Release::Authorized { body.rests_on.as_slice() } else { &[] };
    for one in rests_on {
        // A reference that is broken is a finding of the structure.
        let Some(receipt) = replayer.receipt(*one)? else { continue };
        let Body::Comparison(compared) = &receipt.statement().predicate.body else { continue };
        let (Some(base), Some(current)) = (round(replayer, compared.base)?, round(replayer, compared.current)?) else {
            continue;
        };
        let Ok(tolerance) = Tolerance::new(compared.tolerance) else { continue };
        match compare_rounds(replayer.store, &base, &current, tolerance, None, None, &compared.allow_unknown) {
            Ok(again) if again.must_pass_failing() => {
                failing.found.push(format!("one fails in #{}, compared in #{}", compared.current.index, one.index));
            }
            Ok(_) => {}
            Err(LedgerError::Store(source @ StoreError::Io { .. })) => return Err(VerifyError::Store(source)),
            Err(_) => failing.unknown = true,
        }
    }
    Ok(failing)
}

fn round(replayer: &Replayer<'_>, reference: ReceiptRef) -> Result<Option<NumberedRound>, VerifyError> {
    let receipt = replayer.receipt(reference)?;
    Ok(receipt.and_then(|receipt| NumberedRound::new(reference, reference.index, receipt)))
}
