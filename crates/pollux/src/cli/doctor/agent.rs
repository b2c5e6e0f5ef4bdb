//! The agent: is it there, does it work, who is signed in, does it tell us what happens.

use super::Finding;
use crate::config::Config;
use pollux_agent::gemini::cli::{Account, Cli, OLDEST, State, Version, account};
use pollux_agent::gemini::hooks::SOCKET;
use pollux_agent::gemini::hooks::deliver::Place;
use pollux_agent::gemini::hooks::extension::Extension;
use pollux_agent::gemini::hooks::inbox::Inbox;
use pollux_agent::gemini::hooks::settings::Settings;
use pollux_agent::process::Program;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The newest version that every test runs with; the oldest is [`OLDEST`].
const NEWEST_TESTED: Version = Version::new(0, 61, 0);
/// A hook that takes longer is felt at every tool.
const QUICK: Duration = Duration::from_millis(100);
/// A hook that takes longer does not come.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) async fn look(config: &Config) -> Vec<Finding> {
    let is_set = |name: &str| config.variables.iter().any(|set| set == name);
    let account = account(&config.gemini, &is_set);
    let cli = config.installed(None).await;
    let state = State::of(cli.as_ref().ok(), account);
    let mut findings = vec![program(cli.as_ref().ok(), state)];
    findings.push(match account {
        Account::Present => Finding::well("sign-in", "signed in, or an API key is set"),
        Account::None => Finding::broken("sign-in", "not signed in", State::NotSignedIn.advice()),
        Account::NotServed => {
            let found = "a sign-in method that Google no longer supports";
            Finding::broken("sign-in", found, State::SignInNotServed.advice())
        }
    });
    findings.extend(hooks(config).await);
    findings
}

fn program(cli: Option<&Cli>, state: State) -> Finding {
    const WHAT: &str = "Gemini CLI";
    let Some(cli) = cli else { return Finding::broken(WHAT, "not found", State::Absent.advice()) };
    let Some(version) = cli.version else {
        let found = format!("{} does not report its version", cli.path.display());
        return Finding::warning(WHAT, found, State::Found.advice());
    };
    let found = format!("{version} at {}", cli.path.display());
    if state == State::TooOld {
        let found = format!("{found} is too old: Pollux drives {OLDEST} or newer");
        return Finding::broken(WHAT, found, state.advice());
    }
    if version > NEWEST_TESTED {
        let hint = format!(
            "Pollux is tested with {OLDEST} to {NEWEST_TESTED}; try this version with `pollux capabilities --probe`"
        );
        return Finding::warning(WHAT, found, hint);
    }
    Finding::well(WHAT, found)
}

async fn hooks(config: &Config) -> Vec<Finding> {
    const WHAT: &str = "hooks";
    let settings = Settings::new(&config.gemini, &config.data.join("hooks"));
    let (readable, command) = match settings.installed() {
        Ok(command) => {
            let file = settings.file();
            let is = if file.exists() { "is readable" } else { "does not exist (optional)" };
            (Finding::well("settings", format!("{} {is}", file.display())), command)
        }
        Err(failed) => {
            let hint = "fix the file: Gemini CLI cannot read it either";
            (Finding::broken("settings", failed.to_string(), hint), None)
        }
    };
    let installed = command.or_else(|| Extension::new(&config.gemini).installed());
    let Some(command) = installed else {
        let hint = "run `pollux hooks install` to show your own Gemini terminals live";
        return vec![readable, Finding::warning(WHAT, "not installed", hint)];
    };
    let finding = match round_trip(&command, config).await {
        Some(took) if took <= QUICK => Finding::well(WHAT, format!("respond in {took:.0?}")),
        Some(took) => {
            let hint =
                "Gemini CLI waits for hooks at every tool call: check the load of this machine";
            Finding::warning(WHAT, format!("respond in {took:.0?}"), hint)
        }
        None => {
            let hint = "run `pollux hooks install` again: this program may have moved";
            Finding::broken(WHAT, "installed, but no event arrives", hint)
        }
    };
    vec![readable, finding]
}

/// The program of a hook's command, which is ours: `'…' hook EVENT`.
fn called(command: &str) -> Option<PathBuf> {
    let (quoted, _event) = command.rsplit_once(" hook ")?;
    let path = quoted.strip_prefix('\'')?.strip_suffix('\'')?;
    Some(path.replace(r"'\''", "'").into())
}

/// Runs the program that the CLI calls, and waits for the event on a private socket.
async fn round_trip(command: &str, config: &Config) -> Option<Duration> {
    let directory = tempfile::tempdir().ok()?;
    let socket = directory.path().join("hooks.sock");
    let place = Place { socket: socket.clone(), spool: directory.path().join("spool") };
    let inbox = Inbox::open(place).await.ok()?;
    let begun = Instant::now();
    let hook = Program::new(called(command)?, &config.cwd)
        .args(["hook", "Notification"])
        .env(SOCKET, &socket)
        .input(b"{}".to_vec());
    let mut child = hook.spawn().ok()?;
    let heard = tokio::time::timeout(PATIENCE, inbox.next()).await;
    let took = begun.elapsed();
    // Its answer is for the CLI.
    let _ended = tokio::time::timeout(PATIENCE, child.wait()).await;
    child.close().await;
    heard.ok()?.ok().map(|_line| took)
}
