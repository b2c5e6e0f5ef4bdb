//! Hooks: what they are told becomes events, payloads arrive or are spooled, and settings come back to the byte.

use crate::test_data::{recordings, truncate_strings};
use pollux_agent::gemini::hooks::deliver::{
    Delivered, LIMIT, LONGEST_SPOOL, Place, deliver, frame,
};
use pollux_agent::gemini::hooks::extension::Extension;
use pollux_agent::gemini::hooks::inbox::Inbox;
use pollux_agent::gemini::hooks::settings::{Done, Failed, Settings};
use pollux_agent::gemini::hooks::{EVENTS, Translator, events};
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tempfile::TempDir;

#[test]
fn every_recorded_payload_reads_as_it_was_meant() {
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true, snapshot_path => "snapshots/hooks" }, {
        insta::glob!(recordings(), "*/hooks/*.json", |path| {
            let mut out = String::new();
            for event in events(&fs::read_to_string(path).unwrap()) {
                let mut value = serde_json::to_value(&event).unwrap();
                truncate_strings(&mut value);
                writeln!(out, "{value}").unwrap();
            }
            insta::assert_snapshot!(out);
        });
    });
}

#[test]
fn a_call_ends_under_the_id_that_it_began_with() {
    let mut translator = Translator::default();
    let mut ids = Vec::new();
    for (event, command) in
        [("BeforeTool", "one"), ("BeforeTool", "two"), ("AfterTool", "two"), ("AfterTool", "one")]
    {
        let payload = format!(
            r#"{{"session_id":"s","hook_event_name":"{event}","tool_name":"run_shell_command","tool_input":{{"command":"{command}"}},"tool_response":{{"llmContent":"ok"}}}}"#
        );
        let told = translator.payload(&payload);
        ids.push(serde_json::to_value(&told[0]).unwrap()["id"].clone());
    }
    assert_eq!(ids, ["hook-1", "hook-2", "hook-2", "hook-1"]);
}

#[test]
fn what_is_no_payload_is_unread_with_its_text() {
    for text in ["", "not JSON", "[]", "{}", r#"{"hook_event_name":"Later"}"#] {
        let told = Translator::default().payload(text);
        let value = serde_json::to_value(&told[0]).unwrap();
        assert_eq!((&value["type"], &value["text"]), (&"unread".into(), &text.into()));
    }
}

fn place(directory: &TempDir) -> Place {
    let path = directory.path();
    Place { socket: path.join("run/hooks.sock"), spool: path.join("spool/hooks.jsonl") }
}

#[tokio::test]
async fn a_payload_arrives_whole_whatever_is_in_it() {
    let directory = tempfile::tempdir().unwrap();
    let place = place(&directory);
    let inbox = Inbox::open(place.clone()).await.unwrap();
    let mode = fs::metadata(&place.socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let long = "x".repeat(300_000);
    let payload = format!(
        "{{\n  \"hook_event_name\": \"BeforeAgent\",\r\n  \"session_id\": \"s\", \"prompt\": \"{long}\"\n}}\n"
    );
    let line = frame("BeforeAgent", Some("key 1"), payload.as_bytes());
    let sent = tokio::task::spawn_blocking({
        let place = place.clone();
        move || deliver(&line, &place)
    });
    let line = inbox.next().await.unwrap();
    assert_eq!(sent.await.unwrap(), Delivered::Handed);
    let value: Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&value["event"], &value["key"]), (&"BeforeAgent".into(), &"key 1".into()));
    let told = Translator::default().payload(&line);
    assert_eq!(serde_json::to_value(&told[0]).unwrap()["prompt"], *long);
    drop(inbox);
    assert!(!place.socket.exists(), "the socket goes with its owner");
}

