//! One task for one live agent: draws what it prints, reads its screen and its file, and carries out orders.

use super::super::hooks::{Own, Translator};
use super::super::screen::{Reading, read};
use super::adopted::Process;
use super::files::Files;
use super::fuse::{Fusion, Picture};
use super::listens::Listens;
use super::live::{Live, Orders};
use super::order::{Kind, Order};
use super::resumed::Resumed;
use super::titles::Titles;
use super::words::{bare, is_said};
use crate::deadline;
use crate::model::{Event, Failure, SessionStatus, Source};
use crate::terminal::{Emulator, Ended, Gone, News, Pane, Told, Watch};
use std::collections::VecDeque;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// How many events may wait for a reader. When there are more, the terminal is read no further until there is room.
const WAITING: usize = 1024;
/// How many orders may wait.
const ORDERS: usize = 64;
/// A picture is drawn in parts: it is looked at when nothing more came for so long,
const DRAWN: Duration = Duration::from_millis(6);
/// and at the latest so long after its first part.
const DRAWING: Duration = Duration::from_millis(25);
/// A screen that stands for so long is no half-drawn picture.
const SETTLED: Duration = Duration::from_millis(150);

/// The same for the first input box: nothing was typed yet that a look too early could spoil.
const READY: Duration = Duration::from_millis(50);

/// How an agent begins.
pub(super) struct Begun {
    pub(super) key: String,
    pub(super) files: Files,
    pub(super) listens: Listens,
    /// A line to be typed into the shell that was started first.
    pub(super) typed: Option<String>,
    /// The session that is gone on with.
    pub(super) resumed: Option<Resumed>,
    /// The CLI's process, where the pane is somebody else's.
    pub(super) adopted: Option<Process>,
}

pub(super) struct Work {
    pub(super) pane: Pane,
    pub(super) reading: Reading,
    pub(super) fusion: Fusion,
    pub(super) files: Files,
    pub(super) listens: Listens,
    pub(super) resumed: Option<Resumed>,
    pub(super) adopted: Option<Process>,
    /// What the pane is called, so that others find it.
    noted: String,
    hooks: Translator,
    own: Own,
    watch: Watch,
    emulator: Emulator,
    tell: mpsc::Sender<Event<'static>>,
    orders: mpsc::Receiver<Order>,
    /// When the first and the last part of a picture came that was not looked at yet.
    drawing: Option<(Instant, Instant)>,
    /// When the screen will have settled.
    settles: Option<Instant>,
    /// Since when an idle input box stands there, whatever else is being drawn.
    ready: Option<Instant>,
    resized: bool,
    titles: Titles,
    /// What the CLI has put into its input box after an answer.
    pub(super) put_there: Option<String>,
    /// How long the CLI took to show what was pasted last: as slow is it with everything.
    pub(super) shown_in: Duration,
    pub(super) over: bool,
}

/// What the loop woke up for.
enum Woke {
    News(Box<News>),
    Drawn,
    Settled,
    Written,
    Order(Option<Order>),
    Late,
}

impl Work {
    /// Takes a pane under watch, and gives the handle.
    pub(super) async fn start(
        pane: Pane,
        begun: Begun,
        prompt: Option<String>,
    ) -> Result<Live, Failure> {
        let watch = pane.watch();
        let captured = pane.capture().await?;
        let (tell, events) = mpsc::channel(WAITING);
        let (queue, orders) = mpsc::channel(ORDERS);
        let mut work = Self {
            pane: pane.clone(),
            reading: Reading::default(),
            noted: begun.key.clone(),
            fusion: Fusion::new(begun.key),
            files: begun.files,
            listens: begun.listens,
            resumed: begun.resumed,
            adopted: begun.adopted,
            hooks: Translator::default(),
            own: Own::default(),
            watch,
            emulator: Emulator::new(captured.size),
            tell,
            orders,
            drawing: None,
            settles: None,
            ready: None,
            resized: false,
            titles: Titles::default(),
            put_there: None,
            shown_in: Duration::ZERO,
            over: false,
        };
        work.redraw(&captured);
        if let Some(prompt) = prompt {
            work.fusion.sent(&prompt);
        }
        let mut task = JoinSet::new();
        task.spawn(work.run(begun.typed, captured.told));
        let ours = begun.adopted.is_none();
        Ok(Live { events, orders: Orders { queue }, pane, ours, _task: task })
    }

