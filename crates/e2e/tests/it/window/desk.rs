//! What happens to a session beside the orders that it is given: commands at the desk, another CLI with its key, models.

use super::dialogs::{ended, everywhere};
use super::{LIMIT, Show, Theatre};
use pollux_agent::gemini::terminal::{Hand, all};
use pollux_agent::model::{EventKind, Role, SessionStatus, StopReason};
use pollux_agent::terminal::Size;
use pollux_e2e::{requires, wait_for};

/// Whether the pane is called by the id of a session.
async fn has_id(show: &Show, theatre: &Theatre) {
    wait_for("the id of the session", LIMIT, async || {
        let found = all(&theatre.socket()).await.unwrap();
        let key = found.iter().find_map(|found| found.key.clone()).unwrap_or_default();
        if key.starts_with("new-") || key.is_empty() {
            return Err(format!("{key}\n{}", show.screen().await));
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_conversation_that_is_cleared_at_the_desk_is_followed_without_hooks() {
    requires!(npm, tmux);
    everywhere("terminal", async |show, theatre| {
        show.prompt("talk first").await;
        assert_eq!(ended(show, 0).await, StopReason::EndTurn);
        let hand = Hand::on(show.live.pane().clone());
        hand.press("/clear", &["Enter"]).await.unwrap();
        wait_for("a cleared screen", LIMIT, async || {
            let screen = show.screen().await;
            if screen.contains("talk first") { Err(screen) } else { Ok(()) }
        })
        .await;
        let from = show.heard.len();
        show.prompt("talk anew").await;
        assert_eq!(ended(show, from).await, StopReason::EndTurn);
        show.hear("what was said", from, |event| match &event.kind {
            EventKind::MessageRecorded { message, .. } => {
                message.role == Role::User && message.text() == "talk anew"
            }
            _ => false,
        })
        .await;
        has_id(show, theatre).await;
    })
    .await;
}

#[tokio::test]
async fn a_cleared_session_is_called_by_its_id_again() {
    requires!(npm, tmux);
    everywhere("terminal", async |show, theatre| {
        show.prompt("talk first").await;
        assert_eq!(ended(show, 0).await, StopReason::EndTurn);
        super::more::command(show, "/clear").await;
        let from = show.heard.len();
        show.prompt("talk anew").await;
        assert_eq!(ended(show, from).await, StopReason::EndTurn);
        has_id(show, theatre).await;
    })
    .await;
}

#[tokio::test]
async fn the_hooks_of_a_cli_that_the_agent_starts_are_not_those_of_its_session() {
    requires!(npm, tmux);
    everywhere("terminal", async |show, _| {
        show.prompt("talk first").await;
        assert_eq!(ended(show, 0).await, StopReason::EndTurn);
        let from = show.heard.len();
        let orders = show.live.orders();
        for (event, more) in [
            ("SessionStart", r#""source":"startup""#),
            ("BeforeAgent", r#""prompt":"an inner prompt""#),
            ("AfterAgent", r#""prompt":"an inner prompt""#),
            ("SessionEnd", r#""reason":"exit""#),
        ] {
            let inner = "11111111-6f3b-4a8e-9b53-0d6f3d0f1f0a";
            let payload =
                format!(r#"{{"hook_event_name":"{event}","session_id":"{inner}",{more}}}"#);
            show.order(orders.hook(payload)).await.unwrap();
        }
        show.prompt("talk more").await;
        assert_eq!(ended(show, from).await, StopReason::EndTurn);
        let heard = show.heard.iter().skip(from);
        let of_inner = heard.map(super::outline).filter(|line| {
            line.contains("session_rekeyed")
                || line.contains("history_rewritten")
                || line.contains("an inner prompt")
        });
        assert_eq!(of_inner.collect::<Vec<_>>(), [""; 0]);
        assert!(show.said().contains(&(Role::User, "talk more".to_owned())), "{:?}", show.said());
    })
    .await;
}

#[tokio::test]
async fn a_model_is_changed_and_seen_also_where_there_is_no_room_for_it() {
    requires!(npm, tmux);
    everywhere("terminal", async |show, _| {
        show.becomes(SessionStatus::Idle, 0).await;
        let orders = show.live.orders();
        for (model, size) in
            [("gemini-2.5-flash", None), ("gemini-2.5-pro", Some(Size { columns: 40, rows: 30 }))]
        {
            if let Some(size) = size {
                show.live.pane().resize(size).await.unwrap();
            }
            let set = show.order(orders.model(model)).await;
            assert!(set.is_ok(), "{set:?}\n{}", show.screen().await);
        }
        let from = show.heard.len();
        show.prompt("talk").await;
        assert_eq!(ended(show, from).await, StopReason::EndTurn);
    })
    .await;
}

#[tokio::test]
async fn a_turn_is_interrupted_though_a_prompt_waits_for_its_end() {
    requires!(npm, tmux);
    everywhere("terminal", async |show, _| {
        show.prompt("go slow").await;
        show.becomes(SessionStatus::Working, 0).await;
        let orders = show.live.orders();
        let from = show.heard.len();
        let both = async {
            let (sent, stopped) = futures::join!(orders.prompt("talk"), orders.interrupt(false));
            stopped.and(sent)
        };
        show.order(both).await.unwrap();
        assert_eq!(ended(show, from).await, StopReason::Cancelled);
        show.hear("the answer to what has waited", from, |event| match &event.kind {
            EventKind::MessageRecorded { message, .. } => message.text().contains("another one"),
            _ => false,
        })
        .await;
    })
    .await;
}

#[tokio::test]
async fn a_prompt_with_characters_that_the_cli_takes_out_is_sent_as_any_other() {
    requires!(npm, tmux);
    everywhere("terminal", async |show, _| {
        let orders = show.live.orders();
        let nothing = show.order(orders.prompt("\u{200b}\u{feff}")).await.unwrap_err();
        assert_eq!(nothing.code, "no_prompt");
        show.prompt("talk\u{200b} of \u{202a}it\u{202c}").await;
        assert_eq!(ended(show, 0).await, StopReason::EndTurn);
        assert!(show.said().contains(&(Role::User, "talk of it".to_owned())), "{:?}", show.said());
    })
    .await;
}
