//! The handles of an agent and of its sessions. What they are told to do is done by the engine, in its own task.

use super::about::{About, Opened};
use super::config::{Config, McpServer, Step};
use super::connection::Connection;
use super::engine::Engine;
use crate::model::{Event, Failure, Mode, Outcome, Phase};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::{CancellationToken, DropGuard};

/// How many orders may wait.
const ORDERS: usize = 64;
/// How many events of one session may wait for its reader. When there are more, the agent is read no further until there
/// is room: a slow reader slows the agent.
pub(super) const WAITING: usize = 1024;

/// An agent that runs. Dropping it ends it, and all that it started, at once.
///
/// ```
/// use pollux_agent::acp::{Agent, Config, Open, Prompt};
/// use pollux_agent::model::EventKind;
/// # use std::os::unix::fs::PermissionsExt;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), pollux_agent::model::Failure> {
/// # let directory = tempfile::tempdir().unwrap();
/// # let path = directory.path().join("agent");
/// # let script = r#"#!/bin/sh
/// # while read -r line; do case "$line" in
/// # *initialize\"*) echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}';;
/// # *session/new*) echo '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s1"}}';;
/// # *session/prompt*)
/// # echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Hi there."}}}}'
/// # echo '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}';;
/// # esac; done
/// # "#.trim_start();
/// # std::fs::write(&path, script).unwrap();
/// # std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
/// # let cwd = directory.path();
/// let agent = Agent::spawn(Config::new(path).cwd(cwd)).await?;
/// let mut session = agent.open(Open::new(cwd)).await?;
/// session.control().prompt(Prompt::text("hello")).await?;
/// while let Some(event) = session.next().await {
///     println!("{}", serde_json::to_string(&event).unwrap());
///     if matches!(event.kind, EventKind::TurnEnded { .. }) {
///         break;
///     }
/// }
/// assert_eq!(session.outcome().unwrap().text, "Hi there.");
/// agent.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Agent {
    orders: mpsc::Sender<Order>,
    about: About,
    kill: DropGuard,
    task: JoinSet<String>,
}

/// A session to be opened.
#[derive(Debug, Clone)]
pub struct Open {
    /// Where the agent shall work.
    pub cwd: PathBuf,
    /// The session to go on with; none for a new one.
    pub load: Option<String>,
    /// MCP servers that the agent shall use.
    pub mcp: Vec<McpServer>,
}

impl Open {
    /// A new session in a directory.
    pub fn new(cwd: impl Into<PathBuf>) -> Self {
        Self { cwd: cwd.into(), load: None, mcp: Vec::new() }
    }

    /// The session with an id instead of a new one.
    #[must_use]
    pub fn load(mut self, id: impl Into<String>) -> Self {
        self.load = Some(id.into());
        self
    }

    /// The same with an MCP server.
    #[must_use]
    pub fn mcp(mut self, server: McpServer) -> Self {
        self.mcp.push(server);
        self
    }
}

/// A prompt: blocks of the protocol, and how far the turn may go.
#[derive(Debug, Clone)]
pub struct Prompt {
    /// The words, for the event that begins the turn.
    pub(super) words: String,
    pub(super) blocks: Vec<Value>,
    pub(super) timeout: Option<Duration>,
    pub(super) max_turns: Option<u64>,
}

impl Prompt {
    /// A prompt of words.
    pub fn text(words: impl Into<String>) -> Self {
        let words = words.into();
        let blocks = vec![json!({ "type": "text", "text": words })];
        Self { words, blocks, timeout: None, max_turns: None }
    }

    /// A prompt of blocks, in the protocol's words: texts, pictures, files.
    ///
    /// ```
    /// use pollux_agent::acp::Prompt;
    /// use serde_json::json;
    ///
    /// let picture = json!({ "type": "image", "mimeType": "image/png", "data": "aGVsbG8=" });
    /// let prompt = Prompt::of(vec![json!({ "type": "text", "text": "what is this?" }), picture]);
    /// assert_eq!(prompt.words(), "what is this?");
    /// ```
    pub fn of(blocks: Vec<Value>) -> Self {
        let texts = blocks.iter().filter_map(|block| block["text"].as_str());
        let words = texts.collect::<Vec<_>>().join("\n\n");
        Self { words, blocks, timeout: None, max_turns: None }
    }

    /// Its words.
    pub fn words(&self) -> &str {
        &self.words
    }

