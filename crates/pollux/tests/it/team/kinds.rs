//! The four kinds of work (handoff, assign, messages, a supervisor) in every pinned version, over ACP and in terminals, where a
//! person can watch; and headless.

use super::house::{NEWEST, Team};
use super::work::{EXACT, exact_script};
use pollux_e2e::{Cli, requires};
use serde_json::{Value, json};

const MORE: &str = "
    [[rule]]
    prompt = 'is done]'
    reply = 'Thank you for the result.'
    [[rule]]
    prompt = 'spread the work'
    reply = [{ call = 'assign', args = { agent_profile = 'watched', message = 'say the words' } }]
    [[rule]]
    tool = 'assign'
    reply = 'It works.'
    [[rule]]
    prompt = 'ask your lead'
    reply = [{ call = 'send_message', args = { message = 'which colour?' } }]
    [[rule]]
    tool = 'send_message'
    reply = 'I have written.'
    [[rule]]
    prompt = 'it is blue'
    reply = 'Blue it is.'
";

/// A team whose profiles `watched` and `lead` are driven so.
async fn team(version: &str, driver: &str) -> Team {
    let script = format!("{}{MORE}", exact_script("watched"));
    let team = Team::on(version, &script).await;
    for (name, role) in [("watched", "developer"), ("lead", "supervisor")] {
        team.profile(name, &format!("role: {role}\ndriver: {driver}"));
    }
    team
}

async fn is_gone(team: &Team, session: &str) {
    team.stop(session).await;
    team.status(session, "exited").await;
}

/// The four kinds: handoff, assign, messages, a supervisor.
async fn four_kinds(version: &str, driver: &str) {
    let team = team(version, driver).await;
    let job = team.handoff("watched", "say the words", json!({})).await;
    assert_eq!(job["state"], "done", "{version}: {job}");
    assert_eq!(job["result"]["text"], EXACT, "{version}");
    let worker = job["worker"].as_str().unwrap();
    let summary = team.status(worker, "exited").await;
    assert_eq!(summary["driver"], driver);
    let members = team.house.get("/api/v1/team").await;
    let tokens = (&members["members"][0]["tokens"], &summary["tokens"]);
    assert_eq!(tokens, (&job["result"]["tokens"], &job["result"]["tokens"]), "{version}: {job}");

    let lead = team.launch("lead", Some("bring it home")).await;
    let handed = |all: &Value| {
        let jobs = all["jobs"].as_array().unwrap();
        jobs.iter().any(|job| job["caller"] == *lead && job["state"] == "done")
    };
    let jobs = team.wait_for("the lead has its answer", "/api/v1/jobs", handed).await;
    assert_eq!(jobs["jobs"][0]["result"]["text"], EXACT, "{version}");
    team.status(&lead, "idle").await;
    let said = team.said(&lead).await;
    assert!(said.last().unwrap().1.starts_with("It came back:"), "{version}: {said:?}");
    let told = team.stage.rehearsal().journal().results();
    let came = told.iter().find(|(tool, _)| tool.ends_with("handoff")).unwrap();
    assert!(came.1.contains(EXACT), "{version}: {}", came.1);
    let turns = team.stage.rehearsal().journal().turns();
    let told = |turn: &Value| turn["systemInstruction"].to_string().contains("You are the lead.");
    assert!(turns.iter().any(told), "{version}: it was told what it is");

    let send = json!({ "type": "prompt", "text": "spread the work" });
    assert_eq!(team.house.command(&lead, "spread", send).await.0, 200);
    let path = format!("/api/v1/letters?of={lead}");
    let delivered = |all: &Value| {
        let letters = all["letters"].as_array().unwrap();
        letters.iter().any(|letter| letter["state"] == "delivered" && letter["to"] == *lead)
    };
    let all = team.wait_for("the answer is delivered", &path, delivered).await;
    assert!(all["letters"][0]["text"].as_str().unwrap().ends_with(EXACT), "{version}: {all}");
    is_gone(&team, &lead).await;

    let agent = team.launch("watched", Some("ask your lead")).await;
    let asks = |all: &Value| all["letters"][0]["text"] == "which colour?";
    team.wait_for("a letter to the person", "/api/v1/letters", asks).await;
    team.write(&agent, "it is blue").await;
    team.status(&agent, "idle").await;
    let said = team.said(&agent).await;
    let once = said.iter().filter(|(_, text)| text == "[Message from the person]\n\nit is blue");
    assert_eq!(once.count(), 1, "{version}: {said:?}");
    is_gone(&team, &agent).await;
    team.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_four_kinds_of_work_pass_over_acp_in_the_oldest_version() {
    requires!(npm);
    four_kinds(&Cli::versions()[0], "acp").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_four_kinds_of_work_pass_over_acp_in_the_middle_version() {
    requires!(npm);
    four_kinds(&Cli::versions()[1], "acp").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_four_kinds_of_work_pass_over_acp_in_the_newest_version() {
    requires!(npm);
    four_kinds(NEWEST, "acp").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_four_kinds_of_work_pass_in_terminals_in_the_oldest_version() {
    requires!(npm);
    four_kinds(&Cli::versions()[0], "terminal").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_four_kinds_of_work_pass_in_terminals_in_the_middle_version() {
    requires!(npm, tmux);
    four_kinds(&Cli::versions()[1], "terminal").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_four_kinds_of_work_pass_in_terminals_in_the_newest_version() {
    requires!(npm, tmux);
    four_kinds(NEWEST, "terminal").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_headless_lead_hands_off_to_a_headless_worker() {
    requires!(npm);
    let team = team(NEWEST, "headless").await;
    let lead = team.launch("lead", Some("bring it home")).await;
    let done = |all: &Value| all["jobs"][0]["state"] == "done";
    let jobs = team.wait_for("the lead has its answer", "/api/v1/jobs", done).await;
    assert_eq!(jobs["jobs"][0]["result"]["text"], EXACT);
    team.status(&lead, "idle").await;
    let said = team.said(&lead).await;
    assert!(said.last().unwrap().1.starts_with("It came back:"), "{said:?}");
    is_gone(&team, &lead).await;
    team.close().await;
}
