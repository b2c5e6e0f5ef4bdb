//! Answering a question: by the label of an option, never by its number, which shifts.

use super::super::screen::{Choosable, DONE, Dialog, SUBMIT};
use super::act::{gone, refusal};
use super::hand::GUARD;
use super::order::Busy;
use super::words::{Words, stands};
use super::work::Work;
use crate::model::{Failure, QuestionKind, SessionStatus};
use crate::session::{Chosen, Offered, Unclear, choose};
use std::iter::{once, repeat_n};
use std::time::Duration;

/// How long the CLI may take to take an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a question may take to stand still. One in which something moves for ever is answered all the same.
const STANDS: Duration = Duration::from_secs(1);

/// How often words are typed into a line in which they do not come to stand.
const TRIES: usize = 3;
/// So much of what may have come late is taken away again before that.
const LONGEST: usize = 1_000;
/// So far is gone to an option at most: how far it is was read off the screen, where anything may stand.
const FARTHEST: usize = 64;

impl Work {
    /// Answers the open question. Done when it is gone from the screen.
    pub(super) async fn answer(
        &mut self,
        question: Option<&str>,
        choice: &str,
        reason: Option<&str>,
    ) -> Result<(), Failure> {
        self.has_begun().await?;
        // What tmux has drawn by now, and not what we have: a key over another question would answer that one.
        self.refresh().await?;
        // Until it stands still nothing in it tells two questions apart.
        self.until(STANDS, Self::is_settled).await;
        let Some((id, dialog)) = self.fusion.question() else {
            return Err(refusal(
                "no_question",
                "no question is pending",
                "check its screen with `pollux screen`",
            ));
        };
        if question.is_some_and(|question| question != id) {
            let message = "this question is no longer open";
            return Err(refusal("question_gone", message, "check the current question"));
        }
        let (id, dialog) = (id.to_owned(), dialog.clone());
        let Chosen { at, words } = find(&dialog, choice, reason.is_some())?;
        let reason = words.or(reason);
        let Some(option) = dialog.options.get(at).cloned() else { return Err(gone()) };
        if option.is_typed() && reason.is_none_or(|words| words.trim().is_empty()) {
            let message = format!("the option \u{201c}{}\u{201d} needs a reason", option.label);
            return Err(refusal("no_words", &message, "pass it with `--reason TEXT`"));
        }
        self.choose(&dialog, at).await?;
        let typed = reason.filter(|_| dialog.typed && takes_text(&option, &dialog));
        if let Some(text) = typed {
            self.type_answer(text, &option).await?;
        }
        let mut out = Vec::new();
        self.fusion.answered(&option.label, option.effect, reason, &mut out);
        self.say(out).await;
        let closed = |work: &Self| work.asks() != Some(id.as_str());
        if !self.until(PATIENCE, closed).await {
            if self.over {
                return Err(gone());
            }
            let mut out = Vec::new();
            self.fusion.still_asks(&mut out);
            self.say(out).await;
            let message = "the question is still open";
            return Err(refusal("not_accepted", message, "check its screen with `pollux screen`"));
        }
        self.keeps_draft().await;
        match reason.filter(|_| typed.is_none()) {
            Some(reason) => self.explain(reason).await,
            None => Ok(()),
        }
    }

    /// Whoever goes back in the conversation finds what was said there in the input box. Nobody has typed that.
    async fn keeps_draft(&mut self) {
        self.until(STANDS, Self::is_settled).await;
        let draft = self.reading.draft.clone().filter(|draft| !draft.is_empty());
        self.put_there = draft.filter(|_| self.status() == SessionStatus::Idle);
    }

