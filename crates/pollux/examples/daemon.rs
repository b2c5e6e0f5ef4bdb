//! The figures of the daemon, as one JSON object: what `cargo xtask bench daemon` runs. Its argument is the program.
#![expect(clippy::print_stdout, reason = "printing figures is all that it does")]
#![expect(clippy::unwrap_used, reason = "a measurement that cannot be made has no figure")]
#![expect(clippy::cast_precision_loss, reason = "figures have few digits")]

use futures::future::BoxFuture;
use futures::{SinkExt, StreamExt};
use pollux::api::Driver;
use pollux::daemon::hub::agent::{Agent, Agents, Events, Orders, Wanted};
use pollux::daemon::instance::{Daemon, Place, Surroundings, Told};
use pollux_agent::model::{Event, EventKind, Failure, Part, Source, Text};
use pollux_agent::session::Order;
use rand::RngExt;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

type Says = mpsc::Sender<Event<'static>>;
type Spoken = Arc<Mutex<HashMap<String, Says>>>;
type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

struct Hears(mpsc::Receiver<Event<'static>>);

impl Events for Hears {
    fn next(&mut self) -> BoxFuture<'_, Option<Event<'static>>> {
        Box::pin(self.0.recv())
    }
}

struct Deaf;

impl Orders for Deaf {
    fn order(&self, _: Order) -> BoxFuture<'static, Result<(), Failure>> {
        Box::pin(async { Ok(()) })
    }
}

/// Agents that say what the measurement wants.
fn agents(spoken: &Spoken) -> Agents {
    let spoken = Arc::clone(spoken);
    let start = move |wanted: Wanted| -> BoxFuture<'static, Result<Agent, Failure>> {
        let (says, hears) = mpsc::channel(8192);
        spoken.lock().unwrap().insert(wanted.id, says);
        let agent = Agent { events: Box::new(Hears(hears)), orders: Arc::new(Deaf), ready: true };
        Box::pin(async { Ok(agent) })
    };
    Agents::of(Arc::new(start), vec![Driver::Acp])
}

struct House {
    api: Arc<pollux::daemon::routes::Api>,
    host: String,
    token: String,
    spoken: Spoken,
    directory: tempfile::TempDir,
    _task: JoinSet<anyhow::Result<()>>,
}

impl House {
    async fn open() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let spoken = Spoken::default();
        let place = Place::new(directory.path());
        let token = place.token();
        let gemini = directory.path().join(".gemini");
        let (agents, profiles) = (agents(&spoken), pollux::team::store::Store::default());
        let around = Surroundings { place, gemini, index: None, agents, hooks: None, profiles };
        let serve = Told { port: Some(0), ..Told::default() }.settle().unwrap();
        let daemon = Daemon::open(&serve, around).await.unwrap();
        let host = daemon.address.origins[0].split_once("://").unwrap().1.to_owned();
        let api = daemon.api();
        let mut task = JoinSet::new();
        task.spawn(daemon.run());
        let token = std::fs::read_to_string(token).unwrap();
        Self { api, host, token, spoken, directory, _task: task }
    }

    async fn begin(&self) -> String {
        let begin = pollux::api::Begin {
            cwd: self.directory.path().to_path_buf(),
            ..pollux::api::Begin::default()
        };
        let by = pollux_agent::session::By::owner();
        let id = self.api.hub.begin(begin, &by).await.unwrap().id.clone();
        while !self.spoken.lock().unwrap().contains_key(&id) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        id
    }

    async fn say(&self, id: &str, text: String) {
        let says = self.spoken.lock().unwrap().get(id).cloned().unwrap();
        let part = Part::Text;
        let kind = EventKind::TextGrew { part, text: Text::from(text), message_id: None };
        says.send(Event::new(Source::Acp, kind)).await.unwrap();
    }

    async fn written(&self, id: &str, seq: u64) {
        while self.api.hub.feed(id).unwrap().1.head().0 < seq {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    async fn join(&self, id: &str, seen: Option<(u64, u64)>) -> Socket {
        let mut request = format!("ws://{}/api/v1/ws", self.host).into_client_request().unwrap();
        let bearer = format!("Bearer {}", self.token);
        request.headers_mut().insert("authorization", bearer.parse().unwrap());
        let (mut socket, _) = tokio_tungstenite::connect_async(request).await.unwrap();
        let mut frame = json!({ "type": "subscribe", "session_id": id });
        if let Some((after, epoch)) = seen {
            frame["after"] = json!(after);
            frame["epoch"] = json!(epoch);
        }
        socket.send(Message::text(frame.to_string())).await.unwrap();
        socket
    }
}

async fn next(socket: &mut Socket) -> (Value, usize) {
    loop {
        if let Message::Text(text) = socket.next().await.unwrap().unwrap() {
            return (serde_json::from_str(&text).unwrap(), text.len());
        }
    }
}

/// Waits for the snapshot. Gives its bytes.
async fn snapshot(socket: &mut Socket) -> usize {
    loop {
        let (frame, bytes) = next(socket).await;
        if frame["type"] == "snapshot" {
            return bytes;
        }
    }
}

fn micros() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros()).unwrap()
}

