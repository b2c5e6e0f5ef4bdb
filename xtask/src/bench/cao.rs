//! The peer of teams, really run: CLI Agent Orchestrator from Python's registry, its server and the helper that each agent gets.
#![expect(clippy::disallowed_methods, reason = "this is what starts the measured programs")]

use crate::requirements;
use anyhow::Context;
use pollux_e2e::pinned::CAO;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How often each thing is measured; the quickest counts.
const RUNS: usize = 3;
/// A server that has not answered by then does not.
const PATIENCE: Duration = Duration::from_mins(1);

const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;

/// From the start to the first answer, in milliseconds, and the memory that it holds then, in megabytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) start: f64,
    pub(crate) memory: f64,
}

/// The helper that each of its agents gets; none where there is no Python.
pub(crate) fn helper() -> anyhow::Result<Option<Cost>> {
    least(|peer| {
        let mut child = peer.start("cli_agent_orchestrator.mcp_server.server", &[])?;
        writeln!(child.0.stdin.as_mut().context("a pipe")?, "{HELLO}")?;
        let mut line = String::new();
        BufReader::new(child.0.stdout.as_mut().context("a pipe")?).read_line(&mut line)?;
        anyhow::ensure!(
            line.contains("\"result\""),
            "unexpected output from the peer's helper: {line:?}"
        );
        Ok(child)
    })
}

/// Its server; none where there is no Python.
pub(crate) fn server() -> anyhow::Result<Option<Cost>> {
    least(|peer| {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let given = [("CAO_API_PORT", port.to_string())];
        let child = peer.start("cli_agent_orchestrator.api.main", &given)?;
        let since = Instant::now();
        while !is_well(port) {
            anyhow::ensure!(since.elapsed() < PATIENCE, "the peer's server did not respond");
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(child)
    })
}

fn is_well(port: u16) -> bool {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        write!(stream, "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    ask().is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
}

/// The package, and a home that is nobody's.
struct Peer {
    package: PathBuf,
    home: TempDir,
}

impl Peer {
    fn start(&self, module: &str, given: &[(&str, String)]) -> anyhow::Result<Running> {
        let main = format!("from {module} import main; main()");
        let mut command = Command::new("python3");
        command.args(["-c", &main]).env("PYTHONPATH", &self.package).env("HOME", self.home.path());
        command.env("CAO_TERMINAL_ID", "00000001").envs(given.iter().cloned());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        Ok(Running(command.spawn().context("could not start python3")?))
    }
}

/// A child that ends with the value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _reaped = self.0.wait();
    }
}

fn least(start: impl Fn(&Peer) -> anyhow::Result<Running>) -> anyhow::Result<Option<Cost>> {
    if !requirements::is_installed("python") {
        return Ok(None);
    }
    let package = CAO.python()?;
    let peer = Peer { package, home: TempDir::new()? };
    let mut cost = Cost { start: f64::INFINITY, memory: f64::INFINITY };
    for _ in 0..RUNS {
        let since = Instant::now();
        let running = start(&peer)?;
        cost.start = cost.start.min(since.elapsed().as_secs_f64() * 1e3);
        cost.memory = cost.memory.min(held(running.0.id())?);
    }
    Ok(Some(cost))
}

/// The most memory that a process has held, in megabytes.
fn held(pid: u32) -> anyhow::Result<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    Ok(line.trim().trim_end_matches(" kB").trim().parse::<f64>()? / 1024.0)
}