#[tokio::test]
async fn what_nobody_took_is_spooled_and_found_by_whoever_comes() {
    let directory = tempfile::tempdir().unwrap();
    let place = place(&directory);
    for n in 0..3 {
        let line = frame("SessionEnd", None, format!("{{\"n\":{n}}}").as_bytes());
        assert_eq!(deliver(&line, &place), Delivered::Spooled);
    }
    let mode = fs::metadata(&place.spool).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let inbox = Inbox::open(place.clone()).await.unwrap();
    let lines = inbox.spooled().unwrap();
    let numbers = lines
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["payload"]["n"].clone());
    assert_eq!(numbers.collect::<Vec<_>>(), [0, 1, 2]);
    assert!(inbox.spooled().unwrap().is_empty(), "a payload is told once");
}

#[tokio::test]
async fn what_was_spooled_and_not_read_to_its_end_is_found_by_the_next_who_comes() {
    let directory = tempfile::tempdir().unwrap();
    let place = place(&directory);
    let line = frame("SessionStart", None, br#"{"session_id":"first"}"#);
    assert_eq!(deliver(&line, &place), Delivered::Spooled);
    // As somebody leaves it who is ended between putting it away and reading it.
    fs::rename(&place.spool, place.spool.with_extension("taken")).unwrap();
    let line = frame("SessionStart", None, br#"{"session_id":"second"}"#);
    assert_eq!(deliver(&line, &place), Delivered::Spooled);
    let lines = Inbox::open(place).await.unwrap().spooled().unwrap();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].contains("first") && lines[1].contains("second"), "{lines:?}");
}

#[tokio::test]
async fn half_a_line_that_a_full_disk_left_spoils_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let place = place(&directory);
    fs::create_dir(place.spool.parent().unwrap()).unwrap();
    fs::write(&place.spool, "{\"event\":\"BeforeAg").unwrap();
    let line = frame("SessionStart", None, br#"{"session_id":"next"}"#);
    assert_eq!(deliver(&line, &place), Delivered::Spooled);
    let lines = Inbox::open(place).await.unwrap().spooled().unwrap();
    assert_eq!(lines.len(), 2, "{lines:?}");
    let value: Value = serde_json::from_str(&lines[1]).unwrap();
    assert_eq!(value["payload"]["session_id"], "next");
}

#[test]
fn the_spool_is_bounded_and_keeps_the_newest() {
    let directory = tempfile::tempdir().unwrap();
    let place = place(&directory);
    let piece = "x".repeat(1_000_000);
    for n in 0..20 {
        let line =
            frame("AfterTool", None, format!("{{\"n\":{n},\"text\":\"{piece}\"}}").as_bytes());
        assert_eq!(deliver(&line, &place), Delivered::Spooled);
    }
    let huge = frame("AfterTool", None, format!("\"{}\"", piece.repeat(5)).as_bytes());
    assert_eq!(deliver(&huge, &place), Delivered::Lost, "one payload is not worth all the others");
    let files = fs::read_dir(place.spool.parent().unwrap()).unwrap();
    let sizes: Vec<u64> = files.map(|file| file.unwrap().metadata().unwrap().len()).collect();
    assert!(sizes.iter().sum::<u64>() <= 2 * LONGEST_SPOOL, "{sizes:?}");
    assert!(fs::read_to_string(&place.spool).unwrap().contains("\"n\":19,"));
}

/// The shortest of a few deliveries: what a busy machine does in between is not our time.
fn quickest(line: &[u8], place: &Place) -> Duration {
    let tries = (0..5).map(|_| {
        let since = Instant::now();
        assert_eq!(deliver(line, place), Delivered::Spooled);
        since.elapsed()
    });
    tries.min().unwrap()
}

#[test]
fn a_listener_that_hangs_costs_no_more_than_the_limit_and_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let place = place(&directory);
    fs::create_dir_all(place.socket.parent().unwrap()).unwrap();
    // It never accepts: short lines fit the socket's buffer, long ones do not, and after a while nobody can connect.
    let _hung = std::os::unix::net::UnixListener::bind(&place.socket).unwrap();
    let long = frame("AfterTool", None, format!("\"{}\"", "x".repeat(2_000_000)).as_bytes());
    let took = quickest(&long, &place);
    assert!(took < LIMIT * 4, "{took:?}");
    let short = frame("SessionEnd", None, b"{}");
    let mut handed = 0;
    while deliver(&short, &place) == Delivered::Handed {
        handed += 1;
        assert!(handed < 10_000, "a queue that nobody empties is full some time");
    }
    let took = quickest(&short, &place);
    assert!(took < LIMIT, "a full queue refuses at once: {took:?}");
}

