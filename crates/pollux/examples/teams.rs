//! The figures of teams, as one JSON object: what `cargo xtask bench teams` runs. Its arguments are the program, and how
//! many workers with the real CLI there shall be at once.
#![expect(clippy::print_stdout, reason = "printing figures is all that it does")]
#![expect(clippy::print_stderr, reason = "a job that was lost says why")]
#![expect(clippy::unwrap_used, reason = "a measurement that cannot be made has no figure")]

use futures::future::BoxFuture;
use pollux::api::Driver;
use pollux::api::team::{Give, Job, Launch};
use pollux::daemon::hub::agent::{Agent, Agents, Events, Gemini, Orders, Wanted};
use pollux::daemon::hub::servers::Servers;
use pollux::daemon::hub::terminal::Tmux;
use pollux::daemon::instance::{Daemon, Place, Surroundings, Told};
use pollux::daemon::routes::Api;
use pollux::daemon::team::Caller;
use pollux::team::job::{Kind, State};
use pollux::team::limits::Budget;
use pollux::team::store::Store;
use pollux_agent::gemini::cli::{Cli, Search, Version};
use pollux_agent::model::{
    Agent as Author, Content, Event, EventKind, Failure, Message, Role, Source, StopReason, Text,
};
use pollux_agent::session::{By, Order};
use pollux_agent::terminal::Socket;
use pollux_e2e::Stage;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// How long the work of a worker takes that is there at once: the peer was measured with the same.
const WORK: Duration = Duration::from_millis(50);

/// The prompts that agents have heard, and when.
type Heard = Arc<Mutex<Vec<(String, Instant)>>>;

struct Hears(mpsc::Receiver<Event<'static>>);

impl Events for Hears {
    fn next(&mut self) -> BoxFuture<'_, Option<Event<'static>>> {
        Box::pin(self.0.recv())
    }
}

/// An agent that is there at once, works for a moment and says what it was told.
struct Echo {
    says: mpsc::Sender<Event<'static>>,
    heard: Heard,
    tasks: Mutex<JoinSet<()>>,
}

impl Orders for Echo {
    fn order(&self, order: Order) -> BoxFuture<'static, Result<(), Failure>> {
        let says = self.says.clone();
        match order {
            Order::Prompt { text, .. } => {
                self.heard.lock().unwrap().push((text.clone(), Instant::now()));
                self.tasks.lock().unwrap().spawn(turn(says, text));
            }
            Order::Stop => {
                self.tasks.lock().unwrap().spawn(async move {
                    let kind = EventKind::SessionEnded { reason: "stopped".into() };
                    says.send(Event::new(Source::Acp, kind)).await.unwrap();
                });
            }
            _ => {}
        }
        Box::pin(async { Ok(()) })
    }
}

async fn turn(says: mpsc::Sender<Event<'static>>, text: String) {
    let message = Message {
        id: Text::from("#1"),
        role: Role::Assistant,
        content: Content::Raw(Text::from(text.clone())),
        timestamp: None,
        tool: Author::Gemini,
        model: None,
        usage: None,
        meta: false,
        level: None,
        restored: Vec::new(),
        copied: false,
        recovered: false,
        original: Cow::Borrowed("{}"),
    };
    let begun = EventKind::TurnStarted { prompt: Text::from(text) };
    says.send(Event::new(Source::Acp, begun)).await.unwrap();
    tokio::time::sleep(WORK).await;
    let said = EventKind::MessageRecorded { changed: false, message: Box::new(message) };
    says.send(Event::new(Source::Acp, said)).await.unwrap();
    let (stop_reason, duration_ms, tool_calls, error) = (StopReason::EndTurn, None, None, None);
    let ended = EventKind::TurnEnded { stop_reason, duration_ms, tool_calls, error };
    says.send(Event::new(Source::Acp, ended)).await.unwrap();
}

