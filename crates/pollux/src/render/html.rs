//! A session as one page that needs nothing else: no script, no font, no picture from anywhere.
//!
//! Three walls stand between the page and what a model or a tool wrote: everything is escaped, markdown gives only the
//! elements that `prose` lets through, and the page's own policy forbids the browser to load or run anything.

mod prose;

use super::markdown::is_shown;
use super::piece::{self, Call, Detail, Piece};
use super::{Header, Options};
use pollux_agent::model::{ImageSource, Message, Role, Status};
pub(crate) use prose::escape;
use prose::prose;
use std::io::{self, Write};

const STYLE: &str = include_str!("html/page.css");

/// What the browser may do with the page: apply its style, and show the pictures in it.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/// An edit of at most this many lines is shown without being asked for.
const SHORT: usize = 16;

/// Writes a session.
pub(super) fn write(
    header: &Header<'_>,
    messages: &[Message<'_>],
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    head(header, options, out)?;
    let mut last: Option<String> = None;
    for message in super::shown(messages, options) {
        let mut pieces = piece::pieces(message);
        pieces.retain(|piece| options.thinking || !matches!(piece, Piece::Thinking(_)));
        if pieces.is_empty() {
            continue;
        }
        let who = format!("{} {:?}", super::speaker(message), super::provenance(message));
        if last.as_ref() != Some(&who) {
            if last.replace(who).is_some() {
                writeln!(out, "</section>")?;
            }
            heading(message, options, out)?;
        }
        for piece in &pieces {
            show(piece, message, out)?;
        }
    }
    if last.is_some() {
        writeln!(out, "</section>")?;
    }
    writeln!(out, "</main>\n<footer>Exported by Pollux</footer>\n</body>\n</html>")
}

fn head(header: &Header<'_>, options: &Options<'_>, out: &mut dyn Write) -> io::Result<()> {
    let title = super::title(header);
    let title = escape(&title);
    writeln!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta name=\"generator\" content=\"Pollux\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<header>\n\
         <p class=\"brand\"><span aria-hidden=\"true\">✦</span> Gemini CLI session</p>\n\
         <h1 dir=\"auto\">{title}</h1>\n<dl>"
    )?;
    for (name, value) in super::facts(header, options) {
        writeln!(out, "<div><dt>{name}</dt><dd>{}</dd></div>", escape(&value))?;
    }
    writeln!(out, "</dl>\n</header>\n<main>")
}

/// Opens the section of a speaker.
fn heading(message: &Message<'_>, options: &Options<'_>, out: &mut dyn Write) -> io::Result<()> {
    let class = match (message.role, super::speaker(message)) {
        (Role::User, "Context") => "context",
        (Role::User, _) => "user",
        (Role::Assistant, _) => "agent",
        (Role::System, "Error") => "notice error",
        (Role::System, "Warning") => "notice warning",
        (Role::System, _) => "notice",
    };
    write!(out, "<section class=\"{class}\">\n<h2>{}", super::speaker(message))?;
    if let Some(time) = message.timestamp {
        let iso = jiff::Timestamp::from_millisecond(time).unwrap_or_default();
        let shown = (options.clock)(time);
        write!(out, " <time datetime=\"{iso}\">{}</time>", escape(&shown))?;
    }
    if let Some(provenance) = super::provenance(message) {
        write!(out, " <em class=\"mark\">{}</em>", escape(&provenance))?;
    }
    writeln!(out, "</h2>")
}

fn show(piece: &Piece<'_>, message: &Message<'_>, out: &mut dyn Write) -> io::Result<()> {
    match piece {
        Piece::Thinking(text) => writeln!(
            out,
            "<details class=\"thinking\"><summary>Thinking</summary>\n<div dir=\"auto\">{}</div></details>",
            prose(text)
        ),
        Piece::Words(text) if message.meta => {
            writeln!(out, "<details class=\"call\"><summary>Context sent by the CLI</summary>")?;
            writeln!(out, "<pre>{}</pre></details>", escape(text))
        }
        Piece::Words(text) => {
            writeln!(out, "<div class=\"prose\" dir=\"auto\">{}</div>", prose(text))
        }
        Piece::Image(source) => image(source, out),
        Piece::Call(call) => show_call(call, out),
    }
}

fn show_call(call: &Call<'_>, out: &mut dyn Write) -> io::Result<()> {
    let class = match call.outcome.as_ref().map(|outcome| outcome.status) {
        Some(Status::Success) => "good",
        Some(Status::Error) => "bad",
        Some(Status::Cancelled) => "stopped",
        None => "unanswered",
    };
    let is_short = match &call.detail {
        Detail::Diff(lines) => lines.len() <= SHORT,
        Detail::List(lines) => lines.len() <= SHORT,
        Detail::Code(..) | Detail::None => false,
    };
    let open = if is_short { " open" } else { "" };
    write!(
        out,
        "<details class=\"call {class}\"{open}><summary><span class=\"sign\" title=\"{ending}\" aria-label=\"{ending}\">\
         {sign}</span> <b>{name}</b>",
        ending = call.ending(),
        sign = call.mark(),
        name = escape(&call.name),
    )?;
    if !call.headline.is_empty() {
        write!(out, " <code>{}</code>", escape(&call.headline))?;
    }
    writeln!(out, "</summary>")?;
    detail(call, out)?;
    match &call.outcome {
        None => writeln!(out, "<p class=\"none\">No result was recorded.</p>")?,
        Some(outcome) if outcome.text.is_empty() && outcome.images.is_empty() => {
            writeln!(out, "<p class=\"none\">The tool returned no output.</p>")?;
        }
        Some(outcome) => {
            if !outcome.text.is_empty() {
                writeln!(out, "<pre class=\"result\">{}</pre>", escape(&outcome.text))?;
            }
            outcome.images.iter().try_for_each(|source| image(source, out))?;
        }
    }
    writeln!(out, "</details>")
}

/// What a call was to do.
fn detail(call: &Call<'_>, out: &mut dyn Write) -> io::Result<()> {
    match &call.detail {
        Detail::None => Ok(()),
        Detail::Code(_, text) => writeln!(out, "<pre class=\"input\">{}</pre>", escape(text)),
        Detail::List(lines) => {
            let items = lines.iter().map(|line| format!("<li>{}</li>", escape(line)));
            writeln!(out, "<ul class=\"todos\">{}</ul>", items.collect::<String>())
        }
        Detail::Diff(lines) => {
            write!(out, "<pre class=\"diff\">")?;
            for (sign, line) in lines {
                let line = escape(line);
                match sign {
                    '-' => writeln!(out, "<del>- {line}</del>")?,
                    '+' => writeln!(out, "<ins>+ {line}</ins>")?,
                    _ => writeln!(out, "<span>  {line}</span>")?,
                }
            }
            writeln!(out, "</pre>")
        }
    }
}

/// A picture from the session itself, or where one is: nothing is fetched.
fn image(source: &ImageSource<'_>, out: &mut dyn Write) -> io::Result<()> {
    match source {
        ImageSource::Base64 { media_type, data } => {
            let (kind, data) = (media_type.to_str(), data.to_str());
            if is_shown(&kind, &data) {
                return writeln!(out, "<img alt=\"image\" src=\"data:{kind};base64,{data}\">");
            }
            writeln!(out, "<p class=\"none\">[{}]</p>", escape(&super::clean(&kind)))
        }
        ImageSource::Url { url } => {
            writeln!(out, "<p class=\"none\">Image at {}</p>", escape(&super::clean(&url.to_str())))
        }
    }
}
