//! MCP servers in the text of settings: put in, and taken out again; and what else is read there. Comments, order and everybody else's stay. Pure.

use super::settings::written;
use crate::acp::{McpServer, Transport, Variable};
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use serde_json::{Map, Value, json};

/// A server by its name, as the CLI's settings have it.
pub(super) type Entry = (String, Value);

/// Settings with more servers. One of the same name is replaced.
pub(super) fn with(text: &str, entries: &[Entry]) -> Result<String, String> {
    edited(text, |settings| {
        let list = match settings.get("mcpServers") {
            Some(list) => {
                list.object_value().ok_or_else(|| wrong("`mcpServers` is not an object"))?
            }
            None => settings.object_value_or_set("mcpServers"),
        };
        let allowed = settings.object_value("mcp").and_then(|mcp| mcp.array_value("allowed"));
        for (name, value) in entries {
            named(&list, name).into_iter().for_each(CstObjectProp::remove);
            list.append(name, written(value));
            let has = |allowed: &CstArray| {
                allowed.elements().iter().any(|it| string(it).as_ref() == Some(name))
            };
            if let Some(allowed) = allowed.as_ref().filter(|allowed| !has(allowed)) {
                allowed.append(CstInputValue::String(name.clone()));
            }
        }
        Ok(())
    })
}

/// Settings without these servers, as far as nobody has changed them since they were put in. A list that is empty then
/// goes too, where `before` had none.
pub(super) fn without(text: &str, entries: &[Entry], before: &str) -> Result<String, String> {
    let had = CstRootNode::parse(plain(before), &ParseOptions::default()).ok();
    let had = had.and_then(|root| root.object_value()).and_then(|root| root.get("mcpServers"));
    let was_allowed = allowed(before).unwrap_or_default();
    edited(text, |settings| {
        let Some(property) = settings.get("mcpServers") else { return Ok(()) };
        let list = property.object_value().ok_or_else(|| wrong("`mcpServers` is not an object"))?;
        let allowed = settings.object_value("mcp").and_then(|mcp| mcp.array_value("allowed"));
        for (name, value) in entries {
            let same = |entry: &CstObjectProp| read(entry).as_ref() == Some(value);
            for entry in named(&list, name).into_iter().filter(same) {
                entry.remove();
                if was_allowed.contains(name) {
                    continue;
                }
                let all = allowed.iter().flat_map(CstArray::elements);
                let ours = all.filter(|word| string(word).as_ref() == Some(name));
                ours.for_each(CstNode::remove);
            }
        }
        if had.is_none() && list.properties().is_empty() {
            property.remove();
        }
        Ok(())
    })
}

/// The names of the servers that settings have.
pub(super) fn names(text: &str) -> Result<Vec<String>, String> {
    let root = CstRootNode::parse(plain(text), &ParseOptions::default())
        .map_err(|error| wrong(&error.to_string()))?;
    let list = root.object_value().and_then(|settings| settings.object_value("mcpServers"));
    let all = list.map(|list| list.properties()).unwrap_or_default();
    Ok(all.iter().filter_map(CstObjectProp::decoded_name).collect())
}

/// The names of servers that settings keep out.
pub(super) fn excluded(text: &str) -> Vec<String> {
    listed(text, "excluded").unwrap_or_default()
}

/// The names of the only servers that settings let in; none where they let in all.
pub(super) fn allowed(text: &str) -> Option<Vec<String>> {
    listed(text, "allowed")
}

fn listed(text: &str, list: &str) -> Option<Vec<String>> {
    let root = CstRootNode::parse(plain(text), &ParseOptions::default()).ok()?;
    let list = root.object_value()?.object_value("mcp")?.array_value(list)?;
    Some(list.elements().iter().filter_map(string).collect())
}

/// What settings call the files of context: the first name where there are several.
pub(super) fn context_name(text: &str) -> Option<String> {
    let root = CstRootNode::parse(plain(text), &ParseOptions::default()).ok()?;
    let settings = root.object_value()?;
    let now = settings.object_value("context").and_then(|context| context.get("fileName"));
    let value = now.or_else(|| settings.get("contextFileName"))?.value()?;
    match value.as_array() {
        Some(all) => all.elements().iter().find_map(string),
        None => string(&value),
    }
}

/// The policies that settings name.
pub(super) fn policy_paths(text: &str) -> Vec<String> {
    let root = CstRootNode::parse(plain(text), &ParseOptions::default()).ok();
    let list = root.and_then(|root| root.object_value()?.array_value("policyPaths"));
    list.iter().flat_map(CstArray::elements).filter_map(|path| string(&path)).collect()
}

/// A server by its name, as settings have it. One that is trusted is never asked about.
pub(super) fn entry(server: &McpServer, trusted: bool) -> Entry {
    let mut value = as_setting(server);
    if trusted {
        value["trust"] = true.into();
    }
    (server.name().to_owned(), value)
}

