//! Readings one after the other, as events: each change once, and nothing for a picture that is not finished.

use super::{Dialog, Evidence, Reading};
use crate::model::{
    Answer, Event, EventKind, Meaning, Mode, Part, QuestionKind, SessionChange, SessionStatus,
    Source, Text,
};

/// Follows the screen of one session. Pure: what it knows is what it was shown.
///
/// ```
/// use pollux_agent::gemini::screen::{Watch, read};
/// use pollux_agent::terminal::{Screen, Size};
///
/// let text = "────────────────────\n\n >   Type your message or @path/to/file\n";
/// let screen = Screen::from_capture(text, Size::default()).titled("◇  Ready (shop)");
/// let mut watch = Watch::default();
/// assert_eq!(watch.see(&read(&screen)).len(), 1);
/// assert!(watch.see(&read(&screen)).is_empty());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Watch {
    status: Option<SessionStatus>,
    mode: Option<Mode>,
    model: Option<String>,
    open: Option<(String, Dialog)>,
    asked: u64,
    query: Option<String>,
    answer: String,
}

impl Watch {
    /// What the agent does, as far as it was seen.
    pub fn status(&self) -> Option<SessionStatus> {
        self.status
    }

    /// The question that is open, with its id.
    pub fn open(&self) -> Option<(&str, &Dialog)> {
        self.open.as_ref().map(|(id, dialog)| (&**id, dialog))
    }

    /// Takes a reading in and gives what is new.
    pub fn see(&mut self, reading: &Reading) -> Vec<Event<'static>> {
        let mut events = Vec::new();
        self.talk(reading, &mut events);
        let change = self.change(reading);
        let closed = self.close(reading);
        events.extend(closed);
        if change.status.is_some() || change.mode.is_some() || change.model.is_some() {
            let event = event(EventKind::SessionChanged(change));
            events.push(match reading.evidence {
                Evidence::Title => event.derived("title"),
                _ => event.derived("screen"),
            });
        }
        events.extend(self.ask(reading));
        events
    }

    fn change(&mut self, reading: &Reading) -> SessionChange<'static> {
        let mut change = SessionChange::default();
        // What connects while prompts are taken already is no start.
        let again = reading.status == Some(SessionStatus::Starting)
            && matches!(self.status, Some(SessionStatus::Idle | SessionStatus::Working));
        if let Some(status) = reading.status.filter(|status| !again && self.status != Some(*status))
        {
            self.status = Some(status);
            change.status = Some(status);
        }
        if let Some(mode) = reading.mode.filter(|mode| self.mode != Some(*mode)) {
            self.mode = Some(mode);
            change.mode = Some(mode);
        }
        if let Some(model) =
            reading.model.as_ref().filter(|model| self.model.as_ref() != Some(model))
        {
            self.model = Some(model.clone());
            change.model = Some(Text::from(model.clone()));
        }
        change
    }

    /// A question closes when another one is there, or when nobody is waited for any more.
    fn close(&mut self, reading: &Reading) -> Option<Event<'static>> {
        let (_, open) = self.open.as_ref()?;
        let other = asked(reading).is_some_and(|dialog| !is_same(open, dialog));
        if self.status == Some(SessionStatus::Waiting) && !other {
            return None;
        }
        let (id, _) = self.open.take()?;
        // Which option it was, whoever pressed the key knows; the screen does not say.
        let answer = if self.status == Some(SessionStatus::Exited) {
            Answer::Cancelled
        } else {
            Answer::Elsewhere
        };
        Some(event(EventKind::Answered { question_id: Text::from(id), answer }).derived("screen"))
    }

    fn ask(&mut self, reading: &Reading) -> Option<Event<'static>> {
        let dialog = asked(reading)?;
        if let Some((_, open)) = &mut self.open {
            // The sign moved to another option: the same question.
            *open = dialog.clone();
            return None;
        }
        self.asked += 1;
        let id = format!("screen-{}", self.asked);
        let question = dialog.question(id.clone());
        self.open = Some((id, dialog.clone()));
        Some(event(EventKind::Asked(Box::new(question))))
    }

    /// What the answer grew by. The session file has it whole later.
    fn talk(&mut self, reading: &Reading, events: &mut Vec<Event<'static>>) {
        if reading.status.is_none() {
            return;
        }
        if reading.query != self.query && reading.query.is_some() {
            self.query.clone_from(&reading.query);
            self.answer.clear();
        }
        let Some(answer) = &reading.answer else { return };
        let working =
            matches!(reading.status, Some(SessionStatus::Working | SessionStatus::Waiting));
        if let Some(more) = grown(&self.answer, answer).filter(|more| working && !more.is_empty()) {
            let text = Text::from(more.to_owned());
            let kind = EventKind::TextGrew { part: Part::Text, text, message_id: None };
            events.push(event(kind).derived("screen"));
        }
        self.answer.clone_from(answer);
    }
}

