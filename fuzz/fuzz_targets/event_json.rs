//! Any bytes as an event of ours that is read back.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    pollux_fuzz::event_json(bytes);
});
