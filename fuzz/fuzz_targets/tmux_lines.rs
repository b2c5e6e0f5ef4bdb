//! Any bytes as lines of tmux's control mode, and as what a program printed.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    pollux_fuzz::tmux_lines(bytes);
});
