//! Killed at any moment: what was told stays told, what was accepted runs once, and the next start repairs itself.

use super::house::client;
use pollux_agent::gemini::transcript::Transcript;
use pollux_e2e::{Cli, Stage, wait_for};
use rand::RngExt;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const LONGEST: Duration = Duration::from_mins(1);

/// The program itself, as a daemon, in a directory that outlives it.
struct Served {
    child: Child,
    origin: String,
    token: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        // Also where the test has failed: nobody else ends it.
        let _killed = self.child.kill();
        let _reaped = self.child.wait();
    }
}

impl Served {
    #[expect(clippy::disallowed_methods, reason = "the daemon is killed, and so it is a child")]
    async fn start(stage: &Stage, data: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pollux"));
        command.args(["serve", "--port", "0"]).current_dir(data);
        command.env("XDG_DATA_HOME", data).env("XDG_CONFIG_HOME", data).env("XDG_CACHE_HOME", data);
        command.envs(stage.env()).env("GEMINI_CLI_PATH", stage.cli().program());
        let child = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let place = data.join("pollux/daemon");
        let pid = child.id();
        let address = wait_for("the daemon", LONGEST, async || {
            let text = std::fs::read_to_string(place.join("address.json")).unwrap_or_default();
            match serde_json::from_str::<Value>(&text) {
                Ok(address) if address["pid"] == pid => Ok(address),
                _ => Err(text),
            }
        })
        .await;
        let origin = address["origins"][0].as_str().unwrap().to_owned();
        let token = std::fs::read_to_string(place.join("token")).unwrap();
        Self { child, origin, token }
    }

    async fn get(&self, path: &str) -> Value {
        let request = client().get(format!("{}{path}", self.origin)).bearer_auth(&self.token);
        request.send().await.unwrap().json().await.unwrap()
    }

    async fn post(&self, path: &str, body: &Value) -> Result<Value, reqwest::Error> {
        let request = client().post(format!("{}{path}", self.origin)).bearer_auth(&self.token);
        request.json(body).send().await?.json().await
    }

    /// All events of a session, by page.
    async fn events(&self, id: &str) -> Vec<Value> {
        let mut all: Vec<Value> = Vec::new();
        loop {
            let after = all.last().map_or(0, |event| event["seq"].as_u64().unwrap());
            let page = self.get(&format!("/api/v1/sessions/{id}/events?after={after}")).await;
            let events = page["events"].as_array().unwrap();
            if events.is_empty() {
                return all;
            }
            all.extend(events.iter().cloned());
        }
    }
}

