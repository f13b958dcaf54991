//! Runs `document` under libFuzzer.
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| kapsa_fuzz_targets::document(data));
