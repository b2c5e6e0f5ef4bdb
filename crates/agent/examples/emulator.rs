//! How fast bytes are drawn, and how fast a screen is read. Used by `cargo xtask bench terminal`; prints one JSON object.
#![expect(clippy::print_stdout, reason = "the figures are what was asked for")]
#![expect(clippy::cast_precision_loss, reason = "figures for people")]

use pollux_agent::gemini::screen::read;
use pollux_agent::terminal::{Emulator, Size};
use std::hint::black_box;
use std::time::Instant;

/// How many bytes are drawn.
const ALL: usize = 64 << 20;
/// How many come at once, as from a pane.
const PIECE: usize = 4096;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("which recording?")?;
    let bytes = std::fs::read(path)?;
    let mut fastest = f64::MAX;
    let mut emulator = Emulator::new(Size { columns: 100, rows: 30 });
    for _ in 0..3 {
        let mut drawn = 0;
        let since = Instant::now();
        while drawn < ALL {
            bytes.chunks(PIECE).for_each(|piece| emulator.feed(black_box(piece)));
            drawn += bytes.len();
        }
        fastest = fastest.min(since.elapsed().as_secs_f64() * ALL as f64 / drawn as f64);
    }
    let since = Instant::now();
    let rounds = 2_000;
    for _ in 0..rounds {
        black_box(read(&black_box(emulator.screen())));
    }
    let reading = since.elapsed().as_secs_f64() / f64::from(rounds);
    let speed = ALL as f64 / fastest / 1e6;
    println!(
        "{}",
        serde_json::json!({ "megabytes_per_second": speed, "reading_us": reading * 1e6 })
    );
    Ok(())
}
