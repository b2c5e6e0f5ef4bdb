//! What agents in terminals cost: the time until a status is seen, the overhead of a prompt and of a start, idling.
//!
//! The real CLI runs against the scripted model. Beside the figures stand those of the last public orchestrator that drove
//! this CLI through tmux, as they were measured on a machine of the same size.

use super::spread::percentile;
use super::table::Figures;
use crate::release;
use crate::shell;
use anyhow::{Context, anyhow, ensure};
use pollux_agent::gemini::cli::{Cli as Agent, Version};
use pollux_agent::gemini::terminal::{Found, Live, Start, all};
use pollux_agent::model::{EventKind, Failure, SessionStatus};
use pollux_agent::terminal::{Pane, Server, Size, Socket, Window};
use pollux_e2e::{Cli, PINNED, Stage};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

const SIZE: Size = Size { columns: 120, rows: 40 };
/// How often the status changes.
const CHANGES: usize = 300;
/// How many prompts are sent.
const PROMPTS: usize = 20;
/// How often the CLI is started, with Pollux and without.
const STARTS: usize = 6;
/// How many terminals idle, and for how long they are watched.
const IDLE: usize = 100;
const IDLING: Duration = Duration::from_secs(20);

/// A screen that is idle, and changes its title with every line that it is given.
const TITLES: &str = "printf '────────────────────\\n\\n >   Type your message or @path/to/file\\n\\033]0;◇  Ready (x)\\007'; \
    stty -echo; while read -r line; do printf '\\033]0;%s  x\\007' \"$line\"; done";

pub(crate) fn run() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(measure())
}

async fn measure() -> anyhow::Result<()> {
    let mut figures = Figures::default();
    let host = Host::new().await?;
    changes(&host, &mut figures).await?;
    idle(&host, &mut figures).await?;
    let cli = Cli::install(PINNED[2])?;
    let stage = Stage::with(&cli, "terminal").await?;
    prompts(&host, &stage, &mut figures).await?;
    starts(&host, &stage, &mut figures).await?;
    stage.close().await;
    emulator(&mut figures)?;
    figures.finish()
}

/// A tmux server of our own, which goes with the value.
struct Host {
    server: Server,
    directory: tempfile::TempDir,
}

impl Host {
    async fn new() -> anyhow::Result<Self> {
        let directory = tempfile::Builder::new().prefix("pollux-bench-").tempdir()?;
        let server = Server::open(&Socket::Path(directory.path().join("socket"))).await?;
        let host = Self { server, directory };
        // A server goes with its last pane.
        host.pane(&["sleep", "3600"].map(str::to_owned), host.directory.path(), &[]).await?;
        Ok(host)
    }

    async fn pane(
        &self,
        command: &[String],
        cwd: &Path,
        env: &[(String, String)],
    ) -> Result<Pane, Failure> {
        Pane::open(&self.server, &Window { name: "bench", cwd, env, command, size: SIZE }).await
    }

    /// A pane with a script in it, taken for an agent.
    async fn actor(&self, name: &str) -> anyhow::Result<Live> {
        let command = ["/bin/sh", "-c", TITLES].map(str::to_owned);
        let pane = self.pane(&command, self.directory.path(), &[]).await?;
        pane.note("key", name).await?;
        let found = all(self.server.socket()).await?;
        let found: Option<Found> = found.into_iter().find(|found| found.pane == pane.id());
        let found = found.context("the pane is not there")?;
        Ok(found.watch_on(&self.server, self.directory.path()).await?)
    }
}

impl Drop for Host {
    #[expect(clippy::disallowed_methods, reason = "tmux answers at once and is waited for")]
    fn drop(&mut self) {
        let socket = self.directory.path().join("socket");
        let mut tmux = std::process::Command::new("tmux");
        let _gone = tmux.arg("-S").arg(socket).arg("kill-server").output();
    }
}

async fn becomes(live: &mut Live, wanted: SessionStatus) -> anyhow::Result<()> {
    let heard = async {
        while let Some(event) = live.next().await {
            if matches!(&event.kind, EventKind::SessionChanged(change) if change.status == Some(wanted))
            {
                return Ok(());
            }
        }
        Err(anyhow!("the agent exited"))
    };
    tokio::time::timeout(Duration::from_mins(1), heard).await.context(format!("no {wanted:?}"))?
}

