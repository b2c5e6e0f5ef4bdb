//! The session file of a run: found by the id that the stream tells, and followed while the CLI writes it.

use super::super::transcript::follow::Follow;
use super::super::transcript::resume::stubs_beside;
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
    /// Messages that were there before this run, or were told out of another file of it.
    known: HashSet<String>,
    /// The messages that were told as long as nobody had said anything.
    told: Vec<String>,
    /// True where somebody has said something in the file: it is the right one.
    spoken: bool,
    /// True where it is another file than the one that was found first.
    moved: bool,
}

impl Place {
    /// A run that starts a session.
    pub(in crate::gemini) fn new(gemini: PathBuf) -> Self {
        let (known, told) = (HashSet::new(), Vec::new());
        Self { gemini, id: None, follow: None, known, told, spoken: false, moved: false }
    }

    /// A run that goes on with a session: what is in its file is not of this run.
    pub(in crate::gemini) fn resumed(gemini: PathBuf, file: &Path) -> Self {
        let mut follow = Follow::new(file);
        follow.skip_existing();
        let bytes = fs::read(file).unwrap_or_default();
        let text = super::super::transcript::text(&bytes);
        let transcript = Transcript::read(&text);
        let known = transcript.messages().map(|message| message.id.to_string()).collect();
        Self {
            gemini,
            id: None,
            follow: Some(follow),
            known,
            told: Vec::new(),
            spoken: true,
            moved: false,
        }
    }

    /// The same for a driver that knows by itself what was there before: an old message may yet get new calls.
    pub(in crate::gemini) fn at(gemini: PathBuf, file: &Path) -> Self {
        let mut follow = Follow::new(file);
        follow.skip_existing();
        let (known, told) = (HashSet::new(), Vec::new());
        Self { gemini, id: None, follow: Some(follow), known, told, spoken: true, moved: false }
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

    /// What is new in the file. It is looked for until somebody has said something in it: a start over the end of a minute
    /// leaves two, of which one stays empty.
    pub(in crate::gemini) fn poll(&mut self) -> Vec<Event<'static>> {
        if !self.spoken {
            self.find();
        }
        let mut events = self.follow.as_mut().map(Follow::poll_all).unwrap_or_default();
        events.retain(|event| match &event.kind {
            EventKind::MessageRecorded { message, .. } => {
                !self.known.contains(message.id.to_str().as_ref())
            }
            EventKind::SessionStarted { .. } => !self.moved,
            _ => true,
        });
        if !self.spoken {
            for event in &events {
                if let EventKind::MessageRecorded { message, .. } = &event.kind {
                    self.spoken |= !message.meta;
                    self.told.push(message.id.to_string());
                }
            }
        }
        events
    }

    fn find(&mut self) {
        let found = self.id.as_deref().and_then(|id| newest_of(&self.gemini, id));
        if let Some(found) = found.filter(|found| self.path() != Some(found)) {
            self.moved = self.follow.replace(Follow::new(found)).is_some();
            self.known.extend(self.told.drain(..));
        }
    }

    /// Removes the empty file that the start of this session has left beside its own: the next start of the CLI would
    /// delete both. What is in it is in the other one too.
    pub(in crate::gemini) fn put_stub_away(&self) {
        let Some(file) = self.path().filter(|_| self.spoken && !self.told.is_empty()) else {
            return;
        };
        for stub in stubs_beside(file) {
            // Where it cannot be removed, `pollux sessions list` says that the session is at risk.
            let _gone = fs::remove_file(stub);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "02cd51cf-0333-480a-8786-675baad4061d";

    fn write(file: &Path, lines: &[&str]) {
        let head = format!(
            r#"{{"sessionId":"{ID}","projectHash":"p","startTime":"2026-11-16T14:09:59.946Z","kind":"main"}}"#
        );
        let context = r#"{"$set":{"messages":[{"id":"c","timestamp":"2026-11-16T14:09:59.960Z","type":"user","content":[{"text":"<session_context>x</session_context>"}]}]}}"#;
        let text: Vec<&str> = [&*head, context].into_iter().chain(lines.iter().copied()).collect();
        fs::write(file, text.join("\n") + "\n").unwrap();
    }

    #[test]
    fn of_two_files_that_a_start_over_the_end_of_a_minute_leaves_the_one_with_words_is_followed_and_stays()
     {
        let home = tempfile::tempdir().unwrap();
        let chats = home.path().join("tmp/shop/chats");
        fs::create_dir_all(&chats).unwrap();
        let (own, stub) = (
            chats.join("session-2026-11-16T14-09-02cd51cf.jsonl"),
            chats.join("session-2026-11-16T14-10-02cd51cf.jsonl"),
        );
        let age = |file: &Path, seconds| {
            let file = fs::File::options().append(true).open(file).unwrap();
            let then = std::time::SystemTime::now() - std::time::Duration::from_secs(seconds);
            file.set_modified(then).unwrap();
        };
        write(&own, &[]);
        age(&own, 9);
        write(&stub, &[]);
        age(&stub, 5);
        let mut place = Place::new(home.path().to_path_buf());
        place.is(ID);
        let ids = |events: Vec<Event<'static>>| -> Vec<String> {
            let recorded = events.into_iter().filter_map(|event| match event.kind {
                EventKind::MessageRecorded { message, .. } => Some(message.id.to_string()),
                EventKind::SessionStarted { .. } => Some("start".into()),
                _ => None,
            });
            recorded.collect()
        };
        assert_eq!(ids(place.poll()), ["start", "c"]);
        assert_eq!(place.path(), Some(&*stub));
        place.put_stub_away();
        assert!(own.exists() && stub.exists(), "nobody has said anything in either");
        write(&own, &[r#"{"id":"u","type":"user","content":[{"text":"say number 11."}]}"#]);
        assert_eq!(ids(place.poll()), ["u"], "each once, out of the right file");
        place.put_stub_away();
        assert!(own.exists() && !stub.exists());
    }
}
