//! The ACP side of a recording: every message with its direction and its time.

use pollux_e2e::{Acp, Cli, Line, Stage};
use pollux_rehearsal::Script;
use serde_json::{Value, json};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// A turn that takes longer is a loop that nobody ends; what came until then is the recording.
const LONGEST_TURN: Duration = Duration::from_secs(30);

pub(super) async fn record(
    cli: &Cli,
    name: &str,
    script: &Script,
    home: &Path,
) -> anyhow::Result<()> {
    let stage = Stage::new(cli, script.clone()).await?;
    let prompt = script.trial().map(|trial| trial.prompt.clone()).unwrap_or_default();
    let mut agent = stage.acp(&[])?;
    let turn = tokio::time::timeout(LONGEST_TURN, conversation(&stage, &mut agent, &prompt)).await;
    let mut text = String::new();
    for line in &agent.log {
        writeln!(text, "{}", written(line))?;
    }
    if !matches!(turn, Ok(Ok(()))) {
        let why = turn.map_or_else(
            |_| "timed out".to_owned(),
            |turn| format!("{:#}", turn.err().unwrap_or(anyhow::anyhow!("?"))),
        );
        writeln!(text, "{}", json!({ "dir": "meta", "msg": { "ended": why } }))?;
    }
    let part = home.join("acp");
    fs::write(part.join(format!("{name}.jsonl")), text)?;
    fs::write(part.join(format!("{name}.stderr")), agent.stderr()?)?;
    drop(agent);
    super::sessions(&stage, &format!("acp-{name}"), home)?;
    stage.close().await;
    Ok(())
}

/// The message stands in the file as it was, its order of keys too.
fn written(line: &Line) -> String {
    let (dir, t) = (line.dir, line.t);
    if serde_json::from_str::<Value>(&line.text).is_ok() {
        format!(r#"{{"dir":"{dir}","t":{t},"msg":{}}}"#, line.text)
    } else {
        json!({ "dir": dir, "t": t, "raw": line.text }).to_string()
    }
}

/// One prompt; every question is answered with "once".
async fn conversation(stage: &Stage, agent: &mut Acp, prompt: &str) -> anyhow::Result<()> {
    let hello = json!({
        "protocolVersion": 1,
        "clientCapabilities": { "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false },
        "clientInfo": { "name": "recorder", "title": "Recorder", "version": "1.0.0" },
    });
    agent.call(1, "initialize", hello).await?;
    let place = json!({ "cwd": stage.workspace(), "mcpServers": [] });
    let (answer, _) = agent.call(2, "session/new", place).await?;
    let session = answer["result"]["sessionId"].clone();
    let params = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": prompt }] });
    agent
        .send(json!({ "jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": params }))
        .await?;
    while let Some(message) = agent.receive().await? {
        if message["method"] == "session/request_permission" {
            let options = message["params"]["options"].as_array().cloned().unwrap_or_default();
            let once =
                options.iter().find(|option| option["kind"] == "allow_once").or(options.first());
            let option = once.map_or(Value::Null, |option| option["optionId"].clone());
            let outcome = json!({ "outcome": { "outcome": "selected", "optionId": option } });
            agent.send(json!({ "jsonrpc": "2.0", "id": message["id"], "result": outcome })).await?;
        } else if message["id"] == 3 && message.get("method").is_none() {
            break;
        }
    }
    Ok(())
}
