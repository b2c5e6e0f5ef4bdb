//! How fast a recorded stream is translated, beside `serde_json` merely parsing the same lines. Used by
//! `cargo xtask bench headless`; prints one JSON object.
#![expect(clippy::print_stdout, reason = "the figures are what was asked for")]

use pollux_agent::gemini::stream::Translator;
use serde_json::Value;
use std::hint::black_box;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("which file?")?;
    let text = std::fs::read_to_string(path)?;
    let lines = || text.split('\n').filter(|line| !line.is_empty());
    let (mut parsed, mut skipped, mut translated) = (f64::MAX, f64::MAX, f64::MAX);
    for _ in 0..3 {
        parsed = parsed.min(seconds(|| {
            lines().for_each(|line| drop(black_box(serde_json::from_str::<Value>(line))));
        }));
        skipped = skipped.min(seconds(|| {
            for line in lines() {
                let _read = black_box(serde_json::from_str::<serde::de::IgnoredAny>(line));
            }
        }));
        translated = translated.min(seconds(|| {
            let mut translator = Translator::default();
            let mut events = Vec::new();
            for line in lines() {
                translator.line(line, &mut events);
                black_box(&events);
                events.clear();
            }
        }));
    }
    let bytes = text.len();
    println!(
        "{}",
        serde_json::json!({ "bytes": bytes, "parsed": parsed, "skipped": skipped, "translated": translated })
    );
    Ok(())
}

fn seconds(work: impl FnOnce()) -> f64 {
    let since = Instant::now();
    work();
    since.elapsed().as_secs_f64()
}
