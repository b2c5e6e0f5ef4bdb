//! What a demo is played on: a project, a scripted model, a daemon, all in a private directory.

use super::{DOCTOR, Demo};
use crate::cli::live::stop::remove;
use crate::client::Client;
use crate::config::Config;
use crate::trouble::Trouble;
use anyhow::Context;
use pollux_agent::gemini::hooks::SOCKET;
use pollux_agent::gemini::terminal::all;
use pollux_agent::process::{Child, Program};
use pollux_agent::terminal::Socket;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// What the model says.
const SCRIPT: &str = include_str!("../../../../../scripts/demo.toml");
/// The socket of its tmux server.
const TMUX: &str = "tmux";
/// How long the daemon may take to come up.
const START: Duration = Duration::from_secs(20);
/// How often it is asked meanwhile.
const ASK: Duration = Duration::from_millis(50);

/// A daemon of our own, which goes with the value.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) client: Client,
    pub(super) project: PathBuf,
    daemon: Child,
    /// The tmux server for its terminals.
    tmux: Socket,
}

impl Stage {
    pub(super) async fn set(
        args: &Demo,
        cli: PathBuf,
        place: &Path,
        config: &Config,
    ) -> anyhow::Result<Self> {
        let project = place.join("project");
        fs::create_dir(&project)?;
        fs::write(project.join("hello.txt"), "Hello.\n")?;
        let mut config = config.clone();
        config.data = place.join("data/pollux");
        let mut daemon = daemon(args, place, &config)?.env("GEMINI_CLI_PATH", cli);
        // What the user's own daemon has, the demo's must not take up: their terminals and their hooks too.
        for (name, below) in [
            ("XDG_DATA_HOME", "data"),
            ("XDG_CACHE_HOME", "cache"),
            ("XDG_CONFIG_HOME", "config"),
            ("POLLUX_TMUX", TMUX),
            (SOCKET, "hooks.sock"),
        ] {
            daemon = daemon.env(name, place.join(below));
        }
        let mut daemon = daemon.spawn().context("could not start the daemon")?;
        let client = come_up(&mut daemon, &config).await?;
        Ok(Self { client, project, daemon, tmux: Socket::Path(place.join(TMUX)) })
    }

    /// Ends all of it.
    pub(super) async fn strike(mut self) {
        self.daemon.interrupt();
        let ended = tokio::time::timeout(Duration::from_secs(10), self.daemon.wait()).await;
        // One that does not listen is ended when it is closed.
        drop(ended);
        self.daemon.close().await;
        // Agents in terminals outlive their daemon.
        for found in all(&self.tmux).await.unwrap_or_default() {
            drop(remove(&found).await);
        }
    }
}

/// The daemon: with the scripted model around it, or as it is.
fn daemon(args: &Demo, place: &Path, config: &Config) -> anyhow::Result<Program> {
    let own = std::env::current_exe().context("could not find the path of this program")?;
    if args.live {
        return Ok(Program::new(own, place).args(["serve"]));
    }
    let script = if let Some(script) = &args.script {
        config.cwd.join(script)
    } else {
        let script = place.join("demo.toml");
        fs::write(&script, SCRIPT)?;
        script
    };
    let words: [OsString; 7] = [
        "rehearse".into(),
        script.into(),
        "--home".into(),
        place.join("home").into(),
        "--".into(),
        own.clone().into(),
        "serve".into(),
    ];
    Ok(Program::new(own, place).args(words))
}

async fn come_up(daemon: &mut Child, config: &Config) -> anyhow::Result<Client> {
    let begun = Instant::now();
    while begun.elapsed() < START {
        if let Some(client) = Client::running(config).await? {
            return Ok(client);
        }
        if let Ok(ended) = tokio::time::timeout(ASK, daemon.wait()).await {
            let said = daemon.stderr();
            let trouble =
                Trouble::failed("no_daemon", format!("the daemon has stopped: {}", ended?));
            return Err(anyhow::anyhow!("{}", said.trim().to_owned()).context(trouble.hint(DOCTOR)));
        }
    }
    Err(Trouble::failed("no_daemon", "the daemon did not start within 20 s").hint(DOCTOR).into())
}

/// Opens the address in a browser if there is a desktop.
#[expect(clippy::disallowed_methods, reason = "a browser belongs to the desktop, not to us")]
pub(super) fn open_browser(url: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut browser = std::process::Command::new(program);
    browser.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let _opened = browser.spawn();
}
