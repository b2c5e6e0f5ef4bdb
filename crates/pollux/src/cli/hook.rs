//! `pollux hook EVENT`: what Gemini CLI calls. It must cost nothing and never fail, so it goes its own short way: no
//! arguments are parsed, no settings read, and whatever happens the answer is `{}`.
//!
//! Most of what such a short process costs is the pages of the program that it touches. So all of it is `inline`, down to the
//! library: it is then compiled into the program itself, where it stands together, and not in thirty places of 26 MB.

use crate::config::HookConfig;
use crate::report;
use pollux_agent::gemini::hooks::deliver::{deliver, frame};
use std::ffi::OsString;
use std::process::ExitCode;

/// A payload that is longer is cut, and then unread: the CLI sends nothing like it.
const LONGEST: usize = 64 * 1024 * 1024;

/// Forward a Gemini CLI hook event from stdin to Pollux (called by Gemini CLI)
#[derive(Debug, clap::Args)]
pub(crate) struct Hook {
    /// Event name, such as `SessionStart`
    event: String,
}

/// The event of a command line that is a hook's and nothing else.
#[inline]
pub(crate) fn event(mut words: impl Iterator<Item = OsString>) -> Option<String> {
    let hook = words.next()? == "hook";
    let event = words.next()?.into_string().ok()?;
    (hook && words.next().is_none() && !event.starts_with('-')).then_some(event)
}

impl Hook {
    pub(super) fn run(&self) -> ExitCode {
        answer(&self.event);
        ExitCode::SUCCESS
    }
}

/// Answers the CLI, then hands over what it said.
#[inline]
pub(crate) fn answer(event: &str) {
    report::nothing_to_say();
    if let (Some(payload), Some(config)) = (report::told(LONGEST), HookConfig::read()) {
        deliver(&frame(event, config.key.as_deref(), &payload), &config.place);
    }
}
