//! `cargo xtask lines`: lines of source and of tests, by crate. A module behind `#[cfg(test)]` counts as tests.

use crate::shell::{root, say};
use crate::sources::files;
use std::fs;
use std::path::Path;

pub(crate) fn run() -> anyhow::Result<()> {
    let root = root();
    let mut crates: Vec<_> = fs::read_dir(root.join("crates"))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    crates.push(root.join("xtask"));
    crates.sort();
    say(&format!("{:<14} {:>7} {:>9} {:>9}", "crate", "files", "source", "tests"));
    let mut total = Lines::default();
    for path in crates.iter().filter(|path| path.join("Cargo.toml").exists()) {
        let lines = count(path, &["rs"])?;
        lines.print(&path.file_name().unwrap_or_default().to_string_lossy());
        total.add(&lines);
    }
    total.print("Rust in total");
    let web = root.join("web");
    let (src, tests) = (count(&web.join("src"), &["ts", "tsx", "css"])?, ["test", "e2e"]);
    let mut app = Lines { files: src.files, source: src.source, tests: 0 };
    for folder in tests {
        let lines = count(&web.join(folder), &["ts", "tsx"])?;
        app.files += lines.files;
        app.tests += lines.source;
    }
    app.print("web app");
    Ok(())
}

#[derive(Debug, Default)]
struct Lines {
    files: usize,
    source: usize,
    tests: usize,
}

impl Lines {
    fn add(&mut self, other: &Self) {
        self.files += other.files;
        self.source += other.source;
        self.tests += other.tests;
    }

    fn print(&self, name: &str) {
        say(&format!("{name:<14} {:>7} {:>9} {:>9}", self.files, self.source, self.tests));
    }
}

fn count(folder: &Path, extensions: &[&str]) -> anyhow::Result<Lines> {
    let mut lines = Lines::default();
    for path in files(folder, extensions)? {
        let text = fs::read_to_string(&path)?;
        let all = text.lines().count();
        let relative = path.strip_prefix(folder).unwrap_or(&path);
        let is_test = ["tests", "examples"].iter().any(|name| relative.starts_with(name))
            || relative.ends_with("tests.rs");
        let code = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or(&text).lines();
        let source = if is_test { 0 } else { code.count() };
        lines.add(&Lines { files: 1, source, tests: all - source });
    }
    Ok(lines)
}
