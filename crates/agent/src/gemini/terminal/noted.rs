//! What hooks told of questions: the whole command, the whole change. It is told of the dialog that shows a part of the same, and
//! of no other: hooks are early, or late. Pure.

use super::super::screen::Dialog;
use super::words::bare;
use crate::model::{Meaning, Question};
use std::collections::VecDeque;
use std::path::Path;

/// How many are kept: one is asked at a time, and a hook is never late by more than a few.
const MOST: usize = 4;

/// What was told and not used yet, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Noted(VecDeque<Box<Question<'static>>>);

impl Noted {
    /// A hook told of a question.
    pub(super) fn push(&mut self, question: Box<Question<'static>>) {
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back(question);
    }

    /// The turn is over, and with it all that was asked in it.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// What was told of this dialog. What is older was told of dialogs that are gone.
    pub(super) fn take(&mut self, dialog: &Dialog) -> Option<Box<Question<'static>>> {
        let at = self.0.iter().rposition(|question| is_of(question, dialog))?;
        self.0.drain(..=at).next_back()
    }
}

/// Whether a dialog shows what a hook told, as far as there is room for it.
fn is_of(question: &Question<'_>, dialog: &Dialog) -> bool {
    let tool = match (&question.tool, &dialog.tool) {
        (Some(told), Some(shown)) => {
            let (told, shown) = (bare(&told.to_str()), bare(shown));
            told.contains(&shown) || shown.contains(&told)
        }
        _ => true,
    };
    question.kind == dialog.kind && tool && is_shown(question.meaning.as_deref(), dialog)
}

fn is_shown(told: Option<&Meaning>, dialog: &Dialog) -> bool {
    match (told, dialog.meaning.as_ref()) {
        (None, _) => true,
        (
            Some(Meaning::Command { command: told, .. }),
            Some(Meaning::Command { command: shown, .. }),
        ) => {
            let (told, shown) = (bare(told), bare(shown));
            let head = shown.strip_suffix('…').unwrap_or(&shown);
            told == shown || (dialog.body.cut && told.starts_with(head))
        }
        (
            Some(Meaning::Mutation { path: told, diff: Some(whole), .. }),
            Some(Meaning::Mutation { path: shown, diff, .. }),
        ) => is_file(told, shown) && has_rows(whole, diff.as_deref().unwrap_or_default()),
        (Some(Meaning::Card { title: told, .. }), Some(Meaning::Card { title: shown, .. })) => {
            bare(told) == bare(shown)
        }
        _ => false,
    }
}

/// The same file, where the path is shown as far as there is room for it.
fn is_file(told: &str, shown: &str) -> bool {
    let name = |path: &str| Path::new(path).file_name().map(|name| bare(&name.to_string_lossy()));
    shown.contains('…') || name(told) == name(shown)
}

/// Whether a change has all rows that are shown of it, wrapped or not. Rows that only draw a line are of the dialog.
fn has_rows(whole: &str, shown: &str) -> bool {
    let whole = bare(whole);
    let mut rows = shown.lines().filter(|row| !row.starts_with("... ")).map(|row| {
        let row = row.strip_prefix(['+', '-', ' ']).unwrap_or(row);
        bare(row)
    });
    rows.all(|row| !row.contains(char::is_alphanumeric) || whole.contains(&row))
}
