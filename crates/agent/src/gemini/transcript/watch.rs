//! Being told that session files change, instead of asking.

use super::follow::Follow;
use super::scan::is_session_path;
use crate::model::Event;
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// How often the files are looked at where the file system says nothing: network file systems do not tell.
const FALLBACK: Duration = Duration::from_secs(2);
/// The same where there was nothing that it had not told: looks that find nothing become rarer, up to this.
const RARELY: Duration = Duration::from_secs(10);
/// How often it is looked whether the directory is there: the first start of the CLI makes it.
const ABSENT: Duration = Duration::from_millis(250);
/// When a new directory is looked into again: what was put there before it was watched nobody tells.
const AGAIN: [Duration; 3] =
    [Duration::from_millis(20), Duration::from_millis(100), Duration::from_millis(500)];
/// A file that is rewritten as a whole is left alone for so long after a change: it may be half written.
const SETTLE: Duration = Duration::from_millis(50);
/// How many changed paths may wait. When it is full, everything is looked at.
const WAITING: usize = 1024;

/// What is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Watched {
    /// One session file.
    File(PathBuf),
    /// All session files below a directory of the CLI (`~/.gemini`), also those that come later.
    All(PathBuf),
}

impl Watched {
    /// Directories are watched, not files: a file may be replaced, or not be there yet.
    fn directory(&self) -> (PathBuf, RecursiveMode) {
        match self {
            Self::File(path) => {
                // The parent of a bare name is empty, and nowhere.
                let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
                (parent.unwrap_or(Path::new(".")).to_path_buf(), RecursiveMode::NonRecursive)
            }
            Self::All(gemini) => (gemini.join("tmp"), RecursiveMode::Recursive),
        }
    }

    /// The session file that a changed path is, under the name by which it is followed: the file system may tell it by
    /// another, and one file must not be followed twice.
    fn takes(&self, path: PathBuf) -> Option<PathBuf> {
        match self {
            Self::File(file) => (path.file_name() == file.file_name()).then(|| file.clone()),
            Self::All(_) => is_session_path(&path).then_some(path),
        }
    }
}

/// Session files that are watched.
#[derive(Debug)]
pub struct Watch {
    follows: HashMap<PathBuf, Follow>,
    watched: Watched,
    told: SyncSender<PathBuf>,
    changed: Receiver<PathBuf>,
    looked_at: Instant,
    /// After how long everything is looked at where nothing is told.
    patience: Duration,
    /// When new directories are looked into again.
    again: VecDeque<Instant>,
    /// Ends the watching when it is dropped.
    watcher: Option<RecommendedWatcher>,
    /// The file system was asked to tell.
    asked: bool,
}

impl Watch {
    /// Begins to watch. With `skip_existing` only what comes from now on is told.
    pub fn new(watched: Watched, skip_existing: bool) -> Self {
        let (told, changed) = sync_channel(WAITING);
        let mut watch = Self {
            follows: HashMap::new(),
            watched,
            told,
            changed,
            looked_at: Instant::now(),
            patience: FALLBACK,
            again: VecDeque::new(),
            watcher: None,
            asked: false,
        };
        watch.ask();
        for path in watch.files() {
            let mut follow = Follow::new(&path);
            if skip_existing {
                follow.skip_existing();
            }
            watch.follows.insert(path, follow);
        }
        watch
    }

    /// Asks the file system to tell, once the directory is there: the first start of the CLI makes it.
    fn ask(&mut self) {
        let (directory, mode) = self.watched.directory();
        if self.watcher.is_none() && !self.asked && directory.is_dir() {
            self.asked = true;
            self.watcher = watcher(&directory, mode, self.told.clone()).ok();
        }
    }

    /// Looks at everything now.
    pub fn poll_now(&mut self) -> Vec<(PathBuf, Vec<Event<'static>>)> {
        self.looked_at = Instant::now();
        self.ask();
        for path in self.files() {
            self.follows.entry(path).or_insert_with_key(|path| Follow::new(path));
        }
        let looked = self.follows.iter_mut().map(|(path, follow)| (path.clone(), follow.poll()));
        let mut told: Vec<_> = looked.filter(|(_, events)| !events.is_empty()).collect();
        told.sort_by(|(a, _), (b, _)| a.cmp(b));
        told
    }

    /// Waits for something new, at most until `deadline`.
    pub fn next(&mut self, deadline: Instant) -> Vec<(PathBuf, Vec<Event<'static>>)> {
        loop {
            if self.follows.values().any(Follow::is_behind) {
                return self.poll_now();
            }
            let wait = self.due().min(deadline).saturating_duration_since(Instant::now());
            let told = match self.changed.recv_timeout(wait) {
                Ok(path) => self.look(path),
                Err(_) if Instant::now() >= self.due() => self.look_untold(),
                Err(_) => Vec::new(),
            };
            if !told.is_empty() || Instant::now() >= deadline {
                return told;
            }
        }
    }

    /// When everything is looked at, should nothing be told until then.
    fn due(&self) -> Instant {
        let fallback = self.looked_at + if self.asked { self.patience } else { ABSENT };
        self.again.front().map_or(fallback, |again| fallback.min(*again))
    }

