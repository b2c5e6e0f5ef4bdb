//! Going on with a session without losing it: the session that is meant, and what a headless run does for its safety.
//! ACP does the same by itself (`pollux_agent::gemini::acp`).

use super::refused;
use crate::cli::sessions::catalog::Catalog;
use crate::client::Client;
use crate::config::Config;
use crate::report;
use crate::trouble::Trouble;
use anyhow::Context;
use pollux_agent::gemini::acp::Resume;
use pollux_agent::gemini::cli::{Cli, Version};
use pollux_agent::gemini::transcript::rescue::rescue;
use pollux_agent::gemini::transcript::resume::Guard;
use pollux_agent::gemini::transcript::store::{Kind, Session};
use std::fs::{File, TryLockError};
use std::path::Path;

/// Since this version the names of session files that fall into one minute clash.
const CLASHES: Version = Version::new(0, 39, 0);

/// The session that is meant by an id, the beginning of one, or `latest` of this project.
pub(in crate::cli) fn find(
    wanted: &str,
    cwd: &Path,
    config: &Config,
    cli: &Cli,
) -> anyhow::Result<Resume> {
    let session = meant(wanted, cwd, config)?;
    if let Some((why, hint)) = not_resumable(session.kind) {
        let message = format!("session `{}` cannot be resumed: {why}", session.id);
        return Err(refused("not_resumable", message, hint));
    }
    let aside = config.data.join("rescued");
    // A stub of an earlier resume would have the next start delete the session.
    rescue(&session, &aside).with_context(|| no_copy(&session.file.path, &aside))?;
    let resume = Resume { id: session.id.clone(), file: session.file.path.clone(), aside };
    something_left(&resume)?;
    let guard = guard(&resume)?;
    if cli.at_least(CLASHES) && guard.is_of_this_minute() {
        report::quiet(
            "waiting up to 60 s: Gemini CLI would corrupt a session resumed in the minute of its creation",
        );
    }
    Ok(resume)
}

/// Why nobody goes on with a session of this kind, and what to do instead.
fn not_resumable(kind: Kind) -> Option<(&'static str, &'static str)> {
    match kind {
        Kind::Main => None,
        Kind::Subagent => Some((
            "it is a subagent session",
            "resume the session that it belongs to; `pollux sessions list` lists it",
        )),
        Kind::Stub => Some(("it is empty", "start a new session")),
    }
}

/// Refuses a session of which the agent has taken back all that was said.
fn something_left(resume: &Resume) -> anyhow::Result<()> {
    if resume.clone().unless_blank().is_some() {
        return Ok(());
    }
    let message = format!("session `{}` has no messages left to resume", resume.id);
    let hint = format!(
        "Gemini CLI removed the stopped turn; send the prompt again (`pollux sessions show {} --recover` shows it)",
        resume.id
    );
    Err(refused("not_resumable", message, &hint))
}

/// Keeps a session for whoever has the value: two that write one file would destroy it. What drives it elsewhere is asked before
/// ([`free`]).
pub(in crate::cli) fn alone(resume: Resume) -> anyhow::Result<Kept> {
    let file = File::open(&resume.file).ok();
    if let Some(Err(TryLockError::WouldBlock)) = file.as_ref().map(File::try_lock) {
        let message = format!("another process is using session `{}`", resume.id);
        return Err(refused("still_there", message, "wait until that process has exited"));
    }
    let guard = guard(&resume)?;
    Ok(Kept { resume, guard, _locked: file })
}

/// The session that a word names, of this project: the CLI looks for it nowhere else.
fn meant(wanted: &str, cwd: &Path, config: &Config) -> anyhow::Result<Session> {
    let here = Config { cwd: cwd.to_path_buf(), ..config.clone() };
    let all = Catalog::read(&here);
    let anywhere = all.find(wanted).ok().filter(|_| wanted != "latest").cloned();
    let catalog = all.of_project(Some(cwd), &here);
    match (catalog.find(wanted), anywhere) {
        (Err(_), Some(session)) => {
            let project = session.project_name();
            let message = format!("session `{}` belongs to another project: {project}", session.id);
            Err(refused(
                "other_project",
                message,
                "resume it in that directory, or pass `--cwd DIR`",
            ))
        }
        (found, _) => found.cloned(),
    }
}

fn guard(resume: &Resume) -> anyhow::Result<Guard> {
    let Resume { file, aside, .. } = resume;
    Guard::new(file, aside).with_context(|| no_copy(file, aside))
}

/// Without a copy a session is not gone on with: it might be lost.
fn no_copy(file: &Path, aside: &Path) -> Trouble {
    let message = format!("could not back up {}", file.display());
    Trouble::failed("no_copy", message)
        .hint(format!("check permissions and free space in {}", aside.display()))
}