fn echoes(heard: &Heard) -> Agents {
    let heard = Arc::clone(heard);
    let start = move |_: Wanted| -> BoxFuture<'static, Result<Agent, Failure>> {
        let (says, hears) = mpsc::channel(64);
        let orders = Echo { says, heard: Arc::clone(&heard), tasks: Mutex::default() };
        let agent = Agent { events: Box::new(Hears(hears)), orders: Arc::new(orders), ready: true };
        Box::pin(async { Ok(agent) })
    };
    Agents::of(Arc::new(start), vec![Driver::Acp])
}

struct House {
    api: Arc<Api>,
    directory: tempfile::TempDir,
    _task: JoinSet<anyhow::Result<()>>,
}

impl House {
    async fn open(agents: Agents, gemini: &Path) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let place = Place::new(directory.path());
        let (gemini, profiles) = (gemini.to_path_buf(), Store::default());
        let around = Surroundings { place, gemini, index: None, agents, hooks: None, profiles };
        let serve = Told { port: Some(0), ..Told::default() }.settle().unwrap();
        let daemon = Daemon::open(&serve, around).await.unwrap();
        let api = daemon.api();
        let mut task = JoinSet::new();
        task.spawn(daemon.run());
        Self { api, directory, _task: task }
    }

    async fn give(&self, kind: Kind, message: &str, cwd: &Path) -> Job {
        let give = Give {
            client_id: None,
            kind,
            profile: "developer".into(),
            message: message.into(),
            cwd: Some(cwd.to_path_buf()),
            timeout: None,
            budget: Budget::default(),
            worktree: None,
            keep: Some(false),
            driver: None,
        };
        self.api.teams.give(&person(), give).await.unwrap()
    }
}

impl Drop for House {
    fn drop(&mut self) {
        self.api.stop.cancel();
        self.api.hub.halt();
    }
}

fn person() -> Caller {
    Caller::Person(By::owner())
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(f64::NAN)
}

