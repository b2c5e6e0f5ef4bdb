//! The CLI in a real terminal: a tmux server of its own, on a private socket, that goes with the value.

use crate::stage::Stage;
use anyhow::{Context, ensure};
use std::path::Path;
use std::process::{Output, Stdio};
use tempfile::TempDir;

/// A session in tmux.
#[derive(Debug)]
pub struct Terminal {
    directory: TempDir,
}

impl Terminal {
    /// Starts the CLI with these arguments in a terminal of 100 by 30.
    pub fn start(stage: &Stage, args: &[&str]) -> anyhow::Result<Self> {
        Self::start_with(stage, args, &[], (100, 30))
    }

    /// Starts the CLI in a terminal of some size, with more in its environment than the stage gives.
    pub fn start_with(
        stage: &Stage,
        args: &[&str],
        more: &[(&str, &str)],
        (columns, rows): (u16, u16),
    ) -> anyhow::Result<Self> {
        let directory = tempfile::Builder::new().prefix("pollux-tmux-").tempdir()?;
        let terminal = Self { directory };
        let workspace = stage.workspace().display().to_string();
        let program = stage.cli().program().display().to_string();
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let mut line = vec!["-f", "/dev/null", "new-session", "-d", "-x", &columns, "-y", &rows];
        line.extend(["-c", &workspace]);
        let more = more.iter().map(|(name, value)| format!("{name}={value}"));
        let env: Vec<String> =
            stage.env().iter().map(|(name, value)| format!("{name}={value}")).chain(more).collect();
        line.extend(env.iter().flat_map(|pair| ["-e", pair]));
        line.push(&program);
        line.extend(args);
        terminal.tmux(&line)?;
        Ok(terminal)
    }

    /// What is on the screen.
    pub fn screen(&self) -> anyhow::Result<String> {
        let shown = self.tmux(&["capture-pane", "-p", "-J"])?;
        Ok(String::from_utf8_lossy(&shown.stdout).into_owned())
    }

    /// What is on the screen, row by row.
    pub fn rows(&self) -> anyhow::Result<String> {
        let shown = self.tmux(&["capture-pane", "-p"])?;
        Ok(String::from_utf8_lossy(&shown.stdout).into_owned())
    }

    /// What is on the screen, row by row, with its colours.
    pub fn colours(&self) -> anyhow::Result<String> {
        let shown = self.tmux(&["capture-pane", "-p", "-e"])?;
        Ok(String::from_utf8_lossy(&shown.stdout).into_owned())
    }

    /// The title of the pane, which tells the CLI's state.
    pub fn title(&self) -> anyhow::Result<String> {
        let shown = self.tmux(&["display-message", "-p", "#{pane_title}"])?;
        Ok(String::from_utf8_lossy(&shown.stdout).trim().to_owned())
    }

    /// Writes every byte that the CLI sends to its terminal from now on into a file.
    pub fn keep_bytes(&self, file: &Path) -> anyhow::Result<()> {
        let command = format!("cat >> '{}'", file.display());
        self.tmux(&["pipe-pane", "-o", &command]).map(drop)
    }

    /// Types text as a person would, letter by letter.
    pub fn type_text(&self, text: &str) -> anyhow::Result<()> {
        self.tmux(&["send-keys", "-l", text]).map(drop)
    }

    /// Presses a key by tmux's name of it, such as `Enter`.
    pub fn press(&self, key: &str) -> anyhow::Result<()> {
        self.tmux(&["send-keys", key]).map(drop)
    }

    #[expect(clippy::disallowed_methods, reason = "tmux answers at once and is waited for")]
    fn tmux(&self, args: &[&str]) -> anyhow::Result<Output> {
        let mut command = std::process::Command::new("tmux");
        for name in crate::place::disturbing() {
            command.env_remove(name);
        }
        command
            .arg("-S")
            .arg(self.directory.path().join("socket"))
            .args(args)
            .env("TERM", "xterm-256color");
        let ran =
            command.stdin(Stdio::null()).output().context("the tests in a terminal need tmux")?;
        ensure!(
            ran.status.success(),
            "tmux {}: {}",
            args.join(" "),
            String::from_utf8_lossy(&ran.stderr)
        );
        Ok(ran)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // The server may have ended with the CLI.
        let _ended = self.tmux(&["kill-server"]);
    }
}

/// Ends a tmux server with all that runs in it. There may be none any more.
#[expect(clippy::disallowed_methods, reason = "tmux answers at once and is waited for")]
pub fn kill_server(socket: &Path) {
    let _gone =
        std::process::Command::new("tmux").arg("-S").arg(socket).arg("kill-server").output();
}
