//! Gate runs of a ledger: their reports read back, derived again from the predictions, and compared.

use std::io::Read;

use super::LedgerError;
use super::evidence::role;
use crate::calibrate::{CalibrateError, Predictions, Profile, ProfileError, Reading};
use crate::gate::{GateComparison, GateError, Report, Side, SubjectChanges, evaluate, subject_changes};
use crate::object::CanonicalError;
use crate::receipt::{Body, Evidence, GateBody, Predicate, Receipt};
use crate::scorecard::Tolerance;
use crate::store::{ObjectState, Store, StoreError, object_state, open_object, read_object};

/// Why the evidence of a gate run cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum GateEvidenceError {
    /// An object cannot be read, or is not what its id says.
    #[error("the evidence `{role}` cannot be read")]
    Store {
        /// Its role.
        role: &'static str,
        /// Why.
        #[source]
        source: StoreError,
    },
    /// An object that should be held is not there.
    #[error("the evidence `{role}` is said to be held and is missing")]
    Missing {
        /// Its role.
        role: &'static str,
    },
    /// Evidence that the ledger names and does not hold.
    #[error("the evidence `{role}` is not held")]
    Withheld {
        /// Its role.
        role: &'static str,
    },
    /// A role with no object, or with several where one belongs.
    #[error("the role `{role}` has {found} objects")]
    Count {
        /// The role.
        role: &'static str,
        /// How many there are.
        found: usize,
    },
    /// The profile cannot be used.
    #[error("the evidence `profile` is no task profile")]
    Profile(#[source] ProfileError),
    /// The predictions cannot be read.
    #[error("the evidence `predictions` cannot be read as such")]
    Predictions(#[source] CalibrateError),
    /// The predictions give no report.
    #[error("the evidence gives no report")]
    Gate(#[source] GateError),
    /// The report cannot be read or written.
    #[error("the evidence `report` is no gate report")]
    Report(#[source] CanonicalError),
    /// The report is not what the receipt states.
    #[error("the evidence `report` does not say what the receipt states")]
    Stated,
    /// The receipt's coverage floor is not between 0 and 1.
    #[error("the receipt's coverage floor {found} is not between 0 and 1")]
    Floor {
        /// What it says.
        found: f64,
    },
}

/// Computes the report of a gate run again: predictions, profile and coverage floor are all that it rests on. What the
/// receipt and its `report` say is not looked at; whoever asks compares.
pub fn replay_gate(store: &dyn Store, predicate: &Predicate, body: &GateBody) -> Result<Report, GateEvidenceError> {
    let predictions = read_predictions(store, predicate)?;
    let found = body.min_coverage;
    let floor = found.to_string().parse().map_err(|_| GateEvidenceError::Floor { found })?;
    evaluate(&predictions, Some(&floor)).map_err(GateEvidenceError::Gate)
}

/// The task profile that a gate run was held to.
pub fn gate_profile(store: &dyn Store, predicate: &Predicate) -> Result<Profile, GateEvidenceError> {
    Profile::parse(&single(store, predicate, role::PROFILE)?).map_err(GateEvidenceError::Profile)
}

fn read_predictions(store: &dyn Store, predicate: &Predicate) -> Result<Predictions, GateEvidenceError> {
    let profile = gate_profile(store, predicate)?;
    let role = role::PREDICTIONS;
    if predicate.evidence_of(role).next().is_none() {
        return Err(GateEvidenceError::Count { role, found: 0 });
    }
    let mut reading = Reading::new(&profile);
    for evidence in predicate.evidence_of(role) {
        let content = open(store, evidence, role)?;
        let name = format!("{role} {}", evidence.blake3.short());
        // Damage comes first: what a damaged object says is nobody's word.
        reading = match reading.read(&name, content) {
            Ok(reading) => reading,
            Err(error) => return Err(damaged(store, evidence)?.unwrap_or(GateEvidenceError::Predictions(error))),
        };
    }
    let predictions = match reading.finish() {
        Ok(predictions) => predictions,
        Err(error) => {
            for evidence in predicate.evidence_of(role) {
                if let Some(damaged) = damaged(store, evidence)? {
                    return Err(damaged);
                }
            }
            return Err(GateEvidenceError::Predictions(error));
        }
    };
    for (read, named) in predictions.inputs().iter().zip(predicate.evidence_of(role)) {
        if (read.blake3, read.size) != (named.blake3, named.size) {
            let source = StoreError::Damaged { name: named.blake3.to_string() };
            return Err(GateEvidenceError::Store { role, source });
        }
    }
    Ok(predictions)
}

fn damaged(store: &dyn Store, evidence: &Evidence) -> Result<Option<GateEvidenceError>, GateEvidenceError> {
    let role = role::PREDICTIONS;
    let state = object_state(store, &evidence.blake3, evidence.size);
    Ok(match state.map_err(|source| GateEvidenceError::Store { role, source })? {
        ObjectState::Intact => None,
        ObjectState::Absent => Some(GateEvidenceError::Missing { role }),
        ObjectState::Damaged => {
            let source = StoreError::Damaged { name: evidence.blake3.to_string() };
            Some(GateEvidenceError::Store { role, source })
        }
    })
}

fn open(store: &dyn Store, evidence: &Evidence, role: &'static str) -> Result<Box<dyn Read + Send>, GateEvidenceError> {
    if !evidence.held {
        return Err(GateEvidenceError::Withheld { role });
    }
    let content = open_object(store, &evidence.blake3, evidence.size);
    content.map_err(|source| GateEvidenceError::Store { role, source })?.ok_or(GateEvidenceError::Missing { role })
}

/// The bytes of the one object of a role.
fn single(store: &dyn Store, predicate: &Predicate, role: &'static str) -> Result<Vec<u8>, GateEvidenceError> {
    let all: Vec<_> = predicate.evidence_of(role).collect();
    let [evidence] = all.as_slice() else { return Err(GateEvidenceError::Count { role, found: all.len() }) };
    if !evidence.held {
        return Err(GateEvidenceError::Withheld { role });
    }
    let bytes = read_object(store, &evidence.blake3, evidence.size);
    bytes.map_err(|source| GateEvidenceError::Store { role, source })?.ok_or(GateEvidenceError::Missing { role })
}

/// A gate receipt with its report.
#[derive(Debug)]
pub struct GateRun {
    index: u64,
    receipt: Receipt,
    report: Report,
}

impl GateRun {
    /// `receipt` as a gate run with the report that it was recorded with, which must say what the receipt states; `None`
    /// if it is of another kind.
    pub fn read(store: &dyn Store, index: u64, receipt: Receipt) -> Result<Option<Self>, LedgerError> {
        let predicate = &receipt.statement().predicate;
        let Body::Gate(body) = &predicate.body else { return Ok(None) };
        let report = recorded(store, predicate, body);
        let report = report.map_err(|source| LedgerError::GateEvidence { index, source: Box::new(source) })?;
        Ok(Some(Self { index, receipt, report }))
    }

    /// What it found.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// The receipt.
    pub fn receipt(&self) -> &Receipt {
        &self.receipt
    }

    fn side(&self) -> Side<'_> {
        Side { name: format!("#{}", self.index), receipt: Some(self.receipt.id().to_string()), report: &self.report }
    }
}

fn recorded(store: &dyn Store, predicate: &Predicate, body: &GateBody) -> Result<Report, GateEvidenceError> {
    let report = Report::parse(&single(store, predicate, role::REPORT)?).map_err(GateEvidenceError::Report)?;
    if GateBody::of(&report) == *body { Ok(report) } else { Err(GateEvidenceError::Stated) }
}

/// Compares two gate runs. Where they were not asked the same and both predictions are held, says what changed.
pub fn compare_gates(store: &dyn Store, base: &GateRun, current: &GateRun, tolerance: Tolerance) -> GateComparison {
    let mut read = None;
    GateComparison::of(base.side(), current.side(), tolerance, |old, new| {
        let of = |run: &GateRun| read_predictions(store, &run.receipt.statement().predicate).ok();
        let (before, after) = read.get_or_insert_with(|| (of(base), of(current)));
        changes(before.as_ref()?, old, after.as_ref()?, new)
    })
}

fn changes(before: &Predictions, old: &str, after: &Predictions, new: &str) -> Option<SubjectChanges> {
    let (before, after) = (before.candidates().ok()?, after.candidates().ok()?);
    let old = before.iter().find(|candidate| candidate.model() == old)?;
    let new = after.iter().find(|candidate| candidate.model() == new)?;
    Some(subject_changes(old, new))
}
