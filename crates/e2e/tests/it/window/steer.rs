//! Modes, interrupts, queues, people, sizes and deaths.

use super::dialogs::{asked, ended, everywhere};
use super::{Show, Theatre};
use pollux_agent::gemini::terminal::{Busy, Found, Words, adoptable, all};
use pollux_agent::model::{EventKind, Mode, Role, SessionStatus, StopReason};
use pollux_agent::terminal::Size;
use pollux_e2e::{Cli, kill_server, requires, wait_for};
use rustix::process::{Pid, Signal, kill_process_group};

#[tokio::test]
async fn a_mode_is_changed_and_seen_and_one_that_is_not_there_is_refused() {
    requires!(npm, tmux);
    everywhere("terminal", async |show, theatre| {
        show.becomes(SessionStatus::Idle, 0).await;
        let orders = show.live.orders();
        for mode in [Mode::Yolo, Mode::AutoEdit, Mode::Yolo, Mode::Default] {
            show.order(orders.mode(mode)).await.unwrap();
            let told = show.heard.iter().rev().find_map(|event| match &event.kind {
                EventKind::SessionChanged(change) => change.mode,
                _ => None,
            });
            assert_eq!(told, Some(mode));
        }
        match show.order(orders.mode(Mode::Plan)).await {
            Ok(()) => show.order(orders.mode(Mode::Default)).await.unwrap(),
            Err(failure) => assert_eq!(failure.code, "no_such_mode"),
        }
        show.order(orders.mode(Mode::Yolo)).await.unwrap();
        let from = show.heard.len();
        show.prompt("run a command").await;
        assert_eq!(ended(show, from).await, StopReason::EndTurn);
        assert!(theatre.stage.workspace().join("made.txt").exists());
    })
    .await;
}

#[tokio::test]
async fn a_turn_is_interrupted_and_what_is_queued_is_sent_or_dropped() {
    requires!(npm, tmux);
    everywhere("terminal", async |show, _| {
        let orders = show.live.orders();
        show.prompt("go slow").await;
        show.becomes(SessionStatus::Working, 0).await;
        let busy = orders.send(Words::Prompt("talk".into()), Vec::new(), Busy::Refuse);
        assert_eq!(show.order(busy).await.unwrap_err().code, "busy");
        let queued = orders.send(Words::Prompt("talk, one".into()), Vec::new(), Busy::Queue);
        show.order(queued).await.unwrap();
        let from = show.heard.len();
        show.order(orders.interrupt(true)).await.unwrap();
        assert_eq!(ended(show, from).await, StopReason::Cancelled);
        let idle = show.order(orders.interrupt(false)).await.unwrap_err();
        assert_eq!(idle.code, "idle", "{}", show.screen().await);

        let from = show.heard.len();
        show.prompt("go slow").await;
        show.becomes(SessionStatus::Working, from).await;
        let queued = orders.send(Words::Prompt("talk, two".into()), Vec::new(), Busy::Queue);
        show.order(queued).await.unwrap();
        show.order(orders.interrupt(false)).await.unwrap();
        show.hear("the answer to what was queued", from, |event| match &event.kind {
            EventKind::MessageRecorded { message, .. } => message.text().contains("another one"),
            _ => false,
        })
        .await;
        let prompts = show.said().into_iter().filter(|(role, _)| *role == Role::User);
        let prompts: Vec<String> = prompts.map(|(_, text)| text).collect();
        assert!(!prompts.iter().any(|prompt| prompt.contains("talk, one")), "{prompts:?}");
        assert!(prompts.iter().any(|prompt| prompt.contains("talk, two")), "{prompts:?}");
    })
    .await;
}

#[tokio::test]
async fn a_person_who_types_is_not_disturbed() {
    requires!(npm, tmux);
    everywhere("terminal", async |show, _| {
        show.becomes(SessionStatus::Idle, 0).await;
        // What is typed before the CLI listens is lost: so a prompt goes first.
        show.prompt("talk first").await;
        assert_eq!(ended(show, 0).await, StopReason::EndTurn);
        let orders = show.live.orders();
        let pane = show.live.pane().clone();
        pane.type_text("half a thou").await.unwrap();
        wait_for("the draft", super::LIMIT, async || {
            let screen = show.screen().await;
            if screen.contains("half a thou") { Ok(()) } else { Err(screen) }
        })
        .await;
        let failure = show.order(orders.prompt("talk")).await.unwrap_err();
        assert_eq!(failure.code, "draft_in_the_way");
        assert!(show.screen().await.contains("half a thou"));
        // They think better of it, and read what was said before.
        // Ctrl+C would do too, but old versions do not take it for that after a turn.
        pane.press(&["C-e", "C-u"]).await.unwrap();
        pane.server().command(&["copy-mode", "-t", pane.id()]).await.unwrap();
        said_so(show, "talk while somebody reads").await;
        pane.resize(Size { columns: 40, rows: 30 }).await.unwrap();
        let long = "a long prompt about nothing, ".repeat(12);
        said_so(show, &format!("talk: {long}and so on")).await;
        let lines: Vec<String> = (1..=19).map(|line| format!("line {line} of many")).collect();
        for times in ["talk", "talk once more"] {
            said_so(show, &format!("{times}\n{}", lines.join("\n"))).await;
        }
    })
    .await;
}

