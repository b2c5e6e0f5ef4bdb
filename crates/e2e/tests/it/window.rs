//! The terminal driver: the real CLI in a real tmux, steered and seen: in the newest version and now and then in an older one, in
//! every one by `cargo xtask matrix`.

mod adopted;
mod desk;
mod dialogs;
mod long;
mod more;
mod questions;
mod resume;
mod rewind;
mod steer;
mod twice;

use pollux_agent::gemini::cli::{Cli as Agent, Version};
use pollux_agent::gemini::terminal::{Live, Start};
use pollux_agent::model::{Event, EventKind, Failure, Role, SessionStatus};
use pollux_agent::terminal::{Emulator, Socket};
use pollux_e2e::{Cli, Stage, kill_server};
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;

const LIMIT: Duration = Duration::from_mins(1);

/// A stage with a tmux server of its own, which goes with it.
struct Theatre {
    stage: Stage,
    tmux: Tmux,
}

/// The directory of a tmux server's socket: both go with the value.
struct Tmux(TempDir);

impl Theatre {
    async fn new(cli: &Cli, script: &str) -> Self {
        let directory = tempfile::Builder::new().prefix("pollux-tmux-").tempdir().unwrap();
        Self { stage: Stage::with(cli, script).await.unwrap(), tmux: Tmux(directory) }
    }

    fn socket(&self) -> Socket {
        Socket::Path(self.tmux.0.path().join("socket"))
    }

    fn start(&self) -> Start {
        let cli = self.stage.cli();
        let version = Version::read(cli.version());
        let mut start = Start::new()
            .socket(self.socket())
            .cli(Agent { path: cli.program().to_path_buf(), version })
            .home(self.stage.home().path())
            .cwd(self.stage.workspace());
        for (name, value) in self.stage.env() {
            start = start.env(name, value);
        }
        start
    }

    async fn play(&self, start: Start) -> Show {
        Show { live: start.start().await.unwrap(), heard: Vec::new() }
    }

    async fn close(self) {
        drop(self.tmux);
        self.stage.close().await;
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        kill_server(&self.0.path().join("socket"));
    }
}

/// A live agent, and all that was heard of it.
struct Show {
    live: Live,
    heard: Vec<Event<'static>>,
}

impl Show {
    /// Hears on until something is there that was not heard before the `from`th event.
    async fn hear(&mut self, label: &str, from: usize, fits: impl Fn(&Event<'_>) -> bool) {
        let waited = tokio::time::timeout(LIMIT, async {
            while !self.heard.iter().skip(from).any(&fits) {
                let Some(event) = self.live.next().await else { return false };
                self.heard.push(event);
            }
            true
        });
        if waited.await != Ok(true) {
            let heard: Vec<_> = self.heard.iter().skip(from).map(outline).collect();
            panic!("no {label} in {heard:#?}\n{}", self.screen().await);
        }
    }

    /// Hears on until the agent has this status, after the `from`th event.
    async fn becomes(&mut self, wanted: SessionStatus, from: usize) {
        self.hear(&format!("{wanted:?}"), from, |event| status(event) == Some(wanted)).await;
    }

    /// Gives an order and hears what happens meanwhile.
    async fn order(
        &mut self,
        order: impl Future<Output = Result<(), Failure>>,
    ) -> Result<(), Failure> {
        let heard = &mut self.heard;
        self.live.while_hearing(order, |event| heard.push(event)).await
    }

    async fn prompt(&mut self, text: &str) {
        let orders = self.live.orders();
        if let Err(failure) = self.order(orders.prompt(text)).await {
            panic!("{failure:#?}\n{}", self.screen().await);
        }
    }

    async fn answer(&mut self, choice: &str) {
        let orders = self.live.orders();
        if let Err(failure) = self.order(orders.answer(None, choice, None)).await {
            panic!("{failure:#?}\n{}", self.screen().await);
        }
    }

    async fn stop(&mut self) {
        let orders = self.live.orders();
        self.order(orders.stop()).await.unwrap();
    }

    async fn screen(&self) -> String {
        match self.live.pane().capture().await {
            Ok(captured) => {
                let mut emulator = Emulator::new(captured.size);
                emulator.feed(captured.text.as_bytes());
                let rows = emulator.screen().rows.join("\n");
                format!("{}\n{}", captured.told.title, rows.trim_end())
            }
            Err(failure) => failure.to_string(),
        }
    }

    fn statuses(&self, from: usize) -> Vec<SessionStatus> {
        self.heard.iter().skip(from).filter_map(status).collect()
    }

    fn said(&self) -> Vec<(Role, String)> {
        let said = self.heard.iter().filter_map(|event| match &event.kind {
            EventKind::MessageRecorded { message, .. } => Some((message.role, message.text())),
            _ => None,
        });
        said.collect()
    }
}

/// The only session file that there is.
fn session_file(theatre: &Theatre) -> PathBuf {
    let tmp = theatre.stage.home().gemini().join("tmp");
    let chats = std::fs::read_dir(tmp).unwrap().flatten().map(|entry| entry.path().join("chats"));
    let files = chats.filter_map(|chats| std::fs::read_dir(chats).ok()).flatten().flatten();
    let mut files: Vec<PathBuf> =
        files.map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}

/// One line for an event.
fn outline(event: &Event<'_>) -> String {
    let json = serde_json::to_string(event).unwrap();
    json.chars().take(300).collect()
}

fn status(event: &Event<'_>) -> Option<SessionStatus> {
    match &event.kind {
        EventKind::SessionChanged(change) => change.status,
        _ => None,
    }
}
