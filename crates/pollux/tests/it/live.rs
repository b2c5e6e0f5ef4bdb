//! Agents in terminals, through the program: each command by itself, and hooks as one more source.

mod among;
mod elsewhere;
mod served;

use pollux_agent::gemini::cli::{Cli as Agent, Version};
use pollux_agent::gemini::hooks::deliver::Place;
use pollux_agent::gemini::hooks::extension::Extension;
use pollux_agent::gemini::hooks::inbox::Inbox;
use pollux_agent::gemini::terminal::Start;
use pollux_agent::model::{EventKind, Meaning, Source, StopReason};
use pollux_agent::terminal::{Emulator, Pane, Socket};
use pollux_e2e::{Cli, PINNED, Stage, requires, wait_for};
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_pollux");
const LIMIT: Duration = Duration::from_mins(1);

/// What the scripted model says where it shall talk.
const TALK: &str = "I say a word, and another one.";

/// The directory of a tmux server's socket: both go with the value.
struct Tmux(TempDir);

impl Tmux {
    fn new() -> Self {
        Self(tempfile::Builder::new().prefix("pollux-tmux-").tempdir().unwrap())
    }

    fn socket(&self) -> String {
        self.0.path().join("socket").display().to_string()
    }
}

impl Drop for Tmux {
    #[expect(clippy::disallowed_methods, reason = "tmux answers at once and is waited for")]
    fn drop(&mut self) {
        // The second is the one that somebody has for whom all sockets are here.
        for server in [&["-S", &self.socket()][..], &[]] {
            let mut tmux = std::process::Command::new("tmux");
            tmux.args(server).arg("kill-server").env("TMUX_TMPDIR", self.0.path());
            let _gone = tmux.env_remove("TMUX").output();
        }
    }
}

/// The program, for somebody who is at home on a stage.
#[expect(clippy::disallowed_methods, reason = "it is waited for, and killed on drop")]
fn command(stage: &Stage, tmux: &Tmux, args: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(args).current_dir(stage.workspace()).envs(stage.env()).kill_on_drop(true);
    command.env("POLLUX_TMUX", tmux.socket()).env("HOME", stage.home().path());
    command.env("GEMINI_CLI_PATH", stage.cli().program()).env("NO_COLOR", "1");
    command
}

/// What a command printed, and its exit code.
async fn pollux(stage: &Stage, tmux: &Tmux, args: &[&str]) -> (Option<i32>, String, String) {
    let mut command = command(stage, tmux, args);
    let ran = tokio::time::timeout(LIMIT, command.output()).await;
    let ran = ran.expect("a command comes to its end").unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (ran.status.code(), text(&ran.stdout), text(&ran.stderr))
}

/// What an agent shows, as soon as it is so.
async fn shows(stage: &Stage, tmux: &Tmux, id: &str, is: impl Fn(&serde_json::Value) -> bool) {
    wait_for("what is shown", LIMIT, async || {
        let (_, screen, why) = pollux(stage, tmux, &["screen", id, "--json"]).await;
        let screen: serde_json::Value = serde_json::from_str(&screen).unwrap_or_default();
        if is(&screen) { Ok(()) } else { Err((screen, why)) }
    })
    .await;
}

/// Waits until the agent speaks.
async fn speaks(stage: &Stage, tmux: &Tmux, id: &str) {
    shows(stage, tmux, id, |screen| screen.to_string().contains("word 2 ")).await;
}

/// Waits until something is queued.
async fn queues(stage: &Stage, tmux: &Tmux, id: &str) {
    shows(stage, tmux, id, |screen| screen["queued"][0].is_string()).await;
}

