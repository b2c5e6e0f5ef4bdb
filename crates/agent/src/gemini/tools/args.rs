//! How the arguments of Gemini's tools are named by Claude.
//!
//! The names drifted over the versions (`absolute_path` became `file_path`, `path` became `dir_path`, `include` became
//! `include_pattern`), and each is accepted. What Claude has no name for is kept under Gemini's, except what means nothing
//! outside Gemini.

use crate::gemini::loose::Entries;
use crate::model::{Arg, Input, Text};
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

    /// Looks at an argument. It is taken only once it is known that something can be made of it.
    fn given(&self, name: &str) -> Option<&'a RawValue> {
        self.given.iter().find(|(given, _)| given == name).map(|(_, value)| *value)
    }

    fn push(&mut self, name: &'static str, value: &'a RawValue) {
        self.mapped.push((name.into(), Arg::Raw(Cow::Borrowed(value))));
    }

    fn rename(&mut self, renames: Renames) {
        for (claude, gemini) in renames {
            if let Some(value) = self.take(gemini) {
                self.push(claude, value);
            }
        }
    }

    fn make(&mut self, name: &'static str, value: impl Into<Value>) {
        self.mapped.push((name.into(), Arg::Made(value.into())));
    }

    /// True where Claude's argument of that name is there.
    fn has(&self, name: &str) -> bool {
        self.mapped.iter().any(|(mapped, _)| mapped == name)
    }

    /// What Claude has no name for comes last, as it is; no name comes twice.
    fn finish(mut self) -> Input<'a> {
        for (name, value) in std::mem::take(&mut self.given) {
            if !DROPPED.contains(&name.as_ref()) && !self.has(&name) {
                self.mapped.push((name, Arg::Raw(Cow::Borrowed(value))));
            }
        }
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
                args.push("prompt", prompt);
            }
            args.make("subagent_type", *agent);
        }
    }
    args.finish()
}

/// `Read`: lines from … to … become an offset and a limit. Before 0.30 they were that already, counted from zero;
/// Claude counts from one.
pub(super) fn read(args: &mut Args<'_>) {
    args.rename(&[("file_path", &["file_path", "absolute_path", "path"])]);
    let number = |json: Option<&RawValue>| json.map(|raw| raw.get().parse::<i64>().ok());
    let start = number(args.given("start_line"));
    let end = number(args.given("end_line"));
    if let Some(Some(start)) = start {
        args.take(&["start_line"]);
        args.make("offset", start);
    }
    // Without the first line, the last one does not say how many there are.
    if let (None | Some(Some(_)), Some(Some(end))) = (start, end) {
        args.take(&["end_line"]);
        let start = start.flatten().unwrap_or(1);
        args.make("limit", end.saturating_sub(start).saturating_add(1).max(0));
    }
    if let (false, Some(Some(before))) = (args.has("offset"), number(args.given("offset"))) {
        args.take(&["offset"]);
        args.make("offset", before.saturating_add(1));
    }
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
    let is_flag =
        |json: Option<&RawValue>| json.is_some_and(|json| matches!(json.get(), "true" | "false"));
    if is_flag(args.given("names_only"))
        && let Some(names_only) = args.take(&["names_only"])
    {
        let names_only = names_only.get() == "true";
        args.make("output_mode", if names_only { "files_with_matches" } else { "content" });
    }
    if is_flag(args.given("case_sensitive"))
        && let Some(sensitive) = args.take(&["case_sensitive"])
    {
        args.make("-i", sensitive.get() == "false");
    }
}

/// `WebFetch` wants the address by itself; Gemini has it inside the prompt.
pub(super) fn fetch(args: &mut Args<'_>) {
    let prompt = args.take(&["prompt"]);
    args.rename(&[("url", &["url"])]);
    let named = args.has("url");
    let text = prompt.and_then(Text::from_raw);
    if let Some(url) = text.as_ref().and_then(|text| first_url(&text.to_str())).filter(|_| !named) {
        args.make("url", url);
    }
    if let Some(prompt) = prompt {
        args.push("prompt", prompt);
    }
}

fn first_url(prompt: &str) -> Option<String> {
    let words = prompt.split(|c: char| c.is_whitespace() || "\"'<>()`,".contains(c));
    let mut urls = words.filter(|word| word.starts_with("http://") || word.starts_with("https://"));
    urls.next().map(|url| url.trim_end_matches(['.', ';', ':', '!', '?']).to_owned())
}

/// `TodoWrite` knows three states and wants two wordings; Gemini knows five and has one.
pub(super) fn todos(args: &mut Args<'_>) {
    let Some(raw) = args.take(&["todos"]) else { return };
    let todos = serde_json::from_str::<Vec<Value>>(raw.get()).ok();
    let Some(todos) = todos.filter(|todos| todos.iter().all(Value::is_object)) else {
        return args.push("todos", raw);
    };
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
    let name = args.given("agent_name");
    if let Some(agent) = name.and_then(|name| serde_json::from_str::<String>(name.get()).ok()) {
        args.take(&["agent_name"]);
        args.make("description", agent.clone());
        args.rename(&[("prompt", &["prompt"])]);
        args.make("subagent_type", agent);
    }
}
