//! The task of a run: the lines of the CLI, its session file, the clock and whoever wants to stop it, in one loop.

use super::super::super::settings::Own;
use super::super::failure::{End, failure};
use super::super::fuse::Done;
use super::super::lines::Lines;
use super::super::place::Place;
use super::super::whole::turn_ended;
use super::super::{Fusion, Translator};
use super::Outcome;
use crate::deadline::{after, until};
use crate::model::{
    Event, EventKind, Level, Message, Role, Scope, Source, StopReason, Text, Usage,
};
use crate::process::Child;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;
use tokio::io::BufReader;
use tokio::process::ChildStdout;
use tokio::sync::mpsc::error::SendError;
use tokio::sync::mpsc::{Permit, Sender};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// How often the session file is looked at while the CLI works. A look costs a `stat`.
const LOOK: Duration = Duration::from_millis(50);
/// How long the output may stay open when the CLI is gone: something that it started may hold it.
const HELD: Duration = Duration::from_millis(300);
/// How long the CLI may live when its output is closed.
const CLOSED: Duration = Duration::from_secs(10);

pub(super) struct Work {
    pub(super) child: Child,
    pub(super) place: Place,
    pub(super) tell: Sender<Event<'static>>,
    pub(super) cancel: CancellationToken,
    pub(super) kill: CancellationToken,
    pub(super) timeout: Option<Duration>,
    pub(super) max_turns: Option<u64>,
    pub(super) grace: Duration,
    /// Lives as long as the CLI, which reads it.
    pub(super) _settings: Option<Own>,
}

/// What was read so far.
#[derive(Default)]
struct Read {
    translator: Translator,
    fusion: Fusion,
    /// The tokens of the whole run, where the CLI told.
    usage: Option<Usage>,
    followed: bool,
    stopped: Option<StopReason>,
    /// How it ended, where that became known.
    status: Option<ExitStatus>,
}

/// What the loop woke up for.
enum Woke {
    Line(Option<String>),
    Exited(Option<ExitStatus>),
    Look,
    Stop(StopReason),
    Kill,
    Deadline,
}

impl Work {
    pub(super) async fn run(mut self) -> Outcome {
        let mut read = Read::default();
        if let Some(stdout) = self.child.stdout() {
            self.stream(stdout, &mut read).await;
        }
        self.finish(read).await
    }

    async fn stream(&mut self, stdout: ChildStdout, read: &mut Read) {
        let mut lines = Lines::new(BufReader::with_capacity(64 << 10, stdout));
        let mut open = true;
        let mut look = tokio::time::interval(LOOK);
        look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let over = after(self.timeout.unwrap_or(Duration::MAX));
        // When what was asked for must have happened.
        let mut deadline = None;
        while open || read.status.is_none() {
            // A CLI that prints without end must not keep anybody from looking at the clock; one that has ended cannot,
            // and all that it has printed is read.
            let moment = deadline.and_then(Deadline::moment);
            let due = if read.stopped.is_none() { Some(over) } else { moment };
            let is_late = read.status.is_none() && due.is_some_and(|time| time <= Instant::now());
            let woke = tokio::select! {
                biased;
                () = self.kill.cancelled(), if deadline != Some(Deadline::Killed) => Woke::Kill,
                () = self.cancel.cancelled(), if read.stopped.is_none() => {
                    Woke::Stop(StopReason::Cancelled)
                }
                line = lines.next(), if open && !is_late => Woke::Line(line.unwrap_or_default()),
                status = self.child.wait(), if read.status.is_none() => Woke::Exited(status.ok()),
                () = until(moment) => Woke::Deadline,
                () = sleep_until(over), if read.stopped.is_none() => {
                    Woke::Stop(StopReason::Timeout)
                }
                _ = look.tick(), if self.place.is_known() => Woke::Look,
            };
            match woke {
                Woke::Line(Some(line)) => {
                    if !self.line(&line, read).await {
                        // Nobody listens any more.
                        self.child.kill();
                    }
                    if read.stopped == Some(StopReason::MaxTurns)
                        && read.translator.open_calls() > 0
                    {
                        // It was asked to stop, and went on to the next tool all the same.
                        self.child.kill();
                    }
                    if self.has_had_its_turns(read) {
                        read.stopped = Some(StopReason::MaxTurns);
                        self.child.interrupt();
                        deadline = Some(Deadline::At(after(self.grace)));
                    }
                }
                Woke::Line(None) => {
                    open = false;
                    deadline.get_or_insert(Deadline::At(after(CLOSED)));
                }
                Woke::Exited(status) => {
                    read.status = status;
                    deadline = Some(Deadline::At(after(HELD)));
                    if status.is_none() {
                        break;
                    }
                }
                Woke::Look => self.look(read).await,
                Woke::Stop(reason) => {
                    read.stopped = Some(reason);
                    self.child.interrupt();
                    deadline = Some(Deadline::At(after(self.grace)));
                }
                Woke::Kill => {
                    read.stopped.get_or_insert(StopReason::Cancelled);
                    self.child.kill();
                    deadline = Some(Deadline::Killed);
                }
                Woke::Deadline if read.status.is_some() => break,
                Woke::Deadline => {
                    self.child.kill();
                    deadline = Some(Deadline::Killed);
                }
            }
        }
    }

    /// True where the model may not be asked once more, and would be.
    fn has_had_its_turns(&self, read: &Read) -> bool {
        let told = read.translator.told();
        let asks_again = told.awaits_model() && read.translator.open_calls() == 0;
        read.stopped.is_none()
            && asks_again
            && self.max_turns.is_some_and(|turns| told.turns >= turns)
    }

