//! `proofmark key`: make a key, show one, export a public half.

use std::path::{Path, PathBuf};

use proofmark::ledger::{Ledger, LogIdentity};
use proofmark::merkle::VerifierKey;
use proofmark::trust::{KeyId, PublicKey, Role, SecretKey, Signer, Standing, Statement};
use serde::Serialize;

use super::agent;
use super::context::Context;
use super::failure::{Exit, Failure, one_line};
use super::init::private_text;
use super::keyfile::{KeyFile, create_pair, is_absent, public_path, refuse_inside_ledger, refuse_taken};
use super::keys::{KEY_VARIABLE, KeyError, KeyOptions, Place, find_log_secret, identity_path, no_key, seed, variable};
use super::passphrase;

/// What the command takes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  proofmark key new --passphrase                      an identity key in the configuration folder
  proofmark key new --out ci-key                      a key for CI
  proofmark key show                                  its fingerprint, and what it may do in this ledger
  proofmark key show --log                            where this machine has the ledger's log key
  proofmark key export                                the line for a file that `proofmark trust add` takes
  proofmark key export --log --format vkey            what verifies this ledger's checkpoints elsewhere")]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Make an Ed25519 key: an OpenSSH private key file and its `.pub`
    New(New),
    /// Show a key's fingerprint and what it may do in the ledger
    Show(Show),
    /// Print the public half of a key
    Export(Export),
}

#[derive(Debug, clap::Args)]
struct New {
    /// Where [default: `id_ed25519` in the configuration folder]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// A word in the key file on whose it is [default: $USER, else `proofmark`]
    #[arg(long, value_name = "TEXT")]
    comment: Option<String>,
    /// Ask for a passphrase to encrypt it with (PROOFMARK_PASSPHRASE, where set, is taken without asking)
    #[arg(long)]
    passphrase: bool,
}

#[derive(Debug, clap::Args)]
struct Which {
    /// A private or public key file [default: the key that would sign]
    #[arg(conflicts_with = "agent")]
    file: Option<PathBuf>,
    /// A key in ssh-agent: the only Ed25519 one, or the one with this fingerprint or comment
    #[arg(long, value_name = "SHA256:…|COMMENT", num_args = 0..=1, require_equals = true)]
    agent: Option<Option<String>>,
}

#[derive(Debug, clap::Args)]
struct Show {
    #[command(flatten)]
    which: Which,
    /// The log key of the ledger, and where this machine has its private half
    #[arg(long, conflicts_with_all = ["file", "agent"])]
    log: bool,
}

#[derive(Debug, clap::Args)]
struct Export {
    #[command(flatten)]
    which: Which,
    /// How it is written
    #[arg(long, value_enum, default_value_t = Format::Openssh)]
    format: Format,
    /// The log key of the ledger instead of a person's
    #[arg(long, conflicts_with_all = ["file", "agent", "name"])]
    log: bool,
    /// The name in a person's vkey
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
enum Format {
    /// `ssh-ed25519 AAAA…`
    Openssh,
    /// SubjectPublicKeyInfo, as openssl reads it
    Pem,
    /// C2SP verifier key, `name+hash+base64`
    Vkey,
}

/// A public half and where it was found.
struct Found {
    key: PublicKey,
    place: String,
    comment: Option<String>,
    /// Whether its private half is encrypted, where that was seen.
    encrypted: Option<bool>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    schema: &'static str,
    created: bool,
    fingerprint: KeyId,
    kind: &'static str,
    public_key: PublicKey,
    place: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    comment: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encrypted: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ledger: Option<Part<'a>>,
}

/// What a key is in a ledger.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    origin: &'a str,
    trust_version: u64,
    is_log_key: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    person: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Standing>,
    roles: &'a [Role],
}

#[derive(Serialize)]
struct ExportDocument<'a> {
    schema: &'static str,
    fingerprint: KeyId,
    format: Format,
    text: &'a str,
}

/// Does what was asked.
pub fn run(arguments: &Arguments, context: &Context) -> Result<Exit, Failure> {
    match &arguments.action {
        Action::New(new) => make(new, context)?,
        Action::Show(arguments) => show(arguments, context)?,
        Action::Export(export) => print_public(export, context)?,
    }
    Ok(Exit::Yes)
}

