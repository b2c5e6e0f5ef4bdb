//! Headless runs of programs that behave as no CLI should: what was promised to the caller holds all the same.

use crate::home::log;
use pollux_agent::gemini::cli::{Cli, OLDEST};
use pollux_agent::gemini::stream::{Outcome, Run};
use pollux_agent::model::{Event, EventKind};
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

/// What takes longer than this on the slowest machine never ends.
const PATIENCE: Duration = Duration::from_mins(1);

/// A run of a shell script that stands in for the CLI.
fn run(directory: &Path, script: &str) -> Run {
    let path = directory.join("gemini");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let cli = Cli { path, version: Some(OLDEST) };
    Run::new("hello").cli(cli).home(directory).cwd(directory).grace(Duration::from_millis(200))
}

async fn outcome(order: Run) -> Outcome {
    let running = order.start().await.unwrap();
    tokio::time::timeout(PATIENCE, running.outcome()).await.expect("the run ends")
}

fn code(outcome: &Outcome) -> &str {
    outcome.error.as_ref().map_or("none", |error| error.code)
}

#[tokio::test]
async fn a_cli_that_prints_without_end_has_no_more_time_than_others() {
    let directory = TempDir::new().unwrap();
    let order = run(directory.path(), "exec yes 'no JSON at all'");
    let outcome = outcome(order.timeout(Duration::from_millis(300))).await;
    assert_eq!(code(&outcome), "timeout");
}

#[tokio::test]
async fn a_time_that_nobody_can_wait_for_is_no_limit() {
    let directory = TempDir::new().unwrap();
    let script = r#"echo '{"type":"result","status":"success"}'"#;
    let order = run(directory.path(), script);
    let outcome = outcome(order.timeout(Duration::MAX).grace(Duration::MAX)).await;
    assert_eq!(code(&outcome), "none");
}

#[tokio::test]
async fn the_hooks_of_a_run_are_its_own_also_where_an_agent_has_started_it() {
    let directory = TempDir::new().unwrap();
    // What we bear of the agent is taken away.
    let script = r#"echo "key ${GEMINI_CLI_POLLUX_KEY-as it was}" > key; echo '{"type":"result","status":"success"}'"#;
    let order = run(directory.path(), script);
    assert_eq!(code(&outcome(order).await), "none");
    assert_eq!(fs::read_to_string(directory.path().join("key")).unwrap(), "key \n");
}

#[tokio::test]
async fn a_run_whose_events_nobody_reads_is_killed_at_once_all_the_same() {
    let directory = TempDir::new().unwrap();
    let mark = directory.path().join("runs");
    let script = format!("echo $$ > {}; exec yes 'no JSON at all'", mark.display());
    let order = run(directory.path(), &script);
    let running = order.start().await.unwrap();
    let number = wait_for("the number of the process", || {
        fs::read_to_string(&mark).ok().map(|text| text.trim().to_owned()).filter(|n| !n.is_empty())
    })
    .await;
    // Nobody takes an event, so that there is no room for more, nor for more lines.
    let is_full = || state(&number).starts_with('S').then_some(());
    wait_for("the pipe to be full", is_full).await;
    running.stop().kill();
    wait_for("the end of the process", || is_dead(&number).then_some(())).await;
    let outcome = tokio::time::timeout(PATIENCE, running.outcome()).await.expect("the run ends");
    assert_eq!(code(&outcome), "cancelled");
}

/// What a process does, in the words of the system: it sleeps, or has ended and was not taken away yet.
fn state(process: &str) -> String {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").map(|(_, rest)| rest.to_owned()).unwrap_or_default()
}

fn is_dead(process: &str) -> bool {
    let state = state(process);
    state.is_empty() || state.starts_with('Z')
}

async fn wait_for<T>(what: &str, mut is: impl FnMut() -> Option<T>) -> T {
    let there = async {
        loop {
            if let Some(value) = is() {
                return value;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, there).await.unwrap_or_else(|_| panic!("waited for {what}"))
}

#[tokio::test]
async fn a_cli_that_hangs_and_ignores_signals_is_killed_when_it_is_told_to_be() {
    let directory = TempDir::new().unwrap();
    let script = "trap '' INT TERM; while :; do sleep 1; done";
    let order = run(directory.path(), script).grace(PATIENCE);
    let running = order.start().await.unwrap();
    running.stop().kill();
    let outcome = tokio::time::timeout(PATIENCE / 2, running.outcome()).await.expect("at once");
    assert_eq!(code(&outcome), "cancelled");
}

#[tokio::test]
async fn a_session_file_that_grew_by_megabytes_at_the_end_is_told_to_its_end() {
    let directory = TempDir::new().unwrap();
    let chats = directory.path().join(".gemini/tmp/p/chats");
    fs::create_dir_all(&chats).unwrap();
    let id = "1f9cc522-0000-4000-8000-000000000000";
    let mut rows = vec![json!({ "sessionId": id })];
    for at in 0..6 {
        let (text, id) = ("x".repeat(500 << 10), format!("m{at}"));
        rows.push(json!({ "id": id, "type": "gemini", "content": text, "model": "gemini-x" }));
    }
    rows.push(json!({ "id": "last", "type": "gemini", "content": "Done.", "model": "gemini-x" }));
    let whole = directory.path().join("whole.jsonl");
    fs::write(&whole, log(&rows)).unwrap();
    // The file comes with the end of the run: one look has to be enough.
    let file = chats.join("session-2026-11-16T10-00-1f9cc522.jsonl");
    let script = format!(
        "echo '{{\"type\":\"init\",\"session_id\":\"{id}\"}}'\nmv {} {}\necho '{{\"type\":\"result\",\"status\":\"success\"}}'",
        whole.display(),
        file.display()
    );
    let mut running = run(directory.path(), &script).start().await.unwrap();
    let mut recorded = Vec::new();
    while let Some(event) = running.next().await {
        recorded.extend(id_of(&event));
    }
    assert_eq!(recorded, ["m0", "m1", "m2", "m3", "m4", "m5", "last"]);
}

fn id_of(event: &Event<'_>) -> Option<String> {
    match &event.kind {
        EventKind::MessageRecorded { message, .. } => Some(message.id.to_string()),
        _ => None,
    }
}
