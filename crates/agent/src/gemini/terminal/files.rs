//! The session file of a live agent: found by its id or by what was said, and read as it is written.

use super::super::transcript::follow::Follow;
use super::super::transcript::resume::is_stub;
use super::super::transcript::store::project_hash;
use super::super::transcript::{Transcript, newest_of, text};
use super::words::{bare, is_said};
use crate::model::{Event, EventKind, Level, Role, Source};
use crate::regular;
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use tokio::sync::mpsc;

/// A file with more bytes than this has more in it than the CLI's own words at its start.
const SMALL: u64 = 64 << 10;

/// The session file of a live agent, as far as it is known.
#[derive(Debug)]
pub(super) struct Files {
    gemini: PathBuf,
    project: String,
    id: Option<String>,
    follow: Option<Follow>,
    /// Whether it has told something since the last turn began.
    told: bool,
    /// Messages that were there before.
    known: HashSet<String>,
    /// The file of a conversation that was put away.
    left: Option<PathBuf>,
    /// Session files that are of somebody else.
    others: HashSet<PathBuf>,
    tell: mpsc::Sender<()>,
    changed: mpsc::Receiver<()>,
    watched: Option<(PathBuf, RecommendedWatcher)>,
    /// Why nothing is heard of what is written, where that is so.
    deaf: Option<Deaf>,
}

/// That the system cannot watch a directory for us.
#[derive(Debug)]
enum Deaf {
    /// Nobody was told yet.
    Untold(String),
    Told,
}

impl Files {
    /// For a session that has yet to begin, in a directory. Files that are there already are of others.
    pub(super) fn new(gemini: PathBuf, cwd: &Path, id: Option<String>) -> Self {
        let (tell, changed) = mpsc::channel(1);
        let mut others: HashSet<PathBuf> = sessions(&gemini).into_iter().collect();
        if id.is_none() {
            // One in which nobody has said anything yet may be that of an agent that is there.
            others.retain(|path| !is_small(path) || !is_stub(path));
        }
        let project = project_hash(cwd);
        let mut files = Self {
            gemini,
            project,
            id,
            follow: None,
            told: false,
            known: HashSet::new(),
            left: None,
            others,
            tell,
            changed,
            watched: None,
            deaf: None,
        };
        files.arm();
        files
    }

    /// For a session that has a file: what is in it is known.
    pub(super) fn resume(&mut self, file: &Path) {
        let mut follow = Follow::new(file);
        self.known = ids(file);
        follow.skip_existing();
        self.follow = Some(follow);
        self.arm();
    }

    /// For somebody who has read the file up to a place.
    pub(super) fn go_on(&mut self, place: Follow) {
        self.follow = Some(place);
        self.arm();
    }

    /// Goes on with what is there of a session whose id is known, where its file is found.
    pub(super) fn resume_known(&mut self) {
        if let Some(file) = self.id.as_deref().and_then(|id| newest_of(&self.gemini, id)) {
            self.resume(&file);
        }
    }

    /// The id, where it is known.
    pub(super) fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The file, where it was found.
    pub(super) fn path(&self) -> Option<&Path> {
        self.follow.as_ref().map(Follow::path)
    }

    /// The id was told: the file is another one from now on, where it was another.
    pub(super) fn is(&mut self, id: &str) {
        if self.id.as_deref() != Some(id) {
            self.id = Some(id.to_owned());
            if let Some(follow) = self.follow.take() {
                self.others.insert(follow.path().to_path_buf());
            }
        }
    }

    /// The conversation was put away, and the next one has an id that nobody has told. Old versions go on in the same file.
    pub(super) fn forget(&mut self) {
        self.id = None;
        self.left = self.follow.take().map(|follow| follow.path().to_path_buf());
        self.known = self.left.as_deref().map(ids).unwrap_or_default();
        self.arm();
    }

    /// A turn begins: the file will tell of it.
    pub(super) fn turn_begins(&mut self) {
        self.told = false;
    }

    /// Where the file has told nothing of a turn in which this was said, another one may have: that is followed from now on.
    pub(super) fn moved(&mut self, said: &str) -> bool {
        let Some(path) = self.path().filter(|_| !self.told).map(Path::to_path_buf) else {
            return false;
        };
        let is_other = self.others.insert(path.clone());
        let Some(found) = self.by_words(&[said.to_owned()]) else {
            if is_other {
                self.others.remove(&path);
            }
            return false;
        };
        self.id = None;
        self.follow = Some(Follow::new(found));
        true
    }

    /// Waits until something was written.
    pub(super) async fn changed(&mut self) {
        if self.changed.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }

