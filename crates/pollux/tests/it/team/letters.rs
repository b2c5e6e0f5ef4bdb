//! Letters: the result of an assigned job, messages both ways, receivers that are gone.

use super::house::{NEWEST, Team};
use pollux_e2e::requires;
use serde_json::{Value, json};

const ASSIGN: &str = "
    [[rule]]
    prompt = 'is done]'
    reply = 'Thank you for the result.'
    [[rule]]
    prompt = 'count to three'
    reply = 'One, two, three.'
    [[rule]]
    prompt = 'spread the work'
    reply = [
      { call = 'assign', args = { agent_profile = 'developer', message = 'count to three, please: A' } },
      { call = 'assign', args = { agent_profile = 'developer', message = 'count to three, please: B' } },
      { call = 'assign', args = { agent_profile = 'developer', message = 'count to three, please: C' } },
    ]
    [[rule]]
    tool = 'assign'
    reply = 'All three work.'
";

#[tokio::test(flavor = "multi_thread")]
async fn a_supervisor_with_three_workers_gets_each_result_once() {
    requires!(npm);
    let team = Team::on(NEWEST, ASSIGN).await;
    let supervisor = team.launch("supervisor", Some("spread the work")).await;
    let done = |all: &Value| {
        let letters = all["letters"].as_array().unwrap();
        letters.len() == 3 && letters.iter().all(|letter| letter["state"] == "delivered")
    };
    let all = team.wait_for("three letters", "/api/v1/letters?all=true", done).await;
    for letter in all["letters"].as_array().unwrap() {
        assert!(letter["text"].as_str().unwrap().ends_with("One, two, three."), "{letter}");
    }
    team.status(&supervisor, "idle").await;
    let said = team.said(&supervisor).await;
    let told = said.iter().filter(|(role, text)| role == "user" && text.contains("is done]"));
    assert_eq!(told.count(), 3, "{said:?}");
    let jobs = team.jobs().await;
    assert!(jobs.iter().all(|job| job["state"] == "done"), "{jobs:?}");
    let stopped = team.stop(&supervisor).await;
    assert!(stopped.len() == 4 && stopped[0].starts_with("supervisor-"), "{stopped:?}");
    team.close().await;
}

const TALK: &str = "
    [[rule]]
    prompt = 'ask your lead'
    reply = [{ call = 'send_message', args = { message = 'which colour?' } }]
    [[rule]]
    tool = 'send_message'
    reply = 'I have written.'
    [[rule]]
    prompt = 'which colour?'
    reply = 'They want to know the colour.'
    [[rule]]
    prompt = 'it is blue'
    reply = 'Blue it is.'
    [default]
    reply = 'Ready.'
";

#[tokio::test(flavor = "multi_thread")]
async fn messages_go_both_ways_between_a_person_and_an_agent_and_dead_ones_are_told() {
    requires!(npm);
    let team = Team::on(NEWEST, TALK).await;
    let profiles = team.house.get("/api/v1/profiles").await;
    let named = |profile: &Value| profile["name"] == "developer";
    assert!(profiles["profiles"].as_array().unwrap().iter().any(named), "{profiles}");
    let mut socket = team.house.socket().await;
    socket.say(json!({ "type": "watch" })).await;
    let agent = team.launch("developer", Some("ask your lead")).await;
    // Whoever watches is told that there is something new, and asks.
    socket.next_of("team").await;
    let inbox = team
        .wait_for("a letter to the person", "/api/v1/letters", |all| all["letters"][0].is_object())
        .await;
    assert_eq!(inbox["letters"][0]["text"], "which colour?");
    assert_eq!(team.house.get("/api/v1/team").await["unread"], 1);
    let read = json!([inbox["letters"][0]["id"]]);
    assert_eq!(team.house.post("/api/v1/letters/read", read).await.0, 200);
    assert_eq!(team.house.get("/api/v1/team").await["unread"], 0);
    team.write(&agent, "it is blue").await;
    team.status(&agent, "idle").await;
    let said = team.said(&agent).await;
    assert!(
        said.iter().any(|(_, text)| text == "[Message from the person]\n\nit is blue"),
        "{said:?}"
    );
    team.stop(&agent).await;
    team.status(&agent, "exited").await;
    team.wait_for("it is gone", "/api/v1/team", |all| all["members"][0]["gone"] == true).await;
    let (status, refused) =
        team.house.post("/api/v1/letters", json!({ "to": agent, "text": "too late" })).await;
    assert_eq!((status, &refused["code"]), (409, &json!("gone")));
    team.close().await;
}

const LATE: &str = "
    [[rule]]
    prompt = 'take your time'
    reply = ['One. ', { pause = '6s' }, 'Two.']
";

#[tokio::test(flavor = "multi_thread")]
async fn a_handoff_that_nobody_waits_for_is_written_to_the_person_and_one_that_was_waited_for_is_not()
 {
    requires!(npm);
    let team = Team::on(NEWEST, LATE).await;
    let given = team.give("handoff", "developer", "take your time", json!({ "timeout": 1 })).await;
    let job = team.told(&given).await;
    assert_eq!(job["state"], "timed_out", "{job}");
    let waiting = |all: &Value| all["letters"][0]["state"] == "waiting";
    let inbox = team.wait_for("a letter", "/api/v1/letters", waiting).await;
    assert!(inbox["letters"][0]["text"].as_str().unwrap().ends_with("One. Two."), "{inbox}");
    // Whoever waits for it was shown it.
    let path = format!("/api/v1/jobs/{}?wait=5&late=true", job["id"].as_str().unwrap());
    assert_eq!(team.house.get(&path).await["state"], "done");
    assert_eq!(team.house.get("/api/v1/team").await["unread"], 0);
    let job = team.give("handoff", "developer", "take your time", json!({})).await;
    assert_eq!(team.told(&job).await["state"], "done");
    assert_eq!(team.house.get("/api/v1/team").await["unread"], 0);
    team.close().await;
}

const ORPHAN: &str = "
    [[rule]]
    prompt = 'take your time'
    reply = ['One. ', { pause = '8s' }, 'Two.']
    [[rule]]
    prompt = 'spread the work'
    reply = [{ call = 'assign', args = { agent_profile = 'developer', message = 'take your time' } }]
    [[rule]]
    tool = 'assign'
    reply = 'It works.'
";

#[tokio::test(flavor = "multi_thread")]
async fn what_becomes_of_a_job_whose_caller_has_ended_goes_to_the_one_above_it() {
    requires!(npm);
    let team = Team::on(NEWEST, ORPHAN).await;
    // Its worker works for it, and ends with its job.
    let job = team.give("handoff", "supervisor", "spread the work", json!({})).await;
    assert_eq!(team.told(&job).await["state"], "done");
    let passed = |all: &Value| all["letters"][0].is_object();
    let inbox = team.wait_for("the person has it", "/api/v1/letters", passed).await;
    let text = inbox["letters"][0]["text"].as_str().unwrap();
    assert!(text.contains("One. Two.") && text.contains("has ended"), "{text}");
    let worker = inbox["letters"][0]["from"].as_str().unwrap().to_owned();
    team.stop(&worker).await;
    team.status(&worker, "exited").await;
    team.close().await;
}
