//! Says a tool call in the words of the version that asks: names and arguments changed from release to release. Pure.

use crate::ask::Ask;
use serde_json::{Map, Value, json};
use std::path::Path;

/// Tools that changed their name.
const NAMES: [&[&str]; 3] = [
    &["grep_search", "search_file_content"],
    &["run_shell_command", "shell"],
    &["replace", "edit"],
];

/// Arguments that changed their name.
const ARGUMENTS: [&[&str]; 4] = [
    &["file_path", "absolute_path", "path"],
    &["dir_path", "path", "directory"],
    &["include_pattern", "include"],
    &["plan_filename", "plan_path"],
];

/// The call as the tools that the request declares want it. What the request does not declare stays as written.
pub(crate) fn adapt(
    ask: &Ask,
    name: &str,
    args: &Map<String, Value>,
) -> (String, Map<String, Value>) {
    if let Some(adapted) = sub_agent(ask, name, args) {
        return adapted;
    }
    let name = declared_name(ask, name);
    let Some(schema) = ask.tools.get(&name) else { return (name, args.clone()) };
    let mut adapted = Map::new();
    for (argument, value) in args {
        let argument = declared_argument(schema, argument);
        let value = placed(ask, schema, &argument, value);
        adapted.insert(argument, value);
    }
    complete(schema, &mut adapted);
    (name, adapted)
}

fn declared_name(ask: &Ask, name: &str) -> String {
    if ask.tools.contains_key(name) {
        return name.to_owned();
    }
    let known = NAMES.iter().find(|names| names.contains(&name));
    let renamed = known.and_then(|names| names.iter().find(|name| ask.tools.contains_key(**name)));
    // MCP tools: `mcp_server_tool` today, `server__tool` or the bare name before.
    let suffix = || ask.tools.keys().find(|tool| tool.ends_with(&format!("_{name}")));
    let shorter = || ask.tools.keys().find(|tool| name.ends_with(&format!("_{tool}")));
    match renamed {
        Some(renamed) => (*renamed).to_owned(),
        None => suffix().or_else(shorter).map_or_else(|| name.to_owned(), Clone::clone),
    }
}

fn declared_argument(schema: &Value, argument: &str) -> String {
    let has = |name: &str| schema["properties"].get(name).is_some();
    if has(argument) {
        return argument.to_owned();
    }
    let groups = ARGUMENTS.iter().filter(|names| names.contains(&argument));
    let renamed = groups.flat_map(|names| names.iter()).find(|name| has(name));
    renamed.map_or_else(|| argument.to_owned(), |name| (*name).to_owned())
}

/// A path as the tool wants it: some versions take absolute paths only.
fn placed(ask: &Ask, schema: &Value, argument: &str, value: &Value) -> Value {
    let (Some(path), Some(cwd)) = (value.as_str(), ask.cwd.as_deref()) else {
        return value.clone();
    };
    let paths = ["file_path", "absolute_path", "dir_path", "path", "plan_path"];
    let told = schema["properties"][argument]["description"].as_str().unwrap_or_default();
    let absolute = argument.contains("absolute") || told.to_lowercase().contains("absolute path");
    if !absolute || !paths.contains(&argument) || Path::new(path).is_absolute() {
        return value.clone();
    }
    let whole = if path == "." { Path::new(cwd).to_path_buf() } else { Path::new(cwd).join(path) };
    json!(whole.to_string_lossy())
}

/// Fills in words that one version asks for and others do not, such as the purpose of an edit.
fn complete(schema: &Value, args: &mut Map<String, Value>) {
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        let words = schema["properties"][name]["type"].as_str().map(str::to_ascii_lowercase);
        let filled = ["instruction", "description", "strategic_intent"].contains(&name);
        if filled && words.as_deref() == Some("string") && !args.contains_key(name) {
            args.insert(name.to_owned(), json!("The script asks for it."));
        }
    }
}

/// Sub-agents were tools of their own before `invoke_agent`.
fn sub_agent(
    ask: &Ask,
    name: &str,
    args: &Map<String, Value>,
) -> Option<(String, Map<String, Value>)> {
    if name != "invoke_agent" || ask.tools.contains_key(name) {
        return None;
    }
    let agent = args.get("agent_name")?.as_str()?;
    let schema = ask.tools.get(agent)?;
    let argument = schema["required"].as_array()?.first()?.as_str()?;
    let prompt = args.get("prompt").cloned().unwrap_or_default();
    Some((agent.to_owned(), Map::from_iter([(argument.to_owned(), prompt)])))
}

/// Whether two names are of one tool, in whatever version.
pub(crate) fn same(one: &str, other: &str) -> bool {
    let renamed = || NAMES.iter().any(|names| names.contains(&one) && names.contains(&other));
    let mcp = || other.ends_with(&format!("_{one}")) || one.ends_with(&format!("_{other}"));
    let agent = || {
        one == "invoke_agent"
            && ["codebase_investigator", "cli_help", "generalist"].contains(&other)
    };
    one == other || renamed() || mcp() || agent()
}
