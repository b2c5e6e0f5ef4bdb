//! What a turn gave: the worker's last answer to the letter, the files that it changed. Pure.

use crate::api::team::{Asked, Done};
use crate::api::{OpenQuestion, Summary};
use crate::daemon::log::team::Turn;
use crate::team::job::Ended;
use serde_json::Value;

/// How a turn ended.
pub(super) fn ended(turn: &Turn) -> Option<Ended> {
    Some(match turn.ended.as_deref()? {
        "end_turn" => Ended::Well,
        "cancelled" => Ended::Stopped,
        _ => Ended::Badly,
    })
}

/// What came of it.
pub(super) fn done(turn: &Turn, tokens: u64) -> Done {
    // A message may be told again when more of it is known; the last telling counts, in the place of the first.
    let mut said: Vec<(String, String)> = Vec::new();
    let mut changed: Vec<String> = Vec::new();
    for told in &turn.told {
        let Ok(event) = serde_json::from_str::<Value>(told) else { continue };
        match event["type"].as_str() {
            Some("message_recorded") if event["message"]["role"] == "assistant" => {
                let id = event["message"]["id"].as_str().unwrap_or_default().to_owned();
                let text = text_of(&event["message"]["content"]);
                match said.iter_mut().find(|(known, _)| *known == id) {
                    Some((_, known)) => *known = text,
                    None => said.push((id, text)),
                }
            }
            Some("tool_ended") if event["meaning"]["kind"] == "mutation" => {
                let path = event["meaning"]["path"].as_str().unwrap_or_default().to_owned();
                if event["status"] == "success" && !changed.contains(&path) {
                    changed.push(path);
                }
            }
            _ => {}
        }
    }
    let text = said.into_iter().rev().map(|(_, text)| text).find(|text| !text.trim().is_empty());
    Done { text: text.unwrap_or_default(), tokens, changed, worktree: None }
}

fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter(|block| block["type"] == "text");
            texts.filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n\n")
        }
        _ => String::new(),
    }
}

/// The question that a worker waits with, in few words.
pub(super) fn question(summary: &Summary) -> Option<Asked> {
    let OpenQuestion { question, .. } = summary.questions.first()?;
    let question: Value = serde_json::from_str(question.get()).ok()?;
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let about = ["command", "path", "title"].iter().map(|field| word(&question["meaning"][field]));
    let about =
        about.filter(|about| !about.is_empty()).fold(word(&question["text"]), |text, about| {
            if text.contains(&about) { text } else { format!("{text}: {about}") }
        });
    let options = question["options"].as_array().cloned().unwrap_or_default();
    Some(Asked {
        id: word(&question["id"]),
        about,
        options: options
            .iter()
            .map(|option| (word(&option["id"]), word(&option["label"])))
            .collect(),
    })
}
