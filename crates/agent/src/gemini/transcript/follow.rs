//! A session file while it is written: new and changed messages, as events.
//!
//! [`Follow`] looks at one file whenever it is told to. [`Watch`] tells it when the file system says so, and every few
//! seconds in case the file system does not.

use super::Diagnostic;
use super::document::unmarked;
use super::seen::{Fetch, fingerprint};
use super::tail::{Session, Tail, event};
use super::whole::{Format, Transcript, text};
use crate::model::{Event, EventKind, Level, Message, Rewrite, Text};
use crate::regular;
use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

pub use super::watch::{Watch, Watched};

/// A file of the old format is read anew at each change; past this size that is worth a word.
const LARGE: u64 = 2 << 20;
/// How much is read at a time.
const CHUNK: usize = 256 << 10;
/// How much one look tells, about.
const AT_ONCE: u64 = 1 << 20;

/// One session file, looked at now and then.
///
/// ```
/// use pollux_agent::gemini::transcript::follow::Follow;
/// # let directory = tempfile::tempdir().unwrap();
/// let path = directory.path().join("session.jsonl");
/// let mut follow = Follow::new(&path);
/// assert!(follow.poll().is_empty(), "a file that is not there yet is waited for");
///
/// std::fs::write(&path, "{\"id\":\"1\",\"type\":\"user\",\"content\":\"hello\"}\n{\"id\":\"2\",\"ty").unwrap();
/// assert_eq!(follow.poll().len(), 1, "and half a line too");
/// assert!(follow.poll().is_empty(), "nothing is told twice");
/// ```
#[derive(Debug)]
pub struct Follow {
    path: PathBuf,
    last: Option<Stamp>,
    /// The file as it was when it was only half there: until it is another one, it is not worth a look.
    half: Option<Stamp>,
    /// True where there is more to read than one look may tell.
    behind: bool,
    /// What stands before this place in a log is taken for told.
    skip_to: u64,
    reader: Reader,
}

/// What tells that a file has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    size: u64,
    modified: Option<SystemTime>,
    file: u64,
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self { size: metadata.len(), modified: metadata.modified().ok(), file: metadata.ino() }
    }
}

#[derive(Debug)]
enum Reader {
    /// Nothing has been seen yet.
    Unknown,
    /// The new format.
    Log(Box<Tail>),
    /// The old format.
    Document(Document),
}

impl Follow {
    /// Follows a file, which need not be there yet. The first look tells all that is in it.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            last: None,
            half: None,
            behind: false,
            skip_to: 0,
            reader: Reader::Unknown,
        }
    }

    /// Takes what is there for told. A log is not even read before something comes to it: of thousands of sessions that
    /// are watched, few go on.
    pub fn skip_existing(&mut self) {
        let is_log = self.path.extension().is_some_and(|extension| extension == "jsonl");
        match fs::metadata(&self.path) {
            Ok(metadata) if is_log && matches!(self.reader, Reader::Unknown) => {
                self.skip_to = metadata.len();
                self.last = Some(Stamp::of(&metadata));
            }
            _ => drop(self.poll()),
        }
        while self.behind {
            drop(self.poll());
        }
    }

    /// True where the last look did not reach the end: the next one will tell more at once.
    pub fn is_behind(&self) -> bool {
        self.behind
    }

    /// What is new in the file, to its end, for those who have to know all of it before they go on. A newer CLI that takes
    /// up a session of the old format goes on in a log beside it, and so does this.
    pub(in crate::gemini) fn poll_all(&mut self) -> Vec<Event<'static>> {
        let log = self.path.with_extension("jsonl");
        if self.path.extension().is_some_and(|extension| extension == "json") && log.exists() {
            *self = Self::new(log);
        }
        let mut events = self.poll();
        while self.behind {
            events.extend(self.poll());
        }
        events
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// True for the format that is rewritten as a whole, so that a change is better waited out for a moment.
    pub fn is_rewritten(&self) -> bool {
        matches!(self.reader, Reader::Document(_))
    }

    /// Looks at the file, and tells what is new. Costs a `stat` where nothing is. What is much is told in parts, so that
    /// memory does not grow with the file: see [`Follow::is_behind`].
    pub fn poll(&mut self) -> Vec<Event<'static>> {
        let mut events = Vec::new();
        match fs::metadata(&self.path) {
            Ok(metadata) => {
                let now = Stamp::of(&metadata);
                let is_same = self.last == Some(now) || self.half == Some(now);
                if is_same && !self.behind {
                    return events;
                }
                if self.read(now, &mut events).is_err() {
                    self.look_again();
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.last.is_some() => {
                (self.last, self.behind) = (None, false);
                events.push(event(EventKind::SessionEnded {
                    reason: "the session file was deleted".into(),
                }));
            }
            Err(_) => self.look_again(),
        }
        events
    }

    /// The file cannot be read just now: it is looked at again with the next change or poll, and not before.
    fn look_again(&mut self) {
        self.behind = false;
        // No file has this stamp, so that the next look does not take it for read.
        self.last = self.last.map(|last| Stamp { modified: None, ..last });
    }

    fn read(&mut self, now: Stamp, events: &mut Vec<Event<'static>>) -> io::Result<()> {
        let mut file = regular::open(&self.path)?;
        let replaced = self.last.is_none_or(|last| last.file != now.file);
        if replaced || now.size < self.skip_to {
            self.skip_to = 0;
        }
        if matches!(self.reader, Reader::Unknown) {
            match format(&mut file)? {
                Some(Format::Json) => self.reader = Reader::Document(Document::default()),
                Some(Format::Jsonl) => self.reader = Reader::Log(Box::default()),
                None => {
                    self.half = Some(now);
                    return Ok(());
                }
            }
        }
        match &mut self.reader {
            Reader::Log(tail) => {
                let anew = replaced || now.size < tail.offset() || !goes_on(tail, &mut file)?;
                self.behind = log(tail, &mut file, anew, self.skip_to, events)?;
            }
            Reader::Document(document) => {
                if !document.read(&mut file, now.size, events)? {
                    self.half = Some(now);
                    // Until something is told, it may yet turn out to be a log whose first line is broken.
                    if document.told.is_empty() {
                        self.reader = Reader::Unknown;
                    }
                    return Ok(());
                }
            }
            Reader::Unknown => {}
        }
        self.last = Some(now);
        Ok(())
    }
}

