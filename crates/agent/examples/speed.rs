//! How fast a recorded stream is translated, beside `serde_json` merely parsing the same lines. Used by
//! `cargo xtask bench headless`; prints one JSON object.
#![expect(clippy::print_stdout, reason = "the figures are what was asked for")]

use pollux_agent::gemini::stream::Translator;
use serde_json::Value;
use std::borrow::Cow;
use std::hint::black_box;
use std::time::Instant;

/// A line as a program would read it that knows the format and keeps no more than it has to.
#[derive(serde::Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(dead_code, reason = "reading them is what is measured")]
enum Line<'a> {
    Init {
        timestamp: Cow<'a, str>,
        session_id: Cow<'a, str>,
        model: Cow<'a, str>,
    },
    Message {
        timestamp: Cow<'a, str>,
        role: Cow<'a, str>,
        content: Cow<'a, str>,
    },
    ToolUse {
        timestamp: Cow<'a, str>,
        tool_name: Cow<'a, str>,
        tool_id: Cow<'a, str>,
        parameters: Value,
    },
    ToolResult {
        timestamp: Cow<'a, str>,
        tool_id: Cow<'a, str>,
        status: Cow<'a, str>,
        output: Option<Cow<'a, str>>,
    },
    Error {
        timestamp: Cow<'a, str>,
        severity: Cow<'a, str>,
        message: Cow<'a, str>,
    },
    Result {
        timestamp: Cow<'a, str>,
        status: Cow<'a, str>,
        stats: Option<Value>,
    },
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("which file?")?;
    let text = std::fs::read_to_string(path)?;
    let lines = || text.split('\n').filter(|line| !line.is_empty());
    let (mut parsed, mut typed, mut skipped) = (f64::MAX, f64::MAX, f64::MAX);
    let mut translated = f64::MAX;
    for _ in 0..5 {
        parsed = parsed.min(seconds(|| {
            lines().for_each(|line| drop(black_box(serde_json::from_str::<Value>(line))));
        }));
        typed = typed.min(seconds(|| {
            lines().for_each(|line| drop(black_box(serde_json::from_str::<Line<'_>>(line))));
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
        serde_json::json!({
            "bytes": bytes, "parsed": parsed, "typed": typed, "skipped": skipped, "translated": translated,
        })
    );
    Ok(())
}

fn seconds(work: impl FnOnce()) -> f64 {
    let since = Instant::now();
    work();
    since.elapsed().as_secs_f64()
}
