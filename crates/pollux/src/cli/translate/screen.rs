//! `pollux translate --from screen`: a recorded screen, or all bytes that were sent to one.

use super::Translate;
use crate::report;
use pollux_agent::gemini::screen::{Reading, Watch, read};
use pollux_agent::terminal::{Emulator, Screen, Size};
use serde::Serialize;
use std::io::Write;
use std::path::Path;

/// How many bytes are drawn between two looks, as a terminal would.
const STEP: usize = 4096;

/// How much of what has gone over the upper edge is looked at.
const ABOVE: usize = 2_000;

/// What was read, as a line among the events.
#[derive(Serialize)]
struct Line<'a> {
    r#type: &'static str,
    #[serde(flatten)]
    reading: &'a Reading,
}

pub(super) fn translate(
    args: &Translate,
    bytes: &[u8],
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let mut watch = Watch::default();
    let mut see = |screen: &Screen| -> anyhow::Result<Reading> {
        let reading = read(screen);
        for event in watch.see(&reading) {
            report::line(out, &event)?;
        }
        Ok(reading)
    };
    let reading = if is_stream(bytes) {
        let mut emulator =
            Emulator::new(args.size.or_else(|| named(&args.file)).unwrap_or_default());
        let mut last = see(&shown(&emulator, args))?;
        for step in bytes.chunks(STEP) {
            emulator.feed(step);
            last = see(&shown(&emulator, args))?;
        }
        last
    } else {
        let text = String::from_utf8_lossy(bytes);
        let size = args.size.or_else(|| named(&args.file)).unwrap_or_else(|| measured(&text));
        let mut screen = Screen::from_capture(&text, size);
        screen.title.clone_from(&args.title);
        see(&screen)?
    };
    report::line(out, &Line { r#type: "reading", reading: &reading })
}

/// The screen of an emulator, with the title from `--title` if given.
fn shown(emulator: &Emulator, args: &Translate) -> Screen {
    let screen = emulator.screen().below(emulator.history(ABOVE));
    match &args.title {
        Some(title) => screen.titled(title),
        None => screen,
    }
}

/// True for bytes that were sent to a terminal: they move the cursor. A capture has colours at most.
fn is_stream(bytes: &[u8]) -> bool {
    let moves = |pair: &[u8]| matches!(pair, [b'\r', next] if *next != b'\n') || pair == b"\x1b]";
    bytes.windows(2).any(moves) || bytes.windows(3).any(|three| three == b"\x1b[?")
}

/// The size that a file of the recordings has in its name.
fn named(file: &Path) -> Option<Size> {
    file.file_name()?.to_str()?.split('.').find_map(Size::parse)
}

/// The size of a capture: as many rows as there are, as wide as the widest.
fn measured(text: &str) -> Size {
    let plain = Screen::from_capture(text, Size { columns: u16::MAX, rows: u16::MAX });
    let widest =
        plain.rows.iter().map(|row| unicode_width::UnicodeWidthStr::width(row.as_str())).max();
    let short = |number: usize| u16::try_from(number).unwrap_or(u16::MAX).max(1);
    Size { columns: short(widest.unwrap_or(80)), rows: short(text.lines().count()) }
}
