//! What goes wrong with an agent, in one shape. Pure.

use super::about::About;
use super::config::{Budgets, Step};
use super::wire::{Json, RpcError, object, text};
use crate::loose::loose_object;
use crate::model::{Failure, Phase};
use std::process::ExitStatus;

/// JSON-RPC's code for an agent that nobody is signed in to.
const AUTH_REQUIRED: i64 = -32000;
/// JSON-RPC's code for a method that is not there.
const NO_METHOD: i64 = -32601;

loose_object! {
    /// `error.data`, as most agents fill it.
    Data {
        "details" => details: Json<'a>,
        "message" => message: Json<'a>,
    }
}

fn phase(step: Step) -> Phase {
    match step {
        Step::Handshake => Phase::Handshake,
        Step::Auth => Phase::Auth,
        Step::New | Step::Load | Step::Prompt | Step::Control => Phase::Request,
    }
}

fn method(step: Step) -> &'static str {
    match step {
        Step::Handshake => "initialize",
        Step::Auth => "authenticate",
        Step::New => "session/new",
        Step::Load => "session/load",
        Step::Prompt => "session/prompt",
        Step::Control => "session/set_mode or session/set_model",
    }
}

/// An error that the agent answered with.
pub(super) fn said(
    step: Step,
    error: &RpcError<'_>,
    stderr: &str,
    about: Option<&About>,
) -> Failure {
    let data: Data<'_> = object(error.data);
    let plain = text(error.data);
    let details = text(data.details).or_else(|| text(data.message)).or(plain);
    let message = match details {
        Some(details) if !details.is_empty() && details != error.message => {
            format!("{}: {details}", error.message)
        }
        _ => error.message.to_string(),
    };
    let message = if message.is_empty() { error.whole.get().to_owned() } else { message };
    let failure = match error.code {
        AUTH_REQUIRED => {
            let ways = about.map(|about| {
                about.auth.iter().map(|way| way.name.as_str()).collect::<Vec<_>>().join(", ")
            });
            let hint = match ways.filter(|ways| !ways.is_empty()) {
                Some(ways) => format!("sign in; the agent offers: {ways}"),
                None => "sign in to the agent".to_owned(),
            };
            Failure::new(Phase::Auth, "not_signed_in", message).hint(hint)
        }
        NO_METHOD => {
            let message = format!("the agent does not support {}", method(step));
            Failure::new(phase(step), "not_in_this_version", message)
                .hint("update the agent; `pollux capabilities --probe` lists what it supports")
        }
        _ => Failure::new(phase(step), "agent_error", message),
    };
    Failure {
        rpc_code: i32::try_from(error.code).ok(),
        upstream: Some(error.whole.to_owned()),
        stderr: stderr.into(),
        ..failure
    }
}

/// A budget ran out.
pub(super) fn late(step: Step, budgets: &Budgets, stderr: &str) -> Failure {
    let (code, budget, name) = match step {
        Step::Handshake => ("start_timeout", budgets.start, "start"),
        Step::Prompt => ("timeout", budgets.turn.unwrap_or_default(), "turn"),
        _ => ("control_timeout", budgets.control, "control"),
    };
    let seconds = budget.as_secs_f64();
    let message =
        format!("the agent did not answer {} within {seconds} s (the {name} limit)", method(step));
    let failure = Failure::new(Phase::Budget, code, message)
        .hint("the machine may be overloaded: raise the limit, or run the agent yourself to see its output")
        .retryable();
    Failure { stderr: stderr.into(), ..failure }
}

/// The agent does not read what it is told.
pub(super) fn deaf(step: Step) -> Failure {
    Failure::new(phase(step), "agent_deaf", "the agent does not read its input")
        .hint("stop it and start it again")
        .retryable()
}

/// The agent speaks another version of the protocol.
pub(super) fn other_protocol(theirs: i64, ours: u32) -> Failure {
    let message = format!("the agent uses protocol version {theirs}, Pollux uses version {ours}");
    Failure::new(Phase::Handshake, "other_protocol", message)
        .hint("use an agent version with the same protocol version, or update Pollux")
}

pub(super) fn no_session() -> Failure {
    Failure::new(Phase::Request, "unknown_session", "the agent has no such session")
        .hint("list sessions with `pollux sessions list`")
}

pub(super) fn already_open(id: &str) -> Failure {
    let message = format!("the agent already has session `{id}` open");
    Failure::new(Phase::Request, "already_open", message).hint("use the open session")
}

pub(super) fn no_id(step: Step) -> Failure {
    let message = format!("the agent answered {} without a session id", method(step));
    Failure::new(phase(step), "bad_answer", message)
}

/// How an agent ended.
pub(super) struct Ended<'e> {
    pub(super) status: Option<ExitStatus>,
    pub(super) stderr: &'e str,
}

impl Ended<'_> {
    fn signal(&self) -> Option<i32> {
        #[cfg(unix)]
        return self
            .status
            .and_then(|status| std::os::unix::process::ExitStatusExt::signal(&status));
        #[cfg(not(unix))]
        return None;
    }

    /// In words.
    pub(super) fn words(&self) -> String {
        match (self.status.and_then(|status| status.code()), self.signal()) {
            (_, Some(signal)) => format!("the agent was killed by signal {signal}"),
            (Some(code), _) => format!("the agent exited with code {code}"),
            (None, None) => "the agent exited".to_owned(),
        }
    }

    /// What that means for something that it had not answered.
    pub(super) fn failure(&self, step: Step) -> Failure {
        let begun = matches!(step, Step::Prompt);
        let phase = if begun { Phase::Response } else { phase(step) };
        let (code, signal) = (self.status.and_then(|status| status.code()), self.signal());
        let name = if signal.is_some() { "killed" } else { "agent_ended" };
        let mut message = format!("{} before it answered {}", self.words(), method(step));
        if let Some(line) = self.stderr.lines().rev().find(|line| !line.trim().is_empty()) {
            message = format!("{message}: {}", line.trim());
        }
        let failure = Failure::new(phase, name, message).retryable();
        Failure { exit_code: code, signal, stderr: self.stderr.into(), ..failure }
    }
}
