//! Builds the web app into the program, so that `cargo build` on a clean clone needs nothing done by hand, and links the
//! program for a quick start.
//!
//! The app is built only when a file of the app has changed, or this one. It writes only into the target directory, and needs
//! the network only when the list of packages has changed. Without Node the program is built all the same, with a plain page
//! instead.
#![expect(
    clippy::disallowed_methods,
    reason = "a build script reads its environment and starts npm"
)]

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What the app is made of. Tests are no part of it.
const SOURCES: [&str; 7] = [
    "index.html",
    "package.json",
    "package-lock.json",
    "public",
    "src",
    "tsconfig.json",
    "vite.config.ts",
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    link();
    version();
    let Some(place) = Place::find() else { return };
    for source in SOURCES {
        println!("cargo::rerun-if-changed={}", place.web.join(source).display());
    }
    if let Err(why) = build(&place) {
        // In CI a program without its app is a failure; elsewhere it is better than none.
        let level = if env::var_os("CI").is_some() { "error" } else { "warning" };
        println!("cargo::{level}=the web app is not part of this build: {why}");
        println!("cargo::{level}=hint: install Node 20.19 or newer with npm, then build again");
        // Tried again at the next build.
        println!("cargo::rerun-if-changed={}", place.out.join("never").display());
    }
}

/// Links the program so that its start costs next to nothing, where that is possible: Gemini CLI waits for `pollux hook` at
/// every tool. At a fixed address the loader has no thirty thousand addresses to put right; with the C library inside there is no
/// loader and no library to look for at all, which is half of what is left.
///
/// `POLLUX_LINK` says otherwise: `dynamic` leaves the C library outside, `static` fails where it cannot be inside.
fn link() {
    println!("cargo::rerun-if-env-changed=POLLUX_LINK");
    // `CARGO_CFG_…` is how cargo tells a build script what it builds for.
    let told = |name: &str| env::var(name).unwrap_or_default();
    if told("CARGO_CFG_TARGET_OS") != "linux" || told("CARGO_CFG_TARGET_ENV") != "gnu" {
        return;
    }
    println!("cargo::rustc-link-arg-bins=-no-pie");
    let wanted = told("POLLUX_LINK");
    let archives = (told("HOST") == told("TARGET") && wanted != "dynamic").then(archives).flatten();
    if let Some(archives) = archives {
        println!("cargo::rustc-link-arg-bins=-static");
        println!("cargo::rustc-link-arg-bins=-L{}", archives.display());
    } else if wanted == "static" {
        println!("cargo::error=there is no C library here that a program can have inside");
        println!(
            "cargo::error=hint: install glibc's static libraries, or build with POLLUX_LINK=dynamic"
        );
    }
}

/// The libraries that rustc names for a program, as archives: in a directory of their own, because rustc also says that shared
/// ones are to be looked for first. None where the machine has not got all of them.
fn archives() -> Option<PathBuf> {
    let place = PathBuf::from(env::var_os("OUT_DIR")?).join("archives");
    let _earlier = fs::remove_dir_all(&place);
    fs::create_dir_all(&place).ok()?;
    // What unwinds the stack goes by another name where it is an archive.
    let same = ["c", "m", "rt", "pthread", "util", "dl"].map(|name| (name, name));
    for (name, archive) in same.into_iter().chain([("gcc_s", "gcc_eh")]) {
        let ask = format!("-print-file-name=lib{archive}.a");
        let told = Command::new("cc").arg(ask).stderr(Stdio::null()).output().ok()?;
        let path = PathBuf::from(String::from_utf8(told.stdout).ok()?.trim());
        // A compiler that does not know the file says its name only.
        let path = path.is_absolute().then_some(path)?;
        std::os::unix::fs::symlink(path, place.join(format!("lib{name}.a"))).ok()?;
    }
    Some(place)
}

/// The version, and of a release build the commit that it was built from, where git knows it. `POLLUX_COMMIT` says it where there is no
/// git: in an archive, in a container. A debug build says that it is one: to tell the commit, it would have to be built anew with each.
fn version() {
    println!("cargo::rerun-if-env-changed=POLLUX_COMMIT");
    let own = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let said = env::var("POLLUX_COMMIT").ok().filter(|commit| !commit.is_empty());
    let release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let more = said.or_else(|| if release { commit() } else { Some("debug build".to_owned()) });
    let version = more.map_or_else(|| own.clone(), |more| format!("{own} ({more})"));
    println!("cargo::rustc-env=POLLUX_VERSION={version}");
}

/// The commit that is checked out, and its day. None where this is no clone.
fn commit() -> Option<String> {
    let git = |words: &[&str]| {
        let ran = Command::new("git").args(words).stderr(Stdio::null()).output().ok()?;
        let said = String::from_utf8(ran.stdout).ok()?.trim().to_owned();
        (ran.status.success() && !said.is_empty()).then_some(said)
    };
    for name in ["HEAD", &git(&["rev-parse", "--symbolic-full-name", "HEAD"])?] {
        let path = git(&["rev-parse", "--git-path", name])?;
        println!("cargo::rerun-if-changed={path}");
    }
    git(&["log", "-1", "--format=%h %cs"])
}