/// Sends a prompt that is done at once, and finds it as it was.
async fn said_so(show: &mut Show, prompt: &str) {
    let from = show.heard.len();
    show.prompt(prompt).await;
    assert_eq!(ended(show, from).await, StopReason::EndTurn, "{}", show.screen().await);
    let said = show.said();
    assert!(said.contains(&(Role::User, prompt.to_owned())), "{said:#?}");
}

#[tokio::test]
async fn a_turn_that_a_person_stops_at_the_desk_was_cancelled() {
    requires!(npm, tmux);
    everywhere("terminal", async |show, _| {
        let pane = show.live.pane().clone();
        show.prompt("go slow").await;
        show.hear("some words", 0, |event| matches!(event.kind, EventKind::TextGrew { .. })).await;
        pane.press(&["Escape"]).await.unwrap();
        assert_eq!(ended(show, 0).await, StopReason::Cancelled, "{}", show.screen().await);
        let from = show.heard.len();
        show.prompt("run a command").await;
        asked(show, from).await;
        pane.press(&["Escape"]).await.unwrap();
        assert_eq!(ended(show, from).await, StopReason::Cancelled, "{}", show.screen().await);
        said_so(show, "talk a little").await;
    })
    .await;
}

#[tokio::test]
async fn words_mean_what_the_sender_meant_and_a_cleared_conversation_is_a_new_one() {
    requires!(npm, tmux);
    everywhere("terminal", async |show, _| {
        let orders = show.live.orders();
        // A command that there is: what is none goes to the model anyway.
        let prompt = "/about talk is no command";
        show.prompt(prompt).await;
        assert_eq!(ended(show, 0).await, StopReason::EndTurn);
        let said = show.said();
        let literal = said.iter().any(|(role, text)| {
            *role == Role::User && text.trim_start_matches('\u{2060}') == prompt
        });
        assert!(literal, "{said:?}");
        let shell = Words::typed("!echo from-$((40+2))-shell");
        show.order(orders.send(shell, Vec::new(), Busy::Wait)).await.unwrap();
        // Old versions do not write it down.
        let screen = show.screen().await;
        assert!(screen.contains("from-42-shell"), "{screen}");

        let from = show.heard.len();
        show.order(orders.send(Words::typed("/clear"), Vec::new(), Busy::Wait)).await.unwrap();
        show.prompt("talk anew").await;
        assert_eq!(ended(show, from).await, StopReason::EndTurn);
        show.hear("epoch", from, |event| matches!(event.kind, EventKind::HistoryRewritten { .. }))
            .await;
        show.hear("answer", from, |event| match &event.kind {
            EventKind::MessageRecorded { message, .. } => message.text().contains("another one"),
            _ => false,
        })
        .await;
    })
    .await;
}

#[tokio::test]
async fn who_lets_go_and_comes_back_finds_everything_as_it_is() {
    requires!(npm, tmux);
    everywhere("terminal", async |show, theatre| {
        show.prompt("write the notes").await;
        show.hear("question", 0, |event| matches!(event.kind, EventKind::Asked(_))).await;
        let found = all(&theatre.socket()).await.unwrap();
        let [found] = found.as_slice() else { panic!("{found:?}") };
        let home = theatre.stage.home().path();
        let live = found.watch(home).await.unwrap();
        let mut back = Show { live, heard: Vec::new() };
        back.hear("question", 0, |event| matches!(event.kind, EventKind::Asked(_))).await;
        back.answer("Allow once").await;
        assert_eq!(ended(&mut back, 0).await, StopReason::EndTurn);
        back.hear("answer", 0, |event| match &event.kind {
            EventKind::MessageRecorded { message, .. } => message.text().contains("Written"),
            _ => false,
        })
        .await;
        *show = back;
    })
    .await;
}

