//! The Agent Client Protocol without an agent: every recorded conversation as events, played back against the client, and
//! agents that mean no good.

mod again;
mod hostile;
mod playback;
mod player;
mod terminals;

use crate::test_data::recordings;
use pollux_agent::acp::recorded;
use pollux_agent::gemini::acp::Quirks;
use pollux_agent::model::Event;
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::sync::Arc;

/// Of more events than this only the first and the last are shown: a model that went in circles.
const MOST: usize = 60;

#[test]
fn every_recorded_conversation_reads_as_it_was_meant() {
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true, snapshot_path => "snapshots/acp" }, {
        insta::glob!(recordings(), "*/acp/*.jsonl", |path| {
            let text = fs::read_to_string(path).unwrap();
            let events = recorded(&text, Arc::new(Quirks::default()));
            insta::assert_snapshot!(outline(&events));
        });
    });
}

/// The events, one on each line: what was said is joined, and what is long is cut.
fn outline(events: &[Event<'_>]) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut said = (String::new(), String::new());
    for event in events {
        let mut value = serde_json::to_value(event).unwrap();
        if value["type"] == "text_grew" {
            let part = value["part"].as_str().unwrap().to_owned();
            if said.0 != part {
                flush(&mut said, &mut lines);
            }
            said.0 = part;
            said.1.push_str(value["text"].as_str().unwrap());
            continue;
        }
        flush(&mut said, &mut lines);
        shorten(&mut value);
        lines.push(value.to_string());
    }
    flush(&mut said, &mut lines);
    if lines.len() > MOST {
        let left = lines.len() - MOST;
        lines.splice(MOST - 5..lines.len() - 5, [format!("… {left} more")]);
    }
    lines.join("\n")
}

fn flush(said: &mut (String, String), lines: &mut Vec<String>) {
    if !said.0.is_empty() {
        let mut text = Value::String(std::mem::take(&mut said.1));
        shorten(&mut text);
        let mut line = String::new();
        write!(line, "{} {text}", said.0).unwrap();
        lines.push(line);
        said.0.clear();
    }
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.chars().count() > 300 => {
            let head: String = text.chars().take(150).collect();
            *text = format!("{head}… ({} characters)", text.chars().count());
        }
        Value::Array(list) => list.iter_mut().for_each(shorten),
        Value::Object(map) => {
            map.remove("upstream");
            map.values_mut().for_each(shorten);
        }
        _ => {}
    }
}
