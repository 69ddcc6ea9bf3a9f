//! See `properties::leaves`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    properties::leaves(bytes);
});