fn as_setting(server: &McpServer) -> Value {
    match server {
        McpServer::Stdio { command, args, env, .. } => {
            json!({ "command": command, "args": args, "env": map(env) })
        }
        McpServer::Remote { transport, url, headers, .. } => {
            let place = match transport {
                Transport::Http => "httpUrl",
                Transport::Sse => "url",
            };
            json!({ place: url, "headers": map(headers) })
        }
    }
}

/// Variables or headers by their names.
pub(super) fn map(all: &[Variable]) -> Map<String, Value> {
    all.iter().map(|one| (one.name.clone(), Value::from(one.value.clone()))).collect()
}

fn edited(
    text: &str,
    edit: impl FnOnce(&CstObject) -> Result<(), String>,
) -> Result<String, String> {
    let mark = if text.starts_with('\u{feff}') { "\u{feff}" } else { "" };
    let root = CstRootNode::parse(plain(text), &ParseOptions::default())
        .map_err(|error| wrong(&error.to_string()))?;
    edit(&root.object_value().ok_or_else(|| wrong("the file is not an object"))?)?;
    Ok(format!("{mark}{root}"))
}

/// Without the mark of Windows; a file with nothing in it says nothing.
fn plain(text: &str) -> &str {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() { "{}" } else { text }
}

fn wrong(what: &str) -> String {
    format!("could not read Gemini CLI's settings: {what}")
}

fn named(list: &CstObject, name: &str) -> Vec<CstObjectProp> {
    let all = list.properties().into_iter();
    all.filter(|entry| entry.decoded_name().as_deref() == Some(name)).collect()
}

fn read(entry: &CstObjectProp) -> Option<Value> {
    serde_json::from_str(&entry.value()?.to_string()).ok()
}

fn string(node: &CstNode) -> Option<String> {
    node.as_string_lit()?.decoded_value().ok()
}

#[cfg(test)]
mod tests {
    use super::{Entry, allowed, context_name, names, with, without};
    use serde_json::json;

    fn entry(name: &str) -> Entry {
        (name.to_owned(), json!({ "url": "http://127.0.0.1:1/mcp", "type": "http" }))
    }

    #[test]
    fn a_server_of_the_same_name_is_replaced_and_a_list_of_allowed_ones_is_kept_up() {
        let text = r#"{"mcpServers":{"pollux":{"command":"mine"},"other":{}},"mcp":{"allowed":["other"]}}"#;
        let text = with(text, &[entry("pollux")]).unwrap();
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read["mcpServers"]["pollux"], entry("pollux").1);
        assert!(read["mcpServers"]["other"].is_object());
        assert_eq!(read["mcp"]["allowed"], json!(["other", "pollux"]));
        assert!(with("[]", &[]).is_err());
        assert!(with("", &[entry("pollux")]).unwrap().contains("http://127.0.0.1:1/mcp"));
    }

    #[test]
    fn what_is_put_in_can_be_taken_out_of_a_text_that_others_have_changed() {
        for before in [
            "{ // mine\n  \"ui\": {}\n}\n",
            "\u{feff}{\n  \"mcpServers\": {}\n}",
            r#"{"mcpServers":{"other":{"env":{"A":"$B"}}},"mcp":{"allowed":["other"]}}"#,
        ] {
            let made = with(before, &[entry("ours")]).unwrap();
            assert!(names(&made).unwrap().contains(&"ours".to_owned()), "{made}");
            let changed = made.replacen('{', "{\n  \"new\": 1,", 1);
            let out = without(&changed, &[entry("ours")], before).unwrap();
            assert_eq!(names(&out), names(before), "{out}");
            assert!(out.contains("\"new\": 1") && !out.contains("127.0.0.1"), "{out}");
            assert_eq!(out.contains("mcpServers"), before.contains("mcpServers"), "{out}");
            assert!(!out.contains("\"ours\""), "{out}");
        }
    }

    #[test]
    fn a_name_that_was_allowed_before_stays_allowed() {
        let before = r#"{"mcp":{"allowed":["ours","other"]}}"#;
        let made = with(before, &[entry("ours")]).unwrap();
        assert_eq!(allowed(&made).unwrap(), ["ours", "other"]);
        let out = without(&made, &[entry("ours")], before).unwrap();
        assert_eq!(allowed(&out).unwrap(), ["ours", "other"]);
    }

    #[test]
    fn an_entry_that_somebody_has_changed_is_theirs() {
        let made = with("{}", &[entry("ours")]).unwrap().replace(":1/", ":2/");
        assert_eq!(without(&made, &[entry("ours")], "{}").unwrap(), made);
    }

    #[test]
    fn the_name_of_context_files_is_read_old_and_new() {
        let name = |text: &str| context_name(text);
        assert_eq!(name(r#"{"context":{"fileName":["A.md","B.md"]}}"#).as_deref(), Some("A.md"));
        assert_eq!(name(r#"{"contextFileName":"AGENTS.md"}"#).as_deref(), Some("AGENTS.md"));
        assert_eq!((name("{}"), name("no"), name("")), (None, None, None));
    }
}
