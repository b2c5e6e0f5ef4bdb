//! What must never be written down: nothing of it is in the log, the journal or any other file; and what is written is
//! nobody else's to read.

use super::user::User;
use pollux_e2e::wait_until;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The variable that the agent signs in with.
const KEY: &str = "AIza-not-to-be-written-anywhere-0123456789";

/// A headless agent that says a word.
const AGENT: &str = r#"#!/bin/sh
[ "$1" = --version ] && echo 0.61.0 && exit
echo '{"type":"init","session_id":"11111111-2222-4333-8444-555555555555","model":"auto"}'
echo '{"type":"message","role":"assistant","content":"Hi there.","delta":true}'
echo '{"type":"result","status":"success"}'
"#;

/// A user with a daemon that says all it can about itself, and that ends with the value.
struct Home(User);

impl Home {
    fn call(&self, line: &str) -> Value {
        let mut command = self.0.command(line);
        command.env("POLLUX_LOG", "trace").env("GEMINI_API_KEY", KEY).env("PATH", "/usr/bin:/bin");
        command.env("GEMINI_CLI_PATH", self.0.path().join("gemini"));
        command.env("POLLUX_TMUX", self.0.path().join("tmux.sock")).env("POLLUX_PORT", "0");
        let ran = assert_cmd::Command::from_std(command).timeout(Duration::from_mins(1)).output();
        let ran = ran.unwrap();
        let said = String::from_utf8(ran.stdout).unwrap();
        assert!(ran.status.success(), "{line}: {}", String::from_utf8_lossy(&ran.stderr));
        serde_json::from_str(&said).unwrap_or(Value::String(said))
    }

    fn data(&self) -> PathBuf {
        self.0.path().join("data")
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ended = self.0.run("serve down");
    }
}

fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        found.push(path.clone());
        if path.is_dir() {
            files(&path, found);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_token_no_cookie_no_code_and_no_key_is_written_down() {
    let home = Home(User::new());
    let agent = home.0.path().join("gemini");
    fs::write(&agent, AGENT).unwrap();
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
    home.call("serve --detach");
    let mut secrets = vec![("the API key", KEY.to_owned())];
    let token = fs::read_to_string(home.data().join("pollux/daemon/token")).unwrap();
    secrets.push(("the owner's token", token.trim().to_owned()));
    // One device with a token, one with a cookie, and one that guesses.
    let client = super::daemon::house::client();
    for origin in [false, true] {
        let pair = home.call("pair --json --scopes view,prompt");
        let code = pair["code"].as_str().unwrap().to_owned();
        let url = pair["urls"][0].as_str().unwrap().split("/#").next().unwrap().to_owned();
        let post = |code: &str| {
            let request = client.post(format!("{url}/api/v1/pair")).json(&json!({ "code": code }));
            if origin { request.header("origin", &url) } else { request }
        };
        assert_eq!(post("WRONGONE").send().await.unwrap().status(), 401);
        let answer = post(&code).send().await.unwrap();
        let cookie = answer.headers().get("set-cookie").map(|it| it.to_str().unwrap().to_owned());
        let body: Value = answer.json().await.unwrap();
        let cookie = cookie.map(|it| it.split(['=', ';']).nth(1).unwrap().to_owned());
        let credential = cookie.or(body["token"].as_str().map(str::to_owned)).unwrap();
        let me = client.get(format!("{url}/api/v1/me")).bearer_auth(&credential).send().await;
        let expected = if origin { [200, 401].as_slice() } else { [200].as_slice() };
        assert!(expected.contains(&me.unwrap().status().as_u16()));
        secrets.push(("a pairing code", code));
        secrets.push(("a credential of a device", credential));
    }
    home.call("new --driver headless --mode yolo hello");
    let log = home.data().join("pollux/daemon/daemon.log");
    wait_until("a session that was worked on", Duration::from_mins(1), || {
        home.call("ls --json")[0]["messages"].as_u64() > Some(0)
            || home.call("ls --json")[0]["status"] == "idle"
    })
    .await;
    assert!(fs::metadata(log).unwrap().len() > 100, "the daemon says something about itself");
    home.call("serve down");

    // Nobody else gets past the directory; what is worth most is closed by itself too.
    for name in ["pollux/daemon", "pollux/daemon/token"] {
        let mode = fs::metadata(home.data().join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode & 0o077, 0, "others can read {name}: {mode:o}");
    }
    let mut all = Vec::new();
    files(&home.data(), &mut all);
    assert!(all.len() > 4, "{all:?}");
    for path in all {
        if path.is_dir() || path.ends_with("daemon/token") {
            continue;
        }
        let bytes = fs::read(&path).unwrap_or_default();
        for (what, secret) in &secrets {
            let there = bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
            assert!(!there, "{what} is in {}", path.display());
        }
    }
}
