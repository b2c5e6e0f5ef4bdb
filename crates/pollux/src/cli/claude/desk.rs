//! Stdin and stdout: lines from the caller, and our requests that the caller answers.

use crate::report;
use pollux_agent::claude::control::{self, Line};
use serde_json::Value;
use std::collections::HashMap;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{mpsc, oneshot};

/// How many lines may wait until they are looked at. When there are more, stdin is not read.
const WAITING: usize = 64;

/// What a request of ours was answered with.
pub(super) type Outcome = Result<Value, String>;

/// The requests of ours that were not answered yet.
#[derive(Debug, Clone, Default)]
pub(super) struct Desk {
    caller: Arc<Mutex<Caller>>,
    asked: Arc<AtomicU64>,
}

/// The program that called us.
#[derive(Debug, Default)]
enum Caller {
    /// No caller: stdin is a prompt, and stdout is for a person.
    #[default]
    Nobody,
    /// With the requests that were not answered yet.
    There(HashMap<String, oneshot::Sender<Outcome>>),
    /// Stdin is at its end: requests are still heard, perhaps, but no answer comes any more.
    Silent,
}

impl Caller {
    fn answered(&mut self, id: &str) -> Option<oneshot::Sender<Outcome>> {
        match self {
            Self::There(pending) => pending.remove(id),
            Self::Nobody | Self::Silent => None,
        }
    }
}

/// A request of ours.
#[derive(Debug)]
pub(super) struct Asked {
    /// Its id.
    pub(super) id: String,
    /// Its answer.
    pub(super) answer: oneshot::Receiver<Outcome>,
}

impl Desk {
    /// Reads stdin in a thread of its own: a read of it cannot be given up, and must not hold up the end of the program.
    pub(super) fn open() -> (Self, mpsc::Receiver<Line>) {
        let desk = Self::default();
        *desk.lock() = Caller::There(HashMap::new());
        let (tell, lines) = mpsc::channel(WAITING);
        let own = desk.clone();
        std::thread::spawn(move || own.read(&tell));
        (desk, lines)
    }

    fn read(&self, tell: &mpsc::Sender<Line>) {
        for line in report::lines() {
            if line.trim().is_empty() {
                continue;
            }
            match Line::read(&line) {
                Line::Answered { id, outcome } => self.answered(&id, outcome),
                line => {
                    if tell.blocking_send(line).is_err() {
                        return;
                    }
                }
            }
        }
        // Nobody answers any more: neither what was asked, nor what will be.
        *self.lock() = Caller::Silent;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Caller> {
        self.caller.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answered(&self, id: &str, outcome: Outcome) {
        if let Some(waiting) = self.lock().answered(id) {
            // Whoever asked may have gone away.
            drop(waiting.send(outcome));
        }
    }

    /// Asks the caller. Without a caller, the answer fails immediately.
    pub(super) fn ask(&self, request: &Value) -> anyhow::Result<Asked> {
        let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        let id = format!("pollux-{number}");
        let (tell, answer) = oneshot::channel();
        let heard = match &mut *self.lock() {
            Caller::Nobody => false,
            Caller::There(pending) => pending.insert(id.clone(), tell).is_none(),
            Caller::Silent => true,
        };
        if heard {
            print(&[control::request(&id, request)])?;
        }
        Ok(Asked { id, answer })
    }

    /// Takes a request back.
    pub(super) fn withdraw(&self, id: &str) -> anyhow::Result<()> {
        match self.lock().answered(id) {
            Some(_) => print(&[control::withdrawn(id)]),
            None => Ok(()),
        }
    }
}

/// Prints lines.
pub(super) fn print(lines: &[Value]) -> anyhow::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    let mut out = report::raw();
    for line in lines {
        report::line(&mut out, line)?;
    }
    Ok(out.flush()?)
}
