//! `pollux capabilities`.

mod probe;

use super::session::runtime;
use crate::config::Config;
use crate::report;
use crate::report::table::{Align, Table};
use pollux_agent::gemini::cli::{self, Account, Cli, State, Version, account};
use pollux_agent::gemini::{models, tools};
use pollux_agent::model::Failure;
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(crate) struct Capabilities {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Gemini CLI executable
    #[arg(long, value_name = "FILE")]
    agent_path: Option<PathBuf>,
    /// Start the agent and show its answers to `initialize` and `session/new`
    #[arg(long)]
    probe: bool,
    /// Probe another agent: a command that speaks the Agent Client Protocol
    #[arg(long, value_name = "COMMAND", requires = "probe", conflicts_with = "agent_path")]
    agent_command: Option<String>,
}

/// What Gemini CLI can do, whichever version and boundary.
const FEATURES: &[(&str, &str)] = &[
    ("plan_mode", "the agent plans without changing anything (`--approval-mode plan`)"),
    ("permission_modes", "default, auto_edit, yolo, plan"),
    ("interrupt", "a running turn can be cancelled"),
    ("resume", "a session can be resumed by its ID"),
    ("images", "a prompt can include images"),
    ("streaming", "answers are streamed while they are written"),
    ("models", "the model can be selected"),
    ("web_search", "the agent can search the web"),
    ("thinking", "the model's thoughts are recorded"),
];

/// The ways to talk to the agent.
const DRIVERS: &[(&str, &str)] = &[
    ("acp", "a running session that can ask questions: `pollux run`, the default"),
    ("headless", "one process per prompt, which cannot ask questions: `pollux run --via headless`"),
    ("terminal", "the agent's own screen in tmux, for people and programs: `pollux new`"),
];

/// The modes of approval.
const MODES: &[(&str, &str)] = &[
    ("default", "asks before each tool that changes something; read-only in headless runs"),
    ("auto_edit", "edits files without asking"),
    ("yolo", "runs everything without asking"),
    ("plan", "reads and plans, changes nothing"),
];

pub(super) fn run(args: &Capabilities, config: &Config) -> anyhow::Result<ExitCode> {
    if args.probe {
        return probe::run(args, config);
    }
    let found = Found::new(args, config)?;
    if args.json {
        report::json(&object(&found))?;
    } else {
        print(&found)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The agent on this machine.
struct Found {
    cli: Option<Cli>,
    state: State,
    account: Account,
    /// Why it was not found.
    missing: Option<Failure>,
}

impl Found {
    fn new(args: &Capabilities, config: &Config) -> anyhow::Result<Self> {
        let runtime = runtime()?;
        let found = runtime.block_on(config.installed(args.agent_path.as_ref()));
        let is_set = |name: &str| config.variables.iter().any(|set| set == name);
        let account = account(&config.gemini, &is_set);
        let (cli, missing) = match found {
            Ok(cli) => (Some(cli), None),
            Err(failure) => (None, Some(failure)),
        };
        Ok(Self { state: State::of(cli.as_ref(), account), cli, account, missing })
    }

    fn version(&self) -> Option<Version> {
        self.cli.as_ref().and_then(|cli| cli.version)
    }

    fn object(&self) -> Value {
        json!({
            "state": self.state,
            "advice": self.advice(),
            "path": self.cli.as_ref().map(|cli| &cli.path),
            "version": self.version(),
            "account": self.account,
            "problem": self.missing.as_ref().map(|failure| &failure.message),
        })
    }

    fn advice(&self) -> String {
        let hint = self.missing.as_ref().and_then(|failure| failure.hint.as_deref());
        hint.unwrap_or_else(|| self.state.advice()).to_owned()
    }

    /// Flags, with whether the version found has them.
    fn flags(&self) -> Vec<(&'static str, Version, &'static str, bool)> {
        let has = |since: Version| self.version().is_some_and(|own| own >= since);
        cli::FLAGS.iter().map(|(flag, since, what)| (*flag, *since, *what, has(*since))).collect()
    }
}

fn object(found: &Found) -> Value {
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
            "drivers": named(DRIVERS),
            "installed": found.object(),
            "flags": found
                .flags()
                .iter()
                .map(|(flag, since, what, here)| {
                    json!({ "flag": flag, "since": since, "description": what, "here": here })
                })
                .collect::<Vec<Value>>(),
            "tools": tools,
        } },
        "reads": {
            "session_files": ["json", "jsonl"],
            "streams": ["stream-json", "acp", "screen", "hook"],
        },
        "writes": ["text", "json", "claude", "markdown", "html"],
    })
}

fn print(found: &Found) -> anyhow::Result<()> {
    let mut out = report::out();
    let state = serde_json::to_value(found.state)?;
    let state = state.as_str().unwrap_or_default().replace('_', " ");
    match (&found.cli, &found.missing) {
        (Some(cli), _) => {
            let version = cli.version.map_or_else(|| "?".to_owned(), |version| version.to_string());
            writeln!(out, "Gemini CLI {version} at {}: {state}", cli.path.display())?;
        }
        (None, Some(failure)) => writeln!(out, "{}: {state}", failure.message)?,
        (None, None) => writeln!(out, "Gemini CLI: {state}")?,
    }
    if found.state != State::Ready {
        writeln!(out, "hint: {}", found.advice())?;
    }
    writeln!(out)?;
    flags(found).write(&mut out, report::width())?;
    writeln!(out)?;
    for (title, pairs) in
        [("driver", DRIVERS), ("feature", FEATURES), ("mode", MODES), ("model", models::MODELS)]
    {
        named(title, pairs).write(&mut out, report::width())?;
        writeln!(out)?;
    }
    Ok(out.flush()?)
}

fn flags(found: &Found) -> Table {
    let mut table = Table::new(&[
        ("flag", Align::Left),
        ("since", Align::Left),
        ("available", Align::Left),
        ("description", Align::Flexible),
    ])
    .less_needed(&["since", "description"]);
    for (flag, since, what, here) in found.flags() {
        let here = if here { "yes" } else { "no" };
        table.row(vec![flag.into(), since.to_string().into(), here.into(), what.into()]);
    }
    table
}

fn named(title: &'static str, pairs: &[(&str, &str)]) -> Table {
    let mut table = Table::new(&[(title, Align::Left), ("description", Align::Flexible)]);
    for (name, what) in pairs {
        table.row(vec![(*name).into(), (*what).into()]);
    }
    table.less_needed(&["description"])
}

#[cfg(test)]
mod tests {
    use super::{DRIVERS, FEATURES, Found, MODES, flags, models, named};
    use pollux_agent::gemini::cli::{Account, State};

    #[test]
    fn what_can_be_done_fits_a_narrow_window() {
        let found =
            Found { cli: None, state: State::Absent, account: Account::None, missing: None };
        let lists = [("d", DRIVERS), ("f", FEATURES), ("m", MODES), ("n", models::MODELS)];
        let lists = lists.map(|(title, pairs)| named(title, pairs));
        for table in [flags(&found)].iter().chain(&lists) {
            let mut out = Vec::new();
            table.write(&mut out, Some(40)).unwrap();
            let text = String::from_utf8(out).unwrap();
            let text = crate::render::clean(&text);
            assert!(text.lines().all(|line| line.chars().count() <= 40), "{text}");
        }
    }
}
