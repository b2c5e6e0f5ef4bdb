//! The process of an agent in a pane that is somebody else's: its end is the end of the agent, and the pane stays.

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

/// The CLI's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process(Pid);

impl Process {
    /// The process with this number, where that can be one.
    pub(super) fn numbered(number: u32) -> Option<Self> {
        // 1 is the system's own.
        i32::try_from(number).ok().filter(|number| *number > 1).and_then(Pid::from_raw).map(Self)
    }

    /// Whether it is still there.
    pub(super) fn lives(self) -> bool {
        test_kill_process(self.0) != Err(Errno::SRCH)
    }

    /// Ends it, and nothing else that is in the same pane.
    pub(super) fn end(self) {
        // One that is gone needs no end.
        let _gone = kill_process(self.0, Signal::TERM);
    }
}
