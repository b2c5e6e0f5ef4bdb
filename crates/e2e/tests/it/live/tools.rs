//! Each tool over ACP, fused with the session file: the outline of the events is as it was read once.

use super::{Told, gemini, quietly};
use pollux_agent::acp::Policy;
use pollux_agent::model::{EventKind, Mode, Scope, Source};
use pollux_e2e::{Cli, Stage, script};
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;

/// The scripts whose trial is tried in the mode that asks nobody.
const SCRIPTS: [&str; 10] = [
    "read-file",
    "write-file",
    "edit",
    "shell",
    "list-directory",
    "grep",
    "parallel",
    "tool-error",
    "unknown-tool",
    "markdown",
];

#[tokio::test]
async fn each_tool_has_its_beginning_its_end_and_what_came_of_it() {
    for cli in Cli::all().unwrap() {
        let mut out = String::new();
        for name in SCRIPTS {
            let script = script(name).unwrap();
            let trial = script.trial().unwrap().clone();
            let stage = Stage::new(&cli, script).await.unwrap();
            let order = gemini(&stage).mode(Mode::Yolo).policy(Policy::Deny);
            let mut live = order.start().await.unwrap();
            let told = quietly(&mut live, &trial.prompt).await;
            live.close().await.unwrap();
            writeln!(out, "== {name}\n{}", outline(&told, &stage)).unwrap();
            stage.close().await;
        }
        let shown = Path::new("../snapshots/live").join(cli.like());
        insta::with_settings!({
            snapshot_path => shown,
            prepend_module_to_snapshot => false,
            omit_expression => true,
        }, {
            insta::assert_snapshot!("tools", out);
        });
    }
}

/// The calls with what came of them in the end, and what was said: no times, no ids, no paths.
fn outline(told: &Told, stage: &Stage) -> String {
    let mut out = String::new();
    for event in &told.events {
        let mut value = serde_json::to_value(event).unwrap();
        match &event.kind {
            EventKind::ToolStarted { .. } => {}
            EventKind::ToolEnded { .. } => {}
            EventKind::Unread { .. } | EventKind::Notice { .. } => {}
            EventKind::UsageChanged { scope: Scope::Run, .. } => {}
            EventKind::TurnEnded { .. } => {}
            _ => continue,
        }
        // How the two sources interleave is a matter of milliseconds; what the file adds is told last.
        let late = event.source == Source::SessionFile;
        for gone in ["id", "at", "duration_ms", "derived"] {
            value.as_object_mut().unwrap().remove(gone);
        }
        shorten(&mut value);
        if late {
            out.push_str("  file ");
        }
        writeln!(out, "{value}").unwrap();
    }
    writeln!(out, "text {:?}", told.outcome.text).unwrap();
    let out = out.replace(&stage.workspace().display().to_string(), "[workspace]");
    out.replace(&stage.home().path().display().to_string(), "[home]")
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some((before, after)) = text.split_once("Process Group PGID: ") {
                let rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
                *text = format!("{before}Process Group PGID: N{rest}");
            }
            if text.chars().count() > 300 {
                let head: String = text.chars().take(200).collect();
                *text = format!("{head}… ({} characters)", text.chars().count());
            }
        }
        Value::Array(list) => list.iter_mut().for_each(shorten),
        Value::Object(map) => map.values_mut().for_each(shorten),
        _ => {}
    }
}
