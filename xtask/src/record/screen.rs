//! The terminal side of a recording: the screen before the prompt and after the answer, plain and with colours.

use pollux_e2e::{Cli, Stage, Terminal};
use pollux_rehearsal::Script;
use serde_json::json;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

/// A state that does not come within this is recorded as it is, and marked.
const LIMIT: Duration = Duration::from_secs(40);

pub(super) async fn record(
    cli: &Cli,
    name: &str,
    script: &Script,
    home: &Path,
) -> anyhow::Result<()> {
    let Some(trial) = script.trial() else { return Ok(()) };
    let stage = Stage::new(cli, script.clone()).await?;
    let args: Vec<&str> = trial.args.iter().map(String::as_str).collect();
    let terminal = Terminal::start(&stage, &args)?;
    let ready = reached(&terminal, |screen| screen.contains("Type your message")).await;
    capture(&terminal, home, name, "idle", ready)?;
    terminal.type_text(&trial.prompt)?;
    let typed = reached(&terminal, |screen| screen.contains(&trial.prompt)).await;
    // An Enter within 30 ms of other input is taken for a new line, and no screen says when that time is over.
    tokio::time::sleep(Duration::from_millis(150)).await;
    terminal.press("Enter")?;
    let asked =
        |screen: &str| screen.contains("Allow execution") || screen.contains("Apply this change?");
    let settled = |screen: &str| {
        let busy = screen.contains("esc to cancel") || !screen.contains("Type your message");
        asked(screen)
            || (!busy && (screen.contains('✦') || screen.contains('✕') || screen.contains("Error")))
    };
    let answered = typed && reached(&terminal, settled).await;
    capture(&terminal, home, name, "answered", answered)?;
    drop(terminal);
    stage.close().await;
    Ok(())
}

async fn reached(terminal: &Terminal, condition: impl Fn(&str) -> bool) -> bool {
    let since = Instant::now();
    while since.elapsed() < LIMIT {
        if terminal.screen().is_ok_and(|screen| condition(&screen)) {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    false
}

fn capture(
    terminal: &Terminal,
    home: &Path,
    name: &str,
    state: &str,
    reached: bool,
) -> anyhow::Result<()> {
    let part = home.join("tui");
    // A terminal that ended has no screen any more; that is a finding, not a failure.
    let (plain, coloured) =
        (terminal.screen().unwrap_or_default(), terminal.colours().unwrap_or_default());
    let title = terminal.title().unwrap_or_default();
    fs::write(part.join(format!("{name}-{state}.100x30.txt")), plain)?;
    fs::write(part.join(format!("{name}-{state}.100x30.ansi")), coloured)?;
    let mut file =
        File::options().create(true).append(true).open(part.join("_states.100x30.jsonl"))?;
    let line = json!({ "scenario": name, "state": state, "title": title, "wait_ok": reached });
    Ok(writeln!(file, "{line}")?)
}