    /// Chooses an option: by its number where it has one, which takes effect at once; else by going there.
    async fn choose(&mut self, dialog: &Dialog, at: usize) -> Result<(), Failure> {
        if dialog.options.get(at).is_some_and(|option| option.selected && option.is_typed()) {
            // Whatever is pressed there is one of its words.
            return Ok(());
        }
        let number = dialog.options.get(at).and_then(|option| option.number);
        let number = number.filter(|number| *number < 10 && !goes_there(dialog, at));
        if let Some(number) = number {
            return self.pane.press(&[&number.to_string()]).await;
        }
        let keys = keys_to(dialog, at)?;
        if !keys.is_empty() {
            self.pane.press(&keys).await?;
            // Enter takes what is chosen, and that must be seen first: a busy CLI passes over a key that comes too soon.
            let to_end = is_at_end(dialog, at);
            let is_there = |now: &Dialog| if to_end { is_at_end_of(now) } else { is_at(now, at) };
            let there = |work: &Self| work.reading.dialog.as_ref().is_some_and(is_there);
            self.until(PATIENCE, |work| there(work) && work.is_settled()).await;
            if !there(self) {
                let message = "Gemini CLI did not select that option";
                return Err(refusal(
                    "not_accepted",
                    message,
                    "check its screen with `pollux screen`",
                ));
            }
        }
        if dialog.options.get(at).is_some_and(Choosable::is_typed) {
            // What is typed goes into it from here.
            return Ok(());
        }
        self.pane.press(&["Enter"]).await
    }

    /// Types the answer that an option asks for, in the place of what may stand in its line. What the model wants to know is not
    /// sent before it is seen in that line: a busy CLI draws it before it listens.
    async fn type_answer(&mut self, text: &str, option: &Choosable) -> Result<(), Failure> {
        let pasted = Words::Command(text.to_owned()).pasted();
        let asked = self.reading.dialog.as_ref().map(|dialog| dialog.kind);
        let in_line = option.is_typed() && asked == Some(QuestionKind::Choice);
        let mut stands = option.note.as_ref().unwrap_or(&option.label).chars().count();
        for _ in 0..TRIES {
            self.pause(Duration::from_millis(100)).await;
            if option.is_typed() {
                let keys: Vec<&str> = once("C-e").chain(repeat_n("BSpace", stands)).collect();
                self.pane.press(&keys).await?;
            }
            self.pane.paste(&pasted).await?;
            let is_there = |work: &Self| {
                work.reading.dialog.as_ref().is_some_and(|now| is_written(now, &pasted))
            };
            let shown = |work: &Self| {
                if in_line {
                    is_there(work)
                } else {
                    work.shows(&pasted) || work.has_draft(&pasted)
                }
            };
            if self.until(Duration::from_secs(2), shown).await || !in_line {
                self.pause(GUARD).await;
                return self.pane.press(&["Enter"]).await;
            }
            stands += pasted.chars().count().min(LONGEST);
        }
        let message = "Gemini CLI did not show the typed text";
        Err(refusal("not_accepted", message, "check its screen with `pollux screen`"))
    }

    fn has_draft(&self, text: &str) -> bool {
        self.reading.draft.as_deref().is_some_and(|draft| stands(draft, text))
    }

    /// A dialog that takes no words ends the turn: the reason is the next prompt.
    async fn explain(&mut self, reason: &str) -> Result<(), Failure> {
        self.until(PATIENCE, |work| work.status() == SessionStatus::Idle).await;
        self.send(&Words::Prompt(reason.to_owned()), &[], Busy::Queue).await
    }
}

fn offered(option: &Choosable) -> Offered<'_> {
    let Choosable { number, effect, label, .. } = option;
    Offered { id: label, label: option.bare(), number: *number, effect: *effect }
}

/// The option that a word means.
fn find<'w>(dialog: &Dialog, choice: &'w str, reason: bool) -> Result<Chosen<'w>, Failure> {
    let all: Vec<Offered<'_>> = dialog.options.iter().map(offered).collect();
    choose(&all, choice, reason).map_err(|unclear| {
        let labels: Vec<&str> = dialog.options.iter().map(|o| o.label.as_str()).collect();
        let which = match unclear {
            Unclear::None => "no option",
            Unclear::Several => "more than one option",
        };
        let message = format!("{which} matches {choice:?}");
        refusal("no_such_choice", message, &format!("available options: {}", labels.join(", ")))
    })
}

