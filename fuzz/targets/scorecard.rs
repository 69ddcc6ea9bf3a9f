//! See `properties::scorecard`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    properties::scorecard(bytes);
});
