//! Talking to the daemon, which is started where none runs.

mod twin;
mod wait;

pub use twin::Twin;
pub use wait::{Until, Waited, comes, follow, follow_text, turn_ends, wait};

use crate::api::{Accepted, Begin, CommandBody, Problem, Sessions, Summary};
use crate::config::Config;
use crate::daemon::instance::{Place, RUNS_ALREADY};
use crate::trouble::Trouble;
use anyhow::Context;
use pollux_agent::gemini::hooks::KEY;
use pollux_agent::model::SessionStatus;
use pollux_agent::process::MARK;
use pollux_agent::session::{Command, Reply};
use reqwest::{Method, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::ffi::OsString;
use std::fmt::Write;
use std::fs::File;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// How long a daemon may take to come up.
const START: Duration = Duration::from_secs(10);
/// How often it is asked meanwhile.
const ASK: Duration = Duration::from_millis(10);

/// How long a daemon that is there may take to say so. One that comes up looks for its agents first.
const ANSWER: Duration = Duration::from_secs(20);

/// A journal that is longer is put aside before the next daemon writes to it.
const LONGEST_JOURNAL: u64 = 8 << 20;

/// The code of the trouble that a daemon has ended while it was needed.
pub const GONE: &str = "gone";

/// The way to the daemon of this user.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    place: Place,
}

/// Among so many of the newest sessions the latest is looked for.
const LATEST_OF: usize = 100;

fn is_driven(session: &Summary) -> bool {
    session.driver.is_some() && session.status != SessionStatus::Exited
}

impl Client {
    /// The daemon that runs, if one does.
    pub async fn running(config: &Config) -> anyhow::Result<Option<Self>> {
        let place = Place::new(&config.data);
        let socket = place.socket();
        if !socket.exists() {
            return Ok(None);
        }
        // No certificate is ever looked at on this way, but the builder wants somebody who could.
        let _installed = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().unix_socket(socket).no_proxy();
        // Nor are there any: a machine without certificates has daemons too.
        let http = http.tls_certs_only([]).build()?;
        let client = Self { http, place };
        match client.http.get(url("/api/v1/health")).timeout(ANSWER).send().await {
            Ok(_) => Ok(Some(client)),
            Err(error) if error.is_timeout() => Err(client.silent().into()),
            Err(_) => Ok(None),
        }
    }

    /// The daemon, which is started where none runs.
    pub async fn connect(config: &Config) -> anyhow::Result<Self> {
        match Self::running(config).await? {
            Some(client) => Ok(client),
            None => Self::start(config, &[]).await,
        }
    }

    /// Starts a daemon with these arguments, and waits until it is there.
    pub async fn start(config: &Config, arguments: &[OsString]) -> anyhow::Result<Self> {
        let place = Place::new(&config.data);
        let journal = place.journal();
        let mut written = length(&journal);
        let mut child = spawn(config, arguments)?;
        let mut is_held = false;
        let begun = Instant::now();
        while begun.elapsed() < START {
            if let Some(client) = Self::running(config).await? {
                return Ok(client);
            }
            let ended = child.try_wait()?.is_some_and(|status| !status.success());
            let is_free = ended && place.is_free();
            // The one that was there may have ended since ours has found it.
            is_held |= is_free && error_in(&journal, written).as_deref() == Some(RUNS_ALREADY);
            match (is_free, is_held) {
                (true, false) => break,
                // The one that was there was about to end.
                (true, true) => {
                    written = length(&journal);
                    child = spawn(config, arguments)?;
                }
                // Another one may have been faster: then this one has ended, and that one comes up.
                (false, _) => {}
            }
            is_held = ended && !is_free;
            tokio::time::sleep(ASK).await;
        }
        let why = error_in(&journal, written).map(|why| format!(": {why}")).unwrap_or_default();
        let trouble = Trouble::failed("no_daemon", format!("could not start the daemon{why}"));
        Err(trouble
            .hint(format!("see {}, or run `pollux serve` to watch it start", journal.display()))
            .into())
    }

