//! One pane: keys and text into it, its screen out of it, and what we write on it for those who come later.

use super::server::{SESSION, Server};
use super::watch::{Told, Watch};
use super::wire::literal;
use super::{Cursor, Size};
use crate::model::{Failure, Phase};
use std::path::Path;
use std::time::Duration;

/// What a pane is asked for at once.
const FACTS: &str = "#{pane_width} #{pane_height} #{cursor_x} #{cursor_y} #{cursor_flag} \
    #{?@pollux_before,1,0} #{pane_dead} #{pane_dead_status} #{pane_dead_signal} #{pane_in_mode} #{pane_title}";
/// Where the size is written that a window had before it was made to fit another screen.
const BEFORE: &str = "@pollux_before";

/// A program to be run in a window of its own.
#[derive(Debug, Clone)]
pub struct Window<'a> {
    /// The name of the window.
    pub name: &'a str,
    /// Where it runs.
    pub cwd: &'a Path,
    /// Its environment, beside what tmux itself sets.
    pub env: &'a [(String, String)],
    /// The program and its arguments.
    pub command: &'a [String],
    /// How large the window is while nobody looks at it.
    pub size: Size,
}

/// A pane of tmux.
#[derive(Debug, Clone)]
pub struct Pane {
    server: Server,
    /// tmux's name of it, such as `%3`.
    id: String,
    /// tmux's name of its window, such as `@2`.
    window: String,
}

/// What stood in a pane at one moment.
#[derive(Debug, Clone)]
pub struct Captured {
    /// What a terminal must be fed to show the same.
    pub text: String,
    /// How large it is.
    pub size: Size,
    /// Where the cursor is.
    pub cursor: Cursor,
    /// True where the window has been made to fit another screen than the one at the desk.
    pub fitted: bool,
    /// What tmux tells of it.
    pub told: Told,
}

impl Pane {
    /// Runs a program in a new window of our session.
    pub async fn open(server: &Server, window: &Window<'_>) -> Result<Self, Failure> {
        let size = format!("{}x{}", window.size.columns, window.size.rows);
        server.command(&["set-option", "-t", SESSION, "default-size", &size]).await?;
        let (name, cwd) = (literal(window.name), literal(&window.cwd.display().to_string()));
        let target = format!("{SESSION}:");
        let mut words = vec!["new-window", "-d", "-P", "-F", "#{pane_id} #{window_id}"];
        words.extend(["-t", &target, "-n", &name, "-c", &cwd]);
        let pairs: Vec<String> =
            window.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
        words.extend(pairs.iter().flat_map(|pair| ["-e", pair]));
        words.push("--");
        words.extend(window.command.iter().map(String::as_str));
        let told = server.ask(&words).await?;
        let (id, at) = told.split_once(' ').unwrap_or((&told, ""));
        let pane = Self { server: server.clone(), id: id.to_owned(), window: at.to_owned() };
        if let Err(failure) = server.hear_of(id, at).await {
            // Nobody would own what runs in it.
            drop(pane.kill().await);
            return Err(failure);
        }
        server.settle().await;
        Ok(pane)
    }

    /// A pane that is there.
    pub async fn find(server: &Server, id: &str) -> Result<Self, Failure> {
        let told =
            server.ask(&["display-message", "-p", "-t", id, "#{pane_id} #{window_id}"]).await?;
        match told.split_once(' ') {
            // tmux shows another pane where the one that was asked for is gone.
            Some((found, window)) if !id.starts_with('%') || found == id => {
                server.hear_of(found, window).await?;
                let (id, window) = (found.to_owned(), window.to_owned());
                Ok(Self { server: server.clone(), id, window })
            }
            _ => Err(no_pane(id)),
        }
    }

    /// tmux's name of it.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The server that it is on.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Begins to watch it.
    pub fn watch(&self) -> Watch {
        self.server.link.posts.watch(&self.id, &self.window)
    }

    /// What stands in it now, as tmux has drawn it. Its watcher is told only what is printed from now on.
    pub async fn capture(&self) -> Result<Captured, Failure> {
        let facts = ["display-message", "-p", "-t", &self.id, FACTS];
        let picture = ["capture-pane", "-p", "-e", "-t", &self.id];
        let (facts, rows) = self.server.picture(&self.id, &facts, &picture).await?;
        let mut fields = facts.splitn(7, ' ');
        let mut number = || fields.next().and_then(|field| field.parse::<u16>().ok()).unwrap_or(0);
        let size = Size { columns: number(), rows: number() };
        let (column, row, visible) = (number(), number(), number() == 1);
        let fitted = number() == 1;
        let cursor = Cursor { row, column, visible };
        let told = Told::read(fields.next().unwrap_or_default());
        let at = format!("\x1b[0m\x1b[{};{}H", row + 1, column + 1);
        let text = format!("\x1b[0m\x1b[H\x1b[2J{}{at}", rows.join("\r\n"));
        Ok(Captured { text, size, cursor, fitted, told })
    }

    /// The rows that stand in it now, as text. Takes nothing from its watcher.
    pub async fn rows(&self) -> Result<Vec<String>, Failure> {
        self.server.command(&["capture-pane", "-p", "-t", &self.id]).await
    }

    /// What has gone over the upper edge, as text: at most so many rows.
    pub async fn history(&self, most: usize) -> Result<Vec<String>, Failure> {
        // tmux gives the first row of the screen where nothing has gone over its edge.
        let above = ["display-message", "-p", "-t", &self.id, "#{history_size}"];
        if self.server.ask(&above).await? == "0" {
            return Ok(Vec::new());
        }
        let from = format!("-{most}");
        let words = ["capture-pane", "-p", "-J", "-S", &from, "-E", "-1", "-t", &self.id];
        self.server.command(&words).await
    }

