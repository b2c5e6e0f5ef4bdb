//! The rules that no compiler checks. Each failure names the file and the rule.

use std::fs;
use std::path::{Path, PathBuf};

/// Modules that decide and translate, and so do no I/O (ARCHITECTURE.md, invariant 1).
const PURE: &[&str] = &["translate.rs", "replay.rs", "session.rs", "model.rs", "wire.rs"];

/// And the folders in which every file is one of them.
const PURE_FOLDERS: &[&str] =
    &["crates/agent/src/session/", "crates/agent/src/gemini/screen/", "crates/pollux/src/team/"];

/// But for this one, which finds profiles on the disk.
const NOT_PURE: &str = "crates/pollux/src/team/store.rs";

/// What pure code does not name.
const OUTSIDE: &[&str] = &[
    "tokio::",
    "std::fs",
    "std::io",
    "std::net",
    "std::process",
    "SystemTime",
    "Instant",
    "Timestamp::now",
    "Zoned::now",
];

#[test]
fn every_source_file_keeps_the_rules_of_the_house() {
    let root = root();
    let mut broken = Vec::new();
    for file in rust_files(&root) {
        let text = fs::read_to_string(&file).unwrap();
        let name = file.strip_prefix(&root).unwrap().display().to_string();
        check(&name, &text, &mut broken);
    }
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}

fn check(name: &str, text: &str, broken: &mut Vec<String>) {
    let mut rule = |holds: bool, what: &str| {
        if !holds {
            broken.push(format!("{name}: {what}"));
        }
    };
    let code = text.split("\n#[cfg(test)]").next().unwrap_or(text);
    rule(text.starts_with("//!"), "opens with a line that says what the file is for");
    rule(!name.ends_with("/mod.rs"), "is `foo.rs` beside `foo/`, never `mod.rs`");
    rule(!text.contains(concat!("TO", "DO")), "has nothing left to do in it: file an issue");
    rule(!text.contains(concat!("#[ig", "nore")), "has no switched-off test");
    let pure = PURE_FOLDERS.iter().any(|folder| name.starts_with(folder)) && name != NOT_PURE
        || PURE.iter().any(|pure| name.ends_with(pure)) && name.starts_with("crates/agent/");
    for word in OUTSIDE {
        rule(!(pure && code.contains(word)), &format!("is pure, and so does not name `{word}`"));
    }
    let gemini = name.starts_with("crates/agent/src/") && !name.contains("/gemini");
    let named = gemini
        && code
            .lines()
            .any(|line| !line.trim_start().starts_with("//") && line.contains("gemini::"));
    rule(
        !named || name.ends_with("lib.rs"),
        "does not reach into gemini/: only that folder knows Gemini",
    );
}

#[test]
fn every_test_that_the_docs_name_is_there() {
    let root = root();
    let docs = fs::read_to_string(root.join("docs/security.md")).unwrap();
    let mut sources: String =
        rust_files(&root).iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    for folder in ["web/test", "web/e2e"] {
        for entry in fs::read_dir(root.join(folder)).unwrap().flatten() {
            sources.push_str(&fs::read_to_string(entry.path()).unwrap_or_default());
        }
    }
    let rows = docs.lines().filter(|line| line.starts_with("| ") && line.ends_with("` |"));
    let names: Vec<&str> = rows.filter_map(|row| row.rsplit('`').nth(1)).collect();
    assert!(names.len() >= 25, "the table is there");
    let is_there = |name: &str| {
        sources.contains(&format!("fn {name}(")) || sources.contains(&format!("test(\"{name}\""))
    };
    let missing: Vec<&&str> = names.iter().filter(|name| !is_there(name)).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

/// The table of the threat model names tests, or where they are: `daemon::door`, `web/e2e/safety`, `cargo xtask check`.
#[test]
fn what_the_threat_model_says_is_shown_is_shown_by_tests_that_are_there() {
    let root = root();
    let docs = fs::read_to_string(root.join("docs/threat-model.md")).unwrap();
    let table = docs.split("| shown by |").nth(1).unwrap().lines().skip(2);
    let rows = table.take_while(|line| line.starts_with("| "));
    let shown = rows.filter_map(|row| row.trim_end_matches(" |").rsplit(" | ").next());
    let names: Vec<&str> = shown.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    assert!(names.len() >= 25, "the table is there");
    let files = rust_files(&root);
    let sources: String = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    let is_there = |name: &str| {
        if name.starts_with("web/") {
            return root.join(format!("{name}.e2e.ts")).exists();
        }
        let (module, last) = name.rsplit_once("::").unwrap_or(("", name));
        let is_test = sources.contains(&format!("fn {last}("));
        let path = if last == "…" { module } else { name }.replace("::", "/");
        let is_module = files.iter().any(|file| file.ends_with(format!("{path}.rs")));
        name.starts_with("cargo xtask ") || is_test || is_module
    };
    let missing: Vec<&&str> = names.iter().filter(|name| !is_there(name)).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn every_dependency_has_its_line_in_the_docs() {
    let root = root();
    let docs = fs::read_to_string(root.join("docs/dependencies.md")).unwrap();
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let table =
        manifest.split("[workspace.dependencies]").nth(1).unwrap().split("\n[").next().unwrap();
    let missing: Vec<&str> = table
        .lines()
        .filter_map(|line| line.split_once(" = ").map(|(name, _)| name.trim()))
        .filter(|name| !name.starts_with("pollux") && !docs.contains(&format!("`{name}`")))
        .collect();
    assert!(missing.is_empty(), "docs/dependencies.md says nothing of {missing:?}");
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_path_buf()
}

fn rust_files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![root.join("crates"), root.join("xtask"), root.join("fuzz")];
    while let Some(directory) = open.pop() {
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("target") {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    assert!(found.len() > 5, "the tidy test looked in the wrong place");
    found
}