    /// Asks for something.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        self.read(self.http.get(url(path)).send().await).await
    }

    /// Sends something.
    pub async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> anyhow::Result<T> {
        self.read(self.http.post(url(path)).json(body).send().await).await
    }

    /// Takes something away.
    pub async fn delete<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        let request = self.http.request(Method::DELETE, url(path));
        self.read(request.header("content-type", "application/json").send().await).await
    }

    /// A stream of frames.
    pub async fn stream(&self, path: &str) -> anyhow::Result<Response> {
        let response = self.http.get(url(path)).send().await.with_context(|| self.gone())?;
        if response.status().is_success() {
            return Ok(response);
        }
        Err(self.refused(response).await)
    }

    /// All sessions.
    pub async fn sessions(&self, limit: usize) -> anyhow::Result<Vec<Summary>> {
        let all: Sessions = self.get(&format!("/api/v1/sessions?limit={limit}")).await?;
        Ok(all.sessions)
    }

    /// One session: its id, the beginning of it, or `latest`, which is one that is driven where there is one: to look at an old
    /// session makes it the last that was touched, and not the one that is meant.
    pub async fn session(&self, wanted: &str) -> anyhow::Result<Summary> {
        if wanted == "latest" {
            let mut all = self.sessions(LATEST_OF).await?;
            let driven = all.iter().position(is_driven).unwrap_or(0);
            let latest = (driven < all.len()).then(|| all.swap_remove(driven));
            return latest.ok_or_else(|| {
                Trouble::refused("no_sessions", "there are no sessions")
                    .hint("start one with `pollux new`")
                    .into()
            });
        }
        self.get(&format!("/api/v1/sessions/{}", escaped(wanted))).await
    }

    /// The session with an id, of the daemon or of the agent, if it is driven now.
    pub async fn driven(&self, id: &str) -> Option<Summary> {
        let summary = self.session(id).await.ok()?;
        let lives = is_driven(&summary);
        let whole = summary.id == id || summary.agent_id.as_deref() == Some(id);
        (lives && whole).then_some(summary)
    }

    /// One event, whole: pages and frames cut long texts.
    pub async fn event(&self, session: &str, seq: u64) -> anyhow::Result<String> {
        let path = format!("/api/v1/sessions/{}/events/{seq}", escaped(session));
        let event: Box<RawValue> = self.get(&path).await?;
        Ok(event.get().to_owned())
    }

    /// Begins a session.
    pub async fn begin(&self, begin: &Begin) -> anyhow::Result<Summary> {
        self.post("/api/v1/sessions", begin).await
    }

    /// Gives a session a command.
    pub async fn command(&self, session: &str, command: Command) -> anyhow::Result<Reply> {
        let body = CommandBody { id: uuid::Uuid::new_v4().to_string(), command };
        let path = format!("/api/v1/sessions/{}/commands", escaped(session));
        let accepted: Accepted = self.post(&path, &body).await?;
        Ok(accepted.reply)
    }

    async fn read<T: DeserializeOwned>(
        &self,
        sent: reqwest::Result<Response>,
    ) -> anyhow::Result<T> {
        let response = sent.with_context(|| self.gone())?;
        if response.status().is_success() {
            let read = response.json().await;
            return read.with_context(|| {
                let message = "unexpected response from the daemon";
                let hint = "it may be another version: stop it with `pollux serve down`, and the next command starts a new one";
                Trouble::failed("daemon", message).hint(hint)
            });
        }
        Err(self.refused(response).await)
    }

    async fn refused(&self, response: Response) -> anyhow::Error {
        let status = response.status();
        let Ok(problem) = response.json::<Problem>().await else {
            let trouble = Trouble::failed("daemon", format!("the daemon returned {status}"));
            return trouble.hint(self.says_why()).into();
        };
        if !status.is_server_error() {
            return Trouble::refused("daemon", problem.message).hint_of(problem.hint).into();
        }
        // Where its journal is it tells nobody, but we know.
        let hint = problem.hint.filter(|_| problem.code != "failed");
        let hint = hint.unwrap_or_else(|| self.says_why());
        Trouble::failed("daemon", problem.message).hint(hint).into()
    }

    /// It has ended while it was needed.
    pub fn gone(&self) -> Trouble {
        let hint = format!("{}; the next command starts a new daemon", self.says_why());
        Trouble::failed(GONE, "the daemon has stopped").hint(hint)
    }

    /// It holds the socket, and so no other can be started.
    fn silent(&self) -> Trouble {
        let end = match self.place.announced() {
            Some(address) => format!("stop it with `kill {}`", address.pid),
            None => "stop its process".to_owned(),
        };
        let hint = format!("{end}, and the next command starts a new daemon; {}", self.says_why());
        Trouble::failed("daemon_silent", "the daemon is running but does not respond").hint(hint)
    }

    /// Where to look for what the daemon does not tell.
    pub fn says_why(&self) -> String {
        format!("see {}", self.place.journal().display())
    }
}

