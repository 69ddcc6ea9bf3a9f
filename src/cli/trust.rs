//! `proofmark trust`: who may do what, and proposing that it be otherwise.

use std::path::PathBuf;
use std::sync::Arc;

use proofmark::ledger::{Draft, Ledger, Proposal, Snapshot, TrustChain};
use proofmark::object::Sha256;
use proofmark::receipt::{Body, Kind, ReceiptRef, Subject, Text};
use proofmark::trust::{
    Amendment, KeyId, Role, Rules, Standing, Statement, TrustError, format_allowed_signers, parse_allowed_signers,
};
use serde::Serialize;

use super::chain::{self, Proposed};
use super::context::Context;
use super::failure::{Exit, Failure, one_line};
use super::intake::RecordFile;
use super::key::public_key;
use super::signing::{Hands, SigningOptions};

/// What the command takes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Every change is a receipt with a new trust version. It is in force once as many persons with the role root as the
threshold asks for agree: the one who proposes it, and others by `proofmark signoff`.

Exit codes: 0 proposed, in force, or there was nothing to change; 2 refused, nothing written.

Examples:
  proofmark trust show
  proofmark trust add Bob bob.pub --role root --role signoff
  proofmark trust retire SHA256:uNiVztksCsDhcc0u9e8BgrJXVGqFhyaFTDLAFGzjbnk
  proofmark trust compromise stolen.pub
  proofmark trust role Bob --grant append --revoke root
  proofmark trust threshold root 2
  proofmark trust rule appenderMayBeOnlySignoff false
  proofmark trust export > allowed_signers")]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Show persons, keys, roles, thresholds and rules, and what waits for agreement
    Show(Show),
    /// List a person, or another key of one, or give a person roles
    Add(Add),
    /// Retire a key, or all keys of a person: what they signed stays good, what they sign from then on does not
    Retire(Retire),
    /// Say that a key is in wrong hands: nothing that it signed counts any more
    Compromise(Compromise),
    /// Give roles to a person, or take them
    Role(RoleChange),
    /// Say how many persons have to agree
    Threshold(Threshold),
    /// Set a rule of the ledger, or switch it off
    Rule(Rule),
    /// List the persons and keys of an OpenSSH allowed_signers file
    Import(Import),
    /// Print the active keys as an OpenSSH allowed_signers file
    Export(Export),
}

#[derive(Debug, clap::Args)]
struct Show {
    /// The trust that this receipt is judged by [default: the one in force for the next receipt]
    #[arg(long, value_name = "INDEX")]
    at: Option<u64>,
}

#[derive(Debug, clap::Args)]
struct Add {
    /// Who, by name; a new one is added
    person: String,
    /// Their public keys: OpenSSH files with an Ed25519 key each
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// What they may do (repeatable)
    #[arg(long, value_name = "ROLE", value_parser = role)]
    role: Vec<Role>,
    #[command(flatten)]
    proposing: Proposing,
}

#[derive(Debug, clap::Args)]
struct Retire {
    /// A key's fingerprint, or a person's name
    #[arg(value_name = "SHA256:…|PERSON")]
    who: String,
    #[command(flatten)]
    proposing: Proposing,
}

#[derive(Debug, clap::Args)]
struct Compromise {
    /// A key's fingerprint, or its public key file
    #[arg(value_name = "SHA256:…|FILE")]
    what: String,
    #[command(flatten)]
    proposing: Proposing,
}

#[derive(Debug, clap::Args)]
struct RoleChange {
    /// Who, by name
    person: String,
    /// A role to give (repeatable)
    #[arg(long, value_name = "ROLE", value_parser = role, required_unless_present = "revoke")]
    grant: Vec<Role>,
    /// A role to take (repeatable)
    #[arg(long, value_name = "ROLE", value_parser = role)]
    revoke: Vec<Role>,
    #[command(flatten)]
    proposing: Proposing,
}

