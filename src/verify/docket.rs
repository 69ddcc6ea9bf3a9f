//! Where an audit collects what it finds and counts.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::{Axis, Code, Finding, Notice, NoticeCode};
use super::released::Looked;
use super::report::{AxisReport, Status};

/// The most findings, or notices, of one code that are listed; all are counted. It bounds the report on a hostile ledger.
pub const MOST_LISTED: u64 = 200;

#[derive(Debug, Default)]
struct Tally {
    counts: BTreeMap<&'static str, u64>,
    not_checked: Option<String>,
}

/// Findings, notices and counts of one audit.
#[derive(Debug, Default)]
pub(super) struct Docket {
    findings: Vec<Finding>,
    found: BTreeMap<Code, u64>,
    notices: Vec<Notice>,
    noticed: BTreeMap<NoticeCode, u64>,
    axes: BTreeMap<Axis, Tally>,
    /// Receipts whose evidence is not what it must be, or does not give what they claim.
    unproven: BTreeSet<u64>,
    /// What every gate run that could be replayed looked at.
    looked: BTreeMap<u64, Looked>,
}

impl Docket {
    /// Records a finding.
    pub(super) fn find(&mut self, finding: Finding) {
        if matches!(finding.axis, Axis::Evidence | Axis::Replay) {
            self.unproven.extend(finding.index);
        }
        let count = self.found.entry(finding.code).or_default();
        *count += 1;
        if *count <= MOST_LISTED {
            self.findings.push(finding);
        }
    }

    /// Records many.
    pub(super) fn find_all(&mut self, findings: impl IntoIterator<Item = Finding>) {
        findings.into_iter().for_each(|finding| self.find(finding));
    }

    /// Records a notice.
    pub(super) fn notice(
        &mut self,
        code: NoticeCode,
        index: Option<u64>,
        file: Option<String>,
        text: impl Into<String>,
    ) {
        let count = self.noticed.entry(code).or_default();
        *count += 1;
        if *count <= MOST_LISTED {
            self.notices.push(Notice { code, index, file, text: text.into() });
        }
    }

    /// Counts something that was looked at.
    pub(super) fn count(&mut self, axis: Axis, what: &'static str, count: u64) {
        *self.axes.entry(axis).or_default().counts.entry(what).or_default() += count;
    }

    /// Says that an axis, or what matters of it, was not checked. The first reason stands.
    pub(super) fn not_checked(&mut self, axis: Axis, reason: impl Into<String>) {
        self.axes.entry(axis).or_default().not_checked.get_or_insert_with(|| reason.into());
    }

    /// Says that a receipt's claims could not be derived again.
    pub(super) fn unproven(&mut self, index: u64) {
        self.unproven.insert(index);
    }

    /// Records what a gate run looked at.
    pub(super) fn looked(&mut self, index: u64, looked: Looked) {
        self.looked.insert(index, looked);
    }

    /// How many gate runs up to this one are known to have looked at the held-out records of its candidate.
    pub(super) fn looks(&self, index: u64) -> u64 {
        let Some(subjects) = self.looked.get(&index).and_then(|looked| looked.recommended) else { return 0 };
        self.looked.range(..=index).filter(|(_, looked)| looked.all.contains(&subjects)).count() as u64
    }

    /// Whether a receipt's evidence failed it in any way, so far.
    pub(super) fn is_unproven(&self, index: u64) -> bool {
        self.unproven.contains(&index)
    }

    /// Whether nothing was found.
    pub(super) fn is_clean(&self) -> bool {
        self.found.is_empty()
    }

    /// Whether a code has findings.
    pub(super) fn has(&self, code: Code) -> bool {
        self.found.contains_key(&code)
    }

    /// Whether a code has notices.
    pub(super) fn noticed(&self, code: NoticeCode) -> bool {
        self.noticed.contains_key(&code)
    }

    /// Whether an axis has no finding and nothing of it was left out, so far.
    pub(super) fn passes(&self, axis: Axis) -> bool {
        let left_out = self.axes.get(&axis).is_some_and(|tally| tally.not_checked.is_some());
        !left_out && !self.found.keys().any(|code| code.axis() == axis)
    }

    /// Axes, findings (by axis and index) and their number, notices and their number.
    pub(super) fn close(mut self) -> Closed {
        self.findings.sort_by_key(|finding| (finding.axis, finding.index, finding.code));
        self.notices.sort_by(|one, two| (one.code, one.index, &one.file).cmp(&(two.code, two.index, &two.file)));
        let mut axes: Vec<_> = Vec::with_capacity(Axis::ALL.len());
        for axis in Axis::ALL {
            let tally = self.axes.remove(&axis).unwrap_or_default();
            let findings = self.found.iter().filter(|(code, _)| code.axis() == axis).map(|(_, count)| count).sum();
            let status = match (findings, &tally.not_checked) {
                (1.., _) => Status::Fail,
                (0, Some(_)) => Status::NotChecked,
                (0, None) => Status::Pass,
            };
            let counts = tally.counts.into_iter().filter(|(_, count)| *count > 0).collect();
            axes.push(AxisReport { axis, status, findings, counts, reason: tally.not_checked });
        }
        Closed {
            axes,
            finding_count: self.found.values().sum(),
            findings: self.findings,
            notice_count: self.noticed.values().sum(),
            notices: self.notices,
        }
    }
}

/// A docket that nothing more is added to.
pub(super) struct Closed {
    pub(super) axes: Vec<AxisReport>,
    pub(super) findings: Vec<Finding>,
    pub(super) finding_count: u64,
    pub(super) notices: Vec<Notice>,
    pub(super) notice_count: u64,
}
