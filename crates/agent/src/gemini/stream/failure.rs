//! One error out of the many ways in which a headless run fails.
//!
//! The CLI says it in a `result` line, in an `error` line with exit code 0, as JSON on stderr, as a sentence on stderr
//! with nothing on stdout, by its exit code alone, or by ending without a word. Pure: what was seen in, the error out.

use super::translate::{Ended, Told};
use crate::gemini::loose::loose_object;
use crate::gemini::transcript::string;
use crate::model::{Failure, Phase, StopReason};
use serde_json::value::RawValue;

/// How a run ended, as far as it was seen.
#[derive(Debug)]
pub struct End<'e> {
    /// The exit code; none where a signal ended the CLI, or nobody has seen it end.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// What the stream said.
    pub told: &'e Told,
    /// The last of stderr.
    pub stderr: &'e str,
    /// Set where it was us who stopped it.
    pub stopped: Option<StopReason>,
}

impl End<'_> {
    /// True where the CLI has ended in another way than its last line says.
    fn is_contradicted(&self) -> bool {
        self.signal.is_some() || self.code.is_some_and(|code| code != 0)
    }
}

/// Why the run failed; none where it did not.
pub fn failure(end: &End<'_>) -> Option<Failure> {
    let found = match (end.stopped, &end.told.result) {
        (Some(reason), _) => stopped(reason),
        (None, Some(result)) if result.success && !end.is_contradicted() => return None,
        (None, Some(result)) => said(end, result.message.as_deref(), result.kind.as_deref()),
        (None, None) => unsaid(end),
    };
    let upstream = end.told.result.as_ref().and_then(Ended::upstream);
    let upstream = upstream.or_else(|| on_stderr(end.stderr).map(|(object, _)| object));
    let stderr = end.stderr.into();
    Some(Failure { exit_code: end.code, signal: end.signal, upstream, stderr, ..found })
}

fn stopped(reason: StopReason) -> Failure {
    match reason {
        StopReason::Timeout => {
            Failure::new(Phase::Budget, "timeout", "the run exceeded its time limit")
                .hint("raise the limit with `--timeout`")
                .retryable()
        }
        StopReason::MaxTurns => {
            Failure::new(Phase::Budget, "max_turns", "the run reached its turn limit")
                .hint("raise the limit with `--max-turns`, or continue with `--resume`")
        }
        _ => Failure::new(Phase::Cancelled, "cancelled", "the run was cancelled"),
    }
}

/// There is a `result` line, and it tells of an error, or the exit code does.
fn said(end: &End<'_>, message: Option<&str>, kind: Option<&str>) -> Failure {
    if let Some(known) = by_code(end) {
        return known.says(message);
    }
    let Some(message) = message else {
        // An answer that cannot be used has an `error` line, a `result` without an error, and exit code 0.
        return answer(end.told.error.as_deref());
    };
    // Some versions (0.47) keep the reason for stderr.
    let reason = (plain(message) == UNKNOWN).then(|| reported(end.stderr)).flatten();
    let message = reason.as_deref().unwrap_or(message);
    let status = status_in(message).or_else(|| status_of_exit(end.code));
    match status {
        Some(status) => by_status(status, message),
        None if kind == Some("FatalTurnLimitedError") => turns(),
        None if is_lost(message) => lost(message),
        None => unclear(message).retryable(),
    }
}

/// The model's server or the CLI said something that is known by its words alone.
fn unclear(message: &str) -> Failure {
    Failure::new(Phase::Request, "model_error", plain(message))
        .hint("Gemini CLI could not use the response from the model's server; try again, or use another model")
}

fn answer(error: Option<&str>) -> Failure {
    let message = error.unwrap_or("the model gave no usable answer");
    let empty = message.contains("empty response") || message.contains("no final response");
    let code = if empty { "empty_answer" } else { "unusable_answer" };
    Failure::new(Phase::Response, code, message)
        .hint("Gemini CLI has already retried several times; try again later, or use another model")
        .retryable()
}

/// What the CLI says where it knows more than it says.
const UNKNOWN: &str = "An unknown error occurred.";
/// How the line on stderr begins that has the reason, behind the path of a report.
const REPORT: &str = "Error when talking to Gemini API";

/// The reason that stands on stderr: `… available at: PATH.json TypeError: terminated`.
fn reported(stderr: &str) -> Option<String> {
    let clean = without_colour(stderr);
    let line = clean.lines().rfind(|line| line.starts_with(REPORT))?;
    let (_, error) = line.split_once(".json ")?;
    let (_, reason) = error.split_once("Error: ")?;
    Some(reason.trim_end().to_owned()).filter(|reason| !reason.is_empty())
}

