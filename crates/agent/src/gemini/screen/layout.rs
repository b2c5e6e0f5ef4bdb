//! How the rows of a screen belong together: edges, boxes, and the prompt line of the input box.

use crate::terminal::Screen;
use std::ops::Range;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// What stands before a message, a notice or a tool in the conversation.
pub(super) const MARKS: &[char] = &['✦', 'ℹ', '✕', '⚠', '✖'];

/// How many columns in from the left a line of the outermost frame begins at most.
const OUTERMOST: usize = 2;

/// How much narrower than the window a box of the CLI is at most. A table in an answer is as wide as what is in it.
const MARGIN: usize = 6;

/// The rows of a screen without the scroll bar that the CLI draws in the last column with
/// `ui.useAlternateBuffer`, and with the boxes drawn as all versions so far have drawn them.
pub(super) fn rows(screen: &Screen) -> Vec<String> {
    let rows = barless(screen);
    let wide = usize::from(screen.size.columns).saturating_sub(MARGIN);
    let cornered = |row: &String| begins(row, &['┌', '┏', '╔']).is_some() && row.width() >= wide;
    if rows.iter().any(|row| begins(row, &['╭', '╰']).is_some()) || !rows.iter().any(cornered) {
        return rows;
    }
    rows.iter().map(|row| row.chars().map(rounded).collect()).collect()
}

/// A piece of a box as it would be in one with round corners.
fn rounded(piece: char) -> char {
    match piece {
        '┌' | '┏' | '╔' => '╭',
        '┐' | '┓' | '╗' => '╮',
        '└' | '┗' | '╚' => '╰',
        '┘' | '┛' | '╝' => '╯',
        '┃' | '║' => '│',
        '━' | '═' => '─',
        other => other,
    }
}

fn barless(screen: &Screen) -> Vec<String> {
    let columns = usize::from(screen.size.columns);
    let barred =
        screen.rows.iter().any(|row| bar(row, columns).is_some() && row.width() == columns);
    let row = |row: &String| bar(row, columns).filter(|_| barred).unwrap_or(row).to_owned();
    screen.rows.iter().map(row).collect()
}

/// A row without the piece of a scroll bar at its end. How wide the row is does not always say: the widths of emoji are
/// disputed.
fn bar(row: &str, columns: usize) -> Option<&str> {
    let rest = row.strip_suffix(['█', '▄', '▀'])?;
    let rest =
        rest.strip_suffix(['█', '▄', '▀']).filter(|rest| rest.ends_with(' ')).unwrap_or(rest);
    let wide = rest.ends_with(' ') && row.width() == columns;
    let apart = rest.is_empty() || rest.ends_with("  ") || rest.ends_with(['│', '╮', '╯']) || wide;
    apart.then(|| rest.trim_end())
}

/// How many blanks a row begins with.
pub(super) fn indent(row: &str) -> usize {
    row.chars().take_while(|char| *char == ' ').count()
}

/// A row without its first columns; what is no blank there goes with them.
pub(super) fn outdent(row: &str, columns: usize) -> &str {
    let mut width = 0;
    let mut chars = row.chars();
    while width < columns {
        let Some(char) = chars.next() else { break };
        width += char.width().unwrap_or(0);
    }
    chars.as_str()
}

fn all(row: &str, char: char) -> bool {
    let row = row.trim();
    row.chars().count() >= 10 && row.chars().all(|one| one == char)
}

/// A line from edge to edge, which parts the conversation from what is below it.
pub(super) fn is_rule(row: &str) -> bool {
    indent(row) <= 1 && ['─', '━', '═'].iter().any(|line| all(row, *line))
}

/// An edge of a block with a background. Which half of a row is painted depends on the colours that the CLI finds: on Node 22 and
/// later it finds more in tmux, and paints the other one.
pub(super) fn is_edge(row: &str) -> bool {
    all(row, '▀') || all(row, '▄')
}

fn begins(row: &str, chars: &[char]) -> Option<usize> {
    let column = indent(row);
    (column < OUTERMOST && row.trim_start().starts_with(chars)).then_some(column)
}

/// A row that belongs to the conversation: a message, a notice, a tool or a box of one.
pub(super) fn is_of_conversation(row: &str) -> bool {
    begins(row, MARKS).is_some() || begins(row, &['╭', '╰', '│']).is_some()
}

/// The last box of the outermost frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Frame {
    /// Its rows, edges included. The upper edge may have gone over the edge of the screen.
    pub(super) rows: Range<usize>,
    /// What is written in it, without its edges.
    pub(super) inside: Vec<String>,
    /// True where its upper edge has gone over the edge of the screen.
    pub(super) cut: bool,
}

/// The last box of a screen, if its lower edge is there: a box without one is being drawn.
pub(super) fn last_frame(rows: &[String]) -> Option<Frame> {
    let bottom = rows.iter().rposition(|row| begins(row, &['╰']).is_some())?;
    let opened = rows.iter().rposition(|row| begins(row, &['╭']).is_some());
    if opened.is_some_and(|top| top > bottom) {
        return None;
    }
    let column = rows.get(bottom).map_or(0, |row| indent(row));
    let of_box = |row: &String| begins(row, &['╭', '│']) == Some(column);
    let above = rows.get(..bottom)?;
    let mut top = bottom;
    for (at, row) in above.iter().enumerate().rev() {
        if !of_box(row) {
            break;
        }
        top = at;
        if begins(row, &['╭']).is_some() {
            break;
        }
    }
    let width = rows.get(bottom).map_or(0, |row| row.width()).saturating_sub(column);
    let cut = top == 0 && rows.first().is_none_or(|row| begins(row, &['╭']).is_none());
    let inside = rows.get(top..bottom)?.iter();
    let inside = inside.filter(|row| begins(row, &['╭']).is_none());
    let inside = inside.map(|row| within(outdent(row, column), width)).collect();
    Some(Frame { rows: top..bottom + 1, inside, cut })
}

/// A box that goes on below the last row of the screen: it is higher than that.
pub(super) fn open_frame(rows: &[String]) -> Option<Frame> {
    let last = rows.iter().rposition(|row| !row.is_empty())?;
    let top = rows.iter().rposition(|row| begins(row, &['╭']).is_some());
    let first = top.map_or(0, |top| top + 1);
    let inside = rows.get(first..=last).filter(|_| last + 2 >= rows.len())?;
    let edge = rows.get(top.unwrap_or(first))?;
    let column = indent(edge);
    if inside.is_empty() || !inside.iter().all(|row| begins(row, &['│']) == Some(column)) {
        return None;
    }
    let width = edge.width().saturating_sub(column);
    let inside = inside.iter().map(|row| within(outdent(row, column), width)).collect();
    Some(Frame { rows: top.unwrap_or(first)..last + 1, inside, cut: top.is_none() })
}

/// A row of a box without its two edges and the blank inside each.
fn within(row: &str, width: usize) -> String {
    let row = row.strip_prefix('│').unwrap_or(row);
    let row = if row.width() + 1 >= width { row.strip_suffix('│').unwrap_or(row) } else { row };
    let row = row.trim_end();
    row.strip_prefix(' ').unwrap_or(row).to_owned()
}
