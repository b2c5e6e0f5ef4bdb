//! A worker that does not simply come to its end: it asks, never ends, or somebody stops it.

use super::house::{NEWEST, Team};
use pollux_e2e::requires;
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
    [[rule]]
    prompt = 'ask me'
    [[rule.reply]]
    call = 'ask_user'
    [[rule.reply.args.questions]]
    question = 'Which database should we use?'
    header = 'Database'
    type = 'choice'
    multiSelect = false
    options = [
      { label = 'SQLite', description = 'A local file' },
      { label = 'Postgres', description = 'A server' },
    ]
    [[rule]]
    tool = 'ask_user'
    reply = 'Noted.'
";

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_asks_is_told_of_at_once_and_its_job_goes_on_when_it_was_answered() {
    requires!(npm);
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

/// Its tools are limited, and what they allow must not answer for the person.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_of_a_supervisor_in_a_terminal_is_a_persons_to_answer() {
    requires!(npm, tmux);
    let team = Team::on(NEWEST, SCRIPT).await;
    let job = team.handoff("supervisor", "ask me", json!({ "driver": "terminal" })).await;
    assert_eq!(job["state"], "waiting", "{job}");
    assert!(job["question"]["about"].as_str().unwrap().contains("Which database"), "{job}");
    let choice = job["question"]["options"].as_array().unwrap().iter();
    let choice =
        { choice }.find(|it| it[1].as_str().unwrap().contains("Postgres")).unwrap()[0].clone();
    let answer =
        json!({ "type": "answer", "question_id": job["question"]["id"], "choice": choice });
    assert_eq!(team.house.command(job["worker"].as_str().unwrap(), "a1", answer).await.0, 200);
    let path = format!("/api/v1/jobs/{}", job["id"].as_str().unwrap());
    let job = team.wait_for("it is done", &path, |job| job["state"] == "done").await;
    assert_eq!(job["result"]["text"], "Noted.");
    let heard = team.stage.rehearsal().journal().results();
    let asked = heard.iter().find(|(tool, _)| tool == "ask_user").unwrap();
    assert!(format!("{asked:?}").contains("Postgres"), "{asked:?}");
    team.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_never_ends_is_kept_when_the_time_is_over_and_can_be_taken_back() {
    requires!(npm);
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
    requires!(npm);
    let team = Team::on(NEWEST, SCRIPT).await;
    let job = team.give("handoff", "developer", "never end", json!({})).await;
    let worker = job["worker"].as_str().unwrap().to_owned();
    team.status(&worker, "working").await;
    team.stop(&worker).await;
    let job = team.told(&job).await;
    assert_eq!(job["state"], "cancelled", "{job}");
    team.close().await;
}