#[derive(Debug, clap::Args)]
struct Threshold {
    /// root, signoff or witness
    #[arg(value_parser = role)]
    role: Role,
    /// How many persons, from 1; for witness only `off`, as no witness cosigns in this version
    #[arg(value_name = "N|off")]
    count: String,
    #[command(flatten)]
    proposing: Proposing,
}

#[derive(Debug, clap::Args)]
struct Rule {
    /// appenderMayBeOnlySignoff, recomputedOnly, signoffMaxAgeDays, maxLooks or namesOnlyIdentity
    name: String,
    /// true or false, a number from 1, or `off`
    #[arg(value_name = "VALUE|off")]
    value: String,
    #[command(flatten)]
    proposing: Proposing,
}

#[derive(Debug, clap::Args)]
struct Import {
    /// An allowed_signers file: one principal a line, with a plain Ed25519 key
    file: PathBuf,
    /// What all of them may do (repeatable)
    #[arg(long, value_name = "ROLE", value_parser = role)]
    role: Vec<Role>,
    #[command(flatten)]
    proposing: Proposing,
}

#[derive(Debug, clap::Args)]
struct Export {
    /// Limit what the keys are good for in OpenSSH, as in `git` or `file,git`
    #[arg(long, value_name = "NAMES")]
    namespaces: Option<String>,
    /// The trust that this receipt is judged by [default: the one in force for the next receipt]
    #[arg(long, value_name = "INDEX")]
    at: Option<u64>,
}

/// What every change takes.
#[derive(Debug, clap::Args)]
struct Proposing {
    /// A word for the reader of the receipt
    #[arg(long, value_name = "TEXT")]
    note: Option<Text>,
    /// Propose although a proposal waits: an earlier one of your own becomes void, another's waits on
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    signing: SigningOptions,
}

fn role(text: &str) -> Result<Role, String> {
    let found = Role::ALL.into_iter().find(|role| role.to_string() == text);
    found.ok_or_else(|| "roles are root, append, signoff, witness".to_owned())
}

/// Does what was asked.
pub fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let ledger = context.ledger()?;
    match &arguments.action {
        Action::Show(show) => {
            let snapshot = ledger.snapshot()?;
            let chain = known(&ledger, &snapshot, show.at)?;
            chain::answer(context, &ledger, &snapshot, &chain, show.at, Proposed::NotAsked)
        }
        Action::Export(export) => print_signers(export, context, &ledger),
        Action::Add(add) => propose(context, &ledger, &add.proposing, |next| {
            let keys = add.files.iter().map(|file| public_key(file)).collect::<Result<Vec<_>, _>>()?;
            Ok(next.add(&add.person, &keys, &add.role)?)
        }),
        Action::Retire(retire) => propose(context, &ledger, &retire.proposing, |next| {
            match fingerprint(&retire.who)? {
                Some(key) => next.lower(&key, Standing::Retired)?,
                None => next.retire(&retire.who)?,
            }
            Ok(())
        }),
        Action::Compromise(compromise) => propose(context, &ledger, &compromise.proposing, |next| {
            let key = match fingerprint(&compromise.what)? {
                Some(key) => key,
                None => public_key(compromise.what.as_ref())?.fingerprint(),
            };
            Ok(next.lower(&key, Standing::Compromised)?)
        }),
        Action::Role(change) => propose(context, &ledger, &change.proposing, |next| {
            Ok(next.roles(&change.person, &change.grant, &change.revoke)?)
        }),
        Action::Threshold(change) => propose(context, &ledger, &change.proposing, |next| threshold(change, next)),
        Action::Rule(change) => propose(context, &ledger, &change.proposing, |next| rule(change, &mut next.rules)),
        Action::Import(import) => propose(context, &ledger, &import.proposing, |next| {
            let file = RecordFile::read_document(&import.file)?;
            let text = std::str::from_utf8(&file.bytes)
                .map_err(|_| Failure::refused(format!("{}: is not text", file.name)))?;
            let named = |error: TrustError| Failure::refused(error).within(format!("{}: refused", file.name));
            for signer in parse_allowed_signers(text).map_err(named)? {
                next.add(&signer.person, &[signer.key], &import.role).map_err(named)?;
            }
            Ok(())
        }),
    }
}

