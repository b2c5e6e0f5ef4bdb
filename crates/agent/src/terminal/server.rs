//! A connection to a tmux server in control mode: commands and their answers, and what happens in the panes.
//!
//! tmux tells a control client what the programs print as they print it. Nothing is asked for again and again, and an
//! idle pane costs nothing.

use super::leave::Stays;
use super::socket::{self, Socket};
use super::turn::Turn;
use super::watch::{Gone, Posts, is_unexplained};
use super::wire::{Line, SUBSCRIBED, command};
use crate::model::{Failure, Phase};
use std::collections::VecDeque;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

/// The tmux session that holds all windows of ours: a control client hears only the windows of its own session.
pub const SESSION: &str = "pollux";
/// The window that is there until the first of ours is.
const FIRST: &str = "pollux-first";
/// How often it is tried again to enter a session that has just ended.
const TRIES: usize = 2;
/// The code of the failure that says that there is no session to enter.
const NO_TERMINAL: &str = "no_terminal";
/// How many commands may be on their way.
const COMMANDS: usize = 64;
/// How long tmux may take to answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
/// What we want to be told of a pane. tmux looks for itself, once a second.
const TOLD: &str =
    "#{pane_dead} #{pane_dead_status} #{pane_dead_signal} #{pane_in_mode} #{pane_title}";

/// Makes tmux look which of its children have ended, and how: here is one more. While tmux 3.3 writes down in `utmp` that a pane is
/// gone, it is deaf to the end of the pane's program, and does not hear of it before another child of its ends.
const LOOK: [&str; 3] = ["run-shell", "-b", "true"];

/// What tmux says to a command: its lines, or what was wrong with it.
type Reply = Result<Vec<String>, String>;
/// Who waits for an answer, in the order of the commands; none when nobody will answer any more.
type Pending = Mutex<Option<VecDeque<Waiting>>>;

/// Somebody who waits for an answer.
#[derive(Debug)]
struct Waiting {
    tell: oneshot::Sender<Reply>,
    /// A pane whose picture the answer is: what it printed until then is in it.
    pictured: Option<String>,
}

/// A tmux server that we are connected to. Clones are the same connection, which ends with the last of them.
#[derive(Debug, Clone)]
pub struct Server {
    pub(super) link: Arc<Link>,
}

#[derive(Debug)]
pub(super) struct Link {
    socket: Socket,
    lines: mpsc::Sender<String>,
    pending: Arc<Pending>,
    pub(super) posts: Arc<Posts>,
    pub(super) stays: Stays,
    /// Reads, writes, and owns the client.
    _tasks: Mutex<JoinSet<()>>,
}

impl Server {
    /// Connects to our session of a server, and starts both where they are not there.
    pub async fn open(socket: &Socket) -> Result<Self, Failure> {
        socket::check().await?;
        let server = Self::enter(socket).await?;
        if *socket == Socket::Users {
            server.set_among_others().await?;
        } else {
            server.set_alone().await?;
        }
        Ok(server)
    }

    /// Sets a server of ours.
    async fn set_alone(&self) -> Result<(), Failure> {
        for setting in SETTINGS {
            self.command(setting).await?;
        }
        for [name, value] in WINDOW {
            self.command(&["set-option", "-wg", name, value]).await?;
        }
        Ok(())
    }

    /// Sets our session on a server that is the user's, where all else stays as it is.
    async fn set_among_others(&self) -> Result<(), Failure> {
        self.command(&["set-option", "-t", SESSION, "history-limit", HISTORY]).await?;
        let window =
            WINDOW.map(|[name, value]| format!("set-option -w {name} {value}")).join(" ; ");
        self.command(&["set-hook", "-t", SESSION, "after-new-window", &window]).await?;
        Ok(())
    }

    /// Makes our session where it is not there, and connects to it: in two steps, so that nobody is told of a session that only
    /// begins.
    async fn enter(socket: &Socket) -> Result<Self, Failure> {
        let _turn = Turn::wait(socket).await;
        let own = format!("={SESSION}");
        let mut tries = 0;
        loop {
            socket.run(&["new-session", "-d", "-s", SESSION, "-n", FIRST, "exec sleep 60"]).await?;
            match Self::client(socket, &["attach-session", "-t", &own]).await {
                // It went with its last window, while we came.
                Err(failure) if failure.code == NO_TERMINAL && tries < TRIES => tries += 1,
                entered => return entered,
            }
        }
    }

