//! Reading Gemini's screen: a [`Screen`] in, facts out. Pure.
//!
//! The screen is only for what nothing else has: dialogs, the draft, what is queued, and text as it streams. What was
//! said comes exact from the session file.

mod title;

pub use title::Title;

use crate::model::{Choice, Effect, Meaning, Mode, Question, QuestionKind, SessionStatus, Text};
use crate::terminal::Screen;

/// What a screen says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    /// What the agent does; none where the screen does not say, such as between two pictures.
    pub status: Option<SessionStatus>,
    /// What the status was concluded from.
    pub evidence: Evidence,
    /// What it waits for an answer to.
    pub dialog: Option<Dialog>,
    /// What stands in the input box; none where there is no input box.
    pub draft: Option<String>,
    /// True where the input box takes commands for the shell.
    pub shell: bool,
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
}

/// What a status was concluded from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
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
#[derive(Debug, Clone, PartialEq)]
pub struct Dialog {
    /// What it is about.
    pub kind: QuestionKind,
    /// The tool that waits, as the screen calls it.
    pub tool: Option<String>,
    /// The question, in the agent's words.
    pub text: String,
    /// What would be done: the command, the change, the address, as far as it is shown.
    pub meaning: Option<Meaning>,
    /// What can be answered.
    pub options: Vec<Choosable>,
    /// True where text can be typed as an answer.
    pub typed: bool,
    /// Which of how many, where several wait one after the other.
    pub place: Option<(u32, u32)>,
}

/// One line of a dialog that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
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
            options: self.options.iter().map(choice).collect(),
        }
    }
}

/// Reads a screen.
pub fn read(screen: &Screen) -> Reading {
    let title = screen.title.as_deref().map_or(Title::Silent, Title::read);
    let status = match title {
        Title::Ready => Some(SessionStatus::Idle),
        Title::Working => Some(SessionStatus::Working),
        Title::ActionRequired => Some(SessionStatus::Waiting),
        Title::Silent => None,
    };
    let evidence = if status.is_some() { Evidence::Title } else { Evidence::None };
    Reading { status, evidence, ..Reading::default() }
}
