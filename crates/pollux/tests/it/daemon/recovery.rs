//! Killed at any moment: what was told stays told, what was accepted runs once, and the next start repairs itself.

use super::house::client;
use pollux_agent::gemini::transcript::Transcript;
use pollux_e2e::{Cli, PINNED, Stage, requires, seeded_rng, wait_for};
use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// A session that was made in this minute is gone on with in the next.
const LONGEST: Duration = Duration::from_mins(3);

/// The program itself, as a daemon, in a directory that outlives it.
pub(crate) struct Served {
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

/// The program, with all that it keeps in a directory of a test.
#[expect(clippy::disallowed_methods, reason = "whoever starts it waits for it, or kills it")]
fn program(stage: &Stage, data: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pollux"));
    command.env("XDG_DATA_HOME", data).env("XDG_CONFIG_HOME", data).env("XDG_CACHE_HOME", data);
    command.env("POLLUX_TMUX", data.join("tmux")).env("XDG_RUNTIME_DIR", data);
    command.envs(stage.env()).env("GEMINI_CLI_PATH", stage.cli().program());
    command.stdin(Stdio::null());
    command
}

impl Served {
    pub(crate) async fn start(stage: &Stage, data: &Path) -> Self {
        let mut command = program(stage, data);
        command.args(["serve", "--port", "0"]).current_dir(data);
        let child = command.stderr(Stdio::null()).spawn().unwrap();
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

    pub(crate) async fn get(&self, path: &str) -> Value {
        let request = client().get(format!("{}{path}", self.origin)).bearer_auth(&self.token);
        request.send().await.unwrap().json().await.unwrap()
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Value, reqwest::Error> {
        let request = client().post(format!("{}{path}", self.origin)).bearer_auth(&self.token);
        request.json(body).send().await?.json().await
    }

    /// The number of its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
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

/// Where a daemon is killed: the CLI on a script, and a directory that outlives the daemon.
pub(crate) struct Ground {
    pub(crate) stage: Stage,
    data: TempDir,
}

impl Drop for Ground {
    fn drop(&mut self) {
        let _gone = self.tmux(&["kill-server"]);
    }
}

impl Ground {
    pub(crate) fn new(stage: Stage) -> Self {
        Self { stage, data: tempfile::tempdir().unwrap() }
    }

    pub(crate) async fn start(&self) -> Served {
        Served::start(&self.stage, self.data.path()).await
    }

    /// What a command of the program printed, and its exit code.
    pub(crate) fn pollux(&self, args: &[&str]) -> (Option<i32>, String, String) {
        let mut command = program(&self.stage, self.data.path());
        let ran = command.args(args).current_dir(self.stage.workspace()).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (ran.status.code(), text(&ran.stdout), text(&ran.stderr))
    }

    /// What the tmux server of its agents says.
    #[expect(clippy::disallowed_methods, reason = "tmux answers at once and is waited for")]
    pub(crate) fn tmux(&self, args: &[&str]) -> String {
        let mut tmux = Command::new("tmux");
        let ran = tmux.arg("-S").arg(self.data.path().join("tmux")).args(args).output().unwrap();
        String::from_utf8_lossy(&ran.stdout).into_owned()
    }
}

/// A daemon that is killed again and again while a session of one driver runs.
struct Siege {
    ground: Ground,
    driver: &'static str,
    id: String,
    rng: StdRng,
}

impl Siege {
    async fn lay(driver: &'static str) -> (Self, Served) {
        let stage = Stage::with(&Cli::install(PINNED[2]).unwrap(), "greeting").await.unwrap();
        let ground = Ground::new(stage);
        let daemon = ground.start().await;
        let cwd = ground.stage.workspace();
        let begin = json!({ "cwd": cwd, "driver": driver, "client_id": "one" });
        let begun = daemon.post("/api/v1/sessions", &begin).await.unwrap();
        let id = begun["id"].as_str().unwrap().to_owned();
        let siege = Self { ground, driver, id, rng: seeded_rng() };
        siege.rest(&daemon, "first").await;
        (siege, daemon)
    }

    fn path(&self) -> String {
        format!("/api/v1/sessions/{}/commands", self.id)
    }

    /// Says something, kills the daemon at a random moment, starts it again, and compares.
    async fn kill(&mut self, daemon: Served, number: usize) -> Served {
        let mut hears = tokio::task::JoinSet::new();
        hears.spawn(listen(daemon.origin.clone(), daemon.token.clone(), self.id.clone()));
        let text = format!("words number {number}");
        let body =
            json!({ "id": format!("c{number}"), "command": { "type": "prompt", "text": text } });
        daemon.post(&self.path(), &body).await.unwrap();
        let moment = Duration::from_millis(self.rng.random_range(0..3_000));
        tokio::time::sleep(moment).await;
        // At once, as the system does it when memory runs out.
        drop(daemon);
        let heard = hears.join_next().await.unwrap().unwrap();
        let daemon = self.ground.start().await;
        self.rest(&daemon, &format!("again{number}")).await;
        let events = daemon.events(&self.id).await;
        for (place, event) in events.iter().enumerate() {
            assert_eq!(event["seq"], place as u64 + 1, "a gap, or one twice");
        }
        for (seq, event) in &heard {
            let kept = &events[usize::try_from(*seq).unwrap() - 1];
            assert_eq!(kept, event, "told, and then changed");
        }
        // Whoever did not hear the reply asks again. That must not run it twice.
        daemon.post(&self.path(), &body).await.unwrap();
        self.go_on(&daemon, number).await;
        daemon
    }

    /// Waits until the session is at rest. An agent that has gone with the daemon is gone on with by its user.
    async fn rest(&self, daemon: &Served, name: &str) {
        wait_for("the session at rest", LONGEST, async || {
            let summary = daemon.get(&format!("/api/v1/sessions/{}", self.id)).await;
            if summary["status"] == "exited" && self.driver == "acp" {
                let again = json!({ "cwd": self.ground.stage.workspace(), "driver": "acp",
                    "resume": self.id, "client_id": name });
                daemon.post("/api/v1/sessions", &again).await.unwrap();
            }
            if summary["status"] == "idle" { Ok(()) } else { Err(summary) }
        })
        .await;
    }

    /// What was accepted and did not arrive waits; somebody says that it shall go on.
    async fn go_on(&self, daemon: &Served, number: usize) {
        let summary = daemon.get(&format!("/api/v1/sessions/{}", self.id)).await;
        if summary["held"] == true {
            let body = json!({ "id": format!("go{number}"), "command": { "type": "continue" } });
            daemon.post(&self.path(), &body).await.unwrap();
        }
        self.rest(daemon, &format!("on{number}")).await;
    }

    /// Nothing was run twice, and all that was said is in the log, once.
    async fn lift(self, daemon: Served, kills: usize) {
        let prompts = self.ground.stage.rehearsal().journal().prompts();
        let log = serde_json::to_string(&daemon.events(&self.id).await).unwrap();
        for number in 0..kills {
            let text = format!("words number {number}");
            let asked = prompts.iter().filter(|prompt| prompt.trim() == text).count();
            assert!(asked <= 1, "`{text}` was run {asked} times");
            let known = log.contains(&format!("\"{text}\""));
            assert!(known, "`{text}` was accepted, and is lost");
            // An agent that outlives the daemon runs all of it, unless somebody was told so.
            let lost = self.driver == "terminal" && asked == 0;
            assert!(!lost || log.contains("cannot tell if"), "`{text}` was not run");
        }
        compare(&self.ground.stage, &daemon, &self.id).await;
        // What the model was asked is in the log, whatever became of the agent's own file.
        // A prompt without an answer is asked again together with the next one, as the conversation that it is.
        let asked = prompts.iter().flat_map(|prompt| prompt.lines());
        for line in asked.filter(|line| line.starts_with("words number")) {
            assert!(log.contains(line.trim()), "`{line}` was asked, and the log does not know");
        }
    }
}

async fn besieged(driver: &'static str) {
    let kills = pollux_e2e::daemon_kills();
    let (mut siege, mut daemon) = Siege::lay(driver).await;
    for number in 0..kills {
        daemon = siege.kill(daemon, number).await;
    }
    siege.lift(daemon, kills).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_is_killed_at_random_moments_of_headless_runs_loses_and_repeats_nothing() {
    requires!(npm, tmux);
    besieged("headless").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_is_killed_at_random_moments_over_acp_loses_and_repeats_nothing() {
    requires!(npm, tmux);
    besieged("acp").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_is_killed_at_random_moments_beside_a_terminal_loses_and_repeats_nothing() {
    requires!(npm, tmux);
    besieged("terminal").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_in_which_nothing_was_said_before_a_kill_is_begun_anew() {
    requires!(npm, tmux);
    let (siege, daemon) = Siege::lay("acp").await;
    drop(daemon);
    let daemon = siege.ground.start().await;
    siege.rest(&daemon, "again").await;
    let prompt = json!({ "type": "prompt", "text": "words number 0" });
    daemon.post(&siege.path(), &json!({ "id": "c0", "command": prompt })).await.unwrap();
    wait_for("the prompt", LONGEST, async || {
        let prompts = siege.ground.stage.rehearsal().journal().prompts();
        if prompts.iter().any(|it| it == "words number 0") { Ok(()) } else { Err(prompts) }
    })
    .await;
    siege.rest(&daemon, "on").await;
    siege.lift(daemon, 1).await;
}

/// Every message of the session's file is in the log, once. A start that was killed may leave a file in which only the
/// context stands that the CLI gives itself.
async fn compare(stage: &Stage, daemon: &Served, id: &str) {
    let summary = daemon.get(&format!("/api/v1/sessions/{id}")).await;
    let agent = summary["agent_id"].as_str().unwrap_or(id);
    let text = std::fs::read_to_string(file(stage, agent)).unwrap();
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