/// The keys that go from where the sign is to an option. The end of a list that is longer than its place is reached over
/// its beginning.
fn keys_to(dialog: &Dialog, at: usize) -> Result<Vec<&'static str>, Failure> {
    let from = dialog.options.iter().position(|option| option.selected).unwrap_or(0);
    let number = dialog.options.get(from).and_then(|option| option.number);
    let (key, times) = match number.and_then(|number| usize::try_from(number).ok()) {
        Some(number) if is_at_end(dialog, at) => ("Up", number),
        _ => (if at > from { "Down" } else { "Up" }, at.abs_diff(from)),
    };
    if times > FARTHEST {
        let message = format!("that option is {times} rows away");
        return Err(refusal("not_accepted", message, "choose it in the terminal"));
    }
    Ok(vec![key; times])
}

/// Whether an option is gone to: in a line to write in a number is one of its words, and the number of such a line among boxes
/// ticks it before there is anything in it.
fn goes_there(dialog: &Dialog, at: usize) -> bool {
    let is_written = dialog.options.iter().any(|option| option.selected && option.is_typed());
    let to_line = dialog.options.get(at).is_some_and(Choosable::is_typed);
    is_written || to_line && dialog.options.iter().any(|option| option.bare() != option.label)
}

/// Whether an option is the end of a list of which several things can be chosen.
fn is_at_end(dialog: &Dialog, place: usize) -> bool {
    dialog.options.get(place).is_some_and(|option| option.number.is_none() && option.label == DONE)
}

/// Whether a line to write in shows a text: its beginning or its end, or that much was pasted.
fn is_written(dialog: &Dialog, text: &str) -> bool {
    let squeezed = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<Vec<_>>();
    let text = squeezed(text);
    let (first, last) = (text.iter().take(8), text.iter().skip(text.len().saturating_sub(8)));
    let parts: [String; 2] = [first.collect(), last.collect()];
    let lines = dialog.options.iter().filter(|option| option.is_typed());
    let mut lines = lines.map(|option| option.note.as_deref().unwrap_or(&option.label));
    lines.any(|line| {
        let line: String = squeezed(line).into_iter().collect();
        line.contains("[PastedText") || parts.iter().any(|part| line.contains(part.as_str()))
    })
}

/// Whether Enter would choose that end.
fn is_at_end_of(dialog: &Dialog) -> bool {
    dialog.options.iter().position(|option| option.selected).is_some_and(|at| is_at_end(dialog, at))
}

/// Whether Enter would choose the option in this place.
fn is_at(dialog: &Dialog, place: usize) -> bool {
    dialog.options.get(place).is_some_and(|option| option.selected)
}

/// Whether an option is the one that words are typed into; where none is known to be, the last one of a dialog that has such.
fn takes_text(option: &Choosable, dialog: &Dialog) -> bool {
    let is_known = dialog.options.iter().any(Choosable::is_typed);
    let is_last = option.label != SUBMIT && dialog.options.last() == Some(option);
    option.is_typed() || !is_known && is_last
}

#[cfg(test)]
mod tests {
    use super::super::super::screen::{Body, Choosable, DONE, Dialog};
    use super::keys_to;
    use crate::model::{Effect, QuestionKind};

    /// A list of which several can be chosen, with this number at the option that Enter would take.
    fn list(number: u32) -> Dialog {
        let option = |number, label: &str, selected| Choosable {
            number,
            label: label.to_owned(),
            note: None,
            selected,
            effect: Effect::Other,
        };
        Dialog {
            kind: QuestionKind::Choice,
            tool: None,
            subject: String::new(),
            text: "Which?".to_owned(),
            meaning: None,
            body: Body::default(),
            options: vec![option(Some(number), "[ ] one", true), option(None, DONE, false)],
            typed: false,
            place: None,
        }
    }

    #[test]
    fn the_end_of_a_list_is_gone_to_only_where_that_is_not_too_far() {
        assert_eq!(keys_to(&list(3), 1).unwrap(), ["Up"; 3]);
        assert_eq!(keys_to(&list(u32::MAX), 1).unwrap_err().code, "not_accepted");
    }
}
