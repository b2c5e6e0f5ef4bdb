//! Reading Gemini's screen: a [`Screen`] in, facts out. Pure.
//!
//! The screen is only for what nothing else has: dialogs, the draft, what is queued, and text as it streams. What was
//! said comes exact from the session file.

mod composer;
mod dialog;
mod layout;
mod status;
mod talk;
mod title;
mod verdict;
mod watch;

pub use title::Title;
pub use watch::{Watch, shows_the_same};

use crate::model::{Choice, Effect, Meaning, Mode, Question, QuestionKind, SessionStatus, Text};
use crate::terminal::Screen;
use composer::Composer;
use layout::Frame;
use serde::Serialize;

/// What a screen says.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Reading {
    /// What the agent does; none where the screen does not say, such as between two pictures.
    pub status: Option<SessionStatus>,
    /// What the status was concluded from.
    pub evidence: Evidence,
    /// What it waits for an answer to.
    #[serde(rename = "question")]
    pub dialog: Option<Dialog>,
    /// What stands in the input box; none where there is no input box.
    pub draft: Option<String>,
    /// True where the input box takes commands for the shell.
    pub shell: bool,
    /// What is offered below the input box, one row for each: Enter may take the first of them instead of what was typed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub menu: Vec<String>,
    /// What was sent and waits for the turn to end.
    pub queued: Vec<String>,
    /// What the agent may do without asking, where the screen says so.
    pub mode: Option<Mode>,
    /// The model, in the words of the footer.
    pub model: Option<String>,
    /// What the agent says that it is doing, such as `Thinking...`.
    pub activity: Option<String>,
    /// The last thing that was asked, as far as it is on the screen.
    pub query: Option<String>,
    /// What the agent has said since, as far as it is on the screen: wrapped as it stands there, and without what
    /// markdown was before it was drawn. For the exact text, see the session file.
    pub answer: Option<String>,
    /// What went wrong in this turn, in the agent's words.
    pub error: Option<String>,
    /// True where the agent says that somebody has stopped this turn.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cancelled: bool,
}

/// What a status was concluded from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// Nothing.
    #[default]
    None,
    /// The title of the window.
    Title,
    /// What stands on the screen.
    Screen,
}

/// A question, as it stands on the screen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Dialog {
    /// What it is about.
    pub kind: QuestionKind,
    /// The tool that waits, as the screen calls it.
    pub tool: Option<String>,
    /// What the line of the tool says it is about: the same for as long as the dialog is, however it is laid out.
    #[serde(skip)]
    pub subject: String,
    /// The question, in the agent's words.
    pub text: String,
    /// What would be done: the command, the change, the address, as far as it is shown.
    pub meaning: Option<Meaning>,
    /// What stands there of it, to tell it from another.
    #[serde(skip)]
    pub body: Body,
    /// What can be answered.
    pub options: Vec<Choosable>,
    /// True where text can be typed as an answer.
    pub typed: bool,
    /// Which of how many, where several wait one after the other.
    pub place: Option<(u32, u32)>,
}

/// What a tool that waits shows of what it would do: the same however it is wrapped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Body {
    /// Its rows without blanks, one behind the other.
    pub text: String,
    /// True where there was no room for all of it.
    pub cut: bool,
}

/// One line of a dialog that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Choosable {
    /// The key that chooses it, where it has a number.
    pub number: Option<u32>,
    /// What it says.
    pub label: String,
    /// What is said about it.
    pub note: Option<String>,
    /// True for the one that Enter would choose.
    pub selected: bool,
    /// What it does.
    pub effect: Effect,
}

/// The end of a list of which several things can be chosen.
pub(in crate::gemini) const DONE: &str = "Done";
/// What ends several questions that came together, under a name that the screen does not have.
pub(in crate::gemini) const SUBMIT: &str = "Submit";

/// What an option says, without the box that is ticked where several can be chosen.
///
/// ```
/// use pollux_agent::gemini::screen::unticked;
///
/// assert_eq!((unticked("[x] Tests"), unticked("[ ] Docs"), unticked("Done")), ("Tests", "Docs", "Done"));
/// ```
pub fn unticked(label: &str) -> &str {
    ["[ ] ", "[x] "].iter().find_map(|tick| label.strip_prefix(tick)).unwrap_or(label)
}

impl Choosable {
    /// What it says, without its box.
    pub(in crate::gemini) fn bare(&self) -> &str {
        unticked(&self.label)
    }

    /// True where it is chosen by typing something.
    pub(in crate::gemini) fn is_typed(&self) -> bool {
        self.effect == Effect::Words
    }
}

impl Dialog {
    /// The dialog as a question. The id is the driver's, which knows what is new; an option's id is its label, because
    /// numbers shift.
    pub fn question(&self, id: impl Into<String>) -> Question<'static> {
        let choice = |option: &Choosable| Choice {
            id: Text::from(option.label.clone()),
            label: Text::from(option.label.clone()),
            effect: option.effect,
        };
        Question {
            id: Text::from(id.into()),
            kind: self.kind,
            tool_id: None,
            tool: self.tool.clone().map(Text::from),
            text: Text::from(self.text.clone()),
            meaning: self.meaning.clone().map(Box::new),
            input: None,
            request: None,
            options: self.options.iter().map(choice).collect(),
        }
    }
}

