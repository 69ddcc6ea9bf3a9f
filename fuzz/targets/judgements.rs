//! See `properties::judgements`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    properties::judgements(bytes);
});
