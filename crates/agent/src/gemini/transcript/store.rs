//! The sessions on this machine: every file of every layout, one session for each id.

use super::digest::{self, Digest};
use super::index::Index;
pub use super::projects::{Projects, hash as project_hash};
use super::scan::scan;
pub use super::scan::{File, Problem};
use super::short::Spare;
use super::whole::{Format, text};
use crate::regular;
use foldhash::fast::RandomState;
use serde::Serialize;
use std::collections::HashMap;
use std::fs;
use std::io::{self, BufReader, Read, Seek};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Up to this size a file is read at once, which is faster; a larger one is read message by message.
const AT_ONCE: u64 = 4 << 20;
/// How much of a large file is looked at to tell its format.
const GLANCE: u64 = 64 << 10;

/// A session, from the best of its files.
#[derive(Debug, Clone)]
pub struct Session {
    /// The session's id; the file's name where it says none.
    pub id: String,
    /// What kind of session it is.
    pub kind: Kind,
    /// The project's directory, where it is known.
    pub project: Option<PathBuf>,
    /// The file that holds the conversation.
    pub file: File,
    /// Other files of the same session: migrated, resumed, left behind.
    pub others: Vec<File>,
    /// Its sums.
    pub digest: Box<Digest>,
    /// What threatens it.
    pub risk: Option<Risk>,
}

/// What kind of session it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A conversation with a person or a program.
    Main,
    /// A conversation that an agent had with another.
    Subagent,
    /// What a start of the CLI leaves behind when nobody says anything.
    Stub,
}

/// What threatens a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Risk {
    /// A start-up stub bears the same short id: from 0.47 on the next start of the CLI deletes both.
    Stub(PathBuf),
    /// The conversation was overwritten. The earlier records are still in the file, until the next start of the CLI
    /// deletes it as empty.
    Overwritten,
}

/// All sessions, newest first, and what was skipped.
#[derive(Debug, Default)]
pub struct Listing {
    /// The sessions.
    pub sessions: Vec<Session>,
    /// What was not looked at.
    pub problems: Vec<Problem>,
}

