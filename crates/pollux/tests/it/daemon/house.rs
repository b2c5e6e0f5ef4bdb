//! A daemon in a directory of its own, and the ways to talk to it.

use futures::{SinkExt, StreamExt};
use pollux::daemon::hub::agent::{Agents, Gemini};
use pollux::daemon::hub::servers::Servers;
use pollux::daemon::hub::terminal::Tmux;
use pollux::daemon::instance::{Daemon, Place, Serve, Surroundings, Told};
use pollux::daemon::routes::Api;
use pollux::team::store::Store;
use pollux_agent::gemini::cli::{Cli, Search, Version};
use pollux_agent::gemini::hooks::deliver::Place as HookPlace;
use pollux_agent::terminal::Socket as TmuxSocket;
use pollux_e2e::Stage;
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error as WsError, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

/// Nothing here takes longer, unless it hangs.
pub(crate) const LONGEST: Duration = Duration::from_mins(2);

pub(crate) struct House {
    pub(crate) directory: TempDir,
    pub(crate) api: Arc<Api>,
    pub(crate) origin: String,
    pub(crate) token: String,
    task: JoinSet<anyhow::Result<()>>,
    _end: End,
}

/// A test that fails leaves no thread behind that waits for ever.
struct End(Arc<Api>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.stop.cancel();
        self.0.hub.halt();
    }
}

pub(crate) fn settings() -> Serve {
    Told { port: Some(0), ..Told::default() }.settle().unwrap()
}

impl House {
    pub(crate) async fn open(agents: Agents) -> Self {
        Self::with(tempfile::tempdir().unwrap(), agents, &settings()).await
    }

    pub(crate) async fn with(directory: TempDir, agents: Agents, serve: &Serve) -> Self {
        let gemini = directory.path().join(".gemini");
        Self::at(directory, &gemini, agents, serve).await
    }

