//! A dialog: the last box of a screen, if something in it can be chosen or typed.

mod kind;
mod options;
mod shown;

use super::Dialog;
use super::layout::Frame;

/// What stands before a tool in a box of the conversation: done, running, queued, failed, cancelled.
const OF_A_TOOL: &[&str] = &["✓ ", "⊶ ", "o ", "x ", "- ", "≡ "];

/// Reads a box as a dialog.
pub(super) fn framed(frame: &Frame) -> Option<Dialog> {
    let first = frame.inside.iter().find(|row| !row.is_empty())?;
    if OF_A_TOOL.iter().any(|mark| first.starts_with(mark)) {
        return None;
    }
    read(&frame.inside)
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
    let found = options::find(rows);
    let (before, after, options) = match &found {
        Some(found) => {
            (rows.get(..found.rows.start)?, rows.get(found.rows.end..)?, &*found.options)
        }
        None => (rows, &[][..], &[][..]),
    };
    let hint = rows.iter().map(|row| row.trim()).find(|row| is_hint(row));
    let typed = hint.is_some_and(|hint| hint.contains("to submit"));
    if options.is_empty() && !typed {
        return None;
    }
    let head = shown::head(before);
    let paragraphs = shown::paragraphs(before);
    let kind = kind::of(head.as_ref(), &paragraphs, options, hint.unwrap_or_default());
    let text = shown::question(kind, head.as_ref(), &paragraphs, after);
    let mut dialog = Dialog {
        kind,
        tool: head.as_ref().and_then(|head| head.tool.clone()),
        text,
        meaning: shown::meaning(kind, head.as_ref(), before),
        options: options.to_vec(),
        typed: typed || options.iter().any(|option| kind::is_typed(&option.label)),
        place: head.as_ref().and_then(|head| head.place),
    };
    options::settle(&mut dialog.options, kind);
    Some(dialog)
}

/// A line that says which keys there are.
fn is_hint(row: &str) -> bool {
    row.contains("Enter to select")
        || row.contains("Enter to submit")
        || row.contains("Esc to c")
        || row.contains("Enter to confirm")
}
