//! Questions, answered by each of their options.

use super::{Show, Theatre, outline};
use pollux_agent::model::{Answer, EventKind, QuestionKind, Role, SessionStatus, StopReason};
use pollux_e2e::{Cli, requires};

/// Waits for the next question, and gives its kind and the labels of its options.
pub(super) async fn asked(show: &mut Show, from: usize) -> (QuestionKind, Vec<String>) {
    show.hear("question", from, |event| matches!(event.kind, EventKind::Asked(_))).await;
    let question = show.heard.iter().skip(from).find_map(|event| match &event.kind {
        EventKind::Asked(question) => Some(question),
        _ => None,
    });
    let question = question.unwrap();
    (question.kind, question.options.iter().map(|option| option.label.to_string()).collect())
}

/// How the last turn ended.
pub(super) async fn ended(show: &mut Show, from: usize) -> StopReason {
    show.hear("end", from, |event| matches!(event.kind, EventKind::TurnEnded { .. })).await;
    show.becomes(SessionStatus::Idle, from).await;
    let ended = show.heard.iter().skip(from).find_map(|event| match &event.kind {
        EventKind::TurnEnded { stop_reason, .. } => Some(*stop_reason),
        _ => None,
    });
    ended.unwrap()
}

/// The versions to test with, at once.
pub(super) async fn everywhere(script: &str, act: impl AsyncFn(&mut Show, &Theatre)) {
    everywhere_of(script, async |theatre| {
        let mut show = theatre.play(theatre.start()).await;
        act(&mut show, theatre).await;
        show.stop().await;
    })
    .await;
}

/// The versions to test with, at once, with nothing started.
pub(super) async fn everywhere_of(script: &str, act: impl AsyncFn(&Theatre)) {
    let runs = Cli::some().unwrap().into_iter().map(async |cli| {
        let theatre = Theatre::new(&cli, script).await;
        act(&theatre).await;
        theatre.close().await;
    });
    futures::future::join_all(runs).await;
}

#[tokio::test]
async fn a_command_is_denied_with_a_reason_allowed_once_and_then_for_the_session() {
    requires!(npm, tmux);
    everywhere("terminal", async |show, theatre| {
        let made = theatre.stage.workspace().join("made.txt");
        show.prompt("run a command").await;
        let (kind, labels) = asked(show, 0).await;
        assert_eq!(kind, QuestionKind::Command);
        assert!(labels.iter().any(|label| label.starts_with("Allow once")), "{labels:?}");
        let from = show.heard.len();
        let orders = show.live.orders();
        let reason = Some("talk instead".to_owned());
        show.order(orders.answer(None, "deny", reason)).await.unwrap();
        assert_eq!(ended(show, from).await, StopReason::Cancelled);
        // The reason is the next prompt.
        show.hear("answer", from, |event| match &event.kind {
            EventKind::MessageRecorded { message, .. } => message.text().contains("another one"),
            _ => false,
        })
        .await;
        assert!(!made.exists());
        show.becomes(SessionStatus::Idle, show.heard.len().saturating_sub(2)).await;
        for (choice, asks_again) in
            [("Allow once", true), ("Allow for this session", true), ("", false)]
        {
            let from = show.heard.len();
            show.prompt("run a command").await;
            if asks_again {
                asked(show, from).await;
                show.answer(choice).await;
            }
            assert_eq!(ended(show, from).await, StopReason::EndTurn);
            let questions =
                show.heard.iter().skip(from).filter(|e| matches!(e.kind, EventKind::Asked(_)));
            assert_eq!(questions.count(), usize::from(asks_again));
        }
        assert!(made.exists());
    })
    .await;
}

#[tokio::test]
async fn what_the_model_wants_to_know_is_answered_by_label_and_in_words() {
    requires!(npm, tmux);
    everywhere("ask-user", async |show, _| {
        show.prompt("ask me which database").await;
        let (kind, labels) = asked(show, 0).await;
        assert_eq!(kind, QuestionKind::Choice, "{labels:?}");
        let from = show.heard.len();
        show.answer("Postgres").await;
        assert_eq!(ended(show, from).await, StopReason::EndTurn);
        let told = show.heard.iter().any(|event| outline_all(event).contains("Postgres"));
        assert!(told, "{:#?}", show.heard.iter().map(outline).collect::<Vec<_>>());
        let from = show.heard.len();
        show.prompt("ask me again").await;
        let (_, labels) = asked(show, from).await;
        let custom = labels.last().unwrap().clone();
        let orders = show.live.orders();
        let wordless = show.order(orders.answer(None, custom.clone(), None)).await;
        assert_eq!(wordless.unwrap_err().code, "no_words");
        // Also where somebody at the desk has gone there before.
        let number = labels.len().to_string();
        show.live.pane().press(&[&number]).await.unwrap();
        let words = Some("a pile of cards".to_owned());
        show.order(orders.answer(None, number, words)).await.unwrap();
        assert_eq!(ended(show, from).await, StopReason::EndTurn);
        let told = show.heard.iter().skip(from).any(|event| match &event.kind {
            EventKind::MessageRecorded { message, .. } if message.role != Role::User => {
                let message = serde_json::to_string(message).unwrap();
                message.contains("a pile of cards") && !message.contains("3a pile of cards")
            }
            _ => false,
        });
        assert!(told, "{}", show.screen().await);
    })
    .await;
}

