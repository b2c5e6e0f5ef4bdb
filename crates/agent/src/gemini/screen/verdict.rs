//! What the agent does, out of all that was seen: the title first, the screen where it knows better or alone.

use super::layout::Frame;
use super::{Evidence, Title};
use crate::model::SessionStatus;

/// What was seen on a screen.
pub(super) struct Seen<'a> {
    pub(super) rows: &'a [String],
    pub(super) composer: bool,
    pub(super) frame: Option<&'a Frame>,
    pub(super) dialog: bool,
    pub(super) activity: Option<&'a str>,
}

/// The status, and what it was concluded from.
pub(super) fn of(title: Option<&str>, seen: &Seen<'_>) -> (Option<SessionStatus>, Evidence) {
    let told = title.map_or(Title::Silent, Title::read);
    if let Some(status) = overruled(title, seen) {
        return (Some(status), Evidence::Screen);
    }
    match told {
        Title::ActionRequired => (Some(SessionStatus::Waiting), Evidence::Title),
        Title::Ready | Title::Working if seen.is_between() => (None, Evidence::None),
        Title::Working => (Some(SessionStatus::Working), Evidence::Title),
        Title::Ready if seen.is_starting() => (Some(SessionStatus::Starting), Evidence::Screen),
        Title::Ready => (Some(SessionStatus::Idle), Evidence::Title),
        Title::Silent => by_screen(seen),
    }
}

impl Seen<'_> {
    /// Neither an input box nor a dialog: one of the two is being drawn, and the next picture says which.
    fn is_between(&self) -> bool {
        !self.composer && !self.dialog && !self.is_starting()
    }

    /// The CLI says what it does before it is ready for a prompt: in a line, or, while it signs in, in a box.
    fn is_starting(&self) -> bool {
        let signs_in = |frame: &Frame| frame.inside.iter().any(|row| is_waiting_for_auth(row));
        self.activity.is_some_and(is_a_start) || self.frame.is_some_and(signs_in)
    }
}

/// What the screen knows better than any title.
fn overruled(title: Option<&str>, seen: &Seen<'_>) -> Option<SessionStatus> {
    let last = seen.rows.iter().rev().find(|row| !row.is_empty()).map_or("", |row| row.trim());
    // tmux writes this into a pane that it keeps; the CLI empties the title when it goes.
    if last.starts_with("Pane is dead") {
        return Some(SessionStatus::Exited);
    }
    if title.is_some_and(|title| title.trim().is_empty()) && !seen.composer {
        return Some(SessionStatus::Exited);
    }
    if last.starts_with("Gemini CLI is restarting") {
        return Some(SessionStatus::Starting);
    }
    seen.dialog.then_some(SessionStatus::Waiting)
}

/// What the CLI says before it is ready for a prompt.
fn is_a_start(activity: &str) -> bool {
    // While a session is gone on with, the input box comes, goes, and comes again.
    let starts = ["Waiting for auth", "Initializing", "Connecting to MCP", "Loading", "Resuming"];
    starts.iter().any(|start| activity.starts_with(start))
}

/// Without a title: the rules of those who had none. An input box near the bottom and nothing that turns is idle.
fn by_screen(seen: &Seen<'_>) -> (Option<SessionStatus>, Evidence) {
    let gone = seen.frame.is_some_and(|frame| {
        frame.inside.iter().any(|row| {
            row.contains("Agent powering down") || row.contains("To resume this session")
        })
    });
    let status = match seen.activity {
        _ if seen.is_starting() => SessionStatus::Starting,
        Some(activity) if activity.starts_with("Waiting for user confirmation") => {
            SessionStatus::Waiting
        }
        Some(_) if seen.composer => SessionStatus::Working,
        None if seen.composer => SessionStatus::Idle,
        None if gone => SessionStatus::Exited,
        None if seen.rows.iter().all(String::is_empty) => SessionStatus::Starting,
        _ => return (None, Evidence::None),
    };
    (Some(status), Evidence::Screen)
}

fn is_waiting_for_auth(row: &str) -> bool {
    row.contains("Waiting for auth")
}
