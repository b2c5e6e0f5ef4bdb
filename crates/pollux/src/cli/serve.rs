//! `pollux serve`: the daemon.

mod unit;

use super::session::runtime;
use crate::api::{Health, Projects, Trust};
use crate::client::Client;
use crate::config::Config;
use crate::daemon::hub::agent::{Agents, Gemini};
use crate::daemon::hub::terminal::Tmux;
use crate::daemon::instance::{Daemon, Place, Surroundings, Told};
use crate::report;
use crate::trouble::Trouble;
use clap::{Subcommand, ValueEnum};
use serde_json::json;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How long a daemon may take to end.
const END: Duration = Duration::from_secs(20);

/// Run the daemon, which hosts sessions and serves the web app
///
/// Commands that need the daemon start it in the background. `run`, `acp`, `claude`, `rehearse`, `sessions` (except `restore`)
/// and terminal sessions (`new`, `attach`, `screen`) work without it. Run it yourself to watch its log or to accept remote
/// devices.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "On a loopback address the daemon serves HTTP. On any other address it serves HTTPS, with your certificate or \
    a self-signed one, unless a proxy in front does. `pollux pair` shows the fingerprint of the self-signed \
    certificate.\n\nSettings come from ~/.config/pollux/config.toml ([serve]), then from POLLUX_PORT, POLLUX_BIND and \
    POLLUX_BEHIND_PROXY, then from flags. Later sources override earlier ones.\n\nExamples:\n  pollux serve --detach\n  \
    pollux serve --bind 0.0.0.0\n  pollux serve status --json"
)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Serve {
    #[command(subcommand)]
    what: Option<What>,
    /// Port to listen on
    #[arg(long)]
    port: Option<u16>,
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS")]
    bind: Option<IpAddr>,
    /// Additional host name of this machine
    #[arg(long, value_name = "HOST")]
    name: Vec<String>,
    /// TLS certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "key")]
    certificate: Option<PathBuf>,
    /// TLS private key (PEM)
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// Origin of the HTTPS proxy in front, such as <https://pollux.example.com>
    #[arg(long, value_name = "ORIGIN")]
    behind_proxy: Option<String>,
    /// Run in the background
    #[arg(long)]
    detach: bool,
    /// What `--detach` runs
    #[arg(long, hide = true)]
    background: bool,
    /// Print a systemd or launchd unit that starts the daemon when you log in
    #[arg(long, value_name = "KIND", num_args = 0..=1, default_missing_value = unit::HERE)]
    print_unit: Option<Unit>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Unit {
    Systemd,
    Launchd,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Show whether the daemon is running, and its addresses
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Stop the daemon and its agents; terminal agents keep running
    Down,
    /// Allow devices to start agents in a directory
    Allow {
        /// Directory to allow
        directory: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub(super) fn run(serve: Serve, config: &Config) -> anyhow::Result<ExitCode> {
    if let Some(kind) = serve.print_unit {
        report::text(&unit::unit(kind == Unit::Systemd, config.search.home.as_deref())?)?;
        return Ok(ExitCode::SUCCESS);
    }
    match serve.what {
        Some(What::Status { json }) => runtime()?.block_on(status(json, config)),
        Some(What::Down) => runtime()?.block_on(down(config)),
        Some(What::Allow { directory, json }) => {
            runtime()?.block_on(allow(directory, json, config))
        }
        None => daemon(serve, config),
    }
}

/// Here, or in the background.
fn daemon(serve: Serve, config: &Config) -> anyhow::Result<ExitCode> {
    let told = Told {
        port: serve.port,
        bind: serve.bind,
        names: serve.name,
        certificate: serve.certificate.map(|path| config.cwd.join(path)),
        key: serve.key.map(|path| config.cwd.join(path)),
        behind_proxy: serve.behind_proxy,
        ..Told::default()
    };
    if serve.detach {
        return runtime()?.block_on(detach(&told, config));
    }
    let told = Told::in_file(&config.settings)?.or_rather(config.serve.clone()).or_rather(told);
    let settings = told.settle()?;
    let background = serve.background;
    if background {
        // Out of the terminal's session: closing that is no end. It fails where we are out already.
        let _session = rustix::process::setsid();
    }
    report::journal(background, config.log.as_deref());
    let home = config.gemini.parent().map(std::path::Path::to_path_buf).unwrap_or_default();
    let gemini = Gemini {
        cli: None,
        search: config.search.clone(),
        home,
        aside: config.data.join("rescued"),
        env: Vec::new(),
        tmux: Tmux::new(config.servers()),
        badges: std::sync::Arc::default(),
    };
    let around = Surroundings {
        place: Place::new(&config.data),
        gemini: config.gemini.clone(),
        index: Some(super::sessions::index_path(config)),
        agents: Agents::gemini(gemini),
        hooks: Some(config.hooks.clone()),
        profiles: config.profiles(),
    };
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.enable_all().worker_threads(2).build()?;
    runtime.block_on(async {
        let daemon = Daemon::open(&settings, around).await?;
        if !background {
            for origin in &daemon.address.origins {
                report::note(&format!("listening on {origin}"));
            }
            report::quiet("pair a browser with `pollux pair`; stop with Ctrl-C");
        }
        daemon.run().await
    })?;
    Ok(ExitCode::SUCCESS)
}

async fn detach(told: &Told, config: &Config) -> anyhow::Result<ExitCode> {
    if Client::running(config).await?.is_some() {
        let trouble = Trouble::refused("already_running", "a daemon is already running");
        return Err(trouble.hint("stop it with `pollux serve down`").into());
    }
    Client::start(config, &told.arguments()).await?;
    status(false, config).await
}

async fn status(json: bool, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::running(config).await?;
    let address = Place::new(&config.data).announced().filter(|_| client.is_some());
    if json {
        report::json(&json!({ "running": client.is_some(), "address": address }))?;
    } else if let Some(address) = &address {
        let place = address.origins.join(", ");
        report::text(&format!("running (pid {}) at {place}\n", address.pid))?;
    } else {
        report::text("not running\n")?;
    }
    Ok(ExitCode::from(u8::from(client.is_none())))
}

async fn down(config: &Config) -> anyhow::Result<ExitCode> {
    let Some(client) = Client::running(config).await? else {
        report::note("no daemon is running");
        return Ok(ExitCode::SUCCESS);
    };
    let _ends: Health = client.post("/api/v1/shutdown", &json!({})).await?;
    let begun = Instant::now();
    while begun.elapsed() < END {
        if Place::new(&config.data).is_free() {
            return Ok(ExitCode::SUCCESS);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let trouble = Trouble::failed("still_there", "the daemon did not stop within 20 s");
    Err(trouble.hint(client.says_why()).into())
}

async fn allow(directory: PathBuf, json: bool, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::connect(config).await?;
    let path = config.cwd.join(directory);
    let allowed: Projects = client.post("/api/v1/projects", &Trust { path }).await?;
    if json {
        report::json(&allowed.projects)?;
        return Ok(ExitCode::SUCCESS);
    }
    for project in allowed.projects {
        report::text(&format!("{}\n", project.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}