/// From the key that makes the program print a title to the event: the title's bytes are in between.
async fn changes(host: &Host, figures: &mut Figures) -> anyhow::Result<()> {
    let mut live = host.actor("titles").await?;
    becomes(&mut live, SessionStatus::Idle).await?;
    let mut times = Vec::with_capacity(CHANGES);
    for number in 0..CHANGES {
        let (sign, wanted) = match number % 2 {
            0 => ("✦", SessionStatus::Working),
            _ => ("◇", SessionStatus::Idle),
        };
        live.pane().type_text(sign).await?;
        let pane = live.pane().clone();
        let since = Instant::now();
        pane.press(&["Enter"]).await?;
        becomes(&mut live, wanted).await?;
        times.push(since.elapsed());
    }
    live.pane().kill().await?;
    figures.tell(
        "terminal.status.p50",
        "status change seen, p50",
        &format!("{:.1} ms", ms(percentile(&times, 50))),
    );
    figures.at_most(
        "terminal.status.p99",
        "status change seen, p99",
        ms(percentile(&times, 99)),
        50.0,
        " ms",
    );
    Ok(())
}

async fn idle(host: &Host, figures: &mut Figures) -> anyhow::Result<()> {
    let mut actors = Vec::with_capacity(IDLE);
    for number in 0..IDLE {
        actors.push(host.actor(&format!("idle-{number}")).await?);
    }
    for actor in &mut actors {
        becomes(actor, SessionStatus::Idle).await?;
    }
    let tmux = processes(host)?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let (before, ended) = (cpu(&tmux)?, ended(&tmux)?);
    tokio::time::sleep(IDLING).await;
    let spent = cpu(&tmux)?.saturating_sub(before);
    let share = spent.as_secs_f64() / IDLING.as_secs_f64() * 100.0;
    // One server and one client, for all of them; none comes and goes while they idle.
    let after = processes(host)?;
    ensure!(after == tmux, "the processes of tmux were {tmux:?} and are {after:?}");
    ensure!(self::ended(&tmux)? == ended, "processes were started for terminals that idle");
    figures.tell(
        "terminal.tmux_starts",
        "tmux processes started a minute for an idle terminal",
        "0",
    );
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    figures.at_most(
        "terminal.tmux_processes",
        "processes of tmux beside 100 terminals",
        tmux.len() as f64,
        2.0,
        "",
    );
    figures.at_most(
        "terminal.idle_cpu",
        "100 idle terminals, of a core, Pollux and tmux",
        share,
        1.0,
        " %",
    );
    for actor in actors {
        actor.pane().kill().await?;
    }
    Ok(())
}

