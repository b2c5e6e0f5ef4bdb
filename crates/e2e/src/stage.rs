//! One CLI version, one script, an empty workspace and a private home.

use crate::cli::Cli;
use crate::place;
use anyhow::Context;
use pollux_rehearsal::{Home, Rehearsal, Script};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use tempfile::{NamedTempFile, TempDir};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// A run that takes longer hangs.
const LONGEST_RUN: Duration = Duration::from_mins(2);

/// All that a test with the real CLI needs. Nothing of it is left when it is dropped.
#[derive(Debug)]
pub struct Stage {
    cli: Cli,
    rehearsal: Rehearsal,
    home: Home,
    workspace: PathBuf,
    _directory: TempDir,
}

/// What a run of the CLI gave.
#[derive(Debug, Clone)]
pub struct Ran {
    /// The exit code; none where a signal ended it.
    pub code: Option<i32>,
    /// What it printed.
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
}

impl Ran {
    /// The lines of stdout that are JSON.
    pub fn lines(&self) -> Vec<Value> {
        // Only `\n` ends a line: the CLI prints U+2028 as it is.
        self.stdout.split('\n').filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// The assistant's words.
    pub fn text(&self) -> String {
        let lines = self.lines();
        let words = lines.iter().filter(|line| line["role"] == "assistant");
        words.filter_map(|line| line["content"].as_str()).collect()
    }
}

impl Stage {
    /// A stage for one script. The files that its trial wants are laid out.
    pub async fn new(cli: &Cli, script: Script) -> anyhow::Result<Self> {
        let directory = tempfile::Builder::new().prefix("pollux-stage-").tempdir()?;
        let workspace = directory.path().canonicalize()?.join("work");
        std::fs::create_dir(&workspace)?;
        if let Some(trial) = script.trial() {
            trial.lay_out(&workspace)?;
        }
        let home = Home::temporary()?;
        let rehearsal = Rehearsal::start(script).await?;
        Ok(Self { cli: cli.clone(), rehearsal, home, workspace, _directory: directory })
    }

    /// A stage for a script of the library.
    pub async fn with(cli: &Cli, script: &str) -> anyhow::Result<Self> {
        Self::new(cli, place::script(script)?).await
    }

    /// The model.
    pub fn rehearsal(&self) -> &Rehearsal {
        &self.rehearsal
    }

    /// Where the CLI works.
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// Where the CLI keeps its things.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// The version on stage.
    pub fn cli(&self) -> &Cli {
        &self.cli
    }

    /// The environment of the CLI here; everything that could disturb it is taken out by [`Stage::command`].
    pub fn env(&self) -> Vec<(&'static str, String)> {
        self.rehearsal.env(&self.home)
    }

    /// The CLI with the environment of the stage, in its own process group.
    #[expect(
        clippy::disallowed_methods,
        reason = "the child has a directory, a group, and is killed on drop"
    )]
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(self.cli.program());
        for name in place::disturbing() {
            command.env_remove(name);
        }
        command.args(args).current_dir(&self.workspace).envs(self.env());
        command.env("NO_COLOR", "1").stdin(Stdio::null()).process_group(0).kill_on_drop(true);
        command
    }

    /// Runs the CLI once and waits for it.
    pub async fn run(&self, args: &[&str]) -> anyhow::Result<Ran> {
        let mut command = self.command(args);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let group = group_of(&child);
        let ran = tokio::time::timeout(LONGEST_RUN, child.wait_with_output()).await;
        end(group);
        let ran = ran
            .with_context(|| format!("`gemini {}` took more than two minutes", args.join(" ")))??;
        Ok(Ran {
            code: ran.status.code(),
            stdout: String::from_utf8_lossy(&ran.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&ran.stderr).into_owned(),
        })
    }

    /// Runs one prompt headless with `stream-json`.
    pub async fn headless(&self, prompt: &str, args: &[&str]) -> anyhow::Result<Ran> {
        let mut all = vec!["--prompt", prompt, "--output-format", "stream-json"];
        all.extend(args);
        self.run(&all).await
    }

    /// Starts the CLI as an ACP agent on raw pipes.
    pub fn acp(&self, args: &[&str]) -> anyhow::Result<Acp> {
        let mut all = vec!["--acp"];
        all.extend(args);
        let mut command = self.command(&all);
        let stderr = NamedTempFile::new()?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr.reopen()?);
        let mut child = command.spawn()?;
        let stdin = child.stdin.take().context("the pipe was asked for")?;
        let stdout = child.stdout.take().context("the pipe was asked for")?;
        let group = group_of(&child);
        let lines = BufReader::new(stdout).lines();
        Ok(Acp {
            stdin,
            lines,
            group,
            stderr,
            since: Instant::now(),
            _child: child,
            log: Vec::new(),
        })
    }

    /// Ends the rehearsal in order.
    pub async fn close(self) {
        self.rehearsal.stop().await;
    }
}

fn group_of(child: &Child) -> Option<Pid> {
    Pid::from_raw(i32::try_from(child.id()?).ok()?)
}

fn end(group: Option<Pid>) {
    if let Some(group) = group {
        // What is left of a group that ended is nothing.
        let _gone = kill_process_group(group, Signal::KILL);
    }
}

/// An ACP agent on raw pipes: lines in, lines out.
#[derive(Debug)]
pub struct Acp {
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    group: Option<Pid>,
    stderr: NamedTempFile,
    since: Instant,
    _child: Child,
    /// All that went over the pipes.
    pub log: Vec<Line>,
}

/// One message on its way.
#[derive(Debug, Clone)]
pub struct Line {
    /// `out` to the agent, `in` from it.
    pub dir: &'static str,
    /// Seconds since the agent was started.
    pub t: f64,
    /// The line as it was, without its end.
    pub text: String,
}

impl Acp {
    fn note(&mut self, dir: &'static str, text: String) {
        let t = (self.since.elapsed().as_secs_f64() * 1000.0).round() / 1000.0;
        self.log.push(Line { dir, t, text });
    }

    /// What the agent complained about so far.
    pub fn stderr(&self) -> std::io::Result<String> {
        std::fs::read(self.stderr.path()).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Sends one message.
    pub async fn send(&mut self, message: Value) -> anyhow::Result<()> {
        self.stdin.write_all(format!("{message}\n").as_bytes()).await?;
        self.stdin.flush().await?;
        self.note("out", message.to_string());
        Ok(())
    }

    /// The next message; lines that are no JSON are skipped. None at the end of the stream.
    pub async fn receive(&mut self) -> anyhow::Result<Option<Value>> {
        let next = async {
            while let Some(line) = self.lines.next_line().await? {
                let message = serde_json::from_str::<Value>(&line);
                self.note("in", line);
                if let Ok(message) = message {
                    return Ok(Some(message));
                }
            }
            Ok(None)
        };
        tokio::time::timeout(LONGEST_RUN, next)
            .await
            .context("the agent said nothing for two minutes")?
    }

    /// Sends a request and gives its result, with the notifications and requests that came before it.
    pub async fn call(
        &mut self,
        id: u64,
        method: &str,
        params: Value,
    ) -> anyhow::Result<(Value, Vec<Value>)> {
        self.send(
            serde_json::json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }),
        )
        .await?;
        let mut before = Vec::new();
        while let Some(message) = self.receive().await? {
            if message["id"] == id && message.get("method").is_none() {
                return Ok((message, before));
            }
            before.push(message);
        }
        anyhow::bail!("the agent ended before it answered {method}")
    }
}

impl Drop for Acp {
    fn drop(&mut self) {
        end(self.group);
    }
}
