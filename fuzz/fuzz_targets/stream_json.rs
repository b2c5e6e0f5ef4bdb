//! Any bytes as what a headless run prints.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    pollux_fuzz::stream_json(bytes);
});
