//! Agents in terminals, through the program, where a daemon runs: the same commands go through it.

use super::{LIMIT, TALK, Tmux, command, pollux, speaks};
use pollux_agent::terminal::{Pane, Server, Size, Socket, Window};
use pollux_e2e::{Cli, PINNED, Stage, requires, wait_for};
use std::path::{Path, PathBuf};

/// A daemon, and an agent that was begun while it runs. Both end with the value.
struct Served {
    stage: Stage,
    tmux: Tmux,
    id: String,
}

impl Served {
    async fn new() -> Self {
        let stage = Stage::with(&Cli::install(PINNED[2]).unwrap(), "terminal").await.unwrap();
        let mut served = Self { stage, tmux: Tmux::new(), id: String::new() };
        served.done(&["serve", "--detach", "--port", "0"]).await;
        served.id = served.done(&["new"]).await;
        served
    }

    /// What a command printed, its exit code, and why; `ID` stands for the session.
    async fn says(&self, args: &[&str]) -> (Option<i32>, String, String) {
        let args: Vec<&str> =
            args.iter().map(|arg| if *arg == "ID" { &*self.id } else { arg }).collect();
        let (code, said, why) = pollux(&self.stage, &self.tmux, &args).await;
        (code, said.trim().to_owned(), format!("{args:?}: {why}"))
    }

    /// What a command printed, which must succeed.
    async fn done(&self, args: &[&str]) -> String {
        let (code, said, why) = self.says(args).await;
        assert_eq!(code, Some(0), "{why}");
        said
    }

    /// What it does, where it comes to rest: `idle`, `question` or `exit`.
    async fn rest(&self) -> String {
        self.says(&["wait", "ID"]).await.1
    }

    /// The agent's terminal.
    async fn pane(&self) -> Pane {
        let socket = Socket::Path(PathBuf::from(self.tmux.socket()));
        let found = pollux_agent::gemini::terminal::all(&socket).await.unwrap().remove(0);
        let server = Server::join(&socket, &found.pane).await.unwrap();
        Pane::find(&server, &found.pane).await.unwrap()
    }

    /// The process in the agent's terminal.
    async fn process(&self) -> PathBuf {
        let pane = self.pane().await;
        let asked = ["display-message", "-p", "-t", pane.id(), "#{pane_pid}"];
        let told = pane.server().ask(&asked).await.unwrap();
        Path::new("/proc").join(told.trim())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let mut down = command(&self.stage, &self.tmux, &["serve", "down"]);
        let _ended = down.as_std_mut().output();
    }
}

#[tokio::test]
async fn who_waits_through_the_daemon_is_told_what_came_of_their_own_words_and_nothing_else() {
    requires!(npm, tmux);
    let served = Served::new().await;
    let (code, said, why) = served.says(&["send", "ID", "talk", "-w"]).await;
    assert_eq!((code, said.as_str()), (Some(0), TALK), "{why}");
    // What is sent while a question is open waits behind it, and is said when that was answered.
    let (code, said, why) = served.says(&["send", "ID", "run a command", "-w"]).await;
    assert_eq!((code, said.as_str()), (Some(10), "Running."), "{why}");
    let (code, _, why) = served.says(&["send", "ID", "talk of what waits"]).await;
    assert!(code == Some(0) && why.contains("queued (next)"), "{why}");
    assert!(served.done(&["queue", "ID"]).await.ends_with("talk of what waits"));
    let (code, said, why) = served.says(&["answer", "ID", "allow", "-w"]).await;
    assert_eq!((code, said), (Some(0), format!("Done, or not.\n{TALK}")), "{why}");
    assert!(served.stage.workspace().join("made.txt").exists());
    assert_eq!(served.done(&["queue", "ID"]).await, "");
    // Who denies ends the turn, after which the CLI writes all that was said once more.
    let (code, _, why) = served.says(&["send", "ID", "run a command", "-w"]).await;
    assert_eq!(code, Some(10), "{why}");
    let (code, said, why) = served.says(&["answer", "ID", "deny", "-w"]).await;
    assert_eq!((code, said.as_str()), (Some(130), ""), "{why}");
    // The reason is the next prompt, and its turn is waited for.
    let (code, said, why) = served.says(&["send", "ID", "run a command", "-w"]).await;
    assert_eq!((code, said.as_str()), (Some(10), "Running."), "{why}");
    let (code, said, why) =
        served.says(&["answer", "ID", "deny", "--reason", "talk instead", "-w"]).await;
    assert_eq!((code, said.as_str()), (Some(0), TALK), "{why}");
    // What came of the words before is not what came of these.
    served.done(&["send", "ID", "talk of one thing"]).await;
    let (code, said, why) = served.says(&["send", "ID", "write it down", "-w"]).await;
    assert_eq!((code, said.as_str()), (Some(10), "Writing."), "{why}");
    let (code, said, why) = served.says(&["answer", "ID", "1", "-w"]).await;
    assert_eq!((code, said.as_str()), (Some(0), "Written, or not."), "{why}");
    // Of a turn that is stopped, what was seen is told; what waits behind it is held, and hears nothing of it.
    let stops = async {
        speaks(&served.stage, &served.tmux, &served.id).await;
        let interrupts = async {
            let waits = async || match &*served.done(&["queue", "ID"]).await {
                "" => Err("nothing"),
                _ => Ok(()),
            };
            wait_for("what waits", LIMIT, waits).await;
            served.done(&["interrupt", "ID"]).await
        };
        tokio::join!(served.says(&["send", "ID", "talk", "-w"]), interrupts).0
    };
    let ((code, said, why), held) =
        tokio::join!(served.says(&["send", "ID", "go slow", "-w"]), stops);
    assert!(code == Some(130) && said.starts_with("word 1 word 2 "), "{code:?} {said}{why}");
    assert!(!said.contains("and another one") && why.contains("partial text"), "{why}");
    assert_eq!((held.0, held.1.as_str()), (Some(130), ""), "{}", held.2);
    assert!(held.2.contains("--continue"), "{}", held.2);
}

