//! See `properties::canonical_json`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    properties::canonical_json(bytes);
    properties::accepted_canonical(bytes);
});