fn make(new: &New, context: &Context) -> Result<(), Failure> {
    let file = match &new.out {
        Some(file) => file.clone(),
        None => identity_path(context)?,
    };
    refuse_inside_ledger(&file, context)?;
    refuse_taken(&file)?;
    let user = || std::env::var("USER").ok().filter(|name| !name.is_empty());
    let comment = new.comment.clone().or_else(user).unwrap_or_else(|| "proofmark".to_owned());
    let secret = SecretKey::generate(seed()?);
    let passphrase = passphrase::chosen(new.passphrase)?;
    let text = private_text(&secret, &comment, passphrase.as_deref().map(String::as_str))?;
    let key = *secret.public();
    create_pair(&file, &text, &format!("{key} {comment}\n"))?;
    let place = file.display().to_string();
    let found = Found { key, place, comment: Some(comment), encrypted: Some(passphrase.is_some()) };
    let document = document(&found, true, None);
    context.answer(&document, || {
        format!(
            "{}public   {}\nback up the private key; a lost one cannot be made again\n",
            text_of(&document),
            one_line(&public_path(&file).display().to_string())
        )
    })
}

fn show(arguments: &Show, context: &Context) -> Result<(), Failure> {
    let ledger = if arguments.log { Some(context.ledger()?) } else { nearest(context)? };
    let found = match &ledger {
        Some(ledger) if arguments.log => held_log_key(ledger.log(), context)?,
        _ => find(&arguments.which, context)?,
    };
    let trust = match &ledger {
        Some(ledger) => Some(ledger.trust_now(&ledger.snapshot()?)?),
        None => None,
    };
    let part = ledger.as_ref().zip(trust.as_deref()).map(|(ledger, trust)| part(ledger.log(), trust.now(), &found.key));
    let document = document(&found, false, part);
    context.answer(&document, || text_of(&document))
}

fn held_log_key(log: &LogIdentity, context: &Context) -> Result<Found, Failure> {
    let (place, secret) = find_log_secret(&KeyOptions::default(), context, &log.key)?;
    Ok(Found { key: *secret.public(), place, comment: None, encrypted: None })
}

/// The ledger that is here, if there is one; one that was named has to be there.
fn nearest(context: &Context) -> Result<Option<Ledger>, Failure> {
    if context.named_ledger().is_none() && context.ledger_folder().is_err() {
        return Ok(None);
    }
    context.ledger().map(Some)
}

fn part<'a>(log: &'a LogIdentity, trust: &'a Statement, key: &PublicKey) -> Part<'a> {
    let id = key.fingerprint();
    let person = trust.person_of(&id);
    Part {
        origin: log.origin(),
        trust_version: trust.version(),
        is_log_key: log.key.raw() == key.raw(),
        person: person.map(|person| person.name.as_str()),
        status: trust.record_of(&id).map(|record| record.status),
        roles: person.map_or(&[], |person| person.roles.as_slice()),
    }
}

fn document<'a>(found: &'a Found, created: bool, ledger: Option<Part<'a>>) -> Document<'a> {
    Document {
        schema: "key.v1",
        created,
        fingerprint: found.key.fingerprint(),
        kind: "ssh-ed25519",
        public_key: found.key,
        place: &found.place,
        comment: found.comment.as_deref(),
        encrypted: found.encrypted,
        ledger,
    }
}

fn text_of(document: &Document<'_>) -> String {
    let encrypted = match document.encrypted {
        Some(true) => " (encrypted)",
        Some(false) => " (not encrypted)",
        None => "",
    };
    let mut text = format!("{}\n", document.fingerprint);
    text.push_str(&format!("kind     {}\n", document.kind));
    text.push_str(&format!("place    {}{encrypted}\n", one_line(document.place)));
    if let Some(comment) = document.comment {
        text.push_str(&format!("comment  {}\n", one_line(comment)));
    }
    if let Some(part) = &document.ledger {
        text.push_str(&format!("ledger   {}: {}\n", part.origin, part_text(part)));
    }
    text
}

