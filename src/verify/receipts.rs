//! Every receipt by itself and among the others: form, signature, trust at its index and now, what it refers to.

use std::collections::BTreeMap;

use super::docket::Docket;
use super::entries::Entry;
use super::finding::{Axis, Code, Finding, NoticeCode, chain};
use super::opening::Genesis;
use super::report::LineRounds;
use crate::merkle::TileName;
use crate::object::ReceiptId;
use crate::receipt::{Basis, Body, LineName, Receipt, ReceiptRef};
use crate::trust::{Role, Standing, Statement};

/// What later receipts need to know of an earlier one. 48 bytes a receipt.
#[derive(Debug, Clone, Copy)]
struct Seen {
    index: u64,
    id: ReceiptId,
    /// The place of its line in the list of lines; only scorecards have one.
    line: Option<u32>,
}

/// The receipts of the log so far.
pub(super) struct Receipts<'a> {
    genesis: Option<&'a Genesis>,
    seen: Vec<Seen>,
    lines: BTreeMap<LineName, (u32, u64)>,
    unknown_keys: u64,
}

impl<'a> Receipts<'a> {
    pub(super) fn new(genesis: Option<&'a Genesis>) -> Self {
        let (seen, lines) = Default::default();
        Self { genesis, seen, lines, unknown_keys: 0 }
    }

    /// Takes the next entry; hands back the receipt in it, if it is one.
    pub(super) fn take(&mut self, bundle: TileName, entry: Entry, docket: &mut Docket) -> Option<(u64, Receipt)> {
        let Entry { index, id, receipt, signature, .. } = entry;
        docket.count(Axis::Structure, "receipts", 1);
        let receipt = match receipt {
            Ok(receipt) => receipt,
            Err(error) => {
                let finding = Finding::new(Code::ReceiptMalformed, "a receipt", chain(&error));
                docket.find(finding.at(index, Some(id)).in_file(bundle));
                return None;
            }
        };
        let stated = receipt.statement().predicate.index;
        if stated != index {
            let (expected, found) = (format!("a receipt for index {index}"), format!("a receipt for index {stated}"));
            docket.find(Finding::new(Code::ReceiptMisplaced, expected, found).at(index, Some(id)));
        }
        if let Some(genesis) = self.genesis {
            self.check_signature(index, &receipt, signature, docket);
            check_trust(genesis, index, &receipt, docket);
        }
        self.check_references(index, &receipt, docket);
        let line = self.line_of(&receipt.statement().predicate.body);
        self.seen.push(Seen { index, id, line });
        Some((index, receipt))
    }

    fn check_signature(
        &mut self,
        index: u64,
        receipt: &Receipt,
        signature: Option<Result<(), crate::receipt::ReceiptError>>,
        docket: &mut Docket,
    ) {
        docket.count(Axis::Signatures, "receipts", 1);
        let id = Some(receipt.id());
        match signature {
            Some(Ok(())) => docket.count(Axis::Signatures, "good", 1),
            Some(Err(error)) => {
                let expected = format!("a signature by {}", receipt.key());
                docket.find(Finding::new(Code::SignatureBad, expected, chain(&error)).at(index, id));
            }
            None => {
                self.unknown_keys += 1;
                let expected = "a key of a trust statement in force";
                docket.find(Finding::new(Code::SignatureKeyUnknown, expected, receipt.key()).at(index, id));
            }
        }
    }

    fn line_of(&mut self, body: &Body) -> Option<u32> {
        let Body::Scorecard(body) = body else { return None };
        let next = u32::try_from(self.lines.len()).unwrap_or(u32::MAX);
        let line = self.lines.entry(body.line.clone()).or_insert((next, 0));
        line.1 += 1;
        Some(line.0)
    }

