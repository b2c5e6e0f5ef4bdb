//! What a hook costs the CLI, which waits for it at every tool: `pollux hook` beside a bridge of bash and curl that does the
//! same, with somebody listening and with nobody.
#![expect(clippy::disallowed_methods, reason = "this is what starts the measured programs")]

use super::spread::middle;
use super::table::Figures;
use crate::release;
use crate::shell::target;
use anyhow::Context;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How often each is called, in turns.
const ROUNDS: usize = 200;

/// A payload as the CLI sends it.
const PAYLOAD: &str = r#"{"session_id":"17aacbc0-2106-4928-832a-02d835f9f555","cwd":"/tmp/ws2","hook_event_name":"BeforeTool","tool_name":"read_file","tool_input":{"file_path":"hello.txt"}}"#;

/// What people use instead: answer, look whether the port is open, post in the background.
const BRIDGE: &str = r#"#!/bin/bash
body=$(cat)
printf '{}'
(: > /dev/tcp/localhost/$2) 2> /dev/null || exit 0
printf '%s' "$body" | curl --silent --fail --connect-timeout 2 --max-time 5 --header 'Content-Type: application/json' --data @- "http://localhost:$2/hooks/$1" > /dev/null 2>&1 &
"#;

pub(crate) fn run() -> anyhow::Result<()> {
    let work = target().join("bench/hook");
    fs::create_dir_all(&work)?;
    let mut figures = Figures::default();
    hook(&mut figures, &work, &release::program()?)?;
    figures.finish()
}

/// The two, in turns, so that both meet the same machine.
fn hook(figures: &mut Figures, work: &Path, pollux: &Path) -> anyhow::Result<()> {
    let bridge = work.join("bridge.sh");
    fs::write(&bridge, BRIDGE)?;
    let nobody = Callers::new(work, pollux, &bridge, 1)?;
    let (ours, theirs, floor) = nobody.in_turns(None)?;
    figures.at_most(
        "hook.without_listener",
        "hook without a listener, relative to bash + curl",
        ours / theirs,
        0.25,
        "x",
    );
    figures.tell(
        "hook.floor",
        "  of which a process that does nothing",
        &format!("{:.2}x", floor / theirs),
    );
    let (arrived, port) = listen(&nobody.socket)?;
    let somebody = Callers::new(work, pollux, &bridge, port)?;
    let (ours, theirs, _) = somebody.in_turns(Some(&arrived))?;
    let until = "hook with a listener, until the event arrives";
    figures.at_most("hook.with_listener", until, ours / theirs, 0.25, "x");
    figures.tell("hook.milliseconds", "  hook, in milliseconds", &format!("{ours:.2}"));
    // Nobody listens any more.
    fs::remove_file(&nobody.socket)?;
    Ok(())
}

struct Callers {
    pollux: PathBuf,
    bridge: PathBuf,
    port: u16,
    data: PathBuf,
    socket: PathBuf,
}

impl Callers {
    fn new(work: &Path, pollux: &Path, bridge: &Path, port: u16) -> anyhow::Result<Self> {
        let data = work.join("data");
        fs::create_dir_all(&data)?;
        let pollux = pollux.to_owned();
        Ok(Self { pollux, bridge: bridge.to_owned(), port, socket: data.join("hooks.sock"), data })
    }

    /// The middle of what each takes, in milliseconds: ours, the bridge, a process that does nothing.
    fn in_turns(&self, arrived: Option<&Receiver<()>>) -> anyhow::Result<(f64, f64, f64)> {
        let (mut ours, mut theirs, mut floor) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            ours.push(
                self.timed(Command::new(&self.pollux).args(["hook", "BeforeTool"]), arrived)?,
            );
            let port = self.port.to_string();
            theirs.push(self.timed(
                Command::new("bash").arg(&self.bridge).args(["BeforeTool", &port]),
                arrived,
            )?);
            floor.push(self.timed(&mut Command::new("true"), None)?);
        }
        Ok((middle(ours), middle(theirs), middle(floor)))
    }

    fn timed(&self, command: &mut Command, arrived: Option<&Receiver<()>>) -> anyhow::Result<f64> {
        command.env("XDG_DATA_HOME", &self.data).env("GEMINI_CLI_POLLUX_SOCKET", &self.socket);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let since = Instant::now();
        let mut child = command.spawn()?;
        // A process that does nothing may be gone before it is told anything.
        let _told = child.stdin.take().context("a pipe")?.write_all(PAYLOAD.as_bytes());
        child.wait()?;
        if let Some(arrived) = arrived {
            arrived.recv_timeout(Duration::from_secs(5)).context("the payload did not arrive")?;
        }
        Ok(since.elapsed().as_secs_f64() * 1e3)
    }
}

/// Listens as a daemon would, on the socket and on a port, and tells of each payload.
fn listen(socket: &Path) -> anyhow::Result<(Receiver<()>, u16)> {
    let _left = fs::remove_file(socket);
    let (tell, arrived) = channel();
    let hooks = UnixListener::bind(socket)?;
    let also = tell.clone();
    thread::spawn(move || {
        for stream in hooks.incoming() {
            let mut line = Vec::new();
            let read = stream.and_then(|mut stream| stream.read_to_end(&mut line));
            if read.is_err() || also.send(()).is_err() {
                break;
            }
        }
    });
    let http = TcpListener::bind("127.0.0.1:0")?;
    let port = http.local_addr()?.port();
    thread::spawn(move || {
        for stream in http.incoming() {
            let Ok(mut stream) = stream else { break };
            let mut request = [0; 4096];
            // The bridge looks first whether the port is open, and says nothing then.
            if stream.read(&mut request).unwrap_or(0) == 0 {
                continue;
            }
            let _answered = stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}");
            if tell.send(()).is_err() {
                break;
            }
        }
    });
    Ok((arrived, port))
}
