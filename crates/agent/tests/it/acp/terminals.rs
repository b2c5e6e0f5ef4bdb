//! Commands that an agent has us run.

use super::player::{Player, config, connect, pipe};
use pollux_agent::acp::{Agent, Open};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A player that has opened a session with a client that runs commands, and where they run.
async fn stage() -> (Player, Agent, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let (mut player, ours) = pipe();
    let mut config = config().cwd(directory.path());
    config.terminals = true;
    let client = async {
        let agent = connect(config, ours).await.unwrap();
        drop(agent.open(Open::new(directory.path())).await.unwrap());
        agent
    };
    let ((), agent) = tokio::join!(player.opens("s"), client);
    (player, agent, directory)
}

/// Asks, and gives the whole answer.
async fn asks(player: &mut Player, method: &str, mut params: Value) -> Value {
    params["sessionId"] = json!("s");
    let line = json!({ "jsonrpc": "2.0", "id": method, "method": method, "params": params });
    player.says(&line.to_string()).await;
    loop {
        let message = player.hears().await.expect("the client is there");
        if message["id"] == method {
            return message;
        }
    }
}

async fn creates(player: &mut Player, params: Value) -> String {
    let answer = asks(player, "terminal/create", params).await;
    answer["result"]["terminalId"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

#[tokio::test]
async fn a_command_prints_ends_and_is_forgotten() {
    let (mut player, _agent, directory) = stage().await;
    let script = "pwd; echo \"$COLOUR\"; echo aside >&2; exit 3";
    let env = json!([{ "name": "COLOUR", "value": "blue" }]);
    let params = json!({ "command": "sh", "args": ["-c", script], "env": env });
    let id = creates(&mut player, params).await;
    let terminal = json!({ "terminalId": id });
    let exit = asks(&mut player, "terminal/wait_for_exit", terminal.clone()).await;
    assert_eq!(exit["result"], json!({ "exitCode": 3, "signal": null }));
    let output = asks(&mut player, "terminal/output", terminal.clone()).await;
    let place = directory.path().canonicalize().unwrap();
    let said = format!("{}\nblue\naside\n", place.display());
    let whole = json!({ "output": said, "truncated": false, "exitStatus": exit["result"] });
    assert_eq!(output["result"], whole);
    let again = asks(&mut player, "terminal/wait_for_exit", terminal.clone()).await;
    assert_eq!(again["result"], exit["result"], "one who comes late is told too");
    assert_eq!(asks(&mut player, "terminal/release", terminal.clone()).await["result"], json!({}));
    let gone = asks(&mut player, "terminal/output", terminal).await;
    assert_eq!(gone["error"]["code"], -32002, "{gone}");
}

#[tokio::test]
async fn a_command_that_never_ends_is_killed_and_what_it_printed_is_kept() {
    let (mut player, _agent, _directory) = stage().await;
    let script = "printf '0123456789é'; sleep 4716.25";
    let params = json!({ "command": "sh", "args": ["-c", script], "outputByteLimit": 3 });
    let terminal = json!({ "terminalId": creates(&mut player, params).await });
    let printed = loop {
        let output = asks(&mut player, "terminal/output", terminal.clone()).await;
        if output["result"]["truncated"] == true {
            break output;
        }
    };
    assert_eq!(printed["result"]["output"], "9é", "three bytes, and no half character");
    assert_eq!(printed["result"]["exitStatus"], Value::Null);
    assert_eq!(asks(&mut player, "terminal/kill", terminal.clone()).await["result"], json!({}));
    let exit = asks(&mut player, "terminal/wait_for_exit", terminal.clone()).await;
    assert_eq!(exit["result"]["signal"], "SIGKILL");
    let output = asks(&mut player, "terminal/output", terminal).await;
    assert_eq!(output["result"]["output"], "9é");
}

#[tokio::test]
async fn what_cannot_be_run_is_an_error_and_nothing_runs_elsewhere() {
    let (mut player, _agent, _directory) = stage().await;
    for params in [
        json!({}),
        json!({ "command": "" }),
        json!({ "command": "ls", "args": "not a list" }),
        json!({ "command": "ls", "cwd": "/" }),
        json!({ "command": "ls", "cwd": "../.." }),
    ] {
        let answer = asks(&mut player, "terminal/create", params.clone()).await;
        assert!(answer["error"]["code"].is_i64(), "{params}: {answer}");
    }
    let unknown = asks(&mut player, "terminal/output", json!({ "terminalId": "x" })).await;
    assert_eq!(unknown["error"]["code"], -32002);
    let unknown = asks(&mut player, "terminal/dance", json!({})).await;
    assert_eq!(unknown["error"]["code"], -32601);
}

#[tokio::test]
async fn files_and_commands_are_those_of_the_session_that_asks() {
    let (of_agent, of_session) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (mut player, ours) = pipe();
    let mut config = config().cwd(of_agent.path());
    (config.terminals, config.file_reads, config.file_writes) = (true, true, true);
    let client = async {
        let agent = connect(config, ours).await.unwrap();
        drop(agent.open(Open::new(of_session.path())).await.unwrap());
        agent
    };
    let ((), _agent) = tokio::join!(player.opens("s"), client);
    let write = json!({ "path": "a.txt", "content": "hello" });
    assert!(asks(&mut player, "fs/write_text_file", write).await["error"].is_null());
    assert!(of_session.path().join("a.txt").exists());
    let read = json!({ "path": of_session.path().join("a.txt") });
    let read = asks(&mut player, "fs/read_text_file", read).await;
    assert_eq!(read["result"]["content"], "hello", "{read}");
    let params = json!({ "command": "cat", "args": ["a.txt"] });
    let terminal = json!({ "terminalId": creates(&mut player, params).await });
    let exit = asks(&mut player, "terminal/wait_for_exit", terminal).await;
    assert_eq!(exit["result"]["exitCode"], 0, "{exit}");
    std::fs::write(of_agent.path().join("b.txt"), "not yours").unwrap();
    let out = json!({ "path": of_agent.path().join("b.txt") });
    assert_eq!(asks(&mut player, "fs/read_text_file", out).await["error"]["code"], -32602);
    for (method, params) in [
        ("fs/read_text_file", json!({ "sessionId": "who", "path": "a.txt" })),
        ("fs/write_text_file", json!({ "sessionId": "who", "path": "a.txt" })),
        ("terminal/create", json!({ "sessionId": "who", "command": "ls" })),
    ] {
        let line = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        player.says(&line.to_string()).await;
        assert_eq!(player.hears().await.unwrap()["error"]["code"], -32602, "{method}");
    }
}
