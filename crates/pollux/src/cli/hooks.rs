//! `pollux hooks install|uninstall|status`.

use super::session::runtime;
use crate::config::Config;
use crate::report;
use crate::report::table::{Align, Table};
use crate::trouble::Trouble;
use anyhow::Context;
use clap::{Subcommand, ValueEnum};
use pollux_agent::gemini::hooks::EVENTS;
use pollux_agent::gemini::hooks::extension::Extension;
use pollux_agent::gemini::hooks::settings::{Done, Failed, Settings};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Subcommand)]
pub(crate) enum Hooks {
    /// Install the hooks, so Pollux sees the live status of sessions that it did not start
    Install(Install),
    /// Remove the hooks; if settings.json is otherwise unchanged, restores the original file exactly
    Uninstall(Uninstall),
    /// Show where the hooks are installed
    Status(Status),
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "An extension also works in untrusted folders and changes none of your files.\n\
    Running sessions use the hooks after a restart."
)]
pub(crate) struct Install {
    #[command(flatten)]
    place: Where,
    /// Gemini CLI executable
    #[arg(long, value_name = "FILE")]
    agent_path: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Uninstall {
    #[command(flatten)]
    place: Where,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Status {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct Where {
    /// How to install the hooks
    #[arg(long = "as", value_enum, default_value_t = Vehicle::Extension)]
    vehicle: Vehicle,
    /// Sessions that run the hooks (project only with `--as settings`)
    #[arg(long, value_enum, default_value_t = Scope::User)]
    scope: Scope,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Vehicle {
    /// A Gemini CLI extension
    Extension,
    /// Entries in `settings.json`; comments and other hooks are kept
    Settings,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Scope {
    /// All your sessions
    User,
    /// Sessions in the current directory
    Project,
}

pub(super) fn run(command: Hooks, config: &Config) -> anyhow::Result<ExitCode> {
    match command {
        Hooks::Install(install) => install.run(config)?,
        Hooks::Uninstall(uninstall) => uninstall.run(config)?,
        Hooks::Status(status) => status.run(config)?,
    }
    Ok(ExitCode::SUCCESS)
}

impl Where {
    fn check(&self) -> anyhow::Result<()> {
        if (self.vehicle, self.scope) == (Vehicle::Extension, Scope::Project) {
            let trouble = Trouble::refused(
                "no_such_scope",
                "an extension applies to all your sessions, not to one folder",
            );
            return Err(trouble.hint("use `--as settings --scope project`").into());
        }
        Ok(())
    }
}

fn settings(config: &Config, scope: Scope) -> Settings {
    let directory = match scope {
        Scope::User => config.gemini.clone(),
        Scope::Project => config.cwd.join(".gemini"),
    };
    Settings::new(&directory, &config.data.join("hooks"))
}

impl Install {
    fn run(&self, config: &Config) -> anyhow::Result<()> {
        self.place.check()?;
        self.check_version(config)?;
        let program = std::env::current_exe().context("could not find the path of this program")?;
        let program = program.to_string_lossy();
        match self.place.vehicle {
            Vehicle::Extension => {
                let extension = Extension::new(&config.gemini);
                let changed =
                    extension.install(&program, env!("CARGO_PKG_VERSION")).with_context(|| {
                        Trouble::failed(
                            "extension",
                            format!("could not write {}", extension.directory().display()),
                        )
                        .hint("remove that directory, or use `--as settings`")
                    })?;
                say(changed, "installed", extension.directory());
            }
            Vehicle::Settings => {
                let settings = settings(config, self.place.scope);
                let done = settings.install(&program).map_err(trouble)?;
                say(done == Done::Changed, "installed", settings.file());
                if self.place.scope == Scope::User {
                    report::quiet(
                        "in untrusted folders, Gemini CLI runs the hooks of extensions but not those in settings.json",
                    );
                }
            }
        }
        Ok(())
    }

    fn check_version(&self, config: &Config) -> anyhow::Result<()> {
        let runtime = runtime()?;
        match runtime.block_on(config.installed(self.agent_path.as_ref())) {
            Ok(cli) => cli.check().map_err(|failure| {
                Trouble::refused(failure.code, failure.message).hint_of(failure.hint).into()
            }),
            Err(failure) => {
                report::warn(&format!("{}; the hooks work once it is installed", failure.message));
                Ok(())
            }
        }
    }
}

impl Uninstall {
    fn run(&self, config: &Config) -> anyhow::Result<()> {
        self.place.check()?;
        match self.place.vehicle {
            Vehicle::Extension => {
                let extension = Extension::new(&config.gemini);
                let removed = extension.uninstall().with_context(|| {
                    let message = format!("could not remove {}", extension.directory().display());
                    Trouble::failed("extension", message).hint("remove that directory yourself")
                })?;
                say(removed, "removed", extension.directory());
            }
            Vehicle::Settings => {
                let settings = settings(config, self.place.scope);
                let what = match settings.uninstall().map_err(trouble)? {
                    Done::Unchanged => {
                        say(false, "", settings.file());
                        return Ok(());
                    }
                    Done::Restored => "restored",
                    Done::Removed => "removed",
                    Done::Changed => "removed the hooks and kept your later changes in",
                };
                say(true, what, settings.file());
            }
        }
        Ok(())
    }
}

fn say(changed: bool, what: &str, place: &Path) {
    let what = if changed { what } else { "nothing to do:" };
    report::note(&format!("{what} {}", place.display()));
}

fn trouble(failed: Failed) -> anyhow::Error {
    let trouble = match &failed {
        Failed::Refused(..) => Trouble::refused("settings", "could not change the settings")
            .hint("fix the file first: Gemini CLI cannot read it either"),
        Failed::Io(..) => Trouble::failed("settings_io", "could not change the settings")
            .hint("check the permissions of the file and its directory"),
    };
    anyhow::Error::new(failed).context(trouble)
}

impl Status {
    fn run(&self, config: &Config) -> anyhow::Result<()> {
        let extension = Extension::new(&config.gemini);
        let found = [
            ("extension", extension.directory().to_owned(), Ok(extension.installed())),
            of_settings("settings, user", &settings(config, Scope::User)),
            of_settings("settings, project", &settings(config, Scope::Project)),
        ];
        if self.json {
            let places = found.iter().map(|(name, path, found)| {
                let (command, problem) = match found {
                    Ok(command) => (command.clone(), None),
                    Err(failed) => (None, Some(failed.to_string())),
                };
                json!({ "as": name, "path": path, "installed": command.is_some(), "command": command, "problem": problem })
            });
            let places: Vec<_> = places.collect();
            let place = &config.hooks;
            return report::json(
                &json!({ "places": places, "events": EVENTS, "socket": place.socket, "spool": place.spool }),
            );
        }
        let mut table = Table::new(&[
            ("as", Align::Flexible),
            ("installed", Align::Left),
            ("path", Align::Flexible),
        ]);
        let mut problems = Vec::new();
        for (name, path, found) in found {
            let state = match found {
                Ok(Some(_)) => "yes",
                Ok(None) => "no",
                Err(failed) => {
                    problems.push(failed.to_string());
                    "unknown"
                }
            };
            table.row(vec![name.into(), state.into(), path.display().to_string().into()]);
        }
        let mut out = report::out();
        table.write(&mut out, report::width())?;
        out.flush()?;
        for problem in &problems {
            report::note(problem);
        }
        Ok(())
    }
}

type Found<'a> = (&'a str, PathBuf, Result<Option<String>, Failed>);

fn of_settings<'a>(name: &'a str, settings: &Settings) -> Found<'a> {
    (name, settings.file().to_owned(), settings.installed())
}