/// Reads a screen.
///
/// The title speaks first; the screen overrules it where it shows a dialog, and speaks where the title says nothing.
///
/// ```
/// use pollux_agent::gemini::screen::read;
/// use pollux_agent::model::SessionStatus;
/// use pollux_agent::terminal::{Screen, Size};
///
/// let text = "✦ Hello.\n\n────────────────────\n Shift+Tab to accept edits\n\n >   Type your message or @path/to/file\n";
/// let screen = Screen::from_capture(text, Size { columns: 60, rows: 8 }).titled("◇  Ready (shop)");
/// let reading = read(&screen);
/// assert_eq!(reading.status, Some(SessionStatus::Idle));
/// assert_eq!(reading.draft.as_deref(), Some(""));
/// assert_eq!(reading.answer.as_deref(), Some("Hello."));
/// ```
pub fn read(screen: &Screen) -> Reading {
    let rows = layout::rows(screen);
    let composer = composer::find(&rows);
    let frame = if composer.is_none() { frame(&rows) } else { None };
    let dialog = match &frame {
        // Where a screen reader reads, a box is a table that somebody has drawn.
        Some(frame) => dialog::framed(frame).or_else(|| dialog::spoken(&rows)),
        None if composer.is_none() => dialog::spoken(&rows),
        None => None,
    };
    let below = match (&composer, &frame) {
        (Some(composer), _) => composer.rows.start,
        (None, Some(frame)) if dialog.is_some() => frame.rows.start,
        _ => rows.iter().rposition(|row| !row.is_empty()).map_or(0, |last| last + 1),
    };
    let around = status::around(&rows, below);
    let seen = verdict::Seen {
        rows: &rows,
        composer: composer.is_some(),
        frame: frame.as_ref(),
        dialog: dialog.is_some(),
        activity: around.activity.as_deref(),
    };
    let (status, evidence) = verdict::of(screen.title.as_deref(), &seen);
    let dialog = dialog.filter(|_| status == Some(SessionStatus::Waiting));
    let dialog = dialog.or_else(|| around.leaving.as_deref().map(leaving));
    let mode = mode(&rows, composer.as_ref(), frame.as_ref(), dialog.is_some());
    let top = composer.as_ref().map_or(around.top, |composer| around.top.min(composer.top));
    let talk = talk::read(&above(screen, &rows, top));
    // What stands below. Elsewhere words that look like a footer are somebody's.
    let footer = match (&composer, &frame) {
        (Some(composer), _) => rows.get(composer.rows.end..),
        (None, Some(frame)) => rows.get(frame.rows.end..),
        // While it starts there is no input box yet.
        (None, None) => rows.get(around.top..).filter(|_| around.activity.is_some()),
    };
    Reading {
        status,
        evidence,
        dialog,
        shell: composer.as_ref().is_some_and(|composer| composer.shell),
        mode,
        model: footer.and_then(status::model).or_else(|| status::read_aloud(&rows)),
        menu: composer.as_ref().map(|composer| composer::menu(&rows, composer)).unwrap_or_default(),
        draft: composer.map(|composer| composer.draft),
        queued: around.queued,
        activity: around.activity,
        query: talk.query,
        answer: talk.answer,
        error: talk.error,
        cancelled: talk.cancelled,
    }
}

/// The last box of the screen. One without a lower edge is being drawn, unless all that can be in it is there.
fn frame(rows: &[String]) -> Option<Frame> {
    layout::last_frame(rows).or_else(|| layout::open_frame(rows).filter(dialog::is_whole))
}

/// The conversation: what has gone over the upper edge, and what stands above the input box.
fn above<'a>(screen: &'a Screen, rows: &'a [String], top: usize) -> Vec<&'a str> {
    let shown = rows.iter().take(top).map(String::as_str);
    screen.history.iter().map(String::as_str).chain(shown).collect()
}

/// The mode: the sign of the input box, or the line above it, or the one below a dialog.
fn mode(
    rows: &[String],
    composer: Option<&Composer>,
    frame: Option<&Frame>,
    asks: bool,
) -> Option<Mode> {
    let Some(composer) = composer else {
        let below = rows.get(frame?.rows.end..)?;
        return if asks { status::mode_below(below) } else { status::mode(below) };
    };
    if composer.mode.is_some() {
        return composer.mode;
    }
    if composer.shell {
        return None;
    }
    // Another line may have taken the place of the one that would say it.
    let lines = rows.get(composer.top..composer.rows.start)?;
    let silent = composer.silent && !lines.iter().any(|row| row.contains("again to exit"));
    status::mode(lines).or_else(|| silent.then_some(Mode::Default))
}

/// A key was pressed that would end the CLI if it came again. It goes by itself; the input box is still there.
fn leaving(words: &str) -> Dialog {
    Dialog {
        kind: QuestionKind::Quit,
        tool: None,
        subject: String::new(),
        text: words.to_owned(),
        meaning: None,
        body: Body::default(),
        options: Vec::new(),
        typed: false,
        place: None,
    }
}