fn part_text(part: &Part<'_>) -> String {
    let version = part.trust_version;
    match (part.person, part.status) {
        (Some(person), Some(status)) => {
            let roles: Vec<_> = part.roles.iter().map(Role::to_string).collect();
            let roles = if roles.is_empty() { "no role".to_owned() } else { roles.join(", ") };
            format!("{status} key of {} ({roles}), trust version {version}", one_line(person))
        }
        _ if part.is_log_key => "the log's own key".to_owned(),
        _ => format!("nobody's key, trust version {version}"),
    }
}

fn print_public(export: &Export, context: &Context) -> Result<(), Failure> {
    let is_vkey = export.format == Format::Vkey;
    if !is_vkey && export.name.is_some() {
        return Err(Failure::refused("--name is for `--format vkey`"));
    }
    if export.log {
        let ledger = context.ledger()?;
        let verifier = &ledger.log().key;
        return print_as(context, export.format, &PublicKey::from_raw(verifier.raw())?, None, Some(verifier));
    }
    if is_vkey && export.name.is_none() {
        return Err(Failure::refused("a vkey carries a name")
            .hint("`--name NAME` gives one; `--log` exports the vkey of this ledger's log"));
    }
    let found = find(&export.which, context)?;
    let verifier = match &export.name {
        Some(name) => Some(VerifierKey::new(name.as_str(), *found.key.raw()).map_err(|error| {
            Failure::refused(error)
                .hint("a name has no space, no `+` and no control character, as in `ann.example.org`")
        })?),
        None => None,
    };
    print_as(context, export.format, &found.key, found.comment.as_deref(), verifier.as_ref())
}

fn print_as(
    context: &Context,
    format: Format,
    key: &PublicKey,
    comment: Option<&str>,
    verifier: Option<&VerifierKey>,
) -> Result<(), Failure> {
    let text = match (format, verifier) {
        (Format::Vkey, Some(verifier)) => format!("{verifier}\n"),
        (Format::Pem, _) => key.to_pem(),
        _ => match comment.filter(|comment| !comment.is_empty()) {
            Some(comment) => format!("{key} {}\n", one_line(comment)),
            None => format!("{key}\n"),
        },
    };
    let document = ExportDocument { schema: "key-export.v1", fingerprint: key.fingerprint(), format, text: &text };
    context.answer(&document, || text.clone())
}

fn find(which: &Which, context: &Context) -> Result<Found, Failure> {
    let options = KeyOptions { key: which.file.clone(), agent: which.agent.clone(), log_key: None };
    let place = options.place(context)?;
    match &place {
        Place::Identity(file) if is_absent(file) => Err(no_key(file)),
        Place::File(file) | Place::Identity(file) => in_file(file, &place.to_string()),
        Place::Environment => in_text(&variable(KEY_VARIABLE)?.unwrap_or_default(), &place.to_string(), KEY_VARIABLE),
        Place::Agent(choice) => {
            let (signer, comment) = agent::signer(choice.as_deref())?;
            let (key, comment) = (*signer.public(), Some(comment));
            Ok(Found { key, place: place.to_string(), comment, encrypted: None })
        }
    }
}

/// The public half in a private or public key file.
pub fn public_key(file: &Path) -> Result<PublicKey, Failure> {
    in_file(file, "").map(|found| found.key)
}

fn in_file(file: &Path, place: &str) -> Result<Found, Failure> {
    in_text(&KeyFile::read(file)?.text, place, &format!("`{}`", file.display()))
}

/// The public half in the text of a private or public key file.
fn in_text(text: &str, place: &str, what: &str) -> Result<Found, Failure> {
    let unusable = |source| Failure::refused(KeyError::Unusable { what: what.to_owned(), source });
    if text.trim_start().starts_with("-----BEGIN") {
        let key = SecretKey::public_half(text).map_err(unusable)?;
        let encrypted = Some(SecretKey::needs_passphrase(text).map_err(unusable)?);
        return Ok(Found { key, place: place.to_owned(), comment: None, encrypted });
    }
    let key = PublicKey::from_openssh(text).map_err(unusable)?;
    let comment = text.trim().splitn(3, [' ', '\t']).nth(2).map(|comment| comment.trim().to_owned());
    Ok(Found { key, place: place.to_owned(), comment, encrypted: None })
}
