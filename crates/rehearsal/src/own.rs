//! Answers to what the CLI asks on its own account, so that no script has to know of it. Pure.

use crate::ask::{Ask, Asks};
use serde_json::{Map, Value, json};

/// Fields whose name tells what answer does no harm: the cheap model, the user's turn, no loop.
fn harmless(field: &str) -> Option<Value> {
    Some(match field {
        "next_speaker" => json!("user"),
        "model_choice" => json!("flash"),
        "complexity_score" => json!(10),
        "confidence" | "unproductive_state_confidence" => json!(0.05),
        "unproductive_state_analysis" => json!("The conversation makes progress."),
        "reasoning" | "complexity_reasoning" => json!("The rehearsal decides."),
        _ => return None,
    })
}

/// The text of an answer to a request that is on the CLI's own account, and what else the candidate carries.
pub(crate) fn answer(ask: &Ask) -> (String, Map<String, Value>) {
    let mut more = Map::new();
    let text = match ask.asks {
        Asks::Router | Asks::NextSpeaker | Asks::LoopCheck | Asks::Json => {
            shaped(ask.schema.as_ref(), "").to_string()
        }
        Asks::WebSearch => {
            more.insert("groundingMetadata".into(), grounding(&ask.prompt));
            format!("The rehearsal found one page about {}.", ask.prompt.trim())
        }
        Asks::WebFetch => {
            more.insert("urlContextMetadata".into(), fetched(&ask.prompt));
            "The rehearsal read the page.".to_owned()
        }
        Asks::Compress => {
            "<state_snapshot>\n<overall_goal>Rehearse.</overall_goal>\n</state_snapshot>".to_owned()
        }
        Asks::Summary | Asks::Turn => "A rehearsed summary.".to_owned(),
    };
    (text, more)
}

/// A value of the shape that a JSON schema asks for.
pub(crate) fn shaped(schema: Option<&Value>, field: &str) -> Value {
    let Some(schema) = schema else { return json!({}) };
    if let Some(value) = harmless(field) {
        return value;
    }
    if let Some(first) = schema["enum"].as_array().and_then(|values| values.first()) {
        return first.clone();
    }
    let kind = schema["type"].as_str().unwrap_or("string").to_ascii_lowercase();
    match kind.as_str() {
        "object" => {
            let fields = schema["properties"].as_object().into_iter().flatten();
            fields.map(|(name, schema)| (name.clone(), shaped(Some(schema), name))).collect()
        }
        "integer" => json!(1),
        "number" => json!(0.1),
        "boolean" => json!(false),
        "array" => json!([]),
        _ => json!("rehearsed"),
    }
}

fn grounding(query: &str) -> Value {
    json!({
        "webSearchQueries": [query],
        "groundingChunks": [{ "web": { "uri": "https://example.com/page", "title": "example.com" } }],
        "groundingSupports": [{
            "segment": { "startIndex": 0, "endIndex": 13, "text": "The rehearsal" },
            "groundingChunkIndices": [0],
        }],
    })
}

fn fetched(prompt: &str) -> Value {
    let address = prompt.split_whitespace().find(|word| word.starts_with("http"));
    json!({ "urlMetadata": [{
        "retrievedUrl": address.unwrap_or("https://example.com/page"),
        "urlRetrievalStatus": "URL_RETRIEVAL_STATUS_SUCCESS",
    }] })
}