/// A handoff of work that takes 50 ms, without these; and a letter to an agent that does nothing, until it is heard.
async fn overheads() -> (f64, f64) {
    let heard = Heard::default();
    let house = House::open(echoes(&heard), Path::new("/nowhere")).await;
    let cwd = house.directory.path().to_path_buf();
    let mut handoffs = Vec::new();
    for _ in 0..50 {
        let since = Instant::now();
        let job = house.give(Kind::Handoff, "say it", &cwd).await;
        let job = house.api.teams.wait(&job).await;
        assert_eq!(job.state, State::Done);
        handoffs.push(since.elapsed().saturating_sub(WORK).as_secs_f64() * 1e3);
    }
    let launch = Launch {
        client_id: None,
        profile: "developer".into(),
        prompt: None,
        cwd,
        mode: None,
        model: None,
        driver: None,
    };
    let agent = house.api.teams.launch(&person(), launch).await.unwrap();
    let mut letters = Vec::new();
    for number in 0..50 {
        while house.api.hub.feed(&agent.id).unwrap().1.summary().status
            != pollux_agent::model::SessionStatus::Idle
        {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let text = format!("letter number {number}");
        let since = Instant::now();
        house.api.teams.send(&person(), Some(&agent.id), &text).await.unwrap();
        let at = loop {
            let found =
                heard.lock().unwrap().iter().find(|(heard, _)| heard.contains(&text)).cloned();
            if let Some((_, at)) = found {
                break at;
            }
            tokio::time::sleep(Duration::from_micros(200)).await;
        };
        letters.push(at.duration_since(since).as_secs_f64() * 1e3);
    }
    (median(handoffs), median(letters))
}

/// `pollux mcp` from its start to its first answer, and what it holds then.
#[expect(clippy::disallowed_methods, reason = "the program is what is measured")]
fn helper(program: &Path, socket: &Path) -> (f64, f64) {
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "bench", "version": "1" } } });
    let (mut times, mut sizes) = (Vec::new(), Vec::new());
    for _ in 0..20 {
        let since = Instant::now();
        let mut command = Command::new(program);
        command.arg("mcp").env("POLLUX_SOCKET", socket).env_remove("POLLUX_BADGE");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        writeln!(child.stdin.as_mut().unwrap(), "{hello}").unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        times.push(since.elapsed().as_secs_f64() * 1e3);
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["result"]["serverInfo"]["name"], "pollux");
        sizes.push(rss(child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    (median(times), median(sizes))
}

fn rss(pid: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0");
    line.trim().trim_end_matches(" kB").trim().parse::<f64>().unwrap_or(f64::NAN) / 1024.0
}

/// So many workers with the real CLI at once: how many answers were lost or came twice, and how long it took.
async fn crowd(workers: usize) -> (usize, f64) {
    const SCRIPT: &str = "
        [[rule]]
        prompt-regex = 'say number (?<number>[0-9]+)\\.'
        reply = 'It is number {{number}}.'
    ";
    let cli = pollux_e2e::Cli::install(pollux_e2e::PINNED[2]).unwrap();
    let stage = Stage::new(&cli, SCRIPT.parse().unwrap()).await.unwrap();
    let house = House::open(gemini(&stage), &stage.home().path().join(".gemini")).await;
    let since = Instant::now();
    let mut jobs = Vec::new();
    for number in 0..workers {
        let text = format!("say number {number}.");
        jobs.push(house.give(Kind::Assign, &text, stage.workspace()).await);
    }
    while house.api.teams.jobs(workers).await.unwrap().iter().any(|job| !job.state.is_final()) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let took = since.elapsed().as_secs_f64();
    let whose = pollux::daemon::log::team::Whose::People;
    let letters = house.api.teams.letters(whose, workers * 2).await.unwrap();
    let wrong = |number: &usize| {
        let text = format!("It is number {number}.");
        letters.iter().filter(|letter| letter.text.ends_with(&text)).count() != 1
    };
    for job in house.api.teams.jobs(workers).await.unwrap() {
        let number = job.prompt.trim_start_matches("say number ");
        let told = letters.iter().filter(|letter| letter.text.ends_with(&format!(" {number}")));
        if told.count() != 1 {
            eprintln!("{}: {:?}, {:?}, {:?}", job.prompt, job.state, job.why, job.result);
        }
    }
    let wrong = (0..workers).filter(wrong).count() + letters.len().saturating_sub(workers);
    drop(house);
    stage.close().await;
    (wrong, took)
}

/// The CLI on a stage, as the daemon starts it.
fn gemini(stage: &Stage) -> Agents {
    let cli =
        Cli { path: stage.cli().program().to_path_buf(), version: Some(Version::new(0, 61, 0)) };
    let home = stage.home().path().to_path_buf();
    Agents::gemini(Gemini {
        cli: Some(cli),
        search: Search::default(),
        aside: home.join("aside"),
        tmux: Tmux::new(Servers::new(Socket::Path(home.join("tmux.sock")), &home)),
        env: stage.env().into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
        home,
        badges: Arc::default(),
    })
}

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args_os().skip(1);
    let program = arguments.next().unwrap();
    let workers = arguments.next().and_then(|word| word.to_str()?.parse().ok()).unwrap_or(50);
    let (handoff, letter) = overheads().await;
    let house = House::open(echoes(&Heard::default()), Path::new("/nowhere")).await;
    let socket = Place::new(house.directory.path()).socket();
    let (start, memory) =
        tokio::task::spawn_blocking(move || helper(Path::new(&program), &socket)).await.unwrap();
    drop(house);
    let (wrong, seconds) = crowd(workers).await;
    let figures = json!({
        "handoff_ms": handoff, "letter_ms": letter, "mcp_ms": start, "mcp_mb": memory,
        "workers": workers, "wrong": wrong, "seconds": seconds,
    });
    println!("{figures}");
}
