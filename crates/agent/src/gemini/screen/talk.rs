//! The conversation as it stands on the screen: the last thing that was asked, and what was said since. This is the
//! fallback for what the session file says exactly.

use super::layout::{MARKS, indent, is_lower_half, is_upper_half, outdent};

/// The last turn, as far as it is on the screen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Talk {
    /// What was asked.
    pub(super) query: Option<String>,
    /// What the agent said since.
    pub(super) answer: Option<String>,
    /// What went wrong since.
    pub(super) error: Option<String>,
}

/// What a row of the conversation begins.
enum Begins<'a> {
    Query(&'a str),
    Answer(&'a str),
    Error(&'a str),
    /// A notice, a tool, a box: nothing that anybody said.
    Other,
}

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
    "You are currently in screen reader-friendly view",
];

fn begins(row: &str) -> Option<Begins<'_>> {
    let words = row.trim_start();
    let column = indent(row);
    let after = |sign: &str| words.strip_prefix(sign).map(str::trim_start);
    if column <= 1 {
        if let Some(text) = after("> ").or_else(|| after("$ ")).or_else(|| after("! ")) {
            return Some(Begins::Query(text));
        }
        if let Some(text) = after("✦ ") {
            return Some(Begins::Answer(text));
        }
        if let Some(text) = after("✕ ") {
            return Some(Begins::Error(text));
        }
    }
    if column == 0 {
        if let Some(text) = after("User:  ") {
            return Some(Begins::Query(text));
        }
        if let Some(text) = after("Model:  ") {
            return Some(Begins::Answer(text));
        }
        if SPOKEN.iter().any(|spoken| words.starts_with(spoken))
            || words == "workspace (/directory)"
        {
            return Some(Begins::Other);
        }
    }
    let marked = column <= 1 && words.starts_with(MARKS);
    let boxed = column <= 1 && words.starts_with(['╭', '│', '╰']);
    (marked || boxed || is_tool(row) || is_upper_half(row) || is_lower_half(row))
        .then_some(Begins::Other)
}

/// A tool that stands in one line, without a box.
fn is_tool(row: &str) -> bool {
    let words = row.trim_start();
    let rest =
        words.strip_prefix(['✓', '⊶', 'x', 'o', '?']).and_then(|rest| rest.strip_prefix("  "));
    indent(row) == 2 && rest.is_some_and(|rest| rest.starts_with(char::is_alphabetic))
}

/// Reads the conversation: all rows above the input box or the dialog.
pub(super) fn read(rows: &[&str]) -> Talk {
    let spoken = rows.iter().any(|row| row.starts_with("Model:  ") || row.starts_with("User:  "));
    let query = rows.iter().rposition(|row| {
        // Where a screen reader reads, a quotation begins as a question would elsewhere.
        matches!(begins(row), Some(Begins::Query(_))) && (!spoken || row.starts_with("User:  "))
    });
    let mut talk = Talk::default();
    let start = query.unwrap_or(0);
    let mut said: Vec<String> = Vec::new();
    let mut went_wrong: Vec<String> = Vec::new();
    let mut asked: Vec<String> = Vec::new();
    // 0: nothing, 1: the question, 2: the answer, 3: an error
    let mut open = 0;
    for (at, row) in rows.iter().enumerate().skip(start) {
        let begun = if spoken && at != start {
            begins(row).filter(|begun| !matches!(begun, Begins::Query(_)))
        } else {
            begins(row)
        };
        match begun {
            Some(Begins::Query(text)) if Some(at) == query => {
                asked.push(text.to_owned());
                open = 1;
            }
            Some(Begins::Answer(text)) => {
                if !said.is_empty() {
                    said.push(String::new());
                }
                said.push(text.to_owned());
                open = 2;
            }
            Some(Begins::Error(text)) => {
                went_wrong = vec![text.to_owned()];
                open = 3;
            }
            Some(_) => open = 0,
            None => {
                let text = if spoken {
                    row
                } else {
                    outdent(row, if open == 1 { indent(row) } else { 2.min(indent(row)) })
                };
                match open {
                    1 if !row.is_empty() => asked.push(text.to_owned()),
                    1 => {}
                    2 => said.push(text.trim_end().to_owned()),
                    3 if !row.is_empty() => went_wrong.push(text.to_owned()),
                    3 => open = 0,
                    _ => {}
                }
            }
        }
    }
    talk.query = query.map(|_| asked.join("\n"));
    let answer = together(&said);
    talk.answer = (!answer.is_empty()).then_some(answer);
    talk.error = (!went_wrong.is_empty()).then(|| went_wrong.join(" "));
    talk
}

/// Rows as one text; more than one blank row between two is one.
fn together(rows: &[String]) -> String {
    let mut text = String::new();
    let mut blank = 0;
    for row in rows {
        if row.is_empty() {
            blank += 1;
            continue;
        }
        if !text.is_empty() {
            text.push_str(if blank > 0 { "\n\n" } else { "\n" });
        }
        blank = 0;
        text.push_str(row);
    }
    text
}
