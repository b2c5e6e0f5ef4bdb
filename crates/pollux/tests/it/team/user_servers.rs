//! The server of Pollux beside what the user's own settings say of MCP servers.

use super::house::{NEWEST, Team};
use pollux_e2e::{Cli, requires};
use serde_json::json;
use std::fs;

const SCRIPT: &str = "
    [[rule]]
    prompt = 'tell the person'
    reply = [{ call = 'send_message', args = { message = 'it is done' } }]
    [[rule]]
    tool = 'send_message'
    reply = 'I have written.'
";

/// An agent over ACP sends a message although the user has these settings. Returns what the model
/// was told.
async fn sends_a_message(version: &str, own: &str) -> String {
    let mut team = Team::on(version, SCRIPT).await;
    let settings = team.stage.home().gemini().join("settings.json");
    let text = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, text.replacen('{', &format!("{{ {own},"), 1)).unwrap();
    team.look();
    let job = team.handoff("developer", "tell the person", json!({})).await;
    assert_eq!(job["result"]["text"], "I have written.", "{version}: {job}");
    let letters = team.house.get("/api/v1/letters").await;
    assert_eq!(letters["letters"][0]["text"], "it is done", "{version}: {letters}");
    let turns = team.stage.rehearsal().journal().turns();
    team.close().await;
    turns.first().map(ToString::to_string).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_over_acp_has_its_tools_also_where_the_user_lets_in_other_servers_only() {
    requires!(npm);
    for version in [&Cli::versions()[0], NEWEST] {
        sends_a_message(version, "\"mcp\": { \"allowed\": [\"mine\"] }").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_over_acp_keeps_a_server_of_the_users_that_has_the_name_of_ours() {
    requires!(npm);
    let own = "\"mcpServers\": { \"pollux\": { \"command\": \"$NOWHERE\" } }, \"mcp\": { \"excluded\": [\"pollux\"] }";
    for version in [&Cli::versions()[0], NEWEST] {
        let told = sends_a_message(version, own).await;
        assert!(told.contains("mcp_pollux-2_send_message"), "{version}: {told}");
    }
}
