//! The version of a CLI: asked once, and remembered for as long as the file does not change.

use crate::process::Program;
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};
use tokio::io::AsyncReadExt;

/// A CLI that does not tell its version in this time does not tell it.
const PATIENCE: Duration = Duration::from_secs(30);

/// A version: three numbers. What follows them, such as `-nightly`, is not compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(u32, u32, u32);

impl Version {
    /// A version.
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self(major, minor, patch)
    }

    /// Reads the first version in a text.
    ///
    /// ```
    /// use pollux_agent::gemini::cli::Version;
    ///
    /// assert_eq!(Version::read("0.61.0\n"), Some(Version::new(0, 61, 0)));
    /// assert_eq!(Version::read("v1.2.3-nightly.4"), Some(Version::new(1, 2, 3)));
    /// assert_eq!(Version::read("no version"), None);
    /// ```
    pub fn read(text: &str) -> Option<Self> {
        text.split_whitespace().find_map(|word| {
            let mut numbers = word.trim_start_matches('v').split(['.', '-', '+']);
            let mut next = || numbers.next().and_then(|number| number.parse().ok());
            Some(Self(next()?, next()?, next()?))
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What is remembered of one file.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Known {
    modified: u128,
    version: String,
}

/// The version of the program at a path.
pub(super) async fn of(path: &Path, cache: Option<&Path>) -> Option<Version> {
    // The program is a link into the package; the package is what an update replaces.
    let file = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let modified = fs::metadata(&file).and_then(|metadata| metadata.modified()).ok();
    let modified = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok())?.as_nanos();
    let mut known = cache.map(read).unwrap_or_default();
    let name = file.display().to_string();
    if let Some(known) = known.get(&name).filter(|known| known.modified == modified) {
        return Version::read(&known.version);
    }
    let version = ask(path).await?;
    known.insert(name, Known { modified, version: version.to_string() });
    if let Some(cache) = cache {
        // What cannot be remembered is asked again.
        drop(write(cache, &known));
    }
    Some(version)
}

async fn ask(path: &Path) -> Option<Version> {
    let root = Path::new("/");
    let program =
        Program::new(path, root).args(["--version"]).env("GEMINI_CLI_NO_RELAUNCH", "true");
    let mut child = program.spawn().ok()?;
    let mut stdout = child.stdout()?;
    let mut text = Vec::new();
    let told = async {
        // A version is short.
        let mut head = (&mut stdout).take(4096);
        head.read_to_end(&mut text).await.ok()?;
        child.wait().await.ok()
    };
    tokio::time::timeout(PATIENCE, told).await.ok()??;
    child.close().await;
    Version::read(&String::from_utf8_lossy(&text))
}

fn read(cache: &Path) -> BTreeMap<String, Known> {
    let text = fs::read_to_string(cache).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Beside it, then renamed: a reader never sees half of it.
fn write(cache: &Path, known: &BTreeMap<String, Known>) -> std::io::Result<()> {
    let directory = cache.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory)?;
    let mut half = tempfile::Builder::new().suffix(".half").tempfile_in(directory)?;
    half.write_all(&serde_json::to_vec(known)?)?;
    half.persist(cache)?;
    Ok(())
}
