//! Finding keys: the person's, and the log's.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use proofmark::ledger::{LedgerError, LogIdentity};
use proofmark::merkle::VerifierKey;
use proofmark::trust::{SecretKey, Signer, TrustError, Zeroizing};

use super::agent;
use super::context::Context;
use super::failure::Failure;
use super::keyfile::{KeyFile, is_absent, refuse_inside_ledger};
use super::passphrase;

/// The variable with the person's key.
pub const KEY_VARIABLE: &str = "PROOFMARK_KEY";
/// The variable with the log's key.
pub const LOG_KEY_VARIABLE: &str = "PROOFMARK_LOG_KEY";
/// How often a passphrase may be mistyped.
const TRIES: usize = 3;

/// Which keys to sign with.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct KeyOptions {
    /// Sign with this OpenSSH Ed25519 private key [default: the key's text in PROOFMARK_KEY, else `id_ed25519` in the
    /// configuration folder]; PROOFMARK_PASSPHRASE opens an encrypted one, else its passphrase is asked for
    #[arg(long, value_name = "FILE", conflicts_with = "agent", help_heading = "Keys")]
    pub key: Option<PathBuf>,
    /// Sign with a key in ssh-agent: the only Ed25519 one, or the one with this fingerprint or comment
    #[arg(long, value_name = "SHA256:…|COMMENT", num_args = 0..=1, require_equals = true, help_heading = "Keys")]
    pub agent: Option<Option<String>>,
    /// The ledger's log key [default: the key's text in PROOFMARK_LOG_KEY, else the ledger's own in `log-keys/` of the
    /// configuration folder]
    #[arg(long, value_name = "FILE", help_heading = "Keys")]
    pub log_key: Option<PathBuf>,
}

/// Why a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file or socket cannot be used.
    #[error("cannot {action} `{}`", path.display())]
    Io {
        /// What was being done.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// It is no key that can be used here.
    #[error("cannot use {what}")]
    Unusable {
        /// Where the key is.
        what: String,
        /// Why not.
        #[source]
        source: TrustError,
    },
    /// It is another key than this ledger's.
    #[error("the key in `{place}` is not this ledger's log key")]
    OtherLog {
        /// Where the key is.
        place: String,
        /// Both keys.
        #[source]
        source: LedgerError,
    },
}

/// Where the person's key is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In a file that was named.
    File(PathBuf),
    /// In ssh-agent, perhaps under this fingerprint or comment.
    Agent(Option<String>),
    /// In the environment.
    Environment,
    /// In the configuration folder.
    Identity(PathBuf),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(file) | Self::Identity(file) => write!(f, "{}", file.display()),
            Self::Agent(_) => f.write_str("ssh-agent"),
            Self::Environment => f.write_str(KEY_VARIABLE),
        }
    }
}

impl KeyOptions {
    /// Where the person's key is: `--key` or `--agent`, else `PROOFMARK_KEY`, else the configuration folder.
    pub fn place(&self, context: &Context) -> Result<Place, Failure> {
        if let Some(file) = &self.key {
            return Ok(Place::File(file.clone()));
        }
        if let Some(choice) = &self.agent {
            return Ok(Place::Agent(choice.clone()));
        }
        if std::env::var_os(KEY_VARIABLE).is_some() {
            return Ok(Place::Environment);
        }
        Ok(Place::Identity(identity_path(context)?))
    }
}

/// The key that `proofmark init` makes: `id_ed25519` in the configuration folder.
pub fn identity_path(context: &Context) -> Result<PathBuf, Failure> {
    let folder = context.config_folder().map_err(|failure| {
        failure.hint("set HOME or XDG_CONFIG_HOME to an absolute path, or say `--key FILE`, `--agent` or PROOFMARK_KEY")
    })?;
    Ok(folder.join("id_ed25519"))
}

/// The person's signer.
pub fn signer(options: &KeyOptions, context: &Context) -> Result<Box<dyn Signer + Sync>, Failure> {
    Ok(match options.place(context)? {
        Place::File(file) => Box::new(from_file(&file, context)?),
        Place::Agent(choice) => Box::new(agent::signer(choice.as_deref())?.0),
        Place::Environment => Box::new(from_environment(KEY_VARIABLE, context)?),
        Place::Identity(file) if is_absent(&file) => return Err(no_key(&file)),
        Place::Identity(file) => Box::new(from_file(&file, context)?),
    })
}

/// There is no key anywhere.
pub fn no_key(identity: &Path) -> Failure {
    Failure::refused(format!("there is no key to sign with: `{}` does not exist", identity.display()))
        .hint("`proofmark init` or `proofmark key new` makes one; `--key FILE`, `--agent` and PROOFMARK_KEY name one")
}

/// The secret half of the log's key; any other key is refused.
pub fn log_secret(options: &KeyOptions, context: &Context, log: &LogIdentity) -> Result<SecretKey, Failure> {
    find_log_secret(options, context, &log.key).map(|(_, secret)| secret)
}

/// As [`log_secret`], and where it is.
pub fn find_log_secret(
    options: &KeyOptions,
    context: &Context,
    wanted: &VerifierKey,
) -> Result<(String, SecretKey), Failure> {
    if let Some((place, secret)) = named_log_secret(options, context)? {
        refuse_other_log(&place, &secret, wanted)?;
        return Ok((place, secret));
    }
    let folder = log_key_folder(context)?;
    let mut other = None;
    for file in log_key_files(&folder, wanted.key_hash())? {
        let (place, secret) = (file.display().to_string(), from_file(&file, context)?);
        match refuse_other_log(&place, &secret, wanted) {
            Ok(()) => return Ok((place, secret)),
            Err(failure) => other = Some(failure),
        }
    }
    Err(other.unwrap_or_else(|| {
        let file = folder.join(log_key_name(wanted));
        Failure::refused(format!("this machine does not hold the ledger's log key, {wanted}")).hint(format!(
            "copy it from where the ledger was made to `{}`, or give it by `--log-key FILE` or {LOG_KEY_VARIABLE}",
            file.display()
        ))
    }))
}

