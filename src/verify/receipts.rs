//! Every receipt by itself and among the others: form, signature, trust at its index and now, what it refers to.

use std::collections::{BTreeMap, BTreeSet};

use super::decided;
use super::docket::Docket;
use super::entries::Entry;
use super::finding::{Axis, Code, Finding, chain as causes};
use super::opening::Genesis;
use super::report::LineRounds;
use super::standing::{Judged, Standings};
use crate::object::{ReceiptId, Sha256};
use crate::receipt::{Basis, Body, LineName, Receipt, ReceiptError, ReceiptRef};
use crate::release::Decisions;
use crate::trust::{PublicKey, Statement};

/// What later receipts need to know of an earlier one. 80 bytes a receipt.
#[derive(Debug, Clone, Copy)]
struct Seen {
    index: u64,
    id: ReceiptId,
    sha256: Sha256,
    /// The place of its line in the list of lines; only scorecards have one.
    line: Option<u32>,
}

/// The receipts of the log so far.
pub(super) struct Receipts {
    /// There if receipt 0 can be used.
    trust: Option<Standings>,
    /// What persons decided, as far as the receipts taken say.
    decisions: Decisions,
    /// Whether every receipt of the log is taken.
    whole: bool,
    seen: Vec<Seen>,
    lines: BTreeMap<LineName, (u32, u64)>,
}

impl Receipts {
    pub(super) fn new(genesis: Option<&Genesis>) -> Self {
        let (decisions, seen, lines) = Default::default();
        Self { trust: genesis.map(Standings::begin), decisions, whole: true, seen, lines }
    }

    /// The same where only some receipts of the log are taken.
    pub(super) fn some_only(self) -> Self {
        Self { whole: false, ..self }
    }

    /// Takes the next entry, which stands in `file`; hands back the receipt in it, if it is one.
    pub(super) fn take(&mut self, file: &str, mut entry: Entry, docket: &mut Docket) -> Option<(u64, Receipt)> {
        let judged = match (&mut self.trust, &entry.receipt) {
            (Some(trust), Ok(receipt)) => Some(trust.judge(entry.index, receipt, entry.signature.take())),
            _ => None,
        };
        let (index, receipt) = self.admit(file, entry, judged, docket)?;
        if let Some(trust) = &self.trust {
            let then = trust.in_force_at(index);
            decided::take(&mut self.decisions, index, &receipt, then, self.whole, docket);
        }
        Some((index, receipt))
    }

    /// Takes an entry that was judged; hands back the receipt in it, if it is one.
    pub(super) fn admit(
        &mut self,
        file: &str,
        entry: Entry,
        judged: Option<Judged>,
        docket: &mut Docket,
    ) -> Option<(u64, Receipt)> {
        let Entry { index, id, sha256, receipt, .. } = entry;
        docket.count(Axis::Structure, "receipts", 1);
        let receipt = match receipt {
            Ok(receipt) => receipt,
            Err(error) => {
                let finding = Finding::new(Code::ReceiptMalformed, "a receipt", causes(&error));
                docket.find(finding.at(index, Some(id)).in_file(file));
                return None;
            }
        };
        let stated = receipt.statement().predicate.index;
        if stated != index {
            let (expected, found) = (format!("a receipt for index {index}"), format!("a receipt for index {stated}"));
            docket.find(Finding::new(Code::ReceiptMisplaced, expected, found).at(index, Some(id)));
        }
        if let (Some(trust), Some(Judged { signature, against })) = (&mut self.trust, judged) {
            check_signature(index, &receipt, signature, docket);
            trust.report(index, &receipt, against, docket);
            check_policy(trust.in_force_at(index), index, &receipt, docket);
        }
        self.check_references(index, &receipt, docket);
        let line = self.line_of(&receipt.statement().predicate.body);
        self.seen.push(Seen { index, id, sha256, line });
        Some((index, receipt))
    }

