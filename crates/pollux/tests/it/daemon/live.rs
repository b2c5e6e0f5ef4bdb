//! The real Gemini CLI under the daemon.

use super::house::{House, Socket, gemini_on, is_idle, settings, subscribe, turn};
use pollux_e2e::{Cli, PINNED, Stage, requires};
use serde_json::{Value, json};
use std::time::Duration;

async fn stage(script: &str) -> Stage {
    Stage::with(&Cli::install(PINNED[2]).unwrap(), script).await.unwrap()
}

fn prompt_of(script: &str) -> String {
    pollux_e2e::script(script).unwrap().trial().unwrap().prompt.clone()
}

async fn joined(house: &House, id: &str) -> Socket {
    let mut socket = house.socket().await;
    socket.say(subscribe(id)).await;
    socket.next_of("snapshot").await;
    socket
}

fn texts(messages: &Value) -> Vec<String> {
    let messages = messages["messages"].as_array().unwrap().iter();
    let said = messages.filter(|recorded| recorded["message"]["meta"] != true);
    said.map(|recorded| {
        let content = recorded["message"]["content"].as_array().cloned().unwrap_or_default();
        let texts: Vec<String> =
            content.iter().filter_map(|block| block["text"].as_str().map(str::to_owned)).collect();
        texts.join(" ")
    })
    .filter(|text| !text.is_empty())
    .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_prompts_headless_are_one_conversation_and_the_first_one_stays() {
    requires!(npm);
    let stage = stage("greeting").await;
    let house = House::on(&stage).await;
    let id = house.begin(json!({ "cwd": stage.workspace(), "driver": "headless" })).await;
    let mut socket = joined(&house, &id).await;
    for (command, text) in [("c1", "first words"), ("c2", "second words")] {
        house.command(&id, command, json!({ "type": "prompt", "text": text })).await;
        turn(&mut socket).await;
    }
    let page = house.get(&format!("/api/v1/sessions/{id}/messages")).await;
    let said = texts(&page);
    let at = |text: &str| said.iter().position(|said| said.contains(text));
    assert!(at("first words").is_some(), "{said:?}");
    assert!(at("first words") < at("second words"), "{said:?}");
    house.close().await;
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn over_acp_prompts_that_wait_are_worked_on_one_after_the_other() {
    requires!(npm);
    let stage = stage("greeting").await;
    let house = House::on(&stage).await;
    let id = house.begin(json!({ "cwd": stage.workspace(), "driver": "acp" })).await;
    let mut socket = joined(&house, &id).await;
    let all = ["first words", "second words", "third words", "fourth words"];
    for text in all {
        house.command(&id, text, json!({ "type": "prompt", "text": text })).await;
    }
    // Between them the agent is never idle: it has something to do.
    turn(&mut socket).await;
    let page = house.get(&format!("/api/v1/sessions/{id}/events?limit=1000")).await;
    let events: Vec<&Value> =
        page["events"].as_array().unwrap().iter().map(|event| &event["event"]).collect();
    let of = |kind: &str, member: &str| -> Vec<&Value> {
        events.iter().filter(|event| event["type"] == kind).map(|event| &event[member]).collect()
    };
    assert_eq!(of("turn_started", "prompt"), all);
    assert!(of("notice", "text").is_empty(), "all reached the agent: {page:#}");
    house.close().await;
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn over_acp_a_question_is_answered_from_another_client_and_the_tool_runs() {
    requires!(npm);
    let stage = stage("approval").await;
    let house = House::on(&stage).await;
    let id = house.begin(json!({ "cwd": stage.workspace(), "driver": "acp" })).await;
    let mut socket = joined(&house, &id).await;
    let text = prompt_of("approval");
    house.command(&id, "c1", json!({ "type": "prompt", "text": text })).await;
    let frames = socket.until(|frame| frame["session"]["status"] == "waiting").await;
    let open = frames.last().unwrap()["session"]["questions"][0].clone();
    let options = open["question"]["options"].as_array().unwrap();
    let once = options.iter().find(|option| option["effect"] == "allow_once").unwrap();
    let answer = json!({ "type": "answer", "question_id": open["question"]["id"],
        "choice": once["id"], "shown": open["shown"] });
    let (status, answered) = house.command(&id, "a1", answer).await;
    assert_eq!((status, &answered["reply"]["done"]["yours"]), (200, &json!(true)));
    let frames = socket.until(is_idle).await;
    let events: Vec<Value> =
        frames.iter().filter_map(|frame| frame["events"].as_array()).flatten().cloned().collect();
    let of = |kind: &str| events.iter().find(|event| event["event"]["type"] == kind);
    assert_eq!(of("answered").unwrap()["event"]["outcome"], "chosen");
    assert_eq!(of("tool_ended").unwrap()["event"]["status"], "success");
    let summary = house.get(&format!("/api/v1/sessions/{id}")).await;
    assert_eq!(summary["questions"], json!([]));
    let (status, _) = house.command(&id, "s1", json!({ "type": "stop" })).await;
    assert_eq!(status, 200);
    socket.until(|frame| frame["session"]["status"] == "exited").await;
    house.close().await;
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_of_before_is_gone_on_with_after_a_restart_and_only_when_asked() {
    requires!(npm);
    let stage = stage("greeting").await;
    let house = House::on(&stage).await;
    let begin = json!({ "cwd": stage.workspace(), "driver": "acp", "mode": "yolo" });
    let id = house.begin(begin).await;
    let mut socket = joined(&house, &id).await;
    house.command(&id, "c1", json!({ "type": "prompt", "text": "hello" })).await;
    turn(&mut socket).await;
    let directory = house.close().await;
    pollux_e2e::home::age(stage.home().path()).unwrap();
    let gemini = stage.home().path().join(".gemini");
    let house = House::at(directory, &gemini, gemini_on(&stage), &settings()).await;
    let summary = house.get(&format!("/api/v1/sessions/{id}")).await;
    assert_eq!((&summary["status"], &summary["mode"]), (&json!("exited"), &json!("default")));
    let (status, refused) =
        house.command(&id, "c2", json!({ "type": "prompt", "text": "again" })).await;
    assert_eq!((status, &refused["code"]), (409, &json!("exited")));
    let mut socket = joined(&house, &id).await;
    let again =
        json!({ "cwd": stage.workspace(), "resume": id, "driver": "acp", "prompt": "again" });
    assert_eq!(house.begin(again).await, id);
    turn(&mut socket).await;
    let page = house.get(&format!("/api/v1/sessions/{id}/messages")).await;
    let said = texts(&page);
    assert!(said.iter().any(|text| text.contains("hello")), "{said:?}");
    assert!(said.iter().any(|text| text.contains("again")), "{said:?}");
    house.close().await;
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_of_the_users_own_terminal_appears_and_survives_what_deletes_its_file() {
    requires!(npm);
    let stage = stage("greeting").await;
    let house = House::on(&stage).await;
    stage.headless("hello there", &[]).await.unwrap();
    let found = pollux_e2e::wait_for("the session", Duration::from_mins(1), async || {
        let found = house.get("/api/v1/sessions").await["sessions"].clone();
        if found[0].is_object() { Ok(found) } else { Err(found) }
    })
    .await;
    let session = &found[0];
    let id = session["id"].as_str().unwrap().to_owned();
    assert!(session.get("driver").is_none(), "it is only read");
    let (status, refused) =
        house.command(&id, "c1", json!({ "type": "prompt", "text": "x" })).await;
    assert_eq!((status, &refused["code"]), (409, &json!("read_only")));
    let page = house.get(&format!("/api/v1/sessions/{id}/messages")).await;
    assert!(texts(&page).iter().any(|text| text.contains("hello there")), "{page}");
    let path = format!("/api/v1/sessions/{id}/restore");
    assert_eq!(house.post(&path, json!({})).await.0, 409, "its file is there");
    let chats = walk(&stage.home().path().join(".gemini/tmp"));
    for file in chats {
        std::fs::remove_file(file).unwrap();
    }
    let (status, restored) = house.post(&path, json!({})).await;
    assert_eq!(status, 200, "{restored}");
    let again = stage.headless("and again", &["--resume", &id]).await.unwrap();
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    let told = serde_json::to_string(&stage.rehearsal().journal().entries()).unwrap();
    assert!(told.contains("hello there"), "the CLI goes on with what was said before");
    house.close().await;
    stage.close().await;
}

fn walk(directory: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(walk(&path));
        } else if path.to_string_lossy().contains("/chats/") {
            found.push(path);
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_cannot_widen_what_the_agent_may_do() {
    requires!(npm);
    let stage = stage("write-file").await;
    let settings = stage.workspace().join(".gemini");
    std::fs::create_dir_all(&settings).unwrap();
    let wide = json!({ "general": { "defaultApprovalMode": "auto_edit" },
        "security": { "folderTrust": { "enabled": false } }, "tools": { "autoAccept": true } });
    std::fs::write(settings.join("settings.json"), wide.to_string()).unwrap();
    std::fs::write(settings.join(".env"), "GEMINI_CLI_TRUST_WORKSPACE=true\nGEMINI_YOLO=1\n")
        .unwrap();
    let house = House::on(&stage).await;
    let id = house.begin(json!({ "cwd": stage.workspace(), "driver": "acp" })).await;
    let mut socket = joined(&house, &id).await;
    let text = prompt_of("write-file");
    house.command(&id, "c1", json!({ "type": "prompt", "text": text })).await;
    socket.until(|frame| frame["session"]["status"] == "working").await;
    let waits = |frame: &Value| frame["session"]["status"] == "waiting" || is_idle(frame);
    let frames = socket.until(waits).await;
    let last = frames.last().unwrap();
    assert_eq!(last["session"]["status"], "waiting", "it asks before it writes");
    assert_eq!(last["session"]["mode"], "default");
    let id = house.begin(json!({ "cwd": stage.workspace(), "driver": "headless" })).await;
    let mut socket = joined(&house, &id).await;
    house.command(&id, "c1", json!({ "type": "prompt", "text": prompt_of("write-file") })).await;
    turn(&mut socket).await;
    assert!(!stage.workspace().join("new.txt").exists(), "headless, it can only read");
    house.close().await;
    stage.close().await;
}
