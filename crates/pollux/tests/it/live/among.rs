//! Agents on the tmux server that is the user's own, which stays as it was.

use super::{LIMIT, Tmux, command};
use pollux_e2e::{Cli, PINNED, Stage, requires, wait_for};
use tokio::process::Command;

/// What a program printed, which must succeed.
async fn told(mut command: Command, place: &Tmux) -> String {
    command.env("TMUX_TMPDIR", place.0.path()).kill_on_drop(true);
    // What a tmux is started with its windows inherit, and with these the CLI does not talk to a person.
    for name in ["TMUX", "CI", "GITHUB_ACTIONS"] {
        command.env_remove(name);
    }
    let ran = command.output().await.unwrap();
    assert!(ran.status.success(), "{command:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8_lossy(&ran.stdout).trim().to_owned()
}

/// What the user's own tmux says to somebody.
#[expect(clippy::disallowed_methods, reason = "tmux answers at once and is waited for")]
async fn tmux(place: &Tmux, args: &[&str]) -> String {
    let mut tmux = Command::new("tmux");
    tmux.args(args);
    told(tmux, place).await
}

/// All that is set for everybody, and all windows.
async fn state(place: &Tmux) -> String {
    let show = ["show-options", "-s", ";", "show-options", "-g", ";", "show-options", "-gw", ";"];
    let windows = ["show-hooks", "-g", ";", "list-windows", "-a", "-F", "#{window_id}"];
    tmux(place, &[&show[..], &windows].concat()).await
}

#[tokio::test]
async fn agents_in_a_persons_own_tmux_change_nothing_of_theirs() {
    requires!(npm, tmux);
    let stage = Stage::with(&Cli::install(PINNED[2]).unwrap(), "terminal").await.unwrap();
    let place = Tmux::new();
    tmux(&place, &["-f", "/dev/null", "new-session", "-d", "-s", "mine", "exec cat"]).await;
    let before = state(&place).await;
    let pollux = async |args: &[&str]| {
        let mut command = command(&stage, &place, args);
        command.env("POLLUX_TMUX", "default");
        told(command, &place).await
    };
    pollux(&["serve", "--detach", "--port", "0"]).await;
    let ids = [pollux(&["new"]).await, pollux(&["new"]).await];
    let own = tmux(&place, &["list-windows", "-t", "=pollux", "-F", "#{window_id}"]).await;
    assert_eq!(own.lines().count(), ids.len(), "{own}");
    for window in own.lines() {
        let stays = tmux(&place, &["show-options", "-wv", "-t", window, "remain-on-exit"]).await;
        assert_eq!(stays, "failed", "{window}");
    }
    let stops = ids.each_ref().map(|id| ["stop", id.as_str()]);
    futures::future::join_all(stops.iter().map(|stop| pollux(stop))).await;
    wait_for("a tmux as it was", LIMIT, async || match state(&place).await {
        now if now == before => Ok(()),
        now => Err(now),
    })
    .await;
    pollux(&["serve", "down"]).await;
    stage.close().await;
}