/// What Node says of a connection that broke, somewhere in a message.
const LOST: [&str; 5] =
    ["Incomplete JSON", "fetch failed", "ECONNRESET", "socket hang up", "other side closed"];

pub(in crate::gemini) fn is_lost(message: &str) -> bool {
    plain(message) == "terminated" || LOST.iter().any(|words| message.contains(words))
}

pub(in crate::gemini) fn lost(message: &str) -> Failure {
    Failure::new(Phase::Response, "connection_lost", plain(message))
        .hint("the connection to the model broke during the answer; try again")
        .retryable()
}

/// There is no `result` line: the exit code and stderr are all there is.
fn unsaid(end: &End<'_>) -> Failure {
    let sentence = sentence(end.stderr);
    if let Some(known) = by_code(end) {
        return known.says(sentence.as_deref());
    }
    if let Some((_, error)) = on_stderr(end.stderr) {
        let message = error.message.as_deref().filter(|message| *message != "[object Object]");
        let message = message.unwrap_or("the model's server rejected the request");
        let status = error.code.or_else(|| status_in(message)).or(status_of_exit(end.code));
        return match status {
            Some(status) => by_status(status, message),
            None if is_lost(message) => lost(message),
            None => unclear(message).retryable(),
        };
    }
    let begun = end.told.session_id.is_some();
    let phase = if begun { Phase::Response } else { Phase::Start };
    match (end.code, end.signal) {
        (_, Some(signal)) => {
            let message = format!("Gemini CLI was killed by signal {signal}");
            Failure::new(phase, "killed", message)
                .hint("another process killed it, or the machine ran out of memory; try again")
                .retryable()
        }
        (Some(0), _) => {
            let message = "Gemini CLI exited with code 0 but printed no result";
            Failure::new(phase, "no_result", message)
                .hint("it may have been killed, stopped by a hook, or lost its stdout")
                .retryable()
        }
        (None, None) => Failure::new(phase, "no_result", "the output ends without a result")
            .hint("the run is still in progress, or its output is incomplete"),
        (Some(1), _) if sentence.as_deref().is_some_and(|text| text.contains("Auth method")) => {
            signed_out().says(sentence.as_deref())
        }
        (Some(1), _) if is_usage(end.stderr) => Failure::new(
            Phase::Start,
            "bad_arguments",
            sentence.unwrap_or_else(|| "Gemini CLI rejected an argument".to_owned()),
        )
        .hint("this version may not support the flag: see `pollux capabilities`"),
        (code, _) => {
            if let Some(status) = status_of_exit(code).filter(|_| begun) {
                return by_status(status, sentence.as_deref().unwrap_or("no details given"));
            }
            let code = code.unwrap_or(-1);
            let none = || format!("Gemini CLI exited with code {code} without an error message");
            Failure::new(phase, "failed", sentence.unwrap_or_else(none))
                .hint("run `gemini -p` in the same directory to see its error")
        }
    }
}

/// The exit codes that mean one thing.
fn by_code(end: &End<'_>) -> Option<Failure> {
    Some(match end.code? {
        41 => signed_out(),
        42 => Failure::new(Phase::Start, "bad_input", "Gemini CLI rejected the input")
            .hint("the prompt may be empty, or the session id is already taken or unknown"),
        44 => Failure::new(Phase::Start, "sandbox", "the sandbox could not start").hint(
            "check that Docker, Podman or sandbox-exec is installed, or run without a sandbox",
        ),
        52 => Failure::new(Phase::Start, "bad_settings", "Gemini CLI rejected its settings")
            .hint("check ~/.gemini/settings.json"),
        53 => turns(),
        54 => Failure::new(Phase::Tool, "fatal_tool", "a tool failed with a fatal error")
            .hint("usually the disk is full"),
        55 => Failure::new(Phase::Start, "untrusted_folder", "the folder is not trusted").hint(
            "run `gemini` there once and trust the folder, or pass `--extra-arg --skip-trust`",
        ),
        130 => stopped(StopReason::Cancelled),
        199 => Failure::new(Phase::Start, "restart", "Gemini CLI needs a restart")
            .hint("run `gemini` once: it was updated, or asks whether to trust the folder")
            .retryable(),
        _ => return None,
    })
}

pub(in crate::gemini) fn signed_out() -> Failure {
    Failure::new(Phase::Start, "not_signed_in", "Gemini CLI is not signed in")
        .hint("set GEMINI_API_KEY, or run `gemini` once and sign in")
}

