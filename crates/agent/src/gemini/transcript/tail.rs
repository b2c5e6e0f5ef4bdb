//! The events of a log that grows: bytes in, events out, however they are split. Pure: what was read before is asked for
//! again by its place, so that memory does not grow with the content.

use super::replay::{Change, Replay};
use super::seen::{Fetch, Place, Seen, fingerprint};
use crate::model::{At, Event, EventKind, Rewrite, Source, Text};
use std::collections::HashMap;
use std::ops::Range;

/// Reads a log as it grows.
#[derive(Debug, Default)]
pub(super) struct Tail {
    replay: Replay<Seen>,
    /// How many bytes have been read, up to the last whole line.
    read: u64,
    lines: u64,
    /// The beginning of a line whose end has not come yet.
    partial: Vec<u8>,
    /// Calls, and the messages that made them.
    calls: HashMap<u64, String>,
    /// What was told of a file that was here before.
    before: HashMap<String, u64>,
    started: bool,
    title: Option<String>,
    epoch: u64,
}

impl Tail {
    /// How many bytes have been taken in.
    pub(super) fn offset(&self) -> u64 {
        self.read + self.partial.len() as u64
    }

    /// Begins anew, for a file that took the place of another. What was told already is not told again.
    pub(super) fn restart(&mut self) {
        let told =
            self.replay.history.iter().filter_map(|(id, seen)| Some((id.to_owned(), seen.told?)));
        let before = told.collect();
        *self = Self {
            before,
            started: self.started,
            title: self.title.take(),
            epoch: self.epoch,
            ..Self::default()
        };
    }

    /// After a restart, when all is read: what the new file no longer has.
    pub(super) fn settle(&mut self, events: &mut Vec<Event<'static>>) {
        let before = std::mem::take(&mut self.before);
        let mut gone: Vec<String> =
            before.into_keys().filter(|id| !self.replay.history.contains(id)).collect();
        gone.sort_unstable();
        if let Some(event) = self.rewritten(Rewrite::Replaced, gone) {
            events.insert(0, event);
        }
    }

