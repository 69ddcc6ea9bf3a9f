//! The log: who signed its checkpoints, and whether the entries add up to them.

use super::docket::Docket;
use super::finding::{Axis, Code, Finding, NoticeCode};
use super::opening::{Claimed, Genesis, Opening};
use super::survey::{Content, content};
use super::tree::Tree;
use super::{MAX_BUNDLE_BYTES, VerifyError, WIDTH};
use crate::ledger;
use crate::ledger::check_signature;
use crate::merkle::{Bundle, Frontier, TileName, leaf_hash};
use crate::store::Store;

/// Checks signature and origin of the published checkpoint.
pub(super) fn check_published(opening: &Opening, docket: &mut Docket) {
    let (Some(published), Some(genesis)) = (&opening.published, &opening.genesis) else { return };
    docket.count(Axis::Log, "checkpoints", 1);
    if let Some(found) = unsigned(published, genesis) {
        let expected = format!("a signature by {}", genesis.log_key);
        docket.find(Finding::new(Code::CheckpointSignature, expected, found).in_file("checkpoint"));
    }
    let (expected, found) = (genesis.log_key.name(), published.checkpoint.origin());
    if expected != found {
        docket.find(Finding::new(Code::CheckpointOrigin, expected, found).in_file("checkpoint"));
    }
}

/// Why a checkpoint is not the log key's.
fn unsigned(claimed: &Claimed, genesis: &Genesis) -> Option<String> {
    let keys = std::slice::from_ref(&genesis.log_key);
    claimed.note.verify(keys, check_signature).err().map(|error| error.to_string())
}

/// Compares the computed root with the published one.
pub(super) fn check_root(opening: &Opening, tree: &Tree<'_>, docket: &mut Docket) {
    let (Some(published), Some(frontier)) = (&opening.published, tree.whole()) else { return };
    docket.count(Axis::Log, "receipts", frontier.size());
    let (expected, found) = (published.checkpoint.head(), frontier.head());
    if expected != found {
        let text = |head: crate::merkle::TreeHead| format!("root {} over {} receipts", head.root, head.size);
        docket.find(Finding::new(Code::RootDiffers, text(expected), text(found)).in_file("checkpoint"));
    }
}

/// Holds the checkpoint in the lock, which writers go by, against the published one.
pub(super) fn check_cell(
    store: &dyn Store,
    opening: &Opening,
    tree: &Tree<'_>,
    docket: &mut Docket,
) -> Result<(), VerifyError> {
    let (Some(cell), Some(published), Some(genesis)) = (&opening.cell, &opening.published, &opening.genesis) else {
        return Ok(());
    };
    if cell.note == published.note {
        return Ok(());
    }
    let (size, root) = (cell.checkpoint.size(), cell.checkpoint.root());
    if let Some(found) = unsigned(cell, genesis) {
        docket.find(contradiction(format!("a signature by {}", genesis.log_key), found));
        return Ok(());
    }
    let Some(frontier) = tree.whole() else { return Ok(()) };
    if size <= frontier.size() {
        if tree.watched().is_some_and(|found| found != root) {
            let found = tree.watched().map(|root| root.to_string()).unwrap_or_default();
            docket.find(contradiction(format!("root {root} at size {size}"), format!("root {found}")));
        }
        return Ok(());
    }
    match finish(store, frontier.clone(), size)? {
        Ok(found) if found.root() == root => {
            let text = format!("a commit up to size {size} is being finished, by a writer or by the next one");
            docket.notice(NoticeCode::CommitPending, None, Some("lock".to_owned()), text);
        }
        Ok(found) => {
            docket.find(contradiction(format!("root {root} at size {size}"), format!("root {}", found.root())));
        }
        Err(missing) => {
            let expected = format!("{size} receipts, as the signed checkpoint in the lock says");
            let found = format!("{} receipts, and no {missing}", frontier.size());
            docket.find(Finding::new(Code::RolledBack, expected, found).in_file("lock"));
        }
    }
    Ok(())
}

fn contradiction(expected: String, found: String) -> Finding {
    Finding::new(Code::LockContradicts, expected, found).in_file("lock")
}

/// Grows the tree by the bundles of an unfinished commit; the name of the first that is not there or not whole.
fn finish(store: &dyn Store, mut tree: Frontier, size: u64) -> Result<Result<Frontier, String>, VerifyError> {
    let old = tree.size();
    for index in old / WIDTH..size.div_ceil(WIDTH) {
        let Some(bundle) = TileName::in_tree(0, index, size).and_then(TileName::bundle) else { break };
        let staged = format!("staging/bundle-{index}-{}", bundle.width());
        let bytes = match content(store, &staged, MAX_BUNDLE_BYTES)? {
            Content::Bytes(bytes) => Content::Bytes(bytes),
            _ => content(store, &bundle.to_string(), MAX_BUNDLE_BYTES)?,
        };
        let bytes = match bytes {
            Content::Bytes(bytes) => bytes,
            // Writers may have moved on: the beginning of a wider version says the same.
            _ => match ledger::read_bundle(store, bundle) {
                Ok(bytes) => bytes,
                Err(_) => return Ok(Err(bundle.to_string())),
            },
        };
        let Ok(entries) = Bundle::parse(&bytes, bundle.width()) else { return Ok(Err(bundle.to_string())) };
        let known = old.saturating_sub(index * WIDTH) as usize;
        for entry in entries.entries().skip(known) {
            tree.push::<VerifyError>(leaf_hash(entry), |_, _| Ok(()))?;
        }
    }
    Ok(Ok(tree))
}
