//! Whether the ledger as a whole can carry a decision: audited, at one checkpoint, not older than what was seen.

use super::{AuthorizeError, Request};
use crate::ledger::{Ledger, LedgerError, Ratchet, Snapshot};
use crate::object::Sha256;
use crate::release::{Code, Decisions, Reason};
use crate::trust::Statement;
use crate::verify::{Axis, Finding, LedgerIdentity, NoticeCode, Options, Report, Status, examine};

/// How often a ledger that changes is read again before that blocks.
const ATTEMPTS: usize = 4;

/// Findings that are named one by one.
const MOST_NAMED: usize = 20;

/// The axes of which nothing anywhere may be wrong or unchecked: a decision depends on the whole log.
const WHOLE: [Axis; 4] = [Axis::Structure, Axis::Log, Axis::Signatures, Axis::TrustThen];

/// One audit of the whole ledger, and what the ratchet says of the same checkpoint.
pub(super) struct Audited<'a> {
    /// The checkpoint that was judged.
    pub(super) snapshot: Snapshot<'a>,
    pub(super) report: Report,
    pub(super) decisions: Decisions,
    /// The trust statement in force at the end; `None` where receipt 0 cannot be used.
    pub(super) now: Option<Statement>,
    /// The ledger changed under every attempt.
    changing: bool,
    /// What could not be held against what this machine saw.
    unseen: Option<String>,
}