    /// Every key that receipts so far could be signed with, in the order in which they came.
    pub(super) fn keys(&self) -> &[PublicKey] {
        self.trust.as_ref().map_or(&[], Standings::keys)
    }

    /// What trust has come to.
    pub(super) fn trust(&mut self) -> Option<&mut Standings> {
        self.trust.as_mut()
    }

    fn line_of(&mut self, body: &Body) -> Option<u32> {
        let Body::Scorecard(body) = body else { return None };
        let next = u32::try_from(self.lines.len()).unwrap_or(u32::MAX);
        if let Some((line, rounds)) = self.lines.get_mut(&body.line) {
            *rounds += 1;
            return Some(*line);
        }
        self.lines.insert(body.line.clone(), (next, 1));
        Some(next)
    }

    fn check_references(&self, index: u64, receipt: &Receipt, docket: &mut Docket) {
        let body = &receipt.statement().predicate.body;
        let (mut about, mut sound) = (Vec::new(), true);
        for (member, reference) in body.named() {
            docket.count(Axis::Structure, "references", 1);
            let referred = self.referred(member, reference);
            about.extend(referred.as_ref().ok().filter(|_| member != "restsOn").copied());
            let found = match (referred, body) {
                (Err(finding), _) => Some(*finding),
                (Ok(seen), Body::Comparison(_)) => self.check_round(member, seen, None),
                (Ok(seen), Body::Baseline(baseline)) => self.check_round(member, seen, Some(&baseline.line)),
                (Ok(_), _) => None,
            };
            sound &= found.is_none();
            docket.find_all(found.map(|finding| finding.at(index, Some(receipt.id()))));
        }
        // Where a reference is wrong, what the subject should be is not known.
        if sound && !about.is_empty() {
            docket.find_all(about_other(receipt, &about).map(|finding| finding.at(index, Some(receipt.id()))));
        }
    }

    /// The earlier receipt that a reference is to.
    fn referred(&self, member: &str, reference: ReceiptRef) -> Result<Seen, Box<Finding>> {
        let ReceiptRef { index, receipt } = reference;
        let place = self.seen.binary_search_by_key(&index, |seen| seen.index);
        let found = match place.ok().and_then(|place| self.seen.get(place)) {
            Some(seen) if seen.id == receipt => return Ok(*seen),
            Some(seen) => format!("receipt {} there", seen.id),
            None => "no receipt at an earlier index of that number".to_owned(),
        };
        let expected = format!("`{member}`: receipt {receipt} earlier in the log, at index {index}");
        Err(Box::new(Finding::new(Code::ReferenceBroken, expected, found)))
    }

    /// What must be a scorecard, for a baseline one of its own line.
    fn check_round(&self, member: &str, seen: Seen, line: Option<&LineName>) -> Option<Finding> {
        let Some(found) = seen.line else {
            return Some(Finding::new(Code::ReferenceKind, format!("`{member}`: a scorecard"), "another kind"));
        };
        let line = line.filter(|line| self.lines.get(*line).map(|(number, _)| *number) != Some(found))?;
        let expected = format!("`{member}`: a round of the line `{line}`");
        let found = format!("receipt #{} is a round of another line", seen.index);
        Some(Finding::new(Code::ReferenceKind, expected, found))
    }

