//! Any bytes as what a hook is told.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    pollux_fuzz::hook_payload(bytes);
});