/// The name is never looked up: the way is the user's own socket.
fn url(path: &str) -> String {
    format!("http://localhost{path}")
}

/// A word as part of a path.
pub fn escaped(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    for byte in word.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _written = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// Starts a daemon that outlives this program.
fn spawn(config: &Config, arguments: &[OsString]) -> anyhow::Result<Child> {
    let journal = journal(&Place::new(&config.data)).with_context(|| {
        let hint = format!("{} must be a writable directory", config.data.display());
        Trouble::failed("no_daemon", "could not start the daemon").hint(hint)
    })?;
    let program = std::env::current_exe().context("could not find the path of this program")?;
    let mut command = serve(&program, arguments);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(journal);
    command.spawn().context("could not start the daemon")
}

/// Where the daemon says what happens to it.
fn journal(place: &Place) -> std::io::Result<File> {
    place.make()?;
    let path = place.journal();
    if std::fs::metadata(&path).is_ok_and(|journal| journal.len() > LONGEST_JOURNAL) {
        // The one before that goes. Where it cannot be, this one grows on.
        drop(std::fs::rename(&path, path.with_extension("log.old")));
    }
    File::options().create(true).append(true).open(path)
}

fn length(journal: &Path) -> u64 {
    std::fs::metadata(journal).map_or(0, |journal| journal.len())
}

/// The error that was written to a journal since it was so long.
fn error_in(journal: &Path, since: u64) -> Option<String> {
    let text = std::fs::read_to_string(journal).ok()?;
    // One that was longer was put aside meanwhile.
    let new = text.get(usize::try_from(since).ok()?..).unwrap_or(&text);
    new.lines().rev().find_map(|line| line.strip_prefix("error: ")).map(str::to_owned)
}

/// The daemon as it is started. It may be an agent that runs this program: what bears the mark of an agent ends with it, and the hooks
/// of what bears its key are taken for its own.
#[expect(clippy::disallowed_methods, reason = "the daemon is the one child that nobody ends")]
fn serve(program: &Path, arguments: &[OsString]) -> std::process::Command {
    let mut command = std::process::Command::new(program);
    command.args(["serve", "--background"]).args(arguments).current_dir("/");
    command.env_remove(MARK).env_remove(KEY);
    command
}

#[cfg(test)]
mod tests {
    use super::{KEY, MARK, serve};
    use std::path::Path;

    #[test]
    fn a_daemon_that_an_agent_has_started_bears_nothing_of_the_agent() {
        let command = serve(Path::new("pollux"), &[]);
        for gone in [MARK, KEY] {
            let mut variables = command.get_envs();
            assert!(variables.any(|(name, value)| name == gone && value.is_none()), "{gone}");
        }
    }
}