/// False where other bytes stand before the place up to which a log was read: it was written anew where it stands.
fn goes_on(tail: &Tail, file: &mut fs::File) -> io::Result<bool> {
    let end = tail.end();
    let mut bytes = vec![0; end.len()];
    file.seek(SeekFrom::Start(tail.offset() - end.len() as u64))?;
    file.read_exact(&mut bytes)?;
    Ok(bytes == end)
}

/// The format of a file; none while there is too little of it to tell.
fn format(file: &mut fs::File) -> io::Result<Option<Format>> {
    let mut head = Vec::new();
    let length = file.by_ref().take(CHUNK as u64).read_to_end(&mut head)?;
    file.rewind()?;
    let head = text(&head);
    let begun = unmarked(&head).trim_start();
    // The old format begins with a brace alone on its line; a log's first line is an object.
    let first = begun.lines().next().unwrap_or_default();
    Ok(match first.trim_end() {
        "" => None,
        "{" => Some(Format::Json),
        _ if begun.contains('\n') => Some(Format::of(&head)),
        // The old format has its first line break at once. A first line that goes on for so long is a record.
        _ if length == CHUNK => Some(Format::Jsonl),
        _ if serde_json::from_str::<serde::de::IgnoredAny>(begun).is_ok() => Some(Format::Jsonl),
        _ => None,
    })
}

/// Reads what a log has more than before: all of it, where the file is another one or was cut.
///
/// True where there may be more than one look tells. A file that took the place of another is read to its end: only
/// then is it known what is gone.
fn log(
    tail: &mut Tail,
    file: &mut fs::File,
    anew: bool,
    skip_to: u64,
    events: &mut Vec<Event<'static>>,
) -> io::Result<bool> {
    if anew && tail.offset() > 0 {
        tail.restart();
    }
    // Also where an earlier look could not read such a file to its end.
    let restarted = tail.is_anew();
    let mut again = file.try_clone()?;
    let mut fetch = |range: Range<u64>| {
        let mut bytes = vec![0; usize::try_from(range.end - range.start).unwrap_or(0)];
        again.seek(SeekFrom::Start(range.start))?;
        again.read_exact(&mut bytes)?;
        Ok(bytes)
    };
    let fetch: &mut Fetch<'_> = &mut fetch;
    let mut chunk = vec![0; CHUNK];
    let begun = tail.offset();
    loop {
        // The clone for fetching shares its position with this one.
        file.seek(SeekFrom::Start(tail.offset()))?;
        let told = skip_to.saturating_sub(tail.offset());
        let most = if told > 0 { usize::try_from(told).unwrap_or(CHUNK).min(CHUNK) } else { CHUNK };
        let count = file.read(chunk.get_mut(..most).unwrap_or_default())?;
        if count == 0 {
            break;
        }
        tail.feed(chunk.get(..count).unwrap_or_default(), fetch, events);
        if told > 0 {
            events.clear();
        }
        if !restarted && !events.is_empty() && tail.offset() - begun >= AT_ONCE {
            return Ok(true);
        }
    }
    if restarted {
        tail.settle(fetch, events);
    }
    Ok(false)
}