    /// Connects to the session of a server that is there in which a pane is.
    pub async fn join(socket: &Socket, pane: &str) -> Result<Self, Failure> {
        socket::check().await?;
        let _turn = Turn::wait(socket).await;
        let session = session_of(socket, pane).await?;
        let target = session.as_deref().unwrap_or(pane);
        Self::client(socket, &["attach-session", "-t", target]).await
    }

    async fn client(socket: &Socket, words: &[&str]) -> Result<Self, Failure> {
        let mut tmux = socket.tmux();
        tmux.arg("-C").args(words).stdin(Stdio::piped()).stdout(Stdio::piped());
        let child = tmux.process_group(0).kill_on_drop(true).spawn();
        let mut child = child.map_err(|error| socket::absent(&error))?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Failure::new(Phase::Start, "tmux_failed", "tmux has no stdin or stdout"));
        };
        let (lines, waiting) = mpsc::channel(COMMANDS);
        let (ready, is_ready) = oneshot::channel();
        let pending = Arc::new(Mutex::new(Some(VecDeque::new())));
        let posts = Arc::<Posts>::default();
        let reader = Reader {
            lines: lines.downgrade(),
            pending: Arc::clone(&pending),
            posts: Arc::clone(&posts),
            ready: Some(ready),
        };
        let mut tasks = JoinSet::new();
        tasks.spawn(write(stdin, waiting));
        tasks.spawn(reader.run(child, stdout));
        let link = Link {
            socket: socket.clone(),
            lines,
            pending,
            posts,
            stays: Stays::default(),
            _tasks: Mutex::new(tasks),
        };
        let server = Self { link: Arc::new(link) };
        let ready = tokio::time::timeout(PATIENCE, is_ready).await;
        let ready = ready.unwrap_or(Ok(Err("it does not respond".to_owned())));
        ready.unwrap_or_else(|_| Err("it exited".to_owned())).map_err(|why| refused(&why))?;
        // A person's window follows the person's terminal, never ours.
        server.command(&["refresh-client", "-f", "ignore-size"]).await?;
        Ok(server)
    }

    /// The server's socket.
    pub fn socket(&self) -> &Socket {
        &self.link.socket
    }

    /// Sends a command, and waits for what tmux says.
    pub async fn command<S: AsRef<str>>(&self, words: &[S]) -> Result<Vec<String>, Failure> {
        let told = self.send(command(words), vec![None]).await?.pop().ok_or_else(gone)?;
        answer(told, words.first().map(S::as_ref).unwrap_or_default()).await
    }

    /// Asks for facts of a pane and for its picture, both of the same moment. What the pane printed until then is in the
    /// picture, and not told to its watcher any more.
    pub(super) async fn picture(
        &self,
        pane: &str,
        facts: &[&str],
        picture: &[&str],
    ) -> Result<(String, Vec<String>), Failure> {
        let lines = command(facts) + &command(picture);
        let mut told = self.send(lines, vec![None, Some(pane.to_owned())]).await?;
        let (Some(rows), Some(facts)) = (told.pop(), told.pop()) else { return Err(gone()) };
        let facts = answer(facts, "display-message").await?;
        Ok((facts.into_iter().next().unwrap_or_default(), answer(rows, "capture-pane").await?))
    }

    /// Writes lines, each of which is a command, in one go: answers come in the order of the commands.
    async fn send(
        &self,
        lines: String,
        pictured: Vec<Option<String>>,
    ) -> Result<Vec<oneshot::Receiver<Reply>>, Failure> {
        let permit = tokio::time::timeout(PATIENCE, self.link.lines.reserve()).await;
        let permit = permit.ok().ok_or_else(silent)?.ok().ok_or_else(gone)?;
        let mut pending = self.link.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = pending.as_mut().ok_or_else(gone)?;
        let mut told = Vec::with_capacity(pictured.len());
        for pictured in pictured {
            let (tell, answer) = oneshot::channel();
            waiting.push_back(Waiting { tell, pictured });
            told.push(answer);
        }
        permit.send(lines);
        Ok(told)
    }

    /// Wants to be told of a pane. Never of all panes at once: of that tmux 3.3a dies where it looks in the moment in which the session
    /// has gone and its client has not. Nor of the pane by itself: of one whose program has ended nothing would be told.
    pub(super) async fn hear_of(&self, pane: &str, window: &str) -> Result<(), Failure> {
        let own = format!("#{{P:#{{?#{{==:#{{pane_id}},{pane}}},{TOLD},}}}}");
        let wanted = format!("{}:{window}:{own}", subscription(pane));
        self.command(&["refresh-client", "-B", &wanted]).await.map(drop)
    }

    /// The first line that tmux says to a command.
    pub async fn ask<S: AsRef<str>>(&self, words: &[S]) -> Result<String, Failure> {
        Ok(self.command(words).await?.into_iter().next().unwrap_or_default())
    }

    /// Takes away the window that held the session open until there was one of ours.
    pub(super) async fn settle(&self) {
        let first = format!("{SESSION}:={FIRST}");
        // It may be gone already.
        drop(self.command(&["kill-window", "-t", &first]).await);
    }
}

