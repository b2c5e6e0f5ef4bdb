//! Orders, carried out with keys as a person would, each seen to have worked on the screen.

use super::super::mention::mention;
use super::hand::GUARD;
use super::order::Busy;
use super::start::short_name;
use super::words::{Words, bare, stands, taken};
use super::work::Work;
use crate::model::{Event, EventKind, Failure, Phase, SessionChange, SessionStatus, Source};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long the CLI may take to show what was pasted, before it is pasted again: at its start it shows its input box
/// before it listens.
const SHOWN: Duration = Duration::from_millis(1500);
/// How long a CLI that listens may take for the same on a machine that has much to do.
const BUSY: Duration = Duration::from_secs(15);
/// How long the CLI may take to take what stands in its input box, before Enter is pressed again.
const TAKEN: Duration = Duration::from_millis(700);
/// How often Enter is pressed at most.
const ENTERS: usize = 8;
/// How long a command, of the CLI's own or for the shell, may take to be seen to run.
const RUNS: Duration = Duration::from_millis(500);
/// How long the CLI may take for anything else.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often it is looked for a process that ends.
const LOOK: Duration = Duration::from_millis(100);
/// How long the CLI may take to start.
const START: Duration = Duration::from_mins(1);
/// How long somebody may type before a prompt is turned down.
const TYPING: Duration = Duration::from_secs(3);
/// How long the agent may work before a prompt that waits for it is turned down.
const WORKING: Duration = Duration::from_hours(24);

pub(super) fn refusal(code: &'static str, message: impl Into<String>, hint: &str) -> Failure {
    Failure::new(Phase::Request, code, message).hint(hint)
}

impl Work {
    /// Sends words. Done when they have left the input box.
    pub(super) async fn send(
        &mut self,
        words: &Words,
        files: &[PathBuf],
        busy: Busy,
    ) -> Result<(), Failure> {
        self.enter(words, files, busy).await?;
        if !matches!(words, Words::Prompt(_)) {
            self.is_idle_again().await;
        }
        Ok(())
    }

    /// The same for words that nobody takes for a prompt: what comes of them is not told as the end of one.
    pub(super) async fn enter(
        &mut self,
        words: &Words,
        files: &[PathBuf],
        busy: Busy,
    ) -> Result<(), Failure> {
        if words.is_empty() && files.is_empty() {
            return Err(refusal("no_prompt", "the prompt is empty", "pass some text"));
        }
        self.is_ready(busy).await?;
        self.is_whole().await?;
        self.has_no_draft().await?;
        let mut pasted = words.pasted();
        for file in files {
            pasted.push_str(&mention(file));
            // Behind a path the CLI offers others, and Enter would choose one of them.
            pasted.push(' ');
        }
        if matches!(words, Words::Shell(_)) {
            self.enter_shell(true).await?;
        } else if self.reading.shell {
            self.enter_shell(false).await?;
        }
        let before = self.reading.menu.clone();
        self.paste(&pasted).await?;
        if matches!(words, Words::Prompt(_)) {
            self.fusion.sent(&pasted);
        }
        if let Words::Command(command) = words {
            self.is_offered(command, &before).await?;
        }
        let cleared = matches!(words, Words::Command(command) if clears(command));
        self.submit(&pasted).await?;
        if matches!(words, Words::Shell(_)) {
            self.leave_shell().await?;
        }
        if cleared {
            self.clear().await;
        }
        Ok(())
    }

