//! `pollux rehearse`: a scripted model for the real Gemini CLI, with no key and no network.

mod apart;
mod program;

use crate::ends::Ends;
use crate::report;
use crate::trouble::Trouble;
use anyhow::Context;
use apart::Apart;
use clap::Args;
use pollux_rehearsal::{Home, Options, Rehearsal, Script, StartError};
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tokio::signal::unix::{SignalKind, signal};

/// Run Gemini CLI with scripted model replies, for testing
///
/// This needs no API key and no network, except with `--record`.
///
/// With a program after `--`, runs it with a temporary home directory (the private home) and returns its exit
/// code. Without one, prints the environment to use and serves the model until Ctrl-C. Scripts are TOML files; see docs/rehearsal.md.
#[derive(Debug, Args)]
pub(crate) struct Rehearse {
    /// Script file; with --check, any number of files
    #[arg(required_unless_present = "record", value_name = "SCRIPT")]
    scripts: Vec<PathBuf>,
    /// Only validate the scripts; report errors with line and column
    #[arg(long, conflicts_with_all = ["record", "program", "port", "journal", "home", "keep"])]
    check: bool,
    /// Forward requests to the model API at this URL, e.g. `https://generativelanguage.googleapis.com`, and record a script
    #[arg(long, value_name = "UPSTREAM", requires = "to", conflicts_with = "scripts")]
    record: Option<String>,
    /// File for the recorded script
    #[arg(long, value_name = "SCRIPT", requires = "record")]
    to: Option<PathBuf>,
    /// Port on 127.0.0.1; 0 picks a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Append every request and reply to this file as JSONL
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
    #[command(flatten)]
    home: PrivateHome,
    /// Print JSON
    #[arg(long, conflicts_with = "program")]
    json: bool,
    /// Program to run, with its arguments
    #[arg(last = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

#[derive(Debug, Args)]
struct PrivateHome {
    /// Use this directory as the private home and keep it
    #[arg(long, value_name = "DIR")]
    home: Option<PathBuf>,
    /// Keep the private home and print its path
    #[arg(long, conflicts_with = "home")]
    keep: bool,
}

impl Rehearse {
    /// Runs the command.
    pub(crate) fn run(&self) -> anyhow::Result<ExitCode> {
        if self.check {
            return check(&self.scripts);
        }
        let threads =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        threads.context("could not start the rehearsal")?.block_on(self.perform())
    }

    async fn perform(&self) -> anyhow::Result<ExitCode> {
        let rehearsal = self.start().await?;
        let home = self.home.home.as_deref().map_or_else(Home::temporary, Home::at);
        let home = home.context("could not create the private home")?;
        let mut env = rehearsal.env(&home);
        if self.record.is_some() {
            // The real model wants the user's own key.
            env.retain(|(name, _)| *name != "GEMINI_API_KEY");
        }
        // Whoever names a home has a world of their own, and says what belongs to it.
        let apart = self.home.home.is_none().then(|| Apart::new(home.path()));
        env.extend(apart.iter().flat_map(Apart::env));
        let outcome = if self.program.is_empty() {
            self.serve(&rehearsal, &env).await
        } else {
            program::run(&self.program, &env).await
        };
        if let Some(apart) = apart {
            apart.end().await?;
        }
        rehearsal.stop().await;
        if self.home.keep {
            report::note(&format!("kept the private home {}", home.keep().display()));
        }
        if let Some(to) = &self.to {
            report::note(&format!("recorded to {}", to.display()));
        }
        outcome
    }

    async fn start(&self) -> anyhow::Result<Rehearsal> {
        let options = Options { port: self.port, journal: self.journal.clone() };
        let started = if let (Some(upstream), Some(to)) = (&self.record, &self.to) {
            Rehearsal::record(upstream, to, options).await
        } else {
            Rehearsal::start_with(read(self.one()?)?, options).await
        };
        started.map_err(|error| {
            let hint = match &error {
                StartError::Listen { .. } => "omit `--port` to use a free port",
                StartError::Journal { .. } => "pass a writable file to `--journal`",
                StartError::Exists { .. } => "pass a file that does not exist yet to `--to`",
                StartError::Record { .. } => {
                    "UPSTREAM is a URL such as https://generativelanguage.googleapis.com"
                }
            };
            let trouble = Trouble::failed("rehearsal_not_started", "could not start the rehearsal")
                .hint(hint);
            anyhow::Error::new(error).context(trouble)
        })
    }

    fn one(&self) -> anyhow::Result<&Path> {
        if let [script] = self.scripts.as_slice() {
            return Ok(script);
        }
        let trouble = Trouble::refused("many_scripts", "pass exactly one script to a rehearsal");
        Err(trouble
            .hint("to run a program, put it after `--`: pollux rehearse SCRIPT -- gemini …")
            .into())
    }

    /// Prints the environment, then serves until a signal stops it.
    async fn serve(
        &self,
        rehearsal: &Rehearsal,
        env: &[(&str, String)],
    ) -> anyhow::Result<ExitCode> {
        let mut interrupted = signal(SignalKind::interrupt())?;
        let mut ends = Ends::new()?;
        if self.json {
            let object: serde_json::Map<_, _> = env
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.as_str().into()))
                .collect();
            report::json(&object)?;
        } else {
            print_env(env)?;
        }
        report::note(&format!("the model is listening at {}; stop with Ctrl-C", rehearsal.url()));
        tokio::select! {
            _ = interrupted.recv() => {}
            () = ends.told() => {}
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Lines for a shell, which can be pasted or evaluated.
fn print_env(env: &[(&str, String)]) -> io::Result<()> {
    let mut out = report::raw();
    writeln!(out, "unset {}", Home::UNSET.join(" "))?;
    for (name, value) in env {
        writeln!(out, "export {name}='{}'", value.replace('\'', r"'\''"))?;
    }
    out.flush()
}

fn read(path: &Path) -> anyhow::Result<Script> {
    let text = fs::read_to_string(path).map_err(|error| {
        let message = format!("could not read the script {}", path.display());
        let hint = "see docs/rehearsal.md for the script format";
        let trouble = Trouble::failed("script_unreadable", message).hint(hint);
        anyhow::Error::new(error).context(trouble)
    })?;
    text.parse().map_err(|wrongs: pollux_rehearsal::Wrongs| {
        let place = |wrong: &pollux_rehearsal::Wrong| {
            format!("\n  {}:{}:{}: {}", path.display(), wrong.line, wrong.column, wrong.message)
        };
        let places: String = wrongs.0.iter().map(place).collect();
        let count = wrongs.0.len();
        let errors = if count == 1 { "error" } else { "errors" };
        let message = format!("{count} {errors} in {}{places}", path.display());
        Trouble::refused("script_wrong", message)
            .hint("see docs/rehearsal.md for the script format")
            .into()
    })
}

fn check(scripts: &[PathBuf]) -> anyhow::Result<ExitCode> {
    let mut first = None;
    for path in scripts {
        match read(path) {
            Ok(script) => {
                let about = script.about().map(|about| format!(": {about}")).unwrap_or_default();
                let rules = if script.rules() == 1 { "rule" } else { "rules" };
                let (path, count) = (path.display(), script.rules());
                report::note(&format!("{path}: OK ({count} {rules}){about}"));
            }
            Err(error) if first.is_none() => first = Some(error),
            Err(error) => report::warn(&error.to_string()),
        }
    }
    first.map_or(Ok(ExitCode::SUCCESS), Err)
}
