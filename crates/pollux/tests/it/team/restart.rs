//! The daemon is started again while its workers work: their jobs go on.

use super::house::{NEWEST, Team};
use pollux_e2e::requires;
use serde_json::{Value, json};

const SCRIPT: &str = "
    [[rule]]
    prompt = 'Continue this work: never end'
    reply = 'Done after all.'
    [[rule]]
    prompt = 'never end'
    reply = ['Let me think. ', { stall = true }]
    [[rule]]
    prompt = 'take your time'
    reply = ['One. ', { pause = '6s' }, 'Two.']
";

/// Waits until the model was asked: from then on there is a turn to be cut.
async fn asked(team: &Team, worker: &str, prompt: &str) {
    team.status(worker, "working").await;
    pollux_e2e::wait_until("the model is asked", super::house::LONGEST, || {
        let prompts = team.stage.rehearsal().journal().prompts();
        prompts.iter().any(|asked| asked.contains(prompt))
    })
    .await;
}

async fn done(team: &Team, job: &Value) -> Value {
    let path = format!("/api/v1/jobs/{}", job["id"].as_str().unwrap());
    let ended =
        |job: &Value| matches!(job["state"].as_str().unwrap(), "done" | "failed" | "cancelled");
    team.wait_for("it has ended", &path, ended).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_in_whose_middle_the_daemon_is_started_again_goes_on() {
    requires!(npm);
    // In this version a session need not wait for the next minute to be gone on with.
    let team = Team::on("0.34.0", SCRIPT).await;
    let job = team.give("assign", "developer", "never end", json!({})).await;
    let worker = job["worker"].as_str().unwrap().to_owned();
    asked(&team, &worker, "never end").await;
    let team = team.restart().await;
    let job = done(&team, &job).await;
    assert_eq!(
        (&job["state"], &job["result"]["text"]),
        (&json!("done"), &json!("Done after all.")),
        "{job}"
    );
    let inbox = team.house.get("/api/v1/letters").await;
    assert_eq!(inbox["letters"].as_array().unwrap().len(), 1, "{inbox}");
    let said = team.said(&worker).await;
    let first = said.iter().filter(|(role, text)| role == "user" && text == "never end");
    assert_eq!(first.count(), 1, "it was asked once: {said:?}");
    team.stop(&worker).await;
    team.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_has_paused_stays_so_when_the_daemon_is_started_again_and_can_be_gone_on_with() {
    requires!(npm);
    let team = Team::on("0.34.0", SCRIPT).await;
    let budget = json!({ "budget": { "seconds": 3 } });
    let job = team.give("assign", "developer", "never end", budget).await;
    let job = team.told(&job).await;
    assert_eq!(job["state"], "paused", "{job}");
    let team = team.restart().await;
    let path = format!("/api/v1/jobs/{}", job["id"].as_str().unwrap());
    team.status(job["worker"].as_str().unwrap(), "exited").await;
    assert_eq!(team.house.get(&path).await["state"], "paused");
    let (status, went) =
        team.house.post(&format!("{path}/continue"), json!({ "seconds": 60 })).await;
    assert_eq!(status, 200, "{went}");
    let job = done(&team, &job).await;
    assert_eq!(job["result"]["text"], "Done after all.", "{job}");
    team.stop(job["worker"].as_str().unwrap()).await;
    team.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_cannot_be_gone_on_with_fails_its_job_with_the_reason() {
    requires!(npm);
    let team = Team::on("0.34.0", SCRIPT).await;
    let job = team.give("assign", "developer", "never end", json!({})).await;
    let worker = job["worker"].as_str().unwrap().to_owned();
    asked(&team, &worker, "never end").await;
    let workspace = team.stage.workspace().to_path_buf();
    let moved = workspace.with_extension("moved");
    let team = team.restart_after(|| std::fs::rename(&workspace, &moved).unwrap()).await;
    let job = done(&team, &job).await;
    let why = job["why"].as_str().unwrap_or_default();
    assert!(job["state"] == "failed" && why.contains("cannot use the working directory"), "{job}");
    std::fs::rename(&moved, &workspace).unwrap();
    team.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_in_a_terminal_outlives_the_daemon_and_its_job_ends_well() {
    requires!(npm, tmux);
    let team = Team::on(NEWEST, SCRIPT).await;
    let driver = json!({ "driver": "terminal" });
    let job = team.give("assign", "developer", "take your time", driver).await;
    let worker = job["worker"].as_str().unwrap().to_owned();
    asked(&team, &worker, "take your time").await;
    let team = team.restart().await;
    let job = done(&team, &job).await;
    assert_eq!(
        (&job["state"], &job["result"]["text"]),
        (&json!("done"), &json!("One. Two.")),
        "{job}"
    );
    let said = team.said(&worker).await;
    assert_eq!(said.iter().filter(|(role, _)| role == "user").count(), 1, "{said:?}");
    team.stop(&worker).await;
    team.status(&worker, "exited").await;
    team.close().await;
}