fn turns() -> Failure {
    Failure::new(Phase::Budget, "max_turns", "the session reached its turn limit")
        .hint("raise `model.maxSessionTurns` in ~/.gemini/settings.json")
}

/// A quota that is spent for long; "Resource has been exhausted" is said of the requests of a minute too.
const SPENT: [&str; 4] = ["daily", "per day", "PerDay", "exhausted your"];

/// What the answer of the model's server means.
pub(in crate::gemini) fn by_status(status: u16, message: &str) -> Failure {
    let message = plain(message);
    let failure = match status {
        400 => Failure::new(Phase::Request, "bad_request", message).hint(
            "the model's server rejected the request; start a new session, or use another model",
        ),
        401 | 403 => Failure::new(Phase::Request, "not_allowed", message)
            .hint("the API key or account was rejected: check GEMINI_API_KEY"),
        404 => Failure::new(Phase::Request, "unknown_model", message)
            .hint("choose another model with `--model`; `pollux capabilities` lists some"),
        429 if SPENT.iter().any(|words| message.contains(words)) => {
            Failure::new(Phase::Request, "quota_exhausted", message)
                .hint("wait until the quota resets, or use another model or key")
        }
        429 => Failure::new(Phase::Request, "rate_limited", message)
            .hint("wait a moment and try again")
            .retryable(),
        500.. => Failure::new(Phase::Request, "server_error", message)
            .hint("the model's server has an error; try again later, or use another model")
            .retryable(),
        _ => unclear(&message),
    };
    Failure { http_status: Some(status), ..failure }
}

impl Failure {
    /// The same in the agent's own words, where it has some.
    fn says(mut self, message: Option<&str>) -> Self {
        if let Some(message) = message {
            self.message = plain(message);
        }
        self
    }
}

/// The errors that the model's server answers with. Other exit codes are those of other troubles.
const STATUSES: [u16; 16] =
    [400, 401, 403, 404, 405, 408, 409, 412, 413, 422, 429, 499, 500, 502, 503, 504];

/// The exit code of an error of the API is the HTTP status, of which only eight bits are left.
fn status_of_exit(code: Option<i32>) -> Option<u16> {
    let status = u16::try_from(code?.checked_add(256)?).ok()?;
    STATUSES.contains(&status).then_some(status)
}

fn as_status(code: u16) -> Option<u16> {
    (400..600).contains(&code).then_some(code)
}

/// The HTTP status that a message tells of.
pub(in crate::gemini) fn status_in(message: &str) -> Option<u16> {
    let number = |after: &str| {
        let digits: String = after.trim_start().chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok().and_then(as_status)
    };
    let labelled = ["\"code\":", "got status: ", "status: "];
    let labelled = labelled.iter().find_map(|label| number(message.split_once(label)?.1));
    labelled.or_else(|| match message {
        _ if message.contains("is not found for API version") => Some(404),
        _ if message.contains("exhausted your daily quota") => Some(429),
        _ => None,
    })
}

/// A message without the wrapping of the CLI and, where it is JSON, without that of the server.
pub(in crate::gemini) fn plain(message: &str) -> String {
    let message = without_colour(message);
    let inner = message.trim().strip_prefix("[API Error: ");
    let inner = inner.and_then(|rest| rest.rsplit_once(']').map(|(inner, _)| inner));
    let inner = inner.unwrap_or(message.trim());
    let value: Option<serde_json::Value> = serde_json::from_str(inner).ok();
    let said = value.as_ref().and_then(|value| value["error"]["message"].as_str());
    said.unwrap_or(inner).to_owned()
}

/// A text without what a terminal would take for an order: colours, links, titles.
pub(super) fn without_colour(text: &str) -> String {
    struct Plain(String);
    impl vte::Perform for Plain {
        fn print(&mut self, c: char) {
            self.0.push(c);
        }
        fn execute(&mut self, byte: u8) {
            self.0.push(char::from(byte));
        }
    }
    if memchr::memchr(b'\x1b', text.as_bytes()).is_none() {
        return text.to_owned();
    }
    let mut plain = Plain(String::with_capacity(text.len()));
    vte::Parser::new().advance(&mut plain, text.as_bytes());
    plain.0
}

/// Lines that every run writes, and that say nothing of why one failed.
const NOISE: [&str; 13] = [
    "Warning: ",
    "YOLO mode",
    "Ripgrep is not",
    "[STARTUP]",
    "Approval mode overridden",
    "Failed to save project registry",
    "Loaded cached",
    "Attempt ",
    "Usage: ",
    "Experiments loaded",
    "Skill ",
    REPORT,
    "Please fix the configuration",
];

