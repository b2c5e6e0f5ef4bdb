//! The events of a log that grows: bytes in, events out, however they are split. Pure: what was read before is asked for
//! again by its place, so that memory does not grow with the content.

use super::Diagnostic;
use super::links::Links;
use super::replay::{Change, Meta, Replay};
use super::seen::{Fetch, Place, Seen, fingerprint};
use crate::model::{At, Event, EventKind, Rewrite, SessionChange, Source, Text};
use std::collections::HashMap;
use std::ops::Range;

/// By how many of its last bytes a file is known again: two lines rarely end alike, and then seldom at the same place.
const KNOWN_BY: usize = 64;

/// Reads a log as it grows.
#[derive(Debug, Default)]
pub(super) struct Tail {
    replay: Replay<Seen>,
    /// How many bytes have been read, up to the last whole line.
    read: u64,
    lines: u64,
    /// The beginning of a line whose end has not come yet.
    partial: Vec<u8>,
    /// The last bytes that were taken in.
    end: Vec<u8>,
    links: Links,
    /// The messages as they were last told of, by their ids.
    told: HashMap<String, u64>,
    /// True while a file is read that took the place of another: what is new in it is told at its end.
    anew: bool,
    session: Session,
    epoch: u64,
}

impl Tail {
    /// How many bytes have been taken in.
    pub(super) fn offset(&self) -> u64 {
        self.read + self.partial.len() as u64
    }

    /// The last of the bytes that were taken in, by which a file is known again.
    pub(super) fn end(&self) -> &[u8] {
        &self.end
    }

    /// Begins anew, for a file that took the place of another. What was told already is not told again.
    pub(super) fn restart(&mut self) {
        *self = Self {
            told: std::mem::take(&mut self.told),
            anew: true,
            session: std::mem::take(&mut self.session),
            epoch: self.epoch,
            ..Self::default()
        };
    }

    /// True after a restart, until all is read.
    pub(super) fn is_anew(&self) -> bool {
        self.anew
    }

    /// After a restart, when all is read: what is new in the file, and what it no longer has.
    pub(super) fn settle(&mut self, fetch: &mut Fetch<'_>, events: &mut Vec<Event<'static>>) {
        self.anew = false;
        self.session.tell(&self.replay.meta, events);
        self.tell_all(Rewrite::Replaced, fetch, events);
    }

    /// Takes in more bytes.
    pub(super) fn feed(
        &mut self,
        bytes: &[u8],
        fetch: &mut Fetch<'_>,
        events: &mut Vec<Event<'static>>,
    ) {
        self.end.extend_from_slice(
            bytes.get(bytes.len().saturating_sub(KNOWN_BY)..).unwrap_or_default(),
        );
        self.end.drain(..self.end.len().saturating_sub(KNOWN_BY));
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
        if !self.anew {
            self.session.tell(&self.replay.meta, events);
        }
        let noted = self.replay.take_noted();
        if !matches!(change, Change::Skipped(_)) && !self.anew {
            events.extend(in_part(&noted, &text));
        }
        match change {
            Change::Nothing => {}
            _ if self.anew => {}
            Change::Message(id) => self.recorded(&id, &mut near, events),
            Change::Messages(why) => self.tell_all(why, &mut near, events),
            Change::Skipped(diagnostic) => events.push(event(EventKind::Unread {
                line: diagnostic.line,
                reason: diagnostic.what,
                text: text.trim_end().to_owned(),
            })),
        }
    }

    /// Messages that were told of are no longer part of the conversation.
    fn rewritten(&mut self, reason: Rewrite, gone: Vec<String>, events: &mut Vec<Event<'static>>) {
        if gone.is_empty() {
            return;
        }
        self.epoch += 1;
        let removed = gone.into_iter().map(Text::from).collect();
        events.push(event(EventKind::HistoryRewritten {
            epoch: self.epoch,
            reason,
            removed,
            superseded: None,
        }));
    }

    /// A message was written: tells of it, and of those that look different for it.
    fn recorded(&mut self, id: &str, fetch: &mut Fetch<'_>, events: &mut Vec<Event<'static>>) {
        let Some((_, seen)) = self.replay.history.get(id) else { return };
        let touched = self.links.put(id, seen);
        let mut gone = Vec::new();
        for id in touched.iter().map(String::as_str).chain([id]) {
            self.tell(id, fetch, events, &mut gone);
        }
        self.rewritten(Rewrite::Checkpoint, gone, events);
    }

    /// Any message may be other than before: tells of all that are, and of those that are gone.
    fn tell_all(&mut self, why: Rewrite, fetch: &mut Fetch<'_>, events: &mut Vec<Event<'static>>) {
        let history = &self.replay.history;
        let mut gone: Vec<String> =
            self.told.keys().filter(|id| !history.contains(id)).cloned().collect();
        gone.sort_by_key(|id| (self.replay.first_seen.get(id.as_str()), id.clone()));
        self.told.retain(|id, _| history.contains(id));
        self.links = Links::default();
        let mut ids = Vec::new();
        for (id, seen) in history.iter() {
            self.links.put(id, seen);
            ids.push(id.to_owned());
        }
        let mut recorded = Vec::new();
        for id in &ids {
            self.tell(id, fetch, &mut recorded, &mut gone);
        }
        self.rewritten(why, gone, events);
        events.append(&mut recorded);
    }

    /// Tells of a message, if it is other than it was last told. One that was told of and now only answers calls that
    /// are told elsewhere is gone.
    fn tell(
        &mut self,
        id: &str,
        fetch: &mut Fetch<'_>,
        events: &mut Vec<Event<'static>>,
        gone: &mut Vec<String>,
    ) {
        let Some((_, seen)) = self.replay.history.get(id) else { return };
        let (before, after) = self.links.answers(id, seen, &self.replay.history);
        let is_call = |call| self.links.is_made(call);
        match seen.message(id, (&before, &after), &is_call, fetch) {
            Ok(Some(message)) => {
                let now = fingerprint(&message);
                let told = self.told.insert(id.to_owned(), now);
                if told != Some(now) {
                    let message = Box::new(message);
                    events.push(event(EventKind::MessageRecorded {
                        changed: told.is_some(),
                        message,
                    }));
                }
            }
            Ok(None) => gone.extend(self.told.remove_entry(id).map(|(id, _)| id)),
            // The file was taken away while it was read; whoever follows it will see that next.
            Err(_) => {}
        }
    }
}

/// What was noted while a line was read: once, however much is odd about it.
fn in_part(noted: &[Diagnostic], line: &str) -> Option<Event<'static>> {
    let mut reasons: Vec<&str> = noted.iter().map(|diagnostic| diagnostic.what.as_str()).collect();
    reasons.dedup();
    let number = noted.first()?.line;
    let (reason, text) = (reasons.join("; "), line.trim_end().to_owned());
    Some(event(EventKind::Unread { line: number, reason, text }))
}

/// What was told of a session as a whole.
#[derive(Debug, Default)]
pub(super) struct Session {
    started: bool,
    title: Option<String>,
}

impl Session {
    /// Tells what it has become.
    pub(super) fn tell(&mut self, meta: &Meta, events: &mut Vec<Event<'static>>) {
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
            let title = Some(Text::from(meta.summary.clone().unwrap_or_default()));
            let change = SessionChange { title, ..SessionChange::default() };
            events.push(event(EventKind::SessionChanged(change)));
        }
    }
}

pub(super) fn event(kind: EventKind<'static>) -> Event<'static> {
    Event::new(Source::SessionFile, kind)
}
