//! A stream in an outline that is the same in every run: no times, no ids, no paths.

use crate::stage::{Ran, Stage};
use regex::Regex;
use serde_json::Value;
use std::fmt::Write;
use std::sync::LazyLock;

/// Texts longer than this are shown by their ends and their length.
const LONGEST_TEXT: usize = 400;

/// Where JSON is broken is told in the words of the Node.js that runs the CLI.
static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"in JSON at position \d+( \(line \d+ column \d+\))?")
        .expect("the pattern is a constant")
});

/// One line for each event, and the exit code. Text deltas are joined, since where they are cut is shown by their count.
pub fn outline(ran: &Ran, stage: &Stage) -> String {
    let ran = at_no_place(ran, stage);
    let mut lines = Vec::new();
    let mut tools = Vec::new();
    let mut text = (String::new(), 0);
    for event in ran.lines() {
        if event["role"] == "assistant" {
            text.0.push_str(event["content"].as_str().unwrap_or_default());
            text.1 += 1;
            continue;
        }
        flush(&mut text, &mut lines);
        lines.push(describe(&event, &mut tools));
    }
    flush(&mut text, &mut lines);
    let code = ran.code.map_or("by a signal".to_owned(), |code| code.to_string());
    lines.push(format!("exit {code}"));
    PLACE.replace_all(&lines.join("\n"), "in JSON").into_owned()
}

/// The same run with its directories taken out, before anything is cut by its length.
fn at_no_place(ran: &Ran, stage: &Stage) -> Ran {
    let (workspace, home) =
        (stage.workspace().display().to_string(), stage.home().path().display().to_string());
    let stdout = ran.stdout.replace(&workspace, "[workspace]").replace(&home, "[home]");
    Ran { stdout, ..ran.clone() }
}

fn flush(text: &mut (String, usize), lines: &mut Vec<String>) {
    let (said, count) = std::mem::take(text);
    if count > 0 {
        lines.push(format!("text in {count}: {}", short(&said)));
    }
}

fn short(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= LONGEST_TEXT {
        return format!("{text:?}");
    }
    let (first, last) = (letters.iter().take(60), letters.iter().skip(letters.len() - 60));
    let (first, last): (String, String) = (first.collect(), last.collect());
    format!("{first:?} … {last:?} ({} characters)", letters.len())
}

fn describe(event: &Value, tools: &mut Vec<String>) -> String {
    let field = |name: &str| event[name].as_str().unwrap_or("?");
    match field("type") {
        "init" => format!("init, model {}", field("model")),
        "message" => format!("{}: {}", field("role"), short(field("content"))),
        "tool_use" => {
            tools.push(field("tool_id").to_owned());
            format!("tool_use {} #{} {}", field("tool_name"), tools.len(), event["parameters"])
        }
        "tool_result" => {
            let number = tools.iter().position(|id| id == field("tool_id")).map_or(0, |at| at + 1);
            let mut line = format!("tool_result #{number} {}", field("status"));
            for (name, value) in [("output", &event["output"]), ("error", &event["error"])] {
                if !value.is_null() {
                    let value = value.as_str().map_or_else(|| short(&value.to_string()), short);
                    write!(line, ", {name} {value}").expect("a string can be written to");
                }
            }
            line
        }
        "error" => format!("error, {}: {}", field("severity"), short(field("message"))),
        "result" => {
            let error =
                event.get("error").map(|error| format!(", error {}", short(&error.to_string())));
            let calls = event["stats"]["tool_calls"].as_u64();
            let calls = calls.map(|calls| format!(", tool calls {calls}")).unwrap_or_default();
            format!("result {}{}{calls}", field("status"), error.unwrap_or_default())
        }
        _ => format!("unread {event}"),
    }
}