    /// While a command is typed the CLI offers commands below it, at first all of them, and Enter takes the first that is offered:
    /// so Enter waits until that is the one which was typed.
    async fn is_offered(&mut self, command: &str, before: &[String]) -> Result<(), Failure> {
        let word = command.rsplit([' ', '/']).next().unwrap_or_default().to_lowercase();
        let fits = |work: &Self| offers(&work.reading.menu, before, &word);
        // Nothing is offered where words stand behind the command, or nobody knows it.
        let limit = if command.contains(' ') { RUNS } else { SHOWN };
        self.until(limit, |work| fits(work) == Some(true)).await;
        self.until(PATIENCE, |work| work.is_settled() && fits(work) != Some(false)).await;
        self.refresh().await?;
        if fits(self) != Some(false) {
            return Ok(());
        }
        let offered = self.reading.menu.first().cloned().unwrap_or_default();
        self.clear_draft().await?;
        let message = format!("Gemini CLI offers another completion for `{command}`: {offered:?}");
        Err(refusal("not_accepted", message, "nothing was sent; try again"))
    }

    /// A command of the CLI's own may begin no turn, and then nothing on the screen says that it is over. Whoever sent it as
    /// they send a prompt is told that the agent is idle, though it has been all the time.
    async fn is_idle_again(&mut self) {
        let works = |work: &Self| work.status() == SessionStatus::Working;
        if self.until(RUNS, works).await || self.status() != SessionStatus::Idle {
            return;
        }
        let status = Some(SessionStatus::Idle);
        let kind = EventKind::SessionChanged(SessionChange { status, ..SessionChange::default() });
        self.say(vec![Event::new(Source::Screen, kind).derived("screen")]).await;
    }

    /// Waits until the agent has started.
    pub(super) async fn has_begun(&mut self) -> Result<(), Failure> {
        let begun = |work: &Self| work.status() != SessionStatus::Starting;
        if self.until(START, begun).await && !self.over {
            return Ok(());
        }
        if self.over {
            return Err(gone());
        }
        Err(refusal("not_ready", "the agent is not ready", "check its screen with `pollux screen`"))
    }

    /// Waits until a prompt can be sent, or says why it cannot.
    pub(super) async fn is_ready(&mut self, busy: Busy) -> Result<(), Failure> {
        self.has_begun().await?;
        if busy == Busy::Wait && self.status() == SessionStatus::Working {
            self.until(WORKING, |work| work.status() != SessionStatus::Working).await;
        }
        match self.status() {
            _ if self.over => Err(gone()),
            SessionStatus::Working if busy == Busy::Refuse => {
                let hint = "wait for the turn to end, queue the prompt, or interrupt the turn";
                Err(refusal("busy", "the agent is busy", hint))
            }
            SessionStatus::Waiting => {
                let asked = self.fusion.question().map(|(_, dialog)| dialog.text.clone());
                let asked = asked.unwrap_or_default();
                let message = format!("the agent waits for an answer: {asked}");
                Err(refusal("question_open", message, "answer it first: `pollux answer`"))
            }
            _ => Ok(()),
        }
    }

    /// What a person has begun to type is theirs.
    pub(super) async fn has_no_draft(&mut self) -> Result<(), Failure> {
        // What tmux has drawn by now, and not what we have.
        self.refresh().await?;
        let put_there = self.put_there.take();
        if put_there.is_some() && put_there == self.reading.draft {
            self.clear_draft().await?;
        }
        let empty = |work: &Self| work.reading.draft.as_deref() == Some("");
        if self.until(TYPING, empty).await {
            return Ok(());
        }
        let draft = self.draft_anew(str::is_empty).await?;
        if draft.is_empty() {
            return Ok(());
        }
        let message = format!("the terminal has unsent input: {draft:?}");
        Err(refusal("draft_in_the_way", message, "send or clear it in the terminal first"))
    }

    /// What stands in the input box. Some versions print remarks over it: what is drawn anew is what stands there, once it
    /// is whole. While it is being drawn, the box is empty, or not there.
    async fn draft_anew(&mut self, wanted: impl Fn(&str) -> bool) -> Result<String, Failure> {
        self.pane.redraw().await?;
        let is = |work: &Self| work.reading.draft.as_deref().is_some_and(&wanted);
        self.until(SHOWN, |work| work.is_settled() && is(work)).await;
        self.refresh().await?;
        Ok(self.reading.draft.clone().unwrap_or_default())
    }

