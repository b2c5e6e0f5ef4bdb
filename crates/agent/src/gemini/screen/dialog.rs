//! A dialog: the last box of a screen, if something in it can be chosen or typed.

mod kind;
mod options;
mod shown;

use super::layout::Frame;
use super::{Choosable, Dialog};
use crate::model::QuestionKind;

/// What stands before a tool in a box of the conversation: done, running, queued, failed, cancelled.
const OF_A_TOOL: &[char] = &['✓', '⊶', 'o', 'x', '-', '≡'];

/// Reads a box as a dialog.
pub(super) fn framed(frame: &Frame) -> Option<Dialog> {
    let first = frame.inside.iter().find(|row| !row.is_empty())?;
    let waits = frame.inside.iter().rposition(|row| row.starts_with("? "));
    match waits {
        // In 0.16 the tools of one turn stand in one box, and one of them waits.
        Some(waits) if is_of_a_tool(first) => read(frame.inside.get(waits..)?),
        None if is_of_a_tool(first) => None,
        _ => read(&frame.inside),
    }
}

/// Reads what a screen reader reads: rows without a frame, from the tool's line on.
pub(super) fn spoken(rows: &[String]) -> Option<Dialog> {
    let chosen = rows.iter().rposition(|row| row.trim_start().starts_with("(checked) "))?;
    let above = rows.get(..chosen)?;
    let footer = above.iter().rposition(|row| row.ends_with("/model")).map_or(0, |at| at + 2);
    let tool = above.iter().rposition(|row| row.starts_with("? ")).unwrap_or(0);
    read(rows.get(footer.max(tool)..)?)
}

fn read(rows: &[String]) -> Option<Dialog> {
    let found = options::find(rows).or_else(|| options::entry(rows));
    let (before, after, options) = match &found {
        Some(found) => {
            (rows.get(..found.rows.start)?, rows.get(found.rows.end..)?, &*found.options)
        }
        None => (rows, &[][..], &[][..]),
    };
    let hint = rows.iter().map(|row| row.trim()).find(|row| is_hint(row));
    let typed = hint.is_some_and(|hint| hint.contains("to submit"));
    let form = found.as_ref().is_some_and(|found| found.options.is_empty());
    if options.is_empty() && !typed && !form {
        return None;
    }
    let head = shown::head(before);
    let paragraphs = shown::paragraphs(before);
    let kind = kind::of(head.as_ref(), &paragraphs, options, hint.unwrap_or_default());
    let text = shown::question(kind, head.as_ref(), &paragraphs, after, form);
    let mut options = options.to_vec();
    options::settle(&mut options, kind);
    if kind == QuestionKind::Choice {
        options::mark_words(&mut options, rows, hint.unwrap_or_default());
    }
    Some(Dialog {
        kind,
        tool: head.as_ref().and_then(|head| head.tool.clone()),
        subject: head.as_ref().map(|head| head.about.clone()).unwrap_or_default(),
        text,
        meaning: shown::meaning(kind, head.as_ref(), before),
        body: shown::whole(kind, before),
        typed: typed || options.iter().any(Choosable::is_typed),
        options,
        place: head.as_ref().and_then(|head| head.place),
    })
}

/// A line that says which keys there are.
fn is_hint(row: &str) -> bool {
    row.contains("Enter to select")
        || row.contains("Enter to submit")
        || row.contains("Esc to c")
        || row.contains("Enter to confirm")
}

/// True for the line of a tool that does not wait: its sign and a blank.
fn is_of_a_tool(row: &str) -> bool {
    row.strip_prefix(OF_A_TOOL).is_some_and(|rest| rest.starts_with(' '))
}
