//! What the model was told, in every version, recording and replaying, and what is left behind: with the real CLI.

use pollux_e2e::{Cli, Stage, outline, repository, requires, script};
use pollux_rehearsal::{Entry, Event, Home, Options, Rehearsal, Script};
use serde_json::{Value, json};
use std::fs;

#[tokio::test]
async fn the_journal_tells_what_the_model_was_told() {
    requires!(npm);
    for cli in Cli::all().unwrap() {
        let stage = Stage::with(&cli, "chain").await.unwrap();
        stage.headless("do it in three steps", &["--yolo"]).await.unwrap();
        let journal = stage.rehearsal().journal();
        let results: Vec<(String, String)> = journal.results();
        let tools: Vec<&str> = results.iter().map(|(tool, _)| tool.as_str()).collect();
        assert_eq!(tools, ["read_file", "replace", "run_shell_command"], "{}", cli.version());
        assert_eq!(results[0].1, "hello world\nsecond line\n");
        assert!(results[2].1.contains("hello chained world"), "{results:?}");
        let turns = journal.turns();
        let told = turns[0]["systemInstruction"].to_string();
        assert!(told.contains("Gemini CLI"), "{told}");
        assert_eq!(journal.prompts()[0], "do it in three steps");
        stage.close().await;
    }
}

#[tokio::test]
async fn tools_of_an_mcp_server_are_offered_called_and_noted() {
    const SCRIPT: &str = "
        [[rule]]
        prompt = 'echo'
        reply = [{ call = 'echo_text', args = { text = 'hello mcp' } }]
        [[rule]]
        tool = 'echo_text'
        result = 'echo: hello mcp'
        reply = 'It came back.'
    ";
    requires!(npm);
    for cli in Cli::some().unwrap() {
        let stage = Stage::new(&cli, SCRIPT.parse().unwrap()).await.unwrap();
        let mut settings = Home::settings();
        let server = repository().join("crates/e2e/fixtures/mcp.js");
        settings["mcpServers"] =
            json!({ "echo": { "command": "node", "args": [server], "trust": true } });
        fs::write(stage.home().gemini().join("settings.json"), settings.to_string()).unwrap();
        let ran = stage.headless("echo it", &["--yolo"]).await.unwrap();
        assert_eq!(ran.text(), "It came back.", "{} {}", cli.version(), ran.stderr);
        let offered = stage.rehearsal().journal().turns()[0]["tools"].to_string();
        assert!(offered.contains("echo_text"), "{offered}");
        stage.close().await;
    }
}

#[tokio::test]
async fn a_recorded_conversation_replays_the_same_stream() {
    requires!(npm);
    for cli in Cli::some().unwrap() {
        let (upstream, recorded) = record(&cli).await;
        let stage = Stage::new(&cli, recorded).await.unwrap();
        script("chain").unwrap().trial().unwrap().lay_out(stage.workspace()).unwrap();
        let ran = stage.headless("do it in three steps", &["--yolo"]).await.unwrap();
        assert_eq!(outline(&ran, &stage), upstream, "{}", cli.version());
        let rules = stage.rehearsal().journal().rules();
        assert!(rules.iter().all(|rule| rule.starts_with("rule ")), "{rules:?}");
        stage.close().await;
    }
}

/// Runs the CLI through a recorder, and gives the stream and the script.
async fn record(cli: &Cli) -> (String, Script) {
    let stage = Stage::with(cli, "chain").await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("recorded.toml");
    let recorder =
        Rehearsal::record(&stage.rehearsal().url(), &file, Options::default()).await.unwrap();
    let mut command =
        stage.command(&["-p", "do it in three steps", "--output-format", "stream-json", "--yolo"]);
    command.env("GOOGLE_GEMINI_BASE_URL", recorder.url());
    let ran = command.output().await.unwrap();
    let ran = pollux_e2e::Ran {
        code: ran.status.code(),
        stdout: String::from_utf8(ran.stdout).unwrap(),
        stderr: String::from_utf8(ran.stderr).unwrap(),
    };
    let seen = outline(&ran, &stage);
    recorder.stop().await;
    stage.close().await;
    (seen, fs::read_to_string(file).unwrap().parse().unwrap())
}

#[tokio::test]
async fn sessions_are_written_into_the_private_home() {
    requires!(npm);
    for cli in Cli::some().unwrap() {
        let stage = Stage::with(&cli, "greeting").await.unwrap();
        stage.headless("hello", &[]).await.unwrap();
        let registry = fs::read_to_string(stage.home().gemini().join("projects.json")).unwrap();
        let registry: Value = serde_json::from_str(&registry).unwrap();
        let projects = registry["projects"].as_object().unwrap();
        let workspace = stage.workspace().display().to_string();
        assert!(projects.contains_key(&workspace), "{} {projects:?}", cli.version());
        stage.close().await;
    }
}

#[tokio::test]
async fn the_other_version_of_the_api_is_answered_too() {
    requires!(npm);
    let cli = Cli::last().unwrap();
    let stage = Stage::with(&cli, "greeting").await.unwrap();
    let mut command = stage.command(&["-p", "hello", "--output-format", "stream-json"]);
    let ran = command.env("GOOGLE_GENAI_API_VERSION", "v1").output().await.unwrap();
    assert!(String::from_utf8_lossy(&ran.stdout).contains("scripted model."), "{ran:?}");
    let paths = paths(stage.rehearsal());
    assert!(paths.iter().all(|path| path.starts_with("/v1/models/")), "{paths:?}");
    stage.close().await;
}

/// The addresses that were asked.
pub(crate) fn paths(rehearsal: &Rehearsal) -> Vec<String> {
    let path = |entry: Entry| match entry.event {
        Event::Request { path, .. } => Some(path),
        Event::Reply { .. } => None,
    };
    rehearsal.journal().entries().into_iter().filter_map(path).collect()
}

#[tokio::test]
async fn sessions_side_by_side_do_not_disturb_each_other() {
    requires!(npm);
    let cli = Cli::last().unwrap();
    let stage = Stage::with(&cli, "error-500").await.unwrap();
    let others = ["one", "two"].map(|name| stage.workspace().join(name));
    let runs = others.map(|directory| {
        fs::create_dir(&directory).unwrap();
        let mut command = stage.command(&["-p", "stumble", "--output-format", "stream-json"]);
        command.current_dir(directory);
        async move { String::from_utf8(command.output().await.unwrap().stdout).unwrap() }
    });
    let [one, two] = runs;
    let (one, two) = tokio::join!(one, two);
    for said in [one, two] {
        assert!(said.contains("An answer after the error."), "{said}");
    }
    // Each of them had its own first time.
    let rules = stage.rehearsal().journal().rules();
    assert_eq!(rules.iter().filter(|rule| *rule == "rule 1").count(), 2, "{rules:?}");
    stage.close().await;
}
