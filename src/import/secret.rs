//! What foreign settings hold that is nobody else's business: keys, tokens, passwords, headers. None of it shapes a reply,
//! and all of it would stand in a projection that anyone reads, so it is left out of the conditions of every tool.

use super::member::spelled;
use crate::object::{Json, MAX_DEPTH, parse_foreign};

/// How the names of such settings end, in lower case and without `_`, `-`, `.` and spaces.
const ENDINGS: [&str; 22] = [
    "apikey",
    "apikeys",
    "accesskey",
    "accesskeyid",
    "subscriptionkey",
    "privatekey",
    "secretkey",
    "token",
    "secret",
    "secrets",
    "secretaccesskey",
    "password",
    "passwd",
    "passphrase",
    "authorization",
    "header",
    "headers",
    "cookie",
    "cookies",
    "credential",
    "credentials",
    "bearer",
];

/// Names that end in `token` and are settings of a model.
const NO_SECRETS: [&str; 16] = [
    "addbostoken",
    "addeostoken",
    "begintoken",
    "bostoken",
    "clstoken",
    "endtoken",
    "eostoken",
    "masktoken",
    "maxnewtoken",
    "maxtoken",
    "mintoken",
    "padtoken",
    "septoken",
    "starttoken",
    "stoptoken",
    "unktoken",
];

/// Members that may hold a whole request as text, keys and all.
const REQUESTS: [&str; 2] = ["request", "body"];

/// Whether a setting of this name is a secret.
pub(super) fn is_secret(name: &str) -> bool {
    let name: String = name.chars().filter(|c| !matches!(c, '_' | '-' | '.' | ' ')).collect::<String>().to_lowercase();
    ENDINGS.iter().any(|ending| name.ends_with(ending)) && !NO_SECRETS.contains(&name.as_str())
}

/// A value without the members that are secrets, however deep they lie, so that a key that was changed changes nothing.
/// A text that is JSON is treated as what it holds; one word that is an address or a list of `name=value` loses its secrets.
pub(super) fn without_secrets(value: &Json) -> Json {
    match value {
        Json::Array(items) => Json::Array(items.iter().map(without_secrets).collect()),
        Json::Object(members) => {
            let kept = members.iter().filter(|(name, _)| !is_secret(name));
            Json::Object(kept.map(|(name, value)| (name.clone(), without_secrets(value))).collect())
        }
        Json::String(text) => Json::String(clean(text)),
        other => other.clone(),
    }
}

/// Whether a request stands in the value as text that is not JSON. Keys cannot be told from the rest of it.
pub(super) fn is_opaque(value: &Json) -> bool {
    match value {
        Json::Array(items) => items.iter().any(is_opaque),
        Json::Object(members) => members.iter().any(|(name, value)| match value {
            Json::String(text) if REQUESTS.contains(&name.as_str()) => {
                text.contains(char::is_whitespace) && document(text).is_none()
            }
            value => !is_secret(name) && is_opaque(value),
        }),
        _ => false,
    }
}

/// The object or list that a text is.
fn document(text: &str) -> Option<Json> {
    let begins = text.trim_start().starts_with(['{', '[']);
    let value = begins.then(|| parse_foreign(text.as_bytes(), MAX_DEPTH).ok())??;
    matches!(value, Json::Array(_) | Json::Object(_)).then_some(value)
}

fn clean(text: &str) -> String {
    if let Some(value) = document(text) {
        let kept = without_secrets(&value);
        return if kept == value { text.to_owned() } else { spelled(&kept) };
    }
    // Longer texts are what is said to a model, every word of which counts.
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.as_slice() {
        [scheme, _] if ["bearer", "basic"].contains(&scheme.to_lowercase().as_str()) => (*scheme).to_owned(),
        [_] => without_assigned(&without_user(text)),
        _ => text.to_owned(),
    }
}

/// An address without who asks: `https://user:password@host` is `https://host`.
fn without_user(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        Some(at) => format!("{scheme}://{}", &rest[at + 1..]),
        None => text.to_owned(),
    }
}

/// `name=value` without the value, where the name is that of a secret: in queries of addresses, and in lists.
fn without_assigned(text: &str) -> String {
    let piece = |piece: &str| {
        let (body, end) = match piece.strip_suffix(['?', '&', ',', ';']) {
            Some(body) => (body, &piece[body.len()..]),
            None => (piece, ""),
        };
        match body.split_once('=') {
            Some((name, _)) if is_secret(name) => format!("{name}={end}"),
            _ => piece.to_owned(),
        }
    };
    text.split_inclusive(['?', '&', ',', ';']).map(piece).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::parse;

    #[test]
    fn secrets_are_left_out_by_their_names_and_settings_stay() {
        for name in ["api_key", "apiKey", "OPENAI_API_KEY", "token", "hf-token", "secretAccessKey", "extra_headers"] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["max_tokens", "maxTokens", "token_limit", "stop_token", "eos_token", "temperature", "key", "seed"]
        {
            assert!(!is_secret(name), "{name}");
        }
        let value = parse(
            br#"{"a":[{"Api-Key":"c","t":1}],"body":"{\"token\":\"c\",\"x\":1}","headers":{"x":"c"},
            "kwargs":"t=0,api_key=c,top_p=1","say":"token=c and more","url":"https://me:c@h/p?key=1&api_key=c&v=2",
            "b":"Bearer c"}"#,
        )
        .unwrap();
        let kept = r#"{"a":[{"t":1}],"b":"Bearer","body":"{\"x\":1}","kwargs":"t=0,api_key=,top_p=1","say":"token=c and more","url":"https://h/p?key=1&api_key=&v=2"}"#;
        assert_eq!(spelled(&without_secrets(&value)), kept);
    }

    #[test]
    fn a_request_as_text_is_opaque() {
        let opaque = |text: &[u8]| is_opaque(&parse(text).unwrap());
        assert!(opaque(br#"{"a":[{"request":"POST / HTTP/1.1\nX-Key: c"}]}"#));
        assert!(opaque(br#"{"body":"key c"}"#));
        for text in [&br#"{"request":"file://r.txt"}"#[..], br#"{"body":"{\"a\": 1}"}"#, br#"{"body":{"a":"b c"}}"#] {
            assert!(!opaque(text));
        }
    }
}
