//! The agent's own screen, for those who watch it from afar. It is tmux's own picture, taken when something was printed; the
//! window at the desk keeps its size unless somebody asks for another, and whoever is slow sees the newest picture only.

use super::hub::Hub;
use super::hub::servers::trouble;
use crate::api::{Line, Picture, ServerFrame};
use crate::trouble::Trouble;
use pollux_agent::terminal::{Captured, Emulator, Pane, Run, Server};
use std::time::Duration;
use tokio::sync::mpsc;

/// A picture is drawn in parts, and nobody reads faster: so long is waited for the rest of it.
const DRAWN: Duration = Duration::from_millis(40);

/// Sends pictures of a session's terminal until it is gone, or nobody takes them.
pub async fn show(hub: Hub, id: String, frames: mpsc::Sender<String>) -> anyhow::Result<()> {
    let pane = hub.pane(&id).await?;
    // A connection of its own: on one connection a pane has one watcher, and that is its driver.
    let server = Server::join(pane.server().socket(), pane.id()).await.map_err(trouble)?;
    let pane = Pane::find(&server, pane.id()).await.map_err(trouble)?;
    let mut watch = pane.watch();
    let mut shown = Shown::default();
    loop {
        let captured = pane.capture().await.map_err(trouble)?;
        if let Some(picture) = shown.next(&id, &captured) {
            let frame = ServerFrame::Screen(Box::new(picture));
            let text = serde_json::to_string(&frame).unwrap_or_default();
            if frames.send(text).await.is_err() {
                return Ok(());
            }
        }
        if watch.next().await.gone.is_some() {
            return Err(Trouble::refused("no_terminal", "the terminal has closed").into());
        }
        tokio::time::sleep(DRAWN).await;
    }
}

/// What was shown last.
#[derive(Default)]
struct Shown {
    size: (u16, u16),
    fitted: bool,
    cursor: Option<(u16, u16)>,
    title: String,
    rows: Vec<Vec<Run>>,
}

impl Shown {
    /// What is different now, if anything is.
    fn next(&mut self, id: &str, captured: &Captured) -> Option<Picture> {
        let mut emulator = Emulator::with_history(captured.size, 0);
        emulator.feed(captured.text.as_bytes());
        let rows = emulator.runs();
        let size = (captured.size.columns, captured.size.rows);
        let cursor = captured.cursor;
        let cursor = cursor.visible.then_some((cursor.row, cursor.column));
        let whole = self.size != size || self.rows.len() != rows.len();
        let is_new = |(at, runs): &(usize, &Vec<Run>)| whole || self.rows.get(*at) != Some(*runs);
        let lines: Vec<Line> = rows
            .iter()
            .enumerate()
            .filter(is_new)
            .map(|(at, runs)| Line {
                row: u16::try_from(at).unwrap_or(u16::MAX),
                runs: runs.clone(),
            })
            .collect();
        let title = &captured.told.title;
        let same = self.cursor == cursor && self.fitted == captured.fitted;
        if lines.is_empty() && same && self.title == *title {
            return None;
        }
        let fitted = captured.fitted;
        *self = Self { size, fitted, cursor, title: title.clone(), rows };
        let (session_id, title) = (id.to_owned(), title.clone());
        let (columns, rows) = size;
        Some(Picture { session_id, whole, columns, rows, fitted, cursor, title, lines })
    }
}
