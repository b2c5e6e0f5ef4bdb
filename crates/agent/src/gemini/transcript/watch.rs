//! Being told that session files change, instead of asking.

use super::follow::Follow;
use super::scan::is_session_path;
use crate::model::Event;
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// How often the files are looked at where the file system says nothing: network file systems do not tell.
const FALLBACK: Duration = Duration::from_secs(2);
/// A file that is rewritten as a whole is left alone for so long after a change: it may be half written.
const SETTLE: Duration = Duration::from_millis(50);
/// How many changed paths may wait. When it is full, the fallback finds what was not told.
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
            let fallback = self.looked_at + FALLBACK;
            let wait = fallback.min(deadline).saturating_duration_since(Instant::now());
            let told = match self.changed.recv_timeout(wait) {
                Ok(path) => self.look(path),
                Err(_) => self.poll_now(),
            };
            if !told.is_empty() || Instant::now() >= deadline {
                return told;
            }
        }
    }

    /// Looks at the files that have changed.
    fn look(&mut self, first: PathBuf) -> Vec<(PathBuf, Vec<Event<'static>>)> {
        if self.follows.get(&first).is_some_and(Follow::is_rewritten) {
            std::thread::sleep(SETTLE);
        }
        let mut paths = vec![first];
        paths.extend(self.changed.try_iter());
        paths.sort_unstable();
        paths.dedup();
        // What was put into a new directory before it was watched is found by looking. So is a new file: whether it is
        // one, or a link that leads out, a path does not say.
        let is_new = |path: &PathBuf| {
            path.is_dir() || (is_session_path(path) && !self.follows.contains_key(path))
        };
        if matches!(self.watched, Watched::All(_)) && paths.iter().any(is_new) {
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
    let tell = move |event: notify::Result<notify::Event>| {
        // That somebody reads, such as we, is no news.
        let news = event.into_iter().filter(|event| !event.kind.is_access());
        for path in news.flat_map(|event| event.paths) {
            // Full: the fallback finds it.
            drop(told.try_send(path));
        }
    };
    let mut watcher = notify::recommended_watcher(tell)?;
    watcher.watch(directory, mode)?;
    Ok(watcher)
}
