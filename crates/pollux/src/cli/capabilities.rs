//! `pollux capabilities`.

use crate::report;
use crate::report::table::{Align, Table};
use pollux_agent::gemini::{models, tools};
use serde_json::{Value, json};
use std::io::Write;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(crate) struct Capabilities {
    /// One object
    #[arg(long)]
    json: bool,
}

/// What Gemini CLI can do, whichever version and boundary.
const FEATURES: &[(&str, &str)] = &[
    ("plan_mode", "the agent plans and changes nothing (`--approval-mode plan`, since 0.34)"),
    ("permission_modes", "default, auto_edit, yolo, plan"),
    ("interrupt", "a running turn can be stopped"),
    ("resume", "a session can be taken up again by its id"),
    ("images", "a prompt may hold pictures"),
    ("streaming", "an answer can be seen while it is written"),
    ("models", "the model can be chosen"),
    ("web_search", "the agent can search the web"),
    ("thinking", "what the model thought is written down"),
];

/// The modes of approval.
const MODES: &[(&str, &str)] = &[
    ("default", "asks before each tool that changes something"),
    ("auto_edit", "edits files without asking"),
    ("yolo", "runs everything without asking"),
    ("plan", "reads and plans, changes nothing"),
];

pub(super) fn run(args: &Capabilities) -> anyhow::Result<ExitCode> {
    if args.json {
        report::json(&object())?;
    } else {
        print()?;
    }
    Ok(ExitCode::SUCCESS)
}

fn object() -> Value {
    let named = |pairs: &[(&str, &str)]| -> Vec<Value> {
        pairs.iter().map(|(id, what)| json!({ "id": id, "description": what })).collect()
    };
    let features: serde_json::Map<String, Value> =
        FEATURES.iter().map(|(name, _)| ((*name).to_owned(), json!(true))).collect();
    let tools: Vec<Value> = tools::TOOLS
        .iter()
        .map(|tool| json!({ "name": tool.name, "claude": tool.claude, "category": tool.category }))
        .collect();
    json!({
        "pollux": env!("CARGO_PKG_VERSION"),
        "agents": { "gemini": {
            "features": features,
            "slash_commands": false,
            "status_line": false,
            "effort_levels": [],
            "max_context_window": models::CONTEXT_WINDOW,
            "models": named(models::MODELS),
            "modes": named(MODES),
            "tools": tools,
        } },
        "reads": { "session_files": ["json", "jsonl"] },
        "writes": ["text", "json", "claude", "markdown", "html"],
    })
}

fn print() -> anyhow::Result<()> {
    let mut out = report::out();
    for (title, pairs) in [("feature", FEATURES), ("mode", MODES), ("model", models::MODELS)] {
        let mut table = Table::new(&[(title, Align::Left), ("what it is", Align::Flexible)]);
        for (name, what) in pairs {
            table.row(vec![(*name).into(), (*what).into()]);
        }
        table.write(&mut out, report::width())?;
        writeln!(out)?;
    }
    Ok(out.flush()?)
}
