//! See `properties::proof_file`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    properties::proof_file(bytes);
});
