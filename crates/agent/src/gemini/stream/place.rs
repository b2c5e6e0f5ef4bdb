//! The session file of a run: found by the id that the stream tells, and followed while the CLI writes it.

use super::super::transcript::follow::Follow;
use super::super::transcript::resume::put_stubs_away;
use super::super::transcript::{Transcript, newest_of};
use super::before::{Before, Known};
use crate::model::{Event, EventKind};
use std::fs;
use std::path::{Path, PathBuf};

/// The session file of a run, as far as it is known.
#[derive(Debug)]
pub(in crate::gemini) struct Place {
    gemini: PathBuf,
    id: Option<String>,
    follow: Option<Follow>,
    /// Messages that were there before this run, or were told out of another file of it.
    before: Before,
    /// The messages that were told as long as nobody had said anything.
    told: Vec<Known>,
    /// True where somebody has said something in the file: it is the right one.
    spoken: bool,
    /// True where it is another file than the one that was found first.
    moved: bool,
}

impl Place {
    /// A run that starts a session.
    pub(in crate::gemini) fn new(gemini: PathBuf) -> Self {
        Self {
            gemini,
            id: None,
            follow: None,
            before: Before::default(),
            told: Vec::new(),
            spoken: false,
            moved: false,
        }
    }

    /// A run that goes on with a session: what is in its file is not of this run.
    pub(in crate::gemini) fn resumed(gemini: PathBuf, file: &Path) -> Self {
        let mut follow = Follow::new(file);
        follow.skip_existing();
        let bytes = fs::read(file).unwrap_or_default();
        let text = super::super::transcript::text(&bytes);
        let transcript = Transcript::read(&text);
        let mut place = Self { follow: Some(follow), spoken: true, ..Self::new(gemini) };
        transcript.messages().for_each(|message| place.before.add(Known::of(&message)));
        place
    }

    /// The same for a driver that knows by itself what was there before: an old message may yet get new calls.
    pub(in crate::gemini) fn at(gemini: PathBuf, file: &Path) -> Self {
        let mut follow = Follow::new(file);
        follow.skip_existing();
        Self { follow: Some(follow), spoken: true, ..Self::new(gemini) }
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
        events.retain_mut(|event| match &mut event.kind {
            EventKind::MessageRecorded { message, .. } => !self.before.has(message),
            EventKind::HistoryRewritten { removed, .. } => self.before.is_told(removed),
            EventKind::SessionStarted { .. } => !self.moved,
            _ => true,
        });
        if !self.spoken {
            for event in &events {
                if let EventKind::MessageRecorded { message, .. } = &event.kind {
                    self.spoken |= !message.meta;
                    self.told.push(Known::of(message));
                }
            }
        }
        events
    }

