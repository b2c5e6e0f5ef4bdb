//! Going on with a session without losing it.
//!
//! From 0.47 on a resumed session is deleted by the next start of the CLI, together with the stub that the resume has
//! left; resumed in the minute in which it was made, it loses what its messages held. So a copy is kept first, the
//! minute is waited for, the stub is moved out of the CLI's sight, and what was there before is looked for message by
//! message. If anything is missing, the file is put back as it was.

use super::digest::digest;
use super::entry::begins_with_context;
use super::rescue::{copy_to, make_private, put, put_away};
use super::scan::short_id;
use super::whole::{Transcript, text};
use crate::gemini::cli::{Cli, Version};
use crate::model::{Block, Failure, Message, Phase, Role};
use jiff::Timestamp;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Since this version a resume in the minute in which the session was made destroys it.
const CLASHES: Version = Version::new(0, 39, 0);

/// A session to go on with.
#[derive(Debug, Clone)]
pub struct Resume {
    /// Its id.
    pub id: String,
    /// Its file.
    pub file: PathBuf,
    /// Where a copy of it is kept.
    pub aside: PathBuf,
}

impl Resume {
    /// The same, where there is something to go on with. The CLI does not know a session in which nothing stands, and may
    /// remove its file with what was taken back: that is copied. Where it cannot be, whoever has followed the file has it.
    pub fn unless_blank(self) -> Option<Self> {
        if !is_blank(&self.file) {
            return Some(self);
        }
        drop(Guard::new(&self.file, &self.aside));
        None
    }

    /// What is done before any CLI touches the session: a copy is kept, its minute is waited for, and the stubs are moved
    /// that somebody else has left, for which our own start would delete it.
    pub(in crate::gemini) async fn prepare(&self, cli: &Cli) -> Result<Guard, Failure> {
        let guard = Guard::new(&self.file, &self.aside).map_err(|error| {
            let message = format!("could not copy {}: {error}", self.file.display());
            Failure::new(Phase::Start, "no_copy", message)
                .hint("Pollux does not resume a session without a copy, because it may be lost")
        })?;
        if cli.at_least(CLASHES) {
            guard.wait().await;
        }
        guard.move_stubs().map_err(|error| {
            let message = format!("{} is at risk: {error}", self.file.display());
            Failure::new(Phase::Start, "no_copy", message).hint(
                "could not move a stub file next to it; the next start of Gemini CLI would delete both",
            )
        })?;
        Ok(guard)
    }
}

/// A session file that is gone on with.
///
/// ```
/// use pollux_agent::gemini::transcript::resume::Guard;
/// # let directory = tempfile::tempdir().unwrap();
/// # let file = directory.path().join("session-2026-11-15T17-55-1f9cc522.jsonl");
/// # let aside = directory.path().join("aside");
/// let before = "{\"id\":\"1\",\"type\":\"user\",\"content\":\"hello\"}\n";
/// std::fs::write(&file, before).unwrap();
/// let guard = Guard::new(&file, &aside).unwrap();
///
/// std::fs::write(&file, "").unwrap(); // as a resume in the wrong minute does
/// assert!(guard.check().is_err());
/// guard.put_back().unwrap();
/// assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
/// ```
#[derive(Debug, Clone)]
pub struct Guard {
    file: PathBuf,
    aside: PathBuf,
    copy: PathBuf,
    before: Vec<String>,
}

impl Guard {
    /// Copies a session's file into a directory, and remembers what is in it.
    pub fn new(file: &Path, aside: &Path) -> io::Result<Self> {
        let project = file.parent().and_then(Path::parent).and_then(Path::file_name);
        let aside = aside.join(project.unwrap_or_default());
        make_private(&aside)?;
        let copy = copy_to(file, &aside)?;
        let before = messages(&fs::read(&copy)?);
        let guard = Self { file: file.to_path_buf(), aside, copy, before };
        guard.make_room();
        Ok(guard)
    }

