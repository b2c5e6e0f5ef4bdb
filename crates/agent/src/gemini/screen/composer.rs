//! The input box: where it is, what stands in it, and what stands right above it.

use super::dialog::CHECKED;
use super::layout::{indent, is_edge, is_of_conversation, is_rule, outdent};
use super::status::is_footer;
use crate::model::Mode;
use std::ops::Range;

/// How far from the bottom the input box is looked for. Menus and padding can stand below it.
const REACH: usize = 50;

/// The input box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Composer {
    /// The row of the prompt sign, and those that the draft goes on in.
    pub(super) rows: Range<usize>,
    /// Where what belongs to it begins: the rule, the edge or the line with the mode.
    pub(super) top: usize,
    /// What stands in it.
    pub(super) draft: String,
    /// True where nothing is said of the mode as long as it is the default: later versions say it, below a rule.
    pub(super) silent: bool,
    /// True where it takes commands for the shell.
    pub(super) shell: bool,
    /// The mode that its sign stands for, where it stands for one.
    pub(super) mode: Option<Mode>,
}

/// The sign in front of the input, with what it means.
#[derive(Clone, Copy)]
struct Sign {
    text: &'static str,
    mode: Option<Mode>,
    shell: bool,
}

const fn sign(text: &'static str, mode: Option<Mode>, shell: bool) -> Sign {
    Sign { text, mode, shell }
}

/// One character where there are frames, words for screen readers.
const SIGNS: &[Sign] = &[
    sign(">", None, false),
    sign("❯", None, false),
    sign("›", None, false),
    sign("»", None, false),
    sign("*", Some(Mode::Yolo), false),
    sign("!", None, true),
    sign("(r:)", None, false),
    sign("YOLO mode", Some(Mode::Yolo), false),
    sign("Plan mode", Some(Mode::Plan), false),
    sign("Accepting edits", Some(Mode::AutoEdit), false),
    sign("Shell mode", None, true),
];

/// A row that begins with a prompt sign: the sign, the column after it, and what stands there.
fn prompt(row: &str) -> Option<(Sign, usize, &str)> {
    let column = row.chars().take_while(|char| *char == ' ').count();
    if column > 2 {
        return None;
    }
    let rest = outdent(row, column);
    let sign = SIGNS.iter().find(|sign| {
        let after = rest.strip_prefix(sign.text);
        after.is_some_and(|after| after.is_empty() || after.starts_with(' '))
    })?;
    let after = rest.strip_prefix(sign.text)?;
    let text = after.strip_prefix(' ').unwrap_or(after);
    Some((*sign, column + sign.text.chars().count() + 1, text))
}

/// What an empty input box says. Two blanks before it are part of it: the cursor stands on the first.
fn is_placeholder(text: &str) -> bool {
    let words = text.trim_start();
    text.starts_with("  ")
        && (words.starts_with("Type your ")
            || words.starts_with("Press 'i' for ")
            || words.starts_with("Press 'Esc' for "))
}

/// Finds the input box. A message of the conversation begins with the same sign; what tells them apart is what stands
/// around: nothing of the conversation is below the input box.
pub(super) fn find(rows: &[String]) -> Option<Composer> {
    let end = rows.iter().rposition(|row| !row.is_empty())? + 1;
    let reach = end.saturating_sub(REACH);
    for at in (reach..end).rev() {
        let row = rows.get(at)?;
        if let Some(found) = prompt(row).and_then(|found| at_row(rows, at, found)) {
            return Some(found);
        }
        if is_of_conversation(row) {
            return None;
        }
    }
    None
}

fn at_row(
    rows: &[String],
    at: usize,
    (sign, column, first): (Sign, usize, &str),
) -> Option<Composer> {
    if is_chosen_below(rows, at, column) {
        return None;
    }
    let top = top(rows, at);
    let read_aloud = !rows.get(at)?.starts_with(' ');
    let known = match () {
        () if is_placeholder(first) => true,
        () if read_aloud => is_last_read(rows, at),
        () => top.ruled || has_footer(rows, at, top.halved),
    };
    if !known {
        return None;
    }
    let end = end(rows, at, column);
    let silent = !read_aloud && !top.ruled;
    if is_placeholder(first) {
        return Some(Composer {
            rows: at..at + 1,
            top: top.row,
            draft: String::new(),
            silent,
            shell: sign.shell,
            mode: sign.mode,
        });
    }
    let mut draft = if read_aloud { first.trim() } else { first.trim_end() }.to_owned();
    for row in rows.get(at + 1..end)? {
        draft.push('\n');
        draft.push_str(outdent(row, column));
    }
    let draft = draft.trim_end().to_owned();
    Some(Composer {
        rows: at..end,
        top: top.row,
        draft,
        silent,
        shell: sign.shell,
        mode: sign.mode,
    })
}

