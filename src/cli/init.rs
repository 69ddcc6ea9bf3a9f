//! `proofmark init`: an identity where there is none, a log key, and a ledger with receipt 0.
//!
//! Nothing is written before everything that could be refused was looked at. Keys are durable before the ledger is, so
//! a run that was interrupted can be run again; at worst it leaves a log key that signed nothing.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use proofmark::ledger::{Genesis, Ledger, LedgerError, LogSigner, default_origin};
use proofmark::object::ReceiptId;
use proofmark::store::Directory;
use proofmark::trust::{Encryption, KeyId, LogKey, Person, Role, SecretKey, Signer, Statement, TrustError, Zeroizing};
use serde::Serialize;

use super::context::{Context, LEDGER};
use super::failure::{Exit, Failure, one_line};
use super::keyfile::{create_pair, create_private, is_absent, refuse_inside_ledger, refuse_taken, resolved};
use super::keys::{KeyOptions, Place, log_key_folder, log_key_name, named_log_secret, seed, signer};
use super::passphrase;

/// What an interrupted run may have left in a folder that is no ledger yet.
const BEGUN: [&str; 4] = ["config.toml", ".gitignore", "lock", "staging"];

/// What the command takes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Makes, where there is none, an identity key `id_ed25519` in the configuration folder
($XDG_CONFIG_HOME/proofmark, else ~/.config/proofmark), a log key of the ledger's own in
`log-keys/` there, and the ledger with receipt 0: this person holds every role. In a folder that
has a ledger it says so and changes nothing.

A new identity key is encrypted with PROOFMARK_PASSPHRASE where that is set, else only with
--passphrase. The log key is not encrypted: every append needs it, and it cannot sign receipts.

Examples:
  proofmark init
  proofmark init --person ann --passphrase
  proofmark init --agent --origin example.org/evals
  PROOFMARK_KEY=\"$(cat ci)\" PROOFMARK_LOG_KEY=\"$(cat log)\" proofmark init --person ci")]
pub struct Arguments {
    #[command(flatten)]
    keys: KeyOptions,
    /// The person who holds every role at first [default: $USER, else `owner`]
    #[arg(long, value_name = "NAME")]
    person: Option<String>,
    /// The log's name, by custom a URL without its scheme [default: `proofmark.local/` and 8 hex digits of the log key]
    #[arg(long, value_name = "NAME")]
    origin: Option<String>,
    /// Ask for a passphrase to encrypt the new identity key with
    #[arg(long, conflicts_with_all = ["key", "agent"])]
    passphrase: bool,
}

/// The person's key, found or about to be written.
struct Identity {
    signer: Box<dyn Signer + Sync>,
    /// Where it is, for people.
    place: String,
    file: Option<PathBuf>,
    new: Option<NewKey>,
}

struct NewKey {
    text: Zeroizing<String>,
    encrypted: bool,
}

/// The log's key, found or about to be written.
struct LogSecret {
    secret: SecretKey,
    /// Where it was named, unless it is new.
    named: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    schema: &'static str,
    created: bool,
    folder: String,
    origin: &'a str,
    genesis: ReceiptId,
    size: u64,
    log_key: String,
    persons: Vec<PersonDocument<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    keys: Option<KeysDocument<'a>>,
}

#[derive(Serialize)]
struct PersonDocument<'a> {
    name: &'a str,
    roles: &'a [Role],
    keys: Vec<KeyId>,
}

impl<'a> PersonDocument<'a> {
    fn of(person: &'a Person) -> Self {
        let keys = person.keys.iter().map(|record| record.key.fingerprint()).collect();
        Self { name: &person.name, roles: &person.roles, keys }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct KeysDocument<'a> {
    identity: &'a str,
    identity_created: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    identity_encrypted: Option<bool>,
    log_key: &'a str,
    log_key_created: bool,
}

/// Makes the ledger, or says that it is there.
pub fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    let folder = match context.named_ledger() {
        Some(folder) => std::path::absolute(folder)?,
        None => std::env::current_dir()?.join(LEDGER),
    };
    refuse_place(&folder)?;
    if let Some(ledger) = present(&folder)? {
        refuse_other(arguments, &ledger)?;
        report(context, &folder, &ledger, None)?;
        return Ok(Exit::Yes);
    }
    create(arguments, context, &folder)?;
    Ok(Exit::Yes)
}

/// A ledger is a folder, in no other ledger, and does not settle among other files.
fn refuse_place(folder: &Path) -> Result<(), Failure> {
    let shown = folder.display();
    match fs::symlink_metadata(folder) {
        Ok(found) if found.is_symlink() => {
            return Err(Failure::refused(format!("`{shown}` is a symbolic link, and a ledger is a folder"))
                .hint("say `--ledger DIR` with the folder that it names"));
        }
        Ok(found) if !found.is_dir() => {
            return Err(Failure::refused(format!("`{shown}` is a file, and a ledger is a folder")));
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error.into()),
    }
    let place = resolved(folder)?;
    match place.ancestors().skip(1).find(|above| is_ledger(above)) {
        Some(outer) => Err(Failure::refused(format!("`{shown}` is inside the ledger `{}`", outer.display()))
            .hint("make it in a folder of its own")),
        None => Ok(()),
    }
}

