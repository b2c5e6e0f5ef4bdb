//! Going back in a conversation with the CLI's own command: each step is seen, and what is gone is told as gone.

use super::Theatre;
use super::dialogs::{asked, ended};
use super::more::command;
use pollux_agent::model::{EventKind, Role, SessionStatus, StopReason};
use pollux_e2e::{Cli, PINNED, requires};

#[tokio::test]
async fn who_goes_back_to_what_was_said_is_asked_how_and_what_came_after_it_is_gone() {
    requires!(npm, tmux);
    let runs = Cli::some().unwrap().into_iter().map(goes_back);
    futures::future::join_all(runs).await;
}

async fn goes_back(cli: Cli) {
    // It came later than the oldest pinned version, which takes the command for a prompt.
    if cli.like() == PINNED[0] {
        return;
    }
    let theatre = Theatre::new(&cli, "terminal").await;
    let mut show = theatre.play(theatre.start()).await;
    for prompt in ["talk one", "talk two", "talk three"] {
        let from = show.heard.len();
        show.prompt(prompt).await;
        assert_eq!(ended(&mut show, from).await, StopReason::EndTurn);
    }
    let from = show.heard.len();
    command(&mut show, "/rewind").await;
    let (_, labels) = asked(&mut show, from).await;
    assert!(labels.iter().any(|label| label == "talk two"), "{labels:?}\n{}", show.screen().await);
    let chosen = show.heard.len();
    show.answer("talk two").await;
    let (_, labels) = asked(&mut show, chosen).await;
    assert!(labels.contains(&"Rewind conversation".to_owned()), "{labels:?}");
    let confirmed = show.heard.len();
    show.answer("Rewind conversation").await;
    show.hear("epoch", confirmed, |event| {
        matches!(&event.kind, EventKind::HistoryRewritten { removed, .. } if removed.len() >= 4)
    })
    .await;
    show.becomes(SessionStatus::Idle, confirmed).await;
    let statuses = show.statuses(from);
    let waits = statuses.iter().position(|status| *status == SessionStatus::Waiting);
    assert!(waits.is_some() && !statuses.contains(&SessionStatus::Working), "{statuses:?}");
    // What stands in the input box now is what was taken back, and in nobody's way.
    let from = show.heard.len();
    show.prompt("talk anew").await;
    assert_eq!(ended(&mut show, from).await, StopReason::EndTurn, "{}", show.screen().await);
    let asked_model = theatre.stage.rehearsal().journal().turns().pop().unwrap().to_string();
    assert!(asked_model.contains("talk one") && asked_model.contains("talk anew"), "{asked_model}");
    assert!(!asked_model.contains("talk two"), "{asked_model}");
    assert!(show.said().contains(&(Role::User, "talk anew".to_owned())));
    show.stop().await;
    theatre.close().await;
}