#[tokio::test]
async fn an_agent_of_the_daemon_outlives_who_looks_at_it_and_is_ended_when_stop_says_so() {
    requires!(npm, tmux);
    let served = Served::new().await;
    let viewers = Tmux::new();
    let mut attach = command(&served.stage, &served.tmux, &["attach", &served.id]);
    let attach = attach.as_std_mut();
    let text = |text: &std::ffi::OsStr| text.to_string_lossy().into_owned();
    let env: Vec<(String, String)> =
        attach.get_envs().filter_map(|(name, value)| Some((text(name), text(value?)))).collect();
    let line: Vec<String> =
        std::iter::once(attach.get_program()).chain(attach.get_args()).map(text).collect();
    let window = Window {
        name: "viewer",
        cwd: served.stage.workspace(),
        env: &env,
        command: &line,
        size: Size { columns: 90, rows: 30 },
    };
    let socket = Socket::Path(PathBuf::from(viewers.socket()));
    // One leaves as one should, the other one's terminal is closed.
    for leaves in [true, false] {
        let viewer = Pane::open(&Server::open(&socket).await.unwrap(), &window).await.unwrap();
        wait_for("the agent's screen", LIMIT, async || {
            let rows = viewer.rows().await.unwrap_or_default().join("\n");
            if rows.contains("Type your message") { Ok(()) } else { Err(rows) }
        })
        .await;
        if leaves {
            viewer.press(&["C-b", "d"]).await.unwrap();
        } else {
            viewer.kill().await.unwrap();
        }
        let watched = served.pane().await;
        let lists = ["list-clients", "-F", "#{client_control_mode}"];
        wait_for("nobody who looks", LIMIT, async || {
            let clients = watched.server().command(&lists).await.unwrap();
            if clients.iter().all(|control| control == "1") { Ok(()) } else { Err(clients) }
        })
        .await;
        assert_eq!(served.rest().await, "idle");
        let (code, said, why) = served.says(&["send", "ID", "talk", "-w"]).await;
        assert_eq!((code, said.as_str()), (Some(0), TALK), "{why}");
    }
    served.done(&["send", "ID", "/clear", "-w"]).await;
    let (code, said, why) = served.says(&["send", "ID", "talk anew", "-w"]).await;
    assert_eq!((code, said.as_str()), (Some(0), TALK), "{why}");
    let process = served.process().await;
    assert!(process.exists());
    served.done(&["stop", "ID"]).await;
    assert!(!process.exists(), "it has ended when that is said");
    assert_eq!(served.rest().await, "exit");
}

