//! The real CLI as an ACP agent on raw pipes, against scripts of the library. For what `live` does on every version too, the newest
//! has to do each time; `cargo xtask matrix` has them all.

use crate::rehearsal::paths;
use pollux_e2e::{Acp, Cli, Stage, requires};
use serde_json::{Value, json};

/// Starts an agent and a session in the stage's workspace.
async fn session(stage: &Stage) -> (Acp, String) {
    let mut agent = stage.acp(&[]).unwrap();
    let hello = json!({ "protocolVersion": 1, "clientCapabilities": {} });
    agent.call(1, "initialize", hello).await.unwrap();
    let place = json!({ "cwd": stage.workspace(), "mcpServers": [] });
    let (answer, _) = agent.call(2, "session/new", place).await.unwrap();
    let id =
        answer["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
    (agent, id)
}

fn prompt(session: &str, text: &str) -> Value {
    json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] })
}

/// The texts of all updates of one kind.
fn texts(messages: &[Value], kind: &str) -> String {
    let updates = messages.iter().map(|message| &message["params"]["update"]);
    let texts = updates.filter(|update| update["sessionUpdate"] == kind);
    texts.filter_map(|update| update["content"]["text"].as_str()).collect()
}

#[tokio::test]
async fn a_prompt_is_answered_with_its_thought() {
    requires!(npm);
    for cli in Cli::newest().unwrap() {
        let stage = Stage::with(&cli, "greeting").await.unwrap();
        let (mut agent, id) = session(&stage).await;
        let (answer, updates) =
            agent.call(3, "session/prompt", prompt(&id, "hello")).await.unwrap();
        assert_eq!(answer["result"]["stopReason"], "end_turn", "{} {answer}", cli.version());
        assert_eq!(texts(&updates, "agent_message_chunk"), "Hello from the scripted model.");
        let thought = texts(&updates, "agent_thought_chunk");
        assert!(thought.contains("Thinking about the greeting"), "{thought}");
        drop(agent);
        stage.close().await;
    }
}

#[tokio::test]
async fn a_command_that_is_approved_is_run() {
    requires!(npm);
    for cli in Cli::newest().unwrap() {
        let stage = Stage::with(&cli, "approval").await.unwrap();
        let (mut agent, id) = session(&stage).await;
        let request = json!({ "jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": prompt(&id, "touch a file") });
        agent.send(request).await.unwrap();
        let mut asked = 0;
        let answer = loop {
            let message = agent.receive().await.unwrap().expect("the agent ended");
            if message["method"] == "session/request_permission" {
                asked += 1;
                let option = once(&message);
                let outcome = json!({ "outcome": { "outcome": "selected", "optionId": option } });
                agent
                    .send(json!({ "jsonrpc": "2.0", "id": message["id"], "result": outcome }))
                    .await
                    .unwrap();
            } else if message["id"] == 3 {
                break message;
            }
        };
        assert_eq!(answer["result"]["stopReason"], "end_turn", "{} {answer}", cli.version());
        assert_eq!(asked, 1, "{}", cli.version());
        assert!(stage.workspace().join("approved.txt").exists(), "{}", cli.version());
        drop(agent);
        stage.close().await;
    }
}

/// The option that allows this one call.
fn once(message: &Value) -> String {
    let options = message["params"]["options"].as_array().unwrap();
    let option = options.iter().find(|option| option["kind"] == "allow_once").unwrap();
    option["optionId"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_gateway_is_answered_at_its_own_address() {
    requires!(npm);
    for cli in Cli::some().unwrap() {
        let stage = Stage::with(&cli, "greeting").await.unwrap();
        let mut agent = stage.acp(&[]).unwrap();
        let hello = json!({ "protocolVersion": 1, "clientCapabilities": {} });
        agent.call(1, "initialize", hello).await.unwrap();
        let address = format!("{}/gateway", stage.rehearsal().url());
        let gateway =
            json!({ "gateway": { "baseUrl": address, "headers": { "x-tenant": "castor" } } });
        let (answer, _) = agent
            .call(2, "authenticate", json!({ "methodId": "gateway", "_meta": gateway }))
            .await
            .unwrap();
        assert!(answer.get("error").is_none(), "{} {answer}", cli.version());
        let place = json!({ "cwd": stage.workspace(), "mcpServers": [] });
        let (answer, _) = agent.call(3, "session/new", place).await.unwrap();
        let id =
            answer["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
        let (_, updates) = agent.call(4, "session/prompt", prompt(&id, "hello")).await.unwrap();
        assert_eq!(
            texts(&updates, "agent_message_chunk"),
            "Hello from the scripted model.",
            "{}",
            cli.version()
        );
        let paths = paths(stage.rehearsal());
        assert!(
            paths.iter().all(|path| path.starts_with("/gateway/")),
            "{} {paths:?}",
            cli.version()
        );
        drop(agent);
        stage.close().await;
    }
}
