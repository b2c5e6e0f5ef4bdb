//! `cargo xtask package`: the program as it is given to others, with its manual pages and completions, in one archive. For
//! Linux it needs no library of the machine that it comes to.

use crate::shell::{self, say, target};
use anyhow::Context;
use std::fs;
use std::path::{Path, PathBuf};

/// What lies beside the program.
const BESIDE: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];
const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];
/// Fails where the C library cannot be inside the program (`crates/pollux/build.rs`), instead of leaving it outside.
const INSIDE: [(&str, &str); 1] = [("POLLUX_LINK", "static")];

/// For this machine, or for another target that rustc has.
pub(crate) fn run(triple: Option<&str>) -> anyhow::Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    let host = host()?;
    let name = format!("pollux-{version}-{}", triple.unwrap_or(&host));
    let place = target().join("package").join(&name);
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    fs::create_dir_all(place.join("completions"))?;
    let program = place.join("pollux");
    fs::copy(build(triple)?, &program)?;
    for file in BESIDE {
        fs::copy(shell::root().join(file), place.join(file))?;
    }
    with_papers(&program, &place)?;
    let archive = place.with_file_name(format!("{name}.tar.gz"));
    let parent = place.parent().context("the archive path has no parent directory")?;
    let tar = ["-czf".to_owned(), path(&archive), "-C".to_owned(), path(parent), name];
    shell::run_words(&shell::words_and("tar", &tar), &[])?;
    say(&format!("{} ({} bytes)", archive.display(), fs::metadata(&archive)?.len()));
    Ok(())
}

/// Builds the program; for this machine without any library of it, where it is a Linux.
fn build(triple: Option<&str>) -> anyhow::Result<PathBuf> {
    if let Some(triple) = triple {
        let line = format!("cargo build --release --locked --package pollux --target {triple}");
        shell::run(&line)?;
        return Ok(target().join(triple).join("release/pollux"));
    }
    let how: &[_] = if cfg!(target_os = "linux") { &INSIDE } else { &[] };
    shell::run_with("cargo build --quiet --release --locked --package pollux", how)?;
    Ok(target().join("release/pollux"))
}

fn with_papers(program: &Path, place: &Path) -> anyhow::Result<()> {
    let program = path(program);
    shell::run_words(&[program.clone(), "--version".to_owned()], &[])?;
    let man = [program.clone(), "man".to_owned(), "--to".to_owned(), path(&place.join("man"))];
    shell::run_words(&man, &[])?;
    for name in SHELLS {
        let script = shell::told_words(std::slice::from_ref(&program), &[("COMPLETE", name)])?;
        fs::write(place.join(format!("completions/pollux.{name}")), script)?;
    }
    Ok(())
}

/// What this machine is called among targets.
pub(crate) fn host() -> anyhow::Result<String> {
    let told = shell::told("rustc -vV")?;
    let host = told.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("`rustc -vV` did not print the host target")
}

fn path(path: &Path) -> String {
    path.display().to_string()
}
