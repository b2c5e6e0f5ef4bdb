//! Agents on a tmux server that is neither ours nor the user's usual one.

use super::{LIMIT, PROGRAM, TALK, Tmux, pollux};
use pollux_e2e::{Cli, PINNED, Stage, requires, wait_for};
use tokio::process::Command;

/// Another tmux server, in which somebody has begun an agent in a shell.
struct Elsewhere(Tmux);

impl Elsewhere {
    async fn new(stage: &Stage) -> Self {
        let tmux = Self(Tmux::new());
        let size = ["new-session", "-d", "-s", "mine", "-x", "120", "-y", "40"];
        tmux.told(Some(stage), &[&size[..], &["exec bash --norc --noprofile"]].concat()).await;
        let program = stage.cli().program().display().to_string();
        tmux.told(None, &["send-keys", "-l", &program]).await;
        tmux.told(None, &["send-keys", "Enter"]).await;
        wait_for("the input box", LIMIT, async || {
            let rows = tmux.told(None, &["capture-pane", "-p"]).await;
            if rows.contains("Type your message") { Ok(()) } else { Err(rows) }
        })
        .await;
        tmux
    }

    /// What tmux says; a server that is started by it works on a stage.
    #[expect(clippy::disallowed_methods, reason = "tmux answers at once and is waited for")]
    async fn told(&self, stage: Option<&Stage>, args: &[&str]) -> String {
        let mut tmux = Command::new("tmux");
        tmux.args(["-f", "/dev/null", "-S", &self.0.socket()]).args(args).kill_on_drop(true);
        if let Some(stage) = stage {
            tmux.envs(stage.env()).current_dir(stage.workspace());
        }
        // With these the CLI does not talk to a person.
        for name in ["TMUX", "CI", "GITHUB_ACTIONS"] {
            tmux.env_remove(name);
        }
        let ran = tmux.output().await.unwrap();
        assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8_lossy(&ran.stdout).into_owned()
    }
}

#[tokio::test]
async fn an_agent_that_was_adopted_on_another_tmux_server_is_found_by_all_commands() {
    requires!(npm, tmux);
    let stage = Stage::with(&Cli::install(PINNED[2]).unwrap(), "terminal").await.unwrap();
    let elsewhere = Elsewhere::new(&stage).await;
    let socket = elsewhere.0.socket();
    let ours = Tmux::new();
    let done = async |args: &[&str]| {
        let (code, said, why) = pollux(&stage, &ours, args).await;
        assert_eq!(code, Some(0), "{args:?}: {why}");
        said.trim().to_owned()
    };
    let id = done(&["adopt", "--socket", &socket]).await;
    assert!(done(&["screen", &id]).await.contains("Type your message"));
    assert_eq!(done(&["send", &id, "talk", "--wait"]).await, TALK);
    // Somebody who looks at it is in the session that it is in, and not in the newest one.
    elsewhere.told(None, &["new-session", "-d", "-s", "newest", "exec sleep 60"]).await;
    let attach = format!(
        "HOME={} POLLUX_TMUX={} exec {PROGRAM} attach {id}",
        stage.home().path().display(),
        ours.socket(),
    );
    let desk = Elsewhere(Tmux::new());
    desk.told(None, &["new-session", "-d", "-x", "120", "-y", "40", &attach]).await;
    wait_for("a person who looks", LIMIT, async || {
        let looked = elsewhere.told(None, &["list-clients", "-F", "#{session_name}"]).await;
        if looked.trim() == "mine" { Ok(()) } else { Err(looked) }
    })
    .await;
    // A daemon that comes later takes it up, and the same commands go through it.
    done(&["serve", "--detach", "--port", "0"]).await;
    assert!(done(&["ls"]).await.contains(id.get(..8).unwrap()));
    done(&["model", &id, "gemini-2.5-flash"]).await;
    assert_eq!(done(&["send", &id, "talk", "--wait"]).await, TALK);
    assert!(done(&["screen", &id]).await.contains("and another one."));
    done(&["stop", &id]).await;
    elsewhere.told(None, &["send-keys", "-t", "mine", "-l", "echo still-$((40+2))"]).await;
    elsewhere.told(None, &["send-keys", "-t", "mine", "Enter"]).await;
    wait_for("the shell", LIMIT, async || {
        let rows = elsewhere.told(None, &["capture-pane", "-p", "-t", "mine"]).await;
        if rows.contains("still-42") { Ok(()) } else { Err(rows) }
    })
    .await;
    done(&["serve", "down"]).await;
    stage.close().await;
}
