//! What `pollux claude` and `pollux acp` cost: a line on its way, beside a plain reader of the same agent, and the time to the first
//! words beside the bare `gemini --acp` on the same rehearsal.

use super::spread::middle;
use super::table::Figures;
use crate::release;
use crate::shell::{self, Serving, say, target};
use anyhow::{Context, ensure};
use pollux_e2e::{Cli, PINNED};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

/// How often each is started, in turns.
const ROUNDS: usize = 20;
/// How many chunks are timed, one each millisecond.
const TIMED: usize = 2000;

pub(crate) fn run() -> anyhow::Result<()> {
    let work = target().join("bench/dropin");
    fs::create_dir_all(&work)?;
    let mut figures = Figures::default();
    lines(&mut figures, &work)?;
    starts(&mut figures, &work)?;
    figures.finish()
}

/// A command line, its variables, and where it runs.
struct Program<'p> {
    command: Vec<String>,
    env: &'p [(String, String)],
    work: &'p Path,
}

/// A program that runs and is talked to.
struct Running {
    child: Child,
    stdin: ChildStdin,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Program<'_> {
    #[expect(clippy::disallowed_methods, reason = "the child is ended right here")]
    fn start(&self) -> anyhow::Result<Running> {
        let (program, args) = self.command.split_first().context("a command has a program")?;
        let mut command = Command::new(program);
        command.args(args).envs(self.env.iter().cloned()).current_dir(self.work);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let stdin = child.stdin.take().context("the pipe was asked for")?;
        let stdout = child.stdout.take().context("the pipe was asked for")?;
        Ok(Running { child, stdin, lines: BufReader::new(stdout).lines() })
    }
}

impl Running {
    fn send(&mut self, message: &Value) -> anyhow::Result<()> {
        Ok(writeln!(self.stdin, "{message}").and_then(|()| self.stdin.flush())?)
    }

    /// The next line that has a sign in it.
    fn until(&mut self, sign: &str) -> anyhow::Result<String> {
        for line in self.lines.by_ref() {
            let line = line?;
            if line.contains(sign) {
                return Ok(line);
            }
        }
        anyhow::bail!("the program ended before it printed `{sign}`")
    }

    /// Opens a session over ACP and gives it a prompt.
    fn prompt(&mut self, cwd: &Path, words: &str) -> anyhow::Result<()> {
        let call = |id: u64, method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let hello = json!({ "protocolVersion": 1, "clientCapabilities": {} });
        self.send(&call(1, "initialize", hello))?;
        self.until("\"id\":1")?;
        self.send(&call(2, "session/new", json!({ "cwd": cwd, "mcpServers": [] })))?;
        let opened: Value = serde_json::from_str(&self.until("\"id\":2")?)?;
        let session = &opened["result"]["sessionId"];
        ensure!(session.is_string(), "no session: {opened}");
        let words = json!([{ "type": "text", "text": words }]);
        self.send(&call(3, "session/prompt", json!({ "sessionId": session, "prompt": words })))
    }

