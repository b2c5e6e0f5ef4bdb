//! Each tool over ACP, fused with the session file: the outline of the events is as it was read once.

use super::{Told, gemini, quietly};
use pollux_agent::acp::Policy;
use pollux_agent::model::{EventKind, Mode, Scope, Source, Status};
use pollux_e2e::{Cli, Stage, requires, script};
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;

/// A prompt for each tool, in one process.
const SCRIPT: &str = r#"
[[rule]]
prompt = "read"
reply = [{ call = "read_file", args = { file_path = "hello.txt" } }]

[[rule]]
prompt = "list"
reply = [{ call = "list_directory", args = { dir_path = "." } }]

[[rule]]
prompt = "search"
reply = [{ call = "grep_search", args = { pattern = "world" } }]

[[rule]]
prompt = "edit"
reply = [{ call = "replace", args = { file_path = "hello.txt", old_string = "hello world", new_string = "hello brave new world" } }]

[[rule]]
prompt = "write"
reply = [{ call = "write_file", args = { file_path = "new.txt", content = "one\ntwo\n" } }]

[[rule]]
prompt = "run"
reply = [{ call = "run_shell_command", args = { command = "echo before; exit 3", description = "Fails with 3" } }]

[[rule]]
prompt = "both"
reply = [
  { call = "read_file", args = { file_path = "hello.txt" } },
  { call = "run_shell_command", args = { command = "echo two", description = "Says two" } },
]

[[rule]]
prompt = "missing"
reply = [{ call = "read_file", args = { file_path = "nowhere.txt" } }]

[[rule]]
prompt = "unknown"
reply = [{ call = "no_such_tool", args = { a = 1 }, exact = true }]

[[rule]]
step = "1.."
reply = "Done."
"#;

const PROMPTS: [&str; 9] =
    ["read", "list", "search", "edit", "write", "run", "both", "missing", "unknown"];

#[tokio::test]
async fn each_tool_has_its_beginning_its_end_and_what_came_of_it() {
    requires!(npm);
    for cli in Cli::some().unwrap() {
        let stage = Stage::new(&cli, SCRIPT.parse().unwrap()).await.unwrap();
        std::fs::write(stage.workspace().join("hello.txt"), "hello world\nsecond line\n").unwrap();
        let order = gemini(&stage).mode(Mode::Yolo).policy(Policy::Deny);
        let mut live = order.start().await.unwrap();
        let mut out = String::new();
        for prompt in PROMPTS {
            let told = quietly(&mut live, prompt).await;
            let open = told.calls().into_iter().filter(|(_, status)| status.is_none()).count();
            assert_eq!(open, 0, "{} {prompt}", cli.version());
            writeln!(out, "== {prompt}\n{}", outline(&told, &stage)).unwrap();
        }
        live.close().await.unwrap();
        let shown = Path::new("../snapshots/live").join(cli.like());
        insta::with_settings!({
            snapshot_path => shown,
            prepend_module_to_snapshot => false,
            omit_expression => true,
        }, {
            insta::assert_snapshot!("tools", out);
        });
        stage.close().await;
    }
}

/// The calls with what came of them in the end, and what was said: no times, no ids, no paths.
fn outline(told: &Told, stage: &Stage) -> String {
    let (mut out, mut late) = (String::new(), String::new());
    for event in &told.events {
        let shown = matches!(
            event.kind,
            EventKind::ToolStarted { .. }
                | EventKind::ToolEnded { .. }
                | EventKind::Unread { .. }
                | EventKind::Notice { .. }
                | EventKind::UsageChanged { scope: Scope::Run, .. }
                | EventKind::TurnEnded { .. }
        );
        if !shown {
            continue;
        }
        let mut value = serde_json::to_value(event).unwrap();
        // How the two sources interleave is a matter of milliseconds; what the file adds is told last.
        for gone in ["id", "at", "duration_ms", "derived"] {
            value.as_object_mut().unwrap().remove(gone);
        }
        shorten(&mut value);
        match event.source {
            Source::SessionFile => writeln!(late, "  file {value}").unwrap(),
            _ => writeln!(out, "{value}").unwrap(),
        }
    }
    out.push_str(&late);
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

#[tokio::test]
async fn a_new_file_can_be_written_through_the_client() {
    requires!(npm);
    for cli in Cli::some().unwrap() {
        let script = script("write-file").unwrap();
        let trial = script.trial().unwrap().clone();
        let stage = Stage::new(&cli, script).await.unwrap();
        let order = gemini(&stage).policy(Policy::Auto).file_reads().file_writes();
        let mut live = order.start().await.unwrap();
        let told = quietly(&mut live, &trial.prompt).await;
        live.close().await.unwrap();
        let written = ("write_file".to_owned(), Some(Status::Success));
        assert_eq!(told.calls(), [written], "{}", cli.version());
        let file = std::fs::read_to_string(stage.workspace().join("new.txt")).unwrap();
        assert_eq!(file, "line 1\nline 2\nline 3\n", "{}", cli.version());
        stage.close().await;
    }
}
