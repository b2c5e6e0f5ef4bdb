//! Asks the person at the terminal: what would be done is shown, and a key answers.

use crate::cli::question;
use crate::report;
use crate::report::keys::{Keys, Wanted, line};
use crate::report::table::printable;
use pollux_agent::model::{Choice, Effect, Question};
use std::collections::VecDeque;
use tokio::task::JoinSet;

/// What the person said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) question: String,
    pub(super) choice: String,
    pub(super) reason: Option<String>,
}

/// Asks one question after the other.
#[derive(Debug, Default)]
pub(super) struct Asker {
    waiting: VecDeque<Question<'static>>,
    /// Reads the keys, in a thread of its own.
    reading: JoinSet<anyhow::Result<Option<Said>>>,
    /// The question that is on the screen, for as long as its answer is wanted.
    shown: Option<(String, Wanted)>,
}

impl Asker {
    /// Where nobody can be asked, nothing is: a policy has the answer.
    pub(super) fn asked(&mut self, question: &Question<'_>) {
        if report::can_ask() {
            self.waiting.push_back(question.clone().into_owned());
        }
    }

    /// A question is no longer open.
    pub(super) fn answered(&mut self, id: &str) {
        self.waiting.retain(|question| question.id != *id);
        if let Some((_, wanted)) = self.shown.as_ref().filter(|(shown, _)| shown == id) {
            wanted.end();
        }
    }

    pub(super) fn is_asking(&self) -> bool {
        self.shown.is_some() || !self.waiting.is_empty()
    }

    /// Waits for what the person says; for ever where there is nothing to ask.
    pub(super) async fn answer(&mut self) -> anyhow::Result<Said> {
        loop {
            if self.shown.is_none() {
                let Some(question) = self.waiting.pop_front() else {
                    return std::future::pending().await;
                };
                let wanted = Wanted::default();
                self.shown = Some((question.id.to_string(), wanted.clone()));
                self.reading.spawn_blocking(move || ask(&question, &wanted));
            }
            let said = self.reading.join_next().await;
            self.shown = None;
            if let Some(said) = said.transpose()?.transpose()?.flatten() {
                return Ok(said);
            }
        }
    }

    /// Nobody waits for an answer any more. The terminal is as it was when this is done.
    pub(super) async fn close(mut self) {
        if let Some((_, wanted)) = &self.shown {
            wanted.end();
        }
        while self.reading.join_next().await.is_some() {}
    }
}

/// Asks one question. None where its answer is not wanted any more.
fn ask(question: &Question<'_>, wanted: &Wanted) -> anyhow::Result<Option<Said>> {
    let pressed = Keys::open()?;
    for line in question::wanted(question) {
        report::note(&line);
    }
    let keys = keys(question);
    let menu: Vec<String> = keys
        .iter()
        .map(|(key, choice)| format!("[{key}] {}", printable(&choice.label.to_str())))
        .collect();
    let reject = keys.iter().find(|(key, _)| *key == 'n').map(|(_, choice)| choice.id.to_string());
    let why = if reject.is_some() { "  [w] Reject with a reason" } else { "" };
    report::note(&format!("{}{why}", menu.join("  ")));
    let said = |choice: String, reason| Said { question: question.id.to_string(), choice, reason };
    while let Some(key) = pressed.next(wanted)? {
        if let (Some(choice), 'w') = (&reject, key) {
            drop(pressed);
            let reason = line("reason: ", wanted)?;
            let reason = reason.map(|text| Some(text).filter(|text| !text.trim().is_empty()));
            return Ok(reason.map(|reason| said(choice.clone(), reason)));
        }
        if let Some((_, choice)) = keys.iter().find(|(own, _)| *own == key) {
            return Ok(Some(said(choice.id.to_string(), None)));
        }
    }
    Ok(None)
}

/// A key for each option: by what it does, and numbers for all else.
fn keys<'q>(question: &'q Question<'_>) -> Vec<(char, &'q Choice<'q>)> {
    let mut taken = Vec::new();
    for (choice, number) in question.options.iter().zip('1'..) {
        let wanted = match choice.effect {
            Effect::AllowOnce => 'y',
            Effect::AllowAlways => 'a',
            Effect::RejectOnce => 'n',
            Effect::RejectAlways => 'd',
            Effect::Words | Effect::Other => number,
        };
        let free = !taken.iter().any(|(key, _)| *key == wanted);
        taken.push((if free { wanted } else { number }, choice));
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::keys;
    use crate::cli::question::tests::hostile;

    #[test]
    fn each_option_has_a_key_of_its_own_by_what_it_does() {
        let question = hostile();
        let keys: Vec<(char, String)> =
            keys(&question).iter().map(|(key, choice)| (*key, choice.id.to_string())).collect();
        assert_eq!(keys[2], ('y', "proceed_once\n  5. cancel".to_owned()));
        assert_eq!(keys[0].0, 'a');
        assert_eq!(keys[1].0, '2');
        assert_eq!(keys[3].0, 'n');
    }
}
