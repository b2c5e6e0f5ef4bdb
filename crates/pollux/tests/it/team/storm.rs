//! Many letters at once, while workers and the daemon itself are killed: each arrives once, or is dead and says why.

use crate::daemon::recovery::{Ground, Served};
use pollux_e2e::{Cli, Stage, requires, seeded_rng, storm, wait_for};
use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs;
use std::time::Duration;

/// In this version a session need not wait for the next minute to be gone on with.
const VERSION: &str = "0.34.0";
/// With more letters than these there are more agents, and new ones for those that were killed.
const FEW: usize = 10;
const LONGEST: Duration = Duration::from_mins(3);

const SCRIPT: &str = "
    [[rule]]
    prompt = 'spread the work'
    reply = [
      { call = 'assign', args = { agent_profile = 'developer', message = 'be ready' } },
    ]
    [[rule]]
    tool = 'assign'
    reply = 'They work.'
    [[rule]]
    prompt-regex = 'pass on note (?<what>[0-9]+)\\.'
    reply = [{ call = 'send_message', args = { message = 'passed note {{what}}.' } }]
    [[rule]]
    tool = 'send_message'
    reply = 'Passed.'
    [default]
    reply = 'Noted.'
";

struct Storm {
    ground: Ground,
    daemon: Option<Served>,
    /// What became of letters: the text, and where it was sent.
    sent: Vec<(String, String)>,
    rng: StdRng,
}

impl Storm {
    async fn brew() -> Self {
        let cli = Cli::install(VERSION).unwrap();
        let stage = Stage::new(&cli, SCRIPT.parse().unwrap()).await.unwrap();
        let ground = Ground::new(stage);
        let daemon = ground.start().await;
        let cwd = ground.stage.workspace();
        let lead = json!({ "profile": "supervisor", "prompt": "spread the work", "cwd": cwd });
        daemon.post("/api/v1/team/launch", &lead).await.unwrap();
        let storm = Self { ground, daemon: Some(daemon), sent: Vec::new(), rng: seeded_rng() };
        wait_for("a lead with a worker", LONGEST, async || {
            let agents = storm.living().await;
            if agents.len() == 2 { Ok(()) } else { Err(agents) }
        })
        .await;
        storm
    }

    fn daemon(&self) -> &Served {
        self.daemon.as_ref().unwrap()
    }

    async fn living(&self) -> Vec<String> {
        let team = self.daemon().get("/api/v1/team").await;
        let members = team["members"].as_array().unwrap().iter();
        let living = members.filter(|member| member["gone"] == false);
        living.map(|member| member["session"].as_str().unwrap().to_owned()).collect()
    }

    async fn letters(&self) -> Vec<Value> {
        let all = self.daemon().get("/api/v1/letters?all=true").await;
        all["letters"].as_array().unwrap().clone()
    }

    /// Writes to somebody. Who is gone by then is refused, and that is no letter.
    async fn write(&mut self, number: usize) {
        let living = self.living().await;
        let to = living.choose(&mut self.rng).unwrap().clone();
        let text = format!("pass on note {number}.");
        let body = json!({ "to": to, "text": text });
        let sent = self.daemon().post("/api/v1/letters", &body).await.unwrap();
        if sent["id"].is_number() {
            self.sent.push((text, to));
        }
    }

    /// Kills one of the agents, as the system does it when memory runs out.
    fn kill_agent(&mut self) {
        let agents = children(self.daemon().pid());
        if agents.len() > 1
            && let Some(agent) = agents.choose(&mut self.rng)
        {
            rustix::process::kill_process(*agent, rustix::process::Signal::KILL).unwrap();
        }
    }

    /// Somebody in the place of one who was killed.
    async fn launch(&self) {
        let body = json!({ "profile": "developer", "cwd": self.ground.stage.workspace() });
        self.daemon().post("/api/v1/team/launch", &body).await.unwrap();
    }

    async fn kill_daemon(&mut self) {
        drop(self.daemon.take());
        self.daemon = Some(self.ground.start().await);
    }

