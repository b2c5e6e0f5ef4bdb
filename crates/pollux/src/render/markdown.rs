//! A session as a markdown document. What a model wrote is markdown already and stands as it is.

use super::piece::{self, Call, Detail, Piece};
use super::{Header, Options};
use pollux_agent::model::{ImageSource, Message};
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};
use std::io::{self, Write};

/// Writes a session.
pub(super) fn write(
    header: &Header<'_>,
    messages: &[Message<'_>],
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "# {}\n", escaped(&super::title(header)))?;
    for (name, value) in super::facts(header, options) {
        writeln!(out, "- **{name}**: {}", code(&value))?;
    }
    let mut last = String::new();
    for message in super::shown(messages, options) {
        let mut pieces = piece::pieces(message);
        pieces.retain(|piece| options.thinking || !matches!(piece, Piece::Thinking(_)));
        if pieces.is_empty() {
            continue;
        }
        let who = format!("{} {:?}", super::speaker(message), super::provenance(message));
        if who != last {
            heading(message, options, out)?;
            last = who;
        }
        for piece in &pieces {
            match piece {
                // Written for the model, with elements that a viewer of markdown would take for its own.
                Piece::Words(text) if message.meta => fenced("", text, out)?,
                piece => show(piece, out)?,
            }
        }
    }
    Ok(())
}

/// Who speaks, and when. It stands only where the speaker changes.
fn heading(message: &Message<'_>, options: &Options<'_>, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "\n## {}", super::speaker(message))?;
    if let Some(time) = message.timestamp {
        write!(out, " · {}", escaped(&(options.clock)(time)))?;
    }
    if let Some(provenance) = super::provenance(message) {
        write!(out, " · {}", escaped(&provenance))?;
    }
    writeln!(out)
}

fn show(piece: &Piece<'_>, out: &mut dyn Write) -> io::Result<()> {
    match piece {
        Piece::Thinking(text) => {
            writeln!(out)?;
            closed(text)
                .lines()
                .try_for_each(|line| writeln!(out, "{}", format!("> {line}").trim_end()))
        }
        Piece::Words(text) => writeln!(out, "\n{}", closed(text)),
        Piece::Image(source) => writeln!(out, "\n{}", image(source)),
        Piece::Call(call) => show_call(call, out),
    }
}

fn show_call(call: &Call<'_>, out: &mut dyn Write) -> io::Result<()> {
    let headline = match &*call.headline {
        "" => String::new(),
        headline => format!(" {}", code(headline)),
    };
    writeln!(out, "\n### {} {}{headline} · {}", call.mark(), escaped(&call.name), call.ending())?;
    match &call.detail {
        Detail::None => {}
        Detail::Diff(lines) => {
            let lines = lines.iter().map(|(sign, line)| format!("{sign}{line}"));
            fenced("diff", &lines.collect::<Vec<_>>().join("\n"), out)?;
        }
        // A command of one line is the headline.
        Detail::Code("sh", command) if *command == call.headline => {}
        Detail::Code(language, text) => fenced(language, text, out)?,
        Detail::List(lines) => {
            writeln!(out)?;
            lines.iter().try_for_each(|line| writeln!(out, "- {}", escaped(line)))?;
        }
    }
    let Some(outcome) = &call.outcome else { return Ok(()) };
    if !outcome.text.is_empty() {
        writeln!(out, "\nResult:")?;
        fenced("", &outcome.text, out)?;
    }
    outcome.images.iter().try_for_each(|source| writeln!(out, "\n{}", image(source)))
}

/// A text in a fence that is longer than any inside.
fn fenced(language: &str, text: &str, out: &mut dyn Write) -> io::Result<()> {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    writeln!(out, "\n{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}

/// A short text as code.
fn code(text: &str) -> String {
    let tick = "`".repeat(longest_run(text) + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{tick}{pad}{}{pad}{tick}", text.replace('\n', " "))
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// A text in which nothing is markdown.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\n' => out.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '~' | '&' => {
                out.extend(['\\', c]);
            }
            c => out.push(c),
        }
    }
    out
}

/// A model's text with its last fence closed: an answer that was cut off must not swallow what comes after it.
fn closed(text: &str) -> String {
    match open_fence(text) {
        None => text.to_owned(),
        Some(fence) => format!("{text}\n{fence}"),
    }
}

/// The fence of a code block that goes on behind the text.
fn open_fence(text: &str) -> Option<&str> {
    let with_more = format!("{text}\n\nmore");
    let blocks = Parser::new(&with_more).into_offset_iter().filter_map(|(event, range)| {
        let fenced = matches!(event, Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))));
        fenced.then_some(range)
    });
    let last = blocks.last().filter(|block| block.end == with_more.len())?;
    let block = text.get(last.start..)?.trim_start();
    let sign = block.chars().next()?;
    block.get(..block.len() - block.trim_start_matches(sign).len())
}

fn image(source: &ImageSource<'_>) -> String {
    match source {
        ImageSource::Base64 { media_type, data }
            if is_shown(&media_type.to_str(), &data.to_str()) =>
        {
            format!("![image](data:{};base64,{})", media_type.to_str(), data.to_str())
        }
        ImageSource::Base64 { media_type, .. } => {
            escaped(&format!("[{}]", super::clean(&media_type.to_str())))
        }
        ImageSource::Url { url } => format!("Image at {}", code(&super::clean(&url.to_str()))),
    }
}

/// True for the pictures that every reader shows and none runs. Their data is base64 and nothing else.
pub(super) fn is_shown(media_type: &str, data: &str) -> bool {
    let is_base64 = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=');
    matches!(media_type, "image/png" | "image/jpeg" | "image/gif" | "image/webp")
        && data.bytes().all(is_base64)
}

#[cfg(test)]
mod tests {
    use super::{closed, code, escaped, fenced};

    #[test]
    fn a_fence_is_longer_than_any_inside() {
        let mut out = Vec::new();
        fenced("", "a\n````\nb\n````", &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "\n`````\na\n````\nb\n````\n`````\n");
        assert_eq!(code("a `b`"), "`` a `b` ``");
    }

    #[test]
    fn an_answer_that_was_cut_off_swallows_nothing() {
        assert_eq!(closed("x\n~~~rust\nfn"), "x\n~~~rust\nfn\n~~~");
        assert_eq!(closed("````\n```\n````"), "````\n```\n````");
        assert_eq!(closed("plain"), "plain");
    }

    #[test]
    fn a_fence_is_closed_only_where_one_is_open() {
        for whole in [
            "- a list:\n\n  ```sh\n  ls\n  ```\n- more",
            "1. ```\n   cut off in a list, which what comes next ends",
            "```x``` is code in a line\n\nand more",
            "> ```\n> quoted",
            "```\nx\n```",
        ] {
            assert_eq!(closed(whole), whole);
        }
        assert_eq!(closed("```x``` is code\n\n```\nfn"), "```x``` is code\n\n```\nfn\n```");
        assert_eq!(closed("```\n"), "```\n\n```");
    }

    #[test]
    fn a_title_is_no_markdown() {
        assert_eq!(escaped("# <b>\n*x*"), "\\# \\<b\\> \\*x\\*");
    }
}