fn is_ledger(folder: &Path) -> bool {
    folder.file_name() == Some(LEDGER.as_ref()) || (folder.join("checkpoint").is_file() && folder.join("tile").is_dir())
}

/// The ledger that is there, also one whose first run was interrupted just before its end.
fn present(folder: &Path) -> Result<Option<Ledger>, Failure> {
    match Ledger::open(Box::new(Directory::new(folder))) {
        Ok(ledger) => return Ok(Some(ledger)),
        Err(LedgerError::Absent) => {}
        Err(error) => return Err(error.into()),
    }
    if !folder.is_dir() {
        return Ok(None);
    }
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        if !BEGUN.iter().any(|begun| name == *begun) {
            return Err(Failure::refused(format!(
                "`{}` is not empty and no ledger: it has `{}` in it",
                folder.display(),
                name.display()
            ))
            .hint("`--ledger DIR` names the ledger's own folder, such as `.ledger`"));
        }
    }
    Ok(None)
}

/// A ledger with another name or of other persons is not the one that was asked for.
fn refuse_other(arguments: &Arguments, ledger: &Ledger) -> Result<(), Failure> {
    let origin = ledger.log().origin();
    if let Some(wanted) = arguments.origin.as_deref().filter(|wanted| *wanted != origin) {
        return Err(Failure::refused(format!("the ledger is there already, and its origin is {origin}, not {wanted}"))
            .hint("an origin never changes; make another ledger in another folder"));
    }
    let trust = ledger.trust_now(&ledger.snapshot()?)?;
    let persons = trust.now().persons();
    match arguments.person.as_deref().filter(|wanted| persons.iter().all(|person| person.name != *wanted)) {
        Some(wanted) => Err(Failure::refused(format!(
            "the ledger is there already, and its trust does not list the person {wanted}"
        ))
        .hint("persons are added by `proofmark trust add`")),
        None => Ok(()),
    }
}

fn create(arguments: &Arguments, context: &Context, folder: &Path) -> Result<(), Failure> {
    let person = person_name(arguments);
    let recorded_at = context.recorded_at()?;
    let log = log_secret(arguments, context)?;
    let origin = match &arguments.origin {
        Some(origin) => plain_origin(origin)?.to_owned(),
        None => default_origin(log.secret.public().raw()),
    };
    let log_signer = LogSigner::new(&origin, &log.secret)?;
    let identity = identity(arguments, context, &person)?;
    refuse_untrustable(&person, &identity, &log, &log_signer)?;
    if let (Some(new), Some(file)) = (&identity.new, &identity.file) {
        create_pair(file, &new.text, &format!("{} {person}\n", identity.signer.public()))?;
    }
    let log_place = match &log.named {
        Some(place) => place.clone(),
        None => {
            let file = log_key_folder(context)?.join(log_key_name(log_signer.key()));
            create_private(&file, &log.secret.to_openssh(&origin, None)?)?;
            file.display().to_string()
        }
    };
    let genesis = Genesis {
        person: &person,
        signer: identity.signer.as_ref(),
        log: &log_signer,
        recorded_at,
        tool: context.tool(),
    };
    let ledger = Ledger::create(Box::new(Directory::new(folder)), &genesis)?;
    if let Some(parent) = folder.parent() {
        // The ledger's own folder is an entry of the one above it.
        File::open(parent)?.sync_all()?;
    }
    context.remember_made(folder);
    let keys = KeysDocument {
        identity: &identity.place,
        identity_created: identity.new.is_some(),
        identity_encrypted: identity.new.as_ref().map(|new| new.encrypted),
        log_key: &log_place,
        log_key_created: log.named.is_none(),
    };
    report(context, folder, &ledger, Some(keys))
}

fn person_name(arguments: &Arguments) -> String {
    let user = || std::env::var("USER").ok().filter(|name| !name.is_empty());
    arguments.person.clone().or_else(user).unwrap_or_else(|| "owner".to_owned())
}

/// What every reader of the log can write in a file, a URL and a header.
fn plain_origin(origin: &str) -> Result<&str, Failure> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._~/:@".contains(c);
    if (1..=255).contains(&origin.len()) && origin.chars().all(plain) {
        return Ok(origin);
    }
    let rule = "an origin has 1 to 255 letters, digits and `-._~/:@`";
    Err(Failure::refused(format!("`{}` is no origin: {rule}", one_line(origin)))
        .hint("by custom it is a URL without its scheme, as in `example.org/evals`"))
}

/// The log's key: the one that was named, else a new one.
fn log_secret(arguments: &Arguments, context: &Context) -> Result<LogSecret, Failure> {
    if let Some((named, secret)) = named_log_secret(&arguments.keys, context)? {
        return Ok(LogSecret { secret, named: Some(named) });
    }
    refuse_inside_ledger(&log_key_folder(context)?, context)?;
    Ok(LogSecret { secret: SecretKey::generate(seed()?), named: None })
}

