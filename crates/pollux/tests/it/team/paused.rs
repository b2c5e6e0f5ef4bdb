//! A job that has paused at its budget before the daemon is killed: somebody goes on with it, and it comes to its end.

use super::house::{LONGEST, NEWEST};
use super::work::EXACT;
use crate::daemon::recovery::{Ground, Served};
use pollux_e2e::{Cli, Stage, requires, wait_for};
use serde_json::Value;

/// In one job nothing was done when it pauses: the newest version takes its prompt back. In the other a tool was called.
const JOBS: [(&str, &str, &str); 2] = [
    ("think for long", "--budget=3s", "--budget=2m"),
    ("look around", "--tokens=50000", "--tokens=90000"),
];

fn script() -> String {
    format!(
        "
        [[rule]]
        prompt = 'Continue this work:'
        reply = '''{EXACT}'''
        [[rule]]
        prompt = 'think for long'
        reply = ['Let me think. ', {{ stall = true }}]
        [[rule]]
        prompt = 'look around'
        reply = [{{ call = 'list_directory', args = {{ dir_path = '.' }} }}]
        [[rule]]
        tool = 'list_directory'
        usage = {{ prompt = 50_000, answer = 100 }}
        reply = [{{ call = 'glob', args = {{ pattern = '*.rs' }} }}]
        [[rule]]
        tool = 'glob'
        reply = ['There is more to do. ', {{ stall = true }}]
        "
    )
}

/// Gives both jobs, and waits until they have paused and their workers are at rest. Gives their ids.
async fn paused(ground: &Ground, daemon: &Served, driver: &str) -> Vec<String> {
    let mut jobs = Vec::new();
    for (task, budget, _) in JOBS {
        let args = ["assign", "developer", task, budget, "--driver", driver];
        let (code, id, why) = ground.pollux(&args);
        assert_eq!(code, Some(0), "{why}");
        jobs.push(id.trim().to_owned());
    }
    for id in &jobs {
        let (code, said, why) = ground.pollux(&["jobs", "show", id, "--wait"]);
        assert_eq!((code, said.as_str()), (Some(10), ""), "{why}");
        let job = daemon.get(&format!("/api/v1/jobs/{id}")).await;
        let worker = format!("/api/v1/sessions/{}", job["worker"].as_str().unwrap());
        wait_for("its worker is at rest", LONGEST, async || {
            let summary = daemon.get(&worker).await;
            if summary["status"] == "idle" { Ok(()) } else { Err(summary) }
        })
        .await;
    }
    jobs
}

async fn goes_on_after_a_kill(driver: &str) {
    let cli = Cli::install(NEWEST).unwrap();
    let ground = Ground::new(Stage::new(&cli, script().parse().unwrap()).await.unwrap());
    let daemon = ground.start().await;
    let jobs = paused(&ground, &daemon, driver).await;
    drop(daemon);
    let daemon = ground.start().await;
    for (id, (_, _, more)) in jobs.iter().zip(JOBS) {
        let (code, _, why) = ground.pollux(&["jobs", "continue", id, more]);
        assert!(code == Some(0) && why.contains(", which was paused"), "{why}");
    }
    for id in &jobs {
        let (code, said, why) = ground.pollux(&["jobs", "show", id, "--wait"]);
        assert_eq!((code, said), (Some(0), format!("{EXACT}\n")), "{why}");
        let job: Value = daemon.get(&format!("/api/v1/jobs/{id}")).await;
        assert_eq!(job["result"]["text"], EXACT);
    }
    let tools = ground.stage.rehearsal().journal().results();
    assert!(tools.iter().any(|(tool, _)| tool == "list_directory"), "{tools:?}");
    let (code, ended, why) = ground.pollux(&["shutdown", "--all"]);
    assert_eq!((code, ended.lines().count()), (Some(0), 2), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_paused_before_a_kill_is_gone_on_with_over_acp() {
    requires!(npm, tmux);
    goes_on_after_a_kill("acp").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_paused_before_a_kill_is_gone_on_with_in_a_terminal() {
    requires!(npm, tmux);
    goes_on_after_a_kill("terminal").await;
}
