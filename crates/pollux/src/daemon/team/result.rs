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

/// The worker's last answer, as its session file has it.
pub(super) fn answer(turn: &Turn) -> Option<String> {
    // A message may be told again when more of it is known; the last telling counts, in the place of the first.
    let mut said: Vec<(String, String)> = Vec::new();
    for event in events(turn) {
        let message = &event["message"];
        let answers = message["role"] == "assistant" && message["copied"] != true;
        if event["type"] == "message_recorded" && answers {
            let id = message["id"].as_str().unwrap_or_default().to_owned();
            let text = text_of(&message["content"]);
            match said.iter_mut().find(|(known, _)| *known == id) {
                Some((_, known)) => *known = text,
                None => said.push((id, text)),
            }
        }
    }
    said.into_iter().rev().map(|(_, text)| text).find(|text| !text.trim().is_empty())
}

/// What came of it.
pub(super) fn done(turn: &Turn, tokens: u64) -> Done {
    let mut changed: Vec<String> = Vec::new();
    // What was heard since the last call: the answer, where the session file came too late or never.
    let mut heard = String::new();
    for event in events(turn) {
        match event["type"].as_str() {
            Some("text_grew") if event["part"] == "text" => {
                heard.push_str(event["text"].as_str().unwrap_or_default());
            }
            Some("tool_ended") => {
                heard.clear();
                let path = event["meaning"]["path"].as_str().unwrap_or_default().to_owned();
                let is_change = event["meaning"]["kind"] == "mutation";
                if is_change && event["status"] == "success" && !changed.contains(&path) {
                    changed.push(path);
                }
            }
            _ => {}
        }
    }
    Done { text: answer(turn).unwrap_or(heard), tokens, changed, worktree: None }
}

fn events(turn: &Turn) -> impl Iterator<Item = Value> {
    turn.told.iter().filter_map(|told| serde_json::from_str(told).ok())
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn done_of(told: &[Value]) -> Done {
        let told = told.iter().map(ToString::to_string).collect();
        done(&Turn { ended: Some("end_turn".into()), told }, 0)
    }

    #[test]
    fn the_answer_is_that_of_the_session_file_and_else_what_was_heard_last() {
        let grew = |text: &str| json!({ "type": "text_grew", "part": "text", "text": text });
        let thought = json!({ "type": "text_grew", "part": "thinking", "text": "hm" });
        let call = json!({ "type": "tool_ended", "status": "success" });
        let heard = [grew("Let me see."), call, thought, grew("It is "), grew("7.")];
        assert_eq!(done_of(&heard).text, "It is 7.");
        let recorded = json!({ "type": "message_recorded", "message": {
            "id": "m", "role": "assistant", "content": "It is 7.\n" } });
        let told = [heard.to_vec(), vec![recorded]].concat();
        assert_eq!(done_of(&told).text, "It is 7.\n");
        // What was said in a turn before, written down once more.
        let copied = json!({ "type": "message_recorded", "message": {
            "id": "n", "role": "assistant", "content": "It is 6.", "copied": true } });
        assert_eq!(done_of(&[told, vec![copied]].concat()).text, "It is 7.\n");
    }
}
