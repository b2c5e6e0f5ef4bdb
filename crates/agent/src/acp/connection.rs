//! An agent at the other end of two pipes, and its process: lines in their order, whoever they are for.

use super::config::{Config, Direction, Listener};
use crate::lines::Lines;
use crate::model::{Failure, Phase};
use crate::process::{Child, Program};
use serde::Serialize;
use serde_json::value::RawValue;
use std::fmt;
use std::io;
use std::process::ExitStatus;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// How many messages may wait for an agent that does not read. One that lets more wait is not listening.
const UNSENT: usize = 1024;
/// How long an agent may take to end when its stdin is closed, and again when it is told to end. Gemini CLI does not end
/// at all where MCP servers are attached.
const FAREWELL: Duration = Duration::from_secs(1);

/// What an agent writes.
pub(super) type Reader = Box<dyn AsyncRead + Send + Unpin>;
/// What an agent reads.
pub(super) type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// An agent at the other end of two pipes.
pub(super) struct Connection {
    /// Its process; none where it is not ours.
    child: Option<Child>,
    lines: Lines<BufReader<Reader>>,
    out: Option<mpsc::Sender<Vec<u8>>>,
    /// Writes what waits: an agent that does not read must not keep us from reading.
    writer: JoinSet<()>,
    listener: Option<Listener>,
    next: u64,
}

/// What of an agent is listened to.
#[derive(Clone, Copy)]
pub(super) struct Heard {
    /// What it writes.
    pub(super) lines: bool,
    /// Its end.
    pub(super) end: bool,
}

/// What the agent did.
pub(super) enum Did {
    /// It wrote a line; it was cut where it was too long.
    Line { line: String, cut: bool },
    /// It writes no more.
    Closed,
    /// It ended.
    Exited(Option<ExitStatus>),
}

#[derive(Serialize)]
struct Call<'a, P> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    method: &'a str,
    params: P,
}

#[derive(Serialize)]
struct Reply<'a, R> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<R>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Wrong<'a>>,
}

/// An error of ours that answers a request of the agent.
#[derive(Serialize)]
pub(super) struct Wrong<'a> {
    pub(super) code: i64,
    pub(super) message: &'a str,
}

impl Connection {
    /// Starts the agent.
    pub(super) fn open(config: &Config) -> Result<Self, Failure> {
        let cwd = config.cwd.canonicalize().map_err(|error| no_directory(config, &error))?;
        let mut program = Program::new(&config.program, &cwd).args(&config.args).talking();
        for (name, value) in &config.env {
            program = program.env(name, value);
        }
        let mut child = program.spawn().map_err(|error| not_started(config, &error))?;
        let (Some(stdin), Some(stdout)) = (child.stdin(), child.stdout()) else {
            return Err(not_started(
                config,
                &io::Error::other("its stdin and stdout are not piped"),
            ));
        };
        let mut connection = Self::over(config, Box::new(stdout), Box::new(stdin));
        connection.child = Some(child);
        Ok(connection)
    }

    /// An agent that runs already.
    pub(super) fn over(config: &Config, reads: Reader, writes: Writer) -> Self {
        let (out, unsent) = mpsc::channel(UNSENT);
        let mut writer = JoinSet::new();
        writer.spawn(write(writes, unsent));
        Self {
            child: None,
            lines: Lines::new(BufReader::with_capacity(64 << 10, reads)),
            out: Some(out),
            writer,
            listener: config.listener.clone(),
            next: 0,
        }
    }

    /// What the agent does next. May be dropped and asked again: nothing is lost.
    pub(super) async fn next(&mut self, heard: Heard) -> Did {
        tokio::select! {
            biased;
            line = self.lines.next(), if heard.lines => match line {
                Ok(Some(line)) => {
                    if let Some(listener) = &self.listener {
                        listener(Direction::In, &line);
                    }
                    Did::Line { line, cut: self.lines.was_cut() }
                }
                _ => Did::Closed,
            },
            status = ended(&mut self.child), if heard.end => Did::Exited(status.ok()),
            else => std::future::pending().await,
        }
    }