    async fn run(mut self, typed: Option<String>, told: Told) {
        // It may have ended before it was watched, and that is told once.
        self.news(News { told: Some(told), ..News::default() }).await;
        if let Some(line) = typed.filter(|_| !self.over) {
            self.type_into_shell(&line).await;
        }
        // Orders that wait for the end of a turn. Whoever wants to stop it does not wait for them.
        let mut aside: VecDeque<Order> = VecDeque::new();
        while !self.over {
            let works = self.status() == SessionStatus::Working;
            if let Some(order) = aside.pop_front_if(|_| !works) {
                self.obey(order).await;
                continue;
            }
            match self.wake(None, true).await {
                Woke::Order(Some(order)) if works && order.kind.waits() => aside.push_back(order),
                Woke::Order(Some(order)) => self.obey(order).await,
                // Nobody can give orders any more, but somebody may still listen.
                Woke::Order(None) => self.orders.close(),
                woke => self.take(woke).await,
            }
        }
    }

    async fn obey(&mut self, order: Order) {
        let done = self.carry_out(order.kind).await;
        // Who gave it may have gone.
        drop(order.done.send(done));
    }

    async fn carry_out(&mut self, order: Kind) -> Result<(), Failure> {
        match order {
            Kind::Send { words, files, busy } => self.send(&words, &files, busy).await,
            Kind::Ready(busy) => self.is_ready(busy).await,
            Kind::SendInDoubt(words) => self.send_in_doubt(&words).await,
            Kind::Answer { question, choice, reason } => {
                self.answer(question.as_deref(), &choice, reason.as_deref()).await
            }
            Kind::Interrupt { drop_queued } => self.interrupt(drop_queued).await,
            Kind::Mode(mode) => self.set_mode(mode).await,
            Kind::Model(model) => self.set_model(&model).await,
            Kind::Hook(payload) => {
                self.hook(&payload).await;
                Ok(())
            }
            Kind::Whole => {
                self.has_begun().await?;
                self.is_whole().await
            }
            Kind::Stop => self.stop().await,
        }
    }

    /// Waits for something to happen.
    async fn wake(&mut self, until: Option<Instant>, orders: bool) -> Woke {
        let drawn = self.drawing.map(|(first, last)| (first + DRAWING).min(last + DRAWN));
        tokio::select! {
            news = self.watch.next() => Woke::News(Box::new(news)),
            () = deadline::until(drawn) => Woke::Drawn,
            () = deadline::until(self.settles) => Woke::Settled,
            () = self.files.changed() => Woke::Written,
            order = self.orders.recv(), if orders && !self.orders.is_closed() => Woke::Order(order),
            () = deadline::until(until) => Woke::Late,
        }
    }

    async fn take(&mut self, woke: Woke) {
        match woke {
            Woke::News(news) => self.news(*news).await,
            Woke::Drawn => {
                self.drawing = None;
                self.settles = Some(Instant::now() + self.stands());
                self.look(false).await;
            }
            Woke::Settled => {
                self.settles = None;
                self.look(true).await;
                self.put_stubs_away();
                self.resized = false;
            }
            Woke::Written => self.read_file().await,
            Woke::Order(_) | Woke::Late => {}
        }
    }

    /// Waits until the screen is as it is wanted, and goes on with everything else meanwhile. False where that took too
    /// long, or the agent has gone.
    pub(super) async fn until(
        &mut self,
        limit: Duration,
        mut wanted: impl FnMut(&Self) -> bool,
    ) -> bool {
        let late = Instant::now() + limit;
        while !wanted(self) {
            if self.over {
                return false;
            }
            match self.wake(Some(late), false).await {
                Woke::Late => return false,
                woke => self.take(woke).await,
            }
        }
        true
    }

    /// Lets some time pass.
    pub(super) async fn pause(&mut self, time: Duration) {
        self.until(time, |_| false).await;
    }

