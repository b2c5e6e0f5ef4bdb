//! `pollux sessions follow`.

use super::show::Found;
use crate::config::Config;
use crate::render::{self, Options};
use crate::report;
use anstyle::Style;
use pollux_agent::gemini::transcript::follow::{Watch, Watched};
use pollux_agent::model::{Event, EventKind, Level, SessionChange};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How often it is looked whether somebody still reads what is printed.
const LOOK: Duration = Duration::from_secs(5);

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Prints existing messages first, then new ones until you press Ctrl-C. With `--json`, prints events, one \
    object per line, each with the path of its session file.\n\n\
    Examples:\n  pollux sessions follow latest\n  pollux sessions follow --all --json | jq .type"
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Follow {
    /// Session ID, unique prefix, session file, or `latest` (the most recently changed session); required unless `--all`
    #[arg(value_name = "ID|FILE|latest", required_unless_present = "all")]
    session: Option<String>,
    /// Follow all sessions, including ones that start later; skips existing messages
    #[arg(long, conflicts_with = "session")]
    all: bool,
    /// Skip existing messages
    #[arg(long)]
    skip_existing: bool,
    /// Include the model's thoughts
    #[arg(long)]
    thinking: bool,
    /// Stop after this many seconds
    #[arg(long = "for", value_name = "SECONDS")]
    seconds: Option<u64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Follow, config: &Config) -> anyhow::Result<ExitCode> {
    let watched = match &args.session {
        Some(session) => Watched::File(Found::find(session, config)?.path),
        None => Watched::All(config.gemini.clone()),
    };
    // A time that no clock could tell has no end.
    let end = args.seconds.and_then(|all| Instant::now().checked_add(Duration::from_secs(all)));
    let mut watch = Watch::new(watched, args.all || args.skip_existing);
    let mut shown = Shown { args, file: PathBuf::new() };
    let mut news = watch.poll_now();
    loop {
        shown.show_all(&news)?;
        if report::is_unread() {
            return Ok(ExitCode::SUCCESS);
        }
        if end.is_some_and(|end| Instant::now() >= end) {
            // Also what the file system has not told of.
            shown.show_all(&watch.poll_now())?;
            return Ok(ExitCode::SUCCESS);
        }
        let look = Instant::now() + LOOK;
        news = watch.next(end.map_or(look, |end| end.min(look)));
    }
}

/// What has been shown, to tell when another session speaks.
struct Shown<'a> {
    args: &'a Follow,
    file: PathBuf,
}

#[derive(serde::Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    event: &'a Event<'a>,
    path: &'a Path,
}

impl Shown<'_> {
    fn show_all(&mut self, news: &[(PathBuf, Vec<Event<'static>>)]) -> anyhow::Result<()> {
        news.iter().try_for_each(|(path, events)| self.show(path, events))
    }

    fn show(&mut self, path: &Path, events: &[Event<'static>]) -> anyhow::Result<()> {
        if self.args.json {
            let mut out = report::raw();
            for event in events {
                report::line(&mut out, &Line { event, path })?;
            }
            return Ok(out.flush()?);
        }
        let mut out = report::out();
        if self.args.all && path != self.file {
            let dim = Style::new().dimmed();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            writeln!(out, "\n{dim}── {} ──{dim:#}", render::clean(&name))?;
            self.file = path.to_path_buf();
        }
        for event in events {
            self.say(event, &mut out)?;
        }
        Ok(out.flush()?)
    }

    fn say(&self, event: &Event<'static>, out: &mut dyn Write) -> anyhow::Result<()> {
        let dim = Style::new().dimmed();
        match &event.kind {
            EventKind::MessageRecorded { message, .. } => {
                let options = Options { thinking: self.args.thinking, ..Options::default() };
                render::text(std::slice::from_ref(message.as_ref()), &options, out)?;
            }
            EventKind::HistoryRewritten { removed, .. } => {
                writeln!(
                    out,
                    "\n{dim}· {} removed from the conversation{dim:#}",
                    messages(removed.len())
                )?;
            }
            EventKind::SessionChanged(SessionChange { title: Some(title), .. }) => {
                writeln!(out, "{dim}· title: {}{dim:#}", render::clean(&title.to_str()))?;
            }
            EventKind::SessionEnded { reason } => writeln!(out, "\n{dim}· {reason}{dim:#}")?,
            EventKind::Notice { level: Level::Warning | Level::Error, text } => report::warn(text),
            EventKind::Unread { reason, .. } => report::warn(reason),
            // A session file tells of nothing else.
            _ => {}
        }
        Ok(())
    }
}

fn messages(count: usize) -> String {
    report::human::count(count as u64, "message")
}