/// The chain of trust, which must reach the index that was asked for.
fn known(ledger: &Ledger, snapshot: &Snapshot<'_>, at: Option<u64>) -> Result<Arc<TrustChain>, Failure> {
    match at.filter(|at| *at > snapshot.size()) {
        Some(at) => Err(Failure::refused(format!("there is no receipt {at}: the ledger has {}", snapshot.size()))),
        None => Ok(ledger.trust_chain(snapshot)?),
    }
}

fn fingerprint(text: &str) -> Result<Option<KeyId>, Failure> {
    Ok(if text.starts_with("SHA256:") { Some(text.parse()?) } else { None })
}

fn threshold(change: &Threshold, next: &mut Amendment<'_>) -> Result<(), Failure> {
    if change.role == Role::Witness && change.count != "off" {
        return Err(Failure::refused("no witness cosigns in this version, so their threshold would hold nothing back")
            .hint("`off` is all that it can be"));
    }
    let count = match change.count.as_str() {
        "off" if change.role == Role::Witness => None,
        text if text.len() > 9 && text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u32>().is_err() => {
            return Err(Failure::refused(format!("`{text}` is more persons than any ledger lists"))
                .hint("`proofmark trust show` says how many hold the role"));
        }
        text => Some(text.parse::<u32>().ok().filter(|count| *count > 0).ok_or_else(|| {
            Failure::refused(format!("`{}` is no threshold: it is a number from 1", one_line(text)))
                .hint("only the threshold of witnesses can be switched off")
        })?),
    };
    match (change.role, count) {
        (Role::Root, Some(count)) => next.thresholds.root = count,
        (Role::Signoff, Some(count)) => next.thresholds.signoff = count,
        (Role::Witness, count) => next.thresholds.witness = count,
        _ => {
            return Err(Failure::refused("appending has no threshold: one person appends")
                .hint("thresholds are those of root, signoff and witness"));
        }
    }
    Ok(())
}

fn rule(change: &Rule, rules: &mut Rules) -> Result<(), Failure> {
    let value = change.value.as_str();
    let flag = || match value {
        "true" => Ok(Some(true)),
        "false" => Ok(Some(false)),
        "off" => Ok(None),
        _ => {
            Err(Failure::refused(format!("the rule {} is true, false or off, not `{}`", change.name, one_line(value))))
        }
    };
    let number = || match (value, value.parse::<u32>()) {
        ("off", _) => Ok(None),
        (_, Ok(count)) if count > 0 => Ok(Some(count)),
        (digits, Err(_)) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            let (name, most) = (&change.name, u32::MAX);
            Err(Failure::refused(format!("the rule {name} is at most {most}, not {}", one_line(digits)))
                .hint(format!("`proofmark trust rule {name} off` sets no limit")))
        }
        _ => Err(Failure::refused(format!(
            "the rule {} is a number from 1, or off, not `{}`",
            change.name,
            one_line(value)
        ))),
    };
    match change.name.as_str() {
        "appenderMayBeOnlySignoff" => rules.appender_may_be_only_signoff = flag()?,
        "recomputedOnly" => rules.recomputed_only = flag()?,
        "signoffMaxAgeDays" => rules.signoff_max_age_days = number()?,
        "maxLooks" => rules.max_looks = number()?,
        "namesOnlyIdentity" => rules.names_only_identity = flag()?,
        other => {
            return Err(Failure::refused(format!("there is no rule `{}`", one_line(other)))
                .hint(format!("rules are {}", Rules::NAMES.join(", "))));
        }
    }
    Ok(())
}