    /// A daemon whose agent is the CLI on a stage.
    pub(crate) async fn on(stage: &Stage) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let gemini = stage.home().path().join(".gemini");
        Self::at(directory, &gemini, gemini_on(stage), &settings()).await
    }

    pub(crate) async fn at(
        directory: TempDir,
        gemini: &Path,
        agents: Agents,
        serve: &Serve,
    ) -> Self {
        let place = Place::new(directory.path());
        let token = place.token();
        let gemini = gemini.to_path_buf();
        let hooks = Some(HookPlace {
            socket: directory.path().join("hooks.sock"),
            spool: directory.path().join("spool.jsonl"),
        });
        let profiles = Store {
            own: directory.path().join("profiles"),
            skills: vec![directory.path().join("skills")],
            ..Store::default()
        };
        let around = Surroundings { place, gemini, index: None, agents, hooks, profiles };
        let daemon = Daemon::open(serve, around).await.unwrap();
        let api = daemon.api();
        let origins = daemon.address.origins.clone();
        let origin = origins.iter().find(|origin| origin.contains("127.0.0.1")).cloned();
        let origin = origin.unwrap_or_else(|| origins[0].clone());
        let mut task = JoinSet::new();
        task.spawn(daemon.run());
        let token = std::fs::read_to_string(token).unwrap();
        Self { directory, _end: End(Arc::clone(&api)), api, origin, token, task }
    }

    /// Ends the daemon in order, and gives its directory back.
    pub(crate) async fn close(mut self) -> TempDir {
        self.api.stop.cancel();
        tokio::time::timeout(LONGEST, self.task.join_next())
            .await
            .unwrap()
            .unwrap()
            .unwrap()
            .unwrap();
        self.directory
    }

    pub(crate) fn host(&self) -> &str {
        self.origin.split_once("://").unwrap().1
    }

    /// A request of the owner.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.bare(method, path).bearer_auth(&self.token)
    }

    /// A request of nobody.
    pub(crate) fn bare(&self, method: Method, path: &str) -> RequestBuilder {
        client().request(method, format!("{}{path}", self.origin))
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let response = self.request(Method::GET, path).send().await.unwrap();
        let status = response.status();
        let text = response.text().await.unwrap();
        assert!(status.is_success(), "{path}: {status} {text}");
        serde_json::from_str(&text).unwrap()
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        let response = self.request(Method::POST, path).json(&body).send().await.unwrap();
        let status = response.status().as_u16();
        (status, response.json().await.unwrap_or_default())
    }

    /// Begins a session, and gives its id.
    pub(crate) async fn begin(&self, body: Value) -> String {
        let (status, summary) = self.post("/api/v1/sessions", body).await;
        assert_eq!(status, 201, "{summary}");
        summary["id"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn command(&self, session: &str, id: &str, command: Value) -> (u16, Value) {
        let path = format!("/api/v1/sessions/{session}/commands");
        self.post(&path, json!({ "id": id, "command": command })).await
    }

    pub(crate) async fn socket(&self) -> Socket {
        let bearer = format!("Bearer {}", self.token);
        Socket::open(self, &[("authorization", &bearer)]).await.unwrap()
    }
}

pub(crate) fn client() -> Client {
    // Once for the process; the second time it is there already.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    Client::builder().no_proxy().timeout(LONGEST).build().unwrap()
}

/// The CLI on a stage, as the daemon starts it.
pub(crate) fn gemini_on(stage: &Stage) -> Agents {
    gemini_with(stage, None)
}

/// The same, with hooks that tell the daemon in this directory.
pub(crate) fn gemini_with(stage: &Stage, hooks: Option<&Path>) -> Agents {
    let version = stage.cli().version();
    let mut parts = version.split('.').map(|part| part.parse().unwrap());
    let version = Version::new(parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
    let cli = Cli { path: stage.cli().program().to_path_buf(), version: Some(version) };
    let hooks = hooks.map(|directory| {
        let socket = directory.join("hooks.sock").display().to_string();
        ("GEMINI_CLI_POLLUX_SOCKET", socket)
    });
    let env = stage.env().into_iter().chain(hooks);
    let env = env.map(|(name, value)| (name.into(), value.into())).collect();
    let aside = stage.home().path().join("aside");
    let home = stage.home().path().to_path_buf();
    let tmux = TmuxSocket::Path(home.join("tmux.sock"));
    let tmux = Tmux::new(Servers::new(tmux, &home));
    Agents::gemini(Gemini {
        cli: Some(cli),
        search: Search::default(),
        home,
        aside,
        env,
        tmux,
        badges: Arc::default(),
    })
}

/// A CLI that is not there, with its terminals on this server.
pub(crate) fn gemini_in(home: &Path, tmux: TmuxSocket) -> Agents {
    Agents::gemini(Gemini {
        cli: None,
        search: Search::default(),
        home: home.to_path_buf(),
        aside: home.join("aside"),
        env: Vec::new(),
        tmux: Tmux::new(Servers::new(tmux, home)),
        badges: Arc::default(),
    })
}

/// A WebSocket, as a client has it.
pub(crate) struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Socket {
    pub(crate) async fn open(house: &House, headers: &[(&str, &str)]) -> Result<Self, WsError> {
        let mut request = format!("ws://{}/api/v1/ws", house.host()).into_client_request().unwrap();
        for (name, value) in headers {
            let name: reqwest::header::HeaderName = name.parse().unwrap();
            request.headers_mut().insert(name, value.parse().unwrap());
        }
        let (socket, _) = tokio_tungstenite::connect_async(request).await?;
        Ok(Self(socket))
    }

    pub(crate) async fn say(&mut self, frame: Value) {
        self.0.send(Message::text(frame.to_string())).await.unwrap();
    }

    /// The next frame; none when the daemon has closed.
    pub(crate) async fn try_next(&mut self) -> Option<Value> {
        loop {
            let message = tokio::time::timeout(LONGEST, self.0.next()).await.expect("a frame");
            match message? {
                Ok(Message::Text(text)) => return Some(serde_json::from_str(&text).unwrap()),
                Ok(Message::Close(_)) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    pub(crate) async fn next(&mut self) -> Value {
        self.try_next().await.expect("the daemon has closed")
    }

    /// The next frame of a kind; others are passed over.
    pub(crate) async fn next_of(&mut self, kind: &str) -> Value {
        loop {
            let frame = self.next().await;
            if frame["type"] == kind {
                return frame;
            }
        }
    }

    /// Frames until one fits, which is the last.
    pub(crate) async fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut frames = Vec::new();
        loop {
            let frame = self.next().await;
            let done = fits(&frame);
            frames.push(frame);
            if done {
                return frames;
            }
        }
    }
}

pub(crate) fn subscribe(id: &str) -> Value {
    json!({ "type": "subscribe", "session_id": id })
}

/// True for the frame after which a session has nothing more to do.
pub(crate) fn is_idle(frame: &Value) -> bool {
    frame["type"] == "session" && frame["session"]["status"] == "idle"
}

pub(crate) async fn wait_until(label: &str, condition: impl FnMut() -> bool) {
    pollux_e2e::wait_until(label, LONGEST, condition).await;
}

/// Frames until the turn that was just asked for is over.
pub(crate) async fn turn(socket: &mut Socket) -> Vec<Value> {
    let mut frames = socket.until(|frame| frame["session"]["status"] == "working").await;
    frames.extend(socket.until(is_idle).await);
    frames
}
