//! RFC 8785: what is read from the reference inputs is written as the reference outputs, and those are their own form.

use std::fs;
use std::path::Path;

use proofmark::object::{Json, encode_json, parse};

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
