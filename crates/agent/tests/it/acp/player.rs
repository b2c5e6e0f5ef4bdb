//! An agent that is played by a test, at the other end of a pipe: it reads what the client says, and says what it is told.

use pollux_agent::acp::{Agent, Budgets, Config};
use pollux_agent::gemini::acp::Quirks;
use pollux_agent::model::Failure;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, duplex,
    split,
};

/// How much fits into the pipe, as in a pipe of Linux.
const PIPE: usize = 64 << 10;

/// The played agent's end of the pipe.
pub(super) struct Player {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    out: WriteHalf<DuplexStream>,
}

impl Player {
    /// What the client says next; none when it is gone.
    pub(super) async fn hears(&mut self) -> Option<Value> {
        let line = self.lines.next_line().await.ok()??;
        Some(serde_json::from_str(&line).expect("the client speaks JSON"))
    }

    /// Hears a request of a method, past notifications; gives its id.
    pub(super) async fn hears_request(&mut self, method: &str) -> Value {
        loop {
            let message = self.hears().await.expect("the client is there");
            if message["method"] == method {
                return message;
            }
            assert!(message.get("id").is_none(), "{method} was awaited, and {message} came");
        }
    }

    pub(super) async fn says(&mut self, line: &str) {
        self.out.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    /// Writes bytes as they are. False where the client is gone.
    pub(super) async fn writes(&mut self, bytes: &[u8]) -> bool {
        self.out.write_all(bytes).await.is_ok()
    }

    pub(super) async fn answers(&mut self, request: &Value, result: Value) {
        let answer = serde_json::json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
        self.says(&answer.to_string()).await;
    }

    /// Says hello, and opens a session.
    pub(super) async fn opens(&mut self, session: &str) {
        let hello = self.hears_request("initialize").await;
        self.answers(&hello, serde_json::json!({ "protocolVersion": 1 })).await;
        let new = self.hears_request("session/new").await;
        self.answers(&new, serde_json::json!({ "sessionId": session })).await;
    }

    pub(super) async fn updates(&mut self, session: &str, update: Value) {
        let params = serde_json::json!({ "sessionId": session, "update": update });
        let line = serde_json::json!({ "method": "session/update", "params": params });
        self.says(&line.to_string()).await;
    }
}

/// A pipe: the player at one end, and what the client is given at the other.
pub(super) fn pipe() -> (Player, DuplexStream) {
    let (ours, theirs) = duplex(PIPE);
    let (reads, out) = split(theirs);
    (Player { lines: BufReader::new(reads).lines(), out }, ours)
}

/// Short budgets: nothing here takes long but what never ends.
pub(super) fn config() -> Config {
    let mut config = Config::new("played");
    config.budgets = Budgets {
        start: Duration::from_secs(5),
        control: Duration::from_secs(5),
        cancel: Duration::from_millis(300),
        quiet: Duration::from_millis(20),
        quiet_cap: Duration::from_millis(200),
        turn: None,
    };
    config.dialect = Arc::new(Quirks::default());
    config
}

pub(super) async fn connect(config: Config, ours: DuplexStream) -> Result<Agent, Failure> {
    let (reads, writes) = split(ours);
    Agent::connect(config, reads, writes).await
}
