//! A dialog: the last box of a screen, if something in it can be chosen or typed.

mod kind;
mod options;
mod shown;

use super::layout::{Frame, outdent};
use super::{Choosable, Dialog};
use crate::model::QuestionKind;
use std::borrow::Cow;
use unicode_width::UnicodeWidthStr;

/// What stands before a tool in a box of the conversation: done, running, queued, failed, cancelled.
const OF_A_TOOL: &[char] = &['✓', '⊶', 'o', 'x', '-', '≡'];

/// What a screen reader reads before the line that Enter would choose.
pub(super) const CHECKED: &str = "(checked) ";

/// True for a box that says which keys there are: that comes last, so nothing is missing but its lower edge.
pub(super) fn is_whole(frame: &Frame) -> bool {
    frame.inside.iter().any(|row| is_hint(row))
}

/// Reads a box as a dialog.
pub(super) fn framed(frame: &Frame) -> Option<Dialog> {
    let first = frame.inside.iter().find(|row| !row.is_empty())?;
    if is_of_a_tool(first) {
        return None;
    }
    read(&with_place(&without_preview(&frame.inside)), frame.cut)
}

/// The rows without the box that shows what a choice looks like, beside those that can be chosen.
fn without_preview(rows: &[String]) -> Cow<'_, [String]> {
    let Some((top, column)) = rows.iter().enumerate().find_map(|(at, row)| {
        let (before, _) = row.split_once('┌')?;
        before.ends_with("  ").then(|| (at, before.width()))
    }) else {
        return Cow::Borrowed(rows);
    };
    let is_edge = |row: &String| outdent(row, column).starts_with('└');
    let Some(bottom) = rows.iter().skip(top).position(is_edge) else { return Cow::Borrowed(rows) };
    // Its heading stands right above it.
    let beside = top.saturating_sub(1)..=top + bottom;
    let cut = |(at, row): (usize, &String)| match row.strip_suffix(outdent(row, column)) {
        Some(before) if beside.contains(&at) => before.trim_end().to_owned(),
        _ => row.clone(),
    };
    Cow::Owned(rows.iter().enumerate().map(cut).collect())
}

/// The rows with `1 of 2` in the line of the tool, where the last number did not fit: it stands between that line and the box
/// with what the tool would do, where no word of the tool can be.
fn with_place(rows: &[String]) -> Cow<'_, [String]> {
    let is_number = |row: &str| !row.is_empty() && row.chars().all(|char| char.is_ascii_digit());
    let Some((at, begun)) = rows.iter().enumerate().find_map(|(at, row)| {
        let last = is_number(rows.get(at + 1)?.trim());
        let boxed = rows.get(at + 2)?.trim_start().starts_with('╭');
        let begun = row.strip_suffix(" of").filter(|_| row.starts_with("? ") && last && boxed)?;
        Some((at, begun))
    }) else {
        return Cow::Borrowed(rows);
    };
    let number = begun.trim_end_matches(|char: char| char.is_ascii_digit()).len();
    let (about, number) = begun.split_at(number);
    let all = rows.get(at + 1).map_or("", |row| row.trim());
    let mut rows = rows.to_vec();
    rows.splice(at..=at + 1, [format!("{about}  {number} of {all}")]);
    Cow::Owned(rows)
}

/// Reads what a screen reader reads: rows without a frame, from the tool's line on.
pub(super) fn spoken(rows: &[String]) -> Option<Dialog> {
    let chosen = rows.iter().rposition(|row| row.trim_start().starts_with(CHECKED))?;
    let above = rows.get(..chosen)?;
    let is_footer = |row: &String| row.ends_with("/model");
    // A command may hold both a footer and the line of a tool, but below those of the CLI.
    let footer = above.iter().position(is_footer);
    let tool = above.iter().skip(footer.unwrap_or(0)).position(|row| row.starts_with("? "));
    let start = match tool {
        Some(tool) => footer.unwrap_or(0) + tool,
        None => above.iter().rposition(is_footer).map_or(0, |at| at + 2),
    };
    read(rows.get(start..)?, footer.is_none() && tool.is_none())
}

/// Reads the rows of a dialog. What is cut has no beginning: that has gone over the edge of the screen.
fn read(rows: &[String], cut: bool) -> Option<Dialog> {
    let found = options::find(rows).or_else(|| options::entry(rows));
    let (before, after, options) = match &found {
        Some(found) => {
            (rows.get(..found.rows.start)?, rows.get(found.rows.end..)?, &*found.options)
        }
        None => (rows, &[][..], &[][..]),
    };
    // What can be pressed stands below what can be chosen. What stands above may be anybody's words.
    let below = if found.is_some() { after } else { rows };
    let hint = hint(below);
    let typed = hint.contains("to submit");
    let form = found.as_ref().is_some_and(|found| found.options.is_empty());
    if options.is_empty() && !typed && !form {
        return None;
    }
    let head = shown::head(before);
    let paragraphs = shown::paragraphs(before);
    let kind = kind::of(&kind::Seen {
        head: head.as_ref(),
        asks: rows
            .iter()
            .find(|row| !row.is_empty())
            .is_some_and(|row| row.trim() == options::ASKS),
        cut,
        paragraphs: &paragraphs,
        options,
        hint: &hint,
    });
    let text = shown::question(kind, head.as_ref(), &paragraphs, after, form);
    let mut options = options.to_vec();
    let tool = head.as_ref().and_then(|head| head.tool.clone());
    options::settle(&mut options, kind, tool.is_some());
    if kind == QuestionKind::Choice {
        options::mark_words(&mut options, rows, &hint);
    }
    Some(Dialog {
        kind,
        tool,
        subject: head.as_ref().map(|head| head.about.clone()).unwrap_or_default(),
        text,
        meaning: shown::meaning(kind, head.as_ref(), before, cut),
        body: shown::whole(kind, before, cut),
        typed: typed || options.iter().any(Choosable::is_typed),
        options,
        place: head.as_ref().and_then(|head| head.place),
    })
}

/// What says which keys there are, however it is wrapped.
fn hint(rows: &[String]) -> String {
    let Some(first) = rows.iter().position(|row| is_hint(row)) else { return String::new() };
    let rows = rows.iter().skip(first).take_while(|row| !row.is_empty());
    rows.map(|row| row.trim()).collect::<Vec<_>>().join(" ")
}

/// A line that says which keys there are.
pub(super) fn is_hint(row: &str) -> bool {
    row.contains("Enter to select")
        || row.contains("Enter to submit")
        || row.contains("Esc to c")
        || row.contains("Enter to confirm")
}

/// True for the line of a tool that does not wait: its sign and a blank.
fn is_of_a_tool(row: &str) -> bool {
    row.strip_prefix(OF_A_TOOL).is_some_and(|rest| rest.starts_with(' '))
}