/// The session that a pane is in, by tmux's number of it: our own where the pane is in several, because each person who looks has one.
/// To tmux the pane itself would mean the session that was used last, and that it shall show this pane.
async fn session_of(socket: &Socket, pane: &str) -> Result<Option<String>, Failure> {
    let told = socket.panes("#{pane_id} #{session_id} #{session_name}").await?;
    let own = told.iter().filter_map(|line| line.strip_prefix(pane)?.strip_prefix(' '));
    let sessions = own.filter_map(|line| line.split_once(' '));
    let first = sessions.min_by_key(|(_, name)| *name != SESSION);
    Ok(first.map(|(session, _)| session.to_owned()))
}

/// The name of what we want to be told of a pane.
fn subscription(pane: &str) -> String {
    format!("{SUBSCRIBED}{pane}")
}

/// How a server of ours is set. Nothing global says how large a window is: tmux 3.3a dies of that.
const SETTINGS: [&[&str]; 5] = [
    &["set-option", "-g", "default-terminal", "screen-256color"],
    &["set-option", "-g", "history-limit", HISTORY],
    &["set-option", "-s", "escape-time", "0"],
    &["set-option", "-s", "set-clipboard", "off"],
    &["set-option", "-g", "status-right", LEAVES],
];

/// How a window of ours is set, wherever it is.
const WINDOW: [[&str; 2]; 4] = [
    ["remain-on-exit", "failed"],
    // A window is as large as the terminal of the person who looks at it; the others stay as they are.
    ["aggressive-resize", "on"],
    ["automatic-rename", "off"],
    ["allow-rename", "off"],
];

/// How many rows tmux keeps of what has left the screen.
const HISTORY: &str = "20000";

/// How somebody who looks comes away again: short where there is no room for more.
const LEAVES: &str = "#{?#{e|<:#{client_width},80}, Ctrl-b d detaches , Ctrl-b d detaches#, the agent keeps running }";

/// What tmux said to a command.
async fn answer(told: oneshot::Receiver<Reply>, name: &str) -> Result<Vec<String>, Failure> {
    let told = tokio::time::timeout(PATIENCE, told).await.ok().ok_or_else(silent)?;
    told.ok().ok_or_else(gone)?.map_err(|why| {
        Failure::new(Phase::Request, "tmux_refused", format!("tmux rejected `{name}`: {why}"))
    })
}

fn silent() -> Failure {
    Failure::new(Phase::Request, "tmux_silent", "tmux does not respond").retryable()
}

fn gone() -> Failure {
    Failure::new(Phase::Request, "tmux_gone", "the tmux server has exited")
        .hint("resume its sessions with `pollux new --resume ID`")
}

