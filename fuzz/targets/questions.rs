//! See `properties::questions`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    properties::questions(bytes);
});