    /// Looks at everything though nothing was told. Where that finds nothing, it is done less often.
    fn look_untold(&mut self) -> Vec<(PathBuf, Vec<Event<'static>>)> {
        let now = Instant::now();
        let planned = self.again.len();
        self.again.retain(|again| *again > now);
        let is_fallback = planned == self.again.len();
        let told = self.poll_now();
        if !told.is_empty() {
            self.patience = FALLBACK;
        } else if is_fallback && self.watcher.is_some() {
            self.patience = (self.patience * 2).min(RARELY);
        }
        told
    }

    /// Looks at the files that have changed.
    fn look(&mut self, first: PathBuf) -> Vec<(PathBuf, Vec<Event<'static>>)> {
        if self.follows.get(&first).is_some_and(Follow::is_rewritten) {
            std::thread::sleep(SETTLE);
        }
        let mut paths = vec![first];
        paths.extend(self.changed.try_iter());
        let is_full = paths.len() >= WAITING;
        paths.sort_unstable();
        paths.dedup();
        if paths.iter().any(|path| path.is_dir()) {
            let now = Instant::now();
            self.again = AGAIN.map(|after| now + after).into();
        }
        // What was put into a new directory before it was watched is found by looking. So is a new file: whether it is
        // one, or a link that leads out, a path does not say.
        let is_new = |path: &PathBuf| is_session_path(path) && !self.follows.contains_key(path);
        let is_all = matches!(self.watched, Watched::All(_));
        if is_full || !self.again.is_empty() || is_all && paths.iter().any(is_new) {
            return self.poll_now();
        }
        let mut told = Vec::new();
        let mut watched: Vec<PathBuf> =
            paths.into_iter().filter_map(|path| self.watched.takes(path)).collect();
        watched.dedup();
        for path in watched {
            let follow = self.follows.entry(path.clone()).or_insert_with(|| Follow::new(&path));
            let events = follow.poll();
            if !events.is_empty() {
                told.push((path, events));
            }
        }
        told
    }

    fn files(&self) -> Vec<PathBuf> {
        match &self.watched {
            Watched::File(path) => vec![path.clone()],
            Watched::All(gemini) => {
                super::scan::scan(gemini).0.into_iter().map(|file| file.path).collect()
            }
        }
    }
}

fn watcher(
    directory: &Path,
    mode: RecursiveMode,
    told: SyncSender<PathBuf>,
) -> notify::Result<RecommendedWatcher> {
    let all = directory.to_path_buf();
    let tell = move |event: notify::Result<notify::Event>| {
        // That somebody reads, such as we, is no news.
        let Some(mut event) = event.ok().filter(|event| !event.kind.is_access()) else { return };
        if event.need_rescan() {
            event.paths.push(all.clone());
        }
        for path in event.paths {
            // Full: whoever finds it so looks at everything.
            drop(told.try_send(path));
        }
    };
    let mut watcher = notify::recommended_watcher(tell)?;
    watcher.watch(directory, mode)?;
    Ok(watcher)
}

#[cfg(test)]
mod tests {
    use super::{Duration, FALLBACK, Instant, RARELY, Watch, Watched};
    use std::fs;

    const LINE: &str = "{\"id\":\"1\",\"type\":\"user\",\"content\":\"hello\"}\n";

    #[test]
    fn whoever_waits_in_short_steps_does_not_have_all_files_looked_at_in_each() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("tmp")).unwrap();
        let mut watch = Watch::new(Watched::All(home.path().to_path_buf()), true);
        let looked_at = watch.looked_at;
        assert!(watch.next(Instant::now() + Duration::from_millis(1)).is_empty());
        assert_eq!(watch.looked_at, looked_at);
    }

    #[test]
    fn looks_that_find_nothing_become_rarer_until_one_finds_something() {
        let home = tempfile::tempdir().unwrap();
        let chats = home.path().join("tmp/shop/chats");
        fs::create_dir_all(&chats).unwrap();
        let mut watch = Watch::new(Watched::All(home.path().to_path_buf()), true);
        for _ in 0..8 {
            assert!(watch.look_untold().is_empty());
        }
        assert_eq!(watch.patience, RARELY);
        fs::write(chats.join("session-2026-01-01T00-00-0a1b2c3d.jsonl"), LINE).unwrap();
        assert_eq!(watch.look_untold().len(), 1);
        assert_eq!(watch.patience, FALLBACK);
    }

    #[test]
    fn what_is_put_into_a_new_directory_before_it_is_watched_is_found_soon() {
        let home = tempfile::tempdir().unwrap();
        let tmp = home.path().join("tmp");
        fs::create_dir(&tmp).unwrap();
        let mut watch = Watch::new(Watched::All(home.path().to_path_buf()), true);
        // Nobody tells of it but us: the directory was new, and had its file before anybody watched it.
        watch.watcher = None;
        let chats = tmp.join("shop/chats");
        fs::create_dir_all(&chats).unwrap();
        assert!(watch.look(chats.clone()).is_empty());
        fs::write(chats.join("session-2026-01-01T00-00-0a1b2c3d.jsonl"), LINE).unwrap();
        let since = Instant::now();
        assert_eq!(watch.next(since + FALLBACK).len(), 1);
        assert!(since.elapsed() < Duration::from_secs(1), "{:?}", since.elapsed());
    }
}
