//! A message as a reader takes it in: thoughts, then words, then each call with what came of it.
//!
//! The text is cleaned here, once, for all formats.

use super::clean;
use pollux_agent::gemini::tools::{shell, untagged};
use pollux_agent::gemini::transcript::is_context;
use pollux_agent::model::{
    Block, Content, ImageSource, Input, Message, ResultContent, Status, Text,
};
use serde_json::Value;
use std::borrow::Cow;

/// Something to show.
#[derive(Debug)]
pub(super) enum Piece<'m> {
    Thinking(String),
    Words(String),
    Image(&'m ImageSource<'m>),
    Call(Call<'m>),
}

/// A call and what came of it.
#[derive(Debug)]
pub(super) struct Call<'m> {
    pub(super) name: String,
    /// The argument that tells most, on one line.
    pub(super) headline: String,
    pub(super) detail: Detail,
    /// Nothing where the call was still open.
    pub(super) outcome: Option<Outcome<'m>>,
    id: Cow<'m, str>,
}

/// What a call was to do, beyond its headline.
#[derive(Debug, PartialEq)]
pub(super) enum Detail {
    None,
    /// Lines with `-`, `+` or a space before them.
    Diff(Vec<(char, String)>),
    /// A text in a language that a fence may name.
    Code(&'static str, String),
    /// Things to do, each with its mark.
    List(Vec<String>),
}

/// What came of a call.
#[derive(Debug)]
pub(super) struct Outcome<'m> {
    pub(super) status: Status,
    pub(super) text: String,
    pub(super) images: Vec<&'m ImageSource<'m>>,
}

impl Call<'_> {
    /// One sign for how it ended.
    pub(super) fn mark(&self) -> char {
        match self.outcome.as_ref().map(|outcome| outcome.status) {
            Some(Status::Success) => '✓',
            Some(Status::Error) => '✗',
            Some(Status::Cancelled) => '⊘',
            None => '…',
        }
    }

    /// One word for how it ended.
    pub(super) fn ending(&self) -> &'static str {
        match self.outcome.as_ref().map(|outcome| outcome.status) {
            Some(Status::Success) => "done",
            Some(Status::Error) => "failed",
            Some(Status::Cancelled) => "cancelled",
            None => "no result",
        }
    }
}

/// The pieces of a message, in the order in which they happened: the model speaks before it calls.
pub(super) fn pieces<'m>(message: &'m Message<'m>) -> Vec<Piece<'m>> {
    let mut said = Vec::new();
    let mut calls: Vec<Call<'m>> = Vec::new();
    if let Content::Raw(text) = &message.content {
        said.extend(words(text).map(Piece::Words));
    }
    for block in message.blocks() {
        match block {
            // The CLI may put its context into the same message as a person's words.
            Block::Text { text } if !message.meta && is_context(&text.to_str()) => {}
            Block::Text { text } => said.extend(words(text).map(Piece::Words)),
            Block::Thinking { thinking } => said.extend(words(thinking).map(Piece::Thinking)),
            Block::Image { source } => said.push(Piece::Image(source)),
            Block::ToolUse { id, name, input } => calls.push(call(id, name, input)),
            Block::ToolResult { tool_use_id, content, status, .. } => {
                let id = tool_use_id.to_str();
                let open =
                    calls.iter_mut().rev().find(|call| call.outcome.is_none() && call.id == id);
                let mut outcome = outcome(content, *status);
                outcome.text = readable(open.as_ref().map(|call| &*call.name), &outcome.text);
                match open {
                    Some(call) => call.outcome = Some(outcome),
                    None => calls.push(answer_alone(id, outcome)),
                }
            }
        }
    }
    said.sort_by_key(|piece| !matches!(piece, Piece::Thinking(_)));
    said.into_iter().chain(calls.into_iter().map(Piece::Call)).collect()
}

/// What a tool gave back, without what the CLI tells the model about it.
fn readable(name: Option<&str>, text: &str) -> String {
    if name == Some("Bash") { shell::shown(text) } else { untagged(text).to_owned() }
}

fn words(text: &Text<'_>) -> Option<String> {
    let text = text.to_str();
    let text = text.trim_end().trim_start_matches('\n');
    (!text.trim().is_empty()).then(|| clean(text).into_owned())
}

fn call<'m>(id: &'m Text<'m>, name: &str, input: &Input<'_>) -> Call<'m> {
    let input = input.to_value();
    let (told_by, headline) = headline(&input);
    Call {
        name: clean(name).into_owned(),
        headline,
        detail: detail(&input, told_by),
        outcome: None,
        id: id.to_str(),
    }
}

/// A result whose call is nowhere.
fn answer_alone<'m>(id: Cow<'m, str>, outcome: Outcome<'m>) -> Call<'m> {
    let headline = cut(&clean(&id), HEADLINE).into_owned();
    let outcome = Some(outcome);
    Call { name: "Result".to_owned(), headline, detail: Detail::None, outcome, id }
}

/// The arguments that tell what a call is about, the most telling first.
const TELLING: &[&str] = &[
    "command",
    "file_path",
    "pattern",
    "query",
    "url",
    "description",
    "path",
    "prompt",
    "title",
    "name",
    "text",
];

/// How long a headline may be.
const HEADLINE: usize = 100;