    /// What is known only at the end. `replayed`: every claim was derived again, of the receipts `shown` if that is given;
    /// `whole`: all receipts were looked at.
    pub(super) fn finish(
        self,
        replayed: bool,
        whole: bool,
        shown: Option<&BTreeSet<u64>>,
        docket: &mut Docket,
    ) -> (Vec<LineRounds>, Decisions, Option<Statement>) {
        if replayed {
            let max_looks = |index| self.trust.as_ref().and_then(|trust| trust.in_force_at(index).rules().max_looks);
            let counted = whole && shown.is_none();
            decided::check_proven(&self.decisions, shown, max_looks, counted, docket);
        }
        let now = self.trust.as_ref().map(|trust| trust.now().clone());
        if let Some(trust) = self.trust {
            excuse_policy(trust.now(), &self.decisions, docket);
            let id_of = |index: u64| {
                let place = self.seen.binary_search_by_key(&index, |seen| seen.index).ok()?;
                Some(self.seen.get(place)?.id)
            };
            trust.finish(id_of, docket);
        }
        let lines = self.lines.into_iter().map(|(line, (_, rounds))| LineRounds { line, rounds }).collect::<Vec<_>>();
        docket.count(Axis::Completeness, "lines", lines.len() as u64);
        docket.count(Axis::Completeness, "rounds", lines.iter().map(|line| line.rounds).sum());
        (lines, self.decisions, now)
    }
}

/// What a receipt that names others is about must be exactly those, in their order, each by its id and its SHA-256. What a
/// decision rests on beside its target is not what it is about.
fn about_other(receipt: &Receipt, named: &[Seen]) -> Option<Finding> {
    let expected: Vec<_> = named.iter().map(|seen| (format!("receipt:{}", seen.id), seen.sha256)).collect();
    let subject = receipt.statement().subject.iter();
    let found: Vec<_> = subject.map(|subject| (subject.name.to_string(), subject.digest.sha256)).collect();
    let text = |subjects: &[(String, Sha256)]| {
        let subjects = subjects.iter().map(|(name, sha256)| format!("`{name}` sha256:{sha256}"));
        subjects.collect::<Vec<_>>().join(", ")
    };
    (found != expected).then(|| {
        Finding::new(
            Code::ReferenceSubject,
            format!("subject {}", text(&expected)),
            format!("subject {}", text(&found)),
        )
    })
}

fn check_signature(index: u64, receipt: &Receipt, signature: Option<Result<(), ReceiptError>>, docket: &mut Docket) {
    docket.count(Axis::Signatures, "receipts", 1);
    let id = Some(receipt.id());
    match signature {
        Some(Ok(())) => docket.count(Axis::Signatures, "good", 1),
        Some(Err(error)) => {
            let expected = format!("a signature by {}", receipt.key());
            docket.find(Finding::new(Code::SignatureBad, expected, causes(&error)).at(index, id));
        }
        None => {
            let expected = "a key that a trust statement lists";
            docket.find(Finding::new(Code::SignatureKeyUnknown, expected, receipt.key()).at(index, id));
        }
    }
}

fn check_policy(trust: &Statement, index: u64, receipt: &Receipt, docket: &mut Docket) {
    let Body::Scorecard(body) = &receipt.statement().predicate.body else { return };
    if trust.rules().recomputed_only == Some(true) {
        docket.count(Axis::Policy, "cards", 1);
        if body.basis == Basis::Asserted {
            let finding = Finding::new(Code::AssertedCard, "a recomputed card", "an asserted one");
            docket.find(finding.at(index, Some(receipt.id())));
        }
    }
    if trust.rules().names_only_identity == Some(false) {
        docket.count(Axis::Policy, "questionSets", 1);
        if body.is_by_names_only() {
            let expected = "questions whose text is known (rule namesOnlyIdentity)";
            let finding = Finding::new(Code::NamesOnly, expected, "questions that are known by their names only");
            docket.find(finding.at(index, Some(receipt.id())));
        }
    }
}

/// Whether there was anything to hold against rules.
fn excuse_policy(trust: &Statement, decisions: &Decisions, docket: &mut Docket) {
    let rules = trust.rules();
    let about_receipts =
        rules.recomputed_only == Some(true) || rules.names_only_identity == Some(false) || rules.max_looks.is_some();
    if !about_receipts && !decisions.any_decided() {
        docket.not_checked(Axis::Policy, "there is nothing that a rule of the ledger is about: no decision, no limit");
    }
}
