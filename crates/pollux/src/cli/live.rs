//! Orders for agents: one file for each command. Where a daemon runs, they go through it. An agent in a terminal needs none:
//! these commands find each other's terminals on the tmux server, where each pane bears the name of its session.

pub(super) mod adopt;
pub(super) mod answer;
pub(super) mod attach;
pub(super) mod new;
pub(super) mod orders;
pub(super) mod screen;
pub(super) mod send;
pub(super) mod stop;
pub(super) mod tell;

use crate::api::{Adopt, Driver, Summary};
use crate::cli::session::change;
use crate::client::Client;
use crate::config::Config;
use crate::trouble::{Kind, Trouble};
use pollux_agent::gemini::terminal::{Found, Live};
use pollux_agent::model::{Event, Failure, Phase};
use pollux_agent::session::{Done, Reply};
use std::process::ExitCode;

/// Runs a command to its end.
pub(super) fn run(
    command: impl Future<Output = anyhow::Result<ExitCode>>,
) -> anyhow::Result<ExitCode> {
    super::session::runtime()?.block_on(command)
}

/// All agents in terminals: ours, and those that were adopted.
async fn known(config: &Config) -> anyhow::Result<Vec<Found>> {
    config.servers().all().await.map_err(trouble)
}

/// The daemon, which all orders go through where one runs: it has the rules, the log, and who did what. Where none runs,
/// an agent in a terminal is reached directly, and for all others a daemon is started. `only` are the flags that only an
/// agent in a terminal can be given, and only directly.
async fn daemon(
    id: &str,
    only: &[(&str, bool)],
    config: &Config,
) -> anyhow::Result<Option<Client>> {
    let directly = only.iter().any(|(_, given)| *given);
    let client = Client::running(config).await?;
    let session = match &client {
        Some(client) => client.session(id).await.ok(),
        None => None,
    };
    let driven = session.as_ref().and_then(|session| session.driver);
    if driven.is_some() && !(directly && driven == Some(Driver::Terminal)) {
        only_in_terminals(only)?;
        return Ok(client);
    }
    let known = known(config).await.unwrap_or_default();
    let is = |found: &&Found| {
        found.is_called(id) || session.as_ref().is_some_and(|session| is_of(found, session))
    };
    let Some(found) = known.iter().find(is) else {
        only_in_terminals(only)?;
        return match client {
            Some(client) => Ok(Some(client)),
            None => Client::connect(config).await.map(Some),
        };
    };
    if let Some(client) = client.filter(|_| !directly) {
        tell(&client, found).await?;
        return Ok(Some(client));
    }
    Ok(None)
}

/// Tells the daemon of an agent in a terminal.
async fn tell(client: &Client, found: &Found) -> anyhow::Result<Summary> {
    let adopt = Adopt { pane: Some(found.pane.clone()), socket: Some(found.socket.to_string()) };
    client.post("/api/v1/sessions/adopt", &adopt).await
}

/// Refuses what only an agent in a terminal can be given.
fn only_in_terminals(flags: &[(&str, bool)]) -> anyhow::Result<()> {
    let Some((flag, _)) = flags.iter().find(|(_, given)| *given) else { return Ok(()) };
    let message = format!("`{flag}` only works with terminal sessions");
    Err(Trouble::refused("only_in_terminals", message).hint(format!("remove `{flag}`")).into())
}

/// Whether an agent in a terminal is that of a session of the daemon.
fn is_of(found: &Found, session: &Summary) -> bool {
    let own = session.agent_id.as_deref().is_some_and(|id| found.is_called(id));
    own || found.is_called(&session.id)
}

/// How many sessions of the daemon are looked through for the latest.
const LATEST_OF: usize = 1000;

/// The latest of the agents that are in terminals and live: the one that something was heard of last, which only a daemon
/// knows; without one, the one that was begun last.
async fn latest(mut known: Vec<Found>, config: &Config) -> anyhow::Result<Option<Found>> {
    known.retain(|found| !found.dead);
    if let Some(client) = Client::running(config).await? {
        let sessions = client.sessions(LATEST_OF).await?;
        let heard = |session: &Summary| known.iter().position(|found| is_of(found, session));
        if let Some(latest) = sessions.iter().find_map(heard) {
            return Ok(Some(known.swap_remove(latest)));
        }
    }
    // tmux counts its panes; those of the user's own server were begun by somebody else.
    let begun = |found: &Found| {
        let number = found.pane.trim_start_matches('%').parse::<u64>().unwrap_or(0);
        (found.socket == config.tmux, number)
    };
    Ok(known.into_iter().max_by_key(begun))
}

/// The agent whose id begins so, or the latest.
async fn find(id: &str, config: &Config) -> anyhow::Result<Found> {
    let known = known(config).await?;
    if id == "latest" {
        return latest(known, config).await?.ok_or_else(|| {
            let hint = "start one with `pollux new`, or adopt a Gemini CLI that runs in tmux: `pollux adopt`";
            Trouble::refused("unknown_session", "no terminal sessions are running").hint(hint).into()
        });
    }
    let names = known.iter().filter_map(|found| found.key.clone()).collect::<Vec<_>>();
    let mut called: Vec<Found> = known.into_iter().filter(|found| found.is_called(id)).collect();
    let hint = match names.as_slice() {
        [] => {
            "start one with `pollux new`, or adopt a Gemini CLI that runs in tmux: `pollux adopt`"
                .to_owned()
        }
        names => format!("terminal sessions: {}", names.join(", ")),
    };
    match called.len() {
        1 => Ok(called.remove(0)),
        0 => {
            let message = format!("no terminal session matches `{id}`");
            Err(Trouble::refused("unknown_session", message).hint(hint).into())
        }
        _ => {
            let message = format!("`{id}` matches more than one terminal session");
            let hint = format!("use a longer prefix; {hint}");
            Err(Trouble::refused("ambiguous_session", message).hint(hint).into())
        }
    }
}

/// The agent whose id begins so, under watch.
async fn join(id: &str, config: &Config) -> anyhow::Result<Live> {
    let found = find(id, config).await?;
    let home = config.gemini.parent().unwrap_or(&config.gemini);
    let mut live = found.watch(home).await.map_err(trouble)?;
    // What it does is known when its screen was read.
    let seen = tokio::time::timeout(std::time::Duration::from_secs(2), live.next()).await;
    drop(seen);
    Ok(live)
}

/// Carries out an order, while what happens is passed over.
async fn order(
    live: &mut Live,
    order: impl Future<Output = Result<(), Failure>>,
    hear: impl FnMut(Event<'static>),
) -> anyhow::Result<()> {
    live.while_hearing(order, hear).await.map_err(trouble)
}

/// Says that an order was carried out, to those who want to be told in JSON.
fn done(json: bool) -> anyhow::Result<()> {
    if json { change::told(&Reply::Done(Done::Sent), true) } else { Ok(()) }
}

/// A failure of the library as an error of the program. What the screen turns down is refused too.
fn trouble(failure: Failure) -> anyhow::Error {
    let by_screen = failure.phase == Phase::Request && !failure.code.starts_with("tmux");
    let trouble = Trouble::from(failure);
    let kind = if by_screen { Kind::Refused } else { trouble.kind };
    Trouble { kind, ..trouble }.into()
}