#[tokio::test]
async fn what_one_command_starts_the_others_find() {
    requires!(npm, tmux);
    let cli = Cli::install(PINNED[2]).unwrap();
    let stage = Stage::with(&cli, "terminal").await.unwrap();
    let tmux = Tmux::new();
    let (code, id, stderr) = pollux(&stage, &tmux, &["new"]).await;
    assert_eq!(code, Some(0), "{stderr}");
    let id = id.trim();
    let short = id.split('-').next().unwrap();
    let (code, said, asked) = pollux(&stage, &tmux, &["send", short, "run a command", "-w"]).await;
    assert_eq!((code, said.trim()), (Some(10), "Running."), "{asked}");
    assert!(asked.contains("$ touch made.txt") && asked.contains("1. Allow once"), "{asked}");
    let (code, _, refused) = pollux(&stage, &tmux, &["send", short, "and now?"]).await;
    assert!(code == Some(1) && refused.contains("waits for an answer"), "{refused}");
    let (code, _, refused) = pollux(&stage, &tmux, &["answer", short, "perhaps"]).await;
    assert!(code == Some(1) && refused.contains("Allow for this session"), "{refused}");
    let (code, said, stderr) = pollux(&stage, &tmux, &["answer", short, "allow", "-w"]).await;
    assert_eq!((code, said.trim()), (Some(0), "Done, or not."), "{stderr}");
    assert!(stage.workspace().join("made.txt").exists());
    let (code, _, stderr) = pollux(&stage, &tmux, &["mode", short, "yolo"]).await;
    assert_eq!(code, Some(0), "{stderr}");
    let (_, screen, _) = pollux(&stage, &tmux, &["screen", short, "--json"]).await;
    let screen: serde_json::Value = serde_json::from_str(&screen).unwrap();
    assert_eq!((&screen["session_id"], &screen["mode"]), (&id.into(), &"yolo".into()));
    assert_eq!(screen["status"], "idle");
    let (code, _, refused) = pollux(&stage, &tmux, &["interrupt", short]).await;
    assert!(code == Some(1) && refused.contains("no turn is in progress"), "{refused}");
    // Of a turn that is stopped, what was seen is told; what was queued behind it has its own answer, and its own end.
    let slow = ["send", short, "go slow", "-w"];
    let behind = ["send", short, "talk", "--busy", "queue", "-w"];
    let stops = async {
        speaks(&stage, &tmux, short).await;
        let interrupts = async {
            queues(&stage, &tmux, short).await;
            pollux(&stage, &tmux, &["interrupt", short]).await
        };
        tokio::join!(pollux(&stage, &tmux, &behind), interrupts).0
    };
    let (stopped, queued) = tokio::join!(pollux(&stage, &tmux, &slow), stops);
    let (code, said, why) = stopped;
    assert!(code == Some(130) && said.starts_with("word 1 word 2 "), "{code:?} {said}{why}");
    assert!(!said.contains("and another") && why.contains("partial text"), "{said}{why}");
    assert_eq!((queued.0, queued.1.trim()), (Some(0), TALK), "{}", queued.2);
    let (code, _, stderr) = pollux(&stage, &tmux, &["stop", short]).await;
    assert_eq!(code, Some(0), "{stderr}");
    let (code, _, refused) = pollux(&stage, &tmux, &["screen", short]).await;
    assert!(code == Some(1) && refused.contains("pollux new"), "{refused}");
    stage.close().await;
}

#[tokio::test]
async fn who_waits_is_told_what_came_of_their_own_words_and_nothing_else() {
    requires!(npm, tmux);
    let runs = Cli::all().unwrap().into_iter().map(async |cli| {
        let stage = Stage::with(&cli, "terminal").await.unwrap();
        let tmux = Tmux::new();
        let (code, id, stderr) = pollux(&stage, &tmux, &["new"]).await;
        assert_eq!(code, Some(0), "{stderr}");
        let id = id.trim();
        let says = async |args: &[&str]| {
            let args: Vec<&str> =
                args.iter().map(|arg| if *arg == "ID" { id } else { arg }).collect();
            let (code, said, stderr) = pollux(&stage, &tmux, &args).await;
            (code, said.trim().to_owned(), format!("{}: {args:?}: {stderr}", cli.version()))
        };
        let (code, said, why) = says(&["send", "ID", "talk", "-w"]).await;
        assert_eq!((code, said.as_str()), (Some(0), TALK), "{why}");
        // Whoever comes in the middle of a turn and denies ends it, and hears nothing old of it.
        let (code, _, why) = says(&["send", "ID", "run a command", "-w"]).await;
        assert_eq!(code, Some(10), "{why}");
        let (code, said, why) = says(&["answer", "ID", "deny", "-w"]).await;
        assert_eq!((code, said.as_str()), (Some(130), ""), "{why}");
        // The reason is the next prompt, and its turn is waited for.
        let (code, _, why) = says(&["send", "ID", "run a command", "-w"]).await;
        assert_eq!(code, Some(10), "{why}");
        let (code, said, why) =
            says(&["answer", "ID", "deny", "--reason", "talk instead", "-w"]).await;
        assert_eq!((code, said.as_str()), (Some(0), TALK), "{why}");
        // What came of the words before is not what came of these.
        let (code, _, why) = says(&["send", "ID", "talk of one thing"]).await;
        assert_eq!(code, Some(0), "{why}");
        let (code, said, why) = says(&["send", "ID", "write it down", "-w"]).await;
        assert_eq!((code, said.as_str()), (Some(10), "Writing."), "{why}");
        assert!(why.contains("notes.txt") && why.contains("two \"three\""), "{why}");
        let (code, said, why) = says(&["answer", "ID", "1", "-w"]).await;
        assert_eq!((code, said.as_str()), (Some(0), "Written, or not."), "{why}");
        // What is no command of the CLI is a prompt.
        let (code, said, why) = says(&["send", "ID", "/talk to /me", "-w"]).await;
        assert_eq!((code, said.as_str()), (Some(0), TALK), "{why}");
        let (code, said, why) = says(&["send", "ID", "talk", "-w", "--json"]).await;
        let told: serde_json::Value = serde_json::from_str(&said).unwrap_or_default();
        assert_eq!((code, &told["answer"]), (Some(0), &TALK.into()), "{why}{said}");
        let (code, _, why) = says(&["stop", "ID"]).await;
        assert_eq!(code, Some(0), "{why}");
        stage.close().await;
    });
    futures::future::join_all(runs).await;
}

