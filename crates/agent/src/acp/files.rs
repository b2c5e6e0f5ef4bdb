//! Files that an agent reads and writes through us: never outside of where it works.

use super::policy::{is_below, real};
use std::io;
use std::path::{Path, PathBuf};

/// A file is read whole; one that is larger is none that a model could read.
const LARGEST: u64 = 32 << 20;

/// The file at a path, if it is in a directory after its links are followed.
pub(super) fn confined(root: &Path, path: &str) -> io::Result<PathBuf> {
    let root = real(root);
    let file = real(&root.join(path));
    if file != root && is_below(&file, &root) {
        return Ok(file);
    }
    let message = format!("{path} is outside {}", root.display());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
}

/// A text, or some lines of it.
pub(super) async fn read(
    root: &Path,
    path: &str,
    line: Option<usize>,
    limit: Option<usize>,
) -> io::Result<String> {
    let file = confined(root, path)?;
    let metadata = tokio::fs::metadata(&file).await?;
    is_file(path, &metadata)?;
    if metadata.len() > LARGEST {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("{path} is too large")));
    }
    let text = String::from_utf8_lossy(&tokio::fs::read(&file).await?).into_owned();
    if line.is_none() && limit.is_none() {
        return Ok(text);
    }
    let from = line.unwrap_or(1).saturating_sub(1);
    let lines = text.split_inclusive('\n').skip(from).take(limit.unwrap_or(usize::MAX));
    Ok(lines.collect())
}

/// Writes a text, and the directories that lead to it.
pub(super) async fn write(root: &Path, path: &str, content: &str) -> io::Result<()> {
    let file = confined(root, path)?;
    if let Some(directory) = file.parent() {
        tokio::fs::create_dir_all(directory).await?;
    }
    if let Ok(metadata) = tokio::fs::metadata(&file).await {
        is_file(path, &metadata)?;
    }
    tokio::fs::write(file, content).await
}

/// A pipe would keep us waiting for whoever is at its other end, and nobody may be.
fn is_file(path: &str, metadata: &std::fs::Metadata) -> io::Result<()> {
    if metadata.is_file() {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{path} is not a regular file")))
}

#[cfg(test)]
mod tests {
    use super::{confined, read, write};

    #[tokio::test]
    async fn nothing_outside_is_read_or_written_whichever_way_it_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("work");
        std::fs::create_dir(&root).unwrap();
        std::fs::write(directory.path().join("secret"), "s").unwrap();
        std::os::unix::fs::symlink(directory.path(), root.join("way")).unwrap();
        std::os::unix::fs::symlink(directory.path().join("secret"), root.join("link")).unwrap();
        std::os::unix::fs::symlink(directory.path().join("born"), root.join("dangling")).unwrap();
        std::os::unix::fs::symlink(root.join("round"), root.join("round")).unwrap();
        let secret = directory.path().join("secret").display().to_string();
        for out in [
            "../secret",
            "way/secret",
            "link",
            "dangling",
            "round",
            &secret,
            "/etc/passwd",
            ".",
            "way/new",
        ] {
            assert!(confined(&root, out).is_err(), "{out}");
            assert!(write(&root, out, "x").await.is_err(), "{out}");
        }
        assert!(!directory.path().join("born").exists());
        // The directory of this process, as a config has it where nobody names another.
        let here = std::path::Path::new(".");
        assert!(confined(here, &secret).is_err() && confined(here, "../secret").is_err());
        assert!(confined(here, "Cargo.toml").is_ok());
        write(&root, "a/b.txt", "one\ntwo\nthree\n").await.unwrap();
        assert_eq!(read(&root, "a/b.txt", Some(2), Some(1)).await.unwrap(), "two\n");
        assert_eq!(std::fs::read_to_string(directory.path().join("secret")).unwrap(), "s");
    }

    #[tokio::test]
    async fn what_is_no_file_is_neither_read_nor_written_and_nobody_waits_for_it() {
        let directory = tempfile::tempdir().unwrap();
        let mkfifo = crate::process::Program::new("mkfifo", directory.path()).args(["pipe"]);
        assert!(mkfifo.spawn().unwrap().wait().await.unwrap().success());
        std::fs::create_dir(directory.path().join("below")).unwrap();
        for name in ["pipe", "below"] {
            let wrong = read(directory.path(), name, None, None).await.unwrap_err();
            assert_eq!(wrong.kind(), std::io::ErrorKind::InvalidInput, "{name}: {wrong}");
            assert!(write(directory.path(), name, "x").await.is_err(), "{name}");
        }
    }
}