    /// What was there before this run and is no longer, at the end of it.
    pub(super) fn lost(&mut self) -> Option<Event<'static>> {
        self.before.lost()
    }

    fn find(&mut self) {
        let found = self.id.as_deref().and_then(|id| newest_of(&self.gemini, id));
        if let Some(found) = found.filter(|found| self.path() != Some(found)) {
            self.moved = self.follow.replace(Follow::new(found)).is_some();
            self.told.drain(..).for_each(|told| self.before.add(told));
        }
    }

    /// Moves the empty file away that the start of this session has left beside its own: the next start of the CLI would
    /// delete both.
    pub(in crate::gemini) fn put_stub_away(&self) {
        let Some(file) = self.path().filter(|_| self.spoken && !self.told.is_empty()) else {
            return;
        };
        // Where it cannot be moved, `pollux sessions list` says that the session is at risk.
        let _gone = put_stubs_away(file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Text;
    use std::io::Write;

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
        let kept = home.path().join("tmp/shop/stubs").join(stub.file_name().unwrap());
        assert!(kept.exists(), "nothing is ever deleted");
    }

    #[test]
    fn what_a_resume_takes_back_and_brings_again_is_neither_gone_nor_new() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("session-2026-11-16T14-09-02cd51cf.jsonl");
        let said = r#"{"id":"u","type":"user","content":[{"text":"first words"}]}"#;
        write(&file, &[said]);
        let add = |line: &str| {
            let mut log = fs::File::options().append(true).open(&file).unwrap();
            writeln!(log, "{line}").unwrap();
        };
        let mut place = Place::resumed(home.path().to_path_buf(), &file);
        let rewritten = |events: &[Event<'static>]| {
            events.iter().any(|event| matches!(event.kind, EventKind::HistoryRewritten { .. }))
        };
        // In the minute in which the session was made the CLI does it in two steps.
        let context = r#"{"id":"c","type":"user","content":[{"text":"<session_context>x</session_context>"}]}"#;
        let bare = format!(r#"{{"$set":{{"messages":[{context}]}}}}"#);
        add(&bare);
        assert!(!rewritten(&place.poll()));
        let whole = format!(r#"{{"$set":{{"messages":[{context},{said}]}}}}"#);
        add(&whole);
        add(r#"{"id":"u2","type":"user","content":[{"text":"second words"}]}"#);
        let events = place.poll();
        let recorded =
            |event: &&Event<'static>| matches!(event.kind, EventKind::MessageRecorded { .. });
        assert!(!rewritten(&events) && events.iter().filter(recorded).count() == 1, "{events:?}");
        assert!(place.lost().is_none());
        // What does not come again is gone, and told at the end.
        add(&bare);
        place.poll();
        let lost = place.lost().map(|event| event.kind);
        let Some(EventKind::HistoryRewritten { removed, .. }) = lost else { panic!("{lost:?}") };
        assert_eq!(removed, [Text::from("u")]);
    }

    #[test]
    fn a_resumed_run_does_not_tell_the_old_conversation_when_it_gets_new_ids() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("session-2026-11-16T14-09-02cd51cf.jsonl");
        let user = |id: &str, text: &str| {
            format!(r#"{{"id":"{id}","type":"user","content":[{{"text":"{text}"}}]}}"#)
        };
        let model = |id: &str, text: &str, more: &str| {
            format!(r#"{{"id":"{id}","type":"gemini","content":"{text}"{more}}}"#)
        };
        let named = r#","model":"m","tokens":{"total":15}"#;
        write(&file, &[&user("1", "go on"), &model("2", "Done.", named)]);
        let mut place = Place::resumed(home.path().to_path_buf(), &file);
        // The same prompt and the same answer once more are this run's own.
        let own = [user("3", "go on"), model("4", "Done.", named)];
        let copies = |prefix: &str| {
            let id = |number: u8| format!("{prefix}{number}");
            let context = "<session_context>x</session_context>go on";
            [
                user(&id(1), context),
                model(&id(2), "Done.", ""),
                user(&id(3), "go on"),
                model(&id(4), "Done.", ""),
            ]
        };
        // As 0.61 does it when a turn is stopped: each once more, then a list of those alone; and the next stop again.
        let list = |prefix| format!(r#"{{"$set":{{"messages":[{}]}}}}"#, copies(prefix).join(","));
        let mut log = fs::File::options().append(true).open(&file).unwrap();
        for line in own.into_iter().chain(copies("n")).chain([list("n"), list("m")]) {
            writeln!(log, "{line}").unwrap();
        }
        let events = place.poll();
        let told: Vec<String> = events
            .iter()
            .filter_map(|event| match &event.kind {
                EventKind::MessageRecorded { message, .. } => Some(message.id.to_string()),
                _ => None,
            })
            .collect();
        let first: Vec<&str> =
            told.iter().map(String::as_str).filter(|id| !id.ends_with(['3', '4'])).collect();
        assert_eq!(first, [""; 0], "{told:?}");
        assert!(told.starts_with(&["3".to_owned(), "4".to_owned()]), "{told:?}");
        // Of what was there, only the CLI's own words are no longer a message of their own.
        let lost = place.lost().map(|event| event.kind);
        let Some(EventKind::HistoryRewritten { removed, .. }) = lost else { panic!("{lost:?}") };
        assert_eq!(removed, [Text::from("c")]);
    }
}