#[tokio::test]
async fn what_was_sent_and_has_not_begun_is_waited_for_and_what_is_stopped_has_ended() {
    requires!(npm, tmux);
    let served = Served::new().await;
    // Nobody takes the agent for idle because its first prompt is still on its way.
    let begun = served.done(&["new", "talk"]).await;
    assert_eq!(served.done(&["wait", &begun]).await, "idle");
    let screen = served.done(&["screen", &begun, "--json"]).await;
    assert!(screen.contains(TALK), "{screen}");
    served.done(&["send", "ID", "talk"]).await;
    assert_eq!(served.rest().await, "idle");
    let screen = served.done(&["screen", "ID", "--json"]).await;
    assert!(screen.contains(TALK), "{screen}");
    // Who has interrupted can go on at once.
    served.done(&["send", "ID", "go slow"]).await;
    speaks(&served.stage, &served.tmux, &served.id).await;
    let told = served.done(&["interrupt", "ID", "--json"]).await;
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["ended"], true, "{told}");
    let shown = served.done(&["ls", "--json"]).await;
    let shown: Vec<serde_json::Value> = serde_json::from_str(&shown).unwrap();
    let own = shown.iter().find(|session| session["id"] == *served.id).unwrap();
    assert_eq!(own["status"], "idle", "{own}");
    let (code, _, refused) = served.says(&["interrupt", "ID"]).await;
    assert!(code == Some(1) && refused.contains("no turn is in progress"), "{refused}");
    served.done(&["stop", &begun]).await;
    served.done(&["stop", "ID"]).await;
}

#[tokio::test]
async fn a_session_of_the_daemon_is_shown_and_gone_on_with_by_its_id_and_the_latest_terminal_is_one_that_lives()
 {
    requires!(npm, tmux);
    let served = Served::new().await;
    let (code, said, why) = served.says(&["send", "ID", "talk", "-w"]).await;
    assert_eq!((code, said.as_str()), (Some(0), TALK), "{why}");
    // A later agent without a terminal cannot be looked at.
    let begun = served.done(&["new", "--driver", "acp", "talk", "-w"]).await;
    let acp = begun.lines().next().unwrap();
    let screen = served.done(&["screen", "latest", "--json"]).await;
    let screen: serde_json::Value = serde_json::from_str(&screen).unwrap();
    assert_eq!(screen["session_id"], *served.id);
    // The agent has another id for it, by which its file is found.
    for id in [acp, acp.split('-').next().unwrap()] {
        let shown = served.done(&["sessions", "show", id]).await;
        assert!(shown.contains(TALK), "{shown}");
        let shown = served.done(&["sessions", "follow", id, "--for", "0"]).await;
        assert!(shown.contains(TALK), "{shown}");
    }
    let to = served.stage.workspace().join("out");
    let to = to.display().to_string();
    let files =
        served.done(&["sessions", "export", acp, "--to", &to, "--format", "json", "--json"]).await;
    let files: Vec<PathBuf> = serde_json::from_str(&files).unwrap();
    assert!(std::fs::read_to_string(&files[0]).unwrap().contains(TALK), "{files:?}");
    let (code, _, refused) = served.says(&["sessions", "show", "nobody"]).await;
    assert!(code == Some(1) && refused.contains("no session matches `nobody`"), "{refused}");
    // One that has ended is not the latest, and where none is left that is said.
    let other = served.done(&["new"]).await;
    served.done(&["stop", &other]).await;
    let screen = served.done(&["screen", "latest", "--json"]).await;
    let screen: serde_json::Value = serde_json::from_str(&screen).unwrap();
    assert_eq!(screen["session_id"], *served.id);
    served.done(&["stop", "ID"]).await;
    let (code, _, refused) = served.says(&["screen", "latest"]).await;
    assert!(code == Some(1) && refused.contains("no terminal sessions are running"), "{refused}");
    // Nor is it gone on with by anybody else while it has its agent; when it has none, its id is enough for that.
    let (code, _, refused) = served.says(&["run", "--resume", acp, "talk"]).await;
    assert!(code == Some(1) && refused.contains("under the daemon"), "{refused}");
    served.done(&["stop", acp]).await;
    let said = served.done(&["run", "--resume", acp, "talk"]).await;
    assert!(said.contains(TALK), "{said}");
    let told = served.done(&["sessions", "show", acp, "--format", "json"]).await;
    let told: Vec<serde_json::Value> = serde_json::from_str(&told).unwrap();
    assert_eq!(told.iter().filter(|message| message["role"] == "assistant").count(), 2);
}
