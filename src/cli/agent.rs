//! Keys in ssh-agent: reaching it, and choosing among what it holds.

use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use proofmark::trust::{AgentSigner, Identity, KeyId, TrustError, identities};

use super::failure::{Failure, one_line};
use super::keys::KeyError;

const SOCKET: &str = "SSH_AUTH_SOCK";
/// Long enough for a person to confirm a signature.
const PATIENCE: Duration = Duration::from_secs(120);

/// A signer with the agent's key of this fingerprint or comment or, without a choice, its only Ed25519 key; and the
/// key's comment.
pub fn signer(choice: Option<&str>) -> Result<(AgentSigner, String), Failure> {
    let mut stream = connect()?;
    let held = identities(&mut *stream).map_err(unusable)?;
    let Identity { id, comment, .. } = choose(&held, choice)?;
    Ok((AgentSigner::by_id(stream, id).map_err(unusable)?, comment.clone()))
}

fn connect() -> Result<Box<UnixStream>, Failure> {
    let socket = std::env::var_os(SOCKET).filter(|socket| !socket.is_empty()).map(PathBuf::from).ok_or_else(|| {
        Failure::refused(format!("there is no ssh-agent: {SOCKET} is not set"))
            .hint("start one with `eval $(ssh-agent)` and load the key with `ssh-add`, or use `--key FILE`")
    })?;
    let opened = UnixStream::connect(&socket).and_then(|stream| {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Box::new(stream))
    });
    opened.map_err(|source| {
        Failure::failed(KeyError::Io { action: "reach ssh-agent at", path: socket, source })
            .hint(format!("check that it runs and that {SOCKET} names its socket"))
    })
}

fn unusable(source: TrustError) -> Failure {
    let what = "a key in ssh-agent".to_owned();
    match source {
        TrustError::AgentStream { .. } => Failure::failed(KeyError::Unusable { what, source }),
        _ => Failure::refused(KeyError::Unusable { what, source }),
    }
}

fn choose<'a>(held: &'a [Identity], choice: Option<&str>) -> Result<&'a Identity, Failure> {
    let fits = |identity: &&Identity| match choice {
        None => identity.key.is_some(),
        Some(text) => identity.id.as_str() == text || identity.comment == text,
    };
    let fitting: Vec<&Identity> = held.iter().filter(fits).collect();
    // A comment may name keys of several kinds: the one that can sign is meant.
    let able: Vec<&Identity> = fitting.iter().copied().filter(|identity| identity.key.is_some()).collect();
    match (able.as_slice(), fitting.as_slice()) {
        ([one], _) | ([], [one]) => Ok(one),
        ([], _) => Err(none(held, choice)),
        (several, _) => {
            Err(Failure::refused(format!("ssh-agent holds {} keys that fit{}", several.len(), listed(several)))
                .hint("choose one by its fingerprint, `--agent=SHA256:…`, or by its comment"))
        }
    }
}

fn none(held: &[Identity], choice: Option<&str>) -> Failure {
    if let Some(Ok(id)) = choice.filter(|text| text.starts_with("SHA256:")).map(str::parse::<KeyId>) {
        return unusable(TrustError::AgentLacksKey { key: id });
    }
    let wanted = choice.map_or("Ed25519 key".to_owned(), |text| format!("key with the comment `{}`", one_line(text)));
    let held: Vec<&Identity> = held.iter().collect();
    let holding =
        if held.is_empty() { "; it holds none at all".to_owned() } else { format!("; it holds{}", listed(&held)) };
    Failure::refused(format!("ssh-agent holds no {wanted}{holding}")).hint("load one with `ssh-add FILE`")
}

fn listed(held: &[&Identity]) -> String {
    let line = |identity: &&Identity| {
        format!("\n  {} {} ({})", identity.id, one_line(&identity.comment), one_line(&identity.kind))
    };
    held.iter().map(line).collect()
}
