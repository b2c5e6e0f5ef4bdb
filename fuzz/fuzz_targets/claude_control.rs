//! Any bytes as lines of one of Claude's SDKs.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    pollux_fuzz::claude_control(bytes);
});