#[tokio::test]
async fn what_the_model_wants_to_know_is_answered_whatever_its_type() {
    requires!(npm, tmux);
    everywhere("ask-user", async |show, _| {
        // In words, of which nothing is chosen.
        tells(show, "name it", &["castor"], "castor").await;
        // Whatever somebody at the desk has begun to write.
        let from = show.heard.len();
        show.prompt("name another").await;
        asked(show, from).await;
        show.live.pane().press(&["3", "c", "a", "s"]).await.unwrap();
        let orders = show.live.orders();
        show.order(orders.answer(None, "vega", None)).await.unwrap();
        assert_eq!(ended(show, from).await, StopReason::EndTurn);
        let told: Vec<String> = show.heard.iter().skip(from).map(outline_all).collect();
        assert!(told.iter().any(|told| told.contains("vega")), "{told:?}");
        assert!(!told.iter().any(|told| told.contains("casvega")), "{told:?}");
        // Several of a list, one after the other, and then all of it.
        tells(show, "which parts", &["Tests", "3", "Done"], "Tests, Code").await;
        // Words of one's own among them, where they are in sight: they end the list.
        let from = show.heard.len();
        show.prompt("which parts then").await;
        let (_, labels) = asked(show, from).await;
        show.answer("Docs").await;
        if labels.iter().any(|label| label.contains("custom value")) {
            let words = Some("the rest of it".to_owned());
            show.order(orders.answer(None, "Enter a custom value", words)).await.unwrap();
        } else {
            show.answer("Done").await;
        }
        assert_eq!(ended(show, from).await, StopReason::EndTurn);
        let told: Vec<String> = show.heard.iter().skip(from).map(outline_all).collect();
        let wanted = if labels.len() > 4 { "the rest of it" } else { "Docs" };
        assert!(told.iter().any(|told| told.contains(wanted)), "{told:?}");
        // More than one question, which are looked through before they are sent.
        tells(show, "both", &["Yes", "pollux it is", "Submit"], "pollux it is").await;
    })
    .await;
}

/// Sends a prompt, gives each answer to a question of its own, and looks for what the model is told.
async fn tells(show: &mut Show, prompt: &str, answers: &[&str], told: &str) {
    let start = show.heard.len();
    show.prompt(prompt).await;
    let mut from = start;
    for answer in answers {
        let (kind, labels) = asked(show, from).await;
        assert_eq!(kind, QuestionKind::Choice, "{labels:?}");
        from = show.heard.len();
        show.answer(answer).await;
    }
    assert_eq!(ended(show, from).await, StopReason::EndTurn);
    let is_told = show.heard.iter().skip(start).any(|event| outline_all(event).contains(told));
    assert!(is_told, "{}", show.screen().await);
    let questions = show.heard.iter().skip(start).filter(|e| matches!(e.kind, EventKind::Asked(_)));
    assert_eq!(questions.count(), answers.len());
}

fn outline_all(event: &pollux_agent::model::Event<'_>) -> String {
    match &event.kind {
        EventKind::MessageRecorded { message, .. } => serde_json::to_string(message).unwrap(),
        _ => String::new(),
    }
}

#[tokio::test]
async fn a_question_that_a_person_answers_in_the_terminal_is_closed_as_answered_elsewhere() {
    requires!(npm, tmux);
    everywhere("terminal", async |show, _| {
        show.prompt("write the notes").await;
        let (kind, _) = asked(show, 0).await;
        assert_eq!(kind, QuestionKind::Edit);
        show.live.pane().press(&["1"]).await.unwrap();
        assert_eq!(ended(show, 0).await, StopReason::EndTurn);
        let elsewhere = show.heard.iter().any(|event| {
            matches!(&event.kind, EventKind::Answered { answer: Answer::Elsewhere, .. })
        });
        assert!(elsewhere);
        let orders = show.live.orders();
        let failure = show.order(orders.answer(None, "allow", None)).await.unwrap_err();
        assert_eq!(failure.code, "no_question");
    })
    .await;
}

#[tokio::test]
async fn a_folder_is_trusted_and_the_agent_starts_again_in_its_place() {
    requires!(npm, tmux);
    let runs = Cli::some().unwrap().into_iter().map(async |cli| {
        let theatre = Theatre::new(&cli, "greeting").await;
        let settings = theatre.stage.home().gemini().join("settings.json");
        let text = std::fs::read_to_string(&settings).unwrap();
        let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
        value["security"]["folderTrust"]["enabled"] = true.into();
        std::fs::write(&settings, value.to_string()).unwrap();
        let start = theatre.start().env("GEMINI_CLI_TRUST_WORKSPACE", "");
        let mut show = theatre.play(start).await;
        let (kind, labels) = asked(&mut show, 0).await;
        assert_eq!(kind, QuestionKind::Trust, "{labels:?}");
        let refused = show.live.orders().prompt("too early").await.unwrap_err();
        assert_eq!(refused.code, "question_open");
        show.answer("Trust folder").await;
        show.prompt("say hello").await;
        assert_eq!(ended(&mut show, 0).await, StopReason::EndTurn);
        show.stop().await;
        theatre.close().await;
    });
    futures::future::join_all(runs).await;
}
