//! `pollux claude`: takes the place of the `claude` executable, for programs that are made for it.

mod answers;
pub(super) mod bridge;
mod desk;
mod flags;
mod open;
mod servers;
mod session;
mod settings;
mod setup;
mod told;

use crate::config::Config;
use crate::ends::Stop;
use crate::report;
use crate::trouble::Trouble;
use anyhow::Context;
use clap::{Arg, ArgMatches, Command, FromArgMatches};
use pollux_agent::claude::control::{self, Ask, Line, Start, User};
use pollux_agent::claude::stream::VERSION;
use pollux_agent::model::{Failure, Phase};
use session::Session;
use setup::{Format, Setup};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use tokio::sync::mpsc;

/// The names under which the program is `pollux claude` by itself.
const NAMES: [&str; 2] = ["claude", "pollux-claude"];

/// The arguments, as `claude` takes them.
#[derive(Debug)]
pub(crate) struct Claude(ArgMatches);

impl clap::Args for Claude {
    fn augment_args(command: Command) -> Command {
        let prompt = Arg::new("prompt").help("Prompt (default: read from stdin)");
        let version =
            Arg::new("version").long("version").short('v').action(clap::ArgAction::SetTrue);
        let explain = Arg::new("explain").long("explain").action(clap::ArgAction::SetTrue);
        command
            .about("Accept Claude Code's command line, but run Gemini CLI")
            .after_help(
                "Needs `-p` or `--input-format stream-json`: Pollux does not emulate the interactive `claude`.\n\n\
                A link to `pollux` named `claude` or `pollux-claude` runs this command. Pass its path to an SDK:\n  \
                ln -s \"$(command -v pollux)\" pollux-claude\n  \
                query({ prompt, options: { pathToClaudeCodeExecutable: \"./pollux-claude\" } })",
            )
            .disable_version_flag(true)
            .arg(prompt)
            .arg(version.help("Print the version"))
            .arg(explain.help("Print how Pollux handles each `claude` flag and each SDK control request"))
            .args(flags::FLAGS.iter().map(flags::Flag::arg))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Claude {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self(matches.clone()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0 = matches.clone();
        Ok(())
    }
}

/// The arguments of this process, with the word `claude` where the program is called so.
pub(crate) fn by_name(mut args: Vec<OsString>) -> Vec<OsString> {
    let name = args.first().map(Path::new).and_then(Path::file_stem).unwrap_or_default();
    let is_bridge = args.get(1).is_some_and(|first| first == "claude-mcp");
    if NAMES.iter().any(|known| *known == name) && !is_bridge {
        args.insert(1, "claude".into());
    }
    args
}

impl Claude {
    pub(super) fn run(&self, config: &Config) -> anyhow::Result<ExitCode> {
        if self.0.get_flag("version") {
            report::say(VERSION)?;
            return Ok(ExitCode::SUCCESS);
        }
        if self.0.get_flag("explain") {
            report::say(flags::tables().trim_end())?;
            return Ok(ExitCode::SUCCESS);
        }
        let setup = Setup::new(&self.0)?;
        for note in &setup.notes {
            report::warn(note);
        }
        let runtime = super::session::runtime().context("could not start the async runtime")?;
        runtime.block_on(async {
            match (self.0.get_flag("print"), setup.input) {
                (_, Format::Stream) => Box::pin(talk(setup, config)).await,
                (true, _) => Box::pin(once(setup, config)).await,
                (false, _) => Err(setup::refused(
                    "`claude` without `-p` is interactive, which Pollux does not emulate"
                        .to_owned(),
                    "pass a prompt with `-p`, or open Gemini's own screen with `pollux new`",
                )),
            }
        })
    }
}

/// One prompt.
async fn once(setup: Setup, config: &Config) -> anyhow::Result<ExitCode> {
    let words = super::run::prompt::read(setup.prompt.as_deref())?;
    if words.trim().is_empty() {
        return Err(super::run::prompt::none());
    }
    let desk = desk::Desk::default();
    let output = setup.output;
    let mut stop = Stop::new()?;
    let started = open::open(setup, &Start::default(), config, &desk, &mut stop).await?;
    let (tell, lines) = mpsc::channel(1);
    drop(tell);
    let mut session = match started {
        Ok(opened) => Session::new(opened, desk),
        Err(failure) => return failed(output, &failure),
    };
    session.take(User {
        blocks: vec![serde_json::json!({ "type": "text", "text": words })],
        ..User::default()
    });
    session.run(VecDeque::new(), lines, stop).await
}

/// Prompts and requests as they come.
async fn talk(setup: Setup, config: &Config) -> anyhow::Result<ExitCode> {
    if setup.output != Format::Stream {
        let message = "`--input-format stream-json` needs `--output-format stream-json`".to_owned();
        return Err(setup::refused(message, "pass both flags"));
    }
    let (desk, mut lines) = desk::Desk::open();
    let mut early = VecDeque::new();
    let (id, start) = loop {
        match lines.recv().await {
            None => return Ok(ExitCode::SUCCESS),
            Some(Line::Asked { id, ask: Ask::Initialize(start) }) => break (Some(id), *start),
            Some(line) => {
                let is_prompt = matches!(line, Line::User(_));
                early.push_back(line);
                if is_prompt {
                    break (None, Start::default());
                }
            }
        }
    };
    if let Some(why) = open::unknown(&start) {
        let failure = Failure::new(Phase::Start, "no_counterpart", why);
        return not_opened(id.as_deref(), &failure);
    }
    for name in open::ignored(&start) {
        report::warn(&format!("ignored unknown field `{name}` of the first request"));
    }
    let mut stop = Stop::new()?;
    let opened = match open::open(setup, &start, config, &desk, &mut stop).await {
        Ok(Ok(opened)) => opened,
        Ok(Err(failure)) => return not_opened(id.as_deref(), &failure),
        Err(error) => {
            let hint = error.downcast_ref::<Trouble>().and_then(|trouble| trouble.hint.as_deref());
            if let Some(id) = &id {
                desk::print(&[control::refused(id, &with(&format!("{error:#}"), hint))])?;
            }
            return Err(error);
        }
    };
    let session = Session::new(opened, desk);
    if let Some(id) = id {
        // The first request is answered first.
        early.push_front(Line::Asked { id, ask: Ask::Initialize(Box::new(start)) });
    }
    session.run(early, lines, stop).await
}

fn not_opened(id: Option<&str>, failure: &Failure) -> anyhow::Result<ExitCode> {
    if let Some(id) = id {
        let why = with(&failure.message, failure.hint.as_deref());
        desk::print(&[control::refused(id, &why)])?;
    }
    failed(Format::Stream, failure)
}

/// What failed, and what to do about it, in one line.
fn with(message: &str, hint: Option<&str>) -> String {
    hint.map_or_else(|| message.to_owned(), |hint| format!("{message} (hint: {hint})"))
}

/// Reports the failure if the session could not be opened.
fn failed(output: Format, failure: &Failure) -> anyhow::Result<ExitCode> {
    told::not_started(output, failure)?;
    report::failure(failure);
    Ok(ExitCode::from(1))
}
