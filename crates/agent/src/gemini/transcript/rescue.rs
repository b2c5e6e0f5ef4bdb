//! Saves a session that the CLI itself would destroy: a copy aside, and the stub out of the way.

use super::resume::says_nothing;
use super::store::{Risk, Session};
use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
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
    make_private(&aside)?;
    let copy = copy_to(&session.file.path, &aside)?;
    let stub = match &session.risk {
        Some(Risk::Stub(stub)) => put_away(stub, &aside)?.map(|kept| (stub.clone(), kept)),
        _ => None,
    };
    Ok(Rescued { copy, stub })
}

/// Moves a stub into a directory, out of the CLI's sight: it goes when its copy is there. Gives where that is; none where
/// somebody has spoken in it since it was looked at, or while it was copied: then it is nobody's stub.
pub(super) fn put_away(stub: &Path, directory: &Path) -> io::Result<Option<PathBuf>> {
    let Some(bytes) = fs::read(stub).ok().filter(|bytes| says_nothing(bytes)) else {
        return Ok(None);
    };
    let copy = copy_to(stub, directory)?;
    if fs::read(&copy)? != bytes || fs::read(stub)? != bytes {
        return Ok(None);
    }
    fs::remove_file(stub)?;
    Ok(Some(copy))
}

/// Copies a file under its own name, or under one with a number where that is taken by something else, and makes sure
/// that the copy is what the file is. A copy of the same session from before it grew makes room for this one, which has
/// all of it: else each time that a session is gone on with would leave one more, forever.
pub(super) fn copy_to(file: &Path, directory: &Path) -> io::Result<PathBuf> {
    let bytes = fs::read(file)?;
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let numbered = (1..).map(|number| format!("{name}.{number}"));
    for name in std::iter::once(name.clone()).chain(numbered) {
        let copy = directory.join(name);
        match there(&copy, &bytes)? {
            There::Same => return Ok(copy),
            There::Other => continue,
            There::Less => put(&bytes, &copy, file)?,
        }
        return if fs::read(&copy)? == bytes { Ok(copy) } else { Err(changed(file)) };
    }
    Err(changed(file))
}

/// What is where a copy shall be.
enum There {
    /// The copy.
    Same,
    /// Nothing, or the beginning of it.
    Less,
    /// Something else.
    Other,
}

fn there(copy: &Path, bytes: &[u8]) -> io::Result<There> {
    let length = match fs::metadata(copy) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(There::Less),
        metadata => metadata?.len(),
    };
    if usize::try_from(length).is_ok_and(|length| length > bytes.len()) {
        return Ok(There::Other);
    }
    let there = fs::read(copy)?;
    Ok(match () {
        () if there == bytes => There::Same,
        () if bytes.starts_with(&there) => There::Less,
        () => There::Other,
    })
}

/// Makes a directory for copies: conversations are nobody else's business, wherever they lie.
pub(super) fn make_private(directory: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

/// Writes a session file whole or not at all, with the rights of another: beside its place first, then into it.
pub(super) fn put(bytes: &[u8], file: &Path, like: &Path) -> io::Result<()> {
    let directory = file.parent().unwrap_or(Path::new("."));
    let mut half =
        tempfile::Builder::new().prefix("pollux-").suffix(".half").tempfile_in(directory)?;
    half.write_all(bytes)?;
    half.as_file().set_permissions(fs::metadata(like)?.permissions())?;
    half.as_file().sync_all()?;
    half.persist(file)?;
    Ok(())
}

fn changed(file: &Path) -> io::Error {
    io::Error::other(format!("the copy of {} differs from the original", file.display()))
}