    fn end(self) -> anyhow::Result<()> {
        let Self { mut child, stdin, lines } = self;
        drop((stdin, lines));
        let since = Instant::now();
        while child.try_wait()?.is_none() {
            if since.elapsed() > Duration::from_secs(10) {
                child.kill()?;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

/// What lies between an agent's write and a reader behind us, more than with nobody between.
fn lines(figures: &mut Figures, work: &Path) -> anyhow::Result<()> {
    let agent = release::example("acp_speed")?.display().to_string();
    let pollux = release::program()?.display().to_string();
    let own = |args: &[&str]| -> Vec<String> {
        std::iter::once(pollux.clone()).chain(args.iter().map(|arg| (*arg).to_owned())).collect()
    };
    let words = format!("{TIMED} 1000");
    let env = [("GEMINI_CLI_PATH".to_owned(), wrapper(work, &agent)?.display().to_string())];
    let over_acp = |command: Vec<String>| -> anyhow::Result<f64> {
        let mut running = Program { command, env: &env, work }.start()?;
        running.prompt(work, &words)?;
        lag(running, "agent_message_chunk", "\"text\":\"")
    };
    let bare = over_acp(vec![agent.clone(), "agent".into()])?;
    let acp = over_acp(own(&["acp", "--agent-command", &format!("{agent} agent")]))?;
    let flags =
        ["claude", "-p", &words, "--output-format", "stream-json", "--include-partial-messages"];
    let claude = Program { command: own(&flags), env: &env, work }.start()?;
    let claude = lag(claude, "text_delta", "\"text\":\"")?;
    figures.tell(
        "dropin.line_to_reader.p50",
        "a line, write to a plain reader, p50",
        &format!("{bare:.3} ms"),
    );
    figures.at_most(
        "dropin.acp.line_overhead.p50",
        "a line through `pollux acp`, more than that, p50",
        acp - bare,
        0.2,
        " ms",
    );
    figures.at_most(
        "dropin.claude.line_overhead.p50",
        "a line through `pollux claude`, more than that, p50",
        claude - bare,
        0.2,
        " ms",
    );
    Ok(())
}

/// The agent of the bench under the name of Gemini CLI.
fn wrapper(work: &Path, agent: &str) -> anyhow::Result<PathBuf> {
    let path = work.join("gemini");
    let newest = PINNED.last().context("there is a version")?;
    let script =
        format!("#!/bin/sh\n[ \"$1\" = --version ] && echo {newest} && exit\nexec {agent} agent\n");
    fs::write(&path, script)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    Ok(path)
}

/// How old the middle one of the chunks is when it is read, in milliseconds.
fn lag(mut running: Running, sign: &str, before: &str) -> anyhow::Result<f64> {
    let mut lags = Vec::new();
    while lags.len() < TIMED {
        let line = running.until(sign)?;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
        let rest = line.split_once(before).map(|(_, rest)| rest);
        let time = rest.and_then(|rest| rest.split([' ', '"']).next()?.parse::<u64>().ok());
        let time = time.with_context(|| line.clone())?;
        lags.push(now.saturating_sub(Duration::from_nanos(time)).as_secs_f64() * 1e3);
    }
    running.end()?;
    Ok(middle(lags))
}

/// The time to the first words.
fn starts(figures: &mut Figures, work: &Path) -> anyhow::Result<()> {
    let newest = PINNED.last().context("there is a version")?;
    let gemini = Cli::install(newest)?.program().display().to_string();
    let pollux = release::program()?;
    let script = shell::root().join("scripts/greeting.toml").display().to_string();
    let mut server = Serving::start(&pollux, &["rehearse", "--json", &script])?;
    let object = server.first_object()?;
    let env = object.as_object().context("the server tells its environment")?.iter();
    let mut env: Vec<(String, String)> =
        env.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect();
    env.push(("GEMINI_CLI_PATH".to_owned(), gemini.clone()));
    env.push(("GEMINI_CLI_NO_RELAUNCH".to_owned(), "true".to_owned()));
    let pollux = pollux.display().to_string();
    let over_acp = |command: Vec<String>| -> anyhow::Result<f64> {
        let since = Instant::now();
        let mut running = Program { command, env: &env, work }.start()?;
        running.prompt(work, "hello")?;
        running.until("agent_message_chunk")?;
        let time = since.elapsed();
        running.end()?;
        Ok(time.as_secs_f64())
    };
    let over_claude = || -> anyhow::Result<f64> {
        // As Claude's SDKs start it.
        let flags = [
            "claude",
            "--input-format",
            "stream-json",
            "--output-format",
            "stream-json",
            "--verbose",
            "--include-partial-messages",
        ];
        let command = std::iter::once(pollux.as_str()).chain(flags).map(str::to_owned).collect();
        let since = Instant::now();
        let mut running = Program { command, env: &env, work }.start()?;
        let message = json!({ "role": "user", "content": "hello" });
        running.send(&json!({ "type": "user", "message": message }))?;
        running.until("text_delta")?;
        let time = since.elapsed();
        running.end()?;
        Ok(time.as_secs_f64())
    };
    let (mut bare, mut acp, mut claude) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        say(&format!("round {round} of {ROUNDS}"));
        let times = [
            over_acp(vec![gemini.clone(), "--acp".into()])?,
            over_acp(vec![pollux.clone(), "acp".into()])?,
            over_claude()?,
        ];
        // The first one only warms up.
        if round > 0 {
            bare.push(times[0]);
            acp.push(times[1]);
            claude.push(times[2]);
        }
    }
    // By pairs: a machine that becomes busier or calmer is fair to both.
    let by = |ours: Vec<f64>| middle(ours.into_iter().zip(&bare).map(|(ours, bare)| ours / bare));
    let (acp, claude) = (by(acp), by(claude));
    figures.tell(
        "dropin.first_words.bare",
        &format!("first words: bare `gemini --acp` {newest}, median of {ROUNDS}"),
        &format!("{:.0} ms", middle(bare) * 1e3),
    );
    figures.at_most(
        "dropin.acp.first_words",
        "first words: `pollux acp`, by the bare CLI",
        acp,
        1.05,
        "x",
    );
    figures.at_most(
        "dropin.claude.first_words",
        "first words: `pollux claude`, by the bare CLI",
        claude,
        1.05,
        "x",
    );
    Ok(())
}
