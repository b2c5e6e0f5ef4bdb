//! Recorded sessions in the formats that people read.

use pollux::render::{self, Format, Header, Options};
use pollux_agent::gemini::transcript::Transcript;
use pollux_agent::model::{Text, Usage};
use std::fs;
use std::path::Path;

/// One of each kind: an edit, a command, a caller and its subagent, a long run with all that happens in a terminal,
/// and the two older formats.
const READ: &[&str] = &[
    "0.61.0/sessions/edit.jsonl",
    "0.61.0/sessions/shell_fail.jsonl",
    "0.61.0/sessions/subagent.jsonl",
    "0.61.0/sessions/subagent.1.jsonl",
    "0.61.0/sessions/interactive-full.jsonl",
    "0.61.0/sessions/todos.jsonl",
    "0.16.0/sessions/parallel.json",
    "0.34.0/sessions/edit_nomatch.json",
];

#[test]
fn recorded_sessions_as_text() {
    check("text", |file| {
        let coloured = page(file, Format::Text, &options());
        anstream::adapter::strip_str(&coloured).to_string()
    });
}

#[test]
fn recorded_sessions_as_markdown() {
    check("markdown", |file| {
        page(file, Format::Markdown, &Options { thinking: true, meta: true, ..options() })
    });
}

fn check(what: &str, shown: impl Fn(&str) -> String) {
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        for name in READ {
            insta::assert_snapshot!(format!("{what}@{}", name.replace('/', "__")), shown(&recording(name)));
        }
    });
}

#[test]
fn thoughts_and_context_are_shown_to_those_who_ask() {
    let file = recording("0.61.0/sessions/greet.jsonl");
    for format in [Format::Text, Format::Markdown, Format::Html] {
        let quiet = page(&file, format, &options());
        let full = page(&file, format, &Options { thinking: true, meta: true, ..options() });
        for hidden in ["Thinking about the greeting", "This is the Gemini CLI"] {
            assert!(!quiet.contains(hidden), "{format:?}: {quiet}");
            assert!(full.contains(hidden), "{format:?}: {full}");
        }
    }
}

#[test]
fn a_page_holds_everything_and_needs_nothing() {
    let file = recording("0.61.0/sessions/interactive-full.jsonl");
    let html = page(&file, Format::Html, &Options { thinking: true, ..options() });
    for part in [
        "<!doctype html>",
        "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:;",
        "@media (prefers-color-scheme: dark)",
        "name=\"viewport\"",
        "<dt>tokens</dt><dd>47,582 (",
        "<h2>You <time datetime=\"2026-11-15T18:33:46.154Z\">18:33:46</time></h2>",
        "<details class=\"thinking\"><summary>Thinking</summary>",
        "<b>Edit</b> <code>hello.txt</code></summary>",
        "<del>- hello world</del>\n<ins>+ hello brave new world</ins>",
        "<details class=\"call bad\">",
        "<details class=\"call stopped\">",
        "The tool finished <strong>ok</strong>.",
        "restored: tool calls",
    ] {
        assert!(html.contains(part), "{part}");
    }
    for forbidden in ["<script", "<link", "@import", "url(", "src=\"http", "<iframe"] {
        assert!(!html.contains(forbidden), "{forbidden}");
    }
}

/// What is no longer part of the conversation is marked where it is shown.
#[test]
fn recovered_messages_are_marked() {
    let file = "{\"sessionId\":\"s\",\"projectHash\":\"p\"}
{\"id\":\"a\",\"type\":\"user\",\"content\":\"first\"}
{\"id\":\"b\",\"type\":\"gemini\",\"content\":\"second\"}
{\"$rewindTo\":\"b\"}";
    let transcript = Transcript::read(file);
    let messages = transcript.messages_ever();
    for format in [Format::Text, Format::Markdown, Format::Html] {
        let mut out = Vec::new();
        render::write(format, &Header::default(), &messages, &options(), &mut out).unwrap();
        let shown = String::from_utf8(out).unwrap();
        assert_eq!(shown.matches("recovered").count(), 1, "{shown}");
    }
}

#[test]
fn json_is_the_array_of_messages() {
    let file = recording("0.61.0/sessions/edit.jsonl");
    let json = page(&file, Format::Json, &options());
    let messages: Vec<serde_json::Value> = serde_json::from_str(&json).unwrap();
    assert_eq!(messages.len(), 4);
    assert_eq!(messages[2]["_original"]["type"], "gemini");
    let mut out = Vec::new();
    render::write(Format::Json, &Header::default(), &[], &options(), &mut out).unwrap();
    assert_eq!(out, b"[]\n");
}

/// Times are those of UTC, so that the snapshots are the same everywhere.
pub(crate) fn options() -> Options<'static> {
    Options { clock: &|time| utc(time), ..Options::default() }
}

fn utc(time: i64) -> String {
    jiff::Timestamp::from_millisecond(time).unwrap().strftime("%H:%M:%S").to_string()
}

fn recording(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings");
    fs::read_to_string(root.join(name)).unwrap()
}

/// A session file in a format, with the header that a caller gives it.
pub(crate) fn page(file: &str, format: Format, options: &Options<'_>) -> String {
    let transcript = Transcript::read(file);
    let messages: Vec<_> = transcript.messages().collect();
    let mut usage = Usage::default();
    messages.iter().filter_map(|message| message.usage).for_each(|counts| usage += counts);
    let owned = |text: &Option<Text<'_>>| text.as_ref().map(|text| text.to_str().into_owned());
    let (id, summary) = (transcript.meta().session_id.clone(), transcript.meta().summary.clone());
    let title = summary.clone().or_else(|| transcript.first_words());
    let model = messages.iter().rev().find_map(|message| owned(&message.model));
    let header = Header {
        session_id: id.as_deref().unwrap_or_default(),
        agent_id: None,
        title: title.as_deref(),
        summary: summary.as_deref(),
        project: Some("/tmp/ws1"),
        model: model.as_deref(),
        started_at: transcript.meta().started_at,
        updated_at: transcript.meta().updated_at,
        usage,
    };
    let mut out = Vec::new();
    render::write(format, &header, &messages, options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}
