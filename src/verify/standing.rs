//! Every receipt under trust: then, by the statement in force at its index, and now, by the newest one.

use std::collections::BTreeMap;

use super::docket::Docket;
use super::finding::{Axis, Code, Finding, NoticeCode};
use super::opening::Genesis;
use crate::ledger::{TrustChain, TrustViolation, trust_text};
use crate::object::ReceiptId;
use crate::receipt::{Receipt, ReceiptError, ReceiptRef};
use crate::trust::{Breach, KeyId, PublicKey, Role, Standing, Statement};

/// What was found of one receipt while the chain of trust was at its index.
pub(super) struct Judged {
    /// Whether its signature is good; `None` where no statement lists its key.
    pub(super) signature: Option<Result<(), ReceiptError>>,
    /// What trust has against it.
    pub(super) against: Vec<TrustViolation>,
}

/// Who signed a receipt, for judging it by trust now. 16 bytes a receipt.
struct Signed {
    index: u64,
    /// The place of the key among those that signed.
    key: usize,
    /// Whether it is part of the chain of trust itself.
    part: bool,
}

/// The chain of trust, and what it says of the receipts so far.
pub(super) struct Standings {
    chain: TrustChain,
    /// The keys that signed, listed by a statement or not: one that is unknown at its index may be listed later.
    signers: Vec<KeyId>,
    places: BTreeMap<KeyId, usize>,
    signed: Vec<Signed>,
}

impl Standings {
    /// Before receipt 0 is looked at.
    pub(super) fn begin(genesis: &Genesis) -> Self {
        Self { chain: genesis.chain.clone(), signers: Vec::new(), places: BTreeMap::new(), signed: Vec::new() }
    }

    /// Judges the next receipt of the whole log and takes it into the chain. A signature is checked here if its key was
    /// not known when the entry was read.
    pub(super) fn judge(
        &mut self,
        index: u64,
        receipt: &Receipt,
        signature: Option<Result<(), ReceiptError>>,
    ) -> Judged {
        let signature = signature.or_else(|| self.chain.key(receipt.key()).map(|key| receipt.verify(key)));
        Judged { signature, against: self.chain.take(index, receipt) }
    }

    /// Every key that receipts so far could be signed with, in the order in which they came.
    pub(super) fn keys(&self) -> &[PublicKey] {
        self.chain.keys()
    }

    /// The statement in force at an index that was judged.
    pub(super) fn in_force_at(&self, index: u64) -> &Statement {
        self.chain.in_force_at(index).0
    }

    /// The statement in force at the end.
    pub(super) fn now(&self) -> &Statement {
        self.chain.now()
    }

    /// Reports what trust at its index has against a receipt.
    pub(super) fn report(&mut self, index: u64, receipt: &Receipt, against: Vec<TrustViolation>, docket: &mut Docket) {
        let id = receipt.id();
        docket.count(Axis::TrustThen, "receipts", 1);
        docket.find_all(against.iter().map(|violation| finding_of(violation).at(index, Some(id))));
        let part = index == 0 || self.chain.is_part(index, &receipt.statement().predicate.body);
        let key = self.place_of(receipt.key());
        self.signed.push(Signed { index, key, part });
    }

    fn place_of(&mut self, key: &KeyId) -> usize {
        if let Some(place) = self.places.get(key) {
            return *place;
        }
        self.signers.push(key.clone());
        self.places.insert(key.clone(), self.signers.len() - 1);
        self.signers.len() - 1
    }

    /// Judges all of them by trust now, and says which statements are not in force. `id_of` knows every receipt's id.
    pub(super) fn finish(self, id_of: impl Fn(u64) -> Option<ReceiptId>, docket: &mut Docket) {
        let now = self.chain.now();
        let standings: Vec<_> = self.signers.iter().map(|key| now.record_of(key).map(|record| record.status)).collect();
        let mut unknown = 0u64;
        for Signed { index, key, part } in &self.signed {
            let Some(standing) = standings.get(*key).copied().flatten() else {
                unknown += 1;
                continue;
            };
            docket.count(Axis::TrustNow, "receipts", 1);
            let name = || self.signers.get(*key).map(ToString::to_string).unwrap_or_default();
            match standing {
                Standing::Active => {}
                Standing::Retired => docket.count(Axis::TrustNow, "retiredKeys", 1),
                Standing::Compromised if *part => {
                    docket.count(Axis::TrustNow, "byTrustThenOnly", 1);
                    let text = format!(
                        "part of the chain of trust, and its key {} is compromised now: it is judged by trust at its index \
                         only; ask the roots whether they signed it",
                        name()
                    );
                    docket.notice(NoticeCode::TrustKeyCompromised, Some(*index), None, text);
                }
                Standing::Compromised => {
                    let found = format!("{} is compromised", name());
                    let finding = Finding::new(Code::KeyCompromised, "a key that is not in wrong hands", found);
                    docket.find(finding.at(*index, id_of(*index)));
                }
            }
        }
        if unknown > 0 {
            let reason = format!("{unknown} receipts are signed by keys that the newest trust statement does not list");
            docket.not_checked(Axis::TrustNow, reason);
        }
        self.report_proposals(docket);
    }

    fn report_proposals(&self, docket: &mut Docket) {
        for ReceiptRef { index, .. } in self.chain.not_in_force() {
            let waiting = self.chain.pending().iter().find(|proposal| proposal.receipt.index == index);
            let text = match waiting {
                Some(proposal) => {
                    let agreed: Vec<_> = proposal.agreed.iter().map(String::as_str).collect();
                    format!(
                        "trust version {} waits: {} of {} roots agree ({}); it was not used",
                        proposal.statement.version(),
                        agreed.len(),
                        self.now().needed(Role::Root),
                        if agreed.is_empty() { "none".to_owned() } else { agreed.join(", ") },
                    )
                }
                None => "this trust statement never came into force and no longer can; it was not used".to_owned(),
            };
            docket.notice(NoticeCode::TrustNotInForce, Some(index), None, text);
        }
    }
}

fn finding_of(violation: &TrustViolation) -> Finding {
    use TrustViolation as V;
    let code = match violation {
        V::GenesisNotRoot(_) => Code::GenesisNotRoot,
        V::NotAllowed(_) => Code::KeyNotAllowed,
        V::Reference { .. } => Code::TrustReference,
        V::GenesisVersion { .. } | V::Succession(Breach::Version { .. }) => Code::TrustVersion,
        V::Succession(Breach::LogChanged { .. }) => Code::TrustLogChanged,
        V::Succession(Breach::PersonDropped { .. }) => Code::TrustPersonDropped,
        V::Succession(Breach::KeyDropped { .. }) => Code::TrustKeyDropped,
        V::Succession(Breach::KeyMoved { .. }) => Code::TrustKeyMoved,
        V::Succession(Breach::StandingRaised { .. }) => Code::TrustStanding,
        V::Signoff { .. } => Code::TrustSignoffVoid,
        V::Withdrawn { .. } => Code::TrustWithdrawn,
    };
    match violation {
        V::GenesisNotRoot(refusal) | V::NotAllowed(refusal) => {
            let expected = format!("a key that may act as {}: {}", refusal.role(), refusal.remedy());
            Finding::new(code, expected, refusal)
        }
        V::Reference { expected, found } => Finding::new(code, trust_text(*expected), trust_text(*found)),
        other => Finding::new(code, other.remedy(), other),
    }
}
