//! Every recorded session, replayed and compared with what somebody has read. Adding a file adds a test case.

use crate::test_data::recordings;
use pollux_agent::gemini::transcript::Transcript;
use std::fmt::Write;
use std::fs;

#[test]
fn every_recorded_session_reads_as_it_was_meant() {
    let root = recordings();
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::glob!(root, "*/sessions/*.json*", |path| {
            let text = fs::read_to_string(path).unwrap();
            insta::assert_snapshot!(shown(&text));
        });
    });
}

/// A session as a reviewer wants to read it: everything but `_original`, which must be in the file as it is.
fn shown(text: &str) -> String {
    let transcript = Transcript::read(text);
    let mut out = format!("{:?}\n", transcript.format);
    for diagnostic in transcript.diagnostics() {
        writeln!(out, "! {diagnostic}").unwrap();
    }
    for message in transcript.messages() {
        assert!(text.contains(&*message.original), "`_original` is byte for byte");
        let mut value = serde_json::to_value(&message).unwrap();
        shorten(&mut value);
        let fields = value.as_object_mut().unwrap();
        fields.remove("_original");
        let content = fields.remove("content").unwrap();
        writeln!(out, "{value}").unwrap();
        match content.as_array() {
            Some(blocks) => blocks.iter().for_each(|block| writeln!(out, "    {block}").unwrap()),
            None => writeln!(out, "    {content}").unwrap(),
        }
    }
    out
}

/// Long strings are cut in the snapshot, with their length: nobody reads 200 KB.
fn shorten(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::String(text) if text.chars().count() > 400 => {
            let head: String = text.chars().take(300).collect();
            *text = format!("{head}… ({} characters)", text.chars().count());
        }
        serde_json::Value::Array(list) => list.iter_mut().for_each(shorten),
        serde_json::Value::Object(map) => map.values_mut().for_each(shorten),
        _ => {}
    }
}