/// Finds all sessions under a directory of the CLI (`~/.gemini`).
///
/// `near` are directories that may be projects. What the file `index` knows is not read again, and it is kept up to date.
/// `progress` hears how many of how many files have been read.
pub fn list(
    gemini: &Path,
    near: &[&Path],
    index: Option<&Path>,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Listing {
    // What is known is taken up while the files are looked for: each takes half of the time when nothing has changed.
    // By this thread and not by the other one: it is many small pieces of memory, for which another thread asks the system page
    // by page.
    let (known, (mut files, mut problems)) = std::thread::scope(|scope| {
        let found = scope.spawn(|| scan(gemini));
        let known = index.map(Index::read).unwrap_or_default();
        (known, found.join().unwrap_or_else(|fault| resume_unwind(fault)))
    });
    // As text: to take paths apart for each comparison costs more than all else when nothing has changed.
    files.sort_unstable_by(|a, b| a.path.as_os_str().cmp(b.path.as_os_str()));
    let mut digested = Vec::with_capacity(files.len());
    let digests = digests(&files, known, index, progress);
    for (file, digest) in files.into_iter().zip(digests) {
        match digest {
            Ok(digest) => digested.push((file, digest)),
            Err(error) => problems.push(Problem {
                path: file.path,
                diagnostic: super::Diagnostic::whole(format!("skipped the file: {error}")),
            }),
        }
    }
    for (file, digest) in &digested {
        let skipped = digest.diagnostics.iter().cloned();
        problems.extend(skipped.map(|diagnostic| Problem { path: file.path.clone(), diagnostic }));
    }
    let projects = Projects::read(gemini, near);
    let mut known = HashMap::<_, _, RandomState>::default();
    let mut project = |file: &File, digest: &Digest| {
        let find = || projects.find(&file.directory, digest.project_hash.as_deref());
        // With the hash: a file that says nothing of its project does not speak for the others beside it.
        let key = (file.directory.as_os_str().to_owned(), digest.project_hash.clone());
        known.entry(key).or_insert_with(find).clone()
    };
    let stubs = stubs(&digested);
    let groups = groups(digested).into_iter();
    let mut sessions: Vec<Session> =
        groups.filter_map(|group| session(group, &stubs, &mut project)).collect();
    sessions.sort_by(|a, b| {
        let newest = b.updated_at().cmp(&a.updated_at());
        newest.then_with(|| a.id.cmp(&b.id)).then_with(|| a.file.path.cmp(&b.file.path))
    });
    Listing { sessions, problems }
}

impl Session {
    /// When it last changed, in milliseconds since 1970: as the file says, else as the file system does.
    pub fn updated_at(&self) -> i64 {
        let modified = || i64::try_from(self.file.modified / 1_000_000).unwrap_or(0);
        self.digest.updated_at.unwrap_or_else(modified)
    }

    /// The first eight characters of the id.
    pub fn short_id(&self) -> &str {
        self.id.get(..8).unwrap_or(&self.id)
    }

    /// The project as a person knows it: its path, else the CLI's name for it.
    pub fn project_name(&self) -> String {
        let directory =
            || self.file.directory.file_name().map(|name| name.to_string_lossy().into_owned());
        self.project
            .as_ref()
            .map(|path| path.display().to_string())
            .or_else(directory)
            .unwrap_or_default()
    }

    /// True where the session belongs to a project's directory.
    pub fn is_of(&self, project: &Path) -> bool {
        let hash = project_hash(project);
        let directory = self.file.directory.file_name().is_some_and(|name| name == hash.as_str());
        self.project.as_deref() == Some(project)
            || directory
            || self.digest.project_hash.as_deref() == Some(&hash)
    }
}

/// The digests of all files: from the index, or read now, on as many threads as there are cores.
fn digests(
    files: &[File],
    known: Index,
    index: Option<&Path>,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Vec<io::Result<Box<Digest>>> {
    let known = known.known(files);
    let open: Vec<&File> = files
        .iter()
        .zip(&known)
        .filter(|(_, known)| known.is_none())
        .map(|(file, _)| file)
        .collect();
    let mut fresh = read_all(&open, progress).into_iter();
    let mut next =
        || fresh.next().unwrap_or_else(|| Err(io::Error::other("the file was not read")));
    let digests: Vec<_> = known.into_iter().map(|known| known.map_or_else(&mut next, Ok)).collect();
    if let (false, Some(index)) = (open.is_empty(), index) {
        let read = files
            .iter()
            .zip(&digests)
            .filter_map(|(file, digest)| Some((file, digest.as_deref().ok()?)));
        // The index only saves time: what cannot be written is read again.
        drop(super::index::write(index, read));
    }
    digests
}

/// How many files a thread takes at a time: few enough to share the work, enough not to get in each other's way.
const SHARE: usize = 32;

fn read_all(
    files: &[&File],
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Vec<io::Result<Box<Digest>>> {
    let shares: Vec<&[&File]> = files.chunks(SHARE).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut room = Room::default();
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(share) = shares.get(at) else { return done };
            let digests = share.iter().map(|file| read(file, &mut room).map(Box::new));
            done.push((at, digests.collect::<Vec<_>>()));
            progress((at * SHARE + share.len()).min(files.len()), files.len());
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(shares.len());
    let mut done = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut done = work();
        // A thread that panicked has a bug of ours in it, which is not to be hidden.
        let others = others.into_iter().map(std::thread::ScopedJoinHandle::join);
        done.extend(others.flat_map(|other| other.unwrap_or_else(|fault| resume_unwind(fault))));
        done
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().flat_map(|(_, digests)| digests).collect()
}

/// What a thread needs in memory to read a file, and needs again for the next.
#[derive(Default)]
struct Room {
    buffer: Vec<u8>,
    spare: Spare,
}

/// The digest of one file. Memory is bounded by its largest message, whatever its size.
fn read(file: &File, Room { buffer, spare }: &mut Room) -> io::Result<Digest> {
    let mut open = regular::at_once(&file.path)?;
    if file.size <= AT_ONCE {
        let length = fill(&mut open, file.size, buffer)?;
        let bytes = buffer.get(..length).unwrap_or_default();
        return Ok(digest::digest_with(&text(bytes), spare));
    }
    buffer.clear();
    open.by_ref().take(GLANCE).read_to_end(buffer)?;
    // The old format has its first line break at once. A first line that goes on for so long is a record.
    let is_log = memchr::memchr(b'\n', buffer).is_none();
    let format = if is_log { Format::Jsonl } else { Format::of(&text(buffer)) };
    open.rewind()?;
    let reader = BufReader::with_capacity(256 << 10, open);
    match format {
        Format::Json => Ok(digest::digest_document(reader)),
        Format::Jsonl => digest::digest_lines(reader),
    }
}

/// Reads a file into a buffer that never shrinks, and gives how much there was. Its size is known, so that the file
/// system need not be asked again, as `read_to_end` would.
fn fill(file: &mut fs::File, size: u64, buffer: &mut Vec<u8>) -> io::Result<usize> {
    let size = usize::try_from(size).unwrap_or(0);
    let mut length = 0;
    loop {
        // One byte more than there should be, to see that nothing more has come.
        let room = (length + 1).max(size + 1);
        if buffer.len() < room {
            buffer.resize(room.next_power_of_two(), 0);
        }
        match file.read(buffer.get_mut(length..).unwrap_or_default()) {
            Ok(0) => return Ok(length),
            // All that there should be, and no more although there was room: it need not be asked for the end.
            Ok(read) if length + read == size => return Ok(size),
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// A file and what is in it.
type Digested = (File, Box<Digest>);

/// Files of one session, by id; a subagent's never mix with its parent's, nor with another's that bears the same id. In the
/// order of the first file of each, which
/// is nearly that of time, so that they are sorted at once.
fn groups(digested: Vec<Digested>) -> Vec<Vec<Digested>> {
    let mut places: HashMap<(String, Option<PathBuf>), usize, RandomState> = HashMap::default();
    places.reserve(digested.len());
    let mut groups: Vec<Vec<Digested>> = Vec::with_capacity(digested.len());
    for (file, digest) in digested {
        let subagent = file.parent.as_ref().map(|_| file.path.with_file_name(stem(&file.path)));
        let name = || file.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let id = digest.session_id.clone().unwrap_or_else(name);
        let place = *places.entry((id, subagent)).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.push((file, digest)),
            // With room for one: nearly every session has one file, and a list may hold thousands of them.
            None => groups.push(vec![(file, digest)]),
        }
    }
    groups
}

/// Where stubs are, by the directory and the short id: by these the CLI takes them for a session's, and not by what they say.
type Stubs = HashMap<(PathBuf, String), PathBuf, RandomState>;

fn stubs(digested: &[Digested]) -> Stubs {
    let stubs = digested.iter().filter(|(_, digest)| digest.is_stub());
    stubs.filter_map(|(file, _)| Some((beside(file)?, file.path.clone()))).collect()
}

fn beside(file: &File) -> Option<(PathBuf, String)> {
    Some((file.path.parent()?.to_path_buf(), file.short_id()?.to_owned()))
}

/// One session out of its files: the one with something in it, then the newest, then the longest.
fn session(
    mut group: Vec<Digested>,
    stubs: &Stubs,
    project: &mut impl FnMut(&File, &Digest) -> Option<PathBuf>,
) -> Option<Session> {
    group.sort_by_key(|(file, digest)| {
        (
            digest.substance,
            digest.overwritten,
            digest.taken_back,
            digest.updated_at,
            digest.messages,
            file.modified,
        )
    });
    let (file, mut digest) = group.pop()?;
    for (_, other) in &group {
        digest.join_spent(other);
    }
    let is_subagent = file.parent.is_some() || digest.kind.as_deref() == Some("subagent");
    let kind = match () {
        () if is_subagent => Kind::Subagent,
        () if digest.is_empty() => Kind::Stub,
        () => Kind::Main,
    };
    Some(Session {
        id: digest.session_id.clone().unwrap_or_else(|| stem(&file.path)),
        kind,
        project: project(&file, &digest),
        risk: risk(kind, &digest, stub_of(&file, &group, stubs)),
        others: group.into_iter().map(|(file, _)| file).collect(),
        file,
        digest,
    })
}

fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split('.').next().unwrap_or_default().to_owned()
}

/// A stub of the same session: among its files, or one beside it that does not say whose it is.
fn stub_of(file: &File, others: &[Digested], stubs: &Stubs) -> Option<PathBuf> {
    let is_stub = |(file, digest): &&Digested| digest.is_stub() && file.short_id().is_some();
    let own = others.iter().find(is_stub).map(|(stub, _)| &stub.path);
    let silent = || stubs.get(&beside(file)?);
    own.or_else(silent).cloned()
}

fn risk(kind: Kind, digest: &Digest, stub: Option<PathBuf>) -> Option<Risk> {
    match stub {
        _ if kind != Kind::Main => None,
        _ if digest.overwritten => Some(Risk::Overwritten),
        stub => stub.filter(|_| digest.format == Format::Jsonl).map(Risk::Stub),
    }
}
