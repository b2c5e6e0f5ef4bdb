//! `pollux screen`: what Pollux sees of an agent's terminal.

use super::{find, trouble};
use crate::cli::complete::ids;
use crate::config::Config;
use crate::render::clean;
use crate::report;
use clap_complete::ArgValueCompleter;
use pollux_agent::gemini::screen::{Reading, read};
use pollux_agent::terminal::{Emulator, Pane, Server};
use serde_json::json;
use std::io::Write;
use std::process::ExitCode;

/// Print a session's terminal screen and how Pollux interprets it
#[derive(Debug, clap::Args)]
pub(crate) struct Screen {
    /// Session ID, unique prefix, or `latest` (the most recently active terminal session)
    #[arg(add = ArgValueCompleter::new(ids))]
    id: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Also print N lines of scrollback
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    history: usize,
}

impl Screen {
    pub(crate) async fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let found = find(&self.id, config).await?;
        let server = Server::join(&found.socket, &found.pane).await.map_err(trouble)?;
        let pane = Pane::find(&server, &found.pane).await.map_err(trouble)?;
        let captured = pane.capture().await.map_err(trouble)?;
        let mut emulator = Emulator::new(captured.size);
        emulator.feed(captured.text.as_bytes());
        emulator.set_title(captured.told.title);
        let screen = emulator.screen();
        let history = match self.history {
            0 => Vec::new(),
            most => pane.history(most).await.map_err(trouble)?,
        };
        let reading = read(&screen);
        if self.json {
            let question = reading.dialog.as_ref().map(|dialog| dialog.question("open"));
            let size = format!("{}x{}", screen.size.columns, screen.size.rows);
            report::json(&json!({
                "session_id": found.key, "pane": found.pane, "cwd": found.cwd, "size": size,
                "title": screen.title, "status": reading.status, "question": question,
                "draft": reading.draft, "queued": reading.queued, "mode": reading.mode,
                "model": reading.model, "activity": reading.activity, "error": reading.error,
                "history": history, "rows": screen.rows,
            }))?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut out = report::out();
        let rows = screen.rows.iter();
        let last = rows.clone().rposition(|row| !row.is_empty()).map_or(0, |last| last + 1);
        for row in history.iter().chain(rows.take(last)) {
            writeln!(out, "{}", clean(row))?;
        }
        out.flush()?;
        report::quiet(&summary(&reading));
        Ok(ExitCode::SUCCESS)
    }
}

fn summary(reading: &Reading) -> String {
    let word = |value: serde_json::Result<serde_json::Value>| {
        value.ok().and_then(|value| value.as_str().map(str::to_owned))
    };
    let status = reading.status.and_then(|status| word(serde_json::to_value(status)));
    let mut facts = vec![status.unwrap_or_else(|| "unknown".to_owned())];
    facts.extend(reading.mode.map(|mode| format!("mode {}", mode.upstream())));
    facts.extend(reading.model.as_ref().map(|model| format!("model {model}")));
    facts.extend((!reading.queued.is_empty()).then(|| format!("{} queued", reading.queued.len())));
    format!("· {}", clean(&facts.join(" · ")))
}