    /// Removes the copies in which nothing is that is not in this one: a file of the old format is another one after each
    /// turn, and would leave a copy each time that it is gone on with, forever. What cannot be removed stays.
    fn make_room(&self) {
        let name = self.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_older = |path: &PathBuf| {
            let other = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let number = other.strip_prefix(&name).map(|rest| rest.trim_start_matches('.'));
            *path != self.copy
                && number.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()))
        };
        let Ok(bytes) = fs::read(&self.copy) else { return };
        let whole = everything(&bytes);
        let copies = fs::read_dir(&self.aside).into_iter().flatten().flatten();
        for copy in copies.map(|entry| entry.path()).filter(is_older) {
            if fs::read(&copy).is_ok_and(|bytes| is_within(&bytes, &whole)) {
                drop(fs::remove_file(&copy));
            }
        }
    }

    /// The session's file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The copy of it.
    pub fn copy(&self) -> &Path {
        &self.copy
    }

    /// How many messages were there.
    pub fn messages(&self) -> usize {
        self.before.len()
    }

    /// True in the minute in which the session was made: to go on with it now would destroy it.
    pub fn is_of_this_minute(&self) -> bool {
        let name = self.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let now = Timestamp::now().strftime("session-%Y-%m-%dT%H-%M-").to_string();
        name.starts_with(&now)
    }

    /// Waits until that minute is over.
    pub async fn wait(&self) {
        while self.is_of_this_minute() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Moves the stubs that a resume has left out of the CLI's sight, to the copy. Gives where they were.
    pub fn move_stubs(&self) -> io::Result<Vec<PathBuf>> {
        let mut moved = Vec::new();
        for stub in stubs_beside(&self.file) {
            if put_away(&stub, &self.aside)?.is_some() {
                moved.push(stub);
            }
        }
        Ok(moved)
    }

    /// Looks for every message that was there before, in its order. What is missing is named.
    pub fn check(&self) -> Result<(), String> {
        let path = self.now();
        let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let Some(at) = missing(&self.before, &messages(&bytes)) else { return Ok(()) };
        let all = self.before.len();
        Err(format!("message {} of {all} is missing from the session file", at + 1))
    }

    /// True where there is no file any more.
    pub fn is_gone(&self) -> bool {
        !self.now().exists()
    }

    /// A newer CLI that takes up a session of the old format goes on in a log beside it.
    fn now(&self) -> PathBuf {
        let log = self.file.with_extension("jsonl");
        if log.exists() { log } else { self.file.clone() }
    }

    /// Puts the file back as it was: beside it, then renamed, so that nobody sees half of it. A log that a newer CLI has made
    /// of it goes to the copy: it would be taken for the session instead.
    pub fn put_back(&self) -> io::Result<()> {
        put(&fs::read(&self.copy)?, &self.file, &self.copy)?;
        let log = self.now();
        if log != self.file {
            copy_to(&log, &self.aside)?;
            fs::remove_file(&log)?;
        }
        Ok(())
    }
}

/// True where a copy was read whole, and all that is in it is among these.
fn is_within(copy: &[u8], among: &[String]) -> bool {
    let text = text(copy);
    let transcript = Transcript::read(&text);
    transcript.diagnostics().is_empty() && missing(&everything(copy), among).is_none()
}

/// The messages of a file with all that a reader sees of them: what tools gave back, thoughts and tokens too.
fn everything(bytes: &[u8]) -> Vec<String> {
    let text = text(bytes);
    let transcript = Transcript::read(&text);
    let spoken = |message: &Message<'_>| !message.meta && !is_empty(message);
    let whole = |message: Message<'_>| {
        let look = (&message.role, &message.content, &message.model, message.usage);
        serde_json::to_string(&look).unwrap_or_default()
    };
    transcript.messages().filter(spoken).map(whole).collect()
}

/// The first of these messages that is not among the others, in its order.
fn missing(messages: &[String], among: &[String]) -> Option<usize> {
    let mut rest = among.iter();
    messages.iter().position(|message| !rest.any(|other| other == message))
}

/// Moves the stubs beside a session's file out of the CLI's sight, beside the directory of the sessions: for a session that was
/// just begun there is no place yet where copies are kept. What cannot be moved stays.
pub(in crate::gemini) fn put_stubs_away(file: &Path) -> io::Result<()> {
    let Some(project) = file.parent().and_then(Path::parent) else { return Ok(()) };
    for stub in stubs_beside(file) {
        let aside = project.join("stubs");
        make_private(&aside)?;
        put_away(&stub, &aside)?;
    }
    Ok(())
}

