//! The lines of a dialog that can be chosen: a list with one sign, numbered or not.

use super::super::Choosable;
use super::super::layout::indent;
use crate::model::{Effect, QuestionKind};
use std::ops::Range;

/// What stands before the line that Enter would choose.
const CHOSEN: &[&str] = &["● ", "(checked) "];

/// The list, and the rows that it takes.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) rows: Range<usize>,
    pub(super) options: Vec<Choosable>,
}

/// A line of a numbered list: the column of its number, the number, the label and the column of that.
struct Line<'a> {
    column: usize,
    number: u32,
    label: &'a str,
    selected: bool,
}

fn line(row: &str) -> Option<Line<'_>> {
    let mut column = indent(row);
    let mut rest = row.trim_start();
    let mut selected = false;
    if let Some(sign) = CHOSEN.iter().find(|sign| rest.starts_with(**sign)) {
        rest = rest.strip_prefix(sign)?;
        column += sign.chars().count();
        selected = true;
    }
    let (number, label) = rest.split_once('.')?;
    let label = label.strip_prefix(' ')?;
    let number = number.trim().parse().ok()?;
    Some(Line { column, number, label: label.trim(), selected })
}

/// Finds the list around the line that is chosen. A list in the text above it has numbers too, but no sign, and does
/// not count on into this one.
pub(super) fn find(rows: &[String]) -> Option<Found> {
    let chosen = rows
        .iter()
        .rposition(|row| CHOSEN.iter().any(|sign| row.trim_start().starts_with(sign)))?;
    let Some(first) = rows.get(chosen).and_then(|row| line(row)) else {
        // A form, such as that of the settings: something can be set, nothing is asked.
        return Some(Found { rows: chosen..chosen, options: Vec::new() });
    };
    // A screen reader reads no sign before the others, so that their numbers stand further to the left.
    let columns = [first.column, first.column.saturating_sub("(checked) ".len())];
    let counts = |row: &str, number: u32| {
        line(row).is_some_and(|line| line.number == number && columns.contains(&line.column))
    };
    let mut start = chosen;
    let mut wanted = first.number;
    for at in (0..chosen).rev() {
        if wanted <= 1 {
            break;
        }
        let row = rows.get(at)?;
        if counts(row, wanted - 1) {
            wanted -= 1;
            start = at;
        } else if !row.is_empty() && indent(row) <= first.column {
            break;
        }
    }
    Some(downwards(rows, start, wanted, first.column, counts))
}

fn downwards(
    rows: &[String],
    start: usize,
    mut wanted: u32,
    column: usize,
    counts: impl Fn(&str, u32) -> bool,
) -> Found {
    let mut options: Vec<Choosable> = Vec::new();
    let mut end = start;
    for (at, row) in rows.iter().enumerate().skip(start) {
        if counts(row, wanted) {
            if let Some(line) = line(row) {
                options.push(Choosable {
                    number: Some(line.number),
                    label: line.label.to_owned(),
                    note: None,
                    selected: line.selected,
                    effect: Effect::Other,
                });
            }
            wanted = wanted.saturating_add(1);
            end = at + 1;
        } else if row.is_empty() {
            if !rows.iter().skip(at).take(3).any(|row| counts(row, wanted)) {
                break;
            }
        } else if indent(row) > column {
            // More of the label, or what is said about it: which of the two is known with the kind.
            if let Some(option) = options.last_mut() {
                let note = option.note.get_or_insert_default();
                if !note.is_empty() {
                    note.push(' ');
                }
                note.push_str(row.trim());
            }
            end = at + 1;
        } else if !matches!(row.trim(), "▲" | "▼") {
            break;
        }
    }
    Found { rows: start..end, options }
}

/// What the kind of a dialog says about its options: whether a second line is more of the label, and what each does.
pub(super) fn settle(options: &mut [Choosable], kind: QuestionKind) {
    let told = matches!(kind, QuestionKind::Choice | QuestionKind::Plan | QuestionKind::Other);
    for option in options {
        if !told && let Some(rest) = option.note.take() {
            option.label = format!("{} {rest}", option.label);
        }
        option.effect = effect(&option.label, kind);
    }
}

fn effect(label: &str, kind: QuestionKind) -> Effect {
    if matches!(
        kind,
        QuestionKind::Choice | QuestionKind::Other | QuestionKind::SignIn | QuestionKind::Loop
    ) {
        return Effect::Other;
    }
    let label = label.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| label.contains(word));
    if label.starts_with("no") || label.starts_with("don't") || label.starts_with("stop") {
        Effect::RejectOnce
    } else if has(&["always", "session", "future", "automatically"]) || label.starts_with("trust") {
        // First: names of folders, servers and tools stand in these only, and may say `once`.
        Effect::AllowAlways
    } else if has(&["once", "manually", "keep trying"]) {
        Effect::AllowOnce
    } else {
        Effect::Other
    }
}

#[cfg(test)]
mod tests {
    use super::{Effect, QuestionKind, effect, find};

    #[test]
    fn no_name_of_a_folder_or_a_server_makes_once_of_always() {
        let always = [
            ("Trust folder (nonce)", QuestionKind::Trust),
            ("Yes, always allow all tools from server \"once\"", QuestionKind::Mcp),
        ];
        for (label, kind) in always {
            assert_eq!(effect(label, kind), Effect::AllowAlways, "{label}");
        }
        assert_eq!(effect("Yes, allow once", QuestionKind::Mcp), Effect::AllowOnce);
    }

    #[test]
    fn the_greatest_number_is_a_number_too() {
        let rows = ["Which?", "● 4294967295. This one"].map(str::to_owned);
        assert_eq!(find(&rows).unwrap().options.len(), 1);
    }
}
