//! Another agent of the npm registry, through the same client: Claude Code behind its ACP adapter, with nobody signed in.

use pollux_agent::acp::{Agent, Config, Direction, Open};
use pollux_agent::model::Mode;
use pollux_e2e::pinned::CLAUDE_CODE_ACP;
use pollux_e2e::requires;
use serde_json::Value;
use std::sync::{Arc, Mutex};

#[tokio::test]
async fn another_agent_says_hello_and_opens_a_session() {
    requires!(npm);
    let home = CLAUDE_CODE_ACP.npm().unwrap();
    let place = tempfile::tempdir().unwrap();
    let said = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&said);
    let listener = move |way: Direction, line: &str| {
        heard.lock().unwrap().push((way, line.to_owned()));
    };
    let program = home.join("node_modules/.bin/claude-code-acp");
    let config = Config::new(program).cwd(place.path()).env("HOME", place.path());
    // It refuses to work for root, as tests in a container do, unless it is told that this is one.
    let config = config.env("IS_SANDBOX", "1").listener(Arc::new(listener));
    let agent = Agent::spawn(config).await.unwrap();
    assert_eq!(agent.about().name.as_deref(), Some("Claude Code"));
    assert_eq!(agent.about().version.as_deref(), Some(CLAUDE_CODE_ACP.version));
    assert!(agent.about().can.mcp_http && agent.about().can.load);
    assert_eq!(agent.about().auth[0].id, "claude-login");
    let session = agent.open(Open::new(place.path())).await.unwrap();
    assert!(!session.opened().models.is_empty());
    assert_eq!(session.opened().mode_id(Mode::AutoEdit), Some("acceptEdits"));
    agent.close().await;
    // Every message was also heard as it was.
    let said = said.lock().unwrap();
    let methods: Vec<Value> = said
        .iter()
        .filter(|(way, _)| *way == Direction::Out)
        .map(|(_, line)| serde_json::from_str::<Value>(line).unwrap()["method"].clone())
        .collect();
    assert_eq!(methods, ["initialize", "initialized", "session/new"]);
    assert!(said.iter().any(|(way, line)| *way == Direction::In && line.contains("claude-login")));
}
