//! Readings one after the other, as events: each change once, and nothing for a picture that is not finished.

use super::{Body, Choosable, Dialog, Evidence, Reading};
use crate::model::{
    Answer, Event, EventKind, Mode, Part, QuestionKind, SessionChange, SessionStatus, Source, Text,
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
    open: Option<Open>,
    asked: u64,
    query: Option<String>,
    answer: String,
}

/// A question that stands there.
#[derive(Debug, Clone)]
struct Open {
    id: String,
    dialog: Dialog,
    /// It was seen to stand still. Before that some versions lay it out twice, with other rows for want of room.
    stood: bool,
}

impl Watch {
    /// What the agent does, as far as it was seen.
    pub fn status(&self) -> Option<SessionStatus> {
        self.status
    }

    /// The question that is open, with its id.
    pub fn open(&self) -> Option<(&str, &Dialog)> {
        self.open.as_ref().map(|open| (&*open.id, &open.dialog))
    }

    /// The picture stands still: what is open is laid out, and what differs from it is another question.
    pub fn stands(&mut self) {
        if let Some(open) = &mut self.open {
            open.stood = true;
        }
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

    /// The agent went on with what was asked: what stands there from now on is asked anew, however much it looks the same.
    pub fn goes_on(&mut self) -> Option<Event<'static>> {
        let question_id = Text::from(self.open.take()?.id);
        let answer = Answer::Elsewhere;
        Some(event(EventKind::Answered { question_id, answer }).derived("title"))
    }

    /// What stands there is asked under another name: an answer to the first was sent, and must not fit a second time.
    pub fn ask_again(&mut self) -> Option<Event<'static>> {
        let open = self.open.take()?;
        let asked = self.name(open.dialog);
        self.stands();
        Some(asked)
    }

    /// Opens a question.
    fn name(&mut self, dialog: Dialog) -> Event<'static> {
        self.asked += 1;
        let id = format!("screen-{}", self.asked);
        let question = dialog.question(id.clone());
        self.open = Some(Open { id, dialog, stood: false });
        event(EventKind::Asked(Box::new(question)))
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
        let open = self.open.as_ref()?;
        let other = asked(reading).is_some_and(|dialog| {
            !is_same(&open.dialog, dialog) || (open.stood && !shows_the_same(&open.dialog, dialog))
        });
        if self.status == Some(SessionStatus::Waiting) && !other {
            return None;
        }
        let id = self.open.take()?.id;
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
        if let Some(open) = &mut self.open {
            // The sign moved to another option: the same question.
            open.dialog = dialog.clone();
            return None;
        }
        Some(self.name(dialog.clone()))
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
    let told = (one.kind, &one.tool, &one.text) == (other.kind, &other.tool, &other.text);
    told && is_same_place(one.place, other.place)
        && options
        && has_same_ticks(one, other)
        && is_same_text(&one.subject, &other.subject)
}

/// The last one of several that wait is no longer counted once the others are done.
fn is_same_place(one: Option<(u32, u32)>, other: Option<(u32, u32)>) -> bool {
    one == other || (other.is_none() && one.is_some_and(|(which, many)| which == many))
}

/// Whether the same things are chosen, as far as both are in sight: what was ticked is answered, and asked anew. What is
/// written is ticked as it is written, and is not answered before it is sent.
fn has_same_ticks(one: &Dialog, other: &Dialog) -> bool {
    let ticks = |option: &Choosable| option.label.starts_with("[x] ");
    let differs = |option: &Choosable| {
        let same = |other: &&Choosable| other.number.is_some() && other.number == option.number;
        let other = other.options.iter().find(same).filter(|other| !other.is_typed());
        other.is_some_and(|other| !option.is_typed() && ticks(other) != ticks(option))
    };
    !one.options.iter().any(differs)
}

