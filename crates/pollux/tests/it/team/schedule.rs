//! Schedules: given when they are due, once, and only where their condition is met.

use super::house::{NEWEST, Team};
use pollux_e2e::requires;
use serde_json::{Value, json};

const SCRIPT: &str = "
    [[rule]]
    prompt = 'two lines'
    reply = 'I have seen them.'
";

fn schedule(team: &Team, name: &str, cron: &str, condition: &[&str]) -> Value {
    json!({ "name": name, "cron": cron, "profile": "reviewer", "cwd": team.stage.workspace(),
        "prompt": "Look at {{output}} on {{date}}", "condition": condition })
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_due_is_given_once_with_what_its_condition_printed() {
    requires!(npm);
    let team = Team::on(NEWEST, SCRIPT).await;
    let every = schedule(&team, "often", "* * * * * *", &["echo", "two lines"]);
    let (status, made) = team.house.post("/api/v1/schedules", every).await;
    assert!(status == 200 && made["next_at"].is_string(), "{made}");
    let runs = "/api/v1/schedule-runs?of=often";
    let given = |all: &Value| {
        let runs = all["runs"].as_array().unwrap();
        runs.iter().any(|run| run["outcome"] == "given")
    };
    let all = team.wait_for("it was given", runs, given).await;
    // What comes while the first goes on is left out, and says so.
    let skipped = |all: &Value| all["runs"][0]["outcome"] == "skipped";
    let skips = team.wait_for("the next is left out", runs, skipped).await;
    assert_eq!(skips["runs"][0]["why"], "the previous job is still running");
    let gone = team.house.request(reqwest::Method::DELETE, "/api/v1/schedules/often");
    assert!(gone.json(&json!({})).send().await.unwrap().status().is_success());
    let run = all["runs"].as_array().unwrap().iter().find(|run| run["job"].is_string()).unwrap();
    let path = format!("/api/v1/jobs/{}", run["job"].as_str().unwrap());
    let job = team.wait_for("it is done", &path, |job| job["state"] == "done").await;
    assert!(job["prompt"].as_str().unwrap().starts_with("Look at two lines on 20"), "{job}");
    assert_eq!(job["result"]["text"], "I have seen them.");
    team.wait_for("the answer is in the inbox", "/api/v1/letters", |all| {
        all["letters"][0]["text"].as_str().is_some_and(|text| text.contains("I have seen them."))
    })
    .await;
    team.status(job["worker"].as_str().unwrap(), "exited").await;
    team.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_condition_that_is_not_met_gives_nothing_and_wrong_times_are_refused() {
    requires!(npm);
    let team = Team::on(NEWEST, SCRIPT).await;
    let never = schedule(&team, "rare", "0 0 1 1 *", &["false"]);
    assert_eq!(team.house.post("/api/v1/schedules", never).await.0, 200);
    let (_, run) = team.house.post("/api/v1/schedules/rare/run", json!({})).await;
    assert_eq!(run["outcome"], "skipped", "{run}");
    assert!(run["why"].as_str().unwrap().contains("`false` failed with"), "{run}");
    assert!(team.jobs().await.is_empty());
    for cron in ["soon", "0 0 31 2 *"] {
        let wrong = schedule(&team, "wrong", cron, &[]);
        let (status, refused) = team.house.post("/api/v1/schedules", wrong).await;
        assert_eq!((status, &refused["code"]), (409, &json!("wrong_time")), "{refused}");
    }
    let mut command = schedule(&team, "wrong", "0 0 1 1 *", &[]);
    command["prompt"] = json!("/quit");
    let (status, refused) = team.house.post("/api/v1/schedules", command).await;
    assert_eq!((status, &refused["code"]), (409, &json!("not_a_task")), "{refused}");
    let team = team.restart().await;
    let all = team.house.get("/api/v1/schedules").await;
    assert_eq!(all["schedules"][0]["name"], "rare", "it is there after a restart");
    team.close().await;
}