/// Files with the same short id as this one in which nobody says anything.
fn stubs_beside(file: &Path) -> Vec<PathBuf> {
    let (Some(own), Some(chats)) = (short_id(file), file.parent()) else {
        return Vec::new();
    };
    let files = fs::read_dir(chats).into_iter().flatten().flatten().map(|entry| entry.path());
    let same = files.filter(|path| path != file && short_id(path) == Some(own));
    same.filter(|path| is_stub(path)).collect()
}

/// True for a session's file of the new format in which nobody says anything, and all of which was understood. The CLI itself
/// does not go on with such a session.
///
/// ```
/// use pollux_agent::gemini::transcript::resume::is_stub;
/// # let directory = tempfile::tempdir().unwrap();
/// # let file = directory.path().join("session-2026-11-15T17-55-1f9cc522.jsonl");
/// std::fs::write(&file, "{\"sessionId\":\"1f9cc522\",\"startTime\":\"2026-11-15T17:55:00Z\"}\n").unwrap();
/// assert!(is_stub(&file));
/// ```
pub fn is_stub(path: &Path) -> bool {
    short_id(path).is_some() && fs::read(path).is_ok_and(|bytes| says_nothing(&bytes))
}

/// True where these are the bytes of a stub.
pub(super) fn says_nothing(bytes: &[u8]) -> bool {
    digest(&text(bytes)).is_stub()
}

/// True where nothing stands of what was said: since 0.61 the CLI takes back a first turn that is cancelled, with all that was
/// done in it. It does not know such a session any more.
///
/// ```
/// use pollux_agent::gemini::transcript::resume::is_blank;
/// # let directory = tempfile::tempdir().unwrap();
/// # let file = directory.path().join("session-2026-11-15T17-55-1f9cc522.jsonl");
/// let asked = "{\"id\":\"m1\",\"type\":\"user\",\"content\":\"talk\"}\n";
/// std::fs::write(&file, asked).unwrap();
/// assert!(!is_blank(&file));
/// std::fs::write(&file, format!("{asked}{{\"$rewindTo\":\"m1\"}}\n")).unwrap();
/// assert!(is_blank(&file));
/// ```
pub fn is_blank(path: &Path) -> bool {
    let digest = fs::read(path).map(|bytes| digest(&text(&bytes)));
    digest.is_ok_and(|digest| digest.taken_back && !digest.substance)
}

/// What the messages of a file say and do, without what the CLI says in a person's name and without ids, which a stopped
/// turn renews. It also puts its own words and the first prompt into one record then, and a resume takes that for its own words
/// alone and says them anew: the prompt itself stays in the file as it was first written.
pub(super) fn messages(bytes: &[u8]) -> Vec<String> {
    let text = text(bytes);
    let transcript = Transcript::read(&text);
    let spoken = |message: &Message<'_>| {
        let merged = message.role == Role::User && begins_with_context(&message.text());
        !message.meta && message.role != Role::System && !merged && !is_empty(message)
    };
    transcript.messages().filter(spoken).map(|message| fingerprint(&message)).collect()
}

/// True for a message in which nothing is said, thought or done: the CLI writes one when it begins to answer, and drops it when
/// it loads a session that ended there.
fn is_empty(message: &Message<'_>) -> bool {
    message
        .blocks()
        .iter()
        .all(|block| matches!(block, Block::Text { text } if text.to_str().trim().is_empty()))
}

fn fingerprint(message: &Message<'_>) -> String {
    let calls = message.blocks().iter().filter_map(|block| match block {
        Block::ToolUse { id, name, .. } => Some(format!("use {name} {id}")),
        Block::ToolResult { tool_use_id, status, .. } => {
            Some(format!("result {status:?} {tool_use_id}"))
        }
        _ => None,
    });
    let head = format!("{:?}\n{}", message.role, message.text().trim());
    std::iter::once(head).chain(calls).collect::<Vec<_>>().join("\n")
}