    /// The same with a file that belongs to it.
    #[must_use]
    pub fn attach(mut self, file: &std::path::Path) -> Self {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let uri = format!("file://{}", file.display());
        self.blocks.push(json!({ "type": "resource_link", "name": name, "uri": uri }));
        self
    }

    /// The same with a picture, whose bytes are written in Base64.
    #[must_use]
    pub fn image(mut self, media_type: &str, data: &str) -> Self {
        self.blocks.push(json!({ "type": "image", "mimeType": media_type, "data": data }));
        self
    }

    /// The same with a limit of time.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// The same with a limit of how often the model may be asked.
    #[must_use]
    pub fn max_turns(mut self, turns: u64) -> Self {
        self.max_turns = Some(turns);
        self
    }

    /// True where nothing is said. Gemini CLI never answers again in a session that was given such a prompt.
    fn is_empty(&self) -> bool {
        let is_text = |block: &Value| block["type"] == "text";
        self.words.trim().is_empty() && self.blocks.iter().all(is_text)
    }
}

/// What the engine is told.
pub(super) enum Order {
    Authenticate { params: Value, reply: Reply<()> },
    Open { open: Open, reply: Reply<Ready> },
    Session { id: String, what: What, reply: Reply<()> },
    Change { id: String, to: Change, reply: Reply<()> },
    Stop { reply: oneshot::Sender<()> },
}

/// What the engine is told about one session.
pub(super) enum What {
    Prompt(Prompt),
    Answer { question: String, choice: String, reason: Option<String> },
    Cancel,
    Mode(Wanted),
    Model(String),
}

/// What of a session is to be another one.
pub(super) enum Change {
    Mode(Mode),
    Model(String),
}

/// A mode, in our words or in the agent's own.
pub(super) enum Wanted {
    Mode(Mode),
    Id(String),
}

pub(super) type Reply<T> = oneshot::Sender<Result<T, Failure>>;

/// A session that is ready: what its handle is made of.
pub(super) struct Ready {
    pub(super) opened: Opened,
    pub(super) events: mpsc::Receiver<Event<'static>>,
    pub(super) outcome: Arc<Mutex<Option<Outcome>>>,
}

impl Agent {
    /// Starts an agent, and waits until it has said what it can do.
    pub async fn spawn(config: Config) -> Result<Self, Failure> {
        let connection = Connection::open(&config)?;
        Self::greet(connection, config).await
    }

    /// The same with an agent that runs already, at the other end of a pipe or a socket.
    pub async fn connect(
        config: Config,
        reads: impl AsyncRead + Send + Unpin + 'static,
        writes: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Result<Self, Failure> {
        let connection = Connection::over(&config, Box::new(reads), Box::new(writes));
        Self::greet(connection, config).await
    }

    async fn greet(connection: Connection, config: Config) -> Result<Self, Failure> {
        let (orders, received) = mpsc::channel(ORDERS);
        let kill = CancellationToken::new();
        let (reply, about) = oneshot::channel();
        let engine = Engine::new(connection, config, received, kill.clone());
        let mut task = JoinSet::new();
        task.spawn(engine.run(reply));
        let about = about.await.map_err(|_gone| gone(Step::Handshake))??;
        Ok(Self { orders, about, kill: kill.drop_guard(), task })
    }

    /// What it says about itself.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// Signs in, in one of the ways that the agent offers. Gemini CLI writes the way into the user's settings.
    pub async fn authenticate(&self, method: &str, meta: Option<Value>) -> Result<(), Failure> {
        let mut params = json!({ "methodId": method });
        if let Some(meta) = meta {
            params["_meta"] = meta;
        }
        ask(&self.orders, |reply| Order::Authenticate { params, reply }).await
    }

    /// Opens a session. An agent may have several at once.
    pub async fn open(&self, open: Open) -> Result<Session, Failure> {
        let ready = ask(&self.orders, |reply| Order::Open { open, reply }).await?;
        let control = Control { id: ready.opened.session_id.clone(), orders: self.orders.clone() };
        Ok(Session { opened: ready.opened, events: ready.events, outcome: ready.outcome, control })
    }

    /// Ends the agent: closes its stdin, waits a moment, then ends all that is left of it. Gives the last of its stderr.
    pub async fn close(mut self) -> String {
        let (reply, stopped) = oneshot::channel();
        if self.orders.send(Order::Stop { reply }).await.is_ok() {
            drop(stopped.await);
        }
        let stderr = self.task.join_next().await.and_then(Result::ok).unwrap_or_default();
        drop(self.kill);
        stderr
    }
}

async fn ask<T>(
    orders: &mpsc::Sender<Order>,
    order: impl FnOnce(Reply<T>) -> Order,
) -> Result<T, Failure> {
    let (reply, answer) = oneshot::channel();
    orders.send(order(reply)).await.map_err(|_gone| gone(Step::Control))?;
    answer.await.map_err(|_gone| gone(Step::Control))?
}

fn gone(step: Step) -> Failure {
    let phase = if step == Step::Handshake { Phase::Handshake } else { Phase::Request };
    Failure::new(phase, "agent_gone", "the agent has exited").hint("start it again")
}

/// A session of an agent: its events, in order, each once.
#[derive(Debug)]
pub struct Session {
    opened: Opened,
    events: mpsc::Receiver<Event<'static>>,
    outcome: Arc<Mutex<Option<Outcome>>>,
    control: Control,
}

impl Session {
    /// The next event; none when the agent is gone.
    pub async fn next(&mut self) -> Option<Event<'static>> {
        self.events.recv().await
    }

