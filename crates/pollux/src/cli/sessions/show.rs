//! `pollux sessions show`.

use super::catalog::Catalog;
use crate::config::Config;
use crate::report;
use crate::trouble::Trouble;
use anyhow::Context;
use clap::ValueEnum;
use pollux_agent::gemini::transcript::{Transcript, text};
use pollux_agent::model::Message;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(
    after_help = "Examples:\n  pollux sessions show latest\n  pollux sessions show 1f9cc522 --thinking\n  \
    pollux sessions show session.jsonl --format json | jq '.[].role'"
)]
pub(crate) struct Show {
    /// A session's id or the beginning of it, a session file, or `latest`
    #[arg(value_name = "ID|FILE|latest")]
    session: String,
    /// How to show it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// The same as `--format json`
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// With what the model thought
    #[arg(long)]
    thinking: bool,
    /// With everything that was ever written, also what was rewound or overwritten
    #[arg(long)]
    recover: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For reading in a terminal
    Text,
    /// The array of messages, each with its upstream object
    Json,
}

pub(super) fn run(args: &Show, config: &Config) -> anyhow::Result<ExitCode> {
    let path = file(&args.session, config)?;
    let bytes = fs::read(&path).with_context(|| {
        Trouble::failed(
            "unreadable_file",
            format!("could not read the session file {}", path.display()),
        )
    })?;
    let text = text(&bytes);
    let transcript = Transcript::read(&text);
    for diagnostic in transcript.diagnostics() {
        report::warn(&format!("{}: {diagnostic}", path.display()));
    }
    if args.json || args.format == Format::Json {
        if args.recover {
            json(transcript.messages_ever().into_iter())
        } else {
            json(transcript.messages())
        }?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The file that a word names: itself, or that of a session.
pub(super) fn file(wanted: &str, config: &Config) -> anyhow::Result<PathBuf> {
    let path = Path::new(wanted);
    if path.is_file() {
        return Ok(path.to_path_buf());
    }
    if wanted.contains('/') || path.extension().is_some() {
        let trouble = Trouble::refused("no_such_file", format!("there is no file {wanted}"));
        return Err(trouble
            .hint("name a session file, or a session by its id: `pollux sessions list`")
            .into());
    }
    Catalog::read(config).find(wanted).map(|session| session.file.path.clone())
}

/// The messages as a JSON array, one on each line, written as they come.
fn json<'a>(messages: impl Iterator<Item = Message<'a>>) -> anyhow::Result<()> {
    let mut out = report::raw();
    out.write_all(b"[")?;
    for (at, message) in messages.enumerate() {
        out.write_all(if at == 0 { b"\n" } else { b",\n" })?;
        serde_json::to_writer(&mut out, &message)?;
    }
    out.write_all(b"\n]\n")?;
    Ok(out.flush()?)
}