/// The person's key: the one that was named, else the one in the configuration folder, else a new one for there.
fn identity(arguments: &Arguments, context: &Context, person: &str) -> Result<Identity, Failure> {
    let place = arguments.keys.place(context)?;
    if let Place::Identity(file) = &place
        && is_absent(file)
    {
        return new_identity(arguments, context, file, person);
    }
    if arguments.passphrase {
        let hint = "`ssh-keygen -p -f FILE` sets the passphrase of an existing key";
        return Err(Failure::refused(format!("--passphrase is for a new key, and there is one: {place}")).hint(hint));
    }
    let signer = signer(&arguments.keys, context)?;
    let file = match &place {
        Place::File(file) | Place::Identity(file) => Some(file.clone()),
        Place::Agent(_) | Place::Environment => None,
    };
    Ok(Identity { signer, place: place.to_string(), file, new: None })
}

fn new_identity(arguments: &Arguments, context: &Context, file: &Path, person: &str) -> Result<Identity, Failure> {
    refuse_inside_ledger(file, context)?;
    refuse_taken(file).map_err(|failure| {
        failure.hint("if its private key is in ssh-agent say `--agent`, if elsewhere `--key FILE`; else move it away")
    })?;
    let secret = SecretKey::generate(seed()?);
    let passphrase = passphrase::chosen(arguments.passphrase)?;
    let text = private_text(&secret, person, passphrase.as_deref().map(String::as_str))?;
    Ok(Identity {
        signer: Box::new(secret),
        place: file.display().to_string(),
        file: Some(file.to_owned()),
        new: Some(NewKey { text, encrypted: passphrase.is_some() }),
    })
}

/// The text of a new private key file.
pub fn private_text(secret: &SecretKey, comment: &str, passphrase: Option<&str>) -> Result<Zeroizing<String>, Failure> {
    let encryption = match passphrase {
        Some(passphrase) => Some(Encryption { passphrase, salt: seed()? }),
        None => None,
    };
    Ok(secret.to_openssh(comment, encryption)?)
}

/// Refuses what receipt 0 could not state, while nothing is written yet.
fn refuse_untrustable(
    person: &str,
    identity: &Identity,
    log: &LogSecret,
    signer: &LogSigner<'_>,
) -> Result<(), Failure> {
    let key = *identity.signer.public();
    if key == *log.secret.public() {
        return Err(Failure::refused("the log key is the person's key: the log has a key of its own")
            .hint("leave the log key out to have one made, or make one with `proofmark key new --out FILE`"));
    }
    let log = LogKey { origin: signer.key().name().to_owned(), key: signer.key().to_string() };
    match Statement::first(person, key, log) {
        Ok(_) => Ok(()),
        Err(TrustError::Statement { field, reason }) if field == "persons[0].name" => {
            Err(Failure::refused(format!("`{}` cannot be a person's name: it {reason}", one_line(person)))
                .hint("choose one with `--person NAME`"))
        }
        Err(error) => Err(error.into()),
    }
}

fn report(context: &Context, folder: &Path, ledger: &Ledger, keys: Option<KeysDocument<'_>>) -> Result<(), Failure> {
    let log = ledger.log();
    let trust = ledger.trust_now(&ledger.snapshot()?)?;
    let document = Document {
        schema: "init.v1",
        created: keys.is_some(),
        folder: folder.display().to_string(),
        origin: log.origin(),
        genesis: log.genesis,
        size: ledger.snapshot()?.size(),
        log_key: log.key.to_string(),
        persons: trust.now().persons().iter().map(PersonDocument::of).collect(),
        keys,
    };
    context.answer(&document, || text(&document))
}

fn text(document: &Document<'_>) -> String {
    let head = if document.created { "made a ledger:" } else { "there is a ledger already, nothing was changed:" };
    let mut text = format!("{head} {}\n", one_line(&document.folder));
    let mut line = |label: &str, value: &str| text.push_str(&format!("  {label:<9}{value}\n"));
    line("origin", document.origin);
    line("genesis", &format!("{}  (pin this digest; give it to your auditor)", document.genesis));
    line("receipts", &document.size.to_string());
    for person in &document.persons {
        let roles: Vec<_> = person.roles.iter().map(Role::to_string).collect();
        line("person", &format!("{} ({})", one_line(person.name), roles.join(", ")));
        person.keys.iter().for_each(|key| line("key", key.as_str()));
    }
    line("log key", &document.log_key);
    if let Some(keys) = &document.keys {
        text.push_str(&keys_text(keys));
    }
    text.push_str("next: proofmark append --questions q.jsonl --answers a.jsonl\n");
    text
}

fn keys_text(keys: &KeysDocument<'_>) -> String {
    let state = match keys.identity_encrypted {
        Some(true) => " (new, encrypted)",
        Some(false) => " (new, not encrypted: `ssh-keygen -p -f FILE` sets a passphrase)",
        None => "",
    };
    let log_state = if keys.log_key_created { " (new)" } else { "" };
    format!(
        "back up both private keys, outside the ledger; a lost one cannot be made again:\n  identity {}{state}\n  log      {}{log_state}\n",
        one_line(keys.identity),
        one_line(keys.log_key)
    )
}