    /// The mode in which the input box takes commands for the shell is entered with a typed `!`, and left with Esc.
    async fn enter_shell(&mut self, wanted: bool) -> Result<(), Failure> {
        if self.reading.shell != wanted {
            if wanted {
                self.pane.type_text("!").await?;
            } else {
                self.pane.press(&["Escape"]).await?;
            }
            if !self.until(PATIENCE, |work| work.reading.shell == wanted).await {
                return Err(refusal(
                    "not_accepted",
                    "Gemini CLI did not switch to its shell mode",
                    "check its screen with `pollux screen`",
                ));
            }
        }
        Ok(())
    }

    /// Leaves the shell when its command is done: Esc would stop it. One that goes on is left to itself, and the mode is
    /// left with the next words that are no command.
    async fn leave_shell(&mut self) -> Result<(), Failure> {
        self.until(RUNS, |work| work.status() == SessionStatus::Working).await;
        let idle = |work: &Self| work.status() == SessionStatus::Idle && work.is_settled();
        if self.until(PATIENCE, idle).await {
            self.enter_shell(false).await?;
        }
        Ok(())
    }

    /// Pastes text and sees it arrive.
    pub(super) async fn paste(&mut self, text: &str) -> Result<(), Failure> {
        // One that never says so may listen all the same.
        self.until(PATIENCE, |work| work.listens.now()).await;
        for _ in 0..20 {
            let since = Instant::now();
            self.pane.paste(text).await?;
            let there = |work: &Self| !work.reading.draft.as_deref().unwrap_or_default().is_empty();
            let whole =
                |work: &Self| stands(work.reading.draft.as_deref().unwrap_or_default(), text);
            if self.until(SHOWN, whole).await {
                self.shown_in = since.elapsed();
                return Ok(());
            }
            // One that listens has it, and shows it when it comes to it: a second one would be sent with the first.
            if self.listens.now() && !there(self) {
                self.until(BUSY, there).await;
                self.refresh().await?;
            }
            if there(self) {
                // A long paste is drawn slowly, or with a remark of the CLI over it.
                if self.until(SHOWN, whole).await
                    || stands(&self.draft_anew(|draft| stands(draft, text)).await?, text)
                    || !there(self) && self.until(BUSY, whole).await
                {
                    self.shown_in = since.elapsed();
                    return Ok(());
                }
                // What is still not it by then is somebody else's too.
                if there(self) {
                    return Err(self.is_mixed(text).await?);
                }
            }
            if self.over {
                return Err(gone());
            }
        }
        let message = "Gemini CLI does not show the pasted text";
        Err(refusal("not_accepted", message, "check its screen with `pollux screen`"))
    }

    /// What was pasted stands with something else, which stays as it is.
    async fn is_mixed(&mut self, text: &str) -> Result<Failure, Failure> {
        let draft = self.reading.draft.clone().unwrap_or_default();
        self.take_back(&draft, text).await?;
        let message = format!("the pasted text was mixed with other input: {draft:?}");
        let hint = "another user typed at the same time; nothing was sent";
        Ok(refusal("draft_mixed", message, hint))
    }

    /// Takes what was pasted out of the input box again, where it stands behind what somebody else has typed.
    async fn take_back(&mut self, draft: &str, text: &str) -> Result<(), Failure> {
        if bare(draft).ends_with(&bare(text)) {
            let keys = vec!["BSpace"; taken(text).chars().count()];
            self.pane.press(&keys).await?;
        }
        Ok(())
    }

