//! A child that is a process group: it is told to end, then ended, and nothing of it is left.
//!
//! An agent starts shells, and shells start what they like, some of it in sessions of their own that no signal to the
//! group reaches. So each child carries a mark in its environment, which all that it starts inherits, and what bears
//! the mark when the child is gone is ended too.
//!
//! A number is safe to signal only for as long as it cannot be somebody else's. So a child that has ended is looked at
//! and not taken away: the kernel keeps its number until it is closed, and all signals are sent before that.
#![expect(
    clippy::disallowed_methods,
    reason = "this is the module that starts children and owns them"
)]

mod end;
mod family;
mod tail;

use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::task::JoinSet;

/// How much of stderr is kept.
pub const TAIL: usize = 64 << 10;
/// How long what was ended may take to be gone. It has no say in it, but on a busy machine the kernel takes its time.
const GONE: Duration = Duration::from_secs(5);
/// How often it is looked for meanwhile.
const LOOK: Duration = Duration::from_millis(5);
/// The variable that marks what a child starts. What shall outlive the child is started without it.
pub const MARK: &str = "POLLUX_CHILD";

/// A program to start.
#[derive(Debug, Clone)]
pub struct Program {
    path: PathBuf,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    cwd: PathBuf,
    input: Input,
}

/// What is on a child's stdin.
#[derive(Debug, Clone)]
enum Input {
    /// These bytes, and then the end.
    Bytes(Vec<u8>),
    /// A pipe that stays open.
    Open,
}

impl Program {
    /// A program that runs in a directory, with nothing on its stdin.
    pub fn new(path: impl Into<PathBuf>, cwd: &Path) -> Self {
        Self {
            path: path.into(),
            args: Vec::new(),
            env: Vec::new(),
            cwd: cwd.to_path_buf(),
            input: Input::Bytes(Vec::new()),
        }
    }

    /// The same with arguments.
    #[must_use]
    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// The same with a variable of the environment.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// The same with something on its stdin, which is closed behind it.
    #[must_use]
    pub fn input(mut self, input: Vec<u8>) -> Self {
        self.input = Input::Bytes(input);
        self
    }

    /// The same with a stdin that stays open, for [`Child::stdin`].
    #[must_use]
    pub fn talking(mut self) -> Self {
        self.input = Input::Open;
        self
    }

    /// Starts it, as a process group of its own.
    pub fn spawn(self) -> io::Result<Child> {
        let mark = format!("{}-{}", std::process::id(), next_number());
        let mut command = Command::new(&self.path);
        command.args(&self.args).current_dir(&self.cwd).envs(self.env).env(MARK, &mark);
        let nothing = matches!(&self.input, Input::Bytes(bytes) if bytes.is_empty());
        command.stdin(if nothing { Stdio::null() } else { Stdio::piped() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let ends = end::Ends::new()?;
        let mut child = command.process_group(0).kill_on_drop(true).spawn()?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let tail = tail::Tail::default();
        let mut tasks = JoinSet::new();
        if let Some(stderr) = child.stderr.take() {
            tasks.spawn(tail::read(stderr, tail.clone()));
        }
        if let Input::Bytes(bytes) = self.input
            && let Some(mut stdin) = child.stdin.take()
        {
            tasks.spawn(async move {
                // A child that reads no more has had enough.
                drop(stdin.write_all(&bytes).await);
            });
        }
        Ok(Child { process: child, group, ends, mark, tail, tasks, over: false })
    }
}

/// The processes that a Pollux has left which is gone: killed, perhaps, before it could end them.
pub fn strays() -> Vec<u32> {
    let strays = family::strays(None).into_iter();
    strays.filter_map(|stray| u32::try_from(stray.as_raw_nonzero().get()).ok()).collect()
}

/// Ends what [`strays`] finds.
pub fn end_strays() {
    family::end(&family::strays(None));
}

/// Ends what one Pollux has left, if it is gone.
pub fn end_strays_of(owner: u32) {
    family::end(&family::strays(Some(owner)));
}

fn next_number() -> u64 {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}

/// A child that was started. Dropping it ends it, and all that it started, at once.
#[derive(Debug)]
pub struct Child {
    /// Never waited for before the last signal: that would give its number away.
    process: tokio::process::Child,
    /// Its number, and its group's. None where it is not ours any more.
    group: Option<Pid>,
    ends: end::Ends,
    mark: String,
    tail: tail::Tail,
    /// Reads stderr and writes stdin.
    tasks: JoinSet<()>,
    over: bool,
}

impl Child {
    /// What it prints. To be taken once.
    pub fn stdout(&mut self) -> Option<ChildStdout> {
        self.process.stdout.take()
    }

    /// What it reads, where it was started with [`Program::talking`]. To be taken once; dropping it closes the pipe.
    pub fn stdin(&mut self) -> Option<ChildStdin> {
        self.process.stdin.take()
    }

    /// The number of its process.
    pub fn id(&self) -> Option<u32> {
        self.process.id()
    }

    /// Waits for its end. May be asked again.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        let group = self.group.ok_or(io::ErrorKind::NotFound)?;
        let ended = self.ends.of(group).await;
        if ended.is_err() {
            // Somebody else has taken it away: the number may be anybody's.
            self.group = None;
        }
        ended
    }

    /// Asks it to stop, as Ctrl-C does.
    pub fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    /// Tells it to stop.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Ends it, and all that it started.
    pub fn kill(&self) {
        // Before: what it started can still be found by its parents.
        let below = self.group.map(family::below).unwrap_or_default();
        self.signal(Signal::KILL);
        family::end(&below);
        family::end(&family::marked(&self.mark));
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // A group that is gone needs no signal.
            let _gone = kill_process_group(group, signal);
        }
    }

