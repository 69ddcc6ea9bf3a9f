//! See `properties::reveal`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    properties::reveal(bytes);
});
