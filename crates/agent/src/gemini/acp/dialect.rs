//! What Gemini CLI does differently from the protocol. Pure, but for the session file beside it.

use super::arguments::{arguments, command_of};
use super::beside::SessionFile;
use crate::acp::{Beside, Call, Counted, Dialect, Said, Step};
use crate::gemini::loose::{Count, List, loose_object};
use crate::gemini::stream::failure::{by_status, is_lost, lost, plain, signed_out, status_in};
use crate::gemini::tools;
use crate::gemini::transcript::string;
use crate::model::{Failure, Mode, Phase, QuestionKind, Scope, Usage};
use serde_json::Value;
use serde_json::value::RawValue;
use std::path::PathBuf;

/// What the CLI says instead of `current_mode_update`, as if the model had said it.
const MODE: &str = "[MODE_UPDATE] ";

loose_object! {
    /// The answer to a prompt.
    Answer {
        "stopReason" => stop_reason: Option<&'a RawValue>,
        "_meta" => meta: Option<Meta<'a>>,
    }
}

loose_object! {
    /// `_meta`.
    Meta {
        "quota" => quota: Option<Quota<'a>>,
    }
}

loose_object! {
    /// `_meta.quota`.
    Quota {
        "token_count" => tokens: Option<Tokens<'a>>,
        "model_usage" => models: List<OfModel<'a>>,
    }
}

loose_object! {
    /// `token_count`.
    Tokens {
        "input_tokens" => input: Count,
        "output_tokens" => output: Count,
    }
}

loose_object! {
    /// `model_usage[]`.
    OfModel {
        "model" => model: Option<&'a RawValue>,
        "token_count" => tokens: Option<Tokens<'a>>,
    }
}

/// Gemini CLI's dialect of the protocol.
#[derive(Debug, Clone, Default)]
pub struct Quirks {
    /// The CLI's directory `.gemini`, for the session files; none where only the protocol is looked at.
    pub gemini: Option<PathBuf>,
    /// The session that is gone on with, and its file. Others of the same agent have files of their own.
    pub resumed: Option<(String, PathBuf)>,
}

impl Dialect for Quirks {
    fn tool(&self, call: &Call<'_>) -> Option<String> {
        tool_in(&call.id).map(str::to_owned)
    }

    fn title(&self, call: &Call<'_>) -> Option<String> {
        let title = call.title.as_deref()?;
        (call.kind.as_deref() == Some("execute")).then(|| command_of(call, title).to_owned())
    }

    fn input(&self, call: &Call<'_>) -> Option<Value> {
        arguments(tool_in(&call.id)?, call)
    }

    fn said(&self, text: &str) -> Said {
        let mode = text.strip_prefix(MODE).and_then(|mode| Mode::named(mode.trim()));
        mode.map_or(Said::Words, Said::Mode)
    }

    fn asks(&self, call: &Call<'_>) -> Option<QuestionKind> {
        match tool_in(&call.id)? {
            "enter_plan_mode" | "exit_plan_mode" => Some(QuestionKind::Plan),
            name if name.starts_with("mcp_") && tools::find(name).is_none() => {
                Some(QuestionKind::Mcp)
            }
            _ => None,
        }
    }

    fn usage(&self, answer: &RawValue) -> Vec<Counted> {
        let answer: Answer<'_> = serde_json::from_str(answer.get()).unwrap_or_default();
        let quota = answer.meta.and_then(|meta| meta.quota).filter(|quota| quota.read);
        let Some(quota) = quota else { return Vec::new() };
        let mut counted: Vec<Counted> = quota
            .models
            .items
            .iter()
            .filter_map(|of| {
                let model = string(of.model).map(std::borrow::Cow::into_owned);
                Some(Counted { scope: Scope::Model, usage: usage(of.tokens.as_ref()?), model })
            })
            .collect();
        counted.extend(quota.tokens.as_ref().map(|tokens| Counted {
            scope: Scope::Run,
            usage: usage(tokens),
            model: None,
        }));
        counted
    }

    fn failure(&self, step: Step, failure: Failure) -> Failure {
        let better = better(step, &failure);
        Failure {
            exit_code: failure.exit_code,
            signal: failure.signal,
            stderr: failure.stderr,
            rpc_code: failure.rpc_code,
            upstream: failure.upstream,
            ..better
        }
    }

    /// An invalid model may be answered with nothing at all, and with no stop reason; newer versions end the turn as if
    /// all were well when the model said nothing.
    fn emptiness(&self, answer: &RawValue, answered: bool) -> Option<Failure> {
        let answer: Answer<'_> = serde_json::from_str(answer.get()).unwrap_or_default();
        let reason = string(answer.stop_reason);
        if answered || !matches!(reason.as_deref(), None | Some("end_turn")) {
            return None;
        }
        let failure =
            Failure::new(Phase::Response, "empty_answer", "the model returned an empty answer");
        Some(
            failure
                .hint("check the model's name with `pollux capabilities --probe`, or try again")
                .retryable(),
        )
    }

    /// With an error the CLI cannot write a file that is not there yet, whichever error it is.
    fn missing_file_is_empty(&self) -> bool {
        true
    }