    /// The last of what it wrote to stderr.
    pub fn stderr(&self) -> String {
        self.tail.text()
    }

    /// The child has ended: ends what it left behind, waits until that is gone, and a moment for the last of stderr.
    pub async fn close(mut self) -> String {
        self.signal(Signal::KILL);
        let gone = async {
            while self.end_marked() {
                tokio::time::sleep(LOOK).await;
            }
        };
        drop(tokio::time::timeout(GONE, gone).await);
        self.is_over();
        let rest = async {
            while self.tasks.join_next().await.is_some() {}
            drop(self.process.wait().await);
        };
        drop(tokio::time::timeout(Duration::from_millis(500), rest).await);
        self.tail.text()
    }

    /// Ends what bears the mark. True where there was something: what is started meanwhile is found the next time.
    fn end_marked(&self) -> bool {
        let left = family::marked(&self.mark);
        family::end(&left);
        !left.is_empty()
    }

    /// From here on the number is given away.
    fn is_over(&mut self) {
        self.over = true;
        self.group = None;
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.over {
            self.kill();
            // Whoever drops it cannot wait.
            for _ in 0..8 {
                if !self.end_marked() {
                    break;
                }
            }
            self.is_over();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Child, Program};
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    use std::fs;
    use std::os::unix::process::ExitStatusExt;
    use std::path::Path;
    use std::time::Duration;
    use tokio::io::AsyncReadExt;

    fn shell(line: &str) -> Child {
        Program::new("/bin/sh", Path::new("/")).args(["-c", line]).spawn().unwrap()
    }

    /// True for as long as no other process can be given the number.
    fn holds(number: Pid) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(number), options).is_ok()
    }

    /// What has ended, taken away or not, has no words.
    fn runs(number: &str) -> bool {
        fs::read(format!("/proc/{number}/cmdline")).is_ok_and(|words| !words.is_empty())
    }

    #[tokio::test]
    async fn a_child_that_has_ended_keeps_its_number_until_it_is_closed() {
        let mut child = shell("exit 3");
        let number = child.group.unwrap();
        assert_eq!(child.wait().await.unwrap().code(), Some(3));
        assert_eq!(child.wait().await.unwrap().code(), Some(3), "asked again");
        assert!(holds(number), "a signal to the group reaches nobody else");
        child.close().await;
        assert!(!holds(number), "and nothing is left in the table of processes");
    }

    #[tokio::test]
    async fn a_child_that_was_killed_says_by_which_signal() {
        let mut child = shell("kill -9 $$");
        assert_eq!(child.wait().await.unwrap().signal(), Some(9));
    }

    #[tokio::test]
    async fn a_number_that_is_not_ours_any_more_is_not_signalled() {
        let mut child = shell("exit 0");
        child.process.wait().await.unwrap();
        assert!(child.wait().await.is_err(), "somebody has taken it away");
        assert_eq!(child.group, None);
    }

    #[tokio::test]
    async fn what_is_left_of_the_group_is_ended_also_where_it_has_lost_its_mark() {
        let mut child = shell("env -i sleep 4715.25 > /dev/null 2>&1 & echo $!");
        let mut number = String::new();
        child.stdout().unwrap().read_to_string(&mut number).await.unwrap();
        child.wait().await.unwrap();
        let begun = async {
            while !runs(number.trim()) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), begun).await.expect("the sleeper is there");
        child.close().await;
        let gone = async {
            while runs(number.trim()) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), gone).await.expect("the sleeper is ended");
    }
}
