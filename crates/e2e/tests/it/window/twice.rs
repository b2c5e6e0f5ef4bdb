//! Two questions one behind the other: each is shown under a name of its own, and an answer fits the one that was shown.

use super::dialogs::{ended, everywhere};
use super::{Show, outline};
use pollux_agent::model::{EventKind, Meaning, Question, StopReason};
use pollux_e2e::requires;
use std::collections::BTreeSet;
use std::fs;

/// The questions that were asked after the `from`th event.
fn questions(show: &Show, from: usize) -> Vec<&Question<'static>> {
    let asked = show.heard.iter().skip(from).filter_map(|event| match &event.kind {
        EventKind::Asked(question) => Some(&**question),
        _ => None,
    });
    asked.collect()
}

/// Waits for so many questions, and gives the name of the last one, and what it would do.
async fn nth(show: &mut Show, from: usize, count: usize) -> (String, String) {
    while questions(show, from).len() < count {
        let next = show.heard.len();
        show.hear("question", next, |event| matches!(event.kind, EventKind::Asked(_))).await;
    }
    let asked = questions(show, from);
    let Some(last) = asked.get(count - 1) else { panic!("{asked:#?}") };
    let would = match last.meaning.as_deref() {
        Some(Meaning::Mutation { diff, .. }) => diff.clone().unwrap_or_default(),
        Some(Meaning::Command { command, .. }) => command.clone(),
        other => panic!("{other:?}"),
    };
    (last.id.to_string(), would)
}

#[tokio::test]
async fn two_changes_of_one_file_are_two_questions_and_an_answer_to_one_fits_no_other() {
    requires!(npm, tmux);
    everywhere("terminal", async |show, theatre| {
        show.prompt("change it in two ways").await;
        let (first, would) = nth(show, 0, 1).await;
        assert!(would.contains("the first way"), "{would}");
        let orders = show.live.orders();
        show.order(orders.answer(Some(first.clone()), "Allow once", None)).await.unwrap();
        let (second, would) = nth(show, 0, 2).await;
        assert!(second != first && would.contains("the second way"), "{second}: {would}");
        let late = show.order(orders.answer(Some(first), "Allow once", None)).await;
        assert_eq!(late.unwrap_err().code, "question_gone");
        let way = theatre.stage.workspace().join("way.txt");
        let file = fs::read_to_string(&way).unwrap_or_default();
        assert!(!file.contains("second"), "nobody has allowed that: {file}");
        let from = show.heard.len();
        show.order(orders.answer(Some(second), "deny", None)).await.unwrap();
        assert_eq!(ended(show, from).await, StopReason::Cancelled);
        assert_eq!(questions(show, 0).len(), 2);
        let file = fs::read_to_string(&way).unwrap_or_default();
        assert!(!file.contains("second"), "{file}");
    })
    .await;
}

#[tokio::test]
async fn the_same_command_twice_is_asked_twice_and_each_answer_is_for_one() {
    requires!(npm, tmux);
    everywhere("terminal", async |show, theatre| {
        show.prompt("do the same again").await;
        let orders = show.live.orders();
        let mut names = BTreeSet::new();
        for count in 1..=2 {
            let (name, would) = nth(show, 0, count).await;
            assert!(would.contains("echo again"), "{would}");
            let heard: Vec<_> = show.heard.iter().map(outline).collect();
            let answered = show.order(orders.answer(Some(name.clone()), "Allow once", None)).await;
            assert!(answered.is_ok(), "{answered:?}\n{heard:#?}\n{}", show.screen().await);
            names.insert(name);
        }
        assert_eq!(ended(show, 0).await, StopReason::EndTurn);
        assert_eq!((names.len(), questions(show, 0).len()), (2, 2));
        let said = fs::read_to_string(theatre.stage.workspace().join("again.txt")).unwrap();
        assert_eq!(said, "again\nagain\n");
    })
    .await;
}
