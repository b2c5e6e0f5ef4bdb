//! Recorded conversations of Claude's SDKs with `pollux claude` (`control/*.jsonl`: `in` from the SDK, `out` to it).

use pollux_agent::claude::control::Line;
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

fn recorded() -> Vec<(String, Vec<Value>)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/control");
    let mut files: Vec<PathBuf> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort();
    assert!(files.len() > 2);
    let read = |file: &PathBuf| {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(file).unwrap();
        (name, text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
    };
    files.iter().map(read).collect()
}

#[test]
fn what_the_sdks_send_is_read() {
    for (name, lines) in recorded() {
        let mut read = String::new();
        for line in lines.iter().filter(|line| line["dir"] == "in") {
            writeln!(read, "{:#?}", Line::read(&line["msg"].to_string())).unwrap();
        }
        insta::assert_snapshot!(format!("control_{name}"), read);
    }
}