/// Proposes what is in force with a change.
fn propose(
    context: &Context,
    ledger: &Ledger,
    proposing: &Proposing,
    change: impl FnOnce(&mut Amendment<'_>) -> Result<(), Failure>,
) -> Result<Exit, Failure> {
    let snapshot = ledger.snapshot()?;
    let chain = ledger.trust_chain(&snapshot)?;
    let mut next = Amendment::of(chain.now());
    change(&mut next)?;
    if next.is_empty() {
        context.note("nothing to change: the trust in force says so already");
        return chain::answer(context, ledger, &snapshot, &chain, None, Proposed::Nothing);
    }
    let statement = next.state()?;
    if let Some(waiting) = chain.pending().iter().find(|waiting| *waiting.statement == statement) {
        context.note(&format!("nothing to propose: receipt {} proposes just that", waiting.receipt.index));
        return chain::answer(context, ledger, &snapshot, &chain, None, Proposed::Receipt(waiting.receipt));
    }
    if !proposing.replace {
        refuse_beside(&chain)?;
    }
    let reference = sign(context, ledger, proposing, &chain, statement)?;
    let snapshot = ledger.snapshot()?;
    let chain = ledger.trust_chain(&snapshot)?;
    chain::answer(context, ledger, &snapshot, &chain, None, Proposed::Receipt(reference))
}

/// One proposal at a time, unless it is said otherwise: two made from the same statement leave out each other's changes.
fn refuse_beside(chain: &TrustChain) -> Result<(), Failure> {
    let Some(Proposal { receipt, statement, proposer, .. }) =
        chain.pending().iter().find(|proposal| !proposal.agreed.is_empty())
    else {
        return Ok(());
    };
    Err(Failure::refused(format!(
        "trust version {} waits for agreement: receipt {}, proposed by {}",
        statement.version(),
        receipt.index,
        one_line(proposer)
    ))
    .hint(format!(
        "a root agrees with {}; `--replace` proposes anew, from what is in force and without the changes that wait",
        chain::agreement(*receipt)
    )))
}

fn sign(
    context: &Context,
    ledger: &Ledger,
    proposing: &Proposing,
    chain: &TrustChain,
    statement: Statement,
) -> Result<ReceiptRef, Failure> {
    let hands = Hands::ready(&proposing.signing, context, ledger, &[Role::Root])?;
    let changes = statement.changes_from(chain.now()).join("; ");
    let pen = hands.agree(context, ledger, Kind::Trust, &format!("version {}: {changes}", statement.version()))?;
    // What is vouched for is the log, as in receipt 0.
    let key = &ledger.log().key;
    let draft = Draft {
        subject: vec![Subject::new(key.name().parse()?, Sha256::of(key.to_string().as_bytes()))],
        evidence: Vec::new(),
        note: proposing.note.clone(),
        recorded_at: context.recorded_at()?,
        tool: context.tool(),
        body: Body::Trust(statement),
    };
    let appended = pen.append(context, ledger, [Ok(draft)])?;
    let one = appended.first().ok_or_else(|| Failure::failed("nothing was appended"))?;
    Ok(ReceiptRef { index: one.index, receipt: one.receipt })
}

#[derive(Serialize)]
struct ExportDocument<'a> {
    schema: &'static str,
    version: u64,
    text: &'a str,
}

fn print_signers(export: &Export, context: &Context, ledger: &Ledger) -> Result<Exit, Failure> {
    if let Some(namespaces) = &export.namespaces
        && !namespaces.chars().all(|c| c.is_ascii_graphic() && c != '"')
    {
        return Err(Failure::refused("namespaces are printable ASCII without spaces and quotes, joined by commas"));
    }
    let snapshot = ledger.snapshot()?;
    let chain = known(ledger, &snapshot, export.at)?;
    let (statement, _) = chain.in_force_at(export.at.unwrap_or(snapshot.size()));
    let text = format_allowed_signers(statement.persons(), export.namespaces.as_deref())?;
    let document = ExportDocument { schema: "trust-export.v1", version: statement.version(), text: &text };
    context.answer(&document, || text.clone())?;
    Ok(Exit::Yes)
}