fn refused(why: &str) -> Failure {
    if why.is_empty() {
        // It went with its last window, while we came.
        let failure = Failure::new(Phase::Start, NO_TERMINAL, "the tmux server has just exited");
        return failure.hint("its last agent has exited; resume it with `pollux new --resume ID`");
    }
    let code = if why.contains("no server")
        || why.contains("can't find")
        || why.contains("error connecting")
        || why.contains("server exited")
    {
        NO_TERMINAL
    } else {
        "tmux_failed"
    };
    Failure::new(Phase::Start, code, format!("could not reach tmux: {why}"))
}

async fn write(mut stdin: ChildStdin, mut lines: mpsc::Receiver<String>) {
    while let Some(line) = lines.recv().await {
        if stdin.write_all(line.as_bytes()).await.is_err() {
            return;
        }
    }
}

struct Reader {
    lines: mpsc::WeakSender<String>,
    pending: Arc<Pending>,
    posts: Arc<Posts>,
    ready: Option<oneshot::Sender<Reply>>,
}

impl Reader {
    async fn run(mut self, mut child: Child, stdout: ChildStdout) {
        let mut stdout = BufReader::with_capacity(64 << 10, stdout);
        let mut line = Vec::new();
        let mut open: Option<(String, Vec<String>)> = None;
        while let Ok(1..) = stdout.read_until(b'\n', &mut line).await {
            let end = line.len() - usize::from(line.last() == Some(&b'\n'));
            self.line(line.get(..end).unwrap_or_default(), &mut open);
            line.clear();
        }
        if let Some(ready) = self.ready.take() {
            let mut why = String::new();
            if let Some(stderr) = &mut child.stderr {
                // What it did not say does not help.
                let _told = stderr.read_to_string(&mut why).await;
            }
            drop(ready.send(Err(why.trim().to_owned())));
        }
        self.posts.all_gone(Gone::Server);
        *self.pending.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn line(&mut self, line: &[u8], open: &mut Option<(String, Vec<String>)>) {
        if let Some((mark, lines)) = open {
            match Line::read(line) {
                Line::End(end) if end == mark => self.reply(open, true),
                Line::Error(end) if end == mark => self.reply(open, false),
                _ => lines.push(String::from_utf8_lossy(line).into_owned()),
            }
            return;
        }
        match Line::read(line) {
            Line::Begin(mark) => *open = Some((mark.to_owned(), Vec::new())),
            Line::Output { pane, bytes } => self.posts.output(pane, &bytes),
            Line::Layout(window) => self.posts.resized(window),
            Line::Closed(window) => {
                for pane in self.posts.closed(window) {
                    self.order(&["refresh-client", "-B", &subscription(&pane)]);
                }
            }
            Line::Told { pane, value } => {
                self.posts.told(pane, value);
                if is_unexplained(value) {
                    self.order(&LOOK);
                }
            }
            Line::Mode(_) | Line::End(_) | Line::Error(_) | Line::Exit(_) | Line::Other => {}
        }
    }

    /// Has tmux do something, and does not wait for it.
    fn order(&self, words: &[&str]) {
        let Some(lines) = self.lines.upgrade() else { return };
        // A tmux that takes no commands tells nothing either.
        let Ok(permit) = lines.try_reserve() else { return };
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(waiting) = pending.as_mut() {
            waiting.push_back(Waiting { tell: oneshot::channel().0, pictured: None });
            permit.send(command(words));
        }
    }

    /// An answer is whole. The first one is that of the command which the client was started with.
    fn reply(&mut self, open: &mut Option<(String, Vec<String>)>, good: bool) {
        let Some((mark, lines)) = open.take() else { return };
        let reply = if good { Ok(lines) } else { Err(lines.join("; ")) };
        let tell = if mark.ends_with(" 1") {
            let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
            pending.as_mut().and_then(VecDeque::pop_front).map(|waiting| {
                if let Some(pane) = &waiting.pictured {
                    self.posts.pictured(pane);
                }
                waiting.tell
            })
        } else {
            self.ready.take()
        };
        // Who no longer waits needs no answer.
        drop(tell.map(|tell| tell.send(reply)));
    }
}
