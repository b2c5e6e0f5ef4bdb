//! Any bytes as what a program draws on a terminal.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    pollux_fuzz::screen(bytes);
});
