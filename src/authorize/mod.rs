//! The one release decision: what the log says (`release`), and what only the ledger's files can say, together.
//!
//! The whole ledger is audited, and the evidence of everything that the decision rests on is read and replayed. Whatever
//! cannot be read, known or proven is a reason against the release, never passed over; there is no default.

mod document;
mod evidence;
mod ledger;

pub use document::{Basis, Document, LedgerNamed, SignoffShown, Time, WaiverShown};

use crate::gate::Report;
use crate::ledger::{Ledger, LedgerError, Ratchet};
use crate::object::ObjectId;
use crate::receipt::{Moment, ReceiptRef};
use crate::release::{Code, Decisions, Reason, judge, judge_content};
use crate::store::StoreError;
use crate::trust::Statement;
use crate::verify::VerifyError;

use document::Parts;
use evidence::Evidence;
use ledger::Audited;

/// Why there is no decision. Nothing is released then either.
#[derive(Debug, thiserror::Error)]
pub enum AuthorizeError {
    /// The ledger cannot be opened or read.
    #[error("the ledger cannot be judged")]
    Ledger(#[from] LedgerError),
    /// The audit could not run.
    #[error("the ledger cannot be audited")]
    Verify(#[from] VerifyError),
    /// The receipt that was named is no gate run.
    #[error("receipt {index} is a {kind}, and only a gate run can be released")]
    NotAGate {
        /// Its index.
        index: u64,
        /// Its kind.
        kind: &'static str,
    },
    /// The receipt that was named is not in the log.
    #[error("there is no receipt {index} in this log: it has {size}")]
    NoSuchReceipt {
        /// Its index.
        index: u64,
        /// How many there are.
        size: u64,
    },
}

impl AuthorizeError {
    /// Whether this machine failed, rather than the ledger.
    pub fn is_of_this_machine(&self) -> bool {
        matches!(
            self,
            Self::Ledger(LedgerError::Store(StoreError::Io { .. }))
                | Self::Verify(VerifyError::Store(StoreError::Io { .. }))
        )
    }
}

/// What is to be released.
#[derive(Debug, Clone)]
pub enum Wanted {
    /// The newest gate receipt.
    Newest,
    /// The gate receipt at an index.
    Receipt(u64),
    /// A report: the newest gate receipt that holds these bytes, else the report by itself.
    Report {
        /// The report.
        report: Box<Report>,
        /// The digest of its bytes.
        digest: ObjectId,
    },
}

/// The moment that expiries are held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// The clock's now, or the newest moment in the log where that is later: a clock that was set back goes back no further.
    Clock(Moment),
    /// The same of what a variable says in the place of the clock, for tests.
    Variable(Moment),
    /// As given.
    Given(Moment),
}

impl When {
    /// The moment, whatever the log says.
    pub fn now(self) -> Moment {
        match self {
            Self::Clock(now) | Self::Variable(now) | Self::Given(now) => now,
        }
    }
}

/// What is asked.
#[derive(Debug, Clone)]
pub struct Request {
    /// What is to be released.
    pub wanted: Wanted,
    /// When.
    pub when: When,
    /// The fewest receipts that the log must have.
    pub min_size: Option<u64>,
    /// A signed checkpoint that the log must extend, with the name of its file.
    pub extends: Option<(String, Vec<u8>)>,
}

/// A decision, and what was read to make it.
#[derive(Debug)]
pub struct Decided {
    /// The decision.
    pub document: Document,
    /// What the log says, as far as it can be read.
    pub decisions: Decisions,
    /// The trust statement in force at its end; `None` where receipt 0 cannot be used.
    pub now: Option<Statement>,
}

/// Decides. `progress` is told how many receipts are done, of how many.
///
/// What the decision saw is remembered in the ratchet where the log is sound, so that an older one is not believed later.
///
/// # Errors
/// [`AuthorizeError`], among it [`LedgerError::Fork`] where the log shrank or forked against what this machine saw.
pub fn authorize(
    ledger: &Ledger,
    ratchet: &Ratchet,
    request: &Request,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Document, AuthorizeError> {
    Ok(decide(ledger, ratchet, request, progress)?.document)
}

/// The same, with what was read: whoever shows more than the decision shows the log that was judged.
///
/// # Errors
/// As [`authorize`].
pub fn decide(
    ledger: &Ledger,
    ratchet: &Ratchet,
    request: &Request,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Decided, AuthorizeError> {
    let audited = Audited::read(ledger, ratchet, progress)?;
    let decisions = &audited.decisions;
    let at = moment(request.when, decisions);
    let mut reasons = audited.reasons(ledger, request);
    let target = target(decisions, audited.snapshot.size(), &request.wanted)?;
    let log = ledger.log();
    let mut parts = Parts::new(&audited, log.genesis, log.origin(), request.when, at);
    match (target, &audited.now) {
        (Some(target), Some(now)) => {
            let judged = judge(decisions, now, target, at);
            let evidence = Evidence::read(ledger, &audited, target, &judged)?;
            reasons.extend(evidence.reasons(now, decisions, target));
            reasons.extend(judged.reasons.iter().cloned());
            parts.receipt(decisions, target, judged, &evidence);
            parts.cautions.extend(newer(decisions, target));
        }
        (None, _) => match &request.wanted {
            Wanted::Report { report, .. } => {
                reasons.push(bare());
                reasons.extend(judge_content(report));
                parts.bare(report);
            }
            _ => reasons.push(no_report()),
        },
        // Without receipt 0 nobody may say anything: `ledger-unsound` is among the reasons.
        (Some(_), None) => {}
    }
    let document = parts.close(reasons);
    if audited.is_sound() {
        ratchet.remember(ledger.log(), audited.snapshot.note())?;
    }
    Ok(Decided { document, decisions: audited.decisions, now: audited.now })
}

/// Judges a report where there is no ledger at all. It is never authorized: nobody signed anything.
pub fn judge_bare(report: &Report, when: When) -> Document {
    let at = when.now();
    let mut parts = Parts::without_ledger(when, at);
    parts.bare(report);
    parts.close([bare()].into_iter().chain(judge_content(report)).collect())
}

fn moment(when: When, decisions: &Decisions) -> Moment {
    match when {
        When::Given(at) => at,
        When::Clock(now) | When::Variable(now) => decisions.newest().map_or(now, |newest| newest.max(now)),
    }
}

fn target(decisions: &Decisions, size: u64, wanted: &Wanted) -> Result<Option<ReceiptRef>, AuthorizeError> {
    let gates = decisions.gates().iter().rev().copied();
    let index = match wanted {
        Wanted::Newest => gates.into_iter().next(),
        Wanted::Receipt(index) => {
            let index = *index;
            let noted = decisions.at(index).ok_or(AuthorizeError::NoSuchReceipt { index, size })?;
            if !decisions.gates().contains(&index) {
                return Err(AuthorizeError::NotAGate { index, kind: noted.kind().as_str() });
            }
            Some(index)
        }
        Wanted::Report { digest, .. } => {
            gates.into_iter().find(|index| decisions.gate(*index).is_some_and(|gate| gate.reports.contains(digest)))
        }
    };
    Ok(index.and_then(|index| decisions.reference(index)))
}

fn bare() -> Reason {
    Reason::new(
        Code::BareReport,
        "no receipt of a ledger holds this report: nobody signed it, nothing was replayed, nobody signed it off",
        "a release needs a gate receipt with its predictions, and sign-offs on it",
        "`proofmark gate --record` with the predictions, then `proofmark signoff`",
    )
}

fn no_report() -> Reason {
    Reason::new(
        Code::NoReport,
        "the ledger has no gate receipt",
        "a missing report is a block, never a default",
        "`proofmark gate --predictions FILE --record`",
    )
}

/// What a reader should know of other gate runs: they decide nothing, and are easily overlooked.
fn newer(decisions: &Decisions, target: ReceiptRef) -> Vec<String> {
    let mut cautions = Vec::new();
    let later: Vec<_> = decisions.gates().iter().filter(|index| **index > target.index).collect();
    if let Some(newest) = later.last() {
        cautions.push(format!("#{} is not the newest gate run: #{newest} is", target.index));
    }
    let Some(gate) = decisions.gate(target.index) else { return cautions };
    let same = decisions.gates().iter().filter(|index| **index != target.index);
    let same = same.filter(|index| decisions.gate(**index).is_some_and(|other| other.reports == gate.reports));
    for index in same {
        let says = decisions.signoffs(*index).any(|(_, _, note)| note.decision == crate::receipt::Decision::NoGo);
        if says || decisions.withdrawn(*index).is_some() {
            let what = if says { "somebody said NO-GO to it" } else { "it was withdrawn" };
            cautions.push(format!("#{index} holds the same report, and {what}"));
        }
    }
    cautions
}
