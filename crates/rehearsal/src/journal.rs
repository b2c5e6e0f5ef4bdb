//! The journal: every request and every reply, as JSONL, so that a test can assert what the model was told.

use crate::ask::{Ask, Asks};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How much is kept in memory, counted as JSON. Beyond it the oldest entries go; a file keeps them all.
const KEPT_BYTES: usize = 64 * 1024 * 1024;

/// One line of the journal.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Entry {
    /// The number of the exchange: a request and its reply have the same one.
    pub n: u64,
    /// When, in UTC.
    pub at: jiff::Timestamp,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// What happened.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Event {
    /// The client asked.
    Request {
        /// The HTTP method.
        method: String,
        /// The path with its query, keys taken out.
        path: String,
        /// The headers, secrets taken out.
        headers: BTreeMap<String, String>,
        /// On whose account, where it is a request for words.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        asks: Option<Asks>,
        /// The body, whole.
        body: Value,
    },
    /// The model answered.
    Reply {
        /// The rule that answered: its name, `default`, `own` (on the CLI's own account),
        /// `no rule`, or `recorded` for a real model's answer.
        rule: String,
        /// The HTTP status.
        status: u16,
        /// How many chunks were sent.
        chunks: u64,
        /// The parts of the answer, or the body of an error.
        said: Value,
        /// How it ended.
        ended: Ended,
        /// From the end of the request to the end of the reply, in milliseconds.
        ms: f64,
    },
}

/// How a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// All of it was sent.
    Done,
    /// The script cut it off, or a real model did.
    Cut,
    /// The client went away before the end.
    Left,
    /// The rehearsal was stopped.
    Stopped,
}

/// All that was asked and answered.
#[derive(Debug, Default)]
pub struct Journal {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    entries: VecDeque<(usize, Entry)>,
    bytes: usize,
    file: Option<File>,
}

impl Journal {
    pub(crate) fn open(path: Option<&Path>) -> io::Result<Self> {
        let file =
            path.map(|path| File::options().create(true).append(true).open(path)).transpose()?;
        Ok(Self { kept: Mutex::new(Kept { file, ..Kept::default() }) })
    }

    pub(crate) fn write(&self, n: u64, event: Event) {
        let entry = Entry { n, at: jiff::Timestamp::now(), event };
        let Ok(mut line) = serde_json::to_vec(&entry) else { return };
        line.push(b'\n');
        let mut kept = self.lock();
        if let Some(file) = &mut kept.file {
            // A full disk must not stop the show; the entries in memory are still there.
            let _unwritten = file.write_all(&line);
        }
        kept.bytes += line.len();
        kept.entries.push_back((line.len(), entry));
        while kept.bytes > KEPT_BYTES {
            let Some((bytes, _)) = kept.entries.pop_front() else { break };
            kept.bytes -= bytes;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All entries, oldest first.
    pub fn entries(&self) -> Vec<Entry> {
        self.lock().entries.iter().map(|(_, entry)| entry.clone()).collect()
    }

    /// The bodies of the requests that were turns of the conversation, oldest first.
    pub fn turns(&self) -> Vec<Value> {
        let turn = |entry: Entry| match entry.event {
            Event::Request { asks: Some(Asks::Turn), body, .. } => Some(body),
            _ => None,
        };
        self.entries().into_iter().filter_map(turn).collect()
    }

    /// The prompts of those turns; a turn that brings tool results has the prompt that they belong to.
    pub fn prompts(&self) -> Vec<String> {
        self.turns().iter().map(|body| Ask::read("", body, true).prompt).collect()
    }

    /// What the tools gave back, tool and text, as often as it was sent.
    pub fn results(&self) -> Vec<(String, String)> {
        let results = |body: &Value| Ask::read("", body, true).results;
        self.turns().iter().flat_map(results).map(|result| (result.tool, result.text)).collect()
    }

    /// The rules that answered, oldest first.
    pub fn rules(&self) -> Vec<String> {
        let rule = |entry: Entry| match entry.event {
            Event::Reply { rule, .. } => Some(rule),
            Event::Request { .. } => None,
        };
        self.entries().into_iter().filter_map(rule).collect()
    }
}