    /// What a load repeats has the CLI's own words in the person's name, and lacks what tools gave back.
    fn has_own_history(&self) -> bool {
        true
    }

    fn beside(&self, session_id: &str) -> Box<dyn Beside> {
        let resumed = self.resumed.as_ref().filter(|(id, _)| id == session_id);
        let file = resumed.map(|(_, file)| file.as_path());
        Box::new(SessionFile::new(self.gemini.as_deref(), file, session_id))
    }
}

fn usage(tokens: &Tokens<'_>) -> Usage {
    let (input, output) = (tokens.input.0, tokens.output.0);
    Usage {
        input_tokens: input,
        output_tokens: output,
        total_tokens: input.saturating_add(output),
        ..Usage::default()
    }
}

/// The name of the tool in a call's id: `read_file-1794766565350`, `read_file-1794766565350-3`, or
/// `read_file__read_file_1794765793693_0`.
fn tool_in(id: &str) -> Option<&str> {
    let doubled = id.match_indices("__").find_map(|(at, _)| {
        let (name, rest) = (id.get(..at)?, id.get(at + 2..)?);
        rest.starts_with(name).then_some(name)
    });
    let dashed = || {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let mut name = id;
        while let Some((head, _)) = name.rsplit_once('-').filter(|(_, tail)| is_number(tail)) {
            name = head;
        }
        (name != id).then_some(name)
    };
    let split = || id.split_once("__").map(|(name, _)| name);
    let known = || split().filter(|name| tools::find(name).is_some());
    doubled.or_else(known).or_else(dashed).or_else(split).filter(|name| !name.is_empty())
}

/// What versions say of a session that is not there.
const NO_SESSION: [&str; 3] = ["session identifier", "No previous sessions", "Session not found"];

/// A failure in better words: codes of errors are statuses of HTTP here, and messages are JSON.
fn better(step: Step, failure: &Failure) -> Failure {
    let words = plain(&failure.message);
    let known = failure.rpc_code.and_then(|code| u16::try_from(code).ok());
    let known = known.filter(|status| (400..600).contains(status));
    if failure.code == "not_signed_in" || words.contains("Please set an Auth method") {
        let out = Failure { phase: Phase::Auth, ..signed_out() };
        return Failure { message: words, ..out };
    }
    match (step, status_in(&failure.message).or(known)) {
        (Step::Prompt, _) if is_lost(&words) => lost(&words),
        (Step::Prompt, Some(status)) => by_status(status, &failure.message),
        (_, _) if NO_SESSION.iter().any(|said| words.contains(said)) => {
            Failure::new(Phase::Request, "unknown_session", words)
                .hint("list sessions with `pollux sessions list`; if the session existed, try `pollux sessions rescue`")
        }
        (_, _) if words.contains("untrusted folder") => {
            Failure::new(Phase::Request, "untrusted_folder", words)
                .hint("run `gemini` there once and trust the folder, or use the mode `default`")
        }
        _ => Failure { message: words, ..failure.clone() },
    }
}

#[cfg(test)]
mod tests {
    use super::{Quirks, tool_in};
    use crate::acp::{Dialect, Said, Step};
    use crate::model::{Failure, Mode, Phase};

    #[test]
    fn the_name_of_a_tool_is_in_the_id_of_its_call_in_every_version() {
        for (id, name) in [
            ("run_shell_command-1794766565350", Some("run_shell_command")),
            ("read_file-1794766565350-3", Some("read_file")),
            ("write_file__write_file_1794766066992_0", Some("write_file")),
            ("mcp_a__b__mcp_a__b_1794766066992_0", Some("mcp_a__b")),
            ("read_file__call-7", Some("read_file")),
            ("abc", None),
            ("-5", None),
            ("__", None),
        ] {
            assert_eq!(tool_in(id), name, "{id}");
        }
    }

    #[test]
    fn only_the_session_that_is_gone_on_with_has_its_file() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("session-2026-11-15T17-55-1f9cc522.jsonl");
        std::fs::write(&file, "").unwrap();
        let resumed = Some(("1f9cc522-1".to_owned(), file.clone()));
        let quirks = Quirks { gemini: Some(home.path().into()), resumed };
        assert_eq!(quirks.beside("1f9cc522-1").file(), Some(file));
        assert_eq!(quirks.beside("another").file(), None);
    }

    #[test]
    fn only_a_mode_that_is_one_is_taken_out_of_the_words() {
        let quirks = Quirks::default();
        assert_eq!(quirks.said("[MODE_UPDATE] autoEdit"), Said::Mode(Mode::AutoEdit));
        assert_eq!(quirks.said("[MODE_UPDATE] is what it prints"), Said::Words);
        assert_eq!(quirks.said("see [MODE_UPDATE] yolo"), Said::Words);
    }

    #[test]
    fn a_connection_that_broke_is_told_as_such_whichever_words_node_has_for_it() {
        for words in ["terminated", "read ECONNRESET", "socket hang up", "fetch failed"] {
            let failure = Failure::new(Phase::Request, "agent_error", words);
            let told = Quirks::default().failure(Step::Prompt, failure);
            assert_eq!((told.code, told.retryable), ("connection_lost", true), "{words}");
        }
    }
}
