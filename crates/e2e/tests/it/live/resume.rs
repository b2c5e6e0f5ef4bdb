//! Going on with a session: nothing of it is ever lost, whatever else is started in the same project.

use super::{gemini, quietly};
use pollux_agent::acp::Policy;
use pollux_agent::gemini::acp::Resume;
use pollux_agent::gemini::transcript::{Transcript, text};
use pollux_agent::model::{Message, Role};
use pollux_e2e::{Cli, Stage, requires};
use std::fs;
use std::path::{Path, PathBuf};
use tokio::task::JoinSet;

/// The words of a session file, person and model in turns.
pub(crate) fn words(file: &Path) -> Vec<String> {
    let file = if file.with_extension("jsonl").exists() {
        file.with_extension("jsonl")
    } else {
        file.to_path_buf()
    };
    let bytes = fs::read(file).unwrap();
    let text = text(&bytes);
    let transcript = Transcript::read(&text);
    let spoken =
        transcript.messages().filter(|message| !message.meta && message.role != Role::System);
    spoken.map(|message| Message::text(&message)).filter(|text| !text.is_empty()).collect()
}

/// Sessions are kept by the CLI's own rules, as on the machine of a user who has changed nothing.
pub(crate) fn keep_by_the_rules(stage: &Stage) {
    let file = stage.home().gemini().join("settings.json");
    let mut settings: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    settings["general"].as_object_mut().unwrap().remove("sessionRetention");
    fs::write(&file, settings.to_string()).unwrap();
}

#[tokio::test]
async fn a_session_survives_being_gone_on_with_while_others_are_started() {
    requires!(npm);
    // Side by side: each waits for its minute.
    let mut versions = JoinSet::new();
    for cli in Cli::some().unwrap() {
        versions.spawn(survives(cli));
    }
    while let Some(survived) = versions.join_next().await {
        survived.unwrap();
    }
}

async fn survives(cli: Cli) {
    let stage = Stage::with(&cli, "greeting").await.unwrap();
    keep_by_the_rules(&stage);
    let aside = stage.home().path().join("aside");
    let mut live = gemini(&stage).policy(Policy::Deny).start().await.unwrap();
    let told = quietly(&mut live, "hello for the first time").await;
    let (id, file) = (told.outcome.session_id.unwrap(), told.outcome.session_file.unwrap());
    live.close().await.unwrap();
    let mut expected = words(&file);
    assert_eq!(expected.len(), 2, "{} {expected:?}", cli.version());
    // The first comes in the minute in which the session was made, the next ones soon after each other.
    for cycle in 1..=pollux_e2e::cycles() {
        let prompt = format!("hello, this is cycle {cycle}");
        go_on(&stage, &id, &file, &aside, &prompt).await;
        expected.extend([prompt, "Hello from the scripted model.".to_owned()]);
        assert_eq!(words(&file), expected, "{} cycle {cycle}", cli.version());
        // Another start in the same project, which cleans up by the CLI's own rules.
        let ran = stage.headless("hello from elsewhere", &[]).await.unwrap();
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert_eq!(words(&file), expected, "{} behind cycle {cycle}", cli.version());
    }
    stage.close().await;
}

async fn go_on(stage: &Stage, id: &str, file: &Path, aside: &Path, prompt: &str) {
    let resume = Resume { id: id.to_owned(), file: file.to_path_buf(), aside: aside.to_path_buf() };
    let mut live = gemini(stage).policy(Policy::Deny).resume(resume).start().await.unwrap();
    assert_eq!(live.opened().session_id, id);
    let told = quietly(&mut live, prompt).await;
    assert_eq!(told.outcome.text, "Hello from the scripted model.", "{:?}", told.outcome.error);
    let earlier: Vec<String> = told.outcome.messages.iter().map(Message::text).collect();
    assert!(!earlier.iter().any(|text| text.contains("first time")), "{earlier:?}");
    live.close().await.unwrap();
    let short: String = id.chars().take(8).collect();
    let left: Vec<PathBuf> = fs::read_dir(file.parent().unwrap())
        .unwrap()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.to_string_lossy().contains(&short))
        .collect();
    assert!(
        left.len() <= 2 && left.iter().filter(|p| p.extension() == file.extension()).count() == 1,
        "{left:?}"
    );
}

#[tokio::test]
async fn a_load_that_fails_leaves_the_file_as_it_was() {
    requires!(npm);
    let cli = Cli::last().unwrap();
    let stage = Stage::with(&cli, "greeting").await.unwrap();
    let chats = stage.home().gemini().join("tmp/work/chats");
    fs::create_dir_all(&chats).unwrap();
    let file = chats.join("session-2026-01-01T00-00-11111111.jsonl");
    let before = "{\"sessionId\":\"other\",\"projectHash\":\"x\"}\n{\"id\":\"1\",\"type\":\"user\",\"content\":\"hello\"}\n";
    fs::write(&file, before).unwrap();
    let aside = stage.home().path().join("aside");
    let id = "11111111-2222-3333-4444-555555555555".to_owned();
    let resume = Resume { id, file: file.clone(), aside };
    let failure = gemini(&stage).resume(resume).start().await.map(drop).unwrap_err();
    assert_eq!(failure.code, "unknown_session", "{failure:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
    stage.close().await;
}
