//! Hooks that the real CLI calls: they fire, they arrive, in order, and nothing is in the CLI's way.

use pollux_agent::gemini::hooks::deliver::Place;
use pollux_agent::gemini::hooks::extension::Extension;
use pollux_agent::gemini::hooks::inbox::Inbox;
use pollux_agent::gemini::hooks::settings::Settings;
use pollux_e2e::{Cli, Stage, Terminal, requires, wait_for};
use pollux_rehearsal::Home;
use serde_json::{Value, json};
use std::fs;
use std::time::Duration;

const LIMIT: Duration = Duration::from_mins(1);
const PROGRAM: &str = env!("CARGO_BIN_EXE_pollux");

fn place(stage: &Stage) -> Place {
    let home = stage.home().path();
    Place { socket: home.join("hooks.sock"), spool: home.join("spool.jsonl") }
}

/// The next payload, with the event and the key that it came under.
async fn next(inbox: &Inbox, label: &str) -> Value {
    let line = tokio::time::timeout(LIMIT, inbox.next()).await;
    let line = line.expect(label).unwrap();
    let frame: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(frame["event"], frame["payload"]["hook_event_name"], "{label}");
    assert_eq!(frame["key"], "key-1", "{label}: a variable of ours reaches the hook");
    frame
}

async fn shows(terminal: &Terminal, label: &str, text: &str) {
    wait_for(label, LIMIT, async || {
        let screen = terminal.screen().map_err(|error| error.to_string())?;
        if screen.contains(text) { Ok(()) } else { Err(screen) }
    })
    .await;
}

/// The folder is one that somebody does not trust.
fn distrust(stage: &Stage) {
    let mut settings = Home::settings();
    settings["security"]["folderTrust"]["enabled"] = json!(true);
    let gemini = stage.home().gemini();
    fs::write(gemini.join("settings.json"), settings.to_string()).unwrap();
    let folders = json!({ stage.workspace().display().to_string(): "DO_NOT_TRUST" });
    fs::write(gemini.join("trustedFolders.json"), folders.to_string()).unwrap();
}

#[tokio::test]
async fn an_extensions_hooks_fire_in_a_folder_that_is_not_trusted() {
    requires!(npm, tmux);
    for cli in Cli::some().unwrap() {
        let version = cli.version();
        let stage = Stage::with(&cli, "approval").await.unwrap();
        distrust(&stage);
        Extension::new(&stage.home().gemini()).install(PROGRAM, "0.1.0").unwrap();
        let inbox = Inbox::open(place(&stage)).await.unwrap();
        let socket = place(&stage).socket.display().to_string();
        let env = [
            ("GEMINI_CLI_POLLUX_SOCKET", &*socket),
            ("GEMINI_CLI_POLLUX_KEY", "key-1"),
            ("GEMINI_CLI_TRUST_WORKSPACE", "false"),
        ];
        let args = ["--prompt-interactive", "touch a file"];
        let terminal = Terminal::start_with(&stage, &args, &env, (100, 30)).unwrap();
        let started = next(&inbox, version).await;
        assert_eq!(started["event"], "SessionStart", "{version}");
        assert_eq!(started["payload"]["source"], "startup", "{version}");
        assert_eq!(next(&inbox, version).await["payload"]["prompt"], "touch a file");
        shows(&terminal, version, "Allow execution").await;
        // In 0.36 and later the tool is told of before the question, earlier after the answer.
        let mut told = vec![next(&inbox, version).await];
        if told[0]["event"] == "BeforeTool" {
            told.push(next(&inbox, version).await);
        }
        assert_eq!(told.last().unwrap()["event"], "Notification", "{version}");
        assert_eq!(told.last().unwrap()["payload"]["details"]["type"], "exec", "{version}");
        terminal.press("1").unwrap();
        while told.last().unwrap()["event"] != "AfterTool" {
            told.push(next(&inbox, version).await);
        }
        assert_eq!(told.len(), 3, "{version}: {told:?}");
        assert_eq!(next(&inbox, version).await["event"], "AfterAgent");
        shows(&terminal, version, "Done, or not.").await;
        drop(terminal);
        stage.close().await;
    }
}

#[tokio::test]
async fn hooks_of_settings_fire_in_a_headless_run() {
    requires!(npm);
    for cli in Cli::some().unwrap() {
        let stage = Stage::with(&cli, "greeting").await.unwrap();
        // The CLI brings settings of other versions up to date itself, at its first start.
        stage.headless("hello", &[]).await.unwrap();
        let settings = Settings::new(&stage.home().gemini(), &stage.home().path().join("notes"));
        let before = fs::read_to_string(settings.file()).unwrap();
        settings.install(PROGRAM).unwrap();
        let inbox = Inbox::open(place(&stage)).await.unwrap();
        let mut command = stage.command(&["--prompt", "hello", "--output-format", "stream-json"]);
        command.env("GEMINI_CLI_POLLUX_SOCKET", place(&stage).socket);
        command.env("GEMINI_CLI_POLLUX_KEY", "key-1");
        let (ran, ()) = tokio::join!(command.output(), async {
            for event in ["SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd"] {
                let told = next(&inbox, cli.version()).await;
                assert_eq!(told["event"], event, "{}", cli.version());
            }
        });
        let ran = ran.unwrap();
        assert!(ran.status.success());
        let out = String::from_utf8_lossy(&ran.stdout);
        assert!(out.contains("scripted model."), "{out}");
        settings.uninstall().unwrap();
        assert_eq!(fs::read_to_string(settings.file()).unwrap(), before, "{}", cli.version());
        stage.close().await;
    }
}
