//! What a reader shows of a log as the whole of it: not of a copy that is older than what this machine saw, or of a fork.

use proofmark::ledger::{Ledger, LedgerError, Snapshot};

use super::context::Context;
use super::failure::{Exit, Failure};
use super::signing::explained;

/// The newest view of a ledger, held against what this machine saw of its log, as a writer holds it. Nothing is remembered.
pub fn snapshot<'a>(context: &Context, ledger: &'a Ledger) -> Result<Snapshot<'a>, Failure> {
    let ratchet = context.ratchet()?;
    // What was seen is read first: a log that grows in between is no rollback.
    let seen = ratchet.seen(ledger.log())?;
    let snapshot = ledger.snapshot()?;
    match ratchet.check(ledger.log(), seen.as_deref(), &snapshot) {
        Ok(()) => Ok(snapshot),
        Err(LedgerError::Fork(_)) if commit_pends(ledger, &snapshot)? => {
            let what = "a writer has begun a commit that is not published, and this machine saw what is in it";
            Err(Failure::new(Exit::No, what).hint("the next append finishes it"))
        }
        Err(error) => Err(explained(context, error)),
    }
}

fn commit_pends(ledger: &Ledger, snapshot: &Snapshot<'_>) -> Result<bool, LedgerError> {
    Ok(match ledger.store().cell()? {
        Some(cell) => ledger.log().checkpoint(&cell)?.size() > snapshot.size(),
        None => false,
    })
}
