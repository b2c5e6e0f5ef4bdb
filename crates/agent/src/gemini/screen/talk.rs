//! The conversation as it stands on the screen: the last thing that was asked, and what was said since. This is the
//! fallback for what the session file says exactly.

use super::layout::{MARKS, indent, is_edge, outdent};

/// The last turn, as far as it is on the screen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Talk {
    /// What was asked.
    pub(super) query: Option<String>,
    /// What the agent said since.
    pub(super) answer: Option<String>,
    /// What went wrong since.
    pub(super) error: Option<String>,
    /// True where somebody has stopped it.
    pub(super) cancelled: bool,
}

/// True for the notice that a turn was stopped.
fn is_stopped(row: &str) -> bool {
    let words = row.trim_start().strip_prefix('ℹ').map(str::trim);
    words.is_some_and(|words| STOPPED.contains(&words))
}

/// What a row of the conversation begins.
enum Begins<'a> {
    Query(&'a str),
    Answer(&'a str),
    Error(&'a str),
    /// A notice, a tool, a box: nothing that anybody said.
    Other,
}

/// What the CLI says when somebody has stopped a turn.
const STOPPED: &[&str] = &["Request cancelled.", "User cancelled the request."];

/// The words that a screen reader reads before what would have a sign otherwise.
const SPOKEN: &[&str] = &[
    "Success:",
    "Canceled:",
    "Cancelled:",
    "Error:",
    "Executing:",
    "Pending:",
    "Confirming:",
    "hunk:",
    "Agent powering down",
    "You are currently in screen reader-friendly view",
];

/// What a row begins where there are signs and frames.
fn begins(row: &str) -> Option<Begins<'_>> {
    let words = row.trim_start();
    let after = |sign: &str| words.strip_prefix(sign).map(str::trim_start);
    if indent(row) <= 1 {
        if let Some(text) = after("> ").or_else(|| after("$ ")).or_else(|| after("! ")) {
            return Some(Begins::Query(text));
        }
        if let Some(text) = after("✦ ") {
            return Some(Begins::Answer(text));
        }
        if let Some(text) = after("✕ ") {
            return Some(Begins::Error(text));
        }
        if words.starts_with(MARKS) || words.starts_with(['╭', '│', '╰']) {
            return Some(Begins::Other);
        }
    }
    (is_tool(row) || is_edge(row)).then_some(Begins::Other)
}

/// What a row begins where a screen reader reads.
fn begins_aloud(row: &str) -> Option<Begins<'_>> {
    if let Some(text) = row.strip_prefix("User:  ") {
        return Some(Begins::Query(text));
    }
    if let Some(text) = row.strip_prefix("Model:  ") {
        return Some(Begins::Answer(text));
    }
    if let Some(text) = row.strip_prefix("✕  ") {
        return Some(Begins::Error(text));
    }
    let other = SPOKEN.iter().any(|spoken| row.starts_with(spoken)) || row.starts_with(MARKS);
    (other || row == "workspace (/directory)").then_some(Begins::Other)
}

/// A tool that stands in one line, without a box.
fn is_tool(row: &str) -> bool {
    let words = row.trim_start();
    let rest =
        words.strip_prefix(['✓', '⊶', 'x', 'o', '?', '-']).and_then(|rest| rest.strip_prefix("  "));
    indent(row) == 2 && rest.is_some_and(|rest| rest.starts_with(char::is_alphabetic))
}

/// What the rows that come now go on with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    Nothing,
    Query,
    Answer,
    Error,
}

/// Reads the conversation: all rows above the input box or the dialog.
pub(super) fn read(rows: &[&str]) -> Talk {
    let aloud = rows.iter().any(|row| row.starts_with("Model:  ") || row.starts_with("User:  "));
    let begins = if aloud { begins_aloud } else { begins };
    let query = rows.iter().rposition(|row| matches!(begins(row), Some(Begins::Query(_))));
    let (mut asked, mut said, mut wrong) = (Vec::new(), Vec::new(), Vec::new());
    // A long answer may have its beginning above the screen: its lines stand in by two columns.
    let first = rows.iter().find(|row| !row.is_empty());
    let inside =
        query.is_none() && !aloud && first.is_some_and(|row| indent(row) == 2 && !is_tool(row));
    let inside = inside && !rows.iter().any(|row| row.starts_with("Tips for getting started"));
    let mut open = if inside { Open::Answer } else { Open::Nothing };
    let mut cancelled = false;
    for row in rows.iter().skip(query.unwrap_or(0)) {
        match begins(row) {
            Some(Begins::Query(text)) => {
                asked.push(text.trim_end());
                open = Open::Query;
            }
            Some(Begins::Answer(text)) => {
                said.extend((!said.is_empty()).then_some(""));
                said.push(text);
                cancelled = false;
                open = Open::Answer;
            }
            Some(Begins::Error(text)) => {
                wrong = vec![text];
                open = Open::Error;
            }
            Some(Begins::Other) => {
                cancelled |= is_stopped(row);
                open = Open::Nothing;
            }
            None => match open {
                Open::Query if !row.is_empty() => asked.push(row.trim()),
                // Indentation is part of what was said; the first two columns are the sign's.
                Open::Answer => said.push(outdent(row, if aloud { 0 } else { indent(row).min(2) })),
                Open::Error if !row.is_empty() => wrong.push(row.trim()),
                Open::Error => open = Open::Nothing,
                Open::Query | Open::Nothing => {}
            },
        }
    }
    let answer = together(&said);
    Talk {
        query: query.map(|_| asked.join("\n")),
        answer: (!answer.is_empty()).then_some(answer),
        error: (!wrong.is_empty()).then(|| wrong.join(" ")),
        cancelled,
    }
}

/// Rows as one text; more than one blank row between two is one.
fn together(rows: &[&str]) -> String {
    let mut text = String::new();
    let mut blank = false;
    for row in rows {
        if row.is_empty() {
            blank = true;
            continue;
        }
        if !text.is_empty() {
            text.push_str(if blank { "\n\n" } else { "\n" });
        }
        blank = false;
        text.push_str(row);
    }
    text
}
