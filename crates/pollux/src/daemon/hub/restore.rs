//! Writing a session's file back from the log, byte for byte what the agent had written of each message.

use super::Hub;
use crate::daemon::log;
use crate::daemon::team::short;
use crate::trouble::Trouble;
use anyhow::Context;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Deserialize)]
struct Told<'a> {
    #[serde(borrow)]
    message: Message<'a>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, rename = "_original")]
    original: Option<&'a RawValue>,
}

impl Hub {
    /// Writes the file of a session back, where it is gone. Gives its path.
    pub async fn restore(&self, id: &str) -> anyhow::Result<PathBuf> {
        let (no, feed) = self.feed(id)?;
        let summary = feed.summary();
        let path = self.slots().get(id).and_then(|slot| slot.file.clone());
        let path = path.or_else(|| {
            let cwd = summary.cwd.as_deref()?;
            Some(self.chats_of(cwd)?.join(format!("session-restored-{}.jsonl", short(id))))
        });
        let path = path.with_context(|| {
            Trouble::refused("no_place", "cannot tell where the agent stored this session's file")
                .hint("start the agent once in the session's directory, then try again")
        })?;
        if path.exists() {
            let message = format!("{} already exists", path.display());
            let trouble = Trouble::refused("file_is_there", message);
            return Err(trouble
                .hint("a session can only be restored if its file is missing")
                .into());
        }
        let wholes = self.log().read(move |connection| log::wholes(connection, no)).await?;
        let originals: Vec<String> = wholes.iter().filter_map(|whole| original(whole)).collect();
        if originals.is_empty() {
            let message = "the log has no messages for this session";
            let trouble = Trouble::refused("nothing_kept", message);
            return Err(trouble
                .hint("try `pollux sessions rescue`, which may still find the file")
                .into());
        }
        let agent = summary.agent_id.clone().unwrap_or_else(|| id.to_owned());
        let head = serde_json::json!({
            "sessionId": agent,
            "projectHash": project(&path),
            "startTime": summary.created_at.to_string(),
            "lastUpdated": summary.updated_at.to_string(),
            "kind": "main",
        });
        write(&path, &head, &originals)?;
        Ok(path)
    }

    /// Where the agent keeps the sessions of a directory.
    fn chats_of(&self, cwd: &Path) -> Option<PathBuf> {
        let slots = self.slots();
        let of = |slot: &super::Slot| {
            let same = slot.feed.summary().cwd.as_deref() == Some(cwd);
            slot.file.as_ref().filter(|_| same)?.parent().map(Path::to_path_buf)
        };
        slots.values().find_map(of)
    }
}

fn original(whole: &str) -> Option<String> {
    let told: Told<'_> = serde_json::from_str(whole).ok()?;
    told.message.original.map(|original| original.get().to_owned())
}

/// The name of the project, which is that of the directory above `chats`.
fn project(path: &Path) -> String {
    let project = path.parent().and_then(Path::parent).and_then(Path::file_name);
    project.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn write(path: &Path, head: &serde_json::Value, originals: &[String]) -> anyhow::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut text = Vec::new();
    if path.extension().is_some_and(|extension| extension == "json") {
        let mut head = head.to_string();
        head.pop();
        write!(text, "{head},\"messages\":[{}]}}", originals.join(","))?;
    } else {
        writeln!(text, "{head}")?;
        for original in originals {
            // One record, one line: line breaks between tokens mean nothing in JSON.
            writeln!(text, "{}", original.replace(['\n', '\r'], " "))?;
        }
    }
    // Half a session is worse than none: the agent would go on with it. So it is there at once, or not at all.
    let mut file = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
    file.write_all(&text)?;
    file.as_file().sync_all()?;
    file.persist_noclobber(path)?;
    Ok(())
}
