//! Pictures, more directories, what the CLI's own commands do to the history, and many terminals at once.

use super::dialogs::ended;
use super::{Show, Theatre};
use futures::{StreamExt, stream};
use pollux_agent::gemini::terminal::{Busy, Words};
use pollux_agent::model::{EventKind, Role, SessionStatus, StopReason};
use pollux_agent::terminal::Server;
use pollux_e2e::{Cli, PINNED, requires, terminals};
use std::collections::BTreeSet;
use std::fs;

/// One pixel.
const PICTURE: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\0\x05\0\x01\xff\xa6\xd0\xb5\x08\0\0\0\0IEND\xaeB`\x82";
/// How many start at the same time: more would only wait for each other.
const STARTING: usize = 4;

pub(super) async fn command(show: &mut Show, line: &str) {
    let orders = show.live.orders();
    let sent = show.order(orders.send(Words::typed(line), Vec::new(), Busy::Wait)).await;
    if let Err(failure) = sent {
        panic!("{failure:#?}\n{}", show.screen().await);
    }
}

#[tokio::test]
async fn a_picture_of_another_directory_is_seen_and_what_a_command_rewrites_is_an_epoch() {
    requires!(npm, tmux);
    let runs = Cli::some().unwrap().into_iter().map(async |cli| {
        let theatre = Theatre::new(&cli, "terminal").await;
        let elsewhere = tempfile::tempdir().unwrap();
        let picture = elsewhere.path().canonicalize().unwrap().join("one pixel.png");
        fs::write(&picture, PICTURE).unwrap();
        let start = theatre.start().include(picture.parent().unwrap());
        let mut show = theatre.play(start).await;
        let orders = show.live.orders();
        let words = Words::Prompt("talk about this:".into());
        let sent = show.order(orders.send(words, vec![picture], Busy::Wait)).await;
        assert!(sent.is_ok(), "{sent:?}\n{}", show.screen().await);
        assert_eq!(ended(&mut show, 0).await, StopReason::EndTurn, "{}", show.screen().await);
        let turns = theatre.stage.rehearsal().journal().turns();
        let seen = turns.iter().any(|turn| turn.to_string().contains("image/png"));
        assert!(seen, "{}\n{}", cli.version(), show.screen().await);
        let from = show.heard.len();
        command(&mut show, "/compress").await;
        // Old versions forget what was said, but leave it in the file.
        if cli.like() != PINNED[0] {
            show.hear("epoch", from, |e| matches!(e.kind, EventKind::HistoryRewritten { .. }))
                .await;
        }
        let from = show.heard.len();
        show.prompt("talk on").await;
        assert_eq!(ended(&mut show, from).await, StopReason::EndTurn);
        show.stop().await;
        theatre.close().await;
    });
    futures::future::join_all(runs).await;
}

#[tokio::test]
async fn many_terminals_at_once_have_each_their_own_talk() {
    requires!(npm, tmux);
    let cli = Cli::last().unwrap();
    let theatre = Theatre::new(&cli, "terminal").await;
    let server = Server::open(&theatre.socket()).await.unwrap();
    let started = stream::iter(0..terminals()).map(async |_| {
        let live = theatre.start().start_on(&server).await.unwrap();
        let mut show = Show { live, heard: Vec::new() };
        show.becomes(SessionStatus::Idle, 0).await;
        show
    });
    let shows: Vec<Show> = started.buffer_unordered(STARTING).collect().await;
    let talks = shows.into_iter().enumerate().map(async |(number, mut show)| {
        let prompt = format!("talk, number {number}");
        show.prompt(&prompt).await;
        assert_eq!(ended(&mut show, 0).await, StopReason::EndTurn);
        // A message is recorded again when more is known of it: under its own id.
        let talks: BTreeSet<(String, String)> = { show.heard.iter() }
            .filter_map(|event| match &event.kind {
                EventKind::MessageRecorded { message, .. } if message.role == Role::User => {
                    Some((message.id.to_string(), message.text()))
                }
                _ => None,
            })
            .filter(|(_, text)| text.starts_with("talk"))
            .collect();
        let told: Vec<&str> = talks.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(told, [prompt], "{talks:?}");
        show.live.pane().kill().await.unwrap();
    });
    futures::future::join_all(talks).await;
    theatre.close().await;
}