    /// One line. False where nobody wants to know.
    async fn line(&mut self, line: &str, read: &mut Read) -> bool {
        let mut events = Vec::new();
        read.translator.line(line, &mut events);
        let mut out = Vec::new();
        let mut look = false;
        for event in events {
            match &event.kind {
                EventKind::SessionStarted { session_id, .. } => {
                    self.place.is(&session_id.to_str());
                }
                EventKind::UsageChanged { scope: Scope::Run, usage, .. } => {
                    read.usage = Some(*usage);
                }
                EventKind::ToolEnded { .. } => look = true,
                _ => {}
            }
            read.fusion.stream(event.into_owned(), &mut out);
        }
        let heard = self.say(out).await;
        if look {
            self.look(read).await;
        }
        heard
    }

    async fn look(&mut self, read: &mut Read) {
        let mut out = Vec::new();
        for event in self.place.poll() {
            read.fusion.session(event, &mut out);
        }
        self.say(out).await;
    }

    async fn say(&self, events: Vec<Event<'static>>) -> bool {
        for event in events {
            let Ok(room) = self.room().await else { return false };
            room.send(event);
        }
        true
    }

    /// Waits until somebody can take one more event. Whoever wants the CLI to end does not wait for that.
    async fn room(&self) -> Result<Permit<'_, Event<'static>>, SendError<()>> {
        tokio::select! {
            biased;
            room = self.tell.reserve() => return room,
            () = self.kill.cancelled() => self.child.kill(),
        }
        self.tell.reserve().await
    }

    async fn finish(mut self, mut read: Read) -> Outcome {
        // The CLI is gone: what it wrote is written. One look is enough, and nothing is waited for.
        let mut out = Vec::new();
        let late = self.place.poll();
        for event in late.into_iter().chain(self.place.lost()) {
            read.fusion.session(event, &mut out);
        }
        read.followed = self.place.path().is_some();
        let session_file = self.place.path().map(std::path::Path::to_path_buf);
        let stderr = self.child.close().await;
        let told = read.translator.told();
        let end = End {
            code: read.status.and_then(|status| status.code()),
            signal: signal(read.status),
            told,
            stderr: &stderr,
            stopped: read.stopped.filter(|_| !ended_well(read.status, &read)),
        };
        let error = failure(&end);
        let stopped = end.stopped;
        let done = match (&error, stopped) {
            (None, _) => Done::Succeeded,
            (Some(_), Some(_)) => Done::Stopped,
            (Some(_), None) => Done::Failed,
        };
        let begun = told.session_id.is_some();
        read.fusion.finish(read.followed || !begun, done, &mut out);
        out.extend(cancelled(&read.fusion, done));
        out.extend((done == Done::Succeeded && !told.answered).then(silent));
        let ended = turn_ended(&read.translator, stopped, error.clone());
        let stop_reason = match &ended.kind {
            EventKind::TurnEnded { stop_reason, .. } => Some(*stop_reason),
            _ => None,
        };
        out.push(ended);
        for event in out {
            // Whoever has gone away misses nothing more.
            drop(self.tell.send(event).await);
        }
        let messages = read.fusion.messages();
        Outcome {
            session_id: read.translator.told().session_id.clone(),
            session_file,
            text: text(&messages),
            usage: read.usage.unwrap_or_else(|| sum(&messages)),
            model: messages.iter().rev().find_map(|message| message.model.clone()),
            messages,
            stop_reason,
            // A model that was asked and said nothing has had its turn.
            turns: read.translator.told().turns.max(u64::from(begun)),
            error,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Deadline {
    At(Instant),
    /// It was killed; its end is all that is waited for.
    Killed,
}

impl Deadline {
    fn moment(self) -> Option<Instant> {
        match self {
            Self::At(moment) => Some(moment),
            Self::Killed => None,
        }
    }
}

/// A run that came to its end before anybody could stop it was not stopped.
fn ended_well(status: Option<ExitStatus>, read: &Read) -> bool {
    let success = read.translator.told().result.as_ref().is_some_and(|result| result.success);
    success && status.is_some_and(|status| status.success())
}

fn signal(status: Option<ExitStatus>) -> Option<i32> {
    status.and_then(|status| status.signal())
}

/// Old versions call an empty answer a success, and so is a prompt that a hook has turned down.
fn silent() -> Event<'static> {
    let text = "the run succeeded, but the model returned no answer".to_owned();
    let kind = EventKind::Notice { level: Level::Warning, text };
    Event::new(Source::Pollux, kind).derived("stream")
}

/// The calls that somebody stopped by stopping the run.
fn cancelled(fusion: &Fusion, done: Done) -> Vec<Event<'static>> {
    if done != Done::Stopped {
        return Vec::new();
    }
    let ended = |id| EventKind::ToolEnded {
        id: Text::from(id),
        name: None,
        status: crate::model::Status::Cancelled,
        changed: false,
        output: None,
        error: None,
        meaning: None,
    };
    let open = fusion.open_calls().into_iter();
    open.map(|id| {
        Event::new(Source::Pollux, ended(id)).derived("the run was stopped before the call ended")
    })
    .collect()
}

fn text(messages: &[Message<'_>]) -> String {
    let answers = messages.iter().filter(|message| message.role == Role::Assistant);
    let texts = answers.map(Message::text).filter(|text| !text.trim().is_empty());
    texts.collect::<Vec<_>>().join("\n\n")
}

fn sum(messages: &[Message<'_>]) -> Usage {
    let mut sum = Usage::default();
    messages.iter().filter_map(|message| message.usage).for_each(|usage| sum += usage);
    sum
}
