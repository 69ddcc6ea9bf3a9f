//! How trust is shown: what is in force, and what waits for agreement.

use std::fmt::Write;

use proofmark::ledger::{Ledger, Proposal, Snapshot, TrustChain};
use proofmark::object::ReceiptId;
use proofmark::receipt::ReceiptRef;
use proofmark::trust::{KeyId, Person, PublicKey, Role, Rules, Standing, Thresholds};
use serde::Serialize;

use super::context::Context;
use super::failure::{Exit, Failure, one_line};

/// What came of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proposed {
    /// Trust was only shown.
    NotAsked,
    /// There was nothing to change.
    Nothing,
    /// This receipt proposes it.
    Receipt(ReceiptRef),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    schema: &'static str,
    origin: &'a str,
    genesis: ReceiptId,
    size: u64,
    version: u64,
    index: u64,
    receipt: ReceiptId,
    persons: Vec<PersonDocument<'a>>,
    thresholds: &'a Thresholds,
    rules: &'a Rules,
    pending: Vec<Pending<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<Change>,
}

/// A person with the fingerprints of their keys.
#[derive(Serialize)]
struct PersonDocument<'a> {
    name: &'a str,
    roles: &'a [Role],
    keys: Vec<KeyDocument>,
}

#[derive(Serialize)]
struct KeyDocument {
    fingerprint: KeyId,
    key: PublicKey,
    status: Standing,
}

/// A proposal that waits.
#[derive(Serialize)]
struct Pending<'a> {
    version: u64,
    index: u64,
    receipt: ReceiptId,
    proposer: &'a str,
    needed: u32,
    agreed: Vec<&'a str>,
    asked: Vec<&'a str>,
    changes: Vec<String>,
}

/// What came of a change: whether it is in force, and the receipt that proposes it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Change {
    in_force: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    receipt: Option<ReceiptId>,
}

impl<'a> PersonDocument<'a> {
    fn of(person: &'a Person) -> Self {
        let key = |record: &proofmark::trust::KeyRecord| KeyDocument {
            fingerprint: record.key.fingerprint(),
            key: record.key,
            status: record.status,
        };
        Self { name: &person.name, roles: &person.roles, keys: person.keys.iter().map(key).collect() }
    }
}

impl<'a> Pending<'a> {
    fn of(chain: &'a TrustChain, proposal: &'a Proposal) -> Self {
        let Proposal { receipt, statement, proposer, agreed } = proposal;
        Self {
            version: statement.version(),
            index: receipt.index,
            receipt: receipt.receipt,
            proposer,
            needed: chain.now().needed(Role::Root),
            agreed: agreed.iter().map(String::as_str).collect(),
            asked: chain.asked(proposal),
            changes: statement.changes_from(chain.now()),
        }
    }
}

/// Answers with the trust in force at an index, by default for the next receipt, and what came of a change.
pub fn answer(
    context: &Context,
    ledger: &Ledger,
    snapshot: &Snapshot<'_>,
    chain: &TrustChain,
    at: Option<u64>,
    proposed: Proposed,
) -> Result<Exit, Failure> {
    let (statement, reference) = chain.in_force_at(at.unwrap_or(snapshot.size()));
    let change = match proposed {
        Proposed::NotAsked => None,
        Proposed::Nothing => Some(Change { in_force: true, index: None, receipt: None }),
        Proposed::Receipt(ReceiptRef { index, receipt }) => {
            let in_force = reference.index == index;
            Some(Change { in_force, index: Some(index), receipt: Some(receipt) })
        }
    };
    let pending = if at.is_some() { &[] } else { chain.pending() };
    let document = Document {
        schema: "trust.v1",
        origin: ledger.log().origin(),
        genesis: ledger.log().genesis,
        size: snapshot.size(),
        version: statement.version(),
        index: reference.index,
        receipt: reference.receipt,
        persons: statement.persons().iter().map(PersonDocument::of).collect(),
        thresholds: statement.thresholds(),
        rules: statement.rules(),
        pending: pending.iter().map(|proposal| Pending::of(chain, proposal)).collect(),
        change,
    };
    context.answer(&document, || text(&document))?;
    Ok(Exit::Yes)
}

/// The command by which a root agrees to a proposal.
pub fn agreement(proposal: ReceiptRef) -> String {
    format!("`proofmark signoff '#{}' --decision go --reason TEXT`", proposal.index)
}

fn text(document: &Document<'_>) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = match &document.change {
        Some(change) => write_change(&mut text, document, change),
        None => write_all(&mut text, document),
    };
    text
}

fn write_change(text: &mut String, document: &Document<'_>, change: &Change) -> std::fmt::Result {
    let Some(index) = change.index else {
        return writeln!(text, "trust version {} is in force; nothing was changed", document.version);
    };
    if change.in_force {
        return writeln!(text, "trust version {} is in force: receipt {index}", document.version);
    }
    document
        .pending
        .iter()
        .filter(|pending| pending.index == index)
        .try_for_each(|pending| write_pending(text, pending))
}

fn write_all(text: &mut String, document: &Document<'_>) -> std::fmt::Result {
    let Document { origin, genesis, version, index, receipt, .. } = document;
    writeln!(text, "log        {}", one_line(origin))?;
    writeln!(text, "genesis    {genesis}")?;
    writeln!(text, "version    {version}, receipt {index} {}", receipt.short())?;
    for person in &document.persons {
        writeln!(text, "\n{}: {}", one_line(person.name), roles(person.roles))?;
        for KeyDocument { fingerprint, status, .. } in &person.keys {
            writeln!(text, "  {status:<12}{fingerprint}")?;
        }
    }
    let Thresholds { root, signoff, witness } = document.thresholds;
    let witness = witness.map_or_else(|| "off".to_owned(), |count| count.to_string());
    writeln!(text, "\nthresholds root {root}, signoff {signoff}, witness {witness}")?;
    let set = document.rules.all().into_iter().filter_map(|(name, value)| Some(format!("{name} {}", value?)));
    let set: Vec<_> = set.collect();
    writeln!(text, "rules      {}", if set.is_empty() { "none".to_owned() } else { set.join(", ") })?;
    document.pending.iter().try_for_each(|pending| {
        writeln!(text)?;
        write_pending(text, pending)
    })
}

fn write_pending(text: &mut String, pending: &Pending<'_>) -> std::fmt::Result {
    let Pending { version, index, receipt, proposer, needed, agreed, asked, changes } = pending;
    writeln!(text, "trust version {version} waits: receipt {index}, proposed by {}", one_line(proposer))?;
    changes.iter().try_for_each(|change| writeln!(text, "  {}", one_line(change)))?;
    let names = |names: &[&str]| names.iter().map(|name| one_line(name)).collect::<Vec<_>>().join(", ");
    let agreeing = if agreed.is_empty() { "nobody".to_owned() } else { names(agreed) };
    writeln!(text, "agreed: {agreeing} ({} of {needed})", agreed.len())?;
    let missing = usize::try_from(*needed).unwrap_or(usize::MAX).saturating_sub(agreed.len());
    writeln!(text, "missing: {missing} of {}", names(asked))?;
    writeln!(text, "next: {}", agreement(ReceiptRef { index: *index, receipt: *receipt }))
}

/// Roles in a line.
pub fn roles(roles: &[Role]) -> String {
    if roles.is_empty() {
        return "no role".to_owned();
    }
    roles.iter().map(Role::to_string).collect::<Vec<_>>().join(", ")
}
