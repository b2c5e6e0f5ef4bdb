//! The processes of a run, found as anybody can find them: by the mark in their environment.

use pollux_e2e::Stage;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;

/// What the runs of a stage have started: the processes that bear Pollux's mark and the home of the stage.
pub(super) fn of(stage: &Stage) -> Vec<i32> {
    let home = format!("GEMINI_CLI_HOME={}", stage.home().path().display());
    let all = fs::read_dir("/proc").unwrap().flatten();
    let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let ours = numbers.filter(|number| {
        let environment = fs::read(format!("/proc/{number}/environ")).unwrap_or_default();
        let has = |wanted: &dyn Fn(&[u8]) -> bool| environment.split(|byte| *byte == 0).any(wanted);
        has(&|variable| variable.starts_with(b"POLLUX_CHILD="))
            && has(&|variable| variable == home.as_bytes())
    });
    ours.collect()
}

/// True where one of them runs this command line.
pub(super) fn runs(stage: &Stage, command: &str) -> bool {
    of(stage).into_iter().any(|number| {
        let line = fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ").trim() == command
    })
}

/// Ends them, as the kernel does when memory is short. False where none was seen: a program that is just being loaded has no
/// environment yet.
pub(super) fn kill(stage: &Stage) -> bool {
    let all = of(stage);
    for process in all.iter().copied().filter_map(Pid::from_raw) {
        // Who has ended in the meantime needs no signal.
        let _gone = kill_process(process, Signal::KILL);
    }
    !all.is_empty()
}