    /// What is new in the file. It is looked for if it has not been found yet: `said` are the words that must be in it
    /// where the id is not known.
    pub(super) fn look(&mut self, said: &[String]) -> Vec<Event<'static>> {
        if self.follow.is_none() {
            let found = match &self.id {
                Some(id) => newest_of(&self.gemini, id),
                None => self.by_words(said),
            };
            self.follow = found.map(Follow::new);
        }
        // Also where it is found: what could not be watched the last time is tried again.
        self.arm();
        let mut events = self.written();
        events.extend(self.is_deaf());
        events
    }

    /// What is new in the file, where it was found.
    fn written(&mut self) -> Vec<Event<'static>> {
        let Some(follow) = &mut self.follow else { return Vec::new() };
        let mut events = follow.poll_all();
        self.told |= !events.is_empty();
        if let (None, Some(EventKind::SessionStarted { session_id, .. })) =
            (&self.id, events.first().map(|event| &event.kind))
        {
            self.id = Some(session_id.to_string());
        }
        events.retain(|event| match &event.kind {
            EventKind::MessageRecorded { message, .. } => {
                !self.known.contains(message.id.to_str().as_ref())
            }
            _ => true,
        });
        events
    }

    /// That nothing is heard of what is written: told once.
    fn is_deaf(&mut self) -> Option<Event<'static>> {
        let Some(Deaf::Untold(why)) = &self.deaf else { return None };
        let text = format!("the session file is only read when the screen changes: {why}");
        self.deaf = Some(Deaf::Told);
        Some(Event::new(Source::Pollux, EventKind::Notice { level: Level::Warning, text }))
    }

    /// A new file of this project in which somebody said what was said here.
    fn by_words(&self, said: &[String]) -> Option<PathBuf> {
        if said.is_empty() {
            return None;
        }
        let new = sessions(&self.gemini).into_iter().filter(|path| !self.others.contains(path));
        let mut new: Vec<PathBuf> = new.collect();
        // One that was left is the last that is looked at.
        new.sort_by_key(|path| self.left.as_ref() == Some(path));
        for path in new {
            let bytes = regular::whole(&path).unwrap_or_default();
            let whole = text(&bytes);
            let transcript = Transcript::read(&whole);
            if transcript.meta().project_hash.as_deref() != Some(&self.project) {
                continue;
            }
            let users = transcript.messages().filter(|message| message.role == Role::User);
            // What was said before it was left still stands on the screen.
            let users = users.filter(|message| !self.known.contains(message.id.to_str().as_ref()));
            let mut words = users.map(|message| bare(&message.text()));
            if words.any(|words| said.iter().any(|said| is_said(&words, &bare(said)))) {
                return Some(path);
            }
        }
        None
    }

    /// Watches the directory that the file is in or will be in, as narrowly as is known.
    fn arm(&mut self) {
        let tmp = self.gemini.join("tmp");
        let known = self.path().and_then(Path::parent).map(Path::to_path_buf);
        let wanted = known.into_iter().chain([tmp, self.gemini.clone()]);
        let Some(wanted) = wanted.into_iter().find(|directory| directory.is_dir()) else { return };
        if self.watched.as_ref().is_some_and(|(watched, _)| *watched == wanted) {
            return;
        }
        let tell = self.tell.clone();
        let heard = move |event: notify::Result<notify::Event>| {
            // That somebody reads, such as we, is no news.
            if event.is_ok_and(|event| !event.kind.is_access()) {
                // Full: it will be looked at anyway.
                let _full = tell.try_send(());
            }
        };
        let deep = self.follow.is_none();
        let mode = if deep { RecursiveMode::Recursive } else { RecursiveMode::NonRecursive };
        let watcher = notify::recommended_watcher(heard).and_then(|mut watcher| {
            watcher.watch(&wanted, mode)?;
            Ok(watcher)
        });
        self.armed(wanted, watcher);
    }

    /// A directory is watched from now on, or cannot be.
    fn armed(&mut self, wanted: PathBuf, watcher: notify::Result<RecommendedWatcher>) {
        match watcher {
            Ok(watcher) => {
                self.watched = Some((wanted, watcher));
                // What was written before it was watched.
                let _full = self.tell.try_send(());
            }
            // What is watched around it goes on to be.
            Err(error) => {
                let around = |(watched, _): &(PathBuf, _)| wanted.starts_with(watched);
                if self.deaf.is_none() && !self.watched.as_ref().is_some_and(around) {
                    let why = format!("cannot watch {}: {error}", wanted.display());
                    self.deaf = Some(Deaf::Untold(why));
                }
            }
        }
    }
}

/// The ids of all messages in a file.
fn ids(file: &Path) -> HashSet<String> {
    let bytes = regular::whole(file).unwrap_or_default();
    let whole = text(&bytes);
    Transcript::read(&whole).messages().map(|message| message.id.to_string()).collect()
}

/// Whether a file is as small as those are in which nobody has said anything: the others need not be read.
fn is_small(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() < SMALL)
}

