//! What an agent is told by files that others read too: a context file of the project, and the user's settings.
//!
//! Only for a CLI that can be told in no other way, or where somebody asks for it. The CLI reads these files when it
//! starts, so they are lent for as long as a start takes: what they were is kept first, then ours is put in, and as soon
//! as the agent is there they are again what they were, to the byte. Whoever starts another agent meanwhile waits, so
//! that nobody takes ours for theirs and no agent reads what another one is.
//!
//! What was lent is written down before anything is touched. After a crash the next one puts it back.

mod add;
mod known;
mod note;
mod part;

pub use add::add;
pub use known::Known;
pub use note::{How, Returned};

use super::servers::{self, Entry};
use crate::regular;
use note::{File, Note};
use part::{Ours, free, healed};
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The file of context, where settings name no other.
const CONTEXT: &str = "GEMINI.md";

/// Where it is written down what was lent: a directory of ours.
#[derive(Debug, Clone)]
pub struct Shared {
    directory: PathBuf,
}

/// What one agent is told, and where it will look for it.
#[derive(Debug, Clone)]
pub struct Wants {
    /// The home that holds the CLI's directory `.gemini`.
    pub home: PathBuf,
    /// Where the agent works.
    pub cwd: PathBuf,
    /// What it is told.
    pub role: String,
    /// Its MCP servers, as [`add()`] gives them.
    pub servers: Vec<Entry>,
}

/// Files with something of ours in them. They become what they were when this is dropped.
#[derive(Debug)]
pub struct Loan {
    shared: Shared,
    /// Nobody else lends while it is held. The system lets go of it, however we end.
    _lock: fs::File,
    called: BTreeMap<String, String>,
}

impl Shared {
    /// What is lent is written down here.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// Puts what an agent is told into the files that it will read. Waits while another one is being started.
    pub fn lend(&self, wants: &Wants) -> io::Result<Loan> {
        let lock = self.open()?;
        lock.lock()?;
        // What a crash has left is not the user's.
        self.put_back()?;
        let (servers, called) = named(wants)?;
        let mut files = vec![(context(wants), Ours::Role(role(&wants.role, &called)))];
        if !servers.is_empty() {
            // The CLI itself would make it.
            fs::create_dir_all(wants.home.join(".gemini"))?;
            files.push((settings(&wants.home), Ours::Servers(servers)));
        }
        let loan = Loan { shared: self.clone(), _lock: lock, called };
        let mut note = Note::default();
        let mut made = Vec::new();
        for (path, ours) in files {
            // What a link leads to is changed, and the link stays.
            let path = fs::canonicalize(&path).unwrap_or(path);
            let mut before = read(&path)?;
            if let Some(rest) = before.as_deref().and_then(healed) {
                before = Some(rest);
            }
            made.push(ours.put_in(before.as_deref()).map_err(io::Error::other)?);
            note.files.push(File::new(path, before, ours));
        }
        note.write(&self.directory)?;
        // From here on the loan gives back what was touched, also where the rest cannot be.
        for (file, text) in note.files.iter().zip(made) {
            file.write(&text)?;
        }
        Ok(loan)
    }

    /// Puts back what somebody lent who is gone. Nothing where they are still at it.
    pub fn recover(&self) -> io::Result<Vec<Returned>> {
        if !self.directory.exists() {
            return Ok(Vec::new());
        }
        let lock = self.open()?;
        match lock.try_lock() {
            Ok(()) => self.put_back(),
            Err(TryLockError::WouldBlock) => Ok(Vec::new()),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// The files that somebody lent who is gone, and that still have something of theirs in them.
    pub fn left(&self) -> io::Result<Vec<PathBuf>> {
        let Some(note) = Note::read(&self.directory)? else { return Ok(Vec::new()) };
        match self.open()?.try_lock() {
            Ok(()) => Ok(note.files.into_iter().map(|file| file.path).collect()),
            Err(TryLockError::WouldBlock) => Ok(Vec::new()),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// What files were that somebody changed while they were lent, so that ours could not be told from theirs.
    pub fn kept(&self) -> Vec<PathBuf> {
        note::kept(&self.directory)
    }

    fn open(&self) -> io::Result<fs::File> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
        let mut open = fs::File::options();
        open.create(true).truncate(false).write(true).open(self.directory.join("lock"))
    }

    /// For whoever has the lock.
    fn put_back(&self) -> io::Result<Vec<Returned>> {
        match Note::read(&self.directory)? {
            Some(note) => note.put_back(&self.directory),
            None => Ok(Vec::new()),
        }
    }
}

impl Loan {
    /// What a server of the agent's is called in the settings: another name than its own where the user has one of that.
    pub fn called<'n>(&'n self, name: &'n str) -> &'n str {
        self.called.get(name).map_or(name, String::as_str)
    }

    /// Makes the files what they were, and says what became of them.
    pub fn give_back(self) -> io::Result<Vec<Returned>> {
        self.shared.put_back()
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        // What cannot be put back now is put back by the next one: it is written down.
        let _left = self.shared.put_back();
    }
}

/// The servers by names that nobody else's have, and what those are called that have another one now.
fn named(wants: &Wants) -> io::Result<(Vec<Entry>, BTreeMap<String, String>)> {
    let mut taken = known::taken(&known::texts(&wants.home, &wants.cwd)?)?;
    let (mut named, mut called) = (Vec::new(), BTreeMap::new());
    for (name, value) in &wants.servers {
        let own = free(name, &taken);
        taken.push(own.clone());
        if own != *name {
            called.insert(name.clone(), own.clone());
        }
        named.push((own, value.clone()));
    }
    Ok((named, called))
}

/// What the agent is told, with the names of its servers.
fn role(text: &str, called: &BTreeMap<String, String>) -> String {
    let said = |(name, own): (&String, &String)| {
        format!("\n\nThe MCP server `{name}` is called `{own}` here.")
    };
    std::iter::once(text.trim_end().to_owned()).chain(called.iter().map(said)).collect()
}

/// The file of context that the CLI reads when it starts there. In a home it reads that of the user alone.
fn context(wants: &Wants) -> PathBuf {
    let name = |file: PathBuf| {
        let text = regular::text(&file).unwrap_or_default();
        servers::context_name(&text).filter(|name| !name.contains('/') && name != "..")
    };
    // A project's word is stronger than the user's.
    let name = name(settings(&wants.cwd)).or_else(|| name(settings(&wants.home)));
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let at_home = real(&wants.cwd) == real(&wants.home);
    let place = if at_home { wants.home.join(".gemini") } else { wants.cwd.clone() };
    place.join(name.as_deref().unwrap_or(CONTEXT))
}

fn settings(of: &Path) -> PathBuf {
    of.join(".gemini/settings.json")
}

fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match regular::whole(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io::Error::new(error.kind(), format!("{}: {error}", path.display()))),
    }
}

#[cfg(test)]
mod tests;
