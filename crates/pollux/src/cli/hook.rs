//! `pollux hook EVENT`: what Gemini CLI calls. It must cost nothing and never fail, so it goes its own short way: no
//! arguments are parsed, no settings read, and whatever happens the answer is `{}`.

use crate::config::HookConfig;
use crate::report;
use pollux_agent::gemini::hooks::deliver::{deliver, frame};
use std::ffi::OsString;
use std::io::{self, Read};
use std::process::ExitCode;

/// A payload that is longer is cut, and then unread: the CLI sends nothing like it.
const LONGEST: u64 = 64 * 1024 * 1024;

/// What Gemini CLI calls at each event; reads the payload on stdin, answers `{}`, hands it to whoever listens
#[derive(Debug, clap::Args)]
pub(crate) struct Hook {
    /// The event, such as `SessionStart`
    event: String,
}

/// The event of a command line that is a hook's and nothing else.
pub(crate) fn event(mut words: impl Iterator<Item = OsString>) -> Option<String> {
    let hook = words.next()? == "hook";
    let event = words.next()?.into_string().ok()?;
    (hook && words.next().is_none() && !event.starts_with('-')).then_some(event)
}

impl Hook {
    pub(super) fn run(&self) -> ExitCode {
        answer(&self.event)
    }
}

/// Answers the CLI, then hands over what it said.
pub(crate) fn answer(event: &str) -> ExitCode {
    report::nothing_to_say();
    if report::stdin_is_a_person() {
        return ExitCode::SUCCESS;
    }
    let mut payload = Vec::with_capacity(16 * 1024);
    let read = io::stdin().lock().take(LONGEST).read_to_end(&mut payload);
    if let (Ok(_), Some(config)) = (read, HookConfig::read()) {
        deliver(&frame(event, config.key.as_deref(), &payload), &config.place);
    }
    ExitCode::SUCCESS
}
