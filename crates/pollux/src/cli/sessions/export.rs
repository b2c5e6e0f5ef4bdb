//! `pollux sessions export`.

use super::catalog::Catalog;
use super::show::{About, read};
use crate::config::Config;
use crate::render::{self, Format, Options};
use crate::report::{self, human};
use crate::trouble::Trouble;
use anyhow::Context;
use clap::ValueEnum;
use pollux_agent::gemini::transcript::digest::digest;
use pollux_agent::gemini::transcript::store::{Kind, Session};
use pollux_agent::gemini::transcript::{Transcript, text};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "`--format claude` writes DIR/<project>/<session>.jsonl, Claude Code's own layout. Use `--to ~/.claude/projects` \
    to let Claude Code tools find the exports. The other formats write DIR/<date>-<session>.<extension>.\n\n\
    Examples:\n  pollux sessions export latest --to page --format html\n  \
    pollux sessions export --all --project . --to archive --format markdown"
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Export {
    /// Session ID, unique prefix, or `latest` (the most recently changed session); required unless `--all`
    #[arg(value_name = "ID|latest", required_unless_present = "all")]
    session: Option<String>,
    /// Export all sessions
    #[arg(long, conflicts_with = "session")]
    all: bool,
    /// Export only this project directory's sessions
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// With `--all`: include subagent sessions
    #[arg(long, conflicts_with = "session")]
    subagents: bool,
    /// Output directory; created if missing
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// Output format
    #[arg(long, value_enum)]
    format: Written,
    /// With `markdown`: include the model's thoughts (the other formats always do)
    #[arg(long)]
    thinking: bool,
    /// Print the paths of the written files as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Written {
    /// Claude Code transcript (JSONL)
    Claude,
    /// Array of messages, each with the original object from Gemini CLI
    Json,
    /// Markdown document
    Markdown,
    /// Self-contained HTML page
    Html,
}

impl From<Written> for Format {
    fn from(written: Written) -> Self {
        match written {
            Written::Claude => Self::Claude,
            Written::Json => Self::Json,
            Written::Markdown => Self::Markdown,
            Written::Html => Self::Html,
        }
    }
}

pub(super) fn run(args: &Export, config: &Config) -> anyhow::Result<ExitCode> {
    let catalog = Catalog::read(config).of_project(args.project.as_deref(), config);
    let wanted = |session: &&Session| match session.kind {
        Kind::Main => true,
        Kind::Subagent => args.subagents,
        Kind::Stub => false,
    };
    let sessions: Vec<&Session> = match &args.session {
        Some(session) => vec![catalog.named(session, config)?],
        None => catalog.sessions.iter().filter(wanted).collect(),
    };
    if sessions.is_empty() {
        return Err(catalog.nothing_of(args.project.as_deref()).into());
    }
    let mut files = Vec::new();
    for session in &sessions {
        files.push(write(session, args)?);
    }
    if args.json {
        report::json(&files)?;
    } else if let [file] = files.as_slice() {
        report::note(&format!("wrote {}", file.display()));
    } else {
        let written = human::count(files.len() as u64, "session");
        report::note(&format!("wrote {written} to {}", args.to.display()));
    }
    Ok(ExitCode::SUCCESS)
}

fn write(session: &Session, args: &Export) -> anyhow::Result<PathBuf> {
    let format = Format::from(args.format);
    let bytes = read(&session.file.path)?;
    let text = text(&bytes);
    let transcript = Transcript::read(&text);
    let messages: Vec<_> = transcript.messages().collect();
    let path = args.to.join(name(session, format));
    let about = About::of(session);
    let options =
        Options { thinking: args.thinking || format == Format::Html, ..Options::default() };
    let written =
        place(&path, &mut |out| render::write(format, &about.header(), &messages, &options, out));
    written.with_context(|| {
        let trouble =
            Trouble::failed("unwritable_file", format!("could not write {}", path.display()));
        trouble.hint("choose a writable directory with `--to DIR`")
    })?;
    Ok(path)
}

/// Writes one session's file as Claude's transcript below a directory, under the id and the project that its caller knows.
pub(in crate::cli) fn transcript(
    file: &Path,
    id: &str,
    cwd: &Path,
    to: &Path,
) -> anyhow::Result<()> {
    let bytes = read(file)?;
    let text = text(&bytes);
    let transcript = Transcript::read(&text);
    let messages: Vec<_> = transcript.messages().collect();
    let digest = digest(&text);
    let project = cwd.display().to_string();
    let header = render::Header {
        session_id: id,
        title: digest.title(),
        summary: digest.summary.as_deref(),
        project: Some(&project),
        ..render::Header::default()
    };
    let path = to.join(directory(&project)).join(format!("{}.jsonl", safe(id)));
    let options = Options::default();
    place(&path, &mut |out| render::write(Format::Claude, &header, &messages, &options, out))
        .with_context(|| {
            let message = format!("could not write {}", path.display());
            Trouble::failed("unwritable_file", message)
                .hint("choose a writable directory with `--transcripts DIR`")
        })
}

/// Claude names a project's directory after its path.
fn directory(project: &str) -> String {
    project.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

/// Writes a file beside its place and then into it: what is there is always whole.
fn place(
    path: &Path,
    write: &mut dyn FnMut(&mut dyn Write) -> std::io::Result<()>,
) -> std::io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    let mut beside = path.as_os_str().to_owned();
    beside.push(".part");
    let mut out = BufWriter::new(fs::File::create(&beside)?);
    let written =
        write(&mut out).and_then(|()| out.flush()).and_then(|()| fs::rename(&beside, path));
    written.inspect_err(|_| drop(fs::remove_file(&beside)))
}

/// The name of a session's file below the directory.
fn name(session: &Session, format: Format) -> PathBuf {
    let id = safe(&session.id);
    if format != Format::Claude {
        let day = human::day(session.digest.started_at.unwrap_or_else(|| session.updated_at()));
        return format!("{day}-{id}.{}", format.extension()).into();
    }
    let project = directory(&session.project_name());
    match &session.file.parent {
        Some(parent) => format!("{project}/{}/subagents/agent-{id}.jsonl", safe(parent)).into(),
        None => format!("{project}/{id}.jsonl").into(),
    }
}

/// How long a name may be, of the 255 bytes that file systems allow.
const LONGEST_NAME: usize = 100;

/// An id as a file's name: a session file may claim any. Where it cannot stay as it is, what tells it from the others is put behind.
fn safe(id: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if id.len() <= LONGEST_NAME && id.chars().all(is_safe) {
        return id.to_owned();
    }
    let name = id.chars().take(LONGEST_NAME).map(|c| if is_safe(c) { c } else { '_' });
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    format!("{}-{:016x}", name.collect::<String>(), hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::safe;
    use std::collections::HashSet;

    #[test]
    fn ids_that_no_file_can_have_get_names_of_their_own() {
        let long = "x".repeat(5_000);
        let ids = ["a_b", "a/b", "a b", "a\nb", "", "..", &long, &format!("{long}y")];
        let names: HashSet<String> = ids.iter().map(|id| safe(id)).collect();
        assert_eq!(names.len(), ids.len());
        assert!(names.iter().all(|name| name.len() < 130 && !name.contains(['/', '.', ' ', '\n'])));
        assert!(names.contains("a_b"));
    }
}
