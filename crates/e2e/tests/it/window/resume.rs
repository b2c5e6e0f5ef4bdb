//! Going on with a session in a terminal: nothing of it is lost, whatever else is started in the same project.

use super::dialogs::ended;
use super::{Theatre, session_file};
use crate::live::resume::{keep_by_the_rules, words};
use pollux_agent::gemini::transcript::resume::Resume;
use pollux_agent::gemini::transcript::{Transcript, text};
use pollux_agent::model::StopReason;
use pollux_e2e::home::age;
use pollux_e2e::{Cli, Stage, requires};
use std::fs;

const ANSWER: &str = "Hello from the scripted model.";

/// A session that was made long ago.
async fn earlier(theatre: &Theatre) -> Resume {
    hello(&theatre.stage, "hello for the first time").await;
    age(theatre.stage.home().path()).unwrap();
    let file = session_file(theatre);
    let bytes = fs::read(&file).unwrap();
    let id = Transcript::read(&text(&bytes)).meta().session_id.clone().unwrap();
    Resume { id, file, aside: theatre.stage.home().path().join("aside") }
}

/// Another start in the same project, which cleans up by the CLI's own rules.
async fn hello(stage: &Stage, prompt: &str) {
    let ran = stage.headless(prompt, &[]).await.unwrap();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

#[tokio::test]
async fn a_session_goes_on_in_a_terminal_and_survives_what_others_start() {
    requires!(npm, tmux);
    let runs = Cli::some().unwrap().into_iter().map(async |cli| {
        let theatre = Theatre::new(&cli, "greeting").await;
        keep_by_the_rules(&theatre.stage);
        let resume = earlier(&theatre).await;
        let mut show = theatre.play(theatre.start().resume(resume.clone())).await;
        show.prompt("hello again").await;
        assert_eq!(ended(&mut show, 0).await, StopReason::EndTurn);
        let said: Vec<String> = show.said().into_iter().map(|(_, text)| text).collect();
        assert!(said.contains(&"hello again".to_owned()), "{said:?}");
        assert!(!said.iter().any(|text| text.contains("first time")), "it is told anew: {said:?}");
        hello(&theatre.stage, "hello from elsewhere").await;
        let mut expected = vec!["hello for the first time", ANSWER, "hello again", ANSWER];
        assert_eq!(words(&resume.file), expected, "{}", cli.version());
        let from = show.heard.len();
        show.prompt("hello once more").await;
        assert_eq!(ended(&mut show, from).await, StopReason::EndTurn);
        show.stop().await;
        hello(&theatre.stage, "hello from elsewhere").await;
        expected.extend(["hello once more", ANSWER]);
        assert_eq!(words(&resume.file), expected, "{}", cli.version());
        theatre.close().await;
    });
    futures::future::join_all(runs).await;
}