    /// Takes in more bytes.
    pub(super) fn feed(
        &mut self,
        bytes: &[u8],
        fetch: &mut Fetch<'_>,
        events: &mut Vec<Event<'static>>,
    ) {
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, after) = rest.split_at(end + 1);
            rest = after;
            if self.partial.is_empty() {
                self.line(line, false, fetch, events);
            } else {
                let mut whole = std::mem::take(&mut self.partial);
                whole.extend_from_slice(line);
                self.line(&whole, false, fetch, events);
            }
        }
        self.partial.extend_from_slice(rest);
    }

    /// Takes the last line as it is: nothing more will come.
    pub(super) fn finish(&mut self, fetch: &mut Fetch<'_>, events: &mut Vec<Event<'static>>) {
        let last = std::mem::take(&mut self.partial);
        if !last.is_empty() {
            self.line(&last, true, fetch, events);
        }
    }

    fn line(
        &mut self,
        bytes: &[u8],
        is_last: bool,
        fetch: &mut Fetch<'_>,
        events: &mut Vec<Event<'static>>,
    ) {
        let base = self.read;
        self.read += bytes.len() as u64;
        self.lines += 1;
        let text = super::whole::text(bytes);
        let is_exact = text.len() == bytes.len();
        let start = text.as_ptr().addr();
        let place = |json: &str| {
            let from = base + (json.as_ptr().addr() - start) as u64;
            if is_exact {
                Place::At(from..from + json.len() as u64)
            } else {
                Place::Kept(json.into())
            }
        };
        let change = self
            .replay
            .line(&text, self.lines, is_last, &mut |row, json| Seen::new(row, json, place(json)));
        // What this line brought need not be fetched.
        let mut near = |range: Range<u64>| match range.start.checked_sub(base) {
            Some(from) if range.end <= base + bytes.len() as u64 => {
                let (from, to) = (
                    usize::try_from(from).unwrap_or(0),
                    usize::try_from(range.end - base).unwrap_or(0),
                );
                Ok(bytes.get(from..to).unwrap_or_default().to_vec())
            }
            _ => fetch(range),
        };
        self.session(events);
        match change {
            Change::Nothing => {}
            Change::Message(id) => self.recorded(&id, &mut near, events),
            Change::Messages(why, gone) => {
                events.extend(self.rewritten(why, gone));
                self.calls.clear();
                let ids: Vec<String> =
                    self.replay.history.iter().map(|(id, _)| id.to_owned()).collect();
                for id in &ids {
                    self.recorded(id, &mut near, events);
                }
            }
            Change::Skipped(diagnostic) => events.push(event(EventKind::Unread {
                line: diagnostic.line,
                reason: diagnostic.what,
                text: text.trim_end().to_owned(),
            })),
        }
        self.replay.diagnostics.clear();
        self.replay.lost.clear();
    }

    /// What the session as a whole has become.
    fn session(&mut self, events: &mut Vec<Event<'static>>) {
        let meta = &self.replay.meta;
        if let Some(id) = meta.session_id.as_ref().filter(|_| !self.started) {
            self.started = true;
            events.push(event(EventKind::SessionStarted {
                session_id: Text::from(id.clone()),
                project_hash: meta.project_hash.clone().map(Text::from),
                started_at: meta.started_at.map(At),
                kind: meta.kind.clone().map(Text::from),
                model: None,
            }));
        }
        if meta.summary != self.title {
            self.title.clone_from(&meta.summary);
            let title = Text::from(meta.summary.clone().unwrap_or_default());
            events.push(event(EventKind::SessionChanged { title }));
        }
    }

    fn rewritten(&mut self, reason: Rewrite, gone: Vec<String>) -> Option<Event<'static>> {
        if gone.is_empty() {
            return None;
        }
        self.epoch += 1;
        let removed = gone.into_iter().map(Text::from).collect();
        Some(event(EventKind::HistoryRewritten {
            epoch: self.epoch,
            reason,
            removed,
            superseded: None,
        }))
    }

    /// A message was written: tells of it, and of those whose calls it answers.
    fn recorded(&mut self, id: &str, fetch: &mut Fetch<'_>, events: &mut Vec<Event<'static>>) {
        let Some(seen) = self.replay.history.get_mut(id) else { return };
        let answers = seen.answers.clone();
        let place = seen.place().cloned();
        for (call, _) in &seen.calls {
            self.calls.insert(*call, id.to_owned());
        }
        for call in answers {
            let Some(owner) = self.calls.get(&call).cloned() else { continue };
            let Some(asked) = self.replay.history.get_mut(&owner) else { continue };
            let open = asked.calls.iter_mut().find(|(id, known)| *id == call && !known);
            if let (Some((_, known)), Some(place)) = (open, place.clone()) {
                *known = true;
                asked.responses.push(place);
                self.tell(&owner, fetch, events);
            }
        }
        self.tell(id, fetch, events);
    }

    /// Tells of a message, if it is other than it was last told.
    fn tell(&mut self, id: &str, fetch: &mut Fetch<'_>, events: &mut Vec<Event<'static>>) {
        let calls = &self.calls;
        let Some(seen) = self.replay.history.get_mut(id) else { return };
        match seen.message(id, &|call| calls.contains_key(&call), fetch) {
            Ok(Some(message)) => {
                let now = fingerprint(&message);
                let told = seen.told.or_else(|| self.before.get(id).copied());
                seen.told = Some(now);
                if told != Some(now) {
                    let message = Box::new(message);
                    events.push(event(EventKind::MessageRecorded {
                        changed: told.is_some(),
                        message,
                    }));
                }
            }
            Ok(None) => {}
            // The file was taken away while it was read; whoever follows it will see that next.
            Err(_) => {}
        }
    }
}

pub(super) fn event(kind: EventKind<'static>) -> Event<'static> {
    Event::new(Source::SessionFile, kind)
}
