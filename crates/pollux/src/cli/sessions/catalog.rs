//! The sessions on this machine, and how a person names one of them.

use crate::api::Summary;
use crate::client::Client;
use crate::config::Config;
use crate::report::{self, table};
use crate::trouble::Trouble;
use indicatif::{ProgressBar, ProgressStyle};
use pollux_agent::gemini::transcript::store::{self, Kind, Problem, Session};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// A scan that takes longer than this shows how far it is.
const PATIENCE: Duration = Duration::from_millis(500);
/// How many problems are told of one by one.
const PROBLEMS_SHOWN: usize = 5;
/// How many sessions an error offers to choose from.
const CANDIDATES: usize = 8;

/// All sessions, newest first.
#[derive(Debug)]
pub(in crate::cli) struct Catalog {
    pub(in crate::cli) sessions: Vec<Session>,
    gemini: PathBuf,
}

impl Catalog {
    /// Looks for all sessions, and tells what was skipped.
    pub(in crate::cli) fn read(config: &Config) -> Self {
        let bar = Bar::new();
        let progress = |done, total| bar.show(done, total);
        let listing =
            store::list(&config.gemini, &[&config.cwd], Some(&index_path(config)), &progress);
        bar.clear();
        tell(&listing.problems);
        Self { sessions: listing.sessions, gemini: config.gemini.clone() }
    }

    /// Keeps the sessions of one project.
    pub(in crate::cli) fn of_project(mut self, project: Option<&Path>, config: &Config) -> Self {
        if let Some(project) = project {
            let given = config.cwd.join(project);
            let real = given.canonicalize().unwrap_or_else(|_| given.clone());
            self.sessions.retain(|session| session.is_of(&real) || session.is_of(&given));
        }
        self
    }

    /// Keeps the sessions of some kinds.
    pub(in crate::cli) fn only(mut self, kinds: &[Kind]) -> Self {
        self.sessions.retain(|session| kinds.contains(&session.kind));
        self
    }

    /// The session that a word names: an id, the beginning of one, or `latest`.
    pub(in crate::cli) fn find(&self, wanted: &str) -> anyhow::Result<&Session> {
        if wanted == "latest" {
            let latest = self.sessions.iter().find(|session| session.kind == Kind::Main);
            return latest.ok_or_else(|| self.nothing().into());
        }
        if let Some(exact) = self.sessions.iter().find(|session| session.id == wanted) {
            return Ok(exact);
        }
        let found: Vec<&Session> = self
            .sessions
            .iter()
            .filter(|session| !wanted.is_empty() && session.id.starts_with(wanted))
            .collect();
        match found.as_slice() {
            [one] => Ok(one),
            [] => Err(self.unknown(wanted)),
            many => {
                let message = format!("`{wanted}` matches {} sessions", many.len());
                Err(Trouble::refused("ambiguous_session", message)
                    .hint(offer("use a longer prefix", many))
                    .into())
            }
        }
    }

    /// The same, where the word may also be the daemon's id of a session, which the agent calls otherwise.
    pub(in crate::cli) fn named(&self, wanted: &str, config: &Config) -> anyhow::Result<&Session> {
        let found = self.find(wanted);
        let Some(known) = found.is_err().then(|| of_daemon(wanted, config)).flatten() else {
            return found;
        };
        let session = known.agent_id.and_then(|id| self.find(&id).ok());
        session.ok_or_else(|| {
            let message = format!("session `{wanted}` has no session file yet");
            let hint = format!("`pollux show {wanted}` shows what the daemon has recorded");
            Trouble::refused("unknown_session", message).hint(hint).into()
        })
    }

    fn unknown(&self, wanted: &str) -> anyhow::Error {
        let main: Vec<&Session> =
            self.sessions.iter().filter(|session| session.kind == Kind::Main).collect();
        if main.is_empty() {
            return self.nothing().into();
        }
        let trouble = Trouble::refused("unknown_session", format!("no session matches `{wanted}`"));
        trouble.hint(offer("the newest sessions are", &main)).into()
    }

    /// There is no session at all.
    pub(in crate::cli) fn nothing(&self) -> Trouble {
        let message = format!("no sessions found in {}", self.gemini.display());
        let hint =
            "Gemini CLI stores sessions in `$GEMINI_CLI_HOME/.gemini`, by default `~/.gemini`";
        Trouble::refused("no_sessions", message).hint(hint)
    }

    /// There is no session of a project, where one was named.
    pub(super) fn nothing_of(&self, project: Option<&Path>) -> Trouble {
        let Some(project) = project else { return self.nothing() };
        let message = format!("no sessions found for project {}", project.display());
        let hint =
            "`pollux sessions list` lists the sessions of all projects; add `--all` for empty ones";
        Trouble::refused("no_sessions", message).hint(hint)
    }
}

/// The session that the daemon knows by this word, where one runs.
fn of_daemon(wanted: &str, config: &Config) -> Option<Summary> {
    let asks = async { Client::running(config).await.ok()??.session(wanted).await.ok() };
    crate::cli::session::runtime().ok()?.block_on(asks)
}

/// Sessions to choose from, as a hint.
fn offer(what: &str, sessions: &[&Session]) -> String {
    let line = |session: &&Session| {
        let title = session.digest.title().unwrap_or("(empty)");
        format!("\n  {}  {}", session.id, table::cut(&table::printable(title), 60))
    };
    let lines: String = sessions.iter().take(CANDIDATES).map(line).collect();
    let more = match sessions.len().saturating_sub(CANDIDATES) {
        0 => String::new(),
        more => format!("\n  … and {more} more: `pollux sessions list`"),
    };
    format!("{what}:{lines}{more}")
}

/// Tells what was skipped; many of them in one line.
fn tell(problems: &[Problem]) {
    for problem in problems.iter().take(PROBLEMS_SHOWN) {
        report::warn(&format!("{}: {}", problem.path.display(), problem.diagnostic));
    }
    if problems.len() > PROBLEMS_SHOWN {
        let more = problems.len() - PROBLEMS_SHOWN;
        report::warn(&format!(
            "… and {more} more problems; `pollux sessions show FILE` shows those of one file"
        ));
    }
}

/// One index for each home, so that several do not drive each other out.
pub(in crate::cli) fn index_path(config: &Config) -> PathBuf {
    let home = store::project_hash(&config.gemini);
    config.cache.join(format!("sessions-{}.index", home.get(..16).unwrap_or(&home)))
}

/// A progress bar that comes only where somebody has been waiting.
struct Bar {
    started: Instant,
    bar: OnceLock<ProgressBar>,
}

impl Bar {
    fn new() -> Self {
        Self { started: Instant::now(), bar: OnceLock::new() }
    }

    fn show(&self, done: usize, total: usize) {
        if self.started.elapsed() < PATIENCE {
            return;
        }
        let bar = self.bar.get_or_init(|| {
            let style = ProgressStyle::with_template("reading sessions {wide_bar} {pos}/{len}");
            ProgressBar::new(total as u64)
                .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        bar.set_position(done as u64);
    }

    fn clear(&self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}
