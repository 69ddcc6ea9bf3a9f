//! Passphrases: from `PROOFMARK_PASSPHRASE`, else asked for on the terminal, where there is somebody to ask.

use std::io::{self, IsTerminal};

use proofmark::trust::Zeroizing;

use super::failure::{Failure, one_line};
use super::keys::variable;

/// The variable.
pub const VARIABLE: &str = "PROOFMARK_PASSPHRASE";

/// The passphrase in the environment; an empty one is none.
pub fn given() -> Result<Option<Zeroizing<String>>, Failure> {
    Ok(variable(VARIABLE)?.filter(|text| !text.is_empty()))
}

/// Asks for the passphrase of `what`.
pub fn ask(what: &str) -> Result<Zeroizing<String>, Failure> {
    prompt(&format!("Passphrase for {}: ", one_line(what)), || {
        Failure::refused(format!("{what} is encrypted, and there is no terminal to ask for its passphrase"))
            .hint(format!("set {VARIABLE}, or load the key into ssh-agent with `ssh-add` and say `--agent`"))
    })
}

/// The passphrase of a key about to be made: the one in the environment, else, where `wanted`, asked for twice.
pub fn chosen(wanted: bool) -> Result<Option<Zeroizing<String>>, Failure> {
    let given = given()?;
    if given.is_some() || !wanted {
        return Ok(given);
    }
    let absent = || {
        Failure::refused("there is no terminal to ask for a passphrase")
            .hint(format!("set {VARIABLE}, or leave out `--passphrase`"))
    };
    let first = prompt("Passphrase for the new key: ", absent)?;
    if first.is_empty() {
        return Err(Failure::refused("an empty passphrase encrypts nothing")
            .hint("leave out `--passphrase` for a key without one"));
    }
    let second = prompt("The same again: ", absent)?;
    if *first != *second {
        return Err(Failure::refused("the two passphrases differ; nothing was written").hint("try again"));
    }
    Ok(Some(first))
}

fn prompt(question: &str, absent: impl Fn() -> Failure) -> Result<Zeroizing<String>, Failure> {
    // A terminal may be attached to a session that nobody looks at: ask only where one is in use.
    if !io::stdin().is_terminal() && !io::stderr().is_terminal() {
        return Err(absent());
    }
    rpassword::prompt_password(question).map(Zeroizing::new).map_err(|_| absent())
}
