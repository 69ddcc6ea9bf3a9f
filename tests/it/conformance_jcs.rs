//! RFC 8785: what is read from the reference inputs is written as the reference outputs, and those are their own form.

use std::fs;
use std::path::Path;

use proofmark::object::{Json, MAX_SAFE_INTEGER, encode_json, parse};
use proptest::prelude::*;

#[test]
fn the_reference_inputs_become_the_reference_outputs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/vectors/jcs");
    let mut compared = 0;
    for entry in fs::read_dir(folder.join("input")).unwrap() {
        let name = entry.unwrap().file_name();
        let (input, output) = (fs::read(folder.join("input").join(&name)), fs::read(folder.join("output").join(&name)));
        let (input, output) = (parse(&input.unwrap()).unwrap(), output.unwrap());
        assert_eq!(String::from_utf8(encode_json(&input).unwrap()), String::from_utf8(output.clone()), "{name:?}");
        let again: Json = parse(&output).unwrap();
        assert_eq!(encode_json(&again).unwrap(), output, "{name:?}");
        compared += 1;
    }
    assert_eq!(compared, 6);
}

fn json() -> impl Strategy<Value = Json> {
    let number = any::<f64>().prop_filter("JSON has neither NaN nor infinity", |value| value.is_finite());
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        (-MAX_SAFE_INTEGER..=MAX_SAFE_INTEGER).prop_map(Json::Integer),
        number.prop_map(Json::Float),
        any::<String>().prop_map(Json::String),
    ];
    // Keys that sort otherwise as bytes than as UTF-16, and keys that need escapes.
    let key = prop_oneof![any::<String>(), "[ab\u{7f}\u{e9}\u{fb33}\u{1f600}\"\\\\\n\u{1}]{0,3}"];
    leaf.prop_recursive(5, 60, 8, move |inner| {
        let members = prop::collection::btree_map(key.clone(), inner.clone(), 0..8);
        prop_oneof![
            prop::collection::vec(inner, 0..6).prop_map(Json::Array),
            members.prop_map(|members| Json::Object(members.into_iter().rev().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn another_implementation_writes_the_same_bytes(value in json()) {
        prop_assert_eq!(encode_json(&value).unwrap(), serde_jcs::to_vec(&value).unwrap());
    }
}