impl<'a> Audited<'a> {
    /// Audits until checkpoint, ratchet and audit are about the same log.
    pub(super) fn read(
        ledger: &'a Ledger,
        ratchet: &Ratchet,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Self, AuthorizeError> {
        let mut attempt = 1;
        loop {
            // What was seen is read first: a log that grows in between is no rollback.
            let seen = ratchet.seen(ledger.log())?;
            let snapshot = ledger.snapshot()?;
            let unseen = match ratchet.check(ledger.log(), seen.as_deref(), &snapshot) {
                Ok(()) => None,
                Err(
                    error @ (LedgerError::Fork(_) | LedgerError::Ratchet { .. } | LedgerError::RatchetDamaged { .. }),
                ) => {
                    return Err(error.into());
                }
                Err(error) => Some(error.to_string()),
            };
            let options = Options { only: None, replay: false, pin: Some(ledger.log().genesis) };
            let examined = examine(ledger.store(), &options, progress)?;
            let LedgerIdentity { size, root, .. } = examined.report.ledger;
            let same = size == Some(snapshot.size()) && root == Some(snapshot.checkpoint().root());
            let settled = same && !noticed(&examined.report, NoticeCode::CommitPending);
            if settled || attempt >= ATTEMPTS {
                return Ok(Self {
                    snapshot,
                    report: examined.report,
                    decisions: examined.decisions,
                    now: examined.now,
                    changing: !same,
                    unseen,
                });
            }
            attempt += 1;
        }
    }

    /// Whether nothing about the log as a whole speaks against a decision.
    pub(super) fn is_sound(&self) -> bool {
        let whole = self.report.axes.iter().filter(|axis| WHOLE.contains(&axis.axis));
        !self.changing
            && self.unseen.is_none()
            && whole.clone().count() == WHOLE.len()
            && whole.into_iter().all(|axis| axis.status == Status::Pass)
            && self.report.axis(Axis::Pin).is_some_and(|axis| axis.status == Status::Pass)
            && self.now.is_some()
    }

    /// Every reason that is about the log as a whole.
    pub(super) fn reasons(&self, ledger: &Ledger, request: &Request) -> Vec<Reason> {
        let mut reasons = Vec::new();
        if !self.is_sound() {
            reasons.extend(self.unsound());
        }
        if self.changing {
            let found = "the ledger kept changing while it was read";
            let rule = "a decision is about one checkpoint";
            reasons.push(Reason::new(Code::LedgerChanging, found, rule, "ask again when the writers are done"));
        }
        if noticed(&self.report, NoticeCode::CommitPending) {
            let found = "a writer has begun a commit that is not published: it may hold a NO-GO or a withdrawal";
            let rule = "a decision is about everything that was committed";
            let remedy = "ask again; if the writer died, the next append finishes the commit";
            reasons.push(Reason::new(Code::CommitPending, found, rule, remedy));
        }
        if let Some(least) = request.min_size.filter(|least| self.snapshot.size() < *least) {
            let found = format!("the log has {} receipts", self.snapshot.size());
            let rule = format!("at least {least} were asked for (--min-size)");
            reasons.push(Reason::new(Code::TooOld, found, rule, "get the newest copy of the ledger"));
        }
        if let Some((name, note)) = &request.extends {
            reasons.extend(self.extends(ledger, name, note));
        }
        reasons
    }

    fn unsound(&self) -> Vec<Reason> {
        let rule =
            "a decision depends on the whole log: structure, log, signatures and trust of all of it must be sound";
        let of_log = |finding: &&Finding| WHOLE.contains(&finding.axis) || finding.axis == Axis::Pin;
        let findings: Vec<_> = self.report.findings.iter().filter(of_log).collect();
        let mut reasons: Vec<_> = findings
            .iter()
            .take(MOST_NAMED)
            .map(|finding| {
                let found = format!("{}: expected {}; found {}", finding.code, finding.expected, finding.found);
                let reason = Reason::new(Code::LedgerUnsound, found, rule, finding.next);
                Reason { index: finding.index, receipt: finding.receipt, ..reason }
            })
            .collect();
        let more = findings.len().saturating_sub(MOST_NAMED);
        if more > 0 {
            let found = format!("and {more} more findings");
            reasons.push(Reason::new(Code::LedgerUnsound, found, rule, "`proofmark verify` lists them"));
        }
        if let Some(unseen) = &self.unseen {
            let found = format!("the log cannot be held against what this machine saw of it: {unseen}");
            reasons.push(Reason::new(Code::LedgerUnsound, found, rule, "`proofmark verify` names what is damaged"));
        }
        for axis in
            self.report.axes.iter().filter(|axis| WHOLE.contains(&axis.axis) && axis.status == Status::NotChecked)
        {
            let why = axis.reason.as_deref().unwrap_or("it was not checked");
            let found = format!("{} was not checked: {why}", axis.axis.title());
            reasons.push(Reason::new(Code::LedgerUnsound, found, rule, "`proofmark verify` names what is damaged"));
        }
        if reasons.is_empty() {
            let found = "trust or soundness of the log is not known";
            reasons.push(Reason::new(Code::LedgerUnsound, found, rule, "`proofmark verify` names what is damaged"));
        }
        reasons
    }

    fn root_at(&self, size: u64) -> Result<Sha256, LedgerError> {
        if size == self.snapshot.size() {
            return Ok(self.snapshot.checkpoint().root());
        }
        self.snapshot.tiles()?.root_at(size)
    }

    /// The log must be the one of a checkpoint that the caller trusts, grown or not.
    fn extends(&self, ledger: &Ledger, name: &str, note: &[u8]) -> Option<Reason> {
        let rule = format!("the log must extend the checkpoint in {name} (--checkpoint)");
        let remedy = "keep both checkpoints: if both are signed by the log's key, the log was forked";
        let other = |found: String| Some(Reason::new(Code::NotAnExtension, found, rule.clone(), remedy));
        let checkpoint = match ledger.log().checkpoint(note) {
            Ok(checkpoint) => checkpoint,
            Err(error) => return other(format!("{name} holds no checkpoint signed by this log's key: {error}")),
        };
        let size = checkpoint.size();
        if size > self.snapshot.size() {
            let found = format!("the log has {} receipts, and had {size} before", self.snapshot.size());
            return Some(Reason::new(Code::TooOld, found, rule, "get the newest copy of the ledger"));
        }
        match self.root_at(size) {
            Ok(root) if root == checkpoint.root() => None,
            Ok(root) => other(format!("at size {size} the log has the root {root}, and had {}", checkpoint.root())),
            Err(error) => other(format!("the tiles give no root at size {size}: {error}")),
        }
    }
}

fn noticed(report: &Report, code: NoticeCode) -> bool {
    report.notices.iter().any(|notice| notice.code == code)
}