    async fn news(&mut self, news: News) {
        match news.gone {
            // tmux says so too when somebody who looked at the window has left, and their view of it went.
            Some(Gone::Pane) if !self.is_there().await => {
                return self.end("the agent exited").await;
            }
            Some(Gone::Server) => return self.end("the tmux server exited").await,
            _ => {}
        }
        if self.has_left().await {
            return;
        }
        self.listens.hear(&news.output);
        if news.lost || news.resized {
            self.resized |= news.resized;
            match self.pane.capture().await {
                Ok(captured) => self.redraw(&captured),
                Err(_) => return self.end("the agent's pane was closed").await,
            }
        } else if !news.output.is_empty() {
            self.emulator.feed(&news.output);
            self.emulator.take_titles().iter().for_each(|title| self.titles.hear(title));
            self.mark();
        }
        if let Some(told) = news.told {
            if let Some(dead) = told.dead {
                let why = match dead {
                    Ended::Code(code) => format!("the agent exited with code {code}"),
                    Ended::Signal(signal) => format!("the agent was killed by signal {signal}"),
                };
                return self.end(&why).await;
            }
            if self.emulator.title() != Some(told.title.as_str()) && self.drawing.is_none() {
                self.emulator.set_title(told.title);
                self.mark();
            }
        }
    }

    /// Whether an agent in somebody else's pane has ended: the pane has more to show then, and none of it is the agent's.
    pub(super) async fn has_left(&mut self) -> bool {
        let left = self.adopted.is_some_and(|process| !process.lives());
        if left && !self.over {
            self.end("the agent exited").await;
        }
        left
    }

    /// Whether the pane is there.
    async fn is_there(&self) -> bool {
        Pane::find(self.pane.server(), self.pane.id()).await.is_ok()
    }

    fn mark(&mut self) {
        let now = Instant::now();
        let first = self.drawing.map_or(now, |(first, _)| first);
        self.drawing = Some((first, now));
        self.settles = None;
    }

    /// Draws what tmux has drawn: it is the truth about what stands in its pane.
    fn redraw(&mut self, captured: &crate::terminal::Captured) {
        self.emulator = Emulator::new(captured.size);
        self.emulator.feed(captured.text.as_bytes());
        self.emulator.set_title(captured.told.title.clone());
        self.mark();
    }

    /// Draws and reads the screen as it is now.
    pub(super) async fn refresh(&mut self) -> Result<(), Failure> {
        let captured = self.pane.capture().await?;
        self.redraw(&captured);
        self.look(false).await;
        Ok(())
    }

    /// How long a screen must stand to be believed.
    fn stands(&self) -> Duration {
        if self.fusion.status() == SessionStatus::Starting { READY } else { SETTLED }
    }

    /// Reads the screen.
    async fn look(&mut self, settled: bool) {
        self.reading = read(&self.emulator.screen());
        let idle = self.reading.status == Some(SessionStatus::Idle) && self.reading.draft.is_some();
        self.ready = self.ready.filter(|_| idle).or_else(|| idle.then(Instant::now));
        // A CLI that starts draws on for a while around an input box that is ready.
        let settled = settled || self.ready.is_some_and(|since| since.elapsed() >= self.stands());
        if self.titles.worked() && !self.is_at_work() {
            let mut out = Vec::new();
            self.files.turn_begins();
            self.fusion.worked(&self.reading, &mut out);
            self.say(out).await;
        }
        if self.reading.status != Some(self.fusion.status()) {
            // What was said comes before the end of the turn in which it was said.
            self.read_file().await;
            self.has_moved().await;
        }
        let mut out = Vec::new();
        let picture = Picture { settled, resized: self.resized };
        let before = self.asks().map(str::to_owned);
        if self.titles.asks_anew() {
            self.fusion.asks_anew(&self.reading, &mut out);
        }
        self.fusion.screen(&self.reading, picture, &mut out);
        if self.asks() != before.as_deref() {
            self.titles.opened(self.emulator.title());
        }
        self.say(out).await;
    }

