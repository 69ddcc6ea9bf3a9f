//! Finding one's way in documents of others: members by path, texts, numbers, and one spelling of any value.

use crate::object::{Json, MAX_SAFE_INTEGER, encode_json};

/// The member at the end of a path of names, if it is there and not null.
pub(super) fn at<'a>(value: &'a Json, path: &[&str]) -> Option<&'a Json> {
    let found = path.iter().try_fold(value, |value, name| match value {
        Json::Object(members) => members.iter().find(|(member, _)| member == name).map(|(_, value)| value),
        _ => None,
    })?;
    (*found != Json::Null).then_some(found)
}

/// A text.
pub(super) fn text<'a>(value: &'a Json, path: &[&str]) -> Option<&'a str> {
    match at(value, path)? {
        Json::String(text) => Some(text),
        _ => None,
    }
}

/// A finite number.
pub(super) fn number(value: &Json, path: &[&str]) -> Option<f64> {
    match at(value, path)? {
        Json::Float(value) => Some(*value),
        #[allow(clippy::cast_precision_loss)] // a score or a cost
        Json::Integer(value) => Some(*value as f64),
        _ => None,
    }
}

/// A count.
pub(super) fn count(value: &Json, path: &[&str]) -> Option<u64> {
    match at(value, path)? {
        Json::Integer(value) => u64::try_from(*value).ok(),
        _ => None,
    }
}

/// A yes or no.
pub(super) fn boolean(value: &Json, path: &[&str]) -> Option<bool> {
    match at(value, path)? {
        Json::Bool(value) => Some(*value),
        _ => None,
    }
}

/// The elements of a list; none where there is none.
pub(super) fn list<'a>(value: &'a Json, path: &[&str]) -> &'a [Json] {
    match at(value, path) {
        Some(Json::Array(items)) => items,
        _ => &[],
    }
}

/// The members of an object; none where there is none.
pub(super) fn members<'a>(value: &'a Json, path: &[&str]) -> &'a [(String, Json)] {
    match at(value, path) {
        Some(Json::Object(members)) => members,
        _ => &[],
    }
}

/// A name that is a text or an integer.
pub(super) fn name(value: &Json, path: &[&str]) -> Option<String> {
    match at(value, path)? {
        Json::String(text) => Some(text.clone()),
        Json::Integer(value) => Some(value.to_string()),
        _ => None,
    }
}

/// A text as it is, anything else in its one spelling.
pub(super) fn shown(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        other => spelled(other),
    }
}

/// The one spelling of a value: RFC 8785, an integer beyond 2^53 - 1 as a string of its digits.
pub(super) fn spelled(value: &Json) -> String {
    let bytes = encode_json(value).or_else(|_| encode_json(&safe(value))).unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

/// A value that canonical JSON can write.
pub(super) fn safe(value: &Json) -> Json {
    match value {
        Json::Integer(value) if value.abs() > MAX_SAFE_INTEGER => Json::String(value.to_string()),
        Json::Array(items) => Json::Array(items.iter().map(safe).collect()),
        Json::Object(members) => {
            Json::Object(members.iter().map(|(name, value)| (name.clone(), safe(value))).collect())
        }
        other => other.clone(),
    }
}

/// How many bytes a value takes at the least when it is written, or `limit` and more where it is longer than that.
pub(super) fn weight(value: &Json, limit: u64) -> u64 {
    let mut sum = 0u64;
    let mut left = vec![value];
    while let Some(value) = left.pop() {
        sum = sum.saturating_add(match value {
            Json::String(text) => text.len() as u64 + 2,
            Json::Array(items) => {
                left.extend(items);
                items.len() as u64 + 1
            }
            Json::Object(members) => {
                left.extend(members.iter().map(|(_, value)| value));
                members.iter().map(|(name, _)| name.len() as u64 + 4).sum::<u64>() + 1
            }
            _ => 1,
        });
        if sum > limit {
            break;
        }
    }
    sum
}

/// An object of these members.
pub(super) fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
    Json::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// The members of an object but for some, which change from run to run and shape nothing.
pub(super) fn without(value: &Json, names: &[&str]) -> Json {
    match value {
        Json::Object(members) => {
            Json::Object(members.iter().filter(|(name, _)| !names.contains(&name.as_str())).cloned().collect())
        }
        other => other.clone(),
    }
}

/// A member of the value if it is there, else null.
pub(super) fn or_null(value: &Json, path: &[&str]) -> Json {
    at(value, path).cloned().unwrap_or(Json::Null)
}

/// Whether a text says that there is no score: `NaN`, `N/A`, or nothing.
pub(super) fn is_no_score(text: &str) -> bool {
    matches!(text.trim().to_lowercase().as_str(), "" | "nan" | "n/a")
}

/// What a message shows of a text of others: at most 200 characters.
pub(super) fn short(text: &str) -> String {
    const LONGEST: usize = 200;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A text as a value.
pub(super) fn string(text: impl Into<String>) -> Json {
    Json::String(text.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::parse;

    #[test]
    fn every_value_has_one_spelling() {
        let value = parse(br#"{"b":[1.0,9007199254740993],"a":null}"#).unwrap();
        assert_eq!(spelled(&value), r#"{"a":null,"b":[1,"9007199254740993"]}"#);
        assert_eq!((short("é"), short(&"é".repeat(201))), ("é".to_owned(), "é".repeat(200) + "…"));
        assert_eq!(weight(&value, 1000), 17);
        assert!(weight(&value, 5) > 5);
        assert_eq!(shown(&string("x")), "x");
        assert_eq!(at(&value, &["a"]), None);
        assert_eq!(name(&list(&value, &["b"])[1], &[]), Some("9007199254740993".to_owned()));
    }
}
