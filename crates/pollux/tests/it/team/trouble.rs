//! What goes wrong: a worker that asks, dies, never ends; a daemon that is started again in the middle.

use super::house::{NEWEST, Team};
use serde_json::json;

const SCRIPT: &str = "
    [[rule]]
    prompt = 'touch a file'
    reply = [{ call = 'run_shell_command', args = { command = 'touch made.txt', description = 'Makes a file' } }]
    [[rule]]
    tool = 'run_shell_command'
    reply = 'It is made.'
    [[rule]]
    prompt = 'never end'
    reply = ['Let me think. ', { stall = true }]
";

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_asks_is_told_of_at_once_and_its_job_goes_on_when_it_was_answered() {
    let team = Team::on(NEWEST, SCRIPT).await;
    let job = team.handoff("developer", "touch a file", json!({})).await;
    assert_eq!(job["state"], "waiting", "{job}");
    assert!(job["question"]["about"].as_str().unwrap().contains("touch made.txt"), "{job}");
    let worker = job["worker"].as_str().unwrap();
    let choice = job["question"]["options"].as_array().unwrap().iter();
    let once = { choice }.find(|option| option[0] == "proceed_once").unwrap()[0].clone();
    let answer = json!({ "type": "answer", "question_id": job["question"]["id"], "choice": once });
    assert_eq!(team.house.command(worker, "a1", answer).await.0, 200);
    let path = format!("/api/v1/jobs/{}", job["id"].as_str().unwrap());
    let job = team.wait_for("it is done", &path, |job| job["state"] == "done").await;
    assert_eq!(job["result"]["text"], "It is made.");
    assert!(team.stage.workspace().join("made.txt").exists());
    team.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_never_ends_is_kept_when_the_time_is_over_and_can_be_taken_back() {
    let team = Team::on(NEWEST, SCRIPT).await;
    let job = team.handoff("developer", "never end", json!({ "timeout": 8 })).await;
    assert_eq!(job["state"], "timed_out", "{job}");
    let worker = job["worker"].as_str().unwrap();
    let live = team.house.get(&format!("/api/v1/sessions/{worker}")).await;
    assert_ne!(live["status"], "exited", "its worker goes on");
    let path = format!("/api/v1/jobs/{}/cancel", job["id"].as_str().unwrap());
    let (status, job) = team.house.post(&path, json!({})).await;
    assert_eq!((status, &job["state"]), (200, &json!("cancelled")));
    assert_eq!(team.house.get("/api/v1/team").await["unread"], 0, "who took it back knows");
    team.status(worker, "exited").await;
    assert_eq!(team.house.post(&path, json!({})).await.0, 409, "once is enough");
    team.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_somebody_stops_takes_its_job_back() {
    let team = Team::on(NEWEST, SCRIPT).await;
    let job = team.give("handoff", "developer", "never end", json!({})).await;
    let worker = job["worker"].as_str().unwrap().to_owned();
    team.status(&worker, "working").await;
    team.stop(&worker).await;
    let job = team.told(&job).await;
    assert_eq!(job["state"], "cancelled", "{job}");
    team.close().await;
}
