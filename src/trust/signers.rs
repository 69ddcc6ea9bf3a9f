//! OpenSSH's `allowed_signers` (ssh-keygen(1), ALLOWED SIGNERS): persons and their keys, a key a line.

use super::{Person, PublicKey, Standing, TrustError};

/// Characters that mean something in a list of principals.
const SPECIAL: [char; 7] = [',', '*', '?', '!', '"', '\\', '#'];

/// One line: whose key it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedSigner {
    /// The one principal.
    pub person: String,
    /// The key.
    pub key: PublicKey,
}

/// Reads an `allowed_signers` file. Lines that are blank or begin with `#` say nothing; `namespaces` is passed over, since
/// receipts are signed in one way only.
///
/// # Errors
/// [`TrustError::AllowedSigners`] for a line that cannot be said in a trust statement: a pattern or several principals, a
/// certificate authority, a validity in time, a key that is not plain Ed25519.
pub fn parse_allowed_signers(text: &str) -> Result<Vec<AllowedSigner>, TrustError> {
    let mut signers = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            signers.push(signer(line).map_err(|reason| TrustError::AllowedSigners { line: number, reason })?);
        }
    }
    Ok(signers)
}

fn signer(line: &str) -> Result<AllowedSigner, String> {
    let (person, rest) = principal(line)?;
    if person.is_empty() || person.contains(SPECIAL) {
        return Err(format!(
            "`{person}` is not one person's name: a key belongs to one person, and patterns name many"
        ));
    }
    // A public key begins with its kind; what stands before it are options.
    let mut rest = rest.trim_start();
    while !is_kind(rest) {
        let (option, after) = option(rest)?;
        match option.split_once('=').map_or(option, |(name, _)| name).to_ascii_lowercase().as_str() {
            "namespaces" => {}
            "cert-authority" => return Err("a certificate authority cannot be listed: list each key".to_owned()),
            "valid-after" | "valid-before" => {
                return Err(format!(
                    "`{option}`: keys are judged by the log's order, not by time; retire them instead"
                ));
            }
            _ => return Err(format!("`{option}` is no option that is known, and no key")),
        }
        rest = after.trim_start();
    }
    let key = PublicKey::from_openssh(rest).map_err(|error| error.to_string())?;
    Ok(AllowedSigner { person: person.to_owned(), key })
}

fn principal(line: &str) -> Result<(&str, &str), String> {
    let cut = "the line ends where a key should be";
    match line.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"').ok_or_else(|| "the principal's quotes are not closed".to_owned()),
        None => line.split_once([' ', '\t']).ok_or_else(|| cut.to_owned()),
    }
}

fn is_kind(rest: &str) -> bool {
    ["ssh-", "ecdsa-", "sk-"].iter().any(|start| rest.starts_with(start))
}

/// An option, whose value may be in quotes with spaces, and what follows it.
fn option(rest: &str) -> Result<(&str, &str), String> {
    let mut quoted = false;
    let end = rest.find(|c: char| {
        quoted ^= c == '"';
        !quoted && (c == ' ' || c == '\t' || c == ',')
    });
    match end {
        Some(end) if !rest.is_empty() => Ok((&rest[..end], rest.get(end + 1..).unwrap_or_default())),
        _ => Err("the line ends where a key should be".to_owned()),
    }
}

/// Writes the active keys of persons, for `ssh-keygen -Y verify` and git. `namespaces` limits what they are good for there.
///
/// # Errors
/// [`TrustError::Principal`] for a name that cannot be written.
pub fn format_allowed_signers(persons: &[Person], namespaces: Option<&str>) -> Result<String, TrustError> {
    let mut text = String::new();
    for person in persons {
        if person.name.contains(SPECIAL) {
            return Err(TrustError::Principal { name: person.name.clone() });
        }
        let principal = if person.name.contains(' ') { format!("\"{}\"", person.name) } else { person.name.clone() };
        let options = namespaces.map(|namespaces| format!(" namespaces=\"{namespaces}\"")).unwrap_or_default();
        for record in person.keys.iter().filter(|record| record.status == Standing::Active) {
            text.push_str(&format!("{principal}{options} {}\n", record.key));
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::{KeyRecord, SecretKey, Signer};

    fn key(seed: u8) -> PublicKey {
        *SecretKey::generate([seed; 32]).public()
    }

    #[test]
    fn what_is_written_reads_back() {
        let record = |seed, status| KeyRecord { key: key(seed), status };
        let ann = Person {
            name: "Ann of CI".to_owned(),
            keys: vec![record(1, Standing::Active), record(2, Standing::Retired), record(3, Standing::Active)],
            roles: Vec::new(),
        };
        let bob = Person { name: "bob@example.org".to_owned(), keys: vec![record(4, Standing::Active)], roles: vec![] };
        for namespaces in [None, Some("file,git")] {
            let text = format_allowed_signers(&[ann.clone(), bob.clone()], namespaces).unwrap();
            let read = parse_allowed_signers(&text).unwrap();
            let found: Vec<_> = read.iter().map(|one| (one.person.as_str(), one.key)).collect();
            assert_eq!(found, [("Ann of CI", key(1)), ("Ann of CI", key(3)), ("bob@example.org", key(4))]);
        }
        let odd = Person { name: "a*".to_owned(), ..bob };
        assert!(matches!(format_allowed_signers(&[odd], None), Err(TrustError::Principal { .. })));
    }

    #[test]
    fn what_a_trust_statement_cannot_say_is_refused_by_line() {
        let good = key(1);
        for (line, wanted) in [
            ("ann".to_owned(), "ends where a key"),
            (format!("ann,bob {good}"), "not one person's name"),
            (format!("*@example.org {good}"), "patterns name many"),
            (format!("\"ann {good}"), "not closed"),
            (format!("ann cert-authority {good}"), "certificate authority"),
            (format!("ann namespaces=\"git\",valid-before=\"20260101\" {good}"), "retire them instead"),
            (format!("ann something {good}"), "no option"),
            ("ann ssh-rsa AAAA".to_owned(), "key of kind"),
            ("ann namespaces=\"git\"".to_owned(), "ends where a key"),
        ] {
            let text = format!("# comment\n\n{line}\n");
            let error = parse_allowed_signers(&text).unwrap_err();
            assert!(matches!(error, TrustError::AllowedSigners { line: 3, .. }), "{line}: {error}");
            assert!(error.to_string().contains(wanted), "{line}: {error}");
        }
        assert_eq!(parse_allowed_signers("# nobody\n").unwrap(), []);
        let two = format!("ann namespaces=\"a,b c\"  {good} a comment\r\n");
        assert_eq!(parse_allowed_signers(&two).unwrap()[0].person, "ann");
    }
}
