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