/// Refuses a session that has an agent now: two that write one file would destroy it. `more` is what else can be done about it.
/// Gives the word by which [`find`] knows the session.
pub(in crate::cli) async fn free(
    wanted: &str,
    cwd: &Path,
    config: &Config,
    more: Option<&str>,
) -> anyhow::Result<String> {
    let client = Client::running(config).await?;
    // Without tmux there are no terminals.
    let mut terminals = config.servers().all().await.unwrap_or_default();
    terminals.retain(|found| !found.dead);
    if client.is_none() && terminals.is_empty() {
        return Ok(wanted.to_owned());
    }
    let session = match (meant(wanted, cwd, config), &client) {
        (Err(unknown), Some(client)) => {
            let own = own_id(client, wanted).await.ok_or(unknown)?;
            meant(&own, cwd, config)?.id
        }
        (found, _) => found?.id,
    };
    let driven = match &client {
        Some(client) => client.driven(&session).await,
        None => None,
    };
    let shown = terminals.iter().any(|found| found.key.as_deref() == Some(session.as_str()));
    let (who, id) = match driven {
        Some(live) => ("under the daemon", live.id),
        None if shown => ("in a terminal", session.clone()),
        None => return Ok(session),
    };
    let message = format!("session `{session}` is already running {who}");
    let mut hint =
        format!("send a prompt with `pollux send {id}`, or stop it first with `pollux stop {id}`");
    hint.extend(more.into_iter().flat_map(|more| ["; or ", more]));
    Err(refused("still_there", message, &hint))
}

/// The agent's own id of a session that the daemon knows by this word: `pollux new` prints the daemon's.
async fn own_id(client: &Client, wanted: &str) -> Option<String> {
    let known = client.session(wanted).await.ok().filter(|_| wanted != "latest");
    known.and_then(|known| known.agent_id)
}

/// A session that is gone on with, by nobody else for as long as this is there.
#[derive(Debug)]
pub(in crate::cli) struct Kept {
    pub(in crate::cli) resume: Resume,
    guard: Guard,
    /// None where the file cannot be opened: whoever goes on with it says so.
    _locked: Option<File>,
}

impl Kept {
    /// Finds the session, and keeps a copy of it: for a headless run.
    pub(in crate::cli) async fn new(
        wanted: &str,
        cwd: &Path,
        config: &Config,
        cli: &Cli,
    ) -> anyhow::Result<Self> {
        let wanted = free(wanted, cwd, config, None).await?;
        let kept = alone(find(&wanted, cwd, config, cli)?)?;
        if cli.at_least(CLASHES) {
            kept.guard.wait().await;
        }
        Ok(kept)
    }

    /// The start of its agent was given up: takes away what that has left by then.
    pub(in crate::cli) async fn given_up(&self) {
        // What was dropped ends its agent in a task of its own.
        tokio::task::yield_now().await;
        self.settle();
    }

    /// The run is over: takes away what would make the next start of the CLI delete the session.
    pub(in crate::cli) fn settle(&self) {
        if let Err(error) = self.guard.move_stubs() {
            let id = &self.resume.id;
            report::warn(&format!(
                "session `{id}` is at risk ({error}); back it up with `pollux sessions rescue {id}`"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Resume, alone, something_left};
    use std::fs;

    /// A session in which a person has said something and was answered, or was stopped and lost it.
    fn session(directory: &std::path::Path, answered: bool) -> Resume {
        let file = directory.join(format!("session-2026-11-15T17-55-{answered}.jsonl"));
        let said = r#"{"id":"1","type":"user","content":"hello"}"#;
        let then = if answered {
            r#"{"id":"2","type":"gemini","content":"Hello."}"#
        } else {
            r#"{"$set":{"messages":[]}}"#
        };
        fs::write(&file, format!("{{\"sessionId\":\"s\"}}\n{said}\n{then}\n")).unwrap();
        Resume { id: "s".to_owned(), file, aside: directory.join("aside") }
    }

    #[test]
    fn a_session_is_gone_on_with_by_one_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        let session = session(directory.path(), true);
        let kept = alone(session.clone()).unwrap();
        let refused = alone(session.clone()).unwrap_err().to_string();
        assert!(refused.contains("another process is using session `s`"), "{refused}");
        drop(kept);
        alone(session).unwrap();
    }

    #[test]
    fn a_session_in_which_nothing_is_left_is_not_gone_on_with() {
        let directory = tempfile::tempdir().unwrap();
        let refused = something_left(&session(directory.path(), false)).unwrap_err().to_string();
        assert!(refused.contains("has no messages left to resume"), "{refused}");
    }
}