struct Home {
    directory: TempDir,
}

impl Home {
    fn new(settings: Option<&str>) -> Self {
        let home = Self { directory: tempfile::tempdir().unwrap() };
        fs::create_dir_all(home.gemini()).unwrap();
        if let Some(text) = settings {
            fs::write(home.gemini().join("settings.json"), text).unwrap();
        }
        home
    }

    fn gemini(&self) -> PathBuf {
        self.directory.path().join(".gemini")
    }

    fn settings(&self) -> Settings {
        Settings::new(&self.gemini(), &self.directory.path().join("notes"))
    }

    fn text(&self) -> String {
        fs::read_to_string(self.gemini().join("settings.json")).unwrap()
    }
}

/// Settings as people have them.
const SETTINGS: &[&str] = &[
    "{}",
    "{}\n",
    "{ }",
    "{\n}\n",
    "{\n  \"hooks\": {}\n}\n",
    "{\n  \"hooks\": { \"SessionStart\": [] }\n}\n",
    "{\n  // my colours\n  \"ui\": { \"theme\": \"Dracula\" } // the best\n}\n",
    "{\"ui\":{\"theme\":\"x\"},\"hooks\":{\"BeforeTool\":[{\"matcher\":\"write_file\",\"hooks\":[{\"type\":\"command\",\"command\":\"./guard.sh\"}]}]}}",
    "{\r\n\t\"mcpServers\": {\r\n\t\t\"a\": { \"command\": \"b\" }\r\n\t}\r\n}\r\n",
    "\u{feff}{ \"general\": { \"vimMode\": true } }",
    "/* head */\n{\n    \"hooks\": {\n        // mine\n        \"AfterAgent\": [\n            { \"hooks\": [ { \"type\": \"command\", \"command\": \"say done\" } ] } // aloud\n        ]\n    },\n    \"z\": [1, 2, 3]\n}\n// tail\n\n",
];

#[test]
fn settings_come_back_to_the_byte() {
    for text in SETTINGS {
        let home = Home::new(Some(text));
        assert_eq!(home.settings().install("/opt/pollux").unwrap(), Done::Changed, "{text}");
        assert_ne!(home.text(), **text);
        assert_eq!(
            home.settings().installed().unwrap().as_deref(),
            Some("'/opt/pollux' hook SessionStart")
        );
        assert_eq!(home.settings().install("/opt/pollux").unwrap(), Done::Unchanged, "{text}");
        assert_eq!(home.settings().install("/opt/other").unwrap(), Done::Changed, "{text}");
        assert_eq!(home.settings().uninstall().unwrap(), Done::Restored, "{text}");
        assert_eq!(home.text(), **text);
        assert_eq!(home.settings().uninstall().unwrap(), Done::Unchanged, "{text}");
    }
    let home = Home::new(None);
    assert_eq!(home.settings().install("/opt/pollux").unwrap(), Done::Changed);
    assert_eq!(home.settings().uninstall().unwrap(), Done::Removed);
    assert!(!home.settings().file().exists(), "what was not there is not there again");
}

#[test]
fn comments_and_other_hooks_stay_where_they_are() {
    for text in SETTINGS {
        let home = Home::new(Some(text));
        home.settings().install("/opt/pollux").unwrap();
        let after = home.text();
        let mut rest = after.as_str();
        // Every word of the user is there still, in its order.
        let apart = |char: char| char.is_whitespace() || "{}[],".contains(char);
        for word in text.split(apart).filter(|word| !word.is_empty()) {
            let at = rest.find(word).unwrap_or_else(|| panic!("`{word}` is missing in:\n{after}"));
            rest = rest.get(at + word.len()..).unwrap();
        }
        assert_eq!(after.contains("\r\n"), text.contains("\r\n"), "line ends stay what they are");
    }
    let home = Home::new(Some(SETTINGS[10]));
    home.settings().install("/opt/pollux").unwrap();
    insta::assert_snapshot!("settings_with_hooks", home.text());
}