    /// Presses Enter, and sees the text leave the input box.
    pub(super) async fn submit(&mut self, text: &str) -> Result<(), Failure> {
        // Two Enters that a busy CLI meets at once send the words twice: who shows words late is given more time for Enter too.
        let limit = TAKEN.max(self.shown_in * 10).min(PATIENCE);
        for _ in 0..ENTERS {
            self.pause(GUARD).await;
            self.pane.press(&["Enter"]).await?;
            if self.until(limit, Self::has_taken).await {
                return Ok(());
            }
            // A CLI that has much to do takes Enter for a new line even then: the words are still there. Enter is pressed
            // again only over them, because over a question it would be an answer.
            let draft = self.reading.draft.as_deref().unwrap_or_default();
            if !stands(draft, text) && !self.until(PATIENCE, Self::has_taken).await {
                break;
            }
            if self.has_taken() {
                return Ok(());
            }
        }
        self.fusion.not_taken(text);
        let message = "Gemini CLI did not accept the input";
        Err(refusal("not_accepted", message, "check its screen with `pollux screen`"))
    }

    /// Whether what stood in the input box was taken: it is empty, or something else has come of it.
    fn has_taken(&self) -> bool {
        match self.reading.draft.as_deref() {
            Some(draft) => draft.is_empty(),
            // A dialog of a command stands where the input box was.
            None => self.reading.dialog.is_some() || self.is_settled(),
        }
    }

    /// The conversation was put away by a command of the CLI: the next one has another id and another file.
    async fn clear(&mut self) {
        self.read_file().await;
        // Who comes before the next id is known must not look for it under the last one, but for what is said.
        self.note_key(&format!("new-{}", short_name())).await;
        let mut out = Vec::new();
        self.fusion.cleared(&mut out);
        self.say(out).await;
        self.files.forget();
    }

    /// Stops the turn.
    pub(super) async fn interrupt(&mut self, drop_queued: bool) -> Result<(), Failure> {
        self.has_begun().await?;
        if !matches!(self.status(), SessionStatus::Working | SessionStatus::Waiting) {
            return Err(refusal("idle", "no turn is in progress", "the agent is idle"));
        }
        let queued = !self.reading.queued.is_empty();
        if queued && drop_queued {
            // Back into the input box, from where it can be cleared.
            self.pane.press(&["Up"]).await?;
            self.until(PATIENCE, |work| work.reading.queued.is_empty()).await;
            self.fusion.dropped();
        }
        self.fusion.interrupted();
        self.pane.press(&["Escape"]).await?;
        let was = self.status();
        let stopped = |work: &Self| {
            let sent = queued && !drop_queued && work.reading.queued.is_empty();
            sent || !matches!(work.status(), SessionStatus::Working | SessionStatus::Waiting)
                || (was == SessionStatus::Waiting && work.fusion.question().is_none())
        };
        if !self.until(PATIENCE, stopped).await {
            return Err(refusal(
                "not_stopped",
                "the agent did not stop",
                "check its screen with `pollux screen`",
            ));
        }
        if queued && drop_queued {
            // It comes back into the input box with the end of the turn.
            self.until(SHOWN, Self::is_settled).await;
            self.clear_draft().await?;
        }
        Ok(())
    }

    /// Clears the input box, with keys that do nothing where there is nothing to clear.
    pub(super) async fn clear_draft(&mut self) -> Result<(), Failure> {
        let empty = |work: &Self| work.reading.draft.as_deref().unwrap_or_default().is_empty();
        for _ in 0..3 {
            self.refresh().await?;
            if empty(self) {
                break;
            }
            let lines = self.reading.draft.as_deref().unwrap_or_default().lines().count();
            let keys: Vec<&str> =
                (0..lines.max(1)).flat_map(|_| ["C-e", "C-u", "BSpace"]).collect();
            self.pane.press(&keys).await?;
            self.until(SHOWN, empty).await;
        }
        Ok(())
    }

    /// Ends the agent: as a person would, and then for good.
    pub(super) async fn stop(&mut self) -> Result<(), Failure> {
        // One that does not come to its feet is ended all the same.
        self.until(Duration::from_secs(1), |work| work.status() != SessionStatus::Starting).await;
        // What is in somebody else's pane by now is not to be pressed any key.
        if self.over || self.has_left().await {
            return Ok(());
        }
        if self.adopted.is_some() {
            return self.leave().await;
        }
        let server = self.pane.server().clone();
        server.leaving(self.leave()).await
    }

