//! An agent that somebody runs in a shell of their own: taken under watch, and ended without their shell.

use super::dialogs::{ended, everywhere_of};
use super::{LIMIT, Show, Theatre};
use pollux_agent::gemini::terminal::{Found, adoptable, all};
use pollux_agent::model::{EventKind, StopReason};
use pollux_agent::terminal::{Pane, Server, Size, Window};
use pollux_e2e::{requires, wait_for};
use std::path::Path;

/// A shell in a window, with the CLI in it, as a person starts it.
async fn in_a_shell(theatre: &Theatre) -> Pane {
    let server = Server::open(&theatre.socket()).await.unwrap();
    let env = theatre.stage.env().into_iter().map(|(name, value)| (name.to_owned(), value));
    let env: Vec<(String, String)> = env.collect();
    let command = ["bash", "--norc", "--noprofile"].map(str::to_owned);
    let size = Size { columns: 120, rows: 40 };
    let cwd = theatre.stage.workspace();
    let window = Window { name: "mine", cwd, env: &env, command: &command, size };
    let pane = Pane::open(&server, &window).await.unwrap();
    pane.type_text(&theatre.stage.cli().program().display().to_string()).await.unwrap();
    pane.press(&["Enter"]).await.unwrap();
    wait_for("the input box", LIMIT, async || {
        let rows = pane.rows().await.unwrap().join("\n");
        if rows.contains("Type your message") { Ok(()) } else { Err(rows) }
    })
    .await;
    pane
}

async fn adopt(theatre: &Theatre) -> (Found, Show) {
    let mut found: Vec<Found> = adoptable(&theatre.socket()).await.unwrap();
    assert_eq!(found.len(), 1);
    let mut found = found.remove(0);
    found.adopt(Path::new("/nowhere")).await.unwrap();
    let live = found.watch(Path::new("/nowhere")).await.unwrap();
    (found, Show { live, heard: Vec::new() })
}

#[tokio::test]
async fn an_adopted_agent_ends_and_the_shell_that_it_was_started_in_stays() {
    requires!(npm, tmux);
    everywhere_of("terminal", async |theatre| {
        let pane = in_a_shell(theatre).await;
        let (found, mut show) = adopt(theatre).await;
        assert!(!show.live.is_ours());
        show.prompt("talk a little").await;
        assert_eq!(ended(&mut show, 0).await, StopReason::EndTurn);
        show.stop().await;
        show.hear("end", 0, |event| matches!(event.kind, EventKind::SessionEnded { .. })).await;
        // The shell does what it is told.
        pane.type_text("echo still-$((40+2))").await.unwrap();
        pane.press(&["Enter"]).await.unwrap();
        wait_for("the shell", LIMIT, async || {
            let rows = pane.rows().await.unwrap().join("\n");
            if rows.contains("still-42") { Ok(()) } else { Err(rows) }
        })
        .await;
        let left = all(&theatre.socket()).await.unwrap();
        assert!(left.is_empty(), "nobody is there under {:?}: {left:?}", found.key);
    })
    .await;
}
