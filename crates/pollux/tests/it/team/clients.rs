//! MCP clients that others wrote: the official TypeScript SDK and the inspector, over both transports.

use super::house::{NEWEST, Team};
use pollux::team::tools::OWN_TOOLS;
use pollux_e2e::pinned::{MCP_INSPECTOR, MCP_SDK};
use pollux_e2e::{repository, requires};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::{Command, Output};

const SCRIPT: &str = "
    [[rule]]
    prompt = 'take your time'
    reply = ['One.', { pause = '6s' }, ' Two.']
    [[rule]]
    prompt = 'say two words'
    reply = 'One. Two.'
    [[rule]]
    prompt = 'say one word'
    reply = ['Wo', { pause = '3s' }, 'rd.']
";

async fn ran(mut command: Command) -> Output {
    tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap()
}

#[expect(clippy::disallowed_methods, reason = "it is run by `ran`")]
fn program(path: impl AsRef<std::ffi::OsStr>) -> Command {
    Command::new(path)
}

/// Where a client finds the server, over HTTP or stdio.
fn place(team: &Team, transport: &str) -> Value {
    json!({ "transport": transport, "cwd": team.stage.workspace(), "url": format!("{}/mcp", team.house.origin), "token": team.house.token,
        "program": env!("CARGO_BIN_EXE_pollux"), "socket": socket(team) })
}

fn socket(team: &Team) -> String {
    let place = pollux::daemon::instance::Place::new(team.house.directory.path());
    place.socket().display().to_string()
}

/// Where the SDK is.
pub(crate) fn sdk_home() -> PathBuf {
    let home = MCP_SDK.npm().unwrap();
    home.join("node_modules/@modelcontextprotocol/sdk")
}

/// What the SDK's client heard.
async fn sdk(team: &Team, transport: &str, calls: Value) -> Vec<Value> {
    let mut plan = place(team, transport);
    plan["calls"] = calls;
    let mut command = program("node");
    command.arg(repository().join("crates/pollux/tests/it/team/client.mjs"));
    command.arg(sdk_home()).arg(plan.to_string());
    let ran = ran(command).await;
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let text = String::from_utf8(ran.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn at<'h>(heard: &'h [Value], at: &str) -> Vec<&'h Value> {
    heard.iter().filter(|line| line["at"] == at).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_official_sdk_hands_off_over_both_transports_and_loses_nothing_when_it_gives_up() {
    requires!(npm);
    let team = Team::on(NEWEST, SCRIPT).await;
    for transport in ["http", "stdio"] {
        // Over stdio it works where its client was started.
        let cwd = (transport == "http").then(|| team.stage.workspace());
        let job = |message: &str| json!({ "agent_profile": "developer", "message": message, "working_directory": cwd });
        let calls = json!([
            ["find_profiles", { "query": "review" }],
            ["load_skill", { "name": "none" }],
            ["handoff", job(if transport == "http" { "take your time" } else { "say two words" })],
            ["handoff", job("say one word"), 1500],
        ]);
        let heard = sdk(&team, transport, calls).await;
        assert_eq!(at(&heard, "server")[0]["server"]["name"], "pollux", "{transport}");
        assert_eq!(at(&heard, "tools")[0]["names"], json!(OWN_TOOLS), "{transport}");
        let results = at(&heard, "result");
        let text = |index: usize| results[index]["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text(0).starts_with("reviewer: "), "{transport}: {heard:#?}");
        assert_eq!(results[1]["result"]["isError"], true, "{transport}");
        assert_eq!(text(2), "One. Two.", "{transport}: {heard:#?}");
        let progress = at(&heard, "progress").len();
        assert!(progress > 0 || transport == "stdio", "it is said that it goes on: {heard:#?}");
        assert_eq!(at(&heard, "error").len(), 1, "{transport}: it gave up: {heard:#?}");
        let path = "/api/v1/jobs";
        let ended = |all: &Value| {
            let jobs = all["jobs"].as_array().unwrap();
            jobs.iter().all(|job| job["state"] == "done")
        };
        let all = team.wait_for("what was given up is done", path, ended).await;
        let id = all["jobs"][0]["id"].clone();
        let heard = sdk(&team, transport, json!([["job_result", { "job": id }]])).await;
        let result = &at(&heard, "result")[0]["result"];
        assert_eq!(result["content"][0]["text"], "Word.", "{transport}: {heard:#?}");
        assert_eq!(result["structuredContent"]["state"], "done", "{transport}");
    }
    team.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_inspector_lists_and_calls_tools_over_both_transports() {
    requires!(npm);
    let team = Team::on(NEWEST, SCRIPT).await;
    let home = MCP_INSPECTOR.npm().unwrap();
    let inspect = async |transport: &str, method: &[&str]| {
        let mut command = program(home.join("node_modules/.bin/mcp-inspector"));
        command.arg("--cli");
        if transport == "http" {
            let bearer = format!("Authorization: Bearer {}", team.house.token);
            command.arg(format!("{}/mcp", team.house.origin)).args(["--transport", "http"]);
            command.args(["--header", &bearer]);
        } else {
            command.args(["-e", &format!("POLLUX_SOCKET={}", socket(&team))]);
            command.args([env!("CARGO_BIN_EXE_pollux"), "mcp"]);
        }
        let ran = ran({
            command.args(method);
            command
        })
        .await;
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        let parsed: Result<Value, _> = serde_json::from_str(&said);
        parsed.unwrap_or_else(
            |_| json!({ "said": said, "stderr": String::from_utf8_lossy(&ran.stderr) }),
        )
    };
    for transport in ["http", "stdio"] {
        let listed = inspect(transport, &["--method", "tools/list"]).await;
        let tools = listed["tools"].as_array().ok_or_else(|| listed.clone()).unwrap();
        assert_eq!(tools.len(), OWN_TOOLS.len(), "{transport}");
        let call = [
            "--method",
            "tools/call",
            "--tool-name",
            "find_profiles",
            "--tool-arg",
            "query=review",
        ];
        let called = inspect(transport, &call).await;
        let text = called["content"][0]["text"].as_str().unwrap_or_default();
        assert!(text.starts_with("reviewer: "), "{transport}: {called:#}");
    }
    team.close().await;
}
