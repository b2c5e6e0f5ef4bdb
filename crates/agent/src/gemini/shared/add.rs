//! A server as this version of the CLI writes it down: by the CLI's own `mcp add`, in a home that is nobody's.
//!
//! Not in the user's: there `mcp add` and `mcp remove` write the whole list of servers anew, with the values of variables
//! where the user had written their names, and with settings of old by their new names.

use crate::acp::{McpServer, Transport};
use crate::gemini::apart::HOME;
use crate::gemini::cli::Cli;
use crate::gemini::servers::map;
use crate::model::{Failure, Phase};
use crate::process::Program;
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// It starts in two or three seconds; on a machine that is busy in many more.
const PATIENCE: Duration = Duration::from_mins(1);

/// 0.34 wants to know how somebody signs in before it writes anything down. Nobody does.
const SIGNED_IN: &str = r#"{"security":{"auth":{"selectedType":"gemini-api-key"}}}"#;

/// Runs `mcp add` in `scratch`, and gives what it wrote. A server that is `trusted` is never asked about.
pub async fn add(
    cli: &Cli,
    server: &McpServer,
    trusted: bool,
    scratch: &Path,
    env: &[(OsString, OsString)],
) -> Result<Value, Failure> {
    let failed = |why: String| {
        let message = format!("`gemini mcp add` did not add `{}`: {why}", server.name());
        Failure::new(Phase::Start, "not_added", message)
            .hint("run `gemini mcp add` yourself to see its output")
    };
    let gemini = scratch.join(".gemini");
    if !gemini.exists() {
        let made = fs::create_dir_all(&gemini);
        let made = made.and_then(|()| fs::write(gemini.join("settings.json"), SIGNED_IN));
        made.map_err(|error| failed(error.to_string()))?;
    }
    let mut program = Program::new(&cli.path, scratch).args(arguments(server, trusted));
    for (name, value) in env {
        program = program.env(name, value);
    }
    // A CLI that does not know the one takes the other.
    program = program.env(HOME, scratch).env("HOME", scratch);
    program = program.env("GEMINI_CLI_NO_RELAUNCH", "true").env("GEMINI_API_KEY", "none");
    let mut child = program.spawn().map_err(|error| failed(error.to_string()))?;
    let ended = tokio::time::timeout(PATIENCE, child.wait()).await;
    let said = child.close().await;
    let settings = fs::read_to_string(gemini.join("settings.json")).unwrap_or_default();
    let settings: Value = serde_json::from_str(&settings).unwrap_or_default();
    match settings.get("mcpServers").and_then(|list| list.get(server.name())) {
        Some(entry) => Ok(filled(entry.clone(), server)),
        None if ended.is_err() => Err(failed("it did not finish".to_owned())),
        None => Err(failed(said.lines().last().unwrap_or("it printed nothing").to_owned())),
    }
}

/// Lists swallow the words that follow them: what is no list stands behind them. No value is said, because everybody on
/// this machine can read what a process was called with.
fn arguments(server: &McpServer, trusted: bool) -> Vec<String> {
    let mut words = vec!["mcp".to_owned(), "add".to_owned()];
    let mut say = |flag: &str, value: String| words.extend([flag.to_owned(), value]);
    match server {
        McpServer::Stdio { env, .. } => {
            for one in env {
                say("-e", format!("{0}=${{{0}}}", one.name));
            }
        }
        McpServer::Remote { headers, transport, .. } => {
            for one in headers {
                say("-H", format!("{}: value", one.name));
            }
            let transport = match transport {
                Transport::Http => "http",
                Transport::Sse => "sse",
            };
            say("--transport", transport.to_owned());
        }
    }
    if trusted {
        say("--trust", "true".to_owned());
    }
    say("--scope", "user".to_owned());
    match server {
        McpServer::Stdio { name, command, args, .. } => {
            words.extend([name.clone(), command.display().to_string(), "--".to_owned()]);
            words.extend(args.iter().cloned());
        }
        McpServer::Remote { name, url, .. } => words.extend([name.clone(), url.clone()]),
    }
    words
}

/// With the values, which were not said.
fn filled(mut entry: Value, server: &McpServer) -> Value {
    match server {
        McpServer::Stdio { args, env, .. } => {
            entry["args"] = args.clone().into();
            entry["env"] = map(env).into();
        }
        McpServer::Remote { headers, .. } => entry["headers"] = map(headers).into(),
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::{arguments, filled};
    use crate::acp::{McpServer, Transport, Variable};
    use serde_json::json;

    fn program() -> McpServer {
        let env = vec![Variable { name: "KEY".into(), value: "secret=1".into() }];
        let args = vec!["--in".to_owned(), "here".to_owned()];
        McpServer::Stdio { name: "docs".into(), command: "/bin/docs".into(), args, env }
    }

    #[test]
    fn what_is_said_on_a_command_line_is_no_secret_and_what_is_written_is_whole() {
        let words = arguments(&program(), true).join(" ");
        let expected =
            "mcp add -e KEY=${KEY} --trust true --scope user docs /bin/docs -- --in here";
        assert_eq!(words, expected);
        let entry = filled(json!({ "command": "/bin/docs" }), &program());
        assert_eq!(entry["env"]["KEY"], "secret=1");
        assert_eq!(entry["args"], json!(["--in", "here"]));
        let headers = vec![Variable { name: "Authorization".into(), value: "Bearer x".into() }];
        let (name, url) = ("far".to_owned(), "http://far".to_owned());
        let remote = McpServer::Remote { transport: Transport::Sse, name, url, headers };
        let words = arguments(&remote, false).join(" ");
        assert_eq!(
            words,
            "mcp add -H Authorization: value --transport sse --scope user far http://far"
        );
        assert_eq!(filled(json!({}), &remote)["headers"]["Authorization"], "Bearer x");
    }
}
