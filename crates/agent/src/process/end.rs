//! The end of a child, seen without taking it away: until somebody does, its number is nobody else's.

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Tells that some child has ended.
#[derive(Debug)]
pub(super) struct Ends(Signal);

impl Ends {
    /// To be made before the child is started, so that no end is missed.
    pub(super) fn new() -> io::Result<Self> {
        signal(SignalKind::child()).map(Self)
    }

    /// Waits for the end of a child. An error where it is not ours, or not any more.
    pub(super) async fn of(&mut self, child: Pid) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = look(child)? {
                return Ok(status);
            }
            self.0.recv().await;
        }
    }
}

/// How a child has ended, if it has.
fn look(child: Pid) -> io::Result<Option<ExitStatus>> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let ended = waitid(WaitId::Pid(child), options)?;
    Ok(ended.map(|ended| {
        // As the kernel packs them for `wait`: the code above, the signal below.
        let code = ended.exit_status().unwrap_or(0) & 0xff;
        ExitStatus::from_raw(code << 8 | ended.terminating_signal().unwrap_or(0))
    }))
}