/// The session of a project in which something was said: the one that is `likely` where it was said there too, else the last
/// one that was written.
pub(super) fn in_which(
    gemini: &Path,
    cwd: &Path,
    said: &str,
    likely: Option<&str>,
) -> Option<String> {
    let modified = |path: &PathBuf| fs::metadata(path).and_then(|m| m.modified()).ok();
    let mut files = sessions(gemini);
    // The name of a file has the beginning of the id in it.
    let likely = likely.and_then(|id| id.get(..8));
    let is_likely =
        |path: &PathBuf| likely.is_some_and(|likely| path.to_string_lossy().contains(likely));
    files.sort_by_key(|path| (!is_likely(path), std::cmp::Reverse(modified(path))));
    let project = project_hash(cwd);
    files.into_iter().find_map(|path| {
        let bytes = regular::whole(&path).unwrap_or_default();
        let whole = text(&bytes);
        let transcript = Transcript::read(&whole);
        let meta = transcript.meta();
        let is_here = meta.project_hash.as_deref() == Some(&project);
        let mut users = transcript.messages().filter(|message| message.role == Role::User);
        let is_it = is_here && users.any(|message| is_said(&bare(&message.text()), &bare(said)));
        meta.session_id.clone().filter(|_| is_it)
    })
}

/// All session files of people, without those of the agents that agents have called.
fn sessions(gemini: &Path) -> Vec<PathBuf> {
    let projects = fs::read_dir(gemini.join("tmp")).into_iter().flatten().flatten();
    let chats = projects.filter_map(|project| fs::read_dir(project.path().join("chats")).ok());
    let files = chats.flatten().flatten().map(|file| file.path());
    let is_session = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let extension = path.extension().unwrap_or_default();
        name.starts_with("session-") && (extension == "json" || extension == "jsonl")
    };
    files.filter(is_session).collect()
}

#[cfg(test)]
mod tests {
    use super::{EventKind, Files, fs, in_which, project_hash};
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use serde_json::json;
    use std::path::Path;

    #[test]
    fn that_a_directory_cannot_be_watched_is_told_once_with_the_reason_and_it_is_tried_again() {
        let home = tempfile::tempdir().unwrap();
        let mut files = Files::new(home.path().to_path_buf(), Path::new("/w/shop"), None);
        files.watched = None;
        let full = notify::Error::new(notify::ErrorKind::MaxFilesWatch);
        files.armed(home.path().to_path_buf(), Err(full));
        let told = files.look(&[]);
        let [told] = told.as_slice() else { panic!("{told:?}") };
        let EventKind::Notice { text, .. } = &told.kind else { panic!("{told:?}") };
        assert!(
            text.contains("cannot watch") && text.contains("OS file watch limit reached"),
            "{text}"
        );
        assert!(files.watched.is_some());
        assert!(files.look(&[]).is_empty());
    }

    #[test]
    fn a_pipe_among_the_session_files_is_not_waited_for() {
        let home = tempfile::tempdir().unwrap();
        let chats = home.path().join("tmp/shop/chats");
        fs::create_dir_all(&chats).unwrap();
        let pipe = chats.join("session-2026-11-17T12-00-11111111.json");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR, 0).unwrap();
        let cwd = Path::new("/w/shop");
        assert_eq!(in_which(home.path(), cwd, "hello", None), None);
        let mut files = Files::new(home.path().to_path_buf(), cwd, None);
        assert!(files.look(&["hello".to_owned()]).is_empty());
    }

    #[test]
    fn who_cleared_the_conversation_is_followed_into_the_new_one() {
        let home = tempfile::tempdir().unwrap();
        let cwd = Path::new("/w/shop");
        let project = project_hash(cwd);
        let chats = home.path().join("tmp").join(&project).join("chats");
        fs::create_dir_all(&chats).unwrap();
        let ids = ["11111111-6f3b-4a8e-9b53-0d6f3d0f1f0a", "22222222-6f3b-4a8e-9b53-0d6f3d0f1f0a"];
        for (id, said) in ids.iter().zip([["hello", "old"], ["hello", "new"]]) {
            let meta = json!({ "sessionId": id, "projectHash": project });
            let says = |words: &str| json!({ "id": words, "type": "user", "content": words });
            let lines = [meta, says(said[0]), says(said[1])].map(|line| format!("{line}\n"));
            let short = id.split('-').next().unwrap();
            let name = format!("session-2026-11-17T12-00-{short}.jsonl");
            fs::write(chats.join(name), lines.concat()).unwrap();
        }
        let is = |said: &str, likely| in_which(home.path(), cwd, said, likely);
        // The command line tells the first one, whose conversation was put away.
        assert_eq!(is("new", Some(ids[0])).as_deref(), Some(ids[1]));
        assert_eq!(is("hello", Some(ids[0])).as_deref(), Some(ids[0]));
        assert_eq!(is("never said", Some(ids[0])), None);
    }
}
