//! Claude's own types, held against what its SDK received.

use super::{drive, sdk};
use crate::run::Place;
use assert_cmd::Command;
use pollux_e2e::pinned::TYPESCRIPT;
use pollux_e2e::{repository, requires};
use serde_json::json;
use std::fs;

#[test]
fn every_message_is_one_that_claudes_types_allow() {
    requires!(npm);
    let place = Place::newest();
    let options = json!({ "includePartialMessages": true });
    let allow = json!({ "*": { "behavior": "allow" } });
    let edit = json!({ "prompt": "edit the greeting", "options": options, "decide": allow });
    let change = json!({ "*": { "behavior": "allow", "updatedInput": { "command": "ls" } } });
    let refused = json!({ "prompt": "touch a file", "options": options, "decide": change });
    let failed = json!({ "prompts": ["be refused"] });
    let mut all = Vec::new();
    for (script, plan) in [("edit", edit), ("approval", refused), ("error-400", failed)] {
        all.extend(drive(&place, script, &plan).messages().into_iter().cloned());
    }
    assert!(all.len() > 20);
    let directory = place.root().join("types");
    fs::create_dir(&directory).unwrap();
    std::os::unix::fs::symlink(sdk(), directory.join("node_modules")).unwrap();
    let check = repository().join("crates/pollux/tests/it/claude/check.ts");
    fs::copy(check, directory.join("check.ts")).unwrap();
    let head = "import type { SDKMessage } from \"@anthropic-ai/claude-agent-sdk\";\nexport const messages: SDKMessage[] =";
    let messages = serde_json::to_string_pretty(&all).unwrap();
    fs::write(directory.join("received.ts"), format!("{head} {messages};\n")).unwrap();
    fs::write(directory.join("package.json"), r#"{ "type": "module" }"#).unwrap();
    let compiler = TYPESCRIPT.npm().unwrap();
    let flags = "--noEmit --strict --skipLibCheck --target es2022 --module nodenext --moduleResolution nodenext check.ts";
    let ran = Command::new("node")
        .arg(compiler.join("node_modules/typescript/bin/tsc"))
        .args(flags.split(' '))
        .current_dir(&directory)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    let said: String = said.lines().take(40).collect::<Vec<_>>().join("\n");
    assert!(ran.status.success(), "{said}");
}