    /// Presses keys, by tmux's names of them. A pane that shows its history is brought back first.
    pub async fn press(&self, keys: &[&str]) -> Result<(), Failure> {
        self.leave_mode().await?;
        let mut words = vec!["send-keys", "-t", &self.id];
        words.extend(keys);
        self.server.command(&words).await.map(drop)
    }

    /// Types text, letter by letter.
    pub async fn type_text(&self, text: &str) -> Result<(), Failure> {
        self.leave_mode().await?;
        self.server.command(&["send-keys", "-t", &self.id, "-l", "--", text]).await.map(drop)
    }

    /// Pastes text in one go: with brackets around it, where the program has asked for them.
    pub async fn paste(&self, text: &str) -> Result<(), Failure> {
        self.leave_mode().await?;
        let buffer = format!("pollux{}", self.id);
        self.server.command(&["set-buffer", "-b", &buffer, "--", text]).await?;
        let words = ["paste-buffer", "-p", "-r", "-d", "-b", &buffer, "-t", &self.id];
        self.server.command(&words).await.map(drop)
    }

    /// In copy mode keys scroll, and never reach the program.
    async fn leave_mode(&self) -> Result<(), Failure> {
        let leave = format!("send-keys -t {} -X cancel", self.id);
        let words = ["if-shell", "-F", "-t", &self.id, "#{pane_in_mode}", &leave];
        self.server.command(&words).await.map(drop)
    }

    /// Gives its window another size, for as long as nobody looks at it.
    pub async fn resize(&self, size: Size) -> Result<(), Failure> {
        self.fix(size).await?;
        // What `resize-window` has fixed would not follow a person's terminal any more.
        let words = ["set-option", "-u", "-w", "-t", &self.window, "window-size"];
        self.server.command(&words).await.map(drop)
    }

    /// Gives its window another size until [`Pane::give_back`], whoever looks at it.
    pub async fn fit(&self, size: Size) -> Result<(), Failure> {
        let before = self.window_size().await?.0;
        let before = format!("{}x{}", before.columns, before.rows);
        // The first one counts: it is the size that the desk had chosen.
        let words = ["set-option", "-p", "-o", "-q", "-t", &self.id, BEFORE, &before];
        self.server.command(&words).await?;
        self.fix(size).await
    }

    /// How large its window is, and how many panes share it.
    async fn window_size(&self) -> Result<(Size, u16), Failure> {
        let asked = "#{window_width}x#{window_height} #{window_panes}";
        let told = self.server.ask(&["display-message", "-p", "-t", &self.id, asked]).await?;
        let read = told.split_once(' ');
        let read = read.and_then(|(size, panes)| Some((read_size(size)?, panes.parse().ok()?)));
        read.ok_or_else(|| no_pane(&self.id))
    }

    /// Fixes the size of its window, whoever looks at it.
    async fn fix(&self, size: Size) -> Result<(), Failure> {
        let (columns, rows) = (size.columns.to_string(), size.rows.to_string());
        let words = ["resize-window", "-t", &self.window, "-x", &columns, "-y", &rows];
        self.server.command(&words).await.map(drop)
    }

    /// Gives its window the size that it had before it was made to fit, and lets it follow the terminal at the desk again.
    pub async fn give_back(&self) -> Result<(), Failure> {
        let asked = format!("#{{{BEFORE}}}");
        let told = self.server.ask(&["display-message", "-p", "-t", &self.id, &asked]).await?;
        let Some(size) = read_size(&told) else { return Ok(()) };
        let words = ["set-option", "-p", "-u", "-t", &self.id, BEFORE];
        self.server.command(&words).await?;
        self.resize(size).await
    }

    /// Makes its program draw everything anew: its window becomes narrower for a moment.
    pub async fn redraw(&self) -> Result<(), Failure> {
        let (size, panes) = self.window_size().await?;
        // Panes that stand beside each other share what is taken away: each is to lose a column.
        let narrower = Size { columns: size.columns.saturating_sub(panes).max(1), ..size };
        self.resize(narrower).await?;
        // Two changes at once would be one to the program, and none.
        tokio::time::sleep(Duration::from_millis(100)).await;
        self.resize(size).await
    }

    /// Writes something on it, which lasts as long as it does: `@pollux_` and a name.
    pub async fn note(&self, name: &str, value: &str) -> Result<(), Failure> {
        let name = format!("@pollux_{name}");
        self.server.command(&["set-option", "-p", "-t", &self.id, &name, value]).await.map(drop)
    }

    /// Ends its program, and takes it away.
    pub async fn kill(&self) -> Result<(), Failure> {
        let kill = ["kill-pane", "-t", &self.id];
        self.server.leaving(self.server.command(&kill)).await.map(drop)
    }
}

/// A size as it was asked for, such as `80x24`.
fn read_size(told: &str) -> Option<Size> {
    let (columns, rows) = told.split_once('x')?;
    Some(Size { columns: columns.parse().ok()?, rows: rows.parse().ok()? })
}

fn no_pane(id: &str) -> Failure {
    let message = format!("no tmux pane {id}");
    Failure::new(Phase::Find, "no_terminal", message).hint("list panes with `tmux list-panes -a`")
}

/// The command of tmux that gives a window back, for those who are about to look at it: it takes their size.
pub fn give_back(pane: &str) -> [String; 6] {
    let is_fitted = format!("#{{{BEFORE}}}");
    let commands =
        format!("set-option -w -u -t {pane} window-size ; set-option -p -u -t {pane} {BEFORE}");
    ["if-shell", "-F", "-t", pane, &is_fitted, &commands].map(str::to_owned)
}
