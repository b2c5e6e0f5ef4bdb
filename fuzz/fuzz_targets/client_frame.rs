//! Any bytes as a frame of a client of the daemon.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    pollux_fuzz::client_frame(bytes);
});
