//! Claude's own readers read what `--transcripts` writes.

use super::{exe, sdk};
use crate::run::{Place, stderr, stdout};
use assert_cmd::Command;
use pollux_e2e::pinned::CCUSAGE;
use pollux_e2e::{repository, requires};
use serde_json::Value;
use std::path::Path;

fn node(claude: &Path, args: &[&Path]) -> Vec<Value> {
    let ran = Command::new("node").args(args).env("CLAUDE_CONFIG_DIR", claude).output().unwrap();
    let said = stdout(&ran);
    let read = serde_json::from_str(&said).map(|all| vec![all]);
    let lines = || said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let read = read.unwrap_or_else(|_| lines());
    assert!(!read.is_empty(), "{}", stderr(&ran));
    read
}

#[test]
fn ccusage_and_the_sdks_own_listing_read_them_with_the_right_tokens() {
    requires!(npm);
    let place = Place::newest();
    let claude = place.root().join("dot-claude");
    let mut command = place.rehearse("greeting", &exe(&place).display().to_string());
    let projects = claude.join("projects");
    command.args(["-p", "hello", "--output-format", "json", "--transcripts"]).arg(projects);
    let ran = command.env("GEMINI_CLI_PATH", place.program()).output().unwrap();
    let result: Value = serde_json::from_str(&stdout(&ran)).unwrap();
    let usage = &result["usage"];

    let ccusage = CCUSAGE.npm().unwrap().join("node_modules/.bin/ccusage");
    let flags = ["claude", "daily", "--json", "--offline"].map(Path::new);
    let sums = node(&claude, &[&[ccusage.as_path()], flags.as_slice()].concat()).remove(0);
    let sums = &sums["totals"];
    assert_eq!(sums["inputTokens"], usage["input_tokens"]);
    assert_eq!(sums["outputTokens"], usage["output_tokens"]);
    assert_eq!(sums["cacheReadTokens"], usage["cache_read_input_tokens"]);
    assert_eq!(sums["totalTokens"], 1234 + 45 + 7);

    let list = repository().join("crates/pollux/tests/it/claude/list.mjs");
    let sdk = sdk().join("@anthropic-ai/claude-agent-sdk/sdk.mjs");
    let listed = node(&claude, &[&list, &sdk, &place.work().canonicalize().unwrap()]);
    assert_eq!(listed[0]["sessionId"], result["session_id"], "{listed:#?}");
    assert_eq!(
        (&listed[0]["firstPrompt"], &listed[0]["types"]),
        (&"hello".into(), &serde_json::json!(["user", "assistant"]))
    );
}
