//! `pollux sessions show`.

use super::catalog::Catalog;
use crate::config::Config;
use crate::render::{self, Format, Options};
use crate::report;
use crate::trouble::Trouble;
use anyhow::Context;
use clap::ValueEnum;
use pollux_agent::gemini::transcript::digest::digest;
use pollux_agent::gemini::transcript::store::Session;
use pollux_agent::gemini::transcript::{Transcript, text};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  pollux sessions show latest\n  pollux sessions show 1f9cc522 --thinking\n  \
    pollux sessions show session.jsonl --format json | jq '.[].role'"
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Show {
    /// Session ID, unique prefix, session file, or `latest` (the most recently changed session)
    #[arg(value_name = "ID|FILE|latest")]
    session: String,
    /// Output format
    #[arg(long, value_enum, default_value_t = Shown::Text)]
    format: Shown,
    /// Print JSON
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// With `text` or `markdown`: include the model's thoughts (the other formats always do)
    #[arg(long)]
    thinking: bool,
    /// Include messages that were rewound or overwritten
    #[arg(long)]
    recover: bool,
    /// Include system messages that Gemini CLI adds
    #[arg(long)]
    meta: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Shown {
    /// Text for a terminal
    Text,
    /// Array of messages, each with the original object from Gemini CLI
    Json,
    /// Claude Code transcript (JSONL)
    Claude,
    /// Markdown document
    Markdown,
}

pub(super) fn run(args: &Show, config: &Config) -> anyhow::Result<ExitCode> {
    let found = Found::find(&args.session, config)?;
    let bytes = read(&found.path)?;
    let text = text(&bytes);
    let transcript = Transcript::read(&text);
    for diagnostic in transcript.diagnostics() {
        report::warn(&format!("{}: {diagnostic}", found.path.display()));
    }
    if transcript.meta().session_id.is_none() && transcript.messages().next().is_none() {
        let message = format!("{} contains no session", found.path.display());
        let trouble = Trouble::failed("no_session_in_file", message);
        return Err(trouble.hint("`pollux sessions list` lists all sessions").into());
    }
    let format = match args.format {
        _ if args.json => Format::Json,
        Shown::Json => Format::Json,
        Shown::Text => Format::Text,
        Shown::Claude => Format::Claude,
        Shown::Markdown => Format::Markdown,
    };
    match (format, args.recover) {
        // As they come: the messages of a large session need not all be there at once.
        (Format::Json, false) => {
            let mut out = report::raw();
            render::json(transcript.messages(), &mut out)?;
            out.flush()?;
        }
        (_, recover) => {
            let messages =
                if recover { transcript.messages_ever() } else { transcript.messages().collect() };
            let about = found.about(&text);
            let options = Options {
                thinking: args.thinking || format == Format::Claude,
                meta: args.meta,
                ..Options::default()
            };
            let mut out: Box<dyn Write> = if format == Format::Text {
                Box::new(report::out())
            } else {
                Box::new(report::raw())
            };
            render::write(format, &about.header(), &messages, &options, &mut out)?;
            out.flush()?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let what = || {
        Trouble::failed(
            "unreadable_file",
            format!("could not read the session file {}", path.display()),
        )
        .hint("check its permissions; `pollux sessions list` lists the other sessions")
    };
    fs::read(path).with_context(what)
}

/// A session file that was asked for, with what the catalog knows of it.
pub(super) struct Found {
    pub(super) path: PathBuf,
    session: Option<Session>,
}

impl Found {
    /// What a word names: a file, or a session.
    pub(super) fn find(wanted: &str, config: &Config) -> anyhow::Result<Self> {
        let path = Path::new(wanted);
        if path.is_file() {
            return Ok(Self { path: path.to_path_buf(), session: None });
        }
        if wanted.contains('/') || path.extension().is_some() {
            let what =
                if path.is_dir() { "is a directory, not a session" } else { "does not exist" };
            let trouble = Trouble::refused("no_such_file", format!("{wanted} {what}"));
            return Err(trouble
                .hint("pass a session file or a session ID; `pollux sessions list` lists the IDs")
                .into());
        }
        let session = Catalog::read(config).named(wanted, config)?.clone();
        Ok(Self { path: session.file.path.clone(), session: Some(session) })
    }

    /// What is known of it as a whole. A file that is named has no catalog entry, so its sums are taken now.
    pub(super) fn about(self, text: &str) -> About {
        if let Some(session) = self.session {
            About::of(&session)
        } else {
            let digest = digest(text);
            About {
                id: digest.session_id.clone().unwrap_or_default(),
                parent: None,
                project: None,
                digest: Box::new(digest),
            }
        }
    }
}

/// What a page or a document says about the session as a whole.
pub(super) struct About {
    id: String,
    parent: Option<String>,
    project: Option<String>,
    digest: Box<pollux_agent::gemini::transcript::digest::Digest>,
}

impl About {
    pub(super) fn of(session: &Session) -> Self {
        Self {
            id: session.id.clone(),
            parent: session.file.parent.clone(),
            project: session.project.as_ref().map(|project| project.display().to_string()),
            digest: session.digest.clone(),
        }
    }

    pub(super) fn header(&self) -> render::Header<'_> {
        render::Header {
            session_id: self.parent.as_deref().unwrap_or(&self.id),
            agent_id: self.parent.is_some().then_some(&*self.id),
            title: self.digest.title(),
            summary: self.digest.summary.as_deref(),
            project: self.project.as_deref(),
            model: self.digest.model.as_deref(),
            started_at: self.digest.started_at,
            updated_at: self.digest.updated_at,
            usage: self.digest.usage(),
        }
    }
}
