//! The program of a rehearsal: started in the environment, waited for, ended with everything it started.
#![expect(clippy::disallowed_methods, reason = "this module gives the child its group and ends it")]

use crate::ends::Ends;
use crate::trouble::Trouble;
use pollux_rehearsal::Home;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitCode;
use std::time::Duration;
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};

/// How long what is left of the group may take to end.
const ENDING: Duration = Duration::from_secs(2);

/// Runs the program and gives its exit code.
///
/// On a terminal the program stays in our group, or the terminal would not let it read. Everywhere else it gets its own,
/// and nothing of that group outlives it.
pub(super) async fn run(
    words: &[OsString],
    env: &[(&'static str, String)],
) -> anyhow::Result<ExitCode> {
    let Some((program, args)) = words.split_first() else { return Ok(ExitCode::SUCCESS) };
    let mut interrupted = signal(SignalKind::interrupt())?;
    let mut ends = Ends::new()?;
    let own_group = !std::io::stdin().is_terminal();
    let mut command = Command::new(program);
    command.args(args).envs(env.iter().map(|(name, value)| (name, value))).kill_on_drop(true);
    for name in Home::UNSET {
        command.env_remove(name);
    }
    if own_group {
        command.process_group(0);
    }
    let mut child = command.spawn().map_err(|error| {
        let message = format!("could not start `{}`", program.display());
        let trouble = Trouble::failed("program_not_started", message)
            .hint("check that it is installed and in PATH");
        anyhow::Error::new(error).context(trouble)
    })?;
    let group =
        child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)).filter(|_| own_group);
    let status = loop {
        tokio::select! {
            status = child.wait() => break status?,
            // On a terminal the program had the interrupt as well, and decides.
            _ = interrupted.recv() => pass_on(group, Signal::INT),
            () = ends.told() => end(group, &mut child),
        }
    };
    if let Some(group) = group {
        sweep(group).await;
    }
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(2);
    Ok(ExitCode::from(u8::try_from(code & 0xff).unwrap_or(2)))
}

fn pass_on(group: Option<Pid>, signal: Signal) {
    if let Some(group) = group {
        // It may have ended in the meantime.
        let _gone = kill_process_group(group, signal);
    }
}

fn end(group: Option<Pid>, child: &mut Child) {
    match group {
        Some(_) => pass_on(group, Signal::TERM),
        None => drop(child.start_kill()),
    }
}

/// Ends what is left of the group: asked first, then killed.
async fn sweep(group: Pid) {
    pass_on(Some(group), Signal::TERM);
    let gone = async {
        while test_kill_process_group(group).is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    if tokio::time::timeout(ENDING, gone).await.is_err() {
        pass_on(Some(group), Signal::KILL);
    }
}