/// A file of the old format: read as a whole at each change, and compared.
#[derive(Debug, Default)]
struct Document {
    told: HashMap<String, u64>,
    session: Session,
    epoch: u64,
    warned: bool,
    /// What was skipped when the file was last read.
    noted: Vec<Diagnostic>,
}

impl Document {
    /// False where the file is only half written: it is waited for.
    fn read(
        &mut self,
        file: &mut fs::File,
        size: u64,
        events: &mut Vec<Event<'static>>,
    ) -> io::Result<bool> {
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        file.read_to_end(&mut bytes)?;
        let text = text(&bytes);
        if serde_json::from_str::<serde::de::IgnoredAny>(unmarked(&text)).is_err() {
            return Ok(false);
        }
        if size > LARGE && !self.warned {
            self.warned = true;
            let text = format!(
                "the session file has {} MB and is read in full after every change",
                size >> 20
            );
            events.push(event(EventKind::Notice { level: Level::Warning, text }));
        }
        let transcript = Transcript::read(&text);
        self.session.tell(transcript.meta(), events);
        self.compare(transcript.messages(), events);
        self.note(transcript.diagnostics(), &text, events);
        Ok(true)
    }

    /// Tells what was skipped, unless that was told when the file was last read.
    fn note(&mut self, noted: &[Diagnostic], text: &str, events: &mut Vec<Event<'static>>) {
        for diagnostic in noted.iter().filter(|diagnostic| !self.noted.contains(diagnostic)) {
            let line = diagnostic.line.and_then(|line| usize::try_from(line).ok()).unwrap_or(1);
            let text = text.lines().nth(line.saturating_sub(1)).unwrap_or_default().to_owned();
            let reason = diagnostic.what.clone();
            events.push(event(EventKind::Unread { line: diagnostic.line, reason, text }));
        }
        self.noted = noted.to_vec();
    }

    fn compare<'a>(
        &mut self,
        messages: impl Iterator<Item = Message<'a>>,
        events: &mut Vec<Event<'static>>,
    ) {
        let mut now = HashMap::new();
        let mut recorded = Vec::new();
        for message in messages {
            let id = message.id.to_string();
            let print = fingerprint(&message);
            let told = self.told.get(&id).copied();
            now.insert(id, print);
            if told != Some(print) {
                let message = Box::new(message.into_owned());
                recorded
                    .push(event(EventKind::MessageRecorded { changed: told.is_some(), message }));
            }
        }
        let mut removed: Vec<&String> =
            self.told.keys().filter(|id| !now.contains_key(*id)).collect();
        if !removed.is_empty() {
            removed.sort_unstable();
            self.epoch += 1;
            let removed = removed.into_iter().cloned().map(Text::from).collect();
            events.push(event(EventKind::HistoryRewritten {
                epoch: self.epoch,
                reason: Rewrite::Replaced,
                removed,
                superseded: None,
            }));
        }
        events.append(&mut recorded);
        self.told = now;
    }
}

/// All events of a session file that is in memory, of either format.
pub fn events(bytes: &[u8]) -> Vec<Event<'static>> {
    let mut events = Vec::new();
    let whole = text(bytes);
    match Format::of(&whole) {
        Format::Jsonl => {
            let mut tail = Tail::default();
            let mut fetch = |range: Range<u64>| {
                let place = usize::try_from(range.start).unwrap_or(0)
                    ..usize::try_from(range.end).unwrap_or(0);
                bytes
                    .get(place)
                    .map(<[u8]>::to_vec)
                    .ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
            };
            tail.feed(bytes, &mut fetch, &mut events);
            tail.finish(&mut fetch, &mut events);
        }
        Format::Json => {
            let transcript = Transcript::read(&whole);
            let mut document = Document::default();
            document.session.tell(transcript.meta(), &mut events);
            document.compare(transcript.messages(), &mut events);
            document.note(transcript.diagnostics(), &whole, &mut events);
        }
    }
    events
}
