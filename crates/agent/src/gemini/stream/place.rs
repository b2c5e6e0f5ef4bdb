//! The session file of a run: found by the id that the stream tells, and followed while the CLI writes it.

use super::super::transcript::follow::Follow;
use super::super::transcript::{Transcript, newest_of};
use crate::model::{Event, EventKind};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The session file of a run, as far as it is known.
#[derive(Debug)]
pub(in crate::gemini) struct Place {
    gemini: PathBuf,
    id: Option<String>,
    follow: Option<Follow>,
    /// Messages that were there before this run.
    known: HashSet<String>,
}

impl Place {
    /// A run that starts a session.
    pub(in crate::gemini) fn new(gemini: PathBuf) -> Self {
        Self { gemini, id: None, follow: None, known: HashSet::new() }
    }

    /// A run that goes on with a session: what is in its file is not of this run.
    pub(in crate::gemini) fn resumed(gemini: PathBuf, file: &Path) -> Self {
        let mut follow = Follow::new(file);
        follow.skip_existing();
        let bytes = fs::read(file).unwrap_or_default();
        let text = super::super::transcript::text(&bytes);
        let transcript = Transcript::read(&text);
        let known = transcript.messages().map(|message| message.id.to_string()).collect();
        Self { gemini, id: None, follow: Some(follow), known }
    }

    /// The same for a driver that knows by itself what was there before: an old message may yet get new calls.
    pub(in crate::gemini) fn at(gemini: PathBuf, file: &Path) -> Self {
        let mut follow = Follow::new(file);
        follow.skip_existing();
        Self { gemini, id: None, follow: Some(follow), known: HashSet::new() }
    }

    /// The stream has told the id.
    pub(in crate::gemini) fn is(&mut self, id: &str) {
        self.id.get_or_insert_with(|| id.to_owned());
    }

    /// True where there is something to look for.
    pub(super) fn is_known(&self) -> bool {
        self.id.is_some() || self.follow.is_some()
    }

    /// Where the file is, if it was found.
    pub(in crate::gemini) fn path(&self) -> Option<&Path> {
        self.follow.as_ref().map(Follow::path)
    }

    /// What is new in the file. It is looked for if it has not been found yet.
    pub(in crate::gemini) fn poll(&mut self) -> Vec<Event<'static>> {
        if self.follow.is_none() {
            let found = self.id.as_deref().and_then(|id| newest_of(&self.gemini, id));
            self.follow = found.map(Follow::new);
        }
        let mut events = self.follow.as_mut().map(Follow::poll_all).unwrap_or_default();
        events.retain(|event| match &event.kind {
            EventKind::MessageRecorded { message, .. } => {
                !self.known.contains(message.id.to_str().as_ref())
            }
            _ => true,
        });
        events
    }
}
