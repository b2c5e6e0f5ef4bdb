//! `pollux mcp`: our MCP server over stdio. It carries bytes between the agent and the daemon, which speaks: so it is
//! there at once, and costs next to nothing.

use crate::client::{Client, escaped};
use crate::config::{Config, McpConfig};
use crate::trouble::Trouble;
use anyhow::Context;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

/// The head of an answer is shorter than this.
const LONGEST_HEAD: usize = 8 << 10;

/// Run an MCP server on stdio that lets other agents start, message and assign work to team agents
///
/// For agents that Pollux did not start. Team agents have these tools already.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example, for Claude Code: claude mcp add pollux -- pollux mcp")]
pub(crate) struct Mcp {}

pub(super) async fn run(config: &Config) -> anyhow::Result<ExitCode> {
    let _daemon = Client::connect(config).await?;
    let own = McpConfig::read().with_context(|| {
        Trouble::failed("no_home", "could not find your home directory").hint("set `HOME`")
    })?;
    tokio::task::spawn_blocking(move || carry(&own)).await?
}

/// The quick way, where a daemon runs: nothing is parsed, nothing is set up. None where it is not this command, or
/// where no daemon runs.
pub(crate) fn quickly(
    mut arguments: impl Iterator<Item = std::ffi::OsString>,
) -> Option<anyhow::Result<ExitCode>> {
    if arguments.next()? != "mcp" || arguments.next().is_some() {
        return None;
    }
    let own = McpConfig::read()?;
    UnixStream::connect(&own.socket).ok()?;
    Some(carry(&own))
}

fn carry(own: &McpConfig) -> anyhow::Result<ExitCode> {
    let mut daemon = UnixStream::connect(&own.socket).with_context(|| {
        Trouble::failed("daemon_gone", "the daemon has stopped")
            .hint("start it with `pollux serve --detach`")
    })?;
    let badge = own.badge.as_ref().map(|badge| format!("Authorization: Bearer {badge}\r\n"));
    let place = std::env::current_dir().ok().and_then(|place| place.to_str().map(escaped));
    let place = place.map(|place| format!("?cwd={place}")).unwrap_or_default();
    let head = format!(
        "GET {}{place} HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: mcp\r\n{}\r\n",
        crate::daemon::mcp::STREAM,
        badge.unwrap_or_default()
    );
    daemon.write_all(head.as_bytes())?;
    let status = answer(&mut daemon)?;
    if status != "101" {
        let trouble =
            Trouble::refused("not_signed_in", "the daemon rejected this agent's credential");
        return Err(trouble.hint("a credential expires when its session ends").into());
    }
    let mut heard = daemon.try_clone()?;
    let mut told = daemon.try_clone()?;
    // Ends with stdin, or with the process.
    let _carrier = std::thread::spawn(move || {
        let _ended = io::copy(&mut io::stdin().lock(), &mut told);
        let _closed = told.shutdown(Shutdown::Write);
    });
    let mut out = io::stdout().lock();
    let mut buffer = vec![0_u8; 64 << 10];
    loop {
        let read = heard.read(&mut buffer)?;
        if read == 0 {
            return Ok(ExitCode::SUCCESS);
        }
        out.write_all(buffer.get(..read).unwrap_or_default())?;
        out.flush()?;
    }
}

/// Reads the head of the answer, and gives its status.
fn answer(daemon: &mut UnixStream) -> anyhow::Result<String> {
    let mut head = Vec::new();
    let mut byte = [0_u8; 1];
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= LONGEST_HEAD {
            let message = "unexpected response from the daemon";
            let hint = "it may be another version: stop it with `pollux serve down`";
            return Err(Trouble::failed("daemon", message).hint(hint).into());
        }
        daemon.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    Ok(head.split_whitespace().nth(1).unwrap_or_default().to_owned())
}
