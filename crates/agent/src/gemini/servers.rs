//! Adds MCP servers to the text of settings, and reads what settings say of servers and policies.
//! Comments, order and everything else stay. Pure.

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

/// The policies that settings name.
pub(super) fn policy_paths(text: &str) -> Vec<String> {
    let root = CstRootNode::parse(plain(text), &ParseOptions::default()).ok();
    let list = root.and_then(|root| root.object_value()?.array_value("policyPaths"));
    list.iter().flat_map(CstArray::elements).filter_map(|path| string(&path)).collect()
}

/// A server by its name, as settings have it.
pub(super) fn entry(server: &McpServer) -> Entry {
    (server.name().to_owned(), as_setting(server))
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
fn map(all: &[Variable]) -> Map<String, Value> {
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

fn string(node: &CstNode) -> Option<String> {
    node.as_string_lit()?.decoded_value().ok()
}

#[cfg(test)]
mod tests {
    use super::{Entry, allowed, names, with};
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
    fn an_allowed_name_is_not_listed_twice() {
        let before = r#"{"mcp":{"allowed":["ours","other"]}}"#;
        let made = with(before, &[entry("ours")]).unwrap();
        assert_eq!(allowed(&made).unwrap(), ["ours", "other"]);
    }

    #[test]
    fn comments_and_a_byte_order_mark_stay() {
        for before in ["{ // mine\n  \"ui\": {}\n}\n", "\u{feff}{\n  \"mcpServers\": {}\n}"] {
            let made = with(before, &[entry("ours")]).unwrap();
            assert_eq!(names(&made).unwrap(), ["ours"]);
            assert_eq!(made.contains("// mine"), before.contains("// mine"));
            assert_eq!(made.starts_with('\u{feff}'), before.starts_with('\u{feff}'));
        }
    }
}
