//! Finding one's way in documents of others: members by path, texts, numbers, and one spelling of any value.

use std::borrow::Cow;

use crate::object::{Json, JsonValue, MAX_SAFE_INTEGER, encode_json};

/// The member at the end of a path of names, if it is there and not null.
pub(super) fn at<'a, S: AsRef<str>>(value: &'a JsonValue<S>, path: &[&str]) -> Option<&'a JsonValue<S>> {
    let found = path.iter().try_fold(value, |value, name| match value {
        JsonValue::Object(members) => {
            members.iter().find(|(member, _)| member.as_ref() == *name).map(|(_, value)| value)
        }
        _ => None,
    })?;
    (!matches!(found, JsonValue::Null)).then_some(found)
}

/// A text.
pub(super) fn text<'a, S: AsRef<str>>(value: &'a JsonValue<S>, path: &[&str]) -> Option<&'a str> {
    match at(value, path)? {
        JsonValue::String(text) => Some(text.as_ref()),
        _ => None,
    }
}

/// A finite number.
pub(super) fn number<S: AsRef<str>>(value: &JsonValue<S>, path: &[&str]) -> Option<f64> {
    match at(value, path)? {
        JsonValue::Float(value) => Some(*value),
        #[allow(clippy::cast_precision_loss)] // a score or a cost
        JsonValue::Integer(value) => Some(*value as f64),
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
pub(super) fn list<'a, S: AsRef<str>>(value: &'a JsonValue<S>, path: &[&str]) -> &'a [JsonValue<S>] {
    match at(value, path) {
        Some(JsonValue::Array(items)) => items,
        _ => &[],
    }
}

/// The members of an object; none where there is none.
pub(super) fn members<'a, S: AsRef<str>>(value: &'a JsonValue<S>, path: &[&str]) -> &'a [(S, JsonValue<S>)] {
    match at(value, path) {
        Some(JsonValue::Object(members)) => members,
        _ => &[],
    }
}

/// A name that is a text or an integer.
pub(super) fn name(value: &Json, path: &[&str]) -> Option<String> {
    named(value, path).map(Cow::into_owned)
}

/// As [`name`], borrowed where it is a text.
pub(super) fn named<'a, S: AsRef<str>>(value: &'a JsonValue<S>, path: &[&str]) -> Option<Cow<'a, str>> {
    match at(value, path)? {
        JsonValue::String(text) => Some(Cow::Borrowed(text.as_ref())),
        JsonValue::Integer(value) => Some(Cow::Owned(value.to_string())),
        _ => None,
    }
}

/// A text as it is, anything else in its one spelling.
pub(super) fn shown(value: &Json) -> String {
    plain(value).into_owned()
}

/// As [`shown`], borrowed where it is a text.
pub(super) fn plain<S: AsRef<str>>(value: &JsonValue<S>) -> Cow<'_, str> {
    match value {
        JsonValue::String(text) => Cow::Borrowed(text.as_ref()),
        other => Cow::Owned(spelled(other)),
    }
}

/// The one spelling of a value: RFC 8785, an integer beyond 2^53 - 1 as a string of its digits.
pub(super) fn spelled<S: AsRef<str>>(value: &JsonValue<S>) -> String {
    let bytes = encode_json(value).or_else(|_| encode_json(&safe(value))).unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

/// A value that canonical JSON can write.
pub(super) fn safe<S: AsRef<str>>(value: &JsonValue<S>) -> Json {
    match value {
        JsonValue::Integer(value) if value.abs() > MAX_SAFE_INTEGER => Json::String(value.to_string()),
        other => copied(other, safe),
    }
}

/// A value of its own, whose elements and members are made by `inner`.
fn copied<S: AsRef<str>>(value: &JsonValue<S>, inner: fn(&JsonValue<S>) -> Json) -> Json {
    match value {
        JsonValue::Null => Json::Null,
        JsonValue::Bool(value) => Json::Bool(*value),
        JsonValue::Integer(value) => Json::Integer(*value),
        JsonValue::Float(value) => Json::Float(*value),
        JsonValue::String(text) => Json::String(text.as_ref().to_owned()),
        JsonValue::Array(items) => Json::Array(items.iter().map(inner).collect()),
        JsonValue::Object(members) => {
            Json::Object(members.iter().map(|(name, value)| (name.as_ref().to_owned(), inner(value))).collect())
        }
    }
}

/// A value that stands by itself.
pub(super) fn owned<S: AsRef<str>>(value: &JsonValue<S>) -> Json {
    copied(value, owned)
}

/// Whether two values are the same, members in the same order.
pub(super) fn same<S: AsRef<str>, T: AsRef<str>>(one: &JsonValue<S>, other: &JsonValue<T>) -> bool {
    use JsonValue as J;
    match (one, other) {
        (J::Null, J::Null) => true,
        (J::Bool(one), J::Bool(other)) => one == other,
        (J::Integer(one), J::Integer(other)) => one == other,
        (J::Float(one), J::Float(other)) => one == other,
        (J::String(one), J::String(other)) => one.as_ref() == other.as_ref(),
        (J::Array(one), J::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (J::Object(one), J::Object(other)) => {
            let mut pairs = one.iter().zip(other);
            one.len() == other.len()
                && pairs.all(|(one, other)| one.0.as_ref() == other.0.as_ref() && same(&one.1, &other.1))
        }
        _ => false,
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
