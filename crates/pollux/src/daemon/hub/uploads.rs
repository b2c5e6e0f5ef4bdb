//! Pictures that belong to prompts: files of the daemon's own, named by what is in them.

use crate::trouble::Trouble;
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// So many bytes of pictures are kept.
const MOST: u64 = 1 << 30;

/// The kinds of pictures that the models take, with the ends of their names.
const KINDS: [(&str, &str); 5] = [
    ("image/png", "png"),
    ("image/jpeg", "jpg"),
    ("image/webp", "webp"),
    ("image/heic", "heic"),
    ("image/gif", "gif"),
];

/// The directory of pictures.
#[derive(Debug, Clone, Default)]
pub struct Uploads(PathBuf);

impl Uploads {
    /// In a directory, which is made when it is needed.
    pub fn new(directory: PathBuf) -> Self {
        Self(directory)
    }

    /// Keeps a picture, and gives its name.
    pub fn keep(&self, media_type: &str, bytes: &[u8]) -> anyhow::Result<String> {
        let Some((_, end)) = KINDS.iter().find(|(kind, _)| *kind == media_type) else {
            let kinds: Vec<&str> = KINDS.iter().map(|(kind, _)| *kind).collect();
            let message = format!("unsupported image type `{media_type}`");
            let hint = format!("supported types: {}", kinds.join(", "));
            return Err(Trouble::refused("wrong_request", message).hint(hint).into());
        };
        let hash = Sha256::digest(bytes).iter().fold(String::new(), |mut hex, byte| {
            // Writing to a string does not fail.
            let _written = write!(hex, "{byte:02x}");
            hex
        });
        let name = format!("{hash}.{end}");
        fs::create_dir_all(&self.0)?;
        // All of it or nothing: its name says what is in it.
        let mut file = tempfile::NamedTempFile::new_in(&self.0)?;
        file.write_all(bytes)?;
        file.persist(self.path(&name))?;
        Ok(name)
    }

    /// Lets go of pictures that were sent so long ago, and of the oldest where they are too many.
    pub fn forget(&self, age: SignedDuration, now: Timestamp) -> io::Result<()> {
        let mut all = Vec::new();
        for entry in fs::read_dir(&self.0).into_iter().flatten() {
            let entry = entry?;
            let about = entry.metadata()?;
            all.push((about.modified()?, about.len(), entry.path()));
        }
        all.sort_unstable_by(|a, b| b.cmp(a));
        let (now, age) = (SystemTime::from(now), Duration::try_from(age).unwrap_or_default());
        let mut sum = 0_u64;
        for (at, bytes, path) in all {
            sum = sum.saturating_add(bytes);
            let old = now.duration_since(at).is_ok_and(|passed| passed > age);
            if old || sum > MOST {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }

    /// Whether a name is one of ours, and its picture is there.
    pub fn has(&self, name: &str) -> bool {
        let known = KINDS.iter().any(|(_, end)| {
            let hash = name.strip_suffix(end).and_then(|name| name.strip_suffix('.'));
            hash.is_some_and(|hash| hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit()))
        });
        known && self.path(name).is_file()
    }

    /// Where a picture is.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The kind of a picture, by its name.
    pub fn media_type(name: &str) -> &'static str {
        let end = name.rsplit('.').next().unwrap_or_default();
        KINDS.iter().find(|(_, known)| *known == end).map_or("image/png", |(kind, _)| kind)
    }
}

#[cfg(test)]
mod tests {
    use super::Uploads;
    use jiff::{SignedDuration, Timestamp};
    use std::fs::File;
    use std::time::{Duration, SystemTime};

    #[test]
    fn a_picture_is_kept_as_long_as_events_are() {
        let directory = tempfile::tempdir().unwrap();
        let uploads = Uploads::new(directory.path().join("uploads"));
        uploads.forget(SignedDuration::ZERO, Timestamp::now()).unwrap();
        let (old, new) = (
            uploads.keep("image/png", b"old").unwrap(),
            uploads.keep("image/png", b"new").unwrap(),
        );
        let before = SystemTime::now() - Duration::from_hours(48);
        File::open(uploads.path(&old)).unwrap().set_modified(before).unwrap();
        uploads.forget(SignedDuration::from_hours(24), Timestamp::now()).unwrap();
        assert!(!uploads.has(&old) && uploads.has(&new));
    }

    #[test]
    fn only_names_that_were_given_are_names() {
        let directory = tempfile::tempdir().unwrap();
        let uploads = Uploads::new(directory.path().join("uploads"));
        let name = uploads.keep("image/png", b"picture").unwrap();
        assert!(uploads.has(&name));
        assert_eq!(Uploads::media_type(&name), "image/png");
        assert!(!uploads.has("../token") && !uploads.has("") && !uploads.has(".png"));
        assert!(!uploads.has(&name.replace(".png", ".jpg")));
        assert!(uploads.keep("text/html", b"<script>").is_err());
    }
}
