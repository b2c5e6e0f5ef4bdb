//! Leftovers of a Pollux that has crashed: processes, terminals whose agent has ended, files of
//! agents in teams; and user files that an older Pollux did not restore.

use super::Finding;
use crate::cli::live::stop::remove;
use crate::config::Config;
use crate::daemon::instance::{Place, Unrestored};
use pollux_agent::gemini::apart;
use pollux_agent::gemini::terminal::{Found, all};
use pollux_agent::process;
use std::fs;
use std::path::PathBuf;

pub(super) async fn look(config: &Config, clean: bool) -> Vec<Finding> {
    vec![
        processes(clean),
        windows(config, clean).await,
        lent(config, clean).await,
        unrestored(config),
    ]
}

fn processes(clean: bool) -> Finding {
    const WHAT: &str = "stray processes";
    let strays = process::strays();
    if strays.is_empty() {
        return Finding::well(WHAT, "none");
    }
    let numbers: Vec<String> = strays.iter().map(ToString::to_string).collect();
    if clean {
        process::end_strays();
        return Finding::well(WHAT, format!("stopped: {}", numbers.join(", ")));
    }
    let found = format!("{} left by a crashed Pollux: {}", strays.len(), numbers.join(", "));
    Finding::warning(WHAT, found, "stop them with `pollux doctor --clean`")
}

async fn windows(config: &Config, clean: bool) -> Finding {
    const WHAT: &str = "dead terminals";
    let dead = dead(config).await;
    if dead.is_empty() {
        return Finding::well(WHAT, "none");
    }
    let names: Vec<String> = dead.iter().filter_map(|found| found.key.clone()).collect();
    if !clean {
        let found = format!("{}: {}", dead.len(), names.join(", "));
        return Finding::warning(WHAT, found, "close their windows with `pollux doctor --clean`");
    }
    for found in &dead {
        // One that has gone by itself meanwhile cannot be removed any more: those that are left count.
        let _removed = remove(found).await;
    }
    let left = self::dead(config).await.len();
    Finding::well(WHAT, format!("closed: {}", dead.len().saturating_sub(left)))
}

async fn dead(config: &Config) -> Vec<Found> {
    match all(&config.tmux).await {
        Ok(found) => found.into_iter().filter(|found| found.dead).collect(),
        // Without tmux there are none, and that is said elsewhere.
        Err(_) => Vec::new(),
    }
}

/// Roles, limits and credentials of agents that are gone. A daemon that runs takes care of them itself.
async fn lent(config: &Config, clean: bool) -> Finding {
    const WHAT: &str = "temporary agent files";
    let place = Place::new(&config.data);
    let entries = fs::read_dir(place.lent()).into_iter().flatten().flatten();
    let left: Vec<_> = entries.map(|entry| entry.path()).collect();
    // Agents in terminals outlive the daemon, and keep what they were lent.
    let live = all(&config.tmux).await.unwrap_or_default();
    if left.is_empty() {
        return Finding::well(WHAT, "none");
    }
    if !place.is_free() || live.iter().any(|found| !found.dead) {
        return Finding::well(WHAT, format!("{}, all in use", left.len()));
    }
    if !clean {
        let found = format!("{} of agents that have ended", left.len());
        let hint = "the next daemon removes them, or run `pollux doctor --clean`";
        return Finding::warning(WHAT, found, hint);
    }
    // What the CLI has made in a home that was lent is the user's.
    let brought = |path: &&PathBuf| apart::bring_back(&path.join("home")).is_ok();
    let gone = left.iter().filter(brought).filter(|path| fs::remove_dir_all(path).is_ok()).count();
    Finding::well(WHAT, format!("removed: {gone}"))
}

/// Context files and settings that an older Pollux did not restore. `--clean` leaves them alone.
fn unrestored(config: &Config) -> Finding {
    const WHAT: &str = "unrestored files";
    match Unrestored::read(&Place::new(&config.data).shared()) {
        Some(Unrestored { found, hint }) => Finding::warning(WHAT, found, hint),
        None => Finding::well(WHAT, "none"),
    }
}
