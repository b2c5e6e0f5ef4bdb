//! Any bytes as a session file of the old format; the corpus begins with recorded ones.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    pollux_fuzz::read_in_every_way(bytes);
});