/// The processes of this tmux server: those that name its socket.
fn processes(host: &Host) -> anyhow::Result<Vec<u32>> {
    let socket = host.directory.path().join("socket").display().to_string();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")?.flatten() {
        let Some(number) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line);
        if line.starts_with("tmux") && line.contains(&socket) {
            found.push(number);
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// The page faults of those children of these processes and of this one that have ended. Where one was started and has
/// ended, however short it lived, this is more than before.
fn ended(processes: &[u32]) -> anyhow::Result<u64> {
    let mut faults = 0;
    for process in processes.iter().copied().chain([std::process::id()]) {
        let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
        let fields = stat.rsplit_once(") ").map(|(_, fields)| fields).unwrap_or_default();
        let field = |at| fields.split(' ').nth(at).and_then(|field| field.parse::<u64>().ok());
        faults += field(8).unwrap_or(0) + field(10).unwrap_or(0);
    }
    Ok(faults)
}

/// The CPU time of these processes and of this one.
fn cpu(processes: &[u32]) -> anyhow::Result<Duration> {
    let mut ticks = 0;
    for process in processes.iter().copied().chain([std::process::id()]) {
        let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
        let fields = stat.rsplit_once(") ").map(|(_, fields)| fields).unwrap_or_default();
        let fields: Vec<u64> = fields.split(' ').map(|field| field.parse().unwrap_or(0)).collect();
        ticks += fields.get(11).unwrap_or(&0) + fields.get(12).unwrap_or(&0);
    }
    Ok(Duration::from_millis(ticks * 10))
}

fn start(host: &Host, stage: &Stage) -> Start {
    let version = Version::read(stage.cli().version());
    let mut start = Start::new()
        .cli(Agent { path: stage.cli().program().to_path_buf(), version })
        .home(stage.home().path())
        .cwd(stage.workspace())
        .socket(host.server.socket().clone());
    for (name, value) in stage.env() {
        start = start.env(name, value);
    }
    start
}

/// From the order to send a prompt until it has left the input box.
async fn prompts(host: &Host, stage: &Stage, figures: &mut Figures) -> anyhow::Result<()> {
    let mut live = start(host, stage).start_on(&host.server).await?;
    becomes(&mut live, SessionStatus::Idle).await?;
    let orders = live.orders();
    let mut times = Vec::with_capacity(PROMPTS);
    for number in 0..=PROMPTS {
        let since = Instant::now();
        let prompt = orders.prompt(format!("talk a little, number {number}"));
        let mut heard = Vec::new();
        live.while_hearing(prompt, |event| heard.push(event)).await?;
        times.push(since.elapsed());
        let idle = |kind: &EventKind<'_>| matches!(kind, EventKind::TurnEnded { .. });
        if !heard.iter().any(|event| idle(&event.kind)) {
            becomes(&mut live, SessionStatus::Idle).await?;
        }
    }
    // The first one waits for the CLI to listen.
    times.remove(0);
    let p50 = ms(percentile(&times, 50));
    figures.at_most(
        "terminal.prompt.p50",
        "a prompt, until the CLI has taken it, p50 (peer: 900 ms)",
        p50,
        100.0,
        " ms",
    );
    figures.tell(
        "terminal.prompt.p90",
        "the same, p90",
        &format!("{:.0} ms", ms(percentile(&times, 90))),
    );
    live.while_hearing(orders.stop(), drop).await?;
    Ok(())
}

/// From the start to the input box: through Pollux, and the bare CLI in the same tmux, in turns.
async fn starts(host: &Host, stage: &Stage, figures: &mut Figures) -> anyhow::Result<()> {
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        let since = Instant::now();
        let mut live = start(host, stage).start_on(&host.server).await?;
        becomes(&mut live, SessionStatus::Idle).await?;
        ours.push(since.elapsed());
        live.pane().kill().await?;
        bare.push(bare_start(host, stage).await?);
    }
    let least = |times: &[Duration]| times.iter().min().copied().unwrap_or_default();
    let (ours, bare) = (least(&ours), least(&bare));
    figures.tell(
        "terminal.start.bare",
        "start of the bare CLI in tmux",
        &format!("{:.2} s", bare.as_secs_f64()),
    );
    let over = ours.as_secs_f64() - bare.as_secs_f64();
    figures.at_most(
        "terminal.start_overhead",
        "start through Pollux, over the CLI's own (peer: 4 s)",
        over,
        0.3,
        " s",
    );
    Ok(())
}

async fn bare_start(host: &Host, stage: &Stage) -> anyhow::Result<Duration> {
    let env: Vec<(String, String)> =
        stage.env().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let command = ["/bin/sh", "-c", "exec \"$0\"", &stage.cli().program().display().to_string()]
        .map(str::to_owned);
    let since = Instant::now();
    let pane = host.pane(&command, stage.workspace(), &env).await?;
    let mut watch = pane.watch();
    let mut printed = Vec::new();
    let shown = async {
        loop {
            printed.extend(watch.next().await.output);
            let text = String::from_utf8_lossy(&printed);
            if text.contains("Type your message") && text.contains("Ready") {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_mins(1), shown)
        .await
        .context("Gemini CLI did not start")?;
    let time = since.elapsed();
    pane.kill().await?;
    Ok(time)
}

/// How fast bytes of a real session are drawn.
fn emulator(figures: &mut Figures) -> anyhow::Result<()> {
    let recording = shell::root().join("recordings/0.61.0/tui/approval-stream.100x30.raw");
    let example = release::example("emulator")?;
    let line = shell::words_and("", &[example.display(), recording.display()]);
    let printed = shell::capture_words(&line, &[])?;
    let told: Value = serde_json::from_str(&printed)?;
    let speed = told["megabytes_per_second"].as_f64().context("it tells a speed")?;
    figures.at_least(
        "terminal.emulator_speed",
        "bytes of a real session, drawn",
        speed,
        50.0,
        " MB/s",
    );
    figures.tell(
        "terminal.screen_reading",
        "one screen, read",
        &format!("{:.0} µs", told["reading_us"].as_f64().unwrap_or_default()),
    );
    Ok(())
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
