//! How the arguments of Gemini's tools are named by Claude.
//!
//! The names drifted over the versions (`absolute_path` became `file_path`, `path` became `dir_path`, `include` became
//! `include_pattern`), and each is accepted. What Claude has no name for is kept under Gemini's, except what means nothing
//! outside Gemini.

use crate::gemini::loose::Entries;
use crate::model::{Arg, Input};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;

/// Arguments that mean nothing outside Gemini.
const DROPPED: [&str; 2] = ["instruction", "wait_for_previous"];

/// Claude's name and, in order of preference, Gemini's.
pub(super) type Renames = &'static [(&'static str, &'static [&'static str])];

/// How a tool's arguments become Claude's.
#[derive(Debug)]
pub(super) enum Mapping {
    /// They are the same.
    Same,
    /// They have other names.
    Renamed(Renames),
    /// Some have to be worked out.
    Made(fn(&mut Args<'_>)),
    /// A subagent that is a tool of its own: its name, and the argument that holds the prompt.
    Agent(&'static str, &'static str),
}

pub(super) const EDIT: Renames = &[
    ("file_path", &["file_path"]),
    ("old_string", &["old_string"]),
    ("new_string", &["new_string"]),
    ("replace_all", &["allow_multiple"]),
];

pub(super) const SHELL: Renames = &[
    ("command", &["command"]),
    ("description", &["description"]),
    ("run_in_background", &["is_background"]),
];

/// The arguments while they are mapped: what Gemini gave, and what Claude gets.
pub(super) struct Args<'a> {
    given: Vec<(Cow<'a, str>, &'a RawValue)>,
    mapped: Vec<(Cow<'a, str>, Arg<'a>)>,
}

impl<'a> Args<'a> {
    /// Takes the first of some arguments that was given.
    fn take(&mut self, names: &[&str]) -> Option<&'a RawValue> {
        let at =
            names.iter().find_map(|name| self.given.iter().position(|(given, _)| given == name))?;
        Some(self.given.remove(at).1)
    }

    fn number(&mut self, names: &[&str]) -> Option<i64> {
        self.take(names)?.get().parse().ok()
    }

    fn string(&mut self, names: &[&str]) -> Option<String> {
        serde_json::from_str(self.take(names)?.get()).ok()
    }

    fn rename(&mut self, renames: Renames) {
        for (claude, gemini) in renames {
            if let Some(value) = self.take(gemini) {
                self.mapped.push(((*claude).into(), Arg::Raw(Cow::Borrowed(value))));
            }
        }
    }

    fn make(&mut self, name: &'static str, value: impl Into<Value>) {
        self.mapped.push((name.into(), Arg::Made(value.into())));
    }

    /// What Claude has no name for comes last, as it is.
    fn finish(mut self) -> Input<'a> {
        let rest = self.given.into_iter().filter(|(name, _)| !DROPPED.contains(&name.as_ref()));
        self.mapped.extend(rest.map(|(name, value)| (name, Arg::Raw(Cow::Borrowed(value)))));
        Input::Mapped(self.mapped)
    }
}

/// A tool's arguments under Claude's names. What is not an object is left as it is.
pub(super) fn input<'a>(mapping: &Mapping, args: Option<&'a RawValue>) -> Input<'a> {
    let Some(raw) = args else { return Input::Mapped(Vec::new()) };
    if matches!(mapping, Mapping::Same) || !raw.get().starts_with('{') {
        return Input::Raw(Cow::Borrowed(raw));
    }
    let given = serde_json::from_str::<Entries<'a>>(raw.get()).unwrap_or_default().0;
    let mut args = Args { given, mapped: Vec::new() };
    match mapping {
        Mapping::Same => {}
        Mapping::Renamed(renames) => args.rename(renames),
        Mapping::Made(make) => make(&mut args),
        Mapping::Agent(agent, prompt) => {
            args.make("description", *agent);
            if let Some(prompt) = args.take(&[prompt]) {
                args.mapped.push(("prompt".into(), Arg::Raw(Cow::Borrowed(prompt))));
            }
            args.make("subagent_type", *agent);
        }
    }
    args.finish()
}

/// `Read`: lines from … to … become an offset and a limit. Before 0.30 they were that already, counted from zero.
pub(super) fn read(args: &mut Args<'_>) {
    args.rename(&[("file_path", &["file_path", "absolute_path", "path"])]);
    let start = args.number(&["start_line"]);
    let end = args.number(&["end_line"]);
    if let Some(start) = start {
        args.make("offset", start);
    }
    if let Some(end) = end {
        args.make("limit", end.saturating_sub(start.unwrap_or(1)).saturating_add(1).max(0));
    }
    args.rename(&[("offset", &["offset"]), ("limit", &["limit"])]);
}

/// Claude has no tool that lists a directory; `Glob` with `*` shows the same.
pub(super) fn list(args: &mut Args<'_>) {
    args.make("pattern", "*");
    args.rename(&[("path", &["dir_path", "path"])]);
}

/// `Grep`.
pub(super) fn grep(args: &mut Args<'_>) {
    args.rename(&[
        ("pattern", &["pattern"]),
        ("path", &["dir_path", "path"]),
        ("glob", &["include_pattern", "include"]),
        ("-C", &["context"]),
        ("-B", &["before"]),
        ("-A", &["after"]),
        ("head_limit", &["total_max_matches"]),
    ]);
    if let Some(names_only) = args.take(&["names_only"]) {
        let names_only = names_only.get() == "true";
        args.make("output_mode", if names_only { "files_with_matches" } else { "content" });
    }
    if let Some(sensitive) = args.take(&["case_sensitive"]) {
        args.make("-i", sensitive.get() == "false");
    }
}

/// `WebFetch` wants the address by itself; Gemini has it inside the prompt.
pub(super) fn fetch(args: &mut Args<'_>) {
    let prompt = args.string(&["prompt"]);
    args.rename(&[("url", &["url"])]);
    let named = args.mapped.iter().any(|(name, _)| name == "url");
    if let Some(url) = prompt.as_deref().and_then(first_url).filter(|_| !named) {
        args.make("url", url);
    }
    if let Some(prompt) = prompt {
        args.make("prompt", prompt);
    }
}

fn first_url(prompt: &str) -> Option<&str> {
    let words = prompt.split(|c: char| c.is_whitespace() || "\"'<>()`,".contains(c));
    let mut urls = words.filter(|word| word.starts_with("http://") || word.starts_with("https://"));
    urls.next().map(|url| url.trim_end_matches(['.', ';', ':', '!', '?']))
}

/// `TodoWrite` knows three states and wants two wordings; Gemini knows five and has one.
pub(super) fn todos(args: &mut Args<'_>) {
    let Some(raw) = args.take(&["todos"]) else { return };
    let todos: Vec<Value> = serde_json::from_str(raw.get()).unwrap_or_default();
    let todo = |todo: &Value| {
        let text =
            todo.get("description").or_else(|| todo.get("content")).cloned().unwrap_or_default();
        let status = match todo.get("status").and_then(Value::as_str) {
            Some("in_progress") => "in_progress",
            Some("completed" | "cancelled") => "completed",
            _ => "pending",
        };
        json!({ "content": text, "status": status, "activeForm": text })
    };
    args.make("todos", todos.iter().map(todo).collect::<Vec<_>>());
}

/// `Task` wants a description too: the agent's name says as much as there is.
pub(super) fn task(args: &mut Args<'_>) {
    if let Some(agent) = args.string(&["agent_name"]) {
        args.make("description", agent.clone());
        args.rename(&[("prompt", &["prompt"])]);
        args.make("subagent_type", agent);
    }
}
