//! Keys as a person presses them: slowly enough to be understood.
//!
//! What comes in one go is one moment to the CLI. A `?` in it calls for help wherever the input box was empty when the moment
//! began, and an Enter within 30 ms of a letter is a new line and sends nothing.

use super::super::screen::read;
use crate::model::Failure;
use crate::terminal::{Pane, Screen, Size};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, sleep_until};

/// So long after the last letter a key is a key.
pub(super) const GUARD: Duration = Duration::from_millis(55);
/// How long what was typed may take to stand on the screen. What is typed blindly never does.
const ECHO: Duration = Duration::from_millis(700);
/// How long the first letter may take: on a busy machine what follows it too soon is one moment with it.
const FIRST: Duration = Duration::from_secs(3);
/// So long the screen stands still where the list of what a text may become is that of all of it.
const STILL: Duration = Duration::from_millis(150);
/// How often the screen is looked at meanwhile.
const LOOK: Duration = Duration::from_millis(20);
/// So much of the end of a text is looked for.
const END: usize = 16;

/// A hand on the keys of a pane. What its clones are given is done one after the other, in the order in which it was given.
#[derive(Debug, Clone)]
pub struct Hand {
    pane: Pane,
    /// Who has the one permit has the hand; the others wait in a row.
    turn: Arc<Semaphore>,
    /// When it last typed a letter.
    typed: Arc<Mutex<Option<Instant>>>,
}

impl Hand {
    /// A hand for this pane.
    pub fn on(pane: Pane) -> Self {
        Self { pane, turn: Arc::new(Semaphore::new(1)), typed: Arc::default() }
    }

    /// Types a text, and then presses keys, by tmux's names of them.
    pub async fn press(&self, text: &str, keys: &[&str]) -> Result<(), Failure> {
        // It is never closed.
        let _turn = self.turn.acquire().await;
        if !text.is_empty() {
            let end = end_of(text);
            let before = count(&self.pane.rows().await?, &end);
            self.type_text(text).await?;
            if !keys.is_empty() && !end.is_empty() {
                self.until(ECHO, |rows| count(rows, &end) > before).await?;
                // A list opens below it. An Enter that is too early takes what stood there for the first letter: `/clearstats`.
                if text.trim_start().starts_with(['/', '@']) {
                    self.until_still().await?;
                }
            }
            *self.typed() = Some(Instant::now());
        }
        if keys.is_empty() {
            return Ok(());
        }
        let typed = self.typed().take();
        if let Some(at) = typed {
            sleep_until(at + GUARD).await;
        }
        self.pane.press(keys).await
    }

    fn typed(&self) -> MutexGuard<'_, Option<Instant>> {
        self.typed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first letter is seen before the others follow: then the input box is not empty any more. Where there is none, something
    /// else on the screen has changed by then; beside one, anything may.
    async fn type_text(&self, text: &str) -> Result<(), Failure> {
        let first = text.chars().next().map_or(0, char::len_utf8);
        let (first, rest) = text.split_at(first);
        if !rest.is_empty() {
            let before = self.pane.rows().await?;
            let held = draft(&before);
            self.pane.type_text(first).await?;
            let is_seen = |rows: &[String]| match &held {
                Some(held) => draft(rows).is_some_and(|now| now != *held),
                None => rows != before,
            };
            self.until(FIRST, is_seen).await?;
            return self.pane.type_text(rest).await;
        }
        self.pane.type_text(first).await
    }

    /// Waits until the screen stands still, and not for long: that of an agent that works never does.
    async fn until_still(&self) -> Result<(), Failure> {
        let late = Instant::now() + ECHO;
        let mut before = self.pane.rows().await?;
        while Instant::now() < late {
            sleep(STILL).await;
            let now = self.pane.rows().await?;
            if now == before {
                break;
            }
            before = now;
        }
        Ok(())
    }

    /// Looks at the screen until it is as it is wanted, and not for long.
    async fn until(
        &self,
        limit: Duration,
        wanted: impl Fn(&[String]) -> bool,
    ) -> Result<(), Failure> {
        let late = Instant::now() + limit;
        while !wanted(&self.pane.rows().await?) && Instant::now() < late {
            sleep(LOOK).await;
        }
        Ok(())
    }
}

/// What stands in the input box of a screen.
fn draft(rows: &[String]) -> Option<String> {
    read(&Screen::from_capture(&rows.join("\n"), Size::default())).draft
}

/// The end of a text, without its blanks.
fn end_of(text: &str) -> String {
    let letters: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
    letters.iter().skip(letters.len().saturating_sub(END)).collect()
}

/// How often a text without blanks stands on the screen, wrapped or not.
fn count(rows: &[String], text: &str) -> usize {
    let letters = rows.iter().flat_map(|row| row.chars()).filter(|c| !c.is_whitespace());
    letters.collect::<String>().matches(text).count()
}

#[cfg(test)]
mod tests {
    use super::{count, draft, end_of};

    #[test]
    fn an_input_box_in_which_nothing_was_typed_yet_is_known_whatever_is_drawn_around_it() {
        let screen = |typed: &str, hint: &str| {
            let rule = "─".repeat(80);
            [hint, &rule, "", typed, ""].map(str::to_owned)
        };
        let empty = " >   Type your message or @path/to/file";
        assert_eq!(draft(&screen(empty, "")), draft(&screen(empty, " ? for shortcuts")));
        assert_eq!(draft(&screen(" > s", "")).as_deref(), Some("s"));
        assert_eq!(draft(&["$ ls".to_owned()]), None);
    }

    #[test]
    fn the_end_of_a_text_is_found_however_it_is_wrapped() {
        let rows = [" > once upon a", "   time?  ", "", "once upon a time?"].map(str::to_owned);
        assert_eq!(count(&rows, &end_of("once upon a time?")), 2);
        assert_eq!(end_of("a very long text that is typed"), "gtextthatistyped");
        assert_eq!(count(&rows, &end_of("y")), 0);
    }
}
