//! What every command that appends shares: the keys, the commit, and the evidence of a fork.

use std::path::PathBuf;

use proofmark::ledger::{Appended, Draft, ForkEvidence, Ledger, LedgerError, LogSigner};
use proofmark::object::ObjectId;
use proofmark::trust::{Role, SecretKey, Signer};

use super::context::Context;
use super::failure::{Exit, Failure};
use super::keys::{self, KeyOptions};

/// The person's key and the log's, found and fit for this ledger.
pub struct Hands {
    person: Box<dyn Signer + Sync>,
    log: SecretKey,
}

impl Hands {
    /// Finds both keys, and refuses a ledger whose checkpoint is not its log's and a person who may not append, before
    /// anything is written. That the log shrank or forked shows under the writer's lock, when evidence may be stored
    /// already, which is harmless: objects that no receipt names say nothing.
    pub fn ready(options: &KeyOptions, context: &Context, ledger: &Ledger) -> Result<Self, Failure> {
        let person = keys::signer(options, context)?;
        ledger
            .may_append(person.as_ref(), &[Role::Append], &context.ratchet()?)
            .map_err(|error| explained(context, error))?;
        let log = keys::log_secret(options, context, ledger.log())?;
        Ok(Self { person, log })
    }

    /// Signs and appends in one atomic commit.
    pub fn append(
        &self,
        context: &Context,
        ledger: &Ledger,
        drafts: impl IntoIterator<Item = Result<Draft, LedgerError>>,
    ) -> Result<Vec<Appended>, Failure> {
        let log = LogSigner::new(ledger.log().origin(), &self.log)?;
        let ratchet = context.ratchet()?;
        ledger.append(drafts, self.person.as_ref(), &log, &ratchet).map_err(|error| explained(context, error))
    }
}

/// A fork is a finding with evidence: it is written out where it cannot be overwritten by the ledger's own host.
pub fn explained(context: &Context, error: LedgerError) -> Failure {
    let LedgerError::Fork(evidence) = &error else { return error.into() };
    let kept = keep(context, evidence);
    let hint = match kept {
        Ok(path) => format!("nothing was written to the ledger; the evidence is in {}", path.display()),
        Err(failure) => format!("nothing was written to the ledger; the evidence could not be kept: {failure}"),
    };
    Failure::new(Exit::No, error).hint(hint)
}

fn keep(context: &Context, evidence: &ForkEvidence) -> Result<PathBuf, Failure> {
    let folder = context.state_folder()?.join("forks");
    std::fs::create_dir_all(&folder)?;
    let bytes = serde_json::to_vec_pretty(evidence)?;
    // Named by content: the same fork seen again is the same file.
    let path = folder.join(format!("{}.json", ObjectId::of(&bytes).short()));
    std::fs::write(&path, &bytes)?;
    Ok(path)
}
