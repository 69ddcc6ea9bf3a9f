//! See `properties::dossier`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    properties::dossier(bytes);
});