    /// What the agent said when it opened the session.
    pub fn opened(&self) -> &Opened {
        &self.opened
    }

    /// What came of the last turn, once its `turn_ended` was told. To be taken once.
    pub fn outcome(&mut self) -> Option<Outcome> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// What steers the session, from anywhere, while somebody else reads its events.
    pub fn control(&self) -> Control {
        self.control.clone()
    }
}

/// Steers a session. Every order is answered at once with whether it was accepted; what comes of it is told by events.
#[derive(Debug, Clone)]
pub struct Control {
    id: String,
    orders: mpsc::Sender<Order>,
}

impl Control {
    /// The id of the session.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Gives the agent a prompt. Refused where it still works, and where nothing is said.
    pub async fn prompt(&self, prompt: Prompt) -> Result<(), Failure> {
        if prompt.is_empty() {
            let failure = Failure::new(Phase::Start, "no_prompt", "the prompt is empty");
            return Err(failure.hint("pass it as an argument or on stdin"));
        }
        self.order(What::Prompt(prompt)).await
    }

    /// Answers a question with one of its options. The first answer wins; a second one is told the true outcome.
    pub async fn answer(
        &self,
        question: impl Into<String>,
        choice: impl Into<String>,
        reason: Option<String>,
    ) -> Result<(), Failure> {
        let (question, choice) = (question.into(), choice.into());
        self.order(What::Answer { question, choice, reason }).await
    }

    /// Stops the turn: open questions are answered as cancelled, then the agent is told. It ends within a bound, even if
    /// the agent does not answer.
    pub async fn cancel(&self) -> Result<(), Failure> {
        self.order(What::Cancel).await
    }

    /// Changes what the agent may do without asking.
    pub async fn set_mode(&self, mode: Mode) -> Result<(), Failure> {
        self.order(What::Mode(Wanted::Mode(mode))).await
    }

    /// The same in the agent's words: one of the modes that it offers, whether we have a word for it or not.
    pub async fn set_mode_id(&self, id: impl Into<String>) -> Result<(), Failure> {
        self.order(What::Mode(Wanted::Id(id.into()))).await
    }

    /// Changes the model, in the agent's words.
    pub async fn set_model(&self, model: impl Into<String>) -> Result<(), Failure> {
        self.order(What::Model(model.into())).await
    }

    /// The same as [`Control::set_mode`], but waits until the agent has done it, and fails where it refuses. Only for those whose
    /// events somebody else reads: an agent is not read while its events wait.
    pub async fn change_mode(&self, mode: Mode) -> Result<(), Failure> {
        self.change(Change::Mode(mode)).await
    }

    /// The same as [`Control::set_model`], with what [`Control::change_mode`] does differently.
    pub async fn change_model(&self, model: impl Into<String>) -> Result<(), Failure> {
        self.change(Change::Model(model.into())).await
    }

    async fn change(&self, to: Change) -> Result<(), Failure> {
        ask(&self.orders, |reply| Order::Change { id: self.id.clone(), to, reply }).await
    }

    async fn order(&self, what: What) -> Result<(), Failure> {
        ask(&self.orders, |reply| Order::Session { id: self.id.clone(), what, reply }).await
    }
}