#[test]
fn what_somebody_changed_since_stays_when_our_hooks_go() {
    for text in SETTINGS {
        let home = Home::new(Some(text));
        home.settings().install("/opt/it's/pollux").unwrap();
        let edited = home.text().replacen('{', "{ \"mine\": 1, ", 1);
        fs::write(home.settings().file(), &edited).unwrap();
        assert_eq!(home.settings().uninstall().unwrap(), Done::Changed, "{text}");
        let left = home.text();
        assert!(left.contains("\"mine\": 1") && !left.contains("pollux"), "{left}");
        assert_eq!(left.contains("\"hooks\""), text.contains("\"hooks\""), "{text}\n{left}");
        assert_eq!(left.contains("guard.sh"), text.contains("guard.sh"));
        assert_eq!(left.matches("//").count(), text.matches("//").count(), "comments stay");
        assert_eq!(home.settings().installed().unwrap(), None);
    }
}

#[test]
fn malformed_settings_are_refused_and_untouched() {
    let wrong = [
        "",
        "[]",
        "null",
        "{",
        "{ \"a\": 1, }",
        "{ 'a': 1 }",
        "{ a: 1 }",
        "{} {}",
        "{ \"hooks\": [] }",
        "{ \"hooks\": { \"AfterTool\": {} } }",
        "{ \"hooks\": {}, \"hooks\": {} }",
        "{ \"a\": 0x1 }",
    ];
    for text in wrong {
        let home = Home::new(Some(text));
        let refused = home.settings().install("/opt/pollux");
        assert!(matches!(refused, Err(Failed::Refused(..))), "{text}: {refused:?}");
        assert_eq!(home.text(), text);
        let files: Vec<_> = fs::read_dir(home.gemini()).unwrap().collect();
        assert_eq!(files.len(), 1, "nothing is left beside it");
    }
}

#[test]
fn hooks_of_an_earlier_program_do_not_come_back_when_the_later_ones_go() {
    let home = Home::new(Some("{\n  \"ui\": {}\n}\n"));
    home.settings().install("/old/pollux").unwrap();
    let file = home.gemini().join("settings.json");
    let edited =
        fs::read_to_string(&file).unwrap().replace("\"ui\": {}", "\"ui\": { \"mine\": 1 }");
    fs::write(&file, edited).unwrap();
    home.settings().install("/new/pollux").unwrap();
    assert_eq!(home.settings().uninstall().unwrap(), Done::Restored);
    assert_eq!(home.settings().installed().unwrap(), None);
    let left: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(left, serde_json::json!({ "ui": { "mine": 1 } }));
}

#[test]
fn a_link_to_settings_stays_a_link_and_its_mode_stays() {
    let home = Home::new(None);
    let real = home.directory.path().join("dotfiles.json");
    fs::write(&real, "{\n}\n").unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    let link = home.gemini().join("settings.json");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    home.settings().install("/opt/pollux").unwrap();
    assert!(link.is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("pollux"));
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    home.settings().uninstall().unwrap();
    assert_eq!(fs::read_to_string(&real).unwrap(), "{\n}\n");
}