fn event(kind: EventKind<'static>) -> Event<'static> {
    Event::new(Source::Screen, kind)
}

/// The dialog that somebody must answer: one that goes by itself is none.
fn asked(reading: &Reading) -> Option<&Dialog> {
    reading.dialog.as_ref().filter(|_| reading.status == Some(SessionStatus::Waiting))
}

/// The same question, whichever of its options the sign stands at, and however much of it there is room for.
fn is_same(one: &Dialog, other: &Dialog) -> bool {
    // A list that is longer than its place is scrolled: then the question tells.
    let options = one.kind == QuestionKind::Choice || one.options.len() == other.options.len();
    let told = (one.kind, &one.tool, &one.text, one.place)
        == (other.kind, &other.tool, &other.text, other.place);
    told && options && is_same_text(&one.subject, &other.subject) && is_same_command(one, other)
}

/// Two commands that only begin alike are two questions, also where the line of the tool has no room for all of them. Where
/// rows are wrapped does not count, nor what there is no room for.
fn is_same_command(one: &Dialog, other: &Dialog) -> bool {
    let command = |dialog: &Dialog| match &dialog.meaning {
        Some(Meaning::Command { command, .. }) => {
            let head = command.split('…').next().unwrap_or(command);
            Some(head.chars().filter(|char| !char.is_whitespace()).collect::<String>())
        }
        _ => None,
    };
    match (command(one), command(other)) {
        (Some(one), Some(other)) => one.starts_with(&other) || other.starts_with(&one),
        _ => true,
    }
}

/// The same text, where the end of either may be cut.
fn is_same_text(one: &str, other: &str) -> bool {
    let head = |text: &str| text.split('…').next().unwrap_or(text).to_owned();
    let cut = one.contains('…') || other.contains('…');
    let (one, other) = (head(one), head(other));
    one == other || (cut && (one.starts_with(&other) || other.starts_with(&one)))
}

/// What stands at the end of a text that begins like an earlier one; where lines break does not count, because a word
/// that grows may go to the next line.
fn grown<'a>(before: &str, now: &'a str) -> Option<&'a str> {
    let mut rest = now.chars();
    for char in before.chars().filter(|char| !char.is_whitespace()) {
        if rest.by_ref().find(|char| !char.is_whitespace()) != Some(char) {
            return None;
        }
    }
    Some(rest.as_str())
}

#[cfg(test)]
mod tests {
    use super::super::{Dialog, Evidence, Reading};
    use super::Watch;
    use crate::model::{Derived, Meaning, QuestionKind, SessionStatus};

    fn asking(command: &str) -> Reading {
        let command = command.to_owned();
        let derived = Derived(vec![("command", "screen")]);
        let dialog = Dialog {
            kind: QuestionKind::Command,
            tool: Some("Shell".to_owned()),
            subject: "cd /a/long/way && rm…".to_owned(),
            text: "Allow execution of [Shell]?".to_owned(),
            meaning: Some(Meaning::Command { command, output: None, exit_code: None, derived }),
            options: Vec::new(),
            typed: true,
            place: None,
        };
        let status = Some(SessionStatus::Waiting);
        Reading { status, evidence: Evidence::Title, dialog: Some(dialog), ..Reading::default() }
    }

    #[test]
    fn of_two_long_commands_that_begin_alike_each_is_a_question() {
        let mut watch = Watch::default();
        watch.see(&asking("cd /a/long/way && rm one"));
        let first = watch.open().unwrap().0.to_owned();
        watch.see(&asking("cd /a/long/way\n&& rm one"));
        assert_eq!(watch.open().unwrap().0, first, "it is only wrapped in another way");
        watch.see(&asking("cd /a/long/way && rm two"));
        assert_ne!(watch.open().unwrap().0, first);
    }
}
