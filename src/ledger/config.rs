//! `config.toml`: the format version and defaults for the command line. Nothing in it decides a verification.

use serde::Deserialize;

use super::LedgerError;
use crate::store::{Name, Store, StoreError};

/// The format that this version reads and writes.
pub const FORMAT: i64 = 1;

/// A configuration has at most this many bytes.
const MAX_CONFIG_BYTES: u64 = 64 << 10;

/// The content of `config.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The format of everything in the ledger.
    pub format: i64,
    /// The log's name, for people; the trust statement has the one that counts.
    #[serde(default)]
    pub origin: String,
    /// Defaults for the command line.
    #[serde(default)]
    pub defaults: Defaults,
}

/// What the command line assumes when it is not told.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Defaults {
    /// The line that rounds go to.
    pub line: String,
    /// The judge.
    pub scorer: String,
}

impl Default for Defaults {
    fn default() -> Self {
        Self { line: "main".to_owned(), scorer: "substring/v2".to_owned() }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self { format: FORMAT, origin: String::new(), defaults: Defaults::default() }
    }
}

impl Config {
    fn name() -> Result<Name, StoreError> {
        "config.toml".parse()
    }

    /// Reads it; a ledger without one (a published copy) has the defaults.
    pub(crate) fn read(store: &dyn Store) -> Result<Option<Self>, LedgerError> {
        let Some(bytes) = store.read(&Self::name()?, MAX_CONFIG_BYTES)? else { return Ok(None) };
        let refused = |reason: String| LedgerError::Config { reason };
        let text = String::from_utf8(bytes).map_err(|_| refused("it is not UTF-8".to_owned()))?;
        let read = toml::from_str(&text);
        if let Ok(config @ Self { format: FORMAT, .. }) = read {
            return Ok(Some(config));
        }
        // The format comes first: a later one may have members that we do not know.
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| refused(error.to_string()))?;
        match table.get("format") {
            Some(toml::Value::Integer(FORMAT)) => {}
            Some(toml::Value::Integer(found)) => return Err(LedgerError::Format { found: *found }),
            _ => return Err(refused("`format` must be an integer".to_owned())),
        }
        read.map(Some).map_err(|error| refused(error.to_string()))
    }

    /// Writes a new ledger's configuration.
    pub(super) fn write(store: &dyn Store, origin: &str) -> Result<(), LedgerError> {
        let Defaults { line, scorer } = Defaults::default();
        let origin = toml::Value::String(origin.to_owned());
        let text = format!(
            "# The format of everything in this folder, and defaults for the command line. Nothing here decides a verification.\n\
             format = {FORMAT}\norigin = {origin}\n\n[defaults]\nline = \"{line}\"\nscorer = \"{scorer}\"\n"
        );
        store.publish(&Self::name()?, text.as_bytes())?;
        store.publish(&".gitignore".parse()?, b"index.sqlite*\nlock\nstaging/\n")?;
        store.settle(&[Self::name()?, ".gitignore".parse()?])?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Memory;

    #[test]
    fn any_origin_is_read_back() {
        for origin in ["example.com/log", "a\"b", "a\\b", "'", "'''\"\"\"", "\u{202e}", "#"] {
            let store = Memory::new();
            Config::write(&store, origin).unwrap();
            let config = Config::read(&store).unwrap().unwrap();
            assert_eq!(config, Config { origin: origin.to_owned(), ..Config::default() }, "{origin}");
        }
    }
}
