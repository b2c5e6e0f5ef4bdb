//! A home directory such as a user of many versions has it, put together from the recordings.

use serde_json::Value;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The last version that named a project's directory after the hash of its path.
const HASHED: &str = "0.16.0";

/// Lays out the recorded sessions below `home` as the CLI would have written them: hashed directories for the oldest
/// version, slugs with their registry for the others, subagents one folder below their parent.
pub fn lay_out(recordings: &Path, home: &Path) -> io::Result<()> {
    let gemini = home.join(".gemini");
    for version in directories(recordings)? {
        let sessions = version.join("sessions");
        // Not all that is recorded is of a version.
        if !sessions.is_dir() {
            continue;
        }
        let hashed = version.ends_with(HASHED);
        for file in files(&sessions)? {
            place(&file, &gemini, hashed)?;
        }
    }
    let registry = "{\n  \"projects\": {\n    \"/tmp/ws1\": \"ws1\",\n    \"/tmp/ws2\": \"ws2\",\n    \"/tmp/ws3\": \"ws3\"\n  }\n}";
    fs::write(gemini.join("projects.json"), registry)?;
    for slug in ["ws1", "ws2", "ws3"] {
        let directory = gemini.join("tmp").join(slug);
        fs::create_dir_all(&directory)?;
        fs::write(directory.join(".project_root"), format!("/tmp/{slug}"))?;
    }
    Ok(())
}

/// As if the sessions of this home had been made long ago. One that was made in this very minute is gone on with when the
/// minute is over, which is not what most tests are about.
pub fn age(home: &Path) -> io::Result<()> {
    let tmp = home.join(".gemini/tmp");
    if !tmp.is_dir() {
        return Ok(());
    }
    let chats = directories(&tmp)?.into_iter().map(|project| project.join("chats"));
    for chats in chats.filter(|chats| chats.is_dir()) {
        for file in files(&chats)? {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let Some(end) = name.strip_prefix("session-").and_then(|rest| rest.rsplit('-').next())
            else {
                continue;
            };
            let aged = file.with_file_name(format!("session-2026-01-01T00-00-{end}"));
            // Of two files of one session the older one is the session.
            if !aged.exists() {
                fs::rename(&file, aged)?;
            }
        }
    }
    Ok(())
}

fn place(file: &Path, gemini: &Path, hashed: bool) -> io::Result<()> {
    let head = head(file)?;
    let field = |name: &str| head.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let project = field("projectHash");
    let directory = if hashed { project.clone() } else { slug(&project).to_owned() };
    let chats = gemini.join("tmp").join(directory).join("chats");
    let id = field("sessionId");
    let extension = file.extension().unwrap_or_default().to_string_lossy().into_owned();
    let target = if field("kind") == "subagent" {
        chats.join(parent(file)?).join(format!("{id}.{extension}"))
    } else {
        let minute: String = field("startTime").chars().take(16).collect();
        let short: String = id.chars().take(8).collect();
        chats.join(format!("session-{}-{short}.{extension}", minute.replace(':', "-")))
    };
    fs::create_dir_all(target.parent().unwrap_or(&target))?;
    fs::copy(file, target)?;
    Ok(())
}

/// The recordings were made in three workspaces.
fn slug(project_hash: &str) -> &'static str {
    match project_hash.get(..2) {
        Some("c2") => "ws1",
        Some("a3") => "ws3",
        _ => "ws2",
    }
}

/// A subagent's file is `name.1.jsonl`, its parent's is `name.jsonl`.
fn parent(file: &Path) -> io::Result<String> {
    let name = file.file_name().unwrap_or_default().to_string_lossy().replacen(".1.", ".", 1);
    let head = head(&file.with_file_name(name))?;
    Ok(head.get("sessionId").and_then(Value::as_str).unwrap_or_default().to_owned())
}

/// The object that says whose session it is: the first line, or the whole file in the old format.
fn head(file: &Path) -> io::Result<Value> {
    let text = fs::read_to_string(file)?;
    let first = text.lines().next().unwrap_or_default();
    Ok(serde_json::from_str(first).or_else(|_| serde_json::from_str(&text))?)
}

fn directories(path: &Path) -> io::Result<Vec<PathBuf>> {
    Ok(entries(path)?.into_iter().filter(|entry| entry.is_dir()).collect())
}

fn files(path: &Path) -> io::Result<Vec<PathBuf>> {
    Ok(entries(path)?.into_iter().filter(|entry| entry.is_file()).collect())
}

fn entries(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = fs::read_dir(path)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}
