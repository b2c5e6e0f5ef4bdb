//! Any bytes as a profile: markdown with YAML in front.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    pollux_fuzz::profile(bytes);
});
