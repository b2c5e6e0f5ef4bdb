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

/// How a worker's last words are known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Known {
    /// Its session file has them.
    Recorded,
    /// They were told as they were said, to the letter.
    Heard,
    /// They were read off the screen.
    Seen,
    /// Not at all, or what is known was said before a call, after which it speaks again.
    #[default]
    Nothing,
}

/// A worker's last words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) text: String,
    pub(super) known: Known,
}

/// A message of the worker.
struct Written {
    id: String,
    text: String,
    calls: bool,
}

/// What the worker said last: as its session file has it, and else what was heard since the last call.
pub(super) fn said(turn: &Turn) -> Said {
    // A message may be told again when more of it is known; the last telling counts, in the place of the first.
    let mut written: Vec<Written> = Vec::new();
    let (mut heard, mut known) = (String::new(), Known::Heard);
    for event in events(turn) {
        match event["type"].as_str() {
            Some("text_grew") if event["part"] == "text" => {
                heard.push_str(event["text"].as_str().unwrap_or_default());
                known = if event["derived"] == "screen" { Known::Seen } else { known };
            }
            Some("tool_ended") => heard.clear(),
            Some("message_recorded") => {
                let Some(message) = message(&event["message"]) else { continue };
                match written.iter_mut().find(|known| known.id == message.id) {
                    Some(known) => *known = message,
                    None => written.push(message),
                }
            }
            _ => {}
        }
    }
    let goes_on = written.last().is_some_and(|last| last.calls);
    let mut texts = written.into_iter().rev().map(|message| message.text);
    let recorded = texts.find(|text| !text.trim().is_empty());
    match recorded {
        Some(text) if !goes_on => Said { text, known: Known::Recorded },
        _ if !heard.trim().is_empty() => Said { text: heard, known },
        before => Said { text: before.unwrap_or_default(), known: Known::Nothing },
    }
}

fn message(message: &Value) -> Option<Written> {
    let answers = message["role"] == "assistant" && message["copied"] != true;
    let blocks = message["content"].as_array();
    answers.then(|| Written {
        id: message["id"].as_str().unwrap_or_default().to_owned(),
        text: text_of(&message["content"]),
        calls: blocks.is_some_and(|blocks| blocks.iter().any(|block| block["type"] == "tool_use")),
    })
}

/// What came of it.
pub(super) fn done(turn: &Turn, said: Said, tokens: u64) -> Done {
    let mut changed: Vec<String> = Vec::new();
    for event in events(turn) {
        let path = event["meaning"]["path"].as_str().unwrap_or_default().to_owned();
        let is_change = event["type"] == "tool_ended" && event["meaning"]["kind"] == "mutation";
        if is_change && event["status"] == "success" && !changed.contains(&path) {
            changed.push(path);
        }
    }
    let derived = (said.known == Known::Seen).then(|| "screen".to_owned());
    Done { text: said.text, derived, tokens, changed, worktree: None }
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
        let turn = turn(told);
        done(&turn, said(&turn), 0)
    }

    fn turn(told: &[Value]) -> Turn {
        let told = told.iter().map(ToString::to_string).collect();
        Turn { ended: Some("end_turn".into()), told }
    }

    fn grew(text: &str) -> Value {
        json!({ "type": "text_grew", "part": "text", "text": text })
    }

    fn wrote(id: &str, content: &Value) -> Value {
        let message = json!({ "id": id, "role": "assistant", "content": content });
        json!({ "type": "message_recorded", "message": message })
    }

    #[test]
    fn the_answer_is_that_of_the_session_file_and_else_what_was_heard_last() {
        let thought = json!({ "type": "text_grew", "part": "thinking", "text": "hm" });
        let call = json!({ "type": "tool_ended", "status": "success" });
        let heard = [grew("Let me see."), call, thought, grew("It is "), grew("7.")];
        assert_eq!(done_of(&heard).text, "It is 7.");
        assert_eq!(said(&turn(&heard)).known, Known::Heard);
        let told = [heard.to_vec(), vec![wrote("m", &json!("It is 7.\n"))]].concat();
        assert_eq!(done_of(&told).text, "It is 7.\n");
        // What was said in a turn before, written down once more.
        let copied = json!({ "type": "message_recorded", "message": {
            "id": "n", "role": "assistant", "content": "It is 6.", "copied": true } });
        assert_eq!(done_of(&[told, vec![copied]].concat()).text, "It is 7.\n");
    }

    #[test]
    fn an_answer_that_was_read_off_the_screen_says_so_until_the_file_has_it() {
        let mut seen = grew("It is 7.");
        seen["derived"] = json!("screen");
        let done = done_of(std::slice::from_ref(&seen));
        assert_eq!((done.text.as_str(), done.derived.as_deref()), ("It is 7.", Some("screen")));
        let late = wrote("m", &json!([{ "type": "text", "text": "It is *7*." }]));
        let done = done_of(&[seen, late]);
        assert_eq!((done.text.as_str(), done.derived), ("It is *7*.", None));
    }

    #[test]
    fn words_beside_a_call_are_the_answer_only_where_no_others_come() {
        let text = json!({ "type": "text", "text": "Let me see." });
        let call = wrote("m", &json!([text, { "type": "tool_use", "id": "c" }]));
        let only = said(&turn(std::slice::from_ref(&call)));
        assert_eq!((only.text.as_str(), only.known), ("Let me see.", Known::Nothing));
        let last = said(&turn(&[call, wrote("n", &json!("It is 7."))]));
        assert_eq!((last.text.as_str(), last.known), ("It is 7.", Known::Recorded));
    }
}
