//! How fast the ACP client is, beside a plain reader of the same pipe: `cargo xtask bench acp` runs it. The same program
//! is the agent at the other end, so that both clocks are one.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "figures for people")]
#![expect(clippy::disallowed_methods, reason = "the child is waited for right here")]

use pollux_agent::acp::{Agent, Config, Open, Prompt};
use pollux_agent::model::EventKind;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

/// How many chunks are timed, one each millisecond.
const TIMED: usize = 2000;
/// How many updates a fast agent sends.
const FAST: usize = 200_000;
/// How many updates the long turn has.
const LONG: usize = 100_000;
/// How many sessions there are at once.
const SESSIONS: usize = 10;

fn now() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    u64::try_from(now.as_nanos()).unwrap()
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("agent") => agent(),
        _ => measure(),
    }
}

/// The agent: a prompt is `count pause-in-microseconds`, and is answered with so many chunks, each with its time.
fn agent() {
    let mut out = std::io::stdout().lock();
    let mut sessions = 0;
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let result = match message["method"].as_str() {
            Some("initialize") => json!({ "protocolVersion": 1 }),
            Some("session/new") => {
                sessions += 1;
                json!({ "sessionId": format!("s{sessions}") })
            }
            Some("session/prompt") => {
                speak(&mut out, &message["params"]);
                json!({ "stopReason": "end_turn" })
            }
            _ => continue,
        };
        let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
        writeln!(out, "{answer}").unwrap();
        out.flush().unwrap();
    }
}

fn speak(out: &mut impl Write, params: &Value) {
    let words = params["prompt"][0]["text"].as_str().unwrap();
    let mut words = words.split(' ').map(|word| word.parse::<u64>().unwrap());
    let (count, pause) = (words.next().unwrap(), words.next().unwrap());
    let session = params["sessionId"].as_str().unwrap();
    for _ in 0..count {
        if pause > 0 {
            std::thread::sleep(Duration::from_micros(pause));
        }
        let time = now();
        let line = format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{{\"sessionId\":\"{session}\",\"update\":{{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{{\"type\":\"text\",\"text\":\"{time} \"}}}}}}}}\n"
        );
        out.write_all(line.as_bytes()).unwrap();
        if pause > 0 {
            out.flush().unwrap();
        }
    }
    out.flush().unwrap();
}

/// What lies between the agent's write and a reader of the bare pipe.
fn raw() -> Vec<u64> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .arg("agent")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let prompt = json!({ "id": 1, "method": "session/prompt", "params": {
        "sessionId": "s1", "prompt": [{ "type": "text", "text": format!("{TIMED} 1000") }],
    } });
    writeln!(stdin, "{prompt}").unwrap();
    let mut lags = Vec::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let (line, now) = (line.unwrap(), now());
        let Some((_, rest)) = line.split_once("\"text\":\"") else { break };
        let time: u64 = rest.split(' ').next().unwrap().parse().unwrap();
        lags.push(now - time);
    }
    drop(stdin);
    child.wait().unwrap();
    lags
}

/// What lies between the agent's write and our event.
async fn ours() -> Vec<u64> {
    let agent = spawn().await;
    let mut session = agent.open(Open::new("/")).await.unwrap();
    session.control().prompt(Prompt::text(format!("{TIMED} 1000"))).await.unwrap();
    let mut lags = Vec::new();
    while let Some(event) = session.next().await {
        match &event.kind {
            EventKind::TextGrew { text, .. } => {
                let time: u64 = text.to_str().trim().parse().unwrap();
                lags.push(now() - time);
            }
            EventKind::TurnEnded { .. } => break,
            _ => {}
        }
    }
    agent.close().await;
    lags
}

async fn spawn() -> Agent {
    let config = Config::new(std::env::current_exe().unwrap()).args(["agent"]).cwd("/");
    Agent::spawn(config).await.unwrap()
}

/// Updates in a second, and by how much memory grew from the tenth part of the turn to its end.
async fn fast(count: usize) -> (f64, f64) {
    let agent = spawn().await;
    let mut session = agent.open(Open::new("/")).await.unwrap();
    let since = Instant::now();
    session.control().prompt(Prompt::text(format!("{count} 0"))).await.unwrap();
    let (mut heard, mut early) = (0, 0.0);
    while let Some(event) = session.next().await {
        match event.kind {
            EventKind::TextGrew { .. } => heard += 1,
            EventKind::TurnEnded { .. } => break,
            _ => {}
        }
        if heard == count / 10 {
            early = memory();
        }
    }
    assert_eq!(heard, count, "nothing is lost");
    // The turn is over when it has been quiet for a while, which is not the translator's time.
    let seconds = since.elapsed().as_secs_f64() - 0.2;
    let grown = memory() - early;
    agent.close().await;
    (rate(count, seconds), grown)
}

/// Updates in a second over all sessions of one process.
async fn many() -> f64 {
    let agent = spawn().await;
    let each = FAST / SESSIONS;
    let mut sessions = Vec::new();
    for _ in 0..SESSIONS {
        sessions.push(agent.open(Open::new("/")).await.unwrap());
    }
    let since = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for mut session in sessions {
        session.control().prompt(Prompt::text(format!("{each} 0"))).await.unwrap();
        tasks.spawn(async move {
            let mut heard = 0;
            while let Some(event) = session.next().await {
                match event.kind {
                    EventKind::TextGrew { .. } => heard += 1,
                    EventKind::TurnEnded { .. } => break,
                    _ => {}
                }
            }
            heard
        });
    }
    let mut all = 0;
    while let Some(heard) = tasks.join_next().await {
        all += heard.unwrap();
    }
    assert_eq!(all, FAST, "nothing is lost");
    let seconds = since.elapsed().as_secs_f64() - 0.2;
    agent.close().await;
    rate(FAST, seconds)
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn rate(count: usize, seconds: f64) -> f64 {
    count as f64 / seconds
}

/// The memory of this process, in megabytes.
fn memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    let number = line.trim().trim_end_matches(" kB").parse::<f64>().unwrap_or_default();
    number / 1024.0
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn at(lags: &mut [u64], part: f64) -> f64 {
    lags.sort_unstable();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is an index")]
    let index = (lags.len() as f64 * part) as usize;
    lags.get(index.min(lags.len().saturating_sub(1))).map_or(f64::NAN, |lag| *lag as f64 / 1e6)
}

fn measure() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (mut theirs, mut own) = (Vec::new(), Vec::new());
    // In turns, so that a machine that becomes busier or calmer is fair to both.
    for _ in 0..3 {
        theirs.extend(raw());
        own.extend(runtime.block_on(ours()));
    }
    let (long, grown) = runtime.block_on(fast(LONG));
    let (fast, _) = runtime.block_on(fast(FAST));
    let many = runtime.block_on(many());
    println!(
        "{}",
        json!({
            "raw_p50": at(&mut theirs, 0.5), "raw_p99": at(&mut theirs, 0.99),
            "own_p50": at(&mut own, 0.5), "own_p99": at(&mut own, 0.99),
            "rate": fast, "long_rate": long, "grown": grown, "many_rate": many,
        })
    );
}
