//! Saves a session that the CLI itself would destroy: a copy aside, and the stub out of the way.

use super::store::{Risk, Session};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What a rescue did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rescued {
    /// The copy of the session.
    pub copy: PathBuf,
    /// The stub that was moved away from the CLI's sight, and where to.
    pub stub: Option<(PathBuf, PathBuf)>,
}

/// Copies a session's file into `aside` and moves the stub that endangers it there too. Nothing is ever deleted: the
/// stub is kept beside the copy.
pub fn rescue(session: &Session, aside: &Path) -> io::Result<Rescued> {
    let project = session.file.directory.file_name().unwrap_or_default();
    let aside = aside.join(project);
    fs::create_dir_all(&aside)?;
    let copy = copy_to(&session.file.path, &aside)?;
    let stub = match &session.risk {
        Some(Risk::Stub(stub)) => {
            let kept = copy_to(stub, &aside)?;
            fs::remove_file(stub)?;
            Some((stub.clone(), kept))
        }
        _ => None,
    };
    Ok(Rescued { copy, stub })
}

/// Copies a file under its own name, or under one with a number where that is taken by something else, and makes sure
/// that the copy is what the file is.
pub(super) fn copy_to(file: &Path, directory: &Path) -> io::Result<PathBuf> {
    let bytes = fs::read(file)?;
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let numbered = (1..).map(|number| format!("{name}.{number}"));
    for name in std::iter::once(name.clone()).chain(numbered) {
        let copy = directory.join(name);
        match fs::File::create_new(&copy) {
            Ok(mut new) => {
                io::Write::write_all(&mut new, &bytes)?;
                new.sync_all()?;
                return if fs::read(&copy)? == bytes { Ok(copy) } else { Err(changed(file)) };
            }
            Err(error)
                if error.kind() == io::ErrorKind::AlreadyExists && fs::read(&copy)? == bytes =>
            {
                return Ok(copy);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(changed(file))
}

fn changed(file: &Path) -> io::Error {
    io::Error::other(format!("the copy of {} is not what was written", file.display()))
}
