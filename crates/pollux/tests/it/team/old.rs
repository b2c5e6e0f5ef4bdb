//! A version of Gemini CLI from before it knew a home of its own: agents of it are told what they are by files that others read too.

use super::house::Team;
use super::work::EXACT;
use pollux_e2e::requires;
use serde_json::json;

const VERSION: &str = "0.20.2";

async fn hands_off(driver: &str) {
    let script = format!(
        "
        [[rule]]
        prompt = 'tell the person'
        reply = [{{ call = 'send_message', args = {{ message = 'it is done' }} }}]
        [[rule]]
        tool = 'send_message'
        reply = '''{EXACT}'''
    "
    );
    let team = Team::on(VERSION, &script).await;
    team.profile("old", &format!("role: developer\ndriver: {driver}"));
    let job = team.handoff("old", "tell the person", json!({})).await;
    assert_eq!(job["state"], "done", "{driver}: {job}");
    assert_eq!(
        job["result"]["text"],
        EXACT,
        "{driver}: {:?}",
        team.stage.rehearsal().journal().results()
    );
    let letters = team.house.get("/api/v1/letters").await;
    assert_eq!(
        letters["letters"][0]["text"],
        "it is done",
        "{driver}: {letters}: {:?}",
        team.stage.rehearsal().journal().results()
    );
    let turns = team.stage.rehearsal().journal().turns();
    let told = turns.iter().any(|turn| turn.to_string().contains("You are the old."));
    assert!(told, "{driver}: it was told what it is: {:?}", turns.first());
    team.status(job["worker"].as_str().unwrap(), "exited").await;
    team.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_of_a_version_without_a_home_of_its_own_hands_off_over_acp() {
    requires!(npm);
    hands_off("acp").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_of_a_version_without_a_home_of_its_own_hands_off_headless() {
    hands_off("headless").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_of_a_version_without_a_home_of_its_own_hands_off_in_a_terminal() {
    hands_off("terminal").await;
}
