//! Commands that an agent has us run: `terminal/create` and what belongs to it. Only where that is switched on.

use super::files;
use super::policy::real;
use super::wire::{Params, number, text};
use crate::process::{Child, Program};
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::process::ChildStdout;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// How many an agent may have at a time.
const MOST: usize = 64;
/// How much of what a command prints is kept, whatever the agent asks for.
const KEPT: usize = 1 << 20;
/// How long the output may stay open when the command is gone: something that it started may hold it.
const HELD: Duration = Duration::from_millis(300);

/// The commands of one agent. Dropping them ends them, and all that they started.
#[derive(Debug, Default)]
pub(super) struct Terminals {
    open: HashMap<String, Terminal>,
    tasks: JoinSet<(String, Value)>,
    made: u64,
}

#[derive(Debug)]
struct Terminal {
    output: Output,
    /// How it ended, once it has.
    exit: Option<Value>,
    stop: CancellationToken,
}

/// What is known of a terminal.
pub(super) enum State<'t> {
    Unknown,
    Runs,
    Ended(&'t Value),
}

impl Terminals {
    /// Starts a command in the directory of a session, or below it. Gives its number.
    pub(super) fn create(&mut self, root: &Path, params: &Params<'_>) -> io::Result<String> {
        if self.open.len() >= MOST {
            let message = format!("{MOST} terminals are already open: release one first");
            return Err(io::Error::other(message));
        }
        let limit = number(params.output_byte_limit).and_then(|limit| usize::try_from(limit).ok());
        let output = Output::new(limit.unwrap_or(KEPT).min(KEPT));
        let mut child = program(root, params)?.spawn()?;
        let stdout = child.stdout();
        self.made += 1;
        let id = format!("terminal-{}", self.made);
        let stop = CancellationToken::new();
        self.tasks.spawn(run(id.clone(), child, stdout, output.clone(), stop.clone()));
        self.open.insert(id.clone(), Terminal { output, exit: None, stop });
        Ok(id)
    }

    /// What a command has printed, and how it ended if it has.
    pub(super) fn output(&self, id: &str) -> Option<Value> {
        let terminal = self.open.get(id)?;
        let (output, truncated) = terminal.output.text();
        Some(json!({ "output": output, "truncated": truncated, "exitStatus": terminal.exit }))
    }

    /// Whether a command runs, and how it ended.
    pub(super) fn state(&self, id: &str) -> State<'_> {
        match self.open.get(id) {
            None => State::Unknown,
            Some(Terminal { exit: None, .. }) => State::Runs,
            Some(Terminal { exit: Some(exit), .. }) => State::Ended(exit),
        }
    }

    /// Ends a command. What it printed can still be had. False where there is none.
    pub(super) fn kill(&self, id: &str) -> bool {
        let terminal = self.open.get(id);
        terminal.inspect(|terminal| terminal.stop.cancel()).is_some()
    }

    /// Ends a command, and forgets it. False where there is none.
    pub(super) fn release(&mut self, id: &str) -> bool {
        self.kill(id) && self.open.remove(id).is_some()
    }

    /// The next command that ends, and how. Waits for ever where none runs.
    pub(super) async fn ended(&mut self) -> (String, Value) {
        match self.tasks.join_next().await {
            Some(Ok((id, exit))) => {
                if let Some(terminal) = self.open.get_mut(&id) {
                    terminal.exit = Some(exit.clone());
                }
                (id, exit)
            }
            Some(Err(_)) => (String::new(), Value::Null),
            None => std::future::pending().await,
        }
    }
}

/// The command, with both of its outputs in one, as a terminal shows them.
fn program(root: &Path, params: &Params<'_>) -> io::Result<Program> {
    let command = text(params.command).filter(|command| !command.is_empty());
    let command = command.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let args = params.args.map(|raw| serde_json::from_str(raw.get()));
    let args: Vec<String> = args.transpose()?.unwrap_or_default();
    let words = ["-c", "exec \"$0\" \"$@\" 2>&1", &command].map(str::to_owned);
    let directory = directory(root, text(params.cwd).as_deref())?;
    let mut program = Program::new("/bin/sh", &directory).args(words).args(args);
    for variable in &params.env.items {
        let value = text(variable.value).unwrap_or_default();
        if let Some(name) = text(variable.name) {
            program = program.env(name.into_owned(), value.into_owned());
        }
    }
    Ok(program)
}

fn directory(root: &Path, wanted: Option<&str>) -> io::Result<PathBuf> {
    match wanted {
        Some(wanted) if real(&root.join(wanted)) != real(root) => files::confined(root, wanted),
        _ => Ok(root.to_path_buf()),
    }
}

async fn run(
    id: String,
    mut child: Child,
    stdout: Option<ChildStdout>,
    output: Output,
    stop: CancellationToken,
) -> (String, Value) {
    let mut reader = JoinSet::new();
    if let Some(stdout) = stdout {
        reader.spawn(read(stdout, output));
    }
    let status = tokio::select! {
        status = child.wait() => status,
        () = stop.cancelled() => {
            child.kill();
            child.wait().await
        }
    };
    drop(tokio::time::timeout(HELD, reader.join_next()).await);
    child.close().await;
    (id, status.map_or(Value::Null, exit))
}

async fn read(mut stdout: ChildStdout, output: Output) {
    let mut buffer = vec![0; 16 << 10];
    while let Ok(count @ 1..) = stdout.read(&mut buffer).await {
        output.push(buffer.get(..count).unwrap_or_default());
    }
}

/// An end in the words of the protocol, which names signals.
fn exit(status: ExitStatus) -> Value {
    let name = |signal: i32| match signal {
        1 => "SIGHUP".to_owned(),
        2 => "SIGINT".to_owned(),
        6 => "SIGABRT".to_owned(),
        9 => "SIGKILL".to_owned(),
        11 => "SIGSEGV".to_owned(),
        13 => "SIGPIPE".to_owned(),
        15 => "SIGTERM".to_owned(),
        other => other.to_string(),
    };
    json!({ "exitCode": status.code(), "signal": status.signal().map(name) })
}

/// The end of what a command has printed.
#[derive(Debug, Clone)]
struct Output(Arc<Mutex<Printed>>);

#[derive(Debug)]
struct Printed {
    bytes: VecDeque<u8>,
    limit: usize,
    truncated: bool,
}

impl Output {
    fn new(limit: usize) -> Self {
        Self(Arc::new(Mutex::new(Printed { bytes: VecDeque::new(), limit, truncated: false })))
    }

    fn push(&self, more: &[u8]) {
        let mut printed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        printed.bytes.extend(more);
        let surplus = printed.bytes.len().saturating_sub(printed.limit);
        printed.truncated |= surplus > 0;
        printed.bytes.drain(..surplus);
    }

    /// The text, which never begins in the middle of a character, and whether some of it is gone.
    fn text(&self) -> (String, bool) {
        let printed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let cut = |byte: &u8| printed.truncated && byte & 0xc0 == 0x80;
        let bytes: Vec<u8> = printed.bytes.iter().copied().skip_while(cut).collect();
        (String::from_utf8_lossy(&bytes).into_owned(), printed.truncated)
    }
}
