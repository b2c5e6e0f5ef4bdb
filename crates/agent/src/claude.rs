//! Our messages as the transcript rows that Claude Code writes (JSONL), for the programs that read those.
//!
//! Each message is one row, in the order that Claude's API needs inside it: thinking, text, then tool uses. What the
//! tools gave back follows as one row of the user. Tokens are Claude's disjoint counts. What Claude's rows have no
//! place for (`status`, `_original`) is left out: the messages themselves have it.
//!
//! ```
//! use pollux_agent::claude::{self, Session};
//! use pollux_agent::gemini::transcript::Transcript;
//!
//! let file = r#"{"sessionId":"7c5b","projectHash":"p","startTime":"2026-11-15T17:55:38.795Z"}
//! {"id":"1","timestamp":"2026-11-15T17:55:38.938Z","type":"user","content":[{"text":"hello"}]}
//! {"id":"2","timestamp":"2026-11-15T17:55:39.525Z","type":"gemini","content":"Hi there."}
//! "#;
//! let messages: Vec<_> = Transcript::read(file).messages().collect();
//! let session = Session { session_id: "7c5b", cwd: Some("/home/ana/shop"), ..Session::default() };
//! let lines: Vec<String> =
//!     claude::rows(&session, &messages).map(|row| serde_json::to_string(&row).unwrap()).collect();
//! assert_eq!(lines.len(), 2);
//! assert!(lines[0].contains(r#""message":{"role":"user","content":"hello"}"#));
//! ```

pub mod control;
pub mod hooks;
mod partial;
pub mod permission;
mod row;
mod shape;
pub mod stream;

use crate::model::{Block, Level, Message, Role, Usage};
use row::{Answer, Line, Part, Prompt, Said, Tokens};
use std::collections::HashSet;
use uuid::Uuid;

pub use row::Row;

/// What the rows say about the session as a whole.
#[derive(Debug, Clone, Copy, Default)]
pub struct Session<'s> {
    /// The id of the session; of a subagent, that of the session which called it.
    pub session_id: &'s str,
    /// The id of the subagent whose messages these are.
    pub agent_id: Option<&'s str>,
    /// Where the session ran.
    pub cwd: Option<&'s str>,
    /// What it was about. Claude's readers show it as the title.
    pub summary: Option<&'s str>,
}

/// The messages of a session as Claude Code's rows, each to be written on a line of its own.
pub fn rows<'m>(
    session: &Session<'m>,
    messages: &'m [Message<'m>],
) -> impl Iterator<Item = Row<'m>> + use<'m> {
    let session = *session;
    let mut names = Names::new(&session);
    let named: Vec<(Uuid, Option<Uuid>)> =
        messages.iter().map(|message| names.of(message)).collect();
    let leaf = named.last().map(|(own, results)| results.unwrap_or(*own));
    let title = session.summary.filter(|summary| !summary.trim().is_empty()).zip(leaf);
    let title = title.map(|(summary, leaf_uuid)| Row::summary(summary, leaf_uuid));
    // Claude's readers sort by time and refuse a row without one.
    let mut time = messages.iter().find_map(|message| message.timestamp).unwrap_or(0);
    let mut parent = None;
    let told = messages.iter().zip(named).flat_map(move |(message, (own, results))| {
        time = message.timestamp.unwrap_or(time);
        let before = parent.replace(results.unwrap_or(own));
        let first = told(message, Line::new(&session, time, own, before));
        let results = results.map(|uuid| Line::new(&session, time, uuid, Some(own)));
        [Some(first), results.map(|line| results_of(message, line))].into_iter().flatten()
    });
    title.into_iter().chain(told)
}

/// The names of rows. Claude's readers want UUIDs, and no name twice.
struct Names {
    session: Uuid,
    used: HashSet<Uuid>,
}

impl Names {
    fn new(session: &Session<'_>) -> Self {
        let whole = Uuid::new_v5(&Uuid::NAMESPACE_OID, session.session_id.as_bytes());
        let of_agent = session.agent_id.map(|agent| Uuid::new_v5(&whole, agent.as_bytes()));
        Self { session: of_agent.unwrap_or(whole), used: HashSet::new() }
    }

    /// The name of a message's own row, and of the row with its tool results where there is one.
    fn of(&mut self, message: &Message<'_>) -> (Uuid, Option<Uuid>) {
        let id = message.id.to_str();
        let own = given(&id).filter(|uuid| self.used.insert(*uuid));
        let own = own.unwrap_or_else(|| self.derive("message", &id));
        let is_result = |block: &Block<'_>| matches!(block, Block::ToolResult { .. });
        let answered = message.role == Role::Assistant && message.blocks().iter().any(is_result);
        (own, answered.then(|| self.derive("results", &id)))
    }

    fn derive(&mut self, what: &str, id: &str) -> Uuid {
        let names =
            (0_u32..).map(|n| Uuid::new_v5(&self.session, format!("{what} {n} {id}").as_bytes()));
        let mut names = names.filter(|uuid| !self.used.contains(uuid));
        let name = names.next().unwrap_or_default();
        self.used.insert(name);
        name
    }
}

/// The UUID that an id is. Only the form with hyphens counts: the CLI also gives ids of 32 hexadecimal digits, and
/// those are the same in every session.
fn given(id: &str) -> Option<Uuid> {
    Uuid::parse_str(id).ok().filter(|_| id.len() == uuid::fmt::Hyphenated::LENGTH)
}

/// A message's own row.
fn told<'m>(message: &'m Message<'m>, mut line: Line<'m>) -> Row<'m> {
    line.is_meta = message.meta.then_some(true);
    match message.role {
        Role::User => line.says("user", Said::Prompt(Prompt::new(message))),
        Role::Assistant => {
            let answer = Answer::new(message, &line, tokens(message.usage.unwrap_or_default()));
            line.request_id = Some(format!("req_{}", line.uuid.simple()));
            line.says("assistant", Said::Answer(answer))
        }
        Role::System => line.notice(
            message.text(),
            match message.level {
                None => "info",
                Some(Level::Warning) => "warning",
                Some(Level::Error) => "error",
            },
        ),
    }
}

/// The row with what the tools of a message gave back.
fn results_of<'m>(message: &'m Message<'m>, line: Line<'m>) -> Row<'m> {
    let is_result = |block: &&Block<'_>| matches!(block, Block::ToolResult { .. });
    let results = message.blocks().iter().filter(is_result).map(Part::new).collect();
    line.says("user", Said::Prompt(Prompt::of(results)))
}

/// Gemini's counts hold each other (`input` holds `cached`); Claude's do not.
fn tokens(usage: Usage) -> Tokens {
    let uncached = usage.input_tokens.saturating_sub(usage.cached_tokens);
    Tokens {
        input: uncached.saturating_add(usage.tool_tokens),
        cache_creation: 0,
        cache_read: usage.cached_tokens,
        output: usage.output_tokens.saturating_add(usage.thoughts_tokens),
    }
}
