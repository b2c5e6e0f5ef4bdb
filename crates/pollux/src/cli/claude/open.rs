//! Starts the agent as the flags and the first request want it.

use super::bridge::Bridge;
use super::desk::Desk;
use super::setup::Setup;
use crate::api::Bring;
use crate::cli::run::resume::{self, Kept};
use crate::client::Twin;
use crate::config::Config;
use crate::ends::Stop;
use crate::trouble::Trouble;
use anyhow::Context;
use pollux_agent::acp::Policy;
use pollux_agent::claude::control::Start;
use pollux_agent::claude::hooks::Hooks;
use pollux_agent::claude::permission::{Command, Rule};
use pollux_agent::gemini::acp::{Aside, Decision, Denied, Gemini, Live};
use pollux_agent::gemini::cli::Cli;
use pollux_agent::gemini::transcript::fork::fork;
use pollux_agent::model::{Failure, Phase};
use std::path::PathBuf;

/// What the first request may bring along that would change what the caller gets.
const REFUSED: [&str; 6] =
    ["agents", "plugins", "jsonSchema", "toolAliases", "planModeInstructions", "managedSettings"];

/// A session that is open.
pub(super) struct Opened {
    pub(super) live: Live,
    pub(super) setup: Setup,
    pub(super) cwd: PathBuf,
    /// What the caller calls the session.
    pub(super) id: String,
    /// Text to add before the first prompt.
    pub(super) append: Option<String>,
    /// The hooks of the caller.
    pub(super) hooks: Hooks,
    /// The way to the MCP servers of the caller.
    pub(super) bridge: Option<Bridge>,
    /// The session, as a daemon sees it that runs.
    pub(super) twin: Twin,
    /// Files that the agent reads while it lives.
    pub(super) aside: Aside,
    /// The lock on a resumed session.
    pub(super) kept: Option<Kept>,
}

/// What the first request brings along that is not known, and so changes nothing.
pub(super) fn ignored(start: &Start) -> impl Iterator<Item = &String> {
    start.other.iter().filter(|name| !REFUSED.contains(&name.as_str()))
}

/// Why the first request cannot be met, if it cannot.
pub(super) fn unknown(start: &Start) -> Option<String> {
    if let Some(name) = start.other.iter().find(|name| REFUSED.contains(&name.as_str())) {
        return Some(format!("`{name}` has no counterpart in Gemini CLI"));
    }
    if let Some(hook) = Hooks::unknown(&start.hooks) {
        return Some(format!("the hook `{hook}` has no counterpart in Gemini CLI"));
    }
    let matcher = Hooks::unreadable(&start.hooks)?;
    Some(format!("invalid hook matcher `{matcher}`"))
}

/// Starts the agent and opens a session. If this process is stopped before that, no agent and no lock of a resumed session is
/// left.
pub(super) async fn open(
    setup: Setup,
    start: &Start,
    config: &Config,
    desk: &Desk,
    stop: &mut Stop,
) -> anyhow::Result<Result<Opened, Failure>> {
    let mut kept = None;
    let opened = tokio::select! {
        opened = begin(setup, start, config, desk, &mut kept) => Some(opened?),
        () = stop.told() => None,
    };
    match opened {
        Some(Ok(opened)) => Ok(Ok(Opened { kept, ..opened })),
        Some(Err(failure)) => Ok(Err(failure)),
        None => {
            if let Some(kept) = &kept {
                kept.given_up().await;
            }
            let message = "the session was stopped before it was open";
            Ok(Err(Failure::new(Phase::Cancelled, "cancelled", message)))
        }
    }
}

