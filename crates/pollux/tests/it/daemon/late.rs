//! Sessions that the daemon finds only after somebody looks: reading thousands of files takes its time.

use super::house::{House, settings};
use super::told::Stagehand;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::fs;
use std::path::Path;

/// A file that takes a debug build a moment to read, so that the daemon is still at it when somebody looks.
fn write(chats: &Path, number: usize) {
    let id = format!("{number:08}-aaaa-4bbb-8ccc-000000000000");
    let at = "2026-01-05T10:00:00.000Z";
    let head = json!({ "sessionId": id, "projectHash": "0", "startTime": at, "lastUpdated": at, "kind": "main" });
    let rows = (0..1000).map(|row| {
        let content = json!([{ "text": format!("question {row} of session {number}") }]);
        json!({ "id": format!("m{row}"), "timestamp": at, "type": "user", "content": content })
    });
    let lines: Vec<String> = std::iter::once(head).chain(rows).map(|row| row.to_string()).collect();
    let name = format!("session-2026-01-05T10-00-{number:08}.jsonl");
    fs::write(chats.join(name), lines.join("\n") + "\n").unwrap();
}

/// The sessions that a frame tells of.
fn told(frame: &Value) -> Vec<String> {
    let id = |session: &Value| session["id"].as_str().map(str::to_owned);
    let listed = frame["sessions"].as_array().into_iter().flatten().filter_map(id);
    listed.chain(id(&frame["session"])).collect()
}

async fn whoever_looks_early_is_told_of(files: usize) -> usize {
    let directory = tempfile::tempdir().unwrap();
    let chats = directory.path().join(".gemini/tmp/shop/chats");
    fs::create_dir_all(&chats).unwrap();
    for number in 0..files {
        write(&chats, number);
    }
    let house = House::with(directory, Stagehand::default().agents(), &settings()).await;
    let mut socket = house.socket().await;
    socket.say(json!({ "type": "watch" })).await;
    let (mut known, mut frames) = (HashSet::new(), 0);
    while known.len() < files {
        let frame = socket.next().await;
        frames += 1;
        known.extend(told(&frame));
    }
    house.close().await;
    frames
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_are_found_after_somebody_looks_are_told() {
    whoever_looks_early_is_told_of(3).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_sessions_that_are_found_after_somebody_looks_are_told_as_lists() {
    let frames = whoever_looks_early_is_told_of(60).await;
    assert!(frames < 60, "{frames} frames");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_grew_while_no_daemon_ran_is_shown_as_it_is_now() {
    let directory = tempfile::tempdir().unwrap();
    let chats = directory.path().join(".gemini/tmp/shop/chats");
    fs::create_dir_all(&chats).unwrap();
    write(&chats, 0);
    let agents = || Stagehand::default().agents();
    let path = "/api/v1/sessions/00000000-aaaa-4bbb-8ccc-000000000000";
    let house = House::with(directory, agents(), &settings()).await;
    let before = house.get(path).await;
    let directory = house.close().await;
    let file = chats.join("session-2026-01-05T10-00-00000000.jsonl");
    let (at, content) = ("2026-02-05T10:00:00.000Z", json!([{ "text": "one more" }]));
    let more = json!({ "id": "more", "timestamp": at, "type": "user", "content": content });
    fs::write(&file, fs::read_to_string(&file).unwrap() + &more.to_string() + "\n").unwrap();
    let house = House::with(directory, agents(), &settings()).await;
    let now = house.get(path).await;
    assert_eq!(now["messages"].as_u64().unwrap(), before["messages"].as_u64().unwrap() + 1);
    assert!(now["updated_at"].as_str() > before["updated_at"].as_str(), "{now}");
    house.close().await;
}