    /// A turn ends of which the session file has told nothing: somebody at the desk has put the conversation away, and where there
    /// are no hooks, what was said is the only trace of the next one.
    async fn has_moved(&mut self) {
        use SessionStatus::{Idle, Waiting, Working};
        if self.fusion.status() == Idle && self.reading.status == Some(Working) {
            self.files.turn_begins();
        }
        let ends = matches!(self.fusion.status(), Working | Waiting);
        let Some(query) = self.reading.query.clone() else { return };
        let is_told = |heard: &str| is_said(&bare(heard), &bare(&query));
        if !ends || self.reading.status != Some(Idle) || self.fusion.has_heard(is_told) {
            return;
        }
        if self.files.moved(&query) {
            let mut out = Vec::new();
            self.fusion.cleared(&mut out);
            self.say(out).await;
            self.read_file().await;
        }
    }

    /// Whether the agent is known to work, or to wait as before.
    fn is_at_work(&self) -> bool {
        use SessionStatus::{Idle, Waiting, Working};
        match self.fusion.status() {
            Working => true,
            Waiting => self.reading.status != Some(Idle),
            _ => self.reading.status == Some(Working),
        }
    }

    pub(super) async fn read_file(&mut self) {
        let mut out = Vec::new();
        for event in self.files.look(self.fusion.said()) {
            self.fusion.file(event, &mut out);
        }
        let key = self.files.id().map(str::to_owned);
        if let Some(id) = key {
            self.is_called(&id, Source::SessionFile, &mut out).await;
        }
        self.put_stubs_away();
        self.say(out).await;
    }

    /// Takes what a hook was told. The id of the session is known from now on, where it was not, or was another. What a CLI tells
    /// that the agent itself has started is passed over.
    async fn hook(&mut self, payload: &str) {
        if !self.own.is(self.fusion.key(), payload) {
            return;
        }
        let mut out = Vec::new();
        let events = self.hooks.payload(payload);
        let told = self.hooks.session().map(str::to_owned);
        if let Some(id) = told.filter(|id| *id != self.fusion.key()) {
            self.files.is(&id);
            self.fusion.cleared(&mut out);
            self.is_called(&id, Source::Hook, &mut out).await;
        }
        for event in events {
            self.fusion.hook(event, &mut out);
        }
        self.say(out).await;
        self.read_file().await;
        if self.fusion.is_answered() {
            // The screen may have nothing more to show.
            self.mark();
        }
    }

    /// The session has this id: those who come later find it under its name.
    pub(super) async fn is_called(
        &mut self,
        id: &str,
        source: Source,
        out: &mut Vec<Event<'static>>,
    ) {
        self.fusion.rekey(id, source, out);
        self.note_key(id).await;
    }

    /// Calls the pane so, where it is called otherwise.
    pub(super) async fn note_key(&mut self, key: &str) {
        if self.noted != key {
            key.clone_into(&mut self.noted);
            // A pane that is gone needs no name.
            drop(self.pane.note("key", key).await);
        }
    }

    pub(super) async fn say(&mut self, events: Vec<Event<'static>>) {
        for event in events {
            // Who has gone away misses nothing more.
            drop(self.tell.send(event).await);
        }
    }

    /// The id of the question that stands on the screen.
    pub(super) fn asks(&self) -> Option<&str> {
        self.fusion.stands()
    }

    /// Whether the screen has stood still for a while.
    pub(super) fn is_settled(&self) -> bool {
        self.drawing.is_none() && self.settles.is_none()
    }

    /// Whether a text stands on the screen.
    pub(super) fn shows(&self, text: &str) -> bool {
        self.emulator.screen().rows.iter().any(|row| row.contains(text))
    }

    /// All that stands on the screen.
    pub(super) fn text(&self) -> String {
        self.emulator.screen().rows.concat()
    }

    pub(super) fn status(&self) -> SessionStatus {
        self.fusion.status()
    }

    async fn end(&mut self, why: &str) {
        self.read_file().await;
        let mut out = Vec::new();
        self.leaves_whole(&mut out);
        self.fusion.ended(why, &mut out);
        self.say(out).await;
        self.over = true;
    }
}
