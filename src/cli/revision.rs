//! Revisions for commands that decide: found in the log itself, never in the index.

use proofmark::ledger::{History, Snapshot};

use super::failure::Failure;

/// The index of the receipt that a revision names.
pub fn resolve(snapshot: &Snapshot<'_>, history: &History, revision: &str) -> Result<u64, Failure> {
    let unknown = |reason: String| Failure::refused(reason).hint("`proofmark log` lists receipts and lines");
    if let Some(index) = revision.strip_prefix('#').and_then(|digits| digits.parse().ok()) {
        if index >= snapshot.size() {
            return Err(unknown(format!("there is no receipt #{index}; the log has {}", snapshot.size())));
        }
        return Ok(index);
    }
    let (name, back) = match revision.split_once('~') {
        Some((name, back)) => (name, back.parse().map_err(|_| unknown(format!("`{revision}` is not a revision")))?),
        None => (revision, 0),
    };
    if name == "@" {
        let found = snapshot.size().checked_sub(1).and_then(|newest| newest.checked_sub(back as u64));
        return found.ok_or_else(|| unknown(format!("the log has only {} receipts", snapshot.size())));
    }
    if let Some(round) = name.parse().ok().and_then(|line| history.round(&line, back)) {
        return Ok(round.receipt.index);
    }
    Err(unknown(format!("`{revision}` names no receipt")))
}