#[test]
fn the_extension_is_a_directory_of_its_own() {
    let home = Home::new(Some("{}"));
    let extension = Extension::new(&home.gemini());
    assert_eq!(extension.installed(), None);
    assert!(extension.install("/opt/pollux", "0.1.0").unwrap());
    assert!(!extension.install("/opt/pollux", "0.1.0").unwrap(), "it is there already");
    assert_eq!(extension.installed().as_deref(), Some("'/opt/pollux' hook SessionStart"));
    let hooks = fs::read_to_string(extension.directory().join("hooks/hooks.json")).unwrap();
    let hooks: Value = serde_json::from_str(&hooks).unwrap();
    assert_eq!(hooks["hooks"].as_object().unwrap().len(), EVENTS.len());
    assert_eq!(home.text(), "{}", "no file of the user is changed");
    let others = home.gemini().join("extensions/other");
    fs::create_dir(&others).unwrap();
    assert!(extension.uninstall().unwrap());
    assert!(!extension.directory().exists() && others.exists());
    fs::remove_dir(&others).unwrap();
    assert!(extension.install("/opt/pollux", "0.1.0").unwrap());
    assert!(extension.uninstall().unwrap());
    assert!(!home.gemini().join("extensions").exists(), "what was made for it goes with it");
    fs::create_dir_all(extension.directory()).unwrap();
    fs::write(
        extension.directory().join("gemini-extension.json"),
        r#"{"name":"pollux","version":"9"}"#,
    )
    .unwrap();
    assert!(
        extension.install("/opt/pollux", "0.1.0").is_err(),
        "somebody else's extension is not overwritten"
    );
    assert!(!extension.uninstall().unwrap(), "nor removed");
}

#[test]
fn an_extension_that_was_only_half_written_is_written_to_its_end() {
    let home = Home::new(Some("{}"));
    let extension = Extension::new(&home.gemini());
    extension.install("/opt/pollux", "0.1.0").unwrap();
    let manifest = extension.directory().join("gemini-extension.json");
    fs::rename(&manifest, manifest.with_file_name(".gemini-extension.json.77.pollux")).unwrap();
    assert!(extension.install("/opt/pollux", "0.1.0").unwrap());
    assert!(extension.installed().is_some());
    // What somebody else keeps there is theirs, with or without a manifest.
    fs::remove_file(&manifest).unwrap();
    fs::write(extension.directory().join("notes.md"), "mine").unwrap();
    assert!(extension.install("/opt/pollux", "0.1.0").is_err());
}

/// The events of some payloads, as JSON.
fn told(payloads: &str) -> Vec<Value> {
    events(payloads).iter().map(|event| serde_json::to_value(event).unwrap()).collect()
}

#[test]
fn an_edit_that_failed_is_not_told_as_made_and_its_arguments_are_the_models() {
    let told = told(
        r#"{"hook_event_name":"BeforeTool","session_id":"s","tool_name":"replace","tool_input":{"file_path":"a","old_string":"x","new_string":"y","allow_multiple":true}}
{"hook_event_name":"AfterTool","session_id":"s","tool_name":"replace","tool_input":{"file_path":"a","old_string":"x","new_string":"y","allow_multiple":true},"tool_response":{"llmContent":"no \ud83d match","error":{"type":"edit_no_occurrence_found"}}}"#,
    );
    assert_eq!(told[0]["input"]["allow_multiple"], true, "{told:#?}");
    assert_eq!(told[1]["status"], "error");
    assert_eq!(told[1]["error"], r#"{"type":"edit_no_occurrence_found"}"#);
    assert!(told[1]["output"].as_str().unwrap().starts_with("no "));
    assert_eq!((&told[1]["meaning"]["path"], told[1]["meaning"].get("diff")), (&"a".into(), None));
}

#[test]
fn a_payload_is_read_as_far_as_it_can_be() {
    let told = told(
        r#"{"event":"BeforeAgent","key":null,"payload":{"session_id":"s","prompt":[{"text":"as a list"}]}}
{"hook_event_name":"Notification","session_id":"s","notification_type":"SomethingNew","message":"m"}
{"hook_event_name":"Notification","session_id":"s","notification_type":"ToolPermission","message":"m","details":{"type":"edit","title":"t","filePath":"/a"}}"#,
    );
    assert_eq!(
        (&told[0]["type"], &told[0]["prompt"]),
        (&"turn_started".into(), &"as a list".into())
    );
    assert_eq!(told[1]["type"], "unread");
    let derived = told[2]["meaning"]["derived"].as_object().unwrap();
    assert_eq!(derived.keys().collect::<Vec<_>>(), ["path"]);
}
