//! Any bytes as a session file of the new format; the corpus begins with recorded ones.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // With a header in front it is a log, whatever the bytes are.
    let mut log = b"{\"sessionId\":\"s\"}\n".to_vec();
    log.extend_from_slice(bytes);
    pollux_fuzz::read_in_every_way(&log);
});
