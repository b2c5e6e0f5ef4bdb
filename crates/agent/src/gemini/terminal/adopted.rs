//! The process of an agent in a pane that is somebody else's: its end is the end of the agent, and the pane stays.

use super::find::{descendants, is_gemini};
use crate::terminal::Socket;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use std::fmt;
use std::fs;

/// The CLI's process: its number, and when it was started, where the system tells. Another one may have the number later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    pid: Pid,
    started: Option<u64>,
}

impl Process {
    /// The process that has this number now, where that can be one.
    pub(super) fn numbered(number: u32) -> Option<Self> {
        let pid = pid(number)?;
        Some(Self { pid, started: started(pid) })
    }

    /// A process as it was written down: its number, or with the time behind it.
    pub(super) fn read(note: &str) -> Option<Self> {
        let (number, started) = note.split_once('@').unwrap_or((note, ""));
        Some(Self { pid: pid(number.parse().ok()?)?, started: started.parse().ok() })
    }

    /// Its number.
    pub(super) fn number(self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Whether it is still there.
    pub(super) fn lives(self) -> bool {
        let is_it = self.started.is_none() || started(self.pid) == self.started;
        is_it && test_kill_process(self.pid) != Err(Errno::SRCH)
    }

    /// Ends it, and nothing else that is in the same pane. The CLI may have started itself once more: both go.
    pub(super) async fn end(self) {
        let all = Socket::processes().await;
        // What has its number by now, and all that belongs to that, is somebody else's.
        if !self.lives() {
            return;
        }
        let family = descendants(self.number(), &all);
        let others = family.iter().filter(|(_, line)| is_gemini(line)).map(|(own, _)| *own);
        let others = others.filter_map(pid).filter(|pid| *pid != self.pid);
        for pid in others.chain([self.pid]) {
            // One that is gone needs no end.
            let _gone = kill_process(pid, Signal::TERM);
        }
    }
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.number())?;
        self.started.map_or(Ok(()), |started| write!(f, "@{started}"))
    }
}

fn pid(number: u32) -> Option<Pid> {
    // 1 is the system's own.
    i32::try_from(number).ok().filter(|number| *number > 1).and_then(Pid::from_raw)
}

/// When a process was started, in the system's own time: the 20th field behind its name, which may hold anything.
fn started(pid: Pid) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::Process;

    #[test]
    fn a_number_that_another_process_has_by_now_is_not_the_one_that_was_adopted() {
        let me = Process::numbered(std::process::id()).unwrap();
        assert!(me.lives());
        assert_eq!(Process::read(&me.to_string()), Some(me));
        // Not every system says when a process started.
        if let Some(started) = me.started {
            let other = Process::read(&format!("{}@{}", me.number(), started + 1)).unwrap();
            assert!(!other.lives());
        }
        // Notes of a Pollux that knew no times.
        assert!(Process::read(&me.number().to_string()).unwrap().lives());
        assert_eq!(
            (Process::read("1"), Process::read(""), Process::read("x@1")),
            (None, None, None)
        );
    }
}
