//! Recorded ACP conversations of Gemini CLI as an editor hears them.

use pollux_agent::acp::relay::{Relay, Told, opened};
use pollux_agent::acp::{Opened, Translator};
use pollux_agent::gemini::acp::Quirks;
use pollux_agent::gemini::transcript::follow::events;
use pollux_agent::model::Question;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// What an editor hears of a recorded conversation: updates, and questions.
fn heard(scenario: &str) -> Vec<Value> {
    let file = format!("../../recordings/0.61.0/acp/{scenario}.jsonl");
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
    let mut relay = Relay::new(Arc::new(Quirks::default()));
    let mut translator = Translator::new(Arc::new(Quirks::default()));
    let mut heard = Vec::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let message = &line["msg"];
        match (line["dir"].as_str(), message["method"].as_str()) {
            (Some("in"), Some("session/update")) => {
                let update = &message["params"]["update"];
                if update["sessionUpdate"] != "available_commands_update" {
                    heard.extend(relay.update(update));
                }
            }
            (Some("in"), Some("session/request_permission")) => {
                let question = asked(&mut translator, &message["params"].to_string());
                let (told, asked) = relay.question(&question);
                heard.extend(told);
                heard.push(asked);
            }
            _ => {}
        }
    }
    heard
}

/// The question that a driver makes of a permission request.
fn asked(translator: &mut Translator, params: &str) -> Question<'static> {
    let params = RawValue::from_string(params.to_owned()).unwrap();
    translator.asked("q1".to_owned(), Some(&params), &mut Vec::new())
}

#[test]
fn an_editor_is_shown_what_its_answer_will_be_an_answer_to() {
    let mut translator = Translator::new(Arc::new(Quirks::default()));
    let mut relay = Relay::new(Arc::new(Quirks::default()));
    let options = r#"[{"optionId":"yes","name":"Allow","kind":"allow_once"},{"name":"Nothing"}]"#;
    // One that cannot be read as it stands, and one that can: each is asked, with its own words.
    for (id, title, shown) in
        [("A", r"rm -rf ~ # \ud83d", "rm -rf ~ # "), ("B", "ls", "ls"), ("B", "ls -a", "ls -a")]
    {
        let params = format!(
            r#"{{"sessionId":"s","options":{options},"toolCall":{{"toolCallId":"{id}","kind":"execute","title":"{title}"}}}}"#
        );
        let question = asked(&mut translator, &params);
        let (_, request) = relay.question(&question);
        assert_eq!(request["toolCall"]["toolCallId"], id);
        let title = request["toolCall"]["title"].as_str().unwrap();
        assert_eq!(title.trim_end_matches('\u{fffd}'), shown);
        let offered = request["options"].as_array().unwrap();
        assert_eq!(offered.len(), 1, "{offered:?}");
        assert_eq!(offered[0]["optionId"], "yes");
    }
}

#[test]
fn a_message_that_grows_is_told_on_from_where_it_was() {
    let recorded = |words: &str| {
        let line = json!({ "id": "m", "type": "gemini", "content": words });
        events(format!("{line}\n").as_bytes())
    };
    let mut told = Told::default();
    let mut heard = Vec::new();
    for words in ["Hello", "Hello, Pollux", "Hello, Pollux", "Something else", "Hello, Pollux."] {
        for update in recorded(words).iter().flat_map(|event| told.event(event)) {
            heard.push(update["content"]["text"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(heard, ["Hello", ", Pollux", "."]);
}

#[test]
fn an_editor_hears_of_every_call_from_its_beginning() {
    let mut calls = 0;
    for scenario in
        ["edit", "shell_ok", "parallel", "mcp_stdio", "reject_shell", "always_edit", "unknown_tool"]
    {
        let mut begun: HashMap<String, bool> = HashMap::new();
        for update in heard(scenario) {
            let id = update["toolCallId"].as_str().unwrap_or_default().to_owned();
            match update["sessionUpdate"].as_str() {
                Some("tool_call") => {
                    assert!(begun.insert(id, true).is_none(), "{scenario}: begins twice: {update}");
                    assert!(update["title"].is_string());
                }
                Some("tool_call_update") => {
                    assert!(begun.contains_key(&id), "{scenario}: {update}");
                }
                _ => {}
            }
        }
        calls += begun.len();
    }
    assert!(calls > 4, "{calls} calls were heard of");
}

#[test]
fn a_mode_is_told_as_a_mode_and_words_as_words() {
    for scenario in ["set_mode", "always_edit", "reject_shell", "edit"] {
        let mut told = String::new();
        for update in heard(scenario) {
            writeln!(told, "{update:#}").unwrap();
        }
        assert!(!told.contains("MODE_UPDATE"));
        insta::assert_snapshot!(format!("relay_{scenario}"), told);
    }
}

#[test]
fn an_editor_is_told_the_modes_that_the_agent_offers_and_none_where_it_offers_none() {
    let told = |answer: Value| {
        let original = RawValue::from_string(answer.to_string()).unwrap();
        let (modes, models) = (Vec::new(), Vec::new());
        let session_id = "s".to_owned();
        let own = Opened { session_id, modes, mode: None, models, model: None, original };
        opened(&own, true)
    };
    assert_eq!(told(json!({ "sessionId": "s" })), json!({ "sessionId": "s" }));
    let offered = json!({ "currentModeId": "autoEdit", "availableModes": [{ "id": "autoEdit" }, { "id": "own" }] });
    let named = json!({ "currentModeId": "auto_edit", "availableModes": [{ "id": "auto_edit" }, { "id": "own" }] });
    assert_eq!(told(json!({ "modes": offered }))["modes"], named);
    for odd in
        [json!("x"), json!([1]), json!({ "availableModes": [1, null, "a", {}] }), json!(null)]
    {
        assert_eq!(told(json!({ "modes": odd }))["modes"], odd);
    }
}