/// The argument that tells most, and its first line.
fn headline(input: &Value) -> (Option<&str>, String) {
    let asked = input.pointer("/questions/0/question").map(|question| ("questions", question));
    let args = TELLING.iter().filter_map(|key| input.get(key).map(|value| (*key, value)));
    let only = input.as_object().filter(|map| map.len() == 1).and_then(|map| map.iter().next());
    let only = only.map(|(key, value)| (&**key, value));
    let told = args.chain(asked).chain(only).find_map(|(key, value)| Some((key, value.as_str()?)));
    let told = told.filter(|(_, text)| !text.trim().is_empty());
    let Some((key, text)) = told else {
        let is_empty = input.as_object().is_some_and(serde_json::Map::is_empty) || input.is_null();
        let has_own_detail = input.get("todos").is_some();
        let json = if is_empty || has_own_detail { String::new() } else { input.to_string() };
        return (None, cut(&clean(&json), HEADLINE).into_owned());
    };
    let text = clean(text.trim());
    let first = text.lines().next().unwrap_or_default();
    let line = cut(first, HEADLINE);
    let more = if text.lines().nth(1).is_some() && !line.ends_with('…') { " …" } else { "" };
    (Some(key), format!("{line}{more}"))
}

/// The first characters of a text, with a sign where it goes on.
pub(super) fn cut(text: &str, longest: usize) -> Cow<'_, str> {
    match text.char_indices().nth(longest) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default())),
    }
}

fn detail(input: &Value, told_by: Option<&str>) -> Detail {
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    if let (Some(old), Some(new)) = (text("old_string"), text("new_string")) {
        return Detail::Diff(diff(&clean(old), &clean(new)));
    }
    if let Some(todos) = input.get("todos").and_then(Value::as_array) {
        return Detail::List(todos.iter().map(todo).collect());
    }
    if let Some(command) = text("command") {
        return Detail::Code("sh", clean(command).into_owned());
    }
    if let (Some(content), Some(_)) = (text("content"), text("file_path")) {
        return Detail::Code("", clean(content).into_owned());
    }
    let is_told = |(key, value): (&String, &Value)| Some(&**key) == told_by && value.is_string();
    let others = input.as_object().is_some_and(|map| !map.iter().all(is_told));
    let long = told_by
        .and_then(text)
        .is_some_and(|text| text.chars().count() > HEADLINE || text.contains('\n'));
    match serde_json::to_string_pretty(input) {
        Ok(json) if others || long => Detail::Code("json", clean(&json).into_owned()),
        _ => Detail::None,
    }
}

fn todo(todo: &Value) -> String {
    let text = |key: &str| todo.get(key).and_then(Value::as_str);
    let mark = match text("status") {
        Some("completed") => '☑',
        Some("in_progress") => '▸',
        Some("cancelled") => '⊘',
        _ => '☐',
    };
    let what = text("content").or(text("description")).unwrap_or_default();
    format!("{mark} {}", clean(what).replace('\n', " "))
}

/// What an edit takes out and puts in. Lines that both ends share stand as they are.
fn diff(old: &str, new: &str) -> Vec<(char, String)> {
    let old: Vec<&str> = old.lines().collect();
    let new: Vec<&str> = new.lines().collect();
    let before = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) =
        (old.get(before..).unwrap_or_default(), new.get(before..).unwrap_or_default());
    let after =
        old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let gone = old_rest.iter().take(old_rest.len() - after).map(|line| ('-', *line));
    let come = new_rest.iter().take(new_rest.len() - after).map(|line| ('+', *line));
    let head = old.iter().take(before).map(|line| (' ', *line));
    let tail = old.iter().skip(old.len() - after).map(|line| (' ', *line));
    let lines = head.chain(gone).chain(come).chain(tail);
    lines.map(|(sign, line)| (sign, line.to_owned())).collect()
}

fn outcome<'m>(content: &'m ResultContent<'m>, status: Status) -> Outcome<'m> {
    let mut images = Vec::new();
    let text = match content {
        ResultContent::Text(text) => text.to_str().into_owned(),
        ResultContent::Blocks(blocks) => {
            let mut texts = Vec::new();
            for block in blocks {
                match block {
                    Block::Text { text } => texts.push(text.to_str().into_owned()),
                    Block::Image { source } => images.push(source),
                    other => texts.push(serde_json::to_string(other).unwrap_or_default()),
                }
            }
            texts.join("\n")
        }
    };
    let text = clean(text.trim_end().trim_start_matches('\n')).into_owned();
    Outcome { status, text, images }
}

#[cfg(test)]
mod tests {
    use super::{Detail, detail, diff, headline};
    use serde_json::json;

    #[test]
    fn a_diff_keeps_what_both_ends_share() {
        let shown = |lines: Vec<(char, String)>| {
            lines.iter().map(|(sign, line)| format!("{sign}{line}")).collect::<Vec<_>>().join("|")
        };
        assert_eq!(shown(diff("a\nb\nc", "a\nx\ny\nc")), " a|-b|+x|+y| c");
        assert_eq!(shown(diff("a\na", "a")), " a|-a");
        assert_eq!(shown(diff("", "new")), "+new");
    }

    #[test]
    fn a_headline_is_one_line_and_the_rest_is_detail() {
        let input = json!({ "command": "cd src\nls", "description": "looks" });
        let (key, line) = headline(&input);
        assert_eq!((key, &*line), (Some("command"), "cd src …"));
        assert_eq!(detail(&input, key), Detail::Code("sh", "cd src\nls".to_owned()));
        assert_eq!(headline(&json!({})).1, "");
        assert_eq!(headline(&json!({ "plan": "p.md" })), (Some("plan"), "p.md".to_owned()));
        assert_eq!(headline(&json!({ "n": 1 })).1, "{\"n\":1}");
        assert_eq!(detail(&json!({ "path": "." }), Some("path")), Detail::None);
    }
}
