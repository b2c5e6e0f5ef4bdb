//! Agents in terminals are told to end, and the daemon right after them: nobody is left.

use super::house::{LONGEST, NEWEST};
use crate::daemon::recovery::Ground;
use pollux_e2e::{Cli, Stage, requires, wait_for};
use serde_json::json;
use std::fs;

const SCRIPT: &str = "
    [[rule]]
    prompt = 'never end'
    reply = ['Let me think. ', { stall = true }]
";

/// The processes of the CLI in this home.
fn agents(ground: &Ground) -> Vec<String> {
    let home = ground.stage.home().path().display().to_string();
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let told = |path: &std::path::PathBuf, file: &str| {
        String::from_utf8_lossy(&fs::read(path.join(file)).unwrap_or_default()).into_owned()
    };
    let lines = processes.filter(|path| told(path, "environ").contains(&home));
    let lines = lines.map(|path| told(&path, "cmdline").replace('\0', " "));
    lines.filter(|line| line.contains("gemini")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_in_terminals_that_were_told_to_end_do_not_outlive_a_daemon_that_ends_at_once() {
    requires!(npm, tmux);
    let cli = Cli::install(NEWEST).unwrap();
    let ground = Ground::new(Stage::new(&cli, SCRIPT.parse().unwrap()).await.unwrap());
    let daemon = ground.start().await;
    let launch = |prompt: &[&str]| {
        let args = [&["launch", "developer"], prompt, &["--driver", "terminal"]].concat();
        let (code, id, why) = ground.pollux(&args);
        assert_eq!(code, Some(0), "{why}");
        id.trim().to_owned()
    };
    let works = launch(&["never end"]);
    wait_for("it works", LONGEST, async || {
        let summary = daemon.get(&format!("/api/v1/sessions/{works}")).await;
        if summary["status"] == "working" { Ok(()) } else { Err(summary) }
    })
    .await;
    // One is in the middle of a turn, one is being started.
    for agent in [works, launch(&[])] {
        let stopped = daemon.post(&format!("/api/v1/team/{agent}/stop"), &json!({})).await.unwrap();
        assert_eq!(stopped.as_array().map(Vec::len), Some(1), "{stopped}");
    }
    let (code, _, why) = ground.pollux(&["serve", "down"]);
    assert_eq!(code, Some(0), "{why}");
    let panes = ground.tmux(&["list-panes", "-a", "-F", "#{pane_current_command}"]);
    assert!(!panes.contains("node"), "{panes}");
    wait_for("the agents are gone", LONGEST, async || {
        let left = agents(&ground);
        if left.is_empty() { Ok(()) } else { Err(left) }
    })
    .await;
}