    async fn leave(&mut self) -> Result<(), Failure> {
        let calm = matches!(self.status(), SessionStatus::Idle | SessionStatus::Error);
        if !calm && self.status() != SessionStatus::Starting {
            // What is queued would begin a new turn.
            drop(self.interrupt(true).await);
        }
        if matches!(self.status(), SessionStatus::Idle | SessionStatus::Error) {
            self.clear_draft().await?;
            self.pane.press(&["C-d"]).await?;
            self.pause(Duration::from_millis(150)).await;
            // In somebody else's pane the next one would end their shell.
            if !self.over && !self.has_left().await {
                self.pane.press(&["C-d"]).await?;
                self.ends_within(Duration::from_secs(5)).await;
            }
        }
        if !self.over {
            match self.adopted {
                Some(process) => process.end().await,
                None => self.pane.kill().await?,
            }
            self.ends_within(PATIENCE).await;
        }
        if self.over {
            return Ok(());
        }
        Err(refusal(
            "not_stopped",
            "the agent did not stop",
            "check its screen with `pollux screen`",
        ))
    }

    /// Waits until the agent has ended. In somebody else's pane it may do so with nothing to be seen.
    async fn ends_within(&mut self, limit: Duration) {
        let late = Instant::now() + limit;
        while !self.over && !self.has_left().await && Instant::now() < late {
            self.until(LOOK, |work| work.over).await;
        }
    }

    /// Starts the CLI from a login shell: waits until the shell does what it is told, and types the command.
    pub(super) async fn type_into_shell(&mut self, line: &str) {
        let mark = format!("pollux-{}", std::process::id());
        // The mark is put together by the shell: what is echoed while it is typed is not the mark.
        let echo = format!("printf '%s-%s\\n' pollux {}", std::process::id());
        for _ in 0..20 {
            drop(self.pane.type_text(&echo).await);
            drop(self.pane.press(&["Enter"]).await);
            if self.until(Duration::from_secs(3), |work| work.shows(&mark)).await {
                break;
            }
        }
        drop(self.pane.type_text(line).await);
        drop(self.pane.press(&["Enter"]).await);
    }
}

pub(super) fn gone() -> Failure {
    Failure::new(Phase::Request, "exited", "the agent has exited")
        .hint("resume its session: `pollux new --resume ID`")
}

/// Whether the first of what is offered is what was typed: by its name, or by what is said of it where that is another name
/// of it. None where nothing is offered that was not there before.
fn offers(menu: &[String], before: &[String], word: &str) -> Option<bool> {
    let [first, rest @ ..] = menu else { return None };
    (menu != before).then(|| rest.is_empty() || first.to_lowercase().contains(word))
}

/// Commands of the CLI that begin a new conversation.
fn clears(command: &str) -> bool {
    matches!(command.trim(), "/clear" | "/new")
}

#[cfg(test)]
mod tests {
    use super::offers;

    #[test]
    fn enter_waits_until_what_is_offered_is_what_was_typed() {
        let rows = |rows: &[&str]| rows.iter().map(|row| (*row).to_owned()).collect::<Vec<_>>();
        let all = rows(&["clear   Clear the screen", "compress   Compresses the context"]);
        assert_eq!(offers(&all, &[], "rewind"), Some(false));
        assert_eq!(offers(&all, &[], "compress"), Some(false), "Enter would clear");
        assert_eq!(offers(&rows(&["rewind   Jump back"]), &[], "rewind"), Some(true));
        assert_eq!(offers(&[], &[], "rewind"), None);
        assert_eq!(offers(&all, &all, "rewind"), None, "it stood there before");
    }
}