    fn check_references(&self, index: u64, receipt: &Receipt, docket: &mut Docket) {
        let body = &receipt.statement().predicate.body;
        for (member, reference) in body.named() {
            docket.count(Axis::Structure, "references", 1);
            let found = match (self.referred(member, reference), body) {
                (Err(finding), _) => Some(*finding),
                (Ok(seen), Body::Comparison(_)) => self.check_round(member, seen, None),
                (Ok(seen), Body::Baseline(baseline)) => self.check_round(member, seen, Some(&baseline.line)),
                (Ok(_), _) => None,
            };
            docket.find_all(found.map(|finding| finding.at(index, Some(receipt.id()))));
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

    /// What is known only at the end.
    pub(super) fn finish(self, docket: &mut Docket) -> Vec<LineRounds> {
        if self.unknown_keys > 0 {
            let reason = format!("{} receipts are signed by keys that no trust statement lists", self.unknown_keys);
            docket.not_checked(Axis::TrustNow, reason);
        }
        let lines = self.lines.into_iter().map(|(line, (_, rounds))| LineRounds { line, rounds }).collect::<Vec<_>>();
        docket.count(Axis::Completeness, "lines", lines.len() as u64);
        docket.count(Axis::Completeness, "rounds", lines.iter().map(|line| line.rounds).sum());
        lines
    }
}

/// Trust in force at every index is receipt 0's statement: a later one waits for sign-offs.
fn check_trust(genesis: &Genesis, index: u64, receipt: &Receipt, docket: &mut Docket) {
    let (id, trust, predicate) = (Some(receipt.id()), &genesis.trust, &receipt.statement().predicate);
    docket.count(Axis::TrustThen, "receipts", 1);
    let (role, code) =
        if index == 0 { (Role::Root, Code::GenesisNotRoot) } else { (Role::Append, Code::KeyNotAllowed) };
    if let Err(refusal) = trust.may(receipt.key(), role) {
        let expected = format!("a key that may act as {role}: {}", refusal.remedy());
        docket.find(Finding::new(code, expected, refusal).at(index, id));
    }
    let in_force = (index > 0).then(|| ReceiptRef { index: 0, receipt: genesis.receipt.id() });
    if predicate.trust != in_force {
        let text = |reference: Option<ReceiptRef>| match reference {
            Some(ReceiptRef { index, receipt }) => format!("trust receipt {receipt} at index {index}"),
            None => "no trust receipt".to_owned(),
        };
        docket.find(Finding::new(Code::TrustReference, text(in_force), text(predicate.trust)).at(index, id));
    }
    if index > 0 && matches!(predicate.body, Body::Trust(_)) {
        let text = "a later trust statement is not in force until it is signed off; it was not used";
        docket.notice(NoticeCode::TrustNotInForce, Some(index), None, text);
    }
    check_standing_now(trust, index, receipt, docket);
    check_policy(trust, index, receipt, docket);
}

fn check_standing_now(trust: &Statement, index: u64, receipt: &Receipt, docket: &mut Docket) {
    let Some(record) = trust.record_of(receipt.key()) else { return };
    docket.count(Axis::TrustNow, "receipts", 1);
    match record.status {
        Standing::Active => {}
        Standing::Retired => docket.count(Axis::TrustNow, "retiredKeys", 1),
        Standing::Compromised => {
            let found = format!("{} is compromised", receipt.key());
            let finding = Finding::new(Code::KeyCompromised, "a key that is not in wrong hands", found);
            docket.find(finding.at(index, Some(receipt.id())));
        }
    }
}

fn check_policy(trust: &Statement, index: u64, receipt: &Receipt, docket: &mut Docket) {
    if trust.rules().recomputed_only != Some(true) {
        return;
    }
    let Body::Scorecard(body) = &receipt.statement().predicate.body else { return };
    docket.count(Axis::Policy, "cards", 1);
    if body.basis == Basis::Asserted {
        let finding = Finding::new(Code::AssertedCard, "a recomputed card", "an asserted one");
        docket.find(finding.at(index, Some(receipt.id())));
    }
}

/// Which of the ledger's rules this version can check.
pub(super) fn excuse_policy(trust: &Statement, docket: &mut Docket) {
    let rules = trust.rules();
    let of_signoffs = [
        rules.appender_may_be_only_signoff == Some(false),
        rules.signoff_max_age_days.is_some(),
        rules.max_looks.is_some(),
    ];
    if of_signoffs.contains(&true) {
        docket.not_checked(Axis::Policy, "rules about sign-offs and looks are not checked by this version");
    } else if rules.recomputed_only != Some(true) {
        docket.not_checked(Axis::Policy, "the ledger sets itself no rules");
    }
}
