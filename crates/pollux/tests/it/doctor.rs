//! `pollux doctor` as a user calls it.

use assert_cmd::Command;
use pollux_e2e::{Cli, requires};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tempfile::TempDir;

fn pollux(place: &Path) -> Command {
    let mut command = Command::cargo_bin("pollux").unwrap();
    command.current_dir(place).env("NO_COLOR", "1").env("HOME", place);
    command.env("POLLUX_TMUX", place.join("tmux")).env("GEMINI_CLI_HOME", place);
    for name in ["XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"] {
        command.env_remove(name);
    }
    command
}

fn findings(command: &mut Command) -> Vec<Value> {
    let ran = command.args(["doctor", "--json"]).output().unwrap();
    serde_json::from_slice(&ran.stdout).unwrap()
}

fn clean_findings(place: &Path) -> Vec<Value> {
    let ran = pollux(place).args(["doctor", "--clean", "--json"]).output().unwrap();
    serde_json::from_slice(&ran.stdout).unwrap()
}

fn health(findings: &[Value], what: &str) -> (String, String) {
    let found = findings.iter().find(|finding| finding["what"] == what);
    let found = found.ok_or_else(|| format!("nothing of {what} in {findings:?}")).unwrap();
    let text = |name: &str| found[name].as_str().unwrap_or_default().to_owned();
    (text("health"), text("found") + " / " + &text("hint"))
}

#[test]
fn with_an_agent_a_key_and_hooks_that_answer_nothing_is_broken() {
    requires!(npm, tmux);
    let cli = Cli::last().unwrap();
    let place = TempDir::new().unwrap();
    let agent = || {
        let mut command = pollux(place.path());
        command.env("GEMINI_CLI_PATH", cli.program()).env("GEMINI_API_KEY", "anything");
        command
    };
    agent().args(["hooks", "install"]).assert().success();
    let found = findings(&mut agent());
    for what in ["Gemini CLI", "sign-in", "settings", "tmux", "daemon", "file permissions"] {
        assert_eq!(health(&found, what).0, "well", "{what}: {found:?}");
    }
    let (health, told) = health(&found, "hooks");
    assert!(health != "broken" && told.contains("respond in"), "{told}");
    agent().arg("doctor").assert().success();
}

#[test]
fn a_port_that_somebody_else_has_is_said_before_the_daemon_wants_it() {
    let place = TempDir::new().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let look = || health(&findings(pollux(place.path()).env("POLLUX_PORT", &port)), "port");
    let (sign, told) = look();
    assert!(sign == "broken" && told.contains(&port) && told.contains("--port"), "{told}");
    drop(taken);
    let (sign, told) = look();
    assert!(sign == "well" && told.contains("is free"), "{told}");
}

#[test]
fn hooks_that_call_a_program_that_is_gone_are_broken() {
    let place = TempDir::new().unwrap();
    pollux(place.path()).args(["hooks", "install"]).assert().success();
    let file = place.path().join(".gemini/extensions/pollux/hooks/hooks.json");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("/pollux' hook "), "{text}");
    fs::write(&file, text.replace("/pollux' hook ", "/moved/pollux' hook ")).unwrap();
    let (health, told) = health(&findings(&mut pollux(place.path())), "hooks");
    assert!(health == "broken" && told.contains("pollux hooks install"), "{told}");
}

#[test]
fn each_thing_that_is_wrong_is_said_with_what_to_do() {
    let place = TempDir::new().unwrap();
    let gemini = place.path().join(".gemini");
    let daemon = place.path().join(".local/share/pollux/daemon");
    fs::create_dir_all(&gemini).unwrap();
    fs::create_dir_all(daemon.join("lent/left-by-a-crash")).unwrap();
    fs::write(gemini.join("settings.json"), "{ not settings").unwrap();
    fs::write(daemon.join("token"), "secret").unwrap();
    fs::set_permissions(daemon.join("token"), fs::Permissions::from_mode(0o644)).unwrap();
    let mut command = pollux(place.path());
    let found = findings(command.env("PATH", "/nowhere").env_remove("GEMINI_API_KEY"));
    for (what, hint) in [
        ("Gemini CLI", "npm install"),
        ("sign-in", "GEMINI_API_KEY"),
        ("settings", "fix the file"),
        ("file permissions", "chmod go-rwx"),
    ] {
        let (health, told) = health(&found, what);
        assert!(health == "broken" && told.contains(hint), "{what}: {told}");
    }
    assert!(health(&found, "tmux").1.contains("install tmux"));
    assert!(health(&found, "hooks").1.contains("pollux hooks install"));
    assert!(health(&found, "temporary agent files").1.contains("1 of agents that have ended"));
    pollux(place.path()).args(["doctor", "--clean"]).output().unwrap();
    assert!(!daemon.join("lent/left-by-a-crash").exists(), "it was swept away");
}

