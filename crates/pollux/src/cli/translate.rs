//! `pollux translate`: the translator alone, for bug reports and tests.

mod screen;

use crate::report;
use crate::trouble::Trouble;
use anyhow::Context;
use clap::ValueEnum;
use pollux_agent::acp::recorded;
use pollux_agent::gemini::acp::Quirks;
use pollux_agent::gemini::hooks;
use pollux_agent::gemini::stream::{self, Translator};
use pollux_agent::gemini::transcript::{events, text};
use pollux_agent::terminal::Size;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  pollux translate --from session session.jsonl\n  \
    pollux translate --from stream-json run.jsonl --session session.jsonl\n  \
    pollux translate --from acp conversation.jsonl\n  \
    tmux capture-pane -p > screen.txt\n  pollux translate --from screen screen.txt --size 120x40")]
pub(crate) struct Translate {
    /// Format of the recording
    #[arg(long, value_enum)]
    from: From,
    /// Recording to convert
    file: PathBuf,
    /// With `stream-json`: session file of the same run, for what the stream lacks, such as thoughts and complete tool output
    #[arg(long, value_name = "FILE")]
    session: Option<PathBuf>,
    /// With `screen`: title of the window that the screen was captured from
    #[arg(long, value_name = "TITLE")]
    title: Option<String>,
    /// With `screen`: screen size (default: from a file name like `x.120x40.txt`, else from the captured text)
    #[arg(long, value_name = "WxH", value_parser = super::live::new::size)]
    size: Option<Size>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum From {
    /// A Gemini CLI session file (.json or .jsonl)
    Session,
    /// Output of a run with `--output-format stream-json`
    StreamJson,
    /// An Agent Client Protocol conversation: `{"dir":"out"|"in","t":seconds,"msg":{…}}` on each line
    Acp,
    /// A terminal capture: `tmux capture-pane -p` text, or the raw bytes sent to a terminal. After the events, prints one
    /// line with everything found on the screen, including the unsent draft and queued prompts
    Screen,
    /// Hook payloads: one object, one object on each line, or an array
    Hook,
}

pub(super) fn run(args: &Translate) -> anyhow::Result<ExitCode> {
    is_used(args)?;
    let bytes = read(&args.file)?;
    let mut out = report::raw();
    match args.from {
        From::Session => {
            for event in events(&bytes) {
                report::line(&mut out, &event)?;
            }
        }
        From::StreamJson => stream(&bytes, args.session.as_deref(), &mut out)?,
        From::Acp => {
            for event in recorded(&text(&bytes), Arc::new(Quirks::default())) {
                report::line(&mut out, &event)?;
            }
        }
        From::Screen => screen::translate(args, &bytes, &mut out)?,
        From::Hook => {
            for event in hooks::events(&text(&bytes)) {
                report::line(&mut out, &event)?;
            }
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Refuses what would do nothing.
fn is_used(args: &Translate) -> anyhow::Result<()> {
    let is_screen = matches!(args.from, From::Screen);
    let flags = [
        ("--session", args.session.is_some() && !matches!(args.from, From::StreamJson)),
        ("--title", args.title.is_some() && !is_screen),
        ("--size", args.size.is_some() && !is_screen),
    ];
    let Some((flag, _)) = flags.iter().find(|(_, unused)| *unused) else { return Ok(()) };
    let message = format!("`{flag}` does not apply to this recording");
    let hint = "`--session` is for `stream-json`, `--title` and `--size` are for `screen`";
    Err(Trouble::refused("unused_flag", message).hint(hint).into())
}

fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    fs::read(file).with_context(|| {
        Trouble::failed("unreadable_file", format!("could not read {}", file.display()))
            .hint("pass a recorded file; see `pollux translate --help`")
    })
}

/// The events of a stream: line by line where it is alone, and made one with its session file where there is one.
fn stream(bytes: &[u8], session: Option<&Path>, out: &mut dyn Write) -> anyhow::Result<()> {
    let whole = text(bytes);
    if let Some(session) = session {
        // How the run ended, a recording of its output does not tell.
        let (events, _) = stream::whole(&whole, Some(&read(session)?), None, "");
        return events.iter().try_for_each(|event| report::line(out, event));
    }
    let mut translator = Translator::default();
    let mut events = Vec::new();
    for line in whole.split('\n') {
        translator.line(line, &mut events);
        for event in events.drain(..) {
            report::line(out, &event)?;
        }
    }
    stream::ended(&translator).iter().try_for_each(|event| report::line(out, event))
}