/// The sentence on stderr that says what went wrong: the last that begins a line and is not noise.
fn sentence(stderr: &str) -> Option<String> {
    let clean = without_colour(stderr);
    if is_usage(&clean) {
        let first = clean.lines().take_while(|line| !line.starts_with("Usage: "));
        let words: Vec<&str> = first.map(str::trim).filter(|line| !line.is_empty()).collect();
        return (!words.is_empty()).then(|| words.join(" "));
    }
    let starts = |line: &&str| line.chars().next().is_some_and(char::is_alphabetic);
    let speaks = |line: &&str| !NOISE.iter().any(|noise| line.starts_with(noise));
    clean.lines().filter(starts).rfind(speaks).map(|line| line.trim_end().to_owned())
}

fn is_usage(stderr: &str) -> bool {
    stderr.lines().any(|line| line.starts_with("Usage: gemini"))
}

/// What a JSON error on stderr says.
struct Said {
    message: Option<String>,
    code: Option<u16>,
}

loose_object! {
    /// The object that `--output-format json` writes to stderr.
    Object {
        "error" => error: Option<Inner<'a>>,
    }
}

loose_object! {
    /// Its `error`.
    Inner {
        "message" => message: Option<&'a RawValue>,
        "code" => code: Option<&'a RawValue>,
    }
}

/// The JSON error on stderr, among other lines, sometimes behind `[ERROR] `.
fn on_stderr(stderr: &str) -> Option<(Box<RawValue>, Said)> {
    let mut at = 0;
    let mut found = None;
    for line in stderr.split_inclusive('\n') {
        let from = at + if line.starts_with("[ERROR] {") { "[ERROR] ".len() } else { 0 };
        at += line.len();
        let Some(rest) = stderr.get(from..).filter(|rest| rest.starts_with('{')) else { continue };
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
        let Some(Ok(raw)) = values.next() else { continue };
        let object: Object<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
        let Some(error) = object.error.filter(|error| object.read && error.read) else { continue };
        let said = Said {
            message: string(error.message).map(std::borrow::Cow::into_owned),
            // Some are exit codes, and not what a server has answered.
            code: error.code.and_then(|code| code.get().parse().ok()).and_then(as_status),
        };
        found = Some((raw.to_owned(), said));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{End, failure, without_colour};
    use crate::gemini::stream::Translator;

    #[test]
    fn what_a_terminal_would_obey_is_no_text() {
        for (text, plain) in [
            ("a \u{1b}[1;31mred\u{1b}[0m b\n", "a red b\n"),
            ("see \u{1b}]8;;http://a.b\u{7}link\u{1b}]8;;\u{7} and done", "see link and done"),
            ("see \u{1b}]8;;http://a.b\u{1b}\\link\u{1b}]8;;\u{1b}\\ done", "see link done"),
            ("\u{1b}(Bplain \u{1b}=and\u{1b}>\ttab", "plain and\ttab"),
            ("\u{1b}Pq#0\u{1b}\\after", "after"),
            ("ü\u{1b}[0m🦊", "ü🦊"),
        ] {
            assert_eq!(without_colour(text), plain);
        }
    }

    #[test]
    fn the_code_of_an_error_is_a_status_only_where_it_can_be_one() {
        let said = |message: &str, code: u16| {
            let stderr = format!(r#"{{"error":{{"message":"{message}","code":{code}}}}}"#);
            let translator = Translator::default();
            let told = translator.told();
            let end = End { code: Some(1), signal: None, told, stderr: &stderr, stopped: None };
            let failure = failure(&end).unwrap();
            (failure.code, failure.http_status, failure.retryable)
        };
        assert_eq!(said("fetch failed", 1), ("connection_lost", None, true));
        assert_eq!(said("something broke", 1).1, None);
        assert_eq!(said("slow down", 429), ("rate_limited", Some(429), true));
    }

    #[test]
    fn an_exit_code_is_a_status_only_where_there_is_such_a_status_and_the_run_had_begun() {
        let code = |code, session_id: Option<&str>| {
            let mut translator = Translator::default();
            if session_id.is_some() {
                translator.line(r#"{"type":"init","session_id":"s"}"#, &mut Vec::new());
            }
            let told = translator.told();
            let stderr = "something broke";
            let end = End { code: Some(code), signal: None, told, stderr, stopped: None };
            let failure = failure(&end).unwrap();
            (failure.code, failure.http_status)
        };
        assert_eq!(code(255, Some("s")), ("failed", None));
        assert_eq!(code(173, None), ("failed", None));
        assert_eq!(code(173, Some("s")), ("rate_limited", Some(429)));
        assert_eq!(code(247, Some("s")), ("server_error", Some(503)));
    }
}