#[tokio::test]
async fn a_session_goes_on_after_a_denial_and_after_it_was_cleared() {
    requires!(npm, tmux);
    let stage = Stage::with(&Cli::install(PINNED[2]).unwrap(), "terminal").await.unwrap();
    let tmux = Tmux::new();
    let (code, id, stderr) = pollux(&stage, &tmux, &["new", "talk", "-w"]).await;
    assert_eq!(code, Some(0), "{stderr}");
    let id = id.lines().next().unwrap();
    let (code, _, stderr) = pollux(&stage, &tmux, &["send", id, "run a command", "-w"]).await;
    assert_eq!(code, Some(10), "{stderr}");
    let (code, _, stderr) = pollux(&stage, &tmux, &["answer", id, "deny", "-w"]).await;
    assert_eq!(code, Some(130), "{stderr}");
    let (code, _, stderr) = pollux(&stage, &tmux, &["stop", id]).await;
    assert_eq!(code, Some(0), "{stderr}");
    pollux_e2e::home::age(stage.home().path()).unwrap();
    // The CLI itself takes the first prompt for its own words there, with which it was written in one record.
    let (code, said, stderr) = pollux(&stage, &tmux, &["new", "--resume", id]).await;
    assert_eq!((code, said.trim()), (Some(0), id), "{stderr}");
    let (code, said, stderr) = pollux(&stage, &tmux, &["send", id, "talk more", "-w"]).await;
    assert_eq!((code, said.trim()), (Some(0), TALK), "{stderr}");
    let (code, _, stderr) = pollux(&stage, &tmux, &["send", id, "/clear", "-w"]).await;
    assert_eq!(code, Some(0), "{stderr}");
    let (code, said, stderr) = pollux(&stage, &tmux, &["send", id, "talk anew", "-w"]).await;
    assert_eq!((code, said.trim()), (Some(0), TALK), "{stderr}");
    let (code, _, stderr) = pollux(&stage, &tmux, &["stop", id]).await;
    assert_eq!(code, Some(0), "{stderr}");
    let (code, _, stderr) = pollux(&stage, &tmux, &["new", "--session-id", id]).await;
    assert!(code == Some(2) && stderr.contains("already exists"), "{stderr}");
    stage.close().await;
}

/// The files of all sessions.
fn sessions(stage: &Stage) -> Vec<PathBuf> {
    let tmp = std::fs::read_dir(stage.home().gemini().join("tmp")).unwrap().flatten();
    let chats = tmp.filter_map(|project| std::fs::read_dir(project.path().join("chats")).ok());
    chats.flatten().flatten().map(|file| file.path()).filter(|path| path.is_file()).collect()
}

#[tokio::test]
async fn a_session_goes_on_in_a_terminal_and_no_later_start_deletes_it() {
    requires!(npm, tmux);
    let stage = Stage::with(&Cli::install(PINNED[2]).unwrap(), "greeting").await.unwrap();
    let tmux = Tmux::new();
    let ran = stage.headless("hello for the first time", &[]).await.unwrap();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    pollux_e2e::home::age(stage.home().path()).unwrap();
    let file = sessions(&stage).remove(0);
    let (code, id, stderr) = pollux(&stage, &tmux, &["new", "--resume", "latest"]).await;
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(
        sessions(&stage),
        std::slice::from_ref(&file),
        "no stub is left for which it would be deleted"
    );
    let (code, said, stderr) =
        pollux(&stage, &tmux, &["send", id.trim(), "hello again", "-w"]).await;
    assert_eq!((code, said.trim()), (Some(0), "Hello from the scripted model."), "{stderr}");
    for more in [&["run", "hello"][..], &["new"]] {
        let args = [more, &["--resume", id.trim()]].concat();
        let (code, _, refused) = pollux(&stage, &tmux, &args).await;
        assert!(code == Some(1) && refused.contains("running in a terminal"), "{refused}");
    }
    let (code, _, refused) =
        pollux(&stage, &tmux, &["mode", id.trim(), "yolo", "--minutes", "5"]).await;
    assert!(code == Some(1) && refused.contains("pollux serve"), "{refused}");
    let (code, _, stderr) = pollux(&stage, &tmux, &["stop", id.trim()]).await;
    assert_eq!(code, Some(0), "{stderr}");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("hello for the first time") && text.contains("hello again"), "{text}");
    stage.close().await;
}

