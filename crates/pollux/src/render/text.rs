//! A session for a terminal. Colours are styles that the writer takes out where they are not wanted.

use super::piece::{self, Call, Detail, Piece};
use super::{Header, Options};
use crate::report::human::grouped;
use anstyle::{AnsiColor, Effects, Style};
use pollux_agent::model::{ImageSource, Message, Role, Status};
use std::io::{self, Write};

const TITLE: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const USER: Style = AnsiColor::Cyan.on_default().bold();
const AGENT: Style = AnsiColor::Magenta.on_default().bold();
const TOOL: Style = Style::new().bold();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const WARN: Style = AnsiColor::Yellow.on_default();
const THOUGHT: Style = Style::new().effects(Effects::DIMMED.insert(Effects::ITALIC));

/// How many lines of a result are shown.
const LINES: usize = 8;
/// How long a line of a result may be.
const WIDTH: usize = 400;

/// Writes a session.
pub(super) fn write(
    header: &Header<'_>,
    messages: &[Message<'_>],
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "{TITLE}{}{TITLE:#}", super::title(header))?;
    for (name, value) in super::facts(header, options) {
        writeln!(out, "  {DIM}{name:<9}{DIM:#} {value}")?;
    }
    self::messages(messages, options, out)
}

/// Writes messages without what stands above them.
pub(super) fn messages(
    messages: &[Message<'_>],
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut last = String::new();
    for message in super::shown(messages, options) {
        let pieces = piece::pieces(message);
        if pieces.is_empty() || !options.thinking && pieces.iter().all(is_thought) {
            continue;
        }
        if message.role == Role::System {
            last.clear();
            notice(message, &pieces, options, out)?;
            continue;
        }
        let who = format!("{} {:?}", super::speaker(message), super::provenance(message));
        if who != last {
            heading(message, options, out)?;
            last = who;
        } else if matches!(pieces.first(), Some(Piece::Words(_))) {
            // Words after calls stand apart from what the calls gave back.
            writeln!(out)?;
        }
        for piece in &pieces {
            show(piece, options, out)?;
        }
    }
    Ok(())
}

fn is_thought(piece: &Piece<'_>) -> bool {
    matches!(piece, Piece::Thinking(_))
}

/// Who speaks, and when. It stands only where the speaker changes.
fn heading(message: &Message<'_>, options: &Options<'_>, out: &mut dyn Write) -> io::Result<()> {
    let style = match message.role {
        Role::User if message.meta => DIM,
        Role::User => USER,
        Role::Assistant | Role::System => AGENT,
    };
    write!(out, "\n{style}{}{style:#}", super::speaker(message))?;
    if let Some(time) = message.timestamp {
        write!(out, "  {DIM}{}{DIM:#}", (options.clock)(time))?;
    }
    if let Some(provenance) = super::provenance(message) {
        write!(out, "  {WARN}{provenance}{WARN:#}")?;
    }
    writeln!(out)
}

/// What the CLI itself said.
fn notice(
    message: &Message<'_>,
    pieces: &[Piece<'_>],
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (style, mark) = match super::speaker(message) {
        "Error" => (BAD, '✗'),
        "Warning" => (WARN, '!'),
        _ => (DIM, '·'),
    };
    writeln!(out)?;
    for piece in pieces {
        match piece {
            Piece::Words(text) => {
                for (number, line) in text.lines().enumerate() {
                    let mark = if number == 0 { mark } else { ' ' };
                    writeln!(out, "{style}{mark}{style:#} {DIM}{line}{DIM:#}")?;
                }
            }
            piece => show(piece, options, out)?,
        }
    }
    Ok(())
}

fn show(piece: &Piece<'_>, options: &Options<'_>, out: &mut dyn Write) -> io::Result<()> {
    match piece {
        Piece::Thinking(text) if options.thinking => {
            for (number, line) in text.lines().enumerate() {
                let mark = if number == 0 { '✻' } else { ' ' };
                writeln!(out, "  {THOUGHT}{mark} {line}{THOUGHT:#}")?;
            }
            Ok(())
        }
        Piece::Thinking(_) => Ok(()),
        Piece::Words(text) => indented(text, "  ", out),
        Piece::Image(source) => writeln!(out, "  {DIM}{}{DIM:#}", image(source)),
        Piece::Call(call) => show_call(call, out),
    }
}

fn indented(text: &str, indent: &str, out: &mut dyn Write) -> io::Result<()> {
    for line in text.lines() {
        if line.trim().is_empty() {
            writeln!(out)?;
        } else {
            writeln!(out, "{indent}{line}")?;
        }
    }
    Ok(())
}

/// A picture, which a terminal cannot show.
fn image(source: &ImageSource<'_>) -> String {
    match source {
        ImageSource::Base64 { media_type, data } => {
            let size = data.to_str().len() / 4 * 3;
            let kind = media_type.to_str();
            format!("[{}, {} bytes]", super::clean(&kind), grouped(size as u64))
        }
        ImageSource::Url { url } => format!("[image at {}]", super::clean(&url.to_str())),
    }
}

fn show_call(call: &Call<'_>, out: &mut dyn Write) -> io::Result<()> {
    let style = match call.outcome.as_ref().map(|outcome| outcome.status) {
        Some(Status::Success) => GOOD,
        Some(Status::Error) => BAD,
        Some(Status::Cancelled) | None => WARN,
    };
    write!(out, "  {style}●{style:#} {TOOL}{}{TOOL:#}", call.name)?;
    if !call.headline.is_empty() {
        write!(out, "  {}", call.headline)?;
    }
    writeln!(out, "  {style}{}{style:#}", call.mark())?;
    match &call.detail {
        Detail::Diff(lines) => few(lines, out, |(sign, line), out| {
            let style = match sign {
                '-' => BAD,
                '+' => GOOD,
                _ => DIM,
            };
            writeln!(out, "    {style}{sign} {}{style:#}", piece::cut(line, WIDTH))
        })?,
        Detail::List(lines) => few(lines, out, |line, out| writeln!(out, "    {line}"))?,
        Detail::Code(..) | Detail::None => {}
    }
    let Some(outcome) = &call.outcome else { return Ok(()) };
    let lines: Vec<&str> = outcome.text.lines().collect();
    // A terminal of the CLI's fills its lines with spaces.
    few(&lines, out, |line, out| match piece::cut(line.trim_end(), WIDTH) {
        line if line.is_empty() => writeln!(out),
        line => writeln!(out, "    {DIM}{line}{DIM:#}"),
    })?;
    for source in &outcome.images {
        writeln!(out, "    {DIM}{}{DIM:#}", image(source))?;
    }
    Ok(())
}

/// The first lines, and how many more there are. One line more is shown rather than counted.
fn few<T>(
    lines: &[T],
    out: &mut dyn Write,
    mut line: impl FnMut(&T, &mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let shown = if lines.len() == LINES + 1 { lines.len() } else { LINES.min(lines.len()) };
    for text in lines.iter().take(shown) {
        line(text, out)?;
    }
    match lines.len() - shown {
        0 => Ok(()),
        more => writeln!(out, "    {DIM}… {} more lines{DIM:#}", grouped(more as u64)),
    }
}