/// The directories that matter.
struct Place {
    /// The sources.
    web: PathBuf,
    /// Where packages are kept between builds: beside all that cargo builds.
    cache: PathBuf,
    /// Where the built app goes.
    out: PathBuf,
}

impl Place {
    fn find() -> Option<Self> {
        let web = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR")?).join("../../web");
        let own = PathBuf::from(env::var_os("OUT_DIR")?);
        let marks = ["CACHEDIR.TAG", ".rustc_info.json"];
        let is_target = |place: &&Path| marks.iter().any(|mark| place.join(mark).exists());
        let cache = own.ancestors().find(is_target).unwrap_or(&own).join("web-packages");
        Some(Self { web, cache, out: own.join("web") })
    }
}

fn build(place: &Place) -> Result<(), String> {
    let made_of = mark(place).map_err(|error| format!("its sources could not be read: {error}"))?;
    let last = place.out.with_extension("mark");
    // This script runs for other reasons too, such as another commit.
    let is_built = place.out.join("index.html").is_file();
    if is_built && fs::read_to_string(&last).is_ok_and(|last| last == made_of) {
        return Ok(());
    }
    let _absent = fs::remove_file(&last);
    // An app of yesterday is worse than none.
    let _absent = fs::remove_dir_all(&place.out);
    fs::create_dir_all(&place.out).map_err(|error| error.to_string())?;
    let packages = install(place)?;
    // Below the packages, where Node looks for them.
    let sources = packages.join(format!("build-{}", std::process::id()));
    let built = copy_all(&place.web, &sources)
        .map_err(|error| format!("its sources could not be copied: {error}"))
        .and_then(|()| vite(&packages, &sources, &place.out));
    let _removed = fs::remove_dir_all(&sources);
    built?;
    fs::write(&last, made_of).map_err(|error| error.to_string())
}

/// All that the app is made of, as one word.
fn mark(place: &Place) -> io::Result<String> {
    let mut hasher = DefaultHasher::new();
    include_str!("build.rs").hash(&mut hasher);
    SOURCES.iter().try_for_each(|source| add(&place.web.join(source), &mut hasher))?;
    Ok(format!("{:016x}", hasher.finish()))
}

fn add(path: &Path, hasher: &mut DefaultHasher) -> io::Result<()> {
    path.hash(hasher);
    if !path.is_dir() {
        fs::read(path)?.hash(hasher);
        return Ok(());
    }
    let within: io::Result<Vec<PathBuf>> =
        fs::read_dir(path)?.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut within = within?;
    within.sort();
    within.iter().try_for_each(|path| add(path, hasher))
}

/// The packages that the lock file names, once for each lock file.
fn install(place: &Place) -> Result<PathBuf, String> {
    let lock = fs::read(place.web.join("package-lock.json"))
        .map_err(|error| format!("package-lock.json: {error}"))?;
    let mut hasher = DefaultHasher::new();
    lock.hash(&mut hasher);
    let ready = place.cache.join(format!("packages-{:016x}", hasher.finish()));
    if ready.exists() {
        return Ok(ready);
    }
    let making = place.cache.join(format!("packages-{}.tmp", std::process::id()));
    let made = fs::create_dir_all(&making)
        .and_then(|()| copy(&place.web, &making, "package.json"))
        .and_then(|()| copy(&place.web, &making, "package-lock.json"))
        .map_err(|error| error.to_string())
        .and_then(|()| {
            let words = ["ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"];
            run(Command::new("npm").args(words).current_dir(&making), "npm ci")
        });
    // Somebody else may have been faster: theirs is as good.
    if made.is_err() || fs::rename(&making, &ready).is_err() {
        let _removed = fs::remove_dir_all(&making);
    }
    made.map(|()| ready)
}

fn vite(packages: &Path, sources: &Path, out: &Path) -> Result<(), String> {
    let program = packages.join("node_modules/vite/bin/vite.js");
    let mut command = Command::new("node");
    command.arg(program).args(["build", "--logLevel", "warn"]).current_dir(sources);
    command.env("POLLUX_WEB_OUT", out).env("POLLUX_WEB_CACHE", sources.join(".vite"));
    run(&mut command, "vite build")
}

fn run(command: &mut Command, what: &str) -> Result<(), String> {
    let ran = command.stdin(Stdio::null()).output();
    let ran = ran.map_err(|error| format!("`{what}` could not be started: {error}"))?;
    if ran.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&ran.stderr);
    let first: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).take(3).collect();
    Err(format!("`{what}` failed: {}", first.join(" / ")))
}

fn copy_all(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    SOURCES.iter().try_for_each(|source| copy(from, to, source))
}

/// A file, or a directory with all that is in it.
fn copy(from: &Path, to: &Path, name: impl AsRef<OsStr>) -> io::Result<()> {
    let (from, to) = (from.join(name.as_ref()), to.join(name.as_ref()));
    if !from.is_dir() {
        return fs::copy(from, to).map(drop);
    }
    fs::create_dir_all(&to)?;
    for entry in fs::read_dir(&from)? {
        copy(&from, &to, entry?.file_name())?;
    }
    Ok(())
}
