//! The release gate: GO when at least one candidate keeps every gate of its task profile on held-out test, at a threshold
//! that was chosen on validation. Whatever keeps it from being GO is named.

mod compare;
mod evaluate;
mod report;
mod text;

pub use compare::{
    CandidateComparison, ClassComparison, ComparedRun, GateComparison, GateDifference, MetricComparison, Side,
    SubjectChanges, Two, subject_changes,
};
pub use evaluate::{GateError, evaluate};
pub use report::{
    Abstentions, BinReport, CandidateReport, ClassReport, GateReport, ProfileName, Report, SCHEMA, Scores, TestScores,
    Verdict,
};
