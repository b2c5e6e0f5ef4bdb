//! Any bytes as a conversation over the Agent Client Protocol.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    pollux_fuzz::acp_lines(bytes);
});