#[tokio::test]
async fn an_agent_that_is_killed_is_gone_and_one_that_somebody_runs_is_adopted() {
    requires!(npm, tmux);
    let runs = Cli::some().unwrap().into_iter().map(async |cli| {
        let theatre = Theatre::new(&cli, "terminal").await;
        let mut show = theatre.play(theatre.start()).await;
        show.prompt("talk a little").await;
        assert_eq!(ended(&mut show, 0).await, StopReason::EndTurn);
        let pane = show.live.pane().clone();
        // As if somebody else had started it.
        for name in ["@pollux_key", "@pollux_name", "@pollux_gemini", "@pollux_cwd"] {
            pane.server().command(&["set-option", "-up", "-t", pane.id(), name]).await.unwrap();
        }
        assert!(all(&theatre.socket()).await.unwrap().is_empty());
        let mut found: Vec<Found> = adoptable(&theatre.socket()).await.unwrap();
        assert_eq!(found.len(), 1);
        found[0].adopt(std::path::Path::new("/nowhere")).await.unwrap();
        let key = found[0].key.clone().unwrap();
        assert!(!key.starts_with("new-"), "{key}");
        let live = found[0].watch(std::path::Path::new("/nowhere")).await.unwrap();
        let mut adopted = Show { live, heard: Vec::new() };
        adopted.prompt("talk more").await;
        assert_eq!(ended(&mut adopted, 0).await, StopReason::EndTurn);
        assert!(adopted.said().contains(&(Role::User, "talk more".to_owned())));

        let process = i32::try_from(found[0].process.unwrap()).unwrap();
        assert!(process > 1, "the pane has a process");
        // A group of its own: tmux gives each pane a session.
        kill_process_group(Pid::from_raw(process).unwrap(), Signal::KILL).unwrap();
        adopted.becomes(SessionStatus::Exited, 0).await;
        theatre.close().await;
    });
    futures::future::join_all(runs).await;
}

/// Why it ended.
async fn reason(show: &mut Show) -> Option<String> {
    show.hear("end", 0, |event| matches!(event.kind, EventKind::SessionEnded { .. })).await;
    show.heard.iter().find_map(|event| match &event.kind {
        EventKind::SessionEnded { reason } => Some(reason.clone()),
        _ => None,
    })
}

#[tokio::test]
async fn a_server_that_is_killed_takes_its_agents_along_and_says_so() {
    requires!(npm, tmux);
    let cli = Cli::last().unwrap();
    let theatre = Theatre::new(&cli, "terminal").await;
    let mut show = theatre.play(theatre.start()).await;
    show.prompt("go slow").await;
    show.becomes(SessionStatus::Working, 0).await;
    kill_server(&theatre.tmux.0.path().join("socket"));
    assert_eq!(reason(&mut show).await.as_deref(), Some("the tmux server exited"));
    theatre.close().await;
}

#[tokio::test]
async fn an_agent_that_cannot_start_leaves_its_code_and_a_login_shell_can_start_one() {
    requires!(npm, tmux);
    let cli = Cli::last().unwrap();
    let theatre = Theatre::new(&cli, "greeting").await;
    let mut broken = theatre.play(theatre.start().extra_arg("--no-such-flag")).await;
    assert_eq!(reason(&mut broken).await.as_deref(), Some("the agent exited with code 1"));
    // A tab would be a key for the shell.
    let mut show = theatre.play(theatre.start().in_shell("/bin/bash").prompt("say\thello")).await;
    assert_eq!(ended(&mut show, 0).await, StopReason::EndTurn);
    assert!(show.said().contains(&(Role::User, "say\thello".to_owned())), "{:?}", show.said());
    show.stop().await;
    theatre.close().await;
}

/// What a person sees where the CLI cannot read its settings.
const UNREAD: &str = "settings.json";

#[tokio::test]
async fn settings_that_are_being_written_while_an_agent_starts_are_read_once_they_are_whole() {
    requires!(npm, tmux);
    let cli = Cli::last().unwrap();
    let theatre = Theatre::new(&cli, "greeting").await;
    let settings = theatre.stage.home().gemini().join("settings.json");
    let whole = std::fs::read_to_string(&settings).unwrap();
    let half: String = whole.chars().take(whole.len() / 2).collect();
    for start in [theatre.start(), theatre.start().in_shell("/bin/bash")] {
        std::fs::write(&settings, &half).unwrap();
        let mut show = theatre.play(start).await;
        wait_for("the CLI says that it cannot read them", super::LIMIT, async || {
            let screen = show.screen().await;
            if screen.contains(UNREAD) { Ok(()) } else { Err(screen) }
        })
        .await;
        std::fs::write(&settings, &whole).unwrap();
        show.prompt("say hello").await;
        assert_eq!(ended(&mut show, 0).await, StopReason::EndTurn);
        show.stop().await;
    }
    theatre.close().await;
}