/// The commands in a hint, each between backticks.
fn commands(hint: &str) -> Vec<&str> {
    hint.split('`').skip(1).step_by(2).collect()
}

#[test]
fn files_that_an_older_pollux_did_not_restore_are_reported_with_the_commands_that_restore_them() {
    let place = TempDir::new().unwrap();
    let (shop, gemini) = (place.path().join("the shop's"), place.path().join(".gemini"));
    let daemon = place.path().join(".local/share/pollux/daemon");
    let state = daemon.join("shared");
    for directory in [&shop, &gemini, &state] {
        fs::create_dir_all(directory).unwrap();
    }
    let (rules, settings) = (shop.join("GEMINI.md"), gemini.join("settings.json"));
    let note = json!({ "files": [
        { "path": rules, "mode": 0o644, "ours": { "role": "You are the tester." } },
        { "path": settings, "mode": null, "ours": { "servers": [["pollux", {}]] } },
    ] });
    let before = [
        (rules.clone(), "# Mine\n\nYou are the tester.\n".to_owned()),
        (settings.clone(), r#"{"mcpServers":{"pollux":{}}}"#.to_owned()),
        (state.join("0.before"), "# Mine\n".to_owned()),
        (state.join("lent.json"), note.to_string()),
    ];
    for (path, text) in &before {
        fs::write(path, text).unwrap();
    }
    let found = clean_findings(place.path());
    let (sign, told) = health(&found, "unrestored files");
    assert_eq!(sign, "warning", "{told}");
    assert!(told.contains("GEMINI.md") && told.contains("settings.json"), "{told}");
    assert!(told.contains(&format!("delete {}", state.display())), "{told}");
    pollux(place.path()).args(["serve", "--detach", "--port", "0"]).assert().success();
    pollux(place.path()).args(["serve", "down"]).assert().success();
    let log = fs::read_to_string(daemon.join("daemon.log")).unwrap();
    assert!(log.contains("an older Pollux changed"), "{log}");
    for (path, text) in &before {
        assert_eq!(&fs::read_to_string(path).unwrap(), text, "{} is unchanged", path.display());
    }
    for command in commands(&told) {
        Command::new("/bin/sh").args(["-c", command]).assert().success();
    }
    assert_eq!(fs::read_to_string(&rules).unwrap(), "# Mine\n");
    assert!(!settings.exists());
    fs::remove_dir_all(&state).unwrap();
    let (_, told) = health(&findings(&mut pollux(place.path())), "unrestored files");
    assert!(told.starts_with("none"), "{told}");
}

#[test]
fn it_is_said_whether_browsers_can_be_called_at_the_address_of_the_daemon() {
    for (flags, wanted, says) in [
        (&["--port", "0"][..], "well", "on this machine"),
        (&["--port", "0", "--bind", "0.0.0.0"], "warning", "--certificate"),
        (
            &["--port", "0", "--bind", "0.0.0.0", "--behind-proxy", "https://pollux.example.com"],
            "well",
            "https://pollux.example.com",
        ),
    ] {
        let place = TempDir::new().unwrap();
        let before = findings(&mut pollux(place.path()));
        assert!(health(&before, "browser notifications").1.contains("not running"));
        pollux(place.path()).args(["serve", "--detach"]).args(flags).assert().success();
        let found = findings(&mut pollux(place.path()));
        let paired = pollux(place.path()).arg("pair").output().unwrap();
        pollux(place.path()).args(["serve", "down"]).assert().success();
        let (health, told) = health(&found, "browser notifications");
        assert!(health == wanted && told.contains(says), "{flags:?}: {health} {told}");
        let warned = String::from_utf8_lossy(&paired.stdout).contains("need a trusted one");
        assert_eq!(warned, wanted == "warning", "{flags:?}");
    }
}