/// The log key that was named, by `--log-key` or in the environment, and where it is.
pub fn named_log_secret(options: &KeyOptions, context: &Context) -> Result<Option<(String, SecretKey)>, Failure> {
    if let Some(file) = &options.log_key {
        return Ok(Some((file.display().to_string(), from_file(file, context)?)));
    }
    if std::env::var_os(LOG_KEY_VARIABLE).is_some() {
        return Ok(Some((LOG_KEY_VARIABLE.to_owned(), from_environment(LOG_KEY_VARIABLE, context)?)));
    }
    Ok(None)
}

/// The folder of the log keys.
pub fn log_key_folder(context: &Context) -> Result<PathBuf, Failure> {
    let folder = context.config_folder().map_err(|_| {
        Failure::refused("there is no home folder where the log key could be").hint(format!(
            "set {LOG_KEY_VARIABLE} to the key's text, say `--log-key FILE`, or set HOME or XDG_CONFIG_HOME to an absolute path"
        ))
    })?;
    Ok(folder.join("log-keys"))
}

/// The file name of a log key: its hash, which finds it, and its origin, for people.
pub fn log_key_name(key: &VerifierKey) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' || c == '-' { c } else { '_' };
    format!("{:08x}-{}", key.key_hash(), key.name().chars().take(64).map(plain).collect::<String>())
}

/// The private keys in the folder of the log keys whose name begins with this hash, by name.
fn log_key_files(folder: &Path, hash: u32) -> Result<Vec<PathBuf>, Failure> {
    let unreadable = |source| Failure::failed(KeyError::Io { action: "list", path: folder.to_owned(), source });
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(error)),
    };
    let start = format!("{hash:08x}-");
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(&start) && !name.ends_with(".pub") {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

fn refuse_other_log(place: &str, secret: &SecretKey, wanted: &VerifierKey) -> Result<(), Failure> {
    if secret.public().raw() == wanted.raw() {
        return Ok(());
    }
    let found = VerifierKey::new(wanted.name(), *secret.public().raw()).map_err(LedgerError::from)?;
    let source = LedgerError::OtherLogKey { found: found.to_string(), wanted: wanted.to_string() };
    Err(Failure::refused(KeyError::OtherLog { place: place.to_owned(), source }))
}

/// The private key in a file outside every ledger.
pub fn from_file(file: &Path, context: &Context) -> Result<SecretKey, Failure> {
    refuse_inside_ledger(file, context)?;
    let content = KeyFile::read(file)?;
    let what = quoted(file);
    if let Err(exposed) = content.refuse_exposed() {
        // What is no private key is called that, and not exposed.
        SecretKey::needs_passphrase(&content.text).map_err(|source| unusable(&what, source))?;
        return Err(exposed);
    }
    open(&content.text, &what, context)
}

fn from_environment(name: &'static str, context: &Context) -> Result<SecretKey, Failure> {
    let text = variable(name)?.unwrap_or_default();
    if text.trim().is_empty() {
        return Err(Failure::refused(format!("{name} is set and empty"))
            .hint("give it the text of a private key file, or unset it"));
    }
    open(&text, name, context).map_err(|failure| match text.contains("-----BEGIN") {
        true => failure,
        false => failure
            .hint(format!("{name} holds the whole text of a private key file with its line breaks, not a file's name")),
    })
}

/// The value of a variable of the environment.
pub fn variable(name: &str) -> Result<Option<Zeroizing<String>>, Failure> {
    let value = std::env::var_os(name).map(|value| value.into_string().map(Zeroizing::new));
    value.transpose().map_err(|_| Failure::refused(format!("{name} is not text")))
}

/// Opens the private key, with the passphrase in the environment or, as often as a person may mistype it, asked for.
fn open(text: &str, what: &str, context: &Context) -> Result<SecretKey, Failure> {
    let failed = |source| unusable(what, source);
    match SecretKey::from_openssh(text, None) {
        Err(TrustError::PassphraseMissing) => {}
        opened => return opened.map_err(failed),
    }
    if let Some(given) = passphrase::given()? {
        return SecretKey::from_openssh(text, Some(&given)).map_err(|source| {
            failed(source).hint(format!("{} is set, and is taken for every key", passphrase::VARIABLE))
        });
    }
    for _ in 1..TRIES {
        match SecretKey::from_openssh(text, Some(&passphrase::ask(what)?)) {
            Err(TrustError::PassphraseWrong) => context.note("wrong passphrase"),
            other => return other.map_err(failed),
        }
    }
    SecretKey::from_openssh(text, Some(&passphrase::ask(what)?)).map_err(failed)
}

fn unusable(what: &str, source: TrustError) -> Failure {
    Failure::refused(KeyError::Unusable { what: what.to_owned(), source })
}

fn quoted(file: &Path) -> String {
    format!("`{}`", file.display())
}

/// Fresh randomness from the system: the seed of a key, or a salt.
pub fn seed<const N: usize>() -> Result<[u8; N], Failure> {
    let mut bytes = [0u8; N];
    getrandom::getrandom(&mut bytes).map_err(|error| Failure::failed(io::Error::from(error)))?;
    Ok(bytes)
}