fn rss(pid: &str) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0");
    line.trim().trim_end_matches(" kB").trim().parse::<f64>().unwrap_or(0.0) / 1024.0
}

/// The program from its start to its first answer, and what it holds when it does nothing.
#[expect(clippy::disallowed_methods, reason = "the program is what is measured")]
fn started(program: &Path) -> (f64, f64) {
    let data = tempfile::tempdir().unwrap();
    let mut command = Command::new(program);
    command.args(["serve", "--port", "0"]).stdin(Stdio::null()).stderr(Stdio::null());
    command.env("XDG_DATA_HOME", data.path()).env("XDG_CACHE_HOME", data.path());
    command.env("XDG_CONFIG_HOME", data.path()).env("GEMINI_CLI_HOME", data.path());
    let since = Instant::now();
    let mut child = command.spawn().unwrap();
    let socket = data.path().join("pollux/daemon/socket");
    let took = loop {
        if let Ok(mut stream) = UnixStream::connect(&socket) {
            stream.write_all(b"GET /api/v1/health HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
            let mut answer = [0; 64];
            if stream.read(&mut answer).is_ok_and(|count| count > 0) {
                break since.elapsed();
            }
        }
        std::thread::sleep(Duration::from_micros(200));
    };
    std::thread::sleep(Duration::from_secs(2));
    let memory = rss(&child.id().to_string());
    child.kill().unwrap();
    child.wait().unwrap();
    (took.as_secs_f64() * 1e3, memory)
}

/// From what an agent says to the frame, one at a time.
async fn latency(house: &House) -> (f64, f64) {
    let id = house.begin().await;
    let mut socket = house.join(&id, None).await;
    // What is said before is part of the snapshot, and no frame of its own.
    snapshot(&mut socket).await;
    let mut took = Vec::new();
    for _ in 0..2_000 {
        house.say(&id, format!("@{} ", micros())).await;
        loop {
            let (frame, _) = next(&mut socket).await;
            let Some(event) = frame["events"].as_array().and_then(|events| events.last()) else {
                continue;
            };
            let sent = event["event"]["text"].as_str().unwrap().trim_matches(['@', ' ']).to_owned();
            took.push(micros().saturating_sub(sent.parse().unwrap()));
            break;
        }
    }
    took.sort_unstable();
    let at = |part: usize| took[took.len() * part / 100] as f64 / 1e3;
    (at(50), at(99))
}

/// Five thousand events a second over twenty sessions with five clients each: how many were lost, and how long it took.
async fn load(house: &Arc<House>) -> (u64, f64) {
    const SESSIONS: usize = 20;
    const EACH: u64 = 1_250;
    let mut ids = Vec::new();
    for _ in 0..SESSIONS {
        ids.push(house.begin().await);
    }
    let mut clients = JoinSet::new();
    for id in ids.iter().flat_map(|id| std::iter::repeat_n(id.clone(), 5)) {
        let mut socket = house.join(&id, None).await;
        clients.spawn(async move {
            let (mut seq, mut lost) = (0, 0);
            while seq < EACH {
                let (frame, _) = next(&mut socket).await;
                if frame["type"] == "snapshot" {
                    seq = frame["seq"].as_u64().unwrap();
                }
                for event in frame["events"].as_array().into_iter().flatten() {
                    let now = event["seq"].as_u64().unwrap();
                    lost += u64::from(now != seq + 1);
                    seq = now;
                }
            }
            lost
        });
    }
    let since = Instant::now();
    let mut beat = tokio::time::interval(Duration::from_millis(4));
    for _ in 0..EACH {
        beat.tick().await;
        for id in &ids {
            house.say(id, "a few words of an answer that grows ".into()).await;
        }
    }
    let mut lost = 0;
    while let Some(client) = clients.join_next().await {
        lost += client.unwrap();
    }
    (lost, since.elapsed().as_secs_f64())
}

/// The first page of a session of fifty thousand events.
async fn first_page(house: &House) -> (f64, f64) {
    let id = house.begin().await;
    for number in 0..50_000 {
        house.say(&id, format!("word {number} ")).await;
    }
    house.written(&id, 50_000).await;
    let mut best = (f64::MAX, 0.0);
    for _ in 0..5 {
        let since = Instant::now();
        let mut socket = house.join(&id, None).await;
        let bytes = snapshot(&mut socket).await;
        let took = since.elapsed().as_secs_f64() * 1e3;
        if took < best.0 {
            best = (took, bytes as f64 / 1e3);
        }
    }
    best
}

/// Takes the next frame in, where one comes soon. Gives how much was wrong about it.
async fn heard(socket: &mut Socket, place: &mut Option<(u64, u64)>) -> u64 {
    let soon = Duration::from_millis(20);
    let Ok((frame, _)) = tokio::time::timeout(soon, next(socket)).await else { return 0 };
    let mut wrong = 0;
    if frame["type"] == "snapshot" {
        let seq = frame["seq"].as_u64().unwrap();
        wrong += u64::from(place.is_some_and(|(known, _)| seq < known));
        *place = Some((seq, frame["epoch"].as_u64().unwrap()));
    }
    for event in frame["events"].as_array().into_iter().flatten() {
        let now = (event["seq"].as_u64().unwrap(), event["epoch"].as_u64().unwrap());
        wrong += u64::from(place.is_none_or(|(seq, _)| now.0 != seq + 1));
        *place = Some(now);
    }
    wrong
}

/// Joining, lagging and coming back at random, ten thousand times: how many events were lost or came twice.
async fn reconnects(house: &Arc<House>) -> (u64, u64) {
    let id = house.begin().await;
    let mut clients = JoinSet::new();
    for _ in 0..10 {
        let (house, id) = (Arc::clone(house), id.clone());
        clients.spawn(async move {
            let mut place = None;
            let mut wrong = 0;
            for _ in 0..1_000 {
                let mut socket = house.join(&id, place).await;
                let frames = rand::rng().random_range(2..5);
                for _ in 0..frames {
                    wrong += heard(&mut socket, &mut place).await;
                }
            }
            wrong
        });
    }
    let mut wrong = 0;
    let mut joined = 0;
    let mut beat = tokio::time::interval(Duration::from_millis(2));
    loop {
        tokio::select! {
            done = clients.join_next() => match done {
                Some(done) => { wrong += done.unwrap(); joined += 1_000; }
                None => return (wrong, joined),
            },
            _ = beat.tick() => house.say(&id, "on and on ".into()).await,
        }
    }
}

#[tokio::main]
async fn main() {
    let program = std::env::args_os().nth(1).unwrap();
    let (start, idle) = started(Path::new(&program));
    let house = Arc::new(House::open().await);
    let before = rss("self");
    for _ in 0..200 {
        house.begin().await;
    }
    let each = (rss("self") - before) / 200.0;
    let (p50, p99) = latency(&house).await;
    let (lost, seconds) = load(&house).await;
    let (page, kilobytes) = first_page(&house).await;
    let (wrong, joined) = reconnects(&house).await;
    let figures = json!({
        "start_ms": start, "idle_mb": idle, "session_mb": each, "p50_ms": p50, "p99_ms": p99,
        "lost": lost, "load_seconds": seconds, "page_ms": page, "page_kb": kilobytes,
        "wrong": wrong, "joined": joined,
    });
    println!("{figures}");
    house.api.stop.cancel();
    house.api.hub.halt();
}