    /// Sends a request, and gives its id. None where the agent does not listen.
    pub(super) fn request(&mut self, method: &str, params: impl Serialize) -> Option<u64> {
        self.next += 1;
        let id = self.next;
        self.send(&Call { jsonrpc: "2.0", id: Some(id), method, params }).then_some(id)
    }

    /// Sends a notification.
    pub(super) fn notify(&self, method: &str, params: impl Serialize) -> bool {
        self.send(&Call { jsonrpc: "2.0", id: None, method, params })
    }

    /// Answers a request of the agent.
    pub(super) fn reply(&self, id: &RawValue, result: impl Serialize) -> bool {
        self.send(&Reply { jsonrpc: "2.0", id, result: Some(result), error: None })
    }

    /// Answers a request of the agent with an error.
    pub(super) fn refuse(&self, id: &RawValue, error: Wrong<'_>) -> bool {
        self.send(&Reply::<()> { jsonrpc: "2.0", id, result: None, error: Some(error) })
    }

    fn send(&self, message: &impl Serialize) -> bool {
        let (Ok(mut line), Some(out)) = (serde_json::to_string(message), &self.out) else {
            return false;
        };
        if let Some(listener) = &self.listener {
            listener(Direction::Out, &line);
        }
        line.push('\n');
        out.try_send(line.into_bytes()).is_ok()
    }

    /// The last that it wrote to stderr.
    pub(super) fn stderr(&self) -> String {
        self.child.as_ref().map(Child::stderr).unwrap_or_default()
    }

    /// The number of its process.
    pub(super) fn id(&self) -> Option<u32> {
        self.child.as_ref().and_then(Child::id)
    }

    /// Ends it, and all that it started, at once.
    pub(super) fn kill(&self) {
        if let Some(child) = &self.child {
            child.kill();
        }
    }

    /// Asks it to end by closing its stdin, then tells it, then ends it and all that it started.
    pub(super) async fn close(mut self, ended: bool) -> String {
        self.out = None;
        if !ended {
            drop(tokio::time::timeout(FAREWELL, self.writer.join_next()).await);
            if tokio::time::timeout(FAREWELL, self.drained()).await.is_err() {
                if let Some(child) = &self.child {
                    child.terminate();
                }
                drop(tokio::time::timeout(FAREWELL, self.drained()).await);
            }
        }
        match self.child {
            Some(child) => child.close().await,
            None => String::new(),
        }
    }

    /// Waits for its end, and reads over what it still writes: a full pipe would keep it alive.
    async fn drained(&mut self) {
        loop {
            tokio::select! {
                line = self.lines.next() => {
                    if !matches!(line, Ok(Some(_))) {
                        if let Some(child) = &mut self.child {
                            drop(child.wait().await);
                        }
                        return;
                    }
                }
                _ = ended(&mut self.child) => return,
            }
        }
    }
}

/// Waits for the end of a process; for ever where there is none.
async fn ended(child: &mut Option<Child>) -> io::Result<ExitStatus> {
    match child {
        Some(child) => child.wait().await,
        None => std::future::pending().await,
    }
}

async fn write(mut stdin: Writer, mut unsent: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = unsent.recv().await {
        if stdin.write_all(&line).await.is_err() || stdin.flush().await.is_err() {
            // It reads no more. That it has ended is heard elsewhere.
            return;
        }
    }
}

fn no_directory(config: &Config, error: &io::Error) -> Failure {
    let message = format!("cannot use the working directory {}: {error}", config.cwd.display());
    Failure::new(Phase::Start, "no_directory", message).hint("choose another one with `--cwd`")
}

fn not_started(config: &Config, error: &io::Error) -> Failure {
    let message = format!("could not start {}: {error}", config.program.display());
    Failure::new(Phase::Start, "not_started", message)
        .hint("check that it is installed and on the PATH")
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("id", &self.id()).finish_non_exhaustive()
    }
}
