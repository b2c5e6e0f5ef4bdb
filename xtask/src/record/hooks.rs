//! The hooks side of a recording: what each hook was given, and the order in which they fired.

use pollux_e2e::{Cli, Stage, repository};
use pollux_rehearsal::{Home, Script};
use serde_json::{Map, Value, json};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

/// All that some version fires.
const EVENTS: [&str; 11] = [
    "SessionStart",
    "SessionEnd",
    "BeforeAgent",
    "AfterAgent",
    "BeforeModel",
    "AfterModel",
    "BeforeToolSelection",
    "BeforeTool",
    "AfterTool",
    "Notification",
    "PreCompress",
];

pub(super) async fn record(
    cli: &Cli,
    name: &str,
    script: &Script,
    home: &Path,
) -> anyhow::Result<()> {
    let Some(trial) = script.trial() else { return Ok(()) };
    let stage = Stage::new(cli, script.clone()).await?;
    let taken = stage.home().path().join("hooks.jsonl");
    let settings = settings(&taken);
    fs::write(stage.home().gemini().join("settings.json"), settings.to_string())?;
    let args: Vec<&str> = trial.args.iter().map(String::as_str).collect();
    stage.headless(&trial.prompt, &args).await?;
    let text = fs::read_to_string(&taken).unwrap_or_default();
    let fired: Vec<Value> =
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    write(&fired, name, &home.join("hooks"))?;
    fs::write(home.join("hooks/_config.json"), format!("{:#}\n", json!({ "settings": settings })))?;
    stage.close().await;
    Ok(())
}

fn settings(taken: &Path) -> Value {
    let program = repository().join("crates/e2e/fixtures/hook.js");
    let hook = |event: &&str| {
        let command = format!("node '{}' '{}' {event}", program.display(), taken.display());
        let hook = json!({ "type": "command", "name": format!("record-{event}"), "command": command, "timeout": 10_000 });
        ((*event).to_owned(), json!([{ "matcher": "*", "hooks": [hook] }]))
    };
    let mut settings = Home::settings();
    settings["hooks"] = Value::Object(EVENTS.iter().map(hook).collect::<Map<_, _>>());
    // The switch of the versions in which hooks were an experiment.
    settings["tools"] = json!({ "enableHooks": true });
    settings
}

/// Adds to `<Event>.json`, a list, and to `_order.txt`.
fn write(fired: &[Value], name: &str, part: &Path) -> anyhow::Result<()> {
    let mode = format!("headless:{name}");
    let mut order = File::options().create(true).append(true).open(part.join("_order.txt"))?;
    for line in fired {
        let event = line["event"].as_str().unwrap_or("unknown");
        writeln!(order, "{mode}\t{event}")?;
        let file = part.join(format!("{event}.json"));
        let mut all: Vec<Value> = match fs::read_to_string(&file) {
            Ok(text) => serde_json::from_str(&text)?,
            Err(_) => Vec::new(),
        };
        all.push(json!({ "mode": mode, "payload": line["payload"], "env_names": line["env_names"], "cwd_and_values": line["values"] }));
        fs::write(file, format!("{:#}\n", Value::Array(all)))?;
    }
    Ok(())
}
