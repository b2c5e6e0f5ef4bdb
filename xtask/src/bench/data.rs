//! Sessions of any size, made up: the same conversation in both formats, with tools, thoughts and tokens.

use serde_json::{Value, json};
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// What answers and tools say. How long a string takes to read depends on what is in it, so there are two kinds.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Text {
    /// The source of this repository, which is what agents read and write all day: escapes, and more than ASCII.
    Source,
    /// Sentences in plain ASCII, where Node is at its fastest.
    Plain,
}

impl Text {
    pub(crate) const ALL: [Self; 2] = [Self::Source, Self::Plain];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Plain => "plain",
        }
    }

    pub(crate) fn prose(self) -> io::Result<String> {
        match self {
            Self::Source => source(),
            Self::Plain => Ok((0..2_000).map(sentence).collect()),
        }
    }
}

fn sentence(number: usize) -> String {
    format!("The quick brown fox number {number} says \"jump\" over the lazy dog;\n")
}

fn source() -> io::Result<String> {
    let root = crate::shell::root();
    let mut text = String::new();
    for directory in ["crates/agent/src/gemini/transcript", "crates/agent/src/model", "xtask/src"] {
        let mut files: Vec<_> = fs::read_dir(root.join(directory))?
            .filter_map(Result::ok)
            .map(|entry| entry.path())
            .collect();
        files.sort();
        for file in files.iter().filter(|file| file.is_file()) {
            text.push_str(&fs::read_to_string(file)?);
        }
    }
    Ok(text)
}

/// A made-up session.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Session<'p> {
    pub(crate) number: usize,
    /// Messages; every second one is an answer with two calls.
    pub(crate) messages: usize,
    /// How long a tool's output and an answer's text are, in characters, about.
    pub(crate) weight: usize,
    /// Where the text comes from.
    pub(crate) prose: &'p str,
}

impl Session<'_> {
    fn id(self) -> String {
        format!("{:08x}-0000-4000-8000-{:012x}", self.number + 1, self.number)
    }

    fn time(message: usize) -> String {
        let seconds = message % 60;
        let minutes = (message / 60) % 60;
        let hours = (message / 3600) % 24;
        format!("2026-11-15T{hours:02}:{minutes:02}:{seconds:02}.123Z")
    }

    fn head(self) -> Value {
        json!({
            "sessionId": self.id(),
            "projectHash": "c23e0882fbaf6e31f4671470f30520073e5d6496e793a40008c217b402659f91",
            "startTime": Self::time(0),
            "lastUpdated": Self::time(self.messages),
            "kind": "main",
        })
    }

    fn words(self, seed: usize) -> String {
        let start = (self.number * 7 + seed * 4_099) % (self.prose.len() / 2);
        let (_, from) = self.prose.split_at(self.prose.floor_char_boundary(start));
        from.chars().take(self.weight).collect()
    }

    fn prompt(self, at: usize) -> Value {
        let text = format!("Prompt number {at}: please look at the file and change it.");
        json!({ "id": self.message_id(at), "timestamp": Self::time(at), "type": "user", "content": [{ "text": text }] })
    }

    fn message_id(self, at: usize) -> String {
        format!("{:08x}-{:04x}-4000-8000-{at:012x}", self.number, at % 65_536)
    }

    fn response(self, at: usize, call: usize) -> Value {
        let id = format!("read_file_{at}_{call}");
        json!({ "functionResponse": { "id": id, "name": "read_file", "response": { "output": self.words(at + call) } } })
    }

    fn answer(self, at: usize) -> Value {
        json!({
            "id": self.message_id(at), "timestamp": Self::time(at), "type": "gemini", "content": self.words(at),
            "thoughts": [{ "subject": "Thinking", "description": "What the file may hold.", "timestamp": Self::time(at) }],
            "tokens": { "input": 1234, "output": 45, "cached": 20, "thoughts": 7, "tool": 0, "total": 1286 },
            "model": "gemini-3.8-flash",
        })
    }

    fn answer_with_calls(self, at: usize) -> Value {
        let call = |call: usize| {
            json!({
                "id": format!("read_file_{at}_{call}"), "name": "read_file",
                "args": { "file_path": format!("src/file{call}.rs"), "start_line": 1, "end_line": 200 },
                "result": [self.response(at, call)], "status": "success", "timestamp": Self::time(at),
                "resultDisplay": "Read lines 1-200", "displayName": "ReadFile", "renderOutputAsMarkdown": true,
            })
        };
        let mut answer = self.answer(at);
        answer["toolCalls"] = json!([call(0), call(1)]);
        answer
    }

    /// The old format: one object, written with line breaks.
    pub(crate) fn write_json(self, path: &Path) -> io::Result<()> {
        let message = |at: usize| {
            if at.is_multiple_of(2) { self.prompt(at) } else { self.answer_with_calls(at) }
        };
        let mut document = self.head();
        document["messages"] = (0..self.messages).map(message).collect();
        fs::write(path, serde_json::to_vec_pretty(&document)?)
    }

    /// The new format: a log in which an answer comes twice, and its tools' output once more.
    pub(crate) fn write_jsonl(self, path: &Path) -> io::Result<()> {
        let mut out = BufWriter::new(fs::File::create(path)?);
        writeln!(out, "{}", self.head())?;
        for at in 0..self.messages {
            for row in self.rows(at) {
                writeln!(out, "{row}")?;
            }
        }
        out.flush()
    }

    /// The records of one message, as the CLI writes them.
    pub(crate) fn rows(self, at: usize) -> Vec<Value> {
        let touched = json!({ "$set": { "lastUpdated": Self::time(at) } });
        if at.is_multiple_of(2) {
            return vec![self.prompt(at), touched];
        }
        let responses = json!([self.response(at, 0), self.response(at, 1)]);
        let response = json!({
            "id": format!("{}-response", self.message_id(at)), "timestamp": Self::time(at), "type": "user", "content": responses,
        });
        vec![self.answer(at), touched, self.answer_with_calls(at), response]
    }
}
