//! See `properties::answers`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    properties::answers(bytes);
});