/// Listens until the daemon is gone, and gives what was heard.
async fn listen(origin: String, token: String, id: String) -> BTreeMap<u64, Value> {
    let url = format!("{origin}/api/v1/sessions/{id}/stream");
    let mut heard = BTreeMap::new();
    let Ok(mut answer) = client().get(url).bearer_auth(token).send().await else { return heard };
    let mut text = String::new();
    while let Ok(Some(chunk)) = answer.chunk().await {
        text.push_str(&String::from_utf8_lossy(&chunk));
        while let Some((block, rest)) = text.split_once("\n\n") {
            let data = block.lines().find_map(|line| line.strip_prefix("data: "));
            let frame: Value =
                data.map(|data| serde_json::from_str(data).unwrap()).unwrap_or_default();
            for event in frame["events"].as_array().into_iter().flatten() {
                heard.insert(event["seq"].as_u64().unwrap(), event.clone());
            }
            text = rest.to_owned();
        }
    }
    heard
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_is_killed_at_random_moments_loses_nothing_and_runs_nothing_twice() {
    const KILLS: usize = 6;
    let stage = Stage::with(&Cli::install("0.61.0").unwrap(), "greeting").await.unwrap();
    let data = tempfile::tempdir().unwrap();
    let mut daemon = Served::start(&stage, data.path()).await;
    let begin = json!({ "cwd": stage.workspace(), "driver": "headless", "client_id": "one" });
    let id =
        daemon.post("/api/v1/sessions", &begin).await.unwrap()["id"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/sessions/{id}/commands");
    for kill in 0..KILLS {
        let mut hears = tokio::task::JoinSet::new();
        hears.spawn(listen(daemon.origin.clone(), daemon.token.clone(), id.clone()));
        let text = format!("words number {kill}");
        let body =
            json!({ "id": format!("c{kill}"), "command": { "type": "prompt", "text": text } });
        daemon.post(&path, &body).await.unwrap();
        let moment = Duration::from_millis(rand::rng().random_range(0..4_000));
        tokio::time::sleep(moment).await;
        // At once, as the system does it when memory runs out.
        drop(daemon);
        let heard = hears.join_next().await.unwrap().unwrap();
        daemon = Served::start(&stage, data.path()).await;
        settled(&daemon, &id).await;
        let events = daemon.events(&id).await;
        for (place, event) in events.iter().enumerate() {
            assert_eq!(event["seq"], place as u64 + 1, "a gap, or one twice");
        }
        for (seq, event) in &heard {
            assert_eq!(
                &events[usize::try_from(*seq).unwrap() - 1],
                event,
                "told, and then changed"
            );
        }
        // Whoever did not hear the reply asks again. That must not run it twice.
        daemon.post(&path, &body).await.unwrap();
        go_on(&daemon, &id, &path, kill).await;
    }
    let prompts = stage.rehearsal().journal().prompts();
    for kill in 0..KILLS {
        let text = format!("words number {kill}");
        let asked = prompts.iter().filter(|prompt| prompt.trim() == text).count();
        assert!(asked <= 1, "`{text}` was run {asked} times");
    }
    compare(&stage, &daemon, &id).await;
    // What the model was asked is in the log, whatever became of the agent's own file.
    let log = serde_json::to_string(&daemon.events(&id).await).unwrap();
    for prompt in prompts.iter().filter(|prompt| prompt.starts_with("words number")) {
        assert!(log.contains(prompt.trim()), "`{prompt}` was asked, and the log does not know");
    }
    drop(daemon);
    stage.close().await;
}

async fn settled(daemon: &Served, id: &str) {
    wait_for("the session at rest", LONGEST, async || {
        let summary = daemon.get(&format!("/api/v1/sessions/{id}")).await;
        if summary["status"] == "idle" { Ok(()) } else { Err(summary) }
    })
    .await;
}

/// What was accepted and did not arrive waits; somebody says that it shall go on.
async fn go_on(daemon: &Served, id: &str, path: &str, kill: usize) {
    let summary = daemon.get(&format!("/api/v1/sessions/{id}")).await;
    if summary["held"] == true {
        let body = json!({ "id": format!("go{kill}"), "command": { "type": "continue" } });
        daemon.post(path, &body).await.unwrap();
    }
    settled(daemon, id).await;
}

/// Every message of the session's file is in the log, once. A start that was killed may leave a file in which only the
/// context stands that the CLI gives itself.
async fn compare(stage: &Stage, daemon: &Served, id: &str) {
    let text = std::fs::read_to_string(file(stage, id)).unwrap();
    let ids: Vec<String> = Transcript::read(&text)
        .messages()
        .filter(|message| !message.meta)
        .map(|message| message.id.to_string())
        .collect();
    wait_for("the log to have what the file has", LONGEST, async || {
        let page = daemon.get(&format!("/api/v1/sessions/{id}/messages?limit=500")).await;
        let messages = page["messages"].as_array().unwrap();
        let known = |id: &String| {
            messages.iter().filter(|recorded| recorded["message"]["id"] == **id).count() == 1
        };
        let missing: Vec<&String> = ids.iter().filter(|id| !known(id)).collect();
        if missing.is_empty() { Ok(()) } else { Err(format!("{missing:?} of {}", ids.len())) }
    })
    .await;
}

fn file(stage: &Stage, id: &str) -> PathBuf {
    let listing = pollux_agent::gemini::transcript::store::list(
        &stage.home().path().join(".gemini"),
        &[],
        None,
        &|_, _| {},
    );
    listing.sessions.into_iter().find(|session| session.id == id).unwrap().file.path
}