    /// Left alone, all letters come to their end; many take longer, by what a machine has to start for them.
    async fn calm(&self) -> Vec<Value> {
        let longest = LONGEST + Duration::from_secs(1) * u32::try_from(self.sent.len()).unwrap();
        let open = |letter: &&Value| {
            letter["to"].is_string()
                && matches!(letter["state"].as_str(), Some("waiting" | "claimed"))
        };
        wait_for("the storm is over", longest, async || {
            let all = self.letters().await;
            let open: Vec<Value> = all.iter().filter(open).cloned().collect();
            if open.is_empty() { Ok(all) } else { Err(open) }
        })
        .await
    }

    /// How often each text was said to an agent.
    async fn heard(&self, session: &str) -> HashMap<String, usize> {
        let path = format!("/api/v1/sessions/{session}/messages?limit=500");
        let page = self.daemon().get(&path).await;
        let mut heard = HashMap::new();
        for recorded in page["messages"].as_array().unwrap() {
            let message = &recorded["message"];
            if message["role"] == "user" && message["meta"] != true {
                *heard.entry(said(&message["content"])).or_default() += 1;
            }
        }
        heard
    }
}

fn said(content: &Value) -> String {
    let blocks = content.as_array().cloned().unwrap_or_default();
    let texts = blocks.iter().filter_map(|block| block["text"].as_str().map(str::to_owned));
    let text = content.as_str().map_or_else(|| texts.collect::<Vec<_>>().join(" "), str::to_owned);
    text.rsplit("\n\n").next().unwrap_or_default().trim().to_owned()
}

/// The agents that a daemon has started.
fn children(daemon: u32) -> Vec<rustix::process::Pid> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_child = |number: &i32| {
        let stat = fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
        let fields = stat.rsplit_once(") ").map(|(_, fields)| fields).unwrap_or_default();
        fields.split(' ').nth(1) == Some(&daemon.to_string())
    };
    numbers.filter(is_child).filter_map(rustix::process::Pid::from_raw).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_storm_every_letter_is_delivered_once_or_is_dead() {
    requires!(npm, tmux);
    let letters = storm();
    let mut storm = Storm::brew().await;
    let long = letters > FEW;
    for _ in 0..if long { 2 } else { 0 } {
        storm.launch().await;
    }
    for number in 0..letters {
        storm.write(number).await;
        // A moment, so that they meet agents in every state.
        tokio::time::sleep(Duration::from_millis(storm.rng.random_range(0..400))).await;
        match number % FEW {
            3 => storm.kill_agent(),
            4 if long => storm.launch().await,
            6 => storm.kill_daemon().await,
            _ => {}
        }
    }
    let all = storm.calm().await;
    let mut heard = HashMap::new();
    let members = storm.daemon().get("/api/v1/team").await;
    for member in members["members"].as_array().unwrap() {
        let session = member["session"].as_str().unwrap();
        heard.insert(session.to_owned(), storm.heard(session).await);
    }
    let mut dead = 0;
    for letter in all.iter().filter(|letter| letter["to"].is_string() && letter["notice"] != true) {
        let (to, text) = (letter["to"].as_str().unwrap(), letter["text"].as_str().unwrap());
        let times = heard[to].get(text).copied().unwrap_or(0);
        match letter["state"].as_str().unwrap() {
            "delivered" => assert_eq!(times, 1, "{letter}: {heard:#?}"),
            "dead" => {
                dead += 1;
                assert!(letter["reason"].is_string(), "{letter}");
                assert_eq!(times, 0, "{letter}: {heard:#?}");
            }
            state => panic!("{state}: {letter}"),
        }
    }
    // None that was accepted is missing, and none was written twice.
    for (text, to) in &storm.sent {
        let same = |letter: &&Value| letter["text"] == **text && letter["to"] == **to;
        assert_eq!(all.iter().filter(same).count(), 1, "{text}");
    }
    for number in 0..letters {
        let passed = format!("passed note {number}.");
        assert!(all.iter().filter(|letter| letter["text"] == *passed).count() <= 1, "{passed}");
    }
    println!("{} letters, {dead} of them dead", all.len());
}
