//! The report of an audit: the `verify.v1` document.

use std::collections::BTreeMap;

use serde::Serialize;

use super::about::About;
use super::docket::Closed;
use super::finding::{Axis, Finding, Notice};
use crate::object::{ReceiptId, Sha256};
use crate::receipt::LineName;

/// What an axis came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Status {
    /// Everything that it covers was checked and is right.
    #[serde(rename = "PASS")]
    Pass,
    /// Something is wrong.
    #[serde(rename = "FAIL")]
    Fail,
    /// It was not checked, or not in what matters.
    #[serde(rename = "NOT CHECKED")]
    NotChecked,
}

impl Status {
    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
            Self::NotChecked => "NOT CHECKED",
        }
    }
}

/// One axis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AxisReport {
    /// Which.
    pub axis: Axis,
    /// What it came to.
    pub status: Status,
    /// How many findings it has.
    pub findings: u64,
    /// What was looked at, and how much of it.
    pub counts: BTreeMap<&'static str, u64>,
    /// What was not checked, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Which ledger was looked at, as far as that could be read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LedgerIdentity {
    /// Receipt 0's id: what an auditor pins.
    pub genesis: Option<ReceiptId>,
    /// The log's name, as receipt 0 states it.
    pub origin: Option<String>,
    /// The log's key, as a C2SP verifier key.
    pub log_key: Option<String>,
    /// How many receipts the checkpoint counts.
    pub size: Option<u64>,
    /// The checkpoint's root.
    pub root: Option<Sha256>,
}

/// One line and how many rounds it has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LineRounds {
    /// The line.
    pub line: LineName,
    /// Its rounds.
    pub rounds: u64,
}

/// Everything that an audit says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    schema: &'static str,
    /// Which ledger.
    pub ledger: LedgerIdentity,
    /// The one receipt that was asked for, with what it rests on; absent where the whole ledger was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only: Option<u64>,
    /// Of a dossier and of one receipt that was asked for: the subject, and what was decided about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<About>,
    /// The axes, in the order of [`Axis::ALL`].
    pub axes: Vec<AxisReport>,
    /// The lines, by name.
    pub lines: Vec<LineRounds>,
    /// What is wrong, by axis and index; at most [`super::MOST_LISTED`] of each code.
    pub findings: Vec<Finding>,
    /// How many findings there are, with those not listed.
    pub finding_count: u64,
    /// What the reader should know; at most [`super::MOST_LISTED`] of each code.
    pub notices: Vec<Notice>,
    /// How many notices there are, with those not listed.
    pub notice_count: u64,
    /// What no verification of a ledger proves.
    pub not_proven: &'static [&'static str],
}

/// What no verification of a ledger proves.
pub const NOT_PROVEN: &[&str] = &[
    "When anything happened: times are the recorder's own word.",
    "That the systems really gave the recorded answers, or that these were their only answers.",
    "That the questions measure what matters, or that a scorer's judgement is right beyond its documented rule.",
    "Anything about evaluations that were never appended.",
    "That the log is the only one, or the newest: without witnesses, whoever holds its key can sign another for others, \
     and a whole older copy looks like a ledger that has not grown since.",
    "Who the persons are: names are as good as the way in which the genesis digest reached you.",
];

impl Report {
    pub(super) fn new(ledger: LedgerIdentity, only: Option<u64>, lines: Vec<LineRounds>, closed: Closed) -> Self {
        let Closed { axes, findings, finding_count, notices, notice_count } = closed;
        Self {
            schema: "verify.v1",
            ledger,
            only,
            about: None,
            axes,
            lines,
            findings,
            finding_count,
            notices,
            notice_count,
            not_proven: NOT_PROVEN,
        }
    }

    /// Whether nothing was found.
    pub fn is_clean(&self) -> bool {
        self.finding_count == 0
    }

    /// One axis.
    pub fn axis(&self, axis: Axis) -> Option<&AxisReport> {
        self.axes.iter().find(|report| report.axis == axis)
    }
}
