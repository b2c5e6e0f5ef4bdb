//! `cargo xtask record`: what a version of the CLI prints and writes, as files, so that a release becomes a diff.

mod agent;
mod hooks;
mod screen;

use crate::shell::say;
use anyhow::Context;
use pollux_agent::terminal::Size;
use pollux_e2e::{Cli, Stage, scripts};
use pollux_rehearsal::{Script, Trial};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

#[derive(Debug, clap::Args)]
pub(crate) struct Record {
    /// Scripts to record, by name [default: all with a trial]
    scenarios: Vec<String>,
    /// Gemini CLI version; repeatable [default: the pinned versions]
    #[arg(long = "cli", value_name = "VERSION")]
    versions: Vec<String>,
    /// Output directory [default: target/recordings]
    #[arg(long)]
    to: Option<PathBuf>,
    /// Record only this interface; repeatable [default: all]
    #[arg(long = "part", value_name = "PART", value_parser = PARTS)]
    parts: Vec<String>,
    /// Terminal size
    #[arg(long, value_name = "WxH", default_value = "100x30", value_parser = size)]
    size: Size,
}

/// The boundaries: what a run prints, what it speaks, what it calls, what it draws.
const PARTS: [&str; 4] = ["headless", "acp", "hooks", "tui"];

fn size(text: &str) -> Result<Size, String> {
    Size::parse(text).ok_or_else(|| "expected a size such as 80x24 (columns x rows)".to_owned())
}

pub(crate) fn run(record: &Record) -> anyhow::Result<()> {
    let threads = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let to = record.to.clone().unwrap_or_else(|| crate::shell::target().join("recordings"));
    let versions =
        if record.versions.is_empty() { Cli::versions() } else { record.versions.clone() };
    let chosen = chosen(&record.scenarios)?;
    for version in versions {
        let cli = Cli::install(&version)?;
        let home = to.join(&version);
        for part in ["headless", "sessions", "acp", "tui", "hooks"] {
            fs::create_dir_all(home.join(part))?;
        }
        for (name, script) in &chosen {
            say(&format!("{version} {name}"));
            threads.block_on(scenario(&cli, name, script, &home, record))?;
        }
    }
    say(&format!("recorded to {}", to.display()));
    Ok(())
}

fn chosen(names: &[String]) -> anyhow::Result<Vec<(String, Script)>> {
    let all = scripts()?;
    for name in names {
        anyhow::ensure!(all.iter().any(|(known, _)| known == name), "no script named `{name}`");
    }
    let wanted = |(name, script): &(String, Script)| {
        script.trial().is_some() && (names.is_empty() || names.contains(name))
    };
    Ok(all.into_iter().filter(wanted).collect())
}

async fn scenario(
    cli: &Cli,
    name: &str,
    script: &Script,
    home: &Path,
    record: &Record,
) -> anyhow::Result<()> {
    let trial = script.trial().context("the script has no `[trial]`")?;
    let wanted = |part: &str| record.parts.is_empty() || record.parts.iter().any(|one| one == part);
    if wanted("headless") {
        headless(cli, name, script, trial, home).await?;
    }
    if wanted("acp") {
        agent::record(cli, name, script, home).await?;
    }
    if wanted("hooks") {
        hooks::record(cli, name, script, home).await?;
    }
    if wanted("tui") {
        screen::record(cli, name, script, home, record.size).await?;
    }
    Ok(())
}

async fn headless(
    cli: &Cli,
    name: &str,
    script: &Script,
    trial: &Trial,
    home: &Path,
) -> anyhow::Result<()> {
    let stage = Stage::new(cli, script.clone()).await?;
    let args: Vec<&str> = trial.args.iter().map(String::as_str).collect();
    let since = Instant::now();
    let ran = stage.headless(&trial.prompt, &args).await?;
    let seconds = since.elapsed().as_secs_f64();
    let part = home.join("headless");
    fs::write(part.join(format!("{name}.stream.jsonl")), &ran.stdout)?;
    fs::write(part.join(format!("{name}.stderr")), &ran.stderr)?;
    fs::write(
        part.join(format!("{name}.exit")),
        ran.code.map_or("?".to_owned(), |code| code.to_string()),
    )?;
    let mut argv = vec!["gemini", "-p", &trial.prompt, "--output-format", "stream-json"];
    argv.extend(args);
    let line = json!({
        "scenario": name,
        "argv": argv,
        "rc": ran.code,
        "seconds": (seconds * 100.0).round() / 100.0,
        "stdout_bytes": ran.stdout.len(),
        "stderr_bytes": ran.stderr.len(),
        "sessions": sessions(&stage, name, home)?,
        "ws_after": left(&stage)?,
    });
    note(&part, &line)?;
    stage.close().await;
    Ok(())
}

/// Copies the session files of a stage: `<name>.jsonl`, `<name>.1.jsonl` and so on, the main one first.
pub(super) fn sessions(
    stage: &Stage,
    name: &str,
    home: &Path,
) -> anyhow::Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    let mut open = vec![stage.home().gemini().join("tmp")];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten() {
            let path = entry?.path();
            let session = path.components().any(|part| part.as_os_str() == "chats");
            if path.is_dir() {
                open.push(path);
            } else if session && path.extension().is_some_and(|end| end == "json" || end == "jsonl")
            {
                found.push(path);
            }
        }
    }
    // A sub-agent's file lies deeper than the session that it belongs to.
    found.sort_by_key(|path| (path.components().count(), path.clone()));
    let mut copied = Vec::new();
    for (n, path) in found.iter().enumerate() {
        let number = if n == 0 { String::new() } else { format!(".{n}") };
        let end = path.extension().unwrap_or_default().to_string_lossy();
        let copy = format!("{name}{number}.{end}");
        fs::copy(path, home.join("sessions").join(&copy))?;
        let from = path.strip_prefix(stage.home().path()).unwrap_or(path);
        copied.push((copy, from.display().to_string()));
    }
    Ok(copied)
}

/// One line in `_runs.jsonl`: how it was run and what came of it.
fn note(part: &Path, line: &Value) -> anyhow::Result<()> {
    let mut file = File::options().create(true).append(true).open(part.join("_runs.jsonl"))?;
    Ok(writeln!(file, "{line}")?)
}

/// The names of what is in the workspace after a run.
fn left(stage: &Stage) -> anyhow::Result<Vec<String>> {
    let entries = fs::read_dir(stage.workspace())?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .collect();
    names.sort();
    Ok(names)
}
