//! What a Pollux that is gone has left: processes, terminals whose agent has ended, sessions in danger.

use super::Finding;
use crate::config::Config;
use pollux_agent::gemini::terminal::all;
use pollux_agent::process;
use pollux_agent::terminal::{Pane, Server};

pub(super) async fn look(config: &Config, clean: bool) -> Vec<Finding> {
    vec![processes(clean), windows(config, clean).await]
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
        return Finding::well(WHAT, format!("ended: {}", numbers.join(", ")));
    }
    let found = format!("{} of a Pollux that is gone: {}", strays.len(), numbers.join(", "));
    Finding::warning(WHAT, found, "`pollux doctor --clean` ends them")
}

async fn windows(config: &Config, clean: bool) -> Finding {
    const WHAT: &str = "dead terminals";
    let dead: Vec<_> = match all(&config.tmux).await {
        Ok(found) => found.into_iter().filter(|found| found.dead).collect(),
        // Without tmux there are none, and that is said elsewhere.
        Err(_) => Vec::new(),
    };
    if dead.is_empty() {
        return Finding::well(WHAT, "none");
    }
    let names: Vec<String> = dead.iter().filter_map(|found| found.key.clone()).collect();
    if !clean {
        let found = format!("{}: {}", dead.len(), names.join(", "));
        return Finding::warning(WHAT, found, "`pollux doctor --clean` closes their windows");
    }
    let mut closed = 0;
    for found in &dead {
        let Ok(server) = Server::join(&found.socket, &found.pane).await else { continue };
        if let Ok(pane) = Pane::find(&server, &found.pane).await {
            closed += usize::from(pane.kill().await.is_ok());
        }
    }
    Finding::well(WHAT, format!("closed: {closed}"))
}
