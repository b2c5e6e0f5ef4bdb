//! MCP servers that live in the caller's process. The agent is given a program of ours to start for each; what it says to
//! that program comes here through a socket, goes to the caller over the control channel, and the answer goes the same way
//! back. Not a word of it is read on the way.

use super::desk::Desk;
use crate::report;
use crate::trouble::Trouble;
use anyhow::Context;
use pollux_agent::acp::McpServer;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{self, BufRead, Write};
use std::os::unix::net;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// How many messages to an agent may wait.
const WAITING: usize = 64;

/// The way between the agent and the servers of the caller.
#[derive(Debug)]
pub(super) struct Bridge {
    directory: TempDir,
    tasks: JoinSet<()>,
    agents: Agents,
}

/// The agents that are connected, by the name of the server that they take us for.
type Agents = Arc<Mutex<HashMap<String, mpsc::Sender<Value>>>>;

impl Bridge {
    /// Listens for agents.
    pub(super) fn open(desk: &Desk) -> anyhow::Result<Self> {
        let directory = tempfile::Builder::new().prefix("pollux-mcp-").tempdir()?;
        let listener = UnixListener::bind(socket(directory.path())).with_context(|| {
            let hint = "make the directory for temporary files writable";
            Trouble::failed("no_socket", "could not open a socket for MCP servers").hint(hint)
        })?;
        let (mut tasks, agents) = (JoinSet::new(), Agents::default());
        tasks.spawn(listen(listener, desk.clone(), Arc::clone(&agents)));
        Ok(Self { directory, tasks, agents })
    }

    /// The program that an agent starts for a server.
    pub(super) fn server(&self, name: &str) -> anyhow::Result<McpServer> {
        let socket = socket(self.directory.path()).display().to_string();
        let args = vec!["claude-mcp".to_owned(), socket, name.to_owned()];
        let command = std::env::current_exe().context("could not find this program")?;
        Ok(McpServer::Stdio { name: name.to_owned(), command, args, env: Vec::new() })
    }

    /// A notification from a server.
    pub(super) fn tell(&self, server: &str, message: Value) {
        let agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(agent) = agents.get(server) {
            // An agent that does not read has no use for it.
            drop(agent.try_send(message));
        }
    }

    /// Ends it.
    pub(super) async fn close(mut self) {
        self.tasks.shutdown().await;
    }
}

fn socket(directory: &Path) -> PathBuf {
    directory.join("socket")
}

async fn listen(listener: UnixListener, desk: Desk, agents: Agents) {
    let mut open = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (desk, agents) = (desk.clone(), Arc::clone(&agents));
        // An agent that goes away in the middle of a line is gone, and that is all.
        open.spawn(async move { drop(serve(stream, desk, agents).await) });
    }
}

/// One agent and one server.
async fn serve(stream: UnixStream, desk: Desk, agents: Agents) -> anyhow::Result<()> {
    let (reads, mut writes) = stream.into_split();
    let mut lines = BufReader::new(reads).lines();
    let Some(server) = lines.next_line().await? else { return Ok(()) };
    let (tell, mut told) = mpsc::channel::<Value>(WAITING);
    agents.lock().unwrap_or_else(PoisonError::into_inner).insert(server.clone(), tell.clone());
    let mut calls: JoinSet<anyhow::Result<()>> = JoinSet::new();
    loop {
        tokio::select! {
            line = lines.next_line() => {
                let Some(line) = line? else { return Ok(()) };
                let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
                calls.spawn(call(server.clone(), message, desk.clone(), tell.clone()));
            }
            Some(message) = told.recv() => {
                writes.write_all(format!("{message}\n").as_bytes()).await?;
            }
            Some(_) = calls.join_next() => {}
        }
    }
}

/// One message of the agent, and what the server answers.
async fn call(
    server: String,
    message: Value,
    desk: Desk,
    tell: mpsc::Sender<Value>,
) -> anyhow::Result<()> {
    let request = json!({ "subtype": "mcp_message", "server_name": server, "message": message });
    let asked = desk.ask(&request)?;
    let Some(id) = message.get("id") else { return Ok(()) };
    let answer = match asked.answer.await {
        Ok(Ok(response)) => match response.get("mcp_response") {
            Some(answer) => answer.clone(),
            None => wrong(id, "could not read the server's answer"),
        },
        Ok(Err(why)) => wrong(id, &why),
        Err(_) => wrong(id, "the caller has disconnected"),
    };
    Ok(tell.send(answer).await?)
}

fn wrong(id: &Value, why: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32603, "message": why } })
}

/// Connect the agent to an MCP server of the caller (started by Gemini CLI)
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(crate) struct Mcp {
    socket: PathBuf,
    server: String,
}

impl Mcp {
    /// Carries lines both ways until one side has had enough.
    pub(in crate::cli) fn run(&self) -> anyhow::Result<ExitCode> {
        let stream = net::UnixStream::connect(&self.socket);
        let mut writes = stream.with_context(|| {
            let message = "the program that provides this MCP server has exited";
            Trouble::failed("no_server", message).hint("restart its session")
        })?;
        let reads = writes.try_clone()?;
        writeln!(writes, "{}", self.server)?;
        std::thread::spawn(move || {
            drop(io::copy(&mut io::stdin().lock(), &mut writes));
            drop(writes.shutdown(std::net::Shutdown::Both));
        });
        let mut out = report::raw();
        for line in io::BufReader::new(reads).lines() {
            writeln!(out, "{}", line?)?;
            out.flush()?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
