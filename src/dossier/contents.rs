//! What has to be in a dossier: one answer for whoever makes one and whoever checks one.

use std::collections::{BTreeMap, BTreeSet};

use crate::object::ObjectId;
use crate::receipt::{Body, Kind, Receipt, Role};

/// The receipts that these rest on, all the way down, and themselves. `receipt` reads one; `None` is one that cannot be
/// had, which ends its branch and is in the answer all the same.
///
/// # Errors
/// What `receipt` fails with.
pub fn closure<E>(
    roots: impl IntoIterator<Item = u64>,
    receipt: impl FnMut(u64) -> Result<Option<Receipt>, E>,
) -> Result<BTreeSet<u64>, E> {
    follow(roots, |_| &[], receipt)
}

/// As [`closure`]; `after` knows the later receipts that belong to one.
fn follow<'a, E>(
    roots: impl IntoIterator<Item = u64>,
    after: impl Fn(u64) -> &'a [u64],
    mut receipt: impl FnMut(u64) -> Result<Option<Receipt>, E>,
) -> Result<BTreeSet<u64>, E> {
    let (mut wanted, mut found) = (roots.into_iter().collect::<BTreeSet<u64>>(), BTreeSet::new());
    while let Some(next) = wanted.pop_last() {
        if !found.insert(next) {
            continue;
        }
        if let Some(receipt) = receipt(next)? {
            let named = receipt.statement().predicate.rests_on();
            // What a receipt names is earlier, or the reference is broken, which is for an audit to say.
            wanted.extend(named.iter().map(|other| other.index).filter(|other| *other < next));
        }
        wanted.extend(after(next));
    }
    Ok(found)
}

/// Whether receipts of this kind are decisions about another, which only the whole log can judge.
pub fn is_decision(kind: Kind) -> bool {
    matches!(kind, Kind::Signoff | Kind::Withdrawal | Kind::Waiver | Kind::Authorization)
}

/// How trust came to be what it is, and what was decided about which receipt: what others said that changes what a receipt
/// is worth. Receipts are taken in the log's order.
#[derive(Debug, Clone, Default)]
pub struct History {
    trust: BTreeSet<u64>,
    decisions: BTreeMap<u64, Vec<u64>>,
}

impl History {
    /// Takes the next receipt.
    pub fn take(&mut self, index: u64, receipt: &Receipt) {
        let body = &receipt.statement().predicate.body;
        let target = match body {
            Body::Trust(_) => {
                self.trust.insert(index);
                return;
            }
            Body::Signoff(body) => body.target,
            Body::Withdrawal(body) => body.target,
            Body::Waiver(body) => body.target,
            Body::Authorization(body) => body.target,
            Body::Scorecard(_) | Body::Comparison(_) | Body::Gate(_) | Body::Baseline(_) => return,
        };
        self.decisions.entry(target.index).or_default().push(index);
    }

    /// The receipts that a dossier about `subject` carries: it, receipt 0 and every trust statement, what they rest on, every
    /// decision about any of these, and what those rest on, and so on.
    ///
    /// # Errors
    /// What `receipt` fails with.
    pub fn carried<E>(
        &self,
        subject: u64,
        receipt: impl FnMut(u64) -> Result<Option<Receipt>, E>,
    ) -> Result<BTreeSet<u64>, E> {
        let roots = self.trust.iter().copied().chain([0, subject]);
        follow(roots, |index| self.decisions.get(&index).map_or(&[], Vec::as_slice), receipt)
    }
}

/// Which objects a dossier carries, and which it leaves out.
#[derive(Debug, Clone, Default)]
pub struct Contents {
    /// The objects in it, with their sizes.
    pub objects: BTreeMap<ObjectId, u64>,
    /// The objects that were left out, with the role for which they were.
    pub withheld: BTreeMap<ObjectId, Role>,
    /// Every role of held evidence.
    pub roles: BTreeSet<Role>,
}

impl Contents {
    /// The evidence of these receipts. What has a redacted role in any of them is left out wherever else it is named.
    pub fn of<'a>(receipts: impl IntoIterator<Item = &'a Receipt>, redacted: &[Role]) -> Self {
        let mut contents = Self::default();
        for receipt in receipts {
            for evidence in receipt.statement().predicate.evidence.iter().filter(|evidence| evidence.held) {
                contents.roles.insert(evidence.role.clone());
                contents.objects.entry(evidence.blake3).or_insert(evidence.size);
                if redacted.contains(&evidence.role) {
                    contents.withheld.entry(evidence.blake3).or_insert_with(|| evidence.role.clone());
                }
            }
        }
        contents.objects.retain(|id, _| !contents.withheld.contains_key(id));
        contents
    }
}
