//! MCP servers from `--mcp-config`.

use super::setup::{json_or_file, refused};
use pollux_agent::acp::{McpServer, Transport, Variable};
use serde_json::Value;

/// MCP servers: those that the agent reaches by itself, and those that live in the caller's process.
#[derive(Debug, Clone, Default)]
pub(super) struct Servers {
    pub(super) own: Vec<McpServer>,
    pub(super) callers: Vec<String>,
}

impl Servers {
    /// Their names.
    pub(super) fn names(&self) -> Vec<&str> {
        let own = self.own.iter().map(McpServer::name);
        own.chain(self.callers.iter().map(String::as_str)).collect()
    }
}

/// Reads configurations: JSON, or files of it.
pub(super) fn read_all(configs: &[String]) -> anyhow::Result<Servers> {
    let mut servers = Servers::default();
    for config in configs {
        let text = json_or_file(config)?;
        let json: Value = serde_json::from_str(&text)
            .map_err(|error| wrong(&format!("could not parse the MCP servers: {error}")))?;
        for (name, server) in json["mcpServers"].as_object().into_iter().flatten() {
            add(&mut servers, name, server)?;
        }
    }
    Ok(servers)
}

fn add(servers: &mut Servers, name: &str, server: &Value) -> anyhow::Result<()> {
    let text = |member: &str| server[member].as_str().map(str::to_owned);
    let pairs = |member: &str| -> Vec<Variable> {
        let all = server[member].as_object().into_iter().flatten();
        let pair = |(name, value): (&String, &Value)| {
            Some(Variable { name: name.clone(), value: value.as_str()?.to_owned() })
        };
        all.filter_map(pair).collect()
    };
    let kind = server["type"].as_str().unwrap_or("stdio");
    let name = name.to_owned();
    match (kind, text("command"), text("url")) {
        ("stdio", Some(command), _) => {
            let args = server["args"].as_array().into_iter().flatten();
            let args = args.filter_map(Value::as_str).map(str::to_owned).collect();
            servers.own.push(McpServer::Stdio {
                name,
                command: command.into(),
                args,
                env: pairs("env"),
            });
        }
        ("http" | "sse", _, Some(url)) => {
            let transport = if kind == "http" { Transport::Http } else { Transport::Sse };
            let headers = pairs("headers");
            servers.own.push(McpServer::Remote { transport, name, url, headers });
        }
        ("sdk", _, _) => servers.callers.push(name),
        _ => {
            return Err(wrong(&format!("MCP server `{name}` has the unsupported type `{kind}`")));
        }
    }
    Ok(())
}

fn wrong(message: &str) -> anyhow::Error {
    refused(
        message.to_owned(),
        "use stdio with a `command`, http or sse with a `url`, or sdk with the control channel",
    )
}
