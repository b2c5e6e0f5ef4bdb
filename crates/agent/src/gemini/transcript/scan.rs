//! The files: where they lie, and what could not be looked at.

use super::Diagnostic;
use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::UNIX_EPOCH;

/// A file that holds a session.
#[derive(Debug, Clone)]
pub struct File {
    /// Where it is.
    pub path: PathBuf,
    /// The project's directory under `tmp`, shared by all files in it.
    pub directory: Arc<Path>,
    /// The session that started this one, for a subagent's.
    pub parent: Option<String>,
    /// Its size, in bytes.
    pub size: u64,
    /// When it was last written, in nanoseconds since 1970.
    pub modified: u64,
}

impl File {
    /// The eight characters by which the CLI takes files for one session's.
    pub fn short_id(&self) -> Option<&str> {
        short_id(&self.path)
    }
}

/// The eight characters at the end of a session file's name. One that the CLI has put away as unreadable is no longer a
/// session's to it.
pub(super) fn short_id(path: &Path) -> Option<&str> {
    let is_live = path.extension().is_some_and(|end| end == "json" || end == "jsonl");
    if !is_live {
        return None;
    }
    let stem = path.file_name()?.to_str()?.split('.').next()?;
    stem.starts_with("session-").then(|| stem.rsplit('-').next()).flatten()
}

/// Something that was not looked at.
#[derive(Debug, Clone)]
pub struct Problem {
    /// Where.
    pub path: PathBuf,
    /// What was skipped, and why.
    pub diagnostic: Diagnostic,
}

/// All session files under a directory of the CLI (`~/.gemini`), and what was not looked at.
pub(super) fn scan(gemini: &Path) -> (Vec<File>, Vec<Problem>) {
    let mut scan =
        Scan { root: gemini.canonicalize().unwrap_or_else(|_| gemini.into()), ..Scan::default() };
    for directory in scan.entries(&gemini.join("tmp")) {
        let directory: Arc<Path> = directory.path().into();
        let chats = directory.join("chats");
        if scan.is_ours(&directory) && scan.is_ours(&chats) {
            scan.chats(&chats, &directory, None);
        }
    }
    (scan.files, scan.problems)
}

/// The newest file whose name bears the beginning of an id: the CLI names files so.
pub(in crate::gemini) fn newest_of(gemini: &Path, id: &str) -> Option<PathBuf> {
    let short: String = id.chars().take(8).collect();
    let ends = [format!("-{short}.jsonl"), format!("-{short}.json")];
    let projects = fs::read_dir(gemini.join("tmp")).ok()?.flatten();
    let chats = projects.filter_map(|project| fs::read_dir(project.path().join("chats")).ok());
    let files = chats.flatten().flatten().filter(|file| {
        let name = file.file_name();
        let name = name.to_string_lossy();
        name.starts_with("session-") && ends.iter().any(|end| name.ends_with(end))
    });
    let modified = |path: &PathBuf| fs::metadata(path).and_then(|m| m.modified()).ok();
    files.map(|file| file.path()).max_by_key(modified)
}

#[derive(Default)]
struct Scan {
    root: PathBuf,
    files: Vec<File>,
    problems: Vec<Problem>,
}

impl Scan {
    /// The entries of a directory; none, with a word about it, where it cannot be read.
    fn entries(&mut self, directory: &Path) -> Vec<DirEntry> {
        match fs::read_dir(directory) {
            Ok(entries) => entries.filter_map(Result::ok).collect(),
            Err(error) if is_absent(&error) => Vec::new(),
            Err(error) => {
                self.problem(directory, format!("skipped the directory: {error}"));
                Vec::new()
            }
        }
    }

    fn problem(&mut self, path: &Path, what: String) {
        self.problems.push(Problem { path: path.into(), diagnostic: Diagnostic::whole(what) });
    }

    /// True unless a link leads out of the CLI's directory: what lies elsewhere is not the CLI's, whoever put the link.
    fn is_ours(&mut self, path: &Path) -> bool {
        let is_link = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink());
        if !is_link {
            return true;
        }
        let target = path.canonicalize();
        let ours = target.as_ref().is_ok_and(|target| target.starts_with(&self.root));
        if !ours {
            let target = target.map_or("nowhere".into(), |target| target.display().to_string());
            self.problem(
                path,
                format!("skipped: the symlink leads outside the directory, to {target}"),
            );
        }
        ours
    }

    fn chats(&mut self, chats: &Path, directory: &Arc<Path>, parent: Option<&str>) {
        let entries = self.entries(chats);
        for (entry, metadata) in entries.iter().zip(all_metadata(&entries)) {
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_symlink() && !self.is_ours(&path) {
                continue;
            }
            let Ok(metadata) = metadata else { continue };
            if metadata.is_dir() && parent.is_none() {
                let parent = entry.file_name().to_string_lossy().into_owned();
                self.chats(&path, directory, Some(&parent));
            } else if metadata.is_file() && is_session(&path) {
                self.files.push(file(path, &metadata, directory, parent));
            }
        }
    }
}

/// So many entries and more are shared among threads: to ask for one takes about as long as to begin a thread for ten.
const MANY: usize = 256;

/// What the file system says of each entry of a directory.
fn all_metadata(entries: &[DirEntry]) -> Vec<io::Result<Metadata>> {
    let threads =
        if entries.len() < MANY { 1 } else { available_parallelism().map_or(1, usize::from) };
    let mut shares = entries.chunks(entries.len().div_ceil(threads).max(1));
    let first = shares.next().unwrap_or_default();
    std::thread::scope(|scope| {
        let ask = |share: &[DirEntry]| share.iter().map(metadata).collect::<Vec<_>>();
        let others: Vec<_> = shares.map(|share| scope.spawn(move || ask(share))).collect();
        let mut all = ask(first);
        let others = others.into_iter().map(std::thread::ScopedJoinHandle::join);
        all.extend(others.flat_map(|other| other.unwrap_or_else(|fault| resume_unwind(fault))));
        all
    })
}

fn metadata(entry: &DirEntry) -> io::Result<Metadata> {
    // Of an entry that is no link the file system knows more at once.
    if entry.file_type()?.is_symlink() { fs::metadata(entry.path()) } else { entry.metadata() }
}

fn file(path: PathBuf, metadata: &Metadata, directory: &Arc<Path>, parent: Option<&str>) -> File {
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    File {
        path,
        directory: directory.clone(),
        parent: parent.map(Into::into),
        size: metadata.len(),
        modified: modified.and_then(|time| u64::try_from(time.as_nanos()).ok()).unwrap_or(0),
    }
}

/// A session file by its name. The CLI renames what it cannot load to `….jsonl.unreadable-<ms>`; we may be able to.
fn is_session(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let name = Path::new(name.split(".unreadable-").next().unwrap_or_default());
    name.extension().is_some_and(|extension| extension == "json" || extension == "jsonl")
}

/// A path that the CLI would give to a session: below some `chats`.
pub(super) fn is_session_path(path: &Path) -> bool {
    is_session(path)
        && path.ancestors().skip(1).take(2).any(|directory| directory.ends_with("chats"))
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