struct Top {
    row: usize,
    /// There is a rule above.
    ruled: bool,
    /// There is the upper edge of a background right above.
    halved: bool,
}

/// Where the input box begins: an edge right above, a line with the mode above that, a rule above that.
fn top(rows: &[String], at: usize) -> Top {
    let edge = at.checked_sub(1).filter(|edge| rows.get(*edge).is_some_and(|row| is_rule(row)));
    if let Some(edge) = edge {
        // If it finds few colours, the CLI draws the edge as a line too.
        let upper = top(rows, edge);
        let row = if upper.ruled { upper.row } else { edge };
        return Top { row, ruled: true, halved: false };
    }
    let mut top = Top { row: at, ruled: false, halved: false };
    let mut status = 0;
    for row in (at.saturating_sub(6)..at).rev() {
        let Some(text) = rows.get(row) else { break };
        if is_rule(text) {
            return Top { row, ruled: true, ..top };
        }
        if is_edge(text) && row + 1 == at {
            top = Top { row, halved: true, ..top };
        } else if text.is_empty() {
            // A blank row stands where the edge of a background would.
        } else if status < 3 && is_status(text) {
            top.row = row;
            status += 1;
        } else {
            break;
        }
    }
    top
}

/// A line about the session, above the input box: mode, servers, files, what a key does.
pub(super) fn is_status(row: &str) -> bool {
    let row = row.trim().to_lowercase();
    let words = [
        "shift+tab",
        "shift + tab",
        "ctrl+y",
        "ctrl + y",
        "shell mode enabled",
        "mcp server",
        "gemini.md file",
        "using:",
        "? for shortcuts",
        "again to ",
        "yolo mode",
        "raw markdown",
        "open file",
        "skill",
    ];
    words.iter().any(|word| row.contains(word))
}

/// True where the rows below are a footer: few, short of anything of the conversation, and, where the block has a
/// background, with its lower edge first.
fn has_footer(rows: &[String], at: usize, halved: bool) -> bool {
    let below = rows.get(at + 1..).unwrap_or_default();
    let mut footer = below.iter().skip_while(|row| halved && !is_edge(row));
    let closed = !halved || footer.next().is_some();
    let lines: Vec<&String> = footer.filter(|row| !row.is_empty()).collect();
    let words = |row: &&String| {
        let row = row.to_lowercase();
        row.contains("sandbox") || row.contains("/model") || row.contains("untrusted")
    };
    closed && lines.iter().any(words)
}

/// The rows between the input box and the footer, up to where the list is cut.
pub(super) fn menu(rows: &[String], composer: &Composer) -> Vec<String> {
    let below = rows.get(composer.rows.end..).unwrap_or_default().iter();
    let below: Vec<&String> = below.skip_while(|row| row.is_empty() || is_edge(row)).collect();
    let is_entry = |(at, row): &(usize, &&String)| {
        !row.is_empty() && indent(row) == 1 && !below.get(*at..).is_some_and(is_footer)
    };
    let cut = |row: &str| matches!(row, "▲" | "▼") || row.starts_with('(');
    let entries = below.iter().enumerate().take_while(is_entry);
    entries.map(|(_, row)| row.trim().to_owned()).filter(|row| !cut(row)).collect()
}

/// Where a screen reader reads, the footer comes before the input, and nothing of it after.
fn is_last_read(rows: &[String], at: usize) -> bool {
    let above = rows.get(at.saturating_sub(8)..at).unwrap_or_default();
    let below = rows.get(at + 1..).unwrap_or_default();
    above.iter().any(|row| row.ends_with("/model"))
        && !below.iter().any(|row| row.ends_with("/model"))
}

/// Where a screen reader reads that something can be chosen below, this is a row of what is asked about. What is typed into
/// an input box stands further in.
fn is_chosen_below(rows: &[String], at: usize, column: usize) -> bool {
    let mut below = rows.iter().skip(at + 1);
    below.any(|row| indent(row) < column && row.trim_start().starts_with(CHECKED))
}

/// The row after the last of the draft.
fn end(rows: &[String], at: usize, column: usize) -> usize {
    let mut end = at + 1;
    for (row, text) in rows.iter().enumerate().skip(at + 1) {
        if is_edge(text) || text.starts_with('╰') || is_rule(text) {
            break;
        }
        if text.is_empty() {
            // It may be a blank line of the draft: the next line says.
        } else if indent(text) >= column {
            end = row + 1;
        } else {
            break;
        }
    }
    end
}