/// The session that is gone on with is kept where it outlives a start that is given up.
async fn begin(
    setup: Setup,
    start: &Start,
    config: &Config,
    desk: &Desk,
    kept: &mut Option<Kept>,
) -> anyhow::Result<Result<Opened, Failure>> {
    let cli = match config.cli(setup.agent_path.as_ref()).await {
        Ok(cli) => cli,
        Err(failure) => return Ok(Err(failure)),
    };
    let mut own = config.clone();
    own.at_home_of(&setup.env);
    let gemini = own.gemini;
    let mut aside = Aside::default();
    let mut setup = setup;
    for name in &start.servers {
        if !setup.servers.callers.contains(name) {
            setup.servers.callers.push(name.clone());
        }
    }
    let home = gemini.parent().unwrap_or(&gemini);
    let order = order(&setup, start, &mut aside)?;
    let mut order = match aside.policy(order, &cli, home, &denied(&setup, start)) {
        Ok(order) => order,
        Err(failure) => return Ok(Err(failure)),
    };
    let callers = &setup.servers.callers;
    let bridge = (!callers.is_empty()).then(|| Bridge::open(desk)).transpose()?;
    if let Some(bridge) = &bridge {
        for name in callers {
            order = order.mcp(bridge.server(name)?);
        }
    }
    let order = order.cli(cli.clone()).cwd(&config.cwd).home(home);
    let own = Config { gemini: gemini.clone(), ..config.clone() };
    let order = match &setup.resume {
        Some(wanted) => {
            let resumed = resumed(&setup, wanted, &own, &cli).await?;
            order.resume(kept.insert(resumed).resume.clone())
        }
        None => order,
    };
    let live = match order.start().await {
        Ok(live) => live,
        Err(failure) => return Ok(Err(failure)),
    };
    let own_id = live.opened().session_id.clone();
    let id = setup.session_id.clone().unwrap_or_else(|| own_id.clone());
    if id != own_id {
        remember(&id, &own_id, config)?;
    }
    let append = [&setup.append, &start.append].into_iter().flatten().cloned().collect::<Vec<_>>();
    let append = Some(append.join("\n\n")).filter(|text| !text.is_empty());
    let cwd = config.cwd.clone();
    let hooks = Hooks::new(start.hooks.clone(), &id, &cwd.display().to_string());
    let bring = Bring {
        agent_id: own_id,
        cwd: cwd.clone(),
        mode: setup.mode,
        model: live.opened().model.clone(),
        by: "pollux claude".to_owned(),
        prompts: false,
    };
    let twin = Twin::new(config, bring, live.control());
    Ok(Ok(Opened { live, setup, cwd, id, append, hooks, bridge, twin, aside, kept: None }))
}

fn order(setup: &Setup, start: &Start, aside: &mut Aside) -> anyhow::Result<Gemini> {
    let mut order = Gemini::new().policy(Policy::Ask).mode(setup.mode);
    order = setup.env.iter().fold(order, |order, (name, value)| order.env(name, value));
    order = setup.include.iter().fold(order, Gemini::include);
    order = setup.servers.own.iter().cloned().fold(order, Gemini::mcp);
    if let Some(model) = &setup.model {
        order = order.model(model);
    }
    if let Some(text) = setup.system.as_ref().or(start.system_prompt.as_ref()) {
        order = aside.system_prompt(order, text)?;
    }
    Ok(order)
}

/// What the CLI must not do, or must ask about.
fn denied<'s>(setup: &'s Setup, start: &Start) -> Vec<Denied<'s>> {
    let rules = setup.deny.iter().map(|rule| policy(rule, Decision::Deny));
    let asks = setup.ask.iter().map(|rule| policy(rule, Decision::Ask));
    let mut denied: Vec<Denied<'_>> = rules.chain(asks).collect();
    // A hook that is called before a call is made has a say in all of them, not only in those that the CLI would ask about.
    let wanted = start.hooks.get("PreToolUse").is_some_and(|hooks| !hooks.is_empty());
    denied.extend(wanted.then_some(Denied { tool: "*", command: None, decision: Decision::Ask }));
    denied
}

fn policy(rule: &Rule, decision: Decision) -> Denied<'_> {
    let command = match &rule.command {
        Some(Command::Begins(words) | Command::Is(words)) => Some(words.as_str()),
        None => None,
    };
    Denied { tool: &rule.tool, command, decision }
}

/// The session to go on with, or a copy of it.
async fn resumed(setup: &Setup, wanted: &str, config: &Config, cli: &Cli) -> anyhow::Result<Kept> {
    let mut wanted = recall(wanted, config).unwrap_or_else(|| wanted.to_owned());
    if !setup.fork {
        let copy = "resume a copy with `--fork-session`";
        wanted = resume::free(&wanted, &config.cwd, config, Some(copy)).await?;
    }
    let mut resume = resume::find(&wanted, &config.cwd, config, cli)?;
    if setup.fork {
        let copy = fork(&resume.file).map_err(|error| {
            let message = format!("could not copy {}: {error}", resume.file.display());
            Trouble::failed("no_copy", message)
                .hint("check the permissions and the free disk space")
        })?;
        (resume.id, resume.file) = (copy.id, copy.file);
    }
    resume::alone(resume)
}

/// Where it is kept which session a caller's id stands for.
fn place(id: &str, config: &Config) -> Option<PathBuf> {
    let plain = id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    (plain && !id.is_empty()).then(|| config.data.join("claude").join(id))
}

fn remember(id: &str, own: &str, config: &Config) -> anyhow::Result<()> {
    let Some(path) = place(id, config) else {
        let message = format!("invalid session ID `{id}`");
        return Err(super::setup::refused(message, "use a UUID"));
    };
    let made = std::fs::create_dir_all(path.parent().unwrap_or(&path));
    made.and_then(|()| std::fs::write(&path, own)).with_context(|| {
        let message = format!("could not store the session ID `{id}`");
        let hint = format!("{} must be a writable directory", config.data.display());
        Trouble::failed("unwritable_file", message).hint(hint)
    })
}

fn recall(id: &str, config: &Config) -> Option<String> {
    std::fs::read_to_string(place(id, config)?).ok()
}
