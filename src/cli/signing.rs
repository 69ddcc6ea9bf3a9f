//! What every command that signs shares: the keys, showing what is about to be signed and asking, the commit, and the
//! evidence of a fork.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;

use proofmark::ledger::{Appended, Draft, ForkEvidence, Ledger, LedgerError, LogSigner, Rehearsal};
use proofmark::object::ObjectId;
use proofmark::receipt::Kind;
use proofmark::trust::{KeyId, Role, SecretKey, Signer};

use super::context::Context;
use super::failure::{Exit, Failure, one_line};
use super::keys::{self, KeyOptions};

/// What every command that signs takes.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct SigningOptions {
    #[command(flatten)]
    pub keys: KeyOptions,
    /// Sign without asking. What is signed is shown on stderr first, and asked about only where stdin and stderr are
    /// terminals
    #[arg(long, short = 'y', help_heading = "Keys")]
    pub yes: bool,
}

/// The person's key and the log's, found and fit for this ledger.
pub struct Hands {
    person: Box<dyn Signer + Sync>,
    name: String,
    log: SecretKey,
    yes: bool,
}

/// Hands whose owner saw what is about to be signed, and agreed.
pub struct Pen(Hands);

impl Hands {
    /// Finds both keys, and refuses a ledger whose checkpoint is not its log's and a person who holds none of the roles
    /// under the trust in force, before anything is written. That the log shrank or forked shows under the writer's lock,
    /// when evidence may be stored already, which is harmless: objects that no receipt names say nothing.
    pub fn ready(
        options: &SigningOptions,
        context: &Context,
        ledger: &Ledger,
        roles: &[Role],
    ) -> Result<Self, Failure> {
        let person = keys::signer(&options.keys, context)?;
        let allowed = ledger.may_append(person.as_ref(), roles, &context.ratchet()?);
        let name = allowed.map_err(|error| explained(context, error))?;
        let log = keys::log_secret(&options.keys, context, ledger.log())?;
        Ok(Self { person, name, log, yes: options.yes })
    }

    /// What an append would refuse of a draft, to be asked before anything of it is stored.
    pub fn rehearsal(&self, ledger: &Ledger) -> Result<Rehearsal, Failure> {
        Ok(ledger.rehearsal(self.key())?)
    }

    /// The key that signs.
    pub fn key(&self) -> KeyId {
        self.person.public().fingerprint()
    }

    /// Shows what is about to be signed: a receipt of this kind, and in a few words what it says. Asks on a terminal.
    pub fn agree(self, context: &Context, ledger: &Ledger, kind: Kind, about: &str) -> Result<Pen, Failure> {
        let article = if kind == Kind::Authorization { "an" } else { "a" };
        let what = format!(
            "signing {article} {kind} receipt: {}\n  as {} with key {}, in the ledger {}",
            one_line(about),
            one_line(&self.name),
            self.person.public().fingerprint(),
            ledger.log().origin()
        );
        if self.yes || !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
            context.note(&what);
            return Ok(Pen(self));
        }
        let mut out = io::stderr().lock();
        write!(out, "{what}\nsign it? [y/N] ")?;
        out.flush()?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        match answer.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => Ok(Pen(self)),
            _ => Err(Failure::refused("not signed; nothing was written").hint("answer `y`, or say `--yes`")),
        }
    }
}

impl Pen {
    /// Signs and appends in one atomic commit.
    pub fn append(
        &self,
        context: &Context,
        ledger: &Ledger,
        drafts: impl IntoIterator<Item = Result<Draft, LedgerError>>,
    ) -> Result<Vec<Appended>, Failure> {
        let log = LogSigner::new(ledger.log().origin(), &self.0.log)?;
        let ratchet = context.ratchet()?;
        let appended = ledger.append(drafts, self.0.person.as_ref(), &log, &ratchet);
        let appended = appended.map_err(|error| explained(context, error))?;
        context.remember(&appended);
        Ok(appended)
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