#[tokio::test]
async fn hooks_tell_the_id_what_a_person_typed_and_the_whole_of_what_is_asked() {
    requires!(npm, tmux);
    let runs = Cli::all().unwrap().into_iter().map(async |cli| {
        let stage = Stage::with(&cli, "terminal").await.unwrap();
        let tmux = Tmux::new();
        let home = stage.home().path().to_path_buf();
        Extension::new(&stage.home().gemini()).install(PROGRAM, "0.1.0").unwrap();
        let place = Place { socket: home.join("hooks.sock"), spool: home.join("spool.jsonl") };
        let inbox = Inbox::open(place.clone()).await.unwrap();
        let version = Version::read(cli.version());
        let mut start = Start::new()
            .socket(Socket::Path(Path::new(&tmux.socket()).to_path_buf()))
            .cli(Agent { path: cli.program().to_path_buf(), version })
            .home(&home)
            .cwd(stage.workspace())
            .env("GEMINI_CLI_POLLUX_SOCKET", place.socket.display().to_string());
        for (name, value) in stage.env() {
            start = start.env(name, value);
        }
        let mut live = start.start().await.unwrap();
        let orders = live.orders();
        let mut heard = Vec::new();
        let mut sent = false;
        let all = async {
            loop {
                tokio::select! {
                    line = inbox.next() => orders.hook(line.unwrap()).await.unwrap(),
                    Some(event) = live.next() => {
                        let ended = matches!(event.kind, EventKind::TurnEnded { .. });
                        if matches!(event.kind, EventKind::Asked(_)) {
                            live.pane().press(&["1"]).await.unwrap();
                        }
                        let idle = serde_json::to_value(&event).unwrap()["status"] == "idle";
                        heard.push(event);
                        if ended {
                            return;
                        }
                        if idle && !sent {
                            sent = true;
                            type_as_a_person(live.pane()).await;
                        }
                    }
                }
            }
        };
        tokio::time::timeout(LIMIT, all).await.unwrap_or_else(|_| panic!("{}", cli.version()));
        let lines: Vec<String> =
            heard.iter().map(|event| serde_json::to_string(event).unwrap()).collect();
        let rekeyed = heard.iter().filter(|event| {
            matches!(event.kind, EventKind::SessionRekeyed { .. }) && event.source == Source::Hook
        });
        // Where the id is chosen in advance there is no other.
        let chosen = version.is_some_and(|version| version >= Version::new(0, 41, 0));
        assert_eq!(rekeyed.count(), usize::from(!chosen), "{lines:#?}");
        let started: Vec<_> = heard
            .iter()
            .filter_map(|event| match &event.kind {
                EventKind::TurnStarted { prompt } => Some(prompt.to_string()),
                _ => None,
            })
            .collect();
        assert_eq!(started, ["write the notes"], "{lines:#?}");
        let whole = heard.iter().any(|event| match &event.kind {
            EventKind::Asked(question) => matches!(
                question.meaning.as_deref(),
                Some(Meaning::Mutation { path, .. }) if path.ends_with("notes.txt")
            ),
            _ => false,
        });
        assert!(whole, "{lines:#?}");
        let ended = heard.iter().filter(|event| {
            matches!(event.kind, EventKind::TurnEnded { stop_reason: StopReason::EndTurn, .. })
        });
        assert_eq!(ended.count(), 1, "{lines:#?}");
        drop(live);
        drop(tmux);
        stage.close().await;
    });
    futures::future::join_all(runs).await;
}

/// How long what was typed may take to be seen before it is typed again.
const UNHEARD: Duration = Duration::from_secs(3);

/// Until the CLI listens, what is typed is lost: where it is not seen, and the line is still empty, it is typed again.
async fn type_as_a_person(pane: &Pane) {
    let typed = Cell::new(None::<Instant>);
    wait_for("the typed prompt", LIMIT, async || {
        let captured = pane.capture().await.unwrap();
        let mut emulator = Emulator::new(captured.size);
        emulator.feed(captured.text.as_bytes());
        let rows = emulator.screen().rows.join("\n");
        if rows.contains("write the notes") {
            return Ok(());
        }
        let unheard = typed.get().is_none_or(|typed| typed.elapsed() > UNHEARD);
        if unheard && rows.contains("Type your message") {
            pane.type_text("write the notes").await.unwrap();
            typed.set(Some(Instant::now()));
        }
        Err(rows)
    })
    .await;
    // The CLI takes an Enter within 30 ms of other input for a new line, and no screen says when that time is over.
    tokio::time::sleep(Duration::from_millis(150)).await;
    pane.press(&["Enter"]).await.unwrap();
}
