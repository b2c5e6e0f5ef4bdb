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
