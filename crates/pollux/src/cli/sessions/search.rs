//! `pollux sessions search`.

use super::catalog::Catalog;
use crate::config::Config;
use crate::report;
use crate::report::human::{ago, count, minute, now};
use crate::report::table::printable;
use crate::trouble::Trouble;
use anstyle::{AnsiColor, Style};
use pollux_agent::gemini::tools::TOOLS;
use pollux_agent::gemini::transcript::store::{Kind, Session};
use pollux_agent::gemini::transcript::{Transcript, text};
use pollux_agent::model::{At, Block, Content, Message, ResultContent, Role};
use regex::{Regex, RegexBuilder};
use serde::Serialize;
use std::borrow::Cow;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// How much is shown before and after the first word that was found, in characters.
const BEFORE: usize = 50;
const AFTER: usize = 150;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "All words must occur in the same place: a prompt, an answer, a thought, or a tool's input or output. Order and case \
    do not matter. \"Quoted words\" must appear together.\n\nExamples:\n  pollux sessions search greeting hello.txt\n  \
    pollux sessions search '\"exit code\" cargo' --project ."
)]
pub(crate) struct Search {
    /// Words to search for
    #[arg(required = true, value_name = "QUERY")]
    query: Vec<String>,
    /// Search only this project directory's sessions
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Maximum number of matches
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A place where all words occur.
#[derive(Debug, Serialize)]
struct Hit {
    session_id: String,
    project: String,
    title: Option<String>,
    message_id: String,
    role: Role,
    /// Where in the message: `text`, `thinking`, `tool_use` or `tool_result`.
    block: &'static str,
    at: Option<At>,
    excerpt: String,
    /// Where the words stand in the excerpt: from and to, in characters.
    highlights: Vec<(usize, usize)>,
}

pub(super) fn run(args: &Search, config: &Config) -> anyhow::Result<ExitCode> {
    let query = Query::new(&args.query.join(" "))?;
    let catalog = Catalog::read(config).of_project(args.project.as_deref(), config);
    let catalog = catalog.only(&[Kind::Main, Kind::Subagent]);
    let mut hits = Vec::new();
    for session in &catalog.sessions {
        if hits.len() >= args.limit {
            break;
        }
        look_into(session, &query, args.limit, &mut hits);
    }
    if args.json {
        report::json(&hits)?;
    } else if hits.is_empty() {
        let message = format!("no matches in {}", count(catalog.sessions.len() as u64, "session"));
        return Ok(report::nothing(&Trouble::refused("nothing_found", message)));
    } else {
        print(&hits)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// True for a word of a name that tools are given here, and that no file of the CLI has.
fn is_given(word: &str) -> bool {
    let word = word.to_lowercase();
    let names = TOOLS.iter().filter_map(|tool| tool.claude);
    word.contains("__") || { names }.any(|name| name.to_lowercase().contains(&word))
}

/// Words to look for, each without regard to case.
struct Query {
    words: Vec<Regex>,
    /// The words that stand in JSON as they are, so that a file without them need not be read.
    plain: Vec<Regex>,
}

impl Query {
    fn new(text: &str) -> anyhow::Result<Self> {
        let words = split(text);
        if words.is_empty() {
            let trouble = Trouble::refused("empty_query", "the query is empty");
            return Err(trouble.hint("pass at least one word").into());
        }
        let regex =
            |word: &String| RegexBuilder::new(&regex::escape(word)).case_insensitive(true).build();
        let plain = words
            .iter()
            .filter(|word| word.chars().all(|c| c.is_alphanumeric() || " -_.:".contains(c)))
            .filter(|word| !is_given(word));
        Ok(Self {
            plain: plain.map(regex).collect::<Result<_, _>>()?,
            words: words.iter().map(regex).collect::<Result<_, _>>()?,
        })
    }

    /// Where the words stand in a text, if all of them do.
    fn find(&self, text: &str) -> Option<usize> {
        let firsts: Option<Vec<usize>> =
            self.words.iter().map(|word| word.find(text).map(|found| found.start())).collect();
        firsts?.into_iter().min()
    }
}

/// Words, and what stands between double quotes as one.
fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (at, part) in text.split('"').enumerate() {
        if at % 2 == 1 {
            words.push(part.trim().to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn look_into(session: &Session, query: &Query, limit: usize, hits: &mut Vec<Hit>) {
    // A file that cannot be read was told of when the catalog was made.
    let Ok(bytes) = fs::read(&session.file.path) else { return };
    let text = text(&bytes);
    if !query.plain.iter().all(|word| word.is_match(&text)) {
        return;
    }
    for message in Transcript::read(&text).messages() {
        for (block, said) in places(&message) {
            if hits.len() >= limit {
                return;
            }
            if let Some(at) = query.find(&said) {
                hits.push(hit(session, &message, block, excerpt(&said, at, &query.words)));
            }
        }
    }
}

fn hit(
    session: &Session,
    message: &Message<'_>,
    block: &'static str,
    shown: (String, Vec<(usize, usize)>),
) -> Hit {
    Hit {
        session_id: session.id.clone(),
        project: session.project_name(),
        title: session.digest.title().map(str::to_owned),
        message_id: message.id.to_string(),
        role: message.role,
        block,
        at: message.timestamp.map(At),
        excerpt: shown.0,
        highlights: shown.1,
    }
}

/// The texts of a message, each with the kind of block that it stands in.
fn places<'m>(message: &'m Message<'_>) -> Vec<(&'static str, Cow<'m, str>)> {
    if message.meta {
        return Vec::new();
    }
    let blocks = match &message.content {
        Content::Raw(text) => return vec![("text", text.to_str())],
        Content::Blocks(blocks) => blocks,
    };
    let place = |block: &'m Block<'_>| match block {
        Block::Text { text } => vec![("text", text.to_str())],
        Block::Thinking { thinking } => vec![("thinking", thinking.to_str())],
        Block::ToolUse { input, name, .. } => {
            vec![("tool_use", Cow::Owned(format!("{name} {}", strings(&input.to_value()))))]
        }
        Block::ToolResult { content: ResultContent::Text(text), .. } => {
            vec![("tool_result", text.to_str())]
        }
        Block::ToolResult { content: ResultContent::Blocks(blocks), .. } => {
            let texts = blocks.iter().filter_map(|block| match block {
                Block::Text { text } => Some(("tool_result", text.to_str())),
                _ => None,
            });
            texts.collect()
        }
        Block::Image { .. } => Vec::new(),
    };
    blocks.iter().flat_map(place).collect()
}

/// What a tool's input says, without its JSON.
fn strings(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Array(list) => list.iter().map(strings).collect::<Vec<_>>().join(" "),
        serde_json::Value::Object(map) => map.values().map(strings).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

/// A line of text around a place, and where the words stand in it.
fn excerpt(text: &str, at: usize, words: &[Regex]) -> (String, Vec<(usize, usize)>) {
    let before: String = text.get(..at).unwrap_or_default().chars().rev().take(BEFORE).collect();
    let before: String = before.chars().rev().collect();
    let after: String = text.get(at..).unwrap_or_default().chars().take(AFTER).collect();
    let cut_before = before.len() < at;
    let cut_after = at + after.len() < text.len();
    let line =
        printable(&format!("{before}{after}")).split_whitespace().collect::<Vec<_>>().join(" ");
    let line =
        format!("{}{line}{}", if cut_before { "…" } else { "" }, if cut_after { "…" } else { "" });
    let chars = |bytes: usize| line.get(..bytes).unwrap_or_default().chars().count();
    let found = words.iter().flat_map(|word| word.find_iter(&line));
    let mut highlights: Vec<(usize, usize)> =
        found.map(|found| (chars(found.start()), chars(found.end()))).collect();
    highlights.sort_unstable();
    highlights.dedup_by(|next, kept| next.0 < kept.1);
    (line, highlights)
}

fn print(hits: &[Hit]) -> anyhow::Result<()> {
    let mut out = report::out();
    let id = AnsiColor::Cyan.on_default();
    let dim = Style::new().dimmed();
    let mut session = "";
    for hit in hits {
        if hit.session_id != session {
            let gap = if session.is_empty() { "" } else { "\n" };
            session = &hit.session_id;
            let short: String = printable(session).chars().take(8).collect();
            let title = printable(hit.title.as_deref().unwrap_or_default());
            writeln!(
                out,
                "{gap}{id}{short}{id:#}  {title}  {dim}{}{dim:#}",
                printable(&hit.project)
            )?;
        }
        let who = match (hit.role, hit.block) {
            (Role::User, _) => "you",
            (_, "thinking") => "thought",
            (_, "tool_use") => "call",
            (_, "tool_result") => "output",
            (Role::System, _) => "cli",
            (Role::Assistant, _) => "gemini",
        };
        let when =
            hit.at.map(|At(at)| if now() - at < 86_400_000 { ago(at, now()) } else { minute(at) });
        writeln!(
            out,
            "  {dim}{who:8}{dim:#}{}  {dim}{}{dim:#}",
            highlighted(hit),
            when.unwrap_or_default()
        )?;
    }
    Ok(out.flush()?)
}

fn highlighted(hit: &Hit) -> String {
    let mark = AnsiColor::Yellow.on_default().bold();
    let mut line = String::new();
    for (at, c) in hit.excerpt.chars().chain(['\u{0}']).enumerate() {
        if hit.highlights.iter().any(|(_, end)| *end == at) {
            line.push_str(&mark.render_reset().to_string());
        }
        if hit.highlights.iter().any(|(start, _)| *start == at) {
            line.push_str(&mark.render().to_string());
        }
        if c != '\u{0}' {
            line.push(c);
        }
    }
    line
}
