//! Frames as they really are, kept in `recordings/frames`: the reducers of other languages are tested on the same ones.

use super::house::{House, Socket, subscribe, turn};
use pollux_e2e::{Cli, PINNED, Stage, requires};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn the_types_for_typescript_are_those_of_the_code() {
    let path = root().join("web/src/api/types.ts");
    let kept = fs::read_to_string(path).unwrap();
    assert!(kept == pollux::api::typescript::file(), "out of date: `cargo xtask types`");
    let names: Vec<&str> = kept
        .lines()
        .filter_map(|line| line.strip_prefix("export type ")?.split(' ').next())
        .collect();
    let mut once = names.clone();
    once.dedup();
    assert_eq!(names, once, "two types have one name");
}

#[test]
fn the_references_are_those_of_the_code() {
    use pollux::api::reference;
    for (name, made) in [("events.md", reference::events()), ("api-reference.md", reference::api())]
    {
        let kept = fs::read_to_string(root().join("docs").join(name)).unwrap_or_default();
        assert!(kept == made, "docs/{name} is out of date: `cargo xtask docs`");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_frames_of_a_turn_with_a_tool_are_those_that_are_kept() {
    requires!(npm);
    let cli = Cli::install(PINNED[2]).unwrap();
    let stage = Stage::with(&cli, "shell").await.unwrap();
    let prompt = pollux_e2e::script("shell").unwrap().trial().unwrap().prompt.clone();
    let house = House::on(&stage).await;
    let mut socket = house.socket().await;
    let mut frames = vec![socket.next().await];
    socket.say(json!({ "type": "watch" })).await;
    frames.push(socket.next_of("sessions").await);
    let cwd = stage.workspace();
    let id = house.begin(json!({ "cwd": cwd, "driver": "headless", "mode": "yolo" })).await;
    socket.say(subscribe(&id)).await;
    frames.push(socket.next_of("snapshot").await);
    let command = json!({ "type": "prompt", "text": prompt });
    socket
        .say(json!({ "type": "command", "id": "c1", "session_id": id, "command": command }))
        .await;
    frames.extend(turn(&mut socket).await);
    assert!(frames.iter().any(|frame| frame["type"] == "result"));
    let (seq, epoch) = place(&frames);
    let mut late = house.socket().await;
    late.next_of("hello").await;
    frames.extend(rejoined(&mut late, &id, seq, epoch).await);
    let home = stage.home().path().display().to_string();
    let kept =
        Keeper::new(&[(&home, "/home/u"), (&cwd.display().to_string(), "/work"), (&id, "ID")]);
    kept.check("headless-shell.jsonl", frames);
    house.close().await;
    stage.close().await;
}

/// The three ways to come back: the exact tail, a history that was rewritten, nothing known.
async fn rejoined(socket: &mut Socket, id: &str, seq: u64, epoch: u64) -> Vec<Value> {
    let mut frames = Vec::new();
    let tail = json!({ "type": "subscribe", "session_id": id, "after": seq - 2, "epoch": epoch });
    socket.say(tail).await;
    frames.push(socket.next_of("resumed").await);
    frames.push(socket.next_of("events").await);
    let other = json!({ "type": "subscribe", "session_id": id, "after": seq, "epoch": epoch - 1 });
    socket.say(other).await;
    frames.push(socket.next_of("snapshot").await);
    socket.say(json!({ "type": "something_new" })).await;
    frames.push(socket.next_of("error").await);
    frames
}

fn place(frames: &[Value]) -> (u64, u64) {
    let events = frames.iter().filter_map(|frame| frame["events"].as_array()).flatten();
    let last = events.last().unwrap();
    (last["seq"].as_u64().unwrap(), last["epoch"].as_u64().unwrap())
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Takes out what is different each time, and compares with what is kept.
struct Keeper(Vec<(String, String)>);

impl Keeper {
    fn new(names: &[(&str, &str)]) -> Self {
        let names = names.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned()));
        Self(names.collect())
    }

    /// Events come in frames of any size; here they are one frame each. What depends on the machine is left out.
    fn check(&self, name: &str, frames: Vec<Value>) {
        let mut lines = Vec::new();
        for mut frame in frames {
            if frame["type"] == "heartbeat" {
                continue;
            }
            self.settle(&mut frame, "");
            match frame["events"].as_array().cloned() {
                Some(events) => {
                    for event in events {
                        frame["events"] = json!([event]);
                        lines.push(frame.to_string());
                    }
                }
                None => lines.push(frame.to_string()),
            }
        }
        let now = lines.join("\n") + "\n";
        let path = root().join("recordings/frames").join(name);
        let kept = fs::read_to_string(&path).unwrap_or_default();
        if kept.is_empty() {
            fs::write(&path, &now).unwrap();
        }
        // The order of two sources within one turn is that of the machine.
        assert_eq!(
            outline(&now),
            outline(&kept),
            "look at {name}; remove it, and it is written anew"
        );
    }

    fn settle(&self, value: &mut Value, key: &str) {
        match value {
            Value::String(text) => {
                let time = key == "at" || key.ends_with("_at") || key.ends_with("_until");
                if time {
                    *text = "2026-11-15T12:00:00.000Z".into();
                }
                for (from, to) in &self.0 {
                    *text = text.replace(from, to);
                }
            }
            Value::Number(_) if key == "epoch" => *value = json!(1_800_000_000),
            Value::Number(_) if key == "timestamp" || key == "duration_ms" => *value = json!(1),
            Value::Array(values) => values.iter_mut().for_each(|value| self.settle(value, "")),
            Value::Object(fields) => {
                fields.iter_mut().for_each(|(key, value)| self.settle(value, key));
            }
            _ => {}
        }
    }
}

/// The kinds that there are, each with its keys: what a reducer depends on.
fn outline(frames: &str) -> Vec<String> {
    let mut all: Vec<String> = frames
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|frame| {
            let event = &frame["events"][0]["event"];
            let keys = |value: &Value| -> Vec<String> {
                value.as_object().into_iter().flat_map(|fields| fields.keys().cloned()).collect()
            };
            format!("{} {:?} {} {:?}", frame["type"], keys(&frame), event["type"], keys(event))
        })
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}
