//! See `properties::tile`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    properties::tile(bytes);
});
