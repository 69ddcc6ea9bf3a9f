//! Values that must appear nowhere: not in the ledger, not on a screen.

use std::fmt;

use crate::trust::Zeroizing;

/// Shorter values are no secrets: `none`, `EMPTY` and the like stand where a key is asked for and none is needed.
const SHORTEST: usize = 8;

/// Secret values that a run was given.
#[derive(Clone, Default)]
pub struct Secrets(Vec<Zeroizing<String>>);

impl Secrets {
    /// Keeps these values from being shown; those under 8 bytes are not looked for.
    pub fn new(values: impl IntoIterator<Item = String>) -> Self {
        Self(values.into_iter().filter(|value| value.len() >= SHORTEST).map(Zeroizing::new).collect())
    }

    /// Whether the text repeats one of them, as it is or as JSON writes it.
    pub fn occur_in(&self, text: &str) -> bool {
        self.0.iter().any(|secret| {
            let written = serde_json::to_string(secret.as_str()).unwrap_or_default();
            let written = written.trim_matches('"');
            text.contains(secret.as_str()) || (!written.is_empty() && text.contains(written))
        })
    }

    /// The text, or a word that it is withheld.
    pub fn screen<'a>(&self, text: &'a str) -> &'a str {
        if self.occur_in(text) { "(withheld: it repeats a secret)" } else { text }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} secrets", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_found_as_it_is_and_as_json_writes_it() {
        let secrets = Secrets::new(["canary-1\"x".to_owned(), "EMPTY".to_owned()]);
        assert!(secrets.occur_in("a canary-1\"x b") && secrets.occur_in(r#""canary-1\"x""#));
        assert!(!secrets.occur_in("EMPTY canary-1"));
        assert_eq!(secrets.screen("x canary-1\"x"), "(withheld: it repeats a secret)");
        assert!(!format!("{secrets:?}").contains("canary"));
    }
}