/// Whether two dialogs would do the same, as far as each has room for it: two changes of one file are two questions, and so are
/// two commands that only begin alike.
pub fn shows_the_same(one: &Dialog, other: &Dialog) -> bool {
    let part = |part: &Body, whole: &Body| part.cut && whole.text.contains(&part.text);
    let (first, second) = (&one.body, &other.body);
    first.text == second.text || part(first, second) || part(second, first)
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
    use super::super::{Body, Dialog, Evidence, Reading};
    use super::Watch;
    use crate::model::{QuestionKind, SessionStatus};

    fn asking(subject: &str, rows: &str, cut: bool) -> Reading {
        let text = rows.chars().filter(|char| !char.is_whitespace()).collect();
        let dialog = Dialog {
            kind: QuestionKind::Edit,
            tool: Some("WriteFile".to_owned()),
            subject: subject.to_owned(),
            text: "Apply this change?".to_owned(),
            meaning: None,
            body: Body { text, cut },
            options: Vec::new(),
            typed: true,
            place: None,
        };
        let status = Some(SessionStatus::Waiting);
        Reading { status, evidence: Evidence::Title, dialog: Some(dialog), ..Reading::default() }
    }

    /// Whether a dialog is taken for the one before it.
    fn is_one_question(before: &Reading, after: &Reading) -> bool {
        let mut watch = Watch::default();
        watch.see(before);
        watch.stands();
        let first = watch.open().unwrap().0.to_owned();
        let told = watch.see(after).len();
        let same = watch.open().unwrap().0 == first;
        assert_eq!(told, if same { 0 } else { 2 }, "one is closed, the other opened");
        same
    }

    #[test]
    fn of_two_long_commands_that_begin_alike_each_is_a_question() {
        let asking = |command| asking("cd /a/long/way && rm…", command, false);
        let one = asking("cd /a/long/way && rm one");
        let wrapped = asking("cd /a/long/way\n&& rm one");
        assert!(is_one_question(&one, &wrapped), "it is only wrapped in another way");
        assert!(!is_one_question(&one, &asking("cd /a/long/way && rm two")));
        assert!(!is_one_question(&one, &asking("cd /a/long/way && rm one more")));
    }

    #[test]
    fn of_two_changes_of_one_file_each_is_a_question() {
        let asking = |rows, cut| asking("Writing to notes.txt", rows, cut);
        let one = asking("1 one\n2 two", false);
        assert!(!is_one_question(&one, &asking("1 one\n2 two\n3 three", false)));
        assert!(!is_one_question(&one, &asking("1 - one\n1 + two", false)));
        assert!(is_one_question(&one, &asking("2 two", true)), "there is less room for it");
        assert!(!is_one_question(&asking("2 two", true), &asking("2 three", true)));
        let mut watch = Watch::default();
        watch.see(&asking("1 one", false));
        assert!(watch.see(&asking("2 two", true)).is_empty(), "it is being laid out");
    }

    #[test]
    fn of_several_that_wait_the_last_is_the_same_when_it_is_no_longer_counted() {
        let at = |place| {
            let mut reading = asking("echo again", "echo again", false);
            reading.dialog.as_mut().unwrap().place = place;
            reading
        };
        assert!(is_one_question(&at(Some((2, 2))), &at(None)));
        assert!(!is_one_question(&at(Some((1, 2))), &at(None)));
        assert!(!is_one_question(&at(Some((1, 2))), &at(Some((2, 2)))));
    }

    #[test]
    fn what_looks_the_same_is_asked_anew_once_the_agent_went_on() {
        let one = asking("Writing to notes.txt", "1 one", false);
        let mut watch = Watch::default();
        watch.see(&one);
        let first = watch.open().unwrap().0.to_owned();
        assert!(watch.goes_on().is_some());
        assert_eq!(watch.see(&one).len(), 1);
        let second = watch.open().unwrap().0.to_owned();
        assert!(watch.ask_again().is_some());
        let third = watch.open().unwrap().0.to_owned();
        assert!(first != second && second != third && third != first);
    }
}
