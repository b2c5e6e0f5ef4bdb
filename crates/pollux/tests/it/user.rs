//! Somebody who has Gemini sessions on their machine and calls the program.

use assert_cmd::Command;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::time::Duration;
use tempfile::TempDir;

/// A user with a home of their own: nothing of the machine's is read or written.
pub(crate) struct User(TempDir);

/// What a command did.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl User {
    /// Somebody without sessions.
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Somebody who has all recorded sessions.
    pub(crate) fn of_recordings() -> Self {
        let user = Self::new();
        let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings");
        pollux_e2e::home::lay_out(&recordings, user.path()).unwrap();
        user
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a session file of some project.
    pub(crate) fn put(&self, name: &str, content: &str) -> PathBuf {
        let path = self.path().join(".gemini/tmp/p/chats").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// The program with its arguments and nothing of this machine's environment.
    pub(crate) fn command(&self, line: &str) -> process::Command {
        self.command_of(Path::new(env!("CARGO_BIN_EXE_pollux")), line)
    }

    /// The same of a copy of the program.
    #[expect(clippy::disallowed_methods, reason = "this is where tests start the program")]
    pub(crate) fn command_of(&self, program: &Path, line: &str) -> process::Command {
        let mut command = process::Command::new(program);
        command
            .args(line.split_whitespace())
            .current_dir(self.path())
            .env_clear()
            .env("HOME", self.path())
            .env("GEMINI_CLI_HOME", self.path())
            .env("XDG_CACHE_HOME", self.path().join("cache"))
            .env("XDG_DATA_HOME", self.path().join("data"))
            .env("TZ", "UTC")
            .env("NO_COLOR", "1");
        command
    }

    /// Calls the program. The home is `HOME` in what it says.
    pub(crate) fn run(&self, line: &str) -> Done {
        self.run_with(line, |_| {})
    }

    /// The same where more is set.
    pub(crate) fn run_with(&self, line: &str, set: impl Fn(&mut process::Command)) -> Done {
        let mut command = self.command(line);
        set(&mut command);
        let mut command = Command::from_std(command);
        let output = command.timeout(Duration::from_mins(1)).output().unwrap();
        let home = self.path().display().to_string();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().replace(&home, "HOME");
        Done {
            code: output.status.code().unwrap_or(-1),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    /// Calls the program, which must succeed and print JSON.
    pub(crate) fn json(&self, line: &str) -> Value {
        let output = Command::from_std(self.command(line)).output().unwrap();
        assert!(output.status.success(), "{line}: {output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }
}
